"""The columns in groups, each a card: one role for all of its columns, or for those that are chosen."""

from collections.abc import Mapping, Sequence

import streamlit as st

from anonymizer.reading.patterns import HOUSEHOLD_WORDS, header_phrases
from anonymizer.reading.who_knows import Circle, alike, circles_of
from anonymizer.schema import DESIGN, ONCE, Role, Schema
from ui.controls import ROLE_COLOURS, ROLE_LABELS, ROLE_LETTERS, ROLE_NAMES, count, plain, plural, share
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
    """Draw all cards, and the bar that gives selected columns a role."""
    groups, schema = circles(ws), ws.schema or ws.suggest()
    selected: dict[str, list[str]] = {}
    for number, circle in enumerate(groups):
        with st.container(gap=5, key=f"roles-card-{number}"):
            selected[circle.key] = card(ws, schema, circle)
    bar(ws, schema, selected)


def card(ws: Workspace, schema: Schema, circle: Circle) -> list[str]:
    """Draw one group: its title, role, columns and a sentence; return the columns that are selected."""
    state = ws.state(RolesState)
    key = f"{circle.key} {ws.edition} {state.acts}"
    about, columns = st.columns([2, 5], gap="medium")
    with about:
        st.markdown(f"### {plain(circle.title)}")
        st.caption(plain(circle.text), help=unique_text(ws, schema, circle))
        role_choice(ws, schema, circle)
    is_open = circle.key in state.opened
    names = circle.names if is_open or len(circle.names) <= AT_ONCE + 1 else circle.names[:AT_ONCE]
    selected = columns.pills(
        f"Columns of: {plain(circle.title)}",
        names,
        selection_mode="multi",
        format_func=lambda name: chip(schema, name),
        key=f"columns {key}",
        label_visibility="collapsed",
        help="Select some to give only these another role.",
    )
    with columns, st.container(horizontal=True, gap="medium"):
        if len(circle.names) > AT_ONCE + 1:
            label = "Fewer" if is_open else f"… {len(circle.names) - AT_ONCE:,} more"
            st.button(label, type="tertiary", key=f"more {key}", on_click=toggle, args=(state, circle.key))
        if circle.is_block:
            for role in (Role.SENSITIVE, Role.QUASI_IDENTIFYING):
                if alike(schema[name].role for name in circle.names) is not role:
                    st.button(
                        f"Make all {ROLE_NAMES[role].lower()}", type="tertiary", key=f"make {role} {key}",
                        on_click=give, args=(ws, circle.names, role),
                    )  # fmt: skip
    return [name for name in selected if name in circle.names]


def chip(schema: Schema, name: str) -> str:
    """Return the label of a column: the letter of its role in the role's colour, and its name."""
    role = schema[name].role
    return f":{ROLE_COLOURS[role]}-badge[{ROLE_LETTERS[role]}] {plain(schema[name].variable.full_name(name))}"


def role_choice(ws: Workspace, schema: Schema, circle: Circle) -> None:
    """Draw the one role of all columns of a card."""
    names = circle.names
    role = alike(schema[name].role for name in names)
    options = options_for(names)
    box = f"role {circle.key} {ws.edition} {role}"
    st.selectbox(
        f"Role of {plain(circle.title)}",
        options,
        index=None if role is None else options.index(role),
        format_func=lambda option: ROLE_LABELS[option],
        placeholder="several roles",
        key=box,
        label_visibility="collapsed",
        filter_mode="contains",
        on_change=lambda: give(ws, names, widget_state(box)),
    )


def options_for(names: Sequence[str]) -> list[Role]:
    """Return the roles that all of some columns can have at once."""
    return [option for option in ROLE_NAMES if option not in ONCE or len(names) == 1]


