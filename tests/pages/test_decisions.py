"""Decisions that outlive a table: what the browser is handed and what it hands back."""

import io
import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest

from anonymizer.schema import Role
from anonymizer.settings import Settings
from anonymizer.whatif.project import from_json
from tests.pages.decisions import DOUBT, PEOPLE, file_of, people, state
from tests.pages.test_data import FOUR, drop, open_page, session_of
from tests.pages.test_release import plain_text
from ui.decisions.browser import content, hear, receive
from ui.decisions.project_file import moment, open_project, take_over
from ui.decisions.state import Backup
from ui.workspace import Workspace

NOW = datetime.now(UTC).isoformat(timespec="seconds")


def report_of(ws: Workspace, *backups: Backup, number: int = 1, **changes: Any) -> str:
    """What the browser says of itself."""
    whole = {"session": ws.decisions.session, "number": number, "on": True, "obstacle": "", "reason": "loaded"}
    return json.dumps({**whole, "backups": [asdict(backup) for backup in backups], **changes})


def backup_of(ws: Workspace, visit: str = "ab", saved: str = NOW) -> Backup:
    """What the browser keeps of this session, as another session hears of it."""
    return replace(Backup(**content(ws)["summary"]), visit=visit, saved=saved)


# What the browser is handed.


def test_decisions__are_handed_over_once_there_are_any() -> None:
    ws = people(decided=False)
    assert content(ws)["text"] == ""
    assert content(ws)["open"]
    ws.set_schema(ws.suggest())
    first = content(ws)
    assert from_json(first["text"], ws.suggest()).schema == ws.schema
    assert content(ws) == first, "the same decisions are the same text, and are not kept again"
    ws.set(k=9)
    assert content(ws)["number"] == first["number"] + 1
    assert from_json(content(ws)["text"]).parameters["k"] == 9
    ws.forget()
    assert (content(ws)["text"], content(ws)["open"]) == ("", False)
    assert content(ws)["order"] == {"number": 1, "what": "forget", "of": first["table"]}


def test_a_manner_of_reading__is_a_decision_of_its_own() -> None:
    ws = people(decided=False)
    assert ws.reading is not None
    assert ws.read_again(replace(ws.reading.options, missing=("", "Qcity1")))
    project = from_json(content(ws)["text"])
    assert project.reading == ws.reading.options
    assert ws.bring(FOUR, "four.csv")
    assert content(ws)["text"] == ""


def test_nothing_of_a_record__is_handed_over() -> None:
    ws = people()
    ws.set_schema(ws.schema.with_column("income", domain=("poor", "rich", "richer")))
    handed = json.dumps(content(ws))
    assert "people.csv" in handed
    assert "richer" in handed, "a domain that was declared is a decision"
    values = {str(value) for name in ("name", "dose", "city") for value in ws.table[name]}
    assert len(values) == 120 + 3 + 4
    assert [value for value in values if f'"{value}' in handed.replace("\\", "")] == []
    assert "Zebulon" not in handed
    assert "Qcity" not in handed


# What comes back.


def test_after_a_reload__the_page_says_what_happened_and_what_is_kept() -> None:
    app = open_page()
    ws = session_of(app)
    hear(ws, report_of(ws, backup_of(people())))
    app.run()
    assert not app.exception
    text = plain_text(app)
    assert "The page was loaded again, so the table left this server's memory" in text
    assert f"decisions of {moment(NOW)}" in text
    assert "people.csv" in text
    assert "120 rows × 5 columns" in text
    app.switch_page("../pages/tree.py").run()
    assert "The page was loaded again" in plain_text(app)


@pytest.mark.parametrize(
    ("reason", "sentence"), [("restarted", "Copse was started again"), ("loaded", "The page was loaded again")]
)
def test_nothing_kept__is_said_too(reason: str, sentence: str) -> None:
    app = open_page()
    ws = session_of(app)
    hear(ws, report_of(ws, reason=reason))
    app.run()
    assert sentence in plain_text(app)
    assert "No decisions about it are kept" in plain_text(app)


