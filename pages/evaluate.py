"""Evaluate page: groupings and generalizers compared under cross-validation."""

import streamlit as st

from anonymizer.errors import AnonymizerError
from ui.controls import empty_state, problem
from ui.evaluate_view import choices, comparing, results
from ui.session import workspace


def main() -> None:
    ws = workspace()
    st.title("Which method suits this table?", anchor=False)
    if ws.table is None or ws.schema is None:
        step, label = ("data", "Bring a table") if ws.table is None else ("roles", "Say what each column is")
        empty_state(
            "Nothing to compare yet",
            "Methods are compared on a table, and the role of each of its columns.",
            step,
            label,
        )
        return
    st.markdown(
        "Each method is tried the honest way (**cross-validation**): a part of the people is left out, the others are "
        "grouped and generalized, and a model learnt from what would be released is asked about the people left out."
    )
    try:
        comparing(ws, choices(ws))
        results(ws)
    except AnonymizerError as error:
        problem(error)


main()