def in_bar(ws: Workspace, schema: Schema, names: Sequence[str]) -> list[Role]:
    """Return the roles that the bar offers: those that say how a sample was drawn only where a column has or was
    suggested one, or numbers households. The roles table offers all."""
    of_sample = any(
        {schema[name].role, ws.suggest()[name].role} & set(DESIGN) or header_phrases(name) & HOUSEHOLD_WORDS
        for name in names
    )
    return [option for option in options_for(names) if of_sample or option not in DESIGN]


def bar(ws: Workspace, schema: Schema, selected: Mapping[str, Sequence[str]]) -> None:
    """Draw the bar above the window's lower edge, always as high: which columns are selected, and the roles for them,
    their present one as pressed."""
    names = [name for part in selected.values() for name in part]
    state = ws.state(RolesState)
    with st.bottom, st.container(horizontal=True, wrap=False, vertical_alignment="center", key="roles-bar"):
        if not names:
            st.caption("Select columns to set roles.")
            return
        first = ", ".join(plain(shorter(name)) for name in names[:NAMED]) + (" …" if len(names) > NAMED else "")
        role = alike(schema[name].role for name in names)
        st.markdown(f"**{plural(len(names), 'column')}**: {first}", width="content")
        key = f"bar {ws.edition} {state.acts} {'|'.join(names)}"
        st.segmented_control(
            "Role of the selected columns", in_bar(ws, schema, names), default=role, key=key,
            label_visibility="collapsed", format_func=lambda option: ROLE_LABELS[option], width="content",
            on_change=lambda: give(ws, names, widget_state(key)),
        )  # fmt: skip
        st.caption(preview(ws, schema, names, role))
        st.button("Clear", type="tertiary", key="clear columns", on_click=clear, args=(state,))


NAMED, LONGEST = 2, 22
"""Columns that the bar names, and letters of a name at most."""


def shorter(name: str) -> str:
    """Return a name that has room in the bar."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def clear(state: RolesState) -> None:
    """Select no column any more."""
    state.acts += 1


def give(ws: Workspace, names: Sequence[str], role: Role | None) -> None:
    """Give some columns a role, in one act; no column is selected after it."""
    clear(ws.state(RolesState))
    if role is not None:
        ws.set_schema((ws.schema or ws.suggest()).with_roles(dict.fromkeys(names, role)))


def toggle(state: RolesState, circle: str) -> None:
    """Open a card, or close it."""
    state.opened ^= {circle}


def unique_text(ws: Workspace, schema: Schema, circle: Circle) -> str | None:
    """Return how far the released columns of a group single rows out by themselves; ``None`` where few are released."""
    names = tuple(name for name in circle.names if schema[name].role in (Role.QUASI_IDENTIFYING, Role.INSENSITIVE))
    rows = ws.n_records
    if len(names) < 2 or not rows or len(names) * rows > MOST_CELLS:
        return None
    unique = ws.unique_on(circle.key, names)
    if not unique:
        return "With these alone no row is unique."
    part = f"{count(unique)} of {plural(rows, 'row')} ({share(unique / rows)})"
    return f"With these alone {part} {'is' if unique == 1 else 'are'} unique."


def preview(ws: Workspace, schema: Schema, names: Sequence[str], role: Role | None) -> str:
    """Return what the likeliest other role of some columns would do to the rows that fit one person only, in a
    sentence; "" where that is not counted."""
    other = {Role.QUASI_IDENTIFYING: Role.SENSITIVE, Role.SENSITIVE: Role.QUASI_IDENTIFYING}.get(role) if role else None
    if other is None or ws.table is None:
        return ""
    changed = schema.with_roles(dict.fromkeys(names, other))
    n = len(changed.quasi_identifying)
    if not n or n * ws.n_records > MOST_CELLS:
        return ""
    then = ws.answers.get("preview", (ws.edition, changed), lambda: ws.flow.but(schema=changed).before.unique)
    now = ws.flow.before.unique
    return f"If {ROLE_NAMES[other].lower()}: {count(then)} rows fit one person only, now {count(now)}."
