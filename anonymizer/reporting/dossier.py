"""The report for people: two pages to sign, and an annex.

The *internal* document names the riskiest combinations, the input and one row; the *external* one holds neither these
nor a single value of the table. :mod:`anonymizer.reporting.html` and :mod:`anonymizer.reporting.pdf` write it.
"""

from collections.abc import Mapping

from anonymizer.checking.linkage import ROUNDING, LinkageRisk
from anonymizer.errors import ParameterError
from anonymizer.gate.finding import Severity, together
from anonymizer.provenance.report import ADD_UP, Report, schema_digest
from anonymizer.releasing.set_names import said_of
from anonymizer.reporting.annex import annex_of, gate_section
from anonymizer.reporting.document import Document, Grid, Lines, Panel, Points, Section, Table
from anonymizer.reporting.findings import Findings, OneRow, Statement
from anonymizer.reporting.pictures import guess_picture, loss_picture, risk_picture, size_bands, size_picture
from anonymizer.schema import LEFT_OUT, Column, Kind, Role
from anonymizer.settings import name_of
from anonymizer.treatments import note_of
from anonymizer.values import plural, share
from anonymizer.version import VERSION

AUDIENCES = ("internal", "external")
MOST_NAMED = 14
"""Columns of one role and reason that the second page names."""
MOST_CELLS, LONGEST = 8, 40
"""Cells of the row on the first page, and letters of a name or a cell there."""
MOST_RISKS = 3
"""Of the risks that were released with a reason, those that the first page names."""

PAPERS: Mapping[str, str] = {
    "least": "Least pruning: the largest pruning of the tree in which every group keeps every limit (Copse's own).",
    "regions": "Regions with room, in a tree that cuts where least detail is lost (Copse's own).",
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
    Role.PERSON: "Says whose a row is; persons were counted by it",
    Role.IDENTIFYING: "Identifies a person",
    Role.WEIGHT: "Says how many people a row stands for",
    Role.HOUSEHOLD: "Says who lives together",
    Role.STRATUM: "Says from which part of the population a row was drawn",
    Role.QUASI_IDENTIFYING: "Others can know it, and find a person by it together with others",
    Role.SENSITIVE: "Must stay secret",
    Role.INSENSITIVE: "Neither known to others nor harmful",
}
SIGNED_BY = ("Prepared by, date", "Data protection officer, date", "Approved by, date")
IN_CELLS = {
    Kind.NUMERIC: ("[25, 64]", "a value from 25 to 64, both included"),
    Kind.DATE: ("[2024-01-01, 2024-06-30]", "a day from the first to the second, both included"),
    Kind.CATEGORICAL: ("{a, b}", "one of these values"),
}
"""How a released cell of each kind reads."""


def document_of(findings: Findings, statement: Statement | None = None, audience: str = "internal") -> Document:
    """Return the document for an audience, a key of :data:`AUDIENCES`; anything else is a :class:`ParameterError`."""
    if audience not in AUDIENCES:
        raise ParameterError(f"There is no report for {audience!r}.", remedy=f"Choose {' or '.join(AUDIENCES)}.")
    internal = audience == "internal"
    statement = statement or Statement()
    report = findings.report
    return Document(
        title=headline(report),
        subtitle=_subtitle(report, "internal: keep it with the original" if internal else "for the recipient"),
        audience=audience,
        lead=_lead(findings, internal),
        sections=(
            Section("", (Grid(_panels(findings, internal)),)),
            Section("What to beware of", (_beware(report, internal),)),
            Section("", (Lines(_signatures(statement)),)),
            _columns(report, internal),
            _method(report),
            _reading(report),
            _verifying(report, statement),
            *annex_of(findings, internal),
        ),
    )


def approvals_of(findings: Findings, statement: Statement) -> Document:
    """Return what is signed, alone: why the data are released, the reasons that were given, and lines to be signed."""
    report = findings.report
    purpose = Section("Purpose and recipient", (_purpose(statement),))
    signed = Section("", (Lines(_signatures(statement)),))
    return Document(
        title="Approvals",
        subtitle=_subtitle(report, "internal"),
        audience="internal",
        lead=_lead(findings, True),
        sections=(purpose, gate_section(report), signed),
    )


