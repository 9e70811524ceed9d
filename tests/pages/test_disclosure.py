"""The Disclosure page without a browser: empty, a formula's estimate, the solver's, repair."""

import sys
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.disclosure.brought import read_tree
from anonymizer.disclosure.constraints import GrowingRule, Knowledge
from anonymizer.disclosure.exposure import Exposure, assess, mean_of_top
from anonymizer.disclosure.multiway import grow_multiway
from anonymizer.disclosure.outline import KeyedTree, keys_of, lay_keys
from anonymizer.disclosure.publish import WRITERS, forms_of, publish
from anonymizer.errors import CancelledError
from anonymizer.forest.domains import code, domains_of
from anonymizer.forest.forest import grow_forest, predict
from anonymizer.schema import Schema
from tests.disclosure.test_brought import RPART, eight
from tests.pages.test_data import SHELL, session_of
from tests.waiting import PATIENCE, wait_until
from ui.controls import share
from ui.disclosure.state import DisclosureState
from ui.forest.state import ForestState, Growth
from ui.workspace import Workspace, sample_reading


def people(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age, job = rng.integers(0, 4, n), rng.integers(0, 3, n)
    illness = (age + job + (rng.random(n) < 0.4) * rng.integers(0, 3, n)) % 3
    return pd.DataFrame(
        {
            "age": np.array(["20s", "30s", "40s", "50s"])[age],
            "job": np.array(["clerk", "nurse", "smith"])[job],
            "illness": np.array(["flu", "gout", "none"])[illness],
        }
    )


TABLE = people()
SCHEMA = Schema.of(TABLE, quasi_identifying=["age", "job"], sensitive=["illness"])


def open_page(ws: Workspace | None = None) -> AppTest:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/disclosure.py").run()


def session(schema: Schema = SCHEMA) -> Workspace:
    """A session whose tree is guided by its target, so that how it grew says something."""
    ws = Workspace(reading=sample_reading("people", TABLE), schema=schema)
    ws.set(grouping="error-risk")
    return ws


def metric(app: AppTest, label: str) -> str:
    return next(item.value for item in app.metric if item.label.startswith(label))


def drawn_again(app: AppTest) -> AppTest:
    """The page, drawn once more without a fault."""
    app.run()
    assert not app.exception
    return app


def test_empty__leads_to_the_data_page() -> None:
    app = open_page()
    assert not app.exception
    assert "No tree yet" in app.header[0].value


def test_numeric_target__leads_to_the_roles() -> None:
    table = TABLE.assign(pay=range(len(TABLE)))
    schema = Schema.of(table, quasi_identifying=["age", "job"], sensitive=["pay"])
    app = open_page(Workspace(reading=sample_reading("people", table), schema=schema))
    assert not app.exception
    assert "No categories" in app.header[0].value


def test_estimate__is_that_of_the_leaves() -> None:
    app = open_page(session())
    assert not app.exception
    ws = session_of(app)
    pruning = ws.flow.pruning
    sums = pruning.tree.sums[pruning.cut()]
    shares = sums.max(axis=1) / sums.sum(axis=1)
    assert metric(app, "Highest posterior") == f"{shares.max():.1%}".replace(".0%", "%")
    assert metric(app, "Best guess") == f"{sums.max(axis=1).sum() / len(TABLE):.1%}".replace(".0%", "%")


def test_no_optimum__is_said_before_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_optimum(*of: object, **how: object) -> Exposure:
        exposure = assess(*of, **how)
        return replace(exposure, estimate=replace(exposure.estimate, converged=False, status="no step left"))

    assert not any("no optimum" in text.value for text in open_page(session()).warning)
    monkeypatch.setattr("ui.disclosure.view.assess", without_optimum)
    app = open_page(session())
    assert app.warning[0].value == "The solver found no optimum (no step left). What follows is not an estimate."


def test_without_the_solver__the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "casadi", None)  # as if it were not installed
    app = open_page(session())
    assert not app.exception
    assert not app.error
    app.toggle(key="disclosure rates").set_value(False)
    app.toggle(key="disclosure totals").set_value(True)
    app.run()
    app.button(key="begin estimate job").click().run()
    wait_until(lambda: "casadi" in " ".join(error.value for error in drawn_again(app).error))


