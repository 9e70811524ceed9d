"""What a release is still good for: how much was generalized away, and how well the target can be predicted.

For a tree everything is arithmetic on nodes: :func:`node_ncp` once, then the loss of any cut in microseconds, without
a record. For a release the distinct cells are measured and weighed by their counts. Losses are between 0 and 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.checking.linkage import LookAlikes, look_alikes
from anonymizer.errors import ParameterError
from anonymizer.growing.encode import Encoding
from anonymizer.growing.target import majority_error
from anonymizer.growing.tree import Tree
from anonymizer.releasing.expand import middle_of
from anonymizer.releasing.release import Release, ReleasedColumn
from anonymizer.schema import Kind

Floats = NDArray[np.float64]


def cell_ncp(cell: Cell, encoding: Encoding) -> float:
    """Return the normalized certainty penalty of one cell, Y19 (11): the share of the domain that it leaves open.

    0 for a single value, the step where values are rounded; interval width / domain width, of what lies in the domain;
    number of levels / number of levels of the domain; 1 when withheld, and for a mean or median, which bounds nobody's
    value. "Missing" counts as a level of a categorical column, and as a share w = 1 / b of a numeric domain of b codes:
    an interval that may also be missing has (1 − w) · width + w. A constant column has 0.
    """
    if cell.is_single and not (encoding.point and cell.ends):
        return 0.0
    if cell.withheld or cell.estimate:
        return 1.0 if encoding.n_codes > 1 else 0.0
    if cell.low is not None and cell.high is not None:
        w = encoding.missing_share if cell.missing else 0.0
        least, most = encoding.domain
        half = encoding.point / 2
        low, high = min(max(cell.low - half, least), most), min(max(cell.high + half, least), most)
        return (1 - w) * _width_share(high - low, encoding) + w
    return (len(cell.levels) + cell.missing) / encoding.domain[1]


def _width_share(width: float, encoding: Encoding) -> float:
    whole = encoding.domain[1] - encoding.domain[0]
    return width / whole if whole > 0 else 0.0


def ncp_by_column(
    release: Release, encodings: Sequence[Encoding], records: NDArray[np.int64] | None = None
) -> dict[str, float]:
    """Return the mean NCP of each generalized column of a release. ``records`` (n,): how many each row stands for; one,
    when not given."""
    by_name = {encoding.name: encoding for encoding in encodings}
    return {c.name: float(np.average(_column_ncp(c, by_name), weights=records)) for c in release.generalized}


def ncp(release: Release, encodings: Sequence[Encoding]) -> Floats:
    """Return the NCP of every cell, (n, p): rows in the order of the release, its generalized columns in theirs."""
    by_name = {encoding.name: encoding for encoding in encodings}
    return np.column_stack([_column_ncp(column, by_name) for column in release.generalized])


def _column_ncp(column: ReleasedColumn, encodings: dict[str, Encoding]) -> Floats:
    if column.name not in encodings:
        raise ParameterError(
            f"Column {column.name!r} of the release was not encoded.",
            column=column.name,
            remedy="Give the encodings of the table that the release was made of.",
        )
    of_cell = np.array([cell_ncp(cell, encodings[column.name]) for cell in column.cells])
    assert column.index is not None
    loss: Floats = of_cell[column.index]
    return loss


def gcp(release: Release, encodings: Sequence[Encoding]) -> float:
    """Return the global certainty penalty, Y19 (12): the mean NCP over all n · p cells."""
    return float(np.mean(list(ncp_by_column(release, encodings).values())))


def node_ncp(tree: Tree, encodings: Sequence[Encoding]) -> Floats:
    """Return the NCP of every node's hull in every column, (m, p): what uniform generalization would cost there.

    Read from the hulls alone. A numeric column whose neighbouring values share codes is measured by the ends of its
    codes, so slightly above what the exact intervals of the release cost.
    """
    losses = np.zeros((tree.n_nodes, len(encodings)))
    for j, encoding in enumerate(encodings):
        if not encoding.is_interval:
            levels = tree.levels[:, j] if encoding.hierarchy is None else hierarchy_levels(encoding, tree, j)
            losses[levels > 1, j] = levels[levels > 1] / encoding.domain[1]
            continue
        low, high = tree.low[:, j].astype(np.int64), tree.high[:, j].astype(np.int64)
        if encoding.hierarchy is not None:
            some = low <= high
            low[some], high[some] = encoding.hierarchy.cover(low[some], high[some])
        losses[:, j] = interval_ncp(encoding, low, high, tree.has_missing[:, j])
    return losses


def hierarchy_levels(encoding: Encoding, tree: Tree, j: int) -> NDArray[np.int64]:
    """Return how many levels every node's cell leaves open in a column j of levels with a public hierarchy, (m,): those
    of the smallest group that holds the node's, and missing, as :func:`anonymizer.cells.hierarchy_cell` writes them."""
    assert encoding.hierarchy is not None
    low, high, missing = (part[:, j].astype(np.int64) for part in (tree.low, tree.high, tree.has_missing))
    some = low <= high
    low[some], high[some] = encoding.hierarchy.cover(low[some], high[some])
    levels = np.where(some, high - low + 1, 0)
    every = (levels == len(encoding.labels)) & (levels > 1)
    named = (0, len(encoding.labels) - 1) in encoding.hierarchy.word_of
    return np.where(every & (not named), encoding.n_codes, levels + missing)


