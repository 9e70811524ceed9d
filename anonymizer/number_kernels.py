# mypy: allow-untyped-defs, allow-untyped-decorators, allow-untyped-calls
"""Whole numbers of a narrow range: which of them occur, and a code for each."""

from anonymizer.loops import njit


@njit
def mark_numbers(numbers, low, present):
    """Write ``present``, True where a number occurs; that of ``low`` is the first."""
    for number in numbers:
        present[number - low] = True


@njit
def look_up_numbers(numbers, low, lookup, codes):
    """Write the code of each number, (n,), from a table of those of all, ``lookup``; that of ``low`` is the first."""
    for i in range(numbers.shape[0]):
        codes[i] = lookup[numbers[i] - low]
