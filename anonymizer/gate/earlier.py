"""What a release leaves of people together with others that were made of the same table before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.checking.linkage import look_alikes
from anonymizer.checking.together import together
from anonymizer.errors import ParameterError
from anonymizer.gate.finding import Finding, Severity
from anonymizer.releasing.release import Release


@dataclass(frozen=True, eq=False)
class Earlier:
    """A release of the same table: ``class_of`` (n,) the class of look-alike rows that each of its rows was released
    in, -1 of those left out; ``k``: what it promised."""

    class_of: NDArray[np.int64]
    k: int

    @classmethod
    def of(cls, release: Release, n: int, k: int) -> "Earlier":
        """Return a release of a table of n rows. Raises :class:`ParameterError` when its rows are not of this table."""
        class_of = np.full(n, -1, np.int64)
        if release.n_records and int(release.order.max()) >= n:
            raise ParameterError(
                f"The earlier release has rows of another table: this one has {n:,}.",
                remedy="Name releases of this table, with its rows in the same order.",
            )
        names = [column.name for column in release.generalized]
        class_of[release.order] = look_alikes(release.frame(shared=True), names).class_of
        return cls(class_of, k)


def beside_earlier(
    earlier: Sequence[Earlier], class_of: NDArray[np.int64], k: int, person: NDArray[np.integer[Any]] | None
) -> Iterable[Finding]:
    """Yield what a release and earlier ones leave together, nothing where there was none. ``class_of`` (n,), ``k``: of
    this one; ``person`` (n,): whose each row is, -1 for nobody's, when rows are not persons."""
    if not earlier:
        return
    most = max(k, *(one.k for one in earlier))
    both = together([*(one.class_of for one in earlier), class_of], most, person)
    before = "the release made before" if len(earlier) == 1 else f"the {len(earlier):,} releases made before"
    yield Finding(
        f"together: {both.below:,} of {both.persons:,} below {most:,}",
        Severity.FINE if both.holds else Severity.STOPS,
        f"{both.below:,} of {both.persons:,} people",
        f"With {before}, {both.sentence}",
        "Whoever has the releases puts rows together that hold the same unchanged values. The same settings give the "
        "same release again, which adds nothing."
        if not both.holds
        else "",
    )
