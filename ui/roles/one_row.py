"""The first question of the Roles page: what is one row? Persons are counted by the answer."""

import streamlit as st

from anonymizer.reading.files import Reading
from anonymizer.reading.patterns import HOUSEHOLD_WORDS, header_phrases
from anonymizer.reading.profile import household_columns, person_columns
from anonymizer.schema import Role, Schema
from ui.controls import plain, plural
from ui.roles.state import RolesState
from ui.session import widget_state
from ui.workspace import Workspace

PERSON, EVENT, HOUSEHOLD = "A person", "A visit or payment", "A household member"
"""The answers. An event is a visit, a payment, or whatever else a person can have several of."""


def one_row(ws: Workspace) -> None:
    """Draw the question, and what follows from the answer."""
    schema, facts = ws.schema or ws.suggest(), {fact.name: fact for fact in ws.facts()}
    names = row_columns(ws, schema)
    answer = row_answer(ws, schema)
    key = f"one row {ws.edition} {answer}"
    st.pills(
        "What is one row?",
        [PERSON, EVENT, HOUSEHOLD] if names else [PERSON],
        default=answer,
        required=True,
        key=key,
        label_visibility="collapsed",
        on_change=lambda: answer_row(ws, widget_state(key) or PERSON),
        help="A visit, a payment or an event is not a person: ten rows that look alike can all be one patient's. Name "
        "the column that tells whose a row is, and k, l and t count persons. To protect a household as a whole, name "
        "its column.",
    )
    if schema.person or answer == HOUSEHOLD:
        box = f"whose {ws.edition} {schema.person}"
        st.selectbox(
            "Rows with the same value belong to one household"
            if answer == HOUSEHOLD
            else "Rows with the same value belong to one person",
            names,
            index=names.index(schema.person) if schema.person else None,
            placeholder="Choose a column",
            key=box,
            on_change=lambda: ws.set_schema(with_person(ws.schema or ws.suggest(), widget_state(box) or "")),
        )
    if schema.person:
        fact = facts[schema.person]
        one, many = ("household", "households") if answer == HOUSEHOLD else ("person", "persons")
        st.caption(f"**{plural(fact.present, 'row')} of {plural(fact.distinct, one, many)}**")
    elif likely := person_columns(schema, ws.facts()):
        fact = facts[likely[0]]
        st.warning(
            f"Values of {plain(likely[0])} repeat: {plural(fact.present, 'row')}, {plural(fact.distinct, 'value')}. If "
            "they are persons, a group of k rows can be one person's. Say above what one row is.",
            icon=":material/warning:",
        )
    else:
        st.caption("Each row is one person.")


def row_columns(ws: Workspace, schema: Schema) -> list[str]:
    """Return the columns that could tell whose a row is, the likeliest first."""
    repeating = [fact.name for fact in ws.facts() if 1 < fact.distinct < fact.present]
    likely = person_columns(schema, ws.facts())
    return list(dict.fromkeys([*([schema.person] if schema.person else []), *likely, *repeating]))


def row_answer(ws: Workspace, schema: Schema) -> str:
    """Return the answer that the schema holds."""
    is_household = ws.state(RolesState).is_household or bool(header_phrases(schema.person or "") & HOUSEHOLD_WORDS)
    return HOUSEHOLD if is_household else EVENT if schema.person else PERSON


def answer_row(ws: Workspace, answer: str) -> None:
    """Take over an answer: the likeliest column tells whose a row is, or the likeliest that numbers households; where
    none looks like that, the person says which."""
    schema = ws.schema or ws.suggest()
    names = row_columns(ws, schema)
    ws.state(RolesState).is_household = answer == HOUSEHOLD
    if answer == PERSON:
        ws.set_schema(with_person(schema, ""))
        return
    reading = ws.reading
    rows = reading.frame if isinstance(reading, Reading) else None
    households = household_columns(rows, ws.facts(), reading.variables if reading else {})
    if answer == HOUSEHOLD:
        ws.set_schema(with_person(schema, households[0] if households else ""))
        return
    fitting = [name for name in names if name not in households]
    ws.set_schema(with_person(schema, (fitting or names)[0]))


def with_person(schema: Schema, name: str) -> Schema:
    """Return the schema in which a column tells whose a row is ("": none); another that did so is identifying."""
    if name:
        return schema.with_roles({name: Role.PERSON})
    return schema.with_roles({schema.person: Role.IDENTIFYING} if schema.person else {})
