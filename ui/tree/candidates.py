"""The branches that a step of pruning chose among, in a panel beside the slider of steps."""

import pandas as pd
import streamlit as st

from anonymizer.drawing.reasons import explain_step
from anonymizer.drawing.rules import step_text
from anonymizer.groups.candidates import Candidates, candidates
from anonymizer.groups.prune import Pruning
from ui.controls import count, plain
from ui.workspace import Workspace

PANEL = "candidates"
"""The key of the panel: its table is made when it opens."""
MOST = 1000


def step_candidates(ws: Workspace, pruning: Pruning, after: int) -> None:
    """Draw the button of the panel, and in it which branches the last of ``after`` steps chose among, and why."""
    panel = st.popover("This step", icon=":material/balance:", key=PANEL, on_change="rerun")
    if not panel.open:
        return
    with panel:
        if not after:
            st.markdown("No step is taken. Move the slider to see what each step chose among.")
            return
        flow = ws.flow
        branches = ws.answers.get(
            "candidates", (pruning, after), lambda: candidates(pruning, flow.risk, flow.encoded, flow.limits, after)
        )
        st.markdown(plain(explain_step(pruning, branches, after)))
        if len(branches.nodes) > MOST:
            st.caption(f"The first {count(MOST)} of {count(len(branches.nodes))} branches.")
        table = candidate_table(ws, pruning, branches)
        st.dataframe(table, hide_index=True, height=min(40 + 35 * len(table), 320), key=f"{PANEL} {after}")


def candidate_table(ws: Workspace, pruning: Pruning, branches: Candidates) -> pd.DataFrame:
    """Return the branches of a step as a table, the one that went first."""
    tree, encodings, nodes = pruning.tree, ws.flow.encoded.encodings, branches.nodes[:MOST]
    rows = slice(len(nodes))
    columns = {
        "Node": nodes,
        "Its last question": [step_text(tree, encodings, int(node), brief=True) for node in nodes],
        "Smallest group": branches.smallest[rows],
    }
    if pruning.criterion == "error-digression":
        words = ("q", "Error added", "Digression removed")
    elif tree.sums.shape[1] > 1:
        words = ("ω", "Errors added", "Risk removed, bits")
    else:
        return pd.DataFrame(columns)
    figures = (branches.ratios, branches.price, branches.gain)
    return pd.DataFrame(columns | {word: figure[rows] for word, figure in zip(words, figures, strict=True)})
