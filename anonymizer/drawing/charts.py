"""Figures of a tree and of a release: classes of a node, pruning steps, columns before and after, what was lost.

Titles are sentences with the number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.drawing.words import class_name, mean_text
from anonymizer.values import number_text, plural, share

if TYPE_CHECKING:
    from anonymizer.groups.digression import NumericRisk
    from anonymizer.groups.prune import Pruning
    from anonymizer.groups.risk import NodeRisk
    from anonymizer.measuring.coefficients import Agreement
    from anonymizer.measuring.distributions import Distribution
    from anonymizer.measuring.two_way import TwoWay

MOST_CLASSES = 12
ORIGINAL, RELEASED = "#8f9b93", "#3a9163"


@dataclass(frozen=True, eq=False)
class PruningCurve:
    """The groups after some of the pruning steps; one entry a moment.

    ``after``: steps done; ``groups``: their number; ``smallest``: records of the smallest; ``error``: records outside
    the largest class of their group, Y19 (9); ``tidi``: the least TIDI of a group, bits, Y19 (6). Where a sensitive
    column is numeric, sums over the groups of squared error, ``sse``, and ``digression``, L09; otherwise ``None``.
    """

    after: NDArray[np.int64]
    groups: NDArray[np.int64]
    smallest: NDArray[np.int64]
    error: NDArray[np.int64]
    tidi: NDArray[np.float64]
    sse: NDArray[np.float64] | None = None
    digression: NDArray[np.float64] | None = None


def pruning_curve(pruning: "Pruning", risk: "NodeRisk", *, moments: int = 60) -> PruningCurve:
    """Return the groups from the grown tree to the last step, at most at ``moments`` evenly spaced moments."""
    after = np.unique(np.linspace(0, pruning.n_steps, moments).astype(np.int64))
    cuts = [pruning.cut(int(steps)) for steps in after]
    numeric = risk.numeric
    return PruningCurve(
        after,
        np.array([len(cut) for cut in cuts]),
        np.array([risk.n[cut].min() for cut in cuts]),
        np.array([risk.error[cut].sum() for cut in cuts]),
        np.array([risk.tidi[cut].min() for cut in cuts]),
        None if numeric is None else np.array([numeric.sse[cut].sum() for cut in cuts]),
        None if numeric is None else np.array([numeric.digression[cut].sum() for cut in cuts]),
    )


def curve_figure(curve: PruningCurve, k: int, here: int | None = None) -> Any:
    """Return a figure of groups, smallest group, error or digression along the pruning steps; ``here`` marks a step."""
    import plotly.graph_objects as go

    panels: list[tuple[str, NDArray[Any]]] = [
        (f"{_change(curve.groups)} groups", curve.groups),
        (f"smallest group: {_change(curve.smallest)} rows", curve.smallest),
    ]
    if curve.error.any() or curve.digression is None:
        panels.append((f"error: {_change(curve.error)} rows", curve.error))
    if curve.digression is not None:
        first, last = (number_text(curve.digression[at]) for at in (0, -1))
        panels.append((f"digression: {first} → {last}", curve.digression))
    # One dictionary, which is validated once: axis by axis, a figure takes longer than the tree's own figures.
    gap, width = 0.07, (1 - 0.07 * (len(panels) - 1)) / len(panels)
    data, axes, titles, shapes = [], {}, [], []
    for place, (title, values) in enumerate(panels):
        number, left = str(place + 1) if place else "", place * (width + gap)
        line = {"shape": "hv", "width": 2.5, "color": RELEASED}
        data.append(
            {
                "type": "scatter", "x": curve.after, "y": values, "mode": "lines", "line": line, "name": title,
                "xaxis": f"x{number}", "yaxis": f"y{number}",
                "hovertemplate": "after step %{x:,}: %{y:,.6~g}<extra></extra>",
            }
        )  # fmt: skip
        axes[f"xaxis{number}"] = {
            "anchor": f"y{number}", "domain": [left, min(1.0, left + width)], "title": {"text": "pruning step"},
            "range": [0, max(int(curve.after[-1]), 1)],
        }  # fmt: skip
        axes[f"yaxis{number}"] = {"anchor": f"x{number}", "domain": [0, 1], "rangemode": "tozero"}
        titles.append(
            {
                "text": title, "font": {"size": 12}, "showarrow": False, "x": left + width / 2, "xref": "paper",
                "xanchor": "center", "y": 1, "yref": "paper", "yanchor": "bottom",
            }
        )  # fmt: skip
        if here is not None:
            shapes.append(_line(number, x=here, width=1.5, dash="dash"))
    shapes.append(_line("2", y=k, width=2, dash="dot"))
    note = {
        "text": f"k = {k:,}", "showarrow": False, "x": 0, "xref": "x2 domain", "xanchor": "left", "y": k, "yref": "y2",
        "yanchor": "bottom",
    }  # fmt: skip
    margin = {"l": 10, "r": 10, "t": 46, "b": 10}
    layout = {"annotations": [*titles, note], "shapes": shapes, "showlegend": False, "height": 270, "margin": margin}
    return go.Figure({"data": data, "layout": {**layout, **axes}})


def _line(panel: str, *, width: float, dash: str, x: float | None = None, y: float | None = None) -> dict[str, Any]:
    """Return a line across a panel, at ``x`` or at ``y``. ``panel``: the number of its axes, empty for the first."""
    ends: dict[str, Any] = {"x0": x, "x1": x, "xref": f"x{panel}", "y0": 0, "y1": 1, "yref": f"y{panel} domain"}
    if y is not None:
        ends = {"x0": 0, "x1": 1, "xref": f"x{panel} domain", "y0": y, "y1": y, "yref": f"y{panel}"}
    return {"type": "line", **ends, "line": {"width": width, "dash": dash, "color": ORIGINAL}}


def _change(values: NDArray[np.int64]) -> str:
    """Return the first and the last number, or one where they are equal."""
    first, last = f"{int(values[0]):,}", f"{int(values[-1]):,}"
    return first if first == last else f"{first} → {last}"


def class_figure(counts: NDArray[np.integer], labels: tuple[str | None, ...]) -> Any:
    """Return a figure of the shares of a node's classes, the largest first; classes beyond twelve are added up."""
    import plotly.graph_objects as go

    total = max(int(counts.sum()), 1)
    order = np.argsort(-np.asarray(counts), kind="stable")
    order = order[np.asarray(counts)[order] > 0]
    largest = order[:MOST_CLASSES]
    names = [class_name(labels[code], 30) for code in largest]
    values = [int(counts[code]) for code in largest]
    if len(order) > len(largest):
        names.append(f"{len(order) - len(largest):,} others")
        values.append(total - sum(values))
    texts = [f"{value / total:.1%} · {value:,}" for value in values]
    figure = go.Figure(
        go.Bar(
            y=list(range(len(names))), x=[value / total for value in values], orientation="h", text=texts,
            textposition="auto", hoverinfo="skip", marker_color=RELEASED,
        )
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=[literal(name) for name in names], autorange="reversed", title=None
    )
    figure.update_xaxes(range=[0, 1], tickformat=".0%", title=None)
    figure.update_layout(
        title={
            "text": f"{literal(names[0])} makes up {values[0] / total:.0%} of {plural(total, 'row')}",
            "font": {"size": 13},
        },
        height=96 + 34 * len(names),
        margin={"l": 10, "r": 10, "t": 44, "b": 10},
    )
    return figure


