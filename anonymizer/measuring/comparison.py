"""Evaluated settings beside each other: as a table, as a figure of loss against error, and by paired t-tests."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anonymizer.errors import ParameterError
from anonymizer.measuring.measures import (
    FORMS,
    MEASURES,
    MODELS,
    OF_NUMBERS,
    ORIGINAL,
    SINGLE,
    Outcome,
    mean_of,
    number_measure,
)
from anonymizer.settings import in_text, method_text, name_of
from anonymizer.values import number_text

BETTER = {
    **{f"error_{form}": -1 for form in FORMS},
    **{
        number_measure(figure, model, form): 1 if figure == "r2" else -1
        for form in FORMS
        for figure in OF_NUMBERS
        for model in MODELS
        if figure != "slope"
    },
    "two_way": -1,
    "ranges": -1,
    **dict.fromkeys(SINGLE, -1),
    "coefficients": 1,
    "rsd": 1,
}
"""What loss can be drawn against: -1 where less is better, 1 where more is (RSD: less is given away)."""

COMPARED = ("gcp", *BETTER)
"""The measures that paired t-tests compare."""

LEAST_R2 = 0.05
"""Where even the original records predict no better than that (R²), predictions rank nothing."""

COLOURS = ("#3a9163", "#c77d2e", "#4f83c4", "#a06bb5", "#cc5a5f", "#8a9d2f", "#2f9c9c", "#8f9b93")
SYMBOLS = ("circle", "diamond", "square", "cross", "triangle-up", "x")


def drawable(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Return the keys of :data:`BETTER` that were measured: errors need a categorical target, the others numbers."""
    return tuple(
        measure for measure in BETTER if any(math.isfinite(outcome.mean(measure)) for outcome in generalized(outcomes))
    )


def explained(outcomes: Sequence[Outcome], measure: str) -> float | None:
    """Return the R² on the original records of the model that a measure of numbers judges; ``None`` for the others."""
    figure, _, rest = measure.partition("_")
    model = rest.partition("_")[0]
    if figure not in OF_NUMBERS or not outcomes or outcomes[0].grouping != ORIGINAL:
        return None
    return outcomes[0].mean(number_measure("r2", model, "raw"))


def ranks(outcomes: Sequence[Outcome], measure: str) -> bool:
    """Return whether a measure ranks settings: not where the original records predict next to nothing, for then it is
    noise that differs."""
    r2 = explained(outcomes, measure)
    return r2 is None or r2 >= LEAST_R2


