"""What a release is still good for, as a section of the report for people."""

import numpy as np

from anonymizer.drawing.charts import BY_TABLES
from anonymizer.drawing.surveys import interval_text, overlap_text
from anonymizer.measuring.two_way import TwoWay
from anonymizer.measuring.weighted import Weighted
from anonymizer.reporting.document import Figure, Section, Table
from anonymizer.reporting.findings import Findings
from anonymizer.settings import name_of
from anonymizer.values import share

COARSE = 2
"""Digits of an overlap for the recipient: four of them would give an original figure away, beside the released one."""
MOST_CORRELATIONS = 10
"""Correlations that a report shows: those that changed most."""


def losses(findings: Findings, internal: bool = True) -> Section:
    """Return what was lost and what an analysis would still say, before and after. ``internal``: also the estimates
    themselves, and the levels of a regression."""
    utility = findings.report.utility
    rows: list[tuple[str | Figure, ...]] = [
        (name_of("measure", "gcp"), Figure("gcp.before", "0"), Figure("gcp.after", share(utility.gcp))),
        (
            f"{name_of('measure', 'discernibility')}, squared rows",
            Figure("discernibility.before", f"{findings.discernibility_before:,}"),
            Figure("discernibility.after", f"{utility.discernibility:,}"),
        ),
    ]
    if utility.left_out:
        title = "The same, over the rows that are there: those that were left out lose all of their detail"
        rows.insert(
            1, (title, Figure("gcp_released.before", "0"), Figure("gcp_released.after", share(utility.gcp_released)))
        )
    if findings.error_before is not None and utility.error is not None:
        rows.append(
            (
                "Rows without the most frequent value of their group, counted on these themselves",
                Figure("error.before", share(findings.error_before)),
                Figure("error.after", share(utility.error)),
            )
        )
    held_out, majority = findings.report.held_out, findings.report.majority
    if held_out is not None and majority is not None:
        rows.append(
            (
                "Wrong guesses for people held out of making the groups; before: by the most frequent value",
                Figure("held_out.before", share(1 - majority)),
                Figure("held_out.after", share(1 - held_out)),
            )
        )
    tables, agreed = findings.report.two_way, findings.report.coefficients
    if tables.mean is not None and tables.worst is not None:
        rows += [
            (title, Figure(f"{key}.before", "0"), Figure(f"{key}.after", share(distance)))
            for key, (title, distance) in _distances(tables).items()
        ]
    rows += _single(tables)
    if agreed is not None:
        title = f"Coefficients of a {agreed.model} of {agreed.target}, and those inside the original's 95% intervals"
        counts = agreed.coefficients, agreed.inside
        rows.append(
            (title, *(Figure(f"coefficients.{n}", f"{c:,}") for n, c in zip(("before", "after"), counts, strict=True)))
        )
    if agreed is not None and agreed.distance is not None:
        title = "The median distance of these coefficients, in standard errors of the original"
        rows.append((title, Figure("distance.before", "0"), Figure("distance.after", f"{agreed.distance:.1f}")))
    columns = tuple((name, Figure(f"ncp.{name}", share(loss))) for name, loss in utility.ncp_by_column.items())
    return Section(
        "What the release is still good for",
        (
            Table(("", "Before", "After"), tuple(rows)),
            "The share of its domain that a cell of each column leaves open on average (NCP):",
            Table(("Column", "NCP"), columns),
            *survey(findings.report.weighted, internal),
        ),
    )


