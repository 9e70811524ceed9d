"""What-if page: drag, and see at once what a setting would risk and lose; keep settings, compare them, go back."""

import streamlit as st

from ui.controls import empty_state
from ui.session import workspace
from ui.what_if_view import explore

ws = workspace()
st.title("What if", anchor=False)
if ws.table is None or ws.schema is None:
    step, label = ("data", "Go to Data") if ws.table is None else ("roles", "Go to Roles")
    empty_state(
        "Nothing to try out yet",
        "Settings are tried out on a table whose columns have their roles.",
        step,
        label,
    )
else:
    explore(ws)
