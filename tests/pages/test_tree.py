"""The Tree page without a browser: empty, with a tree, with choices changed; and what the browser may say."""

import threading

import numpy as np
import pytest

from anonymizer.drawing.leaving import Leaving
from anonymizer.drawing.reasons import explain_leaf
from anonymizer.drawing.rules import rule_text
from anonymizer.errors import CancelledError, Progress
from anonymizer.flow import Flow
from anonymizer.groups.prune import prune
from anonymizer.schema import Schema
from anonymizer.settings import Limits
from anonymizer.studies.proposal import Proposal
from anonymizer.values import value_text
from tests.drawn_trees import table
from tests.pages.test_data import texts
from tests.pages.tree import numbers, open_page, plain_text, session
from tests.waiting import PATIENCE
from ui.controls import count, plain
from ui.tree.panel import surest_sentence
from ui.tree.state import TreeState
from ui.tree_view import node_of
from ui.workspace import Workspace, sample_reading

OF_PEOPLE = [("map", "both"), ("beside", "both")]


def largest_shares(ws: Workspace) -> list[float]:
    """The share of the most frequent illness of every group of rows with the same cells."""
    released = ws.flow.released
    cells = released[list(ws.flow.schema.quasi_identifying)].map(str).agg("|".join, axis=1)
    return [illness.value_counts(normalize=True).max() for _, illness in released["illness"].groupby(cells.to_numpy())]


def test_empty__leads_to_the_data_page() -> None:
    app = open_page()
    assert not app.exception
    assert "No tree yet" in texts(app)
    assert not app.slider


def test_without_roles__leads_to_the_roles_page() -> None:
    frame, _ = table()
    app = open_page(Workspace(reading=sample_reading("four hundred", frame)))
    assert not app.exception
    assert "No tree yet" in texts(app)


def test_with_data__says_how_many_groups_there_are() -> None:
    ws = session()
    app = open_page(ws)
    assert not app.exception
    pruning = ws.flow.pruning
    sizes = pruning.tree.n[pruning.cut()]
    steps = f"{pruning.n_steps} steps"
    assert f"{len(sizes)} groups after {steps}; the smallest has {sizes.min()} rows." in texts(app)
    assert sizes.min() >= 8
    likely = largest_shares(ws)
    better, certain = sum(part > 0.5 for part in likely), sum(part == 1 for part in likely)
    which = "each" if better == len(likely) else better or "none"
    assert f"In {which} of the {len(likely)} released groups" in texts(app)
    assert ("for certain" in texts(app)) == (certain > 0)
    assert not certain or f"better than even odds; in {certain}, for certain." in texts(app)
    content = app.dataframe[0].value
    assert sorted(content["node"]) == sorted(pruning.cut())
    assert list(content["records"]) == sorted(sizes)


def test_what_is_folded__is_drawn_once_it_opens_and_holds_all_the_same() -> None:
    frame, _ = table()
    ws = Workspace(reading=sample_reading("four hundred", frame), schema=session().schema)
    ws.set(l=2, rsd_min=0.3, min_leaf=4)
    app = open_page(ws, unfolded=False)
    assert not app.exception
    assert not {"tree leaf", "tree deepest"} & {field.key for field in app.number_input}
    assert (ws.settings.l, ws.settings.rsd_min, ws.settings.min_leaf) == (2, None, 4)
    opened = open_page(ws)
    assert opened.number_input(key="tree l").value == 2
    assert opened.number_input(key="tree leaf").value == 4


def test_k__changes_the_groups() -> None:
    ws = session()
    app = open_page(ws)
    app.slider(key="tree k").set_value(40).run()
    assert not app.exception
    assert ws.k == 40
    assert ws.flow.pruning.tree.n[ws.flow.pruning.cut()].min() >= 40


def test_grouping_and_growing__are_kept_in_the_workspace() -> None:
    ws = session()
    app = open_page(ws)
    app.selectbox(key="tree grouping").set_value("least").run()
    app.number_input(key="tree leaf").set_value(5).run()
    app.number_input(key="tree deepest").set_value(3).run()
    assert not app.exception
    assert (ws.settings.grouping, ws.settings.min_leaf, ws.settings.max_depth) == ("least", 5, 3)
    assert ws.flow.pruning.criterion == "least"
    assert ws.flow.tree.depth.max() <= 3


