"""What only the steward can say in reports: purpose, recipient, who approves."""

import streamlit as st

from anonymizer.reporting.findings import Approval, Statement
from ui.release.state import ReleaseState
from ui.workspace import Workspace

FIELDS = {
    "purpose": ("Purpose", "What the recipient will do with the data"),
    "recipient": ("Recipient", "Who gets the data"),
    "basis": ("Legal or contractual basis", "For example: contract 12/7 with the university"),
    "prepared_by": ("Prepared by", "Your name and function"),
}
LONGEST = 500


def statement(ws: Workspace) -> None:
    """Draw the fields for what the steward writes; it is kept for the session, and in packets."""
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


def statement_of(ws: Workspace) -> Statement:
    """Return what is written there now."""
    state = ws.state(ReleaseState)
    names = [name.strip() for name in state.approvers.split(",") if name.strip()]
    words = {name: state.statement.get(name, "") for name in FIELDS}
    return Statement(**words, approvals=tuple(Approval(name) for name in names))
