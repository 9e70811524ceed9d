"""The same flow from a terminal: ``copse anonymize`` and ``verify``; ``python -m anonymizer`` is the same program.

Exit status: 0 when all is well, 1 when a check fails, 2 with one line on bad input. Tables go to standard output,
progress and errors to standard error; ``--json`` prints one JSON object instead of a table.
"""

import argparse
import io
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from anonymizer.cli.app import add_app
from anonymizer.cli.attack import add_attack
from anonymizer.cli.disclosure import add_disclosure
from anonymizer.cli.earlier import LAST_TIME, add_earlier, earlier_of
from anonymizer.cli.evaluate import add_evaluate
from anonymizer.cli.files import add_engine, engine_of, run_apart, run_files, run_verify_folder, say_as_one
from anonymizer.cli.forest import add_forest
from anonymizer.cli.hierarchy import add_hierarchy
from anonymizer.cli.key import add_key, signing_key
from anonymizer.cli.ledger import add_ledger, add_ledger_options, ledger_of, write_entered
from anonymizer.cli.options import (
    ProgressBar,
    add_codebook,
    add_cuts,
    add_population,
    add_reading,
    add_roles,
    add_settings,
    ask_password,
    close_output,
    escape_unwritable,
    names,
    population_from,
    print_checks,
    print_json,
    reading_of,
    require_roles,
    schema_of,
    settings_of,
    take_addresses,
)
from anonymizer.cli.packet import add_packet, packet_paths, write_packets
from anonymizer.cli.plan import add_check, add_diff, add_init, add_release
from anonymizer.cli.project import add_plan, decided, print_changes, print_then_and_now, say_what_is_new, take_decisions
from anonymizer.cli.reports import (
    add_gate,
    add_reports,
    attacks_of,
    print_attacks,
    print_gate,
    reasons_of,
    report_paths,
    statement_of,
    write_reports,
)
from anonymizer.cli.risk import add_risk
from anonymizer.cli.typed import complaint, typed_in
from anonymizer.cli.verify import add_verify
from anonymizer.cli.warm import compile_loops, is_compiled
from anonymizer.databases.address import Address, redacted
from anonymizer.databases.write import require_place, write_release
from anonymizer.drawing.surveys import interval_text, overlap_text
from anonymizer.errors import AnonymizerError, ParameterError, Progress
from anonymizer.flow import Flow
from anonymizer.gate.finding import Severity
from anonymizer.ledger.ledger import Ledger
from anonymizer.measuring.named_regression import NamedRegression
from anonymizer.pipeline import Result, run_flow
from anonymizer.provenance.report import Report
from anonymizer.reading.files import Reading
from anonymizer.releasing.files import require_different_files, write_file
from anonymizer.releasing.release import ENDINGS, FORMATS
from anonymizer.schema import Schema
from anonymizer.settings import RUN, Settings, in_text, name_of, setting_names
from anonymizer.version import VERSION

BAD_INPUT = 2
PIPE_CLOSED = 141
"""As a shell says of a program that wrote to a pipe which nobody reads any more."""
PROGRAM = "copse"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    escape_unwritable()
    try:
        try:
            return run(parsed(sys.argv[1:] if arguments is None else arguments))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        close_output()
        return PIPE_CLOSED


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command; ``arguments``: as they were typed, ``typed``: the options that stand there,
    ``apart``: what runs the command on a table in pieces, in another process."""
    name = next(iter(arguments), None)
    options = commands(name).parse_args(arguments)
    options.arguments, options.typed, options.apart = list(arguments), typed_in(commands(name), arguments), in_pieces
    return options


def in_pieces(_: bytes, words: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Return the exit status of a command on a table in pieces, and what it printed."""
    options = parsed(words["arguments"])
    with redirect_stderr(io.StringIO()):  # said already, where this process was started from
        take_decisions(options)
    errors, printed = io.StringIO(), io.TextIOWrapper(io.BytesIO(), words["encoding"], "backslashreplace", "")
    run_pieces = run_files if options.command == "anonymize" else run_verify_folder
    with redirect_stderr(errors), redirect_stdout(printed):
        status = run_pieces(options, progress)
    printed.seek(0)
    return {"status": status, "printed": printed.read(), "errors": errors.getvalue()}


