"""The obvious slow versions of growing, scoring and pruning, written from the definitions.

Nothing is shared with the package. A tree is a list of nodes in preorder, each a dictionary with the names that the
worked cases use: ``id`` (from 1), ``n``, ``records``, ``path_domain`` and, for inner nodes, ``attr``, ``children``,
``threshold`` or ``left_categories``, and ``gain``. The path domain of an interval column is [low, high], with a third
entry, whether missing is admitted, when the column has missing values; of any other column, the list of its levels.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import inf, isfinite, log2
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anonymizer.schema import Kind, Schema

TreeNode = dict[str, Any]


class Attribute(NamedTuple):
    """One quasi-identifier: ``values`` are numbers (``None``: missing), or positions in ``levels``."""

    name: str
    kind: str
    values: list[Any]
    levels: list[str | None]
    domain: tuple[float, float]

    @property
    def has_missing(self) -> bool:
        return None in (self.values if self.kind == "interval" else self.levels)


def attributes_of(table: pd.DataFrame, schema: Schema) -> list[Attribute]:
    """Return the quasi-identifiers of a table, read value by value; text levels, numbers and dates only."""
    attributes = []
    for name in schema.quasi_identifying:
        column = schema[name]
        cells = [None if pd.isna(value) else value for value in table[name].astype(object)]
        present = [value for value in cells if value is not None]
        if column.kind is Kind.CATEGORICAL:
            levels: list[str | None] = list(column.domain or sorted(set(present)))
            levels += [None] if None in cells else []
            values = [levels.index(value) for value in cells]
            kind = "ordered" if column.ordered else "levels"
            attributes.append(Attribute(name, kind, values, levels, (0, len(levels))))
            continue
        number = float if column.kind is Kind.NUMERIC else microseconds
        numbers = [None if value is None else number(value) for value in cells]
        points = [value for value in numbers if value is not None]
        ends = (min(points), max(points)) if points else (0.0, 0.0)
        if column.domain is not None:
            ends = (number(column.domain[0]), number(column.domain[1]))
        attributes.append(Attribute(name, "interval", numbers, [], ends))
    return attributes


def microseconds(value: Any) -> float:
    return (pd.Timestamp(value) - pd.Timestamp("1970-01-01")) / pd.Timedelta(microseconds=1)


# Growing.


def impurity(counts: Sequence[int], criterion: str) -> float:
    """Return the node's total impurity: n · H in bits, or n · Gini."""
    n = sum(counts)
    if criterion == "gini":
        return n - sum(count * count for count in counts) / n
    return -sum(count * log2(count / n) for count in counts if count)


class Split(NamedTuple):
    gain: float
    attribute: int
    left: frozenset[Any]
    threshold: float | None


def grow(
    attributes: list[Attribute],
    classes: Sequence[int],
    n_classes: int,
    criterion: str = "entropy",
    min_leaf: int = 2,
    max_depth: int | None = None,
    exhaustive_max: int = 8,
) -> list[TreeNode]:
    """Return a classification tree: at every node all candidate splits of all columns, one after another; in order,
    those of a column only where none before it gains."""
    in_order = criterion == "in-order"
    criterion = "entropy" if in_order else criterion
    nodes: list[TreeNode] = []
    everything = list(range(len(classes)))
    tolerance = 1e-12 * max(1.0, impurity(class_counts(everything, classes, n_classes), criterion))

    def branch(records: list[int], domain: dict[str, Any], depth: int) -> int:
        node: TreeNode = {"id": len(nodes) + 1, "n": len(records), "records": records, "path_domain": domain}
        nodes.append(node)
        counts = class_counts(records, classes, n_classes)
        best: Split | None = None
        if depth != max_depth and impurity(counts, criterion) > tolerance:
            for position, attribute in enumerate(attributes):
                if in_order and best is not None:
                    break
                for split in candidates(attribute, position, records, classes, n_classes, criterion, exhaustive_max):
                    n_left = sum(attribute.values[i] in split.left for i in records)
                    enough = min_leaf <= n_left <= len(records) - min_leaf
                    if enough and split.gain > (best.gain if best else 0.0) + tolerance:
                        best = split
        if best is None:
            return int(node["id"])
        attribute = attributes[best.attribute]
        left = [i for i in records if attribute.values[i] in best.left]
        right = [i for i in records if attribute.values[i] not in best.left]
        sides = divide_domain(attribute, domain[attribute.name], best, left, right)
        node["attr"], node["gain"] = attribute.name, best.gain
        if best.threshold is None:
            node["left_categories"] = sides[0]
        else:
            node["threshold"] = best.threshold
        node["children"] = [
            branch(part, domain | {attribute.name: side}, depth + 1)
            for part, side in zip((left, right), sides, strict=True)
        ]
        return int(node["id"])

    branch(everything, {attribute.name: whole_domain(attribute) for attribute in attributes}, 0)
    return nodes


