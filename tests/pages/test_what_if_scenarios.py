"""Scenarios, history and project on the What-if page: each is kept, compared, and gone back to."""

from datetime import timedelta

import pytest

from anonymizer.checking.linkage import linkage_risk
from anonymizer.pipeline import anonymize
from anonymizer.schema import Role
from anonymizer.settings import SETTINGS
from anonymizer.whatif.frontier import Method, record_frontier
from anonymizer.whatif.scenarios import words_back
from tests.pages.test_data import texts
from tests.pages.test_release import plain_text
from tests.pages.what_if import QUASI, SCHEMA, TABLE, figures_of, metrics, open_view, press, session, slider
from ui.controls import count
from ui.decisions.project_file import project_of
from ui.what_if.frontier import here
from ui.what_if.scenarios import current_scenario, fresh_name, travel, usual_name


def test_scenarios__are_kept_compared_opened_and_dropped() -> None:
    app = open_view(session(k=5), "Scenarios")
    for k, name in ((5, "fine"), (20, "coarse")):
        slider(app).set_value(k).run()
        app.text_input[0].set_value(name)
        app.text_input[1].set_value(f"*for* {name}")
        press(app, "Keep this setting")
    both = app.session_state["workspace"].scenarios
    assert [scenario.name for scenario in both] == ["fine", "coarse"]
    for scenario, k in zip(both, (5, 20), strict=True):
        risk = linkage_risk(anonymize(TABLE, SCHEMA, k=k, generalizer="uniform").release.frame(), QUASI)
        assert (scenario.parameters["k"], scenario.figures["groups"]) == (k, risk.groups)
    table = app.dataframe[0].value
    assert list(table.loc[SETTINGS["k"].title]) == ["5", "20"]
    assert list(table.loc["Groups"]) == [count(scenario.figures["groups"]) for scenario in both]
    press(app, "Open")
    assert app.session_state["workspace"].k == 5
    assert slider(app).value == 5
    next(box for box in app.text_input if box.key == "name of fine").set_value("coarse")
    next(box for box in app.text_input if box.key == "comment of fine").set_value("for *another* reader")
    press(app, "Save")
    edited = app.session_state["workspace"].scenarios
    assert [scenario.name for scenario in edited] == ["coarse (2)", "coarse"]
    assert edited[0].comment == "for *another* reader"
    assert edited[0].figures == both[0].figures
    press(app, "Drop")
    assert [scenario.name for scenario in app.session_state["workspace"].scenarios] == ["coarse"]


def test_compared_scenarios__stay_so_under_another_name() -> None:
    ws = session()
    ws.scenarios = (current_scenario(ws, "a", ""), current_scenario(ws, "b", ""))
    app = open_view(ws, "Scenarios")
    next(box for box in app.text_input if box.key == "name of a").set_value("c")
    press(app, "Save")
    assert list(app.dataframe[0].value.columns) == ["c", "b"]


def test_a_setting_nobody_named__is_called_what_it_is() -> None:
    assert usual_name(session(k=20)) == "Least pruning with uniform boxes, k = 20"
    assert usual_name(session(k=20, criterion="blend", weight=0.9)) == "Blend of weight 0.9 with uniform boxes, k = 20"
    ws = session(k=20, grouping="least", criterion="blend", weight=0.9)
    points = record_frontier(ws.flow, (20,), [Method("least", "uniform", 0.9)])
    assert here(ws, points) is points[0]


def test_figures_of_a_scenario__are_those_of_its_roles() -> None:
    ws = session(k=5)
    ws.scenarios = (current_scenario(ws, "a", ""), current_scenario(ws, "b", ""))
    groups = f"Groups {count(ws.scenarios[0].figures['groups'])}"
    assert groups in plain_text(open_view(ws, "Scenarios"))
    before = ws.schema
    ws.set_schema(ws.schema.with_column("postcode", role=Role.INSENSITIVE))
    app = open_view(ws, "Scenarios")
    assert not app.exception
    assert groups not in plain_text(app)
    assert "Kept for other roles" in plain_text(app)
    assert "Groups" not in app.dataframe[0].value.index
    ws.set_schema(before)
    assert groups in plain_text(open_view(ws, "Scenarios"))


def test_scenarios_and_history__can_be_reached_where_nothing_can_be_released() -> None:
    app = open_view(session(l=50), "History and project")
    assert "Nothing can be released with this setting" in plain_text(app)
    assert "What was decided" in texts(app)
    app.button_group(key="what if view").set_value("At a glance").run()
    assert not app.exception


def test_names_of_scenarios_stay_different() -> None:
    ws = session()
    ws.scenarios = (current_scenario(ws, "a", ""), current_scenario(ws, "a (2)", ""))
    assert fresh_name(ws.scenarios, "a") == "a (3)"
    assert fresh_name(ws.scenarios, "b") == "b"


def test_undo_and_redo__bring_back_what_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anonymizer.whatif.scenarios.DRAG", timedelta(0))  # else it is one drag
    app = open_view(session(k=10))
    for k in (15, 30):
        slider(app).set_value(k).run()
    press(app, "Undo")
    assert slider(app).value == 15
    assert metrics(app) == figures_of(app.session_state["workspace"])
    press(app, "Undo")
    assert slider(app).value == 10
    press(app, "Redo")
    assert slider(app).value == 15
    entries = app.session_state["workspace"].history.entries
    assert [entry.changes for entry in entries] == [(("k", "10", "15"),), (("k", "15", "30"),)]


def test_undo__names_and_takes_back_that_earlier_groups_are_kept() -> None:
    ws = session()
    ws.remember()
    ws.keep = True
    ws.remember()
    assert words_back(ws.history.last, undone=True) == "keeping earlier groups back to off"
    travel(ws, ws.history.undo())
    assert not ws.keep
    travel(ws, ws.history.redo())
    assert ws.keep
    assert project_of(ws).keep


def test_undo_of_a_role__comes_back_too() -> None:
    ws = session()
    ws.remember()
    ws.set_schema(SCHEMA.with_column("occupation", role="insensitive"))
    ws.remember()
    travel(ws, ws.history.undo())
    assert ws.schema == SCHEMA
    travel(ws, ws.history.redo())
    assert ws.schema is not None
    assert "occupation" not in ws.schema.quasi_identifying


def test_history__is_shown_and_gone_back_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anonymizer.whatif.scenarios.DRAG", timedelta(0))
    app = open_view(session(k=10), "History and project")
    for k in (15, 30):
        slider(app).set_value(k).run()
    shown_rows = app.dataframe[0].value
    assert list(shown_rows["what"]) == ["k", "k"]
    assert list(shown_rows["to"]) == ["30", "15"]
    next(item for item in app.number_input if item.label.startswith("Go back")).set_value(0).run()
    press(app, "Go there")
    assert app.session_state["workspace"].k == 10
