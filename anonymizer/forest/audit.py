"""Trying to refute a privacy claim: many runs on two neighbouring tables, and what their answers give away.

If a mode is ε-private, no event can be more than e^ε times likelier on one table than on the other. An audit looks for
the event that tells the tables apart best (in the first half of the runs), counts it in the second half, and gives a
lower bound on ε by Clopper and Pearson's exact limits. It can refute a claim; it cannot prove one.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError, Progress
from anonymizer.forest.domains import Attribute, CodedTable, Domains
from anonymizer.forest.forest import Forest, grow_forest
from anonymizer.forest.growth import Counts, Floats
from anonymizer.forest.mechanisms import Noise, RehearsalNoise, SecureNoise, selection_shares

Answer = TypeVar("Answer")


@dataclass(eq=False)
class Recorder:
    """Noise that keeps what it answered, in ``answers``."""

    source: Noise
    answers: list[Any] = field(default_factory=list)

    @property
    def rehearsal(self) -> bool:
        return self.source.rehearsal

    def laplace(self, counts: Counts, epsilon: float) -> Floats:
        return self._keep(self.source.laplace(counts, epsilon))

    def discrete_laplace(self, counts: Counts, epsilon: float) -> Floats:
        return self._keep(self.source.discrete_laplace(counts, epsilon))

    def exponential(self, scores: Sequence[float], epsilon: float, sensitivity: float) -> int:
        return self._keep(self.source.exponential(scores, epsilon, sensitivity))

    def noisy_max(self, scores: Sequence[int], epsilon: float, sensitivity: int) -> int:
        return self._keep(self.source.noisy_max(scores, epsilon, sensitivity))

    def _keep(self, answer: Answer) -> Answer:
        self.answers.append(answer)
        return answer


@dataclass(eq=False)
class Replay:
    """The same answers again, on another table: ``log`` adds up how likely each would have been there.

    Exact but for a constant, and for :meth:`noisy_max` nearly so.
    """

    answers: Iterator[Any]
    log: float = 0.0
    rehearsal: bool = True

    def laplace(self, counts: Counts, epsilon: float) -> Floats:
        answer: Floats = next(self.answers)
        self.log -= epsilon * float(np.abs(answer - counts).sum())
        return answer

    discrete_laplace = laplace

    def exponential(self, scores: Sequence[float], epsilon: float, sensitivity: float) -> int:
        answer: int = next(self.answers)
        self.log += math.log(selection_shares(scores, epsilon, sensitivity)[answer])
        return answer

    def noisy_max(self, scores: Sequence[int], epsilon: float, sensitivity: int) -> int:
        return self.exponential(scores, epsilon, sensitivity / 2)


@dataclass(frozen=True)
class Finding:
    """The result of an audit. ``hits``: how often the event happened in ``runs`` counted runs on each table.

    ``lower_bound``: ε is at least this much, with probability ``confidence`` (may be negative: then it shows nothing).
    """

    mode: str
    epsilon: float
    pair: str
    n_classes: int
    n_trees: int
    lower_bound: float
    hits: tuple[int, int]
    runs: int
    confidence: float
    rehearsal: bool

    @property
    def violated(self) -> bool:
        """``True`` where the claim is refuted at this confidence."""
        return self.lower_bound > self.epsilon

    @property
    def tells(self) -> bool:
        """``True`` where the claim is refuted, or a loss that is larger by another ε would have been: the bound is less
        than ε below the loss that was counted. Fewer runs cannot tell a private mode from one that is not."""
        likely, unlikely = self.hits
        return self.violated or (
            unlikely > 0 < likely and math.log(likely / unlikely) - self.lower_bound < self.epsilon
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the finding, JSON-ready; no bound where the runs are too few for any."""
        bound = self.lower_bound if math.isfinite(self.lower_bound) else None
        return {
            "mode": self.mode, "epsilon": self.epsilon, "lower_bound": bound, "violated": self.violated,
            "enough_runs": self.tells,
            "hits": list(self.hits), "runs": self.runs, "confidence": self.confidence, "pair": self.pair,
            "classes": self.n_classes, "trees": self.n_trees, "rehearsal": self.rehearsal,
        }  # fmt: skip


def one_and_two(n_classes: int) -> tuple[CodedTable, CodedTable]:
    """Return one record, and the same with a second of another class that only half of the attributes set apart."""
    first, second = [0] * 6, [0, 0, 0, 1, 1, 1]
    return _table([first], [0], n_classes), _table([first, second], [0, 1], n_classes)


def many_and_one_more(n_classes: int) -> tuple[CodedTable, CodedTable]:
    """Return ninety-nine records of one class, and one more of another class."""
    same = [[0] * 6] * 99
    return _table(same, [0] * 99, n_classes), _table([*same, [0, 0, 0, 1, 1, 1]], [0] * 99 + [1], n_classes)


