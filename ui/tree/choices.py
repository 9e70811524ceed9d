"""What is chosen on the Tree page: how groups come about, and what of the tree is drawn."""

import streamlit as st

from anonymizer.drawing.about import Look, looks_of
from anonymizer.drawing.shades import COLOURS
from anonymizer.drawing.words import visible_text
from anonymizer.groups.prune import Pruning
from ui.controls import count, plain
from ui.limits import TITLE, limits
from ui.method import (
    generalizer_choice,
    grouping_choice,
    growth_choice,
    growth_title,
    suppression_choice,
    suppression_title,
)
from ui.session import widget_state
from ui.slider import k_slider
from ui.tree.candidates import step_candidates
from ui.tree.cells import TITLE as CELLS
from ui.tree.cells import cells
from ui.tree.state import TreeState
from ui.workspace import Workspace

GROWTH = "tree growth"
"""The key of what folds up how the tree grows: drawn when it opens, so that a move of k has less to draw."""
VIEWS = {
    "map": "Map of people",
    "beside": "Grown and pruned tree",
    "tree": "Tree (BIG, ICR, Δ)",
}
"""How the groups are drawn: boxes as wide as the people in them, the same before and after, or nodes and edges."""
PARTS = {
    "both": "Groups and merged parts",
    "pruned": "The groups",
    "grown": "The grown tree",
}
"""The part of the tree that nodes and edges show."""


def how_to_read(view: str) -> str:
    """Return what the shapes of a view are, in one sentence."""
    if view == "tree":
        return "Each node is a part of the people; a group has a double border, and what was merged into it is dashed."
    return "A box is as wide as the people in it; a group is outlined, and what was merged into it is a thin line."


def method(ws: Workspace) -> None:
    """Draw how the tree is grown and pruned, and what every group must keep: a narrow column."""
    k_slider(ws, "tree")
    grouping_choice(ws, "tree")
    generalizer_choice(ws, "tree")
    growth = st.popover(
        growth_title(ws), icon=":material/account_tree:", width="stretch", key=GROWTH, on_change="rerun"
    )
    if growth.open:
        with growth:
            growth_choice(ws, "tree")
    # Drawn before it opens: by its height then it is put above its button, where there is room for it.
    with st.popover(TITLE, icon=":material/shield:", width="stretch"):
        limits(ws, "tree")
    with st.popover(CELLS, icon=":material/edit_note:", width="stretch"):
        cells(ws)
    with st.popover(suppression_title(ws), icon=":material/person_remove:", width="stretch"):
        suppression_choice(ws, "tree")


LONGEST = 22
"""Characters of what the colours show, on its button."""


def look_choice(ws: Workspace, pruning: Pruning, state: TreeState) -> None:
    """Draw what the colours show, what somebody learns of a sensitive column or another measure, and of a tree of nodes
    which part of it is drawn."""
    schema = ws.schema
    assert schema is not None
    looks = looks_of(pruning, ws.flow.risk, ws.flow.encoded, schema.target)
    if state.view == "tree":  # its nodes have one figure of all numbers together
        looks = list(dict.fromkeys(("", "digression") if look[1] == "digression" else look for look in looks))
    same = [look for look in looks if look[1] == state.colour]
    look = (state.about, state.colour)
    if look not in looks:
        look = same[0] if same else looks[0]

    def words(look: Look) -> str:
        return schema[look[0]].variable.full_name(look[0]) if look[0] else COLOURS[look[1]].capitalize()

    key = f"tree colour {' '.join(map(''.join, looks))}"
    look = value if (value := widget_state(key)) in looks else look
    with st.popover(f"Colour: {plain(visible_text(words(look), LONGEST))}", icon=":material/palette:"):
        state.about, state.colour = st.selectbox("Colour shows", looks, looks.index(look), format_func=words, key=key)
        if state.view == "tree":
            names = list(PARTS)
            state.what = st.selectbox("Show", names, names.index(state.what), format_func=PARTS.get, key="tree parts")
            below = "Below the root, or below the branch you zoomed into"
            state.depth = st.slider("Levels unfolded", 1, 12, state.depth, key="tree depth", help=below)


def view_choices(ws: Workspace, pruning: Pruning) -> TreeState:
    """Return what is drawn, as it is chosen here; a new tree or pruning starts afresh."""
    state = ws.state(TreeState)
    if ws.answers.differs("pruning in view", pruning):
        state.after = pruning.n_steps
    if ws.answers.differs("tree in view", pruning.tree):
        state.node = state.focus = None
    view = st.segmented_control(
        "View", list(VIEWS), default=state.view, format_func=VIEWS.get, key="tree view", label_visibility="collapsed",
        required=True,
    )  # fmt: skip
    state.view = view or state.view
    look_choice(ws, pruning, state)
    if pruning.n_steps:
        with st.container(horizontal=True, vertical_alignment="center", wrap=False, key="canvas-steps"):
            st.caption("Pruning", width="content")
            state.after = st.slider(
                f"Pruning steps done, of {count(pruning.n_steps)}", 0, pruning.n_steps, state.after,
                key=f"after {id(pruning)}", label_visibility="collapsed",
            )  # fmt: skip
            step_candidates(ws, pruning, state.after)
    return state
