"""Growing a branch: the best split of a node from its histograms, then its children, depth first.

A node's records are a run of the packed columns, see :mod:`anonymizer.kernels.partition`. A column with one value in a
node is *settled*: all records there have the same code, so it is neither read nor moved any more below. Narrow columns
keep their histograms in a *pool*, so that a larger child's are the node's less its smaller sibling's.
"""

from typing import Any, NamedTuple

import numpy as np

from anonymizer.kernels.partition import longer, mark_sides, pairs_to_swap, swap, swap_rows
from anonymizer.kernels.pool import add_pool, divide_pool, pays_pool, pool_layout
from anonymizer.kernels.splits import (
    ENTROPY,
    GINI,
    SSE,
    add_records,
    add_side,
    best_split_of_column,
    copy_cells,
    present_codes,
    purity,
    sums_there,
)
from anonymizer.loops import njit

INITIAL_NODES = 64


class Columns(NamedTuple):
    """The packed records, partitioned in place as the branch grows.

    ``packed`` (p, n), ``order`` (n,), ``responses`` (n, r): see :mod:`anonymizer.kernels.partition`. ``n_codes``,
    ``by_order`` (p,): of each column its codes, and whether they are cut in their order; ``heights`` (p, b) by which
    public hierarchy: see :func:`anonymizer.kernels.splits.best_cut`, b = 0 where no column has one.
    """

    packed: Any
    order: Any
    responses: Any
    n_codes: Any
    by_order: Any
    heights: Any
    stride: Any


class Nodes(NamedTuple):
    """The grown nodes in preorder, the first m entries of each array: see :func:`grow_branch`."""

    parent: Any
    feature: Any
    code_left: Any
    code_right: Any
    listed_start: Any
    listed_left: Any
    first: Any
    last: Any
    sums: Any


class Stack(NamedTuple):
    """The nodes that are still to be grown, the next one on top.

    ``run`` (room, 4): first and last record, depth, parent. ``sums`` (room, width), ``active`` (room, p): columns that
    are not settled. ``pool`` (room, cells): histograms of the narrow columns, those of the node where ``has_pool``.
    """

    run: Any
    sums: Any
    active: Any
    has_pool: Any
    pool: Any


class Scratch(NamedTuple):
    """Room that one node uses at a time.

    ``hist``: the cells of the widest column, zero between uses, as are ``bits`` and ``top``, a two-level bitmap of what
    is packed. ``present``, ``ordered``, ``side``, ``best_present``: one entry a code; ``best_side``: one for whatever
    can be packed. ``goes_left``, ``from_left``, ``from_right``: one entry a record. ``there``, ``few``, ``cells``:
    which sums the node has, these, and those of a column, see :func:`anonymizer.kernels.splits.copy_cells`. ``left``,
    ``right``: sums of the two sides; ``best_left``: of the best split; ``total``, ``active``: of the node. ``pool``: of
    the smaller child.
    """

    hist: Any
    present: Any
    ordered: Any
    bits: Any
    top: Any
    side: Any
    best_present: Any
    best_side: Any
    goes_left: Any
    from_left: Any
    from_right: Any
    there: Any
    few: Any
    cells: Any
    left: Any
    right: Any
    best_left: Any
    total: Any
    active: Any
    pool: Any


@njit
def nodes_of_size(capacity, sums):
    """Return room for ``capacity`` nodes."""
    return Nodes(
        np.empty(capacity, np.int32), np.empty(capacity, np.int32), np.empty(capacity, np.int32),
        np.empty(capacity, np.int32), np.empty(capacity, np.int64), np.empty(capacity, np.uint8),
        np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty((capacity, sums.shape[0]), sums.dtype),
    )  # fmt: skip


@njit
def longer_nodes(nodes):
    """Return the nodes with twice the room."""
    return Nodes(
        longer(nodes.parent), longer(nodes.feature), longer(nodes.code_left), longer(nodes.code_right),
        longer(nodes.listed_start), longer(nodes.listed_left), longer(nodes.first), longer(nodes.last),
        longer(nodes.sums),
    )  # fmt: skip


