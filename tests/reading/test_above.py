"""What stands above the names of the columns: found where it is plain, said, and left out; else named by an option."""

import pytest

from anonymizer.errors import ReadError
from anonymizer.reading.files import ReadOptions, read_table
from tests.hostile.make import xlsx
from tests.reading.texts import notes, read

RECORDS = "age,sex,ill\n1,m,x\n2,f,y\n3,m,x\n"


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        ("Report of patients 2024\n\n", 2), ("Report of patients 2024\n", 1), ("Report,,\n,,\n", 2),
        ("Report, of the year\nSource: x\n", 2), ('"A title\nof two lines"\n', 2), ("# made in 2020\n", 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("to_disk", [False, True])
def test_lines_above__are_left_out_and_said(above: str, lines: int, to_disk: bool, tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(above + RECORDS)
    reading = read_table(path) if to_disk else read(above + RECORDS)
    assert list(reading.frame) == ["age", "sex", "ill"]
    assert len(reading.frame) == 3
    assert reading.options.skip == lines
    assert "above the names of the columns" in notes(reading, "warning")
    again = read_table(path, options=reading.options)
    assert again.frame.equals(reading.frame)


@pytest.mark.parametrize(
    "text", [RECORDS, "id,,\n1,2,3\n4,5,6\n", "\n\nage,sex\n1,2\n3,4\n", "age\n1\n2\n", "a,\n1,2\n3,4\n"]
)
def test_names__in_the_first_line_stay_there(text: str) -> None:
    reading = read(text)
    assert not reading.options.skip
    assert "above" not in notes(reading)


@pytest.mark.parametrize("text", ["a,b\n1,2,3\n4,5,6\n", "data\n1,2,3\n4,5,6\n"])
def test_lines_of_another_length__are_refused_with_the_option(text: str) -> None:
    with pytest.raises(ReadError, match="skip"):
        read(text)
    assert read("x,y\n" + text, skip=2, header=False).frame.shape == (2, 3)


def test_skip__leaves_out_just_so_many_lines() -> None:
    assert list(read("T,x\nage,sex\n1,2\n3,4\n", skip=1).frame) == ["age", "sex"]
    assert list(read("Report\n\nage,sex\n1,2\n3,4\n", skip=2).frame) == ["age", "sex"]
    for skip in (-1, 10_000, 5):
        with pytest.raises(ReadError):
            read("age,sex\n1,2\n", skip=skip)


def test_rows_above__of_a_sheet_are_left_out_and_those_of_another_sheet_are_its_own() -> None:
    book = xlsx({"one": [["Report"], [], ["age", "sex"], [1, "m"], [2, "f"]], "two": [["a", "b"], [5, 6], [7, 8]]})
    reading = read_table(book, name="t.xlsx", options=ReadOptions(sheet="one"))
    assert list(reading.frame) == ["age", "sex"]
    assert "The row above the names of the columns was left out: 'Report'." in notes(reading, "warning")
    assert reading.options.skip == 2
    answer = read_table(book, name="t.xlsx").questions[0].answers[1]
    other = read_table(book, name="t.xlsx", options=answer.apply(read_table(book, name="t.xlsx").options))
    assert other.frame["a"].tolist() == [5, 7]


@pytest.mark.parametrize("mark", [" ", ":", "/"])
def test_one_column__that_another_mark_divides_is_said(mark: str) -> None:
    reading = read(f"age{mark}sex\n23{mark}m\n24{mark}f\n")
    assert reading.frame.shape == (2, 1)
    assert "every line has 2 parts" in notes(reading, "warning")
    assert read(f"age{mark}sex\n23{mark}m\n24{mark}f\n", delimiter=mark).frame.shape == (2, 2)
