"""What analyses would still say: two-way tables, regressions, and the figures of a survey, before and after."""

import pandas as pd
import streamlit as st

from anonymizer.drawing.charts import (
    BY_TABLES,
    baselines_sentence,
    coefficients_sentence,
    ranges_sentence,
    two_way_sentence,
    worst_table_sentence,
)
from anonymizer.drawing.surveys import (
    interval_text,
    intervals_figure,
    overlap_text,
    regression_sentence,
    survey_details,
    survey_sentence,
)
from anonymizer.errors import AnonymizerError
from anonymizer.measuring.named_regression import formula_from, regressable
from anonymizer.measuring.weighted import Weighted
from anonymizer.population.estimates import Compared
from anonymizer.provenance.report import Report
from anonymizer.settings import SETTINGS
from ui.controls import plain, problem
from ui.workspace import Workspace

CONFIG = {"displayModeBar": False}


def regression_choice(ws: Workspace) -> None:
    """Draw the field for a regression to compare before and after; a text that names none is said to, and not used."""
    if ws.schema is None or ws.in_pieces:
        return
    setting = SETTINGS["regression"]
    text = st.text_input(
        setting.title,
        ws.settings.regression or "",
        max_chars=int(setting.most),
        key=f"release regression {ws.edition}",
        placeholder="For example: income ~ age + sex",
        help="A number or a level, ~, and columns joined by +. Of a column with more than two levels, name one: "
        "job=clerk ~ age + sex. It changes no release.",
    ).strip()
    try:
        if text:
            formula_from(text, regressable(ws.schema))
    except AnonymizerError as error:
        problem(error)
        return
    if (text or None) != ws.settings.regression:
        ws.set(regression=text or None)
        st.rerun()


def analyses(report: Report) -> None:
    """Draw what two-way tables and a regression of the target lose."""
    left, right = st.columns(2, gap="large")
    tables, regression = two_way_sentence(report.two_way), coefficients_sentence(report.coefficients)
    if tables:
        left.markdown(f"**{plain(tables)}**")
        left.markdown(plain(f"{baselines_sentence(report.two_way)} {ranges_sentence(report.two_way)}"))
        left.caption(
            f"{plain(worst_table_sentence(report.two_way))} The mean is over pairs with a generalized column. Numbers "
            f"are in ten bins, and the twelve most frequent levels alone. {BY_TABLES}"
        )
    if regression:
        right.markdown(f"**{plain(regression)}**")
        right.caption(
            "The target on all quasi-identifiers at once. Of more than two classes, each of the most frequent stands "
            "against the rest. Of the release, values of each row are drawn from its box. A coefficient that the "
            "release cannot estimate is outside."
        )


def survey(weighted: Weighted) -> None:
    """Draw what a survey would say before and after, and the regression that was named."""
    if sentence := survey_sentence(weighted):
        st.subheader("What a survey would say", anchor=False)
        st.markdown(f"**{plain(sentence)}**")
        st.plotly_chart(intervals_figure(weighted.figures), key="survey intervals", config=CONFIG)
        st.caption(
            f"{plain(survey_details(weighted))} Sampling: {plain(weighted.sampling)}. {BY_TABLES} An overlap is the "
            "mean of the parts of both intervals that they share. Whoever gets the release has no weights, strata or "
            "households."
        )
        with st.expander("Every mean, share and total", key="survey figures"):
            figures_table(weighted.figures, "survey table")
    if weighted.regression is not None:
        st.markdown(f"**{plain(regression_sentence(weighted.regression))}**")
        st.plotly_chart(intervals_figure(weighted.regression.terms), key="regression intervals", config=CONFIG)
        figures_table(weighted.regression.terms, "regression table")
        st.caption(
            f"A {plain(weighted.regression.model)}: {plain(weighted.regression.target)}. Of a cell it sees the "
            "middle of an interval and the share of each level; standard errors follow weights, strata and households."
        )


def figures_table(figures: tuple[Compared, ...], key: str) -> None:
    """Draw figures with their intervals before and after, and the overlap of these."""
    rows = [
        {
            "Figure": one.title,
            "Before (95% interval)": interval_text(one.before),
            "After (95% interval)": interval_text(one.after),
            "Overlap": overlap_text(one.overlap),
        }
        for one in figures
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=key)
