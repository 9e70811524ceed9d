"""Files are written whole or not at all, and never over another that the command names."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from anonymizer.errors import ParameterError
from anonymizer.releasing import files
from anonymizer.releasing.files import replace_file, require_different_files, write_file

ROOT = Path(__file__).resolve().parents[2]


def test_write_file__replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_file(path, "é\n")
    assert path.read_bytes() == "é\n".encode()
    path.chmod(0o640)
    write_file(path, b"second")
    assert path.read_bytes() == b"second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["out.csv"]


def write_half(path: Path) -> None:
    with replace_file(path) as sink:
        sink.write(b"half")
        raise RuntimeError


def test_a_failure__leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_file(path, "old")
    with pytest.raises(RuntimeError):
        write_half(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]
    with pytest.raises(FileNotFoundError):
        write_file(tmp_path / "no folder" / "out.csv", "x")


def test_a_link__keeps_pointing(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_file(tmp_path / "link.csv", "new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


KILLED = """
import sys
from anonymizer.releasing import files
from anonymizer.releasing.files import replace_file
with replace_file(sys.argv[1]) as sink:
    while True:
        sink.write(b"x" * 100_000)
        print("written", flush=True)
"""


def test_kill__in_the_middle_of_a_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    assert path.read_text() == "old"


@pytest.mark.skipif(os.name != "posix", reason="files are not locked so elsewhere")
def test_half_files__of_killed_writes_go_with_the_next_one_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    others = [".out.csv.abcdefgh.part", ".more.csv.copse-abcdefgh.part", ".out.csv.copse-abcdefgh.part~"]
    for other in others:
        (tmp_path / other).touch()
    (tmp_path / ".out.csv.copse-linked00.part").symlink_to(others[0])
    others += [".out.csv.copse-linked00.part"]
    writer = [sys.executable, "-c", KILLED, str(path)]
    with (
        subprocess.Popen(writer, cwd=ROOT, stdout=subprocess.PIPE) as killed,
        subprocess.Popen(writer, cwd=ROOT, stdout=subprocess.PIPE) as busy,
    ):
        for process in (killed, busy):
            assert process.stdout is not None
            process.stdout.readline()
        assert len(os.listdir(tmp_path)) == len(others) + 2
        killed.kill()
        killed.wait()
        write_file(path, "new")
        assert len(os.listdir(tmp_path)) == len(others) + 2, "the file, and the half file that is being written"
        busy.kill()
    write_file(path, "newer")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "out.csv"])
    assert path.read_text() == "newer"


@pytest.mark.skipif(os.name != "posix", reason="files are not locked so elsewhere")
def test_half_file__is_made_again_when_another_process_took_it_for_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, removed = files.tempfile.mkstemp, []

    def make_and_lose(**options: Any) -> tuple[int, str]:
        handle, name = real(**options)
        if not removed:
            os.unlink(name)
            removed.append(name)
        return handle, name

    monkeypatch.setattr(files.tempfile, "mkstemp", make_and_lose)
    write_file(tmp_path / "out.csv", "x")
    assert os.listdir(tmp_path) == ["out.csv"]
    assert removed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk__is_an_error_and_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    real = os.fdopen

    def full(handle: int, *rest: object) -> object:
        os.close(handle)
        return real(os.open("/dev/full", os.O_WRONLY), *rest)

    monkeypatch.setattr("anonymizer.releasing.files.os.fdopen", full)
    with pytest.raises(OSError, match="No space left"):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_one_file_by_two_names__is_refused(tmp_path: Path) -> None:
    table, other = tmp_path / "people.csv", tmp_path / "other.csv"
    table.write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to("people.csv")
    os.link(table, tmp_path / "hard.csv")
    for name in ("people.csv", "link.csv", "hard.csv", "x/../people.csv"):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(ParameterError, match="--out and the input are one file"):
            require_different_files({"the input": table}, {"--out": tmp_path / name})
    with pytest.raises(ParameterError, match="--report and --out are one file"):
        require_different_files(
            {"the input": table}, {"--out": other, "--report": str(tmp_path / "x" / ".." / "other.csv")}
        )
    require_different_files({"the input": table}, {"--out": other, "--report": None, "--plot": ""})


def test_names_that_differ_in_case_only__are_refused(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("a\n1\n")
    for outputs in (
        {"--out": "a.csv", "--report": "A.CSV"},
        {"--out": "straße.csv", "--report": "STRASSE.csv"},
        {"--out": "cafe\u0301.csv", "--report": "Caf\u00e9.csv"},
        {"--out": "People.csv"},
    ):
        with pytest.raises(ParameterError, match="differ in upper and lower case only"):
            require_different_files({"the input": table}, {name: tmp_path / path for name, path in outputs.items()})
    require_different_files({"the input": table}, {"--out": tmp_path / "a.csv", "--report": tmp_path / "b.csv"})


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked there")
def test_folders_that_were_left__go_when_they_are_old_and_nobody_locks_them(tmp_path: Path) -> None:
    old, new, busy = (tmp_path / f".half-{name}" for name in ("old", "new", "busy"))
    for folder in (old, new, busy):
        folder.mkdir()
    for folder in (old, busy):
        os.utime(folder, (time.time() - 100,) * 2)
    lock = files.lock_folder(busy)
    assert lock is not None
    files.remove_left_folders(tmp_path, ".half-*", age=50)
    os.close(lock)
    assert sorted(folder.name for folder in tmp_path.iterdir()) == [".half-busy", ".half-new"]
