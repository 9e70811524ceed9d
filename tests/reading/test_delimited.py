"""Delimited text: delimiters, quotes, names and blocks, and every fault located."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import ReadError
from anonymizer.reading import delimited
from anonymizer.reading.files import ReadOptions, read_table
from anonymizer.reading.stream import count_byte
from tests.reading.texts import notes, read
from tests.sweeps import few


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_read__delimiter_is_found(delimiter: str) -> None:
    text = "a,b,c\n1,x y,2.5\n2,z;,3.5\n".replace(",", delimiter)
    if delimiter == ";":
        text = text.replace("z;", "z")
    reading = read(text)
    assert reading.options.delimiter == delimiter
    assert reading.frame.shape == (2, 3)


def test_read__delimiter_can_be_corrected() -> None:
    assert read("a,b;c\n1,2;3\n4,5;6\n", delimiter=";").frame.columns.tolist() == ["a,b", "c"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_read__line_ends(end: str) -> None:
    frame = read(f"a,b{end}1,x{end}2,y{end}").frame
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].tolist() == ["x", "y"]


def test_read__quoted_fields() -> None:
    frame = read('a,b\n1,"x, ""y""\nz"\n2,"w"\n').frame
    assert frame["b"].tolist() == ['x, "y"\nz', "w"]


def test_read__blank_records_of_a_single_column_are_missing() -> None:
    assert read("a\n1\n\n3\n").frame["a"].isna().tolist() == [False, True, False]


def test_read__headers_are_repaired() -> None:
    reading = read('age,age,,"a\nb",age (2)\n1,2,3,4,5\n2,3,4,5,6\n')
    assert reading.frame.columns.tolist() == ["age", "age (3)", "column 3", "a b", "age (2)"]
    assert len([problem for problem in reading.problems if problem.level == "warning"]) == 3


def test_read__first_line_that_is_a_record() -> None:
    reading = read("39,Private\n50,State\n")
    assert "looks like a row" in notes(reading, "warning")
    frame = read("39,Private\n50,State\n", header=False).frame
    assert frame.columns.tolist() == ["column 1", "column 2"]
    assert frame["column 1"].tolist() == [39, 50]


def test_read__ragged_line_is_located() -> None:
    with pytest.raises(ReadError, match=r"Line 4 has 3 fields where 2 were expected \(1 more") as raised:
        read('a,b\n"x\ny",2\n1,2,3\n4,5\n6\n')
    assert raised.value.row == 3


def test_read__open_quote_is_located() -> None:
    with pytest.raises(ReadError, match="line 3 or soon after it is never closed"):
        read('a,b\n1,x\n2,"y\n3,z\n4,w\n')


def test_read__quotes_inside_plain_fields_are_text() -> None:
    assert read('a,b\n1,5" pipe\n2,x\n').frame["b"].tolist() == ['5" pipe', "x"]


def test_read__separator_line_of_spreadsheets() -> None:
    reading = read("sep=;\na;b\n1;2\n")
    assert reading.frame.columns.tolist() == ["a", "b"]


def test_read__a_record_longer_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BLOCK", 64)
    frame = read("a,b\n1,x\n2," + "y" * 5000 + "\n3,z\n").frame
    assert frame["b"].str.len().tolist() == [1, 5000, 1]


def test_read__many_blocks_are_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(i, i % 7, f"t{i % 5}", f"u{i}") for i in range(3000)]
    text = "n,small,level,text\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in rows)
    monkeypatch.setattr(delimited, "BLOCK", 2000)
    frame = read(text).frame
    expected = pd.DataFrame(rows, columns=["n", "small", "level", "text"])
    assert frame.astype(object).to_numpy().tolist() == expected.to_numpy().tolist()
    assert isinstance(frame["level"].dtype, pd.CategoricalDtype)
    assert not isinstance(frame["text"].dtype, pd.CategoricalDtype)


@settings(max_examples=few(60))
@given(
    st.lists(
        st.tuples(st.integers(-(10**14), 10**14), st.sampled_from(['x"y', "a,b", "l\ni", "ü;", "z z"])),
        min_size=1,
        max_size=20,
    )
)
def test_read__what_pandas_writes_comes_back(rows: list[tuple[int, str]]) -> None:
    table = pd.DataFrame(rows, columns=["n", "text"])
    frame = read_table(table.to_csv(index=False).encode(), options=ReadOptions(delimiter=",")).frame
    assert frame["n"].tolist() == table["n"].tolist()
    assert frame["text"].astype(str).tolist() == table["text"].tolist()


@settings(max_examples=few(50))
@given(st.binary(max_size=300), st.sampled_from([b"\n", b"\r", b'"', b"\x00"]), st.integers(0, 3))
def test_count_byte__is_what_bytes_count(text: bytes, byte: bytes, times: int) -> None:
    assert count_byte(text + byte * times, byte) == (text + byte * times).count(byte)


def test_count_byte__of_several_blocks() -> None:
    text = b"a\n" * 400_000
    assert count_byte(text, b"\n") == text.count(b"\n")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("lines", [61, 62, 64, 70, 200])
def test_empty_lines_before_the_names__may_be_more_than_a_block(
    lines: int, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "BLOCK", 64)
    reading = read_table(f"{mark}{chr(10) * lines}a,b\n1,2\n".encode(), name="people.csv")
    assert reading.frame.to_dict("list") == {"a": [1], "b": [2]}