def test_records_left_out__are_chosen_and_counted() -> None:
    ws = session()
    ws.set(generalizer="uniform")
    app = open_page(ws).selectbox(key="tree suppression").select(0.02).run()
    assert not app.exception
    assert ws.settings.suppression == 0.02
    app.selectbox(key="tree suppression_weight").select(0.0).run()
    assert not app.exception
    assert ws.flow.left_out == 8
    assert "8 of at most 8 rows are left out." in texts(app.run())
    app.selectbox(key="tree generalizer").select("tiered").run()
    assert not app.exception
    assert ws.settings.suppression == 0.0
    assert "Rows can be left out of whole, refined and packed groups" in texts(app)


def test_steps__scrub_back_to_the_grown_tree() -> None:
    ws = session()
    app = open_page(ws)
    slider = next(slider for slider in app.slider if slider.label.startswith("Pruning steps"))
    assert (slider.min, slider.max, slider.value) == (0, ws.flow.pruning.n_steps, ws.flow.pruning.n_steps)
    slider.set_value(0).run()
    assert not app.exception
    leaves = ws.flow.tree.n[ws.flow.tree.is_leaf]
    assert f"{len(leaves)} groups after 0 steps; the smallest has {leaves.min()} row" in texts(app)
    app.slider(key="tree k").set_value(9).run()
    assert f"after {ws.flow.pruning.n_steps} steps" in texts(app)


@pytest.mark.sweep(8)
@pytest.mark.parametrize(("view", "what"), [("tree", "pruned"), ("tree", "both"), ("tree", "grown"), *OF_PEOPLE])
@pytest.mark.parametrize("colour", ["n", "sure", "classes", "tidi"])
def test_view__every_choice_is_drawn(view: str, what: str, colour: str) -> None:
    ws = session()
    ws.states[TreeState] = TreeState(view, what, colour, 6)
    app = open_page(ws)
    assert not app.exception
    assert not app.warning
    state = ws.state(TreeState)
    assert (state.view, state.what, state.colour) == (view, what, colour)


def test_picked_node__is_explained() -> None:
    ws = session()
    app = open_page(ws)
    pruning, encoded = ws.flow.pruning, ws.flow.encoded
    merged = next(int(t) for t in pruning.cut() if not pruning.tree.is_leaf[t])
    ws.state(TreeState).node = merged
    app.run()
    assert not app.exception
    content = texts(app)
    assert plain(rule_text(pruning.tree, encoded.encodings, merged)) in content
    assert plain(explain_leaf(pruning.tree, ws.flow.risk, pruning, encoded.encodings, merged)) in content
    assert f"**{plain(f'{ws.flow.risk.tidi[merged]:.2f} bits')}**" in content
    assert f"**{ws.flow.risk.error[merged]} rows**" in content
    next(button for button in app.button if button.label == "Zoom into this branch").click().run()
    assert ws.state(TreeState).focus == merged
    next(button for button in app.button if button.label == "Whole tree again").click().run()
    assert ws.state(TreeState).focus is None
    app.number_input(key="tree leaf").set_value(9).run()
    assert ws.state(TreeState).node is None, "a node of another tree must not stay picked"


def test_one_row__is_shown_with_its_released_group_and_so_is_another() -> None:
    ws = session()
    app = open_page(ws)
    flow = ws.flow
    node = int(flow.pruning.cut()[0])
    ws.state(TreeState).node = node
    app.run()
    inside = np.flatnonzero(flow.pruning.group_of_node()[flow.leaf] == node)
    cells = flow.released[list(flow.schema.quasi_identifying)].map(str).agg("|".join, axis=1)
    cells.index = flow.release.order
    illness = flow.table["illness"]
    for row in (inside[0], inside[1]):
        alike = illness[cells.sort_index() == cells[row]]
        most = alike.value_counts().max()
        sentence = f"It is released with {len(alike) - 1} other rows that look the same; illness: "
        assert sentence in plain_text(app)
        assert f", {most} of {len(alike)}." in plain_text(app)
        row_table = next(frame.value for frame in app.table if "released" in frame.value)
        assert plain(value_text(flow.table["job"].iloc[row])) == row_table.set_index("column")["original"]["job"]
        app.button(key="another row").click().run()
        assert not app.exception


