"""From groups to a release: every quasi-identifier of a record is replaced by a cell that also speaks of others.

Two choices are free of each other: which records share a box (:data:`GENERALIZERS`), and how a box is written
(:data:`WRITINGS` for levels, :data:`NUMBERS` for numbers and dates). Nothing here trusts the outcome:
:mod:`anonymizer.checking.verify` recomputes every promise from the release.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import ParameterError, Progress, no_progress
from anonymizer.groups.detail import DETAIL, Order
from anonymizer.groups.limits import as_k
from anonymizer.groups.recipe import PACKS
from anonymizer.groups.secret import GROUPS, ORDER, draws, others_of, seed_of, sequence_of, words_of
from anonymizer.growing.encode import EncodedTable, rows_of
from anonymizer.growing.tree import Tree
from anonymizer.releasing.boxes import Boxes, Memory, interval_cells, kept_column, level_cells
from anonymizer.releasing.grid import Grid, coarsen, grids_of
from anonymizer.releasing.key import read_key
from anonymizer.releasing.pack import ALONG
from anonymizer.releasing.packed import pack, pack_persons
from anonymizer.releasing.polish import polish
from anonymizer.releasing.release import Release, ReleasedColumn
from anonymizer.releasing.tiers import Groups, Made, Parts, refine_groups, tiered, tiered_strict, uniform
from anonymizer.releasing.treat import treated_table
from anonymizer.releasing.units import Holds, keep
from anonymizer.schema import Role, Schema
from anonymizer.settings import SHORT, Limits, name_of, offer
from anonymizer.values import value_text


class PrunedTree(Protocol):
    """What generalizing asks of a :class:`anonymizer.groups.prune.Pruning`."""

    @property
    def tree(self) -> Tree:
        """The unpruned tree, m nodes."""

    def group_of_node(self, after: int | None = None) -> NDArray[Any]:
        """Return (m,) the leaf of the pruned tree at or above each node, -1 above them."""


def generalize(
    table: pd.DataFrame,
    schema: Schema,
    encoded: EncodedTable,
    pruning: PrunedTree,
    method: str = "uniform",
    k: int = 10,
    *,
    writing: str = "sets",
    numbers: str = "range",
    limits: Limits | None = None,
    after: int | None = None,
    leaf: NDArray[np.int32] | None = None,
    rng: np.random.Generator | None = None,
) -> Release:
    """Return the release of ``table`` (n rows) in the groups of a pruned tree.

    ``method``: a key of :data:`GENERALIZERS`, or "concatenate", short for "uniform" written that way. ``k``: what the
    tiered methods fill up to and what refined groups keep, in records. ``writing``: a key of :data:`WRITINGS`;
    ``numbers``: a key of :data:`NUMBERS`.
    ``limits``: what groups that are made inside these keep besides k.

    ``after``: the groups after that many pruning steps (all by default). ``leaf`` (n,): each record's leaf in the
    unpruned tree, found when not given. ``rng`` shuffles the rows and is the secret of packing; without it both follow
    from the user's key and the table (:mod:`anonymizer.groups.secret`), as every real release needs.

    Identifying columns are dropped. A column whose values share codes gets exact intervals all the same: they are
    read from ``table``.

    Raises :class:`ParameterError` for an unknown method or writing, one of groups with a method that shares records
    between them, k below 1, or a table that is not the encoded one; :class:`GuaranteeError` when a tiered method
    meets a group with fewer than k records.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> encoded = an.encode(table, schema)
    >>> tree = an.grow(encoded)
    >>> pruning = an.prune(tree, an.annotate(tree, encoded), k=10)
    >>> release = an.generalize(table, schema, encoded, pruning, "pack", k=10)
    >>> len(release.frame())
    300
    """
    schema.check(table)
    names = {"generalizer": method, "writing": writing} | SHORT["generalizer"].get(method, {})
    method, writing = names["generalizer"], names["writing"]
    check_choices(method, writing, numbers)
    if k < 1:
        raise ParameterError(f"k must be at least 1, not {k}.", value=k, remedy="Ten is a common choice.")
    if len(table) != encoded.n_records or schema.quasi_identifying != encoded.names:
        raise ParameterError(
            f"The table ({len(table):,} rows) is not the one that was encoded ({encoded.n_records:,} rows of "
            f"{', '.join(encoded.names)}).",
            remedy="Encode this table with this schema first.",
        )
    seed = seed_of(encoded, read_key()) if rng is None else b""
    coarse = coarsen(encoded, schema, k if numbers == "public" else None)
    how: dict[str, Any] = {"limits": limits, "after": after, "leaf": leaf, "rng": rng or draws(seed, GROUPS)}
    if rng is None:
        sequence = sequence_of(encoded, (words_of(table[name]) for name in others_of(schema)), read_key())
        how["sequence"] = None if method in ORDERLESS else sequence
    parts = divide(coarse, pruning, method, k, **how)
    if rng is not None:
        sequence = rng.permutation(len(table))
    grids = grids_of(encoded, schema, k)
    release = release_of(treated_table(table, schema), schema, encoded, parts, writing, numbers, grids, sequence)
    return shuffled(release, rng or draws(seed, ORDER))


def divide(
    encoded: EncodedTable,
    pruning: PrunedTree,
    method: str,
    k: int,
    *,
    limits: Limits | None = None,
    after: int | None = None,
    leaf: NDArray[np.int32] | None = None,
    rng: np.random.Generator | None = None,
    memory: dict[str, Any] | None = None,
    progress: Progress = no_progress,
    rows: NDArray[np.int64] | None = None,
    sequence: NDArray[np.int64] | None = None,
    earlier: Sequence[NDArray[np.int64]] = (),
    holds: Holds | None = None,
) -> Parts:
    """Return which records share a box, by a key of :data:`GENERALIZERS`; see :func:`generalize` for the others.

    ``memory``, ``progress``: of :class:`anonymizer.releasing.tiers.Groups`. ``rows`` (n',): the records that are not
    left out, ascending, which alone are then in parts; all by default.
    ``sequence`` (n,): the order in which a generalizer gets the records, by default as they stand. ``earlier``: the
    classes of the records in earlier releases, (n,) each, which the groups keep instead, whatever the generalizer, and
    ``holds``: see :func:`anonymizer.releasing.units.keep`.
    """
    if leaf is None:
        from anonymizer.growing.records import descend

        leaf = descend(pruning.tree, encoded)
    if limits is not None:
        limits = as_k(limits, encoded)
    group, memory = np.asarray(pruning.group_of_node(after)), {} if memory is None else memory
    if sequence is not None:
        encoded, leaf, memory = in_sequence(encoded, leaf, memory, sequence)
        rows = None if rows is None else np.flatnonzero(np.isin(sequence, rows))
    groups = Groups(pruning.tree, encoded, leaf, group, limits, memory, progress)
    rng = rng or draws(seed_of(encoded, read_key()), GROUPS)
    groups = groups if rows is None else groups.of_rows(rows)
    if earlier and method == "pack-persons":
        raise ParameterError(
            "Groups that keep earlier releases do not hold the rows of a person together.",
            remedy="Choose pack, or do not keep earlier releases.",
        )
    if earlier:
        before = [classes if rows is None else classes[rows] for classes in earlier]
        return keep(groups, before, k, rng, holds)
    parts = GENERALIZERS[method](groups, k, rng)
    parts = parts if parts.made.method else replace(parts, made=Made(method))
    return parts if sequence is None else parts.take(np.argsort(sequence if rows is None else sequence[rows]))


def in_sequence(
    encoded: EncodedTable, leaf: NDArray[np.int32], memory: dict[str, Any], sequence: NDArray[np.int64]
) -> tuple[EncodedTable, NDArray[np.int32], dict[str, Any]]:
    """Return records in another order, the leaf of each, and what is kept of them in this order."""
    order = memory.get(ALONG)
    own = memory.setdefault("in sequence", memory_of(order and order.take(sequence)))
    return rows_of(encoded, sequence), leaf[sequence], own


def memory_of(line: Order | None) -> dict[str, Any]:
    """Return what generalizers know of a tree at first: of one of detail, its line."""
    return {} if line is None else {ALONG: line}


def release_of(
    table: pd.DataFrame,
    schema: Schema,
    encoded: EncodedTable,
    parts: Parts,
    writing: str,
    numbers: str,
    grids: Mapping[str, Grid],
    sequence: NDArray[np.int64],
    memory: dict[Any, Any] | None = None,
) -> Release:
    """Return the release in which records of one part share their cells, those of a box together, and all else in the
    order of ``sequence`` (n,). ``grids``: of the columns of numbers and dates; ``memory``: what the same table's next
    release starts from; see :func:`generalize` for the others."""
    boxes, memory = Boxes.of(parts), {} if memory is None else memory
    order, present, rows_of_box = boxes.in_order(sequence)
    columns = []
    for name in schema.released:
        column = schema[name]
        last: Memory = memory.setdefault((name, writing, numbers), Memory())
        if column.role is not Role.QUASI_IDENTIFYING:
            last.column = last.column or kept_column(table[name], column)
            columns.append(last.column.take(order))
            continue
        position = encoded.names.index(name)
        encoding, codes = encoded.encodings[position], encoded.codes.columns[position]
        if encoding.is_interval:
            of = column, codes, encoding, boxes, numbers, grids.get(name), last
            cells, index, domain = interval_cells(table[name], *of)
        else:
            cells, index = level_cells(column, codes, encoding, boxes, writing, last)
            domain = tuple(value_text(level) for level in encoding.labels)
        place = np.repeat(index.astype(np.min_scalar_type(-len(cells) - 1))[present], rows_of_box)
        about = (name, column.role, column.kind, domain, encoding.missing)
        columns.append(ReleasedColumn(*about, cells, place, variable=column.variable, declared=column.declared))
    return Release(tuple(columns), order, parts.made.method, writing, numbers)


def shuffled(release: Release, rng: np.random.Generator) -> Release:
    """Return a release with its rows in an order that ``rng`` draws, wherever they stood before."""
    return release.by_content().take(rng.permutation(release.n_records))


def check_choices(method: str, writing: str, numbers: str) -> None:
    """Raise :class:`ParameterError` unless the three exist and go together."""
    for name, names, what in (
        (method, GENERALIZERS, "generalizer"),
        (writing, WRITINGS, "way to write levels"),
        (numbers, NUMBERS, "way to write numbers"),
    ):
        if name not in names:
            raise ParameterError(
                f"There is no {what} {name!r}.", value=name, remedy="Choose one of: " + ", ".join(names) + "."
            )
    if method == "tiered" and (writing == "weighted" or numbers not in INTERVALS):
        raise ParameterError(
            f"{method!r} shares rows between boxes, so counts, means and medians of a box would count people twice.",
            remedy="Write sets and ranges, or choose uniform, refine or tiered-strict.",
        )


GENERALIZERS: dict[str, Callable[[Groups, int, np.random.Generator], Parts]] = {
    "uniform": uniform,
    "tiered": tiered,
    "tiered-strict": tiered_strict,
    "refine": refine_groups,
    "pack": pack,
    "polish": polish,
    "pack-persons": pack_persons,
}
"""Every way to generalize: of groups, k and a source of randomness, which records share a box."""


ORDERLESS = ("uniform", "refine", "pack", "pack-persons")
"""Generalizers that make the same parts of the same records in whatever order these stand; others get them in one that
follows from what they hold."""

KEYED = (*PACKS, DETAIL)
"""Generalizers and a criterion whose groups follow from a key, too."""

LEAVES_OUT = ("uniform", "refine", "pack", "polish")
"""Generalizers that may leave records out."""

TAKES_LONG = {"polish"}
"""Generalizers that take seconds for every ten thousand records: pages let them work in the background."""


@dataclass(frozen=True)
class Guarantee:
    """What a generalizer promises, in plain words, and what it does not. ``strict``: k-anonymous by construction
    when every group has at least k records."""

    title: str
    strict: bool
    gives: str
    does_not: str


OF_NUMBERS = " Only the checker judges l and t of numbers and dates, and limits on numbers beside a categorical target."

GUARANTEES: dict[str, Guarantee] = {
    "uniform": Guarantee(
        name_of("generalizer", "uniform") + ": one box for each group",
        True,
        "Everybody in a group gets the same cells. So every row looks like at least k − 1 others, where every group "
        "has at least k.",
        "It does not hide what a whole group has in common. Where all share a sensitive value, everybody is known to "
        "have it.",
    ),
    "tiered": Guarantee(
        name_of("generalizer", "tiered") + ": the finer leaves, sharing neighbours",
        False,
        "Every person matches at least k released rows, and every row at least k people. That holds when all rows are "
        "assigned at once, too: global (1,k)- and (k,k)-anonymity.",
        "It is not k-anonymous: rows can be alone with their cells. The chance that a link is right is not bounded by "
        "1/k and can come close to 1. Somebody who knows the method can find the shared rows. Boxes are finer than "
        "the groups, so more of them hold a single sensitive value.",
    ),
    "tiered-strict": Guarantee(
        name_of("generalizer", "tiered-strict") + ": the finer leaves, taking neighbours over",
        True,
        "The boxes are finer than the groups. Still every row looks like at least k − 1 others, where every group has "
        "at least k.",
        "A limit on sensitive values need not hold in these smaller boxes. Check it on the release.",
    ),
    "refine": Guarantee(
        name_of("generalizer", "refine") + ": cut further where boxes lose least",
        True,
        "Groups of at least 2k are cut where the boxes of the two sides lose least. Still every row looks like at "
        f"least k − 1 others. Limits on sensitive values hold in every part.{OF_NUMBERS} Boxes are much tighter.",
        "The cuts do not look at the target, so how well it can be predicted should be compared. It does not hide what "
        "a whole group has in common.",
    ),
    "pack": Guarantee(
        name_of("generalizer", "pack") + ": neighbours in groups that lose least",
        True,
        "Inside each branch, similar rows stand side by side, divided into the groups of at least k that lose least. "
        "Under a limit on l, entropy l or t, the whole table is one branch. Such limits ask for mixed groups, and rows "
        "of a branch are alike in the target. Every row looks like at least k − 1 others, and limits on sensitive "
        "values hold in every group."
        f"{OF_NUMBERS} The groups follow from the table and a secret key. Somebody who has both makes the same groups "
        "again, and nobody else can simply run the method again.",
        "The target does not guide the groups, so how well it can be predicted should be compared. It does not hide "
        "what a whole group has in common. Under another key it makes mostly other groups, which must not be published "
        "beside these. The secret is no proof. Somebody who knows every row can infer most of it, and make some of the "
        "groups again.",
    ),
    "polish": Guarantee(
        name_of("generalizer", "polish") + ": packed, then improved row by row",
        True,
        "Packed groups, among which rows move and change places as long as that makes boxes tighter. Every row still "
        f"looks like at least k − 1 others, and limits on sensitive values hold in every group.{OF_NUMBERS} It takes "
        "some seconds for every ten thousand rows.",
        "The target does not guide the groups, so how well it can be predicted should be compared. It does not hide "
        "what a whole group has in common. It begins with packing's secret, which is no proof. What running the method "
        "again gives away was tried for packing alone.",
    ),
    "pack-persons": Guarantee(
        name_of("generalizer", "pack-persons") + ": all rows of a person in one group",
        True,
        "Packed groups of the whole table in which all rows of a person are together. Somebody who can link all rows "
        "of a person still finds at least k persons that fit. Limits on sensitive values hold in every group.",
        "It loses more detail the more the rows of a person differ. Neither the tree nor the target guides the groups. "
        "It does not hide what a whole group has in common. The secret is no proof.",
    ),
}
"""For each key of :data:`GENERALIZERS` what it guarantees, said so that a steward can repeat it."""


def guarantee_of(generalizer: str) -> Guarantee:
    """Return what a generalizer promises; of one that says nothing in :data:`GUARANTEES`, its own first sentence."""
    words = (GENERALIZERS[generalizer].__doc__ or "").strip().partition("\n")[0] if generalizer in GENERALIZERS else ""
    unknown = "It says nothing of what it does not promise: rely on what the checker finds in the release."
    return GUARANTEES.get(generalizer, Guarantee(generalizer, False, words, unknown))


WRITINGS: dict[str, Guarantee] = {
    "sets": Guarantee(
        name_of("writing", "sets") + ": {a, b}",
        True,
        "A cell lists the levels that occur in its box; all levels of the domain are a *. Bands that follow each other "
        "are written as one.",
        "",
    ),
    "groups": Guarantee(
        name_of("writing", "groups") + ": {a, b, c}",
        True,
        "A cell of several levels lists all levels of their public groups, as declared or proposed. A level that is "
        "listed need not occur in the box, so it points at nobody.",
        "Boxes are wider. Proposed groups are neighbours in the domain, which may have little in common. When only one "
        "row of a box has a level of some group, that group still points at it.",
    ),
    "concatenate": Guarantee(
        name_of("writing", "concatenate") + ": a+b",
        True,
        "A cell joins the levels that occur in its box, also when these are all (L14). It says the same as a set.",
        "",
    ),
    "weighted": Guarantee(
        name_of("writing", "weighted") + ": a:4+b:1",
        True,
        "An analyst can give each level its share of the group: see expand(). Rows still look like the others of "
        "their group.",
        "Counts tell how frequent each level is within the group. Where 9 of 10 share a level, it can be guessed of "
        "each of them. Somebody who knows the others knows the last one.",
    ),
}
"""How the levels of a box are written, and what that gives away besides."""

NUMBERS: dict[str, Guarantee] = {
    "public": Guarantee(
        name_of("numbers", "public") + ": [25, 64]",
        True,
        "A cell is the smallest interval between ends of a public grid that holds the values of its box. The grid has "
        "a round step, or days to years, as declared or proposed. Where few people lie, steps are wider, and the "
        "outermost ones are one. Values that 2k people or more have are ends themselves, unless a step was declared. "
        "An end tells in which step a value lies, and not the value. The dictionary names the ends.",
        "Boxes are a little wider. Where all values lie on the grid, as years of age can, a cell can be a single "
        "value. A proposed step, and where steps are joined, follow from the data.",
    ),
    "range": Guarantee(
        name_of("numbers", "range") + ": [29, 61]",
        True,
        "A cell is the smallest interval that holds the values of its box.",
        "Its ends are values of real people: a box [29, 61] says that somebody is 29.",
    ),
    "mean": Guarantee(
        name_of("numbers", "mean") + ": ~41.5",
        True,
        "One number for the whole group, ready for a regression. Rows still look like the others of their group.",
        "It need not contain anybody's value, so the checker cannot compare it with the original. It bounds nothing: "
        "its loss counts as 1. Somebody who knows all of a group but one can work out the last value.",
    ),
    "median": Guarantee(
        name_of("numbers", "median") + ": ~40",
        True,
        "One number for the whole group that a few extreme values do not move. Rows still look like the others of "
        "their group.",
        "It need not contain anybody's value, so the checker cannot compare it with the original. It bounds nothing: "
        "its loss counts as 1. In a group of odd size it is the value of a real person.",
    ),
}
"""How the numbers and dates of a box are written, and what that gives away besides."""

INTERVALS = ("public", "range")
"""Keys of :data:`NUMBERS` that write intervals which hold every value."""


offer("generalizer", GENERALIZERS)
offer("writing", WRITINGS)
offer("numbers", NUMBERS)
