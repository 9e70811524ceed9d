"""Cross-validated comparison of groupings and generalizers, as Y19 and L14 report it.

Each fold is left out in turn. The tree is grown and pruned on the training records only; a test record is routed
through that tree and takes the cells of the training records it meets there. A model is fitted to the generalized
training records and judged on the generalized test records: see :mod:`anonymizer.predict`.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.boxes import Boxes, interval_cells, level_cells
from anonymizer.encode import EncodedTable, encode
from anonymizer.errors import ParameterError
from anonymizer.generalize import GENERALIZERS, check_choices
from anonymizer.grouping import GROUPINGS as TREES
from anonymizer.grouping import Recipe, group, grow_by, recipe_of
from anonymizer.limits import Limits
from anonymizer.predict import Floats, Rows, cell_of, classify, regress, seen
from anonymizer.records import descend
from anonymizer.refine import median_groups
from anonymizer.risk import NodeRisk, annotate
from anonymizer.schema import Schema
from anonymizer.tiers import Grouping, Parts, disjoint
from anonymizer.tree import Tree
from anonymizer.utility import cell_ncp, mape, relative_squared_distance

GROUPINGS = (*TREES, "blend")
"""Ways to make groups: prunings of the grown tree, Mondrian, and blended trees with at least k records a leaf.