def headline(report: Report) -> str:
    """Return what was released, in a few words: never called k-anonymous when it is not."""
    checked = report.verification
    rows = plural(checked.rows, "row")
    if not checked.passed:
        return f"{rows}: a required check failed"
    return f"{rows}, released{'' if checked.k_anonymous else ', not'} {checked.k}-anonymous"


def _subtitle(report: Report, whom: str) -> str:
    time = report.provenance.time.replace("T", " ").replace("+00:00", " UTC")
    return f"Release report, {whom} · {time} · Copse {VERSION}"


def _lead(findings: Findings, internal: bool) -> str:
    """Return what the release is, in the checker's words, and what it costs."""
    report = findings.report
    checked = report.verification
    if checked.passed:
        return f"{checked.describe()} {share(report.utility.gcp)} of the detail of the quasi-identifiers is lost."
    failed = ", ".join(check.name for check in checked.failed)
    sentences = [f"This release fails required checks: {failed}.", checked.describe() if internal else ""]
    if report.override:
        sentences.append(f"It was released all the same, for this reason: {report.override}")
    return " ".join(filter(None, sentences))


def _panels(findings: Findings, internal: bool) -> tuple[Panel, ...]:
    """Return the pictures of the first page, each below its finding."""
    report = findings.report
    unit = "rows" if report.provenance.schema.person is None else "persons"
    losses = report.utility.ncp_by_column
    most = max(losses, key=lambda name: losses[name], default="")
    lost = f", most in {_short(most)}" if losses and losses[most] else ""
    panels = [
        Panel(_risk_title(report.after), risk_picture(report.before, report.after)),
        Panel(_size_title(report.after, unit), size_picture(report.after, unit)),
        Panel(f"{share(report.utility.gcp)} of detail is lost{lost}", loss_picture(report)),
    ]
    if internal and findings.one_row is not None:
        panels.append(_one_row(findings.one_row))
    elif report.held_out is not None and report.majority is not None:
        title = f"The target is guessed right for {share(report.held_out)} of people held out"
        panels.append(Panel(title, guess_picture(report)))
    return tuple(panels)


def _risk_title(after: LinkageRisk) -> str:
    if after.highest >= 1:
        return f"{plural(after.unique, 'row')} can be linked to a person for certain"
    persons = round(1 / after.highest)
    chance = f"1 in {persons:,}" if abs(persons * after.highest - 1) < ROUNDING else share(after.highest)
    return f"Highest chance to link a row to its person: {chance}"


def _size_title(after: LinkageRisk, unit: str) -> str:
    bands = size_bands(after)
    most = max(bands, key=lambda name: bands[name])
    return f"{plural(after.groups, 'group')}; {share(bands[most])} of the rows are in groups of {most} {unit}"


def _one_row(row: OneRow) -> Panel:
    others = "1 other row looks" if row.alike == 1 else f"{row.alike:,} other rows look"
    cells = [
        (_short(name), _short(before), "as it was" if before == after else _short(after))
        for name, before, after in row.cells[:MOST_CELLS]
    ]
    if len(row.cells) > MOST_CELLS:
        cells.append((f"{len(row.cells) - MOST_CELLS:,} others", "", ""))
    return Panel(f"One row, before and after: {others} the same", Table(("", "Original", "Released"), tuple(cells)))


