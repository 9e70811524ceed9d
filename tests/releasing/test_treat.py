"""Treatments of columns that are released without a box: each is applied, checked beside the original, and named."""

import json
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from anonymizer.abilities import require
from anonymizer.checking.treated import HOLDS, expected
from anonymizer.checking.verify import verify
from anonymizer.cuts import Cuts
from anonymizer.errors import ParameterError, SchemaError
from anonymizer.flow import Flow
from anonymizer.gate.finding import Severity
from anonymizer.growing.encode import encode
from anonymizer.hierarchy import Hierarchy
from anonymizer.pipeline import anonymize
from anonymizer.provenance.again import command_line
from anonymizer.provenance.claim import other_roles
from anonymizer.releasing.treat import treated
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import Settings
from anonymizer.treatments import TREATMENTS

N = 600
SETTINGS = {"k": 5, "generalizer": "uniform"}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(9)
    visit = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 900 * 86400, N), "s")
    codes = np.array([f"{c}{d:02d}.{s}" for c in "IJ" for d in range(9) for s in (1, 8)], object)
    table = pd.DataFrame({"age": rng.integers(20, 60, N), "sex": rng.choice(["f", "m"], N), "visit": visit})
    table["code"] = codes[np.minimum(rng.geometric(0.12, N), len(codes)) - 1]
    table["cost"] = np.round(rng.uniform(10, 900, N), 2)
    table["count"] = rng.integers(0, 99, N)
    table.loc[[3, 7], ["visit", "code", "cost"]] = [pd.NaT, None, np.nan]
    return table


def schema_of(table: pd.DataFrame, **treats: str) -> Schema:
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["visit", "code"])
    for name, treat in treats.items():
        schema = schema.with_column(name, treat=treat)
    return schema


WAYS = {
    "visit": ["hour", "day", "month", "quarter", "year"],
    "code": ["digits:1", "digits:3", "rare:10", "rare:40"],
    "cost": ["round:100", "round:0.5", "round:0.1"],
    "count": ["round:10", "round:2.5"],
}
CASES = [(name, treat) for name, treats in WAYS.items() for treat in treats]


@pytest.mark.sweep(6)
@pytest.mark.parametrize(("name", "treat"), CASES)
def test_treatment__is_applied_and_checked_cell_by_cell(name: str, treat: str) -> None:
    table = people()
    schema = schema_of(table, **{name: treat})
    flow = Flow(table, schema, Settings(**SETTINGS))
    assert flow.verification["containment"].passed
    assert flow.verification["cells"].passed
    released = flow.released[name]
    own = expected(table[name], schema[name]).iloc[flow.release.order].reset_index(drop=True)
    assert released.astype(object).where(released.notna(), None).tolist() == own.astype(object).where(
        own.notna(), None
    ).tolist()  # fmt: skip
    assert released.nunique() < table[name].nunique()
    assert released.isna().sum() == table[name].isna().sum()
    wrong = flow.released.copy()
    wrong[name] = table[name].iloc[flow.release.order].to_numpy()
    for order in (flow.release.order, None):
        assert verify(wrong, schema, k=5, original=table, order=order)["containment"].passed is False
    if treat.partition(":")[0] in HOLDS:
        assert verify(wrong, schema, k=5)["cells"].passed is False


def test_treatments__are_what_pandas_makes() -> None:
    table = people()

    def of(name: str, treat: str) -> pd.Series:
        return treated(table[name], schema_of(table, **{name: treat})[name])

    assert of("visit", "month").equals(table["visit"].dt.to_period("M").dt.start_time.astype("datetime64[us]"))
    assert of("visit", "hour").equals(table["visit"].dt.floor("h").astype("datetime64[us]"))
    assert of("visit", "quarter").equals(table["visit"].dt.to_period("Q").dt.start_time.astype("datetime64[us]"))
    assert of("count", "round:10").tolist() == [(value + 5) // 10 * 10 for value in table["count"]]
    assert of("code", "digits:3").dropna().tolist() == table["code"].dropna().str[:3].tolist()
    persons = table["code"].value_counts()
    merged = of("code", "rare:20")
    assert set(merged.dropna()) - {"other"} <= set(persons[persons >= 20].index)
    assert merged.value_counts().min() >= 20


def test_rare_values__are_counted_by_persons() -> None:
    table = pd.DataFrame({"who": [1] * 12 + list(range(2, 30)), "x": ["a"] * 12 + ["b"] * 28, "age": range(40)})
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["x"], person="who").with_column("x", treat="rare:5")
    flow = Flow(table, schema, Settings(k=2, generalizer="uniform"))
    assert set(flow.released["x"]) == {"other"}, "one person has the twelve rows, so the next level is merged as well"
    assert flow.verification["containment"].passed


def test_treatment__is_named_and_survives_every_round_trip() -> None:
    table = people()
    schema = schema_of(table, visit="month", cost="round:100")
    again = Schema.from_json(schema.to_json())
    assert again == schema
    assert hash(again) == hash(schema)
    assert schema != schema_of(table)
    result = anonymize(table, schema, **SETTINGS, reasons={"unchanged: cost, count": "nobody knows these two"})
    cells = {entry["name"]: entry["cells"] for entry in result.release.dictionary()}
    assert cells["visit"].startswith("The first day stands for the month.")
    assert cells["cost"].startswith("Rounded to the nearest multiple of 100, halves up.")
    assert cells["count"] == "The value as it was."
    document = json.loads(result.report.to_json())
    assert Schema.from_json(json.dumps(document["provenance"]["schema"])) == schema
    line = command_line("t.csv", schema, {}, {}, {}, {})
    assert {"--treat=visit=month", "--treat=cost=round:100"} <= set(shlex.split(line))


