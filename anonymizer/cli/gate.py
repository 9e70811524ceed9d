"""``anonymize --check`` and ``--reason NAME=TEXT``: what stands in the way of a release, from the terminal."""

import shlex
import sys
from collections.abc import Sequence

from anonymizer.errors import ParameterError
from anonymizer.gate.finding import Finding, Gate, Severity

MARKS = {Severity.STOPS: "STOPS ", Severity.LOOK: "look  ", Severity.FINE: "ok    "}


def reasons_of(texts: Sequence[str], gate: Gate) -> dict[str, str]:
    """Return the reasons by key; the last one of a finding counts, said by name or key. One for what is no finding of
    this release is said on standard error.

    Raises :class:`ParameterError` for a text that says nothing, and for what is never found.
    """
    keys = [key for finding in gate.findings for key in (finding.key, finding.name)]
    reasons: dict[str, str] = {}
    for text in texts:
        key = max((key for key in keys if text.startswith(f"{key}=")), key=len, default=text.partition("=")[0])
        if "=" not in text:
            raise ParameterError(
                f"--reason {text!r}: no such finding.", remedy="Write it as NAME=TEXT, as --check does."
            )
        own = [finding.key for finding in gate.findings if key in (finding.key, finding.name)]
        reasons |= dict.fromkeys(own or [key], text[len(key) + 1 :])
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
            option = f"--reason={shlex.quote(f'{finding.name}=WHY')}"
            ways = [f"{repair.words} ({repair.options})" for repair in finding.repairs]
            print(f"        {'; '.join(ways)}{'; or ' * bool(ways)}{option}")
    print(f"{gate.verdict}.")
