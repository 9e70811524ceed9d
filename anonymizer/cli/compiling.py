"""``copse compile``, and the wait before a command whose loops are not compiled yet."""

import argparse
import sys

from anonymizer.cli.output import ProgressBar
from anonymizer.cli.warm import compile_loops, is_compiled


def run_compile(options: argparse.Namespace) -> int:
    """Compile what is not compiled yet; return 0."""
    ensure_compiled()
    return 0


def ensure_compiled() -> None:
    """Compile what is not compiled yet, with a bar or lines: silence for a minute looks like a fault."""
    if is_compiled():
        return
    print("Copse compiles itself, once after every update; this takes a few minutes.", file=sys.stderr, flush=True)
    show = ProgressBar(lines=True)
    compile_loops(show)
    show.end()
