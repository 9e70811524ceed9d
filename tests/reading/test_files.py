"""Files of any kind: what is refused, and that whatever is read gives a table or one error."""

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import ReadError
from anonymizer.reading.files import MAX_COLUMNS, ReadOptions, read_table
from tests.reading.texts import read
from tests.sweeps import few


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,b\n", "no rows"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "not a text file"),
        (b"a,b\n1,\x00\n", "NUL byte in line 2, character 3"),
        (b"PK\x03\x04" + b"x" * 50, "not a spreadsheet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600, "not a spreadsheet"),
        (b"PAR1" + b"x" * 50, "cannot be read"),
        (b"\x1f\x8b" + b"x" * 50, "damaged"),
        (",".join(f"c{i}" for i in range(MAX_COLUMNS + 1)).encode() + b"\n", "at most 2,000"),
    ],
)
def test_read__refusals(data: bytes, words: str) -> None:
    with pytest.raises(ReadError, match=words) as raised:
        read(data)
    assert raised.value.remedy


def test_read__gzip_is_unpacked_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"a,b\n1,x\n2,y\n" + b"3,z\n" * 1000)
    reading = read_table(packed, name="t.csv.gz")
    assert len(reading.frame) == 1002
    assert reading.size == len(packed)
    monkeypatch.setattr("anonymizer.reading.files.MAX_BYTES", 1000)
    with pytest.raises(ReadError, match="unfolds into more than 1.0 kB"):
        read_table(packed)


def test_read__path_and_open_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n", "utf-8")
    assert read_table(path).name == "t.csv"
    with path.open("rb") as file:
        assert read_table(file).frame.shape == (1, 2)
    with pytest.raises(ReadError, match="cannot be opened"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(ReadError, match="cannot be opened"):
        read_table(tmp_path)
    with pytest.raises(ReadError, match="opened as text"):
        read_table(io.StringIO("a,b\n1,2\n"))  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"delimiter": '"'}, {"delimiter": ",,"}, {"delimiter": "\n"}, {"decimal": ";"}])
def test_options__that_cannot_be_used(options: dict[str, str]) -> None:
    with pytest.raises(ReadError):
        ReadOptions(**options)  # type: ignore[arg-type]


def outcome(data: bytes) -> Any:
    """A reading, or the error that reading ended with; any other exception fails the test."""
    try:
        return read_table(data)
    except ReadError as error:
        return error


@settings(max_examples=few(150))
@given(st.binary(max_size=300))
def test_read__any_bytes_give_a_table_or_a_read_error(data: bytes) -> None:
    answer = outcome(data)
    assert answer.remedy if isinstance(answer, ReadError) else len(answer.frame) >= 1


@settings(max_examples=few(100))
@given(st.lists(st.lists(st.text('ab12,;"\n\r\t|.é- ', max_size=6), min_size=2, max_size=4), min_size=1, max_size=6))
def test_read__any_delimited_text_gives_a_table_or_a_read_error(rows: list[list[str]]) -> None:
    answer = outcome("\n".join(",".join(row) for row in rows).encode())
    assert answer.remedy if isinstance(answer, ReadError) else answer.frame.columns.is_unique