def interval_ncp(
    encoding: Encoding, low: NDArray[np.integer], high: NDArray[np.integer], missing: NDArray[np.bool_]
) -> Floats:
    """Return the NCP of boxes in a column of numbers or dates, (b,): from their lowest and highest code (b,), and
    whether some are missing; all are where ``low`` is above ``high``."""
    losses = np.zeros(len(low))
    present = low <= high
    whole = encoding.domain[1] - encoding.domain[0]
    width = encoding.high[high[present]] - encoding.low[low[present]]
    w = np.where(missing[present], encoding.missing_share, 0.0)
    losses[present] = (1 - w) * (width / whole if whole > 0 else np.zeros(len(width))) + w
    return losses


def cut_gcp(tree: Tree, node_ncp: Floats, cut: NDArray[np.integer]) -> float:
    """Return the GCP, Y19 (12), of uniform generalization in the groups of a cut (node ids), from nodes alone."""
    n = tree.n[cut]
    return float(n @ node_ncp[cut].mean(axis=1) / n.sum())


def cut_ncp_by_column(tree: Tree, node_ncp: Floats, cut: NDArray[np.integer]) -> Floats:
    """Return the mean NCP of each column (p,) of uniform generalization in the groups of a cut."""
    n = tree.n[cut]
    return np.asarray(n @ node_ncp[cut] / n.sum())


def cut_discernibility(tree: Tree, cut: NDArray[np.integer]) -> int:
    """Return the sum of squared group sizes of a cut, in squared records."""
    return int((tree.n[cut] ** 2).sum())


def cut_error(tree: Tree, cut: NDArray[np.integer]) -> float:
    """Return the share of records outside the majority class of their group: E of the cut's groups, Y19 (8), over n."""
    return float(majority_error(tree.sums[cut]).sum() / tree.n[cut].sum())


def discernibility(classes: LookAlikes) -> int:
    """Return the discernibility metric (Bayardo and Agrawal 2005): the sum of squared sizes of the classes of
    look-alike rows, in squared records. Lowest, n, when every row is unique."""
    return int((classes.sizes**2).sum())


def majority_class_error(values: "pd.Series[Any]", classes: LookAlikes) -> float:
    """Return the share of rows outside the most frequent of ``values`` (n,) in their class of look-alike rows; missing
    is a value.

    Every guess is made with the row's own class at hand, so it is optimistic: fine boxes look better than they are.
    """
    return float(1 - majorities(values, classes).sum() / len(values)) if len(values) else 0.0


def majorities(values: "pd.Series[Any]", classes: LookAlikes) -> NDArray[np.int64]:
    """Return (classes,) rows of the most frequent value of each class of look-alike rows; missing is a value."""
    codes, levels = pd.factorize(values, use_na_sentinel=False)
    pairs, groups, v = classes.class_of * len(levels) + codes, len(classes.sizes), len(levels)
    if groups * v <= max(4 * len(values), 1 << 16):
        return np.asarray(np.bincount(pairs, minlength=groups * v).reshape(groups, v).max(axis=1))
    pairs_there, rows = np.unique(pairs, return_counts=True)
    most = np.zeros(groups, dtype=np.int64)
    np.maximum.at(most, pairs_there // v, rows)
    return most


def relative_squared_distance(values: Floats, group: NDArray[np.integer]) -> Floats:
    """Return the RSD of each numeric sensitive column, L14 (10): the mean over groups of each group's squared distance
    from its own mean / from the file's.

    ``values`` (n, r); ``group`` (n,): which group each record is in. (r,), 0 (full disclosure) to 1 (groups tell
    nothing that the file does not); a group where all values are the file's mean counts as 1.
    """
    number = np.unique(group, return_inverse=True)[1]
    count = np.bincount(number)
    distances = np.ones(values.shape[1])
    for column in range(values.shape[1]):
        y = values[:, column] - values[:, column].mean()
        apart = y - (np.bincount(number, y) / count)[number]
        own, whole = np.bincount(number, apart**2), np.bincount(number, y**2)
        rounding = 1e-24 * (np.abs(values[:, column]).max() ** 2 + 1)
        distances[column] = np.divide(own, whole, out=np.ones(len(count)), where=whole > rounding * count).mean()
    return distances


def mape(values: Floats, predicted: Floats) -> tuple[float, int]:
    """Return the mean absolute percentage error, L14 (11), as a share, and how many records with the value 0 were left
    out.

    ``values``, ``predicted`` (n,). NaN when every value is 0.
    """
    counted = values != 0
    left_out = len(values) - int(counted.sum())
    if left_out == len(values):
        return float("nan"), left_out
    return float(np.mean(np.abs(predicted[counted] - values[counted]) / np.abs(values[counted]))), left_out


def classification_error(release: Release, target: str, *, folds: int = 10, seed: int = 0) -> float:
    """Return the cross-validated error of predicting a kept column from the released cells: share of rows, missing is a
    class.

    A scikit-learn decision tree (entropy, at least 5 rows a leaf) sees each interval as its midpoint and whether the
    value may be missing, and each set as one category of its own, as Y19 did. Folds are stratified and made of
    released rows, so training and test rows can come from the same group: the error says how well the release can
    be analysed, not how well groups made of other records would predict.

    Raises :class:`ParameterError` when the target is not a kept column, or there are fewer than two folds or
    fewer rows than folds.
    """
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.tree import DecisionTreeClassifier

    values = release[target].values
    if values is None:
        raise ParameterError(
            f"Column {target!r} is generalized, so it is no target.", column=target, remedy="Choose a sensitive column."
        )
    if not 2 <= folds <= release.n_records:
        raise ParameterError(
            f"{release.n_records:,} rows cannot be divided into {folds} folds.", value=folds, remedy="Use 2 to 10."
        )
    classes = pd.factorize(values, use_na_sentinel=False)[0]
    features = _features(release)
    # A class with fewer rows than folds cannot be in all of them; only then are the folds plainly random.
    rare = np.bincount(classes).min() < folds
    splitter = (KFold if rare else StratifiedKFold)(folds, shuffle=True, random_state=seed)
    wrong = 0
    for train, test in splitter.split(features, classes):
        model = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=5, random_state=seed)
        model.fit(features[train], classes[train])
        wrong += int((model.predict(features[test]) != classes[test]).sum())
    return wrong / release.n_records


