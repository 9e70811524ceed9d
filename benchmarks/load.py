"""What many sessions at once take: first pages, the slider, the health answer, memory, refusals.

    python run.py bench load --sessions 20 --movers 8 --turns 2 1000 --browser

A server is started as the README says. Every session is a page over a WebSocket that speaks the framework's protocol:
it brings Adult, gives roles, opens the Tree page and moves k. Sessions that *work* move k without a pause. Client and
server share the machine. ``--turns``: how many sessions may compute at once (COPSE_TURNS), one server each; a thousand
is as if there were no turns. Adult is read from ``../shared/data``.
"""

import argparse
import itertools
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import requests

from benchmarks._mouse import Served, chromium, serve
from benchmarks.flow import ADULT
from tests.server.visitor import HEALTH, Refusal, Visitor

K = "Group size, k"
MOVES = (11, 14, 17, 20, 25, 19, 13, 10)
PACES = (0.0, 2.0, 5.0)
"""Seconds between two moves of a session: of a program that never pauses, and of hands."""


def words(seconds: list[float]) -> str:
    """Return the median and the most of some seconds as text, and how many they are."""
    if not seconds:
        return "none"
    return f"median {statistics.median(seconds):.2f} s, most {max(seconds):.2f} s ({len(seconds)})"


def bring(visitor: Visitor) -> float:
    """Bring Adult, give its roles, and open the Tree page; seconds of the latter."""
    visitor.upload(ADULT.read_bytes(), ADULT.name)
    visitor.open("roles")
    visitor.click("Accept suggestions")
    visitor.click("Make the rest")
    visitor.choose("Which sensitive column", "income")
    return visitor.open("tree")


class Crowd:
    """Sessions that came in at once: ``inside``, and what the others were told, ``refused`` or ``lost``."""

    def __init__(self, address: str, n_sessions: int) -> None:
        self.address, self.inside = address, list[Visitor]()
        self.pages, self.trees = list[float](), list[float]()
        self.refused, self.lost = list[str](), list[str]()
        self.all_inside(n_sessions)

    def all_inside(self, n_sessions: int) -> None:
        """Let so many sessions in at once, each with its tree."""
        with ThreadPoolExecutor(n_sessions) as pool:
            list(pool.map(lambda _: self.enter(), range(n_sessions)))

    def enter(self) -> None:
        """Open a page and bring the table."""
        began = time.perf_counter()
        try:
            visitor = Visitor(self.address, 300.0)
            visitor.open()
            self.pages.append(time.perf_counter() - began)
            self.trees.append(bring(visitor))
            self.inside.append(visitor)
        except Refusal as refusal:
            self.refused.append(str(refusal))
        except Exception as error:
            self.lost.append(f"{type(error).__name__}: {error}"[:200])

    def leave(self) -> None:
        """Close every page."""
        for visitor in self.inside:
            visitor.close()


def move(visitor: Visitor, until: Callable[[], bool], pause: float, begin: float = 0.0) -> list[float]:
    """Move k until it is enough; seconds of every move. ``pause``: seconds between the begins of two."""
    took = []
    time.sleep(begin)
    for k in itertools.cycle(MOVES):
        if until():
            return took
        took.append(visitor.move(K, k))
        time.sleep(max(0.0, pause - took[-1]))
    return took


@contextmanager
def working(visitors: list[Visitor], pause: float = 0.0) -> Iterator[list[float]]:
    """Have sessions move k as long as the block lasts; yields the seconds of their moves once it is over."""
    stop, took = threading.Event(), list[float]()
    gap = pause / max(1, len(visitors))
    with ThreadPoolExecutor(max(1, len(visitors))) as pool:
        works = [pool.submit(move, visitor, stop.is_set, pause, gap * at) for at, visitor in enumerate(visitors)]
        yield took
        stop.set()
        took.extend(second for work in works for second in work.result())


def first_page(address: str) -> float:
    """Return the seconds until a first page is drawn; of one that is refused, until it is told so."""
    began = time.perf_counter()
    visitor = Visitor(address, 300.0)
    try:
        visitor.open()
    except Refusal:
        pass
    finally:
        visitor.close()
    return time.perf_counter() - began


def health(address: str) -> float:
    """Return the seconds that the answer about health takes."""
    began = time.perf_counter()
    requests.get(address + HEALTH, timeout=300)
    return time.perf_counter() - began


