"""Groups that keep earlier releases: whole units of the cells that these leave, so that no cell becomes too small.

A cell is the persons whose classes are the same in all earlier releases (:mod:`anonymizer.checking.together`); who was
in none of them is in one cell more. Three steps. *Snap*: the part of a cell in a region of the new tree stays there
when it has k persons, and goes where most of the cell is otherwise. *Units*: what is both in one cell and in one
region is packed at k; a cell below 2k is one unit. *Groups* are unions of units: the units themselves where they keep
the limits, else runs of them along a line, divided so that their hulls lose least. So every cell of the new release and
the earlier ones is a union of units, each of which has k persons, or is a whole earlier cell.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.checking.together import Classes, cells_of
from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.groups.hulls import Scale, scale_of
from anonymizer.groups.secret import Secret, mixed
from anonymizer.growing.encode import EncodedTable, rows_of
from anonymizer.releasing.pack import (
    SUMMED,
    Line,
    Lines,
    lay_line,
    line_at,
    runs,
    summable,
    unsummed,
)
from anonymizer.releasing.packed import along
from anonymizer.releasing.tiers import Groups, Made, Parts, disjoint
from anonymizer.settings import SETTINGS, Limits
from anonymizer.values import plural

DECIMALS = 9
"""Distances to the middle of a unit that agree in so many are equal."""


Holds = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Whether parts keep all that releases promise besides k (parts,), from the part of each record (n,)."""


def keep(
    groups: Groups, earlier: Sequence[Classes], k: int, rng: np.random.Generator, holds: Holds | None = None
) -> Parts:
    """Return groups of at least k persons that are unions of units of earlier releases. ``earlier``: of each of these
    the class of each record (n,), -1 of those that were left out; ``rng``: the secret, as of
    :func:`anonymizer.releasing.pack.pack`; ``holds``: judges parts of cells, which are not divided where it fails.

    Raises :class:`GuaranteeError` where fewer than k persons are in none of the earlier releases: these have to wait
    (:func:`rows_that_stay`), and :class:`ParameterError` for limits that cannot be summed up along a line.
    """
    limits = groups.limits or Limits(k=k)
    if not summable(limits):
        titles = ", ".join(SETTINGS[name].title if name in SETTINGS else name for name in unsummed(limits))
        raise ParameterError(
            f"Groups that keep earlier releases cannot keep what was asked besides: {titles}.",
            remedy="Leave these limits out, or do not keep earlier releases.",
        )
    limits, encoded = limits.but(k=max(k, limits.k)), groups.encoded
    cell = cells_of(earlier)[0] + 1
    rows_that_stay(earlier, limits.k, encoded.person, 0.0)
    region = snap(cell, groups.group[groups.leaf], limits.k, encoded.person, holds)
    inside = parts_of(cell, region)[1]
    secret = Secret.of(encoded.encodings, rng)
    scale = scale_of(encoded.encodings, secret.weight)
    numbers = secret.numbers(encoded.codes.columns, encoded.n_records)
    order = np.argsort(numbers, kind="stable")
    line = replace(lay_line(encoded, inside, order, secret.scale(encoded.encodings)), scale=scale)
    group = undivided(along(line, encoded, limits, one=False), inside, holds)
    if not enough_in_each(group, encoded.person, limits):
        place = places_on_a_line(encoded, group, numbers, secret, scale)
        line = line_of_units(encoded, group, place, scale)
        group = along(line, encoded, limits, one=True)
    before = "an earlier release" if len(earlier) == 1 else f"{len(earlier):,} earlier releases"
    made = Made(
        "pack", f"Groups of {before} were kept: they were divided where both parts are large enough, or joined."
    )
    return replace(disjoint(group, int(group.max()) + 1), made=made)


def waiting(earlier: Sequence[Classes], k: int, person: Classes | None = None) -> NDArray[np.int64]:
    """Return the records, ascending, of those who are in none of the earlier releases, where they are fewer than k
    persons; none otherwise. In a release with all others they would be told apart by that. ``person`` (n,): whose each
    record is, -1 for nobody's, where records are not persons."""
    new = np.flatnonzero(cells_of(earlier)[0] < 0)
    persons = len(new) if person is None else len(np.unique(person[new][person[new] >= 0]))
    everybody = len(new) == len(earlier[0])
    return new if persons < k and not everybody else new[:0]


def rows_that_stay(earlier: Sequence[Classes], k: int, person: Classes | None, share: float) -> NDArray[np.int64]:
    """Return the records, ascending, that a release which keeps earlier ones can have: all but those :func:`waiting`.
    ``share``: the largest share of records that may be left out. Raises :class:`GuaranteeError` where more wait."""
    n, rows = len(earlier[0]), waiting(earlier, k, person)
    if len(rows) > share * n + 1e-9:
        raise GuaranteeError(
            f"{plural(len(rows), 'row')} of people who are in no earlier release, fewer than {k:,}: being new would "
            "tell them apart.",
            remedy=f"Let them wait for the next release: a suppression of {np.ceil(len(rows) / n * 1000) / 1000:g}.",
        )
    return np.delete(np.arange(n), rows)


def undivided(unit: NDArray[np.int64], part: NDArray[np.int64], holds: Holds | None) -> NDArray[np.int64]:
    """Return the unit of each record (n,), in which a part is one unit where any of its units fails. ``unit`` (n,);
    ``part`` (n,): of a cell, that holds each unit."""
    if holds is None:
        return unit
    fails = np.bincount(part, ~holds(unit)[unit]) > 0
    n_units = int(unit.max()) + 1
    return np.asarray(np.unique(np.where(fails[part], n_units + part, unit), return_inverse=True)[1])


