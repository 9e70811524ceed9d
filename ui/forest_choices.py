"""What a private forest is asked for: the class, the columns and their public values, the mode, the budget."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from anonymizer.domains import Attribute, Domains, domains_of, read_domains
from anonymizer.errors import AnonymizerError
from anonymizer.forest import MODES, NEIGHBOURS
from anonymizer.schema import Kind, Schema
from ui.controls import plain, plural, problem, slider_ends
from ui.workspace import Workspace

BUDGETS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
MOST_VALUES = 50
SHOWN_VALUES = 8


@dataclass(frozen=True)
class Asked:
    """The choices of the page."""

    mode: str
    epsilon: float
    n_trees: int
    max_depth: int
    domains: Domains


def choices(ws: Workspace) -> Asked | None:
    """Everything that is chosen before budget is spent; ``None`` as long as it does not fit together."""
    with st.container(border=True):
        left, right = st.columns(2, gap="large")
        with left:
            target, columns = class_and_columns(ws)
            mode = mode_choice(ws)
        with right:
            epsilon, n_trees, max_depth = sliders(ws, len(columns))
    if not columns:
        st.info("Choose at least one column to ask about.", icon=":material/info:")
        return None
    domains = public_domains(ws, target, columns)
    return None if domains is None else Asked(mode, epsilon, n_trees, max_depth, domains)


def class_and_columns(ws: Workspace) -> tuple[str, list[str]]:
    """What the forest predicts, and from which columns; identifying ones are never offered."""
    schema = ws.schema or ws.suggested()
    facts = {fact.name: fact for fact in ws.facts()}
    offered = [column.name for column in schema.columns if column.name not in schema.identifying]
    usual = ws.view.get("forest target", schema.target)
    target = st.selectbox(
        "What the forest predicts",
        offered,
        offered.index(usual) if usual in offered else len(offered) - 1,
        key=f"forest target {ws.edition}",
    )
    ws.view["forest target"] = target
    others = [name for name in offered if name != target]
    few = [
        name
        for name in others
        if schema[name].kind is Kind.NUMERIC
        or (schema[name].kind is Kind.CATEGORICAL and facts[name].distinct <= MOST_VALUES)
    ]
    kept = [name for name in ws.view.get("forest columns", few) if name in others]
    columns = st.multiselect(
        "From these columns",
        others,
        kept or few,
        key=f"forest columns {ws.edition} {target}",
        help="Columns with very many values, such as names and dates, make poor questions.",
    )
    ws.view["forest columns"] = columns
    return target, columns


def mode_choice(ws: Workspace) -> str:
    """Which algorithm, with its promise; one that keeps no promise says so here."""
    names = list(MODES)
    mode = st.selectbox(
        "How it is grown",
        names,
        names.index(ws.view.get("forest mode", "strict")),
        format_func=lambda name: MODES[name].title,
        key="forest mode",
    )
    ws.view["forest mode"] = mode
    if MODES[mode].private:
        st.caption(f":material/verified_user: {plain(MODES[mode].guarantee)} {NEIGHBOURS}")
    else:
        st.error(plain(f"{MODES[mode].guarantee} {NEIGHBOURS}"), icon=":material/gpp_bad:")
    return mode


def sliders(ws: Workspace, n_columns: int) -> tuple[float, int, int]:
    """Budget, trees and depth, with their ends in words."""
    view = ws.view
    epsilon = st.select_slider(
        "β: privacy budget of the forest", BUDGETS, view.get("forest epsilon", 1.0), key="forest epsilon"
    )
    slider_ends("strong privacy, much noise", "weak privacy, little noise")
    most = max(2, min(10, n_columns))
    trees = st.slider("τ: trees", 1, most, min(view.get("forest trees", 1), most), key=f"forest trees {most}")
    slider_ends("one tree gets the whole budget", "many trees share it, each noisier")
    depth = st.slider("δ: longest path, in nodes", 1, 10, view.get("forest depth", 5), key="forest depth")
    slider_ends("few, general rules", "many, narrow rules, more noise in each")
    view |= {"forest epsilon": epsilon, "forest trees": trees, "forest depth": depth}
    return float(epsilon), int(trees), int(depth)


def public_domains(ws: Workspace, target: str, columns: list[str]) -> Domains | None:
    """The values that are public; where they have to be read from the records, only after a warning was accepted."""
    if ws.table is None:
        return None
    place = st.expander("Public values of every column", icon=":material/public:")
    with place:
        st.markdown(
            "A private forest has a branch for every value that *could* occur. Which values those are must be known "
            "without a look at the records: from a codebook, a form or a law. Bring it as JSON: "
            '`{"sex": ["F", "M"], "age": {"cuts": [20, 40, 60]}}`. The level `"*"` takes in everything else, `null` '
            "what is missing. Domains declared on the Roles page count as public too."
        )
        given, wrong = codebook(ws)
        given = {name: domain for name, domain in given.items() if name in (target, *columns)}
        try:
            domains = domains_of(ws.table, target, given, columns=columns, schema=declared(ws))
        except AnonymizerError as error:
            wrong = wrong or error
    if wrong is not None:
        problem(wrong, "Until then no forest can be grown: see *Public values of every column*.")
        return None
    with place:
        attributes = (*domains.attributes, domains.target)
        st.dataframe(pd.DataFrame([described(attribute) for attribute in attributes]), hide_index=True)
        st.download_button(
            "Save these as a codebook (JSON)",
            json.dumps(domains.to_dict(), ensure_ascii=False, indent=2),
            "codebook.json",
            "application/json",
            on_click="ignore",
            icon=":material/download:",
            help="Check it against what is publicly known, take out the marks `read_from_data`, and bring it back.",
        )
    if not domains.read_from_data:
        st.caption(":material/public: All values are public: the guarantee covers everything the forest shows.")
        return domains
    said = plural(len(domains.read_from_data), "column")
    st.warning(f"**Values of {said} come from the records.** {plain(domains.warning)}", icon=":material/warning:")
    of = (target, tuple(columns), domains.read_from_data)
    accepted = st.checkbox(
        "These values are publicly known anyway, or I accept that they are published without noise",
        ws.view.get("forest accepted") == of,
        key=f"forest accepted {ws.edition} {hash(of)}",
    )
    ws.view["forest accepted"] = of if accepted else None
    return domains if accepted else None


def codebook(ws: Workspace) -> tuple[dict[str, Any], AnonymizerError | None]:
    """The public values that were brought as a file, and what is wrong with it; it can be taken away again."""
    view = ws.view
    number = view.setdefault("forest codebooks", 0)
    uploaded = st.file_uploader("Codebook (JSON)", type="json", key=f"forest codebook {ws.edition} {number}")
    if uploaded is not None:
        text = uploaded.getvalue().decode("utf-8", "replace")
        view |= {"forest codebook": text, "forest codebook name": uploaded.name, "forest codebooks": number + 1}
        st.rerun()
    held: str | None = view.get("forest codebook")
    if held is None:
        return {}, None
    with st.container(horizontal=True, vertical_alignment="center"):
        name = view.get("forest codebook name", "codebook")
        st.markdown(f":material/menu_book: In use: **{plain(name)}**", width="content")
        st.button(
            "Remove it", key="remove codebook", type="tertiary", on_click=view.pop, args=("forest codebook", None)
        )
    try:
        return read_domains(held), None
    except AnonymizerError as error:
        return {}, error


def declared(ws: Workspace) -> Schema:
    """The schema with the domains that the steward declared; those that were suggested come from the records."""
    schema, suggested = ws.schema or ws.suggested(), ws.suggested()
    read = [column.name for column in schema.columns if column.domain == suggested[column.name].domain]
    return Schema(
        tuple(replace(column, domain=None) if column.name in read else column for column in schema.columns),
        schema.target,
    )


def described(attribute: Attribute) -> dict[str, str]:
    """An attribute as a row of a table."""
    shown = ", ".join(attribute.shown(code) for code in range(min(attribute.n_levels, SHOWN_VALUES)))
    more = attribute.n_levels - SHOWN_VALUES
    return {
        "Column": attribute.name,
        "Values": shown + (f" and {more} more" if more > 0 else ""),
        "Known from": "codebook or roles" if attribute.public else "the records",
    }
