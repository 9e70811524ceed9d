"""``copse anonymize``, ``release`` and ``check``: a checked release, its report, and what stands in its way."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonymizer.cli.engine import engine_of, run_apart, say_as_one
from anonymizer.cli.gate import print_gate, reasons_of
from anonymizer.cli.inputs import ask_password, population_from, reading_of, require_roles, schema_of, settings_of
from anonymizer.cli.options import LAST_TIME, later
from anonymizer.cli.output import ProgressBar, print_checks, print_json
from anonymizer.cli.parser import Late
from anonymizer.databases.address import Address
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.finding import Severity
from anonymizer.provenance.report import Report
from anonymizer.reading.files import Reading
from anonymizer.releasing.files import write_file
from anonymizer.releasing.release import ENDINGS, FORMATS
from anonymizer.result import Result, run_flow
from anonymizer.schema import Schema
from anonymizer.settings import Settings, in_text, name_of

if TYPE_CHECKING:
    from anonymizer.ledger.ledger import Ledger
    from anonymizer.measuring.named_regression import NamedRegression

earlier_of, signing_key = later("earlier", "earlier_of"), later("key", "signing_key")
ledger_of, write_entered = later("ledger", "ledger_of"), later("ledger", "write_entered")
packet_paths, write_packets = later("packet", "packet_paths"), later("packet", "write_packets")
decided, print_changes = later("project", "decided"), later("project", "print_changes")
print_then_and_now, say_what_is_new = later("project", "print_then_and_now"), later("project", "say_what_is_new")
report_paths, write_reports = later("reports", "report_paths"), later("reports", "write_reports")
attacks_of, print_attacks = later("reports", "attacks_of"), later("reports", "print_attacks")
statement_of = later("reports", "statement_of")
require_place = Late("anonymizer.databases.write", "require_place")
write_release = Late("anonymizer.databases.write", "write_release")
interval_text = Late("anonymizer.drawing.surveys", "interval_text")
overlap_text = Late("anonymizer.drawing.surveys", "overlap_text")
"""What not every run needs: loaded where it is used."""


def uses(options: argparse.Namespace, *names: str) -> bool:
    """Return whether any of these options is used."""
    return any(getattr(options, name) for name in names)


def flow_of(
    options: argparse.Namespace, reading: Reading, schema: Schema, settings: Settings, ledger: "Ledger | None",
    show: ProgressBar,
) -> Flow:  # fmt: skip
    """Return the flow that the options ask for, with the releases that it is counted with, and reasons."""
    key = ledger.key if ledger else None
    flow = Flow(reading.frame, schema, settings, reading=reading, population=population_from(options), key=key)
    before = earlier_of(options, flow) if uses(options, "earlier", "keep_earlier", "project", *LAST_TIME) else ()
    before = (*before, *(ledger.earlier if ledger else ()))
    flow = flow.watch(show).but(earlier=before, keep=options.keep_earlier)
    return flow.but(reasons=reasons_of(options.reason, flow.judgement))


def roles_of(options: argparse.Namespace, reading: Reading, show: ProgressBar) -> Schema:
    """Return the schema of a table: of a plan or a project, whose table is compared with it, or of the options."""
    if options.decisions is not None:
        schema: Schema
        schema, changes = decided(options, reading)
        show.end()
        print_changes(options.decisions, changes, options.json)
    else:
        schema = schema_of(reading.frame, options, reading.variables)
        if not options.schema:
            require_roles(reading.frame, schema, options.keep)
    if uses(options, "schema", "project"):
        say_what_is_new(options)
    return schema


def run_anonymize(options: argparse.Namespace) -> int:
    """Run ``anonymize``: write the release and the report; return 1 when a required check fails that
    nobody overrides, or something stands in the way that nobody gave a reason for."""
    require_input(options)
    if engine_of(options) != "memory":
        return run_apart(options)
    say_as_one(options)
    ending_of(options.out)
    settings = settings_of(options)
    paths = report_paths(options) if uses(options, "internal", "external") else {}
    packets = packet_paths(options) if uses(options, "packet", "internal_packet", "sign") else {}
    require_folders(options.out, options.report, *paths.values(), *packets.values())
    key = signing_key(options.sign) if options.sign else None
    ledger = ledger_of(options) if uses(options, "ledger", "to") else None
    show = ProgressBar()
    show(0.0, "Reading the table")
    reading, last = reading_of(options.input, options), options.decisions
    schema = roles_of(options, reading, show)
    require_dictionary(options, settings)
    flow = flow_of(options, reading, schema, settings, ledger, show)
    if options.check:
        show.end()
        return check_gate(flow, options.json)
    result = run_flow(flow, show)
    show.end()
    passed, is_open = result.verification.passed, bool(result.gate.open)
    report: Report = result.report
    override = "" if passed else options.override.strip()
    released = not is_open and (passed or bool(override))
    is_written = bool(options.out) and released
    if is_written or (packets and ledger and released):
        report = write_out(options, flow, result, ledger, override)
    attacks = attacks_of(flow, options, show) if options.attack or ((paths or packets) and released) else None
    if packets and released and attacks is not None:
        write_packets(packets, flow, report, attacks, statement_of(options), override, key, show)
    show.end()
    if paths and released and attacks is not None:
        final = report if is_written else report.with_output({}, override)
        write_reports(paths, options, flow, attacks, final)
    if options.report:
        write_file(options.report, report.to_json())
    if options.json:
        print_json("report", report.to_dict())
    else:
        if last is not None:
            print_then_and_now(last, flow)
        print_result(result)
        if attacks is not None:
            print_attacks(attacks)
        others = [*map(str, paths.values()), *packets.values()]
        if is_written or (others and released):
            print("Written: " + ", ".join([name_of_out(options.out)] * is_written + others))
        elif (options.out or others) and not passed:
            print('Not written, because a check failed. To write it all the same: --override "the reason".')
        if is_open:
            print("Not ready to release." if not (options.out or others) else "Not written: not ready to release.")
    return 0 if released and (passed or options.out or paths or packets) else 1


def require_input(options: argparse.Namespace) -> None:
    """Raise :class:`ParameterError` where neither the command nor a plan names a table."""
    if options.input is None:
        where = f" ({options.decisions.plan.source.name})" if options.plan else ""
        remedy = f'Write input = "people.csv" below [release]{where}.' if options.plan else "Name a file."
        raise ParameterError("No table is named.", remedy=remedy)


def require_dictionary(options: argparse.Namespace, settings: Settings) -> None:
    """Raise :class:`ParameterError` when sets have short names in a file, and nothing is written that explains them."""
    if settings.sets == "named" and options.out and not (options.report or options.packet or options.internal_packet):
        raise ParameterError(
            "The report lists what each short name of a set holds, and none is written.",
            remedy="Add --report or --packet, or choose --sets full.",
        )


def ending_of(out: str | Address | None) -> str:
    """Return what a release is written as, by the name of the file; "database" for a table, "" for nothing. Raises
    :class:`ParameterError` for a name of another ending."""
    if out is None or isinstance(out, Address):
        return "database" if out else ""
    ending = next((format for format in FORMATS if out.lower().endswith("." + format)), "")
    if not ending:
        raise ParameterError(f"{out} has no ending that can be written.", remedy=f"Use {ENDINGS}.")
    return ending


def require_folders(*places: str | Path | Address | None) -> None:
    """Raise :class:`ParameterError` when a file is to be written where no folder is, or a table where no database is,
    before anything is done."""
    for place in places:
        if isinstance(place, Address):
            require_place(place)
        if isinstance(place, str | Path) and not (folder := Path(place).parent).is_dir():
            raise ParameterError(f"There is no folder {str(folder)!r}.", remedy="Make it, or write to another one.")


def name_of_out(out: str | Address) -> str:
    """Return what the place of a release is called, without server and account."""
    return out.name if isinstance(out, Address) else out


def write_out(
    options: argparse.Namespace, flow: Flow, result: Result, ledger: "Ledger | None", override: str
) -> Report:
    """Write the release of a flow into a file or a new table, entered in a ledger before where there is one, and return
    the report of what was written. ``override``: why it leaves although a check failed."""
    out, report, release = options.out, result.report, result.release
    limits = {**flow.settings.limits.required, "population": flow.population}
    about = flow.schema, result.verification, limits

    def write(before: Callable[[str], object] | None) -> str:
        if isinstance(out, Address):
            return str(ask_password(out, lambda where: write_release(release, where, *about, before=before)))
        return release.write(out, before)

    if ledger is not None:
        sha256, report = write_entered(ledger, options, flow.table, result, write)
    else:
        sha256 = write(None)
    return report.with_output({ending_of(out): sha256} if out else {}, override)


def check_gate(flow: Flow, as_json: bool) -> int:
    """Print everything to see to before the release of a flow leaves; return 1 when something stands in the way, or a
    check fails."""
    gate, passed = flow.gate, flow.verification.passed
    if as_json:
        print_json("check", gate.to_dict() | {"passed": passed and not gate.open})
    else:
        print_gate(gate, gate.findings)
    return 0 if passed and not gate.open else 1


def print_result(result: Result) -> None:
    """Print the run as a short table, then its checks."""
    after, before, utility = result.report.after, result.report.before, result.utility
    rows: list[tuple[str, Any, Any]] = [
        ("", "before", "after"),
        ("records", f"{before.records:,}", f"{after.records:,}"),
        ("groups", f"{before.groups:,}", f"{after.groups:,}"),
        ("unique rows", f"{before.unique:,}", f"{after.unique:,}"),
        ("smallest group", f"{before.smallest:,}", f"{after.smallest:,}"),
        ("highest linking risk", f"{before.highest:.3f}", f"{after.highest:.3f}"),
        (in_text(name_of("measure", "gcp")), "0", f"{utility.gcp:.3f}"),
        ("error, its own people", "", "" if utility.error is None else f"{utility.error:.3f}"),
    ]
    if (right := result.report.held_out) is not None and (most := result.report.majority) is not None:
        rows.append(("error, people held out", f"{1 - most:.3f}", f"{1 - right:.3f}"))
    if utility.left_out:
        rows.insert(2, ("rows left out", "", f"{utility.left_out:,}"))
        rows.append(("detail lost, rows there", "0", f"{utility.gcp_released:.3f}"))
    if (change := result.report.two_way.mean) is not None:
        rows.append(("wrong cell, cross tables", "0", f"{change:.3f}"))
    if (agreement := result.report.coefficients) is not None:
        rows.append(("coefficients in interval", f"{agreement.coefficients:,}", f"{agreement.inside:,}"))
    if (shared := result.report.weighted.mean_overlap) is not None:
        rows.append(("overlap of intervals", "1", f"{shared:.3f}"))
    for label, first, second in rows:
        print(f"{label:<24}{first:>12}{second:>12}")
    if result.report.made.why:
        print(result.report.made.why)
    print()
    print_regression(result.report.weighted.regression)
    print_checks(result.verification)
    print(result.report.isolation.sentence)
    print_gate(result.gate, [finding for finding in result.gate.findings if finding.severity is Severity.STOPS])


def print_regression(regression: "NamedRegression | None") -> None:
    """Print the regression that the steward named, before and after; nothing without one."""
    if regression is None:
        return
    print(f"{regression.model.capitalize()}: {regression.formula}; 95% intervals before and after, and their overlap")
    for term in regression.terms:
        first, second = interval_text(term.before), interval_text(term.after)
        print(f"  {term.title:<28}{first:>36}{second:>36}{overlap_text(term.overlap):>8}")
    print()
