"""What a private forest is asked for: the class, the columns and their public values, the mode, the budget."""

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from anonymizer.errors import AnonymizerError
from anonymizer.forest.domains import Attribute, Domains, domains_of, read_domains
from anonymizer.forest.forest import MODES, NEIGHBOURS
from anonymizer.schema import Kind, Schema
from ui.controls import plain, plural, problem, slider_ends
from ui.forest.state import Codebook, ForestState
from ui.slider import Scale, number
from ui.workspace import Workspace

BUDGETS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
MOST_VALUES = 50
SHOWN_VALUES = 8


@dataclass(frozen=True)
class Order:
    """What a forest is grown with."""

    mode: str
    epsilon: float
    n_trees: int
    max_depth: int
    domains: Domains


def choices(ws: Workspace) -> Order | None:
    """Return everything that is chosen before budget is spent; ``None`` as long as it does not fit together."""
    with st.container(border=True):
        left, right = st.columns(2, gap="large")
        with left:
            target, columns = class_and_columns(ws)
            mode = mode_choice(ws)
        with right:
            epsilon, n_trees, max_depth = sliders(ws, mode, len(columns))
    if not columns:
        st.info("Choose at least one column to ask about.", icon=":material/info:")
        return None
    domains = public_domains(ws, target, columns)
    return None if domains is None else Order(mode, epsilon, n_trees, max_depth, domains)


def class_and_columns(ws: Workspace) -> tuple[str, list[str]]:
    """Return what the forest predicts, and from which columns; identifying ones are never offered."""
    schema = ws.schema or ws.suggest()
    facts = {fact.name: fact for fact in ws.facts()}
    offered = [column.name for column in schema.columns if column.name not in schema.identifying]
    state = ws.state(ForestState)
    usual = state.target or schema.target
    target = state.target = st.selectbox(
        "What the forest predicts",
        offered,
        offered.index(usual) if usual in offered else len(offered) - 1,
        key=f"forest target {ws.edition}",
    )
    others = [name for name in offered if name != target]
    few = [
        name
        for name in others
        if schema[name].kind is Kind.NUMERIC
        or (schema[name].kind is Kind.CATEGORICAL and facts[name].distinct <= MOST_VALUES)
    ]
    usual_columns = [name for name in (few if state.columns is None else state.columns) if name in others]
    columns = st.multiselect(
        "From these columns",
        others,
        usual_columns or few,
        key=f"forest columns {ws.edition} {target}",
        help="Columns with very many values, such as names and dates, make poor questions.",
    )
    state.columns = tuple(columns)
    return target, columns


def mode_choice(ws: Workspace) -> str:
    """Return which algorithm, with its promise; one that keeps no promise says so here."""
    names, state = list(MODES), ws.state(ForestState)
    mode = state.mode = st.selectbox(
        "How it is grown",
        names,
        names.index(state.mode),
        format_func=lambda name: MODES[name].title,
        key="forest mode",
    )
    if MODES[mode].private:
        st.caption(f":material/verified_user: {plain(MODES[mode].guarantee)} {NEIGHBOURS}")
    else:
        st.error(plain(f"{MODES[mode].guarantee} {NEIGHBOURS}"), icon=":material/gpp_bad:")
    return mode


def sliders(ws: Workspace, mode: str, n_columns: int) -> tuple[float, int, int]:
    """Return budget, trees and depth, with their ends in words; the last two rest where a mode grows no tree."""
    state, rest = ws.state(ForestState), not MODES[mode].trees
    scale = Scale(0.001, 100, 0.05, BUDGETS)
    number(
        "β: privacy budget of the forest", scale, state.epsilon, partial(setattr, state, "epsilon"),
        slider="forest epsilon", field="forest epsilon field",
    )  # fmt: skip
    slider_ends("strong privacy, much noise", "weak privacy, little noise")
    most = max(2, min(10, n_columns))
    trees = st.slider("τ: trees", 1, most, min(state.trees, most), key=f"forest trees {most}", disabled=rest)
    slider_ends("one tree gets the whole budget", "many trees share it, each noisier")
    depth = st.slider("δ: longest path, in nodes", 1, 10, state.depth, key="forest depth", disabled=rest)
    slider_ends("few, general rules", "many, narrow rules, more noise in each")
    state.trees, state.depth = int(trees), int(depth)
    return float(state.epsilon), state.trees, state.depth


