"""The slow, obvious twin of cutting at medians: lists of rows, column by column."""

from anonymizer.encode import EncodedTable


def width(encoded: EncodedTable, rows: list[int], j: int, by_frequency: bool) -> float:
    encoding = encoded.encodings[j]
    codes = {int(encoded.codes[row, j]) for row in rows}
    if not encoding.is_interval:
        b = encoding.n_codes
        if len(codes) < 2:
            return 0.0
        return len(codes) / b if by_frequency else (len(codes) - 1) / (b - 1)
    missing = len(encoding.labels) in codes
    present = codes - {len(encoding.labels)}
    if not present:
        return 0.0
    domain = encoding.domain[1] - encoding.domain[0]
    share = (encoding.high[max(present)] - encoding.low[min(present)]) / domain if domain else 0.0
    return (1 - encoding.missing_share) * share + encoding.missing_share if missing else share


def halves(encoded: EncodedTable, rows: list[int], j: int, k: int, by_frequency: bool) -> tuple[set, set] | None:
    """The two sides of the cut of column j, as sets of rows; ``None`` when k forbids it."""
    code = {row: int(encoded.codes[row, j]) for row in rows}
    counts = {c: list(code.values()).count(c) for c in sorted(code.values())}
    ranked = sorted(counts)
    if by_frequency and not encoded.encodings[j].by_order:
        ranked.sort(key=lambda c: (-counts[c], c))
    cuts = [set(ranked[:taken]) for taken in range(1, len(ranked))]
    sides = [({row for row in rows if code[row] in cut}, {row for row in rows if code[row] not in cut}) for cut in cuts]
    if by_frequency:
        sides = sorted(sides, key=lambda pair: abs(len(pair[0]) - len(pair[1])))[:1]
    else:
        middle = sorted(code.values())[(len(rows) - 1) // 2]
        places = [ranked.index(middle), ranked.index(middle) - 1]
        sides = [sides[place] for place in places if 0 <= place < len(sides)]
    return next((pair for pair in sides if min(len(pair[0]), len(pair[1])) >= k), None)


def slow_pieces(encoded: EncodedTable, rows: list[int], k: int, by_frequency: bool) -> list[list[int]]:
    if len(rows) >= 2 * k:
        widths = [width(encoded, rows, j, by_frequency) for j in range(len(encoded.encodings))]
        for j in sorted(range(len(widths)), key=lambda j: -widths[j]):
            varies = len({int(encoded.codes[row, j]) for row in rows}) > 1
            found = halves(encoded, rows, j, k, by_frequency) if varies else None
            if found:
                return [piece for side in found for piece in slow_pieces(encoded, sorted(side), k, by_frequency)]
    return [rows]
