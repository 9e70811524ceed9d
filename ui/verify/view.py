"""A released file and its report on the page, and what the checker finds in them."""

import streamlit as st

from anonymizer.checking.released_file import ReleasedFile, read_released
from anonymizer.checking.verify import verify
from anonymizer.errors import AnonymizerError
from anonymizer.reading.child import read_in_child
from anonymizer.reporting.claim import claim_from, roles_text
from ui.controls import plain, plural, problem
from ui.release.view import check_line, headline
from ui.server.memory import size_of
from ui.server.places import PLACES
from ui.server.sessions import drop_uploads
from ui.verify.state import Verdict, VerifyState
from ui.workspace import Workspace


def bring(ws: Workspace) -> None:
    """Draw where a file and its report are dropped; checks them, and runs the script again, once both are there."""
    state = ws.state(VerifyState)
    left, right = st.columns(2, gap="large")
    with left:
        file = st.file_uploader(
            "The released file: CSV, CSV.GZ, Parquet or Excel",
            ["csv", "gz", "parquet", "xlsx"],
            key=f"verify file {state.edition}",
        )
    with right:
        report = st.file_uploader("Its report: JSON", ["json"], key=f"verify report {state.edition}")
    if file is None or report is None:
        return
    name, content, claimed = file.name, file.getvalue(), report.getvalue()
    drop_uploads()
    state.edition += 1
    state.verdict = state.problem = None
    try:
        with st.spinner("Reading and checking the file …"), ws.turn(False):
            state.verdict = check(ws, name, content, claimed)
    except AnonymizerError as error:
        state.problem = error
    st.rerun()


def check(ws: Workspace, name: str, content: bytes, report: bytes) -> Verdict:
    """Return what the checker finds in a file, under the roles and limits of its report. The file is read in a process
    of its own; nothing of it is kept. Raises what reading and checking raise."""
    claim = claim_from(report)
    reading = read_in_child(content, name=name, reader=read_released)
    PLACES.require(ws.owner, name, size_of(reading.frame))
    file = ReleasedFile.of_reading(reading).under(claim.schema)
    verification = verify(file.rows, claim.schema, beside=file.beside, **claim.limits)
    differences = claim.differences(reading.sha256, len(file.rows), claim.schema)
    return Verdict(name, verification, differences, roles_text(claim.schema))


def outcome(ws: Workspace) -> None:
    """Draw what came of the last file."""
    state = ws.state(VerifyState)
    if state.problem is not None:
        problem(state.problem)
    verdict = state.verdict
    if verdict is None:
        return
    st.header(plain(verdict.name), anchor=False)
    headline(verdict.verification)
    for difference in verdict.differences:
        st.error(plain(difference), icon=":material/link_off:")
    if not verdict.differences:
        st.success("This is the file that the report speaks of, by its SHA-256.", icon=":material/link:")
    st.caption(plain(verdict.roles))
    judged = [check for check in verdict.verification.checks if check.passed is not None]
    others = [check for check in verdict.verification.checks if check.passed is None]
    for each in sorted(judged, key=lambda check: bool(check.passed)):
        check_line(each)
    with st.expander(f"{plural(len(others), 'more figure')}, reported without a requirement", key="verify figures"):
        for each in others:
            check_line(each)
    st.caption(
        "Checked from the file alone. Whether its cells contain the values of the people it was made from, and what "
        "somebody who knows them all can link, needs the original: `copse verify` with `--original`."
    )