PAIRS: dict[str, Callable[[int], tuple[CodedTable, CodedTable]]] = {
    "one-and-two": one_and_two,
    "many-and-one-more": many_and_one_more,
}
"""Neighbouring tables that are hard on a mechanism, by name."""


def _table(codes: list[list[int]], classes: list[int], n_classes: int) -> CodedTable:
    """Return a table of attributes with two values each."""
    attributes = tuple(Attribute(f"a{place}", ("0", "1")) for place in range(len(codes[0])))
    target = Attribute("class", tuple(map(str, range(n_classes))))
    return CodedTable(Domains(attributes, target), np.array(codes, dtype=np.uint16), np.array(classes, np.uint16))


def audit(
    mode: str,
    epsilon: float,
    *,
    pair: str = "one-and-two",
    n_trees: int = 1,
    max_depth: int = 5,
    n_classes: int = 8,
    runs: int = 20_000,
    confidence: float = 0.999,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Finding:
    """Return a lower bound on the privacy loss of a mode that claims ``epsilon``, from ``runs`` forests on each table.

    The event is "the answers speak for one table by at least so much": a log-likelihood ratio, exact for the modes of
    F15 and ``scorecard``, approximate for ``strict`` (any event gives a valid bound; a better one gives a larger
    bound). ``seed``: with one, repeatable noise; without, the noise of real releases. ``progress``: called now and then
    with a share from 0 to 1; an exception that it raises ends the audit. Raises :class:`ParameterError` for an unknown
    pair, fewer than 2 classes or fewer than 100 runs.

    >>> import anonymizer as an
    >>> an.audit("strict", 0.1, runs=100, seed=1).tells
    False
    """
    if pair not in PAIRS or runs < 100 or n_classes < 2:
        raise ParameterError(
            "An audit needs a known pair of tables, at least 2 classes and 100 runs.",
            remedy=f"Pairs: {', '.join(PAIRS)}.",
        )
    tables = PAIRS[pair](n_classes)
    noise: Noise = SecureNoise() if seed is None else RehearsalNoise(np.random.default_rng(seed))

    def grow(table: CodedTable, source: Noise) -> Forest:
        return grow_forest(table, epsilon, mode=mode, n_trees=n_trees, max_depth=max_depth, pruning=None, noise=source)

    ratios = np.empty((2, runs))
    for side, table in enumerate(tables):
        for run in range(runs):
            if progress is not None and run % 20 == 0:
                progress((side + run / runs) / 2, f"{mode}: run {run:,} of {runs:,} on table {side + 1}")
            recorder = Recorder(noise)
            grow(table, recorder)
            ratios[side, run] = log_ratio(grow, recorder, tables)
    half = runs // 2
    towards, threshold = _best_event(ratios[:, :half], confidence)
    counts = (towards * ratios[:, half:] >= threshold).sum(axis=1)
    hits = (int(counts[0]), int(counts[1]))
    likely, unlikely = hits if towards > 0 else hits[::-1]
    bound = lower_bound(likely, unlikely, runs - half, confidence)
    return Finding(mode, epsilon, pair, n_classes, n_trees, bound, hits, runs - half, confidence, noise.rehearsal)


def lower_bound(likely: int, unlikely: int, runs: int, confidence: float) -> float:
    """Return the least ε: the log ratio of exact one-sided limits of two shares, each at half the remaining doubt."""
    from scipy.stats import beta

    doubt = (1 - confidence) / 2
    low = beta.ppf(doubt, likely, runs - likely + 1) if likely > 0 else 0.0
    high = beta.ppf(1 - doubt, unlikely + 1, runs - unlikely) if unlikely < runs else 1.0
    return math.log(low / high) if low > 0 else -math.inf


def _best_event(ratios: NDArray[np.float64], confidence: float) -> tuple[int, float]:
    """Return the direction and threshold of the largest bound in these runs."""
    best = (-math.inf, 1, 0.0)
    runs = ratios.shape[1]
    for towards in (1, -1):
        likely, unlikely = np.sort(towards * (ratios if towards > 0 else ratios[::-1]), axis=1)
        for threshold in np.unique(np.quantile(likely, np.linspace(0.0, 0.998, 60))):
            hits = [int(runs - np.searchsorted(side, threshold, side="left")) for side in (likely, unlikely)]
            bound = lower_bound(hits[0], hits[1], runs, confidence)
            if bound > best[0]:
                best = (bound, towards, float(threshold))
    return best[1], best[2]


def log_ratio(grow: Callable[[CodedTable, Noise], Any], run: Recorder, tables: tuple[CodedTable, CodedTable]) -> float:
    """Return how much likelier the answers of a run are on the first table than on the second, in natural logarithms.

    The run is repeated on both with the answers that it got: whatever a mode asks depends on earlier answers only, so
    the same questions come up, and what the noise would have had to be is known.
    """
    first, second = (Replay(iter(run.answers)) for _ in tables)
    grow(tables[0], first)
    grow(tables[1], second)
    return first.log - second.log
