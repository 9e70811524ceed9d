"""What the writer of workbooks makes of any text is what the checker, which knows nothing of the writer, reads."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from anonymizer.checking.released_file import read_archive, read_file
from anonymizer.checking.workbook_file import workbook_rows
from anonymizer.errors import ReadError
from anonymizer.releasing.files import archive
from anonymizer.releasing.workbook import EMPTY, sheet_cell, workbook_bytes
from tests.sweeps import few

SHEET = "xl/worksheets/sheet1.xml"
TEXTS = st.text(
    st.one_of(st.sampled_from("_x005F_0041&<>\x01\x7f\x85\ufffe"), st.characters(exclude_categories=["Cs"])), min_size=1
)


@given(texts=st.lists(st.one_of(st.none(), TEXTS), min_size=1, max_size=6))
@settings(max_examples=few(400))
def test_any_text__is_read_as_it_was_written(texts: list[str | None]) -> None:
    cells = [EMPTY if text is None else sheet_cell(text) for text in texts]
    file = read_file(workbook_bytes(["a"], [cells], []))
    assert (file.beside, file.unjudged) == ((), "")
    assert [None if text != text else text for text in file.rows["a"].astype(object)] == texts


@pytest.mark.parametrize(
    "text", ["&#65;", "&quot;", "_x0041_", "_x000a_", "_x005F_b", "\x01", "\x7f", "&", "_x005f_x0041_"]
)
def test_a_text_that_is_written_in_a_second_way__is_refused(text: str) -> None:
    members, _, _ = read_archive(workbook_bytes(["a"], [[sheet_cell("HERE")]], []))
    members[SHEET] = members[SHEET].replace(b"HERE", text.encode())
    with pytest.raises(ReadError, match="not one of plain cells"):
        workbook_rows(members)


def test_bytes_that_are_no_text__are_refused() -> None:
    members, _, _ = read_archive(workbook_bytes(["a"], [[sheet_cell("HERE")]], []))
    members[SHEET] = members[SHEET].replace(b"HERE", b"\xff")
    with pytest.raises(ReadError, match="not one of plain cells"):
        read_file(archive(members))
