"""What is chosen on the Tree page: how the tree grows, which splits are taken back, and what of it is drawn."""

import streamlit as st

from anonymizer.draw import COLOURS, colours_of
from anonymizer.grouping import GROUPINGS as ALL_GROUPINGS
from anonymizer.mondrian import MONDRIAN
from anonymizer.prune import Pruning
from ui.controls import count, slider_ends
from ui.limits_panel import limits_panel, sensitive_names
from ui.session import optional_number, told_at_once
from ui.workspace import Workspace

GROUPINGS = {
    "least": (
        "As many groups as k allows",
        "A split stays when both of its sides have k records and keep every limit below; no pruning keeps more.",
    ),
    "error-risk": (
        "Error-risk (Yang et al. 2019)",
        "Where a group is too small, the branch goes first whose risk falls most for each error added. It merges far "
        "more than k needs: expect few large groups and coarse data.",
    ),
    "error-digression": (
        "Error-digression (Li and Sarkar 2014)",
        "For numeric sensitive columns: the branch goes first that adds the least squared error for the digression it "
        "takes away. Digression itself is not bounded by it: ask for spread or RSD below.",
    ),
    "median-mondrian": (
        "For comparison: median Mondrian",
        "The column with the widest range is cut at its median as long as k allows. It never looks at what is "
        "sensitive, so boxes are tight, and what can be predicted from them is left to chance (LeFevre et al. 2006).",
    ),
    "infogain-mondrian": (
        "For comparison: InfoGain Mondrian",
        "The best split for the classes with k records on both sides, until there is none. Columns that say little of "
        "the class keep hardly any detail (LeFevre et al. 2008).",
    ),
    "regression-mondrian": (
        "For comparison: Regression Mondrian",
        "The best split for the numbers with k records on both sides, until there is none. Values within a group come "
        "close to each other, which is what a limit on spread forbids (LeFevre et al. 2008).",
    ),
}
"""Titles of :data:`anonymizer.grouping.GROUPINGS`, and what each does."""

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
    "both": "Groups and merged parts",
    "grown": "The grown tree",
}


def method(ws: Workspace) -> None:
    """How the tree is grown and pruned, and what every group must keep."""
    first, second, third = st.columns([4, 3, 3], gap="medium")
    with first:
        grouping_choice(ws, "tree")
    with second:
        growing(ws, "tree")
    with third:
        k = st.slider("k: fewest records in a group", 1, max(K_LIMIT, ws.k), ws.k, key="tree k")
        slider_ends("more detail, more risk", "less of both")
    ws.set(k=int(k))
    limits_panel(ws, "tree")


def grouping_choice(ws: Workspace, page: str) -> None:
    """How groups are made, with one sentence on what that does. ``page`` tells the widgets of pages apart."""
    fit_grouping(ws)
    names = groupings_for(ws)
    grouping = st.selectbox(
        "How groups are made",
        names,
        names.index(ws.parameters.grouping),
        format_func=lambda name: GROUPINGS.get(name, (name, ""))[0],
        key=f"{page} grouping",
    )
    st.caption(GROUPINGS.get(grouping, ("", ""))[1])
    ws.set(grouping=grouping)


def guided_by_numbers(ws: Workspace) -> bool:
    """Whether the target is numeric, so that all numeric sensitive columns guide the tree."""
    schema = ws.schema
    return schema is not None and schema.target is not None and schema.target in sensitive_names(schema)[1]


def groupings_for(ws: Workspace) -> list[str]:
    """The groupings that fit: those that err in classes need classes, those that look at numbers need them."""
    by_numbers, target = guided_by_numbers(ws), ws.schema.target if ws.schema else None
    unfit = {
        "error-risk": by_numbers,
        "error-digression": not sensitive_names(ws.schema)[1],
        "infogain-mondrian": by_numbers or target is None,
        "regression-mondrian": not by_numbers,
    }
    return [name for name in ALL_GROUPINGS if not unfit.get(name, False)]


def fit_grouping(ws: Workspace) -> None:
    """After a change of roles a grouping that no longer fits is left for the usual one."""
    fitting = groupings_for(ws)
    if ws.parameters.grouping not in fitting:
        ws.set(grouping=fitting[0])


def growth_title(ws: Workspace) -> str:
    """How the tree grows, in few words."""
    p = ws.parameters
    if p.grouping in MONDRIAN:
        return "Grown by Mondrian"
    if p.criterion == "blend":
        return f"Grown as a blend, weight {p.weight:.2f}"
    return f"Grown by {GROWINGS[p.criterion or criteria(ws)[0]].lower()}"


def criteria(ws: Workspace) -> list[str]:
    """What a good split may do, for this target; the usual one first."""
    return ["sse", "blend"] if guided_by_numbers(ws) else ["entropy", "gini", "blend"]


def growing(ws: Workspace, page: str) -> None:
    """The splitting criterion, the weight of a blend, and how far the tree grows."""
    p = ws.parameters
    if p.grouping in MONDRIAN:
        st.markdown(":small[What a good split does]")
        st.caption("Mondrian grows a tree of its own and takes nothing back for k: there is nothing to choose here.")
        return
    names = criteria(ws)
    key = f"{page} criterion {names[0]}"
    chosen = st.selectbox(
        "What a good split does",
        names,
        names.index(p.criterion) if p.criterion in names else 0,
        format_func=lambda name: GROWINGS.get(name, name),
        key=key,
        on_change=told_at_once,
        args=(ws, "criterion", key),
        help="Entropy, Gini and squared error serve the sensitive target alone. A blend also keeps the columns that "
        "it splits on close together, so that less of their detail is lost; it never grows groups below k.",
    )
    weight = p.weight
    if chosen == "blend":
        key = f"{page} weight"
        weight = st.slider(
            "Weight of the target", 0.0, 1.0, p.weight, 0.05, key=key, on_change=told_at_once, args=(ws, "weight", key)
        )
        slider_ends("keep the columns", "keep the analysis")
    with st.popover("How far it grows", icon=":material/tune:"):
        least = st.number_input("Fewest records of a leaf, before pruning", 1, None, p.min_leaf, key=f"{page} leaf")
        deepest = optional_number("Deepest level", 1, None, p.max_depth, placeholder="no limit", key=f"{page} deepest")
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
    first, second, third, fourth = st.columns([3, 2, 2, 3], gap="medium")
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
        view["after"] = fourth.slider(
            f"Pruning steps done, of {count(pruning.n_steps)}", 0, pruning.n_steps, view["after"],
            key=f"after {id(pruning)}", help="From the grown tree, at 0, to the groups of the release",
        )  # fmt: skip
