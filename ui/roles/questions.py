"""The questions of the Roles page: what one row is, what nobody may learn, what should stay worth studying; and, below
the columns, which of them a later release will have."""

import streamlit as st

from anonymizer.schema import LEFT_OUT, Role
from ui.controls import plain
from ui.roles.one_row import one_row
from ui.session import widget_state
from ui.workspace import Workspace

AT_ONCE = 6
"""Sensitive columns that are named."""
TWICE = 2.0
"""How often the detail of a column counts that a later release will have."""


def questions(ws: Workspace) -> None:
    """Draw the three questions beside each other, each answered as suggested."""
    first, second, third = st.columns(3)
    with first, st.container(border=True, height="stretch", gap="small", key="roles-question-1"):
        st.markdown("## 1 · What is one row?")
        one_row(ws)
    with second, st.container(border=True, height="stretch", gap="small", key="roles-question-2"):
        st.markdown("## 2 · What must stay secret?")
        secrets(ws)
    with third, st.container(border=True, height="stretch", gap="small", key="roles-question-3"):
        st.markdown("## 3 · What should stay useful?")
        target_choice(ws)


def secrets(ws: Workspace) -> None:
    """Draw the sensitive columns, and the way to name others."""
    schema = ws.schema or ws.suggest()
    names = schema.sensitive
    badges = " ".join(f":violet-badge[{plain(schema[name].variable.full_name(name))}]" for name in names[:AT_ONCE])
    more = f" and {len(names) - AT_ONCE:,} more" if len(names) > AT_ONCE else ""
    st.markdown(badges + more if names else "Nothing yet: there is nothing to protect from being learnt.")
    key = f"sensitive {ws.edition} {'|'.join(names)}"
    with st.popover("Add columns", icon=":material/add:"):
        st.multiselect(
            "Sensitive columns",
            [column.name for column in schema.columns if column.role not in LEFT_OUT],
            list(names),
            key=key,
            format_func=lambda name: plain(schema[name].variable.full_name(name)),
            on_change=lambda: name_secrets(ws, widget_state(key)),
        )


def name_secrets(ws: Workspace, names: list[str]) -> None:
    """Make exactly these columns sensitive; one that is so no more is what was suggested, or quasi-identifying."""
    schema, suggested = ws.schema or ws.suggest(), ws.suggest()
    roles = dict.fromkeys(names, Role.SENSITIVE)
    for name in schema.sensitive:
        role = suggested[name].role
        roles.setdefault(name, Role.QUASI_IDENTIFYING if role is Role.SENSITIVE else role)
    ws.set_schema(schema.with_roles(roles))


def target_choice(ws: Workspace) -> None:
    """Draw which of the sensitive columns is the target."""
    sensitive = ws.schema.sensitive if ws.schema else ()
    if not sensitive or ws.schema is None:
        st.info(
            "No column is sensitive yet, so there is nothing to protect from being learnt. Mark at least one column as "
            "sensitive.",
            icon=":material/info:",
        )
        return
    schema = ws.schema
    target = st.selectbox(
        "On which sensitive column are errors counted?",
        sensitive,
        index=sensitive.index(ws.schema.target) if ws.schema.target in sensitive else 0,
        key=f"target {ws.edition} {'|'.join(sensitive)}",
        format_func=lambda name: schema[name].variable.full_name(name),
        label_visibility="collapsed",
        help="The tree can be guided by this column, too. All sensitive columns are protected.",
    )
    ws.set_schema(ws.schema.with_target(target), from_editor=True)
    st.caption("Errors are counted on it.")


def plan_ahead(ws: Workspace) -> None:
    """Draw the question which quasi-identifying columns a later release will have, and take the answer."""
    schema = ws.schema
    if schema is None or len(schema.quasi_identifying) < 2:
        return
    names = list(schema.quasi_identifying)
    later = [name for name in names if schema[name].importance > 1]
    key = f"later columns {ws.edition}"

    def take() -> None:
        assert ws.schema is not None
        answer, plan = set(widget_state(key) or ()), ws.schema
        for name in names:
            before = plan[name].importance
            plan = plan.with_column(name, importance=(max(before, TWICE) if name in answer else min(before, 1.0)))
        ws.set_schema(plan)

    with st.expander("Plan ahead", icon=":material/event_upcoming:", expanded=bool(later)):
        st.multiselect(
            "Will another release of these people have fewer of these columns? Choose those that it will have.",
            names,
            later,
            format_func=plain,
            key=key,
            placeholder="No other release is planned",
            on_change=take,
        )
        if later:
            st.caption(
                "The detail of these columns counts twice where groups are refined or packed. A later release that "
                "keeps these groups then loses less, and this one more."
            )
