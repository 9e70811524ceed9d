"""The whole flow under limits on sensitive columns: they hold in every class of the written file."""

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import GuaranteeError
from anonymizer.pipeline import anonymize
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.releasing.release import read_release
from anonymizer.schema import Kind, Schema
from anonymizer.settings import names_of
from tests.runs import STRICT, K, classes_of, fits, make_table, table_of


def shares_of(values: "pd.Series[Any]") -> "pd.Series[float]":
    return values.astype(object).where(values.notna(), "(missing)").value_counts(normalize=True)


def figure(limit: str, values: "pd.Series[Any]", whole: "pd.Series[Any]") -> float:
    """What a limit bounds, for the values of one class beside the whole table's; for l, missing is no value."""
    if limit in ("l", "entropy_l"):
        values = values.dropna()
        if not len(values):
            return math.inf
    if limit == "l":
        return float(len(shares_of(values)))
    if limit == "entropy_l":
        return math.exp(-sum(share * math.log(share) for share in shares_of(values)))
    if limit == "t":
        return float(shares_of(values).sub(shares_of(whole), fill_value=0).abs().sum() / 2)
    if limit == "rsd_min":
        around = ((values - whole.mean()) ** 2).sum()
        return float(((values - values.mean()) ** 2).sum() / around) if around else 1.0
    return float(values.std(ddof=0) / whole.std(ddof=0))


TITLES = {"l": "distinct l-diversity", "entropy_l": "entropy l-diversity", "t": "t-closeness", "rsd_min": "RSD",
          "spread_min": "spread"}  # fmt: skip
LIMITED = [("l", 3), ("entropy_l", 2.5), ("t", 0.45), ("rsd_min", 0.4), ("spread_min", 0.4)]
FITTING = [grouping for grouping in names_of("grouping") if fits(make_table()[1], grouping)]


def limited_columns(limit: str, schema: Schema) -> list[str]:
    numeric = limit in ("rsd_min", "spread_min")
    return [name for name in schema.sensitive if (schema[name].kind is Kind.NUMERIC) == numeric]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("generalizer", [name for name in STRICT if name != "tiered-strict"])
@pytest.mark.parametrize("grouping", FITTING)
@pytest.mark.parametrize(("limit", "required"), LIMITED)
def test_limits_hold_in_every_class_of_the_written_file(
    limit: str, required: float, grouping: str, generalizer: str
) -> None:
    table, schema = make_table()
    result = anonymize(table, schema, grouping=grouping, generalizer=generalizer, k=K, **{limit: required})
    released = read_release(result.release.to_bytes(), schema)
    classes = classes_of(released, schema)
    assert min(map(len, classes)) >= K
    free = anonymize(table, schema, grouping=grouping, generalizer=generalizer, k=K)
    for name in limited_columns(limit, schema):
        figures = [figure(limit, members[name], released[name]) for members in classes]
        worst = max(figures) if limit == "t" else min(figures)
        assert worst <= required + 1e-9 if limit == "t" else worst >= required - 1e-9
        check = result.verification[f"{TITLES[limit]} of {name}"]
        assert check.required == required
        assert check.achieved == pytest.approx(worst, abs=1e-9)
        assert check.passed is True
        assert free.verification[check.name].required is None
    assert result.report.provenance.parameters[limit] == required
    assert result.report.after.groups <= free.report.after.groups


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("limit", "required"), LIMITED)
def test_limits_cost_something_here(limit: str, required: float) -> None:
    """Without the limit some class breaks it: else the test above would say nothing."""
    table, schema = make_table()
    result = anonymize(table, schema, k=K)
    released = read_release(result.release.to_bytes(), schema)
    figures = [
        figure(limit, members[name], released[name])
        for name in limited_columns(limit, schema)
        for members in classes_of(released, schema)
    ]
    assert max(figures) > required if limit == "t" else min(figures) < required


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("limit", "required"), LIMITED)
@pytest.mark.parametrize("generalizer", ["tiered", "tiered-strict"])
def test_limits_of_finer_boxes__the_checker_says_what_pandas_says(
    limit: str, required: float, generalizer: str
) -> None:
    """Tiers promise nothing about limits: then the checker has to be right about each."""
    table, schema = make_table()
    result = anonymize(table, schema, generalizer=generalizer, k=K, **{limit: required})
    released = read_release(result.release.to_bytes(), schema)
    for name in limited_columns(limit, schema):
        figures = [figure(limit, members[name], released[name]) for members in classes_of(released, schema)]
        worst = max(figures) if limit == "t" else min(figures)
        check = result.verification[f"{TITLES[limit]} of {name}"]
        assert check.achieved == pytest.approx(worst, abs=1e-9)
        assert check.passed == (worst <= required + 1e-9 if limit == "t" else worst >= required - 1e-9)
        assert check.passed or not result.verification.passed


@pytest.mark.parametrize(
    ("limit", "required", "failing"),
    [
        ("l", 8, ["marital_status"]),
        ("l", 40, ["marital_status", "diagnosis"]),
        ("entropy_l", 9.5, ["marital_status", "diagnosis"]),
    ],
)
def test_limits_no_group_can_keep__name_the_column_and_how_far_off(
    limit: str, required: float, failing: list[str]
) -> None:
    table, schema = make_table()
    for grouping, generalizer in product(FITTING, GENERALIZERS):
        with pytest.raises(GuaranteeError) as caught:
            anonymize(table, schema, grouping=grouping, generalizer=generalizer, k=K, **{limit: required})
        assert caught.value.column == failing[0]
        assert caught.value.remedy
        for name in schema.sensitive:
            achieved = figure(limit, table[name], table[name])
            words = f"of {name} is {achieved:.4g}, and at least {required:.4g} is required"
            assert (words in str(caught.value)) == (name in failing)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("grouping", [name for name in names_of("grouping") if name != "infogain-mondrian"])
def test_significance_of_groups__holds_on_the_groups(grouping: str) -> None:
    table, schema = table_of("employees")
    result = anonymize(table, schema, grouping=grouping, generalizer="uniform", k=3, significance=0.01, tested="leaves")
    p_value = result.risk.numeric.p_value[result.pruning.cut()]
    assert (np.nan_to_num(p_value, nan=1.0) >= 0.01).all()
    loose = anonymize(table, schema, grouping=grouping, generalizer="uniform", k=3)
    assert result.report.after.groups <= loose.report.after.groups
