"""Disclosure page: what somebody who knows everyone's quasi-identifying columns learns from a published tree."""

import streamlit as st

from anonymizer.errors import AnonymizerError
from anonymizer.schema import Kind
from ui.controls import empty_state, problem
from ui.disclosure.choices import candidate_tree, confidence_slider, knowledge_choice, knowledge_in_file, source_choice
from ui.disclosure.papers import individuals, measures
from ui.disclosure.repair import repair_panel
from ui.disclosure.view import (
    comparison,
    drawing,
    estimate,
    failure,
    forest_panel,
    headline,
    histogram,
    most_exposed_groups,
    whole_people,
)
from ui.guard import lacks
from ui.session import workspace


def main() -> None:
    ws = workspace()
    st.title("What would a published tree tell?", anchor=False)
    schema = ws.schema
    text = "A tree can be published instead of rows. What it tells needs a table, and the role of each column."
    if lacks(ws, "No tree yet", text, whole="A tree to be published") or schema is None:
        return
    if schema.target is None or schema[schema.target].kind is not Kind.CATEGORICAL:
        empty_state(
            "No categories to predict",
            "What a tree tells is worked out for a sensitive column of categories. Make one the target.",
            "roles",
            "Go to Roles",
        )
        return
    st.markdown(
        "Nothing but a decision tree is published, yet it tells about people. Somebody who knows everyone's "
        "quasi-identifiers puts each person into a leaf. They believe what the tree implies, and no more: the estimate "
        "of **maximum entropy** (Zhu and Du 2010)."
    )
    try:
        source = source_choice(ws)
        if source == "forest":
            forest_panel(ws)
            return
        candidate = candidate_tree(ws, source)
        if candidate is None:
            return
        tree, rule, key, brought = candidate
        knowledge = knowledge_choice(ws, rule) if brought is None else knowledge_in_file(brought)
        exposure = estimate(ws, tree, knowledge, key)
    except AnonymizerError as error:
        problem(error)
        return
    if exposure is None:
        return
    confidence = confidence_slider(ws)
    failure(exposure)
    drawing(ws, tree, exposure)
    headline(ws, tree, exposure, confidence)
    histogram(exposure.figures, confidence)
    most_exposed_groups(tree, exposure)
    with st.expander("Person by person: D_individual", icon=":material/person_search:"):
        individuals(ws, tree, exposure)
    with st.expander("Gini against information gain: the experiments of the paper", icon=":material/science:"):
        measures(ws)
    with st.expander("How this changes with what the adversary knows", icon=":material/rule:"):
        comparison(ws, tree, rule, key)
    with st.expander("Whole people instead of shares", icon=":material/group:"):
        whole_people(ws, tree, exposure, key)
    try:
        repair_panel(ws, tree, exposure, key)
    except AnonymizerError as error:
        problem(error)


main()
