"""A ledger on the pages: opened or begun on Data, counted on Ready, and written into before anything is taken away."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.digests import digest
from anonymizer.ledger.ledger import Ledger
from anonymizer.ledger.lock import lock_ledger
from anonymizer.schema import Schema
from tests.pages.forest import grow
from tests.pages.forest import open_page as open_forest
from tests.pages.forest import session as forest_session
from tests.pages.test_data import open_page as open_data
from tests.pages.test_data import session_of
from tests.pages.test_disclosure import open_page as open_disclosure
from tests.pages.test_folder import open_page as open_pieces
from tests.pages.test_folder import places, wait, write_release
from tests.pages.test_folder import session as in_pieces
from tests.pages.test_gate import open_page as open_gate
from tests.pages.test_release import open_page, plain_text, session
from tests.pages.test_reports import make_packet, members_of
from tests.pages.test_twice import PEOPLE, QI, shut
from tests.pages.tree import open_page as open_tree
from ui.decisions import ledger as of_ledgers
from ui.decisions.ledger import FOLDER_VARIABLE, OpenLedger, ledger_folder, ledgers_in, path_in
from ui.disclosure.state import DisclosureState
from ui.tree.panel import below_in_ledger
from ui.tree.state import TreeState
from ui.workspace import Workspace

__all__ = ["places"]

NUMBERED = PEOPLE.assign(patient=[f"p{number:04}" for number in range(len(PEOPLE))])
SCHEMA = Schema.of(NUMBERED, quasi_identifying=QI, sensitive=["diagnosis"], person="patient")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of ledgers, which the operator names."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def with_ledger(path: Path) -> Workspace:
    ws = session(10, "pack", NUMBERED, SCHEMA)
    ws.use_ledger(OpenLedger.at(path))
    return ws


def click(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()


def choice(app: AppTest) -> Any:
    return next(box for box in app.selectbox if box.label == "Ledger")


def write_entry(app: AppTest) -> None:
    click(app, "Write the entry")
    assert not app.exception


def test_release__is_entered_before_it_can_be_taken_away(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    app = open_page(with_ledger(ledger.path))
    assert shut(app)
    assert "Its entry in the ledger **register** comes first." in plain_text(app)
    write_entry(app)
    assert not shut(app)
    assert "Entry 2 of the ledger register." in plain_text(app)
    (entry,) = ledger.entries[1:]
    rows = session_of(app).flow.leaving.to_bytes("csv")
    assert entry["release"]["sha256"] == digest(rows)
    members = members_of(session_of(make_packet(app)).jobs["packet"].answer)
    (report,) = (content for name, content in members.items() if name.endswith("report.json"))
    assert entry["hash"] in report.decode()
    assert entry["hash"] in members["report.html"].decode()
    again = open_page(with_ledger(ledger.path))
    assert not shut(again)
    assert len(ledger.entries) == 2


def test_another_release__is_counted_with_the_ledger_and_stops(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    write_entry(open_page(with_ledger(ledger.path)))
    ws = with_ledger(ledger.path)
    ws.set(k=12, grouping="least")
    (finding,) = [one for one in ws.flow.gate.findings if one.key.startswith("together: ")]
    assert finding in ws.flow.gate.open
    app = open_page(ws)
    assert shut(app)
    assert "Write the entry" not in [button.label for button in app.button]


def test_ready__offers_to_keep_the_groups_of_the_ledger(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    write_entry(open_page(with_ledger(ledger.path)))
    ws = with_ledger(ledger.path)
    ws.set(grouping="least", k=11)
    app = open_gate(ws)
    assert "in groups of fewer than" in plain_text(app)
    click(app, "Keep the earlier groups")
    assert ws.keep
    assert not [one for one in ws.flow.gate.open if one.key.startswith("together: ")]
    assert "Repaired: Keep the earlier groups." in plain_text(app)
    assert "Both keep the earlier groups, with the reports or the ledger" in plain_text(open_page(ws))
    classes = pd.DataFrame({"first": with_ledger(ledger.path).flow.class_of, "second": ws.flow.class_of})
    assert classes.value_counts().min() >= 10
    click(app, "Undo")
    assert not ws.keep
    assert [one for one in ws.flow.gate.open if one.key.startswith("together: ")]


def test_data__begins_opens_and_closes_a_ledger(folder: Path) -> None:
    app = open_data(session(10, "pack", NUMBERED, SCHEMA))
    app.text_input(key="new ledger name").set_value("people of 2026")
    click(app, "Begin")
    assert session_of(app).ledger is not None
    assert ledgers_in(folder) == ["people of 2026"]
    assert "0 releases" in plain_text(app)
    choice(app).select("No ledger").run()
    assert session_of(app).ledger is None
    Ledger.new(folder / "other")
    app.run()
    choice(app).select("other").run()
    assert session_of(app).ledger is not None
    assert session_of(app).ledger.name == "other"


def test_data__says_who_is_recognised(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    write_entry(open_page(with_ledger(ledger.path)))
    ws = session(10, "pack", NUMBERED.iloc[100:], SCHEMA)
    ws.use_ledger(OpenLedger.at(ledger.path))
    n = len(NUMBERED) - 100
    app = open_data(ws)
    assert f"1 release: {n:,} of {n:,} people recognised." in plain_text(app)
    assert f"100 left, {n:,} stayed, 0 came." in plain_text(app)
    bars = next(element.proto.body for element in app.get("html") if "copse-people" in element.proto.body)
    assert f"minmax(3px, 100fr) minmax(3px, {n}fr) minmax(0px, 0fr)" in bars
    assert bars.count('class="stayed"') == 2
    assert 'class="came"' not in bars


@pytest.mark.parametrize("name", ["", " ", "../register", "a/b", ".hidden", "a\x00b"])
def test_name__that_leads_elsewhere_is_refused_in_one_sentence(name: str, folder: Path) -> None:
    app = open_data(session(10, "pack", NUMBERED, SCHEMA))
    app.text_input(key="new ledger name").set_value(name)
    click(app, "Begin")
    assert session_of(app).ledger is None
    assert ["This cannot be the name of a ledger" in error.value for error in app.error] == [True]
    assert list(folder.iterdir()) == []


def test_folder__is_the_operators_or_where_nobody_else_can_come_the_user_s(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ledger_folder() == folder.resolve()
    assert path_in(folder, "a") == folder / "a.copse-ledger"
    monkeypatch.setenv(FOLDER_VARIABLE, "relative")
    assert ledger_folder() is None
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert ledger_folder() is not None
    monkeypatch.setattr(of_ledgers, "knows", lambda: True)
    assert ledger_folder() is None


def test_table_in_pieces__is_counted_and_entered(places: tuple[Path, Path], folder: Path) -> None:
    path = Ledger.new(folder / "register").path
    ws = in_pieces(places[0])
    ws.use_ledger(OpenLedger.at(path))
    assert ws.flow.earlier == ()
    assert not open_gate(ws).exception
    app = write_release(wait(open_pieces(ws, "release"), ws), ws, "first")
    assert "It is counted with the releases of the ledger register, and its entry comes first." in plain_text(app)
    ledger = Ledger.open(path)
    assert [entry["kind"] for entry in ledger.entries] == ["note", "release"]
    assert f"This release is entry 2 of the sender's ledger of releases, {ledger.head}." in plain_text(app)
    assert ws.ledger is not None
    assert list(ws.ledger.entries.values()) == [(2, ledger.head)]
    assert "1 release: 3,000 of 3,000 people recognised." in plain_text(open_data(ws))
    ws.set(k=12, generalizer="pack", grouping="error-risk")
    app = write_release(wait(open_pieces(ws, "release"), ws), ws, "second")
    assert "Nothing was written." in " ".join(error.value for error in app.error)
    assert len(Ledger.open(path).entries) == 2
    assert "people are in groups of fewer than 12" in plain_text(open_pieces(ws, "gate"))
    (finding,) = (one for one in ws.jobs["folder"].answer.result.gate.open if one.key.startswith("together: "))
    assert finding.repairs == ()
    ws.reasons[finding.key] = "both stay in one office"
    app = write_release(wait(open_pieces(ws, "release"), ws), ws, "second")
    assert list(Ledger.open(path).entries[2]["reasons"].values()) == ["both stay in one office"]


def test_begin__says_in_one_sentence_that_it_could_not_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    app = open_data(session(10, "pack", NUMBERED, SCHEMA))
    app.text_input(key="new ledger name").set_value("register")
    monkeypatch.setattr("anonymizer.ledger.ledger.write_once", full)
    click(app, "Begin")
    assert not app.exception
    assert ["The ledger could not be written" in error.value for error in app.error] == [True]
    assert session_of(app).ledger is None


def test_forgetting__closes_the_ledger(folder: Path) -> None:
    ws = with_ledger(Ledger.new(folder / "register").path)
    ws.forget()
    assert ws.ledger is None


def test_forests__are_charged_to_the_ledger_over_sessions(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    ledger.note("The budget of forests.", budget=1.5)

    def fresh() -> AppTest:
        ws = forest_session()
        ws.use_ledger(OpenLedger.at(ledger.path))
        return open_forest(ws)

    app = fresh()
    (bar,) = (bar.proto.text for bar in app.get("progress") if "ledger" in bar.proto.text)
    assert bar == "Spent on these people in the ledger: **0** of 1.5"
    grow(app)
    assert not app.exception
    entry = ledger.entries[-1]
    assert (entry["kind"], entry["epsilon"], entry["private"]) == ("forest", 1, True)
    app = fresh()
    assert app.button(key="begin forest").disabled
    assert "That would make 2. Lower β, or allow more." in plain_text(app)
    app.select_slider(key="forest epsilon").set_value(0.5).run()
    grow(app)
    assert ledger.account().spent == 1.5
    assert "2 forests: about one person they have spent ε = 1.5 together, and may spend 1.5." in plain_text(
        open_data(session_of(app))
    )


def test_forest__that_another_session_left_no_budget_for_is_refused(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    ledger.note("The budget of forests.", budget=1)
    ws = forest_session()
    ws.use_ledger(OpenLedger.at(ledger.path))
    app = open_forest(ws)
    ledger.charge(ws.table, ws.schema, 0.5)
    grow(app)
    assert "That would make 1.5. Lower β, or allow more." in plain_text(app)
    assert ledger.account().forests == 1
    assert not session_of(app).spent


def test_forest__of_people_with_several_rows_counts_each_of_them(folder: Path) -> None:
    """Of somebody with two rows twice ε is told."""
    ledger = Ledger.new(folder / "register")
    ledger.note("The budget of forests.", budget=1.5)
    ws = forest_session()
    rows = ws.table.assign(patient=[f"p{row // 2:04}" for row in range(len(ws.table))])
    ws = Workspace(reading=replace(ws.reading, frame=rows), schema=Schema.of(
        rows, quasi_identifying=["age", "sex"], identifying=["name", "email"], sensitive=["diagnosis"], person="patient"
    ), states=ws.states)  # fmt: skip
    ws.use_ledger(OpenLedger.at(ledger.path))
    app = open_forest(ws)
    assert app.button(key="begin forest").disabled
    assert "That would make 2. Lower β, or allow more." in plain_text(app)


def test_budget__that_is_entered_elsewhere_counts_at_once(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    ws = forest_session()
    ws.use_ledger(OpenLedger.at(ledger.path))
    app = open_forest(ws)
    assert not app.button(key="begin forest").disabled
    ledger.note("The budget of forests.", budget=0.5)
    app.run()
    assert app.button(key="begin forest").disabled
    ledger.path.write_bytes(b"damaged")
    app.run()
    assert not app.exception
    grow(app)
    assert "Line 1 is damaged" in plain_text(app)
    assert not session_of(app).spent


def tree_buttons(app: AppTest) -> list[Any]:
    return [button for button in app.get("download_button") if "tree" in button.key]


def test_published_tree__is_entered_before_its_files_can_be_taken_away(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    write_entry(open_page(with_ledger(ledger.path)))
    ws = with_ledger(ledger.path)
    ws.state(DisclosureState).bound = 1.0
    app = open_disclosure(ws)
    assert not app.exception
    assert "With 1 earlier release" in plain_text(app) + " ".join(one.value for one in app.warning)
    assert all(button.disabled for button in tree_buttons(app))
    if app.warning:
        assert next(one for one in app.button if one.label == "Write the entry").disabled
        app.text_input(key="tree reason").set_value("all readers are bound").run()
    write_entry(app)
    assert not any(button.disabled for button in tree_buttons(app))
    assert "Entry 3 of the ledger register." in plain_text(app)
    (entry,) = ledger.entries[2:]
    assert (entry["kind"], entry["tree"]["name"]) == ("tree", "customers-tree.json")
    assert "1 published tree: a leaf says a value of" in plain_text(open_data(session_of(app)))
    again = open_disclosure(with_ledger(ledger.path))
    assert "Entry 3 of the ledger register." in plain_text(again)


# Two tabs, and a server that ends in between.


def test_two_sessions__the_second_entry_is_counted_with_the_first(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    first, other = open_page(with_ledger(ledger.path)), with_ledger(ledger.path)
    other.set(k=12, grouping="least")
    second = open_page(other)
    write_entry(first)
    click(second, "Write the entry")
    assert not second.exception
    assert any("in groups of fewer than 12" in error.value for error in second.error)
    assert [entry["kind"] for entry in ledger.entries] == ["note", "release"]
    assert shut(second.run())
    assert [one for one in session_of(second).flow.gate.open if one.key.startswith("together: ")]
    assert "Write the entry" not in [button.label for button in second.button]


def test_two_sessions__one_waits_for_the_lock_of_the_other(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    app = open_page(with_ledger(ledger.path))
    with lock_ledger(ledger.path):
        click(app, "Write the entry")
    assert any("Somebody has been writing this ledger since" in error.value for error in app.error)
    write_entry(app)
    assert [entry["kind"] for entry in ledger.entries] == ["note", "release"]


def test_tree__marks_groups_whose_people_are_in_too_small_ones_together(folder: Path) -> None:
    ledger = Ledger.new(folder / "register")
    write_entry(open_page(with_ledger(ledger.path)))
    ws = with_ledger(ledger.path)
    ws.set(k=12, grouping="least")
    app = open_tree(ws)
    flow, cells = ws.flow, ledger.cells(NUMBERED, SCHEMA)
    pairs = pd.DataFrame({"first": cells.classes[0], "second": flow.class_of})
    few = pairs.groupby(["first", "second"])["first"].transform("size") < 12
    expected = pd.Series(flow.pruning.group_of_node()[flow.leaf])[few].value_counts()
    assert few.any()
    assert below_in_ledger(ws, flow.pruning) == expected.to_dict()
    assert f"◌ With earlier releases {int(few.sum()):,} people in groups of fewer than 12:" in plain_text(app)
    worst = int(expected.idxmax())
    labels = [button.label for button in app.button]
    assert f"group {worst:,} · {int(expected[worst]):,}" in labels
    click(app, f"group {worst:,} · {int(expected[worst]):,}")
    assert f"◌ {int(expected[worst]):,} people of it are in groups of fewer than 12" in plain_text(app)
    ws.state(TreeState).view = "tree"
    assert "◌ people below k with earlier releases" in " ".join(str(one.proto) for one in open_tree(ws).get("html"))
    ws.use_ledger(None)
    assert "With earlier releases" not in plain_text(open_tree(ws))
