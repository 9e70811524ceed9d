"""Packed groups of a grouping: with k alone those of one packing, under limits the best of several.

Limits ask the opposite of regions that are pure in the target. So under limits that classes tell (:data:`LADDERS`) the
whole table is one region, and its groups are made in several ways: by dividing the line where both sides keep the
limits, and by packing to k and merging what lacks something (:mod:`anonymizer.releasing.merge`). In tables of at most
:data:`MANY` records they are also made for every stricter rung of a ladder, and those that lose least of all are taken:
so from rung to rung a looser limit never loses more. Loss decides, which never looks at the target. Still, which groups
lack something depends on sensitive values, and so does which way wins.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError
from anonymizer.groups.detail import MOST
from anonymizer.groups.hulls import Scale, scale_of
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.threads import in_threads
from anonymizer.releasing.merge import RULES, gathered, losses_of, merge
from anonymizer.releasing.pack import (
    SUMMED,
    Background,
    Line,
    Places,
    line_of,
    line_of_persons,
    made_of,
    pack_line,
    summable,
    wants_of,
)
from anonymizer.releasing.tiers import Groups, Parts, disjoint, refine_groups
from anonymizer.settings import Limits

if TYPE_CHECKING:
    from anonymizer.releasing.limit_kernels import Wants

COUNTS = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50)
LADDERS = {"l": COUNTS, "entropy_l": COUNTS, "t": (0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05)}
"""The rungs of each limit that classes tell, from loose to strict."""
MANY = 20_000
"""Of more records, groups are made for the limits alone, and not for stricter rungs."""
POLISHED = 1_000
"""The same of groups that are improved, which takes long."""
FEW = 4_096
"""A whole table of so many records is divided along its line even where most groups of k lack something, and merged by
the last rule, too, which wins where few groups are left."""

Improve = Callable[[Line, Places, int, "Wants | None"], Places]
"""What is done with the groups of each place of a line (n,), such as polishing."""


def pack(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """Return packed groups inside the groups of any grouping; under limits on l, entropy l or t of the whole table,
    unless it has more than a million rows. A group that k and the limits do not allow to divide stays whole. ``rng``:
    the secret. Limits that cannot be summed along a line, the covariance test of groups, those on people and limits
    from outside, are kept by cuts instead (:func:`anonymizer.releasing.tiers.refine_groups`)."""
    return packed_parts(groups, k, rng, "pack")


def packed_parts(
    groups: Groups, k: int, rng: np.random.Generator, method: str, improve: Improve | None = None
) -> Parts:
    """Return the groups of a generalizer that packs, and then may improve what it has packed."""
    limits = groups.limits or Limits(k=k)
    if not summable(limits):
        return replace(refine_groups(groups, k, rng), made=made_of(method, limits))
    limits = limits.but(k=max(k, limits.k))
    one = as_one_region(limits, groups.encoded.n_records)
    line = line_of(groups, rng, np.zeros_like(groups.group) if one else groups.group)
    return parts_of(along(line, groups.encoded, limits, one, improve))


def pack_persons(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """Return packed groups in which all rows of a person are together, of the whole table: no region of a tree holds
    persons together. ``rng``: the secret. Persons stand on the line by one of their rows; what a group loses is what
    all rows in it lose. Limits that cannot be summed along a line raise :class:`ParameterError`."""
    limits = groups.limits or Limits(k=k)
    if not summable(limits):
        raise ParameterError(
            "Groups that keep the rows of a person together keep neither the covariance test nor limits on people.",
            remedy="Leave these out, or choose pack.",
        )
    limits, encoded = limits.but(k=max(k, limits.k)), groups.encoded
    line = groups.memory.get("persons") or groups.memory.setdefault("persons", line_of_persons(encoded, rng))
    line = replace(line, scale=scale_of(encoded.encodings, line.scale.weight))
    return parts_of(along(line, encoded, limits, one=True))


def parts_of(group: Places) -> Parts:
    """Return groups (n,) as parts."""
    return disjoint(group, int(group.max()) + 1)


def as_one_region(limits: Limits, n: int) -> bool:
    """Return True when the n records of a table are packed as one region, whatever its tree: under limits that classes
    tell, unless they are very many."""
    return n <= MOST and any(limits[name] is not None for name in LADDERS)


def along(
    line: Line, encoded: EncodedTable, limits: Limits, one: bool, improve: Improve | None = None,
    background: Background | None = None,
) -> NDArray[np.int64]:  # fmt: skip
    """Return the group of each record (n,) along a line: of all that are made for the limits, and for stricter rungs
    that the table keeps, those that lose least. That is weighed without the secret, so that the release loses least.

    ``one``: the line is one region, which may be packed for stricter rungs, too; ``background``: of the whole table,
    where ``encoded`` is a part of it. A region that limits do not allow to divide is one group.
    """
    k, scale = limits.k, scale_of(encoded.encodings)
    least, alone = np.inf, pack_line(line, k)[line.order]
    group = np.empty_like(alone)
    if all(limits[name] is None for name in SUMMED):
        wants = None if improve is None else wants_of(line, encoded, limits, background)
        group[line.order] = alone if improve is None else improve(line, alone, k, wants)
        return group
    climbs = one and encoded.n_records <= (MANY if improve is None else POLISHED)
    for rung in rungs_of(limits) if climbs else [limits]:
        wants = wants_of(line, encoded, rung, background)
        if rung is not limits and not keeps(line, np.zeros_like(alone), k, wants).all():
            break
        own = alone if keeps(line, alone, k, wants).all() else of_least_loss(line, alone, k, wants, scale, one)
        if improve is not None:
            own = improve(line, own, k, wants)
        loss = losses_of(replace(line, scale=scale), own).sum()
        if loss < least:
            least, group[line.order] = loss, own
    return group


def rungs_of(limits: Limits) -> list[Limits]:
    """Return limits, and all that are stricter by one, two and more rungs of each ladder."""
    stricter = {}
    for name, ladder in LADDERS.items():
        value = limits[name]
        if value is not None:
            stricter[name] = [rung for rung in ladder if (rung < value if name == "t" else rung > value)]
    return [limits] + [
        limits.but(**{name: rungs[min(step, len(rungs) - 1)] for name, rungs in stricter.items() if rungs})
        for step in range(max(map(len, stricter.values()), default=0))
    ]


def keeps(line: Line, group: Places, k: int, wants: "Wants | None") -> NDArray[np.bool_]:
    """Return whether each group along a line has k records and all that is wanted (g,). ``group`` (n,): of places."""
    from anonymizer.releasing import merge_kernels

    if wants is None:
        return np.ones(1, np.bool_)
    return np.asarray(merge_kernels.lacks(gathered(line, group, wants), k, wants) == 0)


def of_least_loss(
    line: Line, alone: Places, k: int, wants: "Wants | None", scale: Scale, one: bool
) -> NDArray[np.int64]:
    """Return the group of each place of a line (n,): of each region those that lose least on a scale, of its groups
    of k, ``alone`` (n,), merged by each rule, and the line divided under limits, where that is promising."""
    assert wants is not None
    lacking = ~keeps(line, alone, k, wants)
    ways = [(alone, rule) for rule in range(RULES - (len(alone) > FEW))]
    if not one or 2 * lacking.sum() <= len(lacking) or len(alone) <= FEW:
        ways.append((pack_line(line, k, wants)[line.order], 1))

    def merged(way: tuple[Places, int]) -> tuple[Places, NDArray[np.float64]]:
        """Return groups in which nothing is lacking, and what each region loses in them (regions,)."""
        group = merge(line, way[0], k, wants, way[1])
        return group, losses_of(replace(line, scale=scale), group)

    groups, losses = zip(*in_threads(merged, ways, len(alone)), strict=True)
    best = np.repeat(np.argmin(losses, axis=0), line.ends - line.starts)
    group = np.choose(best, groups) + len(alone) * np.repeat(np.arange(len(line.ends)), line.ends - line.starts)
    return np.asarray(np.unique(group, return_inverse=True)[1])
