"""Reports for people: what only the steward can say, and the internal and the external document to take away."""

import streamlit as st

from anonymizer.gate.finding import is_reason
from anonymizer.releasing.release import Release
from anonymizer.reporting.document import Document
from anonymizer.reporting.dossier import document_of
from anonymizer.reporting.findings import Approval, Statement, findings_of
from anonymizer.reporting.html import to_html
from anonymizer.reporting.pdf import to_pdf
from anonymizer.reporting.report import Report
from ui.decisions.browser import keep
from ui.release.attacks import outcome_of
from ui.release.downloads import file_stem, left, reason_for
from ui.release.state import ReleaseState
from ui.workspace import Workspace

FIELDS = {
    "purpose": ("Purpose", "What the recipient will do with the data"),
    "recipient": ("Recipient", "Who gets the data"),
    "basis": ("Legal or contractual basis", "For example: contract 12/7 with the university"),
    "prepared_by": ("Prepared by", "Your name and function"),
}
LONGEST = 500


def reports(ws: Workspace, release: Release, report: Report) -> None:
    """Draw the fields of the statement, and four files: internal and external, HTML and PDF."""
    st.header("Reports to sign and to hand over", anchor=False)
    with st.container(border=True):
        statement(ws)
        typed = reason_for(ws, report)
        reason = " ".join(typed.split()) if is_reason(typed) else ""
        stops = bool(report.gate.open)
        locked = stops or (not report.verification.passed and not reason)
        if stops:
            st.caption("Something stands in the way of this release: see *Ready to leave?*")
        elif locked:
            st.caption("The release fails a required check: give the reason above to get its reports.")
        if outcome_of(ws, ws.flow.release) is None:
            st.caption("Run the attacks above first, if the reports are to hold the three criteria of WP216.")
        left, right = st.columns(2, gap="large")
        for place, audience, title, what in (
            (left, "internal", "Internal", "For your files and who approves: with the riskiest combinations."),
            (right, "external", "External", "For the recipient: holds no value of the table and no riskiest case."),
        ):
            with place:
                st.markdown(f"**{title}.** {what}")
                files(ws, release, report, reason, audience, locked)


@st.fragment
def statement(ws: Workspace) -> None:
    """Draw the fields for what the steward writes; it is kept for the session.

    The files below read it on the click: were they drawn again for every word, a click that follows at once would ask
    for one that is no more.
    """
    state = ws.state(ReleaseState)
    columns = st.columns(2, gap="medium")
    for number, (name, (label, hint)) in enumerate(FIELDS.items()):
        state.statement[name] = columns[number % 2].text_input(
            label, state.statement.get(name, ""), key=f"statement {name}", placeholder=hint, max_chars=LONGEST
        )
    state.approvers = st.text_input(
        "Approved by",
        state.approvers,
        key="statement approvers",
        placeholder="Names, separated by commas; lines to sign are left open",
        max_chars=LONGEST,
    )
    keep(ws, "statement")


def statement_of(ws: Workspace) -> Statement:
    """Return what is written there now."""
    state = ws.state(ReleaseState)
    names = [name.strip() for name in state.approvers.split(",") if name.strip()]
    words = {name: state.statement.get(name, "") for name in FIELDS}
    return Statement(**words, approvals=tuple(Approval(name) for name in names))


def files(ws: Workspace, release: Release, report: Report, reason: str, audience: str, locked: bool) -> None:
    """Draw the two files of one audience; they are made on the click."""
    title = audience.capitalize()
    stem = file_stem(ws.reading.name if ws.reading else "") if audience == "internal" else "release"

    def make() -> Document:
        return document(ws, release, report, statement_of(ws), reason, audience)

    with st.container(horizontal=True, gap="small"):
        st.download_button(
            f"{title} report (HTML)", lambda: to_html(make()), f"{stem}-{audience}-report.html", "text/html",
            key=f"report {audience} html", icon=":material/article:", disabled=locked, on_click="ignore",
        )  # fmt: skip
        st.download_button(
            f"{title} report (PDF)", lambda: to_pdf(make()), f"{stem}-{audience}-report.pdf", "application/pdf",
            key=f"report {audience} pdf", icon=":material/picture_as_pdf:", disabled=locked, on_click="ignore",
        )  # fmt: skip


def document(
    ws: Workspace, release: Release, report: Report, statement: Statement, reason: str, audience: str
) -> Document:
    """Return the document of what left, with the digest of the file in every format."""
    assert ws.table is not None
    findings = findings_of(left(release, report, reason), ws.table, ws.flow.released, outcome_of(ws, ws.flow.release))
    return document_of(findings, statement, audience)
