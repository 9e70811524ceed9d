"""Project files and codebooks, before their table and after it."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.reading.options import ReadOptions
from anonymizer.releasing.files import archive
from anonymizer.reporting.packet_files import MANIFEST
from anonymizer.schema import Kind, Role
from tests.pages.decisions import DOUBT, PEOPLE, file_of, people, state
from tests.pages.test_data import FOUR, drop, open_page, session_of, texts
from tests.pages.test_release import plain_text
from tests.pages.what_if import SCHEMA, TABLE, open_view, press, session
from tests.waiting import PATIENCE
from ui.decisions.project_file import open_project, take_over
from ui.workspace import Workspace

# Project files.


def open_file(app: AppTest, data: bytes, name: str = "p.json") -> AppTest:
    """A project as if it had been chosen."""
    return next(item for item in app.file_uploader if item.label.startswith("Open a project")).upload(name, data).run()


def test_a_project_before_its_table__waits_and_is_taken_over() -> None:
    before = people()
    app = open_file(open_page(), file_of(before))
    ws = session_of(app)
    assert not app.exception
    assert "Now choose its table" in plain_text(app)
    assert "120 rows × 5 columns" in plain_text(app)
    drop(app, FOUR, "four.csv")
    assert "Its columns differ" in plain_text(app)
    assert ws.schema is None
    drop(app, PEOPLE, "people.csv")
    assert not app.exception
    assert state(ws) == state(before)
    assert "hold again" in plain_text(app)
    assert ws.decisions.awaited is None


def test_a_packet_of_ones_own__is_opened_as_its_project() -> None:
    before = people()
    project = file_of(before)
    own = archive({MANIFEST: b"{}", "project.json": project})
    app = drop(open_file(open_page(), own, "own.zip"), PEOPLE, "people.csv")
    assert not app.exception
    assert state(session_of(app)) == state(before)
    app = open_file(open_page(), archive({MANIFEST: b"{}", "report.json": b"{}"}), "out.zip")
    assert not app.exception
    assert "This packet has no project" in plain_text(app)


def test_a_project_that_waits__can_be_put_away() -> None:
    app = open_file(open_page(), file_of(people()))
    app.button(key="put away").click().run()
    assert "Now choose its table" not in plain_text(app)
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
    assert ws.jobs["next year"].done.wait(PATIENCE)
    assert ws.jobs["next year"].failure is None
    app.run()
    assert not app.exception
    figures = next(item.value for item in app.dataframe if "Then" in item.value.columns).set_index("")
    assert figures.loc["Rows"].tolist() == ["120", "100"]
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
    assert "holds 2 levels that the codebook does not list. Its levels are not taken over." in text
    assert "Not listed: 'Qcity2', 'Qcity3'." in text
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
    assert "A codebook of 2 columns is loaded. Now choose its table." in texts(app)
    app.button(key="put codebook away").click().run()
    assert "Now choose its table" not in texts(app)
