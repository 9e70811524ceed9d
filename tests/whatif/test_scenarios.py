"""Scenarios beside each other, and a history that can be gone through in any order."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.errors import ParameterError, SchemaError
from anonymizer.measuring.points import Point
from anonymizer.schema import Role, Schema
from anonymizer.whatif.scenarios import (
    DRAG,
    FIGURES,
    History,
    Scenario,
    basis_of,
    choices_of,
    figures_of,
    parameters_from,
    scenario_of,
    schema_from,
    side_by_side,
    words_back,
)

POINT = Point("least", "refine", 20, 35, 21, 1 / 21, 5.5, None, 0.75, 0.25, 0.125, None)


def schema() -> Schema:
    table = pd.DataFrame({"age": [1, 2], "city": ["a", "b"], "ill": ["x", "y"], "pay": [1.0, 2.0]})
    return Schema.of(table, quasi_identifying=["age", "city"], sensitive=["ill", "pay"])


def test_scenario__keeps_all_parameters_and_the_points_on_top() -> None:
    scenario = scenario_of(POINT, "wide", {"k": 10, "min_leaf": 2, "generalizer": "uniform"}, "for the board")
    assert scenario.parameters == {"k": 20, "min_leaf": 2, "generalizer": "refine", "grouping": "least"}
    assert scenario.figures == figures_of(POINT)
    expected = {"groups": 35, "smallest": 21, "risk": 1 / 21, "tidi": 5.5}
    assert scenario.figures == {**expected, "posterior": 0.75, "gcp": 0.25, "error": 0.125}
    assert set(FIGURES) <= set(Point.__dataclass_fields__)


def test_side_by_side__shows_what_differs_and_all_figures() -> None:
    first = Scenario("a", {"k": 10, "min_leaf": 2}, {"gcp": 0.5, "risk": 0.1})
    second = Scenario("b", {"k": 20, "min_leaf": 2, "l": 3}, {"gcp": 0.6, "risk": 0.05, "tidi": 4.0})
    table = side_by_side([first, second])
    assert list(table.columns) == ["a", "b"]
    assert list(table.index) == ["k", "l", "risk", "tidi", "gcp"]
    assert table.loc["k"].tolist() == [10, 20]
    assert table.loc["l"].tolist() == [None, 3]
    assert table.loc["tidi"].tolist() == [None, 4.0]
    for wrong in ([first], [first, first], [replace(first, name=str(n)) for n in range(5)]):
        with pytest.raises(ParameterError):
            side_by_side(wrong)


def test_choices__give_back_schema_and_parameters() -> None:
    before = schema().with_column("age", reason="looks like an age")
    after = before.with_column("pay", role=Role.INSENSITIVE).with_column("city", domain=("a", "b", "c"))
    choices = choices_of(after, {"k": 12, "l": None})
    assert parameters_from(choices) == {"k": 12, "l": None}
    other = schema_from(choices, before)
    assert other == after
    assert other["age"].reason == "looks like an age"
    assert schema_from(choices_of(before, {}), after) == replace(before, columns=other.columns[:0] + tuple(
        replace(column, reason="" if column.name in ("pay", "city") else column.reason) for column in before.columns
    ))  # fmt: skip
    with pytest.raises(SchemaError):
        schema_from({**choices, "target": "age"}, before)


def test_words_back__say_what_and_where() -> None:
    roles, choices = schema(), {"k": 10}
    history = History().record(choices_of(roles, choices)).record(choices_of(roles, {"k": 20}))
    assert words_back(history.last, undone=True) == "k back to 10"
    other = roles.with_roles({"age": Role.INSENSITIVE})
    history = history.record(choices_of(other, {"k": 20}))
    assert words_back(history.last, undone=True) == f"age back to {roles['age'].role} (Roles)"
    assert words_back(history.undo().next, undone=False) == "age to insensitive (Roles)"
    why = Schema(tuple(replace(c, own_reason="asked") if c.name == "age" else c for c in other.columns), other.target)
    history = history.record(choices_of(why, {"k": 20}))
    assert words_back(history.last, undone=True) == "age back to another reason (Roles)"
    assert basis_of(why, "t") == basis_of(other, "t"), "a reason changes no figure"
    assert words_back(None, undone=True) == ""
    for part, value, words in (
        ("importance", 2.0, "another importance"),
        ("alike", True, "another way to compare ids"),
    ):
        both = (
            History()
            .record(choices_of(roles, choices))
            .record(choices_of(roles.with_column("age", **{part: value}), choices))
        )
        assert words_back(both.last, undone=True) == f"age back to {words} (Roles)"


def test_history__records_what_changed_and_goes_anywhere() -> None:
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    history = History().record({"k": 10, "l": None}).record({"k": 12, "l": None}, time=moment)
    history = history.record({"k": 12, "l": 2.0}, "asked by the board", moment)
    assert [entry.what for entry in history.entries] == ["k", "asked by the board"]
    assert [entry.time for entry in history.entries] == ["2026-01-31T12:00:00+00:00"] * 2
    assert [entry.changes for entry in history.entries] == [(("k", "10", "12"),), (("l", "off", "2"),)]
    assert history.state == {"k": 12, "l": 2.0}
    assert not history.can_redo
    assert history.undo().state == {"k": 12, "l": None}
    assert history.undo().undo().state == history.undo().undo().undo().state == {"k": 10, "l": None}
    assert not history.undo().undo().can_undo
    assert history.at(0).redo().state == {"k": 12, "l": None}
    assert history.at(1).redo().redo().redo() == history
    branched = history.at(1).record({"k": 30, "l": None}, time=moment + timedelta(minutes=1))
    assert [entry.after for entry in branched.entries] == [{"k": 12}, {"k": 30}]
    assert history.record(history.state) is history
    for moment_that_was_not in (-1, 3):
        with pytest.raises(ParameterError):
            history.at(moment_that_was_not)


def test_history__one_drag_of_a_slider_is_one_decision() -> None:
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    start = History().record({"k": 10, "l": None, "method": "pack"})
    history = start
    for number, k in enumerate((11, 12, 15)):
        history = history.record({**history.state, "k": k}, time=moment + timedelta(seconds=number))
    assert [entry.changes for entry in history.entries] == [(("k", "10", "15"),)]
    assert history.undo().state["k"] == 10
    back = history.record({**history.state, "k": 10}, time=moment + timedelta(seconds=3))
    assert (back.entries, back.position) == ((), 0), "it came back to where it was"
    later = history.record({**history.state, "k": 20}, time=moment + timedelta(seconds=30))
    assert len(later.entries) == 2
    other = history.record({**history.state, "l": 2.0}, time=moment + timedelta(seconds=3))
    assert len(other.entries) == 2
    for first, then in (({"method": "refine"}, {"method": "tiered"}), ({"l": 2.0}, {"l": None})):
        two = start.record({**start.state, **first}, time=moment)
        assert len(two.record({**two.state, **then}, time=moment).entries) == 2, "no number that moves on"
    undone = history.record({**history.state, "l": 2.0}, time=moment).undo()
    assert undone.record({**undone.state, "k": 16}, time=moment).state["k"] == 16


def test_history__of_columns_in_words() -> None:
    before = schema()
    history = History().record(choices_of(before, {"k": 5}))
    after = before.with_column("city", domain=("a", "b", "c"), ordered=True).with_column("age", domain=(0, 9))
    entry = history.record(choices_of(after, {"k": 5})).entries[0]
    assert entry.what == "age, city"
    assert entry.changes == (
        ("age", "quasi-identifying, numeric", "quasi-identifying, numeric, domain [0.0, 9.0]"),
        ("city", "quasi-identifying, categorical", "quasi-identifying, categorical, in order, 3 levels"),
    )


@given(st.lists(st.one_of(st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), min_size=3), st.integers(-2, 2))))
def test_history__every_moment_is_the_choices_that_were_recorded(steps: list) -> None:
    """Against a list of states and a place in it."""
    history, states, place = History().record({"a": 9, "b": 9, "c": 9}), [{"a": 9, "b": 9, "c": 9}], 0
    for number, step in enumerate(steps):
        if isinstance(step, dict):
            history = history.record(step, time=datetime(2026, 1, 31, tzinfo=UTC) + number * DRAG)
            if step != states[place]:
                states, place = [*states[: place + 1], step], place + 1
        elif 0 <= place + step < len(states):
            for _ in range(abs(step)):
                history = history.redo() if step > 0 else history.undo()
            place += step
        assert history.state == states[place]
        assert (history.can_undo, history.can_redo) == (place > 0, place < len(states) - 1)
        assert [history.at(moment).state for moment in range(len(states))] == states
