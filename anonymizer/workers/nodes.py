"""Nodes of a tree in the shares of a table: their records, their histograms, and the branches of small ones."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.refine import EVERYBODY
from anonymizer.growing.records import Growth, Histograms, InMemory, grow_subtree, heights_of
from anonymizer.growing.subtree import Division, Node, Subtree
from anonymizer.partitions.records import _piece
from anonymizer.partitions.values import ROWS
from anonymizer.workers.questions import Share, guarded
from anonymizer.workers.shares import Coding, cache_of, codes_of, coding_of


class Bundle(NamedTuple):
    """The records of some nodes in a share, node after node: packed (p, n), their classes in the other sensitive
    columns, their numbers (n, r), and how many each node has; ``who``: whose each is, where that is asked."""

    packed: NDArray[Any]
    others: tuple[NDArray[Any], ...]
    values: NDArray[np.float64]
    sizes: tuple[int, ...]
    who: NDArray[np.int32] = EVERYBODY


def chunks_of(share: Share, coding: Coding, history: Sequence[Division]) -> list[InMemory]:
    """Return the records of a share, in chunks, sent down these splits in their order; those that they went down
    already are not repeated. To be called while the cache of the share is held, as long as they are looked at."""
    keys = tuple(map(_key, history))
    with cache_of(share) as here:
        if here.chunks is None or here.history[: len(keys)] != keys[: len(here.history)]:
            codes, coding = codes_of(share, coding), coding_of(share, coding)
            n = len(next(iter(codes.values())))
            here.chunks, whole = None, []
            for start in range(0, max(n, 1), ROWS):  # one chunk where there is no record
                records = coding.records(codes, slice(start, start + ROWS))
                chunk = _piece(records, slice(None))
                numeric = None if chunk.by_numbers else records.encoded.numeric
                chunk.encoded = replace(chunk.encoded, others=records.encoded.others, numeric=numeric)
                whole.append(chunk)
            here.chunks, here.history = whole, ()
        chunks, new = here.chunks, [_own(division) for division in history[len(here.history) :]]
        if new:
            here.chunks = None  # as long as some are on their way
            for chunk in chunks:
                chunk.divide(new, [])
            here.chunks, here.history = chunks, keys
        return chunks


def _key(division: Division) -> tuple[Any, ...]:
    """Return what two divisions have in common when they send the same records the same way."""
    split = division.split
    side = split.side.tobytes() if split.code_left < 0 else b""
    return division.node.key, division.left.key, split.feature, split.code_left, side


def _own(division: Division) -> Division:
    """Return a division whose arrays are this process's own, as loops are compiled for."""
    node, split, left, right = division
    left, right = (child._replace(active=np.array(child.active)) for child in (left, right))
    return Division(node, split._replace(side=np.array(split.side)), left, right)


@guarded
def count(share: Share, coding: Coding, history: Sequence[Division], nodes: Sequence[Node]) -> list[Histograms]:
    """Return the histograms of some nodes in a share, after these divisions."""
    with cache_of(share):
        sums: list[Histograms] | None = None
        for chunk in chunks_of(share, coding, history):
            parts = chunk.divide([], nodes)
            if sums is None:
                sums = parts
                continue
            for whole, part in zip(sums, parts, strict=True):
                for histogram, cells in zip(whole, part, strict=True):
                    if histogram is not None:
                        histogram += cells
        assert sums is not None
        return sums


@guarded
def take(share: Share, coding: Coding, history: Sequence[Division], keys: Sequence[int]) -> Bundle:
    """Return the records of some nodes in a share, after these divisions."""
    with cache_of(share):
        chunks = chunks_of(share, coding, history)
        runs = [(chunk, *chunk.runs[key]) for key in keys for chunk in chunks]
        packed = np.concatenate([chunk.packed[:, a:b] for chunk, a, b in runs], axis=1)
        others = tuple(
            np.concatenate([chunk.encoded.others[place].codes[chunk.order[a:b]] for chunk, a, b in runs])
            for place in range(len(coding.table.encoded.others))
        )
        values = np.concatenate([_numbers(*run) for run in runs])
        sizes = tuple(sum(chunk.runs[key][1] - chunk.runs[key][0] for chunk in chunks) for key in keys)
        return Bundle(packed, others, values, sizes)


def _numbers(chunk: InMemory, start: int, end: int) -> NDArray[np.float64]:
    """Return the numbers of some records of a chunk, (n, r)."""
    if chunk.by_numbers or chunk.encoded.numeric is None:
        return chunk.responses[start:end]
    return chunk.encoded.numeric.values[chunk.order[start:end]]


@guarded
def finish(coding: Coding, nodes: Sequence[Node], growth: Growth, takes: list[Bundle]) -> list[Subtree]:
    """Return some nodes, whose records these are, grown to their end."""
    ends = [np.cumsum([0, *bundle.sizes]) for bundle in takes]
    growth = growth._replace(table=np.array(growth.table))
    grown = []
    for place, node in enumerate(nodes):
        slices = [slice(end[place], end[place + 1]) for end in ends]
        packed = np.concatenate([bundle.packed[:, rows] for bundle, rows in zip(takes, slices, strict=True)], axis=1)
        others = [
            np.concatenate([bundle.others[at][rows] for bundle, rows in zip(takes, slices, strict=True)])
            for at in range(len(coding.table.encoded.others))
        ]
        values = np.concatenate([bundle.values[rows] for bundle, rows in zip(takes, slices, strict=True)])
        grown.append(grow_node(coding, node, growth, packed, others, values))
    return grown


def grow_node(
    coding: Coding,
    node: Node,
    growth: Growth,
    packed: NDArray[Any],
    others: Sequence[NDArray[Any]],
    values: NDArray[np.float64],
) -> Subtree:
    """Return one node grown to its end. Of its n records: ``packed`` (p, n), their classes in the ``others``, and their
    numbers, ``values`` (n, r)."""
    from anonymizer import kernels

    whole = coding.table.encoded
    encoded = replace(
        whole,
        target=replace(whole.target, codes=np.zeros(node.n if whole.by_numbers else 0, np.uint8)),
        others=tuple(replace(target, codes=codes) for target, codes in zip(whole.others, others, strict=True)),
        numeric=None if whole.numeric is None else replace(whole.numeric, values=values),
    )
    n_codes = np.array([encoding.n_codes for encoding in coding.encodings], dtype=np.int64)
    by_order = np.array([encoding.by_order for encoding in coding.encodings], dtype=np.bool_)
    order, orders = np.arange(node.n, dtype=np.uint32), (n_codes, by_order, heights_of(coding.encodings))
    responses = values.copy() if whole.by_numbers else np.empty((node.n, 0))  # they move with the records
    columns = kernels.Columns(packed, order, responses, *orders, whole.target.n_classes)
    return grow_subtree(columns, 0, node.n, node, growth, encoded, coding.table.n_records)
