"""Trees that other programs wrote, read as data and never run: skops, ONNX, and the text that rpart prints.

A reader turns bytes into a :class:`Sketch`, which names fields and values as the file does. Nothing in a file is
believed: sizes, depths and numbers are bounded, no object is made of a file's own kind, and whatever is not understood
ends in one :class:`ReadError`. What the fields of a sketch mean in a table is said by
:mod:`anonymizer.disclosure.brought`.
"""

import io
import math
import re
import struct
import zipfile
from dataclasses import dataclass, field
from tokenize import TokenError
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ReadError
from anonymizer.json_value import MAX_BYTES, JsonValue, parse

MOST_NODES = 100_000
DEEPEST = 500
MOST_UNPACKED = 4 * MAX_BYTES
REMEDY = "Use one decision tree for classes: Copse's JSON, skops, ONNX, PMML, or the text that rpart prints."


@dataclass
class Branch:
    """What leads to a child, ``to`` its place in the list of nodes. ``upto`` (at most), ``below`` (less than),
    ``above`` (more than), ``least`` (at least); ``values``, or ``others``: all but these; ``rest``: whatever no other
    child takes. ``missing``: whether a missing value comes here, ``None`` where the file does not say it."""

    to: int
    upto: float | str | None = None
    below: float | str | None = None
    above: float | str | None = None
    least: float | str | None = None
    values: tuple[str, ...] | None = None
    others: tuple[str, ...] | None = None
    missing: bool | None = None
    rest: bool = False


@dataclass
class SketchNode:
    """A question about ``field``, a name or a place among the columns, with its branches; or a leaf with its label."""

    field: str | int | None = None
    branches: tuple[Branch, ...] = ()
    label: str | None = None
    error_rate: float | None = None


@dataclass
class Sketch:
    """A tree as a file has it, its root first. ``form``: what kind of file; ``shares``: it holds the class shares of
    every leaf; ``n_features``: how many columns it was trained on, where it names none; ``facts``: what else an
    adversary learns, as Copse's own files say it."""

    nodes: list[SketchNode]
    form: str
    shares: bool = False
    n_features: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def refuse(form: str, why: str) -> NoReturn:
    """Raise :class:`ReadError`: this file is no tree that can be assessed."""
    raise ReadError(f"This {form} file holds no tree that can be assessed: {why}.", remedy=REMEDY)


def from_skops(content: bytes) -> Sketch:
    """Return the tree of a scikit-learn classifier in a skops file. The parts of the file are read as JSON and arrays;
    nothing is loaded by name."""
    form = "skops"
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(item.file_size for item in packed.infolist()) > MOST_UNPACKED or len(packed.infolist()) > 10_000:
                refuse(form, "it is too large")
            parts = {item.filename: packed.read(item) for item in packed.infolist()}
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        ValueError,
        struct.error,
    ) as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError("This skops file cannot be unpacked.", remedy=REMEDY) from error
    if "schema.json" not in parts:
        refuse(form, "it has no schema.json")
    described = parse(parts["schema.json"], "skops file", REMEDY)
    model = _decision_tree(described)
    kind = model.field("__class__").text(200)
    if kind not in ("DecisionTreeClassifier", "ExtraTreeClassifier"):
        refuse(form, f"it is a {kind[:60]}, and one decision tree for classes was expected")
    state = model.field("content").field("content")
    inner = state.field("tree_").field("content").field("content")
    nodes = _array(inner.field("nodes"), parts)
    values = _array(inner.field("values"), parts)
    names = ("left_child", "right_child", "feature", "threshold")
    m = len(nodes) if nodes.ndim == 1 else 0
    if not m or nodes.dtype.names is None or not set(names) <= set(nodes.dtype.names) or m > MOST_NODES:
        refuse(form, "its nodes are not those of a tree")
    labels = _texts(state.field("classes_"), parts)
    if values.dtype != np.float64 or values.shape != (m, 1, len(labels)) or not labels:
        refuse(form, "its classes are not those of one target")
    features: list[str] = []
    if not state.field("feature_names_in_").absent:
        features = _texts(state.field("feature_names_in_"), parts)
    left, right, feature, threshold = (nodes[name].tolist() for name in names)
    gaps = nodes["missing_go_to_left"].tolist() if "missing_go_to_left" in nodes.dtype.names else [None] * m
    best = values[:, 0].argmax(axis=1).tolist()
    rows = []
    for node in range(m):
        if left[node] == -1 and right[node] == -1:
            rows.append(SketchNode(label=labels[best[node]]))
            continue
        if features and not 0 <= feature[node] < len(features):
            refuse(form, f"node {node} asks a column that it does not have")
        cut, gap = float(threshold[node]), gaps[node]
        branches = (
            Branch(left[node], upto=cut, missing=None if gap is None else bool(gap)),
            Branch(right[node], above=cut, missing=None if gap is None else not gap),
        )
        rows.append(SketchNode(features[feature[node]] if features else int(feature[node]), branches))
    wide = state.field("n_features_in_")
    known_width = None if features or wide.absent else _json_number(wide)
    return Sketch(rows, "scikit-learn", shares=True, n_features=known_width)


