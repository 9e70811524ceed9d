"""Sheets: cells that show something but hold no value are said, and which sheet is meant is asked."""

import io
import zipfile
from datetime import date

import pandas as pd
import pytest

from anonymizer.errors import ReadError
from anonymizer.reading.files import Reading, ReadOptions, read_table
from tests.fuzz.cases import ods
from tests.hostile.bombs import sheet, with_part
from tests.hostile.make import xlsx
from tests.reading.texts import read

HEAD = b'<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'


def read_rows(rows: bytes) -> Reading:
    return read_table(sheet(HEAD + rows), name="t.xlsx")


def warnings(reading: Reading) -> str:
    return " ".join(problem.text for problem in reading.problems if problem.level == "warning")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (b'<c r="A3" t="e"><v>#N/A</v></c>', "an error instead of a value: A3 (#N/A)"),
        (b'<c r="A3" t="e"><f>1/0</f><v>#DIV/0!</v></c>', "an error instead of a value: A3 (#DIV/0!)"),
        (b'<c r="A3"><f>A2+1</f></c>', "a formula that was never computed: A3"),
        (b'<c r="A3"><f>A2+1</f><v></v></c>', "a formula that was never computed: A3"),
        (b'<x:c r="A3"><x:f>A2+1</x:f><x:v/></x:c>', "a formula that was never computed: A3"),
    ],
)
def test_cells_without_a_value__are_said(cell: bytes, words: str) -> None:
    rows = (
        b'<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>2</v></c></row><row r="3">'
        + cell
        + b'<c r="B3"><v>3</v></c></row>'
    )
    assert f"1 taken as missing, each {words}" in warnings(read_rows(rows))


def test_computed_formulas__are_values() -> None:
    reading = read_rows(b'<row r="2"><c r="A2"><f>1+1</f><v>2</v></c><c r="B2"><v>2</v></c></row>')
    assert reading.frame["a"].tolist() == [2]
    assert not warnings(reading)


def test_merged_cells__are_said() -> None:
    rows = b"".join(b'<row r="%d"><c r="A%d"><v>%d</v></c><c r="B%d"/></row>' % (r, r, r, r) for r in range(2, 5))
    book = sheet(HEAD + rows)
    merged = b'</sheetData><mergeCells count="1"><mergeCell ref="B2:B4"/></mergeCells>'
    text = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>' + HEAD + rows
    book = with_part(book, "xl/worksheets/sheet1.xml", text + merged + b"</worksheet>")
    notes = warnings(read_table(book, name="t.xlsx"))
    assert "Column 'b': 2 taken as missing, each a cell merged with one that holds the value: B3 (in B2:B4)" in notes


def test_two_sheets__are_asked() -> None:
    book = xlsx({"One": [("a", "b"), (1, 2)], "Two": [("x", "y"), (3, 4), (5, 6)], "Empty": []})
    reading = read_table(book, name="t.xlsx")
    (question,) = reading.questions
    assert [(answer.label, answer.sample) for answer in question.answers] == [
        ("One", (("2 rows", "a, b"),)),
        ("Two", (("3 rows", "x, y"),)),
    ]
    answered = read_table(book, name="t.xlsx", options=question.answers[1].apply(reading.options))
    assert answered.frame.columns.tolist() == ["x", "y"]
    assert not answered.questions
    assert not read_table(xlsx({"One": [("a",), (1,)], "Empty": []})).questions


def test_long_numbers__are_said() -> None:
    rows = b'<row r="2"><c r="A2"><v>12345678901234567</v></c><c r="B2"><v>3</v></c></row>'
    assert "numbers of more than 15 digits" in warnings(read_rows(rows))


def test_text_cells_like_codes__are_asked() -> None:
    reading = read_table(xlsx({"S": [("code", "n"), ("12e4", 1), ("120000", 2)]}))
    assert reading.questions[0].about == "numbers"
    assert reading.frame["code"].tolist() == ["12e4", "120000"]
    as_text = read_table(
        xlsx({"S": [("code", "n"), ("12e4", 1), ("120000", 2)]}), options=ReadOptions(as_text=("code",))
    )
    assert not as_text.questions


def test_torn_opendocument__is_refused_at_once() -> None:
    """The reader of spreadsheets looks for the end of a torn table for ever, so it must not be handed one."""
    whole = ods({"age": [31, 45], "city": ["Bern", "Basel"]})
    with zipfile.ZipFile(io.BytesIO(whole)) as packed:
        content = packed.read("content.xml")
    for end in range(1, len(content), 37):
        with pytest.raises(ReadError, match=r"t\.ods .*damaged"):
            read_table(with_part(whole, "content.xml", content[:end]), name="t.ods")


