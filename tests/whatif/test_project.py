"""The project file: saved and opened again it is the same; nothing in a stranger's file is believed."""

import contextlib
import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.errors import ReadError
from anonymizer.measuring.points import Point
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.profile import suggest
from anonymizer.schema import Schema
from anonymizer.settings import RUN, SETTINGS, setting_names
from anonymizer.whatif.project import Project, from_json, to_json
from anonymizer.whatif.scenarios import History, choices_of, scenario_of

SHA = "0f" * 32
CANARY = "Zebulon-4711"


def project() -> Project:
    table = pd.DataFrame({"age": [1, 2], "name": [CANARY, "b"], "ill": ["x", "y"]})
    schema = Schema.of(table, quasi_identifying=["age"], identifying=["name"], sensitive=["ill"])
    parameters = {
        "k": 10, "grouping": "least", "generalizer": "uniform", "writing": "sets", "numbers": "range",
        "criterion": None, "min_leaf": 2, "max_depth": None, "weight": 0.5, "l": None, "entropy_l": None, "t": 0.3,
        "rsd_min": None, "spread_min": None, "significance": None, "tested": "inner", "prosecutor_limit": 10,
        "journalist_limit": 10, "marketer_limit": 20,
    }  # fmt: skip
    point = Point("least", "refine", 20, 35, 21, 1 / 21, 5.5, None, 0.75, 0.25, 0.125, None)
    scenario = scenario_of(point, "for the board", parameters, "two\nlines, <b>bold</b>")
    history = History().record(choices_of(schema, parameters)).record(choices_of(schema, {**parameters, "k": 12}))
    history = history.record(choices_of(schema.with_column("age", domain=(0, 120)), parameters)).undo()
    return Project(schema, parameters, (scenario,), history, "people.csv", SHA, 2)


def test_saved_and_opened__is_the_same() -> None:
    saved = project()
    text = to_json(saved)
    assert from_json(text) == from_json(text.encode()) == saved
    assert CANARY not in text
    assert set(setting_names(*RUN)) <= set(SETTINGS)


def test_suggested_levels__are_named_and_suggested_again() -> None:
    levels = ["low", "medium", "high"]
    table = pd.DataFrame({"age": [*range(60)], "dose": levels * 20, "ill": ["x", "y"] * 30})
    suggested = suggest(table)
    assert suggested["dose"].domain == tuple(levels), "the order that the values themselves speak of"
    other = suggested.with_column("ill", domain=("y", "x", "z"))
    history = History().record(choices_of(suggested, {})).record(choices_of(other, {}))
    saved = Project(other, {}, (), history)
    text = to_json(saved, suggested)
    assert not any(f'"{level}"' in text for level in levels)
    assert '"z"' in text, "what was declared is a decision"
    assert from_json(text, suggested) == saved
    assert from_json(text).schema["dose"].domain is None
    assert from_json(to_json(saved)) == saved
    assert saved.history.start["column dose"]["domain"] == levels, "writing changes nothing"


def test_all_that_was_decided__comes_back() -> None:
    options = ReadOptions(delimiter=";", decimal=",", encoding="cp1252", missing=("", "?"), header=False, sheet="A")
    saved = replace(project(), reading=options, spent=2.5, words={"purpose": "x"}, saved="2026-01-31T12:00:00+00:00")
    again = from_json(to_json(saved))
    assert again == saved
    assert again.saved == saved.saved
    assert project().reading is None
    keeps = replace(project(), keep=True, history=History().record(choices_of(project().schema, {}, keep=True)))
    assert from_json(to_json(keeps)) == keeps
    older = {name: value for name, value in json.loads(to_json(project())).items() if name != "keep"}
    assert from_json(json.dumps(older)) == project()


def test_another_table__is_said() -> None:
    saved = project()
    columns = ["age", "name", "ill"]
    assert saved.mismatch(SHA, columns) == ""
    assert "figures must be computed again" in saved.mismatch("ab" * 32, columns)
    sentence = saved.mismatch("ab" * 32, ["age", "ill", "zip"])
    assert "lacks 'name'" in sentence
    assert "adds 'zip'" in sentence
    assert saved.fits(columns)
    assert not saved.fits(["age", "ill", "zip"])


