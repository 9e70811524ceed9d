"""Rerunning the method: what somebody who knows everybody else learns of one record by making the release again.

The attacker knows the settings, every other record, and the sensitive and insensitive values of the one that is missing
(they follow from the release by difference). Its quasi-identifying values are tried: each content that its published
box admits is put into the table and the method is run again. A content that does not bring the published release back
was not there. When no content but one brings it back, the record is *certain*.

Where a method draws a secret, one run says little: each content is run under several secrets of the attacker's own. The
attacker then looks for the whole release, or only for the group of the record; whichever is more often certain counts.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.attacks.outcome import Rate
from anonymizer.errors import Progress
from anonymizer.groups.detail import DETAIL
from anonymizer.groups.prune import Pruning
from anonymizer.groups.recipe import Grown, Recipe, group, grow_by
from anonymizer.groups.risk import annotate
from anonymizer.groups.secret import Secret
from anonymizer.growing.encode import CodeColumns, EncodedTable
from anonymizer.releasing.generalize import divide, memory_of
from anonymizer.releasing.grid import grids_of
from anonymizer.releasing.tiers import Parts
from anonymizer.schema import Schema
from anonymizer.settings import Limits, Settings

Codes = NDArray[np.unsignedinteger]
Rows = NDArray[np.int64]
Grid = Sequence[Rows]
"""Of each column the public cell of each code, ascending: ends of intervals are written as these."""
Group = tuple[bytes, bytes]
"""A group as it is published: its box, and the other values of its rows."""

CONTENTS = 40
"""Most contents that are tried of one record."""
SECRETS = 10
"""Secrets that each content is run under."""
ALIKE = 4
"""When so many runs are alike, the method is taken to draw nothing."""


@dataclass(frozen=True, eq=False)
class Run:
    """How a release was made, for whoever makes it again: the table, its settings, and what followed from them, as a
    :class:`anonymizer.flow.Flow` calls it."""

    table: pd.DataFrame
    schema: Schema
    settings: Settings
    recipe: Recipe
    secret: Secret
    grouping: str
    limits: Limits
    encoded: EncodedTable
    reached: EncodedTable
    coarse: EncodedTable
    leaf: NDArray[np.int32]
    pruning: Pruning
    parts: Parts
    sequence_asked: Rows | None


@dataclass(frozen=True)
class Rerun:
    """What rerunning achieved. ``certain``: records of which only the true content brought the published release back;
    ``certain_by_group``: or its group. ``again``: groups that were made again, of the groups of all runs of the true
    table. ``secrets``: under how many the method was run, 1 when it has none.
    """

    certain: Rate
    certain_by_group: Rate
    again: Rate
    secrets: int


def rerun(
    run: Run,
    people: Rows,
    secrets: Sequence[int],
    rng: np.random.Generator,
    *,
    most: int = CONTENTS,
    grid: Grid | None = None,
    seconds: float = np.inf,
    say: Progress | None = None,
) -> Rerun | None:
    """Return what rerunning the settings of a run tells of some of its records; ``None`` of groups that share records.

    ``people``: original rows, tried in this order until ``seconds`` are over. ``secrets``: seeds of the attacker's
    runs. ``most``: contents that are tried of a record at most: every one that differs in one column first, then some
    of the others, drawn by ``rng``. Contents are made of values that somebody has. Where not all were tried, a record
    can be called certain that another content would have cleared: the figures are upper bounds. ``grid``: where ends
    are rounded outward to public cells; by default as the run wrote them. Public cells are taken as they were
    published: contents that would move the bounds of a proposed grid could be ruled out besides, and are not.
    """
    if len(run.parts.shared_record):
        return None
    end = time.monotonic() + seconds
    others = other_values(run)
    grid = grid or cells_of(run)
    published = groups_of(run.encoded, run.parts, others, grid)
    everything = Counter(published.of)
    truth = []
    for groups in runs(run, others, secrets, grid):
        truth.append(groups)
        if time.monotonic() > end or (len(truth) == ALIKE and all(Counter(one.of) == everything for one in truth)):
            break
    again = Rate(sum((Counter(one.of) & everything).total() for one in truth), len(published.of) * len(truth))
    seeds = list(secrets)[: 1 if again.right == again.tries else len(truth)]
    tried = whole = by_group = 0
    for number, person in enumerate(people.tolist()):
        if say is not None:
            used = 0.0 if np.isinf(seconds) else 1 - max(end - time.monotonic(), 0.0) / max(seconds, 1e-9)
            say(min(1.0, max(number / len(people), used)), "Running the method again")
        certain = is_certain(run, others, grid, published, truth, seeds, person, most, rng, end)
        if certain is None:
            break
        tried, whole, by_group = tried + 1, whole + certain[0], by_group + certain[1]
    return Rerun(Rate(whole, tried), Rate(by_group, tried), again, len(seeds))


def is_certain(
    run: Run, others: Rows, grid: Grid, published: "Groups", truth: "Sequence[Groups]", seeds: Sequence[int],
    person: int, most: int, rng: np.random.Generator, end: float,
) -> tuple[bool, bool] | None:  # fmt: skip
    """Return whether only the true content of a person brings the whole release back, and whether the group; ``None``
    when the time was over before another was run. ``truth``: the runs of the true table."""
    target, everything = published.of[published.group[person]], Counter(published.of)
    by_group = any(brings(groups, person, target, None) for groups in truth)
    whole = by_group and any(brings(groups, person, target, everything) for groups in truth)
    contents = contents_of(run, person, most, rng, grid)[1:] if by_group else []
    for number, content in enumerate(contents):
        if time.monotonic() > end:
            return (whole, by_group) if number else None
        codes = np.array(run.encoded.codes.matrix())
        codes[person] = content
        for groups in runs(run, others, seeds, grid, codes):
            by_group = by_group and not brings(groups, person, target, None)
            whole = whole and not brings(groups, person, target, everything)
            if not (by_group or whole):
                return False, False
    return whole, by_group


def brings(groups: "Groups", person: int, target: Group, everything: "Counter[Group] | None") -> bool:
    """Return whether a run puts a person into the published group, and makes all published groups where these are
    given."""
    same = groups.of[groups.group[person]] == target
    return same and (everything is None or Counter(groups.of) == everything)


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a run: ``of`` them, each as it is published, and the group of each record (n,)."""

    of: list[Group]
    group: Rows


