"""The slow, obvious twins of cutting at medians and where hulls lose least: lists of rows, column by column."""

from collections.abc import Sequence

from anonymizer.growing.encode import EncodedTable

Rows = list[int]


def persons(encoded: EncodedTable, rows: Rows) -> int:
    """How many different people the rows are of; nobody's count for none."""
    if encoded.person is None:
        return len(rows)
    return len({int(encoded.person[row]) for row in rows} - {-1})


def ncp(encoded: EncodedTable, rows: Rows, j: int) -> float:
    """What the hull of some rows loses in column j."""
    encoding = encoded.encodings[j]
    codes = {int(encoded.codes.columns[j][row]) for row in rows}
    if not encoding.is_interval:
        return len(codes) / encoding.n_codes if len(codes) > 1 else 0.0
    missing = len(encoding.labels) in codes
    present = codes - {len(encoding.labels)}
    if not present:
        return 0.0
    domain = encoding.domain[1] - encoding.domain[0]
    share = (encoding.high[max(present)] - encoding.low[min(present)]) / domain if domain else 0.0
    return (1 - encoding.missing_share) * share + encoding.missing_share if missing else share


def loss(encoded: EncodedTable, rows: Rows, weight: Sequence[float]) -> float:
    """What the hull of some rows loses in all columns."""
    return sum(weight[j] * ncp(encoded, rows, j) for j in range(len(weight)))


def ranked_codes(encoded: EncodedTable, rows: Rows, j: int, by_frequency: bool) -> list[int]:
    codes = [int(encoded.codes.columns[j][row]) for row in rows]
    if by_frequency and not encoded.encodings[j].by_order:
        return sorted(set(codes), key=lambda code: (-codes.count(code), code))
    return sorted(set(codes))


def sides(encoded: EncodedTable, rows: Rows, j: int, cut: Sequence[int]) -> tuple[Rows, Rows]:
    """The rows whose code of column j is among those of a cut, and the others; both keep their order."""
    goes_left = [int(encoded.codes.columns[j][row]) in cut for row in rows]
    return [row for row, left in zip(rows, goes_left, strict=True) if left], [
        row for row, left in zip(rows, goes_left, strict=True) if not left
    ]


def hull_cut(
    encoded: EncodedTable, rows: Rows, least: int, weight: Sequence[float], sample: int | None = None
) -> tuple[Rows, Rows] | None:
    """The two sides of the cut where hulls lose least; of a sample of the rows, when there are twice as many."""
    tried = rows
    if sample is not None and len(rows) >= 2 * sample:
        tried = [rows[i * (len(rows) // sample)] for i in range(sample)]
        if len({tuple(encoded.codes.matrix()[row]) for row in tried}) == 1:
            tried = rows
    lowest, best = float("inf"), None
    for j in range(len(weight)):
        ranked = ranked_codes(encoded, tried, j, True)
        for count in range(1, len(ranked)):
            left, right = sides(encoded, tried, j, ranked[:count])
            if min(persons(encoded, left), persons(encoded, right)) < least:
                continue
            lost = len(left) * loss(encoded, left, weight) + len(right) * loss(encoded, right, weight)
            if lost < lowest - 1e-9 * len(tried):
                cut = range(ranked[count - 1] + 1) if encoded.encodings[j].by_order else ranked[:count]
                lowest, best = lost, (j, cut)
    return None if best is None else sides(encoded, rows, *best)


def median_cut(encoded: EncodedTable, rows: Rows, k: int) -> tuple[Rows, Rows] | None:
    """The two sides of the cut at the lower median of the widest column, or of the next that k allows."""
    widths = []
    for j, encoding in enumerate(encoded.encodings):
        levels = len({int(encoded.codes.columns[j][row]) for row in rows})
        width = ncp(encoded, rows, j) if encoding.is_interval else (levels - 1) / max(1, encoding.n_codes - 1)
        widths.append(round(width, 9) if levels > 1 else -1.0)
    for j in sorted(range(len(widths)), key=lambda j: -widths[j]):
        ranked = ranked_codes(encoded, rows, j, False)
        middle = sorted(int(encoded.codes.columns[j][row]) for row in rows)[(len(rows) - 1) // 2]
        for count in (ranked.index(middle) + 1, ranked.index(middle)):
            left, right = sides(encoded, rows, j, ranked[:count])
            if min(persons(encoded, left), persons(encoded, right)) >= k:
                return left, right
    return None


def slow_pieces(encoded: EncodedTable, rows: Rows, k: int, by_median: bool = False) -> list[Rows]:
    if len(rows) < 2 * k:
        return [rows]
    weight = [1.0] * len(encoded.encodings)
    halves = median_cut(encoded, rows, k) if by_median else hull_cut(encoded, rows, k, weight)
    if halves is None:
        return [rows]
    return [piece for side in halves for piece in slow_pieces(encoded, sorted(side), k, by_median)]
