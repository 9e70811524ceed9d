"""What is released unchanged is looked at whatever its role: planted columns that find people, and clean tables."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from anonymizer.checking.unchanged import unchanged_columns
from anonymizer.flow import Flow
from anonymizer.gate.finding import Severity
from anonymizer.gate.nature import nature_of
from anonymizer.reading.facts import distinct_values, profile
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.gate.dangers import LOOKS, QUASI, STOPS, N, clean_tables, table


def judged(rows: pd.DataFrame, quasi: list[str], sensitive: list[str]) -> Flow:
    schema = Schema.of(rows, quasi_identifying=quasi, sensitive=sensitive)
    return Flow(rows, schema, Settings(k=10, generalizer="uniform", grouping="least", max_depth=5))


def verdicts(flow: Flow) -> dict[str, Severity]:
    """The worst that is found of each column by itself."""
    worst: dict[str, Severity] = {}
    for finding in flow.judgement.findings:
        if len(finding.columns) == 1 and finding.key.partition(":")[0] != "one value":
            worst.setdefault(finding.columns[0], finding.severity)  # what stops comes first
    return worst


def test_planted_dangers__are_seen_in_any_role_and_equal_columns_get_equal_verdicts() -> None:
    rng = np.random.default_rng(8)
    rows = table(rng)
    rows = pd.concat([rows, pd.DataFrame({name: make(rng) for name, make in (STOPS | LOOKS).items()})], axis=1)
    sensitive = verdicts(judged(rows, QUASI, [name for name in rows.columns if name not in QUASI]))
    insensitive = verdicts(judged(rows, QUASI, ["satisfaction", "smoker"]))
    expected = dict.fromkeys(STOPS, Severity.STOPS) | dict.fromkeys(LOOKS, Severity.LOOK)
    assert {name: sensitive.get(name) for name in expected} == expected
    assert {name: insensitive.get(name) for name in expected} == expected


def test_there_are_sixty_four_dangers() -> None:
    assert len(STOPS) + len(LOOKS) == 64


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", clean_tables())
def test_clean_table__does_not_stop(name: str) -> None:
    rows = clean_tables()[name]
    flow = judged(rows, QUASI, [column for column in rows.columns if column not in QUASI])
    assert [finding.key for finding in flow.judgement.open] == []


def test_public_tables__have_no_dates_places_or_numbers_of_cases(data: Callable[[str], Path]) -> None:
    for name in ("adult", "alcohol", "contraceptive", "german_credit", "mushroom", "nursery", "car_evaluation"):
        rows = pd.read_csv(data(f"{name}.csv.gz"), nrows=3_000)
        distinct = {column: distinct_values(rows[column]) for column in rows}
        natures = {f.name: nature_of(f, f.kind, distinct[f.name][0]) for f in profile(rows, distinct)}
        assert not any(natures.values()), name


PUBLIC = {
    "adult": (["age", "education", "marital-status", "sex", "race", "native-country"], "income"),
    "alcohol": (["age", "race", "region", "employment", "educ"], "drinks"),
    "contraceptive": (["wife_age", "wife_edu", "num_children", "husband_edu"], "contraceptive_method"),
    "german_credit": (["age", "personal_status", "job", "housing", "residence_since"], "class"),
    "mushroom": (["cap-shape", "cap-color", "odor", "habitat"], "class"),
    "nursery": (["parents", "form", "children", "housing"], "class"),
    "car_evaluation": (["buying", "maint", "doors", "persons"], "class"),
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", PUBLIC)
def test_public_table__does_not_stop(name: str, data: Callable[[str], Path]) -> None:
    quasi, sensitive = PUBLIC[name]
    rows = pd.read_csv(data(f"{name}.csv.gz"), nrows=5_000)
    quasi = [column for column in quasi if column in rows]
    assert len(quasi) > 2
    rows = rows[[*quasi, sensitive]]
    flow = Flow(rows, Schema.of(rows, quasi_identifying=quasi, sensitive=[sensitive]))
    assert [finding.key for finding in flow.gate.open] == []


def test_rows_found__are_those_of_one_person_and_agree_with_pandas() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        n = int(rng.integers(1, 40))
        rows = pd.DataFrame({"box": rng.integers(0, 4, n), "a": rng.integers(0, 9, n), "b": rng.integers(0, 4, n)})
        rows["who"] = rng.integers(-1, 12, n)
        schema = Schema.of(rows[["box", "a", "b"]], quasi_identifying=["box"], sensitive=["a"])
        found_by = unchanged_columns(rows, schema, rows["box"].to_numpy(), rows["who"].to_numpy())
        single = rows.assign(who=np.where(rows["who"] < 0, 100 + np.arange(n), rows["who"]))
        for one in found_by:
            for figure, by in ((one.alone, list(one.columns)), (one.beside, ["box", *one.columns])):
                assert figure == (single.groupby(by)["who"].transform("nunique") == 1).sum()
        assert [one.columns for one in found_by] == [("a",), ("b",), ("a", "b")]
        plain = unchanged_columns(rows, schema, rows["box"].to_numpy())[-1]
        assert plain.alone == (rows.groupby(["a", "b"]).size() == 1).sum()
        together = rows.groupby(["box", "a", "b"]).size().reset_index(name="rows")
        counts = together.pop("rows").to_numpy()
        assert unchanged_columns(together, schema, together["box"].to_numpy(), None, counts)[-1] == plain


def test_all_unchanged_columns_together__are_worth_a_look_whatever_their_role() -> None:
    rng = np.random.default_rng(6)
    rows = table(rng).assign(**{f"diagnosis_{i}": rng.choice([f"I{j:02d}" for j in range(60)], N) for i in range(3)})
    names = [name for name in rows.columns if name not in QUASI]
    flow = judged(rows, QUASI, names)
    (finding,) = [f for f in flow.judgement.findings if f.key.startswith("unchanged together")]
    alone = (rows.groupby(names).size() == 1).sum()
    assert finding.severity is Severity.LOOK
    assert f"{alone:,} of {N:,} rows" in finding.sentence
    assert finding.columns == tuple(names)


@pytest.mark.parametrize("how", ["mass", "days", "total", "revealed"])
def test_column_computed_from_generalized_ones__stops(how: str) -> None:
    rng = np.random.default_rng(7)
    rows = table(rng)
    first = pd.Timestamp("1960-01-01")
    born, visit = (first + pd.to_timedelta(rng.integers(0, 9000, N) + at, "D") for at in (0, 15000))
    rows, quasi = rows.assign(born=born, visit=visit), [*QUASI, "born", "visit"]
    made = {
        "mass": lambda: (rows["weight"] / (rows["height"] / 100) ** 2).round(1),
        "days": lambda: (rows["visit"] - rows["born"]).dt.days,
        "total": lambda: rows["height"] + rows["weight"] + rows["age"],
        "revealed": lambda: rows["weight"] + rng.integers(0, 90, N),
    }
    rows["x"] = made[how]()
    of = {"mass": ("weight", "height"), "days": ("visit", "born"), "total": ("age", "weight", "height")}
    if how == "revealed":
        rows["y"] = rows["x"] - rows["weight"]
    flow = judged(rows, quasi, ["satisfaction", "smoker", "x", *(["y"] if how == "revealed" else [])])
    (finding,) = [f for f in flow.judgement.findings if f.key.startswith("computed")]
    assert finding.severity is Severity.STOPS
    assert set(finding.columns) == ({"weight", "x", "y"} if how == "revealed" else {"x", *of[how]})
    schema, settings = finding.repairs[0].apply(flow.schema, flow.settings)
    assert not [f for f in flow.but(schema, **settings).judgement.findings if f.key.startswith("computed")]