def test_without_rates__nothing_is_told() -> None:
    app = open_page(session())
    app.toggle(key="disclosure rates").set_value(False)
    app.run()
    assert not app.exception
    assert metric(app, "Highest posterior") == "33.3%"


def test_private_forest__asks_for_one_first() -> None:
    app = open_page(session())
    app.radio(key="disclosure source").set_value("forest")
    app.run()
    assert not app.exception
    assert "No forest was grown" in app.info[0].value


def test_private_forest__is_compared_with_the_truth() -> None:
    ws = session()
    table = code(TABLE, domains_of(TABLE, "illness"))
    forest = grow_forest(table, 2.0, n_trees=1, max_depth=3)
    ws.state(ForestState).grown = Growth(ws.reading.sha256, forest)
    ws.state(DisclosureState).source = "forest"
    app = open_page(ws)
    assert not app.exception
    right = (predict(forest, table.codes) == table.classes).mean()
    assert metric(app, "Best guess") == share(right)


def test_cancel__ends_a_long_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def endless(tree: KeyedTree, knowledge: Knowledge, **options: Any) -> Exposure:
        if knowledge.rule is None:
            return assess(tree, knowledge)
        while not options["cancelled"]():
            time.sleep(0.02)
        ended.set()
        raise CancelledError("Stopped.")

    monkeypatch.setattr("ui.disclosure.view.assess", endless)
    app = open_page(session())
    app.toggle(key="disclosure rule").set_value(True).run()
    app.button(key="begin estimate job").click().run()
    assert not ended.is_set()
    app.button(key="cancel estimate job").click().run()
    assert ended.wait(PATIENCE)
    wait_until(lambda: any("Stopped." in info.value for info in drawn_again(app).info))
    assert "Highest posterior" not in {metric.label for metric in app.metric}


def test_forest_without_privacy__says_so_here_too() -> None:
    ws = session()
    table = code(TABLE, domains_of(TABLE, "illness"))
    ws.state(ForestState).grown = Growth(ws.reading.sha256, grow_forest(table, 2.0, mode="paper"))
    ws.state(DisclosureState).source = "forest"
    app = open_page(ws)
    assert not app.exception
    assert any("NOT differentially private" in error.value for error in app.error)
    assert "No budget limits" in app.caption[-1].value


def test_files__are_those_of_the_package() -> None:
    tree = session_of(open_page(session())).answers.last("disclosure tree")
    document = publish(tree, Knowledge())
    files, unfit = forms_of(document)
    assert unfit is None
    assert files == {form: write(document) for form, write in WRITERS.items()}
    broken = document | {"target": document["target"] | {"name": "bell \x07"}}
    files, unfit = forms_of(broken)
    assert set(files) == {"json", "rules"}
    assert "XML" in str(unfit)


def test_whole_people__are_counted() -> None:
    app = open_page(session())
    app.button(key="begin count job").click().run()
    wait_until(lambda: "Counted for" in " ".join(item.value for item in drawn_again(app).markdown))
    assert "240** of 240 people" in " ".join(item.value for item in app.markdown)


def test_repair__offers_to_withhold_and_to_prune() -> None:
    app = open_page(session())
    app.slider(key="bound").set_value(0.5)
    app.run()
    assert not app.exception
    options = next(radio for radio in app.radio if radio.label == "What is published").options
    assert options[0].startswith("Withhold the error rates")
    assert options[1].startswith("Prune")
    assert "NOT kept" not in " ".join(options)


@pytest.mark.parametrize("source", ["multiway", "grown"])
def test_how_it_was_grown__is_estimated_in_the_background(source: str) -> None:
    app = open_page(session())
    app.radio(key="disclosure source").set_value(source)
    app.toggle(key="disclosure rule").set_value(True)
    app.run()
    assert not app.exception
    assert not [item for item in app.metric if item.label.startswith("Highest posterior")]
    app.button(key="begin estimate job").click().run()
    wait_until(lambda: [item for item in drawn_again(app).metric if item.label.startswith("Highest posterior")])
    assert session_of(app).jobs["estimate job"].answer.estimate.converged


