"""What is chosen on the Tree page: how groups come about, and what of the tree is drawn."""

import streamlit as st

from anonymizer.drawing.shades import COLOURS, colours_of
from anonymizer.groups.prune import Pruning
from ui.controls import count
from ui.limits import limits_panel
from ui.method import grouping_choice, growth_choice, k_slider
from ui.tree.state import TreeState
from ui.workspace import Workspace

VIEWS = {
    "pruned": "The groups",
    "both": "Groups and merged parts",
    "grown": "The grown tree",
}


def method(ws: Workspace) -> None:
    """Draw how the tree is grown and pruned, and what every group must keep."""
    first, second, third = st.columns([4, 3, 3], gap="medium")
    with first:
        grouping_choice(ws, "tree")
    with second:
        growth_choice(ws, "tree")
    with third:
        k_slider(ws, "tree")
    limits_panel(ws, "tree")


def view_choices(ws: Workspace, pruning: Pruning) -> TreeState:
    """Return what is drawn, as it is chosen here; a new tree or pruning starts afresh."""
    state = ws.state(TreeState)
    if ws.answers.differs("pruning in view", pruning):
        state.after = pruning.n_steps
    if ws.answers.differs("tree in view", pruning.tree):
        state.node = state.focus = None
    first, second, third, fourth = st.columns([3, 2, 2, 3], gap="medium")
    names = list(VIEWS)
    state.what = first.selectbox("Show", names, names.index(state.what), format_func=VIEWS.get, key="tree view")
    colours = colours_of(pruning.tree, ws.flow.risk)
    at = colours.index(state.colour) if state.colour in colours else 0
    state.colour = second.selectbox(
        "Colour by", colours, at, format_func=COLOURS.get, key=f"tree colour {' '.join(colours)}"
    )
    below = "Below the root, or below the node you look closer at"
    state.depth = third.slider("Levels unfolded", 1, 12, state.depth, key="tree depth", help=below)
    if pruning.n_steps:
        state.after = fourth.slider(
            f"Pruning steps done, of {count(pruning.n_steps)}", 0, pruning.n_steps, state.after,
            key=f"after {id(pruning)}", help="From the grown tree, at 0, to the groups of the release",
        )  # fmt: skip
    return state
