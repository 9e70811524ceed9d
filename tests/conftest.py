"""What tests share: the public tables beside the project, a served dashboard, a real browser.

What is absent skips the tests that need it, with a reason. Where the environment variable ``COPSE_REQUIRE`` names
it (``shared``, ``browser``, ``postgresql``, ``haven``, with commas), the same tests fail instead: nothing is skipped
unseen.
"""

import atexit
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import hypothesis
import psutil
import pytest

from run import BROWSERS
from tests import copies
from tests.copies import begin
from tests.databases.cluster import Cluster, cluster, find_programs
from tests.sweeps import SWEEPS, few
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT.parent / "shared" / "data"
REQUIRED = frozenset(filter(None, re.split(r"[,\s]+", os.environ.get("COPSE_REQUIRE", ""))))
LAUNCH = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
COMMAND = [sys.executable, "-m", "anonymizer", "app"]
"""Opens the dashboard in the project's folder."""

KEY = Path(tempfile.mkdtemp(prefix="copse-tests-")) / "key"
"""The key of packing, of all that runs here and of every program that is started from here."""
atexit.register(shutil.rmtree, KEY.parent, ignore_errors=True)
KEY.write_bytes(bytes(range(32)))
KEY.chmod(0o600)
os.environ["COPSE_KEY_FILE"] = str(KEY)

hypothesis.settings.register_profile(
    "copse", max_examples=few(100), deadline=None, derandomize=bool(os.environ.get("CI"))
)
hypothesis.settings.load_profile("copse")


# A program of its own.


def run_python(command: list[str], folder: Path, real: bool = False) -> str:
    """What a program that must succeed prints; it runs in ``folder`` and finds the package. ``real``: it begins as for
    users, not as a copy, which is quicker."""
    answer = (begin if real else copies.run)(command, folder)
    assert answer.returncode == 0, answer.stderr + answer.stdout
    return answer.stdout


