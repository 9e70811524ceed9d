"""How many records are alone in the whole population, estimated from the sizes of the sample's classes.

Each model reads the histogram of the sample (c_i classes of i records, n records in u classes) and the size N of the
population. What is solved are the equations as published; where programs solve others, docs/decisions/population.md
says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, floor, inf, log

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError

SMALL_FRACTION = 0.1
"""Up to this share of the population Pitman's model is used first."""
ALPHAS = np.concatenate([np.geomspace(1e-6, 0.02, 8), np.linspace(0.04, 0.96, 24), 1 - np.geomspace(0.03, 1e-6, 10)])
"""Where the likelihood of Pitman's model is looked at for a maximum, between 0 and 1."""
STARTS = [(a, b) for a in (0.03, 0.3, 1.0, 3.0, 10.0) for b in (1e-5, 1e-3, 0.05, 0.3, 0.7, 0.95)]
"""Where the equations of the slide negative binomial model are solved from."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Class sizes of a sample: ``sizes`` (d,) ascending, and how many classes have each (d,)."""

    sizes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> "Histogram":
        """Return the histogram of some class sizes (u,)."""
        return cls(*np.unique(sizes, return_counts=True))

    @property
    def n(self) -> int:
        """Records."""
        return int((self.sizes * self.counts).sum())

    @property
    def u(self) -> int:
        """Classes."""
        return int(self.counts.sum())

    def classes(self, size: int) -> int:
        """Return the number of classes of a size."""
        return int(self.counts[self.sizes == size].sum())


@dataclass(frozen=True)
class Estimate:
    """How many records of the population are alone there, by one model.

    ``uniques``: ``None`` when the model has no estimate; ``note``: why, or where at a boundary it stands, "" inside.
    ``parameters``: those of the model at the solution.
    """

    model: str
    uniques: float | None
    note: str = ""
    parameters: tuple[float, ...] = ()


@dataclass(frozen=True)
class PopulationUniques:
    """The estimate of the rule of Dankar et al. 2012, and those of all models: ``best`` is one of ``estimates``."""

    population: int
    best: Estimate
    estimates: tuple[Estimate, ...]


def population_of(n: int, fraction: float) -> int:
    """Return the size of the population of which ``n`` records are this fraction, above 0 and at most 1."""
    if not 0 < fraction <= 1:
        raise ParameterError(
            f"A sample cannot be {fraction:g} of its population.",
            value=fraction,
            remedy="Give a number above 0 and at most 1, such as 0.05 for one person in twenty.",
        )
    return floor(n / fraction + 0.5)


def population_uniques(sizes: Histogram, population: int) -> PopulationUniques:
    """Return the estimated number of population uniques of a sample of the ``population`` persons.

    Up to a tenth of the population: Pitman's model, else Zayatz'; above: the smaller of the slide negative binomial
    model and Zayatz' (Dankar, El Emam, Neisa and Roffey 2012). A sample without uniques, or of everybody, needs none.
    """
    population = max(population, sizes.n)
    if not sizes.classes(1) or population == sizes.n:
        whole = "the sample is the population" if population == sizes.n else "no row of the sample is alone"
        exact = Estimate("none", float(sizes.classes(1)), whole)
        return PopulationUniques(population, exact, (exact,))
    first, second, third = (model(sizes, population) for model in MODELS.values())
    if sizes.n <= SMALL_FRACTION * population:
        best = first if first.uniques is not None else second
    else:
        best = min((one for one in (third, second) if one.uniques is not None), key=lambda one: one.uniques or 0.0)
    return PopulationUniques(population, best, (first, second, third))


def zayatz(sizes: Histogram, population: int) -> Estimate:
    """Return the estimate of Zayatz 1991, which takes the sample's class sizes for the population's: too high, the more
    so the smaller the sample."""
    from scipy.special import gammaln

    n, i = sizes.n, sizes.sizes[sizes.sizes <= population - sizes.n + 1].astype(float)
    # How much likelier one of i records of a class is drawn alone than the record of a class of one.
    ratio = i * np.exp(
        gammaln(population - n + 1)
        - gammaln(population - n - i + 2)
        - gammaln(population)
        + gammaln(population - i + 1)
    )
    weights = sizes.counts[: len(i)] * ratio
    alone = sizes.classes(1)
    return Estimate("Zayatz", float(alone * (alone / weights.sum()) * population / n))


