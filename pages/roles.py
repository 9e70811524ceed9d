"""Roles page: what every column is to an attacker, and how risky the table is as it stands."""

import streamlit as st

from anonymizer.errors import AnonymizerError
from anonymizer.schema import Role
from ui.controls import ROLE_BADGES, ROLE_MEANINGS, next_step, plain, problem
from ui.guard import lacks
from ui.roles.before import risk_before
from ui.roles.domain_editor import domain_editor
from ui.roles.one_row import one_row
from ui.roles.roles_table import COLUMNS, EDITABLE, edited_schema, others_quasi_identifying, rows, ticked_in_vain
from ui.roles.state import RolesState
from ui.session import widget_state, workspace
from ui.workspace import Workspace


def quick_choices(ws: Workspace) -> None:
    """Draw buttons that set many roles at once."""
    with st.container(horizontal=True):
        st.button(
            "Accept suggestions",
            icon=":material/done_all:",
            help="Every column as it was suggested",
            on_click=lambda: ws.set_schema(ws.suggest()),
        )
        st.button(
            "All others quasi-identifying",
            icon=":material/groups:",
            help="Every insensitive column becomes quasi-identifying; sensitive ones stay: safe when in doubt",
            on_click=lambda: ws.set_schema(others_quasi_identifying(ws.schema or ws.suggest())),
        )


def roles_table(ws: Workspace) -> None:
    """Draw the editable table; its edits become the schema."""
    key = f"roles {ws.edition} {ws.version}"
    state = ws.state(RolesState)
    if widget_state(key) is None:  # it begins now
        state.editor, state.basis = key, ws.schema or ws.suggest()
    basis = (state.basis if state.editor == key else ws.schema) or ws.suggest()
    edited = st.data_editor(
        rows(basis, ws.facts()),
        key=key,
        hide_index=True,
        column_config=COLUMNS,
        disabled=[name for name in COLUMNS if name not in EDITABLE],
        height=min(40 + 35 * len(basis.columns), 915),
    )
    schema = edited_schema(basis, edited, ws.schema.target if ws.schema else None)
    ws.set_schema(schema, from_editor=True)
    if ticked_in_vain(schema, edited):
        ws.version += 1
        st.toast("Numbers and dates have an order already.", icon=":material/info:")
        st.rerun()


def target_choice(ws: Workspace) -> None:
    """Draw which of the sensitive columns guides the tree."""
    sensitive = ws.schema.sensitive if ws.schema else ()
    if not sensitive or ws.schema is None:
        st.info(
            "No column is sensitive yet. Without one, nothing guides the grouping, and there is nothing to protect "
            "from being learnt. Mark at least one column as sensitive.",
            icon=":material/info:",
        )
        return
    target = st.selectbox(
        "Which sensitive column should the release keep predictable?",
        sensitive,
        index=sensitive.index(ws.schema.target) if ws.schema.target in sensitive else 0,
        key=f"target {ws.edition} {'|'.join(sensitive)}",
        help="The tree groups people so that this column can still be studied. All sensitive columns are protected.",
    )
    ws.set_schema(ws.schema.with_target(target), from_editor=True)


def main() -> None:
    ws = workspace()
    text = "Roles are given to the columns of a table. Bring one first; a built-in sample will do."
    if lacks(ws, "There is no table yet", text, roles=False):
        return
    st.title("What could an attacker know?", anchor=False)
    one_row(ws)
    for place, role in zip(st.columns(4), [role for role in ROLE_BADGES if role is not Role.PERSON], strict=True):
        place.markdown(f"{ROLE_BADGES[role]}  \n{ROLE_MEANINGS[role]}")
    try:
        quick_choices(ws)
        roles_table(ws)
        target_choice(ws)
        domain_editor(ws)
        notes = ws.flow.encoded.notes
    except AnonymizerError as error:
        problem(error)
        return
    for note in notes:
        st.info(plain(note), icon=":material/info:")
    if ws.schema and ws.schema.identifying:
        st.caption("Left out of every release: " + ", ".join(map(plain, ws.schema.identifying)) + ".")
    with st.container(border=True):
        risk_before(ws)
    next_step("tree", "Next: grow the tree")


main()
