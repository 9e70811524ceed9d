"""The pictures of a report, as SVG of a few plain shapes: risk, groups and losses, the tree, columns before and after.
:mod:`anonymizer.reporting.pdf_pictures` draws the same shapes into a PDF.

Those for the recipient are made of the external report's own figures, and of nothing else.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from anonymizer.checking.linkage import LinkageRisk
from anonymizer.drawing.charts import ORIGINAL, RELEASED, moved_sentence
from anonymizer.drawing.draw import dot, span_text
from anonymizer.drawing.svg import DrawError, svg
from anonymizer.errors import Progress, no_progress, part_of
from anonymizer.flow import Flow
from anonymizer.measuring.distributions import Distribution
from anonymizer.provenance.report import Report
from anonymizer.reporting.document import Picture
from anonymizer.reporting.findings import one_row_of, riskiest_of
from anonymizer.values import share
from anonymizer.whatif.frontier import POLICIES

LARGEST = 300_000
"""Characters of the largest picture; a larger one is left out."""
MOST_NODES, MOST_COLUMNS, MOST_BARS = 11, 3, 14
DEPTH = 3
FEW_COLUMNS, BAR = 6, 11
INK = "#1d2b24"
FONT = "Arial, 'Liberation Sans', 'Noto Sans', 'DejaVu Sans', sans-serif"


def pictures_of(flow: Flow, progress: Progress = no_progress) -> tuple[Picture, ...]:
    """Return the pictures of the internal report's annex: the pruned tree, the columns that changed most."""
    progress(0.0, "Drawing the tree")
    pictures = [*tree_picture(flow)]
    progress(0.5, "Drawing columns before and after")
    pictures += [distribution_picture(column) for column in flow.distributions[:MOST_COLUMNS]]
    return tuple(picture for picture in pictures if len(picture.svg) <= LARGEST)


def inward_of(flow: Flow, progress: Progress = no_progress) -> dict[str, Any]:
    """Return what :func:`anonymizer.reporting.findings.findings_of` takes for the internal report alone: its pictures,
    the riskiest records and a row."""
    pictures = pictures_of(flow, part_of(progress, 0.0, 0.6))
    riskiest = riskiest_of(flow.table, flow.schema, flow.population, part_of(progress, 0.6, 1.0))
    return {"pictures": pictures, "riskiest": riskiest, "one_row": one_row_of(flow)}


def tree_picture(flow: Flow) -> list[Picture]:
    """Return the picture of the pruned tree, its upper levels; none where it cannot be laid out."""
    pruning, encoded = flow.pruning, flow.encoded
    cut = pruning.cut()
    source = dot(
        pruning.tree, flow.risk, encoded.encodings, encoded.target.texts, cut=cut, max_depth=DEPTH,
        max_nodes=MOST_NODES, k=pruning.k,
    )  # fmt: skip
    groups, smallest = len(cut), int(pruning.tree.n[cut].min())
    text = f"The pruned tree, its upper levels: {groups:,} groups in all, the smallest of {smallest:,} rows."
    try:
        return [Picture(svg(source), text)]
    except DrawError:
        return []


def distribution_picture(column: Distribution) -> Picture:
    """Return bars of a column, original and released."""
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


def risk_picture(before: LinkageRisk, after: LinkageRisk) -> Picture:
    """Return bars of the rows whose own risk is above each threshold, before and after."""
    rows = [_percents("certain", before.unique / before.records, after.unique / after.records)]
    for policy in POLICIES:
        shares = (risk.share_above(policy.risk) for risk in (before, after))
        rows.append(_percents(f"above {share(policy.risk)}", *shares))
    text = "Share of rows, by the chance to link them to their person."
    return bar_picture(rows, text, ("original", "release"), HALF)


def size_bands(after: LinkageRisk) -> dict[str, float]:
    """Return the share of the rows in groups of each size, in bands that double from the smallest."""
    least = after.smallest
    ends = [least * factor for factor in (1, 2, 4, 8, 16)]
    bands: dict[str, float] = {}
    for size, records in zip(after.sizes, after.records_of_size, strict=True):
        at = max(place for place, end in enumerate(ends) if size >= end)
        name = f"{ends[at]:,} and more" if at + 1 == len(ends) else span_text(ends[at], ends[at + 1] - 1)
        bands[name] = bands.get(name, 0.0) + int(records) / after.records
    return bands


