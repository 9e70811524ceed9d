"""The line that is always in view: what the release would be, in six numbers."""

from typing import NamedTuple

import streamlit as st

from anonymizer.target import majority_error
from ui.controls import count, share
from ui.workspace import Workspace


class Figure(NamedTuple):
    """One number of the strip, as text, and what it means."""

    label: str
    value: str
    meaning: str


def figures(ws: Workspace) -> list[Figure]:
    """The figures that are already known for the current choices; computes nothing that takes time."""
    pruning, released = ws.peek("pruning"), ws.peek("released_risk")
    if pruning is None:
        return []
    sizes = pruning.tree.n[pruning.cut()]
    groups, smallest, highest = len(sizes), int(sizes.min()), 1 / int(sizes.min())
    if released is not None:
        groups, smallest, highest = released.groups, released.smallest, released.highest
    errors = int(majority_error(pruning.tree.sums[pruning.cut()]).sum())
    return [
        Figure("Records", count(sizes.sum()), "Records in the table, and in the release."),
        Figure("Groups", count(groups), "Groups of look-alike records."),
        Figure("Smallest group", count(smallest), f"Records in the smallest group; k = {ws.k} is asked for."),
        Figure("Highest risk", share(highest), "1 / smallest group: the best chance of linking a person to a row."),
        Figure("Error", share(errors / int(sizes.sum())), "Records outside the most frequent class of their group."),
    ]


def strip(ws: Workspace) -> None:
    """Draw the figures at the foot of the window."""
    known = figures(ws)
    if not known:
        return
    with st.bottom, st.container(horizontal=True, horizontal_alignment="distribute", gap="small", key="strip"):
        for figure in known:
            st.metric(figure.label, figure.value, help=figure.meaning, width="content")
