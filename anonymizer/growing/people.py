"""The people of the population behind each node of a tree: sums of weights, or people counted inside its hull.

Like all else of a node they merge upwards, so limits on them are judged before anything is pruned.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.growing.encode import EncodedTable, Encoding, People
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Tree
from anonymizer.population.sample import Population, reach_of
from anonymizer.schema import Kind, Role, Schema
from anonymizer.values import numbers_of, value_text

Places = NDArray[np.int64]


def with_reach(
    encoded: EncodedTable, table: pd.DataFrame, schema: Schema, population: Population | None
) -> EncodedTable:
    """Return the same records with what is known of their population; as they are, where that is nothing or nobody
    asks. Raises :class:`EncodeError` for people whose values are of another kind than the table's, and what
    :func:`anonymizer.population.sample.reach_of` raises."""
    if population is None or not (population.tells or schema.only(Role.WEIGHT)):
        return encoded
    reach = reach_of(table, schema, population)
    if reach.people is None or reach.counts is None:
        return replace(encoded, people=People(reach.weights))
    frame = pd.DataFrame(
        {j: codes_of_people(reach.people[e.name], e, schema) for j, e in enumerate(encoded.encodings)}
    ).assign(count=reach.counts.astype(float))
    keys = frame.groupby(list(range(len(encoded.encodings))), sort=False, dropna=False)["count"].sum().reset_index()
    codes = keys.iloc[:, :-1].to_numpy(float)
    return replace(encoded, people=People(reach.weights, codes, keys["count"].to_numpy(float)))


def codes_of_people(values: "pd.Series[object]", encoding: Encoding, schema: Schema) -> NDArray[np.float64]:
    """Return the code of each value (N,) in the encoding of the table: see :class:`anonymizer.growing.encode.People`.
    A missing value where the table misses none is NaN, too."""
    missing = float(len(encoding.labels)) if encoding.missing else np.nan
    if encoding.kind is Kind.CATEGORICAL:
        place = {str(label): float(code) for code, label in enumerate(encoding.labels)}
        texts = values.astype(object).map(value_text, na_action="ignore")
        return np.where(values.isna(), missing, texts.map(place).astype(float))
    numbers = numbers_of(values, schema[encoding.name])[0].astype(float)
    cuts = schema[encoding.name].cuts
    numbers = np.minimum(cuts.clip(numbers), encoding.high[-1]) if cuts.bands else cuts.clip(numbers)
    last = np.searchsorted(encoding.low, numbers, side="right") - 1  # the last code that begins at or below it
    inside = (last >= 0) & (numbers <= encoding.high[np.maximum(last, 0)])
    return np.where(np.isnan(numbers), missing, np.where(inside, last, last + 0.5))


def with_people(tree: Tree, encoded: EncodedTable) -> Tree:
    """Return the tree with the people behind each of its nodes; as it is, where nothing is known of the population."""
    people = encoded.people
    if people is None:
        return tree
    leaf = descend(tree, encoded).astype(np.int64)
    if people.codes is None:
        return replace(tree, people=weights_of_nodes(tree, leaf, encoded, people.weights), counted=False)
    return replace(tree, people=people_in_hulls(tree, leaf, encoded, people), counted=True)


def weights_of_nodes(
    tree: Tree, leaf: Places, encoded: EncodedTable, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (m,) the sum of the weights (n,) of the records of each node, of a person's only the first there."""
    if encoded.person is None:
        sums = np.concatenate([[0.0], np.cumsum(np.bincount(leaf, weights, tree.n_nodes))])
        nodes = np.arange(tree.n_nodes)
        return np.asarray(sums[nodes + tree.size] - sums[nodes])
    total = np.zeros(tree.n_nodes)
    rows = np.flatnonzero(encoded.person >= 0)
    node, who = leaf[rows], encoded.person[rows]
    for depth in range(int(tree.depth.max()), -1, -1):
        here = tree.depth[node] == depth
        again = pd.DataFrame({"node": node[here], "who": who[here]}).duplicated().to_numpy()
        first = np.flatnonzero(here)[~again]
        np.add.at(total, node[first], weights[rows[first]])
        stays = ~here
        stays[first] = True
        node = np.where(here, tree.parent[node], node)[stays]
        rows, who = rows[stays], who[stays]
    return total


def people_in_hulls(tree: Tree, leaf: Places, encoded: EncodedTable, people: People) -> NDArray[np.float64]:
    """Return (m,) the people of the population in the region and the hull of each node: at most as many as fit its
    cells."""
    assert people.codes is not None
    assert people.counts is not None
    codes, counts = people.codes, people.counts
    total, node = np.zeros(tree.n_nodes), leaf_of_people(tree, codes)
    sets = [j for j, encoding in enumerate(encoded.encodings) if not encoding.is_interval]
    present = {j: (leaf, encoded.codes.columns[j].astype(np.int64)) for j in sets}
    for depth in range(int(tree.depth.max()), -1, -1):
        here = np.flatnonzero(tree.depth[node] == depth)
        at, inside = node[here], np.ones(len(here), np.bool_)
        for j, encoding in enumerate(encoded.encodings):
            code = codes[here, j]
            if encoding.is_interval:
                absent = code == len(encoding.labels)
                within = (code >= tree.low[at, j]) & (code <= tree.high[at, j]) & ~absent
                inside &= within | (absent & tree.has_missing[at, j])
                continue
            of_node, of_code = present[j]
            level = tree.depth[of_node] == depth
            pairs = np.unique(of_node[level] * encoding.n_codes + of_code[level])
            inside &= np.isin(at * encoding.n_codes + np.nan_to_num(code, nan=0.0), pairs) & ~np.isnan(code)
            above = tree.parent[pairs // encoding.n_codes].astype(np.int64)
            rest = ~level
            present[j] = (
                np.concatenate([of_node[rest], above]), np.concatenate([of_code[rest], pairs % encoding.n_codes])
            )  # fmt: skip
        np.add.at(total, at[inside], counts[here[inside]])
        node[here] = tree.parent[at]
    return total


def leaf_of_people(tree: Tree, codes: NDArray[np.float64]) -> Places:
    """Return the leaf (N,) that people with these codes (N, p) reach; a level that the table does not have goes where
    levels that a split does not list go."""
    lists = np.repeat(np.arange(tree.n_nodes), np.diff(tree.listed_start))
    foreign = 1.0 + max(int(tree.listed.max(initial=0)), int(np.nanmax(codes, initial=0)))  # a code that nobody has
    listed = np.unique(lists * (foreign + 1) + tree.listed)
    node = np.zeros(len(codes), np.int64)
    active = np.flatnonzero(tree.feature[node] >= 0)
    while len(active):
        at = node[active]
        code = codes[active, tree.feature[at]]
        by_list = np.isin(at * (foreign + 1) + np.nan_to_num(code, nan=foreign), listed) == tree.listed_left[at]
        left = np.where(tree.cut[at] >= 0, code < tree.cut[at], by_list)
        node[active] = np.where(left, at + 1, at + 1 + tree.size[at + 1])
        active = active[tree.feature[node[active]] >= 0]
    return node
