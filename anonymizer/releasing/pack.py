"""Packed groups: neighbours along a line, put together so that their boxes lose least (the best known loss at equal k).

Inside each group of a grouping, its region, the records are cut again and again where the hulls of the two sides lose
least, until only equal records are left together. These leaves, side by side, are a line on which neighbours are
alike. Along it the best division into groups of at least k is found exactly (Hansen and Mukherjee 2003). A packed group
is a union of adjacent leaves of one region.

Somebody who knows the method and everybody's record but one could run it again and see which value of that record
makes this release. So packing has a secret: the order of the records before they are cut, which decides what large
regions are cut by and which side of a cut comes first on the line; and weights of the columns, log-normal with a
standard deviation of :data:`anonymizer.groups.secret.SPREAD` around their importance. It follows from a key and the
table's content (:mod:`anonymizer.groups.secret`), so who has the key makes the same groups again, at every k, and
nobody else does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.detail import SAMPLE, Order
from anonymizer.groups.hulls import Scale, scale_of
from anonymizer.groups.refine import EVERYBODY
from anonymizer.groups.secret import Secret, mixed
from anonymizer.growing.encode import EncodedTable, rows_of
from anonymizer.growing.target import moments_of_all, scatter
from anonymizer.growing.threads import in_threads
from anonymizer.releasing.tiers import Groups, Made
from anonymizer.settings import HOW_TESTED, SETTINGS, Limits, name_of

if TYPE_CHECKING:
    from anonymizer.releasing.limit_kernels import Wants

Places = NDArray[np.int64]

ALONG = "line"
"""Where the memory of a tree of detail has its line."""
SUMMED = ("share_max", "l", "entropy_l", "t", "rsd_min", "spread_min")
"""Limits that sums along a line tell."""
MEMORY = 4
"""Records of remembered regions, for each record of the table; each takes eight bytes."""
PIECES = 16
"""A large table is cut into about so many pieces first, which then are cut side by side."""


@dataclass(frozen=True, eq=False)
class Line:
    """n records in an order in which neighbours are alike, region after region. It does not depend on k.

    ``order`` (n,): the record at each place; ``codes`` (p, n): its codes; ``who`` (n,): whose it is, empty when every
    record is a person; ``starts``, ``ends`` (g,): places of each
    region; ``leaf_start`` (n,): where the leaf of each place begins. ``scale``: of the losses, with secret weights.
    """

    order: NDArray[np.int64]
    codes: NDArray[np.uint16]
    who: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    leaf_start: NDArray[np.int64]
    scale: Scale


class Lines:
    """The lines of one table under one secret: a region that is asked for again is not laid again.

    Moving k changes few of the regions of a tree, so only these are cut anew; those of before are remembered, as k
    moves to and fro.
    """

    def __init__(self, encoded: EncodedTable, secret: Secret) -> None:
        self.encoded = encoded
        self.scale = secret.scale(encoded.encodings)
        numbers = secret.numbers(encoded.codes.columns, encoded.n_records)
        self.order = np.argsort(numbers, kind="stable")
        self._laid: dict[int, tuple[NDArray[np.int32], ...]] = {}
        self._lock = Lock()

    def line(self, region: NDArray[Any]) -> Line:
        """Return the line of all regions. ``region`` (n,): a number for each record, 0 or more; a number always means
        the same records."""
        numbers = [int(number) for number in np.unique(region)]
        with self._lock:
            new = [number for number in numbers if number not in self._laid]
            if new:
                line = lay_line(self.encoded, region, self.order[np.isin(region[self.order], new)], self.scale)
                for number, start, end in zip(new, line.starts, line.ends, strict=True):
                    of_region = line.order[start:end], line.leaf_start[start:end] - start
                    self._laid[number] = tuple(array.astype(np.int32) for array in of_region)
            laid = [self._laid.pop(number) for number in numbers]
            self._laid.update(zip(numbers, laid, strict=True))  # last, as those that were asked for last
            self._forget()
        order = np.concatenate([order for order, _ in laid]).astype(np.int64)
        ends = np.cumsum([len(order) for order, _ in laid])
        starts = np.concatenate([[0], ends[:-1]])
        leaf_start = np.concatenate([start + leaf for start, (_, leaf) in zip(starts, laid, strict=True)])
        return line_at(self.encoded, order, starts, ends, leaf_start, self.scale)

    def _forget(self) -> None:
        """Drop the regions that were asked for the longest time ago, until few enough records are left."""
        records = sum(len(order) for order, _ in self._laid.values())
        for number in list(self._laid):
            if records <= MEMORY * len(self.order):
                return
            records -= len(self._laid.pop(number)[0])


def line_at(
    encoded: EncodedTable, order: Places, starts: Places, ends: Places, leaf_start: Places, scale: Scale
) -> Line:
    """Return the line of records that stand in ``order``, with their codes."""
    codes = encoded.codes.by_column(order)
    who = np.array(EVERYBODY if encoded.person is None else encoded.person[order])
    for array in (order, codes, who, leaf_start):
        array.flags.writeable = False
    return Line(order, codes, who, starts, ends, leaf_start, scale)


def lay_line(
    encoded: EncodedTable, region: NDArray[Any], order: NDArray[np.int64], scale: Scale, sample: int = SAMPLE
) -> Line:
    """Return the line of records that stand in ``order`` (n,) before they are cut. See :class:`Lines`."""
    from anonymizer.releasing import pack_kernels

    n = len(order)
    order = order[np.argsort(region[order], kind="stable")]
    starts, ends = runs(region[order])
    codes = encoded.codes.by_column(order)
    leaf_start = np.empty(n, np.int64)
    pieces = starts, ends
    for whole in (max(2 * sample, n // PIECES), 1):

        def cut(firsts: Places, lasts: Places, whole: int = whole) -> None:
            pack_kernels.lay(codes, order, firsts, lasts, whole, sample, scale, leaf_start)

        side_by_side(cut, *pieces)
        pieces = runs(leaf_start)
    return line_at(encoded, order, starts, ends, leaf_start, scale)


def pack_line(line: Line, k: int, wants: "Wants | None" = None) -> Places:
    """Return the group of each record (n,), numbered along the line: at least k persons each, and the least loss.

    ``wants``: what groups must have besides; a region that cannot be divided so is one group.
    """
    from anonymizer.releasing import pack_kernels
    from anonymizer.releasing.limit_kernels import NOTHING

    n = len(line.order)
    lost, group_start, marks = np.empty(n), np.empty(n, np.int64), np.zeros(n, np.int64)
    needs = wants or NOTHING

    def divide(firsts: Places, lasts: Places) -> None:
        pack_kernels.pack(
            line.codes, line.who, firsts, lasts, line.leaf_start, line.scale, k, needs, wants is not None, lost,
            group_start,
        )  # fmt: skip

    side_by_side(divide, line.starts, line.ends)
    pack_kernels.mark_groups(line.starts, line.ends, group_start, marks)
    group = np.empty(n, np.int64)
    group[line.order] = np.cumsum(marks) - 1
    return group


def made_of(generalizer: str, limits: Limits) -> Made:
    """Return what runs where a generalizer is asked for: refined groups in the place of packed and polished ones, where
    limits cannot be summed along a line."""
    if generalizer not in ("pack", "polish") or summable(limits):
        return Made(generalizer)
    titles = ", ".join(SETTINGS[name].title if name in SETTINGS else name for name in unsummed(limits))
    made = name_of("generalizer", "refine")
    return Made("refine", f"{made} were made, because packing cannot sum up along its line what was asked: {titles}.")


def line_of_persons(encoded: EncodedTable, rng: np.random.Generator) -> Line:
    """Return one line of the whole table, on which the rows of a person are in one leaf, and persons who have the same
    rows, too; nobody's rows are a person's each."""
    n, secret = encoded.n_records, Secret.of(encoded.encodings, rng)
    numbers = secret.numbers(encoded.codes.columns, n)
    unit = np.arange(n) if encoded.person is None else encoded.person.astype(np.int64)
    unit = np.where(unit < 0, n + np.arange(n), unit)
    by_number = np.argsort(numbers, kind="stable")
    _, first, of_row = np.unique(unit[by_number], return_index=True, return_inverse=True)
    unit[by_number] = of_row
    rows = np.zeros(len(first), np.uint64)
    np.add.at(rows, unit, mixed(numbers))
    line = Lines(rows_of(encoded, by_number[first]), secret).line(np.zeros(len(first), np.int64))
    place = np.empty(len(first), np.int64)
    place[line.order] = line.leaf_start
    order = np.lexsort((rows[unit], place[unit]))
    person = unit[order]
    starts = np.append(True, (np.diff(place[person]) != 0) | (np.diff(rows[person]) != 0))
    first, last = runs(np.cumsum(starts))
    return line_at(encoded, order, np.array([0]), np.array([n]), np.repeat(first, last - first), line.scale)


def line_of(groups: Groups, rng: np.random.Generator, region: NDArray[Any]) -> Line:
    """Return the line of all records under the secret of their tree, which is drawn when it is first asked for; of a
    tree of detail the one that its cuts have made. Where records were left out, the others stand as they stood with
    them. ``region`` (m,): that of each node of the tree."""
    whole = groups.whole or groups
    lines: Lines | None = whole.memory.get("lines")
    if ALONG in whole.memory:
        line = line_in_order(whole.encoded, region[whole.leaf], whole.memory[ALONG])
    else:
        if lines is None:
            secret = Secret.of(whole.encoded.encodings, rng)
            lines = whole.memory.setdefault("lines", Lines(whole.encoded, secret))
        line = lines.line(region[whole.leaf])
    weight = line.scale.weight
    if groups.rows is not None:
        line = line_of_rows(line, groups.encoded, groups.rows)
    return replace(line, scale=scale_of(groups.encoded.encodings, weight))


def line_in_order(encoded: EncodedTable, region: NDArray[Any], along: Order) -> Line:
    """Return the line of all regions, whose records stand as they do along the line of the whole table. ``region``
    (n,): of each record, a branch of the tree that the line is of."""
    order, leaf_start, weight = along
    place = np.argsort(region[order], kind="stable")
    order, (first, last) = order[place], runs(leaf_start[place])
    return line_at(
        encoded, order, *runs(region[order]), np.repeat(first, last - first), scale_of(encoded.encodings, weight)
    )


def line_of_rows(line: Line, encoded: EncodedTable, rows: Places) -> Line:
    """Return the line of some of its records, in their old order. ``encoded``: these alone; ``rows``: where they are
    among all."""
    number = np.full(len(line.order), -1, np.int64)
    number[rows] = np.arange(len(rows))
    order = number[line.order]
    stays = order >= 0
    region = np.repeat(np.arange(len(line.starts)), line.ends - line.starts)[stays]
    first, last = runs(line.leaf_start[stays])
    return line_at(encoded, order[stays], *runs(region), np.repeat(first, last - first), line.scale)


def summable(limits: Limits) -> bool:
    """Return True when sums along a line tell whether every limit holds; the covariance test of inner nodes is none."""
    return not unsummed(limits)


def unsummed(limits: Limits) -> list[str]:
    """Return the names of the limits that sums along a line do not tell."""
    steers = ("k", *HOW_TESTED, *SUMMED, *(("significance",) if limits.tested == "inner" else ()))
    return [name for name, value in limits.items() if value is not None and name not in steers]


class Background(NamedTuple):
    """What limits hold groups against: of each categorical sensitive column the classes that occur, ``present``, and of
    each of these c classes its share of the whole table, ``shares`` (c,); ``variance`` (r,) of the numbers."""

    present: tuple[NDArray[np.integer[Any]], ...]
    shares: NDArray[np.float64]
    variance: NDArray[np.float64]


def variance_of(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variance (r,) of numbers whose sums are these (1, 1 + r + r(r+1)/2); the order of records never
    shows."""
    return np.asarray(np.diagonal(scatter(moments)[0]) / moments[0, 0])


