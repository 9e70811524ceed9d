"""The look of a node by its risk or its classes: levels and colours, gauges, bars of shares, and the legend."""

from dataclasses import dataclass
from itertools import pairwise
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
"""Steps of a risk scale; that of sureness has one more, for certainty."""
BAR = 12
"""Characters of a bar of class shares."""
GLYPHS = "█▓▒░"
"""Marks of the classes in a bar, the largest class first; the last stands for all others."""
MARKED = GLYPHS[:-1]
COLOURS: dict[str, str] = {
    "sure": "how sure an attacker is",
    "n": "how many look alike",
    "classes": "class shares",
    "digression": "how much the numbers give away (Δ)",
    "tidi": "risk as in the papers (TIDI)",
}
"""The measures that nodes can be coloured by, in words; digression where a sensitive column is numeric."""
ODDS = {"even": 1 / 2, "2 in 3": 2 / 3, "4 in 5": 4 / 5, "9 in 10": 9 / 10}
"""Where the shades of sureness end, the same for every table; each includes its end."""
SIZES = (1, 2, 5, 20)
"""Where the shades of size end, in times k."""


@dataclass(frozen=True)
class Shade:
    """One step of the colour scale: risk ``level`` (1 low to 5 high), its gauge and colour, and what it covers."""

    level: int
    gauge: str
    colour: str
    text: str


def colours_of(tree: Tree, risk: "NodeRisk") -> list[str]:
    """Return the keys of :data:`COLOURS` that fit the sensitive columns, the one that suits most first."""
    of_classes = ["sure", "n", "classes"] if tree.sums.shape[1] > 1 else []
    of_numbers = ["digression"] if risk.numeric is not None else []
    return list(dict.fromkeys([*of_classes, *of_numbers, "n", "tidi"]))


def risk_scores(tree: Tree, risk: "NodeRisk", colour_by: str) -> NDArray[np.float64]:
    """Return (m,) numbers, larger where the risk is: share of the largest class, −n, digression, or −TIDI (bits).

    n counts what k counts, records or persons. Raises :class:`ParameterError` for a measure that does not fit.
    """
    if colour_by == "sure":
        return np.asarray(1 - risk.error / np.maximum(tree.n, 1), dtype=np.float64)
    if colour_by == "n":
        return -tree.persons.n.astype(np.float64)
    if colour_by == "tidi":
        return -np.asarray(risk.tidi, dtype=np.float64)
    if colour_by == "digression" and risk.numeric is not None:
        return risk.numeric.digression
    raise ParameterError(
        f"Nodes cannot be coloured by {colour_by!r}.",
        value=colour_by,
        remedy=f"Choose one of {', '.join(colours_of(tree, risk))}.",
    )


def risk_levels(scores: NDArray[np.float64], colour_by: str = "tidi", k: int | None = None) -> NDArray[np.int64]:
    """Return (m,) levels of risk scores, 1 to 5.

    ``sure``: by :data:`ODDS`, and 6 where everybody shares one class. ``n``: 5 below k, then by multiples of k
    (:data:`SIZES`). Others, and n without k: by rank among the different scores.
    """
    if colour_by == "sure":
        steps = np.searchsorted(list(ODDS.values()), scores - 1e-12, side="left") + 1
        return np.where(scores >= 1, LEVELS + 1, steps).astype(np.int64)
    if colour_by == "n" and k is not None:
        return LEVELS - np.searchsorted([k * times for times in SIZES], -scores, side="right").astype(np.int64)
    different, rank = np.unique(scores, return_inverse=True)
    return 1 + np.round(rank * (LEVELS - 1) / max(len(different) - 1, 1)).astype(np.int64)


def legend(
    tree: Tree,
    risk: "NodeRisk",
    labels: tuple[str | None, ...],
    colour_by: str = "tidi",
    theme: str = "light",
    k: int | None = None,
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
    texts = _fixed_texts(colour_by, k, tree.unit)
    if not texts:
        levels, word = risk_levels(scores), "{} bits" if colour_by == "tidi" else "Δ {}" if colour_by != "n" else "{}"
        for level in range(1, LEVELS + 1):
            inside = np.abs(scores[levels == level])
            if len(inside):
                low, high = number_text(float(inside.min())), number_text(float(inside.max()))
                texts[level] = word.format(low if low == high else f"{low} to {high}")
    most = most_of(colour_by)
    return tuple(Shade(level, gauge(level, most), palette[str(level)], text) for level, text in texts.items())


def most_of(colour_by: str) -> int:
    """Return how many steps a scale has."""
    return LEVELS + (colour_by == "sure")


def _fixed_texts(colour_by: str, k: int | None, unit: str) -> dict[int, str]:
    """Return what each level means where that does not depend on the nodes; empty where it does."""
    if colour_by == "sure":
        return dict(enumerate([*(f"up to {end}" for end in ODDS), "above 9 in 10", "certain"], 1))
    if colour_by == "n" and k is not None:
        sizes = [k * times for times in SIZES]
        words = [f"{low:,} to {high - 1:,}" for low, high in pairwise(sizes)]
        return dict(enumerate([f"{sizes[-1]:,} {unit}s or more", *words[::-1], f"fewer than {k:,}"], 1))
    return {}


def gauge(level: int, most: int = LEVELS) -> str:
    """Return a risk level as text: ▮▮▮▯▯. ``most``: of the scale's levels."""
    return "▮" * level + "▯" * (most - level)


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
