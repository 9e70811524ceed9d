"""Delimited text that is read where it lies: it is what its bytes are, and it is never in memory as a whole."""

import builtins
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anonymizer.errors import ReadError
from anonymizer.reading import child, delimited, files, place
from anonymizer.reading.files import ReadOptions, read_table
from anonymizer.reading.stream import Text
from tests.sweeps import few

FIELDS = ["a", "", "1", "2,5", "ï", "€uro", "😀", '"b"', '"x,y"', '"1\n2"', '"1\r\n2"', '"\r"', '"q""q"', 'a"b', '"',
          " ", "\ufeffc", "\x01", "2024-05-06", "NA", "x" * 40]  # fmt: skip
LINE_ENDS = ["\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\n\r"]
ENCODINGS = ["utf-8", "utf-8", "utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "shift_jis"]
OPTIONS = [{}, {}, {}, {"header": False}, {"encoding": "utf-8"}, {"encoding": "utf-8-sig"}, {"encoding": "cp1252"},
           {"encoding": "ascii"}, {"encoding": "none such"}, {"delimiter": ";"}]  # fmt: skip
FAULTS = [b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b'"', b"\x1f\x8b"]
BLOCKS = [64, 100, 1 << 23]
NAMES = ["t.csv", "t.tsv", "t.txt", "t.CSV.gz", "t.parquet", "t"]


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """Bytes that are mostly a table in UTF-8, and often something else at one place or in whole."""
    width = draw(st.integers(1, 4))
    widths = st.just(width) if draw(st.booleans()) else st.integers(max(1, width - 1), width + 1)
    delimiter = draw(st.sampled_from([",", ",", ";", "\t", "|"]))
    few = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=6))
    text = draw(st.sampled_from(["", "", "", "\n", "\ufeff", "sep=;\n", "sep=", " ", "\r\n\n"]))
    end = draw(st.sampled_from(LINE_ENDS))
    for number in draw(st.lists(widths, max_size=12)):
        text += delimiter.join(draw(st.sampled_from(few)) for _ in range(number)) + end
    data = text.encode(draw(st.sampled_from(ENCODINGS)), "ignore")
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(data)))
        data = (
            data[:at]
            + draw(st.sampled_from([b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b'"', b"\x1f\x8b"]))
            + data[at:]
        )
    return data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 4)) == 0 else data


def outcome(read: Callable[[], Any]) -> Any:
    """Return all that a reading says, or all that the error says with which it ended."""
    try:
        reading = read()
    except ReadError as error:
        return str(error), error.problem, error.row, error.column, error.value, error.remedy
    about = (reading.options, reading.problems, reading.questions, reading.sha256, reading.size, reading.name)
    return reading.frame, (*about, reading.format, reading.sheets, reading.variables, reading.distinct)


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one[0], pd.DataFrame) and isinstance(other[0], pd.DataFrame):
        pd.testing.assert_frame_equal(one[0], other[0])
        one, other = one[1], other[1]
    assert one == other


@settings(max_examples=few(400))
@given(
    contents(), st.sampled_from(NAMES), st.sampled_from(OPTIONS), st.integers(1, 9), st.sampled_from([64, 100, 1 << 23])
)
@example(b"", "t.csv", {}, 1, 64)
@example(b"\xef\xbb\xbf", "t.csv", {}, 1, 64)
@example(b"a,b\n" + "€,😀\n".encode() * 50, "t.csv", {}, 1, 64)
@example(b"a,b\n1," + b"x" * 500 + b"\n2,3\n", "t.csv", {}, 3, 64)
@example(b"a,b\n1,2\n\xe2\x82", "t.csv", {}, 1, 64)
def test_a_path__is_read_as_its_bytes_are(
    tmp_path_factory: Any, data: bytes, name: str, options: dict[str, Any], look: int, block: int
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data)
    how = ReadOptions(**options)
    with mock.patch.object(place, "LOOK", look), mock.patch.object(delimited, "BLOCK", block):
        from_path = outcome(lambda: read_table(path, options=how))
        assert_same(from_path, outcome(lambda: read_table(data, name=name, options=how)))