def change(path: list[Any], value: Any) -> str:
    """The project file with one thing in it replaced."""
    content = json.loads(to_json(project()))
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["copse_project"], 3), (["copse_project"], 0),
        (["copse_project"], True), (["copse_project"], "1"), (["table"], None),
        (["table", "sha256"], "x"), (["table", "sha256"], "g" * 64), (["table", "sha256"], 3),
        (["table", "records"], -1), (["table", "records"], 2.5), (["table", "records"], True),
        (["table", "name"], ["a"]), (["schema"], []), (["schema", "columns"], 3),
        (["schema", "columns", 0, "role"], "king"), (["schema", "target"], "age"),
        (["parameters"], [1]), (["parameters", "k"], 0), (["parameters", "k"], 10.0), (["parameters", "k"], True),
        (["parameters", "k"], 10**300), (["parameters", "k"], "10"), (["parameters", "grouping"], "magic"),
        (["parameters", "generalizer"], ["uniform"]), (["parameters", "weight"], 1.5), (["parameters", "t"], -0.1),
        (["parameters", "l"], 0.5), (["parameters", "l"], 1e999), (["parameters", "tested"], None),
        (["parameters", "shell"], "rm"), (["scenarios"], {}), (["scenarios", 0, "name"], ""),
        (["scenarios", 0, "name"], "a\x00b"), (["scenarios", 0, "name"], "x" * 201),
        (["scenarios", 0, "comment"], "x" * 5001), (["scenarios", 0, "comment"], None),
        (["scenarios", 0, "figures", "gcp"], "0.2"), (["scenarios", 0, "figures", "gcp"], True),
        (["scenarios", 0, "figures", "cost"], 1), (["scenarios", 0, "parameters", "k"], None),
        (["scenarios"], [{}] * 501), (["history"], []), (["history", "position"], 3), (["history", "position"], -1),
        (["history", "position"], True), (["history", "entries", 0, "time"], "yesterday"),
        (["history", "entries", 0, "time"], "2026-01-01T00:00:00"), (["history", "entries", 0, "what"], 1),
        (["history", "entries", 0, "from"], {}), (["history", "entries", 0, "to"], {"k": 0}),
        (["history", "entries", 0, "to"], {"k": None}),
        (["history", "entries", 1, "to", "column age"], {"name": "ill"}),
        (["history", "entries", 1, "to", "column age"], {"name": "age", "role": "king"}),
        (["reading"], "csv"), (["reading"], {"decimal": ";"}), (["reading"], {"decimal": 1}),
        (["reading"], {"dates": "x"}),
        (["reading"], {"missing": "?"}), (["reading"], {"missing": [1]}), (["reading"], {"header": 1}),
        (["reading"], {"keep": ["x"] * 3000}), (["reading"], {"shell": "rm"}), (["spent"], -1), (["spent"], "1"),
        (["words"], []),
        (["words"], {"purpose": 1}), (["words"], {str(n): "" for n in range(50)}), (["saved"], "now"), (["saved"], 3),
        (["schema", "columns", 0, "domain"], "all"),
        (["history", "start", "column age"], None), (["history", "start", "x"], 1), (["history", "start", "target"], 4),
    ],
)  # fmt: skip
def test_every_field__is_checked(path: list[Any], value: Any) -> None:
    text = change(path, value)
    with pytest.raises(ReadError) as caught:
        from_json(text)
    assert str(caught.value).count("\n") == 0
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\x00", b"[]", b"{}", b"null", b'"x"', b"{" * 100_000, b"[" * 100_000, b'{"copse_project": NaN}',
     b'{"copse_project": 1}', b'{"copse_project": ' + b"9" * 5000 + b"}"],
)  # fmt: skip
def test_anything_else__is_refused(content: bytes) -> None:
    with pytest.raises(ReadError):
        from_json(content)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=8,
), st.sampled_from(["table", "schema", "parameters", "scenarios", "history"]))  # fmt: skip
def test_a_stranger__gets_a_project_or_one_kind_of_error(value: Any, key: str) -> None:
    with contextlib.suppress(ReadError):
        from_json(change([key], value))
