"""The frontier as a figure: risk against loss, one mark a setting, with the thresholds of common policies as lines."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from anonymizer.drawing.charts import ORIGINAL, RELEASED
from anonymizer.errors import ParameterError
from anonymizer.measuring.points import Point
from anonymizer.settings import in_text, name_of
from anonymizer.values import share
from anonymizer.whatif.frontier import POLICIES, best_points

LOSSES = {
    "gcp": in_text(name_of("measure", "gcp")),
    "error": "rows outside their group's majority (error)",
    "unexplained": f"{in_text(name_of('measure', 'unexplained'))} around group means",
}
"""What can stand across: fields of :class:`anonymizer.whatif.frontier.Point`, in words."""

RISKS = {
    "risk": f"{in_text(name_of('measure', 'risk'))} (prosecutor)",
    "tidi": f"{in_text(name_of('measure', 'tidi'))} of a group, bits (low is risky)",
    "rsd": f"{in_text(name_of('measure', 'rsd'))} of a group (low is risky)",
    "posterior": f"{in_text(name_of('measure', 'posterior'))} of the sensitive value: highest class share in a group",
}
"""What can stand upwards."""

COLOURS = ("#3a9163", "#c2703d", "#5a7fbf", "#a05195", "#b8963e", "#4fa3a5", "#c75b7a", "#7d8a45", "#6c6fb5", "#996a55")
SYMBOLS = ("circle", "diamond", "square", "cross", "triangle-up", "star", "x", "pentagon", "hexagon", "triangle-down")


def available(points: Sequence[Point], names: dict[str, str]) -> tuple[str, ...]:
    """Return those of :data:`LOSSES` or :data:`RISKS` that some of the points have."""
    return tuple(name for name in names if any(getattr(point, name) is not None for point in points))


def frontier_sentence(points: Sequence[Point], loss: str = "gcp", risk: float = 0.1, mine: Point | None = None) -> str:
    """Return the title of the figure: what ``mine``, the setting in use, loses beside the least loss among those that
    keep its prosecutor risk; without it, the least loss among those that keep ``risk``."""
    lost = None if mine is None else getattr(mine, loss)
    risk = risk if mine is None else mine.risk
    within = [point for point in points if point.risk <= risk + 1e-12 and getattr(point, loss) is not None]
    if not within:
        return f"No setting that was tried keeps the highest risk at or below {share(risk)}"
    best = min(within, key=lambda point: getattr(point, loss))
    if lost is not None and getattr(best, loss) >= lost:
        return f"Your release has the least {LOSSES[loss]} of all that was tried at its risk: {share(lost)}"
    if lost is not None:
        other = f"{share(getattr(best, loss))} with {best.method}, k = {best.k:,}"
        return f"Your release: {LOSSES[loss]} {share(lost)}; the least of all that was tried at its risk is {other}"
    return (
        f"At a risk of at most {share(risk)} the least {LOSSES[loss]} is {share(getattr(best, loss))}: "
        f"{best.method}, k = {best.k:,}"
    )


def frontier_figure(points: Sequence[Point], loss: str = "gcp", risk: str = "risk", here: Point | None = None) -> Any:
    """Return a scatter of the points: ``loss`` across, a key of :data:`LOSSES`; ``risk`` upwards, a key of
    :data:`RISKS`.

    One colour and symbol a method; the points that no other beats are joined by a line; ``here`` is ringed. The
    thresholds of :data:`anonymizer.whatif.frontier.POLICIES` are lines where the prosecutor risk stands upwards. The
    ``customdata`` of each mark is its place in ``points``.

    Raises :class:`ParameterError` for unknown axes.
    """
    import plotly.graph_objects as go

    if loss not in LOSSES or risk not in RISKS:
        raise ParameterError(
            f"There is no figure of {risk!r} against {loss!r}.",
            remedy=f"Choose among {', '.join(RISKS)} and {', '.join(LOSSES)}.",
        )
    figure = go.Figure()
    best = best_points(points, loss, risk)
    figure.add_scatter(
        x=[getattr(point, loss) for point in best], y=[getattr(point, risk) for point in best], mode="lines",
        line={"shape": "hv", "width": 1.5, "dash": "dot", "color": ORIGINAL}, name="no setting beats these",
        hoverinfo="skip",
    )  # fmt: skip
    methods = list(dict.fromkeys(point.method for point in points))
    for number, method in enumerate(methods):
        entries = [
            (place, point)
            for place, point in enumerate(points)
            if point.method == method and getattr(point, loss) is not None and getattr(point, risk) is not None
        ]
        if not entries:
            continue
        many = len(entries) > 20
        figure.add_scatter(
            x=[getattr(point, loss) for _, point in entries], y=[getattr(point, risk) for _, point in entries],
            mode="markers", name=method,
            marker={
                "color": COLOURS[number % len(COLOURS)], "symbol": SYMBOLS[number % len(SYMBOLS)],
                "size": 5 if many else 10, "opacity": 0.7 if many else 1.0,
            },
            customdata=[place for place, _ in entries],
            text=[_words(point) for _, point in entries], hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip
    if here is not None and getattr(here, loss) is not None and getattr(here, risk) is not None:
        figure.add_scatter(
            x=[getattr(here, loss)], y=[getattr(here, risk)], mode="markers", name="your setting",
            marker={"size": 26, "symbol": "star-open", "line": {"width": 3}, "color": COLOURS[0]}, hoverinfo="skip",
        )  # fmt: skip
    if risk == "risk":
        for policy in POLICIES:
            figure.add_hline(y=policy.risk, line_dash="dash", line_width=1, line_color=ORIGINAL)
            # Beside a logarithmic axis an annotation stands at the logarithm.
            figure.add_annotation(
                x=1, xref="paper", xanchor="right", y=math.log10(policy.risk), text=policy.title, showarrow=False,
                yanchor="top" if policy.risk == 0.09 else "bottom", font={"size": 11},
            )  # fmt: skip
        figure.update_yaxes(type="log", tickvals=[1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005], tickformat="~g")
    figure.update_xaxes(title_text=LOSSES[loss], rangemode="tozero", tickformat="~g")
    figure.update_yaxes(title_text=RISKS[risk])
    figure.update_layout(
        height=520,
        clickmode="event+select",
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
    )
    return figure


def _words(point: Point) -> str:
    """Return a point in the words of its tooltip; its names are ours, so nothing has to be escaped."""
    lines = [
        f"<b>{point.method}, k = {point.k:,}</b>",
        f"{point.groups:,} groups, the smallest of {point.smallest:,}",
        f"{RISKS['risk']} {share(point.risk)}",
        f"{LOSSES['gcp']} {share(point.gcp)}",
    ]
    lines += [f"error {share(point.error)}"] if point.error is not None else []
    lines += [f"squared error left {share(point.unexplained)}"] if point.unexplained is not None else []
    lines += [f"lowest TIDI {point.tidi:.2f} bits"] if point.tidi is not None else []
    lines += [f"lowest RSD {point.rsd:.3f}"] if point.rsd is not None else []
    lines += [f"surest guess {share(point.posterior)}"] if point.posterior is not None else []
    return "<br>".join(lines)


def k_sentence(points: Sequence[Point], losses: Mapping[int, float], k: int, goal: int) -> str:
    """Return the title of :func:`k_figure`: what it costs to go from ``k`` to the ``goal``; of groups that are released
    whole where ``losses`` does not know both."""
    whole = "" if {k, goal} <= set(losses) else " of groups released whole"
    if whole:
        losses = {point.k: point.gcp for point in points}
    if goal not in losses or k not in losses or k == goal:
        text = f" {losses[k]:.1%} of the detail at k = {k:,}" if k in losses else " more with every step of k"
        return f"This grouping{', released whole,' * bool(whole)} loses{text}"
    return (
        f"From k = {k:,} to k = {goal:,} the loss{whole} goes from {losses[k]:.1%} to {losses[goal]:.1%} of the detail"
    )


def k_figure(points: Sequence[Point], losses: Mapping[int, float], k: int, goal: int) -> Any:
    """Return the figure of the loss (GCP) of one grouping, released whole, at every k, with ``k`` and the ``goal``
    marked. ``losses``: of the method in use at some k, as points."""
    import plotly.graph_objects as go

    entries = sorted(points, key=lambda point: point.k)
    figure = go.Figure(
        go.Scatter(
            x=[point.k for point in entries], y=[point.gcp for point in entries], mode="lines",
            line={"shape": "hv", "width": 2.5, "color": COLOURS[0]},
            text=[f"{point.groups:,} groups, risk {share(point.risk)}" for point in entries],
            hovertemplate="k = %{x}: %{y:.1%}<br>%{text}<extra></extra>",
        )
    )  # fmt: skip
    figure.add_scatter(
        x=list(losses), y=list(losses.values()), mode="markers+text", marker={"size": 13, "color": RELEASED},
        text=[share(loss) for loss in losses.values()], textposition="top center", cliponaxis=False,
        hovertemplate="k = %{x}: %{y:.1%}<extra></extra>",
    )  # fmt: skip
    for at, label in {k: "now", goal: "needed"}.items():
        figure.add_vline(
            x=at, line_dash="dot", line_width=1.5, line_color=ORIGINAL, annotation_text=f"{label}: {at:,}",
            annotation_position="top left" if label == "now" else "bottom right",
        )  # fmt: skip
    figure.update_xaxes(title_text="k", rangemode="tozero")
    figure.update_yaxes(title_text=LOSSES["gcp"], rangemode="tozero", tickformat=".0%")
    figure.update_layout(showlegend=False, height=340, margin={"l": 10, "r": 10, "t": 24, "b": 10})
    return figure
