"""The private scorecard the obvious slow way: record by record, without arrays, with noise that a test decides."""

import math
from collections.abc import Callable

Offset = Callable[[], int]


def naive_scorecard(
    records: list[list[int]], classes: list[int], widths: list[int], n_classes: int, epsilon: float, offset: Offset
) -> tuple[list[float], list[list[list[float]]]]:
    """Return the points of everybody and of each column, value and class; ``offset``: the noise of the next number."""
    grid, queries = 2**20, 2 * len(widths)
    cost = epsilon / queries
    counts = []
    for column, width in enumerate(widths):
        own = [[0] * n_classes for _ in range(width)]
        for record, label in zip(records, classes, strict=True):
            own[record[column]][label] += 1
        counts.append([[number + offset() for number in row] for row in own])

    weights = [1 / width for width in widths]
    numbers = []
    for label in range(n_classes):
        totals = [sum(row[label] for row in own) for own in counts]
        mean = sum(w * total for w, total in zip(weights, totals, strict=True)) / sum(weights)
        numbers.append(max(mean, 0) + 0.5)
    base = [math.log(number / max(sum(numbers) - number, 0.5)) for number in numbers]
    expected = [number / sum(numbers) for number in numbers]

    variance = 2 / cost**2
    points = []
    for own in counts:
        points.append([])
        for row in own:
            size, moves = sum(row), []
            for label, q in enumerate(expected):
                noise = variance * ((1 - q) ** 2 + (n_classes - 1) * q**2)
                moves.append(0.5 * move(row[label] - size * q, max(size, 0) * q * (1 - q), noise))
            points[-1].append(moves)

    for column, width in enumerate(widths):
        sums = [[0] * n_classes for _ in range(width)]
        for record, label in zip(records, classes, strict=True):
            shares = naive_shares(base, points, record)
            for other in range(n_classes):
                sums[record[column]][other] += math.trunc(((other == label) - shares[other]) * grid)
        reach = 1 if n_classes == 2 else 2
        variance = 2 * (reach / cost) ** 2
        more = []
        for value in range(width):
            if n_classes == 2:
                last = (sums[value][1] + offset()) / grid
                gradients = [-last, last]
            else:
                gradients = [(total + offset()) / grid for total in sums[value]]
            row = counts[column][value]
            positive = [max(number, 0) for number in row]
            more.append([])
            for label, gradient in enumerate(gradients):
                q = positive[label] / sum(positive) if sum(positive) > 0 else 1 / n_classes
                more[-1].append(move(gradient, max(sum(row), 0) * q * (1 - q), variance))
        for value in range(width):
            for label in range(n_classes):
                points[column][value][label] += more[value][label]
    return base, points


def naive_shares(base: list[float], points: list[list[list[float]]], record: list[int]) -> list[float]:
    """Return the share of each class of one record: one against the rest, divided by their sum."""
    odds = []
    for label, start in enumerate(base):
        score = start + sum(own[value][label] for own, value in zip(points, record, strict=True))
        odds.append(1 / (1 + math.exp(-score)))
    return [each / sum(odds) for each in odds]


def move(gradient: float, curvature: float, variance: float) -> float:
    """Return H G / (H² + v), at most 2 either way."""
    return max(-2.0, min(2.0, curvature * gradient / (curvature**2 + variance)))
