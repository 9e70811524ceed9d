"""The slow, obvious twin of what leaving records out saves: hulls of lists of rows, with and without."""

from anonymizer.growing.encode import EncodedTable
from tests.naive_refine import Rows, loss, ncp


def slow_loss(encoded: EncodedTable, rows: Rows) -> float:
    """What each record of a box of these rows loses, a mean over the columns."""
    p = len(encoded.encodings)
    return loss(encoded, rows, [1.0] * p) / p


def slow_alone(encoded: EncodedTable, rows: Rows, row: int) -> float:
    """What the others lose less, in all, in the columns where the row alone holds its code."""
    others, p = [other for other in rows if other != row], len(encoded.encodings)
    own = [
        j for j in range(p) if all(encoded.codes.columns[j][other] != encoded.codes.columns[j][row] for other in others)
    ]
    return sum(ncp(encoded, rows, j) - ncp(encoded, others, j) for j in own) / p * len(others)


def slow_together(encoded: EncodedTable, rows: Rows, row: int, j: int) -> float:
    """What the others lose less in column j without all who hold the row's code there, for each of these."""
    others = [other for other in rows if encoded.codes.columns[j][other] != encoded.codes.columns[j][row]]
    holders = len(rows) - len(others)
    return (ncp(encoded, rows, j) - ncp(encoded, others, j)) / len(encoded.encodings) * len(others) / holders
