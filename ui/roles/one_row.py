"""The first question of the Roles page: what is one row? Persons are counted by the answer."""

import streamlit as st

from anonymizer.reading.profile import person_columns
from anonymizer.schema import Role, Schema
from ui.controls import plain, plural
from ui.session import widget_state
from ui.workspace import Workspace

EACH = ""
"""The answer that every row is a person of its own."""


def one_row(ws: Workspace) -> None:
    """Draw the question, and what follows from the answer."""
    schema, facts = ws.schema or ws.suggest(), {fact.name: fact for fact in ws.facts()}
    likely = person_columns(schema, ws.facts())
    repeating = [name for name, fact in facts.items() if 1 < fact.distinct < fact.present]
    names = list(dict.fromkeys([*([schema.person] if schema.person else []), *likely, *repeating]))
    key = f"one row {ws.edition} {ws.version}"
    st.selectbox(
        "What is one row?",
        [EACH, *names],
        index=names.index(schema.person) + 1 if schema.person else 0,
        key=key,
        format_func=answer,
        on_change=lambda: ws.set_schema(with_person(schema, widget_state(key) or EACH)),
        help="A visit, a payment or an event is not a person: ten rows that look alike can all be one patient's. Name "
        "the column that tells whose a row is, and k, l and t count persons. To protect a household as a whole, name "
        "its column.",
    )
    if schema.person:
        fact = facts[schema.person]
        st.success(
            f"**{plural(fact.present, 'row')} of {plural(fact.distinct, 'person')}**: k, l and t count persons. "
            f"{plain(schema.person)} is left out of the release.",
            icon=":material/groups:",
        )
    elif likely:
        fact = facts[likely[0]]
        st.warning(
            f"Values of {plain(likely[0])} repeat: {plural(fact.present, 'row')}, {plural(fact.distinct, 'value')}. If "
            "they are persons, a group of k rows can be one person's. Say above what one row is.",
            icon=":material/warning:",
        )


def answer(name: str) -> str:
    """Return an answer in words."""
    return f"One of the rows of a person: equal {name} is one person" if name else "A person: every row is another one"


def with_person(schema: Schema, name: str) -> Schema:
    """Return the schema in which a column tells whose a row is (``EACH``: none); another that did so is identifying."""
    if schema.person and schema.person != name:
        schema = schema.with_column(schema.person, role=Role.IDENTIFYING)
    return schema.with_column(name, role=Role.PERSON) if name else schema
