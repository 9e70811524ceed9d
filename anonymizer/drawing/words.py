"""Text of the table and figures of a node, in words that are safe to set into a line of ours.

Names and levels come from outside. Here they become text that shows what it holds (see :func:`visible_text`);
escaping for DOT, HTML or Markdown is left to whoever draws it.
"""

import unicodedata
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from anonymizer.values import number_text, value_text

if TYPE_CHECKING:
    from anonymizer.groups.digression import NumericRisk
    from anonymizer.groups.risk import NodeRisk

_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def visible_text(text: object, limit: int = 0) -> str:
    """Return text from outside, safe to set into a line of ours; shortened to ``limit`` characters unless 0.

    Control characters are visible as pictures, those that would reorder or break the line as U+FFFD, and text that
    runs from right to left is isolated so that it cannot turn our own words around.
    """
    visible = str(text)
    plain = visible.isascii() and visible.isprintable()
    if not plain:
        visible = "".join(map(_visible_character, visible))
    if limit and len(visible) > limit:
        visible = visible[: limit - 1].rstrip("\u200d ") + "…"
    if plain:
        return visible
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in visible):
        return f"{_ISOLATE}{visible}{_END_ISOLATE}"
    return visible


def _visible_character(character: str) -> str:
    """Return what stands for one character of :func:`visible_text`."""
    code = ord(character)
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "␡"
    breaks = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or code & 0xFFFE == 0xFFFE
    return "\ufffd" if breaks or character in _BIDI_CONTROLS or 0xFDD0 <= code <= 0xFDEF else character


def class_name(label: str | None, limit: int = 0) -> str:
    """Return a class label as text; "missing" for ``None``."""
    return "missing" if label is None else visible_text(label, limit)


def mean_text(numeric: "NumericRisk", node: int, position: int) -> str:
    """Return the mean of one numeric sensitive column in a node: its figure, or the day."""
    mean = float(numeric.mean[node, position])
    if numeric.names[position] in numeric.dates:
        return value_text(np.datetime64(round(mean), "us").astype("datetime64[D]"))
    return number_text(mean, 4)


def number_lines(numeric: "NumericRisk", node: int) -> list[str]:
    """Return the figures of a node on numeric sensitive columns, one line for all and one for each."""
    p_value = "p not defined" if np.isnan(numeric.p_value[node]) else f"p {number_text(numeric.p_value[node])}"
    first = [f"SSE {number_text(numeric.sse[node])}", f"digression {number_text(numeric.digression[node])}"]
    if not np.isnan(numeric.error_digression[node]):
        first.append(f"Δ(B) {number_text(numeric.branch_digression[node])}")
        first.append(f"q {_ratio(numeric.error_digression[node])}")
    if np.isfinite(numeric.statistic[node]):
        first.append(f"L {number_text(numeric.statistic[node])}")
    lines = [", ".join([*first, p_value])]
    for position, name in enumerate(numeric.titles):
        rsd, spread = numeric.rsd[node, position], numeric.spread[node, position]
        figures = (
            f"mean {mean_text(numeric, node, position)}, RSD {rsd:.3f}, standard deviation {spread:.0%} of the table's"
        )
        lines.append(f"{visible_text(name)}: {figures}")
    return lines


def _ratio(value: float) -> str:
    """Return ω or q as it is read."""
    return "∞" if np.isinf(value) else number_text(float(value))


def branch_lines(risk: "NodeRisk", labels: tuple[str | None, ...], node: int) -> list[str]:
    """Return the figures of the branch below a node on one line, at the leaves of the grown tree; none of a leaf."""
    if np.isnan(risk.error_risk[node]):
        return []
    figures = [f"R(B) {risk.branch_tidi[node]:.3f}"]
    if len(labels) > 1:
        figures += [f"E(B) {int(risk.branch_error[node]):,}", f"ω {_ratio(risk.error_risk[node])}"]
    return [", ".join(figures)]


def figures_text(risk: "NodeRisk", labels: tuple[str | None, ...]) -> str:
    """Return one sentence on what the figures on a node mean."""
    parts = []
    if risk.numeric is not None:
        parts.append(
            "Δ how far the scatter of sensitive numbers falls short of the table's, p its chance, SSE squared error"
        )
    parts.append(
        "BIG bits learnt from the rule + ICR bits still missing = TIDI bits to one person: the lower, the riskier"
    )
    if len(labels) > 1:
        parts.append("E rows not in the largest class")
    return "; ".join(parts)


CHANCES = tuple(
    sorted(
        {*((1, m) for m in range(2, 11)), (2, 5), (3, 5), (2, 3), (3, 4), (4, 5), (9, 10), (19, 20), (99, 100)},
        key=lambda pair: pair[0] / pair[1],
    )
)
"""Chances as people say them: (1, 3) is "1 in 3"."""
_SHARES = tuple(few / many for few, many in CHANCES)
_MIDDLES = tuple((low + high) / 2 for low, high in pairwise(_SHARES))


def chance_text(part: float) -> str:
    """Return a share between 0 and 1 as a chance: ``1 in 12``, ``2 in 5``, the nearest that people would say.

    Certainty is ``everybody`` and only that; what rounds to it is ``nearly everybody``.
    """
    if part >= 1:
        return "everybody"
    if part <= 0:
        return "nobody"
    if part < 1 / 10:
        return f"1 in {round(1 / part):,}"
    if part > 0.995:
        return "nearly everybody"
    few, many = CHANCES[bisect_left(_MIDDLES, part)]
    return f"{few} in {many}"
