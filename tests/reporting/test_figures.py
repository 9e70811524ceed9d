"""Every number of the report for people is that of the files alone, for both audiences.

What is swept, and what is no matter of the two files, is said in :mod:`tests.pages.test_figures`.
"""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anonymizer.gate.finding import Severity
from anonymizer.reporting.dossier import AUDIENCES, IN_CELLS, PAPERS, document_of
from anonymizer.reporting.findings import findings_of, one_row_of
from anonymizer.reporting.html import to_html
from anonymizer.whatif.frontier import POLICIES
from tests import naive_sentences as words
from tests.naive_figures import Naive, Risk, percent, some
from tests.naive_measures import interval, slow_overlap
from tests.pages.figures import ACCEPTS, CASES, Case, Maybe, case_of, of_one_row, of_several, sweep, text_if
from tests.texts_with_numbers import rows_of_html

IN_REPORT = (
    r"HMAC-SHA256|SHA-256|SHA256|^Read with encoding \| utf-8$|95% intervals?|\bCopse \d+\.\d+\.\d+$",
    r"\b[0-9a-f]{64}$|· \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC ·|0 to 1|^Attacks: the three criteria of WP216 .*",
    r"^(?:Copse|python|numpy|pandas|pyarrow|numba|scipy|scikit-learn) \| \d+(?:\.\d+)+$",
    r"^(?:k|l|suppression|suppression_weight|min_leaf) \| [\d.]+$",
    r"^(?:≤ )?\d+ of \d+ rows$|^The method makes .* --attack in a terminal\.$|\bk − 1\b",
    r"^(?:TIDI|digression|l|RSD|spread) \| (?:lowest|largest) .*",
    r"^Cells: Round ends: \[25, 64\]\..*",
)
"""Numbers that are names, settings and digests, of a rerun of the method, and of the tree before its groups were
packed."""


def of_first_page(case: Case) -> Iterable[str]:
    """What is said before the annex."""
    of = case.of
    yield f"{some(len(of.released), 'row')}, released {of.k}-anonymous"
    gcp = percent(of.gcp)
    yield words.description(of, case.limits.get("suppression", 0))
    yield f"{gcp} of the detail of the quasi-identifiers is lost."
    once = 1 / of.after.highest
    chance = f"1 in {once:.0f}" if abs(once - round(once)) < 1e-9 else percent(of.after.highest)
    yield f"Highest chance to link a row to its person: {chance}"
    bars = [
        "original",
        "release",
        "certain",
        *(percent(float((risk.risks == 1).mean())) for risk in (of.before, of.after)),
    ]
    for limit in (0.2, 0.1, 0.09, 0.05):
        bars += [f"above {percent(limit)}", *(percent(risk.above(limit)) for risk in (of.before, of.after))]
    bands = bands_of(of.after)
    yield " | ".join(bars)
    yield " | ".join(text for band in bands.items() for text in band)
    yield f"Share of rows, by the size of their group. The smallest has {of.after.smallest} {of.unit}s."
    most = max(bands, key=lambda band: float(bands[band].strip("<> %")))
    groups = some(of.after.groups, "group")
    yield f"{groups}; {bands[most]} of the rows are in groups of {most} {of.unit}s"
    by_loss = sorted(of.losses.items(), key=lambda item: -item[1])
    yield f"{gcp} of detail is lost, most in {by_loss[0][0]}"
    yield " | ".join(text for name, loss in by_loss for text in (name, percent(loss)))
    mean = percent(of.mean_distance)
    first, second = max(of.cross_tables, key=lambda pair: of.cross_tables[pair])
    beware = f"{mean} of the rows are in a wrong cell on average, most for {first} by {second}."
    yield f"Cross tables change. | {beware}"
    alone = case.singled_out[1]["rows"]
    text = f"For {alone} of the rows, an end or a level of their cells is theirs alone in the group."
    yield text_if(f"Ends of ranges. | {text}", alone != "0%")
    shared = sum(bool(of.homogeneous(name)[0]) for name in of.sensitive)
    text = f"In {shared} of {len(of.sensitive)} sensitive columns, everybody in some group has the same value."
    yield text_if(f"Some groups share one value. | {text}", shared > 0)
    yield f"{len(of.schema.columns)} columns: what was done with them, and why"