def _decision_tree(described: JsonValue) -> JsonValue:
    """Return the object of a skops file: the last step where it is a pipeline, whose other steps change nothing."""
    if described.field("__class__").text(200) != "Pipeline":
        return described
    steps = described.field("content").field("content").field("steps").field("content").items(20, 1)
    for step in steps[:-1]:
        if step.field("content").items(2, 2)[1].field("content").value != '"passthrough"':
            refuse("skops", "its pipeline changes the columns before the tree asks")
    return steps[-1].field("content").items(2, 2)[1]


def _json_number(value: JsonValue) -> int:
    return parse(value.field("content").text(40), "skops file", REMEDY).whole(0, MOST_NODES)


def _array(value: JsonValue, parts: dict[str, bytes]) -> NDArray[Any]:
    """Return an array of a skops file; never one of objects."""
    name = value.field("file").text(200)
    if name not in parts:
        value.refuse("its array is not in the file")
    stream = io.BytesIO(parts[name])
    try:
        version = np.lib.format.read_magic(stream)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, by_column, kind = header(stream, max_header_size=20_000)
        if by_column or kind.hasobject or math.prod(shape) * kind.itemsize != len(parts[name]) - stream.tell():
            value.refuse("its array is not as long as it says")
        return np.frombuffer(parts[name], kind, offset=stream.tell()).reshape(shape)
    except (
        ValueError, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError, OverflowError
    ) as error:  # fmt: skip
        if isinstance(error, ReadError):
            raise
        raise ReadError("An array of this skops file cannot be read.", remedy=REMEDY) from error


def _texts(value: JsonValue, parts: dict[str, bytes]) -> list[str]:
    """Return an array of a skops file as texts: names of columns, or classes."""
    if value.field("type").text(20) == "json":
        content = [
            parse(item.field("content").text(), "skops file", REMEDY).value for item in value.field("content").items()
        ]
    else:
        content = _array(value, parts).reshape(-1).tolist()
    if not all(isinstance(one, str | int | float) for one in content):
        value.refuse("texts or numbers were expected")
    return [str(one) for one in content]


# ONNX: protocol buffers, of which a tree needs six fields of four messages.


def from_onnx(content: bytes) -> Sketch:
    """Return the tree of an ONNX model with one TreeEnsembleClassifier of one tree."""
    form = "ONNX"
    graph = _message(_only(_message(content), 7, "a graph"))
    nodes = [_message(part) for number, part in graph if number == 1 and isinstance(part, bytes)]
    kinds = [_text(_only(node, 4, "the kind of a node")) for node in nodes]
    trees = [node for node, kind in zip(nodes, kinds, strict=True) if kind.startswith("TreeEnsemble")]
    others = sorted({kind for kind in kinds if kind not in ("TreeEnsembleClassifier", "Cast", "ZipMap", "Identity")})
    if others or len(trees) != 1:
        refuse(
            form, f"{others[0][:60]!r} is no part of one tree for classes" if others else "it has no tree, or several"
        )
    inputs = [_message(part) for number, part in graph if number == 11 and isinstance(part, bytes)]
    if len(inputs) != 1:
        refuse(form, "its columns do not come in as one array")
    facts = dict(
        map(_attribute, (_message(part) for number, part in trees[0] if number == 5 and isinstance(part, bytes)))
    )
    try:
        return _onnx_sketch(facts, _width(inputs[0]))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError("The tree of this ONNX file is not complete.", remedy=REMEDY) from error


