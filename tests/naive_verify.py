"""The obvious slow versions of everything the checker computes; nothing here is shared with the package."""

from collections import Counter
from fractions import Fraction
from itertools import permutations
from math import exp, log

import pandas as pd


def same(a: object, b: object) -> bool:
    """Return True when two values agree; missing agrees with missing."""
    if pd.isna(a) or pd.isna(b):
        return bool(pd.isna(a) and pd.isna(b))
    return bool(a == b)


def class_sizes(frame: pd.DataFrame, columns: list[str]) -> list[int]:
    """Return the size of each row's class, every pair of rows compared on every column."""
    rows = frame[columns].astype(object).to_numpy().tolist()
    return [sum(all(same(a, b) for a, b in zip(row, other, strict=True)) for other in rows) for row in rows]


def classes(rows: list[tuple]) -> list[list[int]]:
    """Return the positions of the rows of each class; rows are tuples that can be compared."""
    rows_of: dict[tuple, list[int]] = {}
    for position, row in enumerate(rows):
        rows_of.setdefault(row, []).append(position)
    return list(rows_of.values())


def distinct_l(rows: list[tuple], values: list) -> int | None:
    """Return the smallest number of different values in a class that has any; missing is none."""
    counts = [len({values[i] for i in members} - {None}) for members in classes(rows)]
    return min(filter(None, counts), default=None)


def entropy_l(rows: list[tuple], values: list) -> float | None:
    """Return the smallest exponential of the entropy (natural logarithm) of the values of a class."""

    def effective(members: list[int]) -> float:
        counts = Counter(values[i] for i in members)
        n = counts.total()
        return exp(-sum(c / n * log(c / n) for c in counts.values()))

    telling = ([i for i in members if values[i] is not None] for members in classes(rows))
    return min(map(effective, filter(None, telling)), default=None)


def closeness(rows: list[tuple], values: list, order: list | None) -> float:
    """Return the largest distance of a class's distribution from the whole table's: ordered, or equal without an
    order."""

    def distance(members: list[int]) -> float:
        inside, outside = Counter(values[i] for i in members), Counter(values)
        domain = order if order is not None else list(outside)
        gaps = [Fraction(inside[v], len(members)) - Fraction(outside[v], len(values)) for v in domain]
        if order is None:
            return float(sum(abs(gap) for gap in gaps) / 2)
        if len(domain) < 2:
            return 0.0
        return float(sum(abs(sum(gaps[: i + 1])) for i in range(len(domain))) / (len(domain) - 1))

    return max(distance(members) for members in classes(rows))


def homogeneous(rows: list[tuple], values: list) -> tuple[int, int]:
    """Return the number of classes with one value only that is not missing, and the people in them."""
    single = [
        members
        for members in classes(rows)
        if len({values[i] for i in members}) == 1 and values[members[0]] is not None
    ]
    return len(single), sum(len(members) for members in single)


def fits(cell: object, value: object) -> bool:
    """Return True when a box of one column holds a value: a list of levels, or a pair of ends."""
    return value in cell if isinstance(value, str) else cell[0] <= value <= cell[1]


def consistency(records: list[list], boxes: list[list]) -> list[list[int]]:
    """Return C (records, rows): 1 where the row's box holds the record."""
    return [[int(all(fits(c, v) for c, v in zip(box, record, strict=True))) for box in boxes] for record in records]


def permanent(matrix: list[list[int]]) -> int:
    """Return the number of perfect matchings, by expansion along the first row with remembered columns."""
    n = len(matrix)
    ways = {0: 1}
    for row in matrix:
        following: dict[int, int] = {}
        for used, count in ways.items():
            for column in range(n):
                if row[column] and not used >> column & 1:
                    following[used | 1 << column] = following.get(used | 1 << column, 0) + count
        ways = following
    return ways.get((1 << n) - 1, 0)


def permanent_by_permutations(matrix: list[list[int]]) -> int:
    """Return the permanent by its definition, for the smallest matrices."""
    n = len(matrix)
    return sum(all(matrix[i][p[i]] for i in range(n)) for p in permutations(range(n)))


def posteriors(matrix: list[list[int]]) -> list[list[Fraction]]:
    """Return for each record and row, the share of the perfect matchings that link them."""
    n = len(matrix)
    total = permanent(matrix)
    shares = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if matrix[i][j]:
                minor = [row[:j] + row[j + 1 :] for r, row in enumerate(matrix) if r != i]
                shares[i][j] = Fraction(permanent(minor), total)
    return shares


def row_risks(table: pd.DataFrame, columns: list[str], person: str) -> list[Fraction]:
    """The share of each row's class that is its own person's, row by row; a row of nobody is one of a person of its
    own, unless all rows of its class are nobody's."""
    classes = [tuple(map(str, row)) for row in table[columns].itertuples(index=False)]
    whose = [None if pd.isna(one) else one for one in table[person]]
    risks = []
    for class_, who in zip(classes, whose, strict=True):
        inside = [other for other, its in zip(whose, classes, strict=True) if its == class_]
        own = inside.count(who) if who is not None else 1 if any(one is not None for one in inside) else len(inside)
        risks.append(Fraction(own, len(inside)))
    return risks


def joined(files: list[pd.DataFrame], orders: list, columns: list[str], n: int) -> list[tuple]:
    """Return of each of n people the text of all cells in some released files, ``None`` where they are in none of
    them. ``orders``: the person of each row of each file."""
    texts: list[dict[int, str]] = []
    for table, order in zip(files, orders, strict=True):
        cells = table[columns].astype("str").fillna("").agg("|".join, axis=1)
        texts.append(dict(zip(map(int, order), cells, strict=True)))
    return [tuple(of.get(person) for of in texts) for person in range(n)]


def people_below(rows: list[tuple], values: list, fewest: int) -> int:
    """Return how many people are in cells in which fewer different values are, by pandas; missing is no value, and a
    cell of nothing else tells as little as the whole table. Rows of ``None`` alone are in no release."""
    table = pd.DataFrame({"cell": pd.Series(rows, dtype=object).map(repr), "value": pd.Series(values, dtype=object)})
    table = table[[any(one is not None for one in row) for row in rows]]
    by_cell = table.groupby("cell")["value"].agg(["size", "nunique"])
    values_in = by_cell["nunique"].replace(0, table["value"].nunique())
    return int(by_cell.loc[values_in < fewest, "size"].sum())
