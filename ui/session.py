"""The only place that touches the session's state: its workspace, and what widgets hold."""

from typing import Any

import streamlit as st

from ui.workspace import Workspace


def workspace() -> Workspace:
    """The workspace of this browser session, made empty on first use."""
    if "workspace" not in st.session_state:
        st.session_state["workspace"] = Workspace()
    return st.session_state["workspace"]  # type: ignore[no-any-return]


def widget_state(key: str) -> Any:
    """What the widget or component with this key holds, for its own callbacks; ``None`` when it is not there."""
    return st.session_state.get(key)


def told_at_once(ws: Workspace, name: str, key: str) -> None:
    """For ``on_change``: the parameter of this name takes what its widget holds before the page is drawn, so that a
    title above the widget already says it."""
    ws.set(**{name: widget_state(key)})


def optional_number(
    label: str, least: float, most: float | None, value: float | None, *, key: str, **look: Any
) -> float | None:
    """A field for a number that can be left empty. ``value``: what it holds when it is first drawn.

    The browser puts the default of an emptied field back, so there is none: the first value is the field's state.
    """
    if key not in st.session_state:
        st.session_state[key] = value
    number: float | None = st.number_input(label, least, most, None, key=key, **look)
    return number
