"""The Tree page without a browser: its groupings, why a group is one, and the limits on every group."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.groups.mondrian import grow_mondrian
from anonymizer.groups.recipe import GROUPING_WORDS, grouping_words
from anonymizer.schema import Schema
from anonymizer.settings import names_of
from anonymizer.values import number_text
from tests.drawn_trees import table
from tests.pages.tree import numbers, open_page, plain_text, session
from ui.controls import share
from ui.tree.state import TreeState
from ui.workspace import Workspace, sample_reading


def groups(ws: Workspace) -> list[np.ndarray]:
    """The rows of every group, found by sending the records down the tree."""
    pruning = ws.flow.pruning
    group = pruning.group_of_node()[ws.flow.leaf]
    return [np.flatnonzero(group == node) for node in pruning.cut()]


def rsd_and_spread(values: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """By their definitions, from the records."""
    here = values[rows]
    around = ((here - values.mean()) ** 2).sum()
    return ((here - here.mean()) ** 2).sum() / around, here.std() / values.std()


@pytest.mark.parametrize(
    ("ws", "offered"),
    [
        (session(), ["least", "regions", "error-risk", "median-mondrian", "infogain-mondrian"]),
        (numbers(), ["least", "regions", "error-digression", "median-mondrian", "regression-mondrian"]),
        (
            numbers(categories=True),
            ["least", "regions", "error-risk", "error-digression", "median-mondrian", "infogain-mondrian"],
        ),
    ],
    ids=["classes", "numbers", "both"],
)
def test_groupings__are_those_that_fit_the_sensitive_columns(ws: Workspace, offered: list[str]) -> None:
    app = open_page(ws)
    assert not app.exception
    assert app.selectbox(key="tree grouping").options == [grouping_words(name)[0] for name in offered]


@pytest.mark.parametrize(
    ("ws", "grouping"),
    [(session(), "median-mondrian"), (session(), "infogain-mondrian"), (numbers(), "regression-mondrian")],
    ids=["median", "infogain", "regression"],
)
def test_mondrian__groups_are_its_leaves_and_it_says_what_it_is(ws: Workspace, grouping: str) -> None:
    app = open_page(ws)
    app.selectbox(key="tree grouping").set_value(grouping).run()
    assert not app.exception
    assert grouping_words(grouping)[1] in plain_text(app)
    assert "nothing to choose here" in plain_text(app)
    expected = grow_mondrian(ws.flow.encoded, 8, grouping)
    np.testing.assert_array_equal(np.sort(ws.flow.tree.n[ws.flow.pruning.cut()]), np.sort(expected.n[expected.is_leaf]))
    app.slider(key="tree k").set_value(30).run()
    assert not app.exception
    assert ws.flow.tree.n[ws.flow.pruning.cut()].min() >= 30


def test_every_grouping__has_a_title_and_a_sentence() -> None:
    assert tuple(GROUPING_WORDS) == names_of("grouping")
    assert all(title and meaning.endswith(".") for title, meaning in GROUPING_WORDS.values())


def test_grouping__that_no_longer_fits_after_a_change_of_roles_is_left() -> None:
    ws = session()
    ws.set(grouping="error-digression", rsd_min=0.2, significance=0.05)
    app = open_page(ws)
    assert not app.exception
    assert not app.error
    assert (ws.settings.grouping, ws.flow.grouping) == (None, "regions")
    assert (ws.settings.rsd_min, ws.settings.significance) == (None, None)


def test_numbers__the_picked_node_is_explained_by_its_records() -> None:
    ws = numbers()
    app = open_page(ws)
    app.selectbox(key="tree grouping").set_value("error-digression").run()
    assert not app.exception
    assert ws.flow.pruning.criterion == "error-digression"
    node = next(int(t) for t in ws.flow.pruning.cut() if not ws.flow.tree.is_leaf[t])
    ws.state(TreeState).node = node
    app.run()
    assert not app.exception
    content = plain_text(app)
    rows = next(rows for rows, t in zip(groups(ws), ws.flow.pruning.cut(), strict=True) if t == node)
    values = ws.table[["income", "stay"]].to_numpy(float)
    scaled = (values - values.min(axis=0)) / (values.max(axis=0) - values.min(axis=0))
    within = [np.cov(part.T, bias=True) * len(part) for part in (scaled, scaled[rows])]
    assert f"**{number_text(np.linalg.det(within[0] - within[1]))}** is how far the scatter" in content
    assert f"**{number_text(np.trace(within[1]))}** is the squared error around the means" in content
    for position, name in enumerate(("income", "stay")):
        rsd, spread = rsd_and_spread(values[:, position], rows)
        assert f"is the mean of {name}, for the whole table" in content
        assert f"leaves {share(rsd)} of the squared error of a blind guess (RSD)" in content
        assert f"vary {share(spread)} as much as in the table" in content
    assert "error-digression measure" in content
    assert "changed the digression from" in content


def test_worst_groups__are_named_and_can_be_picked() -> None:
    ws = numbers(categories=True)
    app = open_page(ws)
    assert not app.exception
    cut, rows = ws.flow.pruning.cut(), groups(ws)
    rsd = [rsd_and_spread(ws.table["income"].to_numpy(float), part)[0] for part in rows]
    stay = [rsd_and_spread(ws.table["stay"].to_numpy(float), part)[0] for part in rows]
    worst = int(cut[int(np.argmin(np.minimum(rsd, stay)))])
    button = app.button(key="worst RSD")
    assert f"lowest RSD: {number_text(min(*rsd, *stay))}" in re.sub(r"\\", "", button.label)
    assert button.label.endswith(f"group {worst:,}")
    button.click().run()
    assert ws.state(TreeState).node == worst
    distinct = min(ws.table["illness"].iloc[part].nunique() for part in rows)
    assert f"lowest l: {distinct}" in re.sub(r"\\", "", app.button(key="worst l").label)
    assert {f"worst {name}" for name in ("TIDI", "digression", "RSD", "spread", "l")} <= {b.key for b in app.button}


def reason(app: AppTest, ws: Workspace, node: int) -> str:
    """Why the records of a node are one group, as the page says."""
    ws.state(TreeState).node = node
    app.run()
    return next(text.value for text in app.markdown if text.value.startswith("These") and "merged" in text.value)


@pytest.mark.parametrize("grouping", ["least", "error-digression"])
@pytest.mark.parametrize(("limit", "place"), [("rsd_min", 0), ("spread_min", 1)])
def test_limits_of_numbers__hold_in_every_group(grouping: str, limit: str, place: int) -> None:
    ws = numbers()
    ws.set(grouping=grouping)
    app = open_page(ws)
    before = len(groups(ws))
    lowest = min(rsd_and_spread(ws.table["income"].to_numpy(float), rows)[place] for rows in groups(ws))
    required = 0.9 if place else 0.7
    assert lowest < required, "the limit must bite"
    app.number_input(key=f"tree {limit}").set_value(required).run()
    assert not app.exception
    for name in ("income", "stay"):
        values = ws.table[name].to_numpy(float)
        assert min(rsd_and_spread(values, rows)[place] for rows in groups(ws)) >= required - 1e-9
    assert len(groups(ws)) <= before
    merged = [int(t) for t in ws.flow.pruning.cut() if not ws.flow.tree.is_leaf[t]]
    assert any("is required" in reason(app, ws, node) for node in merged)


@pytest.mark.parametrize("tested", ["inner", "leaves"])
def test_significance__is_explained_where_it_is_tested(tested: str) -> None:
    ws = numbers()
    ws.set(grouping="error-digression")
    app = open_page(ws)
    app.selectbox(key="tree tested").set_value(tested).run()
    assert not app.exception
    assert (ws.settings.significance, ws.settings.tested) == (0.05, tested)
    promise = "Promises: nothing about what is released" in plain_text(app).replace("**", "")
    assert promise == (tested == "inner")
    app.selectbox(key="tree tested").set_value("").run()
    assert ws.settings.significance is None


def test_limit_that_cannot_be_met__says_which_and_the_page_stays() -> None:
    ws = session()
    app = open_page(ws)
    app.number_input(key="tree l").set_value(4).run()
    assert not app.exception
    assert len(app.error) == 1
    assert app.button(key="next gate").disabled
    assert "l-diversity of illness is 3, and at least 4 is required" in re.sub(r"\\", "", app.error[0].value)
    assert any(slider.label.startswith("Pruning steps") for slider in app.slider)
    app.number_input(key="tree l").set_value(3).run()
    assert not app.error
    assert not app.button(key="next gate").disabled
    assert min(ws.table["illness"].iloc[rows].nunique() for rows in groups(ws)) == 3


def test_limits__without_sensitive_columns_there_are_none() -> None:
    frame, _ = table()
    schema = Schema.of(frame, quasi_identifying=["age", "job", "day"])
    ws = Workspace(reading=sample_reading("four hundred", frame), schema=schema)
    ws.set(l=2, t=0.1)
    app = open_page(ws)
    assert not app.exception
    assert "there is nothing to limit" in plain_text(app)
    assert (ws.settings.l, ws.settings.t) == (None, None)


def test_harmless_levels__are_not_counted_by_l() -> None:
    ws = session()
    app = open_page(ws)
    app.number_input(key="tree l").set_value(2).run()
    level = ws.table["illness"].value_counts().index[0]
    app.multiselect(key="tree harmless illness").set_value([level]).run()
    assert not app.exception
    assert ws.schema is not None
    assert ws.schema["illness"].harmless == (level,)
    for rows in groups(ws):
        others = set(ws.table["illness"].iloc[rows]) - {level}
        assert not others or len(others) >= 2


def test_share_of_one_person__is_a_limit_where_persons_have_rows() -> None:
    frame, schema = table()
    frame["who"] = (np.arange(len(frame)) ** 2 // 900).astype(str)
    schema = Schema.of(
        frame, person="who", quasi_identifying=schema.quasi_identifying, sensitive=schema.sensitive,
        identifying=[name for name in schema.identifying if name != "who"],
    )  # fmt: skip
    ws = Workspace(reading=sample_reading("four hundred", frame), schema=schema)
    ws.set(k=3, grouping="least")
    app = open_page(ws)
    app.number_input(key="tree share_max").set_value(0.25).run()
    assert not app.exception
    for rows in groups(ws):
        assert frame.who.iloc[rows].value_counts().max() <= 0.25 * len(rows)
    ws.set_schema(schema.with_roles({"who": "identifying"}))
    app = open_page(ws)
    assert not app.exception
    assert ws.settings.share_max is None


def test_numbers__the_headline_counts_rows_in_narrow_groups() -> None:
    ws = numbers()
    app = open_page(ws)
    income = ws.flow.released["income"].to_numpy(float)
    cells = ws.flow.released[["age", "job", "day"]].map(str).agg("|".join, axis=1).to_numpy()

    def narrowest(values: np.ndarray) -> float:
        ranked, most = np.sort(values), int(np.ceil(0.8 * len(values) - 1e-9))
        return float((ranked[most - 1 :] - ranked[: len(ranked) - most + 1]).min())

    third = narrowest(income) / 3
    narrow = sum((cells == cell).sum() for cell in set(cells) if narrowest(income[cells == cell]) <= third + 1e-6)
    few = f"{narrow} of the 400 rows are" if narrow else "None of the 400 rows are"
    where = f"in groups where 8 in 10 values of income lie within a range of {number_text(third, 2)}."
    assert f"{few} {where}" in plain_text(app)