def wants_of(line: Line, encoded: EncodedTable, limits: Limits, background: Background | None = None) -> "Wants | None":
    """Return what limits ask of the groups along a line besides k records: k persons among it, where records are not
    persons; nothing when they ask nothing. ``background``: of the whole table, where ``encoded`` is a part of it."""
    from anonymizer.releasing.limit_kernels import Wants

    required, person, n = [limits[name] for name in SUMMED], encoded.person, encoded.n_records
    if person is None and all(limit is None for limit in required):
        return None
    columns = [target for target in (encoded.target, *encoded.others) if target.name]
    present = [np.unique(target.codes) for target in columns] if background is None else background.present
    first = np.cumsum([0, *map(len, present)])
    classes = [
        start + np.searchsorted(codes, target.codes)
        for start, codes, target in zip(first, present, columns, strict=False)
    ]
    ids: list[NDArray[np.int32]] = []
    if person is not None:
        classes.append(np.full(n, first[-1]))
        of_values = zip((encoded.target, *encoded.others), encoded.person_values, strict=True)
        ids = numbered([*(pairs for target, pairs in of_values if target.name), person])
    values = np.empty((n, 0)) if encoded.numeric is None else encoded.numeric.values[line.order]
    if background is None:
        shares = shares_of(classes[: len(columns)], ids, int(first[-1]))
        background = Background(tuple(present), shares, variance_of(moments_of_all(values)))
    return Wants(
        classes=in_order(classes, line),
        first=first,
        shares=background.shares,
        tells=np.concatenate(
            [np.zeros(0, np.bool_), *(target.tells[codes] for target, codes in zip(columns, present, strict=False))]
        ),
        ordered=np.array([target.ordered for target in columns], np.bool_),
        numbers=np.concatenate([values, values**2], axis=1),
        variance=background.variance,
        pairs=in_order(ids, line) if ids else np.empty((len(columns), 0), np.int32),
        persons=0 if person is None else limits.k,
        **{name: np.nan if limit is None else float(limit) for name, limit in zip(SUMMED, required, strict=True)},
    )


