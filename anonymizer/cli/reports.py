"""``anonymize --attack --internal FILE --external FILE``: attacks and the reports for people, from the terminal."""

import argparse
from pathlib import Path

from anonymizer.errors import ParameterError, Progress, require_extra
from anonymizer.flow import Flow
from anonymizer.provenance.report import Report
from anonymizer.releasing.files import write_file
from anonymizer.reporting.findings import Approval, Statement
from anonymizer.reporting.outputs import ENDINGS, flow_findings, report_bytes
from anonymizer.studies.attack import Attacks, attack_release


def report_paths(options: argparse.Namespace) -> dict[str, Path]:
    """Return where the reports go, by audience; none that is not wanted. Raises :class:`ParameterError` for an ending
    that is unknown."""
    paths = {
        audience: Path(getattr(options, audience)) for audience in ("internal", "external") if vars(options)[audience]
    }
    for path in paths.values():
        if path.suffix.lower() not in ENDINGS:
            raise ParameterError(f"{path} has no ending that a report can have.", remedy="Use .html, .pdf or .json.")
        if path.suffix.lower() != ".json":
            require_extra("reports")
    return paths


def attacks_of(flow: Flow, options: argparse.Namespace, progress: Progress) -> Attacks:
    """Return what attacks on the release of a flow achieve."""
    return attack_release(flow, seconds=options.attack_seconds, progress=progress)


def print_attacks(attacks: Attacks) -> None:
    """Print what each attack achieved, in a sentence."""
    for outcome in attacks.outcomes:
        print(f"{outcome.name.capitalize()}: {outcome.sentence}")


def statement_of(options: argparse.Namespace) -> Statement:
    """Return what only the steward can say."""
    approvals = tuple(map(Approval, options.approved_by))
    return Statement(options.purpose, options.recipient, options.basis, options.prepared_by, approvals)


def write_reports(
    paths: dict[str, Path], options: argparse.Namespace, flow: Flow, attacks: Attacks, report: Report
) -> None:
    """Write the reports. ``report``: of what was written, with its digest."""
    for audience, path in paths.items():
        findings = flow_findings(flow, report, attacks, audience)
        write_file(path, report_bytes(findings, statement_of(options), audience, path.suffix))
