"""The experiments of Zhu and Du on the steward's own table: Figures 3, 4 and 6 to 9, and D_individual."""

import pandas as pd
import streamlit as st

from anonymizer.disclosure.drawing import divergence_figure, top_figure
from anonymizer.disclosure.exposure import (
    Exposure,
    Trial,
    differences,
    figures_of_leaves,
    mean_of_top,
    trials,
)
from anonymizer.disclosure.outline import KeyedTree, keys_of
from ui.background import Job
from ui.controls import count, plural
from ui.disclosure.choices import MEASURE_LABELS
from ui.disclosure.state import DisclosureState
from ui.job import answer_of_job, parts_of
from ui.workspace import Workspace

CONFIG = {"displayModeBar": False}
TOP = 10


def individuals(ws: Workspace, tree: KeyedTree, exposure: Exposure) -> None:
    """Draw D_individual over people and, where it is known how the tree was grown, what that adds for each key."""
    figures, knowledge = exposure.figures, exposure.knowledge
    infinite = int(figures.counts[~(figures.divergence < float("inf"))].sum())
    st.plotly_chart(divergence_figure(figures), key="divergences", config=CONFIG)
    st.caption(
        "D_individual: how far what is believed of a person is from the truth. The mean over people is D_overall, the "
        "distance above."
        + (f" Of {plural(infinite, 'person')} the truth was ruled out: ∞, not drawn." if infinite else "")
    )
    if knowledge.rule is None:
        st.caption("What the questions add is shown when it is known how the tree was grown: switch that on above.")
        return
    alone = ws.answers.get("leaves alone", (tree, knowledge), lambda: figures_of_leaves(tree, knowledge))
    rows = differences(figures, alone)
    titles = ["Difference", "With the questions", "Leaves alone"]
    st.markdown(
        f"**The {min(TOP, len(rows))} keys of {count(len(rows))} that the questions tell most about** (Figure 7), and "
        "the mean of the K largest differences (Figure 8)"
    )
    left, right = st.columns([2, 3])
    left.dataframe(pd.DataFrame(rows[:TOP].round(3), columns=titles), hide_index=True, key="top differences")
    right.plotly_chart(top_figure(mean_of_top(rows[:, 0])), key="top means", config=CONFIG)


def measures(ws: Workspace) -> None:
    """Draw how much trees tell that are grown by different measures, and how long working that out takes."""
    state, encoded = ws.state(DisclosureState), ws.flow.encoded
    fewest, depth = state.fewest, state.depth
    st.markdown(
        f"Two trees with a child for every value, at most {count(depth)} levels deep. A node that asks has at least "
        f"{count(fewest)} rows. One is grown by Gini impurity, one by information gain. A small distance to the truth "
        "tells much."
    )
    keys = ws.answers.get("disclosure keys", encoded, lambda: keys_of(encoded))

    def work(job: Job) -> tuple[Trial, ...]:
        return trials(keys, fewest, depth, each=job.parts.append, progress=job.say, cancelled=job.cancelled)

    key = (encoded, fewest, depth)
    before = parts_of(ws, "measures job", key)
    answer = answer_of_job(ws, "measures job", key, "Compare Gini and information gain", work) or before
    if not answer:
        return
    rows = [
        {
            "Measure": MEASURE_LABELS[one.measure],
            "Error rates": one.knowledge.rates,
            "How it was grown": one.knowledge.rule is not None,
            "Leaves": one.leaves,
            "D_overall": round(one.mean_divergence, 4),
            "Largest D_individual": round(one.highest_divergence, 4),
            "Seconds": round(one.seconds, 2),
            "Solved": one.converged,
        }
        for one in answer
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="measures table")
    st.caption(
        "With error rates and without them is Figure 3, Gini beside information gain Figure 4, with and without how it "
        "was grown Figure 6, the seconds Figure 9. The paper's trees cannot be grown again: no settings are given."
    )
