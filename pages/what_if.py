"""What-if page: drag, and see at once what a setting would risk and lose; keep settings, compare them, go back."""

import streamlit as st

from ui.guard import lacks
from ui.session import workspace
from ui.what_if.view import explore

ws = workspace()
st.title("What if", anchor=False)
if not lacks(ws, "Nothing to try out yet", "Settings are tried out on a table whose columns have their roles."):
    st.markdown("Try settings. Nothing is released here.")
    explore(ws)