def numbers_sentence(numeric: "NumericRisk", node: int) -> str:
    """Return a sentence on the numeric sensitive column that a node discloses most of: that with the lowest RSD."""
    most = int(numeric.rsd[node].argmin())
    error = numeric.rsd[node, most]
    if error >= 0.9995:
        return "The means here bring an attacker no closer than the whole table's"
    return f"{numeric.titles[most]}: guessing the mean here leaves {error:.1%} of the squared error of a blind guess"


def numbers_figure(numeric: "NumericRisk", node: int) -> Any:
    """Return a figure of each numeric sensitive column's RSD and spread in a node, 1 = as the whole table."""
    import plotly.graph_objects as go

    at = list(range(len(numeric.names)))
    figure = go.Figure()
    for name, values, colour in (("RSD", numeric.rsd, ORIGINAL), ("spread", numeric.spread, RELEASED)):
        figure.add_bar(
            y=at, x=values[node], orientation="h", name=name, marker_color=colour, textposition="auto",
            text=[f"{value:.2f}" for value in values[node]], hoverinfo="skip",
        )  # fmt: skip
    labels = [
        f"{literal(_short(name))}<br>mean {mean_text(numeric, node, place)}"
        for place, name in enumerate(numeric.titles)
    ]
    figure.update_yaxes(tickvals=at, ticktext=labels, autorange="reversed", automargin=True)
    figure.update_xaxes(range=[0, max(1.0, float(numeric.spread[node].max()))], title_text="1 = whole table")
    figure.update_layout(
        height=120 + 58 * len(at),
        bargap=0.25,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
    )
    return figure


