"""What leaves: the groups of look-alike rows of a release, below the map of people, each group of the tree's own.

Their colours say what an attacker would still learn from the released file. Inside a group of the tree the surest
come first; those that would be too narrow to be seen are drawn together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.drawing.shades import class_ranks, risk_levels
from anonymizer.drawing.words import chance_text, class_name
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.target import NumericTarget
from anonymizer.values import number_text, plural

if TYPE_CHECKING:
    from anonymizer.groups.prune import Pruning

NARROW = 1 / 400
"""Part of the width below which groups of the same shade are drawn as one stripe."""
NARROWEST = 1 / 1200
"""Part of the width below which stripes of different shades are drawn as one, in the shade of the widest."""
NO_SHADE = -1
"""The shade of stripes where nothing is known that the colours could say."""
RANGES = 10
"""Shades from here on are steps of the narrowest range of a group's numbers, from 1."""
MOST_VALUES = 0.8
"""Part of a group's values that the narrowest range holds."""
PARTS = {"3/4": 3 / 4, "1/2": 1 / 2, "1/3": 1 / 3, "1/6": 1 / 6}
"""Where these steps end, as parts of the whole table's own such range, in which the first one ends."""


@dataclass(frozen=True)
class Stripe:
    """One or more groups that leave: where they stand (shares of the width), the tree's group that they are of, their
    ``shade``, how many they are, and the fewest and most records of one; ``words`` of a single one: what is learnt."""

    left: float
    width: float
    node: int
    shade: int
    groups: int
    least: int
    most: int
    words: str = ""


@dataclass(frozen=True)
class Leaving:
    """The groups that leave: ``stripes`` from left to right; ``groups``, all of them; how many of them hold no class
    of the target likelier than 1 in 2, ``up_to_even``, and how many hold one class alone, ``certain``. ``records``: how
    many there are of each shade; ``ranges``: what the steps of ranges say, in the column's unit, widest first; () where
    colours are no ranges; ``number``: the column that they are of, the first numeric sensitive one. ``at``: the stripe
    of a group of look-alikes, by the tree's group that it is of and its own number. ``missing``: how many numbers of
    the ranges are missing, and stand at the mean."""

    stripes: tuple[Stripe, ...]
    groups: int
    up_to_even: int
    certain: int
    records: Mapping[int, int] = field(default_factory=dict)
    ranges: tuple[str, ...] = ()
    number: str = ""
    at: Mapping[tuple[int, int], int] = field(default_factory=dict)
    missing: int = 0

    @property
    def narrow(self) -> tuple[int, str]:
        """How many records are in groups whose numbers have a range of at most a third of the whole table's, and that
        third in the column's unit. For colours that are ranges."""
        return sum(self.records.get(RANGES + step, 0) for step in (5, 6)), self.ranges[3].removeprefix("down to ")

    def payload(self) -> list[list[Any]]:
        """Return the stripes as plain lists, for a browser."""
        return [
            [round(stripe.left, 5), round(stripe.width, 5), stripe.node, stripe.shade, stripe_text(stripe)]
            for stripe in self.stripes
        ]


