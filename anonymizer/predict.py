"""What a model sees of released cells, and the models that judge a release: a decision tree, linear regression.

Of an interval a model sees the middle, of a mean or median that number; of levels the share of each one in the cell:
equal shares of a set, counts of a weighted concatenation. :func:`anonymizer.expand.expand` has the same reading.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.encode import Encoding

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def cell_of(code: int, encoding: Encoding) -> Cell:
    """The cell that says one code."""
    text = encoding.text(code)
    if text is None:
        return Cell.MISSING
    return Cell.interval(text, text) if encoding.is_interval else Cell.of_levels((text,))


def seen(cell: Cell, encoding: Encoding) -> list[float]:
    """A cell as numbers: middle as a share of the domain and share of missing, or the share of each level."""
    if encoding.is_interval:
        low, high = encoding.domain
        if cell.low is None or cell.high is None:
            return [0.5, 1.0]
        middle = (cell.low / 2 + cell.high / 2 - low) / (high - low) if high > low else 0.0
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


def classify(features: Floats, box: Rows, classes: NDArray[Any], test: Floats) -> NDArray[Any]:
    """The class of each test record (rows of ``test``) by a decision tree (entropy, at least 5 records a leaf).

    Records that share box and class are one row with a weight, which gives the same tree sooner.
    """
    from sklearn.tree import DecisionTreeClassifier

    pairs, counts = np.unique(np.column_stack([box, classes]), axis=0, return_counts=True)
    model = DecisionTreeClassifier(criterion="entropy", min_weight_fraction_leaf=min(0.5, 5 / len(box)), random_state=0)
    model.fit(features[pairs[:, 0]], pairs[:, 1], sample_weight=counts)
    return np.asarray(model.predict(test))


def regress(features: Floats, box: Rows, values: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Predictions (n', r) of the test records by linear regression and by a regression tree (at least 5 a leaf)."""
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeRegressor

    distinct, place, counts = np.unique(box, return_inverse=True, return_counts=True)
    means = np.column_stack([np.bincount(place, y) / counts for y in values.T])
    linear = LinearRegression().fit(features[distinct], means, sample_weight=counts)
    tree = DecisionTreeRegressor(min_weight_fraction_leaf=min(0.5, 5 / len(box)), random_state=0)
    tree.fit(features[distinct], means, sample_weight=counts)
    shape = len(test), values.shape[1]
    return linear.predict(test).reshape(shape), tree.predict(test).reshape(shape)
