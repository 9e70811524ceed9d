"""What is measured of a setting under cross-validation, and how it is called."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonymizer.measuring.predict import Floats
from anonymizer.settings import in_text, name_of

ORIGINAL = "original"
"""The grouping of records that were not generalized at all, for comparison."""

FORMS = {"raw": "original values", "box": "boxes"}
"""What a model that was learnt from released cells is asked about people who were left out: their *original values*, as
a recipient has them; or their *boxes*, the cells that they would have got. Which cells these are, only the unpublished
tree says, so whatever is measured on boxes presumes the tree."""

MODELS = {"linear": "linear regression", "tree": "regression tree"}
"""The models of numbers."""

OF_NUMBERS = {figure: in_text(name_of("measure", figure)) for figure in ("mape", "rmse", "mae", "r2", "slope")}
"""What is measured of the predictions of numbers."""


SINGLE = ("ranks", "hellinger", "divergence", "correlations")
"""What is measured of single columns, see :class:`anonymizer.measuring.marginals.Marginals`, and of two of numbers."""


def number_measure(figure: str, model: str, form: str) -> str:
    """Return the key of one figure of :data:`OF_NUMBERS`, of a model, asked in one form."""
    return f"{figure}_{model}_{form}"


MEASURES = {
    **{figure: in_text(name_of("measure", figure)) for figure in ("gcp", "two_way", "ranges", *SINGLE, "coefficients")},
    "rsd": "mean RSD",
    **{f"error_{form}": f"classification error, {form}" for form in FORMS},
    **{
        number_measure(figure, model, form): f"{title}, {MODELS[model]}, {form}"
        for form in FORMS
        for model in MODELS
        for figure, title in OF_NUMBERS.items()
    },
    **{figure: in_text(name_of("measure", figure)) for figure in ("groups", "smallest")},
    "seconds": "seconds",
}
"""What is measured in every fold, and how it is called."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """One setting in f folds. ``measured``: for each key of :data:`MEASURES` an array (f,), NaN where it means nothing.

    Of the training records: ``gcp``, Y19 (12); ``two_way``, :attr:`anonymizer.measuring.two_way.TwoWay.mean`;
    ``ranges``, the error of :mod:`anonymizer.measuring.ranges`; :data:`SINGLE`, what
    :mod:`anonymizer.measuring.marginals` says; ``coefficients``,
    :attr:`anonymizer.measuring.coefficients.Agreement.share`; ``rsd``, L14 (10), mean over numeric sensitive columns;
    ``groups``, ``smallest``; ``seconds`` to group and generalize them.

    Of the test records, in each of :data:`FORMS`: ``error``, the share whose class is predicted wrongly by a decision
    tree; of each of :data:`MODELS` ``mape``, L14 (11), mean over numeric sensitive columns, and of the target among
    them (the first, where none is) what :class:`anonymizer.measuring.predict.Accuracy` says, dates in days.
    ``left_out``: test values in all that were 0 and do not count in MAPE. ``made``: generalizers that ran in its place.
    """

    grouping: str
    generalizer: str
    k: int
    measured: dict[str, Floats]
    left_out: int
    made: str = ""

    @property
    def folds(self) -> int:
        """Number of folds f."""
        return len(self.measured["gcp"])

    def mean(self, measure: str) -> float:
        """Return the mean over folds (of seconds the median: the first fold may compile), NaN where it means
        nothing."""
        values = self.measured[measure]
        middle = np.nanmedian if measure == "seconds" else np.nanmean
        return float(middle(values)) if np.isfinite(values).any() else float("nan")


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of the values that are not NaN; NaN when all are."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
