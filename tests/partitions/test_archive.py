"""A released folder as one ZIP file: the same files, the same check, and nothing else in it."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymizer.errors import ParameterError, ReadError
from anonymizer.partitions import folder as module
from anonymizer.partitions.check import verify_folder
from anonymizer.partitions.folder import (
    DICTIONARY,
    MANIFEST,
    Archive,
    Packing,
    archive_of,
    dictionary_schema,
    is_archive,
    read_manifest,
)
from anonymizer.releasing.files import archive
from anonymizer.reporting.packet import is_packet
from tests.partitions.test_check import released_parts, write_parts


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A released folder of three parts."""
    table, schema = released_parts(0, 300)
    (tmp_path / "out").mkdir()
    write_parts(tmp_path / "out", [table.slice(0, 100), table.slice(100, 150), table.slice(250)], schema, 40)
    return tmp_path / "out"


def packed(folder: Path) -> Archive:
    answer = archive_of(folder, read_manifest(folder))
    assert answer is not None
    return answer


def test_a_folder_as_one_file__is_checked_as_the_folder(released: Path, tmp_path: Path) -> None:
    data = packed(released).data
    assert is_archive(data[:100])
    assert not is_packet(data[:100])
    (tmp_path / "out.zip").write_bytes(data)
    schema = dictionary_schema(released)
    expected = verify_folder(released, schema, k=2, l=2)
    for place in (tmp_path / "out.zip", str(tmp_path / "out.zip"), Archive.of(data, "out.zip")):
        assert read_manifest(place) == read_manifest(released)
        assert dictionary_schema(place) == schema
        assert verify_folder(place, schema, k=2, l=2).checks == expected.checks
    with zipfile.ZipFile(io.BytesIO(data)) as other:
        assert other.testzip() is None
        assert {name: other.read(name) for name in other.namelist()} == {
            file.name: file.read_bytes() for file in released.iterdir()
        }


def test_a_part_of_another_release__is_refused(released: Path) -> None:
    files = {name: packed(released).read(name) for name in packed(released).places}
    packing = Packing("out")
    for name, content in files.items():
        packing.write(name, files["part-00001.parquet"] if name == "part-00000.parquet" else content)
    with pytest.raises(ReadError, match=r"part-00000.parquet is not the file that the manifest names"):
        verify_folder(packing.archive(), dictionary_schema(released), k=1)
    packing = Packing("out")
    for name in (*sorted(set(files) - {DICTIONARY, MANIFEST}), "part-99999.parquet"):
        packing.write(name, files.get(name, b"Anna Berg"))
    packing.write(MANIFEST, files[MANIFEST])
    check = verify_folder(packing.archive(), dictionary_schema(released), k=1)["file"]
    assert check.passed is False
    assert "1 files that its manifest does not name" in check.sentence
    with pytest.raises(ReadError, match="There is no manifest.json"):
        read_manifest(Archive.of(one_file(b"x"), "out.zip"))


def one_file(content: bytes) -> bytes:
    packing = Packing("out")
    packing.write("part-00000.parquet", content)
    return packing.archive().data


def noted(data: bytes) -> bytes:
    sink = io.BytesIO(data)
    with zipfile.ZipFile(sink, "a") as other:
        other.comment = b"Anna Berg"
    return sink.getvalue()


def zipped(files: dict[str, bytes], **how: Any) -> bytes:
    """The files as any program packs them, one after another with no file twice."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", **how) as other:
        for name, content in files.items():
            other.writestr(name, content)
    return sink.getvalue()


def test_what_stands_beside_the_files__is_refused(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(released).data
    files = {name: packed(released).read(name) for name in packed(released).places}
    end = data.index(b"PK\1\2")
    hostile = {
        "behind": data + b"Anna Berg",
        "between": data[:end] + b"Anna Berg" + data[end:],
        "noted": noted(data),
        "cut off": data[:-30],
        "a time": zipped(files),
        "packed": archive(files),
        "a bomb": zipped({"part-00000.parquet": bytes(1 << 20)}, compression=zipfile.ZIP_DEFLATED),
        "a path": archive({"part-00000.parquet/../../etc/passwd": b"x"}),
        "twice": one_file(b"a")[: one_file(b"a").index(b"PK\1\2")] + one_file(b"b"),
        "empty": b"",
        "no files": zipped({}),
        "short": b"PK\3\4",
    }
    for name, content in hostile.items():
        with pytest.raises(ReadError, match=r"out.zip is damaged, or holds something beside") as caught:
            Archive.of(content, "out.zip")
        assert "Anna" not in str(caught.value), name
    for name in ("notes.txt", "../part-00000.parquet", "part-00000.parquet.exe", "sub/manifest.json"):
        packing = Packing("out")
        packing.write(name, b"x")
        with pytest.raises(ReadError, match=r"out.zip is damaged"):
            Archive.of(packing.archive().data, "out.zip")
    monkeypatch.setattr(module, "LARGEST", len(data) - 1)
    with pytest.raises(ReadError, match=r"out.zip has more than"):
        Archive.of(data, "out.zip")


def test_any_byte_that_was_changed__is_seen(released: Path) -> None:
    data, rng = packed(released).data, np.random.default_rng(1)
    for place in rng.integers(0, len(data), 300).tolist():
        changed = bytearray(data)
        changed[place] ^= int(rng.integers(1, 256))
        with pytest.raises(ReadError, match=r"out.zip is damaged"):
            Archive.of(bytes(changed), "out.zip")


def test_a_release_that_is_too_large_for_one_file__is_told(released: Path) -> None:
    size = len(packed(released).data)
    manifest = read_manifest(released)
    assert archive_of(released, manifest, size // 2) is None
    packing = Packing("out", 1000)
    packing.write("part-00000.parquet", bytes(900))
    with pytest.raises(ParameterError, match="takes more than 1.0 kB"):
        packing.write("part-00001.parquet", bytes(100))
