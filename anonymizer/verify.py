"""Every guarantee of a release, computed again from the released rows alone, or beside the original.

The checker does not trust the maker: it knows cells and rows, not trees, groups or how they came about.

Rows are in one *class* when all their quasi-identifying cells are identical; missing equals missing.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.candidates import Original, prepare
from anonymizer.consistency import consistency
from anonymizer.diversity import class_histograms, class_spread
from anonymizer.errors import ParameterError, SchemaError
from anonymizer.linkage import LookAlikes, look_alikes
from anonymizer.privacy_models import MODELS, Check, Evidence, rows_text
from anonymizer.schema import Schema

__all__ = ["MODELS", "Check", "Evidence", "Original", "Verification", "prepare", "verify"]


@dataclass(frozen=True)
class Verification:
    """All checks of one release, for the required class size ``k``."""

    checks: tuple[Check, ...]
    k: int
    rows: int

    @property
    def passed(self) -> bool:
        """Whether no check failed. A figure that was not computed does not fail, and its check says so."""
        return all(check.passed is not False for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.passed is False)

    @property
    def k_anonymous(self) -> bool:
        """Whether every class has at least k rows; nothing weaker is called k-anonymous."""
        return self["k-anonymity"].passed is True

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def get(self, name: str) -> Check | None:
        """The check of this name, or ``None`` when it was not made (most need the original or a sensitive column)."""
        return next((check for check in self.checks if check.name == name), None)

    def describe(self) -> str:
        """What the release is, in words, and what it does not promise."""
        said = [self._kind_of_release()]
        containment = self.get("containment")
        if containment is not None:
            said.append(containment.sentence)
        said += [check.sentence for check in self.failed if check.name not in ("k-anonymity", "containment")]
        return " ".join(said)

    def _kind_of_release(self) -> str:
        k = self.k
        size = self["k-anonymity"].achieved or 0
        if self.k_anonymous:
            return (
                f"This release is {k}-anonymous: every row looks the same as at least {size - 1:,.0f} others on the "
                "quasi-identifying columns."
            )
        unique = self["unique rows"].achieved or 0
        said = [
            f"This release is not {k}-anonymous: its smallest class has {rows_text(size)}, and "
            f"{unique:,.0f} of its {self.rows:,} rows are unique."
        ]
        weaker = [check for check in map(self.get, ("global (1,k)", "(k,k)")) if check is not None]
        if not weaker:
            said.append("Whether it keeps a weaker promise can only be said with the original beside it.")
            return " ".join(said)
        holding = [check for check in weaker if check.passed]
        said += [check.sentence for check in holding]
        if not holding:
            said.append("It was not shown to keep a weaker promise either.")
        posterior = self.get("linking posterior")
        said.append(f"It does not promise that a person is linked to a row with a chance of at most 1 in {k}.")
        if posterior is not None:
            said.append(posterior.sentence)
        return " ".join(said)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {
            "passed": self.passed,
            "k": self.k,
            "rows": self.rows,
            "k_anonymous": self.k_anonymous,
            "description": self.describe(),
            "checks": [asdict(check) for check in self.checks],
        }


def verify(
    released: pd.DataFrame,
    schema: Schema,
    *,
    k: int,
    original: pd.DataFrame | Original | None = None,
    l: float | None = None,  # noqa: E741 - the field's name
    entropy_l: float | None = None,
    t: float | None = None,
    rsd_min: float | None = None,
    spread_min: float | None = None,
    order: NDArray[np.integer[Any]] | None = None,
    classes: LookAlikes | None = None,
) -> Verification:
    """Check a release: a table of text cells, as :meth:`Release.frame` or a file that was read back gives it.

    ``k``: rows that a class must have. ``l``, ``entropy_l``, ``t``: required of every sensitive column when given,
    reported in any case; ``rsd_min``, ``spread_min``: the same for every numeric one, shares from 0 to 1.
    ``original``: the table the release was made from, or what :func:`prepare` made of it once for many releases;
    without it only what the release shows is checked. ``order`` (n,): the original row of each released row, a secret
    of whoever made the release. ``classes``: those of ``released`` on the quasi-identifiers, when they were found
    already (:func:`anonymizer.linkage.look_alikes`).

    Raises :class:`ParameterError` for impossible requirements or an empty release, :class:`SchemaError` when a
    quasi-identifier is missing, and :class:`CellError` for a cell that cannot be read beside an original.
    """
    _require(k, l, entropy_l, t)
    if not len(released):
        raise ParameterError("The release has no rows, so there is nothing to verify.", remedy="Bring a release.")
    names = list(schema.quasi_identifying)
    if not names:
        raise SchemaError("No column is quasi-identifying.", remedy="Mark the columns that an attacker could know.")
    classes = classes or look_alikes(released, names)
    class_of, sizes = classes.class_of, classes.sizes
    evidence = Evidence(
        released=released,
        schema=schema,
        k=int(k),
        l=l,
        entropy_l=entropy_l,
        t=t,
        class_of=class_of,
        sizes=sizes,
        histograms=tuple(
            class_histograms(released[name], schema[name], class_of, sizes)
            for name in schema.sensitive
            if name in released.columns
        ),
        beside=None if original is None else consistency(released, original, schema, order=order, classes=classes),
        rsd_min=rsd_min,
        spread_min=spread_min,
        spreads=tuple(
            spread
            for name in schema.sensitive
            if name in released.columns
            and (spread := class_spread(released[name], schema[name], class_of, sizes)) is not None
        ),
    )
    checks = [check for model in MODELS.values() for check in model(evidence)]
    return Verification(tuple(checks), int(k), len(released))


def _require(k: Any, l: Any, entropy_l: Any, t: Any) -> None:  # noqa: E741
    whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
    for name, value, right, wanted in (
        ("k", k, whole and k >= 1, "a whole number of at least 1"),
        ("l", l, l is None or l >= 1, "a number of at least 1"),
        ("entropy_l", entropy_l, entropy_l is None or entropy_l >= 1, "a number of at least 1"),
        ("t", t, t is None or 0 <= t <= 1, "a number from 0 to 1"),
    ):
        if not right:
            raise ParameterError(f"{name} = {value!r} cannot be required.", value=value, remedy=f"Choose {wanted}.")
