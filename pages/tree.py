"""Tree page: how records are grouped, which splits were taken back for k, and why."""

from functools import partial

import streamlit as st

from anonymizer.drawing.charts import curve_figure, pruning_curve
from anonymizer.drawing.draw import dot
from anonymizer.drawing.shades import COLOURS, legend
from anonymizer.drawing.words import figures_text
from anonymizer.errors import AnonymizerError
from anonymizer.groups.prune import Pruning
from ui.controls import next_step, plain, plural, problem
from ui.guard import lacks
from ui.job import groups_ready
from ui.session import workspace
from ui.tree.choices import method, view_choices
from ui.tree.panel import parts_in_view, show_groups, show_legend, show_node, show_parts, show_worst
from ui.tree_view import downloads, tree_view
from ui.visit import at_first
from ui.warm import wait_text
from ui.workspace import Workspace


def show(ws: Workspace, pruning: Pruning) -> None:
    """Draw the tree, the picked node and the groups; redrawn alone when only the view changes."""
    tree, risk, encoded = pruning.tree, ws.flow.risk, ws.flow.encoded
    state = view_choices(ws, pruning)

    def pick(node: int) -> None:
        state.node = node

    def look_closer(node: int) -> None:
        state.node, state.focus = node, node or None

    def look_at_all() -> None:
        state.focus = None

    after, cut, node, focus = state.after, pruning.cut(state.after), state.node, state.focus
    with st.container(horizontal=True, vertical_alignment="center"):
        smallest, bands = plural(int(tree.n[cut].min()), "record"), parts_in_view(ws, pruning)
        parts = sum(map(len, bands.values()))
        inside = f" Inside them {plural(parts, 'group')} look alike when they are released." if parts > len(cut) else ""
        st.caption(f"{plural(len(cut), 'group')} after {plural(after, 'step')}; the smallest has {smallest}.{inside}")
        if node not in (None, 0, focus):
            st.button("Look closer from the picked node", icon=":material/zoom_in:", on_click=look_closer, args=(node,))
        if focus is not None:
            st.button("Whole tree again", icon=":material/unfold_more:", on_click=look_at_all)
    labels, theme = encoded.target.labels, "dark" if st.context.theme.type == "dark" else "light"
    draw = partial(
        dot, tree, risk, encoded.encodings, labels, cut=None if state.what == "grown" else cut,
        below_cut=state.what == "both", focus=focus, colour_by=state.colour, theme=theme, k=pruning.k,
        bands=bands,
    )  # fmt: skip
    show_legend(legend(tree, risk, labels, state.colour, theme), COLOURS[state.colour])
    source = draw(max_depth=state.depth)
    drawing = tree_view(source, tree, node, key="tree", on_pick=pick, on_open=look_closer)
    st.caption(f"**On a node:** {plain(figures_text(risk, labels))}.")
    show_worst(ws, pruning, cut, pick)
    downloads(drawing, source, lambda: draw(max_depth=tree.n_nodes, max_nodes=2 * tree.n_nodes))
    if node is None:
        st.info("Pick a node to read its rule, its risk, and why its records were merged.", icon=":material/ads_click:")
    else:
        show_node(ws, pruning, node, after)
        show_parts(ws, pruning, node, bands)
    title = "The only group" if len(cut) == 1 else f"All {plural(len(cut), 'group')}, smallest first"
    with st.expander(title, expanded=at_first(ws, "groups", len(cut) <= 40), key="groups"):
        show_groups(encoded, risk, pruning, after, look_closer)
    if pruning.n_steps:
        curve = pruning_curve(pruning, risk)
        st.plotly_chart(curve_figure(curve, pruning.k, after), key="curve", config={"displayModeBar": False})


def main() -> None:
    ws = workspace()
    st.title("Tree", anchor=False)
    text = "The tree divides people into groups of look-alikes. It needs a table and the role of each column."
    if lacks(ws, "No tree yet", text):
        return
    st.markdown(
        "The tree divides people by what attackers could know. Every group that is released has at least **k**."
    )
    method(ws)
    try:
        with st.spinner(wait_text("Growing and pruning the tree…"), show_time=True):
            pruning = ws.flow.pruning
    except AnonymizerError as error:
        problem(error)
        return
    try:
        if groups_ready(ws):
            with st.spinner(wait_text("Making look-alike groups…"), show_time=True):
                ws.flow.compute("bands", "after", "utility", "about_table")
    except AnonymizerError as error:
        problem(error, "Nothing can be released like this; the tree below shows what there is.")
    st.fragment(show)(ws, pruning)
    next_step("gate", "Next: is it ready to leave?")


main()
