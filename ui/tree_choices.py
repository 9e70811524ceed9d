"""What is chosen on the Tree page: how the tree grows, which splits are taken back, and what of it is drawn."""

import streamlit as st

from anonymizer.draw import COLOURS, colours_of
from anonymizer.prune import CRITERIA, Pruning
from ui.controls import count, slider_ends
from ui.limits_panel import limits_panel, sensitive_names
from ui.workspace import Workspace

GROUPINGS = {
    "least": ("As many groups as k allows", "a split stays when both of its sides have k records"),
    "error-risk": (
        "Error-risk (Yang et al. 2019)",
        "the branch goes first where risk falls most for each error added; larger groups, coarser data",
    ),
    "error-digression": (
        "Error-digression (Li and Sarkar 2014)",
        "for numeric sensitive columns: the branch goes first where the least squared error is added for the "
        "digression that is taken away",
    ),
}
"""Titles and meanings of :data:`anonymizer.prune.CRITERIA`."""

GROWINGS = {
    "entropy": "Entropy of the classes",
    "gini": "Gini impurity of the classes",
    "sse": "Squared error of the numbers",
    "blend": "Blend of target and columns",
}
"""Titles of :data:`anonymizer.grow.CRITERIA`."""

K_LIMIT = 100
VIEWS = {
    "pruned": "The groups",
    "both": "Groups, merged parts dashed",
    "grown": "The grown tree",
}


def method(ws: Workspace) -> None:
    """How the tree is grown and pruned, and what every group must keep."""
    fit_grouping(ws)
    p = ws.parameters
    first, second, third = st.columns([4, 4, 2], gap="medium")
    names = groupings_for(ws)
    grouping = first.selectbox(
        "Which splits are taken back",
        names,
        names.index(p.grouping),
        format_func=lambda name: GROUPINGS.get(name, (name, ""))[0],
        key="tree grouping",
        help=" ".join(f"{title}: {meaning}." for title, meaning in map(GROUPINGS.get, names) if meaning),
    )
    with second:
        k = st.slider("k: fewest records in a group", 1, max(K_LIMIT, p.k), p.k, key="tree k")
        slider_ends("more detail, more risk", "less of both")
    with third.popover("Growing", icon=":material/tune:", width="stretch"):
        growing(ws)
    ws.set(grouping=grouping, k=int(k))
    limits_panel(ws, "tree")


def guided_by_numbers(ws: Workspace) -> bool:
    """Whether the target is numeric, so that all numeric sensitive columns guide the tree."""
    schema = ws.schema
    return schema is not None and schema.target is not None and schema.target in sensitive_names(schema)[1]


def groupings_for(ws: Workspace) -> list[str]:
    """The pruning criteria that fit: error-risk needs classes to err in, error-digression needs numbers."""
    has_numbers = bool(sensitive_names(ws.schema)[1])
    unfit = {"error-risk": guided_by_numbers(ws), "error-digression": not has_numbers}
    return [name for name in CRITERIA if not unfit.get(name, False)]


def fit_grouping(ws: Workspace) -> None:
    """After a change of roles a criterion that no longer fits is left for the usual one."""
    fitting = groupings_for(ws)
    if ws.parameters.grouping not in fitting:
        ws.set(grouping=fitting[0])


def growing(ws: Workspace) -> None:
    """The splitting criterion and how far the tree grows."""
    p = ws.parameters
    names = ["sse", "blend"] if guided_by_numbers(ws) else ["entropy", "gini", "blend"]
    chosen = st.selectbox(
        "What a good split does",
        names,
        names.index(p.criterion) if p.criterion in names else 0,
        format_func=lambda name: GROWINGS.get(name, name),
        key=f"tree criterion {names[0]}",
        help="Entropy, Gini and squared error serve the sensitive target alone. A blend also keeps the columns that "
        "it splits on close together, so that less of their detail is lost; it never grows groups below k.",
    )
    weight = p.weight
    if chosen == "blend":
        weight = st.slider("Weight of the target", 0.0, 1.0, p.weight, 0.05, key="tree weight")
        slider_ends("keep the columns", "keep the analysis")
    least = st.number_input("Fewest records of a leaf, before pruning", 1, None, p.min_leaf, key="tree leaf")
    deepest = st.number_input("Deepest level", 1, None, p.max_depth, placeholder="no limit", key="tree deepest")
    ws.set(
        criterion=None if chosen == names[0] else chosen,
        weight=float(weight),
        min_leaf=int(least),
        max_depth=None if deepest is None else int(deepest),
    )


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
    colours = colours_of(pruning.tree, ws.risk())
    at = colours.index(view["colour"]) if view.get("colour") in colours else 0
    view["colour"] = second.selectbox(
        "Colour by", colours, at, format_func=COLOURS.get, key=f"tree colour {' '.join(colours)}"
    )
    below = "Below the root, or below the node you look closer at"
    view["depth"] = third.slider("Levels unfolded", 1, 12, view.get("depth", 4), key="tree depth", help=below)
    if pruning.n_steps:
        label = f"Pruning steps done, of {count(pruning.n_steps)}: from the grown tree to the groups of the release"
        view["after"] = st.slider(label, 0, pruning.n_steps, view["after"], key=f"after {id(pruning)}")
