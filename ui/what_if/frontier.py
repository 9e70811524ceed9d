"""The frontier on the page: every setting's risk against its loss, each mark to be opened or kept."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from anonymizer.errors import MemoryOnlyError
from anonymizer.flow import Flow
from anonymizer.measuring.points import Point
from anonymizer.whatif.chart import LOSSES, RISKS, available, frontier_figure, frontier_sentence
from anonymizer.whatif.frontier import fitting_methods, record_frontier, released_point
from anonymizer.whatif.scenarios import scenario_of
from ui.background import Job
from ui.controls import place_of, plain, plural, problem, share
from ui.job import answer_of_job, parts_of
from ui.session import widget_state
from ui.what_if.kinds import kinds
from ui.what_if.pieces import every_k_ready
from ui.what_if.scenarios import basis, fresh_name
from ui.what_if.state import WhatIfState
from ui.workspace import Workspace

KEY = "frontier chart"


def frontier(ws: Workspace) -> None:
    """Draw the scatter, its axes, the methods that take longer, and what was clicked."""
    if ws.flow.recipe.mondrian:
        st.caption(
            "A Mondrian partition is made anew for every k. The curves are cuts of the decision tree; the baselines "
            "are among the methods that must look at every row."
        )
    cuts = flow_of_cuts(ws)
    if not every_k_ready(ws, cuts, "frontier"):
        return
    curves = cuts.frontier
    points, key = [*curves, *(() if ws.in_pieces else slower(ws, cuts))], chart_key(ws, curves)
    points += own_point(ws, points)
    first, second, _ = st.columns([2, 2, 3], gap="medium")
    losses, risks = available(points, LOSSES), available(points, RISKS)
    state = ws.state(WhatIfState)
    loss = state.loss = first.selectbox(
        "Across: what is lost", losses, place_of(state.loss, losses), format_func=LOSSES.get, key=f"loss of {losses}"
    )
    risk = state.risk = second.selectbox(
        "Upwards: what is risked", risks, place_of(state.risk, risks), format_func=RISKS.get, key=f"risk of {risks}"
    )
    st.markdown(f"**{plain(frontier_sentence(points, loss, 1 / ws.k, here(ws, points)))}**")
    st.plotly_chart(
        frontier_figure(points, loss, risk, here(ws, points)), key=key, on_select="rerun", selection_mode="points"
    )
    if ws.schema is not None and ws.schema.person and risk == "risk":
        st.caption(
            "The risk here is 1 / persons of the smallest group. A person with many of a group's rows stands out more: "
            "that share is known once a release was made, and stands in the line of figures."
        )
    if ws.in_pieces:
        problem(MemoryOnlyError("Comparing with other methods, or with a published tree or rules,"))
    else:
        kinds(ws, cuts)
    point = clicked_point(points, key)
    if point is None:
        st.caption("Click a mark to read it, use it or keep it. Marks further down and to the left are better.")
    else:
        show_point(ws, point)


def own_point(ws: Workspace, points: Sequence[Point]) -> list[Point]:
    """Return the mark of the release in use, where it has been made and none of the others is it."""
    if here(ws, points) is not None or not ws.flow.has("release") or not ws.flow.ready("release"):
        return []
    return [ws.answers.get("own point", ws.flow.needs("release"), lambda: released_point(ws.flow))]


def flow_of_cuts(ws: Workspace) -> Flow:
    """Return the session's flow, or, as a baseline's tree is made for one k, one that grows the decision tree."""
    if not ws.flow.recipe.mondrian:
        return ws.flow
    settings = ws.flow.settings.but(grouping="least")
    last: Flow = ws.answers.last("flow of cuts") or ws.flow  # shares its stages
    return ws.answers.get("flow of cuts", (ws.schema, settings), lambda: last.but(ws.schema, **settings))


def chart_key(ws: Workspace, curves: Sequence[Point]) -> str:
    """Return a key for every set of curves: what was clicked in another one stands elsewhere here."""
    state = ws.state(WhatIfState)
    state.curves += ws.answers.differs("curves", curves)
    return f"{KEY} {state.curves}"


def slower(ws: Workspace, flow: Flow) -> Sequence[Point]:
    """Return the points of methods that must look at records, as soon as they are there; ``flow`` has the tree."""

    def work(job: Job) -> tuple[Point, ...]:
        return record_frontier(flow, each=job.parts.append, progress=job.say, cancelled=job.cancelled)

    key = (flow.tree, flow.limits_beside_k)
    methods = len(fitting_methods(flow.encoded))
    label = f"Add {methods} methods that must look at every row (tiered, refine, blends, Mondrian)"
    parts = parts_of(ws, "row frontier", key)
    return answer_of_job(ws, "row frontier", key, label, work) or parts


def here(ws: Workspace, points: Sequence[Point]) -> Point | None:
    """Return the mark of the setting that is chosen now, where there is one."""
    p = ws.settings
    same = (ws.flow.grouping, p.generalizer, p.k)
    weight = ws.flow.recipe.weight
    return next((x for x in points if (x.grouping, x.generalizer, x.k, x.weight) == (*same, weight)), None)


def clicked_point(points: Sequence[Point], key: str) -> Point | None:
    """Return the point whose mark was clicked last in the chart with this key."""
    state: Any = widget_state(key)
    marks = state["selection"]["points"] if state else []
    place = marks[0].get("customdata") if marks else None
    place = place[0] if isinstance(place, list) and place else place
    return points[place] if isinstance(place, int) and 0 <= place < len(points) else None


def show_point(ws: Workspace, point: Point) -> None:
    """Draw one setting in words, and what can be done with it."""

    def keep() -> None:
        name = fresh_name(ws.scenarios, f"{point.method}, k = {point.k}")
        ws.scenarios = (*ws.scenarios, scenario_of(point, name, dict(ws.settings), basis=basis(ws)))

    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{plain(point.method)}, k = {point.k:,}**: {plural(point.groups, 'group')}, highest risk "
            f"{share(point.risk)}, detail lost {share(point.gcp)}"
            + ("" if point.error is None else f", error {share(point.error)}")
            + ".",
            width="stretch",
        )
        st.button("Use it", key="use point", type="primary", on_click=ws.open, args=(point.parameters,))
        st.button("Keep as scenario", key="keep point", icon=":material/bookmark_add:", on_click=keep)
