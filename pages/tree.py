"""Tree page: how records are grouped, which splits were taken back for k, and why."""

from functools import partial

import streamlit as st

from anonymizer.charts import curve_figure, pruning_curve
from anonymizer.draw import COLOURS, dot, legend
from anonymizer.errors import AnonymizerError
from anonymizer.prune import Pruning
from ui.controls import count, empty_state, next_step, plural, problem, slider_ends
from ui.tree_panel import show_groups, show_legend, show_node
from ui.tree_view import downloads, tree_view
from ui.workspace import Workspace, workspace

GROUPINGS = {
    "least": "As many groups as k allows",
    "error-risk": "Error-risk (Yang et al. 2019)",
}
MEANINGS = (
    "As many groups as k allows: a split stays when both of its sides have k records. "
    "Error-risk: the branch goes first where risk falls most for each error added; larger groups, coarser data."
)
K_LIMIT = 100
VIEWS = {
    "pruned": "The groups",
    "both": "Groups, merged parts dashed",
    "grown": "The grown tree",
}


def method(ws: Workspace) -> None:
    """How the tree is grown and pruned."""
    p = ws.parameters
    first, second, third = st.columns([4, 4, 2], gap="medium")
    names = list(GROUPINGS)
    grouping = first.selectbox(
        "Which splits are taken back",
        names,
        names.index(p.grouping) if p.grouping in names else 0,
        format_func=GROUPINGS.get,
        key="tree grouping",
        help=MEANINGS,
    )
    with second:
        k = st.slider("k: fewest records in a group", 1, max(K_LIMIT, p.k), p.k, key="tree k")
        slider_ends("more detail, more risk", "less of both")
    with third.popover("Growing", icon=":material/tune:", width="stretch"):
        least = st.number_input("Fewest records of a leaf, before pruning", 1, None, p.min_leaf, key="tree leaf")
        deepest = st.number_input("Deepest level", 1, None, p.max_depth, placeholder="no limit", key="tree deepest")
    ws.set(grouping=grouping, k=int(k), min_leaf=int(least), max_depth=None if deepest is None else int(deepest))


def view_choices(ws: Workspace, pruning: Pruning) -> None:
    """What is drawn, kept in ``ws.view``; a new tree or pruning starts afresh."""
    view = ws.view
    if view.get("pruning of the view") is not pruning:
        view |= {"pruning of the view": pruning, "after": pruning.n_steps}
    if view.get("tree of the view") is not pruning.tree:
        view |= {"tree of the view": pruning.tree, "node": None, "focus": None}
    first, second, third = st.columns([4, 3, 3], gap="medium")
    names = list(VIEWS)
    kept = names.index(view.get("what", "both"))
    view["what"] = first.selectbox("Show", names, kept, format_func=VIEWS.get, key="tree view")
    colours = list(COLOURS) if ws.encoded().target.n_classes > 1 else ["tidi", "n"]
    at = colours.index(view["colour"]) if view.get("colour") in colours else 0
    view["colour"] = second.selectbox("Colour by", colours, at, format_func=COLOURS.get, key="tree colour")
    below = "Below the root, or below the node you look closer at"
    view["depth"] = third.slider("Levels unfolded", 1, 12, view.get("depth", 4), key="tree depth", help=below)
    if pruning.n_steps:
        label = f"Pruning steps done, of {count(pruning.n_steps)}: from the grown tree to the groups of the release"
        view["after"] = st.slider(label, 0, pruning.n_steps, view["after"], key=f"after {id(pruning)}")


def show(ws: Workspace, pruning: Pruning) -> None:
    """The drawing, the picked node and the groups; redrawn alone when only the view changes."""
    view, tree, risk, encoded = ws.view, pruning.tree, ws.risk(), ws.encoded()
    view_choices(ws, pruning)

    def pick(node: int) -> None:
        view["node"] = node

    def look_closer(node: int) -> None:
        view.update(node=node, focus=node or None)

    after, cut, node, focus = view["after"], pruning.cut(view["after"]), view["node"], view["focus"]
    with st.container(horizontal=True, vertical_alignment="center"):
        smallest = plural(int(tree.n[cut].min()), "record")
        st.caption(f"{plural(len(cut), 'group')} after {plural(after, 'step')}; the smallest has {smallest}.")
        if node not in (None, 0, focus):
            st.button("Look closer from the picked node", icon=":material/zoom_in:", on_click=look_closer, args=(node,))
        if focus is not None:
            st.button("Whole tree again", icon=":material/unfold_more:", on_click=view.update, args=({"focus": None},))
    labels, theme = encoded.target.labels, "dark" if st.context.theme.type == "dark" else "light"
    draw = partial(
        dot, tree, risk, encoded.encodings, labels, cut=None if view["what"] == "grown" else cut,
        below_cut=view["what"] == "both", focus=focus, colour_by=view["colour"], theme=theme, k=pruning.k,
    )  # fmt: skip
    show_legend(legend(tree, risk, labels, view["colour"], theme), COLOURS[view["colour"]])
    source = draw(max_depth=view["depth"])
    drawing = tree_view(source, tree, node, key="tree", on_pick=pick, on_open=look_closer)
    downloads(drawing, source, lambda: draw(max_depth=tree.n_nodes, max_nodes=2 * tree.n_nodes))
    if node is None:
        st.info("Pick a node to read its rule, its risk, and why its records were merged.", icon=":material/ads_click:")
    else:
        show_node(encoded, risk, pruning, node, after)
    with st.expander(f"All {plural(len(cut), 'group')}, smallest first", expanded=len(cut) <= 40):
        show_groups(encoded, risk, pruning, after, look_closer)
    if pruning.n_steps:
        curve = pruning_curve(pruning, risk)
        st.plotly_chart(curve_figure(curve, pruning.k, after), key="curve", config={"displayModeBar": False})


ws = workspace()
st.title("Tree", anchor=False)
if ws.table is None or ws.schema is None:
    page, label = ("data", "Bring a table") if ws.table is None else ("roles", "Say what each column is")
    empty_state(
        "No tree yet",
        "The tree divides people into groups of look-alikes. It needs a table, and the role of each of its columns.",
        page, label,
    )  # fmt: skip
    st.stop()
st.markdown("The tree divides people by what attackers could know. Splits that leave fewer than **k** are taken back.")
method(ws)
try:
    with st.spinner("Growing and pruning the tree…", show_time=True):
        pruning = ws.pruning()
except AnonymizerError as error:
    problem(error)
    st.stop()
if not pruning.satisfied:
    st.warning(f"The table has only {count(pruning.tree.n[0])} records: no grouping can reach k = {pruning.k}.")
st.fragment(show)(ws, pruning)
next_step("release", "Next: release the groups")
