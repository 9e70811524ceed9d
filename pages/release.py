"""Release page: what the release is, the packet to take away, how boxes are made, what was lost, checks, attacks."""

import streamlit as st

from anonymizer.errors import AnonymizerError
from ui.controls import problem
from ui.gains import gains
from ui.gate.view import in_the_way
from ui.guard import lacks
from ui.job import groups_ready, tree_ready
from ui.method import price_of_ends
from ui.navigation import DOWNLOAD, WRITE_FOLDER
from ui.release.attacks import attacks
from ui.release.downloads import do_it_again
from ui.release.folder import release_pieces
from ui.release.packet import take_away
from ui.release.view import checks, choices, headline, make_report, rows_side_by_side, what_changed
from ui.session import workspace


def main() -> None:
    ws = workspace()
    text = "A release is made from a table and the role of each of its columns."
    if lacks(ws, "There is nothing to release yet", text):
        return
    st.title(DOWNLOAD if ws.flow.has("release") or ws.source is not None else WRITE_FOLDER, anchor=False)
    first = st.container()
    place = choices(ws)
    if not ws.flow.has("release"):
        if tree_ready(ws):
            with first:
                release_pieces(ws)
        return
    if not groups_ready(ws):
        return
    try:
        report = make_report(ws)
        release = ws.flow.release
    except AnonymizerError as error:
        problem(error)
        return
    price_of_ends(ws, place)
    with first:
        headline(report.verification)
        in_the_way(ws, ws.flow.gate)
        with st.container(border=True):
            take_away(ws, ws.flow.leaving, report)
    what_changed(ws, report)
    with st.expander("What the papers' own settings would give", icon=":material/balance:", key="release gains"):
        gains(ws, "release")
    checks(report)
    rows_side_by_side(ws, release)
    attacks(ws, release)
    do_it_again(ws, report)


main()