def run(options: argparse.Namespace) -> int:
    """Run the command that the options name, and return its exit status; errors of the input become one line."""
    try:
        take_decisions(options)
        take_addresses(options)
        require_different_files(files_of(options, "reads"), files_of(options, "writes"))
        if needs_loops(options) and not is_compiled():
            show_compiling()
        return int(options.run(options))
    except AnonymizerError as error:
        print(f"{PROGRAM}: {redacted(' '.join(str(error).split()))}", file=sys.stderr)
        print_notes(error)
        if error.row is None and error.in_full != error.problem:  # no place where the value could be looked up
            print(error.in_full)
        return BAD_INPUT
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"{PROGRAM}: {redacted(str(error.filename or 'a file'))}: {error.strerror or error}.", file=sys.stderr)
        print_notes(error)
        return BAD_INPUT
    except KeyboardInterrupt as error:
        print(f"{PROGRAM}: stopped; nothing more was written.", file=sys.stderr)
        print_notes(error)
        return 130


def print_notes(error: BaseException) -> None:
    """Print what else is to be known where a command ended so, such as an entry whose file was not written."""
    for note in getattr(error, "__notes__", ()):
        print(f"{PROGRAM}: {note}", file=sys.stderr)


def needs_loops(options: argparse.Namespace) -> bool:
    """Return True when a command waits for compiled loops; a check of a file alone does not."""
    return options.command not in ("app", "attack", "compile", "ledger", "risk") and (
        options.command != "verify" or bool(options.original)
    )


