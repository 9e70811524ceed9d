"""Forest page: a differentially private decision forest that can be published instead of a table."""

import streamlit as st

from ui.controls import empty_state, problem
from ui.forest_choices import choices
from ui.forest_view import (
    budget_panel,
    headline,
    predict_panel,
    rehearsal_panel,
    rules_panel,
    shown_forest,
    spending,
    trees_panel,
)
from ui.workspace import workspace


def main() -> None:
    ws = workspace()
    if ws.table is None:
        empty_state(
            "There is no table yet",
            "A private forest learns rules from a table and can be published in its place. Bring one first.",
            "data",
            "Go to Data",
        )
        return
    st.title("Publish rules instead of a table", anchor=False)
    st.markdown(
        "A **differentially private forest** answers with noise, so that nobody can tell whether a person was in the "
        "table. What it may reveal in all is the budget **β**; every question is charged to it."
    )
    asked = choices(ws)
    if asked is not None:
        spending(ws, asked)
    if "forest problem" in ws.view:
        problem(ws.view["forest problem"])
    held = shown_forest(ws)
    if held is not None:
        forest, measured = held
        headline(forest, measured)
        rules, budget, trees, predictions = st.tabs(["Rules", "Budget", "Trees", "Predict"])
        with rules:
            rules_panel(forest)
        with budget:
            budget_panel(forest)
        with trees:
            trees_panel(ws, forest)
        with predictions:
            predict_panel(ws, forest)
    if asked is not None:
        with st.expander("Accuracy against the budget, rehearsed on a public table", icon=":material/show_chart:"):
            rehearsal_panel(ws, asked)


main()
