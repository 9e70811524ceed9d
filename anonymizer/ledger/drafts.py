"""A release, or a published tree, on its way into a ledger: what its entry will say, before it has a place there."""

import csv
import io
import zlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.cell_limits import Promise
from anonymizer.digests import digest
from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.outline import KeyedTree, leaves_of
from anonymizer.disclosure.publish import certain_leaves, forms_of, publish
from anonymizer.gate.earlier import Earlier, Now
from anonymizer.gate.finding import Gate
from anonymizer.growing.encode import persons_of
from anonymizer.ledger.rows import KeyedRows, LedgerRows
from anonymizer.ledger.trees import TreeLeaves
from anonymizer.provenance.report import Report
from anonymizer.releasing.release import Release
from anonymizer.releasing.treat import treated_table
from anonymizer.schema import Schema

Codes = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, eq=False)
class Draft:
    """A release before it has a place in the ledger. ``rows``: of its table; ``now``: what it is looked at as, the
    class of each row a number of one of its ``boxes``, which are as :func:`boxes_of` returns them; ``n_records``: rows
    that it has; ``settings``, as a report keeps them; ``smallest``: rows of its smallest class; ``passed``: whether
    every check did; ``reasons`` by the key of the finding. ``name``, ``sha256``: of its file."""

    rows: LedgerRows
    now: Now
    boxes: tuple[str, int]
    n_records: int
    settings: Mapping[str, Any]
    smallest: int
    passed: bool
    reasons: Mapping[str, str]
    name: str
    sha256: str

    @classmethod
    def of(cls, table: pd.DataFrame, release: Release, report: Report, name: str, sha256: str, key: bytes) -> "Draft":
        """Return the release of a table in memory. ``key``: of the ledger."""
        schema, parameters = report.provenance.schema, report.provenance.parameters
        person, k = persons_of(table, schema)[0], int(parameters["k"])
        class_of = Earlier.of(release, len(table), k).class_of
        released = release.frame(shared=True)
        numbers, first, sizes = np.unique(class_of[release.order], return_index=True, return_counts=True)
        boxes, place = boxes_of(released[list(schema.quasi_identifying)].iloc[first], sizes)
        rank = np.full(int(class_of.max(initial=-1)) + 2, -1, np.int64)
        rank[numbers] = place
        how = {"promise": Promise.of(schema, parameters), "treated": treated_table(table, schema)}
        now = Now(table, schema, released, rank[class_of], k, person, **how)
        rows, reasons = KeyedRows.of(table, schema, person, key), reasons_in(report.gate)
        about = release.n_records, parameters, report.after.smallest, report.verification.passed
        return cls(rows, now, boxes, *about, reasons, name, sha256)


@dataclass(frozen=True, eq=False)
class TreeDraft:
    """A published tree before it has a place in the ledger. ``rows``: of its table; ``values`` (n rows): the column
    that it predicts; ``leaves``: which leaf each row is in, and what that says; ``knows``: what is published with its
    questions and labels, by name; ``name``: of its file; ``files``: the digest of each form that it can have."""

    rows: LedgerRows
    values: pd.DataFrame
    leaves: TreeLeaves
    knows: Mapping[str, bool]
    name: str
    files: Mapping[str, str]

    @classmethod
    def of(
        cls,
        table: pd.DataFrame,
        schema: Schema,
        tree: KeyedTree,
        knowledge: Knowledge,
        codes: Codes,
        name: str,
        key: bytes,
    ) -> "TreeDraft":
        """Return a tree of a table in memory, of which ``knowledge`` is published. ``codes`` (n, p): of its rows, in
        the tree's columns; ``key``: of the ledger."""
        document = publish(tree, knowledge)
        files = {form: digest(text.encode()) for form, text in forms_of(document)[0].items()}
        target, leaf = tree.keys.target, leaves_of(tree.outline, codes)
        number, says = len(tree.outline.leaves), certain_leaves(tree, knowledge)
        leaves = TreeLeaves(target, leaf, number, knowledge.rates, says)
        rows = KeyedRows.of(table, schema, persons_of(table, schema)[0], key)
        knows = {"error_rates": knowledge.rates, "class_totals": knowledge.totals, "rule": knowledge.rule is not None}
        return cls(rows, table[[target]], leaves, knows, name, files)

    @property
    def about(self) -> dict[str, Any]:
        """What an entry says of the tree itself."""
        says = {str(leaf): value for leaf, value in self.leaves.says.items()}
        return {
            "target": self.leaves.target, "leaves": self.leaves.number, "says": says, "knows": dict(self.knows),
            "tree": {"name": self.name, "files": dict(self.files)},
        }  # fmt: skip


def boxes_of(cells: pd.DataFrame, rows: NDArray[np.integer[Any]]) -> tuple[tuple[str, int], NDArray[np.int64]]:
    """Return the distinct boxes of a release with their rows, as base64 of a deflated CSV, and how many they are; and
    the place of each among them (c,). ``cells``: the generalized columns as released, a row for each of c classes;
    ``rows`` (c,): of each."""
    texts = cells.astype(object).fillna("").to_numpy()
    boxes = [tuple(map(str, box)) for box in texts.tolist()]
    places = sorted(range(len(boxes)), key=boxes.__getitem__)
    rank = np.empty(len(places), np.int64)
    rank[places] = np.arange(len(places))
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([*cells.columns, "rows"])
    writer.writerows([*boxes[place], int(rows[place])] for place in places)
    text = b64encode(zlib.compress(sink.getvalue().encode(), 9)).decode()
    return (text, len(boxes)), rank


def reasons_in(gate: Gate) -> dict[str, str]:
    """Return the reasons of a gate by the key of the finding."""
    return {one.key: one.reason for one in gate.findings if one.reason}