def test_next_years_file__takes_last_times_decisions_in_one_click() -> None:
    before = people()
    before.set(k=7)
    backup, text = backup_of(before, "last"), content(before)["text"]
    table = pd.read_csv(io.BytesIO(PEOPLE), sep=";").assign(plan="basic").drop(columns="dose")
    app = drop(open_page(), table.to_csv(index=False).encode(), "people next year.csv")
    ws = session_of(app)
    visit = ws.decisions.visit
    hear(ws, report_of(ws, backup, reason=""))
    app.run()
    assert not app.exception
    assert f"{len(table.columns) - 1} columns match, 1 new, 1 gone" in plain_text(app)
    app.button(key="take last time").click().run()
    assert content(ws)["order"]["what"] == "send"
    receive(ws, json.dumps({"visit": "last", "text": text}))
    app.run()
    assert not app.exception
    assert ws.settings.k == 7
    assert "What changed since last time" in [header.value for header in app.header]
    assert "take last time" not in {button.key for button in app.button}
    assert ws.decisions.visit == visit, "what was decided last time stays kept"


def test_another_file__of_other_columns_gets_no_offer() -> None:
    app = drop(open_page(), FOUR, "four.csv")
    ws = session_of(app)
    hear(ws, report_of(ws, backup_of(people(), "last"), reason=""))
    app.run()
    assert "take last time" not in {button.key for button in app.button}


def test_the_same_file__one_click_brings_all_back() -> None:
    before = people()
    before.scenarios = ()
    app = open_page()
    ws = session_of(app)
    hear(ws, report_of(ws, backup_of(before)))
    drop(app, PEOPLE, "renamed.csv")
    assert "for this very file" in plain_text(app)
    assert ws.schema is None
    app.button(key="take up ab").click().run()
    assert ws.decisions.order.what == "send"
    receive(ws, json.dumps({"visit": "ab", "text": content(before)["text"]}))
    app.run()
    assert not app.exception
    assert state(ws) == state(before)
    assert ws.schema["age"].domain == (0, 120)
    assert ws.schema["dose"].domain == ("low", "medium", "high"), "what was only suggested is suggested again"
    assert "hold again" in plain_text(app)
    assert not [button for button in app.button if button.label == "Take them up"]
    assert ws.decisions.visit == "ab", "what is decided from now on is kept in the same place"


def test_another_file__is_said_to_be_one_and_stays_as_it_is() -> None:
    app = open_page()
    ws = session_of(app)
    hear(ws, report_of(ws, backup_of(people())))
    drop(app, FOUR, "four.csv")
    assert "another file than the one before" in plain_text(app)
    assert not [button for button in app.button if button.label == "Take them up"]
    assert ws.schema is None
    assert ws.settings == Settings()


def test_a_file_in_doubt__is_read_as_it_was_read_before() -> None:
    before = Workspace()
    assert before.bring(DOUBT, "doubt.csv")
    before.answer([question.answers[1] for question in before.doubt[0].questions])
    before.set_schema(before.suggest().with_column("d", role=Role.QUASI_IDENTIFYING))
    app = open_page()
    ws = session_of(app)
    hear(ws, report_of(ws, backup_of(before)))
    drop(app, DOUBT, "doubt.csv")
    assert ws.table is None
    app.button(key="take up ab").click().run()
    receive(ws, json.dumps({"visit": "ab", "text": content(before)["text"]}))
    app.run()
    assert not app.exception
    assert ws.table.equals(before.table)
    assert ws.reading.options == before.reading.options
    assert ws.schema == before.schema


