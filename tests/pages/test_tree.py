"""The Tree page without a browser: empty, with a tree, with choices changed; and what the browser may say."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.explain import explain_leaf, rule_text
from tests.pages.test_data import SHELL, texts
from tests.test_draw import table
from ui.controls import plain
from ui.tree_view import asked_node
from ui.workspace import Workspace, sample_reading


def session(k: int = 8) -> Workspace:
    """A session with a table of 400 records, three columns and three illnesses."""
    frame, schema = table()
    ws = Workspace(reading=sample_reading("four hundred", frame), schema=schema)
    ws.set(k=k)
    return ws


def opened(ws: Workspace | None = None) -> AppTest:
    app = AppTest.from_file(SHELL, default_timeout=120)
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/tree.py").run()


def test_empty__leads_to_the_data_page() -> None:
    app = opened()
    assert not app.exception
    assert "No tree yet" in texts(app)
    assert not app.slider


def test_without_roles__leads_to_the_roles_page() -> None:
    frame, _ = table()
    app = opened(Workspace(reading=sample_reading("four hundred", frame)))
    assert not app.exception
    assert "No tree yet" in texts(app)


def test_with_data__says_how_many_groups_there_are() -> None:
    ws = session()
    app = opened(ws)
    assert not app.exception
    pruning = ws.pruning()
    sizes = pruning.tree.n[pruning.cut()]
    steps = f"{pruning.n_steps} steps"
    assert f"{len(sizes)} groups after {steps}; the smallest has {sizes.min()} records." in texts(app)
    assert sizes.min() >= 8
    assert "Pick a node" in texts(app)
    shown = app.dataframe[0].value
    assert sorted(shown["node"]) == sorted(pruning.cut())
    assert list(shown["records"]) == sorted(sizes)


def test_k__changes_the_groups() -> None:
    ws = session()
    app = opened(ws)
    app.slider(key="tree k").set_value(40).run()
    assert not app.exception
    assert ws.k == 40
    assert ws.pruning().tree.n[ws.pruning().cut()].min() >= 40


def test_grouping_and_growing__are_kept_in_the_workspace() -> None:
    ws = session()
    app = opened(ws)
    app.selectbox(key="tree grouping").set_value("error-risk").run()
    app.number_input(key="tree leaf").set_value(5).run()
    app.number_input(key="tree deepest").set_value(3).run()
    assert not app.exception
    assert (ws.parameters.grouping, ws.parameters.min_leaf, ws.parameters.max_depth) == ("error-risk", 5, 3)
    assert ws.pruning().criterion == "error-risk"
    assert ws.tree().depth.max() <= 3


def test_steps__scrub_back_to_the_grown_tree() -> None:
    ws = session()
    app = opened(ws)
    slider = next(slider for slider in app.slider if slider.label.startswith("Pruning steps"))
    assert (slider.min, slider.max, slider.value) == (0, ws.pruning().n_steps, ws.pruning().n_steps)
    slider.set_value(0).run()
    assert not app.exception
    leaves = ws.tree().n[ws.tree().is_leaf]
    assert f"{len(leaves)} groups after 0 steps; the smallest has {leaves.min()} record" in texts(app)
    app.slider(key="tree k").set_value(9).run()
    assert f"after {ws.pruning().n_steps} steps" in texts(app)


@pytest.mark.parametrize("what", ["pruned", "both", "grown"])
@pytest.mark.parametrize("colour", ["n", "error", "classes"])
def test_view__every_choice_is_drawn(what: str, colour: str) -> None:
    ws = session()
    ws.view |= {"what": what, "colour": colour, "depth": 6}
    app = opened(ws)
    assert not app.exception
    assert not app.warning
    assert (ws.view["what"], ws.view["colour"]) == (what, colour)


def test_picked_node__is_explained() -> None:
    ws = session()
    app = opened(ws)
    pruning, encoded = ws.pruning(), ws.encoded()
    merged = next(int(t) for t in pruning.cut() if not pruning.tree.is_leaf[t])
    ws.view["node"] = merged
    app.run()
    assert not app.exception
    said = texts(app)
    assert plain(rule_text(pruning.tree, encoded.encodings, merged)) in said
    assert plain(explain_leaf(pruning.tree, ws.risk(), pruning, encoded.encodings, merged)) in said
    assert f"**{ws.risk().tidi[merged]:.2f} bits**" in said
    assert f"**{ws.risk().error[merged]} records**" in said
    next(button for button in app.button if button.label == "Look closer from the picked node").click().run()
    assert ws.view["focus"] == merged
    next(button for button in app.button if button.label == "Whole tree again").click().run()
    assert ws.view["focus"] is None
    app.number_input(key="tree leaf").set_value(9).run()
    assert ws.view["node"] is None, "a node of another tree must not stay picked"


def test_too_few_records__is_said() -> None:
    frame, schema = table()
    ws = Workspace(reading=sample_reading("five", frame.head(5)), schema=schema)
    ws.set(k=10)
    app = opened(ws)
    assert not app.exception
    assert re.search(r"only 5 records: no grouping can reach k = 10", texts(app))


@pytest.mark.parametrize("said", [None, {}, {"picked": "1"}, {"picked": -1}, {"picked": 7}, {"picked": True}, {"x": 1}])
def test_asked_node__refuses_what_is_no_node(said: object) -> None:
    assert asked_node(said, "picked", 7) is None


def test_asked_node__takes_a_node() -> None:
    assert [asked_node({"picked": node}, "picked", 7) for node in range(7)] == list(np.arange(7))
