"""What commands print: the result to standard output, and how far they are to standard error."""

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anonymizer.checking.verify import Verification


def escape_unwritable() -> None:
    """Have letters that standard output cannot write in its encoding be written as escapes, such as ``\\u20ac``."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


LAYOUTS = {
    "report": 1, "check": 1, "verify": 1, "attack": 1, "risk": 1, "evaluate": 1, "forest": 1, "audit": 1,
    "disclosure": 1, "diff": 1, "error": 1, "manifest": 1,
}  # fmt: skip
"""The layout of each thing that is written as JSON: another number when a program that reads it must be changed. Its
JSON Schema is in the folder ``schemas``, and ``copse schema`` prints it."""


def print_json(what: str, value: Mapping[str, Any]) -> None:
    """Print what is one of :data:`LAYOUTS`, with its layout, as JSON: in UTF-8, or, where standard output has another
    encoding, in ASCII, which suits all."""
    is_utf8 = re.sub(r"[-_]", "", sys.stdout.encoding or "").lower() == "utf8"
    print(json.dumps({"layout": LAYOUTS[what], **value}, ensure_ascii=not is_utf8, indent=2, allow_nan=False))


def close_output() -> None:
    """Let what is still to be printed go nowhere: whoever read standard output does not any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class ProgressBar:
    """A bar on standard error, when that is a terminal; ``lines``: otherwise a line for each step."""

    def __init__(self, *, lines: bool = False) -> None:
        self.on_terminal, self.lines = sys.stderr.isatty(), lines

    def __call__(self, share: float, what: str) -> None:
        """Show how far it is."""
        if self.on_terminal:
            done = round(30 * share)
            room = max(0, shutil.get_terminal_size().columns - 34)
            label = f"{what[:room]:<{room}}"
            print(f"\r[{'#' * done}{'.' * (30 - done)}] {label}", end="", file=sys.stderr, flush=True)
        elif self.lines:
            print(f"{share:4.0%} {what}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self.on_terminal:
            print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", file=sys.stderr, flush=True)


def print_checks(verification: "Verification") -> None:
    """Print every check in a sentence, then what the release is."""
    marks = {True: "ok    ", False: "FAILED", None: "      "}
    for check in verification.checks:
        print(f"{marks[check.passed]}  {check.sentence}")
    print()
    print(verification.describe())


class Silence(io.TextIOBase):
    """A stream that takes what is said beside the result, and prints nothing of it. It is a terminal where the stream
    in its place is one, so that a password can still be asked for."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Return the length of a text, which goes nowhere."""
        return len(text)

    def isatty(self) -> bool:
        """Return whether the stream in its place is a terminal."""
        return bool(self.stream.isatty())
