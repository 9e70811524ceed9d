"""The example of a paper beside what is computed here: every figure in print, the same figure now, and why it differs.

Printed figures are facts of the papers; those beside them are computed from the sample each time, by the decisions that
it brings. Remarks say where a paper errs: see docs/PAPERS.md.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from anonymizer.disclosure.constraints import GrowingRule, Knowledge
from anonymizer.disclosure.exposure import assess
from anonymizer.disclosure.integer_posterior import integer_posterior
from anonymizer.disclosure.multiway import grow_multiway
from anonymizer.disclosure.outline import keys_of, lay_keys
from anonymizer.flow import Flow
from anonymizer.reading.samples import SAMPLES
from anonymizer.settings import Settings
from ui.controls import plain
from ui.workspace import Workspace


class Printed(NamedTuple):
    """A figure in print and the same figure here; ``remark``: what is to be said of it."""

    where: str
    what: str
    paper: str
    here: str
    remark: str = ""


WORDS = ["Where", "What", "In print", "Here"]
"""Titles of the fields of :class:`Printed`, all but the remark."""

CUSTOMER_NODES = {1: 0, 2: 1, 4: 2, 5: 3, 3: 4, 6: 5, 8: 6, 9: 7, 7: 8}
"""Nodes of Y19, Figure 1, as they are numbered there, and here."""

EMPLOYEE_NODES = {1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 9: 5, 10: 6, 11: 7, 6: 8, 7: 9, 8: 10}
"""Nodes of L09, Figure 1, as they are numbered there, and here."""


def decided(name: str) -> Flow:
    """Return the flow of a sample by the decisions that it brings."""
    sample = SAMPLES[name]
    table = sample.load()
    return Flow(table, sample.schema(table), Settings(**sample.settings))


def of_customers() -> tuple[Printed, ...]:
    """Return the figures of Y19, Figure 1 and Table 1."""
    flow, node = decided("customers"), CUSTOMER_NODES
    risk, rows = flow.risk, []
    of = {"R": risk.tidi, "R(B)": risk.branch_tidi, "ω": risk.error_risk, "E": risk.error, "E(B)": risk.branch_error}
    for symbol, number, printed in (
        ("R", 2, "3.322"), ("R", 6, "4.322"), ("R(B)", 6, "3.432"), ("ω", 6, "0.445"), ("ω", 1, "0.135"),
        ("ω", 2, "0.161"), ("ω", 3, "0.246"), ("E", 2, "2"), ("E(B)", 2, "0"), ("E", 3, "4"), ("E(B)", 3, "1"),
    ):  # fmt: skip
        digits = len(printed.partition(".")[2])
        rows.append(
            Printed("Figure 1", f"{symbol} of node {number}", printed, f"{of[symbol][node[number]]:.{digits}f}")
        )
    names = {ours: theirs for theirs, ours in node.items()}
    steps = ", ".join(f"{names[step]}" for step in flow.pruning.steps)
    remark = (
        "The paper names the first node only. By its loop as printed the root would be second, as we worked out: that "
        "is against its own Table 1, so here the root goes last."
    )
    rows.append(Printed("Section 4", "Nodes pruned for k = 3, in order", "6 first", steps, remark))
    frames = {
        "tiered": flow.released.iloc[np.argsort(flow.release.order)],
        "uniform": (uniform := flow.but(generalizer="uniform")).released.iloc[np.argsort(uniform.release.order)],
    }
    both = "{Married, Not Married}"
    printed = {
        "tiered": (("[42-61]", both), ("[42-61]", both), ("[29-61]", both), *(("[29-42]", "Not Married"),) * 2),
        "uniform": (("[29-61]", "*"),) * 5,
    }
    for method, cells in printed.items():
        for person, (age, status) in enumerate(cells):
            ours = frames[method].iloc[person]
            here = f"{ours['Age']}; {ours['Marital Status']}"
            rows.append(Printed("Table 1", f"Row {person + 1}, {method}", f"{age}; {status}", here))
    unique, k = flow.after.unique, flow.settings.k
    remark = "(k,k)-anonymous, which is less: rows may be unique. The checker says so before a release."
    here = f"smallest class {flow.after.smallest}, {unique} of {len(flow.table)} rows unique"
    rows.append(Printed("Table 1", "What tiers promise", f"{k}-anonymity", here, remark))
    chance = float(flow.verification["linking posterior"].achieved or 0)
    rows.append(Printed("Table 1", "Highest chance of a right link", "1/3", f"{chance:.3f}", "Not bounded by 1/k."))
    return tuple(rows)


def of_employees() -> tuple[Printed, ...]:
    """Return the figures of L09, Figure 1 and the worked example of error-digression pruning."""
    flow, node, rows = decided("employees"), EMPLOYEE_NODES, []
    numbers = flow.risk.numeric
    assert numbers is not None
    of = {
        "e": numbers.sse, "e(B)": numbers.branch_sse, "Δ": numbers.digression, "Δ(B)": numbers.branch_digression,
        "q": numbers.error_digression, "p": numbers.p_value,
    }  # fmt: skip
    mixed = "The print mixes two sets of leaves; after node 9 is pruned it is 5.2905."
    for symbol, number, printed, remark in (
        ("e", 9, "0.0537", ""), ("e(B)", 9, "0.0155", ""), ("Δ", 9, "0.0494", ""), ("Δ(B)", 9, "0.1017", ""),
        ("q", 9, "0.7297", ""), ("q", 2, "2.0392", ""), ("q", 6, "2.9492", ""), ("q", 5, "12.5078", mixed),
        ("p", 9, "0.0089", ""), ("p", 2, "0.0365", ""), ("p", 6, "0.1065", ""), ("p", 5, "0.1310", ""),
    ):  # fmt: skip
        here = f"{of[symbol][node[number]]:.4f}"
        rows.append(Printed("Figure 1", f"{symbol} of node {number}", printed, here, remark))
    names = {ours: theirs for theirs, ours in node.items()}
    leaves = sorted(names[int(group)] for group in flow.pruning.cut())
    below = sum(float(of["p"][group]) < 0.05 for group in flow.pruning.cut())
    remark = f"α steers pruning and promises nothing: {below} of these groups have p below .05."
    rows.append(Printed("Example", "Groups at α = .05", "2, 7, 8, 9", ", ".join(map(str, leaves)), remark))
    return tuple(rows)


def of_graduates() -> tuple[Printed, ...]:
    """Return the figures of Z10, Example 1 and Figure 5."""
    flow = decided("graduates")
    keys = keys_of(flow.encoded)
    rule = GrowingRule("entropy")
    tree = lay_keys(grow_multiway(keys, "entropy", 2, 1), keys)
    rows = []
    slack = "This constraint holds at S_A with room to spare, so the printed S_B is no optimum of the paper's program."
    for title, knowledge, overall, individual, remark in (
        ("leaves", Knowledge(), "0.231", "0.693", ""),
        ("leaves and the question", Knowledge(rule=rule), "0.068", "0.205", slack),
    ):
        figures = assess(tree, knowledge).figures
        rows.append(Printed("Figure 5", f"D_overall, {title}", overall, f"{figures.mean_divergence:.3f}", remark))
        here = f"{figures.divergence.max():.3f}"
        rows.append(Printed("Figure 5", f"D_individual of q2 and q3, {title}", individual, here, remark))
    sure = integer_posterior(tree, Knowledge(rule=rule)).posterior.max(axis=1).min()
    remark = "An argument about whole people; maximum entropy says one half, and so understates the risk of few people."
    rows.append(Printed("Example 1", "Least certainty of anybody's salary", "100%", f"{sure:.0%}", remark))
    return tuple(rows)


PAPERS: dict[str, tuple[str, str, Callable[[], tuple[Printed, ...]]]] = {
    "customers": ("Yang, Wang, Hu and Li, ICIS 2019", "Tree", of_customers),
    "employees": ("Li and Sarkar, MIS Quarterly 2014, and its earlier form", "Tree", of_employees),
    "graduates": ("Zhu and Du, DBSec 2010", "Disclosure", of_graduates),
}
"""By sample: the paper whose example it is, the page that draws its tree, and its figures."""


def paper_panel(ws: Workspace) -> None:
    """Draw a paper's figures beside those of its sample, and why some differ; nothing for any other table."""
    reading = ws.reading
    if reading is None or reading.format != "sample" or reading.name not in PAPERS:
        return
    source, page, figures_of = PAPERS[reading.name]
    rows = sorted(ws.answers.get("paper", reading.name, figures_of), key=lambda row: not row.remark)
    with st.expander("What the paper prints, and what comes out here", icon=":material/menu_book:", key="paper"):
        st.caption(
            f"{plain(source)}. The sample brings the paper's roles and settings; its tree is drawn on the page "
            f"*{plain(page)}*. Each figure here is computed now, from this table."
        )
        for remark in dict.fromkeys(row.remark for row in rows if row.remark):
            which = dict.fromkeys(f"{row.where}, {row.what}" for row in rows if row.remark == remark)
            st.markdown(f":material/edit_note: **{plain('; '.join(which))}.** {plain(remark)}")
        table = pd.DataFrame([row[: len(WORDS)] for row in rows], columns=WORDS)
        st.dataframe(table, hide_index=True, key=f"paper of {reading.name}")
