"""The frontier on the What-if page: a mark that is clicked gives the figures it showed."""

import json
from typing import Any

import pandas as pd
import pytest

from anonymizer.flow import Flow
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import visits
from anonymizer.reporting.kinds import KindPoint
from anonymizer.settings import Settings, method_text
from anonymizer.whatif.frontier import Method, record_frontier, released_point
from tests.pages.test_release import plain_text
from tests.pages.what_if import SCHEMA, TABLE, figures_of, metrics, open_view, press, session
from tests.waiting import PATIENCE
from ui.controls import share
from ui.what_if.frontier import clicked_point
from ui.what_if.state import WhatIfState
from ui.workspace import Workspace, sample_reading


def test_the_frontier__a_clicked_mark_is_used_and_kept() -> None:
    ws = session()
    app = open_view(ws, "Frontier")
    points = ws.flow.points()
    place = next(n for n, point in enumerate(points) if point.grouping == "error-risk" and point.k == 17)
    app.session_state["frontier chart 1"] = {"selection": {"points": [{"customdata": place}]}}
    app.run()
    assert f"{method_text('error-risk', 'uniform')}, k = 17" in plain_text(app)
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


def test_the_frontier__has_the_release_in_use_as_its_mark_and_headline() -> None:
    ws = session(generalizer="pack", k=10)
    ws.flow.compute("release")
    app = open_view(ws, "Frontier")
    assert not app.exception
    mine = released_point(ws.flow)
    assert mine.gcp == pytest.approx(ws.flow.utility.gcp)
    sentence = next(item.value for item in app.markdown if "Your release" in item.value)
    assert share(mine.gcp) in sentence.replace("\\", "")
    (mark,) = [
        trace
        for trace in json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
        if trace.get("name") == "your setting"
    ]
    assert mark["x"] == [mine.gcp]


@pytest.mark.parametrize("generalizer", ["pack", "refine"])
def test_a_release_of_persons__is_placed_by_the_persons_of_its_smallest_group(generalizer: str) -> None:
    once = visits(150)
    table = once.loc[once.index.repeat(3)].reset_index(drop=True)
    flow = Flow(table, suggest(table), Settings(generalizer=generalizer, k=5))
    mine, released = released_point(flow), flow.released
    persons = table[flow.schema.person].to_numpy()[flow.release.order]
    groups = pd.Series(persons).groupby([released[name].astype(str) for name in flow.schema.quasi_identifying])
    smallest = int(groups.nunique().min())
    assert flow.schema.person
    assert smallest < int(groups.size().min())
    assert (mine.smallest, mine.risk) == (smallest, 1 / smallest)


def test_the_frontier__beside_a_baseline_is_that_of_the_decision_tree() -> None:
    """A mark that is used gives the very figures it showed, whatever grouping was chosen before."""
    ws = session(grouping="median-mondrian", criterion="gini", k=8)
    app = open_view(ws, "Frontier")
    assert "made anew for every k" in plain_text(app)
    points = Flow(TABLE, SCHEMA, Settings(criterion="gini")).points()
    place = next(n for n, point in enumerate(points) if point.grouping == "error-risk" and point.k == 17)
    app.session_state["frontier chart 1"] = {"selection": {"points": [{"customdata": place}]}}
    app.run()
    assert f"{method_text('error-risk', 'uniform')}, k = 17" in plain_text(app)
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


def test_the_frontier__of_persons_says_what_its_risk_leaves_out() -> None:
    of_rows = open_view(session(), "Frontier")
    assert "1 / persons" not in plain_text(of_rows)
    table = visits(150)
    ws = Workspace(reading=sample_reading("visits", table), schema=suggest(table))
    assert ws.schema is not None
    assert ws.schema.person == "patient_id"
    ws.set(generalizer="uniform")
    of_persons = open_view(ws, "Frontier")
    assert "1 / persons of the smallest group" in plain_text(of_persons)
    shares = ws.flow.after
    assert shares.highest > 1 / shares.smallest, "what the caption warns of"


def test_kinds_of_release__each_is_shown_as_it_comes_and_cancel_keeps_what_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ui.what_if.kinds as view

    points = [KindPoint("table", "k = 2", 1.0, 0.25, 0.5, 0.75), KindPoint("tree", "k = 2", 0.9, 0.2, 0.4, 0.7)]

    def slow(flow: Flow, *, each: Any, progress: Any, cancelled: Any) -> tuple[KindPoint, ...]:
        each(points[0])
        progress(0.5, "Half of it")
        while not cancelled():
            pass
        return (points[0],)

    monkeypatch.setattr(view, "compare_kinds", slow)
    ws = session()
    app = open_view(ws, "Frontier")
    press(app, "Compare 5 tables")
    job = ws.jobs[view.JOB]
    while not job.parts:
        pass
    app.run()
    assert not app.exception
    (rows,) = [item.value for item in app.dataframe if "Surest guess" in item.value.columns]
    assert rows.iloc[0].tolist() == ["Table", "k = 2", *map(share, (1.0, 0.25, 0.5, 0.75))]
    press(app, "Cancel")
    assert job.done.wait(PATIENCE)
    app.run()
    (rows,) = [item.value for item in app.dataframe if "Surest guess" in item.value.columns]
    assert len(rows) == 1
    assert not [item for item in app.button if item.label.startswith("Cancel")]


def test_the_frontier__methods_that_look_at_records_are_drawn_one_by_one() -> None:
    ws = session()
    ks_so_far: list[int] = []
    points = record_frontier(
        ws.flow, (20,), (Method("least"), Method("least", "refine")), each=lambda point: ks_so_far.append(point.k),
        cancelled=lambda: len(ks_so_far) == 1,
    )  # fmt: skip
    assert len(points) == 1
    assert ks_so_far == [20]