@pytest.mark.parametrize(
    "change",
    [
        {"backups": 3}, {"backups": [{}]}, {"on": "yes"}, {"obstacle": "x"}, {"reason": "<b>"}, {"number": -1},
        {"session": 4}, {"backups": [{"visit": "a", "saved": "yesterday", "name": "", "sha256": "", "records": 1,
        "columns": 1, "decisions": 1, "scenarios": 1}]},
    ],
)  # fmt: skip
def test_a_report_that_is_not_in_order__is_refused_with_a_sentence(change: dict[str, Any]) -> None:
    ws = Workspace()
    hear(ws, report_of(ws, **change))
    assert ws.decisions.problem is not None
    assert "\n" not in str(ws.decisions.problem)
    assert (ws.decisions.backups, ws.decisions.reason, ws.decisions.is_on) == ((), "", True)


@pytest.mark.parametrize("answer", ["", "[]", "{}", '{"visit": "ab"}', '{"visit": "ab", "text": "{}"}', "{" * 9999])
def test_an_answer_that_is_no_project__leaves_everything_as_it_is(answer: str) -> None:
    ws = people()
    before = state(ws)
    ws.decisions.tell("send", "ab")
    receive(ws, answer)
    take_over(ws)
    assert ws.decisions.problem is not None
    assert state(ws) == before


def test_decisions_nobody_asked_for__are_left_alone() -> None:
    ws, other = people(decided=False), people()
    for order in (("", ""), ("send", "cd")):
        ws.decisions.tell(*order)
        receive(ws, json.dumps({"visit": "ab", "text": content(other)["text"]}))
        assert ws.decisions.awaited is None


def test_an_old_report__and_one_for_another_session__is_not_believed() -> None:
    ws = people()
    one = backup_of(ws)
    hear(ws, report_of(ws, one))
    assert ws.decisions.backups == (one,)
    ws.forget()
    assert ws.decisions.backups == ()
    hear(ws, report_of(ws, one))
    hear(ws, report_of(ws, one, session="other", number=7))
    assert ws.decisions.backups == ()


def test_what_is_kept__is_dropped_and_switched_off_with_one_click() -> None:
    app = open_page()
    ws = session_of(app)
    hear(ws, report_of(ws, backup_of(people())))
    app.run()
    next(toggle for toggle in app.toggle if "Keep my decisions" in toggle.label).set_value(False).run()
    assert not app.exception
    assert ws.decisions.backups == ()
    assert ws.decisions.order.what == "off"
    ws.bring(PEOPLE, "people.csv")
    ws.set_schema(ws.suggest())
    assert content(ws)["text"] == ""
    app.run()
    next(toggle for toggle in app.toggle if "Keep my decisions" in toggle.label).set_value(True).run()
    assert ws.decisions.order.what == "on"
    assert content(ws)["text"]


@pytest.mark.parametrize(("obstacle", "words"), [("insecure", "over https"), ("refused", "private window")])
def test_a_browser_that_cannot_keep__is_said(obstacle: str, words: str) -> None:
    app = open_page()
    ws = session_of(app)
    hear(ws, report_of(ws, obstacle=obstacle, reason=""))
    app.run()
    assert words in plain_text(app)
    assert not [toggle for toggle in app.toggle if "Keep my decisions" in toggle.label]
    ws.bring(PEOPLE, "people.csv")
    ws.set_schema(ws.suggest())
    assert content(ws)["text"] == ""


def test_a_moment__has_its_day_unless_that_is_today() -> None:
    assert moment("2024-02-03T04:05:06+00:00") == "3 February 2024, 04:05"
    now = datetime.now(UTC)
    assert moment(now.isoformat()) == f"{now:%H:%M}"
    assert moment((now - timedelta(days=2)).isoformat()) != f"{now:%H:%M}"


def test_a_budget_that_was_spent__is_never_given_back() -> None:
    before, ws = people(), people(decided=False)
    ws.spend(2.0)
    open_project(ws, file_of(before))
    take_over(ws)
    assert ws.schema == before.schema
    assert ws.spent_here == 2.0
    other = Workspace()
    assert other.bring(PEOPLE.replace(b";20;", b";21;"), "other.csv")
    open_project(other, file_of(before))
    take_over(other)
    assert other.schema is not None
    assert other.spent == {}, "it was spent on another table"
