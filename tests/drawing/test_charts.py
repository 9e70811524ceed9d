"""Figures of a tree and of a release; columns before and after against an even spread computed value by value."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.checking.linkage import classes_of
from anonymizer.drawing.charts import (
    class_figure,
    curve_figure,
    distribution_figure,
    loss_figure,
    loss_sentence,
    moved_sentence,
    numbers_figure,
    numbers_sentence,
    pruning_curve,
)
from anonymizer.errors import ParameterError
from anonymizer.groups.prune import prune
from anonymizer.growing.encode import encode
from anonymizer.measuring.bins import bin_edges, spread
from anonymizer.measuring.boxed import BoxedTable
from anonymizer.measuring.distributions import MOST_BINS, MOST_LEVELS, Distribution, distribution
from anonymizer.pipeline import Result, anonymize
from anonymizer.reading.samples import hospital
from anonymizer.schema import Kind, Schema
from anonymizer.values import number_text

QUASI = ["age", "sex", "postcode", "marital_status", "occupation", "admission_date"]


@pytest.fixture(scope="module")
def result():
    table = hospital(400, 3)
    schema = Schema.of(table, identifying=["name", "email"], quasi_identifying=QUASI, sensitive=["diagnosis"])
    return table, anonymize(table, schema, k=10, rng=np.random.default_rng(1))


def evenly(outcome: Result) -> BoxedTable:
    """The boxes of a release, whose cells are read evenly."""
    columns = outcome.release.generalized
    alike = classes_of([(column.index, len(column.cells)) for column in columns], outcome.release.n_records)
    return BoxedTable.of_release(outcome.encoded, outcome.release, alike.class_of)


def test_before__counts_the_original(result) -> None:
    table, outcome = result
    column = distribution(outcome.encoded, evenly(outcome), "occupation")
    counts = table["occupation"].value_counts()
    assert dict(zip(column.labels, column.before, strict=True)) == {name: counts[name] for name in column.labels}
    assert column.missing[0] == table["occupation"].isna().sum() > 0


@pytest.mark.parametrize("name", QUASI)
def test_records__are_neither_lost_nor_made(result, name: str) -> None:
    table, outcome = result
    column = distribution(outcome.encoded, evenly(outcome), name)
    assert column.before.sum() + column.missing[0] == len(table)
    assert column.after.sum() + column.missing[1] == pytest.approx(len(table))
    assert column.before.min() >= 0
    assert column.after.min() >= 0
    assert len(column.labels) == len(column.before) == len(column.after) <= MOST_BINS + 1
    assert 0 <= column.moved <= 1


def test_sets__are_shared_out_evenly_with_missing_as_one_more(result) -> None:
    table, outcome = result
    column = distribution(outcome.encoded, evenly(outcome), "marital_status")
    levels = sorted(table["marital_status"].dropna().unique())
    expected, missing = dict.fromkeys(levels, 0.0), 0.0
    released = outcome.release["marital_status"]
    for cell in (released.cells[code] for code in released.index):
        open_levels = levels if cell.withheld else list(cell.levels)
        may_miss = cell.missing or (cell.withheld and table["marital_status"].isna().any())
        for level in open_levels:
            expected[level] += 1 / (len(open_levels) + may_miss)
        missing += may_miss / (len(open_levels) + may_miss)
    assert dict(zip(column.labels, column.after, strict=True)) == pytest.approx(expected)
    assert column.missing[1] == pytest.approx(missing)


def test_intervals_of_whole_numbers__are_shared_out_value_by_value(result) -> None:
    _, outcome = result
    column = distribution(outcome.encoded, evenly(outcome), "age")
    expected = np.zeros(len(column.before))
    released = outcome.release["age"]
    for cell in (released.cells[code] for code in released.index):
        values = np.arange(int(cell.low), int(cell.high) + 1)
        bins = np.searchsorted(column.edges, values) - 1
        np.add.at(expected, bins, 1 / len(values))
    assert column.after == pytest.approx(expected)


def test_nothing_generalized__is_distributed_as_before() -> None:
    table = pd.DataFrame({"a": [1, 2, 5] * 4, "b": list("wxy") * 4, "s": list("uvz") * 4})
    outcome = anonymize(table, Schema.of(table, quasi_identifying=["a", "b"], sensitive=["s"]), k=4)
    assert outcome.utility.gcp == 0
    for name in ("a", "b"):
        column = distribution(outcome.encoded, evenly(outcome), name)
        assert column.after.tolist() == column.before.tolist()
        assert moved_sentence(column) == f"{name} is distributed as before"


def test_levels__beyond_the_most_frequent_are_added_up() -> None:
    table = pd.DataFrame({"city": [f"c{n % 60:02}" for n in range(240)] + ["c07"] * 9, "s": ["x", "y", "y"] * 83})
    outcome = anonymize(table, Schema.of(table, quasi_identifying=["city"], sensitive=["s"]), k=5)
    column = distribution(outcome.encoded, evenly(outcome), "city")
    assert column.labels[0] == "c07"
    assert column.labels[-1] == f"{60 - MOST_LEVELS} others"
    assert column.before[0] == 13
    assert column.before.sum() == len(table)


def test_kept_column__is_refused(result) -> None:
    _, outcome = result
    with pytest.raises(ParameterError, match="diagnosis"):
        distribution(outcome.encoded, evenly(outcome), "diagnosis")


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.data())
def test_spread__lays_every_run_out_evenly(low: float, width: float, data: st.DataObject) -> None:
    edges = bin_edges(low, low + width, 0.0, MOST_BINS)
    inside = st.floats(low, low + width)
    draws = data.draw(st.lists(st.tuples(inside, inside, st.floats(0, 10)), min_size=1, max_size=5))
    runs = [(*sorted(ends), weight) for *ends, weight in draws]
    expected = np.zeros(len(edges) - 1)
    for first, last, weight in runs:
        if first == last:
            expected[min(int(np.searchsorted(edges, first, side="right")) - 1, len(edges) - 2)] += weight
            continue
        for place, (left, right) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
            expected[place] += weight * max(0.0, min(right, last) - max(left, first)) / (last - first)
    first, last, weights = np.array(runs).T
    counts = weights @ spread(edges, first, last)
    assert counts == pytest.approx(expected, abs=1e-9)
    assert counts.sum() == pytest.approx(sum(weight for *_, weight in runs), abs=1e-9)


@given(st.integers(-10_000, 10_000), st.integers(0, 10_000))
def test_bins__of_whole_numbers_hold_equally_many(low: int, width: int) -> None:
    edges = bin_edges(low, low + width, 1.0, MOST_BINS)
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
        text = json.dumps(json.loads(figure.to_json()), ensure_ascii=False)
        assert "<b>" not in text
        assert "<i>" not in text
        assert "$" not in text
    assert distribution_figure(column).layout.yaxis.ticktext[-1] == "(missing)"


def test_dates__are_drawn_as_dates(result) -> None:
    table, outcome = result
    column = distribution(outcome.encoded, evenly(outcome), "admission_date")
    figure = distribution_figure(column)
    first = pd.Timestamp(figure.data[0].x[0])
    assert abs(first - table["admission_date"].min()) < pd.Timedelta(days=1)
    assert column.labels[0].startswith(str(table["admission_date"].min().date()))
    assert column.labels[-1].endswith(str(table["admission_date"].max().date()))


def test_loss__says_the_largest_and_the_mean() -> None:
    sentence = loss_sentence({"age": 0.2, "sex": 0.5}, 0.35)
    assert sentence == "sex lost most detail (50.0%); all columns on average 35.0% (GCP)"
    figure = loss_figure({"age": 0.2, "sex": 0.5})
    assert list(figure.data[0].x) == [0.5, 0.2]
    assert list(figure.layout.yaxis.ticktext) == ["sex", "age"]
    assert loss_sentence({"age": 0.0}, 0.0) == "No column lost any detail"


def test_moved__is_the_least_share_that_changed_bins() -> None:
    table = pd.DataFrame({"a": [0] * 5 + [1] * 5, "s": list("xyxyxyxyxy")})
    encoded = encode(table, Schema.of(table, quasi_identifying=["a"], sensitive=["s"]))
    outcome = anonymize(table, Schema.of(table, quasi_identifying=["a"], sensitive=["s"]), k=10)
    column = distribution(encoded, evenly(outcome), "a")
    assert column.after == pytest.approx([5, 5])
    assert column.moved == 0
    lopsided = pd.DataFrame({"a": [0] * 8 + [1] * 2, "s": list("xyxyxyxyxy")})
    outcome = anonymize(lopsided, Schema.of(lopsided, quasi_identifying=["a"], sensitive=["s"]), k=10)
    assert distribution(outcome.encoded, evenly(outcome), "a").moved == pytest.approx(0.3)


def test_pruning_curve__replays_the_steps(class_tree) -> None:
    _, tree, risk = class_tree
    pruning = prune(tree, risk, "least", 8)
    curve = pruning_curve(pruning, risk, moments=7)
    assert curve.after[0] == 0
    assert curve.after[-1] == pruning.n_steps
    assert curve.groups[0] == tree.is_leaf.sum()
    assert curve.smallest[-1] >= 8 > curve.smallest[0]
    assert curve.error[0] == risk.branch_error[0]
    assert curve.tidi[0] == pytest.approx(risk.branch_tidi[0])
    titles = [note.text for note in curve_figure(curve, 8, here=3).layout.annotations]
    assert f"{curve.groups[0]:,} → {curve.groups[-1]:,} groups" in titles


def test_curve_and_figure_of_numbers(number_tree) -> None:
    _, tree, risk = number_tree
    pruning = prune(tree, risk, "error-digression", 20)
    curve = pruning_curve(pruning, risk, moments=5)
    assert curve.sse[0] == pytest.approx(risk.numeric.branch_sse[0])
    assert curve.digression[-1] == pytest.approx(risk.numeric.digression[pruning.cut()].sum())
    titles = [note.text for note in curve_figure(curve, 20).layout.annotations]
    assert f"digression: {number_text(curve.digression[0])} → {number_text(curve.digression[-1])}" in titles
    assert not any("error" in title for title in titles)
    node = int(pruning.cut()[0])
    bars = {bar.name: list(bar.x) for bar in numbers_figure(risk.numeric, node).data}
    assert bars == {"RSD": list(risk.numeric.rsd[node]), "spread": list(risk.numeric.spread[node])}
    most = int(risk.numeric.rsd[node].argmin())
    sentence = numbers_sentence(risk.numeric, node)
    assert sentence.startswith(
        f"{risk.numeric.names[most]}: guessing the mean here leaves {risk.numeric.rsd[node, most]:.1%}"
    )
    assert "no closer" in numbers_sentence(risk.numeric, 0)


def test_class_figure__title_holds_the_number_and_escapes() -> None:
    figure = class_figure(np.array([1, 3, 0]), ("low", "<b>high</b>$x$", None))
    assert figure.layout.title.text == "&lt;b&gt;high&lt;/b&gt;&#36;x&#36; makes up 75% of 4 rows"
    assert list(figure.data[0].x) == [0.75, 0.25]
    many = class_figure(np.arange(20, 0, -1), tuple(map(str, range(20))))
    assert list(many.data[0].x)[-1] == pytest.approx(sum(range(1, 9)) / 210)
