"""The whole flow: every grouping with every generalizer, and every figure of the result computed again by hand.

Figures are recomputed from the release as it was written and read back, with a reader of cells of their own.
"""

import math
import re
from collections import Counter
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import AnonymizerError, EncodeError, GuaranteeError, ParameterError, SchemaError
from anonymizer.groups.mondrian import MONDRIAN, grow_mondrian
from anonymizer.growing.encode import encode
from anonymizer.pipeline import Result, anonymize
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLES, hospital
from anonymizer.releasing.generalize import GENERALIZERS, GUARANTEES, NUMBERS, WRITINGS
from anonymizer.releasing.release import read_release
from anonymizer.schema import Kind, Schema
from anonymizer.settings import names_of

K = 4
TABLES = ("hospital", "customers", "employees", "gaps")
STRICT = tuple(name for name in GENERALIZERS if GUARANTEES[name].strict)
INTERVAL = re.compile(r"\[([^,\]]+), ([^\]]+)\]")


# The tables, and what is asked of every run.


@cache
def table_of(name: str) -> tuple[pd.DataFrame, Schema]:
    """A small table and its schema; ``gaps`` has missing values everywhere."""
    if name == "gaps":
        table = hospital(160, 3).drop(columns=["name", "email", "postcode"])
        rng = np.random.default_rng(5)
        for column in ("age", "sex", "admission_date", "diagnosis", "cost"):
            table[column] = table[column].mask(rng.random(len(table)) < 0.15)
    else:
        table = hospital(200, 1) if name == "hospital" else SAMPLES[name].load()
    return table, suggest(table)


def fits(schema: Schema, grouping: str) -> bool:
    numeric = schema[schema.target].kind is not Kind.CATEGORICAL
    if MONDRIAN.get(grouping):
        return numeric == (MONDRIAN[grouping] == "sse")
    return grouping != "error-digression" or any(schema[s].kind is not Kind.CATEGORICAL for s in schema.sensitive)


RUNS = [run for run in product(TABLES, names_of("grouping"), GENERALIZERS) if fits(table_of(run[0])[1], run[1])]


@cache
def make_table() -> tuple[pd.DataFrame, Schema]:
    """Two categorical and two numeric sensitive columns."""
    table = hospital(300, 1)
    schema = Schema.of(
        table,
        quasi_identifying=["age", "sex", "postcode", "admission_date"],
        sensitive=["diagnosis", "marital_status", "days_of_stay", "cost"],
        identifying=["name", "email"],
    )
    return table, schema


@cache
def run_of(name: str, grouping: str, generalizer: str) -> Result:
    table, schema = table_of(name)
    return anonymize(table, schema, grouping=grouping, generalizer=generalizer, k=K, rng=np.random.default_rng(9))


@cache
def read_back(name: str, grouping: str, generalizer: str, format: str = "csv") -> pd.DataFrame:
    return read_release(run_of(name, grouping, generalizer).release.to_bytes(format), table_of(name)[1])


# Cells and figures, the obvious way.


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
    """NCP of a cell, as its definition says, from the original column."""
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
        share = (number(ends[2]) - number(ends[1])) / (max(whole) - min(whole))
    may_miss = 1 / levels if cell.endswith("missing}") else 0.0
    return (1 - may_miss) * share + may_miss


