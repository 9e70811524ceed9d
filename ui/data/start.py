"""The start: the ways to bring a table, before there is one, and what comes then."""

from functools import partial

import streamlit as st

from ui.controls import count, plain, problem
from ui.data.chooser import chooser
from ui.decisions.project_file import kept_decisions, project_field
from ui.tour import offer_tour
from ui.workspace import Workspace

STEPS = {
    "Roles": "Say who could know which columns.",
    "Tree": "See who looks alike after release.",
    "Ready": "Decide on each risk, with its price.",
    "Release": "Download a checked packet and a report.",
}
"""What comes after the table."""


def start(ws: Workspace) -> None:
    """Draw the ways to bring a table, before there is one, and what comes then."""
    st.title("Release a table about people, safely", anchor=False)
    st.markdown("Copse makes people in a table look alike, so nobody can be picked out, and the table stays useful.")
    if ws.failure is not None:
        problem(ws.failure)
    with st.container(key="start"):
        chooser(ws, partial(last_years, ws))
    for place, (number, (title, text)) in zip(st.columns(4, gap="large"), enumerate(STEPS.items(), 1), strict=True):
        place.markdown(f":green[**{count(number)}**] **{plain(title)}**")
        place.caption(plain(text))
    offer_tour(ws)
    with st.expander("Decisions and project file", icon=":material/bookmark:", key="decisions first"):
        kept_decisions(ws)


def last_years(ws: Workspace) -> None:
    """Draw the second way in: a project file."""
    with st.container(border=True, gap="small"):
        st.markdown("**Continue from a plan or a project file**")
        st.caption("Same table as last year? Copse applies last year's roles, limits and reasons.")
        project_field(ws)
