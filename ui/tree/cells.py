"""How cells and rows of the release are written, as it is chosen on the Tree page."""

import streamlit as st

from anonymizer.releasing.generalize import NUMBERS, WRITINGS, Guarantee, guarantee_of
from anonymizer.releasing.pack import made_of
from anonymizer.releasing.release import ORDERS
from anonymizer.releasing.set_names import SETS
from anonymizer.settings import SETTINGS, name_of
from ui.controls import plain
from ui.method import price_of_ends
from ui.session import set_at_once
from ui.workspace import WITH_SHARED_RECORDS, Workspace

TITLE = "How cells are written"


def cells(ws: Workspace) -> None:
    """Draw what groups within a branch promise, and how their cells and rows are written."""
    made = ws.flow.parts.made if ws.ready("parts") else made_of(ws.settings.generalizer, ws.settings.limits)
    if made.why:
        st.info(plain(made.why), icon=":material/info:")
    show_promise(guarantee_of(made.method))
    if ws.settings.generalizer == "tiered":
        st.caption("Tiered boxes share rows, so counts, means and medians would count people twice.")
    writing_choice(ws, "writing", WRITINGS)
    writing_choice(ws, "numbers", NUMBERS)
    if ws.ready("release"):
        price_of_ends(ws, st.empty())
    file_choice(ws, "order", ORDERS)
    file_choice(ws, "sets", SETS)


def writing_choice(ws: Workspace, setting: str, ways: dict[str, Guarantee]) -> None:
    """Draw the ways to write a cell that suit the generalizer, with what the one that is set promises."""
    names = [name for name in ways if ws.settings.generalizer != "tiered" or name in WITH_SHARED_RECORDS]
    now, key = ws.settings[setting], f"tree {setting} {len(names)}"
    way = st.selectbox(
        SETTINGS[setting].title,
        names,
        names.index(now) if now in names else 0,
        format_func=lambda name: ways[name].title,
        key=key,
        on_change=set_at_once,
        args=(ws, setting, key),
    )
    ws.set(**{setting: way})
    show_promise(ways[way])


def file_choice(ws: Workspace, setting: str, ways: dict[str, str]) -> None:
    """Draw the ways in which the file may be laid out, with what the one that is set is."""
    names, key = list(ways), f"tree {setting}"
    way = st.selectbox(
        SETTINGS[setting].title,
        names,
        names.index(ws.settings[setting]),
        format_func=lambda name: name_of(setting, name),
        key=key,
        on_change=set_at_once,
        args=(ws, setting, key),
    )
    ws.set(**{setting: way})
    st.caption(plain(ways[way]))


def show_promise(guarantee: Guarantee) -> None:
    """Draw what a choice promises, and what it does not."""
    st.caption(f":material/check: **Promises.** {plain(guarantee.gives)}")
    if guarantee.does_not:
        st.caption(f":material/warning: **Does not promise.** {plain(guarantee.does_not)}")
