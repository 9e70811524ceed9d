"""Histograms of a node's narrow columns, side by side in one flat array, that its children are divided from."""

import numpy as np

from anonymizer.kernels.splits import add_records
from anonymizer.loops import njit

POOLED_CELLS = 4096
"""Columns with more cells than this always read their histogram anew."""

POOL_CELLS = 1 << 16
"""Most cells of all pooled columns together."""


@njit
def pool_layout(n_codes, width):
    """Return where each narrow column's histogram starts in a pool (-1: not pooled), and the size of a pool."""
    offsets = np.full(n_codes.shape[0], -1, np.int64)
    size = 0
    for j in range(n_codes.shape[0]):
        cells = n_codes[j] * width
        if cells <= POOLED_CELLS and size + cells <= POOL_CELLS:
            offsets[j] = size
            size += cells
    return offsets, size


@njit(makes_arrays=False)
def pays_pool(n, active, offsets, n_codes, width):
    """Return True where n records of the active pooled columns are more to read than the cells of their histograms."""
    count, cells = 0, 0
    for j in range(active.shape[0]):
        if active[j] and offsets[j] >= 0:
            count += 1
            cells += n_codes[j] * width
    return n * count > cells


@njit(makes_arrays=False)
def add_pool(pool, columns, start, end, active, offsets, width, criterion):
    """Write the histograms of the records start..end for all active pooled columns."""
    for j in range(active.shape[0]):
        if active[j] and offsets[j] >= 0:
            cells = pool[offsets[j] : offsets[j] + columns.n_codes[j] * width]
            cells[:] = 0
            add_records(cells, columns.packed[j], columns.responses, start, end, columns.stride, width, criterion)


@njit(makes_arrays=False)
def divide_pool(stack_pool, at, smaller_pool, small_left, active, offsets, n_codes, width):
    """Turn a node's pool at row ``at`` into its right child's there and its left child's at the next row.

    The larger child's histogram is the node's less the smaller child's: only the smaller one reads records.
    """
    right, left = stack_pool[at], stack_pool[at + 1]
    for j in range(active.shape[0]):
        if active[j] and offsets[j] >= 0:
            for cell in range(offsets[j], offsets[j] + n_codes[j] * width):
                small = smaller_pool[cell]
                large = right[cell] - small
                left[cell] = small if small_left else large
                right[cell] = large if small_left else small