def keys_of(frame: pd.DataFrame, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    texts = frame[list(names)].astype(object).where(frame[list(names)].notna(), "(missing)").astype(str)
    return list(texts.itertuples(index=False, name=None))


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


@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_parquet_says_what_csv_says(generalizer: str) -> None:
    plain = read_back("gaps", "least", generalizer)
    other = read_back("gaps", "least", generalizer, "parquet")
    names = table_of("gaps")[1].released
    assert keys_of(plain, names[:5]) == keys_of(other, names[:5])


@pytest.mark.parametrize(
    ("name", "grouping", "says"),
    [
        ("customers", "error-digression", "numeric sensitive column"),
        ("customers", "regression-mondrian", "regression-mondrian needs a numeric sensitive column as its target"),
        ("employees", "infogain-mondrian", "infogain-mondrian needs a categorical sensitive column as its target"),
    ],
)
def test_a_grouping_that_does_not_fit_the_target(name: str, grouping: str, says: str) -> None:
    table, schema = table_of(name)
    with pytest.raises(ParameterError, match=says) as caught:
        anonymize(table, schema, grouping=grouping, k=3)
    assert caught.value.remedy


# Groupings that do not prune, and other ways to write.


@pytest.mark.parametrize("grouping", MONDRIAN)
def test_mondrian__its_leaves_are_the_groups(grouping: str) -> None:
    table, schema = make_table()
    schema = schema.with_target("cost" if grouping == "regression-mondrian" else "diagnosis")
    result = anonymize(
        table, schema, grouping=grouping, generalizer="uniform", k=K, min_leaf=50, max_depth=1, criterion="blend"
    )
    alone = grow_mondrian(encode(table, schema), K, grouping)
    assert result.pruning.n_steps == 0
    assert np.array_equal(result.tree.feature, alone.feature)
    assert np.array_equal(result.tree.n, alone.n)
    assert result.report.after.groups <= alone.is_leaf.sum()
    used = result.report.provenance.parameters
    assert used["grouping"] == grouping
    assert {used[name] for name in ("criterion", "min_leaf", "max_depth", "weight")} == {None}


@pytest.mark.parametrize("grouping", ["least", "median-mondrian"])
def test_finer_groups__lose_no_more(grouping: str) -> None:
    table, schema = make_table()
    whole = anonymize(table, schema, grouping=grouping, generalizer="uniform", k=K)
    for generalizer in ("refine", "pack"):
        finer = anonymize(table, schema, grouping=grouping, generalizer=generalizer, k=K)
        assert finer.utility.gcp <= whole.utility.gcp + 1e-12


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_writing__cells_change_and_groups_stay(writing: str, numbers: str) -> None:
    table, schema = make_table()
    uniform = {"generalizer": "uniform", "k": K}
    plain = anonymize(table, schema, **uniform)
    result = anonymize(table, schema, **uniform, writing=writing, numbers=numbers)
    released = read_release(result.release.to_bytes(), schema)
    assert sorted(map(len, classes_of(released, schema))) == sorted(
        map(len, classes_of(read_release(plain.release.to_bytes(), schema), schema))
    )
    cells = set(released["sex"].astype(str))
    assert any("+" in cell for cell in cells) == (writing != "sets")
    assert any(":" in cell for cell in cells) == (writing == "weighted")
    ages = set(released["age"].astype(str))
    assert any(age.startswith("~") for age in ages) == (numbers != "range")
    ways = result.report.to_dict()["method"]["cells"]
    assert [way["title"] for way in ways] == [WRITINGS[writing].title, NUMBERS[numbers].title]
    assert result.verification.passed


def test_concatenate__is_uniform_written_that_way() -> None:
    table, schema = make_table()
    used = anonymize(table, schema, generalizer="concatenate", k=K).report.provenance.parameters
    assert (used["generalizer"], used["writing"]) == ("uniform", "concatenate")


# Limits on what groups tell.


def classes_of(released: pd.DataFrame, schema: Schema) -> list[pd.DataFrame]:
    keys = pd.Series(keys_of(released, schema.quasi_identifying))
    return [released[(keys == key).to_numpy()] for key in keys.unique()]


def shares_of(values: "pd.Series[Any]") -> "pd.Series[float]":
    return values.astype(object).where(values.notna(), "(missing)").value_counts(normalize=True)


def figure(limit: str, values: "pd.Series[Any]", whole: "pd.Series[Any]") -> float:
    """What a limit bounds, for the values of one class beside the whole table's."""
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


@pytest.mark.parametrize("grouping", [name for name in names_of("grouping") if name != "infogain-mondrian"])
def test_significance_of_groups__holds_on_the_groups(grouping: str) -> None:
    table, schema = table_of("employees")
    result = anonymize(table, schema, grouping=grouping, generalizer="uniform", k=3, significance=0.01, tested="leaves")
    p_value = result.risk.numeric.p_value[result.pruning.cut()]
    assert (np.nan_to_num(p_value, nan=1.0) >= 0.01).all()
    loose = anonymize(table, schema, grouping=grouping, generalizer="uniform", k=3)
    assert result.report.after.groups <= loose.report.after.groups


# What is refused, and how it is said.


@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        ({"k": 0}, ParameterError, "k cannot be 0"),
        ({"k": 15}, GuaranteeError, "14 records, fewer than k = 15"),
        ({"grouping": "nearest"}, ParameterError, "least, error-risk"),
        ({"generalizer": "nearest"}, ParameterError, "uniform"),
        ({"criterion": "nearest"}, ParameterError, "entropy"),
        ({"criterion": "sse"}, ParameterError, "does not fit the target"),
        ({"min_leaf": 0}, ParameterError, "min_leaf"),
        ({"max_depth": -1}, ParameterError, "max_depth"),
        ({"criterion": "blend", "weight": 1.5}, ParameterError, "from 0 to 1"),
        ({"t": 1.5}, ParameterError, "from 0 to 1"),
        ({"l": 0}, ParameterError, "l cannot be 0"),
        ({"significance": 0.05, "tested": "roots"}, ParameterError, "inner, leaves"),
    ],
)
def test_bad_parameters(changes: dict[str, Any], kind: type[AnonymizerError], says: str) -> None:
    table, schema = table_of("customers")
    with pytest.raises(kind, match=says):
        anonymize(table, schema, **({"k": 3} | changes))


