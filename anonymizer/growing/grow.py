"""Growing: the best split of a node, then of its children, until nothing gains.

Large nodes near the root are divided one by one from histograms; once the pieces are small, each is finished on
its own. The same plan serves records in this process and records on several machines (PLANET, Panda et al. 2009).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError
from anonymizer.growing.blend import blend_responses
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.growing.records import BranchSource, Growth, InMemory, RecordSource, heights_of
from anonymizer.growing.subtree import (
    Division,
    Subtree,
    join_subtrees,
    persons_of_nodes,
    preorder,
    sizes_and_depths,
)
from anonymizer.growing.target import bits_of, moments_of_steps
from anonymizer.growing.threads import one_thread
from anonymizer.growing.tree import Persons, Tree
from anonymizer.growing.waves import (
    KERNEL_CRITERIA,
    LocalSplitter,
    Orders,
    Splitter,
    choose_split,
    divide_large,
    division_of,
)
from anonymizer.settings import offer

CRITERIA = ("entropy", "gini", "sse", "blend", "in-order")
"""Splitting criteria: impurities of classes, squared error of numbers, and of numbers and columns together; and the
first column of the table that gains anything."""

offer("criterion", CRITERIA)

TABLE_SIZE = 1 << 14


def grow(
    encoded: EncodedTable,
    criterion: str = "entropy",
    min_leaf: int = 2,
    max_depth: int | None = None,
    exhaustive_max: int = 8,
    weight: float = 0.5,
) -> Tree:
    """Return a binary tree on the quasi-identifiers: for classes by ``entropy`` or ``gini``, for numbers by ``sse``.

    ``sse`` predicts all numeric sensitive columns at once, each scaled to [0, 1] (L14). The split with the largest
    total gain (n times impurity, bits for entropy; squared error for numbers) wins; gains within
    1e-12 · max(1, root impurity) are ties, won by the first column, then the first candidate. Numeric columns are
    cut at midpoints of neighbouring values in the node. Categorical columns are divided into subsets: in the order
    of their class shares or means for two classes or one response (Breiman et al. 1984: exact for ``min_leaf`` = 1);
    for more, every subset is tried when at most ``exhaustive_max`` levels are present, and otherwise those along the
    first principal component of the class shares or means. Levels that a node does not hold go to the larger child.

    ``blend`` lowers the squared error of the target, times ``weight``, and of the quasi-identifiers themselves, times
    1 − ``weight``: see :mod:`anonymizer.growing.blend`; its subsets always follow the principal component. Grow it with
    ``min_leaf`` = k.

    ``in-order`` asks the columns in the order in which they stand, each as long as it gains anything by what suits the
    target, entropy or squared error, before the next one is asked. Where that order means something, as from the
    general to the particular, groups follow it.

    ``min_leaf``: fewest records of a child. ``max_depth``: longest path, ``None`` for no limit.
    Raises :class:`ParameterError` for an unknown criterion, one that does not fit the target, or a number out of range.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> tree = an.grow(an.encode(table, schema), "gini", min_leaf=10)
    >>> int(tree.n[0]), tree.n_nodes > 1
    (300, True)
    """
    return grow_with_leaves(encoded, criterion, min_leaf, max_depth, exhaustive_max, weight)[0]


def grow_with_leaves(
    encoded: EncodedTable,
    criterion: str = "entropy",
    min_leaf: int = 2,
    max_depth: int | None = None,
    exhaustive_max: int = 8,
    weight: float = 0.5,
) -> tuple[Tree, NDArray[np.int32]]:
    """Return the tree that :func:`grow` grows, whose arguments these are, and the leaf of each record, (n,)."""
    if criterion not in CRITERIA:
        raise ParameterError(f"There is no criterion {criterion!r}.", remedy=f"Choose one of {', '.join(CRITERIA)}.")
    if min_leaf < 1 or (max_depth is not None and max_depth < 0) or not 0 <= exhaustive_max <= 16:
        raise ParameterError(
            "min_leaf must be at least 1, max_depth at least 0 and exhaustive_max from 0 to 16.",
            remedy="Correct the number.",
        )
    if criterion == "blend":
        source = InMemory(encoded, blend_responses(encoded, weight))
        return grow_from_all(source, "sse", min_leaf, max_depth, 0)
    in_order = criterion == "in-order"
    if in_order:
        criterion = "sse" if encoded.by_numbers else "entropy"
    require_fit(criterion, encoded.by_numbers)
    with one_thread():
        rules = min_leaf, max_depth, exhaustive_max
        return grow_from_all(InMemory(encoded), criterion, *rules, in_order=in_order)


def require_fit(criterion: str, by_numbers: bool) -> None:
    """Raise :class:`ParameterError` when a criterion of splits does not fit the target."""
    if (criterion == "sse") != by_numbers:
        raise ParameterError(
            f"The criterion {criterion!r} does not fit the target, which is "
            + ("numeric." if by_numbers else "of classes."),
            remedy="Use sse for a numeric target, entropy or gini for any other.",
        )


def grow_from_all(source: InMemory, *rules: Any, in_order: bool = False) -> tuple[Tree, NDArray[np.int32]]:
    """Return the tree that grows from all records, and the leaf of each: see :func:`grow_from`."""
    return tree_of_records(grow_from(source, source.encodings, *rules, in_order=in_order), source.encoded, source.order)


def grow_from(
    source: BranchSource,
    encodings: tuple[Encoding, ...],
    criterion: str,
    min_leaf: int,
    max_depth: int | None,
    exhaustive_max: int,
    *,
    in_order: bool = False,
    splitter: "Callable[[Growth, Orders], Splitter] | None" = None,
) -> Subtree:
    """Return what grows by the rules of :func:`grow` from any source of records, which then lie as its leaves do.
    ``splitter``: of a source whose histograms are not brought here."""
    root = source.root()
    numbers = np.arange(min(root.n + 1, TABLE_SIZE), dtype=np.float64)
    table = numbers * np.log2(numbers, out=np.zeros_like(numbers), where=numbers > 0)
    impurity = source.impurity(criterion)
    rounding = 8 * np.finfo(float).eps * root.n * np.log2(root.n + 1)  # of sums of n log n, if one class has nearly all
    growth = Growth(
        KERNEL_CRITERIA.index(criterion),
        min_leaf,
        -1 if max_depth is None else max_depth,
        exhaustive_max,
        max(1e-12 * max(1.0, impurity), 0.0 if criterion == "sse" else rounding),
        table,
    )
    orders: Orders = [encoding.by_order for encoding in encodings], heights_of(encodings)
    if in_order:
        divisions = divide_in_order(cast(RecordSource, source), growth, orders)
        growth = growth._replace(min_leaf=root.n)  # nothing is left to divide
    else:
        here = partial(LocalSplitter, cast(RecordSource, source))
        divisions = divide_large(source, growth, (splitter or here)(growth, orders))
    ends = [node for node, _ in preorder(root, divisions) if node.key not in divisions]
    subtrees = dict(zip([node.key for node in ends], source.finish(ends, growth), strict=True))
    return join_subtrees(root, divisions, subtrees)


def divide_in_order(source: RecordSource, growth: Growth, orders: Orders) -> dict[int, Division]:
    """Return every division: by the first column that gains anything, where it gains most."""
    pending, divisions = [source.root()], dict[int, Division]()
    while pending:
        node = pending.pop()
        if node.depth == growth.max_depth or node.n < 2 * growth.min_leaf:
            continue
        for column in np.flatnonzero(node.active):
            only = np.zeros_like(node.active)
            only[column] = 1
            (histograms,) = source.divide([], [node._replace(active=only)])
            choice = choose_split(node, histograms, orders, growth)
            if choice is not None:
                key = 1 + 2 * len(divisions)
                division = division_of(node, choice[0], node.active, histograms, growth.criterion, key)
                source.divide([division], [])
                divisions[node.key] = division
                pending += [division.left, division.right]
                break
    return divisions


def tree_of_records(
    subtree: Subtree, encoded: EncodedTable, order: NDArray[np.uint32]
) -> tuple[Tree, NDArray[np.int32]]:
    """Return the tree of what grew from all records of a table, and the leaf of each, (n,). ``order`` (n,): the records
    as growing has left them, those of each leaf one after the other, leaf after leaf."""
    persons = persons_of_nodes(encoded, subtree.branch, order)
    tree = tree_of(replace(subtree, persons=persons), encoded.encodings, encoded.n_records)
    leaves = np.flatnonzero(tree.is_leaf).astype(np.int32)
    leaf = np.empty(len(order), dtype=np.int32)
    leaf[order] = np.repeat(leaves, tree.n[leaves])
    return tree, leaf


def tree_of(subtree: Subtree, encodings: Sequence[Encoding], n_records: int) -> Tree:
    """Return the tree that a grown piece is, with sizes, depths and thresholds."""
    branch, n, hulls = subtree.branch, subtree.n, subtree.hulls
    m = len(n)
    size, depth = sizes_and_depths(branch.parent)
    cut = np.full(m, -1, dtype=np.int32)
    threshold = np.full(m, np.nan)
    for j, encoding in enumerate(encodings):
        at = np.flatnonzero((branch.feature == j) & (branch.code_left >= 0))
        if not len(at):
            continue
        below, above = branch.code_left[at], branch.code_right[at]
        if encoding.is_interval:
            last = len(encoding.labels) - 1
            next_low = encoding.low[np.minimum(above, last)]
            middle = encoding.high[below] + (next_low - encoding.high[below]) / 2
            middle = np.minimum(middle, np.maximum(encoding.high[below], np.nextafter(next_low, -np.inf)))
            threshold[at] = np.where(above > last, np.inf, middle)
            cut[at] = np.clip(np.searchsorted(encoding.low, threshold[at], side="right"), below + 1, above)
            if encoding.heights is not None:
                cut[at] = whole_groups(encoding.heights, below, above, cut[at])
                ends = encoding.high[cut[at] - 1], encoding.low[np.minimum(cut[at], last)]
                threshold[at] = np.where(cut[at] > last, np.inf, (ends[0] + ends[1]) / 2)
        else:
            left = at + 1
            cut[at] = np.where(n[left] >= n[at] - n[left], above, below + 1)
            if encoding.heights is not None:
                cut[at] = whole_groups(encoding.heights, below, above, cut[at])
    classes, *others = subtree.counts
    return Tree(
        parent=branch.parent,
        size=size,
        depth=depth,
        feature=branch.feature,
        cut=cut,
        threshold=threshold,
        listed_start=np.append(branch.listed_start, len(branch.listed)),
        listed=branch.listed,
        listed_left=branch.listed_left.astype(np.bool_),
        n=n,
        sums=classes,
        moments=moments_of_steps(subtree.steps, bits_of(n_records)),
        others=tuple(others),
        low=hulls.low,
        high=hulls.high,
        levels=hulls.levels,
        has_missing=hulls.missing,
        persons=subtree.persons or Persons(n, classes, tuple(others)),
    )


def whole_groups(
    heights: NDArray[np.int16], below: NDArray[np.int32], above: NDArray[np.int32], cut: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return where to cut (q,) between a last code on the left and a first one on the right so that no node of a public
    hierarchy is divided that need not be: the place of those that is nearest to ``cut``."""
    places = []
    for first, last, near in zip(below.tolist(), above.tolist(), cut.tolist(), strict=True):
        between = np.arange(first + 1, last + 1)
        highest = between[heights[between] == heights[between].max()]
        places.append(int(highest[np.argmin(np.abs(highest - near))]))
    return np.array(places, np.int32)
