"""Set up and open the dashboard, or set up and test: the only script a fresh machine needs.

Uses nothing but the standard library. Everything it installs goes into the folder ``.venv`` beside it.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - this line is for those who have an older one
    sys.exit("Copse needs Python 3.11 or newer, and this is " + sys.version.split()[0] + ". Try: python3.11 run.py")

HELP = """python run.py [COMMAND] [OPTIONS]

  (nothing)  set up, and open the dashboard; options go to Streamlit: python run.py --server.port 8600
  test       set up, and run every test, browser walks included; options go to pytest: python run.py test -k verify
  test --quick
             the same without browsers, servers, clusters, databases, and what takes more than a second: what to run
             after each change
  fuzz       set up, read thousands of damaged files, python run.py fuzz 5000 (of each kind; a second number says where
             their seeds begin), and run every case of the tests that are sweeps
  lint       set up, and check style, types and the imports between modules
  bench      set up, and run the benchmarks; options go to them
  mutate     set up, change the code of the rooms that keep a release's promises in places drawn at random, and show the
             changes that no test notices: python run.py mutate [ROOM [PLACES [SEED]]]
  solver     set up, and install casadi, which the Disclosure page asks for where the adversary knows how a tree was
             grown; its files hold METIS 4.0, which companies may use for evaluation only
  sbom       print the bill of materials (CycloneDX) of what Copse installs: python run.py sbom > copse.cdx.json
  audit-packages
             set up, and look up whether a weakness of any package is known
  docs       set up, and write the pages that are made from the code: docs/API.md and docs/walk.ipynb
  docs --serve
             set up, and show the documentation as a site at http://127.0.0.1:8000
  screenshots
             set up, and take a picture of every page at three widths in both themes; docs/screenshots keeps some
  help       this text"""

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "copse-setup.json"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Programs, looked for on the PATH, that the browser walks can drive."""

SIDE_BY_SIDE = ("-n", str(min(8, (os.cpu_count() or 2) + 1)), "--dist", "worksteal", "--durations", "30")
"""How pytest runs everything: one process more than there are processors, as walks often wait; eight at most."""

QUICK = ("-m", "not browser and not programs and not long")
"""What pytest leaves out where it must be quick."""

PIPE_CLOSED = 141
"""As a shell says of a program that wrote to a pipe which nobody reads any more."""

TO_OPEN = ("requirements.txt",)
TO_TEST = ("requirements.txt", "requirements-dev.txt", "requirements-solver.txt")
TO_SOLVE = ("requirements.txt", "requirements-solver.txt")
TO_BENCH = ("requirements.txt", "requirements-bench.txt")
TO_MUTATE = (*TO_TEST, "requirements-mutate.txt")


class SetupError(Exception):
    """A set-up that could not be finished, in words for the person at the terminal."""