def test_bad_tables() -> None:
    table, schema = table_of("customers")
    with pytest.raises(SchemaError, match="lacks"):
        anonymize(table.drop(columns="Age"), schema, k=3)
    with pytest.raises(EncodeError, match="no records"):
        anonymize(table.iloc[:0], schema, k=3)
    with pytest.raises(EncodeError, match="infinite"):
        anonymize(table.assign(Age=[*range(13), float("inf")]), schema, k=3)


def test_nothing_given_is_changed_and_rows_are_shuffled_anew() -> None:
    table, schema = table_of("hospital")
    before = table.copy(deep=True)
    first, second = (anonymize(table, schema, k=K, generalizer="uniform") for _ in range(2))
    pd.testing.assert_frame_equal(table, before)
    assert not np.array_equal(first.release.order, second.release.order)
    assert not np.array_equal(first.release.order, np.arange(len(table)))
    assert first.utility.ncp_by_column == pytest.approx(second.utility.ncp_by_column)
    assert first.utility.discernibility == second.utility.discernibility
    assert sorted(keys_of(first.release.frame(), schema.released)) == sorted(
        keys_of(second.release.frame(), schema.released)
    )


def test_the_same_rng_gives_the_same_file() -> None:
    table, schema = table_of("hospital")
    files = [anonymize(table, schema, k=K, rng=np.random.default_rng(3)).release.to_bytes() for _ in range(2)]
    assert files[0] == files[1]


def test_the_order_of_rows_does_not_matter() -> None:
    table, schema = table_of("hospital")
    turned = table.iloc[::-1].reset_index(drop=True)
    first, second = (anonymize(rows, schema, k=K, generalizer="uniform") for rows in (table, turned))
    assert sorted(keys_of(first.release.frame(), schema.released)) == sorted(
        keys_of(second.release.frame(), schema.released)
    )


def test_progress_goes_from_0_to_1() -> None:
    table, schema = table_of("customers")
    heard: list[tuple[float, str]] = []
    anonymize(table, schema, k=3, progress=lambda share, what: heard.append((share, what)))
    shares = [share for share, _ in heard]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert all(what for _, what in heard)


def test_without_the_original__the_checker_says_less_and_nothing_weaker() -> None:
    table, schema = table_of("hospital")
    result = anonymize(table, schema, generalizer="tiered", k=K, against_original=False)
    assert result.verification.get("containment") is None
    assert "can only be said with the original" in result.verification.describe()


def test_a_single_group() -> None:
    table, schema = table_of("customers")
    result = anonymize(table, schema, k=14)
    assert result.report.after.groups == 1
    assert result.utility.discernibility == 14 * 14
    assert set(result.release.frame()["Gender"]) == {"*"}
    one = anonymize(table, schema, k=1, min_leaf=1)
    assert one.report.after.smallest >= 1
