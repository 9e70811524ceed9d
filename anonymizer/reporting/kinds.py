"""Three kinds of release on the same two axes: a table, a published tree, and the rules of a private forest.

Whatever is published, somebody who believes it has shares of the sensitive values for everybody: those of a person's
look-alikes, of a leaf, or of a rule. How sure these are of the people whom the release was made from is what it risks;
how often they err for people who are not in it is what it is worth. Every release here is made from four fifths of the
persons, and judged on the others.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.exposure import CONFIDENT, Figures, assess, figures_of_shares
from anonymizer.disclosure.outline import keys_of, lay_keys, outline_of
from anonymizer.errors import Cancelled, ParameterError, Progress, SchemaError, no_progress
from anonymizer.flow import Flow
from anonymizer.forest.domains import Domains, code, domains_of
from anonymizer.forest.forest import class_shares_of, grow_forest
from anonymizer.forest.mechanisms import Noise
from anonymizer.growing.records import descend
from anonymizer.measuring.members import hold_out

KS = (2, 5, 10, 20, 50)
BUDGETS = (0.1, 0.5, 1.0, 2.0)

KINDS = {"table": "Table", "tree": "Published tree", "rules": "Rules of a private forest"}
"""The kinds of release, in words."""

Shares = NDArray[np.float64]


@dataclass(frozen=True)
class KindPoint:
    """One release: its ``kind``, a key of :data:`KINDS`, and ``setting``.

    About the people it was made from: ``surest``, the highest share of one value that it gives anybody; ``exposed``,
    the share of people for whom it gives the true value :data:`anonymizer.disclosure.exposure.CONFIDENT` or more;
    ``right``, for whom its best guess is true. About others: ``error``, the share of whom its best guess is wrong.
    All 0 to 1.
    """

    kind: str
    setting: str
    surest: float
    exposed: float
    right: float
    error: float


def compare_kinds(
    flow: Flow,
    *,
    ks: Sequence[int] = KS,
    budgets: Sequence[float] = BUDGETS,
    seed: int = 0,
    noise: Callable[[], Noise] | None = None,
    each: Callable[[KindPoint], None] | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> tuple[KindPoint, ...]:
    """Return tables and trees of the flow's settings at some k, and private forests at some budgets: by kind.

    Nothing here is private: the judge has the true values of everybody, and no budget pays. ``seed``: which persons are
    held out. ``noise``: of each forest, by default OpenDP's. ``each``: called with a point as soon as it is there;
    ``cancelled``: asked before each; the points that are there are returned. A setting that cannot be kept has none.

    Raises :class:`ParameterError` without a categorical target, or with too few records to hold some out.
    """
    if flow.encoded.by_numbers or flow.encoded.target.n_classes < 2:
        raise ParameterError("Kinds are compared by a column of categories.", remedy="Make one the target.")
    inside, outside = hold_out(flow.encoded, seed)
    train, judge = flow.rows(inside), flow.rows(outside)
    domains = rule_domains(flow)
    say = progress or no_progress
    points: list[KindPoint] = []

    tries: list[tuple[str, str, Callable[[], KindPoint | None]]] = []
    for k in ks:
        if k <= train.encoded.n_persons:
            tries.append(("table", f"k = {k:,}", partial(table_point, train, judge, k)))
            tries.append(("tree", f"k = {k:,}", partial(tree_point, train, judge, k)))
    if domains is not None:
        for epsilon in budgets:
            source = None if noise is None else noise()
            tries.append(("rules", f"ε = {epsilon:g}", partial(rules_point, train, judge, domains, epsilon, source)))
    for number, (kind, setting, make) in enumerate(tries):
        if cancelled is not None and cancelled():
            break
        say(number / len(tries), f"{KINDS[kind]}, {setting}")
        point = make()
        if point is not None:
            points.append(point)
            if each is not None:
                each(point)
    return tuple(sorted(points, key=lambda point: list(KINDS).index(point.kind)))


def rule_domains(flow: Flow) -> Domains | None:
    """Return the domains of the columns that a private tree can branch on, read from the whole table; ``None`` where
    there is none. Columns with too many values are left out."""
    columns = []
    for name in flow.schema.quasi_identifying:
        with suppress(SchemaError):
            domains_of(flow.table, str(flow.schema.target), columns=[name], schema=flow.schema)
            columns.append(name)
    return domains_of(flow.table, str(flow.schema.target), columns=columns, schema=flow.schema) if columns else None


def table_point(train: Flow, judge: Flow, k: int) -> KindPoint | None:
    """Return the table of the settings at one k: everybody has the shares of the rows that look alike, and somebody
    else those of the people of the same leaf. ``None`` where k cannot be kept."""
    flow = train.but(k=k, suppression=0.0)
    if not flow.pruning.satisfied:
        return None
    c, classes = flow.encoded.target.n_classes, flow.encoded.target.codes
    look_alike = np.empty(len(classes), dtype=np.int64)
    look_alike[flow.release.order] = flow.look_alikes.class_of
    counts = np.zeros((len(flow.look_alikes.sizes), c))
    np.add.at(counts, (look_alike, classes), 1)
    own = (counts / counts.sum(axis=1, keepdims=True))[look_alike]
    of_leaf = np.zeros((flow.tree.n_nodes, c))
    np.add.at(of_leaf, flow.leaf, own)
    others = of_leaf[descend(flow.tree, judge.encoded)]
    return point_of("table", f"k = {k:,}", figures_of_shares(flow.encoded.codes.matrix(), classes, own), others, judge)


def tree_point(train: Flow, judge: Flow, k: int) -> KindPoint | None:
    """Return the tree of the settings, pruned for one k and published with error rates: everybody has what maximum
    entropy makes of it. ``None`` where k cannot be kept."""
    flow = train.but(k=k)
    if not flow.pruning.satisfied:
        return None
    keys = keys_of(flow.encoded)
    cut = flow.pruning.cut()
    tree = lay_keys(outline_of(flow.tree, keys.encodings, cut), keys)
    figures = assess(tree, Knowledge(rates=True)).figures
    group = flow.pruning.group_of_node()[descend(flow.tree, judge.encoded)]
    return point_of("tree", f"k = {k:,}", figures, flow.tree.sums[group], judge)


def rules_point(train: Flow, judge: Flow, domains: Domains, epsilon: float, noise: Noise | None = None) -> KindPoint:
    """Return the rules of a private tree, mode strict: everybody has the class shares that they give."""
    inside, outside = code(train.table, domains), code(judge.table, domains)
    forest = grow_forest(inside, epsilon, noise=noise)
    figures = figures_of_shares(inside.codes, inside.classes, class_shares_of(forest, inside.codes))
    guess = class_shares_of(forest, outside.codes).argmax(axis=1)
    return KindPoint("rules", f"ε = {epsilon:g}", *risk_of(figures), float((guess != outside.classes).mean()))


def point_of(kind: str, setting: str, figures: Figures, others: NDArray[np.number], judge: Flow) -> KindPoint:
    """Return a point from figures of the people inside, and the shares or counts (n, c) of those outside."""
    error = float((others.argmax(axis=1) != judge.encoded.target.codes).mean())
    return KindPoint(kind, setting, *risk_of(figures), error)


def risk_of(figures: Figures) -> tuple[float, float, float]:
    """Return what an estimate risks: the surest guess, the share of people who are exposed, and of right guesses."""
    people = int(figures.counts.sum())
    return figures.highest_posterior, figures.count_exposed(CONFIDENT) / people, figures.accuracy


RISKS = {
    "surest": "surest guess about anybody: the highest share of one value",
    "exposed": f"people whose true value is believed with {CONFIDENT:.0%} or more",
    "right": "people of the release whose value is guessed rightly",
}
"""What can stand upwards: fields of :class:`KindPoint`, in words."""

MARKS = {"table": ("#3a9163", "circle"), "tree": ("#c2703d", "diamond"), "rules": ("#5a7fbf", "square")}


def kinds_figure(points: Sequence[KindPoint], risk: str = "exposed") -> Any:
    """Return a scatter of the points: error for people outside across, a key of :data:`RISKS` upwards."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for kind, (colour, symbol) in MARKS.items():
        entries = [point for point in points if point.kind == kind]
        if not entries:
            continue
        figure.add_scatter(
            x=[point.error for point in entries], y=[getattr(point, risk) for point in entries], mode="markers+text",
            text=[point.setting for point in entries], textposition="top center", name=KINDS[kind],
            marker={"color": colour, "symbol": symbol, "size": 10},
            hovertemplate="%{text}: error %{x:.1%}, %{y:.1%}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="error for people who are not in it", tickformat=".0%")
    figure.update_yaxes(title_text=RISKS[risk], tickformat=".0%", rangemode="tozero")
    figure.update_layout(
        height=440, legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
    )  # fmt: skip
    return figure