def test_a_tree_from_a_file__is_assessed_by_what_the_file_tells() -> None:
    table = eight()
    kinds = {"age": "numeric"}
    schema = Schema.of(table, quasi_identifying=["age", "town"], sensitive=["y"], kinds=kinds)
    ws = Workspace(reading=sample_reading("eight", table), schema=schema)
    ws.set(k=2)
    app = open_page(ws)
    app.radio(key="disclosure source").set_value("file").run()
    assert not app.exception
    assert "Highest posterior" not in {item.label for item in app.metric}
    app.file_uploader[0].upload("tree.txt", RPART.encode()).run()
    assert not app.exception
    brought = read_tree(RPART.encode(), keys_of(ws.flow.encoded))
    figures = assess(brought.tree, brought.knowledge).figures
    assert metric(app, "Highest posterior") == share(figures.highest_posterior)
    assert metric(app, "Best guess is right") == share(figures.accuracy)
    assert brought.by_shares is not None
    (warning,) = [item.value for item in app.warning if "class shares of every leaf" in item.value]
    assert share(brought.by_shares.highest_posterior) in warning
    assert f"{brought.by_shares.mean_divergence:.3f}" in warning
    app.file_uploader[0].upload("other.txt", b"<html>").run()
    assert not app.exception
    assert len(app.error) == 1
    assert "Highest posterior" not in {item.label for item in app.metric}


def test_person_by_person__the_differences_are_those_of_two_estimates() -> None:
    ws = session()
    ws.state(DisclosureState).source = "multiway"
    app = open_page(ws)
    assert "D_individual" in "\n".join(item.value for item in app.caption)
    app.toggle(key="disclosure rule").set_value(True).run()
    app.button(key="begin estimate job").click().run()
    assert ws.jobs["estimate job"].done.wait(PATIENCE)
    app.run()
    assert not app.exception
    (rows,) = [item.value for item in app.dataframe if "Leaves alone" in item.value.columns]
    keys = keys_of(ws.flow.encoded)
    state = ws.state(DisclosureState)
    tree = lay_keys(grow_multiway(keys, state.measure, state.fewest, state.depth), keys)
    with_rule = assess(tree, Knowledge(rule=GrowingRule(state.measure))).figures.divergence
    alone = assess(tree, Knowledge()).figures.divergence
    expected = sorted(zip(alone - with_rule, with_rule, alone, strict=True), key=lambda row: -row[0])[:10]
    np.testing.assert_allclose(rows["Difference"], [row[0] for row in expected], atol=2e-3)
    assert (rows["Difference"].diff().dropna() <= 0).all()


def test_measures__come_one_by_one_and_are_those_of_the_trees() -> None:
    ws = session()
    app = open_page(ws)
    app.button(key="begin measures job").click().run()
    assert ws.jobs["measures job"].done.wait(PATIENCE)
    app.run()
    assert not app.exception
    (rows,) = [item.value for item in app.dataframe if "D_overall" in item.value.columns]
    keys, state = keys_of(ws.flow.encoded), ws.state(DisclosureState)
    assert len(rows) == len(ws.jobs["measures job"].parts) == 8
    for place, measure in enumerate(("gini", "entropy")):
        tree = lay_keys(grow_multiway(keys, measure, state.fewest, state.depth), keys)
        for offset, knowledge in enumerate((Knowledge(True), Knowledge(False))):
            row = rows.iloc[4 * place + offset]
            assert row["D_overall"] == round(assess(tree, knowledge).figures.mean_divergence, 4)
            assert row["Error rates"] == knowledge.rates


def test_top_means__by_hand() -> None:
    assert mean_of_top(np.array([3.0, 1.0, -1.0])).tolist() == [3.0, 2.0, 1.0]
