"""Decisions that outlive a table: what the browser is handed and what it hands back, and project files, before a table
and after it."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.reading.options import ReadOptions
from anonymizer.schema import Kind, Role
from anonymizer.settings import Settings
from anonymizer.whatif.project import from_json, to_json
from tests.pages.test_data import FOUR, drop, open_page, session_of, texts
from tests.pages.test_release import plain_text
from tests.pages.what_if import SCHEMA, TABLE, open_view, press, session
from ui.decisions.browser import content, hear, receive
from ui.decisions.project_file import moment, open_project, project_of, take_over
from ui.decisions.state import Backup
from ui.release.state import ReleaseState
from ui.workspace import Workspace

PEOPLE = ("name;age;dose;city;income\n" + "".join(
    f"Zebulon{n:03d};{20 + n % 50};{('low', 'medium', 'high')[n % 3]};Qcity{n % 4};{('poor', 'rich')[n % 2]}\n"
    for n in range(120)
)).encode()  # fmt: skip
DOUBT = b"a;d\n1.234;01/02/2024\n5.678;03/04/2024\n"
NOW = datetime.now(UTC).isoformat(timespec="seconds")


def people(*, decided: bool = True) -> Workspace:
    """A session with the people, and some decisions on them."""
    ws = Workspace()
    assert ws.bring(PEOPLE, "people.csv")
    if decided:
        ws.set_schema(ws.suggest())
        ws.remember()
        ws.set_schema(ws.suggest().with_column("city", role=Role.INSENSITIVE).with_column("age", domain=(0, 120)))
        ws.set(k=7)
        ws.remember()
        ws.state(ReleaseState).fill({"purpose": "a study of sleep", "approvers": "Ann, Ben"})
        ws.spend(1.5)
    return ws


def report_of(ws: Workspace, *backups: Backup, number: int = 1, **changes: Any) -> str:
    """What the browser says of itself."""
    whole = {"session": ws.decisions.session, "number": number, "on": True, "obstacle": "", "reason": "loaded"}
    return json.dumps({**whole, "backups": [asdict(backup) for backup in backups], **changes})


def backup_of(ws: Workspace, visit: str = "ab", saved: str = NOW) -> Backup:
    """What the browser keeps of this session, as another session hears of it."""
    return replace(Backup(**content(ws)["summary"]), visit=visit, saved=saved)


def file_of(ws: Workspace) -> bytes:
    """The project file of a session."""
    return to_json(project_of(ws), ws.suggest()).encode()


def state(ws: Workspace) -> tuple[Any, ...]:
    return (ws.schema, ws.settings, ws.scenarios, ws.history, ws.state(ReleaseState).words, ws.spent)


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
    assert "120 records × 5 columns" in text
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


# Project files.


def open_file(app: AppTest, data: bytes) -> AppTest:
    """A project as if it had been chosen."""
    return (
        next(item for item in app.file_uploader if item.label.startswith("Open a project")).upload("p.json", data).run()
    )


def test_a_project_before_its_table__waits_and_is_taken_over() -> None:
    before = people()
    app = open_file(open_page(), file_of(before))
    ws = session_of(app)
    assert not app.exception
    assert "waits for its table" in plain_text(app)
    assert "120 records × 5 columns" in plain_text(app)
    drop(app, FOUR, "four.csv")
    assert "Its columns differ" in plain_text(app)
    assert ws.schema is None
    drop(app, PEOPLE, "people.csv")
    assert not app.exception
    assert state(ws) == state(before)
    assert "hold again" in plain_text(app)
    assert ws.decisions.awaited is None


def test_a_project_that_waits__can_be_put_away() -> None:
    app = open_file(open_page(), file_of(people()))
    app.button(key="put away").click().run()
    assert "waits for its table" not in plain_text(app)
    drop(app, PEOPLE, "people.csv")
    assert session_of(app).schema is None


def test_a_project_after_its_table__is_taken_over_on_the_data_page() -> None:
    before = people()
    app = open_file(drop(open_page(), PEOPLE, "people.csv"), file_of(before))
    assert not app.exception
    assert state(session_of(app)) == state(before)


def test_a_project_of_a_table_like_this__is_taken_over_and_said() -> None:
    before = people()
    rows = PEOPLE.decode().splitlines()
    moved = "\n".join(";".join(row.split(";")[::-1]) for row in rows[:100]).encode()
    app = open_file(drop(open_page(), moved, "moved.csv"), file_of(before))
    ws = session_of(app)
    assert not app.exception
    assert "not that of the table here" in plain_text(app)
    assert [column.name for column in ws.schema.columns] == list(ws.table.columns), "in the order of this table"
    assert {ws.schema[name] for name in ws.table} == {before.schema[name] for name in before.table}
    assert not app.switch_page("../pages/roles.py").run().exception


def test_next_years_file__is_decided_as_then_and_says_what_changed() -> None:
    before = people()
    before.flow.compute("report")
    content_of_file = file_of(before)
    assert b"Zebulon" not in content_of_file
    assert b"Qcity" not in content_of_file
    rows = [row.split(";") for row in PEOPLE.decode().splitlines()]
    table = [[*rows[0][:3], "City_", rows[0][4], "ward"], *([*row, "9"] for row in rows[1:101])]
    table[3][1] = "130"
    data = "\n".join(";".join(row) for row in table).encode()
    app = open_file(drop(open_page(), data, "people.csv"), content_of_file)  # the name is that of last year
    ws = session_of(app)
    assert not app.exception
    words = plain_text(app)
    assert "3 things changed" in words
    assert "1 of 100 values of 'age' lie outside of 0 to 120" in words
    assert "'City_' looks like 'city' under another name" in words
    assert "'ward' is new" in words
    assert ws.settings.k == 7
    assert ws.schema["City_"].role is before.schema["city"].role
    app.button(key="begin next year").click().run()
    assert ws.jobs["next year"].done.wait(60)
    assert ws.jobs["next year"].failure is None
    app.run()
    assert not app.exception
    figures = next(item.value for item in app.dataframe if "Then" in item.value.columns).set_index("")
    assert figures.loc["Records"].tolist() == ["120", "100"]
    assert figures.loc["Groups"].tolist() == [
        f"{before.flow.after.groups:,}",
        f"{ws.flow.after.groups:,}",
    ]
    drop(app, FOUR, "four.csv")
    assert "What changed since last time" not in plain_text(app)


def project_read(data: bytes, options: ReadOptions) -> bytes:
    """A project file of a table that was read in this manner."""
    ws = Workspace()
    assert ws.bring(data, "last.csv", options)
    ws.set_schema(ws.suggest())
    return file_of(ws)


def test_next_years_file__is_read_as_then_under_any_name() -> None:
    then = project_read(PEOPLE, ReadOptions(missing=("", "low"), as_text=("age",)))
    rows = PEOPLE.decode().replace(";", ",").splitlines()
    app = open_file(drop(open_page(), "\n".join(rows[:91]).encode(), "people of 2027.csv"), then)
    ws = session_of(app)
    assert not app.exception
    assert "What changed since last time" in plain_text(app)
    assert (ws.reading.options.missing, ws.reading.options.as_text) == (("", "low"), ("age",))
    assert ws.reading.options.delimiter == ",", "how the file is laid out is its own"
    assert ws.table["dose"].isna().sum() == 30
    assert ws.schema["age"].kind is Kind.CATEGORICAL


def test_next_years_doubts__are_answered_as_then() -> None:
    then = project_read(DOUBT, ReadOptions(decimal=",", dates="month"))
    app = drop(open_file(open_page(), then), DOUBT.replace(b"03/04", b"05/06"), "next.csv")
    ws = session_of(app)
    assert not app.exception
    assert ws.doubt is None
    assert (ws.reading.options.decimal, ws.reading.options.dates) == (",", "month")
    assert ws.table["d"].dt.month.tolist() == [1, 5]


def test_a_project__leaves_the_reading_of_another_kind_of_table_alone() -> None:
    app = drop(open_page(), FOUR, "four.csv")
    ws = session_of(app)
    before = ws.reading
    open_file(app, project_read(PEOPLE, ReadOptions(missing=("", "low"))))
    assert ws.reading is before


@pytest.mark.parametrize("data", [b"{}", b"\xff", b"[]", b'{"copse_project": 1}'])
def test_a_file_that_is_no_project__is_refused_with_a_sentence(data: bytes) -> None:
    app = open_file(open_page(), data)
    assert not app.exception
    assert len(app.error) == 1
    assert not app.error[0].value.startswith("Traceback")


def test_a_bad_choice_in_a_project__changes_nothing() -> None:
    ws = people()
    before = state(ws)
    described = json.loads(file_of(ws)) | {"parameters": {"k": -1}}
    open_project(ws, json.dumps(described))
    take_over(ws)
    assert "k" in str(ws.decisions.problem)
    assert state(ws) == before


def test_what_if__opens_projects_the_same_way() -> None:
    saved = session(k=33, generalizer="refine")
    app = open_view(session(), "History and project")
    open_file(app, file_of(saved))
    assert not app.exception
    ws = session_of(app)
    assert (ws.k, ws.settings.generalizer, ws.schema) == (33, "refine", SCHEMA)
    assert "hold again" in plain_text(app)
    open_file(app, file_of(people()))
    assert "Its columns differ" in plain_text(app)
    assert (ws.k, len(ws.table)) == (33, len(TABLE))
    press(app, "Put it away")
    assert "waits" not in plain_text(app)


# A codebook, before its table and after it.

BOOK = (
    b"name,label,role,kind,domain\nage,Age <b>in</b> years,sensitive,numeric,0..120\ncity,City,secret,,Qcity0|Qcity1\n"
)


@pytest.mark.parametrize("first", ["table", "codebook"])
def test_a_codebook__is_held_against_its_table__whichever_comes_first(first: str) -> None:
    ws = Workspace()
    if first == "table":
        assert ws.bring(PEOPLE, "people.csv")
    open_project(ws, BOOK)
    take_over(ws)
    if first == "codebook":
        assert ws.decisions.codebook
        assert ws.bring(PEOPLE, "people.csv")
        take_over(ws)
    assert ws.decisions.codebook == ()
    assert ws.schema is not None
    age, suggested = ws.schema["age"], ws.suggest()
    assert (age.role, age.domain, age.suggested, age.variable.label) == (
        Role.SENSITIVE, (0.0, 120.0), False, "Age <b>in</b> years",
    )  # fmt: skip
    assert (ws.schema["city"].role, ws.schema["city"].domain) == (suggested["city"].role, suggested["city"].domain)
    assert ws.decisions.described is not None
    assert [change.what for change in ws.decisions.described[1]] == ["role", "domain", "not described"]
    app = open_page(ws)
    assert not app.exception
    text = plain_text(app)
    assert "The codebook of 2 columns holds for this table, but for 3 things." in text
    assert "'secret' of column 'city' is none of person" in text
    assert "holds what the codebook does not list: 'Qcity2', 'Qcity3'" in text
    ws.forget()
    assert (ws.decisions.codebook, ws.decisions.described) == ((), None)


def test_a_codebook_that_is_none__leaves_everything_as_it_is() -> None:
    ws = people()
    before = state(ws)
    for text in (b"<!DOCTYPE a><codeBook/>", b"a,b\n1,2\n", b'{"fields": 3}'):
        open_project(ws, text)
        take_over(ws)
        assert ws.decisions.problem is not None
        assert state(ws) == before


def test_a_codebook_is_opened_by_the_opener_of_projects_and_waits() -> None:
    app = open_page()
    app = next(one for one in app.file_uploader if "codebook" in one.label).upload("b.csv", BOOK).run()
    assert "A codebook of 2 columns waits for its table" in texts(app)
    app.button(key="put codebook away").click().run()
    assert "waits for its table" not in texts(app)