def _onnx_sketch(facts: dict[str, list[Any]], width: int | None) -> Sketch:
    ids, modes = facts["nodes_nodeids"], [str(mode) for mode in facts["nodes_modes"]]
    if len(set(facts["nodes_treeids"])) != 1 or len(set(ids)) != len(ids):
        refuse("ONNX", "it holds several trees")
    if len(ids) > MOST_NODES:
        refuse("ONNX", "it has too many nodes")
    place = {node: position for position, node in enumerate(ids)}
    labels = [str(label) for label in facts.get("classlabels_strings") or facts["classlabels_int64s"]]
    weights: dict[int, dict[int, float]] = {}
    for node, code, weight in zip(facts["class_nodeids"], facts["class_ids"], facts["class_weights"], strict=True):
        weights.setdefault(node, {})[code] = weight
    gaps = facts.get("nodes_missing_value_tracks_true") or [None] * len(ids)
    rows = []
    for node, mode in zip(ids, modes, strict=True):
        at = place[node]
        if mode == "LEAF":
            of_leaf = weights.get(node, {})
            if len(of_leaf) == 1 and len(labels) == 2:  # of two classes, the share of the second, whatever its number
                (second,) = of_leaf.values()
                of_leaf = {0: 1 - second, 1: second}
            rows.append(
                SketchNode(label=labels[max(range(len(labels)), key=lambda code: (of_leaf.get(code, 0.0), -code))])
            )
            continue
        cut, gap = float(facts["nodes_values"][at]), gaps[at]
        yes = {"BRANCH_LEQ": "upto", "BRANCH_LT": "below", "BRANCH_GT": "above", "BRANCH_GTE": "least"}
        no = {"BRANCH_LEQ": "above", "BRANCH_LT": "least", "BRANCH_GT": "upto", "BRANCH_GTE": "below"}
        if mode not in yes:
            refuse("ONNX", f"its questions {mode[:40]!r} are not understood")
        branches = (
            Branch(place[facts["nodes_truenodeids"][at]], missing=None if gap is None else bool(gap)),
            Branch(place[facts["nodes_falsenodeids"][at]], missing=None if gap is None else not gap),
        )
        setattr(branches[0], yes[mode], cut)
        setattr(branches[1], no[mode], cut)
        rows.append(SketchNode(int(facts["nodes_featureids"][at]), branches))
    root = set(range(len(ids))) - {branch.to for row in rows for branch in row.branches}
    if root != {0}:
        refuse("ONNX", "its first node is not the root of all others")
    return Sketch(rows, "ONNX", shares=True, n_features=width)


