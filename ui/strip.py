"""The line that is always in view: what the release would be, in six numbers."""

from typing import NamedTuple

import streamlit as st

from ui.controls import count, share
from ui.workspace import Workspace


class Figure(NamedTuple):
    """One number of the strip, as text, and what it means."""

    label: str
    value: str
    meaning: str


def figures(ws: Workspace) -> list[Figure]:
    """The figures that are already known for the current choices; computes nothing that takes time."""
    return []


def strip(ws: Workspace) -> None:
    """Draw the figures at the foot of the window."""
    known = figures(ws)
    if not known:
        return
    with st.bottom, st.container(horizontal=True, gap="large", key="strip"):
        for figure in known:
            st.metric(figure.label, figure.value, help=figure.meaning, width="content")
