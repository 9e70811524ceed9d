"""Short names of long sets: unique, in an order that follows from the sets, and the same sets again from every file."""

import itertools
import json
import string
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.cells import Cell, parse_cell
from anonymizer.checking.released_file import read_file
from anonymizer.checking.set_names import in_full
from anonymizer.checking.verify import verify
from anonymizer.errors import CellError
from anonymizer.flow import Flow
from anonymizer.releasing.release import FORMATS, ReleasedColumn, read_release
from anonymizer.releasing.set_names import is_long, letters_of, named, names_of
from anonymizer.schema import Kind, Role, Schema
from anonymizer.settings import Settings

LEVELS = [f"10{number:03}" for number in range(40)] + ["{A: 20 levels}", "A", "x, y", "a+b"]


def places(n: int = 500, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.integers(20, 80, n), "zip": rng.choice(LEVELS, n)})
    table["town"] = [f"A town with a rather long name, number {number}" for number in rng.integers(0, 6, n)]
    table["ill"] = rng.choice(["flu", "cold", "none"], n)
    return table


def flow_of(table: pd.DataFrame, **settings: object) -> Flow:
    schema = Schema.of(table, quasi_identifying=["age", "zip", "town"], sensitive=["ill"], kinds={"zip": "categorical"})
    return Flow(table, schema, Settings(k=25, grouping="least", criterion="entropy", **settings))


def missing_places() -> pd.DataFrame:
    table = places(seed=3)
    table.loc[::17, "zip"] = None
    return table


def naive_names(cells: tuple[Cell, ...]) -> dict[str, str]:
    """The name of each long set, by the text that lists it: sorted texts, letters from a list of all."""
    texts = set()
    for cell in cells:
        members = cell.words or cell.levels
        text = replace(cell, missing=False, name="").text() or ""
        if text.startswith("{") and (len(members) >= 13 or len(text) >= 101):
            texts.add(text)
    letters = ["".join(some) for width in (1, 2) for some in itertools.product(string.ascii_uppercase, repeat=width)]
    return dict(zip(sorted(texts), letters, strict=False))


@pytest.mark.parametrize("make", [places, missing_places])
def test_names__are_those_of_a_list_of_sorted_sets(make) -> None:
    flow = flow_of(make(), sets="named")
    release = flow.leaving
    assert sum(bool(column.names) for column in release.generalized) == 2
    for column in release.generalized:
        slow = naive_names(flow.release[column.name].cells)
        fast = {replace(c, missing=False, name="").text(): c.name for c in column.cells if c.name}
        assert fast == slow
        texts = [cell.text() for cell in column.cells]
        assert len(set(texts)) == len(texts)
        names = {cell.text() for cell in column.cells if cell.name}
        assert not names & set(flow.table[column.name].map(str))


@pytest.mark.parametrize("make", [places, missing_places])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format__gives_the_same_sets_again(make, format: str) -> None:
    flow, plain = flow_of(make(), sets="named"), flow_of(make())
    release = replace(flow.leaving, bars=())
    if format not in release.formats:
        pytest.skip("it does not fit")
    content, sets = release.to_bytes(format), flow.report.sets
    frame = read_release(content, flow.schema, sets)
    full = replace(plain.leaving, bars=()).frame()
    for name in ("zip", "town"):
        texts = list(frame[name].astype(object).where(frame[name].notna(), None))
        assert texts == list(full[name].astype(object).where(full[name].notna(), None))
    file = read_file(content).under(flow.schema, sets=sets)
    assert verify(file.rows, flow.schema, original=flow.table, beside=file.beside, k=25).passed
    short = {text for text in release.frame()["zip"].astype(object).dropna() if ": " in text and text[0] == "{"}
    assert short
    assert max(map(len, short)) <= 100


def test_a_file_alone__says_that_its_names_cannot_be_resolved() -> None:
    flow = flow_of(places(), sets="named")
    rows = read_release(replace(flow.leaving, bars=()).to_bytes(), flow.schema)
    check = verify(rows, flow.schema, k=25)["cells"]
    assert check.passed is False
    assert "names of sets cannot be resolved without the dictionary of the release" in check.sentence


