"""Public cuts: bands, top and bottom codes, which tree, boxes and checker keep to."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.cells import Cell, parse_cell
from anonymizer.checking.verify import verify
from anonymizer.cuts import Cuts
from anonymizer.engines import anonymize_files
from anonymizer.errors import CellError, EncodeError, ParameterError, SchemaError
from anonymizer.flow import Flow
from anonymizer.growing.encode import encode
from anonymizer.growing.people import codes_of_people
from anonymizer.provenance.report import schema_digest
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.releasing.release import read_release
from anonymizer.schema import Kind, Schema
from anonymizer.settings import Settings, names_of
from tests.sweeps import few

ADULT = (0.0, 18.0, 25.0, 35.0, 45.0, 55.0, 65.0)
"""Bands of age as statistical offices print them."""


def people(seed: int = 0, n: int = 200, step: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "age": np.where(rng.random(n) < 0.05, np.nan, rng.integers(0, 95 / step, n) * step),
        "city": rng.choice(list("abc"), n),
        "ill": rng.choice(["x", "y"], n),
    })  # fmt: skip


def schema_of(table: pd.DataFrame, cuts: Cuts) -> Schema:
    return Schema.of(table, quasi_identifying=["age", "city"], sensitive=["ill"]).with_column("age", cuts=cuts)


def slow_ends(text: str) -> tuple[float, float] | None:
    """What a released cell says, from its text alone; None for what says no number."""
    text = re.sub(r"^\{(.*), missing\}$", r"\1", text)
    if text in ("*", "", "nan", "missing"):
        return None
    if text[0] in "≥≤":
        number = float(text[2:])
        return (number, np.inf) if text[0] == "≥" else (-np.inf, number)
    ends = [float(part) for part in text.strip("[]").split(", ")]
    return ends[0], ends[-1]


@settings(max_examples=few(25))
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(GENERALIZERS)),
    st.sampled_from(["public", "range", "mean"]),
    st.sampled_from([1.0, 0.5]),
    st.sampled_from([Cuts(ADULT), Cuts(top=80), Cuts(bottom=20), Cuts(top=81, bottom=19), Cuts((0.0, 40.5))]),
)
def test_release__keeps_to_the_cuts_and_holds_everybody(
    seed: int, generalizer: str, numbers: str, step: float, cuts: Cuts
) -> None:
    table = people(seed, 120, step)
    numbers = "range" if generalizer == "tiered" and numbers == "mean" else numbers
    flow = Flow(table, schema_of(table, cuts), Settings(k=5, generalizer=generalizer, numbers=numbers))
    released = flow.released
    for text, row in zip(released["age"].astype(object).fillna(""), flow.release.order, strict=True):
        age, ends = table["age"][row], slow_ends(str(text))
        if ends is None:
            assert text == "*" or (text == "" and np.isnan(age))
            continue
        low, high = ends
        assert np.isnan(age) or low <= age <= high
        if cuts.bands:
            assert low in cuts.bands
            assert high == np.inf or high in cuts.bands or high + 1 in cuts.bands
        if cuts.top is not None:
            assert high == np.inf or (high <= cuts.top and low < cuts.top)
        if cuts.bottom is not None:
            assert low == -np.inf or (low >= cuts.bottom and high > cuts.bottom)
    assert [check.name for check in flow.verification.failed if check.name != "k-anonymity"] == []
    assert flow.verification.passed or generalizer == "tiered"


def test_tree__splits_at_band_boundaries_only() -> None:
    table = people(1, 400)
    flow = Flow(table, schema_of(table, Cuts(ADULT)), Settings(k=5))
    cuts = flow.tree.threshold[flow.tree.feature == 0]
    assert len(cuts)
    # A split that parts the missing ones from the others has no threshold.
    assert all(any(start - 1 < cut < start for start in ADULT) for cut in cuts[np.isfinite(cuts)])
    assert np.isfinite(cuts).any()
    encoding = flow.encoded.encodings[0]
    assert encoding.low.tolist() == list(ADULT)
    assert encoding.high[:-1].tolist() == [start - 1 for start in ADULT[1:]]


def test_bands__by_hand() -> None:
    table = pd.DataFrame({"age": [3, 17, 18, 40, 64, 65, 80, 93], "ill": list("xyxyxyxy")})
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["ill"]).with_column("age", cuts=Cuts((0, 18, 65)))
    flow = Flow(table, schema, Settings(k=2, generalizer="uniform", grouping="least"))
    assert flow.released["age"].value_counts().to_dict() == {"[0, 17]": 2, "[18, 64]": 3, "≥ 65": 3}
    one = Flow(table, schema, Settings(k=8))
    assert set(one.released["age"]) == {"≥ 0"}
    assert flow.report.notes == (
        "'age' is said in 3 public bands, which begin at 0, 18, 65; the last one is open, and every value is only said "
        "as its band.",
    )
    assert flow.isolation.ends.share == 0


def test_codes__by_hand() -> None:
    table = pd.DataFrame({"age": [20.0, 20, 50, 50, 80, 81, 93, 19], "ill": list("xyxyxyxy")})
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["ill"])
    schema = schema.with_column("age", cuts=Cuts(top=80, bottom=20))
    flow = Flow(table, schema, Settings(k=2, generalizer="uniform", grouping="least", min_leaf=2))
    cells = dict(zip(flow.release.order.tolist(), flow.released["age"].astype(str), strict=True))
    assert {cells[row] for row in (4, 5, 6)} == {"≥ 80"}
    assert {cells[row] for row in (0, 1, 7)} == {"≤ 20"}
    words = next(entry["cells"] for entry in flow.release.dictionary() if entry["name"] == "age")
    assert "closed interval" in words
    assert "≥ 80 stands for 80 or more" in words
    assert flow.report.notes == (
        "1 value of 'age' below 20 is said as 20 or less.", "2 values of 'age' above 80 are said as 80 or more."
    )  # fmt: skip


def test_open_end__singles_out_who_alone_is_in_the_last_band() -> None:
    """Four people in one box of all bands from 18 on, one of them 70: the open end speaks of that one."""
    table = pd.DataFrame({"age": [20, 30, 40, 70, 3, 4, 5, 6], "sex": list("aaaabbbb"), "ill": list("xxxxyyyy")})
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["ill"])
    schema = schema.with_column("age", cuts=Cuts((0, 18, 65)))
    flow = Flow(table, schema, Settings(k=4, generalizer="uniform", grouping="least"))
    assert flow.released["age"].value_counts().to_dict() == {"[0, 17]": 4, "≥ 18": 4}
    assert (flow.isolation.ends.tries, flow.isolation.ends.right) == (4, 1)
    assert flow.isolation.records.share == 1 / 8


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[0, 17]", ""), ("[18, 64]", ""), ("≥ 65", ""), ("[0, 64]", ""), ("≥ 18", ""), ("*", ""),
        ("[0, 20]", "public cuts"), ("[3, 17]", "public cuts"), ("[65, 93]", "public cuts"), ("≥ 70", "public cuts"),
        ("≤ 17", "public cuts"), ("40", "public cuts"), ("~40", "public cuts"),
    ],
)  # fmt: skip
def test_checker__reads_the_cuts_by_itself(text: str, wrong: str) -> None:
    released = pd.DataFrame({"age": [text] * 4, "ill": list("xyxy")})
    schema = Schema.of(released, quasi_identifying=["age"], sensitive=["ill"], kinds={"age": "numeric"})
    check = verify(released, schema.with_column("age", cuts=Cuts((0, 18, 65))), k=2)["cells"]
    assert check.passed is not bool(wrong)
    assert wrong in check.sentence
    plain = verify(released, schema, k=2)["cells"]
    assert plain.passed is not text.startswith(("≥", "≤"))


@pytest.mark.parametrize(
    ("text", "allowed"),
    [("≥ 80", True), ("≥ 60", True), ("[60, 79]", True), ("80", False), ("[60, 93]", False), ("≤ 60", False),
     ("≥ 81", True)],
)  # fmt: skip
def test_top_code__is_said_open(text: str, allowed: bool) -> None:
    cell = parse_cell(text, Kind.NUMERIC)
    assert Cuts(top=80).allows(cell.low, cell.high) is allowed


@pytest.mark.parametrize("text", ["≥ 80", "≤ 20", "{≥ 80, missing}", "{≤ -3.5, missing}"])
def test_open_cells__are_written_and_read_the_same(text: str) -> None:
    cell = parse_cell(text, Kind.NUMERIC)
    assert cell.text() == text
    assert not cell.is_single
    assert cell.admits("90", 90) is text.startswith(("≥", "{≥"))
    assert parse_cell("≥ 80", Kind.CATEGORICAL) == Cell.value("≥ 80")


@pytest.mark.parametrize("text", ["≥ ", "≥80", "≥ x", "[, 5]", "[5, ]", "≥ ≤ 3"])
def test_open_cells__have_one_spelling(text: str) -> None:
    with pytest.raises(CellError):
        parse_cell(text, Kind.NUMERIC)


@pytest.mark.parametrize(
    "cuts",
    [{"bands": (5,)}, {"bands": (5, 5)}, {"bands": (5, 1)}, {"bands": (0, np.inf)}, {"bands": ("a", "b")},
     {"bands": (0, 9), "top": 8}, {"top": 3, "bottom": 3}, {"top": np.nan}],
)  # fmt: skip
def test_cuts_out_of_order__are_refused(cuts: dict) -> None:
    with pytest.raises(SchemaError):
        Cuts(**cuts)


def test_what_cannot_be_cut__is_said() -> None:
    table = people()
    with pytest.raises(SchemaError, match="'city' has no numbers to cut"):
        schema_of(table, Cuts()).with_column("city", cuts=Cuts(top=3))
    with pytest.raises(EncodeError, match="holds a value below its first public band, which begins at 5"):
        encode(table.fillna(0), schema_of(table, Cuts((5, 18))))
    with pytest.raises(ParameterError, match="public cuts takes one table in memory"):
        anonymize_files("none.parquet", schema_of(table, Cuts(top=80)), "out")
    other = Schema.of(table, quasi_identifying=["city"], sensitive=["ill"]).with_column("age", cuts=Cuts(top=80))
    assert "public cuts of 'age' do not count: it is insensitive" in encode(table, other).notes[0]


def test_cuts__are_part_of_the_schema_and_of_what_a_recipient_checks() -> None:
    table = people()
    schema = schema_of(table, Cuts(ADULT))
    assert Schema.from_json(schema.to_json()) == schema
    assert schema_digest(schema) != schema_digest(schema_of(table, Cuts()))
    flow = Flow(table, schema, Settings(k=5))
    described = json.loads(flow.report.to_recipient_json())["provenance"]["schema"]
    assert described["columns"][0]["cuts"] == {"bands": list(ADULT)}
    assert "--plan REPORT.json" in flow.report.provenance.command
    again = read_release(flow.release.to_bytes("csv"), schema)
    assert verify(again, Schema.from_json(json.dumps(described)), original=table, k=5).passed
    assert flow.weighted.figures[0].after.value > 0


def test_people_of_the_population__are_cut_alike() -> None:
    table = people(2)
    schema = schema_of(table, Cuts((0, 18, 65)))
    encoding = encode(table, schema).encodings[0]
    ages = pd.Series([0.0, 17, 18, 64, 65, 120, np.nan])
    assert codes_of_people(ages, encoding, schema).tolist() == [0, 0, 1, 1, 2, 2, 3]
    top = schema_of(table.assign(age=table["age"].fillna(90)), Cuts(top=80))
    encoding = encode(table.assign(age=table["age"].fillna(90)), top).encodings[0]
    assert len(set(codes_of_people(pd.Series([80.0, 93, 200]), encoding, top))) == 1


def test_every_way_to_write_numbers__is_tried() -> None:
    assert set(names_of("numbers")) == {"public", "range", "mean", "median"}
