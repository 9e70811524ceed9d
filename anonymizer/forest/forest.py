"""A private decision forest: what a steward can publish instead of a table.

:func:`grow_forest` takes a table in the codes of public domains and a budget, and returns noisy trees and the ledger of
what they cost. Neighbouring tables differ by one record added or removed; replacing a record costs twice as much.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import ParameterError, Progress, no_progress
from anonymizer.forest import growth as forest_growth
from anonymizer.forest.domains import CodedTable, Domains, code_attributes
from anonymizer.forest.growth import Plan, grow_trees
from anonymizer.forest.mechanisms import Budget, Ledger, Noise, RehearsalNoise, SecureNoise, coins
from anonymizer.forest.model import Model
from anonymizer.forest.nodes import NoisyNode
from anonymizer.forest.scorecard import score

ONE_ROW = (
    "The promise is about one row, and rows with equal {person} are one person's here. Of somebody with 10 rows, ten "
    "times β can be learnt. Use a table with one row of each person."
)
"""What somebody must know whose table has several rows of a person; ``person``: the column that tells."""

NEIGHBOURS = "Neighbouring tables differ by one row added or removed; replacing a row costs twice as much."
DEEPEST = 30


@dataclass(frozen=True)
class Mode:
    """One way to learn. ``private``: ``True`` where its claim holds; ``guarantee``: its promise, in words.

    ``grow`` spends what is left of the budget. ``trees``: whether the number of trees and their depth matter.
    """

    title: str
    private: bool
    guarantee: str
    grow: Callable[[CodedTable, Budget, Noise, Plan], Model]
    trees: bool = True


_PROVED = "β-differentially private: what anybody concludes is at most e^β times likelier with a person's row than "
_PROVED += "without it."

MODES: dict[str, Mode] = {
    "strict": Mode(
        "Strict: a private tree (recommended)", True, _PROVED, partial(grow_trees, grow=forest_growth.strict)
    ),
    "scorecard": Mode(
        "Scorecard: points for every value, which add up",
        True,
        _PROVED + " Points of every column are added up instead of asking one question after another.",
        score,
        trees=False,
    ),
    "paper-strict": Mode(
        "Fletcher and Islam's algorithm, corrected",
        True,
        _PROVED + " The paper's algorithm with a choice of attributes whose sensitivity holds for every table.",
        partial(grow_trees, grow=forest_growth.paper_strict, prunes=True),
    ),
    "diffpid3-weighted": Mode(
        "Private ID3 with count-weighted Gini (its authors' reading)",
        True,
        _PROVED + " An older single tree, for comparison.",
        partial(grow_trees, grow=partial(forest_growth.diffpid3, weighted=True)),
    ),
    "diffpid3": Mode(
        "Private ID3 with normalized Gini (Fletcher and Islam's reading)",
        True,
        _PROVED + " An older single tree, for comparison; the weakest of all.",
        partial(grow_trees, grow=partial(forest_growth.diffpid3, weighted=False)),
    ),
    "paper": Mode(
        "Fletcher and Islam's algorithm as printed (NOT private)",
        False,
        "NOT differentially private, for any β. The noise of each choice is scaled by the noisy number of rows; a "
        "small group that noise makes look large loses far more than it was charged for, without any limit. "
        "Our audits found an ε of at least 0.12 to 1.09, by the number of classes, where 0.1 was claimed. "
        "It is here to be compared with. Do not publish what it makes.",
        partial(grow_trees, grow=forest_growth.paper, prunes=True),
    ),
}
"""The modes, the recommended one first."""


@dataclass(frozen=True, eq=False)
class Forest:
    """What a mode learnt over public domains, noisy trees or a scorecard, and what it cost.

    ``rehearsal``: made with repeatable noise: never to be released.
    """

    mode: str
    domains: Domains
    model: Model
    ledger: Ledger
    rehearsal: bool

    @property
    def trees(self) -> tuple[NoisyNode, ...]:
        """The trees; none where the model is a scorecard."""
        return self.model.trees

    @property
    def epsilon(self) -> float:
        """The privacy budget β."""
        return self.ledger.budget

    @property
    def private(self) -> bool:
        """``True`` where the forest as a whole is private: mode proved, noise secure, domains public."""
        return MODES[self.mode].private and not self.rehearsal and not self.domains.read_from_data

    @property
    def lesson(self) -> str:
        """What was learnt, how it is applied, and whether it tells people apart at all."""
        words = f"{self.model.title}. {self.model.reading}"
        if self.model.always is None:
            return words
        label = self.domains.target.text(self.model.always)
        return f"{words} It predicts {label!r} for everybody, so it says no more than a majority would."

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences that a reader of this forest must know, worst first; empty when its guarantee covers everything."""
        sentences = []
        if not MODES[self.mode].private:
            sentences.append(MODES[self.mode].guarantee)
        if self.rehearsal:
            sentences.append("A rehearsal: the noise was repeatable, so nothing here is private. Do not publish it.")
        if self.domains.warning:
            sentences.append(self.domains.warning)
        return tuple(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, JSON-ready: mode, guarantee, neighbours, budget, ledger, domains, warnings; no
        rules.
        """
        return {
            "mode": self.mode,
            "private": self.private,
            "guarantee": MODES[self.mode].guarantee,
            "neighbours": NEIGHBOURS,
            "warnings": list(self.warnings),
            "epsilon": self.epsilon,
            "spent": self.ledger.spent,
            "model": self.model.title,
            "how_to_apply": self.model.reading,
            "predicts_for_everybody": None
            if self.model.always is None
            else self.domains.target.text(self.model.always),
            **self.model.to_dict(),
            "target": self.domains.target.name,
            "domains": self.domains.to_dict(),
            "ledger": self.ledger.to_dict(),
        }


def grow_forest(
    table: CodedTable,
    epsilon: float,
    *,
    mode: str = "strict",
    n_trees: int = 1,
    max_depth: int = 5,
    min_size: float = 100,
    pruning: str | None = "line-42",
    noise: Noise | None = None,
    budget: Budget | None = None,
    progress: Progress = no_progress,
) -> Forest:
    """Return a forest that costs ``epsilon`` (the papers' β), shared equally by its trees.

    ``mode``: a key of :data:`MODES`. ``n_trees``: τ; each tree has another attribute at its root. ``max_depth``: δ,
    most nodes on a path. ``min_size``: fewest noisy records of a node that is divided (F15: 100; ``strict`` has a
    rule of its own). ``pruning``: ``line-42``, ``equation-27`` or ``None``, in the modes that prune. ``noise``: by
    default OpenDP's; anything else makes a rehearsal. ``budget``: one of ``epsilon`` that has paid for
    something already (cut points); the trees share what is left. ``progress`` is called before every question; what it
    raises ends the work, and what was asked stays spent.

    Raises :class:`ParameterError` for parameters outside these bounds.
    """
    require_growth(table.domains, mode, n_trees, max_depth)
    source: Noise = noise or SecureNoise()
    account = budget or Budget(epsilon)
    if account.limit != epsilon:
        raise ParameterError(f"The budget that was opened is {account.limit:g}, not {epsilon:g}.")
    model = MODES[mode].grow(table, account, source, Plan(max_depth, min_size, n_trees, pruning, progress=progress))
    return Forest(mode, table.domains, model, account.ledger(), source.rehearsal)


def require_growth(domains: Domains, mode: str = "strict", n_trees: int = 1, max_depth: int = 5) -> None:
    """Raise :class:`ParameterError` when no forest can be grown so over these domains: no row is looked at."""
    if mode not in MODES:
        raise ParameterError(f"There is no mode {mode!r}.", remedy=f"Choose one of {', '.join(MODES)}.")
    n_attributes = len(domains.attributes)
    if not 1 <= n_trees <= n_attributes:
        raise ParameterError(
            f"{n_trees} trees cannot each have another of {n_attributes} attributes at their root.",
            remedy=f"Choose 1 to {n_attributes} trees.",
        )
    if not 1 <= max_depth <= DEEPEST:
        raise ParameterError(f"The depth must be 1 to {DEEPEST}, not {max_depth}.", remedy="5 is usual.")


def class_shares_of(forest: Forest, codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return (n, c) how much speaks for each class, summing to 1; ``codes`` (n, p)."""
    return forest.model.shares(codes)


def predict(forest: Forest, codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return (n,) the class that the forest predicts for each record (tie: the first class)."""
    return np.asarray(class_shares_of(forest, codes).argmax(axis=1))


def predict_records(forest: Forest, records: pd.DataFrame) -> pd.DataFrame:
    """Return the predicted class of new records and its share of the votes, one row a record."""
    shares = class_shares_of(forest, code_attributes(records, forest.domains))
    labels = [forest.domains.target.text(int(code)) for code in shares.argmax(axis=1)]
    return pd.DataFrame({"class": labels, "confidence": shares.max(axis=1)})


# Accuracy.


def rehearsed_accuracy(
    table: CodedTable, epsilon: float, *, folds: int = 10, repeats: int = 1, seed: int = 0, **parameters: Any
) -> NDArray[np.float64]:
    """Return (repeats · folds,) accuracy under stratified cross-validation with repeatable noise.

    **A rehearsal**: the figures themselves are not private. Use a public table, or keep them to yourself.
    """
    from sklearn.model_selection import StratifiedKFold

    smallest = int(np.bincount(table.classes, minlength=1).max())
    if not 2 <= folds <= max(smallest, 1):
        raise ParameterError(f"{folds} folds cannot be made of this table.", remedy="Choose from 2 to 10 folds.")
    import warnings

    scores = []
    for repeat in range(repeats):
        split = StratifiedKFold(folds, shuffle=True, random_state=seed + repeat)
        with warnings.catch_warnings():  # classes with fewer records than folds are simply absent from some
            warnings.simplefilter("ignore", UserWarning)
            parts = list(split.split(table.codes, table.classes))
        for fold, (train, test) in enumerate(parts):
            noise = RehearsalNoise(np.random.default_rng([seed, repeat, fold]))
            forest = grow_forest(table.part(train), epsilon, noise=noise, **parameters)
            scores.append(float((predict(forest, table.codes[test]) == table.classes[test]).mean()))
    return np.array(scores)


@dataclass(frozen=True, eq=False)
class Measurement:
    """A private forest and a private estimate of its accuracy, ``right`` and ``wrong`` being noisy counts.

    ``ledger``: of both together. ``margin``: half the width of the 95% interval that the counting noise alone gives.
    """

    forest: Forest
    accuracy: float
    margin: float
    right: float
    wrong: float
    ledger: Ledger


def grow_and_measure(
    table: CodedTable, epsilon: float, *, test_share: float = 0.2, noise: Noise | None = None, **parameters: Any
) -> Measurement:
    """Return a forest of a random part of the records and its accuracy on the others, privately: both for β together.

    A coin of its own puts each record into the test, whatever the table, so one record serves either the forest or
    the measurement: the costs do not add up (parallel composition). The price is a forest grown from fewer records.
    """
    if not 0 < test_share < 1:
        raise ParameterError("The held-out share must lie between 0 and 1.", remedy="0.2 is usual.")
    source: Noise = noise or SecureNoise()
    out = coins(source, table.n_records, test_share)
    forest = grow_forest(table.part(np.flatnonzero(~out)), epsilon, noise=source, **parameters)
    test = table.part(np.flatnonzero(out))
    hits = int((predict(forest, test.codes) == test.classes).sum())
    budget = Budget(epsilon)
    budget.branch().spend(epsilon, "count right and wrong predictions")
    answer = source.discrete_laplace(np.array([hits, test.n_records - hits]), epsilon)
    right, wrong = np.maximum(answer, 0)
    total = right + wrong
    accuracy = float(right / total) if total > 0 else math.nan
    margin = 3 / epsilon / total if total > 0 else math.nan  # P(|Laplace| > 3/ε) = 5%, and shares lie in [0, 1]
    return Measurement(forest, accuracy, float(margin), float(answer[0]), float(answer[1]), budget.ledger())
