"""The flow of a table whose records are on the workers of a cluster: here are its values, its tree, and its cells.

What is released is what :func:`anonymizer.engines.anonymize_files` releases on one machine, file by file.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.verify import Verification
from anonymizer.errors import Progress, no_progress
from anonymizer.groups.limits import as_k, too_few
from anonymizer.groups.mondrian import require_target
from anonymizer.groups.recipe import Recipe, recipe_of, used_settings, with_criterion
from anonymizer.groups.refine import failing, groups_that_keep
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.grow import grow_from, require_fit, tree_of
from anonymizer.growing.records import SMALL, Growth
from anonymizer.growing.subtree import Division, Node, Subtree
from anonymizer.growing.target import entropy, gini, sse_of_tallies
from anonymizer.growing.threads import one_thread
from anonymizer.growing.tree import Tree
from anonymizer.partitions.boxes import ladders_of_pieces
from anonymizer.partitions.check import verify_folder
from anonymizer.partitions.coded import Sample, person_columns, places_of_sample
from anonymizer.partitions.folder import Manifest
from anonymizer.partitions.pieces import PartitionedTable
from anonymizer.partitions.places import File
from anonymizer.partitions.ranges import in_ranges
from anonymizer.partitions.records import LEVELS
from anonymizer.partitions.run import SAMPLE, FilesResult, groups_of, keep_checked
from anonymizer.partitions.values import ROWS
from anonymizer.reading.facts import ColumnFacts
from anonymizer.reading.options import ReadOptions
from anonymizer.releasing.grid import Grid, Ladder, grids_at, on_grids
from anonymizer.releasing.pack import made_of
from anonymizer.releasing.tiers import Made
from anonymizer.schema import Schema
from anonymizer.settings import RUN, Limits, Settings
from anonymizer.workers import leaving, persons, shares
from anonymizer.workers import nodes as of_nodes
from anonymizer.workers.bounds import bins_of_shares
from anonymizer.workers.branches import LOCAL, finish, with_pieces
from anonymizer.workers.cluster import Cluster, open_cluster
from anonymizer.workers.columns import Columns, extend, lean
from anonymizer.workers.folder import Leaving
from anonymizer.workers.leaving import Routes
from anonymizer.workers.lines import pack_groups
from anonymizer.workers.persons import PersonsElsewhere
from anonymizer.workers.questions import shares_of
from anonymizer.workers.shares import Coding

BINS = 8
"""Questions in which each worker grows small nodes: so much of its share is on its way at a time."""


class Elsewhere:
    """A table on the workers of a cluster: its shares, its coding here, and the same as a future that workers ask each
    other for."""

    def __init__(
        self, cluster: Cluster, table: PartitionedTable, schema: Schema, options: ReadOptions | None = None
    ) -> None:
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
        self.coding = cluster.ask("merge", shares.merge, reads, table, schema, options, bins)
        self.here: Coding = cluster.answer(self.coding)
        self.facts: tuple[ColumnFacts, ...] = ()
        self.numbering: Any = None
        self.persons: PersonsElsewhere | None = None
        if person_columns(schema):
            stays = schema.person is not None
            speaking = [cluster.ask("whose", persons.read, share, stays, share=share.number) for share in self.shares]
            numbering = cluster.ask("number", persons.number, speaking, self.coding, table, options)
            self.facts = cluster.answer(cluster.ask("facts", persons.facts, numbering))
            if stays:
                self.numbering, self.persons = numbering, PersonsElsewhere(self, numbering)

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

    def grow(self, recipe: Recipe, enough: int | None = None, k: int = 0) -> Tree:
        """Return the tree that :func:`anonymizer.partitions.records.grow_pieces` grows of the same table; without what
        :mod:`anonymizer.workers.branches` cuts off its branches, where there is a ``k``."""
        recipe = with_criterion(recipe, self.here.table.encoded)
        encoded = self.here.table.encoded
        if recipe.mondrian:
            require_target(recipe.mondrian, encoded.by_numbers, bool(encoded.target.name))
        require_fit(str(recipe.criterion), encoded.by_numbers)
        rules = recipe.min_leaf, recipe.max_depth, LEVELS
        with one_thread():
            records = Records(self, enough, k)
            splitter = partial(Columns, records)
            subtree = grow_from(records, self.here.encodings, str(recipe.criterion), *rules, splitter=splitter)
        self.numbers = subtree.number
        tree = tree_of(subtree, self.here.encodings, self.n_records)
        return tree if self.persons is None else replace(tree, persons=self.persons.of_nodes(tree))

    def parts(
        self, tree: Tree, group: NDArray[np.int32], settings: Settings, rng: np.random.Generator | None
    ) -> tuple[list[Any], int, Made]:
        """Return a future of the part of each record of each share, in which all rows have the same cells, how many
        parts there are, and how they were made. ``group`` (m,): of a pruned tree; ``rng``: the secret of packing, of
        the user's key by default."""
        s, encoded = settings, self.here.table.encoded
        if s.generalizer == "uniform":
            return *self.parts_of(tree, group), Made(s.generalizer)
        if s.public_k is not None:
            encoded = on_grids(encoded, self.grids(s.k))
        limits = as_k(s.limits, encoded)
        limits = limits.but(k=max(s.k, limits.k))
        made = made_of(s.generalizer, limits)
        if made.method == "pack":
            return *pack_groups(self, tree, group, encoded, limits, rng), made
        return *self.parts_of(*self.refine(tree, group, encoded, limits)), made

    def parts_of(self, tree: Tree, group: NDArray[np.int32]) -> tuple[list[Any], int]:
        """Return what :meth:`parts` does, of the groups of a pruned tree as they are."""
        routes = Routes.of(tree, group)
        future = self.cluster.ask("routes", leaving.same, routes)  # sent once, and by workers to each other
        return self.ask("parts", leaving.parts_of, future), routes.n_parts

    def bins_of_groups(self, sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Yield the first group of each question and the one after its last. ``sizes`` (g,): records of each group."""
        most, ends, low = self.n_records / (BINS * len(self.shares)), np.cumsum(sizes), 0
        while low < len(ends):
            high = max(low + 1, int(np.searchsorted(ends, ends[low] - sizes[low] + most, side="right")))
            yield low, high
            low = high

    def refine(
        self, tree: Tree, group: NDArray[np.int32], encoded: EncodedTable, limits: Limits
    ) -> tuple[Tree, NDArray[np.int32]]:
        """Return what :func:`anonymizer.groups.refine.refine_nodes` does: each group is cut on one worker, which gets
        its records from the others."""
        parts, _ = self.parts_of(tree, group)
        sizes = tree.n[group == np.arange(tree.n_nodes)]
        futures = []
        for low, high in self.bins_of_groups(sizes):
            bundles = [
                self.cluster.ask(
                    "members", leaving.members, share, self.coding, part, low, high, self.numbering,
                    share=share.number,
                )
                for share, part in zip(self.shares, parts, strict=True)
            ]  # fmt: skip
            how = encoded.encodings, limits.k, bundles, self.persons is not None
            futures.append(self.cluster.ask("cut", leaving.cut, self.coding, *how))
        refined = with_pieces(tree, group, encoded.encodings, self.cluster.answers(futures))
        fails = failing(tree, group, refined, encoded, limits)
        return refined, groups_that_keep(refined, fails)


class Records:
    """Records on workers as a source of growing. A question is the share and every division so far, so whoever is asked
    can answer; a node below ``enough`` records is grown on one worker, which gets its records from the others."""

    def __init__(self, table: Elsewhere, enough: int | None = None, k: int = 0) -> None:
        self.table, self.cluster, self.k = table, table.cluster, k
        self.history: list[Division] = []
        self.route: Any = ()
        self.grown: dict[int, Subtree] = {}
        self.least = max(SMALL, table.n_records // (4 * len(table.shares))) if enough is None else enough

    @property
    def enough(self) -> int:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        return self.least

    def root(self) -> Node:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        encoded, columns = self.table.here.table.encoded, self.table.here.table.columns
        sums: NDArray[Any] = np.array([self.table.n_records], np.int64)
        if encoded.by_numbers:
            totals = [values @ counts for values, counts in self._tallies()]  # in steps, so exact
            sums = np.array([self.table.n_records, *totals], np.float64)
        elif self.table.schema.target is not None:
            counts = columns[self.table.schema.target].counts
            sums = np.zeros(encoded.target.n_classes, np.int64)
            np.add.at(sums, encoded.target.codes, counts)
        return Node(0, 0, self.table.n_records, sums, np.ones(len(encoded.encodings), dtype=np.uint8))

    def impurity(self, criterion: str) -> float:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        if self.table.here.table.encoded.by_numbers:
            values, counts = zip(*self._tallies(), strict=True)
            return sse_of_tallies(values, counts, self.table.n_records)
        totals = self.root().sums
        return float(totals.sum() * {"entropy": entropy, "gini": gini}[criterion](totals))

    def _tallies(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Yield of each numeric sensitive column its values on its scale, and how many records have each."""
        for name, values in self.table.here.scaled.items():
            yield values, self.table.here.table.columns[name].counts

    def send(self, divisions: Sequence[Division]) -> None:
        """Let records go down these splits, too, before anything else is asked. The route is an answer that workers
        have from each other, so a question only names it."""
        new = [lean(division) for division in divisions]
        self.history += new
        self.route = self.cluster.ask("route", extend, self.route, new) if new else self.route

    def finish(self, nodes: list[Node], growth: Growth) -> list[Subtree]:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        most = self.table.n_records / (BINS * len(self.table.shares))
        bins, width = bins_of(nodes, most), len(self.table.shares)
        for start in range(0, len(bins), width):  # records of one bin a worker are on their way
            futures = []
            for some in bins[start : start + width]:
                keys = [node.key for node in some]
                bundles = self.table.ask("take", of_nodes.take, self.route, keys)
                futures.append(self.cluster.ask("finish", finish, self.table.coding, some, growth, self.k, bundles))
                del bundles
            for some, grown in zip(bins[start : start + width], self.cluster.answers(futures), strict=True):
                self.grown |= dict(zip([node.key for node in some], grown, strict=True))
        return [self.grown[node.key] for node in nodes]


def bins_of(nodes: Sequence[Node], most: float) -> list[list[Node]]:
    """Return the nodes in bins of at most so many records, or one node; the largest first."""
    bins: list[list[Node]] = []
    records: list[int] = []
    for node in sorted(nodes, key=lambda node: -node.n):
        place = next((at for at, n in enumerate(records) if n + node.n <= most), None)
        if place is None:
            bins.append([])
            records.append(0)
            place = len(bins) - 1
        bins[place].append(node)
        records[place] += node.n
    return bins


def release_elsewhere(
    table: PartitionedTable,
    schema: Schema,
    folder: str | Path,
    settings: Settings,
    options: ReadOptions | None,
    rng: np.random.Generator | None,
    reasons: Mapping[str, str],
    override: str,
    progress: Progress,
    rows: int,
    **cluster: Any,
) -> FilesResult:
    """Return what :func:`anonymizer.engines.anonymize_files` does, whose arguments these are, on a cluster."""
    with open_cluster(**cluster) as there:
        return release_on(there, table, schema, folder, settings, options, rng, reasons, override, progress, rows)


def release_on(
    cluster: Cluster,
    source: PartitionedTable,
    schema: Schema,
    folder: str | Path,
    settings: Settings,
    options: ReadOptions | None = None,
    rng: np.random.Generator | None = None,
    reasons: Mapping[str, str] | None = None,
    override: str = "",
    progress: Progress = no_progress,
    rows: int = ROWS,
) -> FilesResult:
    """Return what :func:`release_elsewhere` does, on a cluster that is open."""
    s = settings
    table = Elsewhere(cluster, source, schema, options)
    digests = table.digests()
    coded, who = table.here.table.encoded, table.persons
    if (table.n_records if who is None else who.n) < s.k:
        raise too_few(*((table.n_records, "rows") if who is None else (who.n, "persons")), s.k)
    progress(0.2, "Growing the tree")
    recipe = recipe_of(s)
    tree = table.grow(recipe, k=s.limits.k if s.grouping in LOCAL else 0)
    progress(0.4, "Making groups")
    grouping, pruning, worst = groups_of(tree, coded, schema, s)
    worst = tuple(replace(one, node=int(table.numbers[one.node])) for one in worst)  # as in the whole tree
    release = Leaving(table, *table.parts(tree, np.asarray(pruning.group_of_node()), s, rng), settings=s)
    progress(0.55, "Looking at what leaves")
    sample = table.sample(SAMPLE)
    digest = source.digest(ChainMap(table.passed, *cluster.answers(digests)))

    def write(half: Path) -> tuple[Manifest, Verification]:
        """Return the manifest of the folder, written and checked by the workers."""
        manifest, checked = release.write(half, rows, lambda share, what: progress(0.6 + 0.4 * share, what))
        return manifest, verify_folder(half, schema, manifest=manifest, checked=checked, **s.limits.required)

    place, manifest, verification, gate = keep_checked(folder, write, sample, schema, s, reasons or {}, override)
    progress(1.0, "Done")
    notes = coded.notes + (() if who is None else who.notes) + tuple(problem.text for problem in source.left_out)
    if table.n_records > SAMPLE:
        notes += (f"The gate looked at {SAMPLE:,} of the {table.n_records:,} rows, evenly spread.",)
    parameters = {**s.of(*RUN), "grouping": grouping, **used_settings(recipe, coded)}
    return FilesResult(
        schema, s, source, tree, pruning, manifest, verification, gate, release.risk(), release.losses(), worst, notes,
        parameters, place, digest, "" if verification.passed else override.strip(), "dask", release.made,
    )  # fmt: skip
