"""The dashboard from a terminal: ``copse app``. Streamlit is started as the program it is; nothing here imports it."""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from anonymizer.errors import ParameterError

PACKAGE = Path(__file__).resolve().parents[1]
PLACES = (PACKAGE.parent / "copse", PACKAGE.parent)
"""Where the dashboard lies: in its own folder beside the installed package, or around it in the project's folder."""

OVERWRITING = {
    "PYTHONMALLOC": "malloc",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "GLIBC_TUNABLES": "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0",
}
"""Has freed memory overwritten, which else keeps records until something new is written there: the C library of most
Linux systems does that when it is told so before the program starts, and when Python and Arrow leave it every piece."""


def add_app(subparsers: Any) -> None:
    """Add the command ``app``. Every word after it belongs to Streamlit, so no prefix marks an option of ours."""
    opened = subparsers.add_parser("app", help="open the dashboard", prefix_chars="\0", add_help=False)
    opened.add_argument("words", nargs="*", metavar="OPTION", help="of Streamlit: --server.port 8600")
    opened.set_defaults(run=run_app)


def run_app(options: argparse.Namespace) -> int:
    """Serve the dashboard until it is stopped; raises :class:`ParameterError` where it is absent.

    It runs in its own folder, so that no settings of Streamlit are taken from the folder that somebody happens to be
    in: neither its look nor what keeps the data on this machine depends on that. Where a process can become another
    program, this one does.
    """
    os.chdir(dashboard())
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *options.words]
    environment = {**os.environ, **OVERWRITING}
    if os.name == "posix":
        os.execve(sys.executable, command, environment)
    return subprocess.run(command, env=environment, check=False).returncode


def dashboard() -> Path:
    """Return the folder of the dashboard; raises :class:`ParameterError` where it was not installed."""
    for folder in PLACES:
        if (folder / "ui" / "shell.py").is_file():
            return folder
    raise ParameterError("The dashboard is not installed.", remedy="Install Copse again from its folder: pip install .")
