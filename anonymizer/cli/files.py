"""``anonymize FOLDER --engine local|dask --out FOLDER``, and ``verify FOLDER``: tables in pieces, from the terminal."""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from anonymizer.abilities import ENGINES, require
from anonymizer.cli.earlier import LAST_TIME
from anonymizer.cli.ledger import entry_words, ledger_of, print_together
from anonymizer.cli.options import (
    ProgressBar,
    limits_of,
    print_checks,
    print_json,
    read_options,
    require_roles,
    schema_of,
    settings_of,
)
from anonymizer.cli.project import decided_in_pieces
from anonymizer.cli.reports import print_gate
from anonymizer.cli.typed import typed_roles, with_typed
from anonymizer.databases.address import Address
from anonymizer.engines import IN_PIECES, anonymize_files
from anonymizer.errors import ParameterError, Progress
from anonymizer.gate.finding import Severity
from anonymizer.partitions.check import look_through, verify_folder
from anonymizer.partitions.folder import dictionary_schema, read_manifest, released_place
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.places import is_delimited, is_remote, local_source
from anonymizer.partitions.run import FilesResult
from anonymizer.partitions.values import first_rows
from anonymizer.provenance.claim import claim_from, roles_text, same_text
from anonymizer.provenance.report import schema_digest, schema_from
from anonymizer.reading.child import call_in_child
from anonymizer.reading.options import pieces_allowance
from anonymizer.releasing.files import remove_halves, write_file
from anonymizer.releasing.release import FORMATS
from anonymizer.schema import Schema
from anonymizer.settings import RUN, name_of
from anonymizer.values import plural

