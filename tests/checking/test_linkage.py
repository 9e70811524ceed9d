"""Classes of look-alike records and the linking risk, against brute force."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.checking.linkage import class_sizes, classes_of, equivalence_classes, linkage_risk, singling_out
from anonymizer.errors import ParameterError, SchemaError
from tests import naive_verify as naive

VALUES = st.sampled_from(["a", "b", "c", None])
NUMBERS = st.sampled_from([0.0, -0.0, 1.5, 2.0, float("nan")])


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    n = draw(st.integers(1, 12))
    return pd.DataFrame(
        {
            "text": pd.Series(draw(st.lists(VALUES, min_size=n, max_size=n)), dtype=object),
            "number": draw(st.lists(NUMBERS, min_size=n, max_size=n)),
            "level": pd.Categorical(draw(st.lists(VALUES, min_size=n, max_size=n)), categories=["c", "b", "a"]),
        }
    )


@given(tables())
def test_class_sizes_agree_with_comparing_every_pair(table: pd.DataFrame) -> None:
    columns = list(table.columns)
    assert class_sizes(table, columns).tolist() == naive.class_sizes(table, columns)
    assert class_sizes(table, columns[:1]).tolist() == naive.class_sizes(table, columns[:1])


@given(tables())
def test_singling_out_agrees_with_dropping_each_column(table: pd.DataFrame) -> None:
    columns = list(table.columns)
    whole = naive.class_sizes(table, columns)
    expected = {}
    for column in columns:
        without = naive.class_sizes(table, [name for name in columns if name != column])
        expected[column] = sum(a == 1 and b > 1 for a, b in zip(whole, without, strict=True))
    assert singling_out(table, columns) == expected


@given(tables(), st.sampled_from([0.0, 0.05, 0.2, 1 / 3, 0.5, 1.0]))
def test_linkage_risk_agrees_with_brute_force(table: pd.DataFrame, threshold: float) -> None:
    sizes = naive.class_sizes(table, list(table.columns))
    risk = linkage_risk(table, list(table.columns))
    groups = sum(1 / size for size in sizes)
    assert risk.records == len(table)
    assert risk.groups == pytest.approx(groups)
    assert risk.unique == sizes.count(1)
    assert risk.smallest == min(sizes)
    assert risk.mean == pytest.approx(len(table) / groups)
    assert risk.highest == risk.journalist == 1 / min(sizes)
    assert risk.marketer == pytest.approx(groups / len(table))
    above = sum(size * threshold < 1 - 1e-12 for size in sizes) / len(table)
    assert risk.share_above(threshold) == pytest.approx(above)
    assert set(risk.attackers()) == {"prosecutor", "journalist", "marketer"}


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 12), st.integers(1, 4))
def test_risk_of_rows__is_their_own_persons_share(seed: int, n: int, persons: int, levels: int) -> None:
    """Every figure says the same: whoever is above the highest risk that is stated is nobody."""
    rng = np.random.default_rng(seed)
    who = (rng.random(n) ** 3 * (persons + 1)).astype(int)  # a few persons have most of the rows; the last is nobody
    table = pd.DataFrame({"a": rng.integers(0, levels, n), "who": np.where(who == persons, np.nan, who)})
    risks = naive.row_risks(table, ["a"], "who")
    risk = linkage_risk(table, ["a"], person=pd.factorize(table.who)[0])
    assert risk.records == n == risk.records_of_share.sum() == risk.records_of_size.sum()
    assert risk.highest == risk.journalist == pytest.approx(float(max(risks)))
    assert risk.unique == risks.count(Fraction(1))
    assert risk.marketer == pytest.approx(float(sum(risks) / n))
    for t in (0.0, 0.1, 1 / 3, 0.5, *map(float, risks)):
        assert risk.share_above(t) == pytest.approx(
            sum(one > Fraction(t).limit_denominator(10**6) for one in risks) / n
        )
        assert (risk.share_above(t) > 0) == (risk.highest * (1 - 1e-12) > t)
    assert (risk.smallest, risk.groups) == (max(1, table.groupby("a").who.nunique().min()), table.a.nunique())


def test_a_risk_equal_to_the_threshold_is_not_above_it() -> None:
    table = pd.DataFrame({"a": ["x"] * 3 + ["y"] * 10})
    risk = linkage_risk(table, ["a"])
    assert risk.share_above(1 / 3) == 0
    assert risk.share_above(0.1) == pytest.approx(3 / 13)
    with pytest.raises(ParameterError, match="not a probability"):
        risk.share_above(5)


def test_wide_keys_do_not_overflow() -> None:
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.integers(0, 10**6, size=(3000, 12)), columns=[f"c{i}" for i in range(12)])
    twin = pd.concat([table, table.iloc[:100]], ignore_index=True)
    sizes = class_sizes(twin, list(twin.columns))
    assert sizes[:100].tolist() == [2] * 100 == sizes[-100:].tolist()
    assert (sizes[100:3000] == 1).all()
    assert singling_out(twin, list(twin.columns)) == dict.fromkeys(twin.columns, 0)
    twin["id"] = range(len(twin))
    assert singling_out(twin, list(twin.columns))["id"] == 200


def test_without_columns_all_records_look_alike() -> None:
    table = pd.DataFrame({"a": [1, 2, 3]})
    assert class_sizes(table, []).tolist() == [3, 3, 3]
    assert linkage_risk(table, []).groups == 1


def test_an_empty_table_has_no_risk() -> None:
    risk = linkage_risk(pd.DataFrame({"a": []}), ["a"])
    assert (risk.records, risk.groups, risk.highest, risk.marketer, risk.share_above(0.1)) == (0, 0, 0.0, 0.0, 0.0)


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(SchemaError, match="no column 'b'") as caught:
        equivalence_classes(pd.DataFrame({"a": [1]}), ["b"])
    assert caught.value.column == "b"


def test_a_population_table_lowers_the_journalist_risk() -> None:
    sample = pd.DataFrame({"a": ["x", "y", "y", None]})
    population = pd.DataFrame({"a": ["x"] * 5 + ["y"] * 2 + [None] * 4})
    risk = linkage_risk(sample, ["a"], population)
    assert risk.highest == 1
    assert risk.journalist == 1 / 2
    assert risk.marketer == pytest.approx((1 / 5 + 1 / 2 + 1 / 2 + 1 / 4) / 4)
    assert risk.population == 11
    assert "11 people" in risk.attackers()["journalist"][1]


def test_a_population_that_lacks_people_of_the_table_is_refused() -> None:
    sample = pd.DataFrame({"a": ["x", "y", "y"]})
    with pytest.raises(ParameterError, match="1 people like those of row 2"):
        linkage_risk(sample, ["a"], pd.DataFrame({"a": ["x", "y"]}))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 1), st.integers(1, 5)), max_size=30))
def test_records_that_follow_each_other__are_in_the_classes_of_a_slow_twin(runs):
    rows = [(first, second) for first, second, times in runs for _ in range(times)]
    columns = [np.array([row[at] for row in rows], np.int8) for at in range(2)]
    classes = classes_of([(columns[0], 3), (columns[1] + 1, 3)], len(rows))
    assert [classes.class_of[i] == classes.class_of[0] for i in range(len(rows))] == [row == rows[0] for row in rows]
    assert classes.sizes[classes.class_of].tolist() == [rows.count(row) for row in rows]
    assert sorted(set(classes.class_of.tolist())) == list(range(len(classes.sizes)))