def _features(release: Release) -> Any:
    """Return the cells as numbers, a sparse matrix (n, features): midpoints and whether missing is possible; sets
    one-hot."""
    from scipy.sparse import csr_matrix, hstack, identity

    parts = []
    for column in release.generalized:
        assert column.index is not None
        if column.kind is Kind.CATEGORICAL:
            of_cell = identity(len(column.cells), format="csr")
        else:
            middle = [0.0 if c.low is None or c.high is None else middle_of(c) for c in column.cells]
            scale = max(map(abs, middle), default=0.0) or 1.0
            of_cell = csr_matrix([[m / scale, float(c.missing)] for m, c in zip(middle, column.cells, strict=True)])
        parts.append(of_cell[column.index])
    return hstack(parts, format="csr")


@dataclass(frozen=True)
class Utility:
    """What a release of n records keeps and loses.

    ``gcp``: mean NCP over all cells, Y19 (12), 0 to 1; ``ncp_by_column``: the same for each column. A record that was
    left out loses all, 1 in every column; ``left_out``: how many were, and ``gcp_released``: the mean over the others.
    ``discernibility``: sum of squared class sizes, records²: as if each record were charged the size of its class, and
    one that was left out the size of the table (Bayardo and Agrawal 2005).
    ``error``: share of records outside the most frequent target value of their class of look-alikes, counted on
    the released rows themselves (not cross-validated); ``None`` without a target.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> 0 < result.utility.gcp < 1
    True
    """

    gcp: float
    ncp_by_column: Mapping[str, float]
    discernibility: int
    error: float | None
    gcp_released: float
    left_out: int = 0

    def __repr__(self) -> str:
        error = "" if self.error is None else f", error {self.error:.4g}"
        return f"Utility: loss {self.gcp:.4g} (GCP){error}, {self.left_out:,} rows left out"

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {
            "gcp": self.gcp,
            "gcp_released": self.gcp_released,
            "records_left_out": self.left_out,
            "ncp_by_column": dict(self.ncp_by_column),
            "discernibility": self.discernibility,
            "error_outside_majority": self.error,
        }


def measure(
    release: Release,
    encodings: Sequence[Encoding],
    target: str | None,
    classes: LookAlikes | None = None,
    left_out: int = 0,
) -> Utility:
    """Return all figures of one release. ``target``: a kept column, or ``None``; ``classes``: those of its look-alike
    rows, when they are known; ``left_out``: records of the table that it has no row of.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> utility = an.measure(result.release, result.encoded.encodings, "diagnosis")
    >>> round(utility.gcp - result.utility.gcp, 9)
    0.0
    """
    classes = classes or look_alikes(release.frame(), [column.name for column in release.generalized])
    losses = ncp_by_column(release, encodings)
    values = None if target is None else release[target].values
    n = release.n_records + left_out
    with_all = {name: (loss * release.n_records + left_out) / n for name, loss in losses.items()}
    released = float(np.mean(list(losses.values())))
    return Utility(
        gcp=float(np.mean(list(with_all.values()))) if left_out else released,
        ncp_by_column=with_all if left_out else losses,
        discernibility=discernibility(classes) + left_out * n,
        error=None if values is None else majority_class_error(values, classes),
        gcp_released=released,
        left_out=left_out,
    )
