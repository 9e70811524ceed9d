"""Release page: how boxes are made, what the checker found, what was lost, the files, attacks, reports."""

import streamlit as st

from anonymizer.errors import AnonymizerError
from ui.attack_view import attacks
from ui.controls import empty_state, problem
from ui.downloads import downloads
from ui.release_view import checks, choices, examined, headline, rows_side_by_side, what_changed
from ui.report_view import reports
from ui.session import workspace


def main() -> None:
    ws = workspace()
    if ws.table is None or ws.schema is None:
        step, label = ("data", "Go to Data") if ws.table is None else ("roles", "Go to Roles")
        empty_state(
            "There is nothing to release yet",
            "A release is made from a table and the role of each of its columns.",
            step,
            label,
        )
        return
    st.title("Check and download", anchor=False)
    choices(ws)
    try:
        report = examined(ws)
        release = ws.release()
    except AnonymizerError as error:
        problem(error)
        return
    headline(report.verification)
    left, right = st.columns([3, 2], gap="large")
    with left:
        checks(report)
    with right, st.container(border=True):
        downloads(ws, release, report)
    rows_side_by_side(ws, release)
    what_changed(ws, report)
    attacks(ws, release)
    reports(ws, release, report)


main()
