"""What a setting would be, while it is being chosen: controls, figures, and one view of what follows from them.

All of it is one fragment, so that a slider redraws nothing else; the figures stand inside it for the same reason.
"""

from collections.abc import Callable, Mapping
from html import escape

import numpy as np
import streamlit as st

from anonymizer.drawing.charts import (
    BY_TABLES,
    RELEASED,
    distribution_figure,
    loss_figure,
    loss_sentence,
    moved_sentence,
)
from anonymizer.errors import AnonymizerError
from anonymizer.groups.prune import Pruning
from anonymizer.measuring.points import Point
from anonymizer.settings import Limits
from anonymizer.whatif.chart import k_figure, k_sentence
from anonymizer.whatif.frontier import POLICIES, k_for
from ui.background import Job
from ui.controls import count, duration, place_of, plain, plural, problem, share
from ui.decisions.browser import keep
from ui.gate.costs import AT_ONCE
from ui.gate.view import way_to_ready
from ui.history import undo_redo
from ui.job import answer_of_job, groups_ready, tree_ready
from ui.limits import limits_panel
from ui.method import fit_grouping, generalizer_choice, grouping_choice, numbers_choice, price_of_ends
from ui.release.view import check_text, headline, homogeneity
from ui.server.framework import DeltaGenerator
from ui.slider import k_slider
from ui.strip import figures
from ui.what_if.frontier import frontier
from ui.what_if.knowledge import knowledge
from ui.what_if.pieces import every_k_ready, glance_of_groups, losses_in_pieces
from ui.what_if.population import as_a_sample
from ui.what_if.scenarios import history, scenarios
from ui.what_if.state import WhatIfState
from ui.workspace import Workspace

CONFIG = {"displayModeBar": False}
ALWAYS = ("Scenarios", "History and project")
"""Views that help also where a setting cannot be released."""
ROW = "display:flex;gap:.6rem;align-items:center;margin:.28rem 0"


@st.fragment
def explore(ws: Workspace) -> None:
    """Draw everything on the page: what is chosen, the figures that follow, and the view that is open."""
    place = choices(ws)
    views: dict[str, Callable[[Workspace], None]] = {
        "At a glance": glance_in_pieces if ws.in_pieces else glance,
        "Which k do I need?": which_k,
        "What would I lose?": losses_in_pieces if ws.in_pieces else losses,
        "Frontier": frontier,
        "Who knows less": knowledge,
        "As a sample": as_a_sample,
        "Scenarios": scenarios,
        "History and project": history,
    }
    ws.remember()
    state = ws.state(WhatIfState)
    possible = make_release(ws)
    if possible and ws.flow.has("release"):
        price_of_ends(ws, place)
    names = list(views)
    state.view = (
        st.segmented_control(
            "View", names, default=state.view or names[0], key="what if view", label_visibility="collapsed",
            required=True,
        )
        or names[0]
    )  # fmt: skip
    if possible or state.view in ALWAYS:
        try:
            views[state.view](ws)
        except AnonymizerError as error:
            problem(error)
    keep(ws, "what if")


def make_release(ws: Workspace) -> bool:
    """Return True after the release was made and its figures drawn; where that is impossible, say why."""
    try:
        if not tree_ready(ws):
            undo_redo(ws)
            return False
        ws.flow.compute("pruning")
        if not groups_ready(ws):
            undo_redo(ws)
            return False
        ws.flow.require_limits()
        ws.flow.compute("after", "utility", "about_table")
        strip_here(ws)
    except AnonymizerError as error:
        problem(error, "Nothing can be released with this setting.")
        undo_redo(ws)
        return False
    return True


def choices(ws: Workspace) -> DeltaGenerator:
    """Draw k, how groups come about, how they are written, and the limits on sensitive columns; return the place for
    what the ends of intervals cost."""
    fit_grouping(ws)
    page = f"what if {ws.version}"
    with st.container(border=True):
        first, second, third = st.columns([4, 4, 5], gap="medium")
        with first:
            k_slider(ws, page)
        with second:
            grouping_choice(ws, page, explain=False)
        with third:
            generalizer_choice(ws, page)
            place = numbers_choice(ws, page)
        if st.toggle("Other limits", ws.flow.limits.beside_k, key=f"{page} limits"):
            limits_panel(ws, page)
        else:
            ws.set(**Limits().but(k=ws.k))
    return place