@pytest.fixture(scope="module")
def workbook() -> bytes:
    first = [
        ("age", "zip", "seen", "score", "yes"),
        (30, "02139", date(2024, 1, 2), 1.5, True),
        (40.0, "10115", date(2024, 3, 4), None, False),
    ]
    return xlsx({"First": first, "Second": [("x",), (1,), (2,)]})


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


def with_state(book: bytes, state: str) -> bytes:
    """A workbook whose first sheet has a state."""
    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        index = packed.read("xl/workbook.xml")
    return with_part(book, "xl/workbook.xml", index.replace(b"<sheet ", b'<sheet state="%s" ' % state.encode(), 1))


@pytest.mark.parametrize("state", ["hidden", "veryHidden"])
def test_a_hidden_sheet__is_not_read_unless_it_is_named(state: str) -> None:
    book = with_state(xlsx({"lists": [["x"], [1]], "people": [["age"], [30], [40]]}), state)
    reading = read_table(book, name="t.xlsx")
    assert reading.frame["age"].tolist() == [30, 40]
    assert not reading.questions
    assert "A hidden sheet was not read: 'lists'." in [problem.text for problem in reading.problems]
    named = read_table(book, name="t.xlsx", options=ReadOptions(sheet="lists"))
    assert named.frame["x"].tolist() == [1]
    assert "The sheet 'lists' is hidden in the workbook." in warnings(named)


def test_hidden_rows_and_columns__are_said() -> None:
    part = "xl/worksheets/sheet1.xml"
    book = xlsx({"people": [["age", "sex"], [30, "m"], [40, "f"], [50, "m"]]})
    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        text = packed.read(part)
    text = text.replace(b"<sheetData>", b'<cols><col min="2" max="2" hidden="1"/></cols><sheetData>')
    text = text.replace(b'<row r="3"', b'<row r="3" hidden="1"')
    words = warnings(read_table(with_part(book, part, text), name="t.xlsx"))
    assert "A row of the sheet 'people' is hidden there; it was read like the others." in words
    assert "Column 'sex' is hidden in the sheet 'people'; it was read like the others." in words


def test_hidden_rows_and_columns__of_open_document_are_said() -> None:
    book = ods({"age": [30, 40], "sex": ["m", "f"]})
    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        text = packed.read("content.xml")
    text = text.replace(
        b'table:name="S">', b'table:name="S"><table:table-column/><table:table-column table:visibility="collapse"/>'
    )
    head, _, rest = text.rpartition(b"<table:table-row>")
    text = head + b'<table:table-row table:visibility="filter">' + rest
    words = warnings(read_table(with_part(book, "content.xml", text), name="t.ods"))
    assert "A row of the sheet 'S' is hidden" in words
    assert "Column 'sex' is hidden" in words


def test_many_sheets__are_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from anonymizer.reading import workbook

    book = ods({"age": [30, 40]})
    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        text = packed.read("content.xml")
    start, end = text.index(b"<table:table "), text.index(b"</table:table>") + len(b"</table:table>")
    sheets = b"".join(text[start:end].replace(b'"S"', b'"S%d"' % at) for at in range(8))
    passes, plain = [], workbook._examine_ods
    monkeypatch.setattr(workbook, "_examine_ods", lambda pieces, stop: passes.append(1) or plain(pieces, stop))
    reading = read_table(with_part(book, "content.xml", text[:start] + sheets + text[end:]), name="t.ods")
    assert len(reading.questions[0].answers) == 8
    assert len(passes) == 2


@pytest.mark.parametrize("last", [False, True])
def test_rows_of_errors_only__are_said(last: bool) -> None:
    good = b'<row r="%d"><c r="A%d"><v>1</v></c><c r="B%d"><v>2</v></c></row>'
    bad = b'<row r="3"><c r="A3" t="e"><v>#REF!</v></c><c r="B3" t="e"><v>#REF!</v></c></row>'
    rows = good % (2, 2, 2) + bad + (b"" if last else good % (4, 4, 4))
    reading = read_rows(rows)
    assert len(reading.frame) == (1 if last else 2)
    assert "A row of the sheet 'Sheet1' holds errors only and was left out: row 3." in warnings(reading).replace(
        "'S'", "'Sheet1'"
    )
