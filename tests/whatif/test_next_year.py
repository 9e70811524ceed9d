"""Next year's table under last year's decisions: what still holds, what changed, and that no value is kept for it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from anonymizer.checking.linkage import linkage_risk
from anonymizer.errors import ReadError
from anonymizer.flow import Flow
from anonymizer.plan.carry_over import Profile, carry_over
from anonymizer.reading.profile import suggest
from anonymizer.schema import Kind, Role, Schema
from anonymizer.settings import Settings
from anonymizer.whatif.next_year import compare_figures, profile_of
from anonymizer.whatif.project import Project, from_json, to_json

CANARIES = ("Canary-town-of-one", "987654", "Canary-illness")


def table(year: int, n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(year)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], n),
            "code": rng.integers(1, 9, n),
            "pay": np.round(rng.normal(3000, 300, n), 2),
            "ill": rng.choice(["cold", "cough"], n),
        }
    )


def last_year() -> tuple[pd.DataFrame, Project]:
    frame = table(1)
    frame.loc[0, ["town", "pay", "ill"]] = [CANARIES[0], 987654.25, CANARIES[2]]
    schema = Schema.of(frame, quasi_identifying=["age", "sex", "town", "code"], sensitive=["ill", "pay"], target="ill")
    schema = schema.with_column("age", domain=(18.0, 90.0), grid=(5.0, 0.0)).with_column("sex", domain=("f", "m", "x"))
    flow = Flow(frame, schema, Settings(k=7))
    return frame, Project(schema, dict(flow.settings), records=200, last=profile_of(flow))


def test_project__keeps_no_value_of_last_year() -> None:
    frame, project = last_year()
    text = to_json(project, suggest(frame))
    assert not [canary for canary in CANARIES if canary in text]
    again = from_json(text, suggest(frame))
    assert again.last == project.last
    assert project.last is not None
    assert set(project.last.to_dict()) == {"figures", "values", "missing"}
    for broken in ({"figures": {"x": 1}}, {"figures": {}, "values": {"a": -1}, "missing": {}}, []):
        described = json.loads(text) | {"last": broken}
        with pytest.raises(ReadError):
            from_json(json.dumps(described))
    assert from_json(json.dumps(json.loads(text) | {"last": None})).last is None


def test_carry_over__the_same_columns_take_every_decision() -> None:
    _, project = last_year()
    now = table(2)
    schema, changes = carry_over(project.schema, project.last, now, suggest(now))
    assert schema.names(Role.QUASI_IDENTIFYING) == ("age", "sex", "town", "code")
    assert (schema.target, schema.sensitive) == ("ill", ("pay", "ill"))
    assert (schema["age"].domain, schema["age"].grid) == ((18.0, 90.0), (5.0, 0.0))
    assert schema["sex"].domain == ("f", "m", "x")
    assert [change.what for change in changes] == ["levels gone", "levels", "levels"]
    assert "'x'" in changes[0].sentence
    assert changes[1].sentence == "'town' has 3 different values; it had 4."
    assert changes[2].sentence == "'ill' has 2 different values; it had 3."


def test_carry_over__says_what_changed() -> None:
    _, project = last_year()
    now = table(3).drop(columns=["code"]).rename(columns={"town": "Town_"})
    now["visits"] = 1
    now.loc[[1, 2], "age"] = [97, 99]
    now.loc[5, "sex"] = "d"
    now["pay"] = now["pay"].map(lambda value: f"about {value}")
    now.loc[now.index[:100], "ill"] = None
    schema, changes = carry_over(project.schema, project.last, now, suggest(now))
    schema.check(now)
    assert not [change for change in changes if "'d'" in change.sentence], "what can end in a log"
    by = {change.what: change.in_full for change in changes}
    assert set(by) == {"range", "new levels", "levels gone", "renamed?", "kind", "new column", "column gone", "levels",
                       "missing"}  # fmt: skip
    assert by["range"].startswith("2 of 200 values of 'age' lie outside of 18 to 90")
    assert (schema["age"].domain, schema["sex"].domain) == (suggest(now)["age"].domain, None)
    assert "'d'" in by["new levels"]
    assert schema["Town_"].role is Role.QUASI_IDENTIFYING
    assert schema["pay"].role is Role.SENSITIVE
    assert schema["pay"].kind is Kind.CATEGORICAL
    assert "'code', which was quasi-identifying" in by["column gone"]
    assert by["missing"] == "50% of 'ill' is missing; it was 0%."
    assert schema.target == "ill"
    Flow(now, schema, Settings(**project.parameters)).require_limits()  # it can be released at once


def test_carry_over__a_target_that_is_gone_is_said() -> None:
    _, project = last_year()
    now = table(4).drop(columns=["ill"])
    schema, changes = carry_over(project.schema, project.last, now, suggest(now))
    assert schema.target in (None, "pay")
    assert "target" in {change.what for change in changes}


def test_profile__is_of_the_release() -> None:
    frame, project = last_year()
    flow = Flow(table(2), replace(project.schema), Settings(k=7))
    profile = profile_of(flow)
    released = flow.released
    risk = linkage_risk(released, flow.schema.quasi_identifying)
    groups = released.groupby(list(flow.schema.quasi_identifying), observed=True, dropna=False)["ill"]
    surest = groups.apply(lambda values: values.value_counts(normalize=True).max()).max()
    assert profile.figures["groups"] == risk.groups
    assert profile.figures["smallest"] == risk.smallest
    assert profile.figures["posterior"] == pytest.approx(surest)
    assert profile.figures["gcp"] == flow.utility.gcp
    assert project.last is not None
    rows = compare_figures(project.last, profile)
    assert rows[0] == ("Rows", "200", "200")
    assert len(rows) == len(profile.figures) == 7
    assert compare_figures(Profile(), profile) == ()
