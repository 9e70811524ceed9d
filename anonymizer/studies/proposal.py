"""Whether a tree that the target guides serves a model better: asked of people set aside, and only ever proposed.

In each fold the groups of both trees are made of the training records, one model is learnt from each release, and asked
of the others' records as they are. The model: a forest of 100 trees with five records in a leaf, of what a reader sees
of each cell.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import AnonymizerError, CancelledError, Progress, no_progress
from anonymizer.flow import Flow
from anonymizer.groups.detail import DETAIL
from anonymizer.groups.recipe import natural_criterion, natural_grouping
from anonymizer.growing.encode import EncodedTable, rows_of
from anonymizer.measuring.boxed import BoxedTable
from anonymizer.measuring.members import class_shares, few_rows, owners_of, seed_for
from anonymizer.measuring.predict import accuracy
from anonymizer.studies.folds import folds_of, own_unit, target_number

FOLDS = 5
TREES = 100
LEAST = 0.01
"""A gain below this is none, whatever its error."""

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Proposal:
    """What a tree guided by the target would bring, and its price; differences are guided less blind.

    ``measure``: "AUC" of classes, "R²" of numbers; ``gain``: its mean difference over folds, and ``error``, the
    standard error of that mean; ``lost``: by what share more detail is lost (GCP); ``guessed``: the difference in
    the share of rows of the release whose class is the likeliest of their look-alikes, ``None`` of numbers.
    ``settings``: what makes it.
    """

    measure: str
    gain: float
    error: float
    lost: float
    guessed: float | None
    settings: dict[str, Any]

    @property
    def pays(self) -> bool:
        """True when the gain is more than :data:`LEAST`, and more than two of its standard errors."""
        return self.gain > LEAST and self.gain > 2 * self.error

    @property
    def sentence(self) -> str:
        """The gain and its price, in a sentence."""
        points = f"{'gain' if self.gain >= 0 else 'lose'} {abs(100 * self.gain):.1f} points of {self.measure}"
        detail = f"{abs(self.lost):.0%} {'more' if self.lost >= 0 else 'less'} detail would be lost."
        if self.guessed is not None:
            direction = "more" if self.guessed >= 0 else "less"
            detail += f" Rows in it would be guessed right {abs(100 * self.guessed):.0f} points {direction} often."
        return f"If the target guided the tree, a model learnt from the release would {points}. {detail}"


def propose(flow: Flow, progress: Progress = no_progress) -> Proposal | None:
    """Return what guiding the tree of a flow by its target would bring, by :data:`FOLDS` folds of its records, of at
    most 20,000 where each is a person; ``None`` without a target, and where a fold makes no groups. ``progress`` may
    end the work by raising."""
    encoded, schema = flow.encoded, flow.schema
    by_numbers = encoded.by_numbers
    if schema.target is None or (not by_numbers and encoded.target.n_classes < 2):
        return None
    seed = seed_for(flow.table)
    some = flow.rows(few_rows(encoded, seed))
    guided = {"criterion": natural_criterion(encoded), "grouping": natural_grouping(schema)}
    ways: tuple[dict[str, Any], ...] = ({"criterion": DETAIL, "grouping": None}, guided)
    scores, lost, guessed = np.empty((FOLDS, 2)), np.empty((FOLDS, 2)), np.empty((FOLDS, 2))
    score = of_numbers if by_numbers else of_classes
    try:
        for fold, (train, test) in enumerate(folds(some.encoded, seed % 2**32)):
            for way, settings in enumerate(ways):
                done, what = (2 * fold + way) / (2 * FOLDS), f"Fold {fold + 1} of {FOLDS}"
                go_on = partial(_report, progress, done, what)
                go_on(0.0)
                made = some.rows(train).but(**settings, suppression=0.0)
                made.rng = np.random.default_rng(seed)
                scores[fold, way] = score(made, rows_of(some.encoded, test), go_on)
                lost[fold, way] = made.utility.gcp
                guessed[fold, way] = math.nan if by_numbers else inside(made)
    except CancelledError:
        raise
    except AnonymizerError:
        return None
    gains = scores[:, 1] - scores[:, 0]
    losses = lost.mean(axis=0)
    return Proposal(
        "R²" if by_numbers else "AUC", float(gains.mean()), float(gains.std(ddof=1) / math.sqrt(FOLDS)),
        float(losses[1] / losses[0] - 1) if losses[0] else 0.0,
        None if by_numbers else float((guessed[:, 1] - guessed[:, 0]).mean()), guided,
    )  # fmt: skip


def _report(progress: Progress, done: float, what: str, share: float) -> None:
    progress(done + share / (2 * FOLDS), what)


def folds(encoded: EncodedTable, seed: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield the training and test rows of every fold; all rows of a person are in one of them."""
    if encoded.person is None:
        yield from folds_of(encoded, FOLDS, seed)
        return
    owner = owners_of(encoded)
    for apart in np.array_split(np.random.default_rng(seed).permutation(np.unique(owner)), FOLDS):
        is_test = np.isin(owner, apart)
        yield np.flatnonzero(~is_test), np.flatnonzero(is_test)