def size_picture(after: LinkageRisk, unit: str) -> Picture:
    """Return bars of the rows in groups of each size, counted in ``unit``, as the released file shows them."""
    rows = [_percents(name, part) for name, part in size_bands(after).items()]
    text = f"Share of rows, by the size of their group. The smallest has {after.smallest:,} {unit}."
    return bar_picture(rows, text, (), HALF)


def loss_picture(report: Report) -> Picture:
    """Return bars of the share of its domain that a cell of each column leaves open, the largest first."""
    losses = report.utility.ncp_by_column
    names = sorted(losses, key=lambda name: -losses[name])
    few, others = names[:FEW_COLUMNS], names[FEW_COLUMNS:]
    rows = [_percents(name, losses[name]) for name in few]
    if others:
        mean = sum(losses[name] for name in others) / len(others)
        rows.append(_percents(f"{len(others):,} others", mean))
    return bar_picture(rows, "Part of each column's range that a cell leaves open, on average.", (), HALF)


def guess_picture(report: Report) -> Picture:
    """Return bars of how often the target is guessed right, of people held out and beside its most frequent value."""
    held_out, majority, inside = report.held_out or 0.0, report.majority or 0.0, report.utility.error
    rows = [_percents("most frequent value", majority), _percents("people held out", held_out)]
    rows += [] if inside is None else [_percents("people in it", 1 - inside)]
    return bar_picture(rows, "Share of people whose target is guessed right from their group.", (), HALF)


class Bars(NamedTuple):
    """A row of bars: its label, and for each series its share of the width, 0 to 1, and the text beside it."""

    label: str
    values: tuple[tuple[float, str], ...]


def _percents(label: str, *shares: float) -> Bars:
    return Bars(label, tuple((part, share(part)) for part in shares))


class Layout(NamedTuple):
    """The width of a picture, that of the labels on its left, and the letters of the longest."""

    width: int
    left: int
    letters: int


WHOLE, HALF = Layout(720, 220, 32), Layout(350, 125, 18)
"""A picture as wide as the page, and one of two beside each other."""


def bar_picture(rows: Sequence[Bars], alt: str, series: Sequence[str], layout: Layout = WHOLE) -> Picture:
    """Return horizontal bars as a picture. ``alt``: what it says; ``series``: what the bars of a row are, when they are
    several."""
    colours = (ORIGINAL, RELEASED) if series else (RELEASED,)
    left, parts, y, room = layout.left, [], 24.0 if series else 4.0, layout.width - layout.left - 70
    for number, (name, colour) in enumerate(zip(series, colours, strict=False)):
        parts += [_bar(left + 90 * number, 4, 10, 10, colour), _text(left + 90 * number + 16, 13, name)]
    for label, values in rows:
        step = (BAR + 2) * len(values)
        short = label if len(label) <= layout.letters else label[: layout.letters - 1] + "…"
        parts.append(_text(left - 8, y + step / 2 + 4, short, "end"))
        for (part, text), colour in zip(values, colours, strict=True):
            wide = max(0.0, min(float(part), 1.0)) * room
            parts += [_bar(left, y, wide, BAR, colour), _text(left + wide + 5, y + BAR - 1, text)]
            y += BAR + 2
        y += 7
    return Picture(_svg(layout.width, y + 4, parts), alt)


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
    return f'{head}viewBox="0 0 {width:.0f} {height:.0f}">{"".join(parts)}</svg>'


def _bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    ends = f"{x:.1f},{y:.1f} {x + width:.1f},{y:.1f} {x + width:.1f},{y + height:.1f} {x:.1f},{y + height:.1f}"
    return f'<polygon points="{ends}" fill="{colour}" stroke="none"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", fill: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" fill="{fill}" '
        f'font-family="{FONT}">{escape(printable(text))}</text>'
    )


def printable(text: str) -> str:
    """Return a text without letters that XML has no place for."""
    return "".join(letter if letter.isprintable() else "□" for letter in text)
