"""Rules in words: they hold for exactly their records."""

import re

import numpy as np
import pandas as pd
import pytest

from anonymizer.drawing.rules import condition_text, regions, rule_text, step_text, threshold_text
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Condition, region
from anonymizer.labelled.variable import Variable
from anonymizer.schema import Schema
from tests.drawn_trees import table


def test_rule_text__admits_exactly_the_records_of_the_node(class_tree) -> None:
    """Read the words back: every record that satisfies them reaches the node, and no other."""

    encoded, tree, _ = class_tree
    frame, _ = table()
    leaf = descend(tree, encoded)
    for node in range(tree.n_nodes):
        inside = (leaf >= node) & (leaf < node + tree.size[node])
        inside_rule = np.ones(len(frame), dtype=bool)
        for part in rule_text(tree, encoded.encodings, node).split(" and "):
            inside_rule &= satisfies(part, frame)
        assert (inside_rule == inside).all(), rule_text(tree, encoded.encodings, node)


def test_regions__are_those_of_each_node(class_tree) -> None:
    encoded, tree, _ = class_tree
    region_of = regions(tree, encoded.encodings, range(tree.n_nodes))
    assert set(region_of) == set(range(tree.n_nodes))
    for node, conditions in region_of.items():
        assert conditions == region(tree, encoded.encodings, node)
    some = regions(tree, encoded.encodings, [tree.n_nodes - 1])
    assert set(some) == set(tree.path(tree.n_nodes - 1))


def satisfies(part: str, frame: pd.DataFrame) -> np.ndarray:
    """Which rows satisfy one condition in words."""
    if part == "all rows":
        return np.ones(len(frame), dtype=bool)
    name = next(name for name in frame if name in part)
    values = frame[name]
    if part == f"{name} missing":
        return values.isna().to_numpy()
    if part in (f"{name} present", f"{name} missing or not"):
        return np.ones(len(frame), bool) if "or not" in part else values.notna().to_numpy()
    core = part.removesuffix(" or missing")
    missing = values.isna().to_numpy() & (core != part)
    read = pd.Timestamp if name == "day" else float
    if match := re.fullmatch(rf"{name} (\d+) to (\d+)", core):
        return values.between(float(match[1]), float(match[2])).to_numpy() | missing
    if match := re.fullmatch(rf"{name} (≤|≥|=) (\d+)", core) if name == "age" else None:
        compare = {"≤": values.le, "≥": values.ge, "=": values.eq}[match[1]]
        return compare(float(match[2])).to_numpy() | missing
    if match := re.fullmatch(rf"(?:(\S+) < )?{name}(?: ([≤>]) (\S+))?", core):
        low, sign, end = match.groups()
        inside = values.notna().to_numpy().copy()
        if low:
            inside &= (values > read(low)).to_numpy()
        inside &= ((values <= read(end)) if sign == "≤" else (values > read(end))).to_numpy()
        return inside | missing
    if match := re.fullmatch(rf"{name} ([=≠]) (\w+)", core):
        return ((values == match[2]) == (match[1] == "=")).to_numpy()
    levels = re.fullmatch(rf"{name} in {{(.*)}}", core)[1].split(", ")
    return values.isin(levels).to_numpy()


def test_threshold_text__parts_the_same_values() -> None:
    values = [0.1, 0.1000000001, 0.3, 12345.678, 12345.679, 9e15]
    frame = pd.DataFrame({"x": values})
    (encoding,) = encode(frame, Schema.of(frame, quasi_identifying=["x"])).encodings
    for low, high in zip(values, values[1:], strict=False):
        threshold = float(threshold_text(encoding, (low + high) / 2))
        assert low <= threshold < high
    assert threshold_text(encoding, 0.2) == "0.2"


@pytest.mark.parametrize(
    ("above", "upto", "words"),
    [
        (-np.inf, 0.5, "x = 0"), (-np.inf, 2.5, "x ≤ 2"), (0.5, 4, "x 1 to 4"), (2.5, 3.5, "x = 3"),
        (4, np.inf, "x ≥ 5"), (29.5, np.inf, "x = 30"), (4, 20, "x 5 to 20"), (-np.inf, 45.25, "x ≤ 45.25"),
    ],
)  # fmt: skip
def test_whole_numbers__are_said_as_such(above: float, upto: float, words: str) -> None:
    frame = pd.DataFrame({"x": [0, 1, 2, 3, 5, 10, 30] if upto != 45.25 else [0, 1, 40.5, 50]})
    (encoding,) = encode(frame, Schema.of(frame, quasi_identifying=["x"])).encodings
    assert condition_text(Condition(0, above, upto, None, False), encoding) == words


def test_step_text__is_brief_and_complete_in_the_rule() -> None:
    levels = [f"a rather long level number {number}" for number in range(9)]
    frame = pd.DataFrame({"column": levels * 4, "class": (["x"] * 5 + ["y"] * 4) * 4})
    encoded = encode(frame, Schema.of(frame, quasi_identifying=["column"], sensitive=["class"]))
    tree = grow(encoded)
    brief = step_text(tree, encoded.encodings, 1, brief=True)
    assert re.fullmatch(r"column in \{a rather long level n…?.*, … 5 of 9\}", brief)
    assert all(level in rule_text(tree, encoded.encodings, 1) for level in levels[:5])
    assert region(tree, encoded.encodings, 1)[0].codes == tuple(range(5))


def test_rules__speak_in_labels() -> None:
    long = "How content are you with your life as a whole these days?"
    frame = pd.DataFrame({"v1": [1, 2] * 20, "v2": list(range(40)), "v3": list(range(40)), "y": ["a", "b"] * 20})
    schema = Schema.of(frame, quasi_identifying=["v1", "v2", "v3"], sensitive=["y"], kinds={"v1": "categorical"})
    words = Variable(label="Sex \u202e]", meanings=(("1", "<b>female</b>"), ("2", "male")))
    schema = schema.with_column("v1", variable=words, domain=("1", "2"))
    schema = schema.with_column("v2", variable=Variable(label=long))
    first, second, third = encode(frame, schema).encodings
    for brief, text in ((True, "Sex \ufffd] = 1 (<b>female</b>)"), (False, "Sex \ufffd] (v1) = 1 (<b>female</b>)")):
        assert condition_text(Condition(0, -np.inf, np.inf, (0,), False), first, brief=brief) == text
    limit = Condition(1, -np.inf, 5.5, None, False)
    assert condition_text(limit, second) == f"{long} (v2) ≤ 5"
    brief = condition_text(limit, second, brief=True)
    assert brief.startswith("v2 How content")
    assert len(brief) <= 26 + len(" ≤ 5")
    assert condition_text(limit, third) == "v3 ≤ 5"
