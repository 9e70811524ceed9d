"""Roles page: who could know which columns, what nobody may learn, and how risky the table is as it stands."""

import streamlit as st

from anonymizer.errors import AnonymizerError
from ui.controls import next_step, plain, plural, problem
from ui.guard import lacks
from ui.roles.before import risk_before
from ui.roles.cards import cards, circles
from ui.roles.changes import changes
from ui.roles.domain_editor import domain_editor, treatment_editor
from ui.roles.questions import plan_ahead, questions
from ui.roles.roles_table import others_quasi_identifying, roles_table, take_edits
from ui.roles.state import RolesState
from ui.session import workspace
from ui.workspace import Workspace


def quick_choices(ws: Workspace) -> None:
    """Draw buttons that set many roles at once."""
    st.button(
        "Accept suggestions",
        icon=":material/done_all:",
        type="tertiary",
        help="Every column as it was suggested",
        on_click=lambda: ws.set_schema(ws.suggest()),
    )
    st.button(
        "Make the rest quasi-identifiers",
        icon=":material/groups:",
        type="tertiary",
        help="Makes every unprotected column a quasi-identifier. The safe choice when in doubt.",
        on_click=lambda: ws.set_schema(others_quasi_identifying(ws.schema or ws.suggest())),
    )


def groups(ws: Workspace) -> None:
    """Draw the columns: in groups as cards, or one by one as a table."""
    state = ws.state(RolesState)
    n, n_groups = len((ws.schema or ws.suggest()).columns), len(circles(ws))
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="roles-groups"
    ):
        st.header(f"{plural(n, 'column')} in {plural(n_groups, 'group')}", anchor=False, width="content")
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            quick_choices(ws)
            state.is_table = st.toggle("As a table", state.is_table, key="roles as a table", width="content")
    if state.is_table:
        st.caption("Choose or type in *Role*, *Kind* and *Ordered*. A click on a heading sorts.")
        roles_table(ws)
    else:
        cards(ws)


def main() -> None:
    ws = workspace()
    text = "Roles are given to the columns of a table. Choose one first; a built-in sample will do."
    if lacks(ws, "There is no table yet", text, roles=False):
        return
    if ws.schema is None:
        ws.set_schema(ws.suggest())
    take_edits(ws)
    columns, side = st.columns([7, 2.4], gap="large")
    with columns:
        st.title("Who could know what?", anchor=False)
        try:
            questions(ws)
            groups(ws)
            changes(ws)
            domain_editor(ws)
            treatment_editor(ws)
            plan_ahead(ws)
            notes = ws.flow.encoded.notes
        except AnonymizerError as error:
            problem(error)
            return
        for note in notes:
            st.info(plain(note), icon=":material/info:")
    with side, st.container(key="roles-side"):
        risk_before(ws)
        with st.container(key="roles-on"):
            next_step("tree", "Next: grow the tree")


main()