def class_counts(records: list[int], classes: Sequence[int], n_classes: int) -> list[int]:
    counts = [0] * n_classes
    for i in records:
        counts[classes[i]] += 1
    return counts


def candidates(
    attribute: Attribute,
    position: int,
    records: list[int],
    classes: Sequence[int],
    n_classes: int,
    criterion: str,
    exhaustive_max: int,
) -> Iterator[Split]:
    """Return every split of a column that has to be tried, in the order that decides ties."""
    table: dict[Any, np.ndarray] = {}
    for i in records:
        table.setdefault(attribute.values[i], np.zeros(n_classes, int))[classes[i]] += 1
    present = sorted(table, key=lambda value: (value is None, value))
    total = sum(table.values())

    def split(values: Sequence[Any], left_counts: np.ndarray, threshold: float | None) -> Split:
        parts = (left_counts.tolist(), (total - left_counts).tolist())
        gain = impurity(total.tolist(), criterion) - sum(impurity(part, criterion) for part in parts)
        return Split(gain, position, frozenset(values), threshold)

    if attribute.kind == "levels" and n_classes > 2 and len(present) <= exhaustive_max:
        for mask in range(1, 2 ** len(present) - 1, 2):
            values = [value for bit, value in enumerate(present) if mask >> bit & 1]
            yield split(values, sum(table[value] for value in values), None)
        return
    order = category_order(table, present, n_classes) if attribute.kind == "levels" else present
    left_counts = np.zeros(n_classes, int)
    for length in range(1, len(order)):
        left_counts = left_counts + table[order[length - 1]]
        if attribute.kind == "interval":
            below, above = order[length - 1], order[length]
            middle = inf if above is None else below + (above - below) / 2
            yield split(order[:length], left_counts, below if middle == above else middle)
        elif attribute.kind == "levels" and present[0] not in order[:length]:
            yield split(order[length:], total - left_counts, None)
        else:
            yield split(order[:length], left_counts, None)


def category_order(table: dict[Any, np.ndarray], present: list[Any], n_classes: int) -> list[Any]:
    """Return levels by the share of the second of two classes; else along the first principal component of the class
    shares."""
    shares = np.array([table[value] / table[value].sum() for value in present])
    if n_classes == 2:
        scores = shares[:, 1]
    else:
        weights = np.array([table[value].sum() for value in present])
        centred = shares - np.average(shares, axis=0, weights=weights)
        axis = np.linalg.eigh((centred.T * weights) @ centred)[1][:, -1]
        scores = centred @ axis * np.sign(axis[np.abs(axis) > 1e-9][0])
    return [present[rank] for rank in np.argsort(scores, kind="stable")]


def whole_domain(attribute: Attribute) -> list[Any]:
    if attribute.kind == "interval":
        return [*attribute.domain, *([True] if attribute.has_missing else [])]
    return list(attribute.levels)


