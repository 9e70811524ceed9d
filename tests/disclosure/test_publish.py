"""Publishing: every form holds the tree and no more, and reads back."""

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.multiway import grow_multiway
from anonymizer.disclosure.outline import KeyedTree, keys_of, lay_keys, outline_of
from anonymizer.disclosure.pmml import PMML_NAMESPACE, to_pmml
from anonymizer.disclosure.publish import (
    RATE_STEP,
    conditions_of,
    from_json,
    knowledge_of,
    publish,
    to_json,
    to_rules,
    tree_from,
)
from anonymizer.errors import ParameterError, ReadError
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.schema import Schema
from tests.disclosure.trees import TREES, grow_tree, table_of


@pytest.mark.parametrize(("seed", "splits", "measure"), TREES[:5])
@pytest.mark.parametrize("rates", [True, False])
def test_publish__read_back_is_the_same_tree_with_the_same_fields(
    seed: int, splits: str, measure: str, rates: bool
) -> None:
    tree, rule = grow_tree(seed, splits, measure, missing=True)
    for knowledge in (Knowledge(rates), Knowledge(rates, True, rule)):
        document = from_json(to_json(publish(tree, knowledge)))
        assert document == publish(tree, knowledge)
        assert knowledge_of(document) == knowledge
        again = tree_from(document, tree.keys)
        assert again.leaf_of_key.tolist() == tree.leaf_of_key.tolist()
        assert again.label.tolist() == tree.label.tolist() or again.error.sum() == tree.error.sum()
        fields = {key for node in document["nodes"] for key in node}
        assert fields <= {"column", "children", "label", "error_rate"}
        assert ("error_rate" in fields) == rates


def test_publish__rules_name_every_leaf() -> None:
    tree, _ = grow_tree(1, "binary", missing=True)
    document = publish(tree, Knowledge())
    lines = to_rules(document).splitlines()
    assert lines.pop() == "error rates to the next 0.05"
    assert len(lines) == len(tree.outline.leaves)
    assert all(line.startswith("if ") and " then y = " in line for line in lines)
    assert len(set(conditions_of(document).values())) == tree.outline.n_nodes


@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_publish__pmml_sends_every_record_to_its_leaf(splits: str) -> None:
    tree, _ = grow_tree(1, splits, missing=True)
    root = ElementTree.fromstring(to_pmml(publish(tree, Knowledge())))
    space = {"p": PMML_NAMESPACE}
    top = root.find("p:TreeModel/p:Node", space)
    assert top is not None
    for row, leaf in zip(tree.keys.codes.tolist(), tree.leaf_of_key.tolist(), strict=True):
        values = {e.name: e.text(code) for e, code in zip(tree.keys.encodings, row, strict=True)}
        node = top
        while inner := node.findall("p:Node", space):
            (node,) = [child for child in inner if admits(child, values)]
        assert node.get("id") == str(leaf)
        assert node.get("score") == tree.keys.labels[tree.label[leaf]]
        (rate,) = node.findall("p:Extension", space)
        assert float(rate.get("value", "")) == pytest.approx(tree.error[leaf] / tree.n[leaf], abs=RATE_STEP / 2 + 1e-9)


def leaf_sizes(tree: KeyedTree, rates: dict[int, float], off: float, most: int) -> list[int]:
    """The leaves whose size an attacker finds: the least denominator of all fractions that lie within ``off`` of a
    rate that tells anything, when it is the number of records."""
    right = []
    for leaf, rate in rates.items():
        sizes = [n for n in range(1, most + 1) if abs(round(rate * n) / n - rate) <= off]
        if rate > 0 and sizes and sizes[0] == tree.n[leaf]:
            right.append(leaf)
    return right


def test_error_rates__do_not_tell_how_many_records_a_leaf_has() -> None:
    """Exact rates are fractions that give the size of a third of the leaves with errors away; rounded ones of few."""
    leaves = by_exact = by_round = 0
    for seed in range(6):
        tree, _ = grow_tree(seed, "binary", n=400, classes=4, least=8, depth=5)
        ends = [int(leaf) for leaf in tree.outline.leaves if tree.error[leaf]]
        exact = {leaf: float(tree.error[leaf] / tree.n[leaf]) for leaf in ends}
        nodes = publish(tree, Knowledge())["nodes"]
        rounded = {leaf: nodes[leaf]["error_rate"] for leaf in ends}
        assert all(abs(rounded[leaf] - exact[leaf]) <= RATE_STEP / 2 + 1e-9 for leaf in ends)
        leaves += len(ends)
        by_exact += len(leaf_sizes(tree, exact, 1e-12, 400))
        by_round += len(leaf_sizes(tree, rounded, RATE_STEP / 2, 400))
    assert leaves > 40
    assert by_exact > leaves / 3
    assert by_round <= leaves / 20


def test_error_rates__that_are_others_are_refused_and_exact_ones_are_read() -> None:
    tree, _ = grow_tree(1, "binary")
    document = publish(tree, Knowledge())
    leaf = next(node for node in document["nodes"] if "label" in node)
    leaf["error_rate"] += 2 * RATE_STEP
    with pytest.raises(ParameterError):
        tree_from(document, tree.keys)
    document = publish(tree, Knowledge())
    del document["error_rate_step"]
    for node, described in enumerate(document["nodes"]):
        if "label" in described:
            described["error_rate"] = float(tree.error[node] / tree.n[node])
    assert tree_from(from_json(to_json(document)), tree.keys).label.tolist() == tree.label.tolist()


