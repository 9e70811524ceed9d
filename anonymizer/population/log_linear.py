"""The risk of the records that are alone in a sample, by a log-linear model of the counts of its keys.

In it each column's values occur independently of the others', so the mean of a key's count is a product of shares.
Where columns go together, keys that do occur are more common than that, and the risk is too high.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymizer.population.frequencies import Floats


@dataclass(frozen=True)
class LogLinearRisk:
    """``alone``: the records, of those that are alone in the sample, that are expected to be alone in the population,
    too (τ₁); ``right``: how many links to records that are alone are expected to be right (τ₂)."""

    alone: float
    right: float


def log_linear_risk(codes: NDArray[np.int64], f: Floats, share: Floats) -> LogLinearRisk:
    """Return the risk of the records that are alone in a sample (Skinner and Holmes 1998).

    ``codes`` (n, p): of their keys, -1 where missing, which is a value like others; ``f`` (n,): the records of each
    key; ``share`` (n,): the part of the people like the record that is in the sample, above 0 and at most 1.
    """
    alone = f == 1
    others = others_in_population(independent_means(codes)[alone], share[alone])
    return risk_of_others(others)


def independent_means(codes: NDArray[np.int64]) -> Floats:
    """Return the mean count (n,) of each record's key, where columns are independent: n times the product of the shares
    of its values; the fit of main effects over all keys, those that nobody has too."""
    means = np.full(len(codes), float(len(codes)))
    for column in codes.T:
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        means *= counts[place] / len(codes)
    return means


def others_in_population(means: Floats, share: Floats) -> Floats:
    """Return the mean number of people of a key who are not in the sample, from the mean count in the sample."""
    return means * (1 - share) / share


def risk_of_others(others: Floats) -> LogLinearRisk:
    """Return the risk of records that are alone in the sample, by the mean number of others like each (r,): nobody is
    there with the chance e^-v, and a link is right with the chance E[1/(1 + others)] = (1 - e^-v)/v."""
    rate = np.where(others > 0, others, 1.0)
    right = np.where(others > 0, -np.expm1(-rate) / rate, 1.0)
    return LogLinearRisk(float(np.exp(-others).sum()), float(right.sum()))