def main(arguments: list[str]) -> int:
    """Do what the command line says, quietly where nobody reads what is printed any more; the exit status."""
    try:
        try:
            return run(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        return PIPE_CLOSED


def run(arguments: list[str]) -> int:
    """Do what the command line says; the exit status."""
    command, options = (arguments[0], arguments[1:]) if arguments else ("", [])
    try:
        if command == "" or (command.startswith("--") and command != "--help"):
            return open_dashboard(arguments)
        if command == "test":
            return test(options)
        if command == "fuzz" and all(map(str.isdecimal, options)) and len(options) <= 2:
            return fuzz(*options)
        if command == "lint" and not options:
            return lint()
        if command == "bench":
            return call([compile_package(set_up(TO_BENCH)), "-m", "benchmarks", *options])
        if command == "mutate":
            return call([compile_package(set_up(TO_MUTATE)), "-m", "benchmarks.mutants", *options])
        if command == "solver" and not options:
            set_up(TO_SOLVE)
            return 0
        if command == "sbom" and not options:
            import supply

            return supply.print_bill()
        if command == "audit-packages" and not options:
            import supply

            return supply.audit(set_up(TO_TEST))
        if command == "docs" and not options:
            return call([set_up(TO_OPEN), "-m", "docs.generate"])
        if command == "docs" and options == ["--serve"]:
            os.environ["NO_MKDOCS_2_WARNING"] = "1"
            return call([set_up(TO_TEST), "-m", "mkdocs", "serve"])
        if command == "screenshots" and not options:
            return call([compile_package(set_up(TO_TEST)), "-m", "docs.screenshots"])
    except SetupError as problem:
        print(f"\n{problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(HELP)
    return 0 if command in ("help", "--help", "-h") else 2


def open_dashboard(options: list[str]) -> int:
    """Serve the dashboard until the person stops it; to this machine only, unless the options say otherwise."""
    return call([set_up(TO_OPEN), "-m", "anonymizer", "app", *options])


def test(options: list[str]) -> int:
    """Run the tests, those that start no programs where ``--quick`` is first; where no Chromium is found, Playwright's
    own is fetched first."""
    python = compile_package(set_up(TO_TEST))
    if options[:1] == ["--quick"]:
        return call([python, "-m", "pytest", *SIDE_BY_SIDE, *QUICK, *options[1:]])
    if not any(map(shutil.which, BROWSERS)):
        print("No Chromium found; fetching one for the browser walks.", flush=True)
        if call([python, "-m", "playwright", "install", "chromium"]) != 0:
            print("That failed. The browser walks will be skipped; install Chromium or Chrome to run them.", flush=True)
    return call([python, "-m", "pytest", *SIDE_BY_SIDE, *options])


def fuzz(cases: str = "2000", first: str = "0") -> int:
    """Read so many damaged files of each kind, with seeds from ``first``, and run every case of the tests that are
    sweeps."""
    python = compile_package(set_up(TO_TEST))
    os.environ.update(COPSE_FUZZ_CASES=cases, COPSE_FUZZ_SEED=first, COPSE_SWEEPS="1")
    files = call([python, "-m", "pytest", "tests/fuzz", "-q"])
    return call([python, "-m", "pytest", *SIDE_BY_SIDE, "-m", "sweep or made_up", "-q"]) or files


def lint() -> int:
    """Run every checker, even after one has complained."""
    python = set_up(TO_TEST)
    checkers = {
        "style": ["-m", "ruff", "check", "."],
        "layout": ["-m", "ruff", "format", "--check", "."],
        "types": ["-m", "mypy"],
        "imports": ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
    }
    failed = []
    for what, options in checkers.items():
        print(f"--- {what}", flush=True)
        if call([python, *options]) != 0:
            failed.append(what)
    print(f"Not in order: {', '.join(failed)}." if failed else "All in order.", flush=True)
    return 1 if failed else 0


def call(command: list[str]) -> int:
    """Run a program in the project's folder and wait for it; its exit status."""
    with subprocess.Popen(command, cwd=ROOT) as process:
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())  # it must not outlive us
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue  # the program got it too, and ends in its own way


def compile_package(python: str) -> str:
    """Compile what the package needs, with a bar, unless that was done before; return the path of the Python."""
    if call([python, "-m", "anonymizer", "compile"]) != 0:
        raise SetupError("Copse could not be compiled; the lines above say why.")
    return python


def set_up(requirements: tuple[str, ...]) -> str:
    """Bring ``.venv`` in line with the requirement files, unless it is already; the path of its Python."""
    digests = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in requirements}
    stamp = read_stamp()
    version = version_of(venv_python())
    if version and stamp.get("python") == version and digests.items() <= stamp.get("installed", {}).items():
        return str(venv_python())
    usable = version is not None and version >= [3, 11] and (uv() or importable(venv_python(), "pip"))
    if not usable or stamp.get("unfinished") or stamp.get("python", version) != version:
        remove_venv()
        make_venv()
        stamp = {}
    print("Setting up (once; a minute or two): installing what Copse needs into .venv", flush=True)
    stamp = {"python": version_of(venv_python()), "installed": stamp.get("installed", {})}
    STAMP.write_text(json.dumps({**stamp, "unfinished": True}), encoding="utf-8")
    install(requirements)
    installed = {**stamp["installed"], **digests}
    STAMP.write_text(json.dumps({**stamp, "installed": installed}, indent=1), encoding="utf-8")
    return str(venv_python())


