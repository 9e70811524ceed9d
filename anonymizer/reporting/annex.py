"""The annex of a report: every check for every column, all figures, and, for the steward, where it is riskiest."""

import numpy as np
from numpy.typing import NDArray

from anonymizer.attacks.isolation import Isolation
from anonymizer.attacks.outcome import Outcome
from anonymizer.checking.evidence import Check
from anonymizer.checking.linkage import LinkageRisk
from anonymizer.checking.verify import Verification
from anonymizer.gate.finding import together
from anonymizer.population.sample import Risky
from anonymizer.provenance.again import SHORT_PATH, command_line
from anonymizer.provenance.report import Report, check_line
from anonymizer.releasing.generalize import Guarantee
from anonymizer.reporting.document import Code, Figure, Section, Table
from anonymizer.reporting.findings import Findings, Riskiest
from anonymizer.reporting.losses import losses
from anonymizer.schema import Column, Kind, Schema
from anonymizer.studies.attack import Attacks
from anonymizer.treatments import note_of
from anonymizer.values import share
from anonymizer.version import VERSION
from anonymizer.whatif.frontier import POLICIES

INTERNAL_ATTACKS = ("minimality",)
"""Attacks of which the recipient is not told: how many values a rerun makes certain says where to begin."""
HOLDS, NONE = "■", "–"
"""In the table of checks: nothing found, and a check that a column does not have."""
SHARED = "homogeneity"
LIMITS_OF_THIS = (
    "The risks assume that an attacker knows quasi-identifying columns only. Somebody who knows other columns of a "
    "person can find more.",
    "A release is judged alone. Together with an earlier release of the same people, or with other published tables, "
    "it can tell more.",
    "An attack that was tried and failed proves nothing about other attacks.",
)


def annex_of(findings: Findings, internal: bool) -> list[Section]:
    """Return the sections of the annex. ``internal``: also what is not for the recipient."""
    report = findings.report
    sections = [
        _checks(report.verification, report.provenance.schema.sensitive, internal),
        *([Section("In pictures", findings.pictures)] if internal and findings.pictures else []),
        _data(findings, internal),
        _columns(findings, internal),
        _groups(report.after, "rows" if report.provenance.schema.person is None else "persons"),
        _risks(report),
        _isolation(report.isolation),
        _criteria(findings.attacks, internal),
        losses(findings, internal),
        Section("Limits of what is said here", (*LIMITS_OF_THIS, *map(_way_text, report.writings), *report.notes)),
    ]
    if internal:
        sections += [gate_section(report), _worst(report), *_riskiest(findings.riskiest)]
    return [*sections, _again(report, internal)]


def _checks(verification: Verification, columns: tuple[str, ...], internal: bool) -> Section:
    """Return the checks: those of a sensitive column as a row of a table, with words only where one failed."""
    kinds: dict[str, dict[str, Check]] = {}
    others = []
    for check in verification.checks:
        kind, _, name = check.name.partition(" of ")
        if name in columns:
            kinds.setdefault(kind, {})[name] = check
        else:
            others.append(check)
    of_column = {name: [checks[name] for checks in kinds.values() if name in checks] for name in columns}
    required = [next((one.required for one in checks.values()), None) for checks in kinds.values()]
    rows = [("required", *(_figure(f"required.{k}", n) for k, n in zip(kinds, required, strict=True)), "")]
    for name in columns:
        failed = (_words(check, internal) for check in of_column[name] if check.passed is False)
        rows.append((name, *(_result(checks.get(name)) for checks in kinds.values()), " ".join(failed)))
    number = sum(any(map(_is_odd, checks)) for checks in of_column.values())
    text = (
        "Computed again from the released cells, with the original beside them, by code that did not make them. "
        f"{HOLDS} nothing found, {NONE} does not apply; {SHARED}: rows in groups that share one value."
    )
    matrix = [Table(("Sensitive column", *kinds, "In words"), tuple(rows))] if kinds else []
    general = tuple(
        (check.name, _figure(f"required.{check.name}", check.required), _result(check), _words(check, internal))
        for check in others
    )
    title = f"Annex: {len(columns):,} sensitive columns, {len(verification.checks):,} checks"
    what = f"; {number:,} to beware of" if number else ""
    return Section(title + what, (text, *matrix, Table(("Check", "Required", "Found", "In words"), general)), True)


