"""The key that signs packets, on the page: opened with its password, held by this session alone, and put away."""

import streamlit as st

from anonymizer.provenance.signature import SigningKey
from ui.controls import problem
from ui.release.state import ReleaseState
from ui.server.framework import drop_uploads
from ui.session import take_secret
from ui.workspace import Workspace


def signing(ws: Workspace) -> SigningKey | None:
    """Return the key that signs the packet, ``None`` without one; draws where it is opened, or put away."""
    state = ws.state(ReleaseState)
    if state.key is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(
                f":material/verified: Packets are signed. The key is `{state.key.public.text}`, by phone "
                f"`{state.key.public.groups}`. Give it to the recipient by another way than the packet."
            )
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
