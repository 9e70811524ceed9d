"""``anonymize --internal FILE --external FILE``: the reports for people, from the terminal."""

import argparse
from collections.abc import Callable
from pathlib import Path

from anonymizer.attack import attack
from anonymizer.dossier import document_of
from anonymizer.errors import ParameterError
from anonymizer.findings import Approval, Statement, findings_of
from anonymizer.pipeline import Result
from anonymizer.read import Reading
from anonymizer.report import Report
from anonymizer.report_html import to_html
from anonymizer.report_pdf import to_pdf

ENDINGS = (".html", ".pdf")


def add_reports(parser: argparse.ArgumentParser) -> None:
    """The options that ask for reports, and what only the steward can say in them."""
    told = parser.add_argument_group("reports for people", "attacks are run for them, which takes a while")
    told.add_argument("--internal", metavar="FILE", help="where the internal report goes: .html or .pdf")
    told.add_argument("--external", metavar="FILE", help="where the report for the recipient goes: .html or .pdf")
    told.add_argument("--purpose", default="", help="what the recipient will do with the data")
    told.add_argument("--recipient", default="", help="who gets the data")
    told.add_argument("--basis", default="", help="the legal or contractual basis")
    told.add_argument("--prepared-by", default="", help="your name and function")
    told.add_argument("--approved-by", action="append", default=[], metavar="NAME", help="who approves; repeatable")


def asked_for(chosen: argparse.Namespace) -> dict[str, Path]:
    """The reports that were asked for, by audience. Raises :class:`ParameterError` for an ending that is unknown."""
    asked = {
        audience: Path(getattr(chosen, audience)) for audience in ("internal", "external") if vars(chosen)[audience]
    }
    for path in asked.values():
        if path.suffix.lower() not in ENDINGS:
            raise ParameterError(f"{path} has no ending that a report can have.", remedy="Use .html or .pdf.")
    return asked


def write_reports(
    asked: dict[str, Path],
    chosen: argparse.Namespace,
    reading: Reading,
    result: Result,
    report: Report,
    progress: Callable[[float, str], None],
) -> None:
    """Run the attacks and write the reports. ``report``: of what was written, with its digest."""
    released = result.release.frame()
    attacks = attack(reading.frame, released, result.schema, result.encoded, progress=progress)
    findings = findings_of(report, reading.frame, released, attacks)
    statement = Statement(
        chosen.purpose, chosen.recipient, chosen.basis, chosen.prepared_by, tuple(map(Approval, chosen.approved_by))
    )
    for audience, path in asked.items():
        document = document_of(findings, statement, audience)
        content = to_pdf(document) if path.suffix.lower() == ".pdf" else to_html(document).encode()
        path.write_bytes(content)