def generalized(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes without that of the original records."""
    return [outcome for outcome in outcomes if outcome.grouping != ORIGINAL]


def by_rank(outcomes: Sequence[Outcome], measure: str) -> tuple[Outcome, ...]:
    """Return the outcomes as they are read by somebody who wants the best of ``measure``: that of the original records
    first, then by k, best first; as they are where the measure is none, or ranks nothing."""
    if measure not in BETTER or not ranks(outcomes, measure):
        return tuple(outcomes)

    def key(outcome: Outcome) -> tuple[bool, int, float]:
        value = -BETTER[measure] * outcome.mean(measure)
        return outcome.grouping != ORIGINAL, outcome.k, value if math.isfinite(value) else math.inf

    return tuple(sorted(outcomes, key=key))


def unbeaten(outcomes: Sequence[Outcome], measure: str) -> tuple[Outcome, ...]:
    """Return the settings for which no other one at the same k is as good in both loss and ``measure`` and better in
    one; none where the measure does not rank."""
    if not ranks(outcomes, measure):
        return ()

    def figures(outcome: Outcome) -> tuple[float, float]:
        return outcome.mean("gcp"), -BETTER[measure] * outcome.mean(measure)

    best = []
    for outcome in generalized(outcomes):
        loss, badness = figures(outcome)
        others = [figures(other) for other in generalized(outcomes) if other.k == outcome.k]
        if not any(a <= loss and b <= badness and (a, b) != (loss, badness) for a, b in others):
            best.append(outcome)
    return tuple(best)


def in_use(outcomes: Sequence[Outcome], grouping: str, generalizer: str, k: int) -> Outcome | None:
    """Return the outcome of the setting in use, ``None`` where it was not tried."""
    same = (
        one for one in generalized(outcomes) if (one.grouping, one.generalizer, one.k) == (grouping, generalizer, k)
    )
    return next(same, None)


def tradeoff_sentence(outcomes: Sequence[Outcome], measure: str, mine: Outcome | None = None) -> str:
    """Return how the setting in use, ``mine``, does beside the others at its k, as the title of the figure; without it,
    which settings are best at the smallest k; or why none is."""
    if not ranks(outcomes, measure):
        r2 = explained(outcomes, measure)
        return f"No ranking: even the original rows explain next to nothing here (R² {r2:.3f}, below {LEAST_R2:g})"
    k = mine.k if mine else min(outcome.k for outcome in generalized(outcomes))
    compared = [outcome for outcome in generalized(outcomes) if outcome.k == k]
    best = min(compared, key=lambda outcome: -BETTER[measure] * outcome.mean(measure))
    if mine is not None:
        value = f"{MEASURES[measure]} {number_text(mine.mean(measure))}"
        text = f"Your setting, {setting_text(mine)}, has {value} at k = {k:,}"
        if best.mean(measure) == mine.mean(measure):
            return f"{text}; none that was tried there is better"
        return f"{text}; {setting_text(best)} has {number_text(best.mean(measure))}"
    tightest = min(compared, key=lambda outcome: outcome.mean("gcp"))
    which = "highest" if BETTER[measure] > 0 else "lowest"
    text = f"At k = {k:,}, {setting_text(best)} has the {which} {MEASURES[measure]} ({number_text(best.mean(measure))})"
    if tightest is best:
        return f"{text} and the least {MEASURES['gcp']} ({number_text(best.mean('gcp'))})"
    return f"{text}, {setting_text(tightest)} the least {MEASURES['gcp']} ({number_text(tightest.mean('gcp'))})"


def setting_text(outcome: Outcome) -> str:
    """Return the name of a setting, without its k."""
    return title_of(outcome.grouping, outcome.generalizer, outcome.made)


def title_of(grouping: str, generalizer: str, made: str = "") -> str:
    """Return what a grouping, also a blend such as ``blend:0.2``, and a generalizer are called; ``made``: the keys of
    those that ran in its place."""
    name, _, weight = grouping.partition(":")
    if name == ORIGINAL:
        return "Original rows"
    ran = " and ".join(in_text(name_of("generalizer", one)) for one in made.split(", ")) if made else ""
    return method_text(name, generalizer, float(weight) if weight else None) + (f" (made as {ran})" if ran else "")


def tradeoff_figure(outcomes: Sequence[Outcome], measure: str, mine: Outcome | None = None) -> Any:
    """Return the figure of each setting as a point, loss (GCP) to the right and ``measure`` upwards, a line a setting.

    Colours are groupings, symbols generalizers. A ring marks the settings that :func:`unbeaten` keeps; a dotted line is
    what the original records give; the largest mark is ``mine``, the setting in use.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    settings = generalized(outcomes)
    groupings = list(dict.fromkeys(outcome.grouping for outcome in settings))
    generalizers = list(dict.fromkeys(outcome.generalizer for outcome in settings))
    for grouping in groupings:
        for generalizer in generalizers:
            line = sorted(
                (outcome for outcome in settings if (outcome.grouping, outcome.generalizer) == (grouping, generalizer)),
                key=lambda outcome: outcome.k,
            )
            if not line:
                continue
            colour = COLOURS[groupings.index(grouping) % len(COLOURS)]
            symbol = SYMBOLS[generalizers.index(generalizer) % len(SYMBOLS)]
            figure.add_scatter(
                x=[outcome.mean("gcp") for outcome in line],
                y=[outcome.mean(measure) for outcome in line],
                mode="lines+markers+text",
                name=setting_text(line[0]),
                text=[f"{outcome.k:,}" for outcome in line],
                textposition="top center",
                textfont={"size": 11},
                marker={"size": 10, "color": colour, "symbol": symbol},
                line={"width": 1, "color": colour},
                hovertemplate=f"k = %{{text}}<br>{MEASURES['gcp']} %{{x:.3f}}<br>"
                + f"{MEASURES[measure]} %{{y:.3f}}<extra>{setting_text(line[0])}</extra>",
            )
    if mine is not None:
        figure.add_scatter(
            x=[mine.mean("gcp")], y=[mine.mean(measure)], mode="markers", name="your setting", hoverinfo="skip",
            marker={"size": 26, "symbol": "star-open", "color": "#1f6f43", "line": {"width": 3}},
        )  # fmt: skip
    best = unbeaten(outcomes, measure)
    figure.add_scatter(
        x=[outcome.mean("gcp") for outcome in best],
        y=[outcome.mean(measure) for outcome in best],
        mode="markers", name="not beaten at its k", hoverinfo="skip",
        marker={"size": 18, "symbol": "circle-open", "color": "#8f9b93", "line": {"width": 2}},
    )  # fmt: skip
    for outcome in outcomes:
        if outcome.grouping == ORIGINAL and math.isfinite(outcome.mean(measure)):
            figure.add_hline(
                y=outcome.mean(measure), line_dash="dot", line_color="#8f9b93",
                annotation_text=f"original rows: {number_text(outcome.mean(measure))}",
                annotation_position="bottom right",
            )  # fmt: skip
    figure.update_xaxes(
        title_text=f"{MEASURES['gcp']}: share of the columns' ranges left open, 0 = nothing lost", zeroline=False
    )
    figure.update_yaxes(title_text=MEASURES[measure], zeroline=False)
    figure.update_layout(
        height=470,
        margin={"l": 10, "r": 10, "t": 20, "b": 10},
        legend={"title": {"text": "grouping, boxes"}},
    )
    return figure


class Difference(NamedTuple):
    """The mean of one outcome less that of another, and the p-value of the paired t-test over their folds."""

    difference: float
    p_value: float


def paired_t_test(first: Outcome, second: Outcome, measure: str) -> Difference:
    """Return how two settings differ in a measure, as L14 reports it: by a two-sided paired t-test over the same folds.

    Folds overlap in their training records, so the p-value is too small rather than too large. NaN with fewer than
    two folds; 1 when no fold differs.
    """
    from scipy.special import stdtr

    apart = first.measured[measure] - second.measured[measure]
    apart = apart[np.isfinite(apart)]
    if len(apart) < 2:
        return Difference(mean_of(list(apart)) if len(apart) else float("nan"), float("nan"))
    spread = float(apart.std(ddof=1)) / np.sqrt(len(apart))
    if spread == 0:
        return Difference(float(apart.mean()), 1.0 if apart[0] == 0 else 0.0)
    return Difference(float(apart.mean()), float(2 * stdtr(len(apart) - 1, -abs(apart.mean()) / spread)))


def as_table(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Return one row a setting: its names, the number of folds, the mean of every measure that applies to one of them,
    and what ran where it is not as asked."""
    frame = pd.DataFrame(
        [
            {
                "grouping": outcome.grouping,
                "generalizer": outcome.generalizer,
                "k": outcome.k,
                "folds": outcome.folds,
                **{measure: outcome.mean(measure) for measure in MEASURES},
                "left_out": outcome.left_out,
                "made": outcome.made,
            }
            for outcome in outcomes
        ]
    )
    return frame.drop(columns=[] if any(outcome.made for outcome in outcomes) else "made").dropna(axis=1, how="all")


def asked_by(table: pd.DataFrame, form: str) -> pd.DataFrame:
    """Return a table of :func:`as_table` with the predictions of one of :data:`FORMS` only."""
    return table.drop(
        columns=[name for name in table for other in FORMS if other != form and name.endswith(f"_{other}")]
    )


def differences(outcomes: Sequence[Outcome], against: str) -> list[dict[str, Any]]:
    """Return paired t-tests of every other setting against one, at the same k, for every measure that both have and
    that ranks."""
    grouping, _, generalizer = against.partition("/")
    compared = [measure for measure in COMPARED if ranks(outcomes, measure)]
    base = {
        o.k: o for o in generalized(outcomes) if (o.grouping, o.generalizer) == (grouping, generalizer or "uniform")
    }
    if not base:
        raise ParameterError(
            f"{against!r} was not evaluated.", value=against, remedy="Name a grouping/generalizer that is."
        )
    tests = []
    for outcome in generalized(outcomes):
        if outcome.k not in base or outcome is base[outcome.k]:
            continue
        for measure in compared:
            test = paired_t_test(outcome, base[outcome.k], measure)
            if math.isfinite(test.difference):
                tests.append(
                    {
                        "grouping": outcome.grouping,
                        "generalizer": outcome.generalizer,
                        "k": outcome.k,
                        "measure": measure,
                        "difference": test.difference,
                        "p_value": test.p_value if math.isfinite(test.p_value) else None,
                    }
                )
    return tests


def by_fold(outcomes: Sequence[Outcome]) -> str:
    """Return CSV text: one line for each setting and fold."""
    lines = [",".join(["grouping", "generalizer", "k", "fold", *MEASURES])]
    for outcome in outcomes:
        for fold in range(outcome.folds):
            values = [outcome.measured[measure][fold] for measure in MEASURES]
            texts = ["" if math.isnan(value) else repr(float(value)) for value in values]
            lines.append(",".join([outcome.grouping, outcome.generalizer, str(outcome.k), str(fold + 1), *texts]))
    return "\n".join(lines) + "\n"