class Meter:
    """The processor time that the server takes in a block, and how much of the machine is busy."""

    def __init__(self, served: Served) -> None:
        self.process = psutil.Process(served.process)

    def __enter__(self) -> "Meter":
        self.began, self.used, self.busy = time.perf_counter(), self.processor_time(), busy_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self.began
        self.used, self.busy = self.processor_time() - self.used, busy_time() - self.busy

    def processor_time(self) -> float:
        """Return the seconds of processors that the server used until now."""
        times = self.process.cpu_times()
        return times.user + times.system

    def words(self, moves: int) -> str:
        """Return what was used in words. ``moves``: of k in the block."""
        a_move = f"{self.used / moves:.2f} s a move, " if moves else ""
        return f"{a_move}{self.used / self.seconds:.2f} cores of {self.busy / self.seconds:.2f} that were busy"


def busy_time() -> float:
    """Return the seconds for which the processors of this machine were busy until now."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait)


def measure(served: Served, n_sessions: int, n_movers: int, seconds: float, in_browser: bool) -> None:
    """Let the sessions in and print every figure."""
    process = psutil.Process(served.process)
    first_page(served.address)
    time.sleep(10)  # the warm-up
    before = process.memory_info().rss
    stop, beats = threading.Event(), list[float]()

    def beat() -> None:
        while not stop.wait(1.0):
            beats.append(health(served.address))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(beat)
        crowd = Crowd(served.address, n_sessions)
        stop.set()
    each = (process.memory_info().rss - before) / 1e6 / max(1, len(crowd.inside))
    print(f"\n{n_sessions} sessions at once, each brings Adult and opens the Tree page")
    print(f"  first page          {words(crowd.pages)}")
    print(f"  tree drawn          {words(crowd.trees)}")
    print(f"  health meanwhile    {words(beats)}")
    print(f"  refused             {len(crowd.refused)}: {sorted(set(crowd.refused))}")
    print(f"  without a sentence  {len(crowd.lost)}: {sorted(set(crowd.lost))}")
    print(
        f"  memory              {each:.0f} MB a session, {process.memory_info().rss / 1e6:,.0f} MB in all", flush=True
    )

    def probe(n_working: int, pause: float, what: str, ask: Callable[[], float] | None) -> None:
        answers, beats = list[float](), list[float]()
        with Meter(served) as meter, working(crowd.inside[:n_working], pause) as moves:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                if ask is not None:
                    answers.append(ask())
                beats.append(health(served.address))
                time.sleep(1.0)
        print(f"\n{n_working} sessions move k " + (f"every {pause:g} s" if pause else "without a pause"))
        print(f"  their slider        {words(moves)}\n  health              {words(beats)}")
        if ask is not None:
            print(f"  {what:<20}{words(answers)}")
        print(f"  processor           {meter.words(len(moves))}", flush=True)

    if len(crowd.inside) <= n_movers:
        print(f"\nOnly {len(crowd.inside)} sessions are inside, so {n_movers} cannot work while another waits.")
        crowd.leave()
        return
    probe(n_sessions, 0.0, "first page", lambda: first_page(served.address))
    if in_browser:
        with working(crowd.inside):
            print(f"  in Chromium         first page {chromium_page(served.address):.2f} s", flush=True)
    idle, at = crowd.inside[-1], itertools.cycle(MOVES)
    for pause in PACES:
        probe(n_movers, pause, "slider of another", lambda: idle.move(K, next(at)))
    probe(1, 0.0, "", None)
    crowd.leave()


def chromium_page(address: str) -> float:
    """Return the seconds until Chromium has drawn the first page."""
    with chromium() as page:
        began = time.perf_counter()
        page.goto(address)
        page.get_by_test_id("stFileUploaderDropzone").first.wait_for()
        return time.perf_counter() - began


def main(arguments: list[str]) -> int:
    """Parse the options and measure."""
    parser = argparse.ArgumentParser(prog="bench load", description=__doc__.split("\n")[0])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--movers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    parser.add_argument("--browser", action="store_true", help="one first page in Chromium, too")
    parser.add_argument("--turns", type=int, nargs="+", default=[0], help="one server for each; 0: the default")
    options = parser.parse_args(arguments)
    if not 0 < options.movers < options.sessions:
        parser.error(
            f"of {options.sessions} sessions 1 to {options.sessions - 1} can work (--movers), for one more has to wait."
        )
    if not ADULT.exists():
        print(f"The data set {ADULT.name} is not in ../shared/data, so there is nothing to measure.")
        return 1
    for turns in options.turns:
        if turns:
            os.environ["COPSE_TURNS"] = str(turns)
        load = psutil.getloadavg()[0]
        with serve() as served:
            print(f"\nCOPSE_TURNS: {os.environ.get('COPSE_TURNS', 'as by default')}")
            measure(served, options.sessions, options.movers, options.seconds, options.browser)
        print(
            f"\nmachine load {load:.1f} before, {psutil.getloadavg()[0]:.1f} after, on {os.cpu_count()} cores",
            flush=True,
        )
    return 0
