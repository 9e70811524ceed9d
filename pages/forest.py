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
from ui.session import workspace


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
    if ws.view.get("forest problem") is not None:
        problem(ws.view["forest problem"])
    held = shown_forest(ws)
    if held is not None:
        forest, measured = held
        headline(forest, measured)
        panels = {
            "Rules": lambda: rules_panel(ws, forest),
            "Budget": lambda: budget_panel(forest),
            "Trees": lambda: trees_panel(ws, forest),
            "Predict": lambda: predict_panel(ws, forest),
        }
        chosen = st.segmented_control(
            "What to see",
            list(panels),
            default=ws.view.get("forest panel", "Rules"),
            required=True,
            key="forest panel",
            label_visibility="collapsed",
        )
        ws.view["forest panel"] = chosen
        panels[chosen or "Rules"]()
    if asked is not None:
        with st.expander("Accuracy against the budget, rehearsed on a public table", icon=":material/show_chart:"):
            rehearsal_panel(ws, asked)


main()
