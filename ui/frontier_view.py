"""The frontier on the page: every setting's risk against its loss, each mark to be opened or kept."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import streamlit as st

from anonymizer.frontier import Point, fitting_methods, record_frontier
from anonymizer.frontier_chart import LOSSES, RISKS, available, frontier_figure, frontier_sentence
from anonymizer.scenarios import scenario_of
from ui.controls import plain, plural, share
from ui.job import Job, finished
from ui.scenarios_view import basis, fresh_name
from ui.session import widget_state
from ui.workspace import Workspace

KEY = "frontier chart"
AXES = ("frontier loss", "frontier risk")


def frontier(ws: Workspace) -> None:
    """The scatter, its axes, the methods that take longer, and what was clicked."""
    if ws.recipe.mondrian:
        st.caption(
            "A Mondrian partition is made anew for every k. The curves are cuts of the decision tree; the baselines "
            "are among the methods that must look at every record."
        )
    cuts = of_cuts(ws)
    curves = cuts.frontier()
    points, key = [*curves, *slower(ws, cuts)], chart_key(ws, curves)
    first, second, _ = st.columns([2, 2, 3], gap="medium")
    losses, risks = available(points, LOSSES), available(points, RISKS)
    at = tuple(
        known.index(ws.view[name]) if ws.view.get(name) in known else 0
        for name, known in zip(AXES, (losses, risks), strict=True)
    )
    loss = first.selectbox("Across: what is lost", losses, at[0], format_func=LOSSES.get, key=f"loss of {losses}")
    risk = second.selectbox("Upwards: what is risked", risks, at[1], format_func=RISKS.get, key=f"risk of {risks}")
    ws.view |= dict(zip(AXES, (loss, risk), strict=True))
    st.markdown(f"**{plain(frontier_sentence(points, loss, 1 / ws.k))}**")
    st.plotly_chart(
        frontier_figure(points, loss, risk, here(ws, points)), key=key, on_select="rerun", selection_mode="points"
    )
    point = picked(points, key)
    if point is None:
        st.caption("Click a mark to read it, use it or keep it. Marks further down and to the left are better.")
    else:
        show_point(ws, point)


def of_cuts(ws: Workspace) -> Workspace:
    """The session itself, or, as a baseline's tree is made for one k, one that has grown the decision tree."""
    if not ws.recipe.mondrian:
        return ws
    held: Workspace | None = ws.view.get("frontier of cuts")
    if held is None or held.reading is not ws.reading or held.schema != ws.schema:
        held = ws.view["frontier of cuts"] = Workspace(reading=ws.reading, schema=ws.schema)
    held.parameters = replace(ws.parameters, grouping="least")
    return held


def chart_key(ws: Workspace, curves: Sequence[Point]) -> str:
    """A key for every set of curves: what was clicked in another one stands elsewhere here."""
    held, number = ws.view.get("curves", (None, 0))
    if held is not curves:
        number += 1
        ws.view["curves"] = (curves, number)
    return f"{KEY} {number}"


def slower(ws: Workspace, basis: Workspace) -> Sequence[Point]:
    """The points of methods that must look at records, as soon as they are there; ``basis`` holds the tree."""
    table, schema, encoded, limits = basis.table, basis.schema, basis.encoded(), basis.limits
    tree, risk = basis.tree(), basis.risk()
    assert table is not None
    assert schema is not None

    def work(job: Job) -> tuple[Point, ...]:
        return record_frontier(
            table, schema, encoded, tree, risk, limits=limits, progress=job.say, cancelled=job.cancelled
        )

    key = (tree, asdict(limits) | {"k": None})
    methods = len(fitting_methods(encoded))
    label = f"Add {methods} methods that must look at every record (tiered, refine, blends, Mondrian)"
    return finished(ws, "record frontier", key, label, work) or ()


def here(ws: Workspace, points: Sequence[Point]) -> Point | None:
    """The mark of the setting that is chosen now, where there is one."""
    p = ws.parameters
    same = (p.grouping, p.generalizer, p.k)
    weight = ws.recipe.weight
    return next((x for x in points if (x.grouping, x.generalizer, x.k, x.weight) == (*same, weight)), None)


def picked(points: Sequence[Point], key: str) -> Point | None:
    """The point whose mark was clicked last in the chart with this key."""
    state: Any = widget_state(key)
    marks = state["selection"]["points"] if state else []
    place = marks[0].get("customdata") if marks else None
    place = place[0] if isinstance(place, list) and place else place
    return points[place] if isinstance(place, int) and 0 <= place < len(points) else None


def show_point(ws: Workspace, point: Point) -> None:
    """One setting in words, and what can be done with it."""

    def keep() -> None:
        name = fresh_name(ws.scenarios, f"{point.method}, k = {point.k}")
        ws.scenarios = (*ws.scenarios, scenario_of(point, name, asdict(ws.parameters), basis=basis(ws)))

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
