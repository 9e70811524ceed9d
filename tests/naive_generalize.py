"""The slow, obvious twins of generalization: boxes by looking at every record, in plain Python."""

import math

import numpy as np

from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.tree import Tree


class Cut:
    """The part of a pruning that generalizing needs, for tests that choose groups themselves."""

    def __init__(self, tree: Tree, nodes: list[int]) -> None:
        self.tree = tree
        self.nodes = nodes

    def group_of_node(self, after: int | None = None) -> np.ndarray:
        group = np.full(self.tree.n_nodes, -1)
        for node in self.nodes:
            group[node : node + self.tree.size[node]] = node
        return group


def leaf_of_records(tree: Tree, ids: dict[int, int], nodes: list[dict]) -> np.ndarray:
    """Return each record's leaf, from what a worked case says of its nodes."""
    leaf = {}
    for node in nodes:
        if "children" not in node:
            leaf |= dict.fromkeys(node["records"], ids[node["id"]])
    return np.array([leaf[row] for row in range(len(leaf))], dtype=np.int32)


def branch(tree: Tree, node: int) -> range:
    return range(node, node + int(tree.size[node]))


def distances(encoded: EncodedTable, own: list[int], others: list[int]) -> dict[int, float]:
    """Return the rounded squared distance of every other record to the centroid of ``own``."""
    losses = {}
    for row in others:
        total = 0.0
        for j, encoding in enumerate(encoded.encodings):
            codes = [int(encoded.codes.columns[j][record]) for record in own]
            code = int(encoded.codes.columns[j][row])
            if not encoding.is_interval:
                for level in range(encoding.n_codes):
                    total += 0.5 * ((code == level) - codes.count(level) / len(codes)) ** 2
                continue
            missing = len(encoding.labels)
            absent = codes.count(missing) / len(codes)
            width = encoding.high[-1] - encoding.low[0] if missing else 0.0
            values = [float(encoding.low[c] / 2 + encoding.high[c] / 2) for c in codes if c != missing]
            if code == missing:
                total += 1 - absent
            else:
                value = float(encoding.low[code] / 2 + encoding.high[code] / 2)
                apart = (value - sum(values) / len(values)) / width if values and width else 0.0
                total += (1 - absent) * apart**2 + absent
        losses[row] = round(total, 12)
    return losses


def tiered_boxes(tree: Tree, encoded: EncodedTable, leaf: np.ndarray, group: np.ndarray, k: int) -> list[set[int]]:
    """Return for every record the records that its box must hold, and the shared ones, by leaf."""
    members = {int(t): [int(row) for row in np.flatnonzero(leaf == t)] for t in np.unique(leaf)}
    whole = {t: set(own) | set(shared_records(tree, encoded, members, t, k)) for t, own in members.items()}
    return [set().union(*(rows for rows in whole.values() if row in rows)) for row in range(len(leaf))]


def shared_records(tree: Tree, encoded: EncodedTable, members: dict[int, list[int]], t: int, k: int) -> list[int]:
    own, above = members[t], t
    if len(own) >= k:
        return []
    while True:
        above = int(tree.parent[above])
        inside = [row for node in branch(tree, above) for row in members.get(node, [])]
        if len(inside) >= k:
            break
    far = distances(encoded, own, [row for row in inside if row not in own])
    return sorted(far, key=lambda row: (far[row], row))[: k - len(own)]


def strict_cells(tree: Tree, encoded: EncodedTable, leaf: np.ndarray, group: np.ndarray, k: int) -> list[set[int]]:
    """Return for every record the cell of ``tiered-strict`` that it ends in."""
    cells = {int(t): {int(row) for row in np.flatnonzero(leaf == t)} for t in np.unique(leaf)}
    while True:
        small = [t for t, cell in cells.items() if len(cell) < k]
        if not small:
            break
        t = min(small, key=lambda node: (len(cells[node]), min(cells[node])))
        above = t
        while True:
            assert group[above] != above, "a cell climbed above its group"
            above = int(tree.parent[above])
            inside = [node for node in branch(tree, above) if node in cells]
            surplus = sum(max(0, len(cells[node]) - k) for node in inside if node != t)
            if surplus >= k - len(cells[t]):
                take(encoded, cells, t, inside, k)
                break
            if sum(len(cells[node]) for node in inside) >= k:
                cells[above] = set().union(*(cells.pop(node) for node in inside))
                break
    home = {row: cell for cell in cells.values() for row in cell}
    return [home[row] for row in range(len(leaf))]


def take(encoded: EncodedTable, cells: dict[int, set[int]], t: int, inside: list[int], k: int) -> None:
    donors = {row: node for node in inside if node != t and len(cells[node]) > k for row in cells[node]}
    far = distances(encoded, sorted(cells[t]), sorted(donors))
    for row in sorted(far, key=lambda row: (far[row], row)):
        if len(cells[t]) == k:
            return
        if len(cells[donors[row]]) > k:
            cells[donors[row]].remove(row)
            cells[t].add(row)


def hull(encoded: EncodedTable, rows: set[int], j: int) -> tuple[float, float, bool] | tuple[list[str], bool]:
    """Return what a box must say of one column: ends and whether a value is missing, or levels in domain order."""
    encoding = encoded.encodings[j]
    codes = sorted({int(encoded.codes.columns[j][row]) for row in rows})
    missing = codes[-1] == len(encoding.labels)
    present = codes[: len(codes) - missing]
    if encoding.is_interval:
        if not present:
            return math.inf, -math.inf, missing
        return float(encoding.low[present[0]]), float(encoding.high[present[-1]]), missing
    return [str(encoding.labels[code]) for code in present], missing