def _short(text: str) -> str:
    """Return a text as it fits into a picture of the first page."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _beware(report: Report, internal: bool) -> Points:
    """Return what a reader has to know before anything is done with the release, the most dangerous first."""
    checked, alone = report.verification, report.isolation
    items = [("A check failed.", check.name) for check in checked.failed]
    if internal:
        stopping = [one for one in together(report.gate.of(Severity.STOPS)) if one.reason]
        items += [(f"{one.figure}.", f"{one.sentence} Released for this reason: {one.reason}") for one in stopping]
        items[MOST_RISKS:] = [("More.", "The annex has all reasons that were given.")] * (len(items) > MOST_RISKS)
    columns = report.provenance.schema.sensitive
    checks = [checked.get(f"homogeneity of {name}") for name in columns]
    shared = sum(1 for check in checks if check is not None and check.achieved)
    if shared:
        text = (
            f"In {shared:,} of {plural(len(columns), 'sensitive column')}, everybody in some group has the same value."
        )
        items.append(("Some groups share one value.", text))
    if report.two_way.mean is not None and report.two_way.worst is not None:
        first, second, _ = report.two_way.worst
        text = f"{share(report.two_way.mean)} of the rows are in a wrong cell on average, most for {first} by {second}."
        items.append(("Cross tables change.", text))
    if alone.records.share:
        part = share(alone.records.share)
        text = f"For {part} of the rows, an end or a level of their cells is theirs alone in the group."
        items.append(("Ends of ranges.", text))
    items += [
        ("Other knowledge.", "The risks assume that somebody knows nothing but the quasi-identifiers."),
        ("Other releases.", ADD_UP),
    ]
    return Points(tuple(items))


def _signatures(statement: Statement) -> tuple[str, ...]:
    """Return what stands below each line: names that were given, or who usually signs."""
    names = [", ".join(filter(None, (one.name, one.function, one.date))) for one in statement.approvals]
    return tuple(names) if any(names) else SIGNED_BY


def _columns(report: Report, internal: bool) -> Section:
    """Return the columns by what was done with them, those of one role and reason together."""
    columns = report.provenance.schema.columns
    rows: dict[tuple[str, str, str], list[str]] = {}
    for role in Role:
        for column in columns:
            if column.role is role:
                reason = " ".join(filter(None, (f"{ROLE_REASONS[role]}.", column.own_reason if internal else "")))
                rows.setdefault((role.value, _treatment(column), reason), []).append(column.name)
    table = Table(
        ("Role", "Columns", "In the release", "Reason"),
        tuple((role, _names(names), what, reason) for (role, what, reason), names in rows.items()),
    )
    return Section(f"{plural(len(columns), 'column')}: what was done with them, and why", (table,), True)


def _names(names: list[str]) -> str:
    """Return names of columns; of many the first, as the annex has all."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    few = MOST_NAMED // 2
    return f"{len(names):,} columns: {', '.join(names[:few])} and {len(names) - few:,} more"


def _treatment(column: Column) -> str:
    """Return what became of a column, in a few words."""
    if column.role in LEFT_OUT:
        return "left out"
    if column.role is Role.QUASI_IDENTIFYING:
        return "sets" if column.kind is Kind.CATEGORICAL else "ranges"
    return note_of(column.treat) or "unchanged"


def _method(report: Report) -> Section:
    """Return how groups were made, what that promises, and what not."""
    parameters, guarantee = report.provenance.parameters, report.guarantee
    named = [parameters["grouping"], report.made.method]
    origin = [PAPERS.get(name, f"{name}: an extension of this installation.") for name in named]
    if parameters.get("criterion") == "blend":
        origin.append("The tree also keeps the quasi-identifiers themselves together (blend, Copse's own).")
    blocks = [" ".join(origin)]
    if report.made.why:
        blocks.append(f"{name_of('generalizer', parameters['generalizer'])} were asked for. {report.made.why}")
    blocks += [f"{guarantee.title}. {guarantee.gives}", f"What it does not promise: {guarantee.does_not}"]
    return Section("Method", tuple(blocks))


def _reading(report: Report) -> Section:
    """Return how released cells read."""
    kinds = {column.kind for column in report.provenance.schema.columns if column.role is Role.QUASI_IDENTIFYING}
    cells = [IN_CELLS[kind] for kind in IN_CELLS if kind in kinds]
    rows = (*cells, ("*", "any value"), ("empty", "missing in the original"))
    sets = (said_of(report.sets),) if report.sets else ()
    return Section("How to read a cell", (Table(("", ""), rows), *sets))


def _verifying(report: Report, statement: Statement) -> Section:
    """Return how to check a release, and what for it is."""
    run = report.provenance
    digests = [(f"The table as {format}, SHA-256", value) for format, value in run.output.items()]
    rows = (*digests, ("Roles, SHA-256", schema_digest(run.schema)))
    text = "Drop the packet on Verify, or run copse verify PACKET.zip. All checks that the files allow run again."
    return Section("How to verify, and what it is for", (text, Table(("", ""), rows), _purpose(statement)))


def _purpose(statement: Statement) -> Table:
    open_line = "(to be filled in)"
    rows = (
        ("Purpose", statement.purpose or open_line),
        ("Recipient", statement.recipient or open_line),
        ("Legal or contractual basis", statement.basis or open_line),
        ("Prepared by", statement.prepared_by or open_line),
    )
    return Table(("", ""), rows)
