"""Whether the target should guide the tree: asked by a click, found in the background, and only ever proposed."""

import streamlit as st

from anonymizer.groups.detail import DETAIL
from anonymizer.studies.proposal import propose
from ui.controls import plain
from ui.job import answer_of_job
from ui.workspace import Workspace


def proposal(ws: Workspace) -> None:
    """Draw what guiding the tree by the target would bring and cost, once that was asked, and the button that does it
    where it pays."""
    flow = ws.flow
    if ws.in_pieces or flow.schema.target is None or flow.recipe.criterion != DETAIL:
        return
    label = "Would the target guide it better?"
    answer = answer_of_job(ws, "proposal", (flow.schema, flow.settings), label, lambda job: propose(flow, job.go_on))
    if answer is None:
        return
    st.caption(plain(answer.sentence))
    if answer.pays:
        st.button("Guide by the target", key="guide by the target", on_click=ws.open, args=(answer.settings,))
    else:
        st.caption("It is not proposed: the gain is within chance, or at most one point.")
