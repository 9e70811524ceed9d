"""The What-if page without a browser: every figure is that of the setting that is chosen, and every step comes back."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.attacks.look_up import look_up, person
from anonymizer.checking.linkage import linkage_risk
from anonymizer.drawing.charts import loss_sentence
from anonymizer.flow import Flow
from anonymizer.pipeline import anonymize
from anonymizer.reading.samples import SAMPLES
from anonymizer.schema import Role, Schema
from anonymizer.settings import Settings
from anonymizer.whatif.frontier import Method, k_for, record_frontier, tree_frontier
from anonymizer.whatif.project import Project, to_json
from anonymizer.whatif.scenarios import History
from tests.pages.test_data import SHELL, texts
from tests.pages.test_release import plain_text
from ui.controls import count, share
from ui.what_if.frontier import clicked_point, here
from ui.what_if.scenarios import current_scenario, fresh_name, open_project, travel, usual_name
from ui.what_if.state import WhatIfState
from ui.what_if.view import loss_bars
from ui.workspace import Workspace, sample_reading

TABLE = SAMPLES["hospital"].load()
KNOWN = ["age", "sex", "postcode", "marital_status", "occupation", "admission_date"]
SCHEMA = Schema.of(TABLE, identifying=["name", "email"], quasi_identifying=KNOWN, sensitive=["diagnosis"])
VIEWS = (
    "At a glance",
    "Which k do I need?",
    "What would I lose?",
    "Frontier",
    "What if I knew…",
    "Scenarios",
    "History and project",
)


def session(**choices: object) -> Workspace:
    """A session with the hospital's table."""
    ws = Workspace(reading=sample_reading("hospital", TABLE), schema=SCHEMA)
    ws.set(**{"generalizer": "uniform"} | choices)  # its figures are the same whatever the secret
    return ws


def open_view(ws: Workspace | None, view: str = VIEWS[0]) -> AppTest:
    """The page, one of its views open."""
    app = AppTest.from_file(SHELL, default_timeout=120)
    if ws is not None:
        ws.state(WhatIfState).view = view
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/what_if.py").run()


def slider(app: AppTest) -> AppTest:
    return next(item for item in app.slider if item.label.startswith("k:"))


def press(app: AppTest, label: str) -> AppTest:
    return next(item for item in app.button if item.label.startswith(label)).click().run()


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def figures_of(ws: Workspace) -> dict[str, str]:
    """The strip by a run of the package that knows nothing of the session."""
    p = ws.settings
    result = anonymize(TABLE, SCHEMA, k=p.k, grouping=p.grouping, generalizer=p.generalizer)
    risk = linkage_risk(result.release.frame(), KNOWN)
    return {
        "Records": count(risk.records),
        "Groups": count(risk.groups),
        "Smallest group": count(risk.smallest),
        "Highest risk": share(risk.highest),
        "Detail lost (GCP)": share(result.utility.gcp),
        "Error": share(result.utility.error or 0.0),
    }


def test_without_a_table__says_where_to_go() -> None:
    app = open_view(None)
    assert not app.exception
    assert "Nothing to try out yet" in plain_text(app) + "".join(item.value for item in app.subheader)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_opens(view: str) -> None:
    app = open_view(session(), view)
    assert not app.exception
    assert not app.error


@pytest.mark.parametrize("generalizer", ["uniform", "tiered", "refine"])
def test_the_slider__shows_the_figures_of_its_k_and_of_no_other(generalizer: str) -> None:
    app = open_view(session(generalizer=generalizer))
    for k in (25, 7, 12):
        slider(app).set_value(k).run()
        ws = app.session_state["workspace"]
        assert ws.k == k
        assert metrics(app) == figures_of(ws)
        checked = anonymize(TABLE, SCHEMA, k=k, generalizer=generalizer).verification
        smallest = count(checked["k-anonymity"].achieved)
        assert f"smallest class: {smallest} row" in plain_text(app)
        assert ("is not" in plain_text(app)) is not checked.k_anonymous