def survey(weighted: Weighted, internal: bool) -> list[str | Table]:
    """Return what a survey says before and after: of levels the mean overlap of their shares, no level by name."""
    columns: dict[str, list[float]] = {}
    digits = 4 if internal else COARSE
    rows: list[tuple[str | Figure, ...]] = []
    for one in weighted.figures:
        if one.level and one.what == "share":
            columns.setdefault(one.column, []).append(one.overlap)
        if not one.level:
            key, lap = f"weighted.{one.what}.{one.column}", overlap_text(one.overlap, digits)
            pair = [(f"{key}.before", interval_text(one.before)), (f"{key}.after", interval_text(one.after))]
            rows.append((one.title, *(Figure(*part) for part in pair if internal), Figure(f"{key}.overlap", lap)))
    for name, overlaps in columns.items():
        shares = Figure(f"weighted.shares.{name}.overlap", overlap_text(float(np.mean(overlaps)), digits))
        rows.append((f"Shares of the levels of {name}, on average", *([""] * 2 * internal), shares))
    blocks: list[str | Table] = []
    if rows:
        header = ("", "Before (95% interval)", "After (95% interval)", "Overlap") if internal else ("", "Overlap")
        blocks += [
            f"What a survey would say, and how far its 95% intervals overlap, 0 to 1 ({weighted.sampling}). "
            f"{BY_TABLES} Whoever gets the release has no weights, strata or households.",
            Table(header, tuple(rows)),
        ]
    distance = weighted.tables.mean_hellinger
    pairs = sorted(weighted.correlations, key=lambda one: -np.nan_to_num(abs(one.after - one.before)))
    moves: list[tuple[str | Figure, ...]] = []
    if distance is not None:
        moves.append(("Hellinger distance of cross tables, mean over pairs", Figure("hellinger", f"{distance:.4f}")))
    if weighted.mean_change is not None:
        text = f"{weighted.mean_change:.4f}"
        moves.append((f"{name_of('measure', 'correlations')}, mean over pairs", Figure("correlation.mean", text)))
    for two in pairs[:MOST_CORRELATIONS]:
        change, key = two.after - two.before, f"correlation.{two.first}.{two.second}"
        text = f"{change:+.4f}" if np.isfinite(change) else "not estimated"
        moves.append((f"Change of the correlation of {two.first} and {two.second}", Figure(key, text)))
    if moves:
        blocks.append(Table(("", "Distance"), tuple(moves)))
    return blocks + regression(weighted, internal)


def regression(weighted: Weighted, internal: bool) -> list[str | Table]:
    """Return the regression that the steward named, if any."""
    named = weighted.regression
    if named is None:
        return []
    lap = (
        "Mean overlap of its intervals",
        Figure("regression.overlap", overlap_text(named.mean_overlap, 4 if internal else COARSE)),
    )
    if not internal:
        return [f"A {named.model} that the steward named, before and after:", Table(("", "Overlap"), (lap,))]
    rows = [
        (
            Figure(f"regression.{number}.term", term.title),
            Figure(f"regression.{number}.before", interval_text(term.before)),
            Figure(f"regression.{number}.after", interval_text(term.after)),
            Figure(f"regression.{number}.overlap", overlap_text(term.overlap)),
        )
        for number, term in enumerate(named.terms)
    ]
    return [
        f"A {named.model} of {named.target}, as the steward named it: {named.formula}",
        Table(("Coefficient", "Before (95% interval)", "After (95% interval)", "Overlap"), tuple(rows)),
        Table(("", "Overlap"), (lap,)),
    ]


def _single(tables: TwoWay) -> list[tuple[str, Figure, Figure]]:
    """Return what single columns lose, before and after."""
    single = tables.marginals
    if single is None:
        return []
    texts = {
        "ranks": share(single.ranks),
        "hellinger": f"{single.hellinger:.4f}",
        "divergence": f"{single.divergence:.4f}",
    }
    return [
        (f"{name_of('measure', key)}, mean", Figure(f"single.{key}.before", "0"), Figure(f"single.{key}.after", text))
        for key, text in texts.items()
    ]


def _distances(tables: TwoWay) -> dict[str, tuple[str, float]]:
    """Return what is said of two-way tables that change: titles and shares of rows in a wrong cell, by key."""
    assert tables.mean is not None
    assert tables.worst is not None
    first, second, most = tables.worst
    distances = {
        "two_way": ("Cross tables: rows in a wrong cell, mean over pairs of columns", tables.mean),
        "two_way.most": (f"The same of the table that changes most: {first} and {second}", most),
    }
    if tables.even is not None and tables.even.mean is not None and tables.mean_alone is not None:
        distances |= {
            "two_way.even": ("The same on average, when boxes are read evenly", tables.even.mean),
            "two_way.alone": ("The same on average, of exact one-way tables alone", tables.mean_alone),
        }
    if tables.ranges is not None and tables.even is not None and tables.even.ranges is not None:
        distances |= {
            "ranges": (f"{name_of('measure', 'ranges')}, mean error", tables.ranges.error),
            "ranges.even": ("The same, when boxes are read evenly", tables.even.ranges.error),
            "ranges.alone": ("The same, of exact one-way tables alone", tables.ranges.alone),
        }
    return distances