def beside_pictures(case: Case, one_row: Any) -> Iterable[str]:
    """One row before and after, or how often the target is guessed."""
    of = case.of
    if one_row is not None:
        cells = pd.DataFrame(one_row.cells, columns=["column", "original", "released"])
        look = re.search(r"[\d,]+ other rows? looks?", of_one_row(case, cells))
        assert look is not None
        yield f"One row, before and after: {look.group()} the same"
        for name, old, new in one_row.cells:
            yield f"{name} | {old} | {'as it was' if old == new else new}"
    elif case.right is not None:
        right = percent(case.right)
        yield f"The target is guessed right for {right} of people held out"
        here = percent(1 - of.error(of.released, of.groups))
        usual = percent(of.majority)
        yield f"most frequent val… | {usual} | people held out | {right} | people in it | {here}"


def bands_of(risk: Risk) -> dict[str, str]:
    """The share of the rows in groups of each size, in bands that double from the smallest."""
    least, bands = risk.smallest, {}
    for factor in (1, 2, 4, 8):
        low, high = least * factor, least * factor * 2 - 1
        rows = (risk.sizes >= low) & (risk.sizes <= high)
        if rows.any():
            bands[f"{low:,} to {high:,}" if high > low else f"{low:,}"] = percent(float(rows.mean()))
    rows = risk.sizes >= least * 16
    return bands | ({f"{least * 16:,} and more": percent(float(rows.mean()))} if rows.any() else {})


def of_checks(case: Case) -> Iterable[str]:
    """The annex's title and its tables of checks."""
    of = case.of
    by_column = {name: {check[0]: check for check in words.checks_of(of, name, case.limits)} for name in of.sensitive}
    listed = words.checks(of, case.limits)
    general = len(listed) + 4  # and of the form, of columns, of unique rows, of containment: without a number
    if any(name in case.limits for name in ("l", "t")):
        general += 1
        yield "sensitive columns | 0 | 0 | Every sensitive column is in the release."
    every = general + sum(len(checks) + ("homogeneity" not in checks) for checks in by_column.values())
    odd = sum("homogeneity" in checks for checks in by_column.values())
    beware = f"; {odd} to beware of" * bool(odd)
    yield f"Annex: {len(of.sensitive)} sensitive columns, {every} checks{beware}"
    kinds = ("distinct l-diversity", "entropy l-diversity", "t-closeness", "RSD", "spread", "homogeneity")
    for name, checks in by_column.items():
        figures = [f"{checks[kind][2]:.4g}" if kind in checks else "–" for kind in kinds]
        figures[-1] = figures[-1].replace("–", "■")
        yield " | ".join([name, *figures])
    if "l" in case.limits:
        yield f"required | {case.limits['l']}"
    yield "cells | 0 | 0 | Every cell has the expected format."
    yield "columns | 0 | 0 | No identifying and no unknown column is in the release."
    for name, required, achieved, sentence, judged in listed:
        parts = [name] + ([] if required is None else [f"{required:.4g}"])
        parts += [f"{achieved:.4g}" if achieved or judged else "■", sentence]
        yield " | ".join(parts)


def of_data(of: Naive, internal: bool) -> Iterable[str]:
    """The tables of rows and of columns."""
    yield f"Rows before | {of.n}"
    yield f"Rows released | {len(of.released)}"
    yield f"Rows suppressed | {of.left_out}"
    wider = "because the boxes of the others would be wider with them; within a group only quasi-identifying values"
    yield text_if(f"{percent(of.left_out / of.n)} of the rows were left out, {wider} decided who.", bool(of.left_out))
    for column in of.schema.columns:
        counts: list[int] = []
        if column.name in of.released:
            old, new = of.table[column.name], of.released[column.name]
            stars = (new.astype(object) == "*").sum()
            counts = [old.isna().sum(), new.isna().sum(), stars, old.nunique(), new.nunique()]
        parts = [column.name, column.role.value, column.kind.value, *(f"{count:,}" for count in counts)]
        yield text_if(" | ".join(parts + [column.why] * internal), bool(counts))


