"""The whole flow: every grouping with every generalizer, and every figure of the result computed again by hand.

Figures are recomputed from the release as it was written and read back, with a reader of cells of their own.
"""

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.schema import Kind
from tests import golden
from tests.runs import BESIDES, RUNS, STRICT, K, keys_of, read_back, run_beside, run_of, table_of

INTERVAL = re.compile(r"\[([^,\]]+), ([^\]]+)\]")


def number(value: Any) -> float:
    """A number or a date as a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return (pd.Timestamp(value) - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)


def members(cell: str) -> list[str]:
    """What stands in a set, or the cell itself; no level of these tables holds a comma."""
    if not cell.startswith("{"):
        return [cell]
    return [part.strip() for part in re.findall(r"\[[^\]]*\]|[^,]+", cell[1:-1])]


def admits(cell: Any, value: Any, kind: Kind) -> bool:
    if pd.isna(cell) or pd.isna(value):
        return bool(pd.isna(value)) and (pd.isna(cell) or cell == "*" or "missing" in members(cell))
    if kind is Kind.CATEGORICAL:
        return cell == "*" or str(value) in members(cell)
    for part in members(cell):
        ends = INTERVAL.fullmatch(part)
        low, high = ends.groups() if ends else (part, part)
        if part != "missing" and number(low) <= number(value) <= number(high):
            return True
    return False


def loss(cell: Any, values: "pd.Series[Any]", kind: Kind) -> float:
    """NCP of a cell, as its definition says, from the original column: of its interval, what lies in the domain."""
    if pd.isna(cell):
        return 0.0
    levels = values.nunique(dropna=False)
    if kind is Kind.CATEGORICAL:
        count = levels if cell == "*" else len(members(cell))
        return count / levels if count > 1 else 0.0
    ends = INTERVAL.search(cell)
    share = 0.0
    if ends:
        whole = [number(value) for value in values.dropna()]
        low, high = min(whole), max(whole)
        share = (min(number(ends[2]), high) - max(number(ends[1]), low)) / (high - low)
    may_miss = 1 / levels if cell.endswith("missing}") else 0.0
    return (1 - may_miss) * share + may_miss


@pytest.mark.sweep(4)
@pytest.mark.parametrize(("name", "grouping", "generalizer"), RUNS)
def test_every_combination__figures_are_those_of_the_written_file(name: str, grouping: str, generalizer: str) -> None:
    table, schema = table_of(name)
    result, released = run_of(name, grouping, generalizer), read_back(name, grouping, generalizer)
    names = schema.quasi_identifying
    after, before = Counter(keys_of(released, names)), Counter(keys_of(table, names))

    losses = {q: np.mean([loss(cell, table[q], schema[q].kind) for cell in released[q]]) for q in names}
    assert result.utility.ncp_by_column == pytest.approx(losses, abs=1e-9)
    assert result.utility.gcp == pytest.approx(np.mean(list(losses.values())), abs=1e-9)
    assert result.utility.discernibility == sum(size * size for size in after.values())
    for risk, counts in ((result.report.before, before), (result.report.after, after)):
        assert (risk.records, risk.groups) == (len(table), len(counts))
        assert risk.smallest == min(counts.values())
        assert risk.unique == sum(size == 1 for size in counts.values())
        assert risk.highest == 1 / min(counts.values())
        assert risk.marketer == pytest.approx(len(counts) / len(table))
    if schema[schema.target].kind is Kind.CATEGORICAL:
        pairs = Counter(zip(keys_of(released, names), keys_of(released, (schema.target,)), strict=True))
        best = {key: max(count for (other, _), count in pairs.items() if other == key) for key in after}
        assert result.utility.error == pytest.approx(1 - sum(best.values()) / len(table))
    else:
        assert result.utility.error is None
    assert result.verification["k-anonymity"].achieved == min(after.values())
    assert result.verification.k_anonymous == (min(after.values()) >= K)


@pytest.mark.sweep(15)
@pytest.mark.parametrize(("name", "grouping", "generalizer"), RUNS)
def test_every_combination__comes_to_what_it_did(name: str, grouping: str, generalizer: str) -> None:
    golden.check(f"{name}-{grouping}-{generalizer}", run_of(name, grouping, generalizer))


@pytest.mark.parametrize("name", BESIDES)
def test_runs_of_persons_and_every_way_to_write__come_to_what_they_did(name: str) -> None:
    golden.check(name, run_beside(name))


@pytest.mark.sweep(15)
@pytest.mark.parametrize(("name", "grouping", "generalizer"), RUNS)
def test_every_combination__cells_hold_their_values_and_nothing_else_changes(
    name: str, grouping: str, generalizer: str
) -> None:
    table, schema = table_of(name)
    result, released = run_of(name, grouping, generalizer), read_back(name, grouping, generalizer)
    original = table.iloc[result.release.order]
    assert sorted(result.release.order) == list(range(len(table)))
    assert tuple(released.columns) == schema.released
    for q in schema.quasi_identifying:
        kind = schema[q].kind
        assert all(admits(cell, value, kind) for cell, value in zip(released[q], original[q], strict=True))
    for column in (*schema.sensitive, *schema.insensitive):
        pd.testing.assert_series_equal(
            released[column].astype(object).where(released[column].notna(), None).reset_index(drop=True),
            original[column].astype(object).where(original[column].notna(), None).reset_index(drop=True),
            check_dtype=False,
        )
    assert result.verification["containment"].passed is True
    if generalizer in STRICT:
        assert result.verification.passed
    else:
        assert result.verification["(k,k)"].passed is True
        assert result.verification["global (1,k)"].passed is True
        assert result.verification.passed == result.verification.k_anonymous


def test_the_checks_can_fail() -> None:
    """The naive reader refuses what it should: else the two tests above would say nothing."""
    assert not admits("[20, 30]", 31, Kind.NUMERIC)
    assert not admits("[20, 30]", None, Kind.NUMERIC)
    assert admits("{[20, 30], missing}", 30, Kind.NUMERIC)
    assert admits("{[20, 30], missing}", None, Kind.NUMERIC)
    assert not admits("{a, b}", "c", Kind.CATEGORICAL)
    assert not admits(None, "c", Kind.CATEGORICAL)
    assert admits("[2024-01-02, 2024-02-01]", pd.Timestamp("2024-02-01"), Kind.DATE)
    assert loss("{[20, 30], missing}", pd.Series([20, 30, 40, None]), Kind.NUMERIC) == pytest.approx(0.75 * 0.5 + 0.25)
    assert loss("{a, missing}", pd.Series(["a", "b", "c", None]), Kind.CATEGORICAL) == 0.5


@pytest.mark.sweep(2)
@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_parquet_says_what_csv_says(generalizer: str) -> None:
    plain = read_back("gaps", "least", generalizer)
    other = read_back("gaps", "least", generalizer, "parquet")
    names = table_of("gaps")[1].released
    assert keys_of(plain, names[:5]) == keys_of(other, names[:5])
