"""The verifier against the papers' worked privacy figures: Table 1 of Y19, its counterexamples, random boxes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from anonymizer.cells import Cell
from anonymizer.checking.consistency import consistency
from anonymizer.checking.linkage import class_sizes
from anonymizer.checking.verify import verify
from anonymizer.schema import Schema
from anonymizer.values import value_text
from tests.cases import load, table_of

FIELDS = {
    "y19_boxes": ("boxes", "privacy"),
    "y19_tiered": ("tiered", "privacy"),
    "y19_uniform": ("uniform", "privacy"),
    "y19_lone_leaf": ("tiered", "privacy"),
}
CASES = [
    pytest.param(case, *fields, id=f"{name}-{case['name']}") for name, fields in FIELDS.items() for case in load(name)
] + [
    pytest.param(case, method, f"privacy_{method}", id=f"table1-{method}")
    for case in load("y19_table_1")
    for method in ("tiered", "uniform")
]


def cell_text(box: Any, attribute: dict[str, Any]) -> str | None:
    """One box of one column as released text; Table 1 writes its cells as the paper prints them."""
    numeric = attribute["kind"] == "num"
    if isinstance(box, str) and numeric:
        box = [float(end) for end in box.strip("[]").split("-")]
    elif isinstance(box, str):
        box = attribute["categories"] if box == "*" else box.strip("{}").split(", ")
    if numeric:
        return Cell.interval(value_text(float(box[0])), value_text(float(box[1]))).text()
    return Cell.WITHHELD.text() if len(box) == len(attribute["categories"]) else Cell.of_levels(box).text()


def release_of(case: dict[str, Any], boxes: list[Any]) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    table, schema = table_of(case)
    columns = {
        attribute["name"]: [cell_text(row[position], attribute) for row in boxes]
        for position, attribute in enumerate(case["attributes"])
    }
    others = {name: table[name] for name in table.columns if name not in columns}
    return pd.DataFrame(columns | others), table, schema


@pytest.mark.parametrize(("case", "boxes", "figures"), CASES)
def test_every_figure_of_the_case(case: dict[str, Any], boxes: str, figures: str) -> None:
    released, original, schema = release_of(case, case[boxes])
    expected = case[figures]
    beside = consistency(released, original, schema, order=np.arange(len(original)))
    assert beside.contained is True
    assert beside.records_per_row.tolist() == expected["records_per_row"]
    assert beside.rows_per_record.tolist() == expected["rows_per_record"]
    assert beside.matches_per_record.tolist() == expected["matches_per_record"]
    if "perfect_matchings" in expected:
        assert beside.perfect_matchings == int(expected["perfect_matchings"])
        assert beside.posterior.exact
        np.testing.assert_allclose(beside.posterior.own, expected["own_row_posterior"], rtol=1e-9)
        assert beside.posterior.highest == pytest.approx(expected["max_posterior"], rel=1e-9)

    verification = verify(released, schema, k=expected["k"], original=original)
    for name, figure in (
        ("k-anonymity", "strict_min_class"),
        ("(1,k)", "one_k"),
        ("(k,1)", "k_one"),
        ("global (1,k)", "global_one_k"),
    ):
        assert verification[name].achieved == expected[figure]
    assert verification.k_anonymous == verification["k-anonymity"].passed == expected["strict"]
    assert verification["(k,k)"].passed == expected["kk"]
    assert verification["global (1,k)"].passed == expected["globally"]
    assert verification["containment"].passed is True
    assert (f"is {expected['k']}-anonymous" in verification.describe()) == expected["strict"]


@pytest.mark.parametrize(("case", "boxes", "figures"), CASES)
def test_the_order_of_rows_does_not_matter(case: dict[str, Any], boxes: str, figures: str) -> None:
    released, original, schema = release_of(case, case[boxes])
    shuffle = np.random.default_rng(3).permutation(len(released))
    beside = consistency(released.iloc[shuffle].reset_index(drop=True), original, schema)
    expected = case[figures]
    assert beside.contained is True
    assert beside.records_per_row.tolist() == np.array(expected["records_per_row"])[shuffle].tolist()
    assert beside.matches_per_record.tolist() == expected["matches_per_record"]
    with_order = consistency(released.iloc[shuffle], original, schema, order=shuffle)
    if "own_row_posterior" in expected:
        np.testing.assert_allclose(
            with_order.posterior.own, np.array(expected["own_row_posterior"])[shuffle], rtol=1e-9
        )


@pytest.mark.parametrize(("case", "boxes", "figures"), CASES)
def test_class_sizes_of_the_case(case: dict[str, Any], boxes: str, figures: str) -> None:
    released, _, schema = release_of(case, case[boxes])
    expected = case[figures]["class_size_per_row"]
    assert class_sizes(released, list(schema.quasi_identifying)).tolist() == expected


def test_the_lone_leaf_formula() -> None:
    """A lone record beside a leaf of N is found with N / (N + (k - 1)²)."""
    for case in load("y19_lone_leaf"):
        released, original, schema = release_of(case, case["tiered"])
        n, k = len(original) - 1, case["k"]
        beside = consistency(released, original, schema, order=np.arange(n + 1))
        assert beside.posterior.own[0] == pytest.approx(n / (n + (k - 1) ** 2), rel=1e-9)
