"""Three kinds of release on the page: a table, a published tree and private rules, each as soon as it is there."""

import pandas as pd
import streamlit as st

from anonymizer.flow import Flow
from anonymizer.measuring.members import HELD_OUT
from anonymizer.reporting.kinds import BUDGETS, KINDS, KS, RISKS, KindPoint, compare_kinds, kinds_figure
from ui.background import Job
from ui.controls import place_of, share
from ui.job import answer_of_job, parts_of
from ui.what_if.state import WhatIfState
from ui.workspace import Workspace

JOB = "kinds"


def kinds(ws: Workspace, flow: Flow) -> None:
    """Draw table, tree and rules on the same axes, where the target has categories; ``flow`` has a decision tree."""
    schema = ws.schema
    if schema is None or schema.target is None or schema.by_numbers:
        return
    with st.expander("Table, tree or rules: which kind of release?", icon=":material/compare:", key="kinds of release"):
        st.markdown(
            "Whatever is published, somebody who believes it has a share of each value for everybody. How sure that is "
            "of the people **in** the release is the risk; how often it errs for people who are **not** in it is what "
            f"the release is worth. Each is made from {share(1 - HELD_OUT)} of the people and judged on the others."
        )

        def work(job: Job) -> tuple[KindPoint, ...]:
            return compare_kinds(flow, each=job.parts.append, progress=job.say, cancelled=job.cancelled)

        key = (flow.schema.bare, flow.settings.but(k=10))
        label = f"Compare {len(KS)} tables, {len(KS)} trees and {len(BUDGETS)} private trees"
        before = parts_of(ws, JOB, key)
        points = answer_of_job(ws, JOB, key, label, work) or before
        if points:
            kinds_points(ws, points)


def kinds_points(ws: Workspace, points: tuple[KindPoint, ...]) -> None:
    """Draw the points: a figure, the same in a table, and what cannot be compared."""
    state, names = ws.state(WhatIfState), list(RISKS)
    usual = state.kinds_risk or names[1]
    risk = state.kinds_risk = st.selectbox(
        "Risk", names, place_of(usual, names), format_func=RISKS.get, key="kinds risk"
    )
    st.plotly_chart(kinds_figure(points, risk), key="kinds chart", config={"displayModeBar": False})
    rows = [
        (KINDS[one.kind], one.setting, *map(share, (one.surest, one.exposed, one.right, one.error))) for one in points
    ]
    titles = ["Kind", "Setting", "Surest guess", "Exposed", "Guessed rightly", "Error for others"]
    st.dataframe(pd.DataFrame(rows, columns=titles), hide_index=True, key="kinds table")
    st.caption(
        "**What these figures leave out.** A table also lets people be linked to rows, and keeps every column for any "
        "study; a tree and rules serve one question only, and nobody is linked to anything. Trees are published with "
        "error rates, and counting whole people can be surer than their estimate. Of private rules, only the budget "
        "limits what they tell of anybody, whatever this shows. Looking at these figures costs budget that nobody "
        "pays: they are internal, and a budget is better chosen before."
    )
