"""Counting and dividing the records of one node of a private tree."""

import numpy as np

from anonymizer.loops import njit


@njit
def count_values(codes, classes, rows, width, n_classes):
    """Return (p, width, c) records of ``rows`` with each value of each attribute and each class."""
    counts = np.zeros((codes.shape[1], width, n_classes), dtype=np.int64)
    for i in range(rows.shape[0]):
        row = rows[i]
        label = classes[row]
        for attribute in range(codes.shape[1]):
            counts[attribute, codes[row, attribute], label] += 1
    return counts


@njit
def divide(codes, rows, attribute, sizes):
    """Return ``rows`` with equal codes of one attribute together; ``sizes``: how many each."""
    place = np.zeros(sizes.shape[0], dtype=np.int64)
    for code in range(1, sizes.shape[0]):
        place[code] = place[code - 1] + sizes[code - 1]
    ordered = np.empty_like(rows)
    for i in range(rows.shape[0]):
        code = codes[rows[i], attribute]
        ordered[place[code]] = rows[i]
        place[code] += 1
    return ordered
