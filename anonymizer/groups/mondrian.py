"""Mondrian, the baselines that the papers compare with: trees whose leaves are the groups.

LeFevre, DeWitt and Ramakrishnan 2006 (median), 2008 (information gain, regression).
"""

import numpy as np

from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.groups.refine import with_cuts
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.grow import grow
from anonymizer.growing.tree import Tree


def grow_mondrian(encoded: EncodedTable, k: int, method: str = "median-mondrian") -> Tree:
    """Return a tree with at least k records in every leaf; each leaf is a group, nothing is pruned.

    ``median-mondrian`` (strict, 2006): a node is cut on the quasi-identifier with the widest normalized range (numbers
    by length, levels by how many are present less one; tie: the first), at the lower median, which goes left, or
    right when k forbids that; when k forbids both, on the next widest. Levels stand in their declared order.
    ``infogain-mondrian``, ``regression-mondrian`` (2008): the best split for a categorical or numeric target by
    entropy or squared error with at least k records on both sides: :func:`anonymizer.growing.grow.grow`.

    Raises :class:`ParameterError` for an unknown method, k below 1, or a method that does not fit the target, and
    :class:`GuaranteeError` when there are fewer than k records.
    """
    if method not in MONDRIAN:
        raise ParameterError(f"There is no method {method!r}.", remedy=f"Choose one of {', '.join(MONDRIAN)}.")
    if k < 1:
        raise ParameterError(f"k must be at least 1, not {k}.", value=k, remedy="Ten is a common choice.")
    if encoded.n_records < k:
        raise GuaranteeError(
            f"The table has {encoded.n_records:,} rows, fewer than k = {k:,}: no group can have {k:,}.",
            remedy="Choose a smaller k or add more rows.",
        )
    criterion = MONDRIAN[method]
    if criterion is None:
        return median(encoded, k)
    require_target(method, encoded.by_numbers, bool(encoded.target.name))
    return grow(encoded, criterion, min_leaf=k)


def require_target(method: str, by_numbers: bool, by_classes: bool) -> None:
    """Raise :class:`ParameterError` when a method has no target that it can be guided by."""
    needs_numbers = MONDRIAN[method] == "sse"
    if not (by_numbers if needs_numbers else by_classes):
        raise ParameterError(
            f"{method} needs a {'numeric' if needs_numbers else 'categorical'} sensitive column as its target.",
            remedy="Choose another target, or median-mondrian, which needs none.",
        )


def median(encoded: EncodedTable, k: int) -> Tree:
    """Return the tree of median Mondrian: median cuts below one group that holds everybody."""
    whole = grow(encoded, "sse" if encoded.by_numbers else "entropy", max_depth=0)
    everybody = np.zeros(encoded.n_records, dtype=np.int32)
    return with_cuts(whole, everybody[:1], everybody, encoded, k, by_median=True)


MONDRIAN: dict[str, str | None] = {
    "median-mondrian": None,
    "infogain-mondrian": "entropy",
    "regression-mondrian": "sse",
}
"""Mondrian methods, by the name of the grouping that they make: the criterion of their splits, if they have one."""
