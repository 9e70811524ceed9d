"""The only place that touches the session's state: its workspace, and what widgets hold."""

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from ui.server.framework import app_session, forget_widgets_but, widgets_drawn
from ui.server.places import PLACES
from ui.workspace import Workspace


def workspace() -> Workspace:
    """Return the workspace of this browser session, made empty on first use."""
    if "workspace" not in st.session_state:
        st.session_state["workspace"] = Workspace()
    return st.session_state["workspace"]  # type: ignore[no-any-return]


def emptying() -> Callable[[], None]:
    """Return what empties this session, its workspace and all that its widgets hold; to be called when it is over."""
    session, ws = app_session(), workspace()

    def empty() -> None:
        if session is not None:
            session.session_state.clear()
            forget_widgets_but(session.session_state, ())
        ws.forget()
        PLACES.leave(ws.owner)

    return empty


def forget_widgets() -> None:
    """Forget the widgets that this run has not drawn: the framework keeps for good what they offered, such as levels of
    a table that is gone."""
    session = app_session()
    if session is not None:
        forget_widgets_but(session.session_state, widgets_drawn())


def wait_for_place(ws: Workspace) -> int:
    """Return 0 when this session has a place on the server, or its place in the line."""
    session = weakref.ref(ws)

    def measure() -> int:
        now = session()
        return 0 if now is None else now.memory()

    return PLACES.enter(ws.owner, measure)


def widget_state(key: str) -> Any:
    """Return what the widget or component with this key holds, for its own callbacks; ``None`` when it is not there."""
    return st.session_state.get(key)


def set_at_once(ws: Workspace, name: str, key: str) -> None:
    """Set a setting to what its widget holds; for ``on_change``, so that a title above the widget already says it."""
    ws.set(**{name: widget_state(key)})


def show_value(key: str, value: Any, *, instead: bool = False) -> Any:
    """Make the widget with this key show a value, unless it does. Return the default that it is to have: none, for its
    state says it. ``instead``: a new widget gets the value as its default instead, which outlives a change of its
    range."""
    if instead and st.session_state.get(key, value) == value:
        return value
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    return None


def show_in_widgets(page: str, values: Mapping[str, Any]) -> None:
    """Make the widgets of a page show other values; ``page`` begins their keys, then comes the name of what they hold.
    For callbacks: what a widget shows is otherwise what counts."""
    for key in map(str, list(st.session_state)):
        for name, value in values.items():
            if key == f"{page} {name}" or key.startswith(f"{page} {name} "):
                st.session_state[key] = value


def take_secret(label: str, key: str) -> str:
    """Draw a field for a password, inside a form, and return what was typed there; the session's state drops it at
    once."""
    text = st.text_input(label, type="password", key=key, autocomplete="off")
    if text:
        del st.session_state[key]
    return text


def optional_number(
    label: str, least: float, most: float | None, value: float | None, *, key: str, **look: Any
) -> float | None:
    """Draw a field for a number that can be left empty. ``value``: what it holds when it is first drawn.

    The browser puts the default of an emptied field back, so there is none: the first value is the field's state.
    """
    if key not in st.session_state:
        st.session_state[key] = value
    number: float | None = st.number_input(label, least, most, None, key=key, **look)
    return number