def strip_here(ws: Workspace) -> None:
    """Draw the figures of the setting, and the way back."""
    with st.container(horizontal=True, horizontal_alignment="distribute", gap="small", key="strip"):
        for figure in figures(ws):
            st.metric(figure.label, figure.value, help=figure.meaning, width="content")
        undo_redo(ws)


def glance(ws: Workspace) -> None:
    """Draw what the release would be: groups, the checker's findings, the loss of each column."""
    left, right = st.columns([3, 2], gap="large")
    with right:
        utility = ws.flow.utility
        st.markdown(f"**{plain(loss_sentence(utility.ncp_by_column, utility.gcp))}**")
        st.html(loss_bars(utility.ncp_by_column))
        st.caption("NCP: how much of a column's domain a cell leaves open, on average.")
    with left:
        st.markdown(tree_summary(ws.flow.pruning, ws.flow.after.groups))
        place = st.container()
        if not ws.ready("verification") and ws.settings.generalizer == "tiered":
            with place, st.spinner("Checking who could be behind which row; the figures above are known already …"):
                ws.flow.compute("verification")
        verification = ws.flow.verification
        with place:
            headline(verification)
            checks = [c for c in verification.checks if c.passed is not None or c.name == "linking posterior"]
            st.markdown("\n\n".join(map(check_text, checks)))
            homogeneity(verification, ws.flow.schema)
            way_to_ready(ws)


def glance_in_pieces(ws: Workspace) -> None:
    """Draw what the groups of a table in pieces would be, and what they keep and lose."""
    pruning = ws.flow.pruning
    glance_of_groups(ws, tree_summary(pruning, len(pruning.cut())), loss_bars)


def loss_bars(ncp_by_column: Mapping[str, float]) -> str:
    """Return the loss of each column as bars of plain HTML, the largest first: drawn at once, which a figure is not."""
    rows = "".join(
        f'<div style="flex:0 0 34%;text-align:right;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">'
        f'{escape(name)}</div><div style="flex:1;background:#8883;border-radius:3px">'
        f'<div style="width:{100 * loss:.2f}%;background:{RELEASED};border-radius:3px;height:1.15em"></div></div>'
        f'<div style="flex:0 0 3.6em">{share(loss)}</div></div><div style="{ROW}">'
        for name, loss in sorted(ncp_by_column.items(), key=lambda item: -item[1])
    )
    return f'<div style="font-size:.86rem"><div style="{ROW}">{rows}</div></div>'


def tree_summary(pruning: Pruning, released: int) -> str:
    """Return the groups of the tree in a sentence, and how many the release makes of them. ``released``: its groups."""
    sizes = pruning.tree.persons.n[pruning.cut()]
    range_ = f"{count(sizes.min())} to {count(sizes.max())} {plain(pruning.tree.unit)}s"
    leaves = plural(int(pruning.tree.is_leaf.sum()), "leaf", "leaves")
    return (
        f"The tree makes **{plural(len(sizes), 'group')}** of {range_}, "
        f"half of them of at most {count(np.median(sizes))}. The grown tree has {leaves}; "
        f"{plural(pruning.n_steps, 'split')} of it {'is' if pruning.n_steps == 1 else 'are'} taken back."
        + (f" The release divides its groups into **{count(released)}**." if released > len(sizes) else "")
    )