def distribution_figure(column: "Distribution") -> Any:
    """Return a figure of one column: bars of the original, and of the release as it is read (a line, or bars)."""
    import plotly.graph_objects as go

    figure = go.Figure()
    before, after, labels = list(column.before), list(column.after), [literal(_short(text)) for text in column.labels]
    if column.edges is None:
        if any(column.missing):
            labels.append("(missing)")
            before.append(column.missing[0])
            after.append(column.missing[1])
        at = list(range(len(labels)))
        for name, values, colour in (("original", before, ORIGINAL), ("released", after, RELEASED)):
            figure.add_bar(
                y=at, x=values, name=name, orientation="h", marker_color=colour, customdata=labels,
                hovertemplate="%{customdata}: %{x:,.0f} rows<extra>" + name + "</extra>",
            )  # fmt: skip
        figure.update_yaxes(tickvals=at, ticktext=labels, autorange="reversed", automargin=True)
        figure.update_xaxes(title_text="rows", rangemode="tozero")
        height = 130 + 34 * len(labels)
    else:
        edges = _axis_values(column)
        figure.add_bar(
            x=edges[:-1], y=before, width=_widths(column), offset=0, name="original", marker_color=ORIGINAL,
            customdata=labels, hovertemplate="%{customdata}: %{y:,.0f} rows<extra>original</extra>",
        )  # fmt: skip
        figure.add_scatter(
            x=edges, y=[*after, after[-1]], mode="lines", line={"shape": "hv", "width": 2.5, "color": RELEASED},
            name="released", customdata=[*labels, labels[-1]],
            hovertemplate="%{customdata}: %{y:,.0f} rows<extra>released</extra>",
        )  # fmt: skip
        absent = "" if not any(column.missing) else " (missing: {:,.0f} before, {:,.0f} after)".format(*column.missing)
        figure.update_xaxes(title_text=literal(_short(column.title or column.name)) + absent)
        figure.update_yaxes(title_text="rows", rangemode="tozero")
        height = 360
    figure.update_layout(
        height=height,
        bargap=0.25 if column.edges is None else 0.02,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
        margin={"l": 10, "r": 10, "t": 34, "b": 10},
    )
    return figure


BY_TABLES = "Ranges and sets are read by the one-way tables of the packet, where a column has one."
"""How measures read a release."""


def moved_sentence(column: "Distribution") -> str:
    """Return the share of a column that moved, as the title of its figure."""
    name = column.title or column.name
    if column.moved < 0.0005:
        return f"{name} is distributed as before"
    return f"{name}: {share(column.moved)} of the rows are in another bar"


def loss_sentence(ncp_by_column: Mapping[str, float], gcp: float) -> str:
    """Return the column that lost most and the loss of all on average, as the title of their figure."""
    most = max(ncp_by_column, key=lambda name: ncp_by_column[name])
    if not ncp_by_column[most]:
        return "No column lost any detail"
    return f"{most} lost most detail ({ncp_by_column[most]:.1%}); all columns on average {gcp:.1%} (GCP)"


def two_way_sentence(two_way: "TwoWay") -> str:
    """Return how many rows cross tables show in a wrong cell, on average; "" where there is no such table."""
    mean = two_way.mean
    return "" if mean is None else f"Cross tables show {share(mean)} of the rows in a wrong cell, on average"


def baselines_sentence(two_way: "TwoWay") -> str:
    """Return how far boxes that are read evenly, and one-way tables alone, are off beside two-way tables; "" where
    there is no such table."""
    if two_way.even is None or two_way.even.mean is None or two_way.mean_alone is None:
        return ""
    words = f"Read evenly: {share(two_way.even.mean)}. One-way tables alone: {share(two_way.mean_alone)}."
    return words if two_way.is_worth_it else f"{words} They would tell as much as this release."


