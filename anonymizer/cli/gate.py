"""``anonymize --check`` and ``--reason KEY=TEXT``: what stands in the way of a release, from the terminal."""

import argparse
import shlex
import sys
from collections.abc import Sequence

from anonymizer.errors import ParameterError
from anonymizer.gate.finding import FEWEST_WORDS, Finding, Gate, Severity, is_reason

MARKS = {Severity.STOPS: "STOPS ", Severity.LOOK: "look  ", Severity.FINE: "ok    "}


def add_gate(parser: argparse.ArgumentParser) -> None:
    """Add the options that look at what would leave, and say why it may."""
    parser.add_argument(
        "--check", action="store_true", help="say what stands in the way of the release, and write nothing"
    )
    parser.add_argument(
        "--reason",
        action="append",
        default=[],
        metavar="KEY=TEXT",
        help="why the release may leave although something stands in the way; the report keeps it; repeatable",
    )


def reasons_of(texts: Sequence[str], gate: Gate) -> dict[str, str]:
    """Return the reasons by key; what is no finding of this release is said on standard error. Raises
    :class:`ParameterError` for a text that says nothing."""
    reasons: dict[str, str] = {}
    for text in texts:
        keys = [finding.key for finding in gate.findings if text.startswith(f"{finding.key}=")]
        if "=" not in text:
            raise ParameterError(
                f"--reason {text!r} names no finding.", remedy="Write it as KEY=TEXT, as --check does."
            )
        if not keys:
            key = text.partition("=")[0]
            print(f"Nothing to see to is called {key!r}; --check says what is.", file=sys.stderr)
            continue
        key = max(keys, key=len)
        reasons[key] = text[len(key) + 1 :]
        if not is_reason(reasons[key]):
            raise ParameterError(
                f"The reason for {key!r} says too little.", remedy=f"Write at least {FEWEST_WORDS} words."
            )
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