def leaving(
    pruning: "Pruning",
    encoded: EncodedTable,
    leaf: NDArray[np.integer],
    class_of: NDArray[np.integer],
    *,
    colour_by: str = "sure",
    focus: int = 0,
) -> Leaving:
    """Return the groups that leave, as far as they hold records below the node ``focus``.

    ``leaf`` (n,): the leaf of each record; ``class_of`` (n,): which released rows look alike, as numbers from 0.
    ``colour_by``: ``sure`` and ``n`` have the levels of :func:`anonymizer.drawing.shades.risk_levels`, ``classes`` the
    rank of the largest class, ``digression`` the narrowest range of the numeric target; others have no shade.
    """
    tree, target = pruning.tree, encoded.target
    inside = (leaf >= focus) & (leaf < focus + tree.size[focus])
    group = pruning.group_of_node()[leaf]
    sizes, largest, most = _classes(class_of, np.asarray(target.codes, np.int64), target.n_classes)
    share = most / np.maximum(sizes, 1)
    shade = _shades(pruning, encoded, class_of, colour_by, sizes, largest, share)
    n_classes = len(sizes)
    pairs, counts = np.unique(group[inside].astype(np.int64) * n_classes + class_of[inside], return_counts=True)
    node, which = np.divmod(pairs, n_classes)
    whole = max(int(tree.n[focus]), 1)
    start = (np.concatenate(([0], np.cumsum(np.where(tree.is_leaf, tree.n, 0)))) / whole)[:-1]
    start = start - start[focus]
    columns, places = _stripes(node, shade[which], counts / whole, sizes[which], which, start)
    stripes = [
        Stripe(
            left, width, one, look, groups, least, most_records,
            _words(encoded, int(most[own]), least, int(largest[own])) if groups == 1 else "",
        )
        for one, look, width, left, groups, least, most_records, own in columns
    ]  # fmt: skip
    visible, joined = _visible(stripes)
    has_classes, numeric = target.n_classes > 1, encoded.numeric if colour_by == "digression" else None
    present = np.unique(which)
    return Leaving(
        tuple(visible),
        len(present),
        int((share[present] <= 0.5).sum()) if has_classes else 0,
        int((share[present] >= 1).sum()) if has_classes else 0,
        {int(look): int(counts[shade[which] == look].sum()) for look in np.unique(shade[which])},
        () if numeric is None else _range_texts(numeric),
        "" if numeric is None else numeric.titles[0],
        dict(zip(zip(node.tolist(), which.tolist(), strict=True), joined[places].tolist(), strict=True)),
        0 if numeric is None else int(numeric.missing[0]),
    )


def stripe_text(stripe: Stripe) -> str:
    """Return a stripe in words: its records and what is learnt, or how many groups it stands for."""
    if stripe.groups == 1:
        return f"{plural(stripe.least, 'row')} that look alike" + (f": {stripe.words}" if stripe.words else "")
    span = f"{stripe.least:,}" if stripe.least == stripe.most else f"{stripe.least:,} to {stripe.most:,}"
    return f"{plural(stripe.groups, 'group')} of {span} rows that look alike"


