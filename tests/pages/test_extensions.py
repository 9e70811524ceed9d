"""One entry is enough: what is added to a dictionary at run time can be chosen on every page, with its words."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.checking.privacy_models import MODELS, Check, Evidence
from anonymizer.groups.limits import MARGINS, Margin, class_columns
from anonymizer.groups.prune import CRITERIA
from anonymizer.measuring.comparison import title_of
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.settings import SETTINGS, Setting
from tests.groups.test_refine import random_table
from tests.pages.test_data import SHELL
from tests.pages.test_release import plain_text
from tests.waiting import PATIENCE
from ui.evaluate.state import EvaluateState
from ui.evaluate.view import current_job
from ui.workspace import Workspace, sample_reading

TABLE, SCHEMA = random_table(41, 240)
MODEL = "most frequent value"


def own_boxes(groups, k, rng):  # type: ignore[no-untyped-def]
    """Boxes of our own making."""
    return GENERALIZERS["uniform"](groups, k, rng)


def own_pruning(tree, risk, fails, offends):  # type: ignore[no-untyped-def]
    """Pruning of our own making."""
    return CRITERIA["error-risk"](tree, risk, fails, offends)


def share_margins(tree, risk, encoded, limits):  # type: ignore[no-untyped-def]
    """Return the margins of the own limit: the largest share of a value in each node."""
    for target, shares in class_columns(tree, encoded):
        yield Margin("largest share", target.name, limits.top_share, shares.max(axis=1), False)


def most_frequent_value(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check of the own limit, for each sensitive column."""
    checks = []
    for histograms in evidence.histograms:
        share = float(np.max(histograms.count / histograms.sizes[histograms.group]))
        required = evidence.required.top_share
        passed = None if required is None else share <= required + 1e-9
        sentence = f"At most {share:.3f} of a class share a value of {histograms.column}."
        checks.append(Check(f"{MODEL} of {histograms.column}", required, share, passed, "", sentence))
    return tuple(checks)


@pytest.fixture(autouse=True)
def own_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry for each, and one for the setting of the model and how nodes keep it."""
    monkeypatch.setitem(GENERALIZERS, "own-boxes", own_boxes)
    monkeypatch.setitem(CRITERIA, "own-pruning", own_pruning)
    monkeypatch.setitem(MODELS, MODEL, most_frequent_value)
    own = Setting(
        None, "number", "limit", "Largest share", "no value has more than this share of a group", 0, 1, optional=True,
        checked=True,
    )  # fmt: skip
    monkeypatch.setitem(SETTINGS, "top_share", own)
    monkeypatch.setitem(MARGINS, "top_share", share_margins)


def open_page(page: str, ws: Workspace | None = None) -> tuple[AppTest, Workspace]:
    ws = ws or Workspace(reading=sample_reading("people", TABLE), schema=SCHEMA)
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = ws
    app.run().switch_page(f"../pages/{page}.py").run()
    assert not app.exception
    return app, ws


def test_tree_and_release__take_the_own_methods() -> None:
    app, ws = open_page("tree")
    app.selectbox(key="tree grouping").set_value("own-pruning")
    app.number_input(key="tree top_share").set_value(0.8).run()
    assert not app.exception
    assert "Pruning of our own making." in plain_text(app)
    assert "no value has more than this share of a group" in plain_text(app)
    assert (ws.settings.grouping, ws.settings.top_share) == ("own-pruning", 0.8)
    limit = next(margin for margin in share_margins(ws.flow.tree, ws.flow.risk, ws.flow.encoded, ws.flow.limits))
    assert limit.passes[ws.flow.pruning.cut()].all()
    app.switch_page("../pages/tree.py").run()
    app.selectbox(key="tree generalizer").set_value("own-boxes").run()
    assert not app.exception
    assert "Boxes of our own making." in plain_text(app)
    assert ws.flow.release.method == "own-boxes"
    check = next(check for check in ws.flow.verification.checks if check.name.startswith(MODEL))
    assert (check.required, check.passed) == (0.8, True)
    assert check.sentence in plain_text(app.switch_page("../pages/release.py").run())


def test_what_if__takes_the_own_methods() -> None:
    app, ws = open_page("what_if")
    app.selectbox(key="what if 0 grouping").set_value("own-pruning")
    app.selectbox(key="what if 0 generalizer").set_value("own-boxes")
    next(item for item in app.toggle if item.label == "Other limits").set_value(True).run()
    app.number_input(key="what if 0 top_share").set_value(0.9).run()
    assert not app.exception
    assert ws.settings.of("limit")["top_share"] == 0.9
    assert (ws.settings.grouping, ws.settings.generalizer) == ("own-pruning", "own-boxes")
    assert any(check.name.startswith(MODEL) and check.passed for check in ws.flow.verification.checks)
    app.button_group(key="what if view").set_value("Frontier").run()
    assert not app.exception
    app.button_group(key="what if view").set_value("Scenarios").run()
    assert not app.exception


def test_evaluate__compares_the_own_methods() -> None:
    ws = Workspace(reading=sample_reading("people", TABLE), schema=SCHEMA)
    ws.states[EvaluateState] = EvaluateState(
        groupings=("least", "own-pruning"), generalizers=("own-boxes",), ks=(5,), folds=2
    )
    app, ws = open_page("evaluate", ws)
    app.button(key="begin evaluation").click().run()
    job = current_job(ws)
    assert job is not None
    assert job.done.wait(PATIENCE)
    app.run()
    assert not app.exception
    assert not app.error
    table = app.dataframe[0].value
    assert {title_of(name, "own-boxes") for name in ("own-pruning", "least")} <= set(table["setting"])
