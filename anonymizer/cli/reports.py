"""``anonymize --check``, ``--reason KEY=TEXT``, ``--attack --internal FILE --external FILE``: what stands in the
way of a release, attacks and the reports for people, from the terminal."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from anonymizer.errors import ParameterError, Progress
from anonymizer.flow import Flow
from anonymizer.gate.finding import Finding, Gate, Severity
from anonymizer.provenance.report import Report
from anonymizer.releasing.files import write_file
from anonymizer.reporting.findings import Approval, Statement
from anonymizer.reporting.outputs import ENDINGS, flow_findings, report_bytes
from anonymizer.studies.attack import SECONDS, Attacks, attack_release

MARKS = {Severity.STOPS: "STOPS ", Severity.LOOK: "look  ", Severity.FINE: "ok    "}


def add_reports(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask for attacks and reports, and what only the steward can say in these."""
    parser.add_argument("--attack", action="store_true", help="attack the release, and say how often that was right")
    parser.add_argument(
        "--attack-seconds",
        type=float,
        default=SECONDS,
        metavar="S",
        help=f"time for the attack that runs the method again (default: {SECONDS:g})",
    )
    group = parser.add_argument_group("reports for people", "attacks are run for them, which takes a while")
    group.add_argument("--internal", metavar="FILE", help="where the internal report goes: .html, .pdf or .json")
    group.add_argument(
        "--external", metavar="FILE", help="where the report for the recipient goes: .html, .pdf or .json"
    )
    group.add_argument("--purpose", default="", help="what the recipient will do with the data")
    group.add_argument("--recipient", default="", help="who gets the data")
    group.add_argument("--basis", default="", help="the legal or contractual basis")
    group.add_argument("--prepared-by", default="", help="your name and function")
    group.add_argument("--approved-by", action="append", default=[], metavar="NAME", help="who approves; repeatable")


def report_paths(options: argparse.Namespace) -> dict[str, Path]:
    """Return where the reports go, by audience; none that is not wanted. Raises :class:`ParameterError` for an ending
    that is unknown."""
    paths = {
        audience: Path(getattr(options, audience)) for audience in ("internal", "external") if vars(options)[audience]
    }
    for path in paths.values():
        if path.suffix.lower() not in ENDINGS:
            raise ParameterError(f"{path} has no ending that a report can have.", remedy="Use .html, .pdf or .json.")
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


def add_gate(parser: argparse.ArgumentParser) -> None:
    """Add the options that look at what would leave, and say why it may."""
    parser.add_argument("--check", action="store_true", help="list the risks that are open, and write nothing")
    parser.add_argument(
        "--reason",
        action="append",
        default=[],
        metavar="KEY=TEXT",
        help="why the release is written although a risk is open; the report keeps it; repeatable",
    )


def reasons_of(texts: Sequence[str], gate: Gate) -> dict[str, str]:
    """Return the reasons by key; the last one of a key counts. One for what is no finding of this release is said on
    standard error.

    Raises :class:`ParameterError` for a text that says nothing, and for what is never found.
    """
    keys = [finding.key for finding in gate.findings]
    reasons: dict[str, str] = {}
    for text in texts:
        key = max((key for key in keys if text.startswith(f"{key}=")), key=len, default=text.partition("=")[0])
        if "=" not in text:
            raise ParameterError(
                f"--reason {text!r}: no such finding.", remedy="Write it as KEY=TEXT, as --check does."
            )
        reasons[key] = text[len(key) + 1 :]
    for key in gate.unused(reasons):
        print(f"No finding is called {key!r}. Run --check to list them.", file=sys.stderr)
        del reasons[key]
    return reasons


def print_gate(gate: Gate, findings: Sequence[Finding]) -> None:
    """Print some findings, with what repairs them, and the verdict."""
    for finding in findings:
        print(f"{MARKS[finding.severity]}  {finding.figure}: {finding.sentence} {finding.detail}".rstrip())
        if finding.reason:
            print(f"        Reason: {finding.reason}")
        elif finding.severity is not Severity.FINE:
            option = f"--reason={shlex.quote(f'{finding.key}=WHY')}"
            ways = [f"{repair.words} ({repair.options})" for repair in finding.repairs]
            print(f"        {'; '.join(ways)}{'; or ' * bool(ways)}{option}")
    print(f"{gate.verdict}.")
