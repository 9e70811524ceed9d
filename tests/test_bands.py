"""Levels that are bands: their runs have one text each, which reads back, in cells of files and pages alike."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import anonymizer as an
from anonymizer.bands import band_of, bands_of
from anonymizer.cells import Cell, in_bands, parse_cell, parse_column_cell
from anonymizer.cli.main import main
from anonymizer.flow import Flow
from anonymizer.reading.patterns import natural_order
from anonymizer.reading.profile import with_natural_orders
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import Settings

TENS = tuple(f"[{ten}-{ten + 10})" for ten in range(0, 100, 10))
NOTATIONS = [
    (TENS, ("[70-80)", "[80-90)"), "[70-90)"),
    (("[0,5)", "[5,9)", "[9,30)"), ("[0,5)", "[5,9)"), "[0,9)"),
    (("(0, 5]", "(5, 9]", "(9, 30]"), ("(5, 9]", "(9, 30]"), "(5, 30]"),
    (("[0, 5)", "[5, 9)", "[9, inf)"), ("[5, 9)", "[9, inf)"), "[5, inf)"),
    (("18-24", "25-31", "32-38"), ("18-24", "25-31"), "18-31"),
    (("9 to 34 years", "35 to 44 years", "45 to 54 years"), ("9 to 34 years", "35 to 44 years"), "9 to 44 years"),
    (
        ("0-999", "1,000-1,999", "2,000-2,999"),
        ("0-999", "1,000-1,999"),
        '"0-1,999"',
    ),  # a comma stands between the levels of a set
    (("<18", "18-39", "40-59", "60+"), ("40-59", "60+"), "40+"),
    (("<18", "18-39", "40-59", "60+"), ("<18", "18-39"), "<40"),
    (("≤17", "18-39", "40-59", ">59"), ("≤17", "18-39"), "≤39"),
    (("≤17", "18-39", "40-59", ">59"), ("40-59", ">59"), ">39"),
    (TENS, ("[0-10)", "[20-30)", "[30-40)", "[70-80)", "[80-90)", "[90-100)"), "{[0-10), [20-40), [70-100)}"),
    (("<18", "18-39", "40-59", ">59"), ("40-59", ">59"), ">39"),
    (("<18", "18-39", "40-59", ">59"), ("<18", "18-39"), "<40"),
    (("<18", "18-39", "40-59", ">59"), ("18-39", "40-59", ">59"), "{18-59, >59}"),  # ">18" would leave 18 out
    (("<18", "18-39", "40-59", ">59"), ("<18", "18-39", "40-59"), "{<40, 40-59}"),  # "<59" would leave 59 out
    (("(5,9]", "(9,30]", ">30"), ("(9,30]", ">30"), ">9"),
    (("[5,9)", "[9,30)", "≥30"), ("[9,30)", "≥30"), "≥9"),
    (("[5,9)", "[9,30)", ">30"), ("[9,30)", ">30"), "{[9,30), >30}"),  # nobody says where 9 is
    (("<5", "[5,9)", "[9,30)"), ("<5", "[5,9)"), "<9"),
    (("≤5", "(5,9]", "(9,30]"), ("≤5", "(5,9]"), "≤9"),
    (("<5", "(5,9]", "(9,30]"), ("<5", "(5,9]"), "{<5, (5,9]}"),
    (("0.0-0.9", "1.0-1.9", "2.0-2.9"), ("0.0-0.9", "1.0-1.9"), "0.0-1.9"),
    (("under 20", "20-30", "30-40", "40 and over"), ("30-40", "40 and over"), "30 and over"),
]


@pytest.mark.parametrize(("levels", "run", "text"), NOTATIONS)
def test_run__is_written_in_its_own_notation(levels: tuple[str, ...], run: tuple[str, ...], text: str) -> None:
    assert natural_order(sorted(levels)) == levels
    column = Column("band", Role.QUASI_IDENTIFYING, Kind.CATEGORICAL, levels, ordered=True)
    assert column.bands is not None
    cell = in_bands(Cell.of_levels(run), column.bands)
    assert cell.levels == run
    assert cell.text() == text
    assert parse_column_cell(text, column) == cell
    missing = f"{{{text.strip('{}')}, missing}}"
    assert in_bands(Cell.of_levels(run, missing=True), column.bands).text() == missing
    assert parse_column_cell(missing, column).levels == run


@pytest.mark.parametrize(
    ("levels", "run", "text"),
    [
        (("<18", "18-39", "40-59", "60+"), ("<18", "18-39", "40-59", "60+"), "{<60, 60+}"),  # all: no end to name
        (("≤17", "18-39", "40-59", ">59"), ("≤17", "18-39", "40-59", ">59"), "{≤59, >59}"),
        (("<10", "10-19", "20-29"), ("<10", "10-19", "20-29"), "{<20, 20-29}"),  # nothing says where the last ends
        (("0-9", "10-19", "50-59"), ("10-19", "50-59"), "{10-19, 50-59}"),  # a hole
        (("0-9", "10-19", "20-29"), ("0-9", "20-29"), "{0-9, 20-29}"),  # no run
        (("[0-10)", "[10-20)", "[90-100)"), ("[10-20)", "[90-100)"), "{[10-20), [90-100)}"),
    ],
)
def test_what_no_band_says__is_a_set(levels: tuple[str, ...], run: tuple[str, ...], text: str) -> None:
    column = Column("band", Role.QUASI_IDENTIFYING, Kind.CATEGORICAL, levels, ordered=True)
    assert column.bands is not None
    cell = in_bands(Cell.of_levels(run), column.bands)
    assert cell.text() == text
    assert parse_column_cell(text, column) == cell
    assert cell.levels == run


@pytest.mark.parametrize(
    "levels",
    [
        ("0-9", "5-14", "15-19"),  # they overlap
        ("0-9", "10 to 19", "20-29"),  # two notations
        ("<18", "18-39", "60+"),  # one band with two ends: nothing says whether bands share them
        ("a", "b", "c"),
        ("0-9", "10-19", "old"),
        ("20-29", "10-19", "0-9"),
    ],
)
def test_levels_that_are_no_bands__have_no_runs(levels: tuple[str, ...]) -> None:
    assert bands_of(levels) is None


def test_every_run__has_a_text_of_its_own_and_says_its_levels() -> None:
    bands = bands_of(TENS)
    assert bands is not None
    assert len(bands.words) == 45
    for text, (first, last) in bands.words.items():
        low, high = band_of(TENS[first]), band_of(TENS[last])
        whole = band_of(text)
        assert low is not None
        assert high is not None
        assert whole is not None
        assert (whole.low, whole.high) == (low.low, high.high)
        assert text not in TENS


@pytest.mark.parametrize("level", ["[70-80)", "[5,9)", "(5, 9]", "[5,9]", "80+", "[5;9)", "(-Inf,5]", "[0.5–1.5)"])
def test_band__needs_no_quotation_marks(level: str) -> None:
    assert Cell.value(level).text() == level
    assert parse_cell(level, Kind.CATEGORICAL) == Cell.value(level)
    two = Cell.of_levels((level, "other"), missing=True)
    assert two.text() == f"{{{level}, other, missing}}"
    assert parse_cell(two.text(), Kind.CATEGORICAL) == two
    assert parse_cell(f'"{level}"', Kind.CATEGORICAL) == Cell.value(level), "as older files have it"
    joined = Cell.concatenation((level, "other"), counts=(2, 3))
    assert parse_cell(joined.text(), Kind.CATEGORICAL) == joined


def test_interval__is_no_band() -> None:
    assert Cell.value("[29, 61]").text() == '"[29, 61]"'
    assert parse_cell("[29, 61]", Kind.CATEGORICAL) == Cell.interval("29", "61")


@pytest.fixture
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 600
    columns = {
        "age": [TENS[ten] for ten in rng.integers(0, 10, n)],
        "sex": rng.choice(["F", "M"], n),
        "town": rng.choice(["Ulm", "Bonn", "Kiel"], n),
        "illness": rng.choice(["flu", "asthma", "gout"], n),
    }
    return pd.DataFrame(columns)


ROLES = ("--quasi-identifying", "age,sex,town", "--sensitive", "illness", "--k", "30")


def test_release__from_page_terminal_and_python_holds_runs_of_bands(
    people: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out, report = tmp_path / "people.csv", tmp_path / "out.csv", tmp_path / "report.json"
    people.to_csv(source, index=False)
    assert main(["anonymize", str(source), *ROLES, "--out", str(out), "--report", str(report)]) == 0
    rows = an.read_release(out)
    assert any(band_of(text) is not None and text not in TENS for text in rows["age"].unique())
    assert '"[' not in "".join(rows["age"].unique())
    schema = an.suggest(people)
    assert schema["age"].ordered
    flow = Flow(people, schema, Settings(k=30))
    ours = an.read_release(flow.release.to_bytes())
    assert sorted(ours.astype(str).to_numpy().tolist()) == sorted(rows.astype(str).to_numpy().tolist())
    ways = ["--report", str(report)], [*ROLES]
    for words in ways:
        assert main(["verify", str(out), *words, "--original", str(source)]) == 0
        assert main(["verify", str(out), *words]) == 0
    capsys.readouterr()


def test_sets_of_bands_that_nobody_ordered__are_checked_as_they_are(
    people: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = Schema.of(people, quasi_identifying=["age", "sex", "town"], sensitive=["illness"])
    assert not schema["age"].ordered
    assert with_natural_orders(schema, people)["age"].domain == TENS
    source, out = tmp_path / "people.csv", tmp_path / "out.csv"
    people.to_csv(source, index=False)
    Flow(people, schema, Settings(k=30)).release.write(out)
    assert any(text.startswith("{") for text in an.read_release(out)["age"].unique())
    assert main(["verify", str(out), *ROLES, "--original", str(source)]) == 0
    assert main(["verify", str(out), *ROLES]) == 0
    capsys.readouterr()


def test_two_spellings_of_a_run__are_refused(
    people: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "people.csv", tmp_path / "out.csv"
    people.to_csv(source, index=False)
    assert main(["anonymize", str(source), *ROLES, "--out", str(out)]) == 0
    rows = an.read_release(out).astype(str)
    bands = bands_of(TENS)
    assert bands is not None
    text = next(text for text in rows["age"] if text in bands.words)
    first, last = bands.words[text]
    one = rows.index[rows["age"] == text][0]
    rows.loc[one, "age"] = "{" + ", ".join(TENS[first : last + 1]) + "}"
    rows.to_csv(out, index=False)
    capsys.readouterr()
    assert main(["verify", str(out), *ROLES, "--original", str(source)]) == 1
    assert "a cell has one spelling, and this is another" in capsys.readouterr().out