def which_k(ws: Workspace) -> None:
    """Draw the way from a policy or a risk to k, and what it costs with the method that is chosen."""
    if ws.flow.recipe.mondrian:
        st.info("A Mondrian partition is made anew for every k. Move the slider to see what a k costs.")
        return
    if not every_k_ready(ws, ws.flow, "by_k"):
        return
    left, right = st.columns([2, 3], gap="large")
    with left:
        k = k_of_policy(ws)
        if point_for(ws, k) is None:
            st.warning(f"k = {count(k)} cannot be reached with this table and these limits.")
            return
        points = {ws.k: ws.flow.utility.gcp} if ws.flow.has("release") else {}
        if k == ws.k:
            st.markdown(f"You need **k = {count(k)}**, which is chosen.")
        else:
            st.markdown(f"You need **k = {count(k)}**.")
            points |= loss_at(ws, k) if points else {}
            st.button(
                f"Use k = {count(k)}", type="primary", icon=":material/check:", key="use k", on_click=ws.open,
                args=({"k": k},),
            )  # fmt: skip
    with right:
        st.markdown(f"**{plain(k_sentence(ws.flow.by_k, points, ws.k, k))}**")
        st.plotly_chart(k_figure(ws.flow.by_k, points, ws.k, k), key="loss by k", config=CONFIG)
        if points and ws.settings.generalizer != "uniform":
            st.caption("The line: groups of the tree released whole. The points: the method that is chosen.")


def k_of_policy(ws: Workspace) -> int:
    """Return the k that a policy or a risk asks for, as it is chosen here."""
    titles = [policy.title for policy in POLICIES]
    own = "Another risk"
    names, state = [*titles, own], ws.state(WhatIfState)
    at = place_of(state.policy or titles[1], names)
    state.policy = st.selectbox("The highest risk that is accepted", names, at, key="policy")
    if state.policy == own:
        state.own_risk = st.number_input(
            "One person is linked with a chance of at most", 0.005, 1.0, state.own_risk, 0.01, key="own risk"
        )
        return k_for(float(state.own_risk))
    policy = POLICIES[titles.index(state.policy)]
    st.caption(plain(policy.source))
    return k_for(float(policy.risk))


def loss_at(ws: Workspace, k: int) -> dict[int, float]:
    """Return the share of the detail that a release loses with another k and all else as it is chosen, by k; draws its
    groups and loss, or what works these out: at once where a release is quick."""
    flow, other = ws.flow, ws.flow.but(k=k)
    seconds = flow.expected(other)
    label = "" if seconds <= AT_ONCE else f"Work out its loss (about {duration(seconds)})"

    def work(job: Job) -> tuple[int, int, float]:
        words = f"Releasing with k = {k:,}"
        flow = other.watch(lambda *_: job.go_on(0.0, words))
        for stage in ("release", "after", "utility"):
            flow.compute(stage)
        return flow.after.groups, flow.after.smallest, flow.utility.gcp

    answer = answer_of_job(ws, "which k", (flow.needs("utility"), k), label, work)
    if answer is None:
        return {}
    groups, smallest, loss = answer
    what = (
        f"**{plural(groups, 'group')}**, the smallest of {plural(smallest, 'person' if flow.schema.person else 'row')}"
    )
    st.markdown(f"With the method chosen above: {what}; {share(loss)} of the detail is lost.")
    return {k: loss}


def point_for(ws: Workspace, k: int) -> Point | None:
    """Return what k would cost with the grouping that is chosen, released whole; ``None`` when it cannot be reached."""
    for point in ws.flow.by_k:
        if point.k == k:
            return point
    return next(iter(ws.flow.points((k,), (ws.flow.grouping,))), None)


def losses(ws: Workspace) -> None:
    """Draw the loss of every column, and one column before and after."""
    utility, columns = ws.flow.utility, {column.name: column for column in ws.flow.distributions}
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**{plain(loss_sentence(utility.ncp_by_column, utility.gcp))}**")
        st.plotly_chart(loss_figure(utility.ncp_by_column), key="what if loss", config=CONFIG)
    with right:
        state = ws.state(WhatIfState)
        names = sorted(columns, key=ws.flow.encoded.names.index)
        at = names.index(state.column) if state.column in names else names.index(next(iter(columns)))
        name = state.column = st.selectbox("Column", names, at, key=f"what if column {ws.edition} {len(names)}")
        st.markdown(f"**{plain(moved_sentence(columns[name]))}**")
        st.plotly_chart(distribution_figure(columns[name]), key="what if distribution", config=CONFIG)
        st.caption(BY_TABLES)
