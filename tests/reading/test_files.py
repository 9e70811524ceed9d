"""Reading tables: what is found out, what can be corrected, and that every fault is located."""

import gzip
import hashlib
import io
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import ReadError
from anonymizer.reading import delimited, encodings
from anonymizer.reading.files import DEFAULT_MISSING, MAX_COLUMNS, ReadOptions, read_table
from tests.hostile.make import xlsx


def read(text: str | bytes, **options: Any) -> Any:
    return read_table(text.encode() if isinstance(text, str) else text, options=ReadOptions(**options))


def notes(reading: Any, level: str | None = None) -> str:
    return "\n".join(f.text + " " + f.remedy for f in reading.problems if level in (None, f.level))


def test_read__types_and_what_was_used() -> None:
    data = b"age,height,town,seen\n30,1.5,Bonn,2024-01-02\n,2,Bonn,2024-12-31\n41,1e2,Ulm,\n52,.5,Ulm,2023-02-28\n"
    reading = read_table(data, name="people.csv")
    frame = reading.frame
    assert list(frame.columns) == ["age", "height", "town", "seen"]
    assert frame["age"].dtype == np.float64
    assert frame["age"].isna().tolist() == [False, True, False, False]
    assert frame["height"].tolist() == [1.5, 2.0, 100.0, 0.5]
    assert frame["town"].tolist() == ["Bonn", "Bonn", "Ulm", "Ulm"]
    assert frame["seen"].dtype == "datetime64[us]"
    assert frame["seen"][3] == pd.Timestamp("2023-02-28")
    assert frame["seen"].isna().sum() == 1
    used = reading.options
    assert (used.delimiter, used.encoding, used.decimal, used.header) == (",", "utf-8", ".", True)
    assert (reading.name, reading.format, reading.size) == ("people.csv", "csv", len(data))
    assert reading.sha256 == hashlib.sha256(data).hexdigest()


def test_read__zip_codes_and_long_numbers_stay_text() -> None:
    reading = read("zip,account,plain\n02139,1234567890123456,10\n10115,9999999999999999,20\n")
    assert reading.frame["zip"].tolist() == ["02139", "10115"]
    assert reading.frame["account"].tolist() == ["1234567890123456", "9999999999999999"]
    assert reading.frame["plain"].dtype == np.int64
    assert "begin with zeros" in notes(reading)
    assert "more than 15 digits" in notes(reading)


@pytest.mark.parametrize("text", ["1", "-1", "0", "999999999999999"])
def test_read__integers(text: str) -> None:
    frame = read(f"a,b\n{text},x\n").frame
    assert frame["a"].dtype == np.int64
    assert frame["a"][0] == int(text)


@pytest.mark.parametrize("text", ["+49", "1_000", "0x1A", "007", "1 000", "١٢", "true", "1.2.3", "--5", "1e", "e5"])
def test_read__what_only_looks_like_a_number_stays_text(text: str) -> None:
    assert read(f"a,b\n{text},1\n{text},2\n").frame["a"].tolist() == [text, text]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_read__delimiter_is_found(delimiter: str) -> None:
    text = "a,b,c\n1,x y,2.5\n2,z;,3.5\n".replace(",", delimiter)
    if delimiter == ";":
        text = text.replace("z;", "z")
    reading = read(text)
    assert reading.options.delimiter == delimiter
    assert reading.frame.shape == (2, 3)


def test_read__decimal_comma() -> None:
    reading = read("a;b\n1,5;7\n2,25;8\n")
    assert (reading.options.delimiter, reading.options.decimal) == (";", ",")
    assert reading.frame["a"].tolist() == [1.5, 2.25]
    corrected = read("a;b\n1,5;7\n2,25;8\n", decimal=".")
    assert corrected.frame["a"].tolist() == ["1,5", "2,25"]


def test_read__commas_between_thousands_are_reported_not_guessed() -> None:
    reading = read('a,b\n"1,234",1\n"22,500",2\n')
    assert reading.frame["a"].tolist() == ["1,234", "22,500"]
    assert "is that 1234 or 1.234?" in notes(reading, "warning")
    assert reading.options.decimal is None


def test_read__delimiter_can_be_corrected() -> None:
    assert read("a,b;c\n1,2;3\n4,5;6\n", delimiter=";").frame.columns.tolist() == ["a,b", "c"]


@pytest.mark.parametrize(
    ("encoding", "used"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"),
     ("utf-16-be", "utf-16-be"), ("utf-32", "utf-32"), ("cp1252", "cp1252")],
)  # fmt: skip
def test_read__encoding_is_found(encoding: str, used: str) -> None:
    reading = read("städte,n\nKöln,1\nLüneburg,2\n".encode(encoding))
    assert reading.frame.columns[0] == "städte"
    assert reading.frame["städte"].tolist() == ["Köln", "Lüneburg"]
    assert reading.options.encoding == used
    assert ("cp1252" in notes(reading)) == (encoding == "cp1252")


def test_read__encoding_can_be_corrected() -> None:
    data = "имя,n\nАнна,1\n".encode("cp1251")
    assert read(data, encoding="cp1251").frame["имя"][0] == "Анна"


