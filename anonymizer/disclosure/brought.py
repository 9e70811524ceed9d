"""A tree that the steward brings, laid into the table: Copse's JSON, scikit-learn by skops, ONNX, PMML, rpart's text.

What other programs call a column is looked up among the table's: by its name, as a level of a column that was made
a number each (``sex_male``), or by its place. The tree must have been made from this table: a leaf whose label is not
its largest class is refused.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from anonymizer.disclosure.constraints import GrowingRule, Knowledge
from anonymizer.disclosure.exposure import Figures, figures_of
from anonymizer.disclosure.formats import (
    DEEPEST,
    MOST_NODES,
    REMEDY,
    Branch,
    Sketch,
    SketchNode,
    from_onnx,
    from_rpart,
    from_skops,
    refuse,
)
from anonymizer.disclosure.outline import KeyedTree, Keys
from anonymizer.disclosure.pmml import Document, from_pmml
from anonymizer.disclosure.publish import FORMAT, from_json, knowledge_of, threshold_from, threshold_value, tree_from
from anonymizer.errors import Progress, ReadError
from anonymizer.growing.encode import Encoding
from anonymizer.json_value import MAX_BYTES
from anonymizer.reading.child import call_in_child
from anonymizer.schema import Kind

ENDINGS = ("json", "skops", "onnx", "pmml", "xml", "txt")
"""Endings of files that hold a tree."""


@dataclass(frozen=True, eq=False)
class Brought:
    """A tree that was brought. ``form``: which program's; ``knowledge``: what its file tells an adversary beside the
    questions; ``shares``: the file holds the class shares of every leaf, which tell more than error rates."""

    tree: KeyedTree
    knowledge: Knowledge
    form: str
    shares: bool

    @property
    def by_shares(self) -> Figures | None:
        """What the class shares of the leaves tell, where the file holds them: everybody is believed to have them."""
        if not self.shares:
            return None
        leaf = self.tree.leaf_of_key
        return figures_of(self.tree, self.tree.sums[leaf] / self.tree.n[leaf][:, None])


def read_tree(content: bytes, keys: Keys, *, apart: bool = False, fork: bool = False) -> Brought:
    """Return the tree of a file with the keys of the table laid into it. What kind of file it is, its first bytes say.

    ``apart``: what another program wrote is read in a process of its own; ``fork``: in a copy of this one, as
    :func:`anonymizer.reading.child.read_in_child` says.

    Raises :class:`ReadError` for a file that is not understood, and :class:`ParameterError` for a tree that was not
    made from this table.
    """
    if not content or len(content) > MAX_BYTES:
        raise ReadError(f"A file of a tree has 1 to {MAX_BYTES >> 20} MiB.", remedy=REMEDY)
    if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        document = from_json(content)
        return Brought(tree_from(document, keys), knowledge_of(document), "Copse", False)
    if apart:
        sketch = sketch_from(call_in_child(_described, source=content, name="The file of a tree", fork=fork))
    else:
        sketch = sketch_of(content)
    document = document_of(sketch, keys)
    tree = tree_from(document, keys)
    knowledge = knowledge_of(document)
    if sketch.shares:
        knowledge = Knowledge(True, knowledge.totals, knowledge.rule)
    return Brought(tree, knowledge, sketch.form, sketch.shares)


def sketch_of(content: bytes) -> Sketch:
    """Return the tree that another program wrote, as its file has it."""
    if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<":
        return from_pmml(content)
    if content[:2] == b"PK":
        return from_skops(content)
    if b"node), split" in content[:100_000]:
        return from_rpart(content.decode("utf-8", "replace"))
    return from_onnx(content)


def _described(content: bytes, _: Any, progress: Progress) -> dict[str, Any]:
    return asdict(sketch_of(content))


def sketch_from(described: dict[str, Any]) -> Sketch:
    """Return the sketch that was described: the other way of what :func:`dataclasses.asdict` makes of it."""
    nodes = []
    for node in described["nodes"]:
        branches = []
        for branch in node["branches"]:
            sets = {name: branch[name] and tuple(branch[name]) for name in ("values", "others")}
            branches.append(Branch(**branch | sets))
        nodes.append(SketchNode(**node | {"branches": tuple(branches)}))
    return Sketch(**described | {"nodes": nodes})


def document_of(sketch: Sketch, keys: Keys) -> Document:
    """Return a sketch as a published tree of this table: nodes in preorder, columns and levels as the table calls
    them. Raises :class:`ReadError` for nodes that are no tree, or ask what the table does not have."""
    if sketch.n_features not in (None, len(keys.encodings)):
        refuse(
            sketch.form,
            f"it was made from {sketch.n_features} columns without names, and there are "
            f"{len(keys.encodings)} quasi-identifying ones",
        )
    nodes: list[dict[str, Any]] = []
    visited: set[int] = set()
    stack: list[tuple[int, int, dict[str, Any] | None]] = [(0, 0, None)]
    while stack:
        at, depth, entry = stack.pop()
        if not 0 <= at < len(sketch.nodes) or at in visited or depth > DEEPEST or len(nodes) > MOST_NODES:
            refuse(sketch.form, "its nodes are no tree, or too deep a one")
        visited.add(at)
        if entry is not None:
            entry["node"] = len(nodes)
        node = sketch.nodes[at]
        if node.field is None:
            leaf: dict[str, Any] = {"label": label_of(node, keys, sketch.form)}
            nodes.append(leaf | ({} if node.error_rate is None else {"error_rate": node.error_rate}))
            continue
        encoding, branches = question_of(node, keys, sketch.form)
        children: list[dict[str, Any]] = [child for _, child in branches]
        nodes.append({"column": encoding.name, "children": children})
        stack += [(to, depth + 1, child) for to, child in reversed(branches)]
    document: Document = {
        "format": FORMAT,
        "version": 1,
        "target": {"name": keys.target, "values": list(keys.labels)},
        "columns": [],
        "nodes": nodes,
        **sketch.facts,
    }
    check_facts(sketch, len(keys.labels))
    return document


def check_facts(sketch: Sketch, n_classes: int) -> None:
    """Raise :class:`ReadError` for facts of a file that are none."""
    facts = sketch.facts
    totals, step, rule = (facts.get(name) for name in ("class_totals", "error_rate_step", "growing_rule"))
    numbers = [*(totals if isinstance(totals, list) else []), 0.0 if step is None else step]
    rates = [node.error_rate for node in sketch.nodes if node.error_rate is not None]
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in numbers) or not all(
        0 <= rate <= 1 for rate in rates
    ):
        refuse(sketch.form, "its rates or totals are no numbers")
    if totals is not None and (not isinstance(totals, list) or len(totals) != n_classes):
        refuse(sketch.form, "its class totals are those of other classes")
    if rule is not None:
        try:
            GrowingRule(**rule)
        except (TypeError, ValueError) as error:
            raise ReadError("How the tree was grown is not understood.", remedy=REMEDY) from error


def label_of(node: SketchNode, keys: Keys, form: str) -> str | None:
    """Return the class of the table that a leaf predicts."""
    if node.label in keys.labels:
        return node.label
    if node.label == "missing" and None in keys.labels:
        return None
    same = [label for label in keys.labels if label is not None and same_number(label, str(node.label))]
    if len(same) != 1:
        refuse(form, f"it predicts {str(node.label)[:60]!r}, which no row has as {keys.target!r}")
    return same[0]


def same_number(one: str, other: str) -> bool:
    """Return whether two texts are the same number, such as 1 and 1.0."""
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def question_of(node: SketchNode, keys: Keys, form: str) -> tuple[Encoding, list[tuple[int, dict[str, Any]]]]:
    """Return the column that a node asks, and where its children are, as a published tree says what they admit."""
    encoding, level = column_of(node.field, keys, form)
    branches = list(node.branches)
    if level is not None:
        branches = [of_level(branch, level, form) for branch in branches]
    if encoding.is_interval:
        return encoding, cut_of(branches, encoding, form)
    labels = [encoding.text(code) for code in range(len(encoding.labels))]
    admits = [levels_of(branch, [str(label) for label in labels], form) for branch in branches]
    elsewhere = {value for part in admits if part is not None for value in part}
    children: list[tuple[int, dict[str, Any]]] = []
    for branch, part in zip(branches, admits, strict=True):
        values = [
            label for label in labels if (str(label) in part if part is not None else str(label) not in elsewhere)
        ]
        children.append((branch.to, {"values": values} | gap_of(branch, branches, encoding, level is not None, form)))
    return encoding, children


def column_of(name: str | int | None, keys: Keys, form: str) -> tuple[Encoding, str | None]:
    """Return the column of the table that a field is, and which of its levels where the field is one for each."""
    if isinstance(name, int):
        if not 0 <= name < len(keys.encodings):
            refuse(form, f"it asks column {name + 1}, and there are {len(keys.encodings)} quasi-identifying ones")
        return keys.encodings[name], None
    text = str(name)
    names = [text, *([text.partition("__")[2]] if "__" in text else [])]
    named = {encoding.name: encoding for encoding in keys.encodings}
    for one in names:
        if one in named:
            return named[one], None
    hits = {
        (encoding.name, level)
        for one in names
        for encoding in keys.encodings
        if not encoding.is_interval
        for level in (encoding.text(code) for code in range(len(encoding.labels)))
        if level is not None
        and one in (f"{encoding.name}_{level}", f"{encoding.name}={level}", f"{encoding.name}.{level}")
    }
    if len(hits) != 1:
        what = "no quasi-identifying column" if not hits else "several columns could be"
        refuse(form, f"it asks {text[:60]!r}, which is {what}" if not hits else f"{what} {text[:60]!r}")
    ((column, level),) = hits
    return named[column], level


def of_level(branch: Branch, level: str, form: str) -> Branch:
    """Return what a branch of a column that is 1 for one level and 0 for all others admits."""
    low = next((end for end in (branch.upto, branch.below) if end is not None), None)
    high = next((end for end in (branch.above, branch.least) if end is not None), None)
    end = low if low is not None else high
    if not isinstance(end, float) or not (
        0 <= end < 1 or (branch.upto is None and branch.above is None and 0 < end <= 1)
    ):
        refuse(form, f"what it asks of the level {level[:60]!r} is not understood")
    if low is not None:
        return Branch(branch.to, others=(level,), missing=True)
    return Branch(branch.to, values=(level,), missing=False)


def levels_of(branch: Branch, labels: list[str], form: str) -> set[str] | None:
    """Return the levels that a branch admits; ``None``: all that no other does. Levels that are numbers can be cut."""
    if branch.rest:
        return None
    if branch.values is not None:
        return set(branch.values)
    if branch.others is not None:
        return set(labels) - set(branch.others)
    low, high = end_of(branch, form)
    try:
        numbers = {label: float(label) for label in labels}
    except ValueError:
        refuse(form, "it cuts a column of categories as if it were numbers; train it on levels, one column for each")
    return {label for label, number in numbers.items() if (number <= low if low is not None else number > (high or 0))}


def end_of(branch: Branch, form: str) -> tuple[float | None, float | None]:
    """Return the end of a branch as (at most, more than): one of them is ``None``."""
    for value, low, strict in (
        (branch.upto, True, False), (branch.below, True, True),
        (branch.above, False, False), (branch.least, False, True),
    ):  # fmt: skip
        if value is not None:
            number = float(np.nextafter(float(value), -math.inf)) if strict else float(value)
            return (number, None) if low else (None, number)
    refuse(form, "a question has no end")


def cut_of(branches: list[Branch], encoding: Encoding, form: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the two sides of a cut of numbers or dates, the lower one first."""
    sides: list[tuple[bool, float | None, Branch]] = []
    for branch in branches:
        if branch.values == () or branch.others == () or branch.rest:
            sides.append((branch.values == (), None, branch))
            continue
        if branch.values is not None or branch.others is not None:
            refuse(form, f"{encoding.name!r} is a number in the table, and it asks for its values")
        if encoding.kind is Kind.DATE:
            ends = {name: _moment(value, encoding, form) for name in ("upto", "below", "above", "least")
                    if (value := getattr(branch, name)) is not None}  # fmt: skip
            branch = Branch(branch.to, missing=branch.missing, **ends)  # type: ignore[arg-type]
        low, high = end_of(branch, form)
        sides.append((low is None, low if low is not None else high, branch))
    sides.sort(key=lambda side: side[0])
    ends_here = {end for _, end, _ in sides if end is not None}
    if len(sides) != 2 or len(ends_here) > 1 or (ends_here and sides[0][0] == sides[1][0]):
        refuse(form, f"what it asks of {encoding.name!r} is no cut in two")
    children = []
    for place, (_, _, branch) in enumerate(sides):
        child: dict[str, Any] = {}
        if ends_here:
            (end,) = ends_here
            child["above" if place else "upto"] = threshold_value(encoding, end)
            child |= gap_of(branch, branches, encoding, False, form)
        elif encoding.missing:
            child["missing"] = bool(place)
        children.append((branch.to, child))
    return children


def _moment(value: float | str, encoding: Encoding, form: str) -> float:
    try:
        return threshold_from(encoding, value)
    except (ValueError, OverflowError):
        refuse(form, f"{str(value)[:40]!r} is no date")


def gap_of(branch: Branch, branches: list[Branch], encoding: Encoding, is_level: bool, form: str) -> dict[str, bool]:
    """Return whether missing values go to this branch, where the column has some."""
    if not encoding.missing:
        return {}
    says = [other.missing for other in branches]
    if branch.missing is None and (is_level or not any(says)):
        refuse(form, f"it does not say where rows without {encoding.name!r} go")
    return {"missing": bool(branch.missing)}