def ranges_sentence(two_way: "TwoWay") -> str:
    """Return how far counts of ranges are off; "" where there is one column."""
    own, even = two_way.ranges, None if two_way.even is None else two_way.even.ranges
    if own is None or even is None:
        return ""
    return (
        f"Counts over ranges of two or three columns are {share(own.error)} off on average; read evenly "
        f"{share(even.error)}, from one-way tables alone {share(own.alone)}."
    )


def worst_table_sentence(two_way: "TwoWay") -> str:
    """Return which two-way table changes most; "" where there is none."""
    if two_way.worst is None:
        return ""
    first, second, distance = two_way.worst
    return f"Most changes the table of {first} and {second}: there it is {distance:.1%}."


def coefficients_sentence(agreement: "Agreement | None") -> str:
    """Return how many coefficients of a regression the release leaves where they were; "" where there is none."""
    if agreement is None:
        return ""
    off = "" if agreement.distance is None else f"; half are at most {agreement.distance:.1f} standard errors off"
    return (
        f"Of {plural(agreement.coefficients, 'coefficient')} of a {agreement.model} of {agreement.target}, "
        f"{agreement.inside:,} ({agreement.share:.1%}) lie inside the original's 95% interval{off}"
    )


def _axis_values(column: "Distribution") -> Any:
    """Return the ends of the bars as plotly wants them: dates as dates."""
    assert column.edges is not None
    return column.edges.astype(np.int64).astype("datetime64[us]") if column.kind == "date" else column.edges


def _widths(column: "Distribution") -> Any:
    """Return the widths of bars as plotly wants them: those of dates in milliseconds."""
    assert column.edges is not None
    return np.diff(column.edges) / (1000 if column.kind == "date" else 1)


def loss_figure(ncp_by_column: Mapping[str, float]) -> Any:
    """Return a figure of the share of its domain that a cell of each column leaves open (NCP), the largest first."""
    import plotly.graph_objects as go

    losses = sorted(ncp_by_column.items(), key=lambda item: -item[1])
    at = list(range(len(losses)))
    values = [loss for _, loss in losses]
    names = [_short(name) for name, _ in losses]
    figure = go.Figure(
        go.Bar(
            y=at, x=values, orientation="h", text=[f"{value:.1%}" for value in values], cliponaxis=False,
            textposition=["auto" if value > 0 else "outside" for value in values], marker_color=RELEASED,
            hoverinfo="skip",
        )
    )  # fmt: skip
    figure.update_yaxes(tickvals=at, ticktext=[literal(name) for name in names], autorange="reversed", automargin=True)
    figure.update_xaxes(range=[0, 1], tickformat=".0%", title_text="share left open (NCP)")
    figure.update_layout(
        showlegend=False,
        height=80 + 28 * len(names),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
    )
    return figure


CANDIDATES = ("#86203d", "#cd5848", "#c9dccd", "#8fb79b")
"""Colours of who has one candidate, fewer than k, k, and twice as many."""


def candidates_figure(names: Sequence[str], people: Sequence[Sequence[int]], labels: Sequence[str]) -> Any:
    """Return a figure of how many people have how many candidates: a bar for each of some ``labels``, parted by the
    steps that ``names`` has (s,), of ``people`` (bars, s)."""
    import plotly.graph_objects as go

    figure, colours = go.Figure(), CANDIDATES if len(names) == len(CANDIDATES) else CANDIDATES[:1] + CANDIDATES[2:]
    for step, (name, colour) in enumerate(zip(names, colours, strict=True)):
        figure.add_bar(
            y=list(labels), x=[bar[step] for bar in people], name=name, orientation="h", marker_color=colour,
            hovertemplate="%{y}: %{x:,.0f} people with " + name + "<extra></extra>",
        )  # fmt: skip
    figure.update_yaxes(autorange="reversed", automargin=True)
    figure.update_xaxes(title_text="people, by candidates", rangemode="tozero")
    figure.update_layout(
        barmode="stack", height=120 + 44 * len(labels), margin={"l": 10, "r": 10, "t": 34, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0, "traceorder": "normal"},
    )  # fmt: skip
    return figure


def _short(text: str) -> str:
    """Return at most 30 characters of a text."""
    return text if len(text) <= 30 else text[:29] + "…"


def literal(text: str) -> str:
    """Return text from outside as plotly shows it: no tag and no formula."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")
