"""The public hierarchy of a column: named here or opened in ARX's form, shown level by level, removed, downloaded."""

from collections.abc import Callable, Iterator

import pandas as pd
import streamlit as st

from anonymizer.cuts import Cuts
from anonymizer.errors import AnonymizerError
from anonymizer.hierarchy import ANYTHING, Hierarchy
from anonymizer.releasing.hierarchies import public_hierarchy
from anonymizer.schema import Column, Kind, Role
from ui.controls import plain, plural, problem
from ui.roles.state import RolesState
from ui.workspace import Workspace

HELP = (
    "A CSV file without a header, as ARX writes it: in each row a value and, after semicolons, what it is generalized "
    "to, level by level: `Sales;Nontechnical;*`. The tree then splits between whole groups only, and cells say groups "
    "by these words (numbers: from the group's lowest to its highest)."
)

BY_HAND = (
    "Give levels the same name in *Group*, and the tree keeps them together. A released cell shows a level, the name "
    "of its group, or `*`. The groups count as public, so add the levels that your table lacks."
)
MOST_LEVELS = 500
"""Levels whose groups can sensibly be named by hand."""


def hierarchy_editor(ws: Workspace, column: Column) -> None:
    """Draw the hierarchy of a quasi-identifying column of levels or numbers, or where one is dropped."""
    if column.kind is Kind.DATE or column.role is not Role.QUASI_IDENTIFYING:
        return
    if ws.in_pieces and not column.cuts:
        st.caption("Public cuts and hierarchies take a smaller table: this one is kept in pieces.")
        return
    if column.cuts.hierarchy is not None:
        levels(column.cuts.hierarchy)
    with st.container(horizontal=True, vertical_alignment="center"):
        if column.cuts.hierarchy is None:
            bring(ws, column)
        else:
            st.button("Take the hierarchy off", on_click=take_off, args=(ws, column.name), icon=":material/delete:")
        take_away(ws, column)
    if column.cuts.hierarchy is None and column.kind is Kind.CATEGORICAL:
        name_groups(ws, column)


def levels(hierarchy: Hierarchy) -> None:
    """Draw how many groups each level has, and the first of them."""
    st.markdown(f"**Public hierarchy**: {plural(len(hierarchy.values), 'value')}.")
    rows = [
        {"Level": level, "Groups": count, "Such as": ", ".join(words) + (" …" if count > len(words) else "")}
        for level, (count, words) in enumerate(hierarchy.levels(), 1)
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)


def bring(ws: Workspace, column: Column) -> None:
    """Draw where a hierarchy is dropped, and take it."""
    state = ws.state(RolesState)
    file = st.file_uploader(
        "Hierarchy of this column (ARX's CSV)", type=["csv", "txt"], help=HELP,
        key=f"hierarchy {ws.edition} {state.hierarchies} {column.name}",
    )  # fmt: skip
    if file is not None:
        take(ws, column, lambda: Hierarchy.from_csv(file.getvalue()))


def take(ws: Workspace, column: Column, make: Callable[[], Hierarchy]) -> None:
    """Make a hierarchy that of the column, or say why it cannot be."""
    if ws.schema is None:
        return
    try:
        changed = ws.schema.with_column(column.name, cuts=Cuts(hierarchy=make()), domain=None)
        ws.encoding(changed[column.name])
    except AnonymizerError as error:
        problem(error)
        return
    ws.state(RolesState).hierarchies += 1
    ws.set_schema(changed)
    st.rerun()


def name_groups(ws: Workspace, column: Column) -> None:
    """Draw a table in which levels get the name of their group, and take the groups as a public hierarchy."""
    labels = column.domain or ws.encoding(Column(column.name, column.role, column.kind)).labels
    if not 2 <= len(labels) <= MOST_LEVELS:
        return
    st.markdown("**Or name groups of levels here**", help=BY_HAND)
    rows = pd.DataFrame({"Level": [str(label) for label in labels], "Group": ""})
    table = st.data_editor(
        rows, hide_index=True, num_rows="dynamic",
        key=f"groups of {ws.edition} {ws.state(RolesState).hierarchies} {column.name}",
        height=min(40 + 36 * len(labels), 320), width="stretch",
    )  # fmt: skip
    if st.button("Use these groups", disabled=not table["Group"].fillna("").str.strip().any()):
        take(ws, column, lambda: Hierarchy(tuple(rows_of(table))))


def rows_of(table: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Yield a row of a hierarchy for each level: its group, or itself where it is in none, and all levels above."""
    for level, group in table.fillna("").itertuples(index=False):
        if level.strip():
            yield level, group.strip() or level, ANYTHING


def take_off(ws: Workspace, name: str) -> None:
    """Take the hierarchy of a column off; its values are then read from the data again."""
    if ws.schema is not None:
        ws.set_schema(ws.schema.with_column(name, cuts=Cuts(), domain=None))


def take_away(ws: Workspace, column: Column) -> None:
    """Draw the download of a column's public groups as a hierarchy, where they are public."""
    try:
        hierarchy = public_hierarchy(column)
    except AnonymizerError as error:
        if column.cuts or column.groups is not None:
            st.caption(plain(f"No hierarchy to take away: {error}"))
        return
    st.download_button(
        "Hierarchy (ARX's CSV)", hierarchy.to_csv(), f"{file_name(column.name)}.csv", "text/csv",
        icon=":material/download:", key=f"download hierarchy {ws.edition} {column.name}", on_click="ignore",
    )  # fmt: skip


def file_name(name: str) -> str:
    """Return a file's name for the hierarchy of a column."""
    return "hierarchy-" + "".join(letter if letter.isalnum() else "-" for letter in name)[:60]