def test_a_glance__names_the_loss_of_every_column() -> None:
    ws = session()
    app = open_view(ws)
    result = anonymize(TABLE, SCHEMA, generalizer="uniform")
    assert loss_sentence(result.utility.ncp_by_column, result.utility.gcp) in plain_text(app)
    bars = loss_bars(result.utility.ncp_by_column)
    for name, loss in result.utility.ncp_by_column.items():
        assert name in bars
        assert share(loss) in bars
    assert "<b>" not in loss_bars({"<b>age</b>": 0.5})


def test_which_k__is_that_of_the_policy_and_can_be_used() -> None:
    app = open_view(session(), VIEWS[1])
    for title, risk in (("0.09: groups of 12", 0.09), ("0.2: groups of 5", 0.2)):
        next(box for box in app.selectbox if box.label.startswith("The highest risk")).set_value(title).run()
        k = k_for(risk)
        result = anonymize(TABLE, SCHEMA, k=k, generalizer="uniform")
        assert f"k = {k}" in plain_text(app)
        assert f"{count(len(result.pruning.cut()))} groups" in plain_text(app)
        assert f"{share(result.utility.gcp)} of the detail is lost" in plain_text(app)
    press(app, "Use k = 5")
    assert app.session_state["workspace"].k == 5
    assert slider(app).value == 5
    assert metrics(app) == figures_of(app.session_state["workspace"])


def test_an_own_risk_beyond_every_k_of_the_frontier() -> None:
    app = open_view(session(), VIEWS[1])
    next(box for box in app.selectbox if box.label.startswith("The highest risk")).set_value("Another risk").run()
    app.number_input(key="own risk").set_value(0.005).run()
    assert "k = 200" in plain_text(app)
    app.number_input(key="own risk").set_value(0.0066).run()
    assert "k = 152" in plain_text(app)
    assert not app.exception


def test_the_frontier__a_clicked_mark_is_used_and_kept() -> None:
    ws = session()
    app = open_view(ws, VIEWS[3])
    points = tree_frontier(ws.flow)
    place = next(n for n, point in enumerate(points) if point.grouping == "error-risk" and point.k == 17)
    app.session_state["frontier chart 1"] = {"selection": {"points": [{"customdata": place}]}}
    app.run()
    assert "error-risk, k = 17" in plain_text(app)
    press(app, "Keep as scenario")
    press(app, "Use it")
    after = app.session_state["workspace"]
    assert (after.settings.grouping, after.k) == ("error-risk", 17)
    assert after.scenarios[0].figures["groups"] == points[place].groups
    assert metrics(app) == figures_of(after)
    assert after.state(WhatIfState).curves == 1, "another k and grouping have the same curves: the mark stays"
    after.open({"l": 2})
    app.run()
    assert after.state(WhatIfState).curves == 2, "in other curves the same place is another setting"


def test_the_frontier__beside_a_baseline_is_that_of_the_decision_tree() -> None:
    """A mark that is used gives the very figures it showed, whatever grouping was chosen before."""
    ws = session(grouping="median-mondrian", criterion="gini", k=8)
    app = open_view(ws, VIEWS[3])
    assert "made anew for every k" in plain_text(app)
    points = tree_frontier(Flow(TABLE, SCHEMA, Settings(criterion="gini")))
    place = next(n for n, point in enumerate(points) if point.grouping == "error-risk" and point.k == 17)
    app.session_state["frontier chart 1"] = {"selection": {"points": [{"customdata": place}]}}
    app.run()
    assert "error-risk, k = 17" in plain_text(app)
    press(app, "Use it")
    after = app.session_state["workspace"]
    assert (after.settings.grouping, after.k) == ("error-risk", 17)
    assert after.flow.utility.gcp == pytest.approx(points[place].gcp, abs=1e-12)
    assert not app.exception


def test_what_the_browser_says_was_clicked_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    import ui.what_if.frontier as view

    for customdata in (None, "1", -1, 10**9, [], ["x"], 1.5):
        state = {"selection": {"points": [{"customdata": customdata}]}}
        monkeypatch.setattr(view, "widget_state", lambda key, state=state: state)
        assert clicked_point((), "chart") is None