def read_stamp() -> dict:
    """Return what an earlier set-up wrote down: empty where there was none, marked unfinished where it is damaged."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except OSError:
        return {}
    except ValueError:
        return {"unfinished": True}
    return stamp if isinstance(stamp, dict) else {"unfinished": True}


def venv_python() -> Path:
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def version_of(python: Path) -> list[int] | None:
    """Return the version of an interpreter, or None where it does not start."""
    probe = [str(python), "-c", "import json, sys; print(json.dumps(sys.version_info[:3]))"]
    try:
        answer = subprocess.run(probe, capture_output=True, text=True, timeout=60, check=True)
        return json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def importable(python: str | Path, module: str) -> bool:
    """Return whether an interpreter has a module."""
    probe = [str(python), "-c", f"import {module}"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def uv() -> list[str]:
    """Return the command of uv; nothing where this machine has none."""
    path = shutil.which("uv")
    if path:
        return [path]
    return [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") else []


def base_python() -> str:
    """Return the interpreter behind this one: a virtual environment is not built from another."""
    return getattr(sys, "_base_executable", None) or sys.executable


def remove_venv() -> None:
    """Clear the place of ``.venv``; a folder there that is no virtual environment is left alone."""
    if not VENV.exists() and not VENV.is_symlink():
        return
    if VENV.is_symlink() or not VENV.is_dir():
        raise SetupError(f"{VENV} is in the way: move it elsewhere and start again.")
    if any(VENV.iterdir()) and not (VENV / "pyvenv.cfg").exists() and not STAMP.exists():
        raise SetupError(f"{VENV} is not a virtual environment: move it elsewhere and start again.")
    print("The .venv folder is not usable; making it anew.", flush=True)
    try:
        shutil.rmtree(VENV)
    except OSError as problem:
        raise SetupError(f"{VENV} could not be removed ({problem}). Remove it and start again.") from problem


def make_venv() -> None:
    """Make an empty virtual environment; without pip in it where something else can install."""
    if uv():
        command = [*uv(), "venv", "--quiet", "--python", base_python(), str(VENV)]
    elif importable(base_python(), "ensurepip"):
        command = [base_python(), "-m", "venv", str(VENV)]
    elif importable(base_python(), "pip"):
        command = [base_python(), "-m", "venv", "--without-pip", str(VENV)]
    else:
        raise SetupError(
            "This Python can make no virtual environment with pip in it. On Debian or Ubuntu: "
            "apt install python3-venv. Elsewhere: install Python from python.org, or uv. Then start again."
        )
    if call(command) != 0:
        raise SetupError(f"No virtual environment could be made in {VENV}; the lines above say why.")


def install(requirements: tuple[str, ...]) -> None:
    """Install the requirement files together, so that they agree."""
    hashed = ["--require-hashes"]  # only files whose digest is in the requirement files
    files = [word for name in requirements for word in ("-r", name)]
    python = str(venv_python())
    if uv():
        command = [*uv(), "pip", "install", "--quiet", *hashed, "--python", python, *files]
    elif importable(python, "pip"):
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *hashed, *files]
    else:
        command = [base_python(), "-m", "pip", "--python", python, "install", "--quiet", *hashed, *files]
    if call(command) != 0:
        raise SetupError(
            "The packages in " + " and ".join(requirements) + " could not be installed; the lines above say why. "
            "Check the connection to the package index and the free space on the disk (about 2 GB), and that this "
            "is Python 3.11 to 3.13. Then start again: what was fetched is kept."
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
