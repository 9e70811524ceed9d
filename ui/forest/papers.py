"""A private forest beside those of the papers: where each spends its budget, and what audits find."""

import math

import pandas as pd
import streamlit as st

from anonymizer.forest.audit import PAIRS, Finding, audit
from anonymizer.forest.forest import MODES
from anonymizer.forest.rehearsal import Rival, rivals
from ui.background import Job
from ui.controls import count, plain, share
from ui.forest.choices import Order
from ui.forest.state import ForestState
from ui.forest.view import SAMPLE, sample_table
from ui.job import answer_of_job
from ui.workspace import Workspace

CONFIDENCE = 0.99


def rivals_panel(ws: Workspace, order: Order) -> None:
    """Draw the ledgers of the papers' forests beside ours, on the made-up sample, which costs nothing."""
    st.markdown(
        "Every question of a forest takes its share of β. Fletcher and Islam's gives each one the same, "
        "β / (τ(2δ − 1)) with τ trees of depth δ, so four trees ask with a quarter of it; private ID3 gives β / (2δ). "
        "Ours gives lower levels more, and a leaf all that its path has left."
    )
    epsilon, depth = order.epsilon, order.max_depth

    def work(job: Job) -> tuple[Rival, ...]:
        return rivals(sample_table(), epsilon, max_depth=depth, progress=job.go_on)

    answer = answer_of_job(
        ws, "forest rivals", (epsilon, depth), f"Compare at β = {epsilon:g}, δ = {count(depth)}", work
    )
    if answer is None:
        return
    rows = [
        {
            "Mode": MODES[one.mode].title,
            "Trees τ": one.n_trees,
            "Private": "yes" if MODES[one.mode].private else "no",
            "Questions on a path": len(one.ledger.dearest),
            "ε of the cheapest": round(one.least, 4),
            "ε of the dearest": round(one.most, 4),
            "Spent": round(one.ledger.spent, 4),
            "Accuracy": share(one.accuracy),
        }
        for one in answer
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="forest rivals table")
    st.caption(
        f"On the made-up sample *{SAMPLE}*, with repeatable noise, three folds; it says nothing about your table. The "
        "path is the dearest one that a row takes."
    )


def audit_panel(ws: Workspace, order: Order) -> None:
    """Draw an audit: forests of two neighbouring tables, and how much more the mode loses than it claims."""
    state = ws.state(ForestState)
    st.markdown(
        "An audit tries to refute a claim. It grows many forests from two tables that differ in one person, and looks "
        "for an outcome that one of them gives more often than the claim allows. What it finds is sure; that it finds "
        "nothing proves nothing, above all with few runs."
    )
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    modes, pairs, sizes = list(MODES), list(PAIRS), (400, 2_000, 10_000, 50_000)
    mode = first.selectbox(
        "Mode", modes, modes.index(order.mode), format_func=lambda one: plain(MODES[one].title), key="audit mode"
    )
    pair = second.selectbox(
        "Neighbouring tables", pairs, key="audit pair", format_func=lambda one: one.replace("-", " ")
    )
    state.audit_classes = int(third.number_input("Classes", 2, 50, state.audit_classes, key="audit classes"))
    runs = fourth.selectbox("Forests of each", sizes, 1, format_func=count, key="audit runs")
    epsilon, depth, classes = order.epsilon, order.max_depth, state.audit_classes

    def work(job: Job) -> Finding:
        return audit(mode, epsilon, pair=pair, max_depth=depth, n_classes=classes, runs=runs, confidence=CONFIDENCE,
                     progress=job.go_on)  # fmt: skip

    key = (mode, pair, epsilon, depth, classes, runs)
    finding: Finding | None = answer_of_job(ws, "forest audit", key, f"Audit the claim of β = {epsilon:g}", work)
    if finding is None:
        return
    hits = (
        f"The outcome came {count(finding.hits[0])} and {count(finding.hits[1])} times in {count(finding.runs)} forests"
    )
    if not finding.tells:
        st.info(f"{hits}: too few to tell.", icon=":material/info:")
        return
    if not math.isfinite(finding.lower_bound) or finding.lower_bound <= 0:
        st.info(f"{hits}: that shows no loss at all, with so many runs.", icon=":material/info:")
        return
    bound = (
        f"{hits}: the loss is at least {finding.lower_bound:.3f} ({share(finding.confidence)} sure), "
        f"{finding.epsilon:g} is claimed."
    )
    if finding.violated:
        st.error(f"**Refuted.** {bound}", icon=":material/gpp_bad:")
    else:
        st.success(f"Not refuted. {bound}", icon=":material/check:")