def _is_odd(check: Check) -> bool:
    """Return whether a check of a column found something to beware of."""
    return check.passed is False or (check.name.startswith(SHARED) and bool(check.achieved))


def _figure(key: str, number: float | None) -> str | Figure:
    return "" if number is None else Figure(key, f"{number:.4g}")


def _result(check: Check | None) -> str | Figure:
    """Return what a check found, as a figure where it has one."""
    if check is None:
        return NONE
    if check.achieved is None:
        return "FAILED" if check.passed is False else HOLDS
    if check.passed is None and not check.achieved:
        return HOLDS
    mark = "FAILED: " if check.passed is False else ""
    return Figure(f"achieved.{check.name}", f"{mark}{check.achieved:.4g}")


def _words(check: Check, internal: bool) -> str:
    """Return what a check found, in words; the sentence of one that failed can name a value."""
    return check.sentence if internal or check.passed is not False else "See the internal report."


def _data(findings: Findings, internal: bool) -> Section:
    run = findings.report.provenance
    rows: list[tuple[str | Figure, ...]] = []
    if internal:
        rows.append(("File", run.input_name))
        rows += [(f"Read with {name}", str(value)) for name, value in run.read_with.items()]
    rows += [
        ("Commitment to the original (HMAC-SHA256)", run.input_commitment or "none: it came from no file"),
        *([("Key of the commitment: keep it here", run.input_key or "none")] if internal else []),
        ("Rows before", Figure("records.before", _count(findings.rows_before))),
        ("Rows released", Figure("records.after", _count(findings.rows_after))),
        (
            "Rows suppressed",
            Figure("records.suppressed", _count(findings.suppressed)),
        ),
        *((f"SHA-256 of the release as {format}", value) for format, value in run.output.items()),
    ]
    text = f"{findings.suppression_text} {run.row_order}"
    return Section("The data", (Table(("", ""), tuple(rows)), text))


def _columns(findings: Findings, internal: bool) -> Section:
    cells = {column.name: column for column in findings.cells}
    rows = []
    for column in findings.report.provenance.schema.columns:
        row: tuple[str | Figure, ...] = (column.variable.full_name(column.name), column.role.value, column.kind.value)
        counted = cells.get(column.name)
        if counted is None:
            row += ("", "", "", "", "")
        else:
            row += (
                Figure(f"missing.before.{column.name}", _count(counted.missing_before)),
                Figure(f"missing.after.{column.name}", _count(counted.missing_after)),
                Figure(f"withheld.{column.name}", _count(counted.withheld)),
                Figure(f"distinct.before.{column.name}", _count(counted.distinct_before)),
                Figure(f"distinct.after.{column.name}", _count(counted.distinct_after)),
            )
        rows.append((*row, *([_reason(column, column.why)] if internal else [])))
    header = ("Column", "Role", "Kind", "Missing before", "after", "Withheld (*)", "Different before", "after")
    return Section(
        "Every column",
        (
            "What was missing is told apart from what was withheld. A cell that may be missing or something else is "
            "neither; it counts among the different ones.",
            Table((*header, *(["Why"] if internal else [])), tuple(rows)),
        ),
    )


def _reason(column: Column, reason: str) -> str:
    return " ".join(filter(None, (note_of(column.treat), reason)))


def _groups(after: LinkageRisk, unit: str) -> Section:
    rows = (
        ("Groups of look-alike rows", Figure("groups", _count(after.groups))),
        (f"Smallest group, {unit}", Figure("group.smallest", _count(after.smallest))),
        (f"Mean group, {unit}", Figure("group.mean", f"{after.mean:.2f}")),
        (f"Largest group, {unit}", Figure("group.largest", _count(int(after.sizes.max())))),
        ("Half of the rows are in groups of at least", Figure("group.median", _count(_median_group(after)))),
    )
    return Section("Groups", (Table(("", ""), rows),))


def _median_group(risk: LinkageRisk) -> int:
    """Return the largest size such that at least half of the rows live in groups of that size or more."""
    sizes: NDArray[np.int64] = risk.sizes[::-1]
    reached = np.cumsum(risk.records_of_size[::-1]) * 2 >= risk.records
    return int(sizes[int(np.argmax(reached))])


