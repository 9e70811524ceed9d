"""Which column follows from which: made-up tables where it is known, and the same shares from pandas alone."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.gate.dependence import FUNCTIONAL, NEAR, Dependence, dependences
from anonymizer.schema import Column, Kind, Role, Schema

N = 4000


def people() -> pd.DataFrame:
    """People whose age group follows from the age, whose body mass nearly follows from the weight, whose region follows
    from the postcode, and whose shoe follows from nothing."""
    rng = np.random.default_rng(7)
    age = rng.integers(18, 90, N)
    height = rng.normal(1.7, 0.06, N)
    weight = rng.normal(75, 15, N).clip(40)
    postcode = rng.integers(100, 160, N)
    return pd.DataFrame(
        {
            "age": age,
            "age_group": [f"{a // 10 * 10}-{a // 10 * 10 + 9}" for a in age],
            "weight": weight.round(1),
            "bmi": (weight / height**2).round(1),
            "postcode": postcode.astype(str),
            "region": (postcode // 10).astype(str),
            "shoe": rng.integers(36, 47, N),
            "note": [f"note {i}" for i in range(N)],
            "same": "x",
        }
    )


def schema_of(table: pd.DataFrame) -> Schema:
    return Schema.of(table, quasi_identifying=["age", "weight", "postcode"])


def pairs(table: pd.DataFrame, least: float = NEAR) -> dict[tuple[str, str], Dependence]:
    schema = schema_of(table)
    leave = [schema[name] for name in schema.insensitive]
    generalized = [schema[name] for name in schema.quasi_identifying]
    return {(d.column, d.other): d for d in dependences(table, leave, generalized, least)}


def test_dependences__are_those_that_are_there() -> None:
    there = pairs(people())
    assert set(there) == {("age_group", "age"), ("bmi", "weight"), ("region", "postcode")}
    assert there["age_group", "age"].functional
    assert there["region", "postcode"].follows == 1.0
    assert there["region", "postcode"].tells < NEAR
    assert NEAR <= there["bmi", "weight"].strength < FUNCTIONAL
    assert not there["bmi", "weight"].functional


def test_strongest_comes_first() -> None:
    table = people()
    schema = schema_of(table)
    leave = [schema[name] for name in schema.insensitive]
    generalized = [schema[name] for name in schema.quasi_identifying]
    strengths = [d.strength for d in dependences(table, leave, generalized, 0.0)]
    assert strengths == sorted(strengths, reverse=True)
    assert len(strengths) == len(leave) * len(generalized)


def adjusted(of: "pd.DataFrame", by: "pd.Series") -> float:
    """The adjusted share of the summed variance of some columns that groups explain, from pandas alone."""
    within = of.groupby(by.to_numpy()).transform("mean")
    groups, n = by.nunique(), len(of)
    rest = ((of - within) ** 2).to_numpy().sum() / (n - groups)
    return 1 - rest / (((of - of.mean()) ** 2).to_numpy().sum() / (n - 1))


def test_shares__are_those_of_pandas() -> None:
    table = people()
    there = pairs(table, 0.0)
    rank = table[["age"]].rank()
    assert there["age_group", "age"].tells == pytest.approx(adjusted(rank, table["age_group"]))
    levels = pd.get_dummies(table["age_group"]).astype(float)
    assert there["age_group", "age"].follows == pytest.approx(adjusted(levels, table["age"]))
    postcodes = pd.get_dummies(table["postcode"]).astype(float)
    assert there["region", "postcode"].tells == pytest.approx(adjusted(postcodes, table["region"]))
    bins = (table["bmi"].rank() - 1) * 64 // N
    if table["bmi"].nunique() > N / 10:
        assert there["bmi", "weight"].tells == pytest.approx(adjusted(table[["weight"]].rank(), bins))
    else:
        assert there["bmi", "weight"].tells == pytest.approx(adjusted(table[["weight"]].rank(), table["bmi"]))


def test_chance__explains_nothing() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"code": rng.integers(0, 1500, N).astype(str), "age": rng.integers(18, 90, N)})
    assert dependences(table, [Column("code", Role.INSENSITIVE, Kind.CATEGORICAL)],
                       [Column("age", Role.QUASI_IDENTIFYING, Kind.NUMERIC)], 0.05) == ()  # fmt: skip


@pytest.mark.parametrize("kind", [Kind.CATEGORICAL, Kind.NUMERIC])
def test_column_of_own_values__is_a_function_of_nothing(kind: Kind) -> None:
    table = people()
    one = table.assign(note=table["note"] if kind is Kind.CATEGORICAL else np.random.default_rng(2).permutation(N))
    (pair,) = dependences(one, [Column("note", Role.INSENSITIVE, kind)],
                          [Column("age", Role.QUASI_IDENTIFYING, Kind.NUMERIC)], 0.0)  # fmt: skip
    assert pair.strength < 0.05


def test_missing_values__are_a_value_of_the_one_and_left_out_of_the_other() -> None:
    table = people()
    holes = table.assign(
        age=table["age"].where(table.index % 7 != 0), age_group=table["age_group"].where(table.index % 5 != 0)
    )
    there = pairs(holes, 0.0)
    assert 0.7 < there["age_group", "age"].tells < FUNCTIONAL
    empty = table.assign(age=np.nan)
    assert pairs(empty, 0.0)["age_group", "age"].strength == 0.0


def test_large_table__is_looked_at_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people()
    whole = pairs(table, 0.0)
    monkeypatch.setattr("anonymizer.gate.dependence.LOOKED_AT", 1000)
    part = pairs(table, 0.0)
    some = pairs(table.iloc[np.linspace(0, N - 1, 1000).astype(int)], 0.0)
    assert part == some != whole


def test_numbers_that_are_none__are_levels() -> None:
    table = pd.DataFrame({"age": ["12", "old", "13", "old"] * 50, "kept": ["a", "b", "a", "b"] * 50})
    (pair,) = dependences(table, [Column("kept", Role.INSENSITIVE, Kind.CATEGORICAL)],
                          [Column("age", Role.QUASI_IDENTIFYING, Kind.NUMERIC)], 0.0)  # fmt: skip
    assert pair.follows == 1.0
