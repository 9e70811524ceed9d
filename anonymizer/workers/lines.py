"""Packed groups of records on workers: each group of a tree is packed on one worker, which gets its records from the
others, and each share is told in which packed group its own records are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.detail import cut_all, grow_detail
from anonymizer.groups.hulls import scale_of
from anonymizer.groups.recipe import Recipe
from anonymizer.groups.secret import (
    GROUPS,
    Content,
    Digests,
    Secret,
    content_of,
    digests_of,
    draws,
    record_numbers,
    seed_of_content,
)
from anonymizer.growing.encode import CodeColumns, EncodedTable, Encoding
from anonymizer.growing.tree import Tree
from anonymizer.releasing.key import read_key
from anonymizer.releasing.pack import Background, lay_line, line_in_order, variance_of
from anonymizer.releasing.packed import along, as_one_region
from anonymizer.settings import Limits
from anonymizer.workers.nodes import Bundle
from anonymizer.workers.persons import compact
from anonymizer.workers.questions import Share, guarded
from anonymizer.workers.shares import Coding, codes_of, coding_of
from anonymizer.workers.table import ClusterTable


class Packs(NamedTuple):
    """The packed groups of some groups, ``n_groups`` of them; ``group``: of each share, that of each of its records, in
    the order of its bundle."""

    group: tuple[NDArray[np.int32], ...]
    n_groups: int


@guarded
def content(share: Share, coding: Coding, digests: Digests) -> Content:
    """Return what the records of a share are. ``digests``: of each code, under the user's key."""
    records = coding_of(share, coding).records(codes_of(share, coding)).rows(slice(None))
    return content_of(record_numbers(records.codes.columns, digests, records.n_records))


@guarded
def pack(
    coding: Coding,
    encodings: tuple[Encoding, ...],
    required: Mapping[str, Any],
    secret: Secret,
    background: Background,
    bundles: list[Bundle],
    by_person: bool,
    one: bool,
    by_detail: bool,
) -> Packs:
    """Return the packed groups of some groups: see :func:`anonymizer.releasing.packed.pack`. ``encodings``: as the ends
    of cells will be written; ``required``: the limits; ``one``: all are one region; ``by_detail``: they are all groups
    of a tree of detail."""
    limits = Limits(**required)
    region = np.concatenate([np.repeat(np.arange(len(bundle.sizes)), bundle.sizes) for bundle in bundles])
    encoded = records_of(coding.table.encoded, encodings, bundles, by_person)
    secret, region = Secret(*secret), np.zeros_like(region) if one else region
    if by_detail:
        line = line_in_order(encoded, region, cut_all(encoded, secret)[-1])
    else:
        order = np.argsort(secret.numbers(encoded.codes.columns, encoded.n_records), kind="stable")
        line = lay_line(encoded, region, order, secret.scale(encodings))
    line = replace(line, scale=scale_of(encodings, line.scale.weight))
    group = along(line, encoded, limits, one, background=background).astype(np.int32)
    ends = np.cumsum([sum(bundle.sizes) for bundle in bundles])
    return Packs(tuple(np.split(group, ends[:-1])), int(group.max()) + 1)


def records_of(
    encoded: EncodedTable, encodings: tuple[Encoding, ...], bundles: list[Bundle], by_person: bool
) -> EncodedTable:
    """Return the records of some bundles as a table in codes."""
    packed = np.concatenate([bundle.packed for bundle in bundles], axis=1)
    codes = CodeColumns(packed.shape[1], tuple(packed))
    target, *others = (
        replace(target, codes=np.concatenate([bundle.others[at] for bundle in bundles]))
        for at, target in enumerate((encoded.target, *encoded.others))
    )
    numeric = encoded.numeric
    if numeric is not None:
        numeric = replace(numeric, values=np.concatenate([bundle.values for bundle in bundles]))
    person = compact(np.concatenate([bundle.who for bundle in bundles])) if by_person else None
    return replace(
        encoded, codes=codes, encodings=encodings, target=target, others=tuple(others), numeric=numeric, person=person
    )


@guarded
def grow_here(
    coding: Coding, secret: Secret, rules: tuple[int, int | None], bundles: list[Bundle], by_person: bool
) -> Tree:
    """Return the tree of detail of all records, which are one group. ``rules``: ``min_leaf`` and ``max_depth``."""
    encoded = records_of(coding.table.encoded, coding.table.encoded.encodings, bundles, by_person)
    return grow_detail(encoded, Secret(*secret), *rules)[0]


