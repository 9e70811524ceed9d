"""What only the steward can say in reports, purpose, recipient, who approves, and the key that signs the packet: opened
with its password, held by this session alone, and put away."""

import streamlit as st

from anonymizer.provenance.signature import SigningKey
from anonymizer.reporting.findings import Approval, Statement
from ui.controls import problem
from ui.release.state import ReleaseState
from ui.server.framework import drop_uploads
from ui.session import take_secret
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


def signing(ws: Workspace) -> SigningKey | None:
    """Return the key that signs the packet, ``None`` without one; draws where it is opened, or put away."""
    state = ws.state(ReleaseState)
    if state.key is not None:
        st.caption(
            ":material/verified: Packets are signed. Give the recipient this key by another way than the packet."
        )
        st.code(f"{state.key.public.text}\n{state.key.public.groups}", language=None)
        st.button("Put the key away", key="put key away", type="tertiary", on_click=state.put_key_away)
        return state.key
    with st.form("signing key", border=False):
        left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
        with left:
            file = st.file_uploader("Sign it with a key (PEM)", ["pem"], key=f"key file {state.tries}")
        with right:
            password = take_secret("Password of the key", f"key password {state.tries}")
            is_sent = st.form_submit_button("Open the key", icon=":material/key:")
    if is_sent:
        content = b"" if file is None else file.getvalue()
        drop_uploads()
        state.tries += 1
        state.open_key(content, password)
        st.rerun()
    if state.no_key is not None:
        problem(state.no_key)
    st.caption("`copse key new` makes one. It is neither stored nor logged, and is gone when you close the page.")
    return None
