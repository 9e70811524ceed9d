"""The look of a node by its risk or its classes: levels and colours, gauges, bars of shares, and the legend."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anonymizer.drawing.dot import THEMES
from anonymizer.drawing.words import class_name
from anonymizer.errors import ParameterError
from anonymizer.growing.tree import Tree
from anonymizer.values import number_text

if TYPE_CHECKING:
    from anonymizer.groups.risk import NodeRisk

LEVELS = 5
"""Steps of the risk scale."""
BAR = 12
"""Characters of a bar of class shares."""
GLYPHS = "█▓▒░"
"""Marks of the classes in a bar, the largest class first; the last stands for all others."""
MARKED = GLYPHS[:-1]
COLOURS: dict[str, str] = {
    "tidi": "risk (low TIDI)",
    "n": "few records",
    "error": "error share",
    "classes": "class shares",
    "digression": "digression Δ",
}
"""The measures that nodes can be coloured by, in words; digression where a sensitive column is numeric."""


@dataclass(frozen=True)
class Shade:
    """One step of the colour scale: risk ``level`` (1 low to 5 high), its gauge and colour, and what it covers."""

    level: int
    gauge: str
    colour: str
    text: str


def colours_of(tree: Tree, risk: "NodeRisk") -> list[str]:
    """Return the keys of :data:`COLOURS` that fit the sensitive columns, the one that suits most first."""
    classes = ["tidi", "n", *(["error", "classes"] if tree.sums.shape[1] > 1 else [])]
    if risk.numeric is None:
        return classes
    return [*classes, "digression"] if len(classes) > 2 else ["digression", *classes]


def risk_scores(tree: Tree, risk: "NodeRisk", colour_by: str) -> NDArray[np.float64]:
    """Return (m,) numbers, larger where the risk is larger: −TIDI, −log2 n (bits), E/n (share), or digression."""
    if colour_by == "error":
        return np.asarray(risk.error / np.maximum(tree.n, 1), dtype=np.float64)
    if colour_by in ("tidi", "n"):
        return -np.asarray(risk.tidi if colour_by == "tidi" else risk.icr, dtype=np.float64)
    if colour_by == "digression" and risk.numeric is not None:
        return risk.numeric.digression
    raise ParameterError(
        f"Nodes cannot be coloured by {colour_by!r}.",
        value=colour_by,
        remedy=f"Choose one of {', '.join(colours_of(tree, risk))}.",
    )


def risk_levels(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return (m,) levels 1 to 5, of equal width between the lowest and the highest score; all 1 when they are equal."""
    low, high = float(scores.min()), float(scores.max())
    if high - low < 1e-12:
        return np.ones(len(scores), dtype=np.int64)
    return np.minimum((LEVELS * (scores - low) / (high - low)).astype(np.int64), LEVELS - 1) + 1


def legend(
    tree: Tree, risk: "NodeRisk", labels: tuple[str | None, ...], colour_by: str = "tidi", theme: str = "light"
) -> tuple[Shade, ...]:
    """Return what colours and gauges mean: risk levels from low to high, or the classes with their bar marks."""
    palette = THEMES[theme]
    if colour_by == "classes":
        ranks = class_ranks(tree)
        order = sorted(range(len(labels)), key=lambda code: (ranks[code], code))
        own = [code for code in order if ranks[code] < len(MARKED)]
        shades = [Shade(0, GLYPHS[ranks[c]], palette[f"class{ranks[c]}"], class_name(labels[c])) for c in own]
        others = [class_name(labels[c]) for c in order if ranks[c] >= len(MARKED)]
        return (*shades, *([Shade(0, GLYPHS[3], palette["class3"], ", ".join(others))] if others else []))
    scores = risk_scores(tree, risk, colour_by)
    levels = risk_levels(scores)
    units = {"tidi": (risk.tidi, "TIDI {} bits"), "n": (tree.n, "{} records"), "digression": (scores, "Δ {}")}
    values, unit = units.get(colour_by, (100 * scores, "{} % error"))
    shades = []
    for level in range(1, LEVELS + 1):
        inside = np.asarray(values)[levels == level]
        if len(inside):
            ends = [
                f"{end:.1f}" if colour_by in ("tidi", "error") else number_text(end)
                for end in (inside.min(), inside.max())
            ]
            text = unit.format(ends[0] if ends[0] == ends[1] else " to ".join(ends))
            shades.append(Shade(level, gauge(level), palette[str(level)], text))
    return tuple(shades)


def gauge(level: int) -> str:
    """Return a risk level as text: ▮▮▮▯▯."""
    return "▮" * level + "▯" * (LEVELS - level)


def class_ranks(tree: Tree) -> dict[int, int]:
    """Return each class's place by number of records in the whole table, at most 3: later ones share the last mark."""
    order = np.argsort(-tree.sums[0], kind="stable")
    return {int(code): min(place, len(GLYPHS) - 1) for place, code in enumerate(order)}


def share_bar(counts: NDArray[np.integer], ranks: dict[int, int]) -> str:
    """Return class shares as a bar of 12 characters, one pattern a class (the largest of the table first)."""
    merged = np.bincount([ranks[code] for code in range(len(counts))], weights=counts, minlength=len(GLYPHS))
    exact = BAR * merged / max(merged.sum(), 1)
    cells = np.floor(exact).astype(int)
    for place in np.argsort(cells - exact, kind="stable")[: BAR - cells.sum()]:
        cells[place] += 1
    return "".join(glyph * cell for glyph, cell in zip(GLYPHS, cells, strict=True))