def pitman(sizes: Histogram, population: int) -> Estimate:
    """Return the estimate of Pitman's two-parameter model at its largest likelihood with 0 ≤ α < 1 (Hoshino 2001).

    At α = 0, a boundary, it is Ewens' model, and the number of uniques tends to θ.
    """
    from scipy import optimize
    from scipy.special import gammaln

    if sizes.u == sizes.n:
        return Estimate("Pitman", None, "all rows are alone, so that the likelihood has no maximum")
    places = [(0.0, theta_of(sizes, 0.0))]
    slopes = np.array([slope(sizes, alpha) for alpha in ALPHAS])
    for low, high in zip(np.flatnonzero(slopes[:-1] > 0), np.flatnonzero(slopes[:-1] > 0) + 1, strict=True):
        if slopes[high] <= 0:
            alpha = float(optimize.brentq(lambda a: slope(sizes, a), ALPHAS[low], ALPHAS[high], xtol=1e-14, rtol=1e-14))
            places.append((alpha, theta_of(sizes, alpha)))
    alpha, theta = max(places, key=lambda place: likelihood(sizes, *place))
    if alpha == 0.0:
        return Estimate(
            "Pitman", min(theta, population), "at its boundary α = 0, where it is Ewens' model", (theta, 0.0)
        )
    value = exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * log(population))
    return Estimate("Pitman", min(value, population), "", (theta, alpha))


def theta_of(sizes: Histogram, alpha: float) -> float:
    """Return the θ above −α at which the likelihood with this α is largest."""
    from scipy import optimize
    from scipy.special import digamma

    n, i = sizes.n, np.arange(1, sizes.u) * alpha

    def score(shift: float) -> float:
        theta = exp(shift) - alpha
        first = float((1 / (theta + i)).sum()) if alpha else (sizes.u - 1) / theta
        return first - float(digamma(n + theta) - digamma(1 + theta))

    if sizes.u == 1:
        return 0.0
    low, high = log(1e-9), log(max(n, 2))
    while score(high) > 0 and high < 60:
        high += 3
    return exp(float(optimize.brentq(score, low, high, xtol=1e-14, rtol=1e-14))) - alpha if score(high) <= 0 else inf


def slope(sizes: Histogram, alpha: float) -> float:
    """Return the derivative of the log-likelihood by α, where θ is best."""
    from scipy.special import digamma

    theta, i = theta_of(sizes, alpha), np.arange(1, sizes.u)
    own = sizes.counts * (digamma(sizes.sizes - alpha) - digamma(1 - alpha))
    return float((i / (theta + i * alpha)).sum() - own.sum())


def likelihood(sizes: Histogram, alpha: float, theta: float) -> float:
    """Return the logarithm of the likelihood, up to what does not depend on the parameters."""
    from scipy.special import gammaln

    i = np.arange(1, sizes.u)
    own = sizes.counts * (gammaln(sizes.sizes - alpha) - gammaln(1 - alpha))
    return float(np.log(theta + i * alpha).sum() - gammaln(sizes.n + theta) + gammaln(1 + theta) + own.sum())


def slide_negative_binomial(sizes: Histogram, population: int) -> Estimate:
    """Return the estimate of the slide negative binomial model (Chen and Keller-McNulty 1998): K·β^α, where the class
    size less 1 is negative binomial (α, β), and K, the number of classes of the population, is Shlosser's estimate in
    the third form of Haas and Stokes 1998."""
    from scipy import optimize

    name, share = "Slide negative binomial", sizes.n / population
    first, second = sizes.classes(1), sizes.classes(2)
    if not second:
        return Estimate(name, None, "no two rows are alike without others")
    classes = shlosser(sizes, share)

    def equations(point: NDArray[np.float64]) -> list[float]:
        a, b = exp(point[0]), 1 / (1 + exp(-point[1]))
        z = (1 - share) * (1 - b)
        one = a * (log(b) - log(1 - z)) + log(1 + a * z / (1 - z))
        two = log(a / 2) + a * log(b) + log((1 - b) * (2 - (1 - a) * z)) - (a + 2) * log(1 - z)
        return [log(classes * share / first) + one, log(classes * share**2 / second) + two]

    for a, b in STARTS:
        try:
            root = optimize.root(equations, np.array([log(a), log(b / (1 - b))]), tol=1e-13)
        except (OverflowError, ValueError, ZeroDivisionError):
            continue
        if max(map(abs, equations(root.x))) < 1e-9:
            a, b = exp(root.x[0]), 1 / (1 + exp(-root.x[1]))
            return Estimate(name, min(float(classes * b**a), float(population)), "", (classes, a, b))
    return Estimate(name, None, "its equations have no solution")


def shlosser(sizes: Histogram, share: float) -> float:
    """Return the estimated number of classes of the population, of which this share was drawn."""
    i, c, rest = sizes.sizes.astype(float), sizes.counts, 1 - share
    squares = (i * share**2 * (1 - share**2) ** (i - 1) * c).sum() / (((1 - share**2) ** i - rest**i) * c).sum()
    ratio = (rest**i * c).sum() / (i * share * rest ** (i - 1) * c).sum()
    return float(sizes.u + sizes.classes(1) * squares * ratio**2)


MODELS: dict[str, Callable[[Histogram, int], Estimate]] = {
    "pitman": pitman,
    "zayatz": zayatz,
    "snb": slide_negative_binomial,
}
"""The models by name."""
