"""Where a page stands in the window: another page starts at its top, the same page drawn again stays where it is."""

import streamlit as st

SCRIPT = """export default ({ data }) => {
  const main = document.querySelector('[data-testid="stMain"]');
  if (!main || main.dataset.page === data) return;
  if (main.dataset.page) main.scrollTop = 0;
  main.dataset.page = data;
};"""

_mount = st.components.v2.component("copse_scroll", js=SCRIPT)


def start_at_top(page: str) -> None:
    """Scroll to the top when ``page`` is another one than was shown before."""
    _mount(key="scroll", data=page, width=1, height=1)