"blend:0.2" is a blend of that weight.
"""

ORIGINAL = "original"
"""The grouping of records that were not generalized at all, for comparison."""

MEASURES = {
    "gcp": "loss (GCP)",
    "error": "classification error",
    "rsd": "RSD",
    "mape_linear": "MAPE, linear regression",
    "mape_tree": "MAPE, regression tree",
    "groups": "groups",
    "smallest": "smallest group",
    "seconds": "seconds",
}
"""What is measured in every fold, and how it is called."""

UNTOUCHED, GENERALIZED, BLENDED = 2e-6, 6e-7, 2.5e-6
"""Seconds a cell of the quasi-identifiers: to judge the original records, or a setting; to grow a blended tree."""
FIXED = 0.02
"""Seconds of a setting in a fold, whatever the size of the table."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """One setting in f folds. ``measured``: for each key of :data:`MEASURES` an array (f,), NaN where it means nothing.

    ``gcp``: Y19 (12), of the training records. ``error``: share of test records whose class is predicted wrongly by
    a decision tree. ``rsd``: L14 (10), mean over numeric sensitive columns, of the groups of training records.
    ``mape_linear``, ``mape_tree``: L14 (11), of the test records, mean over these columns. ``groups``, ``smallest``: of
    the training records. ``seconds``: to group and generalize them. ``left_out``: test values in all that were 0
    and do not count in MAPE.
    """

    grouping: str
    generalizer: str
    k: int
    measured: dict[str, Floats]
    left_out: int

    @property
    def folds(self) -> int:
        """Number of folds f."""
        return len(self.measured["gcp"])

    def mean(self, measure: str) -> float:
        """The mean over folds (of seconds the median: the first fold may compile), NaN where it means nothing."""
        values = self.measured[measure]
        middle = np.nanmedian if measure == "seconds" else np.nanmean
        return float(middle(values)) if np.isfinite(values).any() else float("nan")


def evaluate(
    table: pd.DataFrame,
    schema: Schema,
    *,
    folds: int = 10,
    ks: Sequence[int] = (10, 20, 30),
    groupings: Sequence[str] = ("least", "median-mondrian"),
    generalizers: Sequence[str] = ("uniform",),
    writing: str = "sets",
    numbers: str = "range",
    significance: float | None = None,
    weight: float = 0.5,
    run: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[Outcome, ...]:
    """Every grouping with every generalizer at every k, and the original records first.

    ``groupings``: of :data:`GROUPINGS`; ``generalizers``: keys of :data:`anonymizer.generalize.GENERALIZERS`.
    ``writing``, ``numbers``: see :func:`anonymizer.generalize.generalize`. ``significance``: α of error-digression, on
    inner nodes. ``weight``: of blended trees that do not name one. ``run``: how many of the folds are run, all by
    default. ``sample``: only so many records, drawn at random, take part; domains stay those of the table. ``seed``: of
    the sample and of the folds, which are stratified by a categorical target. ``progress``: called with a share from 0
    to 1 and what is being done; ``cancelled``: asked before each step of a setting; when it says so, the folds that
    are complete are returned.

    Raises :class:`ParameterError` for unknown names, impossible numbers, or a grouping that does not fit the target.
    """
    n = len(table) if sample is None else min(sample, len(table))
    check_settings(groupings, generalizers, writing, numbers, ks, folds, run, n)
    encoded = encode(table, schema)
    if n < len(table):
        drawn = np.sort(np.random.default_rng(seed).permutation(len(table))[:n])
        table, encoded = table.iloc[drawn], rows_of(encoded, drawn)
    asked = [(grouping, generalizer, k) for k in ks for grouping in groupings for generalizer in generalizers]
    settings = [(ORIGINAL, "none", 1), *asked]
    rules = Rules(writing, numbers, significance, weight, cancelled)
    found: dict[tuple[str, str, int], list[Measured]] = {setting: [] for setting in settings}
    pairs = list(folds_of(encoded, folds, seed))[:run]
    for number, (train, test) in enumerate(pairs):
        fold = Fold.of(table, schema, encoded, train, test, rules)
        measured = []
        for place, setting in enumerate(settings):
            if progress is not None:
                share = (number * len(settings) + place) / (len(pairs) * len(settings))
                what = "the original records" if place == 0 else f"{setting[0]}, {setting[1]}, k = {setting[2]}"
                progress(share, f"Fold {number + 1} of {len(pairs)}: {what}")
            try:
                measured.append(fold.measure(*setting))
            except StoppedError:
                return outcomes(found)
        for setting, figures in zip(settings, measured, strict=True):
            found[setting].append(figures)
    return outcomes(found)


class StoppedError(Exception):
    """The evaluation was cancelled."""


class Rules(NamedTuple):
    """What all settings of one evaluation share."""

    writing: str
    numbers: str
    significance: float | None
    weight: float
    cancelled: Callable[[], bool] | None = None

    def pause(self) -> None:
        """Raise :class:`StoppedError` when the evaluation was cancelled."""
        if self.cancelled is not None and self.cancelled():
            raise StoppedError


class Grown(NamedTuple):
    """A tree with the scores of its nodes, and the seconds that both took."""

    tree: Tree
    risk: NodeRisk
    seconds: float


class Measured(NamedTuple):
    """One setting in one fold: see :class:`Outcome`."""

    gcp: float
    error: float
    rsd: float
    mape_linear: float
    mape_tree: float
    groups: float
    smallest: float
    seconds: float
    left_out: int


def outcomes(found: dict[tuple[str, str, int], list[Measured]]) -> tuple[Outcome, ...]:
    """The folds that were measured, setting by setting; nothing when no fold is complete."""
    return tuple(
        Outcome(
            *setting,
            measured={name: np.array([getattr(figures, name) for figures in measured]) for name in MEASURES},
            left_out=sum(figures.left_out for figures in measured),
        )
        for setting, measured in found.items()
        if measured
    )


def check_settings(
    groupings: Sequence[str],
    generalizers: Sequence[str],
    writing: str,
    numbers: str,
    ks: Sequence[int],
    folds: int,
    run: int | None,
    n: int,
) -> None:
    """Raise :class:`ParameterError` for what cannot be evaluated."""
    for grouping in groupings:
        name, _, weight = grouping.partition(":")
        if name not in GROUPINGS or (weight and not (name == "blend" and is_share(weight))):
            raise ParameterError(
                f"There is no grouping {grouping!r}.", value=grouping, remedy=f"Choose among {', '.join(GROUPINGS)}."
            )
    for generalizer in generalizers:
        check_choices(generalizer, writing, numbers)
    if not 2 <= folds <= n or (run is not None and not 1 <= run <= folds):
        raise ParameterError(
            f"{n:,} records cannot be evaluated in {folds} folds{'' if run is None else f', of which {run} are run'}.",
            remedy="Use 2 to 10 folds.",
        )
    most = n - -(-n // folds)
    if not ks or not all(1 <= k <= most for k in ks):
        raise ParameterError(
            f"Every k must be from 1 to the {most:,} training records of a fold.", remedy="Choose a smaller k."
        )


def expected_seconds(
    records: int,
    columns: int,
    groupings: Sequence[str],
    generalizers: Sequence[str],
    ks: Sequence[int],
    folds: int,
) -> float:
    """About how long :func:`evaluate` takes on two cores, once compiled, from the cost of a cell measured on Adult."""
    trees = sum(BLENDED if grouping.startswith("blend") else 0.0 for grouping in groupings) * len(ks)
    settings = len(groupings) * len(generalizers) * len(ks)
    return folds * (records * columns * (UNTOUCHED + trees + GENERALIZED * settings) + FIXED * (settings + 1))


def is_share(text: str) -> bool:
    """Whether a text is a number from 0 to 1."""
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def folds_of(encoded: EncodedTable, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    """Training and test rows of every fold, stratified by the classes of the target when all can be in every fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    classes = encoded.target.codes
    counts = np.bincount(classes)
    rare = counts[counts > 0].min() < folds
    splitter = (KFold if rare else StratifiedKFold)(folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(np.zeros((len(classes), 1)), classes):
        yield train.astype(np.int64), test.astype(np.int64)


def rows_of(encoded: EncodedTable, rows: Rows) -> EncodedTable:
    """The same encoding of some of the records; numeric sensitive columns are centred on these."""
    target = replace(encoded.target, codes=encoded.target.codes[rows])
    others = tuple(replace(other, codes=other.codes[rows]) for other in encoded.others)
    numeric = encoded.numeric
    if numeric is not None:
        values = numeric.values[rows]
        middle = values.mean(axis=0)
        numeric = replace(numeric, values=values - middle, centre=numeric.centre + middle)
    codes = np.ascontiguousarray(encoded.codes[rows])
    return replace(encoded, codes=codes, target=target, others=others, numeric=numeric)


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test records in one encoding. ``grown``: trees that several settings share, filled as needed."""

    train: EncodedTable
    test: EncodedTable
    values: pd.DataFrame
    schema: Schema
    rules: Rules
    grown: dict[Recipe, "Grown"]

    @classmethod
    def of(
        cls, table: pd.DataFrame, schema: Schema, encoded: EncodedTable, train: Rows, test: Rows, rules: Rules
    ) -> "Fold":
        """The records of these rows."""
        values = table[list(schema.quasi_identifying)].iloc[train]
        return cls(rows_of(encoded, train), rows_of(encoded, test), values, schema, rules, {})

    def measure(self, grouping: str, generalizer: str, k: int) -> Measured:
        """Group, generalize, fit and judge. Trees are shared, and the time to grow one counts each time."""
        self.rules.pause()
        start = time.perf_counter()
        if grouping == ORIGINAL:
            return self.judged(Boxed.original(self.train, self.test), start)
        name, _, weight = grouping.partition(":")
        criterion = None
        if name == "blend":
            name, criterion = "least", "blend"
        recipe = recipe_of(name, k, criterion=criterion, weight=float(weight) if weight else self.rules.weight)
        grown = self.grown.get(recipe) or self.grow(recipe)
        self.rules.pause()
        steered = self.rules.significance if name == "error-digression" else None
        start = time.perf_counter()
        tree = grown.tree
        pruning = group(tree, grown.risk, self.train, name, Limits(k=k, significance=steered))
        group_of_node, leaf = pruning.group_of_node(), descend(tree, self.train)
        if generalizer == "refine":
            tree, group_of_node = median_groups(tree, group_of_node, leaf, self.train, Limits(k=k))
            leaf = descend(tree, self.train)
            parts = disjoint(group_of_node[leaf], tree.n_nodes)
        else:
            parts = GENERALIZERS[generalizer](Grouping(tree, self.train, leaf, group_of_node), k)
        self.rules.pause()
        boxes = Boxes.of(parts)
        features, losses = self.cells(boxes)
        seconds = grown.seconds + time.perf_counter() - start
        box_of_test = part_of_leaf(leaf, parts, tree)[descend(tree, self.test)]
        return self.judged(Boxed(features, losses, boxes.of_record, box_of_test, parts.part), start, seconds)

    def grow(self, recipe: Recipe) -> "Grown":
        """A tree of the training records, kept for the settings that share it."""
        start = time.perf_counter()
        tree = grow_by(recipe, self.train)
        risk = annotate(tree, self.train)
        self.grown[recipe] = Grown(tree, risk, time.perf_counter() - start)
        return self.grown[recipe]

    def cells(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """What a model sees of each box (boxes, d), and each box's NCP (boxes, p)."""
        features, losses = [], []
        for position, encoding in enumerate(self.train.encodings):
            codes = self.train.codes[:, position]
            if encoding.is_interval:
                column = self.schema[encoding.name]
                values = self.values[encoding.name]
                cells, index, _ = interval_cells(values, column, codes, encoding, boxes, self.rules.numbers)
            else:
                cells, index = level_cells(codes, encoding, boxes, self.rules.writing)
            features.append(np.array([seen(cell, encoding) for cell in cells])[index])
            losses.append(np.array([cell_ncp(cell, encoding) for cell in cells])[index])
        return np.concatenate(features, axis=1), np.column_stack(losses)

    def judged(self, boxed: "Boxed", start: float, seconds: float | None = None) -> Measured:
        """Fit models to the boxes of training records and judge them on those of test records."""
        seconds = time.perf_counter() - start if seconds is None else seconds
        self.rules.pause()
        error = rsd = linear = tree = float("nan")
        left_out = 0
        seen_by_test = boxed.features[boxed.of_test]
        if self.train.target.name:
            predicted = classify(boxed.features, boxed.of_train, self.train.target.codes, seen_by_test)
            error = float(np.mean(predicted != self.test.target.codes))
        self.rules.pause()
        if self.train.numeric is not None and self.test.numeric is not None:
            rsd = float(relative_squared_distance(self.train.numeric.values, boxed.groups).mean())
            given, true = (own_unit(side.numeric) for side in (self.train, self.test))
            predicted_by = regress(boxed.features, boxed.of_train, given, seen_by_test)
            scores = [[mape(true[:, j], predicted[:, j]) for j in range(true.shape[1])] for predicted in predicted_by]
            linear, tree = (mean_of([score for score, _ in of_model]) for of_model in scores)
            left_out = sum(zeros for _, zeros in scores[0])
        count = np.bincount(np.unique(boxed.groups, return_inverse=True)[1])
        loss = float(boxed.losses[boxed.of_train].mean()) if boxed.losses.size else 0.0
        return Measured(loss, error, rsd, linear, tree, len(count), int(count.min()), seconds, left_out)


@dataclass(frozen=True, eq=False)
class Boxed:
    """``features`` (boxes, d) and ``losses`` (boxes, p); the box of each training and test record; ``groups`` of the
    training records."""

    features: Floats
    losses: Floats
    of_train: Rows
    of_test: Rows
    groups: Rows

    @classmethod
    def original(cls, train: EncodedTable, test: EncodedTable) -> "Boxed":
        """Every record for itself; groups are equal records."""
        codes = np.concatenate([train.codes, test.codes])
        distinct, box = np.unique(codes, axis=0, return_inverse=True)
        box = box.reshape(-1).astype(np.int64)
        features = [
            np.array([seen(cell_of(code, encoding), encoding) for code in range(encoding.n_codes)])[distinct[:, j]]
            for j, encoding in enumerate(train.encodings)
        ]
        of_train, of_test = box[: train.n_records], box[train.n_records :]
        return cls(np.concatenate(features, axis=1), np.empty((0, 0)), of_train, of_test, of_train)


def part_of_leaf(leaf: NDArray[np.int32], parts: Parts, tree: Tree) -> Rows:
    """The part that most training records of each leaf belong to (tie: the lower), (m,); where a test record goes."""
    pairs, counts = np.unique(np.column_stack([leaf, parts.part]), axis=0, return_counts=True)
    order = np.lexsort((-pairs[:, 1], counts, pairs[:, 0]))  # the last of each leaf wins
    found = np.full(tree.n_nodes, -1, dtype=np.int64)
    found[pairs[order, 0]] = pairs[order, 1]
    return found


def own_unit(numeric: Any) -> Floats:
    """Numeric sensitive values in their own unit, (n, r); what scaling and back made of a 0 is a 0 again."""
    values = numeric.low + numeric.width * (numeric.values + numeric.centre)
    return np.where(np.abs(values) < 1e-9 * numeric.width, 0.0, values)


def mean_of(values: Sequence[float]) -> float:
    """The mean of the values that are not NaN; NaN when all are."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