@njit
def stack_of_size(room, p, pool_size, sums, hist):
    """Return room for a stack of so many nodes."""
    return Stack(
        np.empty((room, 4), np.int64), np.empty((room, sums.shape[0]), sums.dtype), np.empty((room, p), np.uint8),
        np.zeros(room, np.uint8), np.zeros((room, pool_size), hist.dtype),
    )  # fmt: skip


@njit
def longer_stack(stack):
    """Return the stack with twice the room."""
    return Stack(
        longer(stack.run), longer(stack.sums), longer(stack.active), longer(stack.has_pool), longer(stack.pool)
    )


@njit(makes_arrays=False)
def push(stack, at, start, end, depth, parent, sums, active, has_pool):
    """Write a node that is to be grown to row ``at`` of the stack; its pool stands there already."""
    stack.run[at, 0], stack.run[at, 1], stack.run[at, 2], stack.run[at, 3] = start, end, depth, parent
    copy(sums, stack.sums[at])
    copy(active, stack.active[at])
    stack.has_pool[at] = has_pool


@njit(makes_arrays=False)
def copy(one, other):
    """Write what one array holds into another."""
    for i in range(one.shape[0]):
        other[i] = one[i]


@njit
def scratch_of_size(n, widest, stride, pool_size, sums, active, hist):
    """Return the room that nodes of at most n records and ``widest`` codes use."""
    width, packed = sums.shape[0], widest * stride
    return Scratch(
        hist, np.empty(widest, np.int64), np.empty(widest, np.int64), np.zeros((packed >> 6) + 1, np.uint64),
        np.zeros((packed >> 12) + 1, np.uint64), np.zeros(widest, np.uint8), np.empty(widest, np.int64),
        np.zeros(packed, np.uint8), np.empty(n, np.uint8), np.empty(n + 1, np.int64), np.empty(n + 1, np.int64),
        np.empty(width, np.int64), np.empty(width, sums.dtype), np.empty(widest * width, hist.dtype),
        np.empty(width, sums.dtype), np.empty(width, sums.dtype), np.empty(width, sums.dtype),
        np.empty(width, sums.dtype), np.empty_like(active), np.empty(pool_size, hist.dtype),
    )  # fmt: skip


@njit(makes_arrays=False)
def can_gain(base, n, growth):
    """Return True where a node of purity ``base`` (:func:`anonymizer.kernels.splits.purity`) is not pure already."""
    if growth.criterion == ENTROPY:
        return base <= -growth.tolerance
    if growth.criterion == GINI:
        return n - base >= growth.tolerance
    return True


@njit(makes_arrays=False)
def best_split_of_node(columns, growth, start, end, total, base, active, pool, has_pool, offsets, scratch):
    """Return the best split of the records start..end: column, last left code, first right code, and how many codes
    are listed; column -1 for none.

    Categorical: the codes are -1, those in the node are listed in ``scratch.best_present``, and ``scratch.best_side``
    is 1 for what is packed of those that go left. With classes ``scratch.best_left`` is the sum of what goes left.
    Settled columns leave ``active``. The histograms of pooled columns are in ``pool`` when the node ``has_pool``.
    """
    width, n, criterion = total.shape[0], end - start, growth.criterion
    packed, responses, stride, by_order = columns.packed, columns.responses, columns.stride, columns.by_order
    bits, top, present, ordered, hist = scratch.bits, scratch.top, scratch.present, scratch.ordered, scratch.hist
    there = scratch.there[: sums_there(total, criterion, scratch.there)]
    few, left, right = scratch.few[: there.shape[0]], scratch.left[: there.shape[0]], scratch.right[: there.shape[0]]
    for c in range(there.shape[0]):
        few[c] = total[there[c]]
    side, codes_of, table = scratch.side, columns.n_codes, growth.table
    best, feature, code_left, code_right, n_listed = base, -1, -1, -1, 0
    for j in range(packed.shape[0]):
        if not active[j]:
            continue
        row, n_codes = packed[j], codes_of[j]
        from_pool = has_pool and offsets[j] >= 0
        if from_pool:
            cells = pool[offsets[j] : offsets[j] + n_codes * width]
            n_present = present_codes(cells, row, 0, n_codes, n_codes, 1, width, criterion, bits, top, present)
        else:
            cells = hist
            add_records(hist, row, responses, start, end, stride, width, criterion)
            n_present = present_codes(hist, row, start, end, n_codes, stride, width, criterion, bits, top, present)
        if n_present == 1:
            active[j] = 0
        else:
            copy_cells(cells, width, present, n_present, there, scratch.cells)
            score, a, b, beats = best_split_of_column(
                scratch.cells, present, n_present, by_order[j], columns.heights[j], few, n, width > 2, growth.min_leaf,
                criterion, growth.exhaustive_max, table, left, right, ordered, side, growth.tolerance, best,
            )  # fmt: skip
            if beats:
                best, feature, code_left, code_right = score, j, a, b
                n_listed = n_present if a < 0 else 0
                keep_split(cells, present, n_present, a, width, stride, criterion, scratch)
        if not from_pool:
            for position in range(n_present):
                cell = present[position] * width
                for c in range(width):
                    hist[cell + c] = 0
    return feature, code_left, code_right, n_listed


