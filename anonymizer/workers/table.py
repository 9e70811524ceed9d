"""A table whose records are on the workers of a cluster: here are its values, and what workers hold is asked."""

from collections.abc import Iterator
from functools import cached_property
from secrets import token_hex
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.growing.encode import DETAIL
from anonymizer.growing.tree import Tree
from anonymizer.partitions.boxes import ladders_of_pieces
from anonymizer.partitions.coded import Sample, person_columns, places_of_sample
from anonymizer.partitions.pieces import PartitionedTable
from anonymizer.partitions.places import File
from anonymizer.partitions.ranges import in_ranges
from anonymizer.reading.facts import ColumnFacts
from anonymizer.reading.options import ReadOptions
from anonymizer.releasing.grid import Grid, Ladder, grids_at
from anonymizer.schema import Schema
from anonymizer.workers import leaving, persons, shares
from anonymizer.workers.bounds import bins_of_shares
from anonymizer.workers.cluster import Cluster
from anonymizer.workers.leaving import Routes
from anonymizer.workers.persons import ClusterPersons
from anonymizer.workers.questions import shares_of
from anonymizer.workers.shares import Coding

BINS = 8
"""Questions in which each worker grows small nodes: so much of its share is on its way at a time."""


class ClusterTable:
    """A table on the workers of a cluster: its shares, its coding here, and the same as a future that workers ask each
    other for."""

    def __init__(
        self, cluster: Cluster, table: PartitionedTable, schema: Schema, options: ReadOptions | None = None,
        cost: str = DETAIL,
    ) -> None:  # fmt: skip
        options = options or ReadOptions()
        schema.check(pd.DataFrame(columns=list(table.names)))
        table, self.passed = in_ranges(
            table, lambda texts: cluster.answers([cluster.ask("ranges", shares.ranges_of, text) for text in texts])
        )
        self.cluster, self.schema, self.source = cluster, schema, table
        run = f"{cluster.name}-{token_hex(4)}"
        self.shares = shares_of(run, table, schema, options, len(cluster.workers()))
        reads = [cluster.ask("read", shares.read, share, share=share.number) for share in self.shares]
        bins, reads = bins_of_shares(cluster, self.shares, reads)
        self.coding = cluster.ask("merge", shares.merge, reads, table, schema, options, bins, cost)
        self.here: Coding = cluster.answer(self.coding)
        self.facts: tuple[ColumnFacts, ...] = ()
        self.numbering: Any = None
        self.persons: ClusterPersons | None = None
        if person_columns(schema):
            stays = schema.person is not None
            speaking = [cluster.ask("whose", persons.read, share, stays, share=share.number) for share in self.shares]
            numbering = cluster.ask("number", persons.number, speaking, self.coding, table, options)
            self.facts = cluster.answer(cluster.ask("facts", persons.facts, numbering))
            if stays:
                self.numbering = numbering
                self.persons = ClusterPersons(cluster, self.shares, self.coding, numbering, self.facts[0])

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return self.here.table.n_records

    def digests(self) -> list[Any]:
        """Return futures of the digests of files, by file: those of each share are read by one worker, but for those
        that were taken when a file was cut, ``passed``."""
        earlier: set[File] = {*self.passed}  # a file may stand in several shares
        futures = []
        for share in self.shares:
            files = [(file, stamp) for file, stamp in share.table.stamps.items() if file not in earlier]
            earlier.update(share.table.files)
            if files:
                futures.append(self.cluster.ask("digests", shares.digests, share, files, share=share.number))
        return futures

    def ask(self, step: str, work: Any, *arguments: Any) -> list[Any]:
        """Return a future of what each share answers."""
        return [
            self.cluster.ask(step, work, share, self.coding, *arguments, share=share.number) for share in self.shares
        ]

    @cached_property
    def ladders(self) -> dict[str, Ladder]:
        """The cells of each column of numbers and dates, none joined yet."""
        return ladders_of_pieces(self.here.table, None if self.persons is None else self.persons.ends())

    def grids(self, k: int) -> dict[str, Grid]:
        """Return the grid of each column of numbers and dates."""
        return grids_at(self.ladders, k)

    def sample(self, most: int) -> Sample:
        """Return at most so many records, evenly spread over the table."""
        rows = places_of_sample(self.n_records, most)
        starts = np.cumsum([0, *self.here.rows])[:-1]
        of_shares = np.split(rows, np.searchsorted(rows, starts[1:]))
        futures = [
            self.cluster.ask(
                "sample", leaving.sample, share, self.coding, some - start, self.numbering, share=share.number
            )
            for share, some, start in zip(self.shares, of_shares, starts, strict=True)
        ]
        records = self.cluster.answers(futures)
        who = None if self.persons is None else np.concatenate([some.who for some in records])
        return Sample(leaving.frame_of(self.here, records), who, self.facts)

    def parts_of(self, tree: Tree, group: NDArray[np.int32]) -> tuple[list[Any], int]:
        """Return a future of the group of each record of each share, and the number of groups. ``group`` (m,): of a
        pruned tree."""
        routes = Routes.of(tree, group)
        future = self.cluster.ask("routes", leaving.broadcast, routes)  # sent once, and by workers to each other
        return self.ask("parts", leaving.parts_of, future), routes.n_parts

    def members(self, parts: list[Any], low: int, high: int) -> list[Any]:
        """Return futures of the records of each share in the parts from ``low`` to below ``high``."""
        return [
            self.cluster.ask(
                "members", leaving.members, share, self.coding, part, low, high, self.numbering, share=share.number
            )
            for share, part in zip(self.shares, parts, strict=True)
        ]

    def bins_of_groups(self, sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Yield the first group of each question and the one after its last. ``sizes`` (g,): records of each group."""
        most, ends, low = self.n_records / (BINS * len(self.shares)), np.cumsum(sizes), 0
        while low < len(ends):
            high = max(low + 1, int(np.searchsorted(ends, ends[low] - sizes[low] + most, side="right")))
            yield low, high
            low = high
