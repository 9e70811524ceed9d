"""What a guess owes to the groups: the figures of members, of people held out, and of blind groups, computed again."""

import re

import numpy as np
import pandas as pd
import pytest

from anonymizer.flow import Flow
from anonymizer.measuring.members import HELD_OUT, Members, hold_out
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.reporting.dossier import AUDIENCES, document_of
from anonymizer.reporting.findings import Statement, findings_of
from anonymizer.reporting.html import to_html
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.studies.attack import attack_release
from anonymizer.studies.members import members
from anonymizer.values import share

TABLE = hospital(400, 3)
FLOW = Flow(TABLE, suggest(TABLE), Settings(k=5, grouping="error-risk"), rng=np.random.default_rng(2))


def right(released: pd.DataFrame, names: tuple[str, ...], target: str) -> float:
    """The share of rows with the most frequent value of the rows that are equal to them."""
    cells = released[list(names)].map(str).agg("|".join, axis=1).to_numpy()
    return sum(values.value_counts(dropna=False).max() for _, values in released[target].groupby(cells)) / len(released)


def test_members__are_guessed_right_as_often_as_counted_by_hand() -> None:
    among = members(FLOW)
    assert among is not None
    target = str(FLOW.schema.target)
    assert among.inside == pytest.approx(right(FLOW.released, FLOW.schema.quasi_identifying, target))
    assert among.inside == pytest.approx(1 - FLOW.utility.error)
    assert among.majority == pytest.approx(TABLE[target].value_counts(normalize=True).max())
    assert among.inside > among.blind > among.majority, "a grouping with an eye on the target tells more"
    assert among.inside > among.outside + 0.1, "of its own people more than of others"


def test_members__are_the_same_each_time_and_the_release_stays() -> None:
    before = FLOW.released.copy()
    assert members(FLOW) == members(FLOW)
    assert before.equals(FLOW.released)
    stay, others = hold_out(FLOW.encoded, 7)
    assert (len(others), sorted([*stay, *others])) == (int(HELD_OUT * 400), list(range(400)))


def test_members__of_a_target_that_follows_from_nothing_are_guessed_though_nobody_else_is() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 80, 600), "town": rng.integers(0, 30, 600).astype(str)})
    table["ill"] = rng.choice(["a", "b", "c", "d"], 600)
    schema = Schema.of(table, quasi_identifying=["age", "town"], sensitive=["ill"])
    assert members(Flow(table, schema, Settings(k=5), rng=rng)).blind is None, "its own groups are blind"
    among = members(Flow(table, schema, Settings(k=5, grouping="error-risk"), rng=rng))
    assert among is not None
    assert among.inside > 0.4
    assert among.outside < 0.33
    assert abs(among.inside - among.blind) < 0.1
    assert ("from the grouping" in among.sentence) == (round(100 * (among.inside - among.blind)) >= 1)


def test_members__are_none_without_classes_or_where_records_are_left_out() -> None:
    numbers = Schema.of(TABLE[["age", "cost"]], quasi_identifying=["age"], sensitive=["cost"])
    assert members(Flow(TABLE[["age", "cost"]], numbers, Settings(k=5))) is None
    assert Members(0.5, None, None, 0.4).sentence.endswith("; 40% by the likeliest value of the table.")


def test_report__states_the_error_of_people_held_out_beside_the_baseline() -> None:
    among, report = members(FLOW), FLOW.report
    utility = report.to_dict()["utility"]
    assert utility["error_of_people_held_out"] == pytest.approx(1 - among.outside)
    assert utility["error_of_the_majority"] == pytest.approx(1 - among.majority)
    assert utility["error_outside_majority"] == pytest.approx(1 - among.inside)
    assert f"their group is wrong for {share(1 - among.outside)}." in report.guess_sentence


def test_recipient__is_told_of_members_and_not_of_minimality() -> None:
    attacks = attack_release(FLOW, seconds=0.1)
    findings = findings_of(FLOW.report, TABLE, FLOW.released, attacks, ())
    texts = {audience: to_html(document_of(findings, Statement(), audience)) for audience in AUDIENCES}
    assert "minimality" in {outcome.name for outcome in attacks.outcomes}
    assert ("minimality" in texts["internal"], "minimality" in texts["external"]) == (True, False)
    assert all("people held out" in text for text in texts.values())
    overlaps = re.findall(r'data-figure="[^"]*overlap">([\d.]+)<', texts["external"])
    assert overlaps
    assert all(len(text) <= len("0.12") for text in overlaps)


def test_attack__says_it_beside_the_guesses() -> None:
    outcome = attack_release(FLOW, seconds=0.1)["inference"]
    assert outcome.members == members(FLOW)
    assert outcome.members.sentence in outcome.sentence
