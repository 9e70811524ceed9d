"""Ready: what was kept by mistake or undoes a box, before the table is released."""

import streamlit as st

from anonymizer.errors import AnonymizerError
from ui.controls import problem
from ui.gate.costs import costs, prices
from ui.gate.pieces import gate_of_pieces
from ui.gate.view import cards, headline, way_on
from ui.guard import lacks
from ui.job import groups_ready, stages_ready, tree_ready
from ui.session import workspace


def main() -> None:
    ws = workspace()
    text = "Copse checks what would be released, once a table is here and each of its columns has a role."
    if lacks(ws, "Not ready to release", text):
        return
    if ws.in_pieces:
        if tree_ready(ws):
            gate_of_pieces(ws)
        return
    try:
        if not groups_ready(ws):
            return
        if not stages_ready(ws, "release", "verification", "utility", "after", "held_out", "two_way", "judgement"):
            return
    except AnonymizerError as error:
        st.title("Ready", anchor=False)
        problem(error, "Nothing can be released like this.")
        return
    gate = ws.flow.gate
    with st.container(key="ready"):
        left, right = st.columns([9, 4], gap="large")
    with right, st.container(border=True):
        costs(ws)
        of_repairs = prices(ws, gate)
        way_on(gate)
    with left:
        headline(gate)
        cards(ws, gate, prices=of_repairs)


main()