def in_order(columns: Sequence[NDArray[Any]], line: Line) -> NDArray[np.int32]:
    """Return columns of n numbers as rows (d, n) in the order of the line, one after another in memory as loops are
    compiled for them."""
    return np.array(columns, np.int32).reshape(-1, len(line.order)).take(line.order, axis=1)


def numbered(columns: Sequence[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
    """Return numbers (n,) from 0 on, or -1, that no two columns share."""
    ends = np.cumsum([0, *(int(column.max(initial=-1)) + 1 for column in columns)])
    return [np.where(column < 0, -1, column + start) for start, column in zip(ends, columns, strict=False)]


def shares_of(classes: Sequence[Places], ids: Sequence[NDArray[np.int32]], n_classes: int) -> NDArray[np.float64]:
    """Return each class's share of its column (c,): of records, or, where there are any, of ``ids``, -1 for none."""
    shares = np.zeros(n_classes)
    for position, column in enumerate(classes):
        first = np.unique(ids[position], return_index=True)[1] if ids else np.arange(len(column))
        counts = np.bincount(column[first[ids[position][first] >= 0] if ids else first], minlength=n_classes)
        shares += counts / max(1, counts.sum())
    return shares


def runs(values: NDArray[Any]) -> tuple[Places, Places]:
    """Return where runs of equal values begin and end. ``values`` (n,)."""
    cuts = np.flatnonzero(np.diff(values)) + 1
    return np.concatenate([[0], cuts]), np.append(cuts, len(values))


def side_by_side(work: Callable[[Places, Places], None], starts: Places, ends: Places) -> None:
    """Do the work for about :data:`PIECES` chunks of neighbouring runs, with as many records each, in threads."""
    share = np.ceil(ends * PIECES / ends[-1])
    chunks = np.split(np.arange(len(starts)), np.flatnonzero(np.diff(share)) + 1)
    list(in_threads(lambda chunk: work(starts[chunk], ends[chunk]), chunks, ends[-1]))
