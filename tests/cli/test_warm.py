"""Compiling before anybody waits: what it leaves behind, when it is needed, and where nothing can be written."""

import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.errors import NumbaError

from anonymizer import loops
from anonymizer.cli import warm
from anonymizer.cli.main import main
from anonymizer.cli.output import ProgressBar
from anonymizer.loops import CPUCodeLibrary, CPUContext, Dispatcher, IndexDataCacheFile
from anonymizer.releasing.files import lock_folder
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one compiled loop."""
    folder = tmp_path / "anonymizer"
    folder.mkdir()
    (folder / "loops.py").write_text("@njit\ndef add(): ...")
    (folder / "cells.py").write_text("text = 1")
    monkeypatch.setattr(warm, "PACKAGE", folder)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(warm, "steps", lambda: [("first", lambda: None), ("second", lambda: None)])
    monkeypatch.setattr(warm, "processors", lambda: 1)
    return folder


def test_compile_loops__says_how_far_it_is_and_leaves_a_mark(package: Path) -> None:
    calls: list[tuple[float, str]] = []
    assert not warm.is_compiled()
    warm.compile_loops(lambda share, what: calls.append((share, what)))
    assert calls == [(0.0, "first"), (0.5, "second"), (1.0, "Done")]
    assert warm.is_compiled()


def test_another_source__makes_compiled_loops_stale(package: Path) -> None:
    warm.compile_loops()
    loop = package / "__pycache__" / "loops.add-1.py311.nbi"
    loop.touch()
    (package / "cells.py").write_text("text = 2")
    assert warm.is_compiled(), "it holds no loop"
    (package / "loops.py").write_text("@njit\ndef add(): return 1")
    assert not warm.is_compiled()
    warm.compile_loops()
    assert warm.is_compiled()
    assert not loop.exists()


def test_what_was_begun__goes_on_where_it_ended(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(warm, "steps", lambda: [("first", fail)])
        with pytest.raises(KeyboardInterrupt):
            warm.compile_loops()
    assert (warm.is_begun(), warm.is_compiled()) == (True, False)
    loop = package / "__pycache__" / "loops.add-1.py311.nbi"
    loop.touch()
    warm.compile_loops()
    assert (warm.is_begun(), warm.is_compiled(), loop.exists()) == (False, True, True)


@pytest.mark.skipif(sys.platform == "win32", reason="folders are locked on POSIX systems")
def test_compile_loops__waits_for_another_process(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (package / "__pycache__").mkdir()
    other = lock_folder(package / "__pycache__")
    assert other is not None
    calls: list[str] = []
    monkeypatch.setattr("anonymizer.cli.warm.time.sleep", lambda seconds: os.close(other))
    warm.compile_loops(lambda share, what: calls.append(what))
    assert calls == ["Waiting: another Copse is compiling", "first", "second", "Done"]
    os.close(lock_folder(package / "__pycache__") or -1)  # nobody holds it any more


def test_two_processes__do_each_step_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second begins with the loops of a release, and goes on from the end; stages are said by the first."""
    done: list[str] = []
    titles = ["tree", warm.TREE, warm.UNGROWN, warm.RELEASE, "numbers", "persons", "pieces"]
    monkeypatch.setattr(warm, "steps", lambda: [(title, lambda title=title: done.append(title)) for title in titles])
    monkeypatch.setattr(warm, "end_with_input", lambda: None)
    assert warm.take(str(tmp_path), titles.index("persons"))
    assert not warm.take(str(tmp_path), titles.index("persons"))
    warm.help_compiling(str(tmp_path))
    assert done == [warm.UNGROWN, "pieces", "numbers"]


