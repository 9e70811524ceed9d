"""Columns before and after, and their figures: against an even spread computed value by value."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.charts import distribution_figure, loss_figure, loss_sentence, moved_sentence
from anonymizer.distributions import MOST_BINS, MOST_LEVELS, Distribution, bin_edges, distribution, spread
from anonymizer.encode import encode
from anonymizer.errors import ParameterError
from anonymizer.pipeline import anonymize
from anonymizer.samples import hospital
from anonymizer.schema import Kind, Schema

KNOWN = ["age", "sex", "postcode", "marital_status", "occupation", "admission_date"]


@pytest.fixture(scope="module")
def result():
    table = hospital(400, 3)
    schema = Schema.of(table, identifying=["name", "email"], quasi_identifying=KNOWN, sensitive=["diagnosis"])
    return table, anonymize(table, schema, k=10, rng=np.random.default_rng(1))


def test_before__counts_the_original(result) -> None:
    table, made = result
    column = distribution(made.encoded, made.release, "occupation")
    counts = table["occupation"].value_counts()
    assert dict(zip(column.labels, column.before, strict=True)) == {name: counts[name] for name in column.labels}
    assert column.missing[0] == table["occupation"].isna().sum() > 0


@pytest.mark.parametrize("name", KNOWN)
def test_records__are_neither_lost_nor_made(result, name: str) -> None:
    table, made = result
    column = distribution(made.encoded, made.release, name)
    assert column.before.sum() + column.missing[0] == len(table)
    assert column.after.sum() + column.missing[1] == pytest.approx(len(table))
    assert column.before.min() >= 0
    assert column.after.min() >= 0
    assert len(column.labels) == len(column.before) == len(column.after) <= MOST_BINS + 1
    assert 0 <= column.moved <= 1


def test_sets__are_shared_out_evenly_with_missing_as_one_more(result) -> None:
    table, made = result
    column = distribution(made.encoded, made.release, "marital_status")
    levels = sorted(table["marital_status"].dropna().unique())
    expected, missing = dict.fromkeys(levels, 0.0), 0.0
    released = made.release["marital_status"]
    for cell in (released.cells[code] for code in released.index):
        open_levels = levels if cell.withheld else list(cell.levels)
        may_miss = cell.missing or (cell.withheld and table["marital_status"].isna().any())
        for level in open_levels:
            expected[level] += 1 / (len(open_levels) + may_miss)
        missing += may_miss / (len(open_levels) + may_miss)
    assert dict(zip(column.labels, column.after, strict=True)) == pytest.approx(expected)
    assert column.missing[1] == pytest.approx(missing)


def test_intervals_of_whole_numbers__are_shared_out_value_by_value(result) -> None:
    _, made = result
    column = distribution(made.encoded, made.release, "age")
    expected = np.zeros(len(column.before))
    released = made.release["age"]
    for cell in (released.cells[code] for code in released.index):
        values = np.arange(int(cell.low), int(cell.high) + 1)
        bins = np.searchsorted(column.edges, values) - 1
        np.add.at(expected, bins, 1 / len(values))
    assert column.after == pytest.approx(expected)


def test_nothing_generalized__is_distributed_as_before() -> None:
    table = pd.DataFrame({"a": [1, 2, 5] * 4, "b": list("wxy") * 4, "s": list("uvz") * 4})
    made = anonymize(table, Schema.of(table, quasi_identifying=["a", "b"], sensitive=["s"]), k=4)
    assert made.utility.gcp == 0
    for name in ("a", "b"):
        column = distribution(made.encoded, made.release, name)
        assert column.after.tolist() == column.before.tolist()
        assert moved_sentence(column) == f"{name} is distributed as before"


def test_levels__beyond_the_most_frequent_are_added_up() -> None:
    table = pd.DataFrame({"city": [f"c{n % 60:02}" for n in range(240)] + ["c07"] * 9, "s": ["x", "y", "y"] * 83})
    made = anonymize(table, Schema.of(table, quasi_identifying=["city"], sensitive=["s"]), k=5)
    column = distribution(made.encoded, made.release, "city")
    assert column.labels[0] == "c07"
    assert column.labels[-1] == f"{60 - MOST_LEVELS} others"
    assert column.before[0] == 13
    assert column.before.sum() == len(table)


def test_kept_column__is_refused(result) -> None:
    _, made = result
    with pytest.raises(ParameterError, match="diagnosis"):
        distribution(made.encoded, made.release, "diagnosis")


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.data())
def test_spread__lays_every_run_out_evenly(low: float, width: float, data: st.DataObject) -> None:
    edges = bin_edges(low, low + width, 0.0)
    inside = st.floats(low, low + width)
    drawn = data.draw(st.lists(st.tuples(inside, inside, st.floats(0, 10)), min_size=1, max_size=5))
    runs = [(*sorted(ends), weight) for *ends, weight in drawn]
    expected = np.zeros(len(edges) - 1)
    for first, last, weight in runs:
        if first == last:
            expected[min(int(np.searchsorted(edges, first, side="right")) - 1, len(edges) - 2)] += weight
            continue
        for place, (left, right) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
            expected[place] += weight * max(0.0, min(right, last) - max(left, first)) / (last - first)
    found = spread(edges, *np.array(runs).T)
    assert found == pytest.approx(expected, abs=1e-9)
    assert found.sum() == pytest.approx(sum(weight for *_, weight in runs), abs=1e-9)


@given(st.integers(-10_000, 10_000), st.integers(0, 10_000))
def test_bins__of_whole_numbers_hold_equally_many(low: int, width: int) -> None:
    edges = bin_edges(low, low + width, 1.0)
    assert len(edges) - 1 <= MOST_BINS
    assert edges[0] < low
    assert edges[-1] > low + width
    assert len(set(np.diff(edges))) == 1
    assert (edges % 1 == 0.5).all()


def test_figures__show_text_of_the_table_as_text() -> None:
    hostile = ("<b>x</b>", "$a$")
    column = Distribution(
        "<i>n", Kind.CATEGORICAL, None, hostile, np.array([3.0, 1.0]), np.array([2.0, 2.0]), (0.0, 1.0)
    )
    for figure in (distribution_figure(column), loss_figure({"<i>n": 0.4, "b": 0.1})):
        shown = json.dumps(json.loads(figure.to_json()), ensure_ascii=False)
        assert "<b>" not in shown
        assert "<i>" not in shown
        assert "$" not in shown
    assert distribution_figure(column).layout.yaxis.ticktext[-1] == "(missing)"


def test_dates__are_drawn_as_dates(result) -> None:
    table, made = result
    column = distribution(made.encoded, made.release, "admission_date")
    figure = distribution_figure(column)
    first = pd.Timestamp(figure.data[0].x[0])
    assert abs(first - table["admission_date"].min()) < pd.Timedelta(days=1)
    assert column.labels[0].startswith(str(table["admission_date"].min().date()))
    assert column.labels[-1].endswith(str(table["admission_date"].max().date()))


def test_loss__says_the_largest_and_the_mean() -> None:
    said = loss_sentence({"age": 0.2, "sex": 0.5}, 0.35)
    assert said == "sex lost most detail (50.0%); all columns on average 35.0% (GCP)"
    figure = loss_figure({"age": 0.2, "sex": 0.5})
    assert list(figure.data[0].x) == [0.5, 0.2]
    assert list(figure.layout.yaxis.ticktext) == ["sex", "age"]
    assert loss_sentence({"age": 0.0}, 0.0) == "No column lost any detail"


def test_moved__is_the_least_share_that_changed_bins() -> None:
    table = pd.DataFrame({"a": [0] * 5 + [1] * 5, "s": list("xyxyxyxyxy")})
    encoded = encode(table, Schema.of(table, quasi_identifying=["a"], sensitive=["s"]))
    made = anonymize(table, Schema.of(table, quasi_identifying=["a"], sensitive=["s"]), k=10)
    column = distribution(encoded, made.release, "a")
    assert column.after == pytest.approx([5, 5])
    assert column.moved == 0
    lopsided = pd.DataFrame({"a": [0] * 8 + [1] * 2, "s": list("xyxyxyxyxy")})
    made = anonymize(lopsided, Schema.of(lopsided, quasi_identifying=["a"], sensitive=["s"]), k=10)
    assert distribution(made.encoded, made.release, "a").moved == pytest.approx(0.3)
