"""Forest page: a differentially private decision forest that can be published instead of a table."""

import streamlit as st

from anonymizer.forest.forest import ONE_ROW
from ui.controls import plain, problem
from ui.forest.choices import choices
from ui.forest.papers import audit_panel, rivals_panel
from ui.forest.state import ForestState
from ui.forest.view import (
    JOB,
    budget_form,
    budget_panel,
    growth,
    headline,
    newest_forest,
    picture_panel,
    predict_panel,
    rehearsal_panel,
    rules_panel,
    take_growth,
)
from ui.guard import lacks
from ui.job import before_answer
from ui.session import workspace


def main() -> None:
    ws = workspace()
    st.title("Publish rules instead of a table", anchor=False)
    text = "A private forest learns rules from a table and can be published in its place. Choose one first."
    if lacks(ws, "There is no table yet", text, roles=False, whole="A private forest"):
        return
    st.markdown(
        "A **differentially private forest** answers with noise, so that nobody can tell whether a person was in the "
        "table. What it may reveal in all is the budget **β**; every question is charged to it."
    )
    if ws.schema is not None and ws.schema.person:
        st.warning(plain(ONE_ROW.format(person=ws.schema.person)), icon=":material/warning:")
    take_growth(ws)
    order, state = choices(ws), ws.state(ForestState)
    if order is not None:
        budget_form(ws, order)
    growth(ws)
    if state.problem is not None:
        problem(state.problem)
    grown = newest_forest(ws)
    if grown is not None:
        forest = grown.forest
        before_answer(JOB)
        headline(forest, grown.measurement)
        panels = {
            "Picture": lambda: picture_panel(ws, forest),
            "Rules": lambda: rules_panel(ws, forest),
            "Budget": lambda: budget_panel(forest),
            "Predict": lambda: predict_panel(ws, forest),
        }
        state.panel = st.segmented_control(
            "What to see",
            list(panels),
            default=state.panel,
            required=True,
            key="forest panel",
            label_visibility="collapsed",
        )
        panels[state.panel]()
    if order is not None:
        with st.expander("Accuracy against the budget, rehearsed on a public table", icon=":material/show_chart:"):
            rehearsal_panel(ws, order)
        with st.expander("Where the budget goes, against the papers' forests", icon=":material/account_balance:"):
            rivals_panel(ws, order)
        with st.expander("Audit a claim", icon=":material/policy:"):
            audit_panel(ws, order)


main()