@njit(makes_arrays=False)
def keep_split(cells, present, n_present, code_left, width, stride, criterion, scratch):
    """Write the best split so far of a node, of the column with these ``cells``: see :func:`best_split_of_node`."""
    if code_left < 0:
        for position in range(n_present):
            code = present[position]
            scratch.best_present[position] = code
            for packed in range(code * stride, (code + 1) * stride):
                scratch.best_side[packed] = scratch.side[code]
    if criterion == SSE:
        return
    for c in range(width):
        scratch.best_left[c] = 0
    for position in range(n_present):
        code = present[position]
        if code <= code_left or (code_left < 0 and scratch.side[code]):
            for c in range(width):
                scratch.best_left[c] += cells[code * width + c]


@njit(makes_arrays=False)
def sum_left(columns, start, goes_left, n_left, total, left, right):
    """Write the sum of the numbers of the records that go left into ``left``, from the smaller side."""
    few_left = 2 * n_left <= goes_left.shape[0]
    side = left if few_left else right
    side[:] = 0
    add_side(goes_left, few_left, columns.responses, start, side[1:])
    if not few_left:
        for c in range(1, total.shape[0]):
            left[c] = total[c] - right[c]
    left[0] = n_left


@njit(makes_arrays=False)
def list_codes(scratch, n_present, stride, side, listed, n_listed):
    """Append the codes of the best split that go to one side, ascending; return the length of the list."""
    for position in range(n_present):
        code = scratch.best_present[position]
        if scratch.best_side[code * stride] == side:
            listed[n_listed] = code
            n_listed += 1
    return n_listed


@njit(makes_arrays=False)
def move_records(columns, criterion, active, start, n_left, scratch, goes_left):
    """Exchange records until those that go left come first: codes of active columns, order, responses."""
    from_left, from_right = scratch.from_left, scratch.from_right
    pairs = pairs_to_swap(goes_left, start, n_left, from_left, from_right)
    for j in range(active.shape[0]):
        if active[j]:
            swap(columns.packed[j], from_left, from_right, pairs)
    swap(columns.order, from_left, from_right, pairs)
    if criterion == SSE:
        swap_rows(columns.responses, from_left, from_right, pairs)


@njit(makes_arrays=False)
def set_leaf(nodes, t, parent, n_listed, s, e, total):
    """Make node t a leaf of the records s..e with their sums."""
    nodes.parent[t], nodes.feature[t], nodes.code_left[t], nodes.code_right[t] = parent, -1, -1, -1
    nodes.listed_start[t], nodes.listed_left[t] = n_listed, 0
    nodes.first[t], nodes.last[t] = s, e
    copy(total, nodes.sums[t])


@njit
def nodes_there(nodes, m, listed):
    """Return the first m nodes as arrays of their own: see :func:`grow_branch`."""
    return (
        nodes.parent[:m].copy(), nodes.feature[:m].copy(), nodes.code_left[:m].copy(), nodes.code_right[:m].copy(),
        nodes.listed_start[:m].copy(), listed.copy(), nodes.listed_left[:m].copy(),
        nodes.first[:m].copy(), nodes.last[:m].copy(), nodes.sums[:m].copy(),
    )  # fmt: skip


