"""The same flow from a terminal: ``copse anonymize`` and ``verify``; ``python -m anonymizer`` is the same program.

Exit status: 0 when all is well, 1 when a check fails, 2 with one line on bad input. Results go to standard output,
progress and errors to standard error; ``--json`` prints one JSON object instead of a table, an error's too.
"""

import argparse
import io
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from anonymizer.cli.commands import COMMANDS, commands
from anonymizer.cli.options import later
from anonymizer.cli.output import Silence, close_output, escape_unwritable, print_json
from anonymizer.cli.parser import BAD_INPUT, PROGRAM, Late, typed_in
from anonymizer.databases.address import Address, address_from, is_address, redacted
from anonymizer.errors import AnonymizerError, ParameterError, Progress, ReadError, extras_by_name
from anonymizer.releasing.files import require_different_files

PIPE_CLOSED = 141
"""As a shell says of a program that wrote to a pipe which nobody reads any more."""
SAMPLE = "sample:"
FILES = "://"
"""What addresses of tables and files hold, and no name of a file here does."""


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
    name, as_json = next(iter(arguments), ""), "--json" in arguments
    if name == "app":
        options, _ = commands(name).parse_known_args(arguments)
        options.typed, options.words = frozenset(), list(arguments[1:])
    else:
        options = commands(name if name in COMMANDS else "", as_json=as_json).parse_args(arguments)
        options.typed = typed_in(commands(name), arguments)
    options.arguments, options.apart = list(arguments), in_pieces
    return options


def in_pieces(_: bytes, words: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Return the exit status of a command on a table in pieces, and what it printed."""
    options = parsed(words["arguments"])
    with redirect_stderr(io.StringIO()):  # said already, where this process was started from
        take_decisions(options)
    errors, printed = io.StringIO(), io.TextIOWrapper(io.BytesIO(), words["encoding"], "backslashreplace", "")
    run_pieces = later("files", "run_files" if options.command == "anonymize" else "run_verify_folder")
    with redirect_stderr(errors), redirect_stdout(printed):
        status = run_pieces(options, progress)
    printed.seek(0)
    return {"status": status, "printed": printed.read(), "errors": errors.getvalue()}


def run(options: argparse.Namespace) -> int:
    """Run the command that the options name, and return its exit status; errors of the input become one line."""
    quiet = getattr(options, "quiet", False)
    try:
        with redirect_stderr(Silence(sys.stderr)) if quiet else nullcontext():
            require_files(options)
            take_decisions(options)
            take_addresses(options)
            require_different_files(files_of(options, "reads"), files_of(options, "writes"))
            if needs_loops(options):
                later("compiling", "ensure_compiled")()
            with extras_by_name():
                return int(options.run(options))
    except AnonymizerError as error:
        place = {"column": error.column, "row": None if error.row is None else error.row + 1}
        more = {"problem": redacted(error.problem), "remedy": error.remedy or None, **place}
        say_error(options, " ".join(str(error).split()), error, **more)
        if error.row is None and error.in_full != error.problem and not getattr(options, "json", False):
            print(error.in_full)  # there is no place where the value could be looked up
        return BAD_INPUT
    except BrokenPipeError:
        raise
    except OSError as error:
        say_error(options, f"{error.filename or 'a file'}: {error.strerror or error}.", error)
        return BAD_INPUT
    except KeyboardInterrupt as error:
        say_error(options, "stopped; nothing more was written.", error)
        return 130


def say_error(options: argparse.Namespace, text: str, error: BaseException, **more: Any) -> None:
    """Print an error in one line, and what else is to be known where a command ended so, such as an entry whose file
    was not written; with ``--json`` on standard output, too."""
    text = redacted(text)
    print(f"{PROGRAM}: {text}", file=sys.stderr)
    for note in getattr(error, "__notes__", ()):
        print(f"{PROGRAM}: {note}", file=sys.stderr)
    if getattr(options, "json", False):
        error_words = {"problem": text} | {name: value for name, value in more.items() if value is not None}
        print_json("error", {"error": error_words})


def needs_loops(options: argparse.Namespace) -> bool:
    """Return True when a command waits for compiled loops; a check of a file alone does not."""
    without = ("app", "attack", "compile", "completion", "diff", "key", "ledger", "risk", "schema")
    return options.command not in without and (options.command != "verify" or bool(options.original))


def require_files(options: argparse.Namespace) -> None:
    """Raise :class:`ReadError` for a file that was typed and is not there, before anything is loaded."""
    for name in getattr(options, "reads", ()):
        path = getattr(options, name)
        if name not in options.typed or not isinstance(path, str) or path.startswith(SAMPLE) or is_address(path):
            continue
        if FILES not in path and not any(letter in path for letter in "*?[") and not Path(path).exists():
            raise ReadError(f"{path} cannot be opened: no such file.", remedy="Check its name and folder.")


def take_decisions(options: argparse.Namespace) -> None:
    """Have ``options.decisions`` be those of the plan and the project that are named, ``None`` without one."""
    options.decisions = None
    if getattr(options, "plan", None) or getattr(options, "project", None):
        later("project", "take_decisions")(options)


def take_addresses(options: argparse.Namespace) -> None:
    """Make addresses of databases of the options that may be such, before anything can show what was typed.

    Raises :class:`ReadError` for one that cannot be read, and :class:`ParameterError` where none may stand.
    """
    is_files_address = Late("anonymizer.partitions.places", "is_files_address")
    for option, value in vars(options).items():
        if not is_address(value) or option == "scheduler":
            continue
        if (option, options.command) != ("input", "anonymize") or not is_files_address(value):
            if option not in ("input", "original") and (option, options.command) != ("out", "anonymize"):
                called = "The input" if option == "input" else f"--{option.replace('_', '-')}"
                raise ParameterError(f"{called} cannot be a database here.", remedy="Name a file.")
            setattr(options, option, address_from(value))


def files_of(options: argparse.Namespace, what: str) -> dict[str, str | None]:
    """Return the files that a command "reads" or "writes", by what they are called on the command line."""
    files = {name: getattr(options, name) for name in getattr(options, what, ())}
    return {
        "the input" if name == "input" else f"--{name}": None if isinstance(path, Address) else path
        for name, path in files.items()
    }
