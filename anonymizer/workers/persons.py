"""Persons with several records on workers: one of them numbers the values of the column that says whose a row is, and
persons are counted by many, each some of them, all of whose records it gets from the others. Their sums add up."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonymizer.alike import persons_of_values
from anonymizer.growing.encode import CodeColumns, EncodedTable, note_of_nobody
from anonymizer.growing.subtree import Branch, persons_of_nodes, sizes_and_depths
from anonymizer.growing.target import ClassTarget
from anonymizer.growing.tree import Persons, Tree
from anonymizer.partitions.coded import facts_of, person_columns
from anonymizer.partitions.pieces import PartitionedTable
from anonymizer.partitions.values import codes_among, values_of
from anonymizer.reading.facts import ColumnFacts
from anonymizer.reading.options import ReadOptions
from anonymizer.releasing.grid import PersonEnds, ends_of_persons
from anonymizer.workers.cluster import Cluster
from anonymizer.workers.questions import Share, guarded
from anonymizer.workers.shares import Coding, TalliedColumn, cache_of, codes_of, coding_of, load

Who = NDArray[np.int32]
"""Whose records are (n,): a number of each person, -1 for nobody."""


class Numbering(NamedTuple):
    """Numbers of persons. ``distinct``: the d values of the column that says whose a row is; ``person`` (d + 1,): the
    number of each, last of a missing one; no value where there is no such column. ``facts``: of the columns that speak
    of persons, without their values."""

    distinct: pa.Array
    person: Who
    facts: tuple[ColumnFacts, ...]


@guarded
def read(share: Share, stays: bool) -> dict[str, tuple[pa.Array, NDArray[np.int64]]]:
    """Return the distinct values in a share of each column that speaks of persons, and how many records have each or
    miss it (d + 1,). ``stays``: it will be asked which record has which."""
    with cache_of(share) as here:
        if here.whose is None:
            load(share)
        assert here.whose is not None
        tallies = {
            name: (column.distinct, np.bincount(column.codes, minlength=len(column.distinct) + 1))
            for name, column in here.whose.items()
        }
        here.whose = here.whose if stays else None
        return tallies


@guarded
def number(
    reads: list[Mapping[str, tuple[pa.Array, NDArray[np.int64]]]],
    coding: Coding,
    table: PartitionedTable,
    options: ReadOptions,
) -> Numbering:
    """Return the numbers of the persons of a table whose shares hold this."""
    schema = coding.table.schema
    distinct, person, facts = pa.array([], pa.string()), np.empty(0, np.int32), []
    for name in person_columns(schema):
        kind = table.types[name]
        whole = pc.unique(pa.chunked_array([of_share[name][0] for of_share in reads], kind))
        tally = np.zeros(len(whole) + 1, np.int64)
        for values, counts in (of_share[name] for of_share in reads):
            tally[pc.index_in(values, value_set=whole).to_numpy(zero_copy_only=False)] += counts[:-1]
            tally[-1] += counts[-1]
        typed = values_of(name, kind, whole, True, options, coding.manner)
        facts.append(facts_of(TalliedColumn(name, typed, np.empty(0, np.uint8), tally[: len(typed)])))
        if name == schema.person:
            numbers_of_values = persons_of_values(typed, schema[name])[: len(whole)]
            distinct, person = whole, np.append(numbers_of_values, -1).astype(np.int32)
    return Numbering(distinct, person, tuple(facts))


@guarded
def facts(numbering: Numbering) -> tuple[ColumnFacts, ...]:
    """Return how many persons there are, without who."""
    return numbering.facts


def who_of(share: Share, numbering: Numbering) -> Who:
    """Return whose each record of a share is, (n,); read again where this process never has."""
    with cache_of(share) as here:
        if here.who is None:
            if here.whose is None:
                load(share)
            assert here.whose is not None
            (column,) = here.whose.values()
            here.who = numbering.person[codes_among([column], numbering.distinct, True)]
            here.whose = None
        return here.who


class Batch(NamedTuple):
    """Records of some persons in a share: whose each is, the part that it is in, and its classes in the sensitive
    columns, the target's first."""

    who: Who
    part: NDArray[np.int32]
    classes: tuple[NDArray[Any], ...]


@guarded
def batch(
    share: Share, coding: Coding, numbering: Numbering, part: NDArray[np.int32], place: int, batches: int
) -> Batch:  # fmt: skip
    """Return the records in a share of the persons of one batch, of so many. ``part`` (n,): of each record."""
    who = who_of(share, numbering)
    rows = np.flatnonzero((who >= 0) & (who % batches == place))
    encoded = coding.records(codes_of(share, coding), rows).encoded
    targets = encoded.target, *encoded.others
    return Batch(who[rows], part[rows], tuple(np.asarray(target.codes) for target in targets))


@guarded
def of_nodes(coding: Coding, parent: NDArray[np.int32], feature: NDArray[np.int32], batches: list[Batch]) -> Persons:
    """Return the persons of one batch in every node of a tree. ``parent``, ``feature`` (m,): of its nodes; the part of
    a record is its leaf, by its place among the leaves."""
    part = np.concatenate([batch.part for batch in batches])
    feature, encoded = np.array(feature), coding.table.encoded
    order = np.argsort(part, kind="stable").astype(np.uint32)
    leaves = np.concatenate([[0], np.cumsum(feature < 0)])
    ends = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=leaves[-1]))])
    parent = np.array(parent)
    after = np.arange(len(parent)) + sizes_and_depths(parent)[0]
    branch = branch_of(parent, feature, ends[leaves[:-1]], ends[leaves[after]])
    persons = persons_of_nodes(records_of(encoded, batches), branch, order)
    assert persons is not None
    return persons