@pytest.fixture(scope="session", autouse=sys.platform == "linux")
def quick_readers() -> Iterator[None]:
    """Children that read files begin as copies, in a tenth of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anonymizer.reading.child._start", copies.start_reader)
        yield


ATTACKED = re.compile(r"tests/(attacks/|gate/test_guidance|test_pipeline|test_settings|test_docs)")
"""Tests of figures that come from the attack which runs a method again; elsewhere it only stands in the way."""
UNMEASURED = re.compile(r"tests/(gate|ledger|suppression)/")
"""Tests that look at no figure of boxes read by one-way tables, which are half the time of a run."""


@pytest.fixture(scope="module", autouse=True)
def few_runs(request: pytest.FixtureRequest) -> Iterator[None]:
    """The attack that every judged release goes through runs the method eight times, not sixty, and where nobody looks
    at what comes of it, boxes are raked in two rounds, not sixty; not so in sweeps."""
    with pytest.MonkeyPatch.context() as patch:
        if not SWEEPS and UNMEASURED.search(request.path.as_posix()):
            patch.setattr("anonymizer.releasing.raking.rake.__defaults__", (2, 1e-3))
        if not SWEEPS and not ATTACKED.search(request.path.as_posix()):
            patch.setattr("anonymizer.attacks.guidance.RUNS", 8)
            patch.setattr("anonymizer.attacks.guidance.FEWEST", 4)
        yield


# What is absent: a skip, or a failure where it is required.


def absent(what: str, reason: str) -> None:
    """Skip the running test for want of ``what``; fail it when ``COPSE_REQUIRE`` names that."""
    if what in REQUIRED:
        pytest.fail(f"{reason} (COPSE_REQUIRE names {what})", pytrace=False)
    pytest.skip(reason)


def must_run(reason: str, is_browser: bool) -> bool:
    """Whether a test skipped for this reason should have run, however it came to be skipped."""
    if is_browser and "browser" in REQUIRED:
        return True
    if "postgresql" in REQUIRED and "PostgreSQL" in reason:
        return True
    if "haven" in REQUIRED and "haven" in reason:
        return True
    return "shared" in REQUIRED and ("empty parameter set" in reason or "shared" in reason)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)


def turn_into_failure(report: pytest.TestReport | pytest.CollectReport) -> None:
    report.longrepr = f"Skipped, but it should have run: {reason_of(report)}"
    report.outcome = "failed"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    is_browser = item.get_closest_marker("browser") is not None
    if report.skipped and not hasattr(report, "wasxfail") and must_run(reason_of(report), is_browser):
        turn_into_failure(report)
    if report.when == "call":
        item.stash[FAILED] = report.failed
    log = item.session.stash.get(SERVER_LOG, None)
    if report.failed and is_browser and log is not None and log.exists():
        report.sections.append(("what the dashboard's server said", log.read_text("utf-8", "replace")[-5000:]))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    report = yield
    is_browser = collector.path.is_relative_to(ROOT / "tests" / "browser")
    if report.skipped and must_run(reason_of(report), is_browser):
        turn_into_failure(report)
    return report


STUCK = 1.25 * PATIENCE
"""Seconds after which a walk's browser is ended: before pytest ends the process (``faulthandler_timeout``)."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """End the browser of a walk that is stuck: some calls to a browser have no limit in time, and when one fails, the
    test says where it was. Without this, the whole process of tests is ended later, and says nothing."""
    watch = threading.Timer(STUCK, end_browsers)
    watch.daemon = True
    if item.get_closest_marker("browser") is not None:
        watch.start()
    try:
        return (yield)
    finally:
        watch.cancel()


def end_browsers() -> None:
    """End all browsers of this process, and what drives them, by their process ids."""
    for program in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if program.name().startswith(("chrom", "node")):
                program.kill()


FAILED = pytest.StashKey[bool]()
SERVER_LOG = pytest.StashKey[Path]()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Name a failure at once where tests run side by side: a run that is ended before its summary says none."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and config.getoption("numprocesses", None):
        config.pluginmanager.register(Names(terminal))


class Names:
    """Says the name of every test that fails, and the last line of why."""

    def __init__(self, terminal: Any) -> None:
        self.terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            why = (report.longreprtext.strip().splitlines() or [""])[-1]
            self.terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}): {why}")


# Tests of many cases, of which some are enough for every day; and those that start programs of their own.

PROGRAMS = {"two", "postgresql", "app_server", "guarded", "alone", "own", "small_server", "wheel", "installed"}
"""Fixtures that start a server, a cluster, a database, or install something."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what starts programs, and properties that are tried on made-up cases. Leave out cases of tests marked as
    sweeps, unless all are wanted, or one is asked for by its name."""
    long = frozenset((ROOT / "tests" / "long.txt").read_text("utf-8").splitlines())
    for item in items:
        if item.nodeid.partition("[")[0] in long:
            item.add_marker("long")
        if PROGRAMS & set(getattr(item, "fixturenames", ())) or item.path.parent.name in ("workers", "server", "door"):
            item.add_marker("programs")
        if hypothesis.is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("made_up")
    if SWEEPS or any("[" in word for word in config.args):
        return
    sweeps: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sweep") is not None:
            sweeps.setdefault(item.nodeid.partition("[")[0], []).append(item)
    others = {case for cases in sweeps.values() for case in set(cases) - spread(cases)}
    config.hook.pytest_deselected(items=[item for item in items if item in others])
    items[:] = [item for item in items if item not in others]


def spread(cases: list[pytest.Item]) -> set[pytest.Item]:
    """As many of the cases as their mark says, evenly spread."""
    marker = cases[0].get_closest_marker("sweep")
    assert marker is not None
    (number,) = marker.args
    return {cases[place * len(cases) // number] for place in range(number)}


# The public tables.


@pytest.fixture(scope="session")
def data() -> Callable[[str], Path]:
    """Return the function that gives the path of a public table: ``data("adult.csv.gz")``."""

    def path(name: str) -> Path:
        table = TABLES / name
        if not table.is_file():
            absent("shared", f"the public table {name} is not in ../shared/data")
        return table

    return path


# A PostgreSQL server.


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A PostgreSQL server of the tests' own, on a socket in a folder, until the tests end."""
    programs = find_programs()
    if programs is None:
        absent("postgresql", "PostgreSQL is not installed (initdb)")
    with cluster(programs) as running:
        yield running


