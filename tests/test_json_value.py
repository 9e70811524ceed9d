"""JSON from outside: by type and range, or one sentence with its place."""

import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from anonymizer import json_value
from anonymizer.disclosure.publish import from_json as tree_from_json
from anonymizer.errors import ReadError
from anonymizer.forest.domains import read_domains
from anonymizer.json_value import MAX_BYTES, MOST_VALUES, JsonValue, parse, read_json
from anonymizer.provenance.report import schema_from
from anonymizer.schema import Schema
from anonymizer.whatif.project import from_json as project_from_json
from tests.sweeps import SWEEPS

READERS = {
    "schema": Schema.from_json,
    "project": project_from_json,
    "tree": tree_from_json,
    "codebook": read_domains,
}
DEEP = "[" * 100_000 + "]" * 100_000
NOT_JSON = {
    "nothing": "", "deep": DEEP, "deep inside": '{"columns": ' + DEEP + "}", "not a number": '{"a": NaN}',
    "infinite": '{"a": -Infinity}', "endless digits": '{"a": ' + "9" * 10_000 + "}", "twice": '{"a": 1, "a": 2}',
    "half a character": '{"a": "\\ud800"}', "a list": "[]", "a text": '"x"', "null": "null", "cut": '{"a": ',
}  # fmt: skip
TREE = {
    "format": "copse-published-tree", "version": 1, "target": {"name": "ill", "values": ["a", "b"]},
    "columns": [{"name": "age", "kind": "numeric"}],
    "nodes": [
        {"column": "age", "children": [{"node": 1, "upto": 30.0, "missing": False}, {"node": 2, "above": 30.0}]},
        {"label": "a", "error_rate": 0.25}, {"label": "b"},
    ],
    "class_totals": [3, 4], "growing_rule": {"measure": "gini", "splits": "binary", "min_leaf": 2},
}  # fmt: skip


def value(of: Any) -> JsonValue:
    return parse(json.dumps({"x": of}), "file", "Mend it.").field("x")


@pytest.mark.parametrize("text", list(NOT_JSON.values()), ids=list(NOT_JSON))
@pytest.mark.parametrize("reader", list(READERS))
def test_readers__refuse_in_one_sentence(reader: str, text: str) -> None:
    with pytest.raises(ReadError) as raised:
        READERS[reader](text)
    assert "\n" not in str(raised.value)
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("path", "bad"),
    [
        (["version"], 2), (["version"], True), (["version"], 10**400), (["target"], "ill"), (["target", "values"], []),
        (["target", "values"], [1]), (["columns"], 3), (["columns", 0, "kind"], "colour"), (["nodes"], []),
        (["nodes", 0, "column"], None), (["nodes", 0, "children"], []), (["nodes", 0, "children"], {"a": 1}),
        (["nodes", 0, "children", 0, "node"], 0), (["nodes", 0, "children", 0, "node"], 10**400),
        (["nodes", 0, "children", 0, "upto"], [30]), (["nodes", 0, "children", 0, "upto"], 10**400),
        (["nodes", 0, "children", 0, "missing"], "no"), (["nodes", 0, "children", 0, "values"], "ab"),
        (["nodes", 1, "label"], 3), (["nodes", 1, "error_rate"], 2), (["nodes", 1, "error_rate"], "half"),
        (["nodes", 1, "extra"], 1), (["class_totals"], [1]), (["class_totals"], [1, -1]), (["growing_rule"], 3),
        (["growing_rule", "measure"], "magic"), (["growing_rule", "min_leaf"], 1.5),
    ],
)  # fmt: skip
def test_tree__every_field_is_checked(path: list[Any], bad: Any) -> None:
    assert tree_from_json(json.dumps(TREE))["nodes"] == TREE["nodes"]
    changed = json.loads(json.dumps(TREE))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = bad
    with pytest.raises(ReadError, match="The published tree is not in order: ") as raised:
        tree_from_json(json.dumps(changed))
    assert str(path[0]) in str(raised.value)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: value(2**53).whole(1, 100), "x: a whole number from 1 to 100 was expected, not 9007199254740992"),
        (lambda: value(10**400).number(), "not so large a number"),
        (lambda: value(True).number(), "a number was expected, not True"),
        (lambda: value("5").whole(), "not '5'"),
        (lambda: value({"a": 1}).fields(("b",)), "there is no 'a', but only b"),
        (lambda: value([1, 2, 3]).items(2), "a list of 0 to 2 was expected"),
        (lambda: value([1, "b"]).items()[1].whole(), "x 2: a whole number"),
        (lambda: value("a\nb").text(plain=True), "characters that cannot be shown"),
        (lambda: value(1).flag(), "true or false was expected"),
    ],
)
def test_values__are_asked_for_what_they_should_be(made: Any, words: str) -> None:
    with pytest.raises(ReadError) as raised:
        made()
    assert words in str(raised.value)
    assert str(raised.value).startswith("The file is not in order: x")


def test_files__that_cannot_be_opened_or_are_too_large(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"absent.json cannot be opened as a schema"):
        schema_from(tmp_path / "absent.json")
    with pytest.raises(ReadError, match=r"larger than 20 MiB"):
        parse(" " * (MAX_BYTES + 1), "schema", "Give another.")
    (tmp_path / "x.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReadError):
        read_json(tmp_path / "x.json", "schema", "Give another.")


@pytest.mark.sweep(1)
@pytest.mark.parametrize("item", ["[]", '{"":0}', "1.5"])
def test_parse__takes_little_memory_and_time_whatever_it_is_given(item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both grow with the limits, which are a tenth here, but in sweeps."""
    least = 1 if SWEEPS else 10
    most_values, max_bytes = MOST_VALUES // least, MAX_BYTES // least
    monkeypatch.setattr(json_value, "MOST_VALUES", most_values)
    monkeypatch.setattr(json_value, "MAX_BYTES", max_bytes)
    marks = 1 + sum(map(item.count, ",[{"))
    n = min(most_values // marks, max_bytes // (len(item.encode()) + 1)) - 1
    text = "[" + f"{item}," * n + "0]"
    tracemalloc.start()
    began = time.process_time()
    try:
        assert len(parse(text.encode(), "schema", "Give another.").value) == n + 1
        assert tracemalloc.get_traced_memory()[1] < 350e6 / least
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 60  # three without the watch on memory
    with pytest.raises(ReadError, match=rf"more than {most_values:,} values|larger than {max_bytes >> 20} MiB"):
        parse(text.replace("0]", f"{item}," * 3 + "0]").ljust(max_bytes - 1, ","), "schema", "Give another.")