def grow_on_one(table: ClusterTable, recipe: Recipe, whole: Tree, secret: Secret) -> Tree:
    """Return the tree of detail, grown on one worker, which gets the records from the others. ``whole``: its root."""
    bundles = table.members(table.parts_of(whole, np.zeros(1, np.int32))[0], 0, 1)
    how = secret, (recipe.min_leaf, recipe.max_depth), bundles, table.numbering is not None
    tree: Tree
    (tree,) = table.cluster.answers([table.cluster.ask("detail", grow_here, table.coding, *how)])
    return tree


@guarded
def of_share(packs: Packs, number: int) -> NDArray[np.int32]:
    """Return the packed group of each record of one share."""
    return packs.group[number]


@guarded
def count_of(packs: Packs) -> int:
    """Return the number of packed groups."""
    return packs.n_groups


@guarded
def number(part: NDArray[np.int32], firsts: list[int], groups: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Return the packed group of each record of a share, numbered over all. ``part`` (n,): its group; ``groups``: the
    packed ones, bin by bin, and ``firsts``: the number of each bin's first."""
    packed = np.empty(len(part), np.int32)
    numbers = [first + group for first, group in zip(firsts, groups, strict=True)]
    packed[np.argsort(part, kind="stable")] = np.concatenate(numbers)
    return packed


def pack_groups(
    table: ClusterTable,
    tree: Tree,
    group: NDArray[np.int32],
    encoded: EncodedTable,
    limits: Limits,
    secret: Secret,
    by_detail: bool,
) -> tuple[list[Any], int]:
    """Return a future of the packed group of each record of each share, and how many there are. ``group`` (m,): of a
    pruned tree; ``encoded``: of the whole table; ``by_detail``: the tree is one of detail. Such a table, and one that
    is packed as one region, is packed on one worker."""
    cluster = table.cluster
    background = background_of(tree, encoded)
    parts, _ = table.parts_of(tree, group)
    sizes, packs = tree.n[group == np.arange(tree.n_nodes)], []
    one = as_one_region(limits, table.n_records)
    for low, high in [(0, len(sizes))] if one or by_detail else table.bins_of_groups(sizes):
        bundles = table.members(parts, low, high)
        how = encoded.encodings, dict(limits.items()), secret, background
        by_person = table.numbering is not None
        packs.append(cluster.ask("pack", pack, table.coding, *how, bundles, by_person, one, by_detail))
    counts = cluster.answers([cluster.ask("packs", count_of, some) for some in packs])
    firsts = [int(first) for first in np.cumsum([0, *counts])]
    futures = []
    for share, part in zip(table.shares, parts, strict=True):
        own = [cluster.ask("own", of_share, some, share.number) for some in packs]
        futures.append(cluster.ask("packed", number, part, firsts[:-1], own, share=share.number))
    return futures, firsts[-1]


def secret_of_shares(table: ClusterTable, rng: np.random.Generator | None, key: bytes | None = None) -> Secret:
    """Return the secret that ``rng`` draws, by default of a ``key`` of packing, the user's where none is given."""
    return Secret.of(table.here.encodings, rng or draws(seed_of_shares(table, key), GROUPS))


def seed_of_shares(table: ClusterTable, key: bytes | None = None) -> bytes:
    """Return what :func:`anonymizer.groups.secret.seed_of` does of the whole table; the key stays here."""
    key = key or read_key()
    contents = table.cluster.answers(table.ask("content", content, digests_of(table.here.encodings, key)))
    records, totals = zip(*contents, strict=True)
    return seed_of_content(Content(sum(records), sum(totals) % 2**64), key)


def background_of(tree: Tree, encoded: EncodedTable) -> Background:
    """Return what limits hold groups against, from the sums of all records."""
    targets = encoded.target, *encoded.others
    counts, of_persons = (
        [sums[0] for target, sums in zip(targets, (some.sums, *some.others), strict=True) if target.name]
        for some in (tree, tree.persons)
    )
    present = tuple(np.flatnonzero(count) for count in counts)
    shares = [count[some] / max(1, count.sum()) for count, some in zip(of_persons, present, strict=True)]
    return Background(present, np.concatenate([np.zeros(0), *shares]), variance_of(tree.moments[:1]))
