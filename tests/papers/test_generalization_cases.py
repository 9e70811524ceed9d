"""Generalization and its loss on the papers' own example and on worked cases, number by number.

Y19, Table 1: the printed boxes of tiered and of uniform generalization for k = 3. Erratum: none. The random cases
come from slow reference implementations.
"""

import numpy as np
import pytest

from anonymizer.cells import Cell
from anonymizer.measuring.utility import cut_gcp, gcp, ncp, node_ncp
from anonymizer.releasing.generalize import generalize
from anonymizer.releasing.tiers import Groups, tiered
from tests import cases
from tests.naive_generalize import Cut, leaf_of_records

TIERED = [
    pytest.param(raw, id=f"{name}-{raw['name']}")
    for name in ("y19_table_1", "y19_tiered", "y19_lone_leaf")
    for raw in cases.load(name)
]
UNIFORM = [pytest.param(raw, id=raw["name"]) for raw in cases.load("y19_uniform")]


def in_order(release):
    """The cells of each original row: list of rows of cells."""
    rows = [[] for _ in release.order]
    for column in release.generalized:
        for place, row in enumerate(release.order):
            rows[row].append(column.cells[column.index[place]])
    return rows


def says(cell: Cell, levels) -> object:
    """A cell the way the cases write it: [low, high] or the list of levels."""
    if cell.low is not None:
        return [cell.low, cell.high]
    return list(levels) if cell.withheld else list(cell.levels)


def groups_of(case):
    top = [case.content["tree"][0]["id"]]
    return Cut(case.tree, [case.ids[node] for node in case.content.get("cut", top)])


@pytest.mark.parametrize("raw", TIERED)
def test_tiered__boxes_and_loss(raw):
    case = cases.tree_of(raw)
    leaf = leaf_of_records(case.tree, case.ids, raw["tree"])
    release = generalize(case.table, case.schema, case.encoded, groups_of(case), "tiered", raw["k"], leaf=leaf)
    ours = [
        [says(cell, encoding.labels) for cell, encoding in zip(row, case.encoded.encodings, strict=True)]
        for row in in_order(release)
    ]
    assert ours == [[read(box) for box in row] for row in raw["tiered"]]
    if "gcp" in raw or "gcp_tiered" in raw:
        expected = raw.get("gcp", raw.get("gcp_tiered"))
        assert gcp(release, case.encoded.encodings) == pytest.approx(expected, rel=1e-9)


def read(box):
    """A box of a case; Table 1 writes [42-61] and {a, b} or a bare level."""
    if isinstance(box, list):
        return box
    if box.startswith("["):
        return [float(end) for end in box[1:-1].split("-")]
    return box.strip("{}").split(", ")


@pytest.mark.parametrize("raw", TIERED)
def test_tiered__shared_records(raw):
    case = cases.tree_of(raw)
    leaf = leaf_of_records(case.tree, case.ids, raw["tree"])
    parts = tiered(
        Groups(case.tree, case.encoded, leaf, groups_of(case).group_of_node()), raw["k"], np.random.default_rng(0)
    )
    for subset in raw["subsets"]:
        part = parts.part[subset["own"][0]]
        assert sorted(np.flatnonzero(parts.part == part)) == subset["own"]
        assert sorted(parts.shared_record[parts.shared_part == part]) == sorted(subset["shared"])


def test_table_1__text_and_loss_of_every_cell():
    (raw,) = cases.load("y19_table_1")
    case, release = table_1(raw, "tiered")
    by_row = np.argsort(release.order)
    frame = release.frame().iloc[by_row]
    assert frame["Age"].tolist() == ["[42, 61]", "[42, 61]", "[29, 61]", "[29, 42]", "[29, 42]"]
    assert frame["Marital Status"].tolist() == ["*", "*", "*", "Not Married", "Not Married"]
    np.testing.assert_allclose(ncp(release, case.encoded.encodings)[by_row], raw["ncp_tiered"], rtol=1e-9)
    case, release = table_1(raw, "uniform")
    frame = release.frame().iloc[np.argsort(release.order)]
    assert frame["Age"].tolist() == [row[0].replace("-", ", ") for row in raw["uniform"]]
    assert frame["Marital Status"].tolist() == [row[1] for row in raw["uniform"]]
    assert gcp(release, case.encoded.encodings) == pytest.approx(raw["gcp_uniform"], rel=1e-9)


def table_1(raw, method):
    case = cases.tree_of(raw)
    leaf = leaf_of_records(case.tree, case.ids, raw["tree"])
    return case, generalize(case.table, case.schema, case.encoded, Cut(case.tree, [0]), method, raw["k"], leaf=leaf)


@pytest.mark.parametrize("raw", UNIFORM)
def test_uniform__boxes_and_loss(raw):
    table, schema = cases.table_of(raw)
    encoded = cases.encode_module.encode(table, schema)
    groups = raw["groups"]
    leaf = np.empty(len(table), dtype=np.int32)
    for number, records in enumerate(groups):
        leaf[records] = number
    tree = Star(len(groups))
    release = generalize(table, schema, encoded, Cut(tree, list(range(len(groups)))), "uniform", raw["k"], leaf=leaf)
    by_row = np.argsort(release.order)
    boxes = [[says(c, e.labels) for c, e in zip(row, encoded.encodings, strict=True)] for row in in_order(release)]
    assert boxes == raw["uniform"]
    np.testing.assert_allclose(ncp(release, encoded.encodings)[by_row], raw["ncp"], rtol=1e-9)
    assert gcp(release, encoded.encodings) == pytest.approx(raw["gcp"], rel=1e-9)


class Star:
    """As much of a tree as uniform generalization looks at: so many nodes."""

    def __init__(self, nodes: int) -> None:
        self.n_nodes = nodes
        self.size = np.ones(nodes, dtype=np.int32)


@pytest.mark.parametrize("raw", [raw for raw in cases.load("degenerate") if "boxes_ncp" in raw])
def test_degenerate_boxes__from_the_release_and_from_the_hulls(raw):
    case = cases.tree_of(raw)
    cut = np.array([case.ids[int(node)] for node in raw["least"]])
    leaf = leaf_of_records(case.tree, case.ids, raw["tree"])
    release = generalize(case.table, case.schema, case.encoded, Cut(case.tree, list(cut)), "uniform", 3, leaf=leaf)
    from_hulls = node_ncp(case.tree, case.encoded.encodings)
    np.testing.assert_allclose(from_hulls[cut], raw["boxes_ncp"], rtol=1e-9)
    np.testing.assert_allclose(ncp(release, case.encoded.encodings), raw["boxes_ncp"] * len(case.table), rtol=1e-9)
    assert cut_gcp(case.tree, from_hulls, cut) == pytest.approx(np.mean(raw["boxes_ncp"]), rel=1e-9)
