"""Three attackers of a sample, and k-map: what a second table of the population, or its size alone, says of a sample.

The prosecutor knows that the person is in the sample, the journalist does not and looks people up in the population,
the marketer links as many as possible (El Emam 2013).
"""

from dataclasses import dataclass

import numpy as np

from anonymizer.population.frequencies import Floats

TOLERANCE = 1e-12


@dataclass(frozen=True)
class Chances:
    """The chances of a right link, 0 to 1: of the person most and least at risk, and on average over all records."""

    highest: float
    lowest: float
    average: float


@dataclass(frozen=True, eq=False)
class Attackers:
    """The three attackers of n records: ``f``, ``population`` (n,) are the frequencies of each record's key in the
    sample and in the population, where who is not in the population is at least in the sample."""

    f: Floats
    population: Floats

    @property
    def prosecutor(self) -> Chances:
        """Chances of who knows that the person is in the sample: 1/f."""
        return Chances(float((1 / self.f).max()), float((1 / self.f).min()), float((1 / self.f).mean()))

    @property
    def journalist(self) -> Chances:
        """Chances of who looks a record up in the population: 1/F; on average the larger of the two ways round: classes
        by people of the population, or the marketer's."""
        chance = 1 / self.population
        classes = (1 / self.f).sum()
        people = (self.population / self.f).sum()
        return Chances(float(chance.max()), float(chance.min()), max(float(classes / people), self.marketer))

    @property
    def marketer(self) -> float:
        """Share of right links when every record is linked with somebody of its class in the population: mean 1/F."""
        return float((1 / self.population).mean())

    def at_risk(self, threshold: float, journalist: bool = False) -> float:
        """Return the share of the records whose chance is above a threshold, 0 to 1; one of exactly so much is not."""
        return float(((self.population if journalist else self.f) * threshold < 1 - TOLERANCE).mean())


def k_map(population: Floats) -> int:
    """Return the k of k-map: the fewest people of the population with the key of a record of the sample."""
    return int(np.floor(population.min(initial=np.inf) + TOLERANCE)) if len(population) else 0


def k_map_size(k: int, n: int, population: int, significance: float, truncated: bool = False) -> tuple[int, float]:
    """Return the least size of a sample's class that speaks for at least k people in the population, and how often
    a class of k people shows so many (0 to 1).

    A class of k people shows j or more in the sample with a Poisson chance of mean k·n/N, or, ``truncated``, with that
    chance among classes that show at all (Pannekoek 1999; El Emam and Dankar 2008). The size is at most k, and n.
    """
    from scipy.special import pdtrc

    mean = k * n / population
    scale = pdtrc(0, mean) if truncated else 1.0
    sizes = np.arange(1, k + 1)
    errors = pdtrc(sizes - 1, mean) / scale
    enough = np.flatnonzero(errors <= significance)
    size = int(sizes[enough[0]]) if len(enough) else k
    return min(size, k, n), float(errors[enough[0]]) if len(enough) and size < k else 0.0