def test_what_if_i_knew__counts_those_who_remain() -> None:
    ws = session()
    app = open_view(ws, VIEWS[4])
    values = {name: person(TABLE, SCHEMA, 0)[name] for name in KNOWN[:2]}
    before = look_up(TABLE, SCHEMA, values, released=False)
    after = look_up(ws.flow.released, SCHEMA, values)
    assert after.rows >= before.rows
    fits = [metric.value for metric in app.metric if metric.label == "Rows that fit"]
    assert fits == [count(before.rows), count(after.rows)]
    for sentence in (*before.sentences(), *after.sentences()):
        assert sentence in plain_text(app)


def test_scenarios__are_kept_compared_opened_and_dropped() -> None:
    app = open_view(session(k=5), VIEWS[5])
    for k, name in ((5, "fine"), (20, "coarse")):
        slider(app).set_value(k).run()
        app.text_input[0].set_value(name)
        app.text_input[1].set_value(f"*for* {name}")
        press(app, "Keep this setting")
    both = app.session_state["workspace"].scenarios
    assert [scenario.name for scenario in both] == ["fine", "coarse"]
    for scenario, k in zip(both, (5, 20), strict=True):
        risk = linkage_risk(anonymize(TABLE, SCHEMA, k=k, generalizer="uniform").release.frame(), KNOWN)
        assert (scenario.parameters["k"], scenario.figures["groups"]) == (k, risk.groups)
    table = app.dataframe[0].value
    assert list(table.loc["k"]) == ["5", "20"]
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
    app = open_view(ws, VIEWS[5])
    next(box for box in app.text_input if box.key == "name of a").set_value("c")
    press(app, "Save")
    assert list(app.dataframe[0].value.columns) == ["c", "b"]


def test_a_setting_nobody_named__is_called_what_it_is() -> None:
    assert usual_name(session(k=20)) == "error-risk, uniform, k = 20"
    assert usual_name(session(k=20, criterion="blend", weight=0.9)) == "blend 0.9, uniform, k = 20"
    ws = session(k=20, grouping="least", criterion="blend", weight=0.9)
    points = record_frontier(ws.flow, (20,), [Method("least", "uniform", 0.9)])
    assert here(ws, points) is points[0]


def test_figures_of_a_scenario__are_those_of_its_roles() -> None:
    ws = session(k=5)
    ws.scenarios = (current_scenario(ws, "a", ""), current_scenario(ws, "b", ""))
    groups = f"Groups {count(ws.scenarios[0].figures['groups'])}"
    assert groups in plain_text(open_view(ws, VIEWS[5]))
    before = ws.schema
    ws.set_schema(ws.schema.with_column("postcode", role=Role.INSENSITIVE))
    app = open_view(ws, VIEWS[5])
    assert not app.exception
    assert groups not in plain_text(app)
    assert "Kept for other roles" in plain_text(app)
    assert "Groups" not in app.dataframe[0].value.index
    ws.set_schema(before)
    assert groups in plain_text(open_view(ws, VIEWS[5]))


def test_limits__are_switched_off_together() -> None:
    app = open_view(session(l=2, t=0.5))
    limits = next(item for item in app.toggle if item.label == "Limits on sensitive columns")
    assert limits.value
    limits.set_value(False).run()
    ws = app.session_state["workspace"]
    assert (ws.settings.l, ws.settings.t) == (None, None)
    assert metrics(app) == figures_of(ws)
    press(app, "Undo")
    assert (ws.settings.l, ws.settings.t) == (2, 0.5)
    assert next(item for item in app.toggle if item.label == "Limits on sensitive columns").value


def test_cells_that_count__are_given_up_for_boxes_that_share_records() -> None:
    app = open_view(session(writing="weighted", numbers="mean"))
    box = next(item for item in app.selectbox if item.label.startswith("How the records"))
    box.set_value("tiered").run()
    ws = app.session_state["workspace"]
    assert (ws.settings.writing, ws.settings.numbers) == ("sets", "range")
    assert not any("Write sets and ranges" in error.value for error in app.error)
    assert metrics(app)["Records"] == count(len(TABLE))
    ws.set(writing="concatenate", generalizer="tiered")
    assert ws.settings.writing == "concatenate"
    ws.set(writing="weighted", generalizer="refine")
    assert ws.settings.writing == "weighted"


