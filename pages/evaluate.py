"""Evaluate page: groupings and generalizers compared under cross-validation."""

import streamlit as st

from anonymizer.errors import AnonymizerError
from ui.controls import problem
from ui.evaluate.papers import tables_of_papers
from ui.evaluate.view import choices, results, run_comparison
from ui.guard import lacks
from ui.session import workspace


def main() -> None:
    ws = workspace()
    st.title("Which method suits this table?", anchor=False)
    text = "Methods are compared on a table, and the role of each of its columns."
    if lacks(ws, "Nothing to compare yet", text, whole="Comparing methods"):
        return
    st.markdown(
        "Each method is tried by **cross-validation**. A part of the people is left out, and the others are grouped "
        "and generalized. A model learnt from that release is asked about the people left out."
    )
    try:
        run_comparison(ws, choices(ws))
        results(ws)
        tables_of_papers(ws)
    except AnonymizerError as error:
        problem(error)


main()
