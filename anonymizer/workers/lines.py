"""Packed groups of records on workers: each group of a tree is packed on one worker, which gets its records from the
others, and each share is told in which packed group its own records are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.hulls import scale_of
from anonymizer.growing.encode import CodeColumns, EncodedTable, Encoding
from anonymizer.growing.tree import Tree
from anonymizer.releasing.pack import Background, Secret, lay_line, pack_line, variance_of, wants_of
from anonymizer.settings import Limits
from anonymizer.workers.leaving import bundle_of
from anonymizer.workers.nodes import Bundle
from anonymizer.workers.persons import Numbering, compact
from anonymizer.workers.questions import Share, guarded
from anonymizer.workers.shares import Coding

if TYPE_CHECKING:
    from anonymizer.workers.remote import Elsewhere


class Numbered(NamedTuple):
    """Records of some groups, and the secret number of each (n,)."""

    bundle: Bundle
    numbers: NDArray[np.uint64]


class Packs(NamedTuple):
    """The packed groups of some groups, ``n_groups`` of them; ``group``: of each share, that of each of its records, in
    the order of its bundle."""

    group: tuple[NDArray[np.int32], ...]
    n_groups: int


@guarded
def take(
    share: Share, coding: Coding, part: NDArray[np.int32], low: int, high: int, numbering: Numbering | None,
    secret: Secret, start: int,
) -> Numbered:  # fmt: skip
    """Return the records of a share in the groups from ``low`` to below ``high``. ``start``: of the share's first."""
    bundle, rows = bundle_of(share, coding, part, low, high, numbering)
    return Numbered(bundle, secret.numbers(start, len(part))[rows])


@guarded
def pack(
    coding: Coding,
    encodings: tuple[Encoding, ...],
    required: Mapping[str, Any],
    weight: NDArray[np.float64],
    background: Background,
    of_shares: list[Numbered],
    by_person: bool,
) -> Packs:
    """Return the packed groups of some groups: see :func:`anonymizer.releasing.pack.pack`. ``encodings``: as the ends
    of cells will be written; ``required``: the limits."""
    limits = Limits(**required)
    bundles = [numbered.bundle for numbered in of_shares]
    region = np.concatenate([np.repeat(np.arange(len(bundle.sizes)), bundle.sizes) for bundle in bundles])
    encoded = records_of(coding.table.encoded, encodings, bundles, by_person)
    order = np.argsort(np.concatenate([numbered.numbers for numbered in of_shares]), kind="stable")
    line = lay_line(encoded, region, order, scale_of(encodings, np.array(weight)))
    group = pack_line(line, limits.k, wants_of(line, encoded, limits, background)).astype(np.int32)
    ends = np.cumsum([len(numbered.numbers) for numbered in of_shares])
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
    table: "Elsewhere",
    tree: Tree,
    group: NDArray[np.int32],
    encoded: EncodedTable,
    limits: Limits,
    rng: np.random.Generator,
) -> tuple[list[Any], int]:
    """Return a future of the packed group of each record of each share, and how many there are. ``group`` (m,): of a
    pruned tree; ``encoded``: of the whole table; ``rng``: the secret."""
    cluster, secret = table.cluster, Secret.of(len(encoded.encodings), rng)
    background = background_of(tree, encoded)
    parts, _ = table.parts_of(tree, group)
    starts = np.cumsum([0, *table.here.rows]).tolist()
    packs = []
    for low, high in table.bins_of_groups(tree.n[group == np.arange(tree.n_nodes)]):
        numbered = [
            cluster.ask(
                "numbered", take, share, table.coding, part, low, high, table.numbering, secret, start,
                share=share.number,
            )
            for share, part, start in zip(table.shares, parts, starts, strict=False)
        ]  # fmt: skip
        how = encoded.encodings, dict(limits.items()), secret.weight, background
        by_person = table.numbering is not None
        packs.append(cluster.ask("pack", pack, table.coding, *how, numbered, by_person))
    counts = cluster.answers([cluster.ask("packs", count_of, some) for some in packs])
    firsts = [int(first) for first in np.cumsum([0, *counts])]
    futures = []
    for share, part in zip(table.shares, parts, strict=True):
        own = [cluster.ask("own", of_share, some, share.number) for some in packs]
        futures.append(cluster.ask("packed", number, part, firsts[:-1], own, share=share.number))
    return futures, firsts[-1]


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