def test_colours__show_any_sensitive_column() -> None:
    frame, _ = table()
    frame = frame.assign(habit=np.where(frame["job"] < "c", "smokes", "runs"), pay=np.arange(len(frame)) % 90)
    schema = Schema.of(frame, quasi_identifying=["age", "job", "day"], sensitive=["illness", "habit", "pay"])
    ws = Workspace(reading=sample_reading("four hundred", frame), schema=schema.with_target("illness"))
    ws.set(k=8)
    app = open_page(ws)
    colours = next(box for box in app.selectbox if box.label == "Colour shows")
    assert colours.options[:3] == ["illness", "habit", "pay"]
    colours.select_index(1).run()
    assert not app.exception
    cells = ws.flow.released[list(ws.flow.schema.quasi_identifying)].map(str).agg("|".join, axis=1)
    shares = ws.flow.released["habit"].groupby(cells).agg(lambda values: values.value_counts(normalize=True).max())
    better, certain = int((shares > 0.5).sum()), int((shares == 1).sum())
    assert f"In {'each' if better == len(shares) else better} of the {len(shares)} released groups" in plain_text(app)
    assert f"somebody's habit can be guessed with better than even odds; in {certain}, for certain." in plain_text(app)
    next(box for box in app.selectbox if box.label == "Colour shows").select_index(2).run()
    assert not app.exception
    assert ws.state(TreeState).about == "pay"


