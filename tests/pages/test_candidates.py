"""The Tree page: which branches a step of pruning chose among, and what the branch below a node tells."""

import re

import numpy as np
import pandas as pd
from scipy.stats import chi2
from streamlit.testing.v1 import AppTest

from anonymizer.groups.candidates import candidates
from anonymizer.reading.samples import SAMPLES, sample_reading
from anonymizer.settings import Settings
from tests.pages.tree import open_page, plain_text, session
from ui.data.paper import EMPLOYEE_NODES
from ui.tree.candidates import PANEL
from ui.tree.state import TreeState
from ui.workspace import Workspace


def customers() -> Workspace:
    """A session with the customers of Yang et al., 2019, their roles and their settings."""
    sample = SAMPLES["customers"]
    table = sample.load()
    ws = Workspace(reading=sample_reading("customers", table), schema=sample.schema(table))
    ws.settings = Settings(**sample.settings)
    return ws


def panel_of(app: AppTest) -> pd.DataFrame:
    """The table of the panel."""
    return next(frame.value for frame in app.dataframe if "Smallest group" in frame.value)


def test_step__shows_its_candidates_and_why_one_went_first() -> None:
    ws = customers()
    app = open_page(ws)
    assert not any("Smallest group" in frame.value for frame in app.dataframe), "made when it opens"
    app.session_state[PANEL] = True
    app.run()
    slider = next(slider for slider in app.slider if slider.label.startswith("Pruning steps"))
    slider.set_value(1).run()
    table = panel_of(app)
    assert table["Node"].tolist() == [5, 4, 1, 0]
    assert table["ω"].round(3).tolist() == [0.445, 0.246, 0.161, 0.135]
    assert table["Smallest group"].tolist() == [2, 2, 2, 2]
    assert "Step 1 took back node 5: of 4 branches that could go, its ω is the largest." in plain_text(app)
    slider.set_value(2).run()
    branches = candidates(ws.flow.pruning, ws.flow.risk, ws.flow.encoded, ws.flow.limits, 2)
    assert panel_of(app)["Node"].tolist() == branches.nodes.tolist()
    assert "The root goes last, although its ω is larger." in plain_text(app)
    slider.set_value(0).run()
    assert "No step is taken" in plain_text(app)
    assert not app.exception


def test_node__tells_the_risk_of_its_branch_in_any_table() -> None:
    for ws in (customers(), session()):
        risk, tree = ws.flow.risk, ws.flow.tree
        app = open_page(ws)
        for node in (0, int((~tree.is_leaf).nonzero()[0][-1])):
            ws.state(TreeState).node = node
            app.run()
            text = re.sub(r"\*\*", "", plain_text(app))
            leaves = [t for t in range(node, node + int(tree.size[node])) if tree.is_leaf[t]]
            low, wrong = min(risk.tidi[t] for t in leaves), sum(int(risk.error[t]) for t in leaves)
            assert f"{low:.2f} bits is the lowest TIDI of the leaves below as grown (R(B))" in text
            assert f"{wrong} rows are not in the largest class of their leaf below (E(B))" in text
            added = int(risk.error[node]) - wrong
            expected = f"{(risk.tidi[node] - low) / added:.3g} bits of risk go" if added else "(ω = ∞)"
            assert expected in text
        ws.state(TreeState).node = next(t for t in range(tree.n_nodes) if tree.is_leaf[t])
        app.run()
        assert "R(B)" not in plain_text(app)


def test_node__tells_the_statistic_of_the_paper_and_its_adjusted_form() -> None:
    """Li and Sarkar, node 9 of Figure 1: Δ(B) .1017, q .7297, p .0089. L by the covariances of its rows."""
    sample = SAMPLES["employees"]
    table = sample.load()
    ws = Workspace(reading=sample_reading("employees", table), schema=sample.schema(table))
    ws.settings = Settings(**sample.settings)
    app = open_page(ws)
    node = EMPLOYEE_NODES[9]
    ws.state(TreeState).node = node
    app.run()
    text = re.sub(r"\*\*", "", plain_text(app))
    assert "0.102 is the sum of Δ over the leaves below as grown (Δ(B))" in text
    assert "0.7297 of squared error is added for each unit" in text
    numbers = table[list(ws.flow.schema.sensitive)].to_numpy(float)
    numbers = (numbers - numbers.min(0)) / np.ptp(numbers, axis=0)
    inside = numbers[(ws.flow.leaf >= node) & (ws.flow.leaf < node + ws.flow.tree.size[node])]
    whole, here = np.cov(numbers.T), np.cov(inside.T)
    n, r = inside.shape
    statistic = np.log(np.linalg.det(whole) / np.linalg.det(here)) + np.trace(here @ np.linalg.inv(whole)) - r
    statistic *= n - 1
    assert f"{statistic:.4g} says how unlike" in text
    shrunk = statistic * (1 - (2 * r + 1 - 2 / (r + 1)) / (6 * (n - 1)))
    adjusted = 1 - chi2.cdf(shrunk, r * (r + 1) / 2)
    assert f"{1 - chi2.cdf(statistic, r * (r + 1) / 2):.3g} is the chance" in text
    assert f"adjusted for few rows, {adjusted:.3g}" in text
    before = ws.flow.pruning.cut().tolist()
    app.selectbox(key="tree test_form").set_value("adjusted").run()
    assert ws.settings.test_form == "adjusted"
    assert len(ws.flow.pruning.cut()) > len(before)
    assert not app.exception