def test_scenarios_and_history__can_be_reached_where_nothing_can_be_released() -> None:
    app = open_view(session(l=50), VIEWS[6])
    assert "Nothing can be released with this setting" in plain_text(app)
    assert "What was decided" in texts(app)
    app.button_group(key="what if view").set_value(VIEWS[0]).run()
    assert not app.exception


def test_what_was_chosen_in_a_view__is_there_again() -> None:
    app = open_view(session(), VIEWS[1])
    app.selectbox(key="policy").set_value("Another risk").run()
    app.number_input(key="own risk").set_value(0.02).run()
    views = app.button_group(key="what if view")
    views.set_value(VIEWS[4]).run()
    row = next(item for item in app.number_input if item.label.startswith("Begin with"))
    row.set_value(7).run()
    for view in (VIEWS[0], VIEWS[4]):
        app.button_group(key="what if view").set_value(view).run()
    assert next(item for item in app.number_input if item.label.startswith("Begin with")).value == 7
    app.button_group(key="what if view").set_value(VIEWS[1]).run()
    assert app.number_input(key="own risk").value == 0.02
    assert "k = 50" in plain_text(app)


def test_names_of_scenarios_stay_different() -> None:
    ws = session()
    ws.scenarios = (current_scenario(ws, "a", ""), current_scenario(ws, "a (2)", ""))
    assert fresh_name(ws.scenarios, "a") == "a (3)"
    assert fresh_name(ws.scenarios, "b") == "b"


def test_undo_and_redo__bring_back_what_held() -> None:
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


def test_history__is_shown_and_gone_back_through() -> None:
    app = open_view(session(k=10), VIEWS[6])
    for k in (15, 30):
        slider(app).set_value(k).run()
    shown_rows = app.dataframe[0].value
    assert list(shown_rows["what"]) == ["k", "k"]
    assert list(shown_rows["to"]) == ["30", "15"]
    next(item for item in app.number_input if item.label.startswith("Go back")).set_value(0).run()
    press(app, "Go there")
    assert app.session_state["workspace"].k == 10


def test_project__is_opened_where_it_fits_and_refused_where_not(monkeypatch: pytest.MonkeyPatch) -> None:
    import streamlit as st

    messages: list[str] = []
    monkeypatch.setattr(st, "rerun", lambda: messages.append("rerun"))
    monkeypatch.setattr(st, "warning", lambda text, icon: messages.append(text))
    monkeypatch.setattr(st, "error", lambda text, icon: messages.append(text))
    ws = session()
    choices = Settings(k=33, generalizer="refine")
    assert ws.reading is not None
    saved = Project(SCHEMA, dict(choices), (), History(), "hospital", ws.reading.sha256, len(TABLE))
    open_project(ws, to_json(saved).encode())
    assert (messages, ws.settings, ws.state(WhatIfState).note) == (["rerun"], choices, "")
    other = json.loads(to_json(saved))
    other["table"]["sha256"] = "0" * 64
    open_project(ws, json.dumps(other).encode())
    assert "not that of the table here" in ws.state(WhatIfState).note
    before = ws.settings
    for content in (b"{}", b"\xff", json.dumps(other | {"parameters": {"k": -1}}).encode()):
        open_project(ws, content)
        assert ws.settings == before
    assert len([text for text in messages if text != "rerun"]) == 3


def test_a_k_that_cannot_be_reached__is_said(hospital_of_nine: Workspace) -> None:
    app = open_view(hospital_of_nine)
    assert not app.exception
    assert any("Nothing can be released" in error.value for error in app.error)
    assert not app.metric
    assert "This release is" not in texts(app)


@pytest.fixture
def hospital_of_nine() -> Workspace:
    table = TABLE.head(9)
    ws = Workspace(reading=sample_reading("nine", table), schema=SCHEMA)
    ws.set(k=10)
    return ws
