"""Tree page: how records are grouped, which splits were taken back for k, and why."""

import streamlit as st

from anonymizer.drawing.charts import curve_figure, pruning_curve
from anonymizer.errors import AnonymizerError
from anonymizer.groups.prune import Pruning
from ui.controls import plural, problem
from ui.gate.view import way_to_ready
from ui.guard import lacks
from ui.job import groups_ready, stages_ready, tree_ready
from ui.proposal import proposal
from ui.session import workspace
from ui.tree.choices import how_to_read, method, view_choices
from ui.tree.panel import (
    below_in_ledger,
    parts_in_view,
    show_below,
    show_groups,
    show_node,
    show_worst,
    surest_sentence,
)
from ui.tree.pictures import draw, subject, what_leaves
from ui.visit import at_first
from ui.workspace import Workspace


def show(ws: Workspace, pruning: Pruning) -> None:
    """Draw the groups, the picked one beside them, and all in a table; redrawn alone when only the view changes."""
    tree, risk, encoded = pruning.tree, ws.flow.risk, ws.flow.encoded

    def pick(node: int) -> None:
        state.node, state.turn = node, 0

    def look_closer(node: int) -> None:
        state.node, state.focus, state.turn = node, node or None, 0

    def put_back() -> None:
        state.node = None

    def look_at_all() -> None:
        state.focus = None

    with st.container(horizontal=True, vertical_alignment="center", key="canvas-bar"):
        st.title("Tree", anchor=False, width="content")
        state = view_choices(ws, pruning)
        if state.focus is not None:
            st.button("Whole tree again", icon=":material/unfold_more:", on_click=look_at_all)
    cut, bands, leaves = pruning.cut(state.after), parts_in_view(ws, pruning), what_leaves(ws, pruning)
    with st.container(key="canvas-sentence"):
        st.markdown(surest_sentence(leaves, subject(ws, pruning)[2].target.title) or how_to_read(state.view))
    with st.container(horizontal=True, wrap=False, key="canvas-stage"):
        with st.container(gap=6, key="canvas-picture"):
            extras = draw(ws, pruning, cut, bands, leaves, on_pick=pick, on_open=look_closer)
        if state.node is not None:
            with st.container(width=300, gap="xsmall", key="canvas-panel"):
                show_node(ws, pruning, subject(ws, pruning), state.node, state.after, bands, put_back, look_closer)
    smallest, parts = plural(int(tree.persons.n[cut].min()), tree.unit), len(ws.flow.look_alikes.sizes) if bands else 0
    inside = f" Inside them {plural(parts, 'group')} look alike when they are released." if parts > len(cut) else ""
    steps = f"{plural(len(cut), 'group')} after {plural(state.after, 'step')}; the smallest has {smallest}."
    st.caption(f"{steps}{inside}")
    show_worst(ws, pruning, cut, pick)
    show_below(below_in_ledger(ws, pruning), pruning.k, pick)
    extras()
    title = "The only group" if len(cut) == 1 else f"All {plural(len(cut), 'group')}, smallest first"
    groups = st.expander(title, expanded=at_first(ws, "groups", len(cut) <= 40), key="groups", on_change="rerun")
    if groups.open:
        with groups:
            show_groups(encoded, risk, pruning, state.after, look_closer)
    if pruning.n_steps:
        curve = st.expander("Pruning, step by step", key="steps", on_change="rerun")
        if curve.open:
            figure = curve_figure(pruning_curve(pruning, risk), pruning.k, state.after)
            curve.plotly_chart(figure, key="curve", config={"displayModeBar": False})


def main() -> None:
    ws = workspace()
    text = "The tree divides people into groups. It needs a table and the role of each column."
    if ws.schema is None:
        st.title("Tree", anchor=False)
    if lacks(ws, "No tree yet", text):
        return
    with st.container(horizontal=True, wrap=False, key="canvas"):
        controls = st.container(width=216, gap=11, key="canvas-controls")
        picture = st.container(gap=6, key="canvas-main")
    with controls:
        method(ws)
    with picture:
        if not tree_ready(ws):
            return
        try:
            if not stages_ready(ws, "tree", "pruning"):
                return
            pruning = ws.flow.pruning
        except AnonymizerError as error:
            st.title("Tree", anchor=False)
            problem(error)
            return
        try:
            if groups_ready(ws) and not stages_ready(ws, "release", "bands", "after", "about_table", "utility"):
                return
        except AnonymizerError as error:
            problem(error, "Nothing can be released like this; the tree below shows what there is.")
        st.fragment(show)(ws, pruning)
    with controls:
        way_to_ready(ws)
        proposal(ws)


main()