def _message(content: bytes) -> list[tuple[int, Any]]:
    """Return the fields of a protocol buffer: number and value, bytes for what has a length. Raises
    :class:`ReadError`."""
    fields: list[tuple[int, Any]] = []
    at, end = 0, len(content)
    while at < end:
        key, at = _varint(content, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(content, at)
            fields.append((number, value))
            continue
        size = {1: 8, 5: 4}.get(kind)
        if kind == 2:
            size, at = _varint(content, at)
        if size is None or at + size > end:
            refuse("ONNX", "it is no ONNX, or it is damaged")
        fields.append((number, content[at : at + size]))
        at += size
    return fields


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(content):
            refuse("ONNX", "it is no ONNX, or it is damaged")
        value |= (content[at] & 127) << shift
        at += 1
        if content[at - 1] < 128:
            return value, at
    refuse("ONNX", "it is no ONNX, or it is damaged")


def _only(fields: list[tuple[int, Any]], number: int, what: str) -> bytes:
    values = [value for at, value in fields if at == number and isinstance(value, bytes)]
    if len(values) != 1:
        refuse("ONNX", f"it has no {what}" if not values else f"it has {what} more than once")
    return values[0]


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _attribute(fields: list[tuple[int, Any]]) -> tuple[str, list[Any]]:
    """Return an attribute's name and its list of numbers or texts."""
    values: list[Any] = []
    for number, value in fields:
        if number == 7 and isinstance(value, bytes) and len(value) % 4 == 0:
            values += struct.unpack(f"<{len(value) // 4}f", value)
        elif number == 8 and isinstance(value, bytes):
            at = 0
            while at < len(value):
                one, at = _varint(value, at)
                values.append(_signed(one))
        elif number == 8:
            values.append(_signed(value))
        elif number == 9 and isinstance(value, bytes):
            values.append(_text(value))
    return _text(_only(fields, 1, "the name of an attribute")), values


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _width(entry: list[tuple[int, Any]]) -> int | None:
    """Return how many columns an input has; ``None`` where the model leaves that open."""
    part: Any = entry
    for number in (2, 1, 2):
        inside = [value for at, value in part if at == number and isinstance(value, bytes)]
        if not inside:
            return None
        part = _message(inside[0])
    sizes = [dict(_message(value)).get(1) for at, value in part if at == 1 and isinstance(value, bytes)]
    return sizes[1] if len(sizes) == 2 and isinstance(sizes[1], int) else None


# The text that print() gives of an rpart object.

_ASKS = re.compile(r"^(.*?)(<=|>=|<|>|=)(.*)$")


class _Row(NamedTuple):
    """What a line of rpart says of a node: what was asked above it, its label, and whether it is a leaf."""

    question: str
    label: str
    is_leaf: bool


def _rpart_row(line: str) -> tuple[int, _Row] | None:
    """Return the number of a node and what its line says: ``number) question n loss label (shares) *``; ``None`` for
    another line."""
    number, _, rest = line.strip().partition(")")
    text_of_node, _, shares = rest.removesuffix("*").rstrip().rpartition("(")
    words = list(re.finditer(r"\S+", text_of_node))
    if not re.fullmatch(r"[0-9]{1,18}", number) or not re.fullmatch(r"[-+.0-9eE ]+\)", shares):
        return None
    for at in range(len(words) - 3, 0, -1):
        loss = words[at + 1][0]
        if re.fullmatch(r"[0-9]+", words[at][0]) and re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", loss):
            question = text_of_node[: words[at].start()].strip()
            return int(number), _Row(question, text_of_node[words[at + 2].start() :].strip(), rest.endswith("*"))
    return None


def from_rpart(text: str) -> Sketch:
    """Return the tree of R's ``print(rpart(…, method = "class"))``."""
    form, lines = "rpart", text.splitlines()
    head = next((at for at, line in enumerate(lines) if line.strip().startswith("node), split, n,")), None)
    if head is None:
        refuse(form, "it is not what print() gives of a tree")
    if "yprob" not in lines[head]:
        refuse(form, "it predicts a number, and classes were expected")
    if len(lines) > 2 * MOST_NODES:
        refuse(form, "it has too many nodes")
    rows: dict[int, _Row] = {}
    for line in lines[head + 1 :]:
        row = _rpart_row(line)
        if row is None:
            if line.strip() and "denotes terminal node" not in line:
                refuse(form, "a line is not understood")
            continue
        rows[row[0]] = row[1]
    if 1 not in rows:
        refuse(form, "it has no root")
    place = {number: position for position, number in enumerate(rows)}
    nodes = []
    for number, node in rows.items():
        below = [child for child in (2 * number, 2 * number + 1) if child in rows]
        if node.is_leaf or not below:
            nodes.append(SketchNode(label=node.label))
            continue
        asks = [_ASKS.match(rows[child].question) for child in below]
        if len(below) != 2 or asks[0] is None or asks[1] is None or asks[0][1] != asks[1][1]:
            refuse(form, f"the question of node {number} is not understood")
        branches = tuple(_rpart_branch(place[child], ask) for child, ask in zip(below, asks, strict=True) if ask)
        nodes.append(SketchNode(asks[0][1].strip(), branches))
    return Sketch(nodes, "rpart", shares=True)


def _rpart_branch(to: int, ask: re.Match[str]) -> Branch:
    """Return what one line of rpart asks."""
    if ask[2] == "=":
        return Branch(to, values=tuple(ask[3].split(",")))
    end = {"<": "below", "<=": "upto", ">": "above", ">=": "least"}[ask[2]]
    return Branch(to, **{end: finite(ask[3], "rpart")})  # type: ignore[arg-type]


def finite(text: str, form: str) -> float:
    """Return the number that a text says."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        refuse(form, f"{text.strip()[:40]!r} is no number")
    return number
