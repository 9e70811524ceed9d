"""The pictures of a report, as SVG of a few plain shapes: the tree, columns before and after, what risk and loss would
be at other k. :mod:`anonymizer.reporting.pdf_pictures` draws the same shapes into a PDF.

Those for the recipient are made of the external report's own figures, and of nothing else.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from anonymizer.checking.linkage import LinkageRisk
from anonymizer.drawing.charts import ORIGINAL, RELEASED, loss_sentence, moved_sentence
from anonymizer.drawing.draw import dot, span_text
from anonymizer.drawing.svg import DrawError, svg
from anonymizer.errors import Progress, no_progress
from anonymizer.reporting.document import Picture
from anonymizer.reporting.report import Report
from anonymizer.whatif.chart import COLOURS, frontier_sentence
from anonymizer.whatif.frontier import POLICIES, Point, best_points

if TYPE_CHECKING:
    from anonymizer.flow import Flow
    from anonymizer.measuring.distributions import Distribution

LARGEST = 300_000
"""Characters of the largest picture; a larger one is left out."""
MOST_NODES, MOST_COLUMNS, MOST_BARS = 11, 3, 14
DEPTH = 3
WIDTH, LEFT, BAR = 720, 220, 11
INK, FAINT, LINE = "#1d2b24", "#4d5a53", "#c9d4cd"
FONT = "Arial, 'Liberation Sans', 'Noto Sans', 'DejaVu Sans', sans-serif"


def pictures_of(flow: "Flow", progress: Progress = no_progress) -> tuple[Picture, ...]:
    """Return the pictures of the internal report: the pruned tree, the columns that changed most, the frontier."""
    progress(0.0, "Drawing the tree")
    pictures = [*tree_picture(flow)]
    progress(0.3, "Drawing columns before and after")
    pictures += [distribution_picture(column) for column in flow.distributions[:MOST_COLUMNS]]
    progress(0.5, "Drawing the frontier")
    pictures.append(frontier_picture(flow.frontier, flow.grouping, flow.settings.k))
    return tuple(picture for picture in pictures if len(picture.svg) <= LARGEST)


def tree_picture(flow: "Flow") -> list[Picture]:
    """Return the picture of the pruned tree, its upper levels; none where it cannot be laid out."""
    pruning, encoded = flow.pruning, flow.encoded
    cut = pruning.cut()
    source = dot(
        pruning.tree, flow.risk, encoded.encodings, encoded.target.texts, cut=cut, max_depth=DEPTH,
        max_nodes=MOST_NODES, k=pruning.k,
    )  # fmt: skip
    groups, smallest = len(cut), int(pruning.tree.n[cut].min())
    text = f"The pruned tree, its upper levels: {groups:,} groups in all, the smallest of {smallest:,} records."
    try:
        return [Picture(svg(source), text)]
    except DrawError:
        return []


def distribution_picture(column: "Distribution") -> Picture:
    """Return bars of a column, original and released, the released cells read evenly."""
    counts = map(float, column.before), map(float, column.after)
    rows = list(zip(column.labels, *counts, strict=True))
    if column.edges is not None:
        step = -(-len(rows) // MOST_BARS)
        rows = [_joined(rows[at : at + step]) for at in range(0, len(rows), step)]
    if any(column.missing):
        rows.append(("(missing)", *column.missing))
    most = max(max(before, after) for _, before, after in rows) or 1
    bars = [Bars(row[0], tuple((n / most, f"{n:,.0f}") for n in row[1:])) for row in rows[:MOST_BARS]]
    more = f" The first {MOST_BARS} of {len(rows):,} are drawn." if len(rows) > MOST_BARS else ""
    return bar_picture(bars, f"{moved_sentence(column)}.{more}", ("original", "released"))


def _joined(rows: Sequence[tuple[str, float, float]]) -> tuple[str, float, float]:
    """Return neighbouring bins of numbers or dates as one."""
    ends = rows[0][0].split(" to ")[0], rows[-1][0].split(" to ")[-1]
    label = ends[0] if ends[0] == ends[1] else " to ".join(ends)
    return label, sum(before for _, before, _ in rows), sum(after for _, _, after in rows)


def frontier_picture(points: Sequence[Point], grouping: str, k: int) -> Picture:
    """Return the least risk and loss that each grouping reaches, and a ring where the release's own setting stands."""
    methods = list(dict.fromkeys(point.grouping for point in points))
    height, right, top = 330, 60, 16
    left, bottom = 80, 280
    best = [(method, best_points([p for p in points if p.grouping == method])) for method in methods]
    most = max([point.risk for _, line in best for point in line], default=1.0) or 1.0

    def place(point: Point) -> tuple[float, float]:
        return left + point.gcp * (WIDTH - left - right), bottom - point.risk / most * (bottom - top)

    parts = [_line(left, bottom, WIDTH - right, bottom), _line(left, top, left, bottom)]
    for policy in POLICIES:
        if policy.risk <= most:
            height_of = bottom - policy.risk / most * (bottom - top)
            parts += [
                _line(left, height_of, WIDTH - right, height_of, "4,4"),
                _text(WIDTH - right + 4, height_of + 4, f"{policy.risk:g}"),
            ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(_text(left + share * (WIDTH - left - right), bottom + 16, f"{share:.0%}", "middle"))
    parts += [_text(left - 6, top + 8, f"{most:.2g}", "end"), _text(left - 6, bottom, "0", "end")]
    parts += [
        _text((left + WIDTH - right) / 2, bottom + 32, "detail lost (GCP)", "middle"),
        _text(6, top + 24, "highest risk"),
    ]
    for number, (method, line) in enumerate(best):
        colour = COLOURS[number % len(COLOURS)]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, line[:200]))
        parts.append(f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(left + 190 * number, height - 2, method, fill=colour))
    own = [point for point in points if point.grouping == grouping and point.k == k]
    for point in own[:1]:
        x, y = place(point)
        parts.append(f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="7" ry="7" fill="none" stroke="{INK}" stroke-width="2"/>')
    ring = f" The ring is this tree at k = {k:,}, released as one box a group." if own else ""
    return Picture(_svg(height + 8, parts), f"{frontier_sentence(points)}.{ring}")


def outward_pictures(report: Report) -> tuple[Picture, ...]:
    """Return the pictures that any reader may see, made of figures that both reports hold: how sure a link was and is,
    how large groups are, and what each column lost."""
    return risk_picture(report.before, report.after), size_picture(report.after), loss_picture(report)


def risk_picture(before: LinkageRisk, after: LinkageRisk) -> Picture:
    """Return bars of the records whose own risk is above each threshold, before and after."""
    rows = [_percents("unique", before.unique / before.records, after.unique / after.records)]
    for policy in POLICIES:
        shares = (risk.share_above(policy.risk) for risk in (before, after))
        rows.append(_percents(f"risk above {policy.risk:g}", *shares))
    text = (
        f"Share of records by risk of being linked, before and after. The highest risk was {before.highest:.3g} and is "
        f"{after.highest:.3g}."
    )
    return bar_picture(rows, text, ("original", "released"))


def size_picture(after: LinkageRisk) -> Picture:
    """Return bars of the records in groups of each size, in bands, as the released file shows them."""
    least = after.smallest
    ends = [least * factor for factor in (1, 2, 4, 8, 16)]
    bands: dict[str, int] = {}
    for size, records in zip(after.sizes, after.records_of_size, strict=True):
        at = max(place for place, end in enumerate(ends) if size >= end)
        name = f"{ends[at]:,} and more" if at + 1 == len(ends) else span_text(ends[at], ends[at + 1] - 1)
        bands[name] = bands.get(name, 0) + int(records)
    rows = [_percents(name, records / after.records) for name, records in bands.items()]
    text = f"Share of records by the size of their group: {after.groups:,} groups, the smallest of {least:,}."
    return bar_picture(rows, text, ("released",))


def loss_picture(report: Report) -> Picture:
    """Return bars of the share of its domain that a cell of each column leaves open, the largest first."""
    losses = report.utility.ncp_by_column
    rows = [_percents(name, losses[name]) for name in sorted(losses, key=lambda name: -losses[name])[:MOST_BARS]]
    return bar_picture(rows, f"{loss_sentence(losses, report.utility.gcp)}.", ("released",))


class Bars(NamedTuple):
    """A row of bars: its label, and for each series its share of the width, 0 to 1, and the text beside it."""

    label: str
    values: tuple[tuple[float, str], ...]


def _percents(label: str, *shares: float) -> Bars:
    return Bars(label, tuple((share, f"{share:.1%}") for share in shares))


def bar_picture(rows: Sequence[Bars], alt: str, series: Sequence[str]) -> Picture:
    """Return horizontal bars as a picture. ``alt``: what it says; ``series``: what the bars of a row are."""
    colours = (ORIGINAL, RELEASED) if len(series) == 2 else (RELEASED,)
    parts, y, room = [], 24.0, WIDTH - LEFT - 70
    for number, (name, colour) in enumerate(zip(series, colours, strict=True)):
        parts += [_bar(LEFT + 110 * number, 4, 10, 10, colour), _text(LEFT + 110 * number + 16, 13, name)]
    for label, values in rows:
        step = (BAR + 2) * len(series)
        parts.append(_text(LEFT - 8, y + step / 2 + 4, label if len(label) <= 32 else label[:31] + "…", "end"))
        for (share, text), colour in zip(values, colours, strict=True):
            wide = max(0.0, min(float(share), 1.0)) * room
            parts += [_bar(LEFT, y, wide, BAR, colour), _text(LEFT + wide + 5, y + BAR - 1, text)]
            y += BAR + 2
        y += 7
    return Picture(_svg(y + 4, parts), alt)


def _svg(height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
    return f'{head}viewBox="0 0 {WIDTH} {height:.0f}">{"".join(parts)}</svg>'


def _bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    ends = f"{x:.1f},{y:.1f} {x + width:.1f},{y:.1f} {x + width:.1f},{y + height:.1f} {x:.1f},{y + height:.1f}"
    return f'<polygon points="{ends}" fill="{colour}" stroke="none"/>'


def _line(x: float, y: float, to_x: float, to_y: float, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    ends = f"{x:.1f},{y:.1f} {to_x:.1f},{to_y:.1f}"
    return f'<polyline points="{ends}" fill="none" stroke="{LINE}" stroke-width="1"{dashed}/>'


def _text(x: float, y: float, text: str, anchor: str = "start", fill: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" fill="{fill}" '
        f'font-family="{FONT}">{escape(printable(text))}</text>'
    )


def printable(text: str) -> str:
    """Return a text without letters that XML has no place for."""
    return "".join(letter if letter.isprintable() else "□" for letter in text)
