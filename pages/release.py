"""Release page: what the release is, four figures, one row, the packet; what changed, checks and attacks in tabs."""

import streamlit as st

from anonymizer.errors import AnonymizerError
from ui.controls import problem
from ui.gains import gains
from ui.gate.view import in_the_way
from ui.guard import lacks
from ui.job import groups_ready, stages_ready, tree_ready
from ui.navigation import DOWNLOAD, WRITE_FOLDER
from ui.release.analyses import regression_choice
from ui.release.attacks import attacks
from ui.release.downloads import do_it_again
from ui.release.folder import release_pieces
from ui.release.packet import take_away
from ui.release.view import checks, figures, headline, one_row, what_changed
from ui.session import workspace

STAGES = ("tree", "pruning", "release", "verification", "utility", "two_way", "coefficients", "weighted", "report")


def main() -> None:
    ws = workspace()
    text = "A release is made from a table and the role of each of its columns."
    if lacks(ws, "There is nothing to release yet", text):
        return
    if not ws.flow.has("release"):
        st.title(DOWNLOAD if ws.source is not None else WRITE_FOLDER, anchor=False)
        if tree_ready(ws):
            release_pieces(ws)
        return
    if not groups_ready(ws):
        return
    try:
        if not stages_ready(ws, *STAGES):
            return
    except AnonymizerError as error:
        st.title("Not ready to hand over", anchor=False)
        problem(error)
        return
    report, release = ws.flow.report, ws.flow.release
    ready = report.verification.passed and not ws.flow.gate.open
    st.title("Ready to hand over" if ready else "Not ready to hand over", anchor=False)
    headline(report.verification)
    in_the_way(ws, ws.flow.gate)
    figures(ws, report)
    with st.container(key="hand-over"):
        left, right = st.columns([5, 4], gap="large")
    with left, st.container(border=True):
        one_row(ws, release)
    with right, st.container(border=True):
        take_away(ws, ws.flow.leaving, report)
    changed, checked, attacked = st.tabs(["What changed", "What was checked", "Attack it"], key="release tabs")
    with changed:
        what_changed(ws, report)
        regression_choice(ws)
        with st.expander("What the papers' own settings would give", icon=":material/balance:", key="release gains"):
            gains(ws, "release")
    with checked:
        checks(report)
        do_it_again(ws, report)
    with attacked:
        attacks(ws, release)


main()
