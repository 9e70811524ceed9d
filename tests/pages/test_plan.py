"""A plan beside a table: the page writes it, terminal and Python follow it, and the page opens it again."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import anonymizer as an
from anonymizer.cli.main import main
from anonymizer.plan.plan import Plan
from anonymizer.schema import Kind, Role, Schema
from tests.pages.decisions import PEOPLE, people, state
from tests.pages.test_data import FOUR, drop, open_page, session_of
from tests.pages.test_project import open_file
from tests.pages.test_release import plain_text
from ui.decisions.plan_file import plan_of
from ui.decisions.project_file import open_project, take_over
from ui.roles.roles_table import edited_column
from ui.workspace import Workspace


def decided() -> Workspace:
    """A session with decisions that a plan has."""
    ws = people()
    assert ws.schema is not None
    schema = ws.schema.with_roles({"city": Role.QUASI_IDENTIFYING})
    dose = replace(edited_column(schema["dose"], Kind.CATEGORICAL, False), own_reason="codes")
    ws.set_schema(Schema(tuple(dose if one.name == "dose" else one for one in schema.columns), schema.target))
    ws.set(k=6, l=2)
    ws.reasons = {"known: dose": "nobody knows the doses"}
    return ws


def test_a_plan__of_the_page_is_followed_by_terminal_and_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ws = decided()
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_bytes(PEOPLE)
    Path("copse.toml").write_text(plan_of(ws).text, "utf-8")
    here = ws.flow
    assert main(["release", "--out", "out.csv"]) == 0
    reading = an.read_table("people.csv", options=Plan.read(".").read_options)
    result = an.anonymize(reading.frame, Plan.read("."), reading=reading)
    assert result.schema == here.schema
    assert [column.ordered for column in result.schema.columns] == [column.ordered for column in here.schema.columns]
    pd.testing.assert_frame_equal(result.release.frame(), here.leaving.frame())
    assert result.utility.gcp == pytest.approx(here.utility.gcp, rel=1e-12)
    assert here.leaving.to_bytes("csv") == Path("out.csv").read_bytes()
    assert "nobody knows the doses" in Path("copse.toml").read_text("utf-8")


@pytest.mark.parametrize("first", ["table", "plan"])
def test_a_plan__is_taken_over_whichever_comes_first(first: str) -> None:
    before = decided()
    content = plan_of(before).text.encode()
    app = open_page()
    app = drop(app, PEOPLE, "people.csv") if first == "table" else open_file(app, content, "copse.toml")
    if first == "plan":
        assert "The plan of **people.csv** (5 columns) is loaded. Now choose its table" in plain_text(app)
    app = open_file(app, content, "copse.toml") if first == "table" else drop(app, PEOPLE, "people.csv")
    assert not app.exception
    ws = session_of(app)
    assert (ws.schema, ws.reasons) == (before.schema, before.reasons)
    assert ws.settings == before.settings.but(grouping="regions", criterion="detail")
    assert "The plan of 5 columns holds for this table" in plain_text(app)
    assert state(ws)[-2] == {"purpose": "a study of sleep"}


def test_a_plan__says_what_changed_a_year_later() -> None:
    content = plan_of(decided()).text.encode()
    lines = PEOPLE.decode().splitlines()
    table = "\n".join(f"{line};{'ward' if not at else at % 3}" for at, line in enumerate(lines)).encode()
    app = open_file(drop(open_page(), table, "next.csv"), content, "copse.toml")
    assert not app.exception
    text = plain_text(app)
    assert "The plan of 5 columns holds for this table, but for 1 thing" in text
    assert "'ward' is new" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"layout = 1\n[limits]\nkk = 3\n", "copse.toml, line 3, column 1"),
        (b"layout = 1\n" + b"a = " + b"[" * 9_999, "more than 20"),
        (b"layout = 1\n[columns.age]\nrole = 'sensitive'\nhierarchy = '/etc/passwd'\n", "comes from no folder"),
        (b"layout = 1\n[columns.'<b>']\nrole = 3\n", "is none of"),
    ],
)  # fmt: skip
def test_a_plan_that_is_none__is_one_sentence_and_changes_nothing(content: bytes, words: str) -> None:
    app = drop(open_page(), PEOPLE, "people.csv")
    before = session_of(app).schema
    app = open_file(app, content, "copse.toml")
    assert not app.exception
    assert len(app.error) == 1
    assert words in app.error[0].value.replace("\\", "")
    assert session_of(app).schema == before


def test_a_plan__of_another_table_waits() -> None:
    ws = Workspace()
    assert ws.bring(FOUR, "four.csv")
    open_project(ws, plan_of(decided()).text.encode())
    take_over(ws)
    assert ws.schema is None
    assert "Its columns differ" in ws.decisions.note


def test_page__saves_the_plan() -> None:
    app: AppTest = open_page(decided())
    assert not app.exception
    assert "Save the plan" in [button.label for button in app.get("download_button")]
