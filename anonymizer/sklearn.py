"""An estimator of scikit-learn that puts rows into groups of at least k fitted ones, for pipelines."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from anonymizer.growing.encode import Encoding
from anonymizer.growing.tree import Tree
from anonymizer.pipeline import anonymize
from anonymizer.releasing.expand import middle_of
from anonymizer.schema import Kind, Schema
from anonymizer.values import value_text

TARGET = "target"
"""The name of the sensitive column, unless a column of X has it."""


class Anonymizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows as the boxes of groups of at least k fitted rows: one box for each group of the pruned tree.

    All p columns of X are quasi-identifying; ``y`` (n,), where there is one, is the sensitive target. It guides the
    tree only where ``grouping`` says so, such as ``error-risk``. ``k``, ``l``, ``grouping``: of
    :func:`anonymizer.pipeline.anonymize`; the generalizer is ``uniform``. Groups follow from the user's key.
    ``as_text``: give cells as they are released, such as ``[20, 29]`` or ``{a, b}``; else numbers are the middle of
    their interval, and sets of levels their text.

    ``transform`` gives each row the box of the group that it reaches, (n', p): a fitted row its released one, and any
    other row that of fitted rows, so it may lie outside of it. It never gives a box of fewer than k fitted rows. What
    it gives is in the order of the rows, so that a model can follow; to release rows, take ``result_`` of the fit.

    ``result_``: the :class:`anonymizer.pipeline.Result` of the fitted table, with its rows; a copy that is saved or
    sent to another process has the boxes and no ``result_``. Every check of scikit-learn's ``check_estimator`` holds
    for k = 2; a larger k needs more rows than some of its tables have, and :class:`GuaranteeError` is a ``ValueError``.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()
    >>> groups = an.sklearn.Anonymizer(k=20).fit(table[["age", "sex"]], table["diagnosis"])
    >>> groups.transform(table[["age", "sex"]]).shape, list(groups.get_feature_names_out())
    ((2000, 2), ['age', 'sex'])
    """

    def __init__(self, k: int = 10, l: int = 1, grouping: str | None = None, as_text: bool = False) -> None:  # noqa: E741
        self.k = k
        self.l = l
        self.grouping = grouping
        self.as_text = as_text

    def fit(self, X: Any, y: Any = None) -> "Anonymizer":
        """Return the estimator with groups made of n rows. Raises :class:`GuaranteeError` for fewer than k."""
        frame = self._frame(X, reset=True)
        names = list(frame.columns)
        target = TARGET
        while target in names:
            target += "_"
        if y is not None:
            frame = frame.assign(**{target: column_or_1d(y, warn=True)})
        schema = Schema.of(frame, quasi_identifying=names, sensitive=[target] if y is not None else [])
        settings: dict[str, Any] = {"k": self.k, "l": self.l, "grouping": self.grouping, "generalizer": "uniform"}
        result = anonymize(frame, schema, against_original=False, **settings)
        self.result_ = result
        self._tree, self._encodings = result.flow.tree, result.encoded.encodings
        self._names = names
        leaf, release = result.flow.leaf, result.release
        group_of_node = result.pruning.group_of_node()
        groups, rows = np.unique(group_of_node[leaf[release.order]], return_index=True)
        self._place = np.full(result.tree.n_nodes, -1, np.int64)
        self._place[groups] = np.arange(len(groups))
        self._group_of_node = group_of_node
        self._boxes = [self._cells(release[name], rows) for name in names]
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the boxes of the groups that rows reach, (n', p): numbers where all columns are numeric."""
        check_is_fitted(self, "_boxes")
        frame = self._frame(X, reset=False)
        leaf = route(self._tree, self._encodings, frame[self._names])
        group = self._place[self._group_of_node[leaf]]
        columns = [box[group] for box in self._boxes]
        numbers = all(box.dtype.kind == "f" for box in self._boxes)
        return np.column_stack(columns) if numbers else np.column_stack([c.astype(object) for c in columns])

    def _frame(self, X: Any, reset: bool) -> pd.DataFrame:
        """Return X as a table, its columns by name."""
        values = validate_data(
            self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=1 + reset
        )
        if isinstance(X, pd.DataFrame):
            return X.set_axis(list(map(str, X.columns)), axis=1).reset_index(drop=True)
        if values.dtype.kind == "c":
            raise ValueError("Complex data not supported: use its parts as columns.")
        names = list(map(str, getattr(self, "feature_names_in_", range(values.shape[1]))))
        frame = pd.DataFrame(values, columns=names)
        return frame.infer_objects() if values.dtype == object else frame

    def _cells(self, column: Any, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the cell of each group in a column, as text or as the middle of its interval."""
        cells = [column.cells[place] for place in column.index[rows]]
        if self.as_text or column.kind is not Kind.NUMERIC:
            return np.array([cell.text() for cell in cells], dtype=object)
        return np.array([np.nan if cell.low is None else middle_of(cell) for cell in cells], np.float64)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "result_"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags


def route(tree: Tree, encodings: tuple[Encoding, ...], frame: pd.DataFrame) -> NDArray[np.int64]:
    """Return the leaf of a grown tree that each row of a table reaches, (n',), by values; levels that the tree has
    never met go to the larger side."""
    columns: list[NDArray[Any]] = []
    for encoding in encodings:
        values = frame[encoding.name]
        if encoding.is_interval:
            columns.append(pd.to_numeric(values).to_numpy(np.float64, na_value=np.nan))
        else:
            code_of = {encoding.text(code): code for code in range(encoding.n_codes)}
            missing = code_of.get(None, encoding.n_codes)
            texts = [None if absent else value_text(value) for value, absent in zip(values, values.isna(), strict=True)]
            columns.append(np.array([missing if t is None else code_of.get(t, encoding.n_codes) for t in texts]))
    leaf = np.zeros(len(frame), np.int64)
    rows: dict[int, NDArray[np.int64]] = {0: np.arange(len(frame))}
    while rows:
        node, own = rows.popitem()
        if tree.feature[node] < 0:
            leaf[own] = node
            continue
        encoding, values = encodings[tree.feature[node]], columns[tree.feature[node]][own]
        if encoding.is_interval:
            left = values < tree.threshold[node]  # missing compares with nothing, and goes right
        elif encoding.by_order:
            left = values < tree.cut[node]
        else:
            listed = tree.listed[tree.listed_start[node] : tree.listed_start[node + 1]]
            left = np.isin(values, listed) == tree.listed_left[node]
        first, second = tree.children(node)
        rows |= {first: own[left], second: own[~left]}
    return leaf
