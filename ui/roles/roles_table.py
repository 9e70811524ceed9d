"""The editable table of roles: a schema as rows, and edited rows as a schema."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from anonymizer.reading.profile import ColumnFacts
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.values import value_text
from ui.controls import KIND_LABELS, ROLE_LABELS, ROLE_MEANINGS

ROLE_OF = {label: role for role, label in ROLE_LABELS.items()}
KIND_OF = {label: kind for kind, label in KIND_LABELS.items()}

COLUMNS = {
    "Column": st.column_config.TextColumn(width=185, pinned=True),
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
    "Missing": st.column_config.NumberColumn(format="localized", width="small", help="How many records lack a value."),
    "Domain": st.column_config.TextColumn(
        width=150,
        help="The range or levels against which detail is measured: declared, or read from the data.",
    ),
    "Why": st.column_config.TextColumn(
        width="large", help="Why this role was suggested; what a column speaks of is read from its name."
    ),
}
EDITABLE = ("Role", "Kind", "Ordered")


def rows(schema: Schema, facts: Sequence[ColumnFacts]) -> pd.DataFrame:
    """Return one row a column of the table, in its order, with the headings of ``COLUMNS``."""
    return pd.DataFrame(
        [
            {
                "Column": column.name,
                "Role": ROLE_LABELS[column.role],
                "Kind": KIND_LABELS[column.kind],
                "Ordered": column.ordered,
                "Values": fact.distinct,
                "Missing": fact.missing,
                "Domain": domain_text(column, fact),
                "Why": column.reason,
            }
            for column, fact in zip(schema.columns, facts, strict=True)
        ],
        columns=list(COLUMNS),
    )


def edited_schema(basis: Schema, edited: pd.DataFrame, target: str | None) -> Schema:
    """Return the schema that the edited rows describe. A column that changes its kind loses its domain and grid."""
    columns = tuple(
        edited_column(column, ROLE_OF[role], KIND_OF[kind], bool(ordered))
        for column, role, kind, ordered in zip(
            basis.columns, edited["Role"], edited["Kind"], edited["Ordered"], strict=True
        )
    )
    persons = [column.name for column in columns if column.role is Role.PERSON]
    if len(persons) > 1:  # the latest edit counts
        columns = tuple(replace(c, role=Role.IDENTIFYING) if c.name == basis.person else c for c in columns)
    sensitive = [column.name for column in columns if column.role is Role.SENSITIVE]
    return Schema(columns, target if target in sensitive else None)


def edited_column(column: Column, role: Role, kind: Kind, ordered: bool) -> Column:
    """Return the column with another role, kind or order."""
    public = (column.domain, column.grid, column.groups) if kind is column.kind else (None, None, None)
    domain, grid, groups = public
    ordered = ordered and kind is Kind.CATEGORICAL
    return replace(column, role=role, kind=kind, domain=domain, grid=grid, groups=groups, ordered=ordered)


def ticked_in_vain(schema: Schema, edited: pd.DataFrame) -> bool:
    """Return True when *Ordered* is ticked for a column that is no category."""
    kinds = [column.kind for column in schema.columns]
    return any(ticked and kind is not Kind.CATEGORICAL for ticked, kind in zip(edited["Ordered"], kinds, strict=True))


def others_quasi_identifying(schema: Schema) -> Schema:
    """Return the schema with every insensitive column quasi-identifying; the others stay what they are."""
    columns = tuple(
        replace(column, role=Role.QUASI_IDENTIFYING) if column.role is Role.INSENSITIVE else column
        for column in schema.columns
    )
    return Schema(columns, schema.target)


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
