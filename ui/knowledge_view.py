"""What somebody who knows a few things about one person would learn: from the original, the release, the scenarios."""

import pandas as pd
import streamlit as st

from anonymizer.encode import EncodedTable
from anonymizer.errors import AnonymizerError
from anonymizer.knowledge import Knowledge, look_up, person, release_for
from anonymizer.scenarios import Scenario
from ui.controls import count, plain, problem, share
from ui.workspace import Workspace

MOST_LEVELS = 200


def knowledge(ws: Workspace) -> None:
    """What is known of one person, who remains, and what is learnt."""
    known = what_is_known(ws)
    table, schema = ws.table, ws.schema
    assert table is not None
    assert schema is not None
    left, right = st.columns(2, gap="large")
    try:
        with left:
            show("From the original table", look_up(table, schema, known, released=False))
        with right:
            show("From the release of this setting", look_up(ws.released(), schema, known))
        if ws.scenarios and st.toggle("Also from every scenario", key="knowledge of scenarios"):
            for scenario in ws.scenarios:
                show(scenario.name, look_up(released_by(ws, scenario), schema, known))
    except AnonymizerError as error:
        problem(error)


def released_by(ws: Workspace, scenario: Scenario) -> pd.DataFrame:
    """The release of a scenario, made once as long as the table and its roles stay the same."""
    encoded, key = ws.encoded(), repr(sorted(scenario.parameters.items()))
    basis, held = ws.view.get("scenario releases", (None, {}))
    made: dict[str, pd.DataFrame] = held if basis is encoded else {}
    if key not in made:
        assert ws.table is not None
        assert ws.schema is not None
        with st.spinner(f"Making the release of {plain(scenario.name)} …"):
            made[key] = release_for(ws.table, ws.schema, encoded, scenario.parameters).frame()
    ws.view["scenario releases"] = (encoded, made)
    return made[key]


def what_is_known(ws: Workspace) -> dict[str, str | None]:
    """One person's values: those that are ticked are known. A row of the table to begin with; values can be changed."""
    table, schema, encoded = ws.table, ws.schema, ws.encoded()
    assert table is not None
    assert schema is not None
    names = list(schema.quasi_identifying)
    begun, before = ws.view.get("person", (1, names[:2]))
    row = st.number_input("Begin with the person in row", 1, len(table), begun, key=f"person {ws.edition}", width=280)
    values = person(table, schema, int(row) - 1)
    ticked = st.pills(
        "Known about the person",
        names,
        selection_mode="multi",
        default=[name for name in before if name in names],
        key=f"known {ws.edition} {' '.join(names)}",
    )
    ws.view["person"] = (int(row), ticked)
    known: dict[str, str | None] = {}
    if not ticked:
        st.caption("Nothing is known: everybody remains.")
        return known
    columns = st.columns(min(4, len(ticked)), gap="medium")
    for place, name in enumerate(ticked):
        with columns[place % len(columns)]:
            known[name] = value_of(encoded, name, values[name], f"value {name} {row} {ws.edition}")
    return known


def value_of(encoded: EncodedTable, name: str, value: str | None, key: str) -> str | None:
    """The known value of a column: one of its levels, or any number."""
    encoding = encoded.encodings[encoded.names.index(name)]
    levels = [encoding.text(code) for code in range(encoding.n_codes)]
    if not encoding.is_interval and len(levels) <= MOST_LEVELS:
        at = levels.index(value) if value in levels else 0
        return st.selectbox(
            name, levels, at, format_func=lambda level: "(missing)" if level is None else level, key=key
        )
    typed = st.text_input(name, "" if value is None else value, key=key, help="Empty: it is missing")
    return typed.strip() or None


def show(title: str, found: Knowledge) -> None:
    """Who remains, and what would be learnt."""
    with st.container(border=True):
        st.markdown(f"**{plain(title)}**")
        with st.container(horizontal=True, gap="large"):
            st.metric("Rows that fit", count(found.rows), width="content")
            st.metric("Chance of the right one", share(found.chance), width="content")
        for sentence in found.sentences():
            st.markdown(f"- {plain(sentence)}")