@pytest.mark.parametrize("encoding", ["rot13", "hex", "nonsense", "unicode_escape", "idna"])
def test_read__only_encodings_of_text_are_known(encoding: str) -> None:
    with pytest.raises(ReadError, match="not known"):
        read("a,b\n1,2\n", encoding=encoding)


def test_read__bad_byte_is_located() -> None:
    with pytest.raises(ReadError, match="Line 3, character 4: byte 0xE9") as raised:
        read("a,b\né,1\n".encode() + b"abc\xe9,2\n")
    assert raised.value.row == 2


def test_read__bad_byte_behind_a_block_border_is_located(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "BLOCK", 16)
    with pytest.raises(ReadError, match="Line 10, character 1: byte 0xFF"):
        read(b"a,b\n" + "ééé,12\n".encode() * 8 + b"\xff,2\n")


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


def test_read__missing_marks_are_counted_and_can_be_kept() -> None:
    text = "grade,n\nNA,1\nA,2\nA,?\nNA,4\nB,\n"
    reading = read(text)
    assert reading.frame["grade"].isna().tolist() == [True, False, False, True, False]
    assert reading.frame["n"].isna().sum() == 2
    assert "'NA' (2)" in notes(reading, "warning")
    assert "blank (1), '?' (1)" in notes(reading, "info")
    as_text = read(text, keep=("NA",))
    assert as_text.frame["grade"].tolist() == ["NA", "A", "A", "NA", "B"]
    assert as_text.frame["n"].isna().sum() == 2
    assert as_text.options.keep == ("NA",)


def test_read__missing_marks_can_be_changed() -> None:
    frame = read("a,b\n1,?\n-9,x\n", missing=("-9",)).frame
    assert frame["a"].isna().tolist() == [False, True]
    assert frame["b"].tolist() == ["?", "x"]


@pytest.mark.parametrize("mark", [mark for mark in DEFAULT_MISSING if mark])
def test_read__every_default_mark(mark: str) -> None:
    assert read(f"a,b\n1,x\n{mark},y\n").frame["a"].isna().tolist() == [False, True]


def test_read__mixed_column_says_which_values_and_where() -> None:
    text = "a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(40)) + "12 years,1\n41,2\nunknown,0\n"
    reading = read(text)
    assert reading.frame["a"][40] == "12 years"
    warning = next(problem for problem in reading.problems if problem.level == "warning")
    assert (warning.column, warning.row) == ("a", 40)
    assert "'12 years' (record 41), 'unknown' (record 43)" in warning.text


def test_read__infinite_numbers_are_reported() -> None:
    reading = read("a,b\n1,x\ninf,y\n1e999,z\n")
    assert np.isinf(reading.frame["a"]).tolist() == [False, True, True]
    warning = next(problem for problem in reading.problems if problem.level == "warning")
    assert warning.row == 1


@pytest.mark.parametrize(
    ("values", "expected", "words"),
    [
        (["13/02/2020", "01/02/2020"], "2020-02-01", "day first"),
        (["02/13/2020", "01/02/2020"], "2020-01-02", "month first"),
        (["1.2.2020", "3.4.2021"], "2021-04-03", "day first"),
        (["2020/2/1", "2020/12/11"], "2020-12-11", ""),
        (["2020-02-01T10:30:00", "2020-02-02 00:00"], "2020-02-02", ""),
        (["2020-02-01T10:30:00+02:00", "2020-02-01T23:00:00-02:00"], "2020-02-01 23:00", "clock"),
    ],
)
def test_read__dates(values: list[str], expected: str, words: str) -> None:
    reading = read("d,n\n" + "".join(f"{value},1\n" for value in values))
    assert reading.frame["d"][1] == pd.Timestamp(expected)
    assert words in notes(reading)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1/2/2020", "3/4/2020"], "nothing shows"),
        (["13/2/2020", "2/13/2020"], "only be day first and others"),
        (["2023-02-30", "2023-01-01"], "'2023-02-30' is none"),
        (["1/2/20", "3/4/21"], "two-digit years"),
    ],
)
def test_read__doubtful_dates_stay_text(values: list[str], words: str) -> None:
    reading = read("d,n\n" + "".join(f"{value},1\n" for value in values))
    assert reading.frame["d"].tolist() == values
    assert words in notes(reading, "warning")


def test_read__booleans_stay_text() -> None:
    assert read("a,b\ntrue,1\nfalse,2\n").frame["a"].tolist() == ["true", "false"]


def test_read__headers_are_repaired() -> None:
    reading = read('age,age,,"a\nb",age (2)\n1,2,3,4,5\n2,3,4,5,6\n')
    assert reading.frame.columns.tolist() == ["age", "age (3)", "column 3", "a b", "age (2)"]
    assert len([problem for problem in reading.problems if problem.level == "warning"]) == 3


def test_read__first_line_that_is_a_record() -> None:
    reading = read("39,Private\n50,State\n")
    assert "looks like a record" in notes(reading, "warning")
    frame = read("39,Private\n50,State\n", header=False).frame
    assert frame.columns.tolist() == ["column 1", "column 2"]
    assert frame["column 1"].tolist() == [39, 50]