def inside(flow: Flow) -> float:
    """Return the share of rows of a release whose class is the likeliest of their look-alikes."""
    classes = np.asarray(flow.encoded.target.codes, np.int64)
    shares = class_shares(classes, flow.class_of, flow.encoded.target.n_classes)
    return float((shares.argmax(axis=1)[flow.class_of] == classes).mean())


def of_classes(flow: Flow, test: EncodedTable, go_on: Callable[[float], None] = lambda share: None) -> float:
    """Return the AUC of the model learnt from a release, on records as they are: of more than two classes the mean of
    each against the others, weighted by their records. ``go_on``: see :func:`learn`."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    classes = flow.encoded.target.codes
    model = learn(RandomForestClassifier, flow, classes, go_on)
    levels, truth = model.classes_, test.target.codes
    shares = model.predict_proba(as_they_are(test))
    figures, weights = [], []
    for place, one in enumerate(levels):
        there = truth == one
        if 0 < there.sum() < len(truth):
            figures.append(roc_auc_score(there, shares[:, place]))
            weights.append(there.sum())
    if len(levels) == 2:
        return float(figures[0]) if figures else 0.5
    return float(np.average(figures, weights=weights)) if figures else 0.5


def of_numbers(flow: Flow, test: EncodedTable, go_on: Callable[[float], None] = lambda share: None) -> float:
    """Return the R² of the model learnt from a release, on records as they are. ``go_on``: see :func:`learn`."""
    from sklearn.ensemble import RandomForestRegressor

    assert flow.encoded.numeric is not None
    assert test.numeric is not None
    at = target_number(test.numeric, flow.schema.target)
    model = learn(RandomForestRegressor, flow, own_unit(flow.encoded.numeric)[:, at], go_on)
    return accuracy(own_unit(test.numeric)[:, at], model.predict(as_they_are(test))).r2


def learn(
    kind: Callable[..., Any], flow: Flow, values: NDArray[Any], go_on: Callable[[float], None] = lambda share: None
) -> Any:
    """Return a model of this kind, learnt from the records in their boxes. ``go_on`` is told the share that is done,
    often, and may end the work by raising."""
    boxed = flow.boxed
    features, model = boxed.features()[boxed.box], kind(min_samples_leaf=5, random_state=0, warm_start=True)
    for n_trees in range(5, TREES + 1, 5):
        go_on(n_trees / TREES)
        model.set_params(n_estimators=n_trees).fit(features, values)
    return model


def as_they_are(records: EncodedTable) -> Floats:
    """Return what a model sees of records that are not released (n, d)."""
    exact = BoxedTable.of_records(records)
    return exact.features()[exact.box]
