"""What a model sees of released cells, and the models that judge a release: a decision tree, linear regression.

Of an interval a model sees the middle, of a mean or median that number; of levels the share of each one in the cell:
equal shares of a set, counts of a weighted concatenation. :func:`anonymizer.releasing.expand.expand` has the same
reading.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.growing.encode import Encoding
from anonymizer.growing.threads import one_thread

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def cell_of(code: int, encoding: Encoding) -> Cell:
    """Return the cell that says one code."""
    text = encoding.text(code)
    if text is None:
        return Cell.MISSING
    return Cell.interval(text, text) if encoding.is_interval else Cell.of_levels((text,))


def features_of(cell: Cell, encoding: Encoding) -> list[float]:
    """Return a cell as numbers: middle as a share of the domain and share of missing, or the share of each level."""
    if encoding.is_interval:
        low, high = encoding.domain
        if cell.low is None or cell.high is None:
            return [0.5, 1.0]
        ends = [min(max(end, low), high) for end in (cell.low, cell.high)]
        middle = float(ends[0] / 2 + ends[1] / 2 - low) / (high - low) if high > low else 0.0
        return [middle, 0.5 * cell.missing]
    shares = [0.0] * encoding.n_codes
    if cell.withheld:
        return [1 / encoding.n_codes] * encoding.n_codes
    place = {encoding.text(code): code for code in range(encoding.n_codes)}
    members = [*cell.levels] + [None] * cell.missing
    counts = cell.counts or (1,) * len(members)
    for member, count in zip(members, counts, strict=True):
        shares[place[member]] = count / sum(counts)
    return shares


CONFIDENCE = 0.25
"""How far C4.5 trusts the errors that it counts in a leaf, its default: smaller prunes more."""


def classify(features: Floats, box: Rows, classes: NDArray[Any], test: Floats) -> NDArray[Any]:
    """Return the class of each test record (rows of ``test``) by a decision tree, as Y19's C4.5 grows it by default.

    Entropy, at least 2 records in a leaf, then pruned: a branch becomes a leaf when that is not expected to err more by
    a tenth of a record (Quinlan 1993). Without it, finer boxes would be learnt by heart and look worse than coarse
    ones. Records that share box and class are one row with a weight, which gives the same tree sooner.
    """
    from sklearn.tree import DecisionTreeClassifier

    pairs, counts = np.unique(np.column_stack([box, classes]), axis=0, return_counts=True)
    model = DecisionTreeClassifier(criterion="entropy", min_weight_fraction_leaf=min(0.5, 2 / len(box)), random_state=0)
    model.fit(features[pairs[:, 0]], pairs[:, 1], sample_weight=counts)
    fit = model.tree_
    records = fit.value[:, 0, :] * fit.weighted_n_node_samples[:, None]
    top = pruned_by_confidence(fit.children_left, fit.children_right, records)
    return np.asarray(model.classes_[records[top[model.apply(test)]].argmax(axis=1)])


def pruned_by_confidence(left: Rows, right: Rows, records: Floats) -> Rows:
    """Return for each node (m,) the leaf that holds it after pruning, or itself above the leaves.

    ``left``, ``right`` (m,): children, -1 at leaves, always after their parent; ``records`` (m, c): of each class.
    """
    total = records.sum(axis=1)
    expected = expected_errors(total, total - records.max(axis=1))
    keeps = np.zeros(len(left), dtype=np.bool_)
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            branch = expected[left[node]] + expected[right[node]]
            keeps[node] = expected[node] > branch + 0.1
            expected[node] = branch if keeps[node] else expected[node]
    top = np.arange(len(left))
    for inner in np.flatnonzero(left >= 0):
        if not keeps[inner] or top[inner] != inner:
            top[left[inner]] = top[right[inner]] = top[inner]
    return top


def expected_errors(n: Floats, errors: Floats) -> Floats:
    """Return the upper confidence bound of the errors among n records of which so many err, both (m,): C4.5's estimate.

    No error: n (1 − CF^(1/n)). Fewer than one: between that and the bound of one error. Otherwise the normal
    approximation with a correction of half an error.
    """
    from scipy.special import ndtri

    z = ndtri(1 - CONFIDENCE)

    def bound(e: Floats) -> Floats:
        share = np.minimum((e + 0.5) / n, 1.0)
        spread = np.sqrt(share / n - share**2 / n + z**2 / (4 * n**2))
        upper = n * (share + z**2 / (2 * n) + z * spread) / (1 + z**2 / n)
        return np.where(e + 0.5 >= n, np.maximum(n, e), upper)

    none = n * (1 - CONFIDENCE ** (1 / n))
    return np.asarray(np.where(errors < 1, none + errors * (bound(np.ones_like(n)) - none), bound(errors)))


def regress(features: Floats, box: Rows, values: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Return predictions (n', r) of the test records by linear regression and by a regression tree (at least 5 a
    leaf)."""
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeRegressor

    distinct, place, counts = np.unique(box, return_inverse=True, return_counts=True)
    means = np.column_stack([np.bincount(place, y) / counts for y in values.T])
    with one_thread():
        linear = LinearRegression().fit(features[distinct], means, sample_weight=counts)
    tree = DecisionTreeRegressor(min_weight_fraction_leaf=min(0.5, 5 / len(box)), random_state=0)
    tree.fit(features[distinct], means, sample_weight=counts)
    shape = len(test), values.shape[1]
    return linear.predict(test).reshape(shape), tree.predict(test).reshape(shape)


class Accuracy(NamedTuple):
    """How well numbers are predicted.

    ``rmse``, ``mae``: root of the mean square, and mean, of how far predictions miss, in the numbers' unit; ``r2``: 1
    less the squared error as a share of that around the numbers' own mean; ``slope``: by how much the numbers rise
    where the prediction rises by 1 (calibration slope: 1 is right, less is too bold).
    """

    rmse: float
    mae: float
    r2: float
    slope: float


def accuracy(values: Floats, predicted: Floats) -> Accuracy:
    """Return how well numbers (n,) are predicted; NaN for R² where they are all equal, and for the slope where the
    predictions are."""
    apart, bold = values - values.mean(), predicted - predicted.mean()
    missed = values - predicted
    whole, spread = float(apart @ apart), float(bold @ bold)
    tiny = 1e-18 * len(values) * (float(np.abs(values).max()) ** 2 + 1e-300)
    return Accuracy(
        rmse=float(np.sqrt(np.mean(missed**2))),
        mae=float(np.mean(np.abs(missed))),
        r2=1 - float(missed @ missed) / whole if whole > tiny else float("nan"),
        slope=float(apart @ bold) / spread if spread > tiny else float("nan"),
    )
