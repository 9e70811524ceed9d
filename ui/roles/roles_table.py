"""The editable table of roles: a schema as rows, and edited rows as a schema."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from anonymizer.cuts import Cuts
from anonymizer.reading.facts import ColumnFacts
from anonymizer.schema import ONCE, Column, Kind, Role, Schema
from anonymizer.values import value_text
from ui.controls import KIND_LABELS, ROLE_LABELS, ROLE_MEANINGS
from ui.roles.state import RolesState
from ui.session import widget_state
from ui.workspace import Workspace

ROLE_OF = {label: role for role, label in ROLE_LABELS.items()}
KIND_OF = {label: kind for kind, label in KIND_LABELS.items()}

COLUMNS = {
    "Column": st.column_config.TextColumn(width=185, pinned=True),
    "Label": st.column_config.TextColumn(width="medium", help="What the file says that the column is."),
    "Role": st.column_config.SelectboxColumn(
        options=list(ROLE_OF),
        required=True,
        width=190,
        help="  \n".join(f"**{label}**: {ROLE_MEANINGS[role]}." for label, role in ROLE_OF.items()),
    ),
    "Kind": st.column_config.SelectboxColumn(
        options=list(KIND_OF),
        required=True,
        width=105,
        help="Numbers and dates become intervals, categories become sets.",
    ),
    "Ordered": st.column_config.CheckboxColumn(
        width=95, help="The levels of this category have a natural order. Set the order below the table."
    ),
    "Values": st.column_config.NumberColumn(
        format="localized", width="small", help="How many different values there are."
    ),
    "Missing": st.column_config.NumberColumn(format="localized", width="small", help="How many rows lack a value."),
    "Domain": st.column_config.TextColumn(
        width=150,
        help="The range or levels against which detail is measured: declared, or read from the data.",
    ),
    "Why suggested": st.column_config.TextColumn(
        width="large", help="What speaks for the suggested role; what a column speaks of is read from its name."
    ),
}
EDITABLE = ("Role", "Kind", "Ordered")


def rows(schema: Schema, facts: Sequence[ColumnFacts]) -> pd.DataFrame:
    """Return one row a column of the table, in its order, with the headings of ``COLUMNS``."""
    return pd.DataFrame(
        [
            {
                "Column": column.name,
                "Label": column.variable.label,
                "Role": ROLE_LABELS[column.role],
                "Kind": KIND_LABELS[column.kind],
                "Ordered": column.ordered,
                "Values": fact.distinct,
                "Missing": fact.missing,
                "Domain": domain_text(column, fact),
                "Why suggested": column.reason,
            }
            for column, fact in zip(schema.columns, facts, strict=True)
        ],
        columns=list(COLUMNS),
    )


def with_edits(table: pd.DataFrame, edits: Mapping[int, Mapping[str, Any]]) -> pd.DataFrame:
    """Return the rows with cells that were edited; ``edits``: by row number, the new values by heading."""
    table = table.copy()
    for row, cells in edits.items():
        for heading, value in cells.items():
            table.iloc[int(row), table.columns.get_loc(heading)] = value
    return table


def edited_schema(basis: Schema, edited: pd.DataFrame, target: str | None) -> Schema:
    """Return the schema that the edited rows describe. A column that changes its kind loses its domain and grid, one
    that changes its role the reason for it; of two with a role of which there is one, the latest edit counts."""
    by_name = edited.set_index("Column")
    columns = tuple(
        edited_column(c, KIND_OF[by_name.at[c.name, "Kind"]], bool(by_name.at[c.name, "Ordered"]))
        for c in basis.columns
    )
    roles = {name: ROLE_OF[label] for name, label in by_name["Role"].items()}
    for role in ONCE:
        names = [name for name, own in roles.items() if own is role]
        if len(names) > 1:
            roles |= {name: Role.IDENTIFYING for name in names if name == basis.only(role)}
    schema = Schema(columns, basis.target).with_roles({str(name): role for name, role in roles.items()})
    return schema.with_target(target) if target in schema.sensitive else schema


def edited_column(column: Column, kind: Kind, ordered: bool) -> Column:
    """Return the column with another kind or order."""
    public = (column.domain, column.grid, column.groups) if kind is column.kind else (None, None, None)
    domain, grid, groups = public
    ordered = ordered and kind is Kind.CATEGORICAL
    domain = None if column.ordered and column.suggested and not ordered else domain
    cuts = column.cuts if kind is column.kind else Cuts()
    return replace(column, kind=kind, domain=domain, grid=grid, groups=groups, ordered=ordered, cuts=cuts)


def ticked_in_vain(schema: Schema, edited: pd.DataFrame) -> bool:
    """Return True when *Ordered* is ticked for a column that is no category."""
    kinds = [column.kind for column in schema.columns]
    return any(ticked and kind is not Kind.CATEGORICAL for ticked, kind in zip(edited["Ordered"], kinds, strict=True))


def others_quasi_identifying(schema: Schema) -> Schema:
    """Return the schema with every insensitive column quasi-identifying; the others stay what they are."""
    return schema.with_roles(dict.fromkeys(schema.insensitive, Role.QUASI_IDENTIFYING))


def domain_text(column: Column, fact: ColumnFacts, most: int = 6) -> str:
    """Return the domain as it stands, in a few words; "declared" when the steward gave it."""
    declared: tuple[Any, ...] = column.domain or ()
    if declared and column.kind is Kind.CATEGORICAL:
        first = ", ".join(map(str, declared[:most])) + (" …" if len(declared) > most else "")
        return f"{len(declared):,} declared: {first}"
    if declared:
        low, high = (pd.Timestamp(end) if column.kind is Kind.DATE else end for end in declared)
        return f"declared: {value_text(low)} to {value_text(high)}"
    return fact.summary


def take_edits(ws: Workspace) -> None:
    """Make what was edited in the table the schema, before anything is drawn that depends on it."""
    state = ws.state(RolesState)
    edits = widget_state(state.editor) if state.editor == editor_key(ws) else None
    if not edits or state.basis is None:
        return
    frame = with_edits(rows(state.basis, ws.facts()), edits["edited_rows"])
    schema = edited_schema(state.basis, frame, ws.schema.target if ws.schema else None)
    ws.set_schema(schema, from_editor=True)
    if ticked_in_vain(schema, frame):
        ws.version += 1
        st.toast("Numbers and dates have an order already.", icon=":material/info:")


def editor_key(ws: Workspace) -> str:
    """Return the widget key of the roles table as it is now."""
    return f"roles {ws.edition} {ws.version}"


def roles_table(ws: Workspace) -> None:
    """Draw the editable table; its edits are counted from the schema with which it began."""
    key, state = editor_key(ws), ws.state(RolesState)
    if widget_state(key) is None or state.basis is None:  # it begins now
        state.editor, state.basis = key, ws.schema or ws.suggest()
    st.data_editor(
        rows(state.basis, ws.facts()),
        key=key,
        hide_index=True,
        column_config=COLUMNS,
        column_order=[
            name for name in COLUMNS if name != "Label" or any(c.variable.label for c in state.basis.columns)
        ],
        disabled=[name for name in COLUMNS if name not in EDITABLE],
        height=min(40 + 35 * len(state.basis.columns), 915),
    )
