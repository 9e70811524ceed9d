"""The way back and forth through decisions, which says what it takes back and where that was decided."""

from dataclasses import dataclass

import streamlit as st

from anonymizer.errors import AnonymizerError
from anonymizer.whatif.scenarios import History, keep_from, parameters_from, schema_from, words_back
from ui.controls import plain, problem
from ui.workspace import Workspace


@dataclass
class Travel:
    """``problem``: why a moment could not be gone to."""

    problem: AnonymizerError | None = None


def undo_redo(ws: Workspace) -> None:
    """Draw both ways, each with what it would change."""
    decisions = ws.history
    if ws.state(Travel).problem is not None:
        problem(ws.state(Travel).problem)
        ws.state(Travel).problem = None
    with st.container(horizontal=True, width="content", gap="small"):
        for label, icon, can, moment, words in (
            ("Undo", "undo", decisions.can_undo, decisions.undo(), words_back(decisions.last, undone=True)),
            ("Redo", "redo", decisions.can_redo, decisions.redo(), words_back(decisions.next, undone=False)),
        ):
            st.button(
                f"{label}: {plain(words)}" if can else label,
                icon=f":material/{icon}:",
                key=label.lower(),
                disabled=not can,
                on_click=travel,
                args=(ws, moment),
            )


def travel(ws: Workspace, history: History) -> None:
    """Go to a moment of the history: what held then holds again. Where it does not fit the table, say so and stay."""
    if ws.schema is None or ws.reading is None:
        return
    try:
        schema = schema_from(history.state, ws.schema)
        schema.check(ws.reading.preview)
    except AnonymizerError as error:
        ws.state(Travel).problem = error
        return
    ws.set_schema(schema)
    ws.open(parameters_from(history.state))
    ws.keep = keep_from(history.state)
    ws.history = history
