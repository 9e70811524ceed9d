"""What a setting would be of a table in pieces: figures of the tree's groups, from their nodes alone."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from anonymizer.drawing.charts import distribution_figure, loss_figure, loss_sentence, moved_sentence
from anonymizer.flow import Flow
from anonymizer.groups.limits import margins
from anonymizer.measuring.utility import cut_error, cut_gcp, cut_ncp_by_column
from anonymizer.partitions.flow import PartedFlow
from anonymizer.releasing.generalize import INTERVALS
from anonymizer.releasing.pack import made_of
from anonymizer.settings import Limits, name_of
from ui.controls import place_of, plain, plural, share
from ui.gate.view import way_to_ready
from ui.job import answer_of_job
from ui.release.folder import folder_result
from ui.release.view import check_text
from ui.strip import is_foreseen
from ui.what_if.state import WhatIfState
from ui.workspace import Workspace

CONFIG = {"displayModeBar": False}
HOLDS = ":green-badge[:material/check: holds]"
FAILS = ":red-badge[:material/close: fails]"
REPORTED = ":gray-badge[reported]"


def losses_of_groups(ws: Workspace) -> dict[str, float]:
    """Return the loss of each column where the groups of the tree are released whole, from their hulls."""
    flow = ws.flow
    losses = cut_ncp_by_column(flow.tree, flow.node_ncp, flow.pruning.cut())
    return dict(zip(flow.encoded.names, map(float, losses), strict=True))


def figures_of_groups(ws: Workspace) -> dict[str, float]:
    """Return the figures of a setting, by name: of its release where that was made; else those of the groups of the
    tree where they are released whole, and none where they are divided further."""
    result = folder_result(ws)
    if result is not None:
        after, loss = result.after, float(np.mean(list(result.loss.values())))
        return {"groups": after.groups, "smallest": after.smallest, "risk": after.highest, "gcp": loss}
    if not is_foreseen(ws):
        return {}
    tree, cut = ws.flow.tree, ws.flow.pruning.cut()
    smallest = int(tree.persons.n[cut].min())
    figures = {"groups": len(cut), "smallest": smallest, "gcp": cut_gcp(tree, ws.flow.node_ncp, cut)}
    if tree.unit == "row":
        figures["risk"] = 1 / smallest
    if ws.flow.encoded.target.name and not ws.flow.encoded.by_numbers:
        figures["error"] = cut_error(tree, cut)
    return figures


def what_these_are(ws: Workspace) -> str:
    """Return of what the figures are, in words: the groups of the tree, however they are released."""
    text = "This table is kept in pieces, so these figures are those of the tree's groups, without a look at any row."
    if folder_result(ws) is None:
        text += " The checker looks at every released row once the release is made."
    if ws.settings.generalizer != "uniform":
        method = name_of("generalizer", made_of(ws.settings.generalizer, ws.settings.limits).method)
        text += f" {method} divide these groups further, and lose less than is said here; how much less is known then."
    if ws.settings.numbers not in INTERVALS:
        text += " The loss is counted for ranges. A mean or median loses all detail of the column."
    return text


def glance_of_groups(ws: Workspace, summary: str, bars: Callable[[dict[str, float]], str]) -> None:
    """Draw what the groups are, what they keep, and the loss of each column. ``summary``: of the tree, in a sentence;
    ``bars``: makes losses HTML."""
    left, right = st.columns([3, 2], gap="large")
    with right:
        losses = losses_of_groups(ws)
        st.markdown(f"**{plain(loss_sentence(losses, float(np.mean(list(losses.values())))))}**")
        st.html(bars(losses))
        st.caption("NCP: how much of a column's domain a cell leaves open, on average.")
    with left:
        st.markdown(summary)
        st.markdown("\n\n".join(promises_of_groups(ws)))
        st.info(plain(what_these_are(ws)), icon=":material/grid_view:")
        result = folder_result(ws)
        if result is not None:
            st.markdown("**What the checker found in the release that was made:**")
            checks = [check for check in result.verification.checks if check.passed is not None]
            st.markdown("\n\n".join(map(check_text, checks)))
        way_to_ready(ws)


def promises_of_groups(ws: Workspace) -> list[str]:
    """Return whether the groups keep k and the other limits, and whether any shares one value, each as a line."""
    flow = ws.flow
    tree, cut, k = flow.tree, flow.pruning.cut(), ws.k
    smallest = int(tree.persons.n[cut].min())
    lines = [
        f"{HOLDS if smallest >= k else FAILS} The smallest group has {plural(smallest, tree.unit)}; k asks for {k:,}."
    ]
    if tree.unit == "row":
        lines.append(f"{REPORTED} A person is linked to a row with a chance of at most {share(1 / smallest)}.")
    for margin in margins(tree, flow.risk, flow.encoded, flow.limits_beside_k)[1:]:
        mark = HOLDS if bool(margin.passes[cut].all()) else FAILS
        lines.append(f"{mark} Every group keeps the limit {plain(margin.limit)} on {plain(margin.title)}.")
    for margin in margins(tree, flow.risk, flow.encoded, Limits(k=1, l=1))[1:]:
        alike = int(tree.n[cut][margin.achieved[cut] <= 1].sum())
        if margin.limit == "l-diversity" and alike:
            lines.append(
                f"{REPORTED} {plural(alike, 'row')} share one value of {plain(margin.title)} with all of their "
                "group: it is disclosed without linking anybody. Ask for l = 2 under *Other limits*."
            )
    return lines


def every_k_ready(ws: Workspace, flow: Flow, stage: str) -> bool:
    """Return True when a stage that prunes the tree for every k is there, or soon will be. The tree of a table in
    pieces can be large: there it works in the background, and how far it is is drawn here."""
    if not ws.in_pieces or flow.ready(stage):
        return True
    key = (flow.schema.bare, flow.recipe, flow.grouping, flow.limits_beside_k, flow.settings.numbers)
    answer_of_job(ws, stage, key, "", lambda job: flow.watch(job.go_on).compute(stage))
    return flow.ready(stage)


def losses_in_pieces(ws: Workspace) -> None:
    """Draw the loss of every column from the nodes, and one column before and after, which takes a pass over it."""
    left, right = st.columns(2, gap="large")
    with left:
        losses = losses_of_groups(ws)
        st.markdown(f"**{plain(loss_sentence(losses, float(np.mean(list(losses.values())))))}**")
        st.plotly_chart(loss_figure(losses), key="what if loss", config=CONFIG)
        st.caption(plain(what_these_are(ws)))
    with right:
        state, names, flow = ws.state(WhatIfState), list(ws.flow.encoded.names), ws.flow
        assert isinstance(flow, PartedFlow)
        name = state.column = st.selectbox(
            "Column", names, place_of(state.column, names), key=f"what if column {ws.edition} {len(names)}"
        )
        key = (flow.schema.bare, flow.settings, name)
        label = f"Show it before and after: one pass over {plural(ws.n_records, 'row')}"
        column = answer_of_job(ws, "distribution", key, label, lambda job: flow.watch(job.go_on).distribution(name))
        if column is not None:
            st.markdown(f"**{plain(moved_sentence(column))}**")
            st.plotly_chart(distribution_figure(column), key="what if distribution", config=CONFIG)
            st.caption("Released cells are read evenly: an interval along its length, a set over its levels.")