def runs(run: Run, others: Rows, seeds: Sequence[int], grid: Grid, codes: Codes | None = None) -> Iterator[Groups]:
    """Yield the groups of a run under each secret, or of other ``codes`` (n, p) in its place; none when these cannot
    keep the limits."""
    s, exact, encoded = run.settings, run.reached, replace(run.coarse, people=run.reached.people)
    grown, pruning, own = Grown(run.pruning.tree, run.leaf), run.pruning, run.recipe.criterion == DETAIL
    if codes is not None:
        exact = replace(exact, codes=CodeColumns.of(codes))
        encoded = replace(encoded, codes=exact.codes, people=exact.people)
    for number, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        if own or (codes is not None and number == 0):  # a tree of detail has a secret of its own
            grown = grow_by(run.recipe, exact, partial(Secret.of, exact.encodings, rng))
            pruning = group(grown.tree, annotate(grown.tree, exact), exact, run.grouping, run.limits)
        if not pruning.satisfied:
            return
        how: dict[str, Any] = {"limits": run.limits, "leaf": grown.leaf, "rng": rng, "memory": memory_of(grown.line)}
        yield groups_of(encoded, divide(encoded, pruning, s.generalizer, s.k, **how), others, grid)


def cells_of(run: Run) -> Grid:
    """Return the public cell of each code where ends are public, else the codes."""
    k, encodings = run.settings.public_k, run.encoded.encodings
    grids = {} if k is None else grids_of(run.encoded, run.schema, k)
    return [grids[e.name].cells(e.low) if e.name in grids else np.arange(e.n_codes) for e in encodings]