def _risks(report: Report) -> Section:
    before, after = report.before, report.after
    attackers = (
        ("Highest, for somebody who knows that the person is in the table (prosecutor)", "prosecutor", "highest"),
        ("Highest, for somebody who does not know that (journalist)", "journalist", "journalist"),
        ("Share of right links when everybody is linked at random (marketer)", "marketer", "marketer"),
    )
    rows: list[tuple[str | Figure, ...]] = [
        (title, *(Figure(f"{key}.{when}", share(getattr(risk, name))) for when, risk in _moments(before, after)))
        for title, key, name in attackers
    ]
    rows.append(
        (
            "Rows that are unique",
            *(Figure(f"unique.{when}", _count(r.unique)) for when, r in _moments(before, after)),
        )
    )
    policies: list[tuple[str | Figure, ...]] = []
    for policy in POLICIES:
        above = [
            Figure(f"above.{policy.risk:g}.{when}", share(risk.share_above(policy.risk)))
            for when, risk in _moments(before, after)
        ]
        verdict = "not kept" if after.share_above(policy.risk) else "kept"
        policies.append((policy.title, *above, verdict, policy.source))
    return Section(
        "Risk of being linked to a row, before and after",
        (
            "For attackers who know every quasi-identifying column of a person.",
            Table(("", "Before", "After"), tuple(rows)),
            "Thresholds that others use, and the share of rows whose own risk is above each:",
            Table(("Threshold", "Above it before", "Above it after", "This release", "Source"), tuple(policies)),
        ),
    )


def _moments(before: LinkageRisk, after: LinkageRisk) -> tuple[tuple[str, LinkageRisk], tuple[str, LinkageRisk]]:
    return ("before", before), ("after", after)


def _isolation(isolation: Isolation) -> Section:
    rows = (
        ("Rows that are singled out so", Figure("isolation.records", share(isolation.records.share))),
        ("Groups with such a row", Figure("isolation.groups", share(isolation.groups.share))),
        (f"Ends of intervals that one {isolation.holder} holds", Figure("isolation.ends", share(isolation.ends.share))),
        (
            f"Levels of sets that one {isolation.holder} holds",
            Figure("isolation.levels", share(isolation.levels.share)),
        ),
    )
    columns = tuple(
        (name, Figure(f"isolation.column.{name}", share(rate.share))) for name, rate in isolation.by_column.items()
    )
    return Section(
        "Singled out by the ends and levels of a box",
        (
            isolation.sentence,
            "Counted exactly, from the original and the release side by side.",
            Table(("", ""), rows),
            Table(("Column", "Rows that it singles out"), columns),
        ),
    )


def _criteria(attacks: Attacks | None, internal: bool) -> Section:
    title = "Attacks: the three criteria of WP216 (Article 29 Working Party, 2014), and the method"
    if attacks is None:
        return Section(title, ("The attacks of this section were not run for this report.",))
    outward = [outcome for outcome in attacks.outcomes if internal or outcome.name not in INTERNAL_ATTACKS]
    rows = tuple(map(_attack, outward))
    inferences = tuple(
        (
            one.column,
            Figure(f"guess.blind.{one.column}", share(one.blind.share)),
            Figure(f"guess.before.{one.column}", share(one.before.share)),
            Figure(f"guess.after.{one.column}", share(one.after.share)),
        )
        for one in attacks.inferences
    )
    header = ("Sensitive column", "Guessed right without looking", "With the original", "With the release")
    return Section(
        title,
        (
            "How often attacks that were run were right, with the 95% confidence interval after (Wilson).",
            Table(("Attack", "Before", "After", "Interval", "In words"), rows),
            *((Table(header, inferences),) if inferences else ()),
        ),
    )


def _attack(outcome: Outcome) -> tuple[str | Figure, ...]:
    """Return the row of an attack; it says so when nobody could be tried."""
    low, high = outcome.interval
    texts = {
        "before": share(outcome.before),
        "after": share(outcome.after),
        "interval": f"{share(low)} to {share(high)}",
    }
    tries = outcome.rates[1].tries
    figures = (Figure(f"{outcome.name}.{when}", text if tries else "not counted") for when, text in texts.items())
    return (outcome.name, *figures, outcome.sentence)


