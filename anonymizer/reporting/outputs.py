"""What a flow gives people: reports and packets as bytes, the project of its decisions, and its figures at a glance."""

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import Any

import numpy as np

from anonymizer.drawing.dot import THEMES
from anonymizer.drawing.people_map import MapStates, PeopleMap, map_states, people_map
from anonymizer.errors import ParameterError, Progress, no_progress
from anonymizer.flow import Flow
from anonymizer.provenance.report import Report
from anonymizer.provenance.signature import SigningKey
from anonymizer.reading.profile import suggest
from anonymizer.reporting.dossier import AUDIENCES, document_of
from anonymizer.reporting.findings import Findings, Statement, findings_of
from anonymizer.reporting.html import to_html
from anonymizer.reporting.packet import packet_of
from anonymizer.reporting.pdf import to_pdf
from anonymizer.reporting.pictures import inward_of
from anonymizer.settings import in_text, name_of
from anonymizer.studies.attack import Attacks
from anonymizer.values import plural
from anonymizer.whatif.next_year import profile_of
from anonymizer.whatif.project import Project, outward, to_json

ENDINGS = (".html", ".pdf", ".json")
"""What a report for people is written as."""


def flow_findings(
    flow: Flow, report: Report, attacks: Attacks, audience: str, progress: Progress = no_progress
) -> Findings:
    """Return what reports say of the release of a flow. ``report``: of what was written; ``audience``: a key of
    :data:`AUDIENCES`. Raises :class:`ParameterError` for another."""
    if audience not in AUDIENCES:
        remedy = f"Choose {' or '.join(AUDIENCES)}."
        raise ParameterError(f"There is no audience {audience!r}.", value=audience, remedy=remedy)
    inward = inward_of(flow, progress) if audience == "internal" else {}
    return findings_of(report, flow.table, flow.released, attacks, **inward)


def report_bytes(findings: Findings, statement: Statement, audience: str, ending: str) -> bytes:
    """Return a report for people. ``ending``: one of :data:`ENDINGS`. Raises :class:`ParameterError` for another."""
    ending = ending.lower()
    if ending not in ENDINGS:
        raise ParameterError(f"A report cannot be written as {ending!r}.", remedy="Use .html, .pdf or .json.")
    if ending == ".json":
        report = findings.report
        return (report.to_json() if audience == "internal" else report.to_recipient_json()).encode()
    document = document_of(findings, statement, audience)
    return to_pdf(document) if ending == ".pdf" else to_html(document).encode()


def packet_bytes(
    flow: Flow, findings: Findings, statement: Statement, audience: str, *, override: str = "",
    key: SigningKey | None = None, progress: Progress = no_progress,
) -> bytes:  # fmt: skip
    """Return a packet of the release of a flow, read back and checked; see
    :func:`anonymizer.reporting.packet.packet_of`. The internal one holds the project."""
    project = ""
    if audience == "internal":
        suggested = suggest(flow.table, flow.reading.variables if flow.reading else {})
        project = to_json(project_of(flow, findings.report, statement), suggested)
    return packet_of(
        flow.leaving, findings, statement, audience, override=override, project=project, key=key, progress=progress
    )


def project_of(flow: Flow, report: Report, statement: Statement) -> Project:
    """Return what was decided in a flow, as a project that may leave."""
    reading = flow.reading
    words = {name: text for name, text in asdict(statement).items() if isinstance(text, str) and text}
    project = Project(
        flow.schema, dict(flow.settings), table_name=reading.name if reading else "", records=len(flow.table),
        reading=reading.options if reading else None, words=words, reasons=flow.reasons, last=profile_of(flow),
        saved=report.provenance.time, keep=flow.keep,
    )  # fmt: skip
    return outward(project)


def before_and_after(report: Report) -> list[tuple[str, Any, Any]]:
    """Return the figures of a run before and after, by name: numbers as they are, ``None`` where there is none."""
    before, after, utility = report.before, report.after, report.utility
    rows: list[tuple[str, Any, Any]] = [
        ("rows", before.records, after.records),
        ("groups", before.groups, after.groups),
        ("unique rows", before.unique, after.unique),
        ("smallest group", before.smallest, after.smallest),
        ("highest linking risk", before.highest, after.highest),
        (in_text(name_of("measure", "gcp")), 0.0, utility.gcp),
        ("error, its own people", None, utility.error),
        ("wrong cell, cross tables", 0.0, report.two_way.mean),
        ("overlap of intervals", 1.0, report.weighted.mean_overlap),
    ]
    return rows


def glance(report: Report) -> list[tuple[str, str]]:
    """Return a run in five lines, each with its name: no value of any record."""
    after, verification, gate = report.after, report.verification, report.gate
    failed = [check.name for check in verification.failed]
    checks = f"{sum(check.passed is True for check in verification.checks):,} passed"
    return [
        ("release", f"{plural(after.records, 'row')} in {plural(after.groups, 'group')}"),
        ("k", f"{after.smallest:,} in the smallest group, {verification.k:,} required"),
        ("loss", f"{report.utility.gcp:.1%} of the detail (GCP)"),
        ("checks", checks + (f"; failed: {', '.join(failed)}" if failed else "")),
        ("verdict", gate.verdict),
    ]


def glance_html(flow: Flow, report: Report) -> str:
    """Return a run as a piece of HTML: the verdict, its figures, the map of its groups; no value of any record."""
    lines = dict(glance(report))
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td>{_cell(first)}</td><td>{_cell(second)}</td></tr>"
        for name, first, second in before_and_after(report)
    )
    people = people_map(flow.tree, flow.risk, flow.encoded.encodings, flow.encoded.target.texts)
    open_ = "".join(f"<li>{escape(finding.key)}</li>" for finding in report.gate.open)
    return (
        f"<div><p><b>{escape(lines['verdict'])}.</b> {escape(lines['release'])}; k: {escape(lines['k'])}.</p>"
        f"{f'<ul>{open_}</ul>' if open_ else ''}"
        f"<table><tr><th></th><th>before</th><th>after</th></tr>{rows}</table>"
        f"{map_svg(people, map_states(people, flow.pruning, flow.risk, 'n'))}</div>"
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int | np.integer) else f"{value:.3f}"


WIDTH, STEP = 720, 18
"""Width of a map and height of one of its levels, in pixels."""


def map_svg(people: PeopleMap, states: MapStates, theme: str = "light") -> str:
    """Return a map of people as SVG: width is people, a level lies below its parent's, colour is how many look alike.
    What pruning removed is left out; the title of a box says how many it holds, and nothing else."""
    palette = THEMES[theme]
    there = np.flatnonzero((states.gone == 0) & (people.width * WIDTH >= 1))
    rects = []
    for box in there:
        group = states.merged[box] > 0 or people.leaf[box]
        shade = palette[str(min(max(int(states.shade[box]), 1), 6))]
        edge = palette["ink"] if group else palette["line"]
        rects.append(
            f'<rect x="{people.left[box] * WIDTH:.1f}" y="{people.level[box] * STEP}" '
            f'width="{people.width[box] * WIDTH:.1f}" height="{STEP - 2}" fill="{shade}" stroke="{edge}">'
            f"<title>{escape(plural(int(people.size[box]), people.unit))}</title></rect>"
        )
    height = (int(people.level[there].max(initial=0)) + 1) * STEP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="The groups of the release: width is people">{"".join(rects)}</svg>'
    )


def text_table(lines: Sequence[tuple[str, str]]) -> str:
    """Return lines with their names in one column."""
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)
