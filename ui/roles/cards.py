"""The columns in groups, each a card: one role for all of its columns, or for those that are chosen."""

from collections.abc import Sequence

import streamlit as st

from anonymizer.attacks.circles import Circle, alike, circles_of
from anonymizer.schema import ONCE, Role, Schema
from ui.controls import ROLE_DOTS, ROLE_NAMES, count, plain, plural, share
from ui.roles.state import RolesState
from ui.session import widget_state
from ui.workspace import Workspace

AT_ONCE = 8
"""Columns that a card shows before it is opened."""

MOST_CELLS = 4_000_000
"""Cells of a group up to which its unique rows are counted for its card."""


def circles(ws: Workspace) -> tuple[Circle, ...]:
    """Return the groups of the table's columns."""
    return ws.answers.get("circles", id(ws.reading), lambda: circles_of(ws.suggest(), ws.facts()))


def cards(ws: Workspace) -> None:
    """Draw all cards, two beside each other."""
    groups, schema = circles(ws), ws.schema or ws.suggest()
    for first in range(0, len(groups), 2):
        pairs = enumerate(zip(st.columns(2), groups[first : first + 2], strict=False), first)
        for number, (place, circle) in pairs:
            with place, st.container(border=True, height="stretch", gap="small", key=f"roles-card-{number}"):
                card(ws, schema, circle)


def card(ws: Workspace, schema: Schema, circle: Circle) -> None:
    """Draw one group: its title, role, columns and a sentence."""
    state = ws.state(RolesState)
    key = f"{circle.key} {ws.edition} {state.acts.get(circle.key, 0)}"
    picked = [name for name in widget_state(f"columns {key}") or () if name in circle.names]
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
        st.markdown(f"### {plain(circle.title)}", width="stretch")
        role_choice(ws, schema, circle, picked, key)
    is_open = circle.key in state.opened
    names = circle.names if is_open or len(circle.names) <= AT_ONCE + 1 else circle.names[:AT_ONCE]
    st.pills(
        f"Columns of: {plain(circle.title)}",
        names,
        selection_mode="multi",
        format_func=lambda name: f"{ROLE_DOTS[schema[name].role]} {plain(schema[name].variable.full_name(name))}",
        key=f"columns {key}",
        label_visibility="collapsed",
        help="Choose some to give only these another role.",
    )
    st.caption(sentence(ws, schema, circle))
    with st.container(horizontal=True, gap="medium"):
        if len(circle.names) > AT_ONCE + 1:
            label = "Fewer" if is_open else f"… {len(circle.names) - AT_ONCE:,} more"
            st.button(label, type="tertiary", key=f"more {key}", on_click=toggle, args=(state, circle.key))
        if circle.is_block and not picked:
            for role in (Role.SENSITIVE, Role.QUASI_IDENTIFYING):
                if alike(schema[name].role for name in circle.names) is not role:
                    st.button(
                        f"Make all {ROLE_NAMES[role].lower()}", type="tertiary", key=f"make {role} {key}",
                        on_click=give, args=(ws, circle.key, circle.names, role),
                    )  # fmt: skip


def role_choice(ws: Workspace, schema: Schema, circle: Circle, picked: Sequence[str], key: str) -> None:
    """Draw the one role of a card: of all its columns, or of those that are picked."""
    names = tuple(picked) or circle.names
    role = alike(schema[name].role for name in names)
    options = [option for option in ROLE_NAMES if option not in ONCE or len(names) == 1]
    whose = f"{len(picked):,} chosen of: " if picked else ""
    box = f"role {key} {'|'.join(picked)} {role}"
    st.selectbox(
        f"Role of {whose}{plain(circle.title)}",
        options,
        index=None if role is None else options.index(role),
        format_func=lambda option: f"{ROLE_DOTS[option]} {ROLE_NAMES[option]}",
        placeholder="several roles",
        key=box,
        label_visibility="visible" if picked else "collapsed",
        filter_mode="contains",
        width=190,
        on_change=lambda: give(ws, circle.key, names, widget_state(box)),
    )


def give(ws: Workspace, circle: str, names: Sequence[str], role: Role | None) -> None:
    """Give some columns of a card a role, in one act; nothing is picked after it."""
    if role is None:
        return
    state = ws.state(RolesState)
    state.acts[circle] = state.acts.get(circle, 0) + 1
    ws.set_schema((ws.schema or ws.suggest()).with_roles(dict.fromkeys(names, role)))


def toggle(state: RolesState, circle: str) -> None:
    """Open a card, or close it."""
    state.opened ^= {circle}


def sentence(ws: Workspace, schema: Schema, circle: Circle) -> str:
    """Return what is known of a group: who could know it, and how far its released columns single rows out."""
    names = tuple(name for name in circle.names if schema[name].role in (Role.QUASI_IDENTIFYING, Role.INSENSITIVE))
    rows = ws.n_records
    if len(names) < 2 or not rows or len(names) * rows > MOST_CELLS:
        return plain(circle.text)
    unique = ws.unique_on(circle.key, names)
    if not unique:
        return f"{plain(circle.text)} With these alone no row is unique."
    part = f"{count(unique)} of {plural(rows, 'row')} ({share(unique / rows)})"
    return f"{plain(circle.text)} With these alone {part} {'is' if unique == 1 else 'are'} unique."