def divide_domain(
    attribute: Attribute, domain: list[Any], split: Split, left: list[int], right: list[int]
) -> tuple[list[Any], list[Any]]:
    """Return the two children's path domains; what the node does not hold goes to the larger child (tie: left)."""
    if split.threshold is not None:
        low, high = domain[:2]
        missing = [[False], domain[2:]] if attribute.has_missing else [[], []]
        return [low, min(high, split.threshold), *missing[0]], [max(low, split.threshold), high, *missing[1]]
    in_left = {attribute.values[i] for i in left}
    in_right = {attribute.values[i] for i in right}
    goes_left: dict[str | None, bool] = {}
    for code, level in enumerate(attribute.levels):
        if attribute.kind == "ordered" and not max(in_left) < code < min(in_right):
            goes_left[level] = code <= max(in_left)
        elif code in in_left or code in in_right:
            goes_left[level] = code in in_left
        else:
            goes_left[level] = len(left) >= len(right)
    return [level for level in domain if goes_left[level]], [level for level in domain if not goes_left[level]]


def admits(attribute: Attribute, domain: list[Any], value: Any) -> bool:
    """Return True when a path domain admits a value (a number, a position in the levels, or ``None``)."""
    if attribute.kind != "interval":
        return attribute.levels[value] in domain
    if value is None:
        return bool(domain[2])
    low, high = domain[:2]
    return (low < value or low == attribute.domain[0] == value) and value <= high


def descend(nodes: list[TreeNode], attributes: list[Attribute], record: int) -> int:
    """Return the id of the leaf whose path domain admits the record; exactly one must."""
    leaves = [
        node["id"]
        for node in nodes
        if "children" not in node and all(admits(a, node["path_domain"][a.name], a.values[record]) for a in attributes)
    ]
    (leaf,) = leaves
    return int(leaf)


class Hull(NamedTuple):
    low: int
    high: int
    levels: int
    missing: bool


def hull(attribute: Attribute, records: list[int]) -> Hull:
    """Return the smallest box around the records, in codes: positions among all of the column's values."""
    if attribute.kind == "interval":
        order = sorted({value for value in attribute.values if value is not None})
        codes = [order.index(attribute.values[i]) for i in records if attribute.values[i] is not None]
        some_missing = len(codes) < len(records)
        return Hull(min(codes, default=-1), max(codes, default=-1), 0, some_missing)
    codes = [attribute.values[i] for i in records if attribute.levels[attribute.values[i]] is not None]
    different = len({attribute.values[i] for i in records})
    return Hull(min(codes, default=-1), max(codes, default=-1), different, len(codes) < len(records))


# Scoring: Yang et al. 2019, (1) to (10).


def share(attribute: Attribute, domain: list[Any]) -> float:
    """Return P_j(t), above 0: the path domain's share of the column's; missing is one of b equal parts of an interval
    one."""
    if attribute.kind != "interval":
        return len(domain) / len(attribute.levels)
    whole = attribute.domain[1] - attribute.domain[0]
    length = max(0.0, domain[1] - domain[0]) if isfinite(domain[0]) else 0.0
    part = length / whole if whole else float(isfinite(domain[0]))
    if attribute.has_missing:
        missing = 1 / len(set(attribute.values))
        part = (1 - missing) * part + missing * domain[2]
    return max(part, 1e-300)


def measures(
    nodes: list[TreeNode], attributes: list[Attribute], classes: Sequence[int], n_classes: int
) -> dict[int, dict[str, float]]:
    """Return BIG, ICR, R, E of every node and RB, EB, omega of every inner one, by id."""
    figures: dict[int, dict[str, float]] = {}
    for node in nodes:
        counts = class_counts(node["records"], classes, n_classes)
        big = -sum(log2(share(a, node["path_domain"][a.name])) for a in attributes)
        icr = log2(node["n"])
        figures[node["id"]] = {"BIG": big, "ICR": icr, "R": big + icr, "E": sum(counts) - max(counts)}
    children = {node["id"]: node.get("children", []) for node in nodes}
    for node in nodes:
        if "children" in node:
            below = leaves_below(children, node["id"], set())
            here = figures[node["id"]]
            here["RB"] = min(figures[leaf]["R"] for leaf in below)
            here["EB"] = sum(figures[leaf]["E"] for leaf in below)
            here["omega"] = ratio(here["R"] - here["RB"], here["E"] - here["EB"])
    return figures


