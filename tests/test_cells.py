"""The grammar of released cells: writing and reading are inverse, and no text can imitate another cell."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anonymizer.cells import Cell, kept_text, kept_value, member_text, number_of, parse_cell
from anonymizer.errors import CellError
from anonymizer.schema import Kind

NASTY = ["missing", "*", "", " ", "a ", "=1+1", "+49", "-x", "@SUM(A1)", "\tx", "\rx", "a\nb", "a, b", "{a}",
         "[1, 2]", 'say "x"', '"', '""', "a+b", "a:4", "a:4+b:1", "😀", "ש", "NA", "nan", "-5", "1e5",
         "\\", "\u2028", "\x00"]  # fmt: skip
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=8))
level_lists = st.lists(texts, min_size=1, max_size=5, unique=True)


@st.composite
def categorical_cells(draw):
    levels, missing = draw(level_lists), draw(st.booleans())
    form = draw(st.sampled_from(["set", "joined", "weighted"]))
    if form == "set":
        return Cell.of_levels(levels, missing)
    counts = draw(st.lists(st.integers(1, 10**9), min_size=len(levels) + missing, max_size=len(levels) + missing))
    return Cell.concatenation(levels, missing, tuple(counts) if form == "weighted" else ())


@st.composite
def interval_cells(draw):
    numbers = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers(-(10**20), 10**20).map(str)
    dates = st.dates().map(lambda day: day.isoformat()) | st.datetimes().map(lambda moment: moment.isoformat())
    ends = draw(st.lists(draw(st.sampled_from([numbers, dates])), min_size=2, max_size=2))
    ends.sort(key=number_of)
    if draw(st.integers(0, 4)) == 0:
        return Cell.estimated(ends[0], draw(st.booleans()))
    if draw(st.booleans()):
        ends[1] = ends[0]
    return Cell.interval(ends[0], ends[1], draw(st.booleans()))


@given(categorical_cells())
def test_categorical_cells__read_back_as_written(cell):
    assert parse_cell(cell.text(), Kind.CATEGORICAL) == cell


@given(interval_cells())
def test_intervals__read_back_as_written(cell):
    kind = Kind.DATE if "-" in cell.ends[0][1:] and "e" not in cell.ends[0] else Kind.NUMERIC
    assert parse_cell(cell.text(), kind) == cell


@pytest.mark.parametrize("kind", list(Kind))
def test_missing_and_withheld__are_different_for_every_kind(kind):
    assert parse_cell(None, kind) == parse_cell("", kind) == Cell.MISSING == Cell.of_levels((), missing=True)
    assert parse_cell("*", kind) == Cell.WITHHELD != Cell.MISSING
    assert Cell.MISSING.text() is None


@given(texts, texts)
def test_two_levels__never_share_a_text(one, other):
    assert (member_text(one) == member_text(other)) == (one == other)
    assert (kept_text(one) == kept_text(other)) == (one == other)


@given(texts)
def test_kept_text__reads_back_and_cannot_act(text):
    cell = kept_text(text)
    assert kept_value(cell) == text
    assert cell.isprintable()
    assert cell == cell.strip() != ""
    if cell[0] in "=+-@":
        float(cell)


@given(categorical_cells() | interval_cells())
def test_no_cell__can_act_as_a_formula(cell):
    text = cell.text()
    if text and text[0] in "=+-@\t\r" and not (cell.ends or cell.joined):
        float(text)
    assert text is None or (text.isprintable() and text != "")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell.interval("29", "61"), "[29, 61]"),
        (Cell.interval("29", "29"), "29"),
        (Cell.interval("-2.5", "1e+20", missing=True), "{[-2.5, 1e+20], missing}"),
        (Cell.interval("29", "29", missing=True), "{29, missing}"),
        (Cell.interval("2024-01-01", "2024-05-17T08:30:00"), "[2024-01-01, 2024-05-17T08:30:00]"),
        (Cell.estimated("41.5"), "~41.5"),
        (Cell.estimated("2024-01-01", missing=True), "{~2024-01-01, missing}"),
        (Cell.of_levels(("Married", "Not Married")), "{Married, Not Married}"),
        (Cell.of_levels(("a",), missing=True), "{a, missing}"),
        (Cell.of_levels(("a, b", "missing")), '{"a, b", "missing"}'),
        (Cell.value("missing"), '"missing"'),
        (Cell.value("=1+1"), '"=1+1"'),
        (Cell.value("-5"), "-5"),
        (Cell.value(""), '""'),
        (Cell.value("a\nb"), '"a\\nb"'),
        (Cell.value("😀"), "😀"),
        (Cell.concatenation(("unskilled", "technical")), "unskilled+technical"),
        (Cell.concatenation(("unskilled", "technical"), counts=(4, 1)), "unskilled:4+technical:1"),
    ],
)
def test_text__is_as_documented(cell, text):
    assert cell.text() == text


def test_kept_text__leaves_ordinary_punctuation_alone():
    assert kept_text("Fracture, closed: left {arm}") == "Fracture, closed: left {arm}"


@pytest.mark.parametrize(
    "text",
    ["[1, 2", "[1]", "[2, 1]", "[a, b]", "[1, inf]", "{", "{}", "{a", "{a,b", "{a}}", "{a, a}", "{missing, a}",
     "{missing, missing}", "a+", "+a", "a++b", "a:x", "a:", "a:1+b", "a:0", '"a', '"a"b', "missing+a"],
)  # fmt: skip
def test_malformed_cells__are_refused_with_their_text(text):
    with pytest.raises(CellError) as caught:
        parse_cell(text, Kind.CATEGORICAL)
    assert caught.value.value
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["abc", "nan", "inf", "1e999", "1_000", "0x10", " 1", "2024-13-01", "{a, missing}"])
def test_numeric_cells__accept_only_finite_numbers_and_dates(text):
    with pytest.raises(CellError):
        parse_cell(text, Kind.NUMERIC)


def test_an_interval__is_read_whatever_the_kind():
    assert parse_cell("[29, 61]", Kind.CATEGORICAL) == Cell.interval("29", "61")
    assert parse_cell("{[29, 61], missing}", Kind.CATEGORICAL).missing


@given(st.lists(texts, min_size=2, max_size=5, unique=True), texts)
@example(["a", "b"], "c")
def test_sets_admit__exactly_their_members(levels, other):
    cell = parse_cell(Cell.of_levels(levels).text(), Kind.CATEGORICAL)
    assert all(cell.admits(level) for level in levels)
    assert cell.admits(other) == (other in levels)
    assert not cell.admits(None)


def test_admits__intervals_missing_and_withheld():
    cell = Cell.interval("29", "61")
    assert cell.admits("29", 29.0)
    assert cell.admits("61", 61.0)
    assert not cell.admits("28.9", 28.9)
    assert not cell.admits(None, None)
    assert Cell.interval("29", "61", missing=True).admits(None)
    assert Cell.WITHHELD.admits(None)
    assert Cell.WITHHELD.admits("anything")
    assert Cell.MISSING.admits(None)
    assert not Cell.MISSING.admits("a")


def test_estimates__promise_nothing_about_a_value_and_are_no_level():
    cell = Cell.estimated("41.5")
    assert cell.admits("90", 90.0)
    assert not cell.admits(None)
    assert Cell.estimated("41.5", missing=True).admits(None)
    assert not cell.is_single
    assert cell != Cell.interval("41.5", "41.5")
    assert parse_cell("~41.5", Kind.CATEGORICAL) == Cell.value("~41.5")
    for text in ("~", "~a", "~~1", "~[1, 2]", "~1e999"):
        with pytest.raises(CellError):
            parse_cell(text, Kind.NUMERIC)


def test_json_of_a_level__is_one_line_of_printable_text():
    assert json.loads(member_text("a\u2028\x7f\nb")) == "a\u2028\x7f\nb"
