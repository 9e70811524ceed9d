"""Noise, private selection, and the ledger of what was spent.

Everything that is released under differential privacy passes through a :class:`Noise`. :class:`SecureNoise` draws from
OpenDP, whose samplers are exact and read the operating system's source of randomness; it cannot be seeded.
:class:`RehearsalNoise` is seeded and repeatable: for teaching, tests and public tables only, and it says so.

Neighbouring tables differ by one record added or removed. Replacing one record counts as two such steps.
"""

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError, extras_by_name

GRID = 2**30
"""Real scores are put on this grid before a selection, so that no rounding of floats can leak."""

TOLERANCE = 1e-9
"""Relative slack for the rounding of sums of ε: far below anything that privacy could feel."""


class BudgetError(ParameterError):
    """A query would cost more than what is left of the privacy budget."""


class Noise(Protocol):
    """Where random answers come from."""

    @property
    def rehearsal(self) -> bool:
        """``True`` where nothing that was made with it may be released."""

    def laplace(self, counts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
        """Return (c,) counts of sensitivity 1 with real Laplace noise of scale 1/ε each."""

    def discrete_laplace(self, counts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
        """Return (c,) counts of sensitivity 1 with whole two-sided geometric noise of scale 1/ε each."""

    def exponential(self, scores: Sequence[float], epsilon: float, sensitivity: float) -> int:
        """Return the place of one score, with probability proportional to exp(ε · score / (2 · sensitivity))."""

    def noisy_max(self, scores: Sequence[int], epsilon: float, sensitivity: int) -> int:
        """Return the place of the largest score after exponential noise of scale sensitivity/ε.

        Private at ε for *monotone* scores: adding a record lowers none of them.
        """


@dataclass(frozen=True)
class SecureNoise:
    """OpenDP's noise, for everything that leaves."""

    rehearsal: bool = False

    def laplace(self, counts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
        return np.array(_laplace("f64", epsilon)([float(count) for count in counts]))

    def discrete_laplace(self, counts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
        return np.array(_laplace("i64", epsilon)([int(count) for count in counts]), dtype=np.float64)

    def exponential(self, scores: Sequence[float], epsilon: float, sensitivity: float) -> int:
        whole, step = on_grid(scores, sensitivity)
        return int(_gumbel(2 * step / epsilon)(whole))

    def noisy_max(self, scores: Sequence[int], epsilon: float, sensitivity: int) -> int:
        return int(_noisy_max(epsilon, sensitivity)([int(score) for score in scores]))


@dataclass(frozen=True, eq=False)
class RehearsalNoise:
    """Seeded noise of the same distributions. **Never release what was made with it**: it can be repeated."""

    rng: np.random.Generator
    rehearsal: bool = True

    def laplace(self, counts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
        return np.asarray(counts + self.rng.laplace(0, 1 / epsilon, len(counts)))

    def discrete_laplace(self, counts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
        stop = -math.expm1(-epsilon)
        first, second = self.rng.geometric(stop, (2, len(counts)))
        return np.asarray(counts + (first - second), dtype=np.float64)

    def exponential(self, scores: Sequence[float], epsilon: float, sensitivity: float) -> int:
        shares = selection_shares(scores, epsilon, sensitivity)
        return min(int(np.searchsorted(np.cumsum(shares), self.rng.random(), side="right")), len(shares) - 1)

    def noisy_max(self, scores: Sequence[int], epsilon: float, sensitivity: int) -> int:
        noise = self.rng.exponential(sensitivity / epsilon, len(scores))
        return int(np.argmax(np.asarray(scores) + noise))


@dataclass(frozen=True)
class WatchedNoise:
    """The noise of another source; ``look`` is called before every question, and what it raises ends the work."""

    source: Noise
    look: Callable[[], None]

    @property
    def rehearsal(self) -> bool:
        return self.source.rehearsal

    def laplace(self, counts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
        self.look()
        return self.source.laplace(counts, epsilon)

    def discrete_laplace(self, counts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
        self.look()
        return self.source.discrete_laplace(counts, epsilon)

    def exponential(self, scores: Sequence[float], epsilon: float, sensitivity: float) -> int:
        self.look()
        return self.source.exponential(scores, epsilon, sensitivity)

    def noisy_max(self, scores: Sequence[int], epsilon: float, sensitivity: int) -> int:
        self.look()
        return self.source.noisy_max(scores, epsilon, sensitivity)


def coins(noise: Noise, n: int, share: float) -> NDArray[np.bool_]:
    """Return (n,) coins, each ``True`` with probability ``share``, whatever the records and the other coins. ``noise``:
    with that of a rehearsal they can be repeated, too."""
    rng = noise.rng if isinstance(noise, RehearsalNoise) else np.random.default_rng(secrets.randbits(256))
    return rng.random(n) < share


def selection_shares(scores: Sequence[float], epsilon: float, sensitivity: float) -> NDArray[np.float64]:
    """Return the probability of each choice under the exponential mechanism, F15 (3) and (8)."""
    exponents = epsilon * np.asarray(scores) / (2 * sensitivity)
    weights: NDArray[np.float64] = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


def on_grid(scores: Sequence[float], sensitivity: float) -> tuple[list[int], int]:
    """Return scores as whole numbers of 1/GRID, and their sensitivity there, enlarged by what rounding can add."""
    return [round(score * GRID) for score in scores], math.ceil(sensitivity * GRID) + 2


@lru_cache(maxsize=256)
def _laplace(kind: str, epsilon: float) -> Any:
    """Return OpenDP's Laplace mechanism for real (``f64``) or whole (``i64``) counts."""
    dp = _opendp()
    bounds = {"nan": False} if kind == "f64" else {}
    space = dp.vector_domain(dp.atom_domain(T=kind, **bounds)), dp.l1_distance(T=kind)
    mechanism = dp.m.make_laplace(*space, scale=1 / epsilon)
    _check(mechanism.map(1.0 if kind == "f64" else 1), epsilon)
    return mechanism


@lru_cache(maxsize=1024)
def _gumbel(scale: float) -> Any:
    """Return the exponential mechanism exp(score / scale): the largest score after Gumbel noise.

    OpenDP offers Gumbel noise under zero-concentrated privacy only; the same selection is ε-private with
    scale = 2 · sensitivity / ε, which is the exponential mechanism's own theorem.
    """
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    return dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)


@lru_cache(maxsize=256)
def _noisy_max(epsilon: float, sensitivity: int) -> Any:
    """Return OpenDP's report-noisy-max for monotone scores."""
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    mechanism = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=sensitivity / epsilon)
    _check(mechanism.map(sensitivity), epsilon)
    return mechanism


def _opendp() -> Any:
    """Return OpenDP, with what is not yet proved line by line let in."""
    with extras_by_name():
        import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def _check(cost: float, epsilon: float) -> None:
    """Raise :class:`BudgetError` where OpenDP's own account of a mechanism is more than the ledger will be charged."""
    if not cost <= epsilon * (1 + TOLERANCE):
        raise BudgetError(f"A mechanism for ε = {epsilon:g} would cost {cost:g}.")


@dataclass(frozen=True)
class Entry:
    """Queries of one kind in the ledger.

    ``part``: which tree (or other part of the run), ``level``: depth of the nodes, 1 at the root.
    ``epsilon``: cost of each query. ``queries``: how many there were; those of one level see disjoint records, so
    they cost their ε once (parallel composition). Levels and parts add up (sequential composition).
    """

    part: str
    level: int
    purpose: str
    epsilon: float
    queries: int

    @property
    def composition(self) -> str:
        """The rule by which the queries of this entry combine."""
        return "parallel" if self.queries > 1 else "sequential"


@dataclass(frozen=True)
class Ledger:
    """The budget of a run and what it spent: the dearest sequence of queries that one record can pass through.

    ``dearest``: (part, level, purpose, ε) of each query on that sequence; their ε add up to ``spent``.
    """

    budget: float
    spent: float
    entries: tuple[Entry, ...]
    dearest: tuple[tuple[str, int, str, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the ledger, JSON-ready."""
        keys = ("part", "level", "purpose", "epsilon", "queries", "composition")
        return {
            "budget": self.budget,
            "spent": self.spent,
            "entries": [{key: getattr(entry, key) for key in keys} for entry in self.entries],
            "dearest": [dict(zip(keys, step, strict=False)) for step in self.dearest],
        }

    def text(self) -> str:
        """Return the ledger as a small table."""
        head = f"{'part':<10}{'level':>6}  {'query':<34}{'ε each':>10}{'asked':>8}  composition\n"
        lines = "".join(
            f"{e.part:<10}{e.level:>6}  {e.purpose:<34}{e.epsilon:>10.6f}{e.queries:>8}  {e.composition}\n"
            for e in self.entries
        )
        return f"{head}{lines}spent {self.spent:.6g} of {self.budget:.6g}\n"


class Budget:
    """A privacy budget while a run spends it: it refuses a query that would overspend.

    Queries of one account follow one another and add up. :meth:`branch` opens an account for a part of the records
    that no other branch of this account sees: of all branches only the dearest counts.
    """

    def __init__(self, limit: float, part: str = "") -> None:
        if not (math.isfinite(limit) and limit > 0):
            raise ParameterError(f"A privacy budget must be a positive number, not {limit}.", remedy="Try 1.")
        self.limit = limit
        self.part = part
        self._before = 0.0
        self._steps: list[tuple[str, int, str, float]] = []
        self._branches: list[Budget] = []
        self._parts: list[Budget] = []

    @property
    def own(self) -> float:
        """ε of the queries of this account itself and of its parts in sequence."""
        return math.fsum([step[3] for step in self._steps] + [part.spent for part in self._parts])

    @property
    def spent(self) -> float:
        """ε of the dearest sequence of queries through this account."""
        return self.own + max((branch.spent for branch in self._branches), default=0.0)

    @property
    def path(self) -> float:
        """ε that a record of this account has paid so far, from the opening of the whole part."""
        return self._before + self.own

    def spend(self, epsilon: float, purpose: str, level: int = 1) -> float:
        """Charge one query and return its ε. Raises :class:`BudgetError` when it would overspend."""
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise ParameterError(f"A query needs a positive ε, not {epsilon}.")
        after = self.path + epsilon + max((branch.spent for branch in self._branches), default=0.0)
        if after > self.limit * (1 + TOLERANCE):
            left = self.limit - (after - epsilon)
            left = left if left > self.limit * TOLERANCE else 0.0
            raise BudgetError(
                f"The query '{purpose}' costs {epsilon:g}, but only {left:g} of {self.limit:g} is left.",
                remedy="Raise the budget, or ask for less.",
            )
        self._steps.append((self.part, level, purpose, epsilon))
        return epsilon

    def branch(self) -> "Budget":
        """Return an account for records that no other branch of this account sees."""
        child = Budget(self.limit, self.part)
        child._before = self.path
        self._branches.append(child)
        return child

    def reserve(self, limit: float, part: str) -> "Budget":
        """Return an account for a part of the run that sees the same records, with a limit of its own.

        A part of a part is named after both.
        """
        if self.own + limit > self.limit * (1 + TOLERANCE):
            raise BudgetError(f"{part} would need {limit:g}, but only {self.limit - self.own:g} is left.")
        child = Budget(limit, f"{self.part}: {part}" if self.part else part)
        self._parts.append(child)
        return child

    def ledger(self) -> Ledger:
        """Return the queries so far, in order of part, level and first query."""
        queries: dict[tuple[str, int, str, float], int] = {}
        for step in self._all():
            queries[step] = queries.get(step, 0) + 1
        entries = tuple(Entry(*step, number) for step, number in queries.items())
        dearest = tuple(self._dearest())
        return Ledger(self.limit, math.fsum(step[3] for step in dearest), entries, dearest)

    def _all(self) -> list[tuple[str, int, str, float]]:
        """Return every query of this account, its parts and its branches."""
        steps = list(self._steps)
        for part in self._parts:
            steps += sorted(part._all(), key=lambda step: step[1])
        for branch in self._branches:
            steps += branch._all()
        return steps

    def _dearest(self) -> list[tuple[str, int, str, float]]:
        """Return the dearest sequence of queries through this account."""
        steps = list(self._steps)
        for part in self._parts:
            steps += part._dearest()
        if self._branches:
            steps += max(self._branches, key=lambda branch: branch.spent)._dearest()
        return steps