def test_rows_of_persons__are_said_with_their_persons() -> None:
    frame, _ = table()
    frame = frame.assign(who=np.arange(len(frame)) // 3)
    schema = Schema.of(frame, quasi_identifying=["age", "job", "day"], sensitive=["illness"], person="who")
    ws = Workspace(reading=sample_reading("four hundred", frame), schema=schema)
    ws.set(k=5)
    app = open_page(ws)
    ws.state(TreeState).node = 0
    app.run()
    alike = ws.flow.class_of == ws.flow.class_of[ws.flow.staying[0]]
    persons, rows = frame["who"][alike].nunique(), int(alike.sum())
    assert persons >= 5
    assert f"released with {rows - 1} other rows that look the same, of {persons} persons in all;" in plain_text(app)


def test_missing_numbers__are_said_beside_the_headline_of_ranges() -> None:
    ws = numbers()
    frame = ws.table.assign(income=ws.table["income"].where(np.arange(400) % 40 > 0))
    ws = Workspace(reading=sample_reading("four hundred", frame), schema=ws.schema)
    ws.set(k=8)
    assert "10 missing values count as the mean." in plain_text(open_page(ws))


def test_too_few_records__is_said() -> None:
    frame, schema = table()
    ws = Workspace(reading=sample_reading("five", frame.head(5)), schema=schema)
    ws.set(k=10)
    app = open_page(ws)
    assert not app.exception
    assert "fewer than k = 10" in plain_text(app)


def test_blend__the_weight_has_ends_in_words_and_changes_the_tree() -> None:
    ws = numbers()
    app = open_page(ws)
    app.selectbox(key="tree criterion sse").set_value("blend").run()
    assert not app.exception
    assert ws.flow.criterion == "blend"
    assert {"keep the columns", "keep the analysis"} <= {caption.value for caption in app.caption}
    losses = []
    for weight in (0.0, 1.0):
        app.slider(key="tree weight").set_value(weight).run()
        assert not app.exception
        assert ws.settings.weight == weight
        losses.append(ws.flow.node_ncp[ws.flow.pruning.cut()].mean())
    assert losses[0] < losses[1]
    app.selectbox(key="tree criterion sse").set_value("sse").run()
    assert ws.settings.criterion == "sse"


@pytest.mark.parametrize(
    "value", [None, {}, {"picked": "1"}, {"picked": -1}, {"picked": 7}, {"picked": True}, {"x": 1}]
)
def test_node_of__refuses_what_is_no_node(value: object) -> None:
    assert node_of(value, "picked", 7) is None


def test_node_of__takes_a_node() -> None:
    assert [node_of({"picked": node}, "picked", 7) for node in range(7)] == list(np.arange(7))


def test_alpha__moving_it_draws_the_groups_again() -> None:
    ws = numbers()
    ws.set(grouping="error-digression", significance=0.05, k=2)
    app = open_page(ws)
    assert not app.exception
    groups = []
    for alpha in (0.0, 0.05, 0.5):
        app.slider(key="tree significance").set_value(alpha).run()
        assert not app.exception
        assert ws.settings.significance == alpha
        limits = Limits(k=2, significance=alpha)
        expected = prune(ws.flow.tree, ws.flow.risk, "error-digression", limits=limits, encoded=ws.flow.encoded)
        assert ws.flow.pruning.cut().tolist() == expected.cut().tolist()
        groups.append(len(expected.cut()))
    assert groups == sorted(groups, reverse=True)
    assert groups[0] > groups[-1]


def test_a_significance_of_a_project__is_shown_whatever_it_is() -> None:
    ws = numbers()
    ws.set(significance=0.7)
    app = open_page(ws)
    assert not app.exception
    assert app.slider(key="tree significance").value == 0.7
    assert ws.settings.significance == 0.7


def test_inside_a_group__are_the_released_classes() -> None:
    ws = session()
    app = open_page(ws)
    flow = ws.flow
    parts = flow.after.groups
    assert parts > len(flow.pruning.cut())
    assert f"Inside them {count(parts)} groups look alike" in plain_text(app)
    assert {item.label: item.value for item in app.metric}["Groups"] == count(flow.after.groups)
    node = max(flow.bands, key=lambda group: len(flow.bands[group]))
    ws.state(TreeState).node = node
    app = open_page(ws)
    sizes = flow.bands[node]
    assert f"divided into {count(len(sizes))} smaller groups" in plain_text(app)
    cells = next(frame.value for frame in app.dataframe if "rows" in frame.value and "node" not in frame.value)
    assert int(cells["rows"].sum()) == flow.pruning.tree.n[node] == sizes.sum()
    assert cells["rows"].min() >= ws.k


def test_one_row__is_shown_before_and_after() -> None:
    ws = session()
    app = open_page(ws)
    node = int(ws.flow.pruning.cut()[-1])
    ws.state(TreeState).node = node
    app.run()
    cells = next(frame.value for frame in app.table if "released" in frame.value)
    assert sorted(cells["column"]) == ["age", "day", "job"]
    rows = np.flatnonzero(ws.flow.pruning.group_of_node()[ws.flow.leaf] == node)
    row = ws.table.iloc[rows[0]]
    texts_of = lambda values: [plain("missing" if value != value else value_text(value)) for value in values]  # noqa: E731
    assert list(cells["original"]) == texts_of(row[list(cells["column"])])
    place = int(np.flatnonzero(ws.flow.release.order == rows[0])[0])
    assert list(cells["released"]) == texts_of(ws.flow.released[list(cells["column"])].iloc[place])


def test_closed_panel__leaves_the_picture() -> None:
    ws = session()
    app = open_page(ws)
    ws.state(TreeState).node = 0
    app.run()
    next(button for button in app.button if button.label == "Close").click().run()
    assert ws.state(TreeState).node is None
    assert not any("learns" in heading.value for heading in app.subheader)


def test_sentence_of_two_classes__says_no_zero() -> None:
    """Of two classes one is always as likely as 1 in 2."""
    leaves = Leaving((), 7, 0, 2)
    says = "In each of the 7 released groups, somebody's income can be guessed with better than even odds; "
    assert surest_sentence(leaves, "income") == says + "in 2, for certain."


@pytest.mark.parametrize(("gain", "proposed"), [(0.05, True), (0.005, False)])
def test_target__is_tried_in_the_background_and_proposed_where_it_pays(
    gain: float, proposed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Proposal("AUC", gain, 0.001, 0.2, 0.09, {"criterion": "entropy", "grouping": "error-risk"})
    going, asked_of = threading.Event(), []

    def propose(flow: Flow, progress: Progress) -> Proposal:
        asked_of.append(flow.settings.k)
        assert going.wait(PATIENCE)
        return answer

    monkeypatch.setattr("ui.proposal.RESTED", 0.0)
    monkeypatch.setattr("ui.proposal.propose", propose)
    ws = session()
    app = open_page(ws).run()
    assert "is being tried: 0%" in plain_text(app)
    going.set()
    assert ws.jobs["proposal"].done.wait(PATIENCE)
    app.run()
    assert asked_of == [8]
    assert answer.sentence in plain_text(app)
    buttons = [button for button in app.button if button.label == "Guide by the target"]
    assert len(buttons) == proposed
    assert ("It is not proposed" in plain_text(app)) != proposed
    if proposed:
        buttons[0].click().run()
        assert (ws.settings.criterion, ws.settings.grouping) == ("entropy", "error-risk")
        assert answer.sentence not in plain_text(app)


def test_trial_of_the_target__waits_until_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.proposal.RESTED", PATIENCE)
    ws = session()
    app = open_page(ws)
    first = ws.jobs["proposal"]
    app.slider(key="tree k").set_value(9).run()
    assert ws.settings.k == 9
    assert first.done.wait(PATIENCE)
    assert isinstance(first.failure, CancelledError)
    second = ws.jobs["proposal"]
    assert second is not first
    ws.forget()
    assert second.done.wait(PATIENCE)
