"""How far the reading of a file is, and its Cancel."""

import time

import streamlit as st

from ui.controls import duration, plain, size
from ui.workspace import Workspace

PERIOD = 0.5
"""Seconds between two drawings of the bar."""


class ReadingBar:
    """Draws how far a reading is and for how long it has gone on, beside a Cancel. ``n_bytes``: of a file.

    A click, on Cancel or elsewhere, runs the page anew: the framework ends this run where it draws next, and with it
    the process that reads. So the bar is drawn while nothing is heard of that process, too.
    """

    def __init__(self, ws: Workspace, name: str, n_bytes: int | None = None) -> None:
        self.name, self.extent = name, "" if n_bytes is None else f" ({size(n_bytes)})"
        self.share, self.words = 0.0, "beginning"
        self.begun = time.monotonic()
        self.last = self.begun - PERIOD
        with st.container(horizontal=True, vertical_alignment="center"):
            self.bar = st.progress(0.0)
            st.button(
                "Cancel",
                key=f"cancel reading {ws.edition}",
                icon=":material/cancel:",
                on_click=ws.stop_reading,
                args=(name, ws.edition),
            )
        self.draw()

    def progress(self, share: float, words: str) -> None:
        """Note how far the reading is, from 0 to 1, and what is being done."""
        self.share, self.words = min(max(share, 0.0), 1.0), words
        self.draw()

    def cancelled(self) -> bool:
        """Draw the time that has passed; a click ends the run there, so nothing else has to tell."""
        self.draw()
        return False

    def draw(self) -> None:
        """Draw the bar, unless that was done just now."""
        now = time.monotonic()
        if now - self.last >= PERIOD:
            self.last = now
            what = f"Reading {plain(self.name + self.extent)}"
            self.bar.progress(self.share, f"{what} · {plain(self.words)} · {duration(now - self.begun)}")
