"""The flow from a table to a checked release, written once: every stage is a lazy value, kept under what it depends on.

    table + schema → encoded → tree → risk → pruning → parts → release → verification, utility → gate, report

Asking for a stage computes what stands before it, once. :meth:`Flow.but` gives another flow, which shares every stage
that does not depend on what was changed: another k grows no tree.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.attacks.guidance import beside_guidance, is_guided, not_tried
from anonymizer.attacks.isolation import Isolation, isolation
from anonymizer.attacks.rerun import Run
from anonymizer.checking.cell_limits import Promise, judge_of
from anonymizer.checking.kinds import kinds_of
from anonymizer.checking.linkage import LinkageRisk, LookAlikes, classes_of, linkage_risk, risk_of_classes
from anonymizer.checking.released import ColumnCells, read_cells
from anonymizer.checking.verify import Original, Verification, prepare, verify
from anonymizer.drawing.groups import WorstGroup, worst_groups
from anonymizer.errors import Progress, no_progress
from anonymizer.gate.earlier import Earlier, LastTable, Now, OtherPeople, Uncounted, beside_earlier, last_of
from anonymizer.gate.finding import Finding, Gate
from anonymizer.gate.judge import about_table, judge
from anonymizer.gate.shared import Shared, shared_values, values_in_classes
from anonymizer.groups.limits import require_limits
from anonymizer.groups.prune import Pruning
from anonymizer.groups.recipe import Grown, Recipe, group, grouping_of, grow_by, recipe_of, run_settings, with_criterion
from anonymizer.groups.risk import NodeRisk, annotate
from anonymizer.groups.secret import GROUPS, ORDER, Secret, draws, others_of, seed_of, sequence_of, words_of
from anonymizer.growing.encode import EncodedTable, encode, persons_of, rows_of
from anonymizer.growing.people import with_people, with_reach
from anonymizer.growing.tree import Tree
from anonymizer.measuring.boxed import BoxedTable
from anonymizer.measuring.coefficients import Agreement, Regression, agreement, regression_of
from anonymizer.measuring.distributions import Distribution, distributions
from anonymizer.measuring.members import share_held_out
from anonymizer.measuring.points import EVERY_K, Point, tree_points
from anonymizer.measuring.two_way import TwoWay, two_way_beside_even
from anonymizer.measuring.utility import Utility, measure, node_ncp
from anonymizer.measuring.weighted import Weighted, weighted
from anonymizer.population.sample import WHOLE, Population
from anonymizer.provenance.report import Report, report_of
from anonymizer.reading.files import Reading
from anonymizer.releasing.generalize import ORDERLESS, check_choices, divide, memory_of, release_of, shuffled
from anonymizer.releasing.grid import Grid, Ladder, grids_at, ladders_of, on_grids, public_parts
from anonymizer.releasing.key import read_key
from anonymizer.releasing.one_way import ByTables, Made
from anonymizer.releasing.one_way_file import one_way_file
from anonymizer.releasing.release import Release
from anonymizer.releasing.set_names import named, names_of
from anonymizer.releasing.tiers import Parts
from anonymizer.releasing.treat import treated_table
from anonymizer.releasing.units import rows_that_stay
from anonymizer.schema import Kind, Schema
from anonymizer.settings import Limits, Settings
from anonymizer.stages import DEPENDS, Answer, LazyValue, stage
from anonymizer.suppression.choice import staying_rows

TREE = ("schema", "recipe")
PRUNING = (*TREE, "grouping", "limits", "population_asked")
PARTS = (*PRUNING, "generalizer", "public_k", "suppression", "suppression_weight", "earlier_to_keep")
RELEASE, FILE = (*PARTS, "writing", "numbers"), ("order", "sets")

LONG = ("frontier", "by_k", "guidance", "judgement", "report")
"""Stages that take longer than a move of a slider, beside the tree and whatever waits for it."""

Turn = Callable[[bool], AbstractContextManager[Any]]
"""What a flow asks for before it computes, such as a turn among other sessions; it is told whether that takes long."""


class Flow:
    """A table, its schema, the settings, and the stages that follow from them.

    ``against_original``: let the checker also compare with the table. ``reading``: how the table came in, for the
    report. ``rng``: for whatever a release draws; by default that follows from the user's key and the table.
    ``reasons``: why the release may leave although something stands in the way, by the key of the finding. ``stages``:
    answers to share, by stage and what it depends on: see :meth:`but`. ``turn``: what stands around whatever is
    computed. ``population``: what is known of it beside sampling weights, for limits on risk and k-map. ``earlier``:
    other releases, of this table or of the same people, counted together with this one; ``keep``: keep their groups.
    ``key``: of packing, by default the user's. Stages raise AnonymizerError; one that failed is tried again.
    """

    def __init__(
        self, table: pd.DataFrame, schema: Schema, settings: Settings | None = None, *, against_original: bool = True,
        reading: Reading | None = None, rng: np.random.Generator | None = None,
        reasons: Mapping[str, str] | None = None, stages: Mapping[str, tuple[Any, LazyValue[Any]]] | None = None,
        turn: Turn = nullcontext, population: Population = WHOLE, earlier: Sequence[Earlier | OtherPeople] = (),
        keep: bool = False, key: bytes | None = None,
    ) -> None:  # fmt: skip
        self.table, self.schema, self.settings = table, schema, settings or Settings()
        self.against_original, self.population, self.reading = against_original, population, reading
        self.rng, self.turn, self.reasons, self.earlier = rng, turn, dict(reasons or {}), tuple(earlier)
        self.keep, self.key = keep, key
        self.progress: Progress = no_progress
        values = {on: self._dependency(on) for on in {on for needs in DEPENDS.values() for on in needs}}
        keys = {name: tuple(values[on] for on in needs) for name, needs in DEPENDS.items()}
        same = {name: stage for name, stage in (stages or {}).items() if name in keys and stage[0] == keys[name]}
        self._stages: dict[str, tuple[Any, LazyValue[Any]]] = {
            name: (key, LazyValue()) for name, key in keys.items()
        } | same

    def __repr__(self) -> str:
        return f"Flow with k = {self.settings.k:,}, {sum(map(self.ready, self._stages)):,} of its stages computed"

    def _dependency(self, name: str) -> Any:
        if name in ("schema", "quasi_identifying", "person"):  # what detail costs stands in the codes
            return (self.schema.bare, self.settings.cost) if name == "schema" else getattr(self.schema, name)
        own = hasattr(type(self), name) or name in ("reasons", "population", "earlier")
        return getattr(self, name) if own else getattr(self.settings, name)

    def but(
        self, schema: Schema | None = None, reasons: Mapping[str, str] | None = None,
        population: Population | None = None, earlier: Sequence[Earlier | OtherPeople] | None = None,
        keep: bool | None = None, **changes: Any,
    ) -> "Flow":  # fmt: skip
        """Return another flow of the same table, with other settings, roles, reasons, knowledge or earlier releases.
        It shares the stages that do not depend on what was changed, those that are computed later too."""
        names = ("against_original", "reading", "rng", "turn", "key")
        same: dict[str, Any] = {name: getattr(self, name) for name in names}
        reasons, population = self.reasons if reasons is None else reasons, population or self.population
        earlier, keep = self.earlier if earlier is None else earlier, self.keep if keep is None else keep
        same |= {"reasons": reasons, "population": population, "earlier": earlier, "keep": keep, "stages": self._stages}
        return type(self)(self.table, schema or self.schema, self.settings.but(**changes), **same)

    def watch(self, progress: Progress) -> "Flow":
        """Return the same flow, whose long work calls ``progress``; an exception that it raises ends the work."""
        flow = self.but()
        flow.progress = progress
        return flow

    def rows(self, rows: NDArray[np.int64]) -> "Flow":
        """Return the flow of some of the records, in the encoding of all of them."""
        same: dict[str, Any] = {name: getattr(self, name) for name in ("against_original", "rng", "turn", "key")}
        flow = type(self)(self.table.iloc[rows], self.schema, self.settings, **same)
        flow._once("encoded", lambda: rows_of(self.encoded, rows))
        return flow

    def needs(self, stage: str) -> Any:
        """Return what a stage was made by, which is equal where its answer is the same."""
        return self._stages[stage][0]

    def ready(self, stage: str) -> bool:
        """Return True when a stage is there already."""
        return self._stages[stage][1].ready

    def has(self, stage: str) -> bool:
        """Return True when a stage can be asked for: all can, of a table in memory."""
        return stage in DEPENDS

    def compute(self, *stages: str) -> None:
        """Compute some stages now, those that it :meth:`has`, in one turn."""
        if missing := [stage for stage in stages if self.has(stage) and not self.ready(stage)]:
            with self.turn(any(map(self.is_long, missing))):
                for stage in missing:
                    getattr(self, stage)

    def is_long(self, stage: str) -> bool:
        """Return True when computing a stage takes longer than a move of a slider."""
        needs = DEPENDS[stage]
        chooses = "suppression" in needs and self.settings.suppression > 0 and not self.ready("staying")
        return stage in LONG or ("recipe" in needs and not self.ready("tree")) or chooses

    def expected(self, other: "Flow") -> float:
        """Return the seconds that another flow will take for what is ready here alone, as long as it took here."""
        places = ((self._stages[name][1], other._stages[name][1]) for name in DEPENDS)
        return sum(here.seconds for here, there in places if here.ready and not there.ready)

    def _once(self, stage: str, compute: Callable[[], Answer]) -> Answer:
        place: LazyValue[Answer] = self._stages[stage][1]
        if place.ready:
            return place.get(compute)
        with self.turn(self.is_long(stage)):  # before the place's lock: who waits for a turn must hold nothing up
            return place.get(compute)

    @property
    def grouping(self) -> str:
        """The name of the way records are put into groups: as was chosen, or what suits the target."""
        return grouping_of(self.settings, self.schema, len(self.table))

    @property
    def recipe(self) -> Recipe:
        """The recipe of the tree, as it was chosen."""
        return recipe_of(self.settings, len(self.table))

    @property
    def limits(self) -> Limits:
        """The limits that every group must satisfy."""
        return self.settings.limits

    @property
    def limits_beside_k(self) -> Limits:
        """The limits, with k as nobody chose it."""
        return self.limits.but(k=1)

    @property
    def population_asked(self) -> Population | None:
        """What is known of the population, where a limit asks for it."""
        return self.population if self.limits.of_population else None

    @property
    def criterion(self) -> str | None:
        """The criterion of a good split of the tree; ``None`` for median cuts."""
        return with_criterion(self.recipe, self.encoded).criterion

    @stage("schema")
    def treated(self) -> pd.DataFrame:
        """The table, with the columns treated that are released without a box and not as they are."""
        return treated_table(self.table, self.schema)

    @stage("schema")
    def encoded(self) -> EncodedTable:
        """The table in codes."""
        return encode(self.treated, self.schema, cost=self.settings.cost)

    @stage("schema")
    def ladders(self) -> dict[str, Ladder]:
        """The steps that grids of any k are joined of, by column."""
        return ladders_of(self.encoded, self.schema)

    @stage("schema", "k")
    def grids(self) -> dict[str, Grid]:
        """The grids on which columns of numbers and dates have round ends, by column."""
        return grids_at(self.ladders, self.settings.k)

    @stage("schema", "public_k")
    def coarse(self) -> EncodedTable:
        """The table in codes as wide as they are written, so that what hulls lose is what is released."""
        return self.encoded if self.settings.public_k is None else on_grids(self.encoded, self.grids)

    @stage(*TREE)
    def growth(self) -> Grown:
        """The grown tree, the leaf of it that each record reaches, and the line of its records."""
        return grow_by(self.recipe, self.encoded, lambda: self.secret)

    @stage(*TREE)
    def tree(self) -> Tree:
        """The grown tree, unpruned."""
        return self.growth.tree

    @stage("schema", "population_asked")
    def reached(self) -> EncodedTable:
        """The table in codes, with what is known of the population where a limit asks for it."""
        return with_reach(self.encoded, self.table, self.schema, self.population_asked)

    @stage(*TREE)
    def leaf(self) -> NDArray[np.int32]:
        """(n,) the leaf of the grown tree that each record reaches."""
        return self.growth.leaf

    @stage(*TREE)
    def risk(self) -> NodeRisk:
        """Risk and error of every node of the grown tree."""
        return annotate(self.tree, self.encoded)

    @stage(*TREE, "public_k")
    def node_ncp(self) -> NDArray[np.float64]:
        """(m, p) the loss of each column if a node is released as one group, from the hulls alone."""
        return node_ncp(self.tree, self.coarse.encodings)

    @stage(*PRUNING)
    def pruning(self) -> Pruning:
        """The recorded pruning steps and the cut that keeps the limits, as far as they can be kept."""
        return group(self.tree, self.risk, self.reached, self.grouping, self.limits)

    @stage(*PRUNING)
    def worst(self) -> tuple[WorstGroup, ...]:
        """The worst group of the pruned tree by each figure."""
        return worst_groups(self.tree, self.risk, self.encoded, self.pruning.cut())

    @stage(*PARTS)
    def staying(self) -> NDArray[np.int64]:
        """(n',) the records not left out, ascending. Raises :class:`ParameterError` where none can be left out."""
        s, encoded = self.settings, replace(self.coarse, people=self.reached.people)
        if self.classes_to_keep:
            return rows_that_stay(self.classes_to_keep, s.k, encoded.person, s.suppression)
        how = s.generalizer, s.k, s.suppression, s.suppression_weight
        return staying_rows(encoded, self.pruning, *how, **self._dividing)

    @stage(*PARTS)
    def parts(self) -> Parts:
        """The records that share a box, of those that are not left out. Raises what :attr:`staying` raises."""
        s, encoded = self.settings, replace(self.coarse, people=self.reached.people)
        how = {"rows": self.staying if self.left_out else None, "earlier": self.classes_to_keep, **self._dividing}
        if self.earlier_to_keep:
            promises = Promise.of(self.schema, self.limits), *(one.promise for one in self.keeps)
            how["holds"] = judge_of(self.treated, self.staying, promises, encoded.person)
        return divide(encoded, self.pruning, s.generalizer, s.k, **how)

    @property
    def _dividing(self) -> dict[str, Any]:
        self.require_limits()
        how = {name: getattr(self, name) for name in ("limits", "leaf", "memory", "progress")}
        return how | {"rng": self.draws(GROUPS), "sequence": self.sequence_asked}

    @property
    def earlier_to_keep(self) -> tuple[Earlier | OtherPeople, ...]:
        """The earlier releases that the groups keep, as they were named."""
        return self.earlier if self.keep else ()

    @stage("schema", "earlier_to_keep")
    def keeps(self) -> tuple[Earlier, ...]:
        """The same as releases of the rows of this table (n)."""
        return tuple(own for one in self.earlier_to_keep for own in one.of_rows(self.table, self.schema))

    @property
    def classes_to_keep(self) -> tuple[NDArray[np.int64], ...]:
        """The class of each row of this table (n,) in each of them; none where nothing is kept."""
        return tuple(one.class_of for one in self.keeps) if self.earlier_to_keep else ()

    @property
    def sequence_asked(self) -> NDArray[np.int64] | None:
        """The order of the records where the first of equals matters to the generalizer, and no generator was given."""
        orderless = self.classes_to_keep or (self.settings.generalizer in ORDERLESS and not self.settings.suppression)
        return None if orderless or self.rng else self.sequence

    @stage("schema")
    def sequence(self) -> NDArray[np.int64]:
        """The records (n,) in an order that follows from what they hold. Raises :class:`ParameterError`."""
        others = (words_of(self.table[name]) for name in others_of(self.schema))
        return sequence_of(self.encoded, others, self.key or read_key())

    @stage("schema")
    def seed(self) -> bytes:
        """What all that is drawn follows from: the key of packing and the table. Raises :class:`ParameterError`."""
        return seed_of(self.encoded, self.key or read_key())

    @stage("schema")
    def secret(self) -> Secret:
        """What packing weighs the columns by, and puts the records in order by, for a tree of detail."""
        return Secret.of(self.encoded.encodings, self.draws(GROUPS))

    def draws(self, what: str) -> np.random.Generator:
        """Return the generator of what is drawn, :data:`GROUPS` or :data:`ORDER`."""
        return self.rng or draws(self.seed, what)

    @property
    def left_out(self) -> int:
        """Number of records that are left out."""
        return len(self.table) - len(self.staying) if self.settings.suppression or self.classes_to_keep else 0

    @property
    def codes_there(self) -> EncodedTable:
        """The records that are not left out, in the codes of all."""
        return rows_of(self.encoded, self.staying) if self.left_out else self.encoded

    @stage(*PARTS)
    def remaining(self) -> EncodedTable:
        """The table in codes, without the records that are left out, and without values that only these have."""
        return encode(self.treated.iloc[self.staying], self.schema) if self.left_out else self.encoded

    @stage(*TREE, "numbers")
    def memory(self) -> dict[str, Any]:
        """The work that generalizers keep of a tree while its groups change, such as the lines of packing."""
        return memory_of(self.growth.line)

    @stage(*RELEASE)
    def release(self) -> Release:
        """The release as it is worked on here: rows of a box together, all else in an order that follows from a secret
        and from what rows hold, so that sums and ties come out the same each time."""
        s = self.settings
        check_choices(s.generalizer, s.writing, s.numbers)
        parts, how = self.parts, (s.writing, s.numbers, self.grids)
        sequence = self.rng.permutation(len(self.table)) if self.rng else self.sequence
        if not self.left_out:
            return release_of(self.treated, self.schema, self.encoded, parts, *how, sequence, self.memory)
        place = np.full(len(sequence), -1)
        place[self.staying] = np.arange(len(self.staying))
        sequence = place[sequence][place[sequence] >= 0]
        rest = release_of(self.treated.iloc[self.staying], self.schema, self.remaining, parts, *how, sequence)
        return replace(rest, order=self.staying[rest.order])

    @stage(*RELEASE)
    def released(self) -> pd.DataFrame:
        """The released cells as a table, which nobody may write into."""
        return self.release.frame(shared=True)

    @stage(*RELEASE)
    def look_alikes(self) -> LookAlikes:
        """The classes of rows that are alike, in the released cells."""
        columns = self.release.generalized
        return classes_of([(c.index, len(c.cells)) for c in columns if c.index is not None], self.release.n_records)

    @stage(*RELEASE)
    def cells(self) -> dict[str, ColumnCells]:
        """The distinct released cells of each quasi-identifier, and those of each row."""
        return read_cells(self.released, self.schema)

    @stage("quasi_identifying", "person")
    def before(self) -> LinkageRisk:
        """The linking risk of the table as it stands."""
        return linkage_risk(self.table, self.schema.quasi_identifying, person=persons_of(self.table, self.schema)[0])

    @stage(*RELEASE)
    def after(self) -> LinkageRisk:
        """The linking risk of the released cells."""
        person = None if self.encoded.person is None else self.encoded.person[self.release.order]
        return risk_of_classes(self.look_alikes, person)

    @stage("schema")
    def original(self) -> Original:
        """The table as the checker compares releases with it."""
        return prepare(self.table, self.schema)

    @stage(*RELEASE)
    def class_of(self) -> NDArray[np.int64]:
        """(n,) the class of look-alike rows that each record is released in; -1 of those that are left out."""
        class_of = np.full(len(self.table), -1, np.int64)
        class_of[self.release.order] = self.look_alikes.class_of
        return class_of

    @stage(*RELEASE)
    def bands(self) -> dict[int, NDArray[np.int64]]:
        """The records of every group that are released alike, a number for each class, by the group's node."""
        groups, classes = self.pruning.group_of_node()[self.leaf[self.staying]], self.class_of[self.staying]
        pairs, sizes = np.unique(np.column_stack([groups, classes]), axis=0, return_counts=True)
        nodes, starts = np.unique(pairs[:, 0], return_index=True)
        return {int(node): own for node, own in zip(nodes, np.split(sizes, starts[1:]), strict=True)}

    @stage(*RELEASE)
    def kinds(self) -> LookAlikes:
        """The records that are equal in their values, their released rows and all that is measured of them."""
        codes = [one.codes for one in (self.encoded.target, *self.encoded.others)]
        cut = [self.table[column.name] for column in self.schema.columns if column.cuts]
        return kinds_of(self.original, self.class_of, codes, cut)

    @stage(*RELEASE, "population")
    def verification(self) -> Verification:
        """Every guarantee, computed again from the released cells, beside the original where that was wanted."""
        person = self.encoded.person
        return verify(
            self.released, self.schema, original=self.original if self.against_original else None,
            whose=None if person is None else person[self.release.order].astype(np.int64),
            order=self.release.order, cells=self.cells, population=self.population,
            suppression=self.settings.suppression, left_out=self.left_out, **self.limits.required,
        )  # fmt: skip

    @stage(*RELEASE)
    def isolation(self) -> Isolation:
        """Who is singled out by an end or a level of their own box."""
        public = public_parts(self.encoded, self.schema, self.settings.public_k, "sets")
        public |= public_parts(self.remaining, self.schema, None, self.settings.writing)
        about = self.release.order, self.look_alikes, self.cells, public, self.kinds
        return isolation(self.original, self.released, self.schema, *about)

    @stage(*RELEASE)
    def utility(self) -> Utility:
        """The measures of what the release is still good for: loss, discernibility, error."""
        about = self.encoded.encodings, self.encoded.target.name or None
        return measure(self.release, *about, self.look_alikes, self.left_out)

    @stage(*RELEASE)
    def held_out(self) -> float | None:
        """The share of people, held out while groups were made of the others, whose target is guessed right."""
        return None if self.left_out else share_held_out(self)

    @stage(*RELEASE)
    def distributions(self) -> tuple[Distribution, ...]:
        """Each generalized column before and after, the one that changed most first."""
        return distributions(self.encoded, self.boxed)

    @stage(*RELEASE)
    def boxed(self) -> BoxedTable:
        """The records of the table in the boxes of the release, which can be read by its one-way tables."""
        rng, rows, key = self.rng.spawn(1)[0] if self.rng else None, self.remaining, self.key
        about = self.release, rows, self.schema, self.grids, self.look_alikes, Made.of(self.settings)
        tables = ByTables(*about, lambda: rng.bytes(32) if rng else seed_of(rows, key or read_key()))
        return BoxedTable.of_release(self.encoded, self.release, self.look_alikes.class_of, tables)

    @stage(*RELEASE)
    def two_way(self) -> TwoWay:
        """The distances between two-way tables of the release, raked and read evenly, and those of the table."""
        return two_way_beside_even(self.encoded, self.boxed, self.kinds)

    @stage("schema")
    def on_all(self) -> Regression | None:
        """The target of the table regressed on its quasi-identifiers."""
        return regression_of(self.encoded, self.schema.target)

    @stage(*RELEASE)
    def coefficients(self) -> Agreement | None:
        """The number of coefficients of the regression that the release keeps; ``None`` where there is none."""
        return None if self.on_all is None else agreement(self.on_all, self.boxed)

    @stage(*RELEASE, "regression")
    def weighted(self) -> Weighted:
        """The figures of a survey before and after: means, totals, shares, correlations, a regression."""
        shapes = self.encoded, self.boxed, self.two_way
        return weighted(self.treated, self.schema, *shapes, self.settings.regression, self.kinds)

    @stage(*TREE, "limits_beside_k", "population_asked", "numbers")
    def frontier(self) -> tuple[Point, ...]:
        """The risk and loss of every k in the groupings that are cuts of the tree."""
        return self.points()

    @stage(*TREE, "grouping", "limits_beside_k", "population_asked", "numbers")
    def by_k(self) -> tuple[Point, ...]:
        """The risk and loss of every k in this grouping; of regions, in the cuts of the same tree by k alone."""
        return self.points(groupings=("least" if self.grouping == "regions" else self.grouping,))

    def points(self, ks: Iterable[int] = EVERY_K, groupings: Sequence[str] | None = None) -> tuple[Point, ...]:
        """Return what :func:`anonymizer.measuring.points.tree_points` does of the tree, under its limits beside k."""
        tree, limits = with_people(self.tree, self.reached), self.limits_beside_k
        about = self.reached, limits, self.losses_at, ks, groupings, self.criterion, self.progress
        return tree_points(tree, self.risk, *about)

    def losses_at(self, k: int) -> NDArray[np.float64]:
        """Return what :attr:`node_ncp` is at another k."""
        reached = self.reached if self.settings.public_k is None else on_grids(self.reached, grids_at(self.ladders, k))
        return self.node_ncp if reached is self.reached else node_ncp(self.tree, reached.encodings)

    @stage("schema")
    def about_table(self) -> tuple[Finding, ...]:
        """What the table and its roles alone let the gate find."""
        return about_table(self.treated, self.schema, persons_of(self.table, self.schema)[0])

    @stage(*PARTS)
    def guidance(self) -> tuple[Finding, ...]:
        """What the release gives away by how its groups follow from sensitive values: the method is run again."""
        if not is_guided(self.schema, self.settings, len(self.table)):
            return ()
        if self.classes_to_keep:
            return (not_tried("This attack is not tried where earlier releases are kept."),)
        return beside_guidance(self.run, self.left_out, self.progress)

    @property
    def run(self) -> Run:
        """How the release was made, for whoever makes it again."""
        return Run(**{each.name: getattr(self, each.name) for each in fields(Run)})

    @stage(*RELEASE, "population", "prosecutor_limit", "earlier")
    def judgement(self) -> Gate:
        """Everything to see to before the release leaves, without anybody's reasons."""
        about = self.about_table, self.schema, self.settings, self.verification
        fewest = partial(values_in_classes, self.table.iloc[self.release.order], self.look_alikes)
        gate = Gate(self.guidance).beside(judge(*about, fewest, self.shared).findings)
        if not self.earlier:
            return gate
        more = self.encoded.person, self.keep, Promise.of(self.schema, self.limits), self.treated, self.population
        now = Now(self.table, self.schema, self.released, self.class_of, self.settings.k, *more)
        return gate.beside(beside_earlier(self.earlier, now))

    @property
    def as_last(self) -> LastTable | Uncounted:
        """The release as a later one is counted together with it; not where its rows say of nobody whose they are."""
        return last_of(self.table, self.treated, self.schema, self.class_of, self.limits)

    @stage(*RELEASE)
    def shared(self) -> dict[str, tuple[Shared, ...]]:
        """The values that whole groups of the release share, by sensitive column."""
        names = [name for name in self.schema.sensitive if self.schema[name].kind is Kind.CATEGORICAL]
        columns = {name: self.treated[name].iloc[self.release.order] for name in names}
        return {name: shared_values(column, self.look_alikes) for name, column in columns.items()}

    @property
    def gate(self) -> Gate:
        """Everything to see to before the release leaves, with the steward's reasons."""
        return self.judgement.with_reasons(self.reasons)

    @stage(*RELEASE, "population", "prosecutor_limit", "earlier", "reasons", *FILE)
    def leaving(self) -> Release:
        """The release as it can be written, in the order of the file: not at all while something is in its way."""
        content, by_content = self.settings.order == "content", self.release.by_content
        rows = by_content(self.look_alikes.class_of) if content else shuffled(self.release, self.draws(ORDER))
        bars, boxed = tuple(finding.key for finding in self.gate.open), self.boxed
        return replace(named(rows, self.settings.sets), bars=bars, one_way=lambda: one_way_file(boxed.readings))

    @property
    def role_reasons(self) -> tuple[str, ...]:
        """Why each column has its role."""
        return tuple(column.why for column in self.schema.columns)

    @stage(*RELEASE, "population", "prosecutor_limit", "earlier", "reasons", "role_reasons", *FILE, "regression")
    def report(self) -> Report:
        """Everything a reviewer needs beside the released file."""
        return report_of(
            self.schema, self.recorded, self.encoded, made=self.parts.made, held_out=self.held_out, before=self.before,
            after=self.after, utility=self.utility, two_way=self.two_way, coefficients=self.coefficients,
            weighted=self.weighted, worst=self.worst, verification=self.verification, isolation=self.isolation,
            gate=self.gate, reading=self.reading, sets=names_of(self.release, self.settings.sets),
            keeps=[option for one in self.earlier_to_keep for option in one.options],
        )  # fmt: skip

    @property
    def recorded(self) -> dict[str, Any]:
        """The settings of a run as a report keeps them: the criterion as used, ``None`` for what did not matter."""
        return run_settings(self.settings, self.grouping, self.encoded)

    def require_limits(self) -> None:
        """Raise :class:`GuaranteeError` when even the whole table as one group fails a limit: which, how far off."""
        require_limits(self.pruning.tree, self.risk, self.reached, self.limits, self.pruning.satisfied)
