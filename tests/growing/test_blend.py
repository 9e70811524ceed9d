"""Blended trees: their responses against the definition, their two ends against what they should be."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import ParameterError
from anonymizer.groups.prune import prune
from anonymizer.groups.risk import annotate
from anonymizer.growing.blend import blend_responses
from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Tree
from anonymizer.measuring.utility import cut_error, cut_gcp, node_ncp
from anonymizer.pipeline import anonymize
from anonymizer.reading.files import read_table
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLES, hospital
from anonymizer.schema import Kind, Schema
from tests.sweeps import few

WEIGHTS = (0.0, 0.5, 1.0)


# Responses.


def naive_distance(table: pd.DataFrame, schema: Schema, first: int, second: int, weight: float) -> float:
    """Squared distance of two records as the definition says it, from the values themselves; nothing is missing."""
    target = schema[schema.target]
    if target.kind is Kind.CATEGORICAL:
        total = weight * 2 * (table[target.name][first] != table[target.name][second])
    else:
        names = [name for name in schema.sensitive if schema[name].kind is Kind.NUMERIC]
        total = weight * sum(scaled_gap(table[name], first, second) for name in names)
    for name in schema.quasi_identifying:
        if schema[name].kind is Kind.CATEGORICAL:
            total += (1 - weight) * (table[name][first] != table[name][second])
        else:
            total += (1 - weight) * scaled_gap(table[name], first, second)
    return float(total)


def scaled_gap(values: "pd.Series[float]", first: int, second: int) -> float:
    return ((values[first] - values[second]) / (values.max() - values.min() or 1)) ** 2


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    n = draw(st.integers(2, 12))

    def column(values: st.SearchStrategy) -> list:
        return draw(st.lists(values, min_size=n, max_size=n))

    return pd.DataFrame(
        {
            "age": pd.Series(column(st.integers(0, 9)), dtype="int64"),
            "sex": column(st.sampled_from("fm")),
            "town": column(st.sampled_from("abcd")),
            "ill": column(st.sampled_from(["flu", "cold", "gout"])),
            "pay": pd.Series(column(st.integers(0, 50)), dtype="float64"),
        }
    )


@settings(max_examples=few(60))
@given(tables(), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from(["ill", "pay", "sex"]))
def test_responses__squared_distances_are_those_of_the_definition(
    table: pd.DataFrame, weight: float, target: str
) -> None:
    names = [name for name in ("age", "sex", "town") if name != target]
    schema = Schema.of(table, quasi_identifying=names, sensitive=[target])
    responses = blend_responses(encode(table, schema), weight)
    assert responses.mean(axis=0) == pytest.approx(0, abs=1e-12)
    for first in range(len(table)):
        for second in range(first):
            distance = ((responses[first] - responses[second]) ** 2).sum()
            assert distance == pytest.approx(naive_distance(table, schema, first, second, weight), abs=1e-9)


def test_responses__a_missing_number_lies_at_the_mean_and_is_told_apart() -> None:
    table = pd.DataFrame({"age": [0.0, 10.0, 5.0, None], "ill": ["a", "b", "a", "b"]})
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["ill"])
    responses = blend_responses(encode(table, schema), 0.0)
    squared = ((responses - responses[3]) ** 2).sum(axis=1)
    assert squared == pytest.approx([1.25, 1.25, 1, 0])


@pytest.mark.parametrize(
    "values", [[7.0] * 4, [7.0, 7.0, None, None], [None] * 4], ids=["constant", "constant or missing", "missing"]
)
def test_responses__columns_without_a_range(values: list[float | None]) -> None:
    table = pd.DataFrame({"age": pd.Series(values, dtype="float64"), "sex": list("ffmm"), "ill": list("abab")})
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["ill"])
    assert np.isfinite(blend_responses(encode(table, schema), 0.5)).all()


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan")])
def test_weight__is_a_share(weight: float) -> None:
    table, schema, encoded = small()
    with pytest.raises(ParameterError, match="from 0 to 1"):
        grow(encoded, "blend", weight=weight)


# Trees.


@cache
def small() -> tuple[pd.DataFrame, Schema, EncodedTable]:
    table = hospital(300, 1)
    table["diagnosis"] = np.where(table["diagnosis"].isin(["Heart failure", "Stroke", "Cancer"]), "grave", "other")
    schema = suggest(table).with_column("diagnosis", role="sensitive").with_target("diagnosis")
    return table, schema, encode(table, schema)


def squared_error(responses: np.ndarray, leaf: np.ndarray) -> float:
    return sum(((responses[leaf == t] - responses[leaf == t].mean(axis=0)) ** 2).sum() for t in np.unique(leaf))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("k", [3, 12])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("name", ["hospital", "employees"])
def test_every_weight_keeps_k(name: str, weight: float, k: int) -> None:
    table, schema = small()[:2]
    if name == "employees":
        table = SAMPLES[name].load()
        schema = suggest(table)
    result = anonymize(table, schema, criterion="blend", weight=weight, k=k)
    assert result.verification.passed
    assert result.report.after.smallest >= k
    assert (result.tree.n[result.tree.is_leaf] >= k).all()
    assert result.pruning.n_steps == 0, "a blended tree is grown to its end: nothing is left to prune"
    assert result.report.provenance.parameters["weight"] == weight


def test_weight_1__is_the_gini_tree_of_two_classes() -> None:
    encoded = small()[2]
    blend, gini = grow(encoded, "blend", 5, weight=1.0), grow(encoded, "gini", 5)
    assert errors(blend, encoded) == errors(gini, encoded)
    assert np.array_equal(blend.n, gini.n)
    assert np.array_equal(blend.sums, gini.sums)


def test_weight_1__is_the_regression_tree_of_numbers() -> None:
    table = SAMPLES["employees"].load()
    encoded = encode(table, suggest(table))
    blend, sse = grow(encoded, "blend", 3, weight=1.0), grow(encoded, "sse", 3)
    assert np.array_equal(blend.n, sse.n)
    assert blend.moments == pytest.approx(sse.moments)


def errors(tree: Tree, encoded: EncodedTable) -> list[int]:
    return annotate(tree, encoded).error.tolist()


@pytest.mark.parametrize("weight", WEIGHTS)
def test_first_split__is_the_best_of_all_cuts(weight: float) -> None:
    """The root's split against every cut of every ordered column and every single level, by the definition."""
    encoded = small()[2]
    responses = blend_responses(encoded, weight)
    tree = grow(encoded, "blend", 5, 1, weight=weight)
    error = squared_error(responses, descend(tree, encoded))
    for j, encoding in enumerate(encoded.encodings):
        for code in range(encoding.n_codes):
            sides = [encoded.codes.columns[j] == code, encoded.codes.columns[j] <= code]
            for side in sides[: 1 + encoding.by_order]:
                if 5 <= side.sum() <= len(side) - 5 and (encoding.by_order or encoding.n_codes <= 3):
                    assert error <= squared_error(responses, side) + 1e-9