# The dashboard with a login.


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A dashboard with a login, and its provider: to a browser another site."""
    from tests.door.provider import run_provider
    from tests.door.signing_in import serve_guarded

    with run_provider() as provider, serve_guarded(tmp_path_factory.mktemp("guarded"), provider) as running:
        yield running


# The dashboard in a browser.


@pytest.fixture(scope="session")
def app_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the dashboard, served by a process of its own until the tests end."""
    if not (ROOT / "app.py").is_file():
        absent("browser", "there is no app.py to serve")
    log = tmp_path_factory.mktemp("dashboard") / "server.log"
    request.session.stash[SERVER_LOG] = log
    with serve(COMMAND, ROOT, log) as dashboard:
        yield dashboard.address


class Served(NamedTuple):
    """A dashboard that runs: its address, and the id of its process."""

    address: str
    process: int


def free_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serve(
    command: list[str],
    folder: Path,
    log: Path,
    environment: dict[str, str] | None = None,
    port: int | None = None,
    real: bool = False,
) -> Iterator[Served]:
    """Start the dashboard with a command that takes options of Streamlit, and serve it for as long as the block lasts.

    It runs in ``folder``, writes what it says to ``log``, and listens to this machine on ``port``, or on a free one.
    ``real``: it begins as for users, not as a copy, which is quicker.
    """
    port = port or free_port()
    options = {"server.port": port, "server.headless": "true"}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    server: subprocess.Popen[bytes] | copies.Program
    with log.open("wb") as output:
        if real or command[0] != sys.executable or sys.platform != "linux":
            server = subprocess.Popen(
                [*command, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        else:
            server = copies.begin_server([*command, *words], folder, environment or dict(os.environ), output.fileno())
    try:
        wait_for(server, f"http://127.0.0.1:{port}/_stcore/health", log)
        yield Served(f"http://127.0.0.1:{port}", server.pid)
    finally:
        server.terminate()
        try:
            server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_for(server: "subprocess.Popen[bytes] | copies.Program", address: str, log: Path) -> None:
    """Return once the server answers; fail, with what it said, when it ends or is silent for too long."""
    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"The dashboard did not start:\n{log.read_text('utf-8', 'replace')[-5000:]}", pytrace=False)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium: one on the PATH, or the one that Playwright keeps."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    if not Path(own).is_file():
        absent("browser", "no Chromium was found for the browser walks")
    return own


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """A running Chromium. It ends with its module, for its event loop would be in the way of other tests."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=list(LAUNCH))
        yield running
        running.close()


def patient(context: Any) -> Any:
    """A context of a browser, or a page, whose waits have the one limit of all tests."""
    context.set_default_timeout(1000 * PATIENCE)
    return context


@pytest.fixture
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """An empty page (Playwright, synchronous) that may download. A request to any other machine fails the test, and so
    does anything that the server's own policy forbids.

    When a test fails, ``test-output/`` gets a picture of its page.
    """
    context = patient(browser.new_context(accept_downloads=True, viewport={"width": 1400, "height": 1000}))
    foreign: list[str] = []
    forbidden: list[str] = []
    context.on("request", lambda fetch: foreign.append(fetch.url) if is_foreign(fetch.url) else None)
    context.on("console", lambda line: forbidden.append(line.text) if "Content Security" in line.text else None)
    opened = context.new_page()
    yield opened
    if request.node.stash.get(FAILED, False):
        name = re.sub(r"\W+", "-", request.node.nodeid).strip("-")[-120:]
        opened.screenshot(path=ROOT / "test-output" / f"{name}.png", full_page=True)
    context.close()
    assert not foreign, f"the page asked other machines: {foreign}"
    assert not forbidden, f"the page tried what the policy forbids: {forbidden}"


def is_foreign(address: str) -> bool:
    """Whether an address leads to another machine; a file of this one has no host."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        return bool(parts.hostname)
    return parts.scheme not in ("data", "blob", "about") and parts.hostname not in ("127.0.0.1", "localhost")