class OneLine(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {redacted(complaint(message))} (try --help)\n")


def files_of(options: argparse.Namespace, what: str) -> dict[str, str | None]:
    """Return the files that a command "reads" or "writes", by what they are called on the command line."""
    files = {name: getattr(options, name) for name in getattr(options, what, ())}
    return {
        "the input" if name == "input" else f"--{name}": None if isinstance(path, Address) else path
        for name, path in files.items()
    }


def commands(name: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands, or of the one of this name, which is made in a tenth of the time."""
    parser = OneLine(prog=PROGRAM, description="Release personal data safely.")
    parser.add_argument("--version", action="version", version=f"Copse {VERSION}")
    subparsers = parser.add_subparsers(dest="command", required=True, parser_class=OneLine)
    for add in [ADDERS[name]] if name in ADDERS else dict.fromkeys(ADDERS.values()):
        add(subparsers)
    return parser


def add_anonymize(subparsers: Any) -> None:
    """Add the command."""
    make = subparsers.add_parser("anonymize", help="from a table to a checked release and its report")
    make.add_argument(
        "input", nargs="?",
        help="csv, json, parquet, feather, xlsx, sav, dta, sas7bdat, xpt; sample:NAME; or the address of a database "
        "(default: that of --plan)",
    )  # fmt: skip
    add_plan(make)
    add_run(make)


def add_run(make: argparse.ArgumentParser) -> None:
    """Add the options of a run."""
    add_roles(make)
    add_codebook(make)
    add_cuts(make)
    make.add_argument(
        "--importance", action="append", default=[], metavar="COLUMN=2", help="how often the detail of a column counts "
        "where groups are refined or packed: more for one that a later release will have, too; can be repeated",
    )  # fmt: skip
    make.add_argument(
        "--project", metavar="FILE",
        help="take roles, reading and settings from last time's project, or from the packet of your own files; "
        "--plan goes before it",
    )  # fmt: skip
    add_reading(make)
    make.add_argument("--keep", type=names, default=[], metavar="K", help="columns that are released unchanged")
    make.add_argument(
        "--target",
        help="the sensitive column that errors are counted on, and that may guide the tree (default: the first)",
    )
    add_settings(make, *setting_names(*RUN, "attackers"))
    add_population(make)
    make.add_argument(
        "--polish", action="store_const", const="polish", dest="generalizer", help="--generalizer polish, in short"
    )
    make.add_argument("--out", help=f"where it goes: {ENDINGS}, the address of a new table; of pieces a new folder")
    add_engine(make)
    make.add_argument("--report", help="where the JSON report goes")
    make.add_argument("--override", default="", help="why a release that fails a check is written all the same")
    make.add_argument("--json", action="store_true", help="print the report as JSON; with --check, the findings")
    add_gate(make)
    add_earlier(make)
    add_ledger_options(make)
    add_reports(make)
    add_packet(make)
    make.set_defaults(
        run=run_anonymize, reads=("input", "schema", "codebook", "plan", "project", "population", *LAST_TIME),
        writes=("out", "report", "internal", "external", "packet", "internal_packet"),
    )  # fmt: skip


def add_compile(subparsers: Any) -> None:
    """Add the command."""
    ready = subparsers.add_parser("compile", help="compile now, so that no command has to wait for it later")
    ready.set_defaults(run=run_compile)


ADDERS: dict[str, Callable[[Any], None]] = {
    "anonymize": add_anonymize, "verify": add_verify, "compile": add_compile, "forest": add_forest,
    "audit": add_forest, "disclosure": add_disclosure, "evaluate": add_evaluate, "risk": add_risk,
    "attack": add_attack, "hierarchy": add_hierarchy, "ledger": add_ledger, "key": add_key, "app": add_app,
    "init": add_init, "release": partial(add_release, add_run=add_run), "check": partial(add_check, add_run=add_run),
    "diff": add_diff,
}  # fmt: skip
"""What adds each command to the parser."""


def flow_of(
    options: argparse.Namespace, reading: Reading, schema: Schema, settings: Settings, ledger: Ledger | None,
    show: ProgressBar,
) -> Flow:  # fmt: skip
    """Return the flow that the options ask for, with the releases that it is counted with, and reasons."""
    key = ledger.key if ledger else None
    flow = Flow(reading.frame, schema, settings, reading=reading, population=population_from(options), key=key)
    before = (*earlier_of(options, flow), *(ledger.earlier if ledger else ()))
    flow = flow.watch(show).but(earlier=before, keep=options.keep_earlier)
    return flow.but(reasons=reasons_of(options.reason, flow.judgement))


def roles_of(options: argparse.Namespace, reading: Reading, show: ProgressBar) -> Schema:
    """Return the schema of a table: of a plan or a project, whose table is compared with it, or of the options."""
    if options.decisions is not None:
        schema, changes = decided(options, reading)
        show.end()
        print_changes(options.decisions, changes, options.json)
    else:
        schema = schema_of(reading.frame, options, reading.variables)
        if not options.schema:
            require_roles(reading.frame, schema, options.keep)
    say_what_is_new(options)
    return schema


def run_anonymize(options: argparse.Namespace) -> int:
    """Run ``anonymize``: write the release and the report; return 1 when a required check fails, or something stands in
    the way that nobody gave a reason for."""
    require_input(options)
    if engine_of(options) != "memory":
        return run_apart(options)
    say_as_one(options)
    ending_of(options.out)
    paths, packets, settings = report_paths(options), packet_paths(options), settings_of(options)
    require_folders(options.out, options.report, *paths.values(), *packets.values())
    key = signing_key(options.sign) if options.sign else None
    ledger = ledger_of(options)
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
    report = result.report
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
        print_json(report.to_dict())
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
    return 0 if passed and not is_open else 1


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


def write_out(options: argparse.Namespace, flow: Flow, result: Result, ledger: Ledger | None, override: str) -> Report:
    """Write the release of a flow into a file or a new table, entered in a ledger before where there is one, and return
    the report of what was written. ``override``: why it leaves although a check failed."""
    out, report, release = options.out, result.report, result.release
    limits = {**flow.settings.limits.required, "population": flow.population}
    about = flow.schema, result.verification, limits

    def write(before: Callable[[str], object] | None) -> str:
        if isinstance(out, Address):
            return ask_password(out, lambda where: write_release(release, where, *about, before=before))
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
        print_json(gate.to_dict() | {"passed": passed and not gate.open})
    else:
        print_gate(gate, gate.findings)
    return 0 if passed and not gate.open else 1


def run_compile(options: argparse.Namespace) -> int:
    """Compile what is not compiled yet; return 0."""
    if not is_compiled():
        show_compiling()
    return 0


def show_compiling() -> None:
    """Compile, with a bar or lines: silence for a minute looks like a fault."""
    print("Copse compiles itself, once after every update; this takes a few minutes.", file=sys.stderr, flush=True)
    show = ProgressBar(lines=True)
    compile_loops(show)
    show.end()


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


def print_regression(regression: NamedRegression | None) -> None:
    """Print the regression that the steward named, before and after; nothing without one."""
    if regression is None:
        return
    print(f"{regression.model.capitalize()}: {regression.formula}; 95% intervals before and after, and their overlap")
    for term in regression.terms:
        first, second = interval_text(term.before), interval_text(term.after)
        print(f"  {term.title:<28}{first:>36}{second:>36}{overlap_text(term.overlap):>8}")
    print()