def test_treatment__goes_with_role_and_kind() -> None:
    schema = schema_of(people(), visit="month", cost="round:100")
    assert schema.with_column("visit", role=Role.QUASI_IDENTIFYING)["visit"].treat == ""
    assert schema.with_roles({"visit": Role.IDENTIFYING})["visit"].treat == ""
    assert schema.with_roles({"visit": Role.INSENSITIVE})["visit"].treat == "month"
    assert schema.with_column("cost", kind=Kind.CATEGORICAL)["cost"].treat == ""
    assert replace(schema["cost"], domain=(0, 1000)).domain is None


@pytest.mark.parametrize(
    ("kind", "treat"),
    [("numeric", "month"), ("date", "round:5"), ("numeric", "round"), ("numeric", "round:0"), ("date", "month:3"),
     ("numeric", "round:x"), ("categorical", "digits:2.5"), ("categorical", "rare:1"), ("numeric", "round:inf"),
     ("categorical", "__class__"), ("numeric", "round:nan")],
)  # fmt: skip
def test_treatment__that_does_not_suit_is_refused_in_a_sentence(kind: str, treat: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Column("x", Role.SENSITIVE, Kind(kind), treat=treat)
    assert "'x'" in str(caught.value)
    assert caught.value.remedy.startswith("Choose ")


def test_spelling__is_one() -> None:
    assert Column("x", Role.SENSITIVE, Kind.NUMERIC, treat=" round:1e2 ").treat == "round:100"


def test_gate__offers_treatments_that_close_its_findings() -> None:
    table = people()
    flow = Flow(table, schema_of(table), Settings(**SETTINGS))
    closed = 0
    for finding in flow.judgement.findings:
        for repair in finding.repairs:
            if repair.treats:
                schema, settings = repair.apply(flow.schema, flow.settings)
                after = flow.but(schema, **settings).judgement
                assert finding.key not in {f.key for f in after.findings if f.severity is not Severity.FINE}
                assert repair.options.startswith("--treat=")
                closed += 1
    assert closed >= 2
    assert flow.judgement["known: visit"].severity is Severity.STOPS


def test_tree__is_guided_by_what_is_released() -> None:
    table = people()
    schema = schema_of(table, code="digits:1").with_target("code")
    flow = Flow(table, schema, Settings(**SETTINGS))
    assert len(flow.encoded.target.labels) < len(encode(table, schema_of(table).with_target("code")).target.labels)


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_pieces__refuse_a_treated_column_with_a_way_out(engine: str) -> None:
    schema = schema_of(people(), visit="month")
    with pytest.raises(ParameterError, match="A treated column takes one table in memory") as caught:
        require(engine, Settings(generalizer="uniform"), schema)
    assert "--engine memory" in caught.value.remedy


def test_another_treatment__is_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    from anonymizer.treatments import Treatment

    monkeypatch.setitem(
        TREATMENTS, "upper", Treatment("Write in capitals", "In capitals.", "categorical",
                                       lambda values, about: np.array([v.upper() for v in values], object))
    )  # fmt: skip
    table = people()
    schema = schema_of(table.assign(code=table["code"].str.lower()), code="upper")
    flow = Flow(table.assign(code=table["code"].str.lower()), schema, Settings(**SETTINGS))
    assert flow.verification["containment"].passed is False, "nothing checks it yet"
    monkeypatch.setitem(HOLDS, "upper", lambda value, n: value.upper())
    assert Flow(flow.table, schema, Settings(**SETTINGS)).verification["containment"].passed


def test_level_of_a_hierarchy__is_written_and_checked() -> None:
    table = people()
    codes = sorted(table["code"].dropna().unique())
    chapters = Hierarchy(tuple((code, code[:3], f"chapter {code[0]}") for code in codes))
    schema = schema_of(table).with_column("code", cuts=Cuts(hierarchy=chapters), treat="level:2").with_target("code")
    assert Schema.from_json(schema.to_json()) == schema
    flow = Flow(table, schema, Settings(**SETTINGS))
    assert set(flow.released["code"].dropna()) == {"chapter I", "chapter J"}
    assert flow.verification["containment"].passed
    wrong = flow.released.assign(code="chapter I")
    assert verify(wrong, schema, k=5, original=table, order=flow.release.order)["containment"].passed is False
    with pytest.raises(SchemaError, match="has 2 levels"):
        schema.with_column("code", treat="level:3")
    with pytest.raises(SchemaError, match="has 0 levels"):
        schema_of(table, code="level:1")
    few = Hierarchy(chapters.rows[:4])
    with pytest.raises(SchemaError, match="not in its hierarchy"):
        Flow(table, schema.with_column("code", cuts=Cuts(hierarchy=few)), Settings(**SETTINGS)).compute("release")


def test_claim__says_another_treatment() -> None:
    table = pd.DataFrame({"age": [1, 2], "ward": ["a", "b"]})
    claimed = Schema.of(table, quasi_identifying=["age"], sensitive=["ward"])
    mine = claimed.with_column("ward", treat="rare:2")
    assert other_roles(mine, claimed) == ("'ward' was released unchanged, and is treated (Merge rare values) here")
    assert other_roles(claimed, mine).startswith("'ward' was released treated")
    assert other_roles(mine, mine) == other_roles(claimed, claimed) == ""