def _classes(
    class_of: NDArray[np.integer], codes: NDArray[np.int64], n_codes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each group of look-alikes its records, the most frequent class of the target, and records of that."""
    sizes = np.bincount(class_of)
    keys, counts = np.unique(class_of.astype(np.int64) * n_codes + codes, return_counts=True)
    group, code = np.divmod(keys, n_codes)
    order = np.lexsort((code, -counts, group))
    first = order[np.searchsorted(group[order], np.arange(len(sizes)))]
    return sizes, code[first], counts[first]


def _shades(
    pruning: "Pruning",
    encoded: EncodedTable,
    class_of: NDArray[np.integer],
    colour_by: str,
    sizes: NDArray[np.int64],
    largest: NDArray[np.int64],
    share: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the shade of each group of look-alikes."""
    if colour_by == "sure" and encoded.target.n_classes > 1:
        return risk_levels(share, "sure")
    if colour_by == "digression" and encoded.numeric is not None:
        values = encoded.numeric.values[:, 0]
        own, whole = narrowest_ranges(values, class_of), narrowest_ranges(values, np.zeros_like(class_of))[0]
        narrow = np.array([own <= part * whole for part in (1.0, *PARTS.values())])
        return np.asarray(RANGES + 1 + narrow.sum(axis=0), np.int64)
    if colour_by == "n":
        persons = sizes
        if encoded.person is not None:
            of = np.unique(class_of.astype(np.int64) * encoded.n_persons + encoded.person)
            persons = np.bincount(of // encoded.n_persons, minlength=len(sizes))
        return risk_levels(-persons.astype(np.float64), "n", pruning.k)
    if colour_by == "classes":
        ranks = class_ranks(pruning.tree)
        return np.array([ranks[int(code)] for code in largest], dtype=np.int64)
    return np.full(len(sizes), NO_SHADE, dtype=np.int64)


def narrowest_ranges(values: NDArray[np.float64], class_of: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the width of the narrowest range that holds 8 in 10 of the values (n,) of each group, by its number."""
    order = np.lexsort((values, class_of))
    ranked, group, sizes = values[order], class_of[order], np.bincount(class_of)
    ends = np.cumsum(sizes)
    last = np.arange(len(ranked)) + np.ceil(MOST_VALUES * sizes - 1e-9).astype(np.int64)[group] - 1
    widths = np.where(last < ends[group], ranked[np.minimum(last, len(ranked) - 1)] - ranked, np.inf)
    return np.asarray(np.minimum.reduceat(widths, ends - sizes))


def _range_texts(numeric: NumericTarget) -> tuple[str, ...]:
    """Return what the steps of ranges say, in the unit of the numeric target; days for dates."""
    whole = narrowest_ranges(numeric.values[:, 0], np.zeros(len(numeric.values), np.int64))[0] * numeric.width[0]
    is_date = numeric.names[0] in numeric.dates
    ends = [number_text(part * whole / (86_400e6 if is_date else 1), 2) for part in (1.0, *PARTS.values())]
    unit = " days" if is_date else ""
    return (f"wider than {ends[0]}{unit}", *(f"down to {end}{unit}" for end in ends[1:]), f"{ends[-1]}{unit} or less")


def _words(encoded: EncodedTable, most: int, size: int, code: int) -> str:
    """Return what is learnt from one group of look-alikes; "" where the target has no classes."""
    if encoded.target.n_classes < 2:
        return ""
    return f"{chance_text(most / max(size, 1))} {class_name(encoded.target.texts[code], 24)}"


def _stripes(
    node: NDArray[np.int64],
    shade: NDArray[np.int64],
    width: NDArray[np.float64],
    size: NDArray[np.int64],
    which: NDArray[np.int64],
    start: NDArray[np.float64],
) -> tuple[list[tuple[int, int, float, float, int, int, int, int]], NDArray[np.int64]]:
    """Return node, shade, width, left end, groups, least and most records, and one of the groups, of each stripe; and
    (q,) the stripe of each entry.

    The first five arguments are (q,), one entry for a group of look-alikes in a group of the tree; what is narrow is
    one stripe for each node and shade. ``start`` (m,): where each node begins.
    """
    number = np.arange(len(node)) + 1
    number[width < NARROW] = -(node * 32 + shade + 2)[width < NARROW]
    _, first, of = np.unique(number, return_index=True, return_inverse=True)
    whole = np.bincount(of, width)
    least, most = np.full(len(first), np.iinfo(np.int64).max), np.zeros(len(first), np.int64)
    np.minimum.at(least, of, size)
    np.maximum.at(most, of, size)
    order = np.lexsort((-whole, np.bincount(of) > 1, -shade[first], node[first]))
    one, wide = node[first][order], whole[order]
    before = np.concatenate(([0.0], np.cumsum(wide)))[:-1]
    opening = np.searchsorted(one, one)
    columns = (
        one, shade[first][order], wide, start[one] + before - before[opening], np.bincount(of)[order], least[order],
        most[order], which[first][order],
    )  # fmt: skip
    return list(zip(*(column.tolist() for column in columns), strict=True)), np.argsort(order)[of]


def _visible(stripes: list[Stripe]) -> tuple[list[Stripe], NDArray[np.int64]]:
    """Return the stripes with those that are too narrow to be seen drawn as one with what stands beside them, and the
    place among these of each."""
    rows: list[Stripe] = []
    places = []
    for stripe in stripes:
        last = rows[-1] if rows else None
        if last is not None and last.width < NARROWEST:
            wide = last if last.width >= stripe.width else stripe
            rows[-1] = Stripe(
                last.left, stripe.left + stripe.width - last.left, wide.node, wide.shade, last.groups + stripe.groups,
                min(last.least, stripe.least), max(last.most, stripe.most),
            )  # fmt: skip
        else:
            rows.append(stripe)
        places.append(len(rows) - 1)
    return rows, np.array(places, np.int64)
