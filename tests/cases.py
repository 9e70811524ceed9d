"""The worked cases as tables, schemas and trees of our own types."""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Persons, Tree, goes_left, region
from anonymizer.schema import Schema

encode_module = sys.modules[encode.__module__]

FOLDER = Path(__file__).resolve().parent / "papers" / "cases"


class Case(NamedTuple):
    """One worked case: ``ids`` maps the case's node numbers to ours."""

    content: dict[str, Any]
    table: pd.DataFrame
    schema: Schema
    encoded: EncodedTable
    tree: Tree | None
    ids: dict[int, int]


def load(name: str) -> list[dict[str, Any]]:
    """Return the cases of one file of ``tests/papers/cases``."""
    cases: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["cases"]
    return cases


def number(value: Any) -> float:
    """A number of a case: infinities and NaN are written as text there."""
    return float(value)


def table_of(case: dict[str, Any]) -> tuple[pd.DataFrame, Schema]:
    """The case's rows, with its class (when it has one) as the sensitive column ``class``."""
    attributes = case["attributes"]
    table = pd.DataFrame(case["rows"], columns=[attribute["name"] for attribute in attributes])
    domains = {a["name"]: tuple(a["range"]) if a["kind"] == "num" else tuple(a["categories"]) for a in attributes}
    kinds = {a["name"]: "numeric" if a["kind"] == "num" else "categorical" for a in attributes}
    names = list(table.columns)
    sensitive = []
    if "class" in case:
        table["class"] = case["class"]
        sensitive = ["class"]
    for position, name in enumerate(case.get("response_names", [f"y{i}" for i in range(_n_responses(case))])):
        table[name] = [row[position] for row in case["responses"]]
        sensitive.append(name)
    schema = Schema.of(table, quasi_identifying=names, sensitive=sensitive, domains=domains, kinds=kinds)
    return table, schema


def _n_responses(case: dict[str, Any]) -> int:
    return len(case["responses"][0]) if "responses" in case else 0


def tree_of(case: dict[str, Any]) -> Case:
    """The case with its own tree, built node by node from what the case says."""
    table, schema = table_of(case)
    encoded = encode(table, schema)
    nodes = {node["id"]: node for node in case["tree"]}
    order: list[int] = []

    def visit(node_id: int) -> int:
        order.append(node_id)
        return 1 + sum(visit(child) for child in nodes[node_id].get("children", ()))

    sizes: dict[int, int] = {}
    root = case["tree"][0]["id"]
    visit(root)
    ids = {node_id: position for position, node_id in enumerate(order)}
    m, p, c = len(order), len(encoded.codes.columns), encoded.target.n_classes
    parent, feature, cut = np.full(m, -1, np.int32), np.full(m, -1, np.int32), np.full(m, -1, np.int32)
    depth, threshold = np.zeros(m, np.int32), np.full(m, np.nan)
    listed: list[list[int]] = []
    listed_left = np.zeros(m, bool)
    low, high, levels = (np.zeros((m, p), np.int32) for _ in range(3))
    sums, n = np.zeros((m, c), np.int64), np.zeros(m, np.int64)
    for node_id in reversed(order):
        sizes[node_id] = 1 + sum(sizes[child] for child in nodes[node_id].get("children", ()))
    for node_id in order:
        node, t = nodes[node_id], ids[node_id]
        records = np.array(node["records"])
        n[t] = len(records)
        sums[t] = np.bincount(encoded.target.codes[records], minlength=c)
        codes = encoded.codes.matrix()[records]
        low[t], high[t] = codes.min(axis=0), codes.max(axis=0)
        here: list[int] = []
        for j, encoding in enumerate(encoded.encodings):
            levels[t, j] = 0 if encoding.is_interval else len(np.unique(codes[:, j]))
        if "children" in node:
            left, right = node["children"]
            parent[ids[left]] = parent[ids[right]] = t
            depth[ids[left]] = depth[ids[right]] = depth[t] + 1
            feature[t] = encoded.names.index(node["attr"])
            encoding = encoded.encodings[feature[t]]
            if "threshold" in node:
                threshold[t] = node["threshold"]
                cut[t] = np.searchsorted(encoding.low, node["threshold"], side="right")
            else:
                smaller = left if nodes[left]["n"] < nodes[right]["n"] else right
                allowed = nodes[smaller]["path_domain"][node["attr"]]
                here = sorted(list(encoding.labels).index(level) for level in allowed)
                listed_left[t] = smaller == left
        listed.append(here)
    starts = np.concatenate([[0], np.cumsum([len(codes) for codes in listed])]).astype(np.int64)
    tree = Tree(
        parent=parent,
        size=np.array([sizes[node_id] for node_id in order], np.int32),
        depth=depth,
        feature=feature,
        cut=cut,
        threshold=threshold,
        listed_start=starts,
        listed=np.array([code for codes in listed for code in codes], np.uint16),
        listed_left=listed_left,
        n=n,
        sums=sums,
        low=low,
        high=high,
        levels=levels,
        has_missing=np.zeros((m, p), bool),
        persons=Persons(n, sums),
    )
    return Case(case, table, schema, encoded, tree, ids)


def describe(tree: Tree, encoded: EncodedTable) -> list[dict[str, Any]]:
    """A tree in the cases' own words (see ``tests/naive.py``), without gains; node t has the id t + 1."""
    leaf = descend(tree, encoded)
    nodes = []
    for t in range(tree.n_nodes):
        inside = (leaf >= t) & (leaf < t + tree.size[t])
        domain = path_domain(tree, encoded, t)
        node = {"id": t + 1, "n": int(tree.n[t]), "records": np.flatnonzero(inside).tolist(), "path_domain": domain}
        if tree.feature[t] >= 0:
            encoding = encoded.encodings[tree.feature[t]]
            node["attr"] = encoding.name
            node["children"] = [child + 1 for child in tree.children(t)]
            if encoding.is_interval:
                node["threshold"] = float(tree.threshold[t])
            else:
                left = {encoding.text(code) for code in np.flatnonzero(goes_left(tree, encoding, t))}
                node["left_categories"] = [level for level in domain[encoding.name] if level in left]
        nodes.append(node)
    return nodes


def path_domain(tree: Tree, encoded: EncodedTable, node: int) -> dict[str, list[Any]]:
    """The region of a node, all columns: [low, high] (and whether missing is admitted), or levels."""
    conditions = {condition.column: condition for condition in region(tree, encoded.encodings, node)}
    domains: dict[str, list[Any]] = {}
    for j, encoding in enumerate(encoded.encodings):
        condition = conditions.get(j)
        if encoding.is_interval:
            low, high = encoding.domain
            missing = [True] if encoding.missing else []
            if condition is not None:
                low, high = max(low, condition.above), min(high, condition.upto)
                missing = [condition.missing] if encoding.missing else []
            domains[encoding.name] = [low, high, *missing]
        elif condition is None:
            domains[encoding.name] = [encoding.text(code) for code in range(encoding.n_codes)]
        else:
            levels = [encoding.text(code) for code in condition.codes or ()]
            domains[encoding.name] = levels + ([None] if condition.missing else [])
    return domains