LONG = {
    "a long quoted name": f'"{"x" * 100_000}\n",b\n1,2\n',
    "a name that is too long": f'"{"x" * 200_000}",b\n1,2\n',
    "many empty lines": "a" + "\n" * 200_000 + "1\n",
    "an open quote": 'a,b\n"1,2\n' + "3,4\n" * 50_000,
    "ragged at the end": "a,b\n" + "3,4\n" * 50_000 + "5\n6,7,8\n",
    "control characters behind the first": "a,b\n" + "3,4\n" * 20_000 + "\x01,\x02\n" * 20_000,
    "control characters": "a,b\n" + "\x01,\x02\n" * 20_000,
    "a letter where the head ends": "a,b\n" + "x" * (place.HEAD - 6) + "€,b\n1,2\n",
    "blank at first": "\n" * 5000 + "a,b\n1,2\n",
    "binary at the end": "a,b\n" + "3,4\n" * 400_000 + "\x00",
    "a delimiter that shows late": "1,2;3\n" * 600 + "1;3\n" * 20_000,
    "numbers, then text": "a;b\n" + "3,5;4\n" * 50_000 + "x;y\n",
    "a long first row": ",".join(f"column {at} {'x' * 60}" for at in range(1500)) + "\n" + "1," * 1499 + "2\n",
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("case", LONG)
def test_a_long_text__is_read_as_its_bytes_are(case: str, mark: bytes, tmp_path: Path) -> None:
    path, data = tmp_path / "t.csv", mark + LONG[case].encode()
    path.write_bytes(data)
    with mock.patch.object(delimited, "BLOCK", 1 << 14):
        assert_same(outcome(lambda: read_table(path)), outcome(lambda: read_table(data, name="t.csv")))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ends", [b"\n", b"\r", b"\r\n"])
def test_text_of__is_the_text_of_the_bytes_behind_the_mark(mark: bytes, ends: bytes, tmp_path: Path) -> None:
    path, content = tmp_path / "t.csv", 'name,"town"\n"Zoë",€\n'.encode().replace(b"\n", ends) * 5000
    path.write_bytes(mark + content)
    text, digest, size = place.text_of(path, None)
    whole = Text.of(content)
    assert (text.size, text.lines, text.quotes) == (whole.size, whole.lines, whole.quotes)
    assert (digest, size) == (sha256(mark + content).hexdigest(), len(mark + content))
    assert content.startswith(text.head)
    assert len(text.head) > 1 << 16
    with text.open() as file:
        assert file.read() == content


@contextmanager
def sizes_of_reads(path: Path) -> Iterator[list[int]]:
    """Yield how many bytes each read of a file gave, whoever read it in Python."""
    sizes: list[int] = []

    class Watched(io.BufferedReader):
        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size)
            sizes.append(len(data))
            return data

    original = io.open

    def opened(file: Any, mode: str = "r", *rest: Any, **words: Any) -> Any:
        if isinstance(file, int) or Path(file) != path or mode != "rb":
            return original(file, mode, *rest, **words)
        return Watched(io.FileIO(file))

    with mock.patch.object(io, "open", opened), mock.patch.object(builtins, "open", opened):
        yield sizes


def test_a_large_text__is_never_in_memory_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.csv"
    path.write_bytes(b"town,age\n" + 'Zürich,41\n"Wien",7\r\n'.encode() * 100_000)
    data = path.read_bytes()
    monkeypatch.setattr(delimited, "BLOCK", 1 << 17)
    monkeypatch.setattr(place, "LOOK", 1 << 17)
    monkeypatch.setattr(Path, "read_bytes", None)
    monkeypatch.setattr(files, "_bytes_of", None)
    with sizes_of_reads(path) as sizes:
        reading = read_table(path)
    assert reading.n_records == 200_000
    assert reading.sha256 == sha256(data).hexdigest()
    assert sum(sizes) >= 2 * len(data), "it is looked at and parsed"
    assert 0 < max(sizes) <= 1 << 17


def test_a_child__reads_text_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n")
    monkeypatch.setattr(Path, "read_bytes", None)
    monkeypatch.setattr(files, "_bytes_of", None)
    assert child.read_in_child(path, fork=True).frame.to_dict("list") == {"a": [1], "b": [2]}


@pytest.mark.parametrize("end", [b"3,4\n", b"3\n"])
def test_a_text_that_is_written_meanwhile__is_refused(end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 1000 + end)

    def look(path: Path, encoding: str | None) -> Any:
        text = place.text_of(path, encoding)
        path.write_bytes(path.read_bytes().replace(b"2", b"5"))
        return text

    with (
        mock.patch.object(files, "text_of", look),
        pytest.raises(ReadError, match="late.csv was changed while it was read"),
    ):
        read_table(path)


def test_a_text_that_is_gone_meanwhile__is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gone.csv"
    path.write_bytes(b"a,b\n1,2\n")

    with pytest.raises(ReadError, match="changed while it was read"):
        read_table(path, progress=lambda share, words: path.unlink(missing_ok=True))


def test_another_reader_of_text__gets_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n")
    reader = mock.Mock(side_effect=files.read_delimited)
    assert read_table(path, instead={"csv": reader}).n_records == 1
    assert reader.call_args.args[0] == b"a,b\n1,2\n"
