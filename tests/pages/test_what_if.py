"""The What-if page without a browser: every figure is that of the setting that is chosen, and every step comes back."""

import pytest

from anonymizer.attacks.look_up import look_up, person
from anonymizer.drawing.charts import loss_sentence
from anonymizer.pipeline import anonymize
from anonymizer.releasing.generalize import INTERVALS
from anonymizer.whatif.frontier import k_for
from tests.pages.test_data import texts
from tests.pages.test_release import plain_text
from tests.pages.what_if import QUASI, SCHEMA, TABLE, VIEWS, figures_of, metrics, open_view, press, session, slider
from tests.waiting import wait_until
from ui.controls import count, share
from ui.what_if.view import loss_bars
from ui.workspace import Workspace, sample_reading


def test_without_a_table__says_where_to_go() -> None:
    app = open_view(None)
    assert not app.exception
    assert "Nothing to try out yet" in plain_text(app) + "".join(item.value for item in app.header)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_opens(view: str) -> None:
    app = open_view(session(), view)
    assert not app.exception
    assert not app.error


@pytest.mark.sweep(1)
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


@pytest.mark.sweep(1)
@pytest.mark.parametrize("generalizer", ["uniform", "pack"])
def test_which_k__is_that_of_the_policy_and_can_be_used(generalizer: str) -> None:
    """Its price is that of the method in use, and what is there once it is taken."""
    app = open_view(session(generalizer=generalizer), "Which k do I need?")
    ws = app.session_state["workspace"]
    before = share(ws.flow.utility.gcp)
    for title, risk in (("0.09: groups of 12", 0.09), ("0.2: groups of 5", 0.2)):
        next(box for box in app.selectbox if box.label.startswith("The highest risk")).set_value(title).run()
        k = k_for(risk)
        wait_until(lambda: "With the method chosen above" in plain_text(app.run()))
        other = ws.flow.but(k=k)
        price = f"{count(other.after.groups)} groups**, the smallest of {count(other.after.smallest)} rows; "
        assert f"You need **k = {k}**" in plain_text(app)
        assert f"{price}{share(other.utility.gcp)} of the detail is lost" in plain_text(app)
        assert f"From k = 10 to k = {k} the loss goes from {before} to {share(other.utility.gcp)}" in plain_text(app)
    press(app, "Use k = 5")
    assert ws.k == 5
    assert slider(app).value == 5
    assert metrics(app) == figures_of(ws)
    assert share(ws.flow.utility.gcp) == share(other.utility.gcp)
    assert "k = 5**, which is chosen" in plain_text(app)


def test_an_own_risk_beyond_every_k_of_the_frontier() -> None:
    app = open_view(session(), "Which k do I need?")
    next(box for box in app.selectbox if box.label.startswith("The highest risk")).set_value("Another risk").run()
    app.number_input(key="own risk").set_value(0.005).run()
    assert "k = 200" in plain_text(app)
    app.number_input(key="own risk").set_value(0.0066).run()
    assert "k = 152" in plain_text(app)
    assert not app.exception


def test_what_if_i_knew__counts_those_who_remain() -> None:
    ws = session()
    app = open_view(ws, "Who knows less")
    values = {name: person(TABLE, SCHEMA, 0)[name] for name in QUASI[:2]}
    before = look_up(TABLE, SCHEMA, values, released=False)
    after = look_up(ws.flow.released, SCHEMA, values)
    assert after.rows >= before.rows
    fits = [metric.value for metric in app.metric if metric.label == "Rows that fit"]
    assert fits == [count(before.rows), count(after.rows)]
    for sentence in (*before.sentences(), *after.sentences()):
        assert sentence in plain_text(app)


def test_public_ends__cost_what_is_said_and_can_be_chosen() -> None:
    app = open_view(session())
    ways = {name: anonymize(TABLE, SCHEMA, generalizer="uniform", numbers=name).utility.gcp for name in INTERVALS}
    price = f"{share(ways['public'])} with round ends, {share(ways['range'])} with exact ends"
    for name in INTERVALS:
        next(box for box in app.selectbox if box.label == "Numbers and dates").set_value(name).run()
        assert not app.exception
        assert price in plain_text(app)
        assert metrics(app)["Detail lost (GCP)"] == share(ways[name])


def test_limits__are_switched_off_together() -> None:
    app = open_view(session(l=2, t=0.5))
    limits = next(item for item in app.toggle if item.label == "Other limits")
    assert limits.value
    limits.set_value(False).run()
    ws = app.session_state["workspace"]
    assert (ws.settings.l, ws.settings.t) == (None, None)
    assert metrics(app) == figures_of(ws)
    press(app, "Undo")
    assert (ws.settings.l, ws.settings.t) == (2, 0.5)
    assert next(item for item in app.toggle if item.label == "Other limits").value


def test_cells_that_count__are_given_up_for_boxes_that_share_records() -> None:
    app = open_view(session(writing="weighted", numbers="mean"))
    box = next(item for item in app.selectbox if item.label.startswith("Within a branch"))
    box.set_value("tiered").run()
    ws = app.session_state["workspace"]
    assert (ws.settings.writing, ws.settings.numbers) == ("sets", "public")
    assert not any("Write sets and ranges" in error.value for error in app.error)
    assert metrics(app)["Rows"] == count(len(TABLE))
    ws.set(writing="concatenate", generalizer="tiered")
    assert ws.settings.writing == "concatenate"
    ws.set(writing="weighted", generalizer="refine")
    assert ws.settings.writing == "weighted"


def test_what_was_chosen_in_a_view__is_there_again() -> None:
    app = open_view(session(), "Which k do I need?")
    app.selectbox(key="policy").set_value("Another risk").run()
    app.number_input(key="own risk").set_value(0.02).run()
    views = app.button_group(key="what if view")
    views.set_value("Who knows less").run()
    row = next(item for item in app.number_input if item.label.startswith("Begin with"))
    row.set_value(7).run()
    for view in ("At a glance", "Who knows less"):
        app.button_group(key="what if view").set_value(view).run()
    assert next(item for item in app.number_input if item.label.startswith("Begin with")).value == 7
    app.button_group(key="what if view").set_value("Which k do I need?").run()
    assert app.number_input(key="own risk").value == 0.02
    assert "k = 50" in plain_text(app)


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


def test_a_glance__says_what_the_release_makes_of_the_groups() -> None:
    ws = session(generalizer="pack")
    app = open_view(ws)
    groups = ws.flow.after.groups
    assert groups > len(ws.flow.pruning.cut())
    assert f"divides its groups into **{count(groups)}**" in plain_text(app)
    assert "divides its groups" not in plain_text(open_view(session()))