def branch_of(
    parent: NDArray[np.int32], feature: NDArray[np.int32], first: NDArray[np.int64], last: NDArray[np.int64]
) -> Branch:
    """Return a branch of which only its shape and the places of its records are known."""
    none = np.zeros(0, np.int32)
    listed = np.zeros(0, np.uint16), np.zeros(0, np.uint8)
    return Branch(parent, feature, none, none, np.zeros(0, np.int64), *listed, first, last, none)


def records_of(encoded: EncodedTable, batches: Sequence[Batch]) -> EncodedTable:
    """Return the records of some batches, of which only whose they are and their classes are known."""
    who = compact(np.concatenate([batch.who for batch in batches]))
    targets: list[ClassTarget] = [
        replace(target, codes=np.concatenate([batch.classes[at] for batch in batches]))
        for at, target in enumerate((encoded.target, *encoded.others))
    ]
    return replace(
        encoded, codes=CodeColumns(len(who)), target=targets[0], others=tuple(targets[1:]), numeric=None, person=who
    )


def compact(who: Who) -> Who:
    """Return numbers of persons from 0 without a gap, the same for the same person, -1 for nobody's."""
    numbers = np.full(len(who), -1, np.int32)
    somebody = who >= 0
    numbers[somebody] = pd.factorize(who[somebody])[0]
    return numbers


class Numbers(NamedTuple):
    """Records of some persons in a share: whose each is, and their codes in the columns of numbers and dates."""

    who: Who
    codes: Mapping[str, NDArray[Any]]


@guarded
def numbers(share: Share, coding: Coding, numbering: Numbering, place: int, batches: int) -> Numbers:
    """Return the records in a share of the persons of one batch, in the columns of numbers and dates."""
    who = who_of(share, numbering)
    rows = np.flatnonzero((who >= 0) & (who % batches == place))
    records = coding_of(share, coding).records(codes_of(share, coding), rows)
    codes = {e.name: records.codes(at) for at, e in enumerate(coding.encodings) if e.is_interval}
    return Numbers(who[rows], codes)


@guarded
def ends(coding: Coding, of_shares: list[Numbers]) -> dict[str, PersonEnds]:
    """Return of how many persons of one batch each code is the lowest and the highest, by column."""
    who = compact(np.concatenate([some.who for some in of_shares]))
    return {
        e.name: ends_of_persons(np.concatenate([some.codes[e.name] for some in of_shares]), who, len(e.labels))
        for e in coding.encodings
        if e.is_interval
    }


class ClusterPersons:
    """The persons of a table on the workers of a cluster: here are their number and what adds up of them."""

    def __init__(
        self, cluster: Cluster, shares: Sequence[Share], coding: Any, numbering: Any, fact: ColumnFacts
    ) -> None:
        """``coding``: a future of a :class:`Coding`; ``numbering``: one of :func:`number`; ``fact``: of the column that
        says whose a row is."""
        self.cluster, self.shares, self.coding, self.numbering = cluster, shares, coding, numbering
        self.n, self.notes = fact.distinct, note_of_nobody(fact.missing, fact.name)

    def batches(self, parts: Sequence[Any]) -> list[list[Any]]:
        """Return futures of the records of each batch, by share. ``parts``: of each share, a future of its records'."""
        batches = range(len(self.shares))
        return [
            [
                self.cluster.ask(
                    "batch", batch, share, self.coding, self.numbering, part, place, len(batches), share=share.number
                )
                for share, part in zip(self.shares, parts, strict=True)
            ]
            for place in batches
        ]

    def of_nodes(self, tree: Tree, parts: Sequence[Any]) -> Persons:
        """Return the persons of every node of a tree. ``parts``: of each share, a future of the leaf of each record."""
        how = self.coding, tree.parent, tree.feature
        counts = self.cluster.answers(
            [self.cluster.ask("persons", of_nodes, *how, some) for some in self.batches(parts)]
        )
        columns = zip(*((some.n, some.sums, *some.others) for some in counts), strict=True)
        n, sums, *others = (np.sum(of_batches, axis=0) for of_batches in columns)
        return Persons(n, sums, tuple(others), np.max([some.most for some in counts], axis=0))

    def ends(self) -> dict[str, PersonEnds]:
        """Return of how many persons each code is the lowest and the highest, by column of numbers and dates."""
        batches, futures = range(len(self.shares)), []
        for place in batches:
            of_shares = [
                self.cluster.ask(
                    "numbers", numbers, share, self.coding, self.numbering, place, len(batches), share=share.number
                )
                for share in self.shares
            ]
            futures.append(self.cluster.ask("ends", ends, self.coding, of_shares))
        answers = self.cluster.answers(futures)
        return {
            name: (
                np.sum([some[name][0] for some in answers], axis=0), np.sum([some[name][1] for some in answers], axis=0)
            )
            for name in answers[0]
        }  # fmt: skip
