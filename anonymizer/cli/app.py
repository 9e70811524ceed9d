"""The dashboard from a terminal: ``copse app``. Streamlit is started as the program it is; nothing here imports it."""

import argparse
import ipaddress
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from anonymizer.cli.operating import CHOICES
from anonymizer.errors import ParameterError, require_extra
from anonymizer.loop_cache import can_write

PACKAGE = Path(__file__).resolve().parents[1]
PLACES = (PACKAGE.parent / "copse", PACKAGE.parent)
"""Where the dashboard lies: in its own folder beside the installed package, or around it in the project's folder."""

LOOPS = "NUMBA_CACHE_DIR"
"""The environment variable that says where compiled loops lie, if not beside their sources."""
OVERWRITING = {
    "PYTHONMALLOC": "malloc",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "GLIBC_TUNABLES": "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0",
    "LD_BIND_NOW": "1",
}
"""Has freed memory overwritten, which else keeps records until something new is written there: the C library of most
Linux systems does that when it is told so before the program starts, and when Python and Arrow leave it every piece.
The linker finds every function at the start: later it would put aside what the processor holds of records meanwhile."""


I_KNOW, LOGIN = "COPSE_I_KNOW", "COPSE_LOGIN"
"""Environment variables: others may open the dashboard without a login of ours; the operator's file of a login."""


def add_app(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``app``; whatever else is typed goes to Streamlit."""
    for choice in CHOICES:
        if choice.option:
            value = {"action": "store_true"} if choice.option == "--i-know" else {"metavar": choice.option[2:].upper()}
            parser.add_argument(choice.option, dest=choice.variable, help=choice.words, **value)  # type: ignore[arg-type]
    parser.set_defaults(run=run_app)


def start(words: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return the words for Streamlit, and the environment variables, that stand for the words of a person.

    Raises :class:`ParameterError` for an option of ours that lacks its value.
    """
    parser = argparse.ArgumentParser(prog="copse app", add_help=False, allow_abbrev=False, exit_on_error=False)
    add_app(parser)
    try:
        values, rest = parser.parse_known_args(list(words))
    except argparse.ArgumentError as error:
        raise ParameterError(f"{error.argument_name}: {error.message}.") from error
    ours = {choice.variable for choice in CHOICES}
    environment = {
        name: "1" if value is True else value for name, value in vars(values).items() if value and name in ours
    }
    if LOGIN in environment:
        environment[LOGIN] = str(Path(environment[LOGIN]).resolve())
    return rest, environment


def is_loopback(address: str) -> bool:
    """Return whether an address or a name leads to this machine only."""
    try:
        number = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        return address.lower() == "localhost"
    return (getattr(number, "ipv4_mapped", None) or number).is_loopback


def refusal(address: str | None, hosts: Iterable[str], *, login: bool, knows: bool) -> str:
    """Return why the dashboard must not be started so, and what to do; nothing where it may.

    ``address``: that it listens to, ``None`` for all. ``hosts``: names under which it answers, any where there are
    none. ``login``: whether people sign in. ``knows``: whether the operator says that it may be open all the same.
    """
    names = list(hosts)
    open_to = [address or "all addresses"] if not is_loopback(address or "") else []
    open_to += [name for name in names if not is_loopback(name)] if names else ["any name"]
    if login or knows or not open_to:
        return ""
    return (
        f"others could open this dashboard ({', '.join(open_to)}), and nobody would ask them who they are. Configure a "
        f"login, as docs/OPERATING.md says, and start with --login FILE (COPSE_LOGIN=FILE); or, where something else "
        f"asks, say --i-know ({I_KNOW}=1). Nothing was started."
    )


def run_app(options: argparse.Namespace) -> int:
    """Serve the dashboard until it is stopped; raises :class:`ParameterError` where it is absent.

    It runs in its own folder, so that no settings of Streamlit are taken from the folder that somebody happens to be
    in: neither its look nor what keeps the data on this machine depends on that. Where a process can become another
    program, this one does.
    """
    words, more = start(options.words)
    require_extra("dashboard")
    os.chdir(dashboard())
    command = [sys.executable, "-m", "ui.door.start", *words]
    environment = {**os.environ, **OVERWRITING, **more, **writable_loops()}
    if os.name == "posix":
        os.execve(sys.executable, command, environment)
    return subprocess.run(command, env=environment, check=False).returncode


def writable_loops() -> dict[str, str]:
    """Return the environment in which numba takes the loops that lie, compiled, where nothing can be written: as on the
    read-only root of a container. It takes none from such a folder, so they are copied to one for temporary files."""
    ready = os.environ.get(LOOPS, "")
    if not os.path.isdir(ready) or can_write(Path(ready)):
        return {}
    copy = tempfile.mkdtemp(prefix="copse-loops-")
    shutil.copytree(ready, copy, dirs_exist_ok=True)
    return {LOOPS: copy}


def dashboard() -> Path:
    """Return the folder of the dashboard; raises :class:`ParameterError` where it was not installed."""
    for folder in PLACES:
        if (folder / "ui" / "shell.py").is_file():
            return folder
    raise ParameterError("The dashboard is not installed.", remedy="Install Copse again from its folder: pip install .")
