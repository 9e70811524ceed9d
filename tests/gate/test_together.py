"""Findings that say the same of other columns are one; what closes it closes each of them."""

from anonymizer.gate.finding import Finding, Repair, Severity, leave_out, together
from anonymizer.schema import Role


def one_value(name: str, reason: str = "") -> Finding:
    ask = Repair("Ask for 2 values", settings=(("l", 2),))
    return Finding(f"one value: {name}", Severity.LOOK, "9 rows", f"“{name}” is shared.", "So.", (name,),
                   (ask, leave_out(name)), reason)  # fmt: skip


PROMISE = Finding("promise", Severity.FINE, "10-anonymous", "This release is 10-anonymous.")


def test_eighteen_columns__are_one_finding() -> None:
    names = [f"column {n}" for n in range(18)]
    (several, promise) = together([*map(one_value, names), PROMISE])
    assert several.figure == "18 columns"
    assert several.sentence == "In 18 columns everybody in some group shares one value."
    assert several.detail.startswith("column 0, column 1,")
    assert several.detail.endswith("and 10 more.")
    assert several.keys == tuple(f"one value: {name}" for name in names)
    ask, out = several.repairs
    assert ask.settings == (("l", 2),)
    assert out.words == "Leave them out"
    assert out.roles == tuple((name, Role.IDENTIFYING) for name in names)
    assert promise.findings == (PROMISE,)


def test_one_finding__stays_as_it_is() -> None:
    (several,) = together([one_value("a")])
    assert (several.figure, several.sentence, several.detail) == ("9 rows", "“a” is shared.", "So.")
    assert several.repairs == one_value("a").repairs


def test_another_reason_or_severity__stands_apart() -> None:
    findings = [one_value("a"), one_value("b", "the board has agreed"), one_value("c")]
    assert [several.keys for several in together(findings)] == [("one value: a", "one value: c"), ("one value: b",)]


def test_every_finding__is_told_once() -> None:
    findings = [one_value("a"), PROMISE, one_value("b"), Finding("identifying", Severity.FINE, "", "")]
    everything = [finding for several in together(findings) for finding in several.findings]
    assert sorted(everything, key=lambda finding: finding.key) == sorted(findings, key=lambda finding: finding.key)
