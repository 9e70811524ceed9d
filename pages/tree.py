"""Tree page: how records are grouped, which splits were taken back for k, and why."""

import streamlit as st

from anonymizer.charts import curve_figure, pruning_curve
from anonymizer.draw import COLOURS, dot, legend
from anonymizer.errors import AnonymizerError
from anonymizer.prune import Pruning
from ui.controls import count, empty_state, next_step, plural, problem, slider_ends
from ui.tree_panel import show_groups, show_legend, show_node
from ui.tree_view import tree_view
from ui.workspace import Workspace, workspace

GROUPINGS = {
    "least": "Keep as many groups as k allows (least)",
    "error-risk": "Merge where risk falls most for each error (error-risk, Yang et al. 2019)",
}
K_LIMIT = 100
DOWNLOAD = {"icon": ":material/download:", "on_click": "ignore"}
VIEWS = {
    "pruned": "The groups (pruned tree)",
    "both": "Groups and what was merged (dashed)",
    "grown": "The grown tree",
}


def method(ws: Workspace) -> None:
    """How the tree is grown and pruned."""
    p = ws.parameters
    first, second, third, fourth = st.columns([3, 3, 1.4, 1.4], gap="medium", vertical_alignment="bottom")
    names = list(GROUPINGS)
    grouping = first.selectbox(
        "Which splits are taken back", names, names.index(p.grouping), format_func=GROUPINGS.get, key="tree grouping"
    )
    k = second.slider(
        "k: fewest records in a group", 1, max(K_LIMIT, p.k), p.k, key="tree k", help="A group is a set of look-alikes."
    )
    with second:
        slider_ends("more detail, more risk", "less of both")
    least = third.number_input("Fewest records of a leaf", 1, None, p.min_leaf, key="tree leaf", help="While growing")
    deepest = fourth.number_input(
        "Deepest level", 1, None, p.max_depth, placeholder="no limit", key="tree deepest", help="While growing."
    )
    ws.set(grouping=grouping, k=int(k), min_leaf=int(least), max_depth=None if deepest is None else int(deepest))


def show(ws: Workspace, pruning: Pruning) -> None:
    """The drawing, the picked node and the groups; redrawn alone when only the view changes."""
    view, tree, risk, encoded = ws.view, pruning.tree, ws.risk(), ws.encoded()
    if view.get("pruning of the view") is not pruning:
        view |= {"pruning of the view": pruning, "after": pruning.n_steps}
    if view.get("tree of the view") is not tree:
        view |= {"tree of the view": tree, "node": None, "focus": None}

    def pick(node: int) -> None:
        view["node"] = node

    def look_closer(node: int) -> None:
        view.update(node=node, focus=node or None)

    first, second, third = st.columns([3, 2, 3], gap="medium", vertical_alignment="bottom")
    names = list(VIEWS)
    kept = names.index(view.get("what", "both"))
    view["what"] = first.selectbox("Show", names, kept, format_func=VIEWS.get, key="tree view")
    view["depth"] = second.slider(
        "Levels unfolded", 1, 12, view.get("depth", 4), key="tree depth", help="Below the root, or the node in focus"
    )
    colours = list(COLOURS) if encoded.target.n_classes > 1 else ["tidi", "n"]
    at = colours.index(view["colour"]) if view.get("colour") in colours else 0
    view["colour"] = third.selectbox("Colour by", colours, at, format_func=COLOURS.get, key="tree colour")
    if pruning.n_steps:
        view["after"] = st.slider(
            f"Pruning steps done, of {count(pruning.n_steps)}: from the grown tree to the groups of the release",
            0, pruning.n_steps, view["after"], key=f"after {id(pruning)}",
        )  # fmt: skip
    after, theme = view["after"], st.context.theme.type or "light"
    cut = pruning.cut(after)
    node, focus = view["node"], view["focus"]
    with st.container(horizontal=True, vertical_alignment="center"):
        smallest = count(tree.n[cut].min())
        st.caption(f"{plural(len(cut), 'group')} after {plural(after, 'step')}; the smallest has {smallest} records.")
        if focus is not None and st.button("Show the whole tree again", icon=":material/unfold_more:"):
            view["focus"] = None
            st.rerun(scope="fragment")
        if node not in (None, 0, focus) and st.button("Look closer from the picked node", icon=":material/zoom_in:"):
            look_closer(node)
            st.rerun(scope="fragment")
    drawing_of = {
        "cut": None if view["what"] == "grown" else cut,
        "below_cut": view["what"] == "both",
        "focus": focus,
        "colour_by": view["colour"],
        "theme": "dark" if theme == "dark" else "light",
        "k": pruning.k,
    }
    everything = (tree, risk, encoded.encodings, encoded.target.labels)
    source = dot(*everything, max_depth=view["depth"], **drawing_of)
    shades = legend(tree, risk, encoded.target.labels, view["colour"], drawing_of["theme"])
    show_legend(shades, COLOURS[view["colour"]])
    drawing = tree_view(source, tree, node, key="tree", on_pick=pick, on_open=look_closer)
    with st.container(horizontal=True, vertical_alignment="center"):
        if drawing is not None:
            st.download_button("SVG", drawing, "tree.svg", "image/svg+xml", **DOWNLOAD)
        st.download_button("DOT", source, "tree.dot", "text/vnd.graphviz", **DOWNLOAD)
        st.download_button(
            "DOT of the whole tree", lambda: dot(*everything, max_depth=10**6, max_nodes=10**9, **drawing_of),
            "whole_tree.dot", "text/vnd.graphviz", **DOWNLOAD,
        )  # fmt: skip
        st.caption("The drawings show counts of your own table, groups below k included: keep them internal.")
    if node is None:
        st.info("Pick a node to read its rule, its risk, and why its records were merged.", icon=":material/ads_click:")
    else:
        show_node(encoded, risk, pruning, node, after)
    with st.expander(f"All {plural(len(cut), 'group')}, smallest first", expanded=len(cut) <= 40):
        show_groups(encoded, risk, pruning, after, pick)
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
