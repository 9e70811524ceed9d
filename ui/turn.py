"""A session's turn of heavy work: waited for on the page, which says how many are before."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import streamlit as st

from anonymizer.flow import Turn
from ui.server.capacity import operator_capacity
from ui.server.framework import running
from ui.server.turns import Owner, Turns, Work

TURNS = Turns(operator_capacity().turns)
"""Those of this process."""


def turns_of(owner: Owner) -> Turn:
    """Return what a flow asks for before it computes: the turn of a session, which its page waits for."""

    def turn(is_long: bool) -> AbstractContextManager[Any]:
        return waited_for(owner, is_long)

    return turn


@contextmanager
def waited_for(owner: Owner, is_long: bool) -> Iterator[None]:
    """Let the block run in a turn of a session. Meanwhile its page says how many are before; another choice, another
    page, or closing it ends the waiting."""
    context = running()
    notice = None if context is None else Notice(context.yield_check)
    run = None if context is None else context.parallel_coordinator  # each drawing has one of its own
    with TURNS.turn(owner, Work.LONG if is_long else Work.SHORT, notice, run):
        if notice is not None:
            notice.clear()
        yield


class Notice:
    """The line of a page that says how many are before. ``check``: raises when the drawing is no longer wanted."""

    def __init__(self, check: Callable[[], None]) -> None:
        self.check = check
        self.place: Any = None
        self.text = ""

    def __call__(self, before: int) -> None:
        """Draw the line, unless it stands there."""
        self.check()
        text = before_text(before)
        if text != self.text:
            self.place, self.text = self.place or st.empty(), text
            self.place.caption(f":material/hourglass_top: {text}")

    def clear(self) -> None:
        """Take the line away."""
        if self.place is not None:
            self.place.empty()


def before_text(before: int) -> str:
    """Return how many are before, as a sentence."""
    if before == 0:
        return "Other sessions are working on this server. You are next."
    return f"Other sessions are working on this server: {before:,} before you. Any other choice leaves the line."
