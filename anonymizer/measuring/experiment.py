"""Cross-validated comparison of groupings and generalizers, as Y19 and L14 report it.

Each fold is left out in turn. The tree is grown and pruned on the training records only; a test record is routed
through that tree and takes the cells of the training records it meets there. A model is fitted to the generalized
training records and judged on the generalized test records: see :mod:`anonymizer.measuring.predict`.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import Cancelled, CancelledError, ParameterError, Progress
from anonymizer.groups.recipe import Recipe
from anonymizer.growing.encode import EncodedTable, rows_of
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Tree
from anonymizer.measuring.predict import Floats, Rows, cell_of, classify, features_of, regress
from anonymizer.measuring.utility import cell_ncp, mape, relative_squared_distance
from anonymizer.releasing.boxes import Boxes, interval_cells, level_cells
from anonymizer.releasing.generalize import check_choices, divide
from anonymizer.releasing.tiers import Parts
from anonymizer.settings import SETTINGS, Settings, names_of, setting_names

if TYPE_CHECKING:
    from anonymizer.flow import Flow

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

UNTOUCHED, GENERALIZED, BLENDED, FIXED = 2e-6, 6e-7, 2.5e-6, 0.02
"""Seconds a cell of the quasi-identifiers: to judge the original records, or a setting; to grow a blended tree. And
seconds of a setting in a fold, whatever the size of the table."""


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
        """Return the mean over folds (of seconds the median: the first fold may compile), NaN where it means
        nothing."""
        values = self.measured[measure]
        middle = np.nanmedian if measure == "seconds" else np.nanmean
        return float(middle(values)) if np.isfinite(values).any() else float("nan")


def all_groupings() -> tuple[str, ...]:
    """Return the ways to make groups: prunings of the grown tree, the baselines, and blended trees with at least k
    records a leaf; "blend:0.2" is a blend of that weight."""
    return (*names_of("grouping"), "blend")


def settings_of(grouping: str, generalizer: str, k: int) -> dict[str, Any]:
    """Return the settings that a grouping of :func:`all_groupings`, a generalizer and k stand for."""
    name, _, weight = grouping.partition(":")
    settings = {setting: SETTINGS[setting].default for setting in setting_names("tree") if setting != "weight"}
    settings |= {"grouping": "least" if name == "blend" else name, "generalizer": generalizer, "k": k}
    if name == "blend":
        settings["criterion"] = "blend"
    if weight:
        settings["weight"] = float(weight)
    return settings


def evaluate(
    flow: "Flow",
    *,
    folds: int = 10,
    ks: Sequence[int] = (10, 20, 30),
    groupings: Sequence[str] = (),
    generalizers: Sequence[str] = ("uniform", "pack"),
    run: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> tuple[Outcome, ...]:
    """Return every grouping with every generalizer at every k, and the original records first.

    ``flow``: the table, and the settings that all of these share: ``writing``, ``numbers``, ``weight`` of blended trees
    that do not name one, limits beside k (``significance`` for error-digression only). ``groupings``: of
    :func:`all_groupings`, by default the flow's and median Mondrian; ``generalizers``: as in a :class:`Settings`.
    ``run``: folds to run, all by default. ``sample``: only so many records, drawn at random, take part. ``seed``: of
    the sample and of the folds, which are stratified by a categorical target. ``progress``: called with a share from 0
    to 1 and what is done; ``cancelled``: asked before each step of a setting; if so, complete folds are returned.

    Raises :class:`ParameterError` for unknown names, impossible numbers, or a grouping that does not fit the target,
    and :class:`GuaranteeError` for a limit that the training records of a fold cannot keep.
    """
    n = len(flow.table) if sample is None else min(sample, len(flow.table))
    groupings = groupings or (flow.grouping, "median-mondrian")
    check_settings(flow.settings, groupings, generalizers, ks, folds, run, n)
    if n < len(flow.table):
        flow = flow.rows(np.sort(np.random.default_rng(seed).permutation(len(flow.table))[:n]))
    tries = [(grouping, generalizer, k) for k in ks for grouping in groupings for generalizer in generalizers]
    settings = [(ORIGINAL, "none", 1), *tries]
    figures: dict[tuple[str, str, int], list[Measured]] = {setting: [] for setting in settings}
    pairs = list(folds_of(flow.encoded, folds, seed))[:run]
    for number, (train, test) in enumerate(pairs):
        fold = Fold.of(flow, train, test, cancelled, seed)
        of_fold = []
        for place, setting in enumerate(settings):
            if progress is not None:
                share = (number * len(settings) + place) / (len(pairs) * len(settings))
                what = "the original records" if place == 0 else f"{setting[0]}, {setting[1]}, k = {setting[2]}"
                progress(share, f"Fold {number + 1} of {len(pairs)}: {what}")
            try:
                of_fold.append(fold.measure(*setting))
            except CancelledError:
                return outcomes(figures)
        for setting, measured in zip(settings, of_fold, strict=True):
            figures[setting].append(measured)
    return outcomes(figures)


class Pause(NamedTuple):
    """A moment between steps at which an evaluation can be stopped."""

    cancelled: Cancelled | None

    def __call__(self) -> None:
        """Raise :class:`CancelledError` when the evaluation was cancelled."""
        if self.cancelled is not None and self.cancelled():
            raise CancelledError("The evaluation was stopped.")


class Growth(NamedTuple):
    """The flow of a tree, whose scores are there, and the seconds that both took."""

    flow: "Flow"
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


def outcomes(by_setting: dict[tuple[str, str, int], list[Measured]]) -> tuple[Outcome, ...]:
    """Return the outcome of each setting over its folds; nothing when no fold is complete."""
    return tuple(
        Outcome(
            *setting,
            measured={name: np.array([getattr(figures, name) for figures in measured]) for name in MEASURES},
            left_out=sum(figures.left_out for figures in measured),
        )
        for setting, measured in by_setting.items()
        if measured
    )


def check_settings(
    settings: Settings,
    groupings: Sequence[str],
    generalizers: Sequence[str],
    ks: Sequence[int],
    folds: int,
    run: int | None,
    n: int,
) -> None:
    """Raise :class:`ParameterError` for what cannot be evaluated."""
    for grouping in groupings:
        name, _, weight = grouping.partition(":")
        if name not in all_groupings() or (weight and not (name == "blend" and is_share(weight))):
            raise ParameterError(
                f"There is no grouping {grouping!r}.",
                value=grouping,
                remedy=f"Choose among {', '.join(all_groupings())}.",
            )
    for generalizer in generalizers:
        check_choices(generalizer, settings.writing, settings.numbers)
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
    """Return about how many seconds :func:`evaluate` takes on two cores, once compiled, from the cost of a cell
    measured on Adult."""
    trees = sum(BLENDED if grouping.startswith("blend") else 0.0 for grouping in groupings) * len(ks)
    settings = len(groupings) * len(generalizers) * len(ks)
    return folds * (records * columns * (UNTOUCHED + trees + GENERALIZED * settings) + FIXED * (settings + 1))


def is_share(text: str) -> bool:
    """Return whether a text is a number from 0 to 1."""
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def folds_of(encoded: EncodedTable, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    """Return the training and test rows of every fold, stratified by the classes of the target when all can be in every
    fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    classes = encoded.target.codes
    counts = np.bincount(classes)
    rare = counts[counts > 0].min() < folds
    splitter = (KFold if rare else StratifiedKFold)(folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(np.zeros((len(classes), 1)), classes):
        yield train.astype(np.int64), test.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Fold:
    """Training records as a flow, and test records in the same encoding. ``growths``: trees that several settings
    share, by recipe, filled as needed."""

    train: "Flow"
    test: EncodedTable
    pause: Pause
    growths: dict[Recipe, Growth]
    seed: int

    @classmethod
    def of(cls, flow: "Flow", train: Rows, test: Rows, cancelled: Cancelled | None = None, seed: int = 0) -> "Fold":
        """Return the fold of these rows. ``seed``: of what stands for the secret of packing."""
        return cls(flow.rows(train), rows_of(flow.encoded, test), Pause(cancelled), {}, seed)

    def measure(self, grouping: str, generalizer: str, k: int) -> Measured:
        """Return the figures of one setting. Trees are shared, and the time to grow one counts each time."""
        self.pause()
        start = time.perf_counter()
        if grouping == ORIGINAL:
            return self.judge(Boxed.original(self.train.encoded, self.test), start)
        significance = self.train.settings.significance if grouping == "error-digression" else None
        growth = self.growth(self.train.but(**settings_of(grouping, generalizer, k) | {"significance": significance}))
        self.pause()
        start = time.perf_counter()
        flow = growth.flow
        flow.require_limits()
        limits = flow.limits.but(significance=None)
        rng = np.random.default_rng(self.seed)
        parts = divide(flow.encoded, flow.pruning, generalizer, k, limits=limits, leaf=flow.leaf, rng=rng)
        self.pause()
        boxes = Boxes.of(parts)
        features, losses = self.cells(boxes)
        seconds = growth.seconds + time.perf_counter() - start
        tree, leaf = (flow.tree, flow.leaf) if parts.tree is None or parts.leaf is None else (parts.tree, parts.leaf)
        box_of_test = part_of_leaf(leaf, parts, tree)[descend(tree, self.test)]
        return self.judge(Boxed(features, losses, boxes.of_record, box_of_test, parts.part), start, seconds)

    def growth(self, flow: "Flow") -> Growth:
        """Return this flow with a tree that is shared by all of its recipe, and the seconds to grow and score it."""
        if flow.recipe not in self.growths:
            start = time.perf_counter()
            _ = flow.tree, flow.risk
            self.growths[flow.recipe] = Growth(flow, time.perf_counter() - start)
        first = self.growths[flow.recipe]
        return Growth(first.flow.but(**flow.settings), first.seconds)

    def cells(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """Return what a model sees of each box (boxes, d), and each box's NCP (boxes, p)."""
        features, losses = [], []
        flow, encoded = self.train, self.train.encoded
        for position, encoding in enumerate(encoded.encodings):
            codes, name = encoded.codes[:, position], encoding.name
            if encoding.is_interval:
                cells, index, _ = interval_cells(
                    flow.table[name], flow.schema[name], codes, encoding, boxes, flow.settings.numbers
                )
            else:
                cells, index = level_cells(codes, encoding, boxes, flow.settings.writing)
            features.append(np.array([features_of(cell, encoding) for cell in cells])[index])
            losses.append(np.array([cell_ncp(cell, encoding) for cell in cells])[index])
        return np.concatenate(features, axis=1), np.column_stack(losses)

    def judge(self, boxed: "Boxed", start: float, seconds: float | None = None) -> Measured:
        """Return the figures of models that are fitted to the boxes of training records and judged on those of test
        records."""
        seconds = time.perf_counter() - start if seconds is None else seconds
        self.pause()
        error = rsd = linear = tree = float("nan")
        train = self.train.encoded
        left_out = 0
        seen_by_test = boxed.features[boxed.of_test]
        if train.target.name:
            predicted = classify(boxed.features, boxed.of_train, train.target.codes, seen_by_test)
            error = float(np.mean(predicted != self.test.target.codes))
        self.pause()
        if train.numeric is not None and self.test.numeric is not None:
            rsd = float(relative_squared_distance(train.numeric.values, boxed.groups).mean())
            train_values, test_values = (own_unit(side.numeric) for side in (train, self.test))
            predicted_by = regress(boxed.features, boxed.of_train, train_values, seen_by_test)
            scores = [
                [mape(test_values[:, j], predicted[:, j]) for j in range(test_values.shape[1])]
                for predicted in predicted_by
            ]
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
        """Return every record for itself; groups are equal records."""
        codes = np.concatenate([train.codes, test.codes])
        distinct, box = np.unique(codes, axis=0, return_inverse=True)
        box = box.reshape(-1).astype(np.int64)
        features = [
            np.array([features_of(cell_of(code, encoding), encoding) for code in range(encoding.n_codes)])[
                distinct[:, j]
            ]
            for j, encoding in enumerate(train.encodings)
        ]
        of_train, of_test = box[: train.n_records], box[train.n_records :]
        return cls(np.concatenate(features, axis=1), np.empty((0, 0)), of_train, of_test, of_train)


def part_of_leaf(leaf: NDArray[np.int32], parts: Parts, tree: Tree) -> Rows:
    """Return the part that most training records of each leaf belong to (tie: the lower), (m,); where a test record
    goes."""
    pairs, counts = np.unique(np.column_stack([leaf, parts.part]), axis=0, return_counts=True)
    order = np.lexsort((-pairs[:, 1], counts, pairs[:, 0]))  # the last of each leaf wins
    part_at = np.full(tree.n_nodes, -1, dtype=np.int64)
    part_at[pairs[order, 0]] = pairs[order, 1]
    return part_at


def own_unit(numeric: Any) -> Floats:
    """Return numeric sensitive values in their own unit, (n, r); what scaling and back made of a 0 is a 0 again."""
    values = numeric.low + numeric.width * (numeric.values + numeric.centre)
    return np.where(np.abs(values) < 1e-9 * numeric.width, 0.0, values)


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of the values that are not NaN; NaN when all are."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
