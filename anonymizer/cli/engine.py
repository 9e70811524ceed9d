"""Whether a table is read as one, in memory, or in pieces; and a run over pieces, in a process of its own."""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from anonymizer.abilities import require
from anonymizer.cli.inputs import settings_of
from anonymizer.cli.options import ENGINES, LAST_TIME, later
from anonymizer.cli.output import ProgressBar
from anonymizer.databases.address import Address
from anonymizer.errors import ParameterError, Progress
from anonymizer.partitions.places import is_delimited, is_remote, local_source
from anonymizer.reading.child import call_in_child
from anonymizer.reading.options import pieces_allowance
from anonymizer.releasing.files import remove_halves
from anonymizer.releasing.release import FORMATS
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


def engine_of(options: argparse.Namespace) -> str:
    """Return the engine that was chosen, or that suits the input: a folder or a pattern is read in pieces."""
    unused = [name for name in CLUSTER if getattr(options, name) is not None]
    if unused and options.engine != "dask":
        raise ParameterError(f"--{unused[0]} is of a cluster.", remedy="Leave it out, or choose --engine dask.")
    if not isinstance(options.input, str) or isinstance(options.out, Address):  # a table in a database
        if options.engine in ENGINES[1:]:
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
        from anonymizer.partitions.pieces import open_table

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
    ledger = None
    if options.command == "anonymize" and (options.ledger or options.to):
        ledger = later("ledger", "ledger_of")(options)
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
