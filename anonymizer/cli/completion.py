"""``copse completion SHELL``: what completes commands, options and their values while they are typed."""

import argparse

from anonymizer.cli.commands import commands
from anonymizer.cli.parser import Late
from anonymizer.errors import ParameterError

FILES = ("FILE", "JSON", "CSV", "HTML", "PARQUET", "PLAN", "KEY.pem", "FILE.zip", "REPORT.json", "FOLDER", "input",
         "another", "plan", "before", "after")  # fmt: skip
"""How the help writes what is the name of a file."""


def run_completion(options: argparse.Namespace) -> int:
    """Print the program of a shell; return 0. Raises :class:`ParameterError` without shtab, which writes it."""
    try:
        import shtab
    except ImportError as error:
        remedy = "Install Copse again from its folder: pip install ."
        raise ParameterError("Completion needs shtab, which is not installed.", remedy=remedy) from error
    parser = commands()
    subparsers = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for one in subparsers.choices.values():
        for action in one._actions:
            if isinstance(action.choices, Late):
                action.choices = list(action.choices)
            if str(action.metavar or action.dest) in FILES:
                action.complete = shtab.FILE
    print(shtab.complete(parser, shell=options.shell))
    return 0