@njit
def grow_branch(columns, start, end, sums, active, depth, growth, hist):
    """Grow the branch of the records start..end to its end, depth first; node 0 is its root.

    ``columns``: :class:`Columns`; ``growth``: :class:`anonymizer.growing.records.Growth`; ``sums`` (width,), ``active``
    (p,), ``depth``: of the root. ``hist`` must be zero and hold the widest column's (codes, width) cells; it is left
    zero. Returns, for the nodes in preorder: parent, feature, last left code, first right code, start and the
    ``listed`` codes of each categorical split (those of the smaller child, ascending; ``listed_left``: they go left),
    records' run (first, last), and sums.
    """
    widest = columns.n_codes.max()
    offsets, pool_size = pool_layout(columns.n_codes, sums.shape[0])
    scratch = scratch_of_size(end - start, widest, columns.stride, pool_size, sums, active, hist)
    nodes, m = nodes_of_size(INITIAL_NODES, sums), 0
    listed, n_listed = np.empty(256 + widest, np.uint16), 0
    stack, waiting = stack_of_size(INITIAL_NODES, active.shape[0], pool_size, sums, hist), 1
    push(stack, 0, start, end, depth, -1, sums, active, False)
    while waiting:
        if m == nodes.parent.shape[0]:
            nodes = longer_nodes(nodes)
        if waiting == stack.run.shape[0]:
            stack = longer_stack(stack)
        if n_listed + widest > listed.shape[0]:
            listed = longer(listed)
        waiting, n_listed = grow_node(columns, growth, offsets, scratch, stack, waiting - 1, nodes, m, listed, n_listed)
        m += 1
    return nodes_there(nodes, m, listed[:n_listed])


@njit(makes_arrays=False)
def grow_node(columns, growth, offsets, scratch, stack, at, nodes, t, listed, n_listed):
    """Make the node at row ``at``, the top of the stack, node t, and put its children in its place; return how many
    nodes wait there then, and how many codes are listed.

    There is room for one node more, in both, and for the codes of any column.
    """
    n_codes, criterion, total, varying = columns.n_codes, growth.criterion, scratch.total, scratch.active
    start, end, level, width = stack.run[at, 0], stack.run[at, 1], stack.run[at, 2], total.shape[0]
    copy(stack.sums[at], total)
    copy(stack.active[at], varying)
    set_leaf(nodes, t, stack.run[at, 3], n_listed, start, end, total)
    n = end - start
    if n < 2 * growth.min_leaf or (growth.max_depth >= 0 and level >= growth.max_depth):
        return at, n_listed
    base = purity(total, n, criterion, growth.table)
    if not can_gain(base, n, growth):
        return at, n_listed
    pool = stack.pool[at]
    has_pool = stack.has_pool[at] == 1 or pays_pool(n, varying, offsets, n_codes, width)
    if has_pool and stack.has_pool[at] == 0:
        add_pool(pool, columns, start, end, varying, offsets, width, criterion)
    feature, code_left, code_right, n_present = best_split_of_node(
        columns, growth, start, end, total, base, varying, pool, has_pool, offsets, scratch
    )
    if feature < 0:
        return at, n_listed

    nodes.feature[t], nodes.code_left[t], nodes.code_right[t] = feature, code_left, code_right
    row, goes_left, best_left = columns.packed[feature], scratch.goes_left[:n], scratch.best_left
    n_left = mark_sides(row, start, end, columns.stride, code_left, scratch.best_side, goes_left)
    small_left = n_left < n - n_left
    if criterion == SSE:
        sum_left(columns, start, goes_left, n_left, total, best_left, scratch.right)
    if code_left < 0:
        nodes.listed_left[t] = small_left
        n_listed = list_codes(scratch, n_present, columns.stride, small_left, listed, n_listed)
    move_records(columns, criterion, varying, start, n_left, scratch, goes_left)

    larger, middle = max(n_left, n - n_left), start + n_left
    keep = has_pool and larger >= 2 * growth.min_leaf and pays_pool(larger, varying, offsets, n_codes, width)
    if keep:
        first, last = (start, middle) if small_left else (middle, end)
        add_pool(scratch.pool, columns, first, last, varying, offsets, width, criterion)
        divide_pool(stack.pool, at, scratch.pool, small_left, varying, offsets, n_codes, width)
    for c in range(width):
        scratch.right[c] = total[c] - best_left[c]
    push(stack, at, middle, end, level + 1, t, scratch.right, varying, keep)
    push(stack, at + 1, start, middle, level + 1, t, best_left, varying, keep)
    return at + 2, n_listed
