"""What a page needs of the browser beside what the framework draws.

Another page starts at its top, with the keyboard's focus before its first word; the same page drawn again stays where
it is. Where a button that begins a job makes way for its progress, the focus goes on to Cancel, and from there to the
answer: they are known by their keys, "begin NAME", "cancel NAME", "answer NAME". A place for files, which has a name,
is not marked as mere decoration, and what floats over the page has a name, so that screen readers tell of both; what
opens from a button can be scrolled by the keyboard. Where the browser turns from light to dark, or back, while a page
stands there, the page is drawn again: pictures and some colours are made here.
"""

from pathlib import Path

import streamlit as st

_mount = st.components.v2.component("copse_window", js=Path(__file__).with_suffix(".js").read_text("utf-8"))


def start_at_top(page: str) -> None:
    """Scroll to the top, and begin there with the keyboard, when ``page`` is another one than was shown before."""
    _mount(key="window", data=page, width=1, height=1, on_theme_change=lambda: None)
