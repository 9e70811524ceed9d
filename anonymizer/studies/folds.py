"""One fold of a cross-validation: training records in groups, and models learnt from their cells.

The tree is grown and pruned on the training records only. A model is fitted to their released cells and asked about the
test records in two ways: by their original values, as a recipient of the release has them; and by the cells of the
training records that each meets when it is routed through the tree, which presumes the tree.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import Cancelled, CancelledError
from anonymizer.flow import Flow
from anonymizer.groups.recipe import Recipe
from anonymizer.growing.encode import EncodedTable, rows_of
from anonymizer.growing.records import descend
from anonymizer.growing.target import NumericTarget
from anonymizer.growing.tree import Tree
from anonymizer.measuring.boxed import BoxedTable
from anonymizer.measuring.coefficients import Regression, agreement, regression_of
from anonymizer.measuring.marginals import change_of_correlations, marginals
from anonymizer.measuring.measures import FORMS, MEASURES, MODELS, ORIGINAL, mean_of, number_measure
from anonymizer.measuring.predict import Floats, Rows, accuracy, classify, regress
from anonymizer.measuring.ranges import range_counts
from anonymizer.measuring.two_way import two_way
from anonymizer.measuring.utility import mape, relative_squared_distance
from anonymizer.releasing.tiers import Parts
from anonymizer.settings import SETTINGS, setting_names

_DAY = 86_400e6


class Pause(NamedTuple):
    """A moment between steps at which an evaluation can be stopped."""

    cancelled: Cancelled | None

    def __call__(self) -> None:
        """Raise :class:`CancelledError` when the evaluation was cancelled."""
        if self.cancelled is not None and self.cancelled():
            raise CancelledError("The evaluation was stopped.")


class Growth(NamedTuple):
    """The flow of a tree, whose scores are there, and the seconds that both took."""

    flow: Flow
    seconds: float


class Measured(NamedTuple):
    """One setting in one fold: ``figures`` by the keys of :data:`anonymizer.measuring.measures.MEASURES`, the test
    values that were 0, and the generalizer that ran, which need not be the one that was asked for."""

    figures: dict[str, float]
    left_out: int
    made: str = ""


def settings_of(grouping: str, generalizer: str, k: int) -> dict[str, Any]:
    """Return the settings that a grouping of :func:`anonymizer.studies.experiment.all_groupings`, a generalizer and k
    stand for."""
    name, _, weight = grouping.partition(":")
    settings = {setting: SETTINGS[setting].default for setting in setting_names("tree") if setting != "weight"}
    settings |= {"grouping": "least" if name == "blend" else name, "generalizer": generalizer, "k": k, "suppression": 0}
    if name == "blend":
        settings["criterion"] = "blend"
    if weight:
        settings["weight"] = float(weight)
    return settings


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
    """Training records as a flow, and test records in the same encoding.

    ``raw`` (n', d): what a model sees of the test records as they are; ``regression``: that of the training records as
    they are; ``growths``: trees that several settings share, by recipe, filled as needed.
    """

    train: Flow
    test: EncodedTable
    raw: Floats
    regression: Regression | None
    pause: Pause
    growths: dict[Recipe, Growth]
    seed: int

    @classmethod
    def of(cls, flow: Flow, train: Rows, test: Rows, cancelled: Cancelled | None = None, seed: int = 0) -> "Fold":
        """Return the fold of these rows. ``seed``: of what stands for the secret of packing."""
        records, others = flow.rows(train), rows_of(flow.encoded, test)
        exact = BoxedTable.of_records(others)
        regression = regression_of(records.encoded, flow.schema.target)
        return cls(records, others, exact.features()[exact.box], regression, Pause(cancelled), {}, seed)

    def measure(self, grouping: str, generalizer: str, k: int) -> Measured:
        """Return the figures of one setting. Trees are shared, and the time to grow one counts each time."""
        self.pause()
        start = time.perf_counter()
        if grouping == ORIGINAL:
            exact = BoxedTable.of_records(self.train.encoded)
            return self.judge(exact, exact.features(), self.raw, exact.box, time.perf_counter() - start)
        significance = self.train.settings.significance if grouping == "error-digression" else None
        growth = self.growth(self.train.but(**settings_of(grouping, generalizer, k) | {"significance": significance}))
        self.pause()
        start = time.perf_counter()
        flow = growth.flow
        flow.rng = np.random.default_rng(self.seed)
        parts = flow.parts
        self.pause()
        boxed = flow.boxed
        seconds = growth.seconds + time.perf_counter() - start
        tree, leaf = (flow.tree, flow.leaf) if parts.tree is None or parts.leaf is None else (parts.tree, parts.leaf)
        features, box_of_part = boxed.features(), np.zeros(parts.part.max() + 1, np.int64)
        box_of_part[parts.part] = boxed.box
        box_of_test = box_of_part[part_of_leaf(leaf, parts, tree)[descend(tree, self.test)]]
        figures = self.judge(boxed, features, features[box_of_test], parts.part, seconds)
        return figures._replace(made=parts.made.method)

    def growth(self, flow: Flow) -> Growth:
        """Return this flow with a tree that is shared by all of its recipe, and the seconds to grow and score it."""
        if flow.recipe not in self.growths:
            start, flow.rng = time.perf_counter(), np.random.default_rng(self.seed)
            _ = flow.tree, flow.risk
            self.growths[flow.recipe] = Growth(flow, time.perf_counter() - start)
        first = self.growths[flow.recipe]
        return Growth(first.flow.but(**flow.settings), first.seconds)

    def judge(self, boxed: BoxedTable, features: Floats, boxes: Floats, groups: Rows, seconds: float) -> Measured:
        """Return the figures of training records in boxes, and of models that are fitted to these.

        ``features`` (boxes, d): what a model sees of each box, and ``boxes`` (n', d) of each test record in its box;
        ``groups`` (n,): of the training records.
        """
        train, test = self.train.encoded, self.test
        figures = dict.fromkeys(MEASURES, float("nan"))
        count = np.bincount(np.unique(groups, return_inverse=True)[1])
        figures |= {"groups": len(count), "smallest": int(count.min()), "seconds": seconds}
        figures["gcp"] = float(boxed.losses()[boxed.box].mean())
        if (change := two_way(train, boxed).mean) is not None:
            figures["two_way"] = change
        if (counts := range_counts(train, boxed)) is not None:
            figures["ranges"] = counts.error
        figures |= {**marginals(train, boxed)._asdict(), "correlations": change_of_correlations(train, boxed)}
        self.pause()
        if self.regression is not None:
            figures["coefficients"] = agreement(self.regression, boxed).share
            self.pause()
        questions = np.concatenate([self.raw, boxes])
        forms = dict(zip(FORMS, (slice(test.n_records), slice(test.n_records, None)), strict=True))
        if train.target.name:
            classes = classify(features, boxed.box, train.target.codes, questions)
            figures |= {
                f"error_{form}": float(np.mean(classes[rows] != test.target.codes)) for form, rows in forms.items()
            }
            self.pause()
        left_out = 0
        if train.numeric is not None and test.numeric is not None:
            figures["rsd"] = float(relative_squared_distance(train.numeric.values, groups).mean())
            truth = own_unit(test.numeric)
            models = zip(MODELS, regress(features, boxed.box, own_unit(train.numeric), questions), strict=True)
            target = target_number(test.numeric, self.train.schema.target)
            for model, numbers in models:
                for form, rows in forms.items():
                    figures |= {
                        number_measure(figure, model, form): value
                        for figure, value in number_figures(truth, numbers[rows], target).items()
                    }
            left_out = int((truth == 0).sum())
        return Measured(figures, left_out)


def number_figures(truth: Floats, numbers: Floats, target: int) -> dict[str, float]:
    """Return the figures of :data:`anonymizer.measuring.measures.OF_NUMBERS`: MAPE the mean over the columns of both
    arrays (n', r), the others of column ``target``."""
    shares = [mape(truth[:, column], numbers[:, column])[0] for column in range(truth.shape[1])]
    return {"mape": mean_of(shares), **accuracy(truth[:, target], numbers[:, target])._asdict()}


def target_number(numeric: NumericTarget, target: str | None) -> int:
    """Return the position of the target among the numeric sensitive columns; the first, where it is none of them."""
    return numeric.names.index(target) if target in numeric.names else 0


def part_of_leaf(leaf: NDArray[np.int32], parts: Parts, tree: Tree) -> Rows:
    """Return the part that most training records of each leaf belong to (tie: the lower), (m,); where a test record
    goes."""
    pairs, counts = np.unique(np.column_stack([leaf, parts.part]), axis=0, return_counts=True)
    order = np.lexsort((-pairs[:, 1], counts, pairs[:, 0]))  # the last of each leaf wins
    part_at = np.full(tree.n_nodes, -1, dtype=np.int64)
    part_at[pairs[order, 0]] = pairs[order, 1]
    return part_at


def own_unit(numeric: NumericTarget) -> Floats:
    """Return numeric sensitive values in their own unit, dates in days, (n, r); what scaling and back made of a 0 is a
    0 again."""
    values = numeric.low + numeric.width * (numeric.values + numeric.centre)
    values = np.where(np.abs(values) < 1e-9 * numeric.width, 0.0, values)
    return values / np.where([name in numeric.dates for name in numeric.names], _DAY, 1.0)