def other_values(run: Run) -> Rows:
    """Return (n,) a number for all that is released of each record beside its quasi-identifying values."""
    names = [name for name in run.schema.released if name not in run.schema.quasi_identifying]
    if not names:
        return np.zeros(len(run.table), np.int64)
    rows = run.table.groupby(names, dropna=False, sort=False, observed=True)
    return np.asarray(rows.ngroup(), dtype=np.int64)


def groups_of(encoded: EncodedTable, parts: Parts, others: Rows, grid: Grid) -> Groups:
    """Return the groups of a run; parts with equal boxes are one. Boxes are compared as ranges and sets."""
    box, group = np.unique(hulls(encoded, parts, grid), axis=0, return_inverse=True)
    group = group.reshape(-1)[parts.part]
    order = np.lexsort((others, group))
    starts = np.searchsorted(group[order], np.arange(len(box) + 1))
    values = others[order]
    of = [
        (row.tobytes(), values[first:last].tobytes())
        for row, first, last in zip(box, starts[:-1], starts[1:], strict=True)
    ]
    return Groups(of, group)


def hulls(encoded: EncodedTable, parts: Parts, grid: Grid) -> NDArray[np.int32]:
    """Return the boxes of parts, (parts, features): lowest and highest cell of the grid and whether some are missing,
    or which levels there are."""
    features = []
    for j, encoding in enumerate(encoded.encodings):
        codes, part, values = encoded.codes.columns[j].astype(np.int64), parts.part, len(encoding.labels)
        if encoding.is_interval:
            low, high = np.full(parts.n_parts, np.iinfo(np.int32).max), np.full(parts.n_parts, -1, np.int32)
            present = codes < values
            np.minimum.at(low, part[present], grid[j][codes[present]])
            np.maximum.at(high, part[present], grid[j][codes[present]])
            absent = np.bincount(part[~present], minlength=parts.n_parts) > 0
            features.append(np.column_stack([low, high, absent]))
        else:
            width = encoding.n_codes
            counts = np.bincount(part * width + codes, minlength=parts.n_parts * width)
            features.append(counts.reshape(parts.n_parts, width) > 0)
    return np.concatenate(features, axis=1).astype(np.int32)


def contents_of(run: Run, person: int, most: int, rng: np.random.Generator, grid: Grid) -> list[Codes]:
    """Return what a person's record may hold, for all that its published box says: the truth first, then what differs
    in one column, then others; ``most`` of them beside the truth."""
    encoded = run.encoded
    own = encoded.codes.matrix(run.parts.part == run.parts.part[person])
    truth = encoded.codes.matrix(np.array([person]))[0]
    possible = [possible_codes(own[:, j], encoded, j, grid[j]) for j in range(own.shape[1])]
    near = []
    for j, codes in enumerate(possible):
        for code in codes[codes != truth[j]]:
            content = truth.copy()
            content[j] = code
            near.append(content)
    contents = {content.tobytes(): content for content in (truth, *(near[i] for i in rng.permutation(len(near))))}
    if np.prod([len(codes) for codes in possible], dtype=np.float64) <= 4 * most:
        every = np.stack(np.meshgrid(*possible, indexing="ij"), axis=-1).reshape(-1, len(possible))
        more = every[rng.permutation(len(every))].astype(truth.dtype)
    else:
        more = np.column_stack([rng.choice(codes, 4 * most) for codes in possible]).astype(truth.dtype)
    for content in more:
        contents.setdefault(content.tobytes(), content)
    return list(contents.values())[: most + 1]


def possible_codes(own: Codes, encoded: EncodedTable, j: int, cell: Rows) -> Rows:
    """Return the codes that the box of some records leaves open in column j."""
    encoding = encoded.encodings[j]
    if not encoding.is_interval:
        return np.unique(own).astype(np.int64)
    values = len(encoding.labels)
    present = own[own < values].astype(np.int64)
    between = np.empty(0, np.int64)
    if len(present):
        between = np.flatnonzero((cell >= cell[present.min()]) & (cell <= cell[present.max()]))
        between = between[between < values]
    return np.append(between, values) if (own == values).any() else between