def of_isolation(case: Case) -> Iterable[str]:
    """Who is singled out by a box."""
    sentence, shares = case.singled_out
    titles = {
        "rows": "Rows that are singled out so",
        "groups": "Groups with such a row",
        "ends": f"Ends of intervals that one {case.of.unit} holds",
        "levels": f"Levels of sets that one {case.of.unit} holds",
    }
    yield sentence
    for name, share in shares.items():
        yield f"{titles.get(name, name)} | {share}"


def of_steward(case: Case) -> Iterable[str]:
    """What only the internal report says."""
    yield f"{case.of.k}-anonymous"
    yield from (Maybe(text) for finding in words.findings(case.of, ACCEPTS) for text in finding)
    yield from of_several(case)
    yield from of_worst(case)


def of_worst(case: Case) -> Iterable[str]:
    """The cells of each group where a required check is worst; which of equal ones is said does not matter."""
    of = case.of
    figures: dict[str, dict[Any, float]] = {"k-anonymity": of.after.rows, "k persons": of.after.persons}
    if "l" in case.limits:
        for name in of.sensitive:
            values = of.released[name].groupby(pd.Series(of.groups)).nunique()
            figures[f"distinct l-diversity of {name}"] = values.to_dict()
    for check, of_group in figures.items():
        for group in [group for group, figure in of_group.items() if figure == min(of_group.values())]:
            cells = ", ".join(f"{name} {cell}" for name, cell in zip(of.names, group, strict=True))
            yield Maybe(f"{check} | {cells}")


def of_risks(of: Naive) -> Iterable[str]:
    """The tables of groups and of risks."""
    before, after, unit = of.before, of.after, of.unit
    sizes = list(after.persons.values())
    half = max(size for size in set(sizes) if (after.sizes >= size).mean() >= 0.5)
    for title, text in {
        "Groups of look-alike rows": f"{after.groups}", f"Smallest group, {unit}s": f"{after.smallest}",
        f"Mean group, {unit}s": f"{np.mean(sizes):.2f}", f"Largest group, {unit}s": f"{max(sizes)}",
        "Half of the rows are in groups of at least": f"{half}",
        "Highest, for somebody who knows that the person is in the table (prosecutor)":
            f"{percent(before.highest)} | {percent(after.highest)}",
        "Highest, for somebody who does not know that (journalist)":
            f"{percent(before.highest)} | {percent(after.highest)}",
        "Share of right links when everybody is linked at random (marketer)":
            f"{percent(before.risks.mean())} | {percent(after.risks.mean())}",
        "Rows that are unique": f"{before.unique} | {after.unique}",
    }.items():  # fmt: skip
        yield f"{title} | {text}"
    for policy in POLICIES:
        verdict = "kept" if after.highest <= policy.risk * (1 + 1e-9) else "not kept"
        above = f"{percent(before.above(policy.risk))} | {percent(after.above(policy.risk))}"
        yield f"{policy.title} | {above} | {verdict} | {policy.source}"