CLUSTER = ("scheduler", "workers", "memory", "spill")
ALONE = (
    "check", "project", "earlier", "attack", "packet", "internal_packet", "sign", "internal", "external", "population",
    "fraction", *LAST_TIME, "keep_earlier",
)  # fmt: skip
"""Options that take one table in memory."""
LARGE = 2_000_000
"""Records from which a Parquet file is read in pieces where a folder is to be written."""
LARGE_TEXT = 256 << 20
"""Bytes from which a file of delimited text is."""
FIRST = 100_000
"""Records in which roles that nobody gave are looked for."""


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the option that says whether a table is read as one or in pieces."""
    parser.add_argument(
        "--engine",
        choices=tuple(ENGINES),
        help="memory: one table; local: files in pieces, and a folder out (default: local for a folder, a pattern, an "
        f"address such as s3://, and, where --out is a folder, {LARGE:,} rows of Parquet or {LARGE_TEXT >> 20} MiB "
        "of text); dask: files of a folder here, on a cluster",
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="dask: of a cluster that is there: tls://HOST:8786")
    parser.add_argument("--workers", type=int, help="dask: processes to start on this machine (default: its cores)")
    parser.add_argument("--memory", metavar="SIZE", help="dask: of each worker that is started (default: 4GiB)")
    parser.add_argument("--spill", metavar="FOLDER", help="dask: where they keep what does not fit into memory")


def engine_of(options: argparse.Namespace) -> str:
    """Return the engine that was chosen, or that suits the input: a folder or a pattern is read in pieces."""
    unused = [name for name in CLUSTER if getattr(options, name) is not None]
    if unused and options.engine != "dask":
        raise ParameterError(f"--{unused[0]} is of a cluster.", remedy="Leave it out, or choose --engine dask.")
    if not isinstance(options.input, str) or isinstance(options.out, Address):  # a table in a database
        if options.engine in IN_PIECES:
            raise ParameterError("A table in a database is read and written as one.", remedy="Choose --engine memory.")
        return "memory"
    source, ending = local_source(options.input), options.out and options.out.lower().endswith(FORMATS)
    path = Path(source)
    pieces = (
        is_remote(source) or path.is_dir() or (not path.exists() and any(letter in str(source) for letter in "*?["))
    )
    if not options.engine and not pieces and options.out and not ending and path.is_file():
        pieces = bool(look_how_large(path))
    engine = options.engine or ("local" if pieces else "memory")
    require(engine, settings_of(options), None, options.input, alone_in(options))
    if engine != "memory" and ending:
        raise ParameterError(
            f"A table in pieces is released as a folder, not as {options.out}.", remedy="Name a folder."
        )
    return engine


def how_large(path: Path) -> str:
    """Return how large a file is, in words, where that is a reason to read it in pieces; "" where it is not."""
    if path.suffix.lower() == ".parquet":
        records = open_table(path).n_records
        return plural(records, "row") if records >= LARGE else ""
    size = path.stat().st_size if is_delimited(path) else 0
    return f"{size >> 20:,} MiB of text" if size >= LARGE_TEXT else ""


def look_how_large(path: Path) -> str:
    """Return what :func:`how_large` returns, found out in a process of its own: a footer is from outside, too."""
    return str(call_in_child(_how_large, str(path), name=path.name, allowance=pieces_allowance(), fork=True))


def _how_large(_: bytes, path: str, progress: Progress) -> str:
    return how_large(Path(path))


def say_as_one(options: argparse.Namespace) -> None:
    """Say in one line on standard error that a large file is read as one table, where nobody chose that."""
    path = Path(str(options.input))
    if options.engine or not isinstance(options.input, str) or not path.is_file() or alone_in(options):
        return
    if why := look_how_large(path):
        words = (
            "the table is read as one, in memory (--engine memory). In pieces, and written as a folder: --out FOLDER."
        )
        print(f"{why}: {words}", file=sys.stderr)


def alone_in(options: argparse.Namespace) -> list[str]:
    """Return the options in use that take one table in memory."""
    return ["--" + name.replace("_", "-") for name in ALONE if getattr(options, name)]


def choice_of(source: str) -> str:
    """Return why a table is read in pieces although nobody asked for that, in one line."""
    path = Path(local_source(source))
    why = (look_how_large(path) or "One file") if path.is_file() else "Many files"
    return f"{why}: the table is read in pieces (--engine local), and written as a folder. One table: --engine memory."


def run_apart(options: argparse.Namespace) -> int:
    """Run ``anonymize`` or ``verify`` on a table in pieces, in a copy of this process that takes no more than it may;
    return the exit status. Where that copy ends before it is done, nothing of what it began to write stays."""
    if options.command == "anonymize":
        if not options.out:
            raise ParameterError("A table in pieces is written into a new folder.", remedy="Name one: --out FOLDER.")
        if not options.engine:
            print(choice_of(options.input), file=sys.stderr)
    show = ProgressBar()
    ledger = ledger_of(options) if options.command == "anonymize" else None
    words = {"arguments": options.arguments, "encoding": sys.stdout.encoding or "utf-8"}
    try:
        with ledger.noted(Path(options.out).name) if ledger else nullcontext():
            answer = call_in_child(
                options.apart, words, name=Path(options.input).name, progress=show, allowance=pieces_allowance(),
                fork=True, writes=True,
            )  # fmt: skip
    except BaseException:
        for path in filter(None, (getattr(options, "out", None), options.report)):
            remove_halves(path)
        raise
    finally:
        show.end()
    sys.stderr.write(answer["errors"])
    sys.stdout.write(answer["printed"])
    return int(answer["status"])


def run_files(options: argparse.Namespace, progress: Progress) -> int:
    """Run ``anonymize`` on files in pieces: write the folder and the report; return the exit status."""
    reading = read_options(options)
    table = open_table(options.input, options=reading)
    rows = first_rows(table, FIRST, reading)
    schema = decided_in_pieces(options, rows) if options.decisions else schema_of(rows, options, whole=False)
    if not (options.schema or options.decisions):
        require_roles(rows, schema, options.keep)
    reasons = dict(text.partition("=")[::2] for text in options.reason)
    cluster = {name: getattr(options, name) for name in CLUSTER if getattr(options, name) is not None}
    ledger = ledger_of(options)
    result = anonymize_files(
        table, schema, options.out, options=reading, reasons=reasons, override=options.override,
        progress=progress, engine=options.engine or "local", cluster=cluster, ledger=ledger,
        words=entry_words(options), **settings_of(options).of(*RUN),
    )  # fmt: skip
    if options.report:
        write_file(options.report, result.to_json())
    if options.json:
        print_json(result.to_dict())
    else:
        print_files(result)
    return 0 if result.verification.passed and not result.gate.open else 1


def print_files(result: FilesResult) -> None:
    """Print a run over files as a short table, then its checks."""
    after = result.after
    print(f"{after.records:,} rows in {after.groups:,} groups, the smallest of {after.smallest:,}.")
    print(f"{name_of('measure', 'gcp')}: {sum(result.loss.values()) / len(result.loss):.3f}")
    print(result.made.why + "\n" * bool(result.made.why))
    print_checks(result.verification)
    for note in result.notes:
        print(note)
    print_together(result.gate)
    print(result.ledger_sentence + "\n" * bool(result.ledger_sentence), end="")
    print_gate(result.gate, [finding for finding in result.gate.findings if finding.severity is Severity.STOPS])
    if result.folder is not None:
        files = plural(len(result.manifest.parts), "file")
        print(f"Written: {result.folder}, {files}; manifest {result.manifest.sha256}")
    elif not result.gate.open:
        print('Not written, because a check failed. To write it all the same: --override "the reason".')


def run_verify_folder(options: argparse.Namespace, progress: Progress) -> int:
    """Run ``verify`` on a released folder, or its ZIP file, part by part; roles nobody gives are those of its
    dictionary."""
    claim = claim_from(options.report) if options.report else None
    if options.original:
        raise ParameterError("A folder is checked alone.", remedy="Leave --original out: the run compared them.")
    place = released_place(options.input)
    manifest = read_manifest(place)
    own, whose = (schema_from(options.schema), "schema") if options.schema else (None, "report" if claim else "folder")
    if options.decisions:
        own, whose = options.decisions.plan.schema_alone({}), "plan"
    schema = with_typed(own or (claim.schema if claim is not None else dictionary_schema(place)), options, whose)
    limits, others = limits_of(options, claim)
    if limits.pop("suppression"):
        raise ParameterError("No folder leaves rows out.", remedy="Leave --suppression out.")
    verification = verify_folder(place, schema, manifest=manifest, progress=progress, **limits)
    differences = () if claim is None else claim.differences(manifest.sha256, manifest.rows, schema)
    others_found, remarks = look_through(place, manifest, schema, claim)
    differences = differences or others_found
    remarks += own_roles(schema, options) if whose == "folder" else []
    passed = verification.passed and not differences
    if options.json:
        described = verification.to_dict() | {
            "schema_sha256": schema_digest(schema),
            "passed": passed,
            "remarks": remarks,
        }
        if claim is not None:
            described |= {"is_the_reported_file": not differences, "differences": list(differences)}
            described |= {"limits_not_the_reported": others}
        print_json(described)
        return 0 if passed else 1
    print_checks(verification)
    print(roles_text(schema))
    if claim is not None:
        print(same_text("folder", differences, others))
    for sentence in remarks:
        print(sentence)
    return 0 if passed else 1


def own_roles(schema: Schema, options: argparse.Namespace) -> list[str]:
    """Return which columns of a folder have roles that only its own dictionary says, in a sentence; none where each was
    typed."""
    typed = typed_roles(options)
    names = [name for name in schema.released if name not in typed]
    if not names:
        return []
    return [
        f"Only the folder's own dictionary says what these columns are: {', '.join(names)}. Use its report "
        "(--report), or name each with --quasi-identifying, --sensitive or --keep."
    ]