def admits(node: ElementTree.Element, values: dict[str, str | None]) -> bool:
    predicates = [holds(part, values) for part in node if part.tag.split("}")[1] not in ("Node", "Extension")]
    assert len(predicates) == 1
    return predicates[0] is True


def holds(part: ElementTree.Element, values: dict[str, str | None]) -> bool | None:
    """A PMML predicate, ``None`` for unknown."""
    kind = part.tag.split("}")[1]
    if kind == "True":
        return True
    if kind == "CompoundPredicate":
        assert part.get("booleanOperator") == "or"
        inside = [holds(inner, values) for inner in part]
        return True if True in inside else None if None in inside else False
    value = values[part.get("field", "")]
    if part.get("operator") in ("isMissing", "isNotMissing"):
        return (value is None) == (part.get("operator") == "isMissing")
    if value is None:
        return None
    if kind == "SimpleSetPredicate":
        return value in [text.strip('"') for text in (part[0].text or "").split(" ")]
    limit = float(part.get("value", ""))
    return float(value) <= limit if part.get("operator") == "lessOrEqual" else float(value) > limit


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "copse-published-tree", "version": 1}', "null", "3"])
def test_publish__what_is_no_tree_is_refused(text: str) -> None:
    with pytest.raises(ReadError, match="published tree"):
        from_json(text)


def test_publish__another_table_is_refused() -> None:
    tree, _ = grow_tree(1, "binary")
    other, _ = grow_tree(2, "binary")
    with pytest.raises(ParameterError, match="not made from this table"):
        tree_from(publish(tree, Knowledge()), other.keys)


RARE, CLASS = "Zanzibarian", "Morbus Xylo"


def tree_with_rare_levels(seed: int, splits: str, *, ordered: bool = False, persons: bool = False) -> KeyedTree:
    """A tree of a table in which one person alone has a level, and a class."""
    table = table_of(seed, 80)
    table["who"] = np.arange(len(table)) if not persons else np.r_[np.zeros(3), np.arange(1, len(table) - 2)]
    table.loc[[0, 1, 2] if persons else [0], "b"] = RARE
    table.loc[[0, 1, 2] if persons else [0], "y"] = CLASS
    levels = sorted(set(table["b"]))
    schema = Schema.of(
        table, quasi_identifying=["a", "b", "x"], sensitive=["y"], person="who" if persons else None,
        identifying=[] if persons else ["who"], domains={"b": levels} if ordered else None,
        ordered=["b"] if ordered else [],
    )  # fmt: skip
    encoded = encode(table, schema)
    keys = keys_of(encoded)
    grown = grow(encoded, "entropy", 1, 6) if splits == "binary" else None
    outline = grow_multiway(keys, "entropy", 1, 3) if grown is None else outline_of(grown, keys.encodings)
    return lay_keys(outline, keys)


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("way", [{}, {"ordered": True}, {"persons": True}])
def test_levels_of_one_person__are_listed_nowhere(splits: str, way: dict) -> None:
    for seed in range(5):
        tree = tree_with_rare_levels(seed, splits, **way)
        document = publish(tree, Knowledge(rates=True))
        texts = (to_json(document), to_rules(document), to_pmml(document))
        assert not [text for text in texts if RARE in text]
        by_leaf = any(node.get("label") == CLASS for node in document["nodes"])
        assert all((CLASS in text) == by_leaf for text in texts)  # a class that a leaf says is there
        again = tree_from(from_json(texts[0]), tree.keys)
        code = [encoding.text(c) for encoding in tree.keys.encodings[1:2] for c in range(encoding.n_codes)].index(RARE)
        others = tree.keys.codes[:, 1] != code
        place = {row.tobytes(): leaf for row, leaf in zip(again.keys.codes, again.leaf_of_key, strict=True)}
        before = [leaf for leaf, other in zip(tree.leaf_of_key, others, strict=True) if other]
        assert before == [place[row.tobytes()] for row in tree.keys.codes[others]]
        assert CLASS in to_json(publish(tree, Knowledge(totals=True)))  # totals are of every class


def test_levels_of_one_person__have_a_branch_that_names_none() -> None:
    table = pd.DataFrame({"a": ["p"] * 6 + ["q"] * 6 + [RARE], "y": ["u"] * 6 + ["v"] * 6 + ["u"]})
    encoded = encode(table, Schema.of(table, quasi_identifying=["a"], sensitive=["y"]))
    keys = keys_of(encoded)
    tree = lay_keys(grow_multiway(keys, "entropy", 1, 3), keys)
    document = publish(tree, Knowledge(rates=False))
    (branch,) = [child for child in document["nodes"][0]["children"] if not child["values"]]
    assert branch["unlisted"]
    assert "if a is none that is listed then y = " in to_rules(document)
    assert "<False" in to_pmml(document)
    assert tree_from(from_json(to_json(document)), keys).leaf_of_key.tolist() == tree.leaf_of_key.tolist()
