"""The report for people: what a data protection officer signs, and what the recipient of a release is given.

The *internal* document names the riskiest combinations and the input; the *external* one holds neither these nor a
single value of the table. :mod:`anonymizer.reporting.html` and :mod:`anonymizer.reporting.pdf` write it.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from anonymizer.attacks.attack import Attacks
from anonymizer.attacks.isolation import Isolation
from anonymizer.attacks.outcome import Outcome
from anonymizer.checking.linkage import LinkageRisk
from anonymizer.checking.verify import Verification
from anonymizer.errors import ParameterError
from anonymizer.population.sample import Risky
from anonymizer.reporting.document import Code, Document, Figure, Section, Table
from anonymizer.reporting.findings import Approval, Findings, Riskiest, Statement
from anonymizer.reporting.losses import losses
from anonymizer.reporting.pictures import outward_pictures
from anonymizer.reporting.report import ADD_UP, SHORT_PATH, Report, check_line, command_line
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import name_of
from anonymizer.treatments import note_of
from anonymizer.version import VERSION
from anonymizer.whatif.frontier import POLICIES

AUDIENCES = ("internal", "external")
INTERNAL_ATTACKS = ("minimality",)
"""Attacks of which the recipient is not told: how many values a rerun makes certain says where to begin."""

PAPERS: Mapping[str, str] = {
    "least": "Least pruning: the largest pruning of the tree in which every group keeps every limit (Copse's own).",
    "error-risk": "Error-risk pruning: Yang, Wang, Hu and Li, ICIS 2019; here the root goes last.",
    "error-digression": "Error-digression pruning: Li and Sarkar, MIS Quarterly 2014.",
    "median-mondrian": "Median Mondrian: LeFevre, DeWitt and Ramakrishnan, ICDE 2006.",
    "infogain-mondrian": "InfoGain Mondrian: LeFevre, DeWitt and Ramakrishnan, ACM TODS 2008.",
    "regression-mondrian": "Regression Mondrian: LeFevre, DeWitt and Ramakrishnan, ACM TODS 2008.",
    "uniform": "Uniform boxes: Yang et al. 2019.",
    "tiered": "Tiered boxes: Yang et al. 2019. It is not k-anonymous.",
    "tiered-strict": "Strictly tiered boxes: Copse's own change of Yang et al. 2019, which is k-anonymous.",
    "refine": "Refined groups, cut where hulls lose least: Copse's own, after LeFevre et al. 2006.",
    "pack": "Packed groups: Copse's own, after Hansen and Mukherjee 2003.",
    "polish": "Polished groups, packed and then improved by local search: Copse's own.",
    "pack-persons": "Packed persons, all rows of each together: Copse's own, after Hansen and Mukherjee 2003.",
}
"""Where each grouping and generalizer comes from."""

ROLE_REASONS = {
    Role.PERSON: "Tells whose a row is: persons were counted by it, and it was removed.",
    Role.IDENTIFYING: "Points at a person by itself: removed.",
    Role.WEIGHT: "Says how many people a row stands for: used for estimates of the population, and removed.",
    Role.HOUSEHOLD: "Says who lives together: used for the risk of households, and removed.",
    Role.STRATUM: "Says from which part of the population a row was drawn: used for estimates, and removed.",
    Role.QUASI_IDENTIFYING: "Could be known to others and, together with others, point at a person: generalized.",
    Role.SENSITIVE: "What others must not learn about a person: released unchanged, or treated, in groups.",
    Role.INSENSITIVE: "Neither known to others nor harmful to know: released unchanged, or treated.",
}

LIMITS_OF_THIS = (
    "The risks assume that an attacker knows quasi-identifying columns only. Somebody who knows other columns of a "
    "person can find more.",
    "A release is judged alone. Together with an earlier release of the same people, or with other published tables, "
    "it can tell more.",
    "A group whose members share a sensitive value discloses it without anybody being linked to a row; the checks of "
    "diversity say how far.",
    "An attack that was tried and failed proves nothing about other attacks.",
)


def document_of(findings: Findings, statement: Statement | None = None, audience: str = "internal") -> Document:
    """Return the document for an audience, a key of :data:`AUDIENCES`; anything else is a :class:`ParameterError`."""
    if audience not in AUDIENCES:
        raise ParameterError(f"There is no report for {audience!r}.", remedy=f"Choose {' or '.join(AUDIENCES)}.")
    internal = audience == "internal"
    statement = statement or Statement()
    report = findings.report
    run = report.provenance
    sections = [
        _summary(report, internal),
        Section("In pictures", (*outward_pictures(report), *(findings.pictures if internal else ()))),
        _purpose(statement),
        _data(findings, internal),
        _columns(findings, internal),
        _method(report),
        _groups(report.after, "records" if report.provenance.schema.person is None else "persons"),
        _risks(report),
        _checks(report.verification, internal),
        _isolation(report.isolation),
        _criteria(findings.attacks, internal),
        losses(findings, internal),
        _limits(report),
        *([_gate(report), _worst(report), *_riskiest(findings.riskiest)] if internal else []),
        _again(report, internal),
        _approvals(statement),
    ]
    return Document(
        title="Anonymization report" if internal else "About this release",
        subtitle=f"{'Internal: keep it with the original' if internal else 'For the recipient'} · Copse {VERSION} · "
        f"{run.time.replace('T', ' ').replace('+00:00', ' UTC')}",
        audience=audience,
        sections=tuple(sections),
    )


def approvals_of(findings: Findings, statement: Statement) -> Document:
    """Return what is signed, alone: why the data leave, the reasons that were given, and lines for signatures."""
    report = findings.report
    return Document(
        title="Approvals",
        subtitle=f"Internal · Copse {VERSION} · {report.provenance.time.replace('T', ' ').replace('+00:00', ' UTC')}",
        audience="internal",
        sections=(_summary(report, True), _purpose(statement), _gate(report), _approvals(statement)),
    )


def _summary(report: Report, internal: bool) -> Section:
    checked = report.verification
    if checked.passed:
        sentences = [f"Every required check was passed. {checked.describe()}"]
    else:
        failed = ", ".join(check.name for check in checked.failed)
        sentences = [f"This release fails required checks: {failed}."]
        sentences += [checked.describe()] if internal else []
    if report.override:
        sentences.append(f"It was released all the same, for this reason: {report.override}")
    return Section("What this is", tuple(sentences))


def _purpose(statement: Statement) -> Section:
    open_line = "(to be filled in)"
    rows = (
        ("Purpose", statement.purpose or open_line),
        ("Recipient", statement.recipient or open_line),
        ("Legal or contractual basis", statement.basis or open_line),
        ("Prepared by", statement.prepared_by or open_line),
    )
    return Section("Purpose and recipient", (Table(("", ""), rows),))


def _data(findings: Findings, internal: bool) -> Section:
    run = findings.report.provenance
    rows: list[tuple[str | Figure, ...]] = []
    if internal:
        rows.append(("File", run.input_name))
        rows += [(f"Read with {name}", str(value)) for name, value in run.read_with.items()]
    rows += [
        ("Commitment to the original (HMAC-SHA256)", run.input_commitment or "none: it came from no file"),
        *([("Key of the commitment: keep it here", run.input_key or "none")] if internal else []),
        ("Records before", Figure("records.before", _count(findings.rows_before))),
        ("Records released", Figure("records.after", _count(findings.rows_after))),
        (
            "Records suppressed",
            Figure("records.suppressed", _count(findings.suppressed)),
        ),
        *((f"SHA-256 of the release as {format}", value) for format, value in run.output.items()),
    ]
    text = f"{findings.suppression_text} {run.row_order}"
    return Section("The data", (Table(("", ""), tuple(rows)), text))


def _columns(findings: Findings, internal: bool) -> Section:
    schema = findings.report.provenance.schema
    roles = tuple(
        (c.variable.full_name(c.name), c.role.value, c.kind.value, _reason(c, c.why if internal else ""))
        for c in schema.columns
    )
    cells = tuple(
        (
            column.name,
            Figure(f"missing.before.{column.name}", _count(column.missing_before)),
            Figure(f"missing.after.{column.name}", _count(column.missing_after)),
            Figure(f"withheld.{column.name}", _count(column.withheld)),
            Figure(f"distinct.before.{column.name}", _count(column.distinct_before)),
            Figure(f"distinct.after.{column.name}", _count(column.distinct_after)),
        )
        for column in findings.cells
    )
    header = ("Column", "Missing before", "Missing after", "Withheld (*)", "Different before", "Different after")
    return Section(
        "Columns, their roles and why",
        (
            Table(("Column", "Role", "Kind", "Why"), roles),
            "What was missing is told apart from what was withheld. A cell that may be missing or something else is "
            "neither; it counts among the different ones.",
            Table(header, cells),
        ),
    )


def _reason(column: Column, reason: str) -> str:
    return " ".join(filter(None, (ROLE_REASONS[column.role], note_of(column.treat), reason)))


def _method(report: Report) -> Section:
    parameters = report.provenance.parameters
    guarantee = report.guarantee
    named = [parameters["grouping"], report.made.method]
    blocks: list[str | Table] = [PAPERS.get(name, f"{name}: an extension of this installation.") for name in named]
    if parameters.get("criterion") == "blend":
        blocks.append("The tree also keeps the quasi-identifiers themselves together (blend, Copse's own).")
    if report.made.why:
        blocks.append(f"{name_of('generalizer', parameters['generalizer'])} were asked for. {report.made.why}")
    blocks.append(f"{guarantee.title}. {guarantee.gives}")
    blocks.append(f"What it does not promise: {guarantee.does_not} {ADD_UP}")
    for way in report.writings:
        blocks.append(" ".join(filter(None, (f"Cells: {way.title}.", way.gives, way.does_not))))
    rows = tuple(
        (name, Figure(f"parameter.{name}", str(value))) for name, value in parameters.items() if value is not None
    )
    blocks.append(Table(("Parameter", "Chosen"), rows))
    return Section("Method and what it guarantees", tuple(blocks))


def _groups(after: LinkageRisk, unit: str) -> Section:
    rows = (
        ("Groups of look-alike records", Figure("groups", _count(after.groups))),
        (f"Smallest group, {unit}", Figure("group.smallest", _count(after.smallest))),
        (f"Mean group, {unit}", Figure("group.mean", f"{after.mean:.2f}")),
        (f"Largest group, {unit}", Figure("group.largest", _count(int(after.sizes.max())))),
        ("Half of the records are in groups of at least", Figure("group.median", _count(_median_group(after)))),
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
        (title, *(Figure(f"{key}.{when}", f"{getattr(risk, name):.4g}") for when, risk in _moments(before, after)))
        for title, key, name in attackers
    ]
    rows.append(
        (
            "Records that are unique",
            *(Figure(f"unique.{when}", _count(r.unique)) for when, r in _moments(before, after)),
        )
    )
    policies: list[tuple[str | Figure, ...]] = []
    for policy in POLICIES:
        above = [
            Figure(f"above.{policy.risk:g}.{when}", f"{risk.share_above(policy.risk):.2%}")
            for when, risk in _moments(before, after)
        ]
        verdict = "not kept" if after.share_above(policy.risk) else "kept"
        policies.append((policy.title, *above, verdict, policy.source))
    return Section(
        "Risk of being linked to a row, before and after",
        (
            "Probabilities from 0 to 1, for attackers who know every quasi-identifying column of a person.",
            Table(("", "Before", "After"), tuple(rows)),
            "Thresholds that others use, and the share of records whose own risk is above each:",
            Table(("Threshold", "Above it before", "Above it after", "This release", "Source"), tuple(policies)),
        ),
    )


def _moments(before: LinkageRisk, after: LinkageRisk) -> tuple[tuple[str, LinkageRisk], tuple[str, LinkageRisk]]:
    return ("before", before), ("after", after)


def _checks(verification: Verification, internal: bool) -> Section:
    rows = tuple(
        (
            check.name,
            "" if check.required is None else Figure(f"required.{check.name}", f"{check.required:.6g}"),
            "" if check.achieved is None else Figure(f"achieved.{check.name}", f"{check.achieved:.6g}"),
            {True: "passed", False: "FAILED", None: "reported"}[check.passed],
            # The sentence of a failed comparison can name a value.
            check.sentence if internal or check.passed is not False else "See the internal report.",
        )
        for check in verification.checks
    )
    text = "Computed again from the released cells, with the original beside them, by code that did not make them."
    return Section("Checks", (text, Table(("Check", "Required", "Found", "", "In words"), rows)))


def _isolation(isolation: Isolation) -> Section:
    rows = (
        ("Records that are singled out so", Figure("isolation.records", f"{isolation.records.share:.4f}")),
        ("Groups with such a record", Figure("isolation.groups", f"{isolation.groups.share:.4f}")),
        ("Ends of intervals that one record holds", Figure("isolation.ends", f"{isolation.ends.share:.4f}")),
        ("Levels of sets that one record holds", Figure("isolation.levels", f"{isolation.levels.share:.4f}")),
    )
    columns = tuple(
        (name, Figure(f"isolation.column.{name}", f"{rate.share:.4f}")) for name, rate in isolation.by_column.items()
    )
    return Section(
        "Singled out by the ends and levels of a box",
        (
            isolation.sentence,
            "Counted exactly, from the original and the release side by side; shares from 0 to 1.",
            Table(("", ""), rows),
            Table(("Column", "Records that it singles out"), columns),
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
            Figure(f"guess.blind.{one.column}", f"{one.blind.share:.4f}"),
            Figure(f"guess.before.{one.column}", f"{one.before.share:.4f}"),
            Figure(f"guess.after.{one.column}", f"{one.after.share:.4f}"),
        )
        for one in attacks.inferences
    )
    header = ("Sensitive column", "Guessed right without looking", "With the original", "With the release")
    return Section(
        title,
        (
            "How often attacks that were run were right (0 to 1), with the 95% confidence interval after (Wilson).",
            Table(("Attack", "Before", "After", "Interval", "In words"), rows),
            *((Table(header, inferences),) if inferences else ()),
        ),
    )


def _attack(outcome: Outcome) -> tuple[str | Figure, ...]:
    """Return the row of an attack; it says so when nobody could be tried."""
    low, high = outcome.interval
    texts = {"before": f"{outcome.before:.4f}", "after": f"{outcome.after:.4f}", "interval": f"{low:.4f} to {high:.4f}"}
    tries = outcome.rates[1].tries
    figures = (Figure(f"{outcome.name}.{when}", text if tries else "not counted") for when, text in texts.items())
    return (outcome.name, *figures, outcome.sentence)


def _limits(report: Report) -> Section:
    return Section("Limits of what is said here", (*LIMITS_OF_THIS, *report.notes))


def _gate(report: Report) -> Section:
    rows = tuple(
        (finding.severity.value, finding.figure, f"{finding.sentence} {finding.detail}".strip(), finding.reason or "–")
        for finding in report.gate.findings
    )
    return Section(
        "What stood in the way (not for the recipient)",
        (
            "What was seen to before the release left, and why it may leave all the same:",
            Table(("", "Figure", "In words", "Reason of the steward"), rows),
        ),
    )


def _worst(report: Report) -> Section:
    checks = tuple((check.name, check.worst) for check in report.verification.checks if check.worst)
    groups = tuple((worst.figure, worst.what) for worst in report.worst)
    return Section(
        "Where it is riskiest (not for the recipient)",
        (
            "The released combinations at which each check is worst:",
            Table(("Check", "Cells"), checks),
            "The worst group of the tree by each figure:",
            Table(("Figure", "Group"), groups),
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
            "The riskiest records (not for the recipient)",
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
    versions = Table(("Software", "Version"), (("Copse", VERSION), *run.versions.items()))
    if not internal:
        return Section(
            "How it was made",
            (
                "With Copse, by this command, on a table that stays with the sender:",
                Code(command_line(SHORT_PATH, run.schema, run.parameters, {}, _other_kinds(run.schema), {})),
                versions,
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
            versions,
        ),
    )


def _other_kinds(schema: Schema) -> dict[str, Kind]:
    """Return kinds that no column has, so that the command names the kind of each."""
    other = {kind: Kind.NUMERIC if kind is Kind.CATEGORICAL else Kind.CATEGORICAL for kind in Kind}
    return {column.name: other[column.kind] for column in schema.columns}


def _approvals(statement: Statement) -> Section:
    lines = statement.approvals or (Approval(), Approval())
    rows = tuple((line.name or "", line.function or "", line.date or "", "") for line in lines)
    return Section("Approvals", (Table(("Name", "Function", "Date", "Signature"), rows),))


def _count(number: int) -> str:
    return f"{number:,}"