@pytest.mark.parametrize("status", [0, 1])
def test_a_helper_that_fails__leaves_nothing_undone(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def helper(folder: str) -> Iterator[subprocess.Popen[bytes]]:
        assert warm.take(folder, 1)
        with subprocess.Popen([sys.executable, "-c", f"raise SystemExit({status})"]) as process:
            yield process

    done: list[str] = []
    words: list[str] = []
    monkeypatch.setattr(warm, "helper", helper)
    work: list[warm.Step] = [(title, lambda title=title: done.append(title)) for title in ("tree", "numbers")]
    warm.do_steps(work, lambda share, what: words.append(what), helped=True)
    assert done == ["tree", *(["tree", "numbers"] if status else [])]
    assert words[0] == "tree"


def test_helper__ends_with_the_process_that_it_helps(tmp_path: Path) -> None:
    with warm.helper(str(tmp_path)) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 1


def test_load_loops__compiles_only_what_was_not(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    stages = {"first": lambda: [("first", lambda: done.append("loaded"))]}
    monkeypatch.setattr(warm, "STAGES", stages)
    monkeypatch.setattr(warm, "steps", lambda: [("all", lambda: done.append("compiled"))])
    warm.load_loops()
    warm.load_loops()
    assert done == ["compiled", "loaded"]


def test_commands__compile_first_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[str] = []
    table = str(tmp_path / "table.csv")
    Path(table).write_text("a\n", "utf-8")
    monkeypatch.setattr("anonymizer.cli.compiling.is_compiled", lambda: False)
    monkeypatch.setattr("anonymizer.cli.compiling.compile_loops", lambda show: calls.append("compiled"))
    assert main(["compile"]) == 0
    assert main(["verify", table, "--quasi-identifying", "b"]) == 2
    assert calls == ["compiled"], "a file alone is checked without loops"
    assert "once after every update" in capsys.readouterr().err
    assert main(["verify", table, "--quasi-identifying", "b", "--original", table]) == 2
    monkeypatch.setattr("anonymizer.cli.app.dashboard", lambda: calls.append("opened") or "no such folder")
    assert main(["app"]) == 2
    assert calls == ["compiled", "compiled", "opened"], "the dashboard compiles beside its server"


def test_where_there_is_no_terminal__each_step_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    show = ProgressBar(lines=True)
    show(0.125, "trees of classes")
    show(1.0, "Done")
    show.end()
    assert capsys.readouterr().err.splitlines() == [" 12% trees of classes", "100% Done"]


SAVES = """
import sys
from anonymizer.loops import IndexDataCacheFile

file = IndexDataCacheFile(sys.argv[1], "loop", "stamp")
for number in range(60):
    file.save((sys.argv[2], number), [sys.argv[2], number])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files are locked on POSIX systems")
def test_two_processes__keep_what_each_has_compiled(tmp_path: Path) -> None:
    names = ("one", "other", "third")
    programs = [subprocess.Popen([sys.executable, "-c", SAVES, str(tmp_path), name], cwd=ROOT) for name in names]
    assert [program.wait(PATIENCE) for program in programs] == [0, 0, 0]
    file = IndexDataCacheFile(str(tmp_path), "loop", "stamp")
    assert [file.load((name, number)) for name in names for number in range(60)] == [
        [name, number] for name in names for number in range(60)
    ]


READ_ONLY = """
import os, sys
import numpy as np
from anonymizer import kernels
node, n = np.zeros(3, np.int32), None
print(os.environ.get("NUMBA_CACHE_DIR", ""))
"""


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("unshare") is None, reason="needs mount namespaces")
def test_a_read_only_package_and_home__compile_into_a_folder_that_goes(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "anonymizer", tmp_path / "anonymizer", ignore=shutil.ignore_patterns("__pycache__"))
    script = f"mount --bind -o ro {tmp_path} {tmp_path} && cd {tmp_path} && exec {sys.executable} -c '{READ_ONLY}'"
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": ""}
    environment.pop("NUMBA_CACHE_DIR", None)
    answer = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    if answer.returncode and "Operation not permitted" in answer.stderr:
        pytest.skip("mount namespaces are not permitted here")
    assert answer.returncode == 0, answer.stderr
    folder = Path(answer.stdout.strip())
    assert "copse-loops-" in folder.name
    assert not folder.exists()


COMPILED = """
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numba.core import event

import anonymizer as an
from anonymizer.studies.attack import attack
from anonymizer.cli.warm import compile_loops, is_compiled
from anonymizer.engines import anonymize_files
from anonymizer.flow import Flow
from anonymizer.partitions.pieces import open_table
from anonymizer.pipeline import run_flow
from anonymizer.reading import samples
from anonymizer.reading.samples import hospital
from anonymizer.settings import Settings
from anonymizer.workers.remote import release_on
from benchmarks._inline import Inline
from tests.partitions.tables import people, schema_of, visits, visits_schema, whole_frame, write_pieces

if not is_compiled():
    compile_loops()
compilings = event.RecordingListener()
event.register("numba:compile", compilings)
table = hospital(700)
for generalizer in an.GENERALIZERS:
    flow = Flow(table, an.suggest(table)).but(k=10, generalizer=generalizer)
    run_flow(flow)
attack(flow.table, flow.released, flow.schema, flow.encoded, flow=flow, seconds=1)
flow.compute("frontier", "by_k")
for generalizer in ("pack", "polish", "refine", "uniform"):
    run_flow(flow.but(generalizer=generalizer, l=2, t=0.9, rsd_min=0.01))
for criterion in ("gini", "blend"):
    run_flow(flow.but(criterion=criterion))

several = samples.visits(300)
for generalizer in an.GENERALIZERS:
    run_flow(Flow(several, an.suggest(several)).but(k=5, generalizer=generalizer))

larger = hospital(5000)
for target in ("diagnosis", "cost"):
    run_flow(Flow(larger, an.suggest(larger).with_target(target)).but(k=10))

rng = np.random.default_rng(0)
x = rng.permutation(70_000)
noise = rng.normal(0, 20_000, len(x))
wide = pd.DataFrame({"x": x, "y": x % 9, "ill": np.where(x + noise > 40_000, "a", "b"), "pay": x + noise})
for target, generalizer in (("ill", "pack"), ("pay", "refine")):
    schema = an.Schema.of(wide, quasi_identifying=["x", "y"], sensitive=["ill", "pay"]).with_target(target)
    run_flow(Flow(wide, schema).but(k=100, generalizer=generalizer, l=2))

QUASI = ["age", "born", "job", "town"]
WAYS = {"uniform": {"grouping": "error-risk", "writing": "weighted"}, "refine": {"l": 2, "t": 0.9}, "pack": {}}
for make, roles in ((people, schema_of), (visits, visits_schema)):
    for place, (generalizer, more) in enumerate(WAYS.items()):
        for sensitive in (["income", "diagnosis"], ["diagnosis", "income"])[place % 2 :][:1]:
            with tempfile.TemporaryDirectory() as name:
                rows = pa.Table.from_pandas(make(12_000), preserve_index=False)
                source = write_pieces(Path(name) / "in", rows, [4000, 9000])
                schema = roles(whole_frame(rows), quasi_identifying=QUASI, sensitive=sensitive, target=sensitive[0])
                settings = {"generalizer": generalizer, **(more if sensitive[0] == "diagnosis" else {})}
                how = {"override": "a test", "rows": 5000}
                anonymize_files(source, schema, Path(name) / "here", **how, **settings)
                cluster, table = Inline(2), open_table(source, 5000)
                release_on(cluster, table, schema, Path(name) / "there", Settings(**settings), **how)
print([str(what.data["dispatcher"]) for _, what in compilings.buffer if what.is_start])
"""


@pytest.mark.sweep(0)
def test_tables_of_all_widths__wait_for_no_compiler_after_compiling() -> None:
    """Loops are compiled for each kind of array that they get; a kind that was left out is compiled at a click.

    A limit beside k, records by the thousand, numbers for a target, more than 65,536 values: all are kinds.
    """
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPILED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip() == "[]"


def test_compiling__makes_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an image whose building compiles would hold a key that all who run it share."""
    monkeypatch.setenv("COPSE_KEY_FILE", str(tmp_path / "none"))
    for _, step in warm.first_steps():
        step()


def test_a_loop__is_one_part_of_another_for_all_numbers_that_stand_in_calls() -> None:
    """Of a part there is no machine code, which is what takes long; Python can call the loop all the same."""

    @numba.njit
    def inner(step):  # type: ignore[no-untyped-def]
        return step + 1

    @numba.njit
    def outer(step):  # type: ignore[no-untyped-def]
        return inner(0) + inner(1) + inner(-1) + inner(step)

    inner.py_func.__module__ = "anonymizer.of_this_test"
    assert outer(5) == 9
    (version,) = inner.copse_part.overloads.values()
    assert not version._asdict()["library"]._finalized
    assert not inner.overloads
    assert inner(5) == 6


def test_numba__has_what_is_replaced_in_it() -> None:
    """Private names of numba, which another version may call otherwise: then ours would replace nothing."""
    for place, name in (
        (IndexDataCacheFile, "save"),
        (Dispatcher, "get_call_template"),
        (Dispatcher, "get_overload"),
        (CPUCodeLibrary, "add_linking_library"),
        (CPUCodeLibrary, "_get_module_for_linking"),
        (CPUCodeLibrary, "finalize"),
        (CPUContext, "get_executable"),
    ):
        assert getattr(place, name).__module__ == "anonymizer.loops"
        assert f"def {name}(self" in inspect.getsource(sys.modules[place.__module__])


def test_a_loop_that_is_to_make_no_array__does_not_compile_with_one() -> None:
    def makes_one(n: int) -> int:
        return len(np.zeros(n))

    with pytest.raises(NumbaError):
        loops.njit(makes_one, makes_arrays=False)(3)
