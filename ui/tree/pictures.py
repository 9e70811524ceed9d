"""The pictures of the Tree page: a map of people, or nodes and edges, of the same groups with the same picking."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from anonymizer.drawing.about import as_target
from anonymizer.drawing.draw import dot
from anonymizer.drawing.leaving import Leaving, leaving
from anonymizer.drawing.people_map import map_states, people_map
from anonymizer.drawing.shades import COLOURS, legend
from anonymizer.drawing.words import figures_text
from anonymizer.groups.prune import Pruning
from anonymizer.groups.risk import NodeRisk
from anonymizer.growing.encode import EncodedTable
from ui.controls import plain, plural
from ui.tree.panel import below_in_ledger, row_in_sight, show_legend
from ui.tree.people import people
from ui.tree.state import TreeState
from ui.tree_view import downloads, tree_view
from ui.workspace import Workspace

Pick = Callable[[int], None]
Subject = tuple[Pruning, NodeRisk, EncodedTable]
"""A tree with its groups, its risk and its table, told of the sensitive column that colours are of."""


def subject(ws: Workspace, pruning: Pruning) -> Subject:
    """Return the tree as told of the sensitive column that was chosen for the colours."""
    flow, about = ws.flow, ws.state(TreeState).about
    return ws.answers.get("tree subject", (pruning, about), lambda: as_target(pruning, flow.risk, flow.encoded, about))


def draw(
    ws: Workspace,
    pruning: Pruning,
    cut: NDArray[np.integer],
    bands: Mapping[int, NDArray[np.int64]],
    leaves: Leaving | None,
    *,
    on_pick: Pick,
    on_open: Pick,
) -> Callable[[], None]:
    """Draw the groups as chosen, and return what draws the rest that belongs to the picture, below the page's first
    sight."""
    state = ws.state(TreeState)
    theme = "dark" if st.context.theme.type == "dark" else "light"
    pruning, risk, encoded = subject(ws, pruning)
    tree, labels = pruning.tree, encoded.target.texts
    shades = legend(tree, risk, labels, state.colour, theme, pruning.k)
    if state.view == "tree":
        return nodes_and_edges(ws, (pruning, risk, encoded), cut, bands, theme, on_pick, on_open)
    focus, encodings = state.focus or 0, encoded.encodings
    boxes = ws.answers.get("people map", (tree, focus), lambda: people_map(tree, risk, encodings, labels, focus))
    states = map_states(boxes, pruning, risk, state.colour)
    people(
        boxes, states, leaves, tree, state.node, pin_of(ws, pruning, leaves), state.after, shades,
        title=colour_title(encoded, state.colour),
        groups=plural(len(cut), "group"), view=state.view, theme=theme, key=f"people {state.view}",
        on_pick=on_pick, on_open=on_open,
    )  # fmt: skip

    def left_out() -> None:
        if states.left_out:
            st.caption(
                f"{plural(states.left_out, 'group')} of {len(pruning.cut()):,} are too narrow to be drawn at this "
                "width: double click a box, or pick it and zoom in, to see what is below it."
            )

    return left_out


def what_leaves(ws: Workspace, pruning: Pruning) -> Leaving | None:
    """Return the groups of the release, ``None`` as long as there is none and while pruning steps are taken back."""
    flow, state = ws.flow, ws.state(TreeState)
    if not flow.ready("after") or state.after != pruning.n_steps:
        return None
    focus = state.focus or 0

    def picture() -> Leaving:
        there, (changed, _, _) = flow.staying, subject(ws, pruning)
        codes = as_target(pruning, flow.risk, flow.codes_there, state.about)[2]
        return leaving(
            changed, codes, flow.leaf[there], flow.class_of[there], colour_by=state.colour, focus=focus
        )  # fmt: skip

    return ws.answers.get("what leaves", (flow.release, state.colour, state.about, focus), picture)


def pin_of(ws: Workspace, pruning: Pruning, leaves: Leaving | None) -> int:
    """Return the stripe of the released group of the row that is shown beside the picture, -1 for none."""
    state, flow = ws.state(TreeState), ws.flow
    row = None if leaves is None or state.node is None else row_in_sight(ws, pruning, state.node)
    if leaves is None or row is None:
        return -1
    return leaves.at.get((int(pruning.group_of_node()[flow.leaf[row]]), int(flow.class_of[row])), -1)


def nodes_and_edges(
    ws: Workspace,
    of: Subject,
    cut: NDArray[np.integer],
    bands: Mapping[int, NDArray[np.int64]],
    theme: str,
    on_pick: Pick,
    on_open: Pick,
) -> Callable[[], None]:
    """Draw the tree as graphviz lays it out, and return what draws its figures in words and the files of it."""
    state, (pruning, risk, encoded) = ws.state(TreeState), of
    tree, labels, below = pruning.tree, encoded.target.texts, below_in_ledger(ws, ws.flow.pruning)
    source_of = partial(
        dot, tree, risk, encoded.encodings, labels, cut=None if state.what == "grown" else cut,
        below_cut=state.what == "both", focus=state.focus, colour_by=state.colour, theme=theme, k=pruning.k,
        bands=bands, below=below,
    )  # fmt: skip
    source = source_of(max_depth=state.depth)
    drawing = tree_view(source, tree, state.node, key="tree", on_pick=on_pick, on_open=on_open)
    shades, title = legend(tree, risk, labels, state.colour, theme, pruning.k), colour_title(encoded, state.colour)
    show_legend(shades, title, bool(below))

    def rest() -> None:
        st.caption(f"**On a node:** {plain(figures_text(risk, labels))}.")
        downloads(drawing, source, lambda: source_of(max_depth=tree.n_nodes, max_nodes=2 * tree.n_nodes))

    return rest


def colour_title(encoded: EncodedTable, colour: str) -> str:
    """Return what the colours say, in words: how sure an attacker is of diagnosis."""
    name = encoded.target.title
    return f"{COLOURS[colour].capitalize()}{f' of {name}' if colour == 'sure' and name else ''}"