def test_full_sets__are_the_same_bytes_as_without_the_setting() -> None:
    plain, full = flow_of(places()), flow_of(places(), sets="full")
    assert replace(plain.leaving, bars=()).to_bytes() == replace(full.leaving, bars=()).to_bytes()
    assert "sets" not in plain.report.to_dict()
    assert names_of(plain.release, "full") == {}


def test_rows__stand_in_the_order_of_sets_in_full() -> None:
    short, full = flow_of(places(), sets="named").leaving, flow_of(places()).leaving
    assert list(short.frame()["ill"]) == list(full.frame()["ill"])


def test_the_dictionary__lists_what_each_name_holds() -> None:
    release = flow_of(places(), sets="named").leaving
    entry = next(entry for entry in release.dictionary() if entry["name"] == "zip")
    for cell in release["zip"].cells:
        if cell.name:
            assert tuple(entry["sets"][cell.name]) == cell.levels
    assert "is one of the levels of that set" in entry["cells"]
    json.dumps(entry)


@pytest.mark.parametrize(
    ("cell", "long"),
    [
        (Cell.of_levels([str(n) for n in range(12)]), False),
        (Cell.of_levels([str(n) for n in range(13)]), True),
        (Cell.of_levels([str(n) for n in range(12)], missing=True), False),
        (Cell.of_levels(["a" * 47, "b" * 47]), False),
        (Cell.of_levels(["a" * 48, "b" * 49]), True),
        (Cell.of_levels(["a" * 200]), False),
        (Cell.of_levels(["a" * 200], missing=True), False),
        (Cell.concatenation([str(n) for n in range(20)]), False),
        (Cell.WITHHELD, False),
        (Cell.MISSING, False),
        (Cell.interval("1", "9"), False),
    ],
)
def test_long__is_what_lists_more_than_twelve_levels_or_a_hundred_letters(cell: Cell, long: bool) -> None:
    assert is_long(cell) is long


def test_letters__go_on_behind_z() -> None:
    slow = ["".join(some) for width in (1, 2, 3) for some in itertools.product(string.ascii_uppercase, repeat=width)]
    assert [letters_of(place) for place in range(len(slow))] == slow


@pytest.mark.parametrize("text", ["{A: 13 levels}", "{ZZ: 2 levels, missing}"])
def test_a_name__is_no_cell_by_itself(text: str) -> None:
    with pytest.raises(CellError, match="cannot be resolved"):
        parse_cell(text, Kind.CATEGORICAL)
    level = Cell.of_levels((text,)).text()
    assert level is not None
    assert level[0] == '"'
    assert parse_cell(level, Kind.CATEGORICAL).levels == (text,)


words = st.text(st.characters(min_codepoint=32, max_codepoint=0x17F), min_size=1, max_size=30)
sets = st.lists(st.tuples(st.sets(st.integers(0, 29), min_size=1), st.booleans()), min_size=1, max_size=60)


@given(st.lists(words, min_size=30, max_size=30, unique=True), sets)
def test_any_sets__have_names_of_their_own_and_are_the_same_again(domain: list[str], some) -> None:
    domain = sorted(domain)
    cells = {Cell.of_levels([domain[at] for at in sorted(levels)], missing) for levels, missing in some}
    release = _release(tuple(cells), tuple(domain))
    short, full = named(release, "named").frame(), release.frame()
    schema = Schema.of(full, quasi_identifying=["c"], kinds={"c": "categorical"})
    assert short["c"].nunique() == full["c"].nunique()
    rows, problems = in_full(short, schema, names_of(release, "named"))
    assert problems == []
    assert list(rows["c"].astype(object).fillna("")) == list(full["c"].astype(object).fillna(""))
    turned = _release(tuple(cells)[::-1], tuple(domain))
    assert names_of(turned, "named") == names_of(release, "named")


def _release(cells: tuple[Cell, ...], domain: tuple[str, ...]):
    from anonymizer.releasing.release import Release

    index = np.arange(len(cells))
    column = ReleasedColumn("c", Role.QUASI_IDENTIFYING, Kind.CATEGORICAL, domain, True, cells, index)
    return Release((column,), index, "uniform")
