"""What a survey says before and after: sentences, a table, and a figure of intervals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anonymizer.drawing.charts import ORIGINAL, RELEASED, literal

if TYPE_CHECKING:
    from anonymizer.measuring.named_regression import NamedRegression
    from anonymizer.measuring.weighted import Weighted
    from anonymizer.population.estimates import Compared, Estimate

FARTHEST = 6.0
"""Half intervals of the original, the farthest that the figure shows."""
MOST_DRAWN = 30


def survey_sentence(weighted: "Weighted") -> str:
    """Return how far the intervals of means and shares overlap on average; "" where there is none."""
    if weighted.mean_overlap is None:
        return ""
    return f"The 95% intervals of means and shares overlap by {weighted.mean_overlap:.1%} on average"


def survey_details(weighted: "Weighted") -> str:
    """Return which figure moved most, which correlation, and how far two-way tables are, in sentences."""
    sentences = []
    if weighted.worst is not None:
        sentences.append(f"Least overlaps: {lower(weighted.worst.title)}, {weighted.worst.overlap:.1%}.")
    if weighted.farthest is not None:
        one = weighted.farthest
        sentences.append(
            f"The correlation of {one.first} and {one.second} was {one.before:.3f} and is {one.after:.3f}; no other "
            "changed more."
        )
    if (distance := weighted.tables.mean_hellinger) is not None:
        sentences.append(f"Cross tables are {distance:.3f} away on average (Hellinger distance, 0 to 1).")
    return " ".join(sentences)


def regression_sentence(regression: "NamedRegression") -> str:
    """Return how far the intervals of the coefficients overlap on average."""
    return (
        f"The 95% intervals of the coefficients of {regression.formula} overlap by {regression.mean_overlap:.1%} on "
        "average"
    )


def lower(title: str) -> str:
    """Return a title as it stands within a sentence."""
    return title[0].lower() + title[1:]


def interval_text(estimate: "Estimate") -> str:
    """Return a figure with its interval, as in ``39.1 (38.7 to 39.4)``; "not estimated" where there is none."""
    if not np.isfinite(estimate.value):
        return "not estimated"
    if not np.isfinite(estimate.low):
        return f"{estimate.value:,.6g}"
    return f"{estimate.value:,.6g} ({estimate.low:,.6g} to {estimate.high:,.6g})"


def overlap_text(overlap: float, digits: int = 4) -> str:
    """Return an overlap, 0 to 1; "none" where one of the intervals is not known."""
    return f"{overlap:.{digits}f}" if np.isfinite(overlap) else "none"


def intervals_figure(figures: Sequence["Compared"]) -> Any:
    """Return a figure of the intervals before and after, those of totals left out, in half intervals of the original
    around its figure: a grey bar from −1 to 1, and a green line for the release, cut off at :data:`FARTHEST`."""
    import plotly.graph_objects as go

    rows = [
        one
        for one in figures
        if one.what != "total" and np.isfinite(one.overlap) and one.before.high > one.before.value
    ][:MOST_DRAWN]
    at = list(range(len(rows)))
    middle: list[float] = []
    low: list[float] = []
    high: list[float] = []
    for one in rows:
        half = one.before.high - one.before.value
        ends = [(end - one.before.value) / half for end in (one.after.value, one.after.low, one.after.high)]
        for values, end in zip((middle, low, high), ends, strict=True):
            values.append(float(np.clip(end, -FARTHEST, FARTHEST)))
    figure = go.Figure(
        go.Bar(
            y=at, x=[2.0] * len(at), base=-1.0, orientation="h", width=0.6, marker_color=ORIGINAL, opacity=0.35,
            name="original", hoverinfo="skip",
        )
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            y=at, x=middle, mode="markers", marker={"color": RELEASED, "size": 8}, name="release", hoverinfo="skip",
            error_x={
                "type": "data", "symmetric": False, "color": RELEASED,
                "array": [end - x for end, x in zip(high, middle, strict=True)],
                "arrayminus": [x - end for end, x in zip(low, middle, strict=True)],
            },
        )
    )  # fmt: skip
    names = [literal(one.title if len(one.title) <= 40 else one.title[:39] + "…") for one in rows]
    figure.update_yaxes(tickvals=at, ticktext=names, autorange="reversed", automargin=True)
    figure.update_xaxes(title_text="half intervals of the original", zeroline=True)
    margin = {"l": 10, "r": 10, "t": 10, "b": 10}
    figure.update_layout(height=110 + 24 * len(rows), margin=margin, legend={"orientation": "h", "y": 1.02})
    return figure
