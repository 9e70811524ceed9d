"""What the steward changed: from the suggestion to now, for which reason, and back."""

from collections import defaultdict
from dataclasses import replace

import streamlit as st

from anonymizer.schema import LONGEST_REASON, Role, Schema
from ui.controls import ROLE_BADGES, plain, plural
from ui.history import undo_redo
from ui.roles.state import RolesState
from ui.session import widget_state
from ui.workspace import Workspace

AT_ONCE = 4
"""Columns that a line names."""

LINES = 12
"""Lines that are drawn; the steward is told of others."""

Change = tuple[Role, Role, str]
"""The suggested role, the role now, and the steward's reason."""


def changes_of(schema: Schema, suggested: Schema) -> dict[Change, tuple[str, ...]]:
    """Return the columns in another role than the suggested one, or with a reason of the steward, by what was done."""
    lines: dict[Change, list[str]] = defaultdict(list)
    for now, before in zip(schema.columns, suggested.columns, strict=True):
        if now.role is not before.role or now.own_reason:
            lines[before.role, now.role, now.own_reason].append(now.name)
    return {change: tuple(names) for change, names in lines.items()}


def changes(ws: Workspace) -> None:
    """Draw a line for each change, and the way back through them."""
    schema, suggested = ws.schema or ws.suggest(), ws.suggest()
    lines = changes_of(schema, suggested)
    n = sum(map(len, lines.values()))
    ws.remember()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="roles-changes"
    ):
        st.header(f"You changed {n:,} of {plural(len(schema.columns), 'column')}", anchor=False, width="content")
        undo_redo(ws)
    if not lines:
        return
    st.caption("Your reasons go into the internal report.")
    for place, (change, names) in enumerate(list(lines.items())[:LINES]):
        line(ws, place, change, names)
    if len(lines) > LINES:
        st.caption(f"{len(lines) - LINES:,} more kinds of changes are not drawn here; the table has them all.")


def line(ws: Workspace, place: int, change: Change, names: tuple[str, ...]) -> None:
    """Draw one change: which columns, from and to, the reason, and a button that takes it back."""
    before, now, reason = change
    some = ", ".join(f"**{plain(name)}**" for name in names[:AT_ONCE])
    more = f" and {len(names) - AT_ONCE:,} more" if len(names) > AT_ONCE else ""
    key = f"reason {ws.edition} {place} {'|'.join(names)} {now} {ws.state(RolesState).reverted}"
    what, why, back = st.columns([5, 5, 1.4], vertical_alignment="center")
    what.markdown(f"{some}{more}  \n{ROLE_BADGES[before]} → {ROLE_BADGES[now]}")
    why.text_input(
        f"Your reason for {', '.join(map(plain, names[:AT_ONCE]))}",
        reason,
        max_chars=LONGEST_REASON,
        placeholder="Why? It goes into the report.",
        key=key,
        label_visibility="collapsed",
        on_change=lambda: give_reason(ws, names, widget_state(key) or ""),
    )
    back.button("Revert", key=f"revert {key}", type="tertiary", on_click=revert, args=(ws, names))


def give_reason(ws: Workspace, names: tuple[str, ...], reason: str) -> None:
    """Note why the steward gave some columns their role."""
    ws.set_schema(with_own_reason(ws.schema or ws.suggest(), names, " ".join(reason.split())))


def with_own_reason(schema: Schema, names: tuple[str, ...], reason: str) -> Schema:
    """Return the schema in which these columns have this reason of the steward."""
    columns = tuple(replace(c, own_reason=reason) if c.name in names else c for c in schema.columns)
    return Schema(columns, schema.target)


def revert(ws: Workspace, names: tuple[str, ...]) -> None:
    """Give some columns the role back that was suggested for them."""
    suggested = ws.suggest()
    ws.state(RolesState).reverted += 1
    schema = (ws.schema or suggested).with_roles({name: suggested[name].role for name in names})
    ws.set_schema(with_own_reason(schema, names, ""))
