"""What somebody who knows a few things about one person would learn: from the original, the release, the scenarios."""

import pandas as pd
import streamlit as st

from anonymizer.attacks.look_up import Matches, look_up, person
from anonymizer.errors import AnonymizerError, MemoryOnlyError
from anonymizer.growing.encode import EncodedTable
from anonymizer.releasing.generalize import TAKES_LONG
from anonymizer.whatif.scenarios import Scenario
from ui.controls import count, plain, problem, share
from ui.job import answer_of_job
from ui.what_if.state import WhatIfState
from ui.workspace import Workspace

MOST_LEVELS = 200


def knowledge(ws: Workspace) -> None:
    """Draw what is known of one person, who remains, and what is learnt."""
    if ws.in_pieces:
        raise MemoryOnlyError("Looking one person up")
    facts = known_values(ws)
    table, schema = ws.table, ws.schema
    assert table is not None
    assert schema is not None
    left, right = st.columns(2, gap="large")
    try:
        with left:
            show("From the original table", look_up(table, schema, facts, released=False))
        with right:
            show("From the release of this setting", look_up(ws.flow.released, schema, facts))
        if ws.scenarios and st.toggle("Also from every scenario", key="knowledge of scenarios"):
            for scenario in ws.scenarios:
                released = release_of_scenario(ws, scenario)
                if released is not None:
                    show(scenario.name, look_up(released, schema, facts))
    except AnonymizerError as error:
        problem(error)


def release_of_scenario(ws: Workspace, scenario: Scenario) -> pd.DataFrame | None:
    """Return the released rows of a scenario, made once as long as the table and its roles stay the same. A generalizer
    that takes long works in the background; until it is done its progress and Cancel are drawn, and ``None`` comes."""
    releases: dict[str, pd.DataFrame] = ws.answers.get("releases of scenarios", ws.flow.encoded, dict)
    key = repr(sorted(scenario.parameters.items()))
    if key not in releases:
        flow = ws.flow.but(**scenario.parameters)
        if flow.settings.generalizer in TAKES_LONG:
            st.markdown(f"**{plain(scenario.name)}**")
            name = f"release of {key}"
            rows = answer_of_job(ws, name, flow.schema, "", lambda job: flow.watch(job.go_on).released)
            if rows is None:
                return None
            releases[key] = rows
        else:
            with st.spinner(f"Making the release of {plain(scenario.name)} …"):
                releases[key] = flow.released
    return releases[key]


def known_values(ws: Workspace) -> dict[str, str | None]:
    """Return what is known of one person: the values of a row of the table, of columns that are ticked; each can be
    changed."""
    table, schema, encoded = ws.table, ws.schema, ws.flow.encoded
    assert table is not None
    assert schema is not None
    names = list(schema.quasi_identifying)
    state = ws.state(WhatIfState)
    before = names[:2] if state.columns is None else state.columns
    row = st.number_input(
        "Begin with the person in row", 1, len(table), state.row, key=f"person {ws.edition}", width=280
    )
    values = person(table, schema, int(row) - 1)
    ticked = st.pills(
        "Known about the person",
        names,
        selection_mode="multi",
        default=[name for name in before if name in names],
        format_func=plain,
        key=f"known {ws.edition} {' '.join(names)}",
    )
    state.row, state.columns = int(row), tuple(ticked)
    facts: dict[str, str | None] = {}
    if not ticked:
        st.caption("Nothing is known: everybody remains.")
        return facts
    columns = st.columns(min(4, len(ticked)), gap="medium")
    for place, name in enumerate(ticked):
        with columns[place % len(columns)]:
            facts[name] = value_of(encoded, name, values[name], f"value {name} {row} {ws.edition}")
    return facts


def value_of(encoded: EncodedTable, name: str, value: str | None, key: str) -> str | None:
    """Return the known value of a column: one of its levels, or any number."""
    encoding = encoded.encodings[encoded.names.index(name)]
    levels = [encoding.text(code) for code in range(encoding.n_codes)]
    if not encoding.is_interval and len(levels) <= MOST_LEVELS:
        at = levels.index(value) if value in levels else 0
        return st.selectbox(
            plain(name), levels, at, format_func=lambda level: "(missing)" if level is None else level, key=key
        )
    typed = st.text_input(plain(name), "" if value is None else value, key=key, help="Empty: it is missing")
    return typed.strip() or None


def show(title: str, matches: Matches) -> None:
    """Draw who remains, and what would be learnt."""
    with st.container(border=True):
        st.markdown(f"**{plain(title)}**")
        with st.container(horizontal=True, gap="large"):
            st.metric("Rows that fit", count(matches.rows), width="content")
            st.metric("Chance of the right one", share(matches.chance), width="content")
        for sentence in matches.sentences():
            st.markdown(f"- {plain(sentence)}")