def public_domains(ws: Workspace, target: str, columns: list[str]) -> Domains | None:
    """Return the values that are public; where they have to be read from the records, after a warning was accepted."""
    if ws.table is None:
        return None
    place = st.expander("Public values of every column", icon=":material/public:")
    with place:
        st.markdown(
            "A private forest has a branch for every value that *could* occur. These must be known without a "
            "look at the rows: from a codebook, a form or a law. Give it as JSON: "
            '`{"sex": ["F", "M"], "age": {"cuts": [20, 40, 60]}}`. The level `"*"` takes in everything else, `null` '
            "what is missing. Domains declared on the Roles page count as public too."
        )
        own, wrong = codebook(ws)
        own = {name: domain for name, domain in own.items() if name in (target, *columns)}
        try:
            domains = domains_of(ws.table, target, own, columns=columns, schema=schema_as_declared(ws))
            if domains.exact:
                st.warning(plain(domains.question), icon=":material/help:")
                key = f"forest read {ws.edition} {hash((target, *domains.exact))}"
                if st.checkbox("They were read from the table", key=key):
                    domains = domains.as_read(domains.exact)
        except AnonymizerError as error:
            wrong = wrong or error
    if wrong is not None:
        problem(wrong, "Until then no forest can be grown: see *Public values of every column*.")
        return None
    with place:
        attributes = (*domains.attributes, domains.target)
        st.dataframe(pd.DataFrame([attribute_row(attribute) for attribute in attributes]), hide_index=True)
        st.download_button(
            "Save these as a codebook (JSON)",
            json.dumps(domains.to_dict(), ensure_ascii=False, indent=2),
            "codebook.json",
            "application/json",
            on_click="ignore",
            icon=":material/download:",
            help="Check it against what is publicly known, take out the marks `read_from_data`, and open it again.",
        )
    if not domains.read_from_data:
        st.caption(":material/public: All values are public: the guarantee covers everything the forest shows.")
        return domains
    affected = plural(len(domains.read_from_data), "column")
    st.warning(f"**Values of {affected} come from the rows.** {plain(domains.warning)}", icon=":material/warning:")
    of = (target, tuple(columns), domains.read_from_data)
    state = ws.state(ForestState)
    accepted = st.checkbox(
        "These values are publicly known anyway, or I accept that they are published without noise",
        state.accepted == of,
        key=f"forest accepted {ws.edition} {hash(of)}",
    )
    state.accepted = of if accepted else None
    return domains if accepted else None


def codebook(ws: Workspace) -> tuple[dict[str, Any], AnonymizerError | None]:
    """Return the public values that a file brought, and what is wrong with it; it can be taken away again."""
    state = ws.state(ForestState)
    upload = st.file_uploader("Codebook (JSON)", type="json", key=f"forest codebook {ws.edition} {state.codebooks}")
    if upload is not None:
        state.codebook = Codebook(upload.getvalue().decode("utf-8", "replace"), upload.name)
        state.codebooks += 1
        st.rerun()
    if state.codebook is None:
        return {}, None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/menu_book: In use: **{plain(state.codebook.name)}**", width="content")
        st.button("Remove it", key="remove codebook", type="tertiary", on_click=remove_codebook, args=(ws,))
    try:
        return read_domains(state.codebook.text), None
    except AnonymizerError as error:
        return {}, error


def remove_codebook(ws: Workspace) -> None:
    """Remove the codebook."""
    ws.state(ForestState).codebook = None


def schema_as_declared(ws: Workspace) -> Schema:
    """Return the schema with the domains that the steward declared; those that were suggested come from the records."""
    schema = ws.schema or ws.suggest()
    columns = tuple(replace(column, domain=None) if column.suggested else column for column in schema.columns)
    return Schema(columns, schema.target)


def attribute_row(attribute: Attribute) -> dict[str, str]:
    """Return an attribute as a row of a table."""
    texts = ", ".join(attribute.text(code) for code in range(min(attribute.n_levels, SHOWN_VALUES)))
    more = attribute.n_levels - SHOWN_VALUES
    return {
        "Column": attribute.name,
        "Values": texts + (f" and {more} more" if more > 0 else ""),
        "Known from": "codebook or roles" if attribute.public else "the rows",
    }
