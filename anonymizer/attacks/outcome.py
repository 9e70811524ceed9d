"""What an attack achieved: how often it was right, of so many tries, with the interval for more tries."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonymizer.values import share

if TYPE_CHECKING:
    from anonymizer.measuring.members import Members

Z = 1.959963984540054
"""Of a normal distribution, for an interval that covers 95%."""


@dataclass(frozen=True)
class Rate:
    """The number of times an attack was right, of so many tries. ``right`` need not be whole where chances were
    added up.
    """

    right: float
    tries: int

    @property
    def share(self) -> float:
        """Share of right guesses, 0 to 1."""
        return self.right / self.tries if self.tries else 0.0

    @property
    def text(self) -> str:
        """The share as a percentage, in which neither a small one nor a nearly full one is rounded away."""
        return share(self.share)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the share (Wilson 1927): of what more tries would show."""
        if not self.tries:
            return 0.0, 1.0
        n, p = self.tries, self.share
        middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
        # Rounding must not push an end past a share of 0 or 1.
        return (0.0 if p == 0 else max(0.0, middle - half)), (1.0 if p == 1 else min(1.0, middle + half))


@dataclass(frozen=True)
class Inference:
    """Guessing one sensitive column from all quasi-identifiers, of people in the table; pairs are (before, after).

    ``model``: fitted to the original or the release, as Y19 and L14 attack; ``look_up``: the most frequent value, or
    the mean, of the rows that fit the person; ``blind``: the same of the whole table. Of numbers ``mape`` holds the
    model's mean absolute percentage errors before, after and blind, as shares, L14 (11); ``None`` otherwise.
    """

    column: str
    model: tuple[Rate, Rate]
    look_up: tuple[Rate, Rate]
    blind: Rate
    mape: tuple[float, float, float] | None = None

    @property
    def before(self) -> Rate:
        """The better of the two attackers on the original."""
        return max(self.model[0], self.look_up[0], key=lambda rate: rate.share)

    @property
    def after(self) -> Rate:
        """The better of the two attackers on the release."""
        return max(self.model[1], self.look_up[1], key=lambda rate: rate.share)

    @property
    def advantage(self) -> float:
        """The gain of the release over a blind guess, as a share of what is left: (after − blind) / (1 − blind)."""
        left = 1 - self.blind.share
        return max(0.0, (self.after.share - self.blind.share) / left) if left > 0 else 0.0


@dataclass(frozen=True)
class Outcome:
    """What one attack achieved: how often it was right on the original and on the release, and a sentence on it.

    ``guesses``: of an attack that guesses sensitive columns, one a column; ``members``: what of that comes from the
    grouping.
    """

    name: str
    rates: tuple[Rate, Rate]
    sentence: str
    guesses: tuple[Inference, ...] = ()
    members: "Members | None" = None

    @property
    def before(self) -> float:
        """Share of right answers on the original, 0 to 1."""
        return self.rates[0].share

    @property
    def after(self) -> float:
        """Share of right answers on the release, 0 to 1."""
        return self.rates[1].share

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the share on the release."""
        return self.rates[1].interval