def snap(
    cell: Classes, region: Classes, k: int, person: Classes | None = None, holds: Holds | None = None
) -> NDArray[np.int64]:
    """Return the region of each record (n,) so that of every cell no region has 1 to k - 1 persons, but where the whole
    cell has: the part of a cell in a region stays when it has k persons, and goes to the region that has most of the
    cell otherwise, the lower of equals. ``person`` (n,): whose each record is, -1 for nobody's, where these are not
    persons. A part stays where it ``holds``, too; a cell of which a part then fails is in one region."""
    pairs, part = parts_of(cell, region)
    persons = persons_in(part, person, pairs.shape[1])
    first = np.lexsort((pairs[1], -persons, pairs[0]))
    first = first[np.append(True, np.diff(pairs[0, first]) != 0)]
    most = pairs[1, first][np.searchsorted(pairs[0, first], pairs[0])]
    if holds is None:
        return np.asarray(np.where(persons >= k, pairs[1], most)[part])
    stays = np.where((persons >= k) & holds(part), pairs[1], most)[part]
    after, of_record = parts_of(cell, stays)
    fails = np.isin(cell, after[0, ~holds(of_record)])
    return np.asarray(np.where(fails, most[part], stays))


def parts_of(cell: Classes, region: Classes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cell and the region of each part (2, parts), in this order, and the part of each record (n,)."""
    cell, region = np.asarray(cell, np.int64), np.asarray(region, np.int64)
    least, width = int(region.min(initial=0)), int(region.max(initial=0) - region.min(initial=0)) + 1
    keys, part = np.unique(cell * width + region - least, return_inverse=True)
    return np.stack([keys // width, keys % width + least]), part


def persons_in(part: NDArray[np.int64], person: Classes | None, n_parts: int) -> NDArray[np.int64]:
    """Return how many persons each part has (n_parts,). ``part`` (n,); ``person`` (n,): see :func:`snap`."""
    if person is None:
        return np.bincount(part, minlength=n_parts)
    somebody = np.asarray(person) >= 0
    pairs = parts_of(part[somebody], np.asarray(person)[somebody])[0]
    return np.bincount(pairs[0], minlength=n_parts)


def enough_in_each(unit: NDArray[np.int64], person: Classes | None, limits: Limits) -> bool:
    """Return True when units keep the limits for sure: no limit but k is asked, and each has k persons."""
    alone = all(limits[name] is None for name in SUMMED)
    return alone and bool((persons_in(unit, person, int(unit.max()) + 1) >= limits.k).all())


# Units along a line.


def line_of_units(encoded: EncodedTable, unit: Classes, place: NDArray[np.integer[Any]], scale: Scale) -> Line:
    """Return one line of all records, in which each unit is a leaf, so that groups along it are unions of units.
    ``unit`` (n,); ``place`` (u,): where each unit stands among all, each a place of its own."""
    rank = np.asarray(place, np.int64)[unit]
    order = np.argsort(rank, kind="stable").astype(np.int64)
    first, last = runs(rank[order])
    n = np.array([len(order)])
    return line_at(encoded, order, np.array([0]), n, np.repeat(first, last - first), scale)


def places_on_a_line(
    encoded: EncodedTable, unit: NDArray[np.int64], numbers: NDArray[np.uint64], secret: Secret, scale: Scale
) -> NDArray[np.int64]:
    """Return where each unit stands (u,) when their medoids are laid as records are. ``numbers`` (n,): of the records,
    by which those that are laid first, and equal ones, follow from what they hold."""
    medoid = medoids(encoded, unit, numbers, scale)
    line = Lines(rows_of(encoded, medoid), secret).line(np.zeros(len(medoid), np.int64))
    leaf = np.empty(len(medoid), np.int64)
    leaf[line.order] = line.leaf_start
    content = np.zeros(len(medoid), np.uint64)
    np.add.at(content, unit, mixed(numbers))
    place = np.empty(len(medoid), np.int64)
    place[np.lexsort((content, leaf))] = np.arange(len(medoid))
    return place


def medoids(
    encoded: EncodedTable, unit: NDArray[np.int64], numbers: NDArray[np.uint64], scale: Scale
) -> NDArray[np.int64]:
    """Return the record of each unit (u,) that is nearest to its middle. A value of a range is as far away as it is
    from the mean, as a share of the domain, a level as the share of the unit that has another; a missing one likewise.
    The lower number wins a tie."""
    n, n_units = len(unit), int(unit.max()) + 1
    size, distance = np.bincount(unit, minlength=n_units), np.zeros(n)
    for j, codes in enumerate(encoded.codes.columns):
        code = np.asarray(codes, np.int64)
        other = code.copy() if not scale.interval[j] else (code == scale.missing_code[j]).astype(np.int64)
        pair = unit * (int(other.max(initial=0)) + 1) + other
        distance += scale.weight[j] * (1 - np.bincount(pair)[pair] / size[unit])
        if scale.interval[j]:
            there = code != scale.missing_code[j]
            at = scale.offset[j] + code[there]
            value = (scale.low[at] + scale.high[at]) / 2
            count = np.maximum(1, np.bincount(unit[there], minlength=n_units))
            mean = np.bincount(unit[there], value, n_units) / count
            distance[there] += scale.weight[j] * np.abs(value - mean[unit[there]])
    order = np.lexsort((numbers, distance.round(DECIMALS), unit))
    return np.asarray(order[np.append(True, np.diff(unit[order]) != 0)])
