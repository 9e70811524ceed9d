"""Whether the target should guide the tree: tried in the background while nothing changes, and only ever proposed."""

import streamlit as st

from anonymizer.groups.detail import DETAIL
from anonymizer.studies.proposal import Proposal, propose
from ui.background import Job
from ui.controls import plain
from ui.job import start_job
from ui.session import show_in_widgets
from ui.workspace import Workspace

NAME = "proposal"
RESTED = 4.0
"""Seconds in which nothing changes before it is tried."""


def proposal(ws: Workspace) -> None:
    """Begin to try it, where nobody has; and draw what guiding the tree by the target would bring and cost, and the
    button that does it, once it is known to pay."""
    flow = ws.flow
    if ws.in_pieces or flow.schema.target is None or flow.recipe.criterion != DETAIL:
        return
    job, key = ws.jobs.get(NAME), (flow.schema, flow.settings)
    if job is None or job.key != key:
        job = start_job(ws, NAME, key, lambda job: propose(flow, job.go_on), after=RESTED)
    if not job.done.is_set():
        _watch(job)
    answer = job.answer
    if isinstance(answer, Proposal) and answer.pays:
        with st.container(border=True, key=NAME):
            st.markdown(f":small[{plain(answer.sentence)}]")
            st.button("Guide by the target", key="guide by the target", on_click=guide, args=(ws, answer))


def guide(ws: Workspace, answer: Proposal) -> None:
    """Choose what is proposed, in the widgets of the Tree page, too."""
    ws.open(answer.settings)
    show_in_widgets("tree", answer.settings)


def trial(ws: Workspace) -> None:
    """Draw how far the trial is, or why nothing is proposed."""
    job = ws.jobs.get(NAME)
    if job is None or job.key != (ws.flow.schema, ws.flow.settings):
        return
    if not job.done.is_set():
        st.caption(f"Whether the target would guide it better is being tried: {job.share:.0%}.")
    elif isinstance(job.answer, Proposal) and not job.answer.pays:
        st.caption(f"{plain(job.answer.sentence)} It is not proposed: that is within chance, or at most one point.")


@st.fragment(run_every=2.0)
def _watch(job: Job) -> None:
    """Draw the page again when the job is done."""
    if job.done.is_set():
        st.rerun()
