"""What the forests of a ledger may tell of one person in all, beside what its releases and trees leave together.

The ε of forests that saw the same person add up, times the rows that the person has, for a forest promises it of a row.
Beside releases, the odds of a guess grow at most by e^{2ε}: replacing a row is two steps between neighbouring tables.
There is no one number for both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import GuaranteeError
from anonymizer.ledger.members import Words
from anonymizer.values import plural

SLACK = 1 + 1e-9
"""A budget may be passed by the rounding of sums."""


class Charge(NamedTuple):
    """What one forest may tell: ``epsilon`` of each row, infinite where it promises nothing.

    ``digest`` (m,), ascending, and ``rows`` (m,): whom it saw, and how many rows each has; ``None`` where nobody can be
    recognised. ``alike``: ids that differ in writing only have one digest.
    """

    epsilon: float
    digest: Words | None
    rows: NDArray[np.integer] | None
    alike: bool = False


@dataclass(frozen=True)
class Account:
    """What somebody must know who publishes one more thing about the same people.

    ``forests``: how many; ``spent``: the most that they may tell of one person together (ε), infinite where one
    promises nothing; ``budget``: the most that they may, ``None`` where nobody has set one. ``releases``: how many;
    ``smallest``: the fewest candidates that they leave of a person together, ``None`` where it is not known.
    ``trees``: how many are published; ``certain``: of how many people a leaf of one says a value.
    """

    forests: int
    spent: float
    budget: float | None
    releases: int
    smallest: int | None
    trees: int = 0
    certain: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What there is to say, a sentence each."""
        people = plural(self.certain, "person", "people")
        trees = f"{plural(self.trees, 'published tree')}: a leaf says a value of {people}."
        return (*(self._of_forests if self.forests or self.budget is not None else ()), *[trees] * bool(self.trees))

    @property
    def _of_forests(self) -> tuple[str, ...]:
        most = "" if self.budget is None else f", and may spend {self.budget:g}"
        forests = plural(self.forests, "forest")
        if self.spent == math.inf:
            return (f"{forests}, not all of them private: no ε holds for them together.",)
        spent = f"{forests}: about one person they have spent ε = {self.spent:g} together{most}."
        if not self.forests or not self.smallest:
            return (spent,)
        share = 1 / self.smallest
        return (
            spent,
            f"The releases leave each person at least {plural(self.smallest, 'candidate')}, so a guess is right with a "
            f"chance of at most {share:.1%}; with the forests, of at most {raised(share, self.spent):.1%}.",
        )

    def require(self, private: bool) -> None:
        """Raise :class:`GuaranteeError` where the budget does not hold what is spent. ``private``: whether the newest
        forest promises anything."""
        if self.budget is None:
            return
        if not private:
            raise GuaranteeError(
                "The ledger has a budget, and this forest promises nothing that it could be counted by.",
                remedy="Take a mode that is private, and values that are public.",
            )
        if self.spent > self.budget * SLACK:
            raise GuaranteeError(
                f"With this forest, ε about one person would be {self.spent:g}; the budget of the ledger is "
                f"{self.budget:g}.",
                remedy="Spend less, or enter a larger budget.",
            )


def raised(share: float, epsilon: float) -> float:
    """Return how often a guess is right at most, that is right in a ``share`` of cases before forests of ``epsilon``:
    odds grow at most by e^{2ε}."""
    if not 0 < share < 1:
        return share
    return 1 / (1 + (1 - share) / share * math.exp(-2 * epsilon))


def most_spent(charges: Sequence[Charge]) -> float:
    """Return the most that forests may tell of one person together. Whoever cannot be recognised may be anybody, with
    one row, and ids that were written in two ways may be one person's."""
    spent = sum(charge.epsilon for charge in charges if charge.digest is None)
    for alike in (False, True):
        own = [charge for charge in charges if charge.digest is not None and charge.alike == alike]
        if not own:
            continue
        who = np.unique(np.concatenate([charge.digest for charge in own if charge.digest is not None]))
        spent += float(spent_by(own, {alike: who}).max(initial=0))
    return spent


def spent_by(charges: Sequence[Charge], persons: dict[bool, Words]) -> NDArray[np.float64]:
    """Return what forests may tell of each person (u,). ``persons``: their digests (u,) by ``alike`` of charges."""
    spent = np.zeros(len(next(iter(persons.values()))))
    for charge in charges:
        if charge.digest is None or charge.rows is None:
            spent += charge.epsilon
        elif len(charge.digest):
            digest = persons[charge.alike]
            place = np.minimum(np.searchsorted(charge.digest, digest), len(charge.digest) - 1)
            here = charge.digest[place] == digest
            spent[here] += charge.epsilon * charge.rows[place[here]]
    return spent
