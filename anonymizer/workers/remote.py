"""The flow of a table whose records are on the workers of a cluster: here are its tree, and its cells.

What is released is what :func:`anonymizer.engines.anonymize_files` releases on one machine, file by file.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.checking.verify import Verification
from anonymizer.errors import Progress, no_progress
from anonymizer.groups.detail import DETAIL
from anonymizer.groups.limits import as_k, too_few
from anonymizer.groups.mondrian import require_target
from anonymizer.groups.recipe import Recipe, natural_criterion, recipe_of, run_settings, with_criterion
from anonymizer.groups.refine import failing, groups_that_keep
from anonymizer.groups.secret import Secret
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.grow import grow_from, require_fit, tree_of
from anonymizer.growing.threads import one_thread
from anonymizer.growing.tree import Tree
from anonymizer.partitions.check import verify_folder
from anonymizer.partitions.folder import Manifest
from anonymizer.partitions.ledger import Register
from anonymizer.partitions.pieces import PartitionedTable
from anonymizer.partitions.records import LEVELS
from anonymizer.partitions.run import SAMPLE, FilesResult, groups_of, write_if_verified
from anonymizer.partitions.values import ROWS
from anonymizer.reading.options import ReadOptions
from anonymizer.releasing.grid import on_grids
from anonymizer.releasing.pack import made_of
from anonymizer.releasing.tiers import Made
from anonymizer.schema import Schema
from anonymizer.settings import Limits, Settings
from anonymizer.workers import leaving
from anonymizer.workers.branches import LOCAL, with_pieces
from anonymizer.workers.cluster import Cluster, open_cluster
from anonymizer.workers.columns import Columns
from anonymizer.workers.folder import RemoteRelease
from anonymizer.workers.ledger import entering_of
from anonymizer.workers.lines import grow_on_one, pack_groups, secret_of_shares
from anonymizer.workers.records import Records
from anonymizer.workers.table import ClusterTable


def grow_shares(
    table: ClusterTable, recipe: Recipe, enough: int | None = None, k: int = 0, secret: Secret | None = None
) -> tuple[Tree, NDArray[np.int64]]:
    """Return the tree that :func:`anonymizer.partitions.records.grow_pieces` grows of the same table, and the number of
    each of its nodes there: it is without what :mod:`anonymizer.workers.branches` cuts off, where there is a ``k``.
    ``secret``: of packing, for a tree of detail, which grows on one worker."""
    recipe = with_criterion(recipe, table.here.table.encoded)
    encoded = table.here.table.encoded
    if recipe.mondrian:
        require_target(recipe.mondrian, encoded.by_numbers, bool(encoded.target.name))
    if recipe.criterion == DETAIL:
        assert secret is not None
        root, _ = grow_shares(table, Recipe(natural_criterion(encoded), 1, 0))
        tree = grow_on_one(table, recipe, root, secret)
        return tree, np.arange(tree.n_nodes)
    require_fit(str(recipe.criterion), encoded.by_numbers)
    rules = recipe.min_leaf, recipe.max_depth, LEVELS
    with one_thread():
        records = Records(table, enough, k)
        splitter = partial(Columns, records)
        subtree = grow_from(records, table.here.encodings, str(recipe.criterion), *rules, splitter=splitter)
    tree = tree_of(subtree, table.here.encodings, table.n_records)
    if table.persons is not None:
        leaves = np.where(tree.is_leaf, np.arange(tree.n_nodes), -1).astype(np.int32)
        tree = replace(tree, persons=table.persons.of_nodes(tree, table.parts_of(tree, leaves)[0]))
    return tree, subtree.number


def divide(
    table: ClusterTable, tree: Tree, group: NDArray[np.int32], settings: Settings, secret: Callable[[], Secret],
    by_detail: bool,
) -> tuple[list[Any], int, Made]:  # fmt: skip
    """Return a future of the part of each record of each share, in which all rows have the same cells, how many
    parts there are, and how they were made. ``group`` (m,): of a pruned tree; ``secret``: of packing; ``by_detail``:
    it is a tree of detail."""
    s, encoded = settings, table.here.table.encoded
    if s.generalizer == "uniform":
        return *table.parts_of(tree, group), Made(s.generalizer)
    if s.public_k is not None:
        encoded = on_grids(encoded, table.grids(s.k))
    limits = as_k(s.limits, encoded)
    limits = limits.but(k=max(s.k, limits.k))
    made = made_of(s.generalizer, limits)
    if made.method == "pack":
        return *pack_groups(table, tree, group, encoded, limits, secret(), by_detail), made
    return *table.parts_of(*refine(table, tree, group, encoded, limits)), made


def refine(
    table: ClusterTable, tree: Tree, group: NDArray[np.int32], encoded: EncodedTable, limits: Limits
) -> tuple[Tree, NDArray[np.int32]]:
    """Return what :func:`anonymizer.groups.refine.refine_nodes` does: each group is cut on one worker, which gets
    its records from the others."""
    parts, _ = table.parts_of(tree, group)
    sizes = tree.n[group == np.arange(tree.n_nodes)]
    futures = []
    for low, high in table.bins_of_groups(sizes):
        how = encoded.encodings, limits.k, table.members(parts, low, high), table.persons is not None
        futures.append(table.cluster.ask("cut", leaving.cut, table.coding, *how))
    refined = with_pieces(tree, group, encoded.encodings, table.cluster.answers(futures))
    fails = failing(tree, group, refined, encoded, limits)
    return refined, groups_that_keep(refined, fails)


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
    register: Register | None = None,
    **cluster: Any,
) -> FilesResult:
    """Return what :func:`anonymizer.engines.anonymize_files` does, whose arguments these are, on a cluster."""
    with open_cluster(**cluster) as there:
        how = settings, options, rng, reasons, override, progress, rows, register
        return release_on(there, table, schema, folder, *how)


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
    register: Register | None = None,
) -> FilesResult:
    """Return what :func:`release_elsewhere` does, on a cluster that is open."""
    s = settings
    table = ClusterTable(cluster, source, schema, options, settings.cost)
    digests = table.digests()
    coded, who = table.here.table.encoded, table.persons
    if (table.n_records if who is None else who.n) < s.k:
        raise too_few(*((table.n_records, "rows") if who is None else (who.n, "persons")), s.k)
    progress(0.2, "Growing the tree")
    recipe, key = recipe_of(s, table.n_records), register.ledger.key if register else None
    secret, by_detail = cache(partial(secret_of_shares, table, rng, key)), recipe.criterion == DETAIL
    own = {"secret": secret()} if by_detail else {"k": s.limits.k if s.grouping in LOCAL else 0}
    tree, numbers = grow_shares(table, recipe, **own)
    progress(0.4, "Making groups")
    grouping, pruning, worst = groups_of(tree, coded, schema, s)
    worst = tuple(replace(one, node=int(numbers[one.node])) for one in worst)  # as in the whole tree
    parts = divide(table, tree, np.asarray(pruning.group_of_node()), s, secret, by_detail)
    release = RemoteRelease(table, *parts, settings=s)
    progress(0.55, "Looking at what leaves")
    sample = table.sample(SAMPLE)
    digest = source.digest(ChainMap(table.passed, *cluster.answers(digests)))

    def write(half: Path) -> tuple[Manifest, Verification]:
        """Return the manifest of the folder, written and checked by the workers."""
        manifest, checked = release.write(half, rows, lambda share, what: progress(0.6 + 0.4 * share, what))
        return manifest, verify_folder(half, schema, manifest=manifest, checked=checked, **s.limits.required)

    parameters, after = run_settings(s, grouping, coded), release.risk()
    entering = entering_of(table, release, register, after.smallest, parameters) if register else None
    place, manifest, verification, gate, entry = write_if_verified(
        folder, write, sample, schema, s, reasons or {}, override, entering
    )
    progress(1.0, "Done")
    notes = coded.notes + (() if who is None else who.notes) + tuple(problem.text for problem in source.left_out)
    if table.n_records > SAMPLE:
        notes += (f"The gate looked at {SAMPLE:,} of the {table.n_records:,} rows, evenly spread.",)
    return FilesResult(
        schema, s, source, tree, pruning, manifest, verification, gate, after, release.losses(), worst, notes,
        parameters, place, digest, "" if verification.passed else override.strip(), "dask", release.made, entry,
    )  # fmt: skip