def gate_section(report: Report) -> Section:
    """Return what stood in the way of the release, and reasons; findings that say the same of several columns are
    one."""
    rows = tuple(
        (one.severity.value, one.figure, f"{one.sentence} {one.detail}".strip(), one.reason or "–")
        for one in together(report.gate.findings)
    )
    return Section(
        "What stood in the way (not for the recipient)",
        (
            "What was looked at before the table was released, and why it is released all the same:",
            Table(("", "Figure", "In words", "Reason of the steward"), rows),
        ),
    )


def _worst(report: Report) -> Section:
    required = [check for check in report.verification.checks if check.required is not None]
    checks = tuple((check.name, check.worst) for check in required if check.worst)
    groups = tuple((worst.figure, worst.what) for worst in report.worst)
    return Section(
        "Where it is riskiest (not for the recipient)",
        (
            "The released combinations at which each required check is worst:",
            Table(("Check", "Cells"), checks),
            "The worst branch of the pruned tree by each figure; it may be released as several smaller groups:",
            Table(("Figure", "Branch"), groups),
        ),
    )


def _riskiest(riskiest: Riskiest | None) -> list[Section]:
    """Return the records of the original that are easiest to recognise, by their row, counted from 1; none where nobody
    looked for them."""
    if riskiest is None:
        return []

    def rows(order: str, records: tuple[Risky, ...]) -> Table:
        return Table(
            ("Row", "Risk", "Score", "Alone by", "Such sets"),
            tuple(
                (
                    Figure(f"riskiest.{order}.{place}", _count(record.row + 1)),
                    f"{record.risk:.4g}",
                    f"{record.score:,.0f}",
                    ", ".join(record.columns) or "no set of columns",
                    _count(record.sets),
                )
                for place, record in enumerate(records)
            ),
        )

    parts = ", ".join(f"{name} {share:.1%}" for name, share in riskiest.contribution)
    return [
        Section(
            "The riskiest rows (not for the recipient)",
            (
                f"Of the original as it stands, by what is known of the population: {riskiest.source}.",
                "Whom the fewest columns single out; the score adds up such sets of columns, small ones counting more:",
                rows("score", riskiest.by_score),
                f"Each column is part of so much of all scores: {parts}.",
                "To whom a link is most likely right:",
                rows("risk", riskiest.by_risk),
            ),
        )
    ]


def _again(report: Report, internal: bool) -> Section:
    run = report.provenance
    settings, entry = _parameters(report), filter(None, (report.ledger_sentence,))
    versions = Table(("Software", "Version"), (("Copse", VERSION), *run.versions.items()))
    if not internal:
        return Section(
            "How it was made",
            (
                "With Copse, by this command, on a table that stays with the sender:",
                Code(command_line(SHORT_PATH, run.schema, run.parameters, {}, _other_kinds(run.schema), {})),
                settings,
                versions,
                *entry,
            ),
        )
    return Section(
        "Do it again",
        (
            "A release like it:",
            Code(run.command),
            "The same in Python, with the JSON report saved as REPORT.json:",
            Code(run.python),
            "Check the released file beside the original:",
            Code(check_line(run, "RELEASE.csv", "REPORT.json")),
            settings,
            versions,
            *entry,
        ),
    )


def _other_kinds(schema: Schema) -> dict[str, Kind]:
    """Return kinds that no column has, so that the command names the kind of each."""
    other = {kind: Kind.NUMERIC if kind is Kind.CATEGORICAL else Kind.CATEGORICAL for kind in Kind}
    return {column.name: other[column.kind] for column in schema.columns}


def _way_text(way: Guarantee) -> str:
    """Return what a way to write cells promises and what not, in words."""
    return " ".join(filter(None, (f"Cells: {way.title}.", way.gives, way.does_not)))


def _parameters(report: Report) -> Table:
    settings = report.provenance.parameters.items()
    rows = tuple((name, Figure(f"parameter.{name}", str(value))) for name, value in settings if value is not None)
    return Table(("Parameter", "Chosen"), rows)


def _count(number: int) -> str:
    return f"{number:,}"