def ratio(risk_removed: float, errors_added: float) -> float:
    return risk_removed / errors_added if errors_added > 0 else inf


def leaves_below(children: dict[int, list[int]], node: int, collapsed: set[int]) -> list[int]:
    if node in collapsed or not children[node]:
        return [node]
    return [leaf for child in children[node] for leaf in leaves_below(children, child, collapsed)]


def region_shares(nodes: list[TreeNode], attributes: list[Attribute]) -> list[float]:
    """Return the share of the whole space that each node's path domain takes up."""
    return [float(np.prod([share(a, node["path_domain"][a.name]) for a in attributes])) for node in nodes]


# Pruning.


def ten_digits(value: float) -> float:
    return float(f"{value:.9e}")


def error_risk(
    nodes: list[TreeNode], measured: dict[int, dict[str, float]], k: int
) -> tuple[list[dict[str, float]], set[int]]:
    """Return the log and the leaves that remain of the paper's loop over all branches, the root last."""
    children = {node["id"]: node.get("children", []) for node in nodes}
    n = {node["id"]: node["n"] for node in nodes}
    root = nodes[0]["id"]
    collapsed: set[int] = set()
    log = []
    while True:
        offending = []
        for t in inner_nodes(children, root, collapsed):
            leaves = leaves_below(children, t, collapsed)
            smallest = min(n[leaf] for leaf in leaves)
            if smallest < k:
                removed = measured[t]["R"] - min(measured[leaf]["R"] for leaf in leaves)
                added = measured[t]["E"] - sum(measured[leaf]["E"] for leaf in leaves)
                omega = ratio(removed, added)
                rank = (t == root, -ten_digits(omega), -ten_digits(removed), position_of(nodes, t))
                offending.append((rank, {"node": t, "omega": omega, "minleaf": smallest, "n": n[t]}))
        if not offending:
            return log, set(leaves_below(children, root, collapsed))
        step = min(offending, key=lambda entry: entry[0])[1]
        log.append(step)
        collapsed.add(int(step["node"]))


def position_of(nodes: list[TreeNode], node_id: int) -> int:
    return [node["id"] for node in nodes].index(node_id)


def inner_nodes(children: dict[int, list[int]], node: int, collapsed: set[int]) -> list[int]:
    if node in collapsed or not children[node]:
        return []
    return [node] + [inner for child in children[node] for inner in inner_nodes(children, child, collapsed)]


def prunings(children: dict[int, list[int]], node: int) -> list[frozenset[int]]:
    """Return the leaves of every pruning of a branch: the branch collapsed, or any prunings of its children
    together."""
    cuts = [frozenset([node])]
    if children[node]:
        for parts in product(*(prunings(children, child) for child in children[node])):
            cuts.append(frozenset().union(*parts))
    return cuts


def least(nodes: list[TreeNode], allowed: Callable[[int], bool]) -> frozenset[int]:
    """Return the pruning with the most leaves among all whose leaves are all allowed; the root alone when there is
    none."""
    children = {node["id"]: node.get("children", []) for node in nodes}
    root = nodes[0]["id"]
    feasible = [leaves for leaves in prunings(children, root) if all(map(allowed, leaves))]
    if not feasible:
        return frozenset([root])
    most = max(len(leaves) for leaves in feasible)
    (largest,) = [leaves for leaves in feasible if len(leaves) == most]
    return largest


def is_pruning_of(children: dict[int, list[int]], coarse: set[int], fine: set[int], root: int) -> bool:
    """Return True when every leaf of ``fine`` lies at or below a leaf of ``coarse``."""
    below = {leaf: set(leaves_below(children, leaf, set(fine))) for leaf in coarse}
    return set().union(*below.values()) == set(fine) if below else root in fine