def of_worth(case: Case, internal: bool) -> Iterable[str]:
    """What the release is still good for."""
    of, target = case.of, case.of.schema.target
    yield f"Detail lost (GCP) | 0 | {percent(of.gcp)}"
    there = "The same, over the rows that are there: those that were left out lose all of their detail"
    yield text_if(f"{there} | 0 | {percent(of.gcp_there)}", bool(of.left_out))
    squares = sum(size**2 for size in of.before.rows.values())
    yield f"Discernibility, squared rows | {squares:,} | {of.discernibility:,}"
    if case.has_classes:
        keys = of.keys(of.table, of.names)
        errors = f"{percent(of.error(of.table, keys))} | {percent(of.error(of.released, of.groups))}"
        yield f"Rows without the most frequent value of their group, counted on these themselves | {errors}"
    if case.right is not None:
        wrong = "Wrong guesses for people held out of making the groups; before: by the most frequent value"
        yield f"{wrong} | {percent(1 - of.majority)} | {percent(1 - case.right)}"
    mean = percent(of.mean_distance)
    yield f"Cross tables: rows in a wrong cell, mean over pairs of columns | 0 | {mean}"
    first, second = max(of.cross_tables, key=lambda pair: of.cross_tables[pair])
    most = percent(of.cross_tables[first, second])
    yield f"The same of the table that changes most: {first} and {second} | 0 | {most}"
    yield f"The same on average, when boxes are read evenly | 0 | {percent(of.mean_even)}"
    yield f"The same on average, of exact one-way tables alone | 0 | {percent(of.mean_alone)}"
    for title, error in zip(
        ("Counts of ranges of two or three columns, mean error", "The same, when boxes are read evenly",
         "The same, of exact one-way tables alone"), of.ranges, strict=True,
    ):  # fmt: skip
        yield f"{title} | 0 | {percent(error)}"
    hellinger, bits, ranks = of.marginals
    yield f"Detail lost by ranks, mean | 0 | {percent(ranks)}"
    yield f"Hellinger distance of single columns, mean | 0 | {hellinger:.4f}"
    yield f"Kullback-Leibler distance of single columns, bits, mean | 0 | {bits:.4f}"
    kind = "logistic" if case.has_classes else "linear"
    title = f"Coefficients of a {kind} regression of {target}, and those inside the original's 95% intervals"
    yield " | ".join([title, *map(str, of.coefficients[:2])])
    off = "The median distance of these coefficients, in standard errors of the original"
    yield f"{off} | 0 | {of.coefficients[2]:.1f}"
    for name, loss in of.losses.items():
        yield f"{name} | {percent(loss)}"
    digits, laps = 4 if internal else 2, {}
    for what, name, level, old, new in of.survey:
        lap = slow_overlap(old, new)
        laps.setdefault(name, []).extend([lap] * (what == "share"))
        if not level:
            both = [interval(old), interval(new)] if internal else []
            yield " | ".join([f"{what.capitalize()} of {name}", *both, f"{lap:.{digits}f}"])
    for name in filter(laps.get, laps):
        yield f"Shares of the levels of {name}, on average | {np.mean(laps[name]):.{digits}f}"
    yield f"Hellinger distance of cross tables, mean over pairs | {of.hellinger:.4f}"
    if of.correlations:
        changes = [abs(new - old) for old, new in of.correlations.values()]
        yield f"Change of correlations, mean over pairs | {np.mean(changes):.4f}"
    for (one, other), (old, new) in of.correlations.items():
        yield f"Change of the correlation of {one} and {other} | {new - old:+.4f}"


@pytest.mark.parametrize("name", CASES)
def test_report__every_number_is_that_of_the_files(name: str) -> None:
    case = case_of(name)
    one_row = one_row_of(case.flow)
    findings = findings_of(case.flow.report, case.ws.table, case.flow.released, one_row=one_row)
    for audience in AUDIENCES:
        internal = audience == "internal"
        texts = []
        for text in rows_of_html(to_html(document_of(findings, audience=audience))):
            parts = text.split(" | ")
            texts += parts[1:3] if parts[0] in list(Severity) else [text]
        answers = [*of_first_page(case), *of_checks(case), *of_data(case.of, internal), *of_risks(case.of)]
        answers += [*of_worth(case, internal), *of_isolation(case)]
        answers += beside_pictures(case, one_row if internal else None)
        answers += of_steward(case) if internal else []
        constants = [*(" | ".join(line) for line in IN_CELLS.values()), *PAPERS.values()]
        sweep(texts, [*answers, *map(Maybe, constants)], IN_REPORT)