def test_a_table_without_a_target_is_a_clustering() -> None:
    table, schema, _ = small()
    for name in schema.sensitive:
        schema = schema.with_column(name, role="insensitive")
    result = anonymize(table, schema, criterion="blend", weight=0.5, k=5)
    assert result.verification.passed
    assert result.report.after.groups > 10


# The slider's two ends on real people.


@cache
def adult(path: Path) -> tuple[pd.DataFrame, Schema, EncodedTable]:
    table = read_table(path).frame.sample(4000, random_state=2).reset_index(drop=True)
    schema = Schema.of(
        table, quasi_identifying=[name for name in table.columns if name != "income"], sensitive=["income"]
    )
    return table, schema, encode(table, schema)


def test_adult__boxes_are_tighter_at_0_and_the_target_surer_at_1(data: Callable[[str], Path]) -> None:
    encoded = adult(data("adult_complete.csv.gz"))[2]
    gcp, error = {}, {}
    for weight in WEIGHTS:
        tree = grow(encoded, "blend", 10, weight=weight)
        pruning = prune(tree, annotate(tree, encoded), k=10)
        gcp[weight] = cut_gcp(tree, node_ncp(tree, encoded.encodings), pruning.cut())
        error[weight] = cut_error(tree, pruning.cut())
        assert tree.n[pruning.cut()].min() >= 10
    assert gcp[0.0] < gcp[0.5] < gcp[1.0]
    assert gcp[0.0] < 0.6 * gcp[1.0]
    assert error[1.0] < error[0.0]


def test_adult__weight_1_has_the_errors_of_the_gini_tree(data: Callable[[str], Path]) -> None:
    encoded = adult(data("adult_complete.csv.gz"))[2]
    blend, gini = grow(encoded, "blend", 10, weight=1.0), grow(encoded, "gini", 10)
    assert errors(blend, encoded) == errors(gini, encoded)