def test_read__blanks_around_values_go() -> None:
    reading = read("a, b\n1, x\n2, ?\n 3,x \n")
    assert reading.frame.columns.tolist() == ["a", "b"]
    assert reading.frame["a"].tolist() == [1, 2, 3]
    assert reading.frame["b"].tolist()[::2] == ["x", "x"]
    assert reading.frame["b"].isna()[1]
    assert "Blanks around" in notes(reading)


def test_read__constant_column_is_reported() -> None:
    assert "'b' has the same value" in notes(read("a,b\n1,x\n2,x\n"))


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


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,b\n", "no records"),
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


@pytest.fixture(scope="module")
def workbook() -> bytes:
    first = [
        ("age", "zip", "seen", "score", "yes"),
        (30, "02139", date(2024, 1, 2), 1.5, True),
        (40.0, "10115", date(2024, 3, 4), None, False),
    ]
    return xlsx({"First": first, "Second": [("x",), (1,), (2,)]})


def parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def test_parquet__types() -> None:
    table = pa.table(
        {
            "i": pa.array([1, None, 3], pa.int32()),
            "u": pa.array([1, 2, 3], pa.uint8()),
            "f": pa.array([0.5, None, 1.5], pa.float32()),
            "s": ["02139", "?", "x"],
            "b": [True, None, False],
            "d": pa.array([0, 1, None], pa.date32()),
            "t": pa.array([0, 1, 2], pa.timestamp("ns")),
            "c": pa.array(["p", None, "p"]).dictionary_encode(),
            "m": pa.array([1, 2, 3], pa.int64()).cast(pa.decimal128(30, 2)),
            "n": pa.nulls(3),
        }
    )
    reading = read(parquet(table))
    frame = reading.frame
    assert reading.format == "parquet"
    assert frame["i"].isna().tolist() == [False, True, False]
    assert frame["u"].dtype == np.int64
    assert frame["f"].dtype == np.float64
    assert frame["s"].tolist()[::2] == ["02139", "x"]
    assert frame["s"].isna()[1]
    assert frame["b"].tolist()[::2] == ["true", "false"]
    assert frame["d"][1] == pd.Timestamp("1970-01-02")
    assert frame["t"].dtype == "datetime64[us]"
    assert frame["c"].isna().tolist() == [False, True, False]
    assert frame["m"].tolist() == [1.0, 2.0, 3.0]
    assert frame["n"].isna().all()


def test_parquet__keep_a_mark_as_a_value() -> None:
    frame = read(parquet(pa.table({"s": ["NA", None, "x", "x"]})), keep=("NA",)).frame
    assert frame["s"].isna().tolist() == [False, True, False, False]


def test_parquet__nested_column_is_refused_by_name() -> None:
    with pytest.raises(ReadError, match="'a' holds values of type list") as raised:
        read(parquet(pa.table({"a": [[1], [2]]})))
    assert raised.value.column == "a"


def test_parquet__no_records() -> None:
    with pytest.raises(ReadError, match="no records"):
        read(parquet(pa.table({"a": pa.array([], pa.int64())})))


def test_spreadsheet__types_and_sheets(workbook: bytes) -> None:
    reading = read(workbook)
    assert (reading.format, reading.sheets, reading.options.sheet) == ("spreadsheet", ("First", "Second"), "First")
    frame = reading.frame
    assert frame["age"].tolist() == [30, 40]
    assert frame["zip"].tolist() == ["02139", "10115"]
    assert frame["seen"].tolist() == [pd.Timestamp("2024-01-02"), pd.Timestamp("2024-03-04")]
    assert frame["score"].isna().tolist() == [False, True]
    assert frame["yes"].tolist() == ["true", "false"]
    second = read(workbook, sheet="Second")
    assert second.frame.columns.tolist() == ["x"]
    with pytest.raises(ReadError, match="no sheet 'Third'"):
        read(workbook, sheet="Third")


def test_spreadsheet__cut_off(workbook: bytes) -> None:
    for share in (0.2, 0.6, 0.95):
        with pytest.raises(ReadError):
            read(workbook[: int(len(workbook) * share)])


def outcome(data: bytes) -> Any:
    """A reading, or the error that reading ended with; any other exception fails the test."""
    try:
        return read_table(data)
    except ReadError as error:
        return error


@settings(max_examples=150)
@given(st.binary(max_size=300))
def test_read__any_bytes_give_a_table_or_a_read_error(data: bytes) -> None:
    answer = outcome(data)
    assert answer.remedy if isinstance(answer, ReadError) else len(answer.frame) >= 1


@settings(max_examples=100)
@given(st.lists(st.lists(st.text('ab12,;"\n\r\t|.é- ', max_size=6), min_size=2, max_size=4), min_size=1, max_size=6))
def test_read__any_delimited_text_gives_a_table_or_a_read_error(rows: list[list[str]]) -> None:
    answer = outcome("\n".join(",".join(row) for row in rows).encode())
    assert answer.remedy if isinstance(answer, ReadError) else answer.frame.columns.is_unique


@settings(max_examples=60)
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
