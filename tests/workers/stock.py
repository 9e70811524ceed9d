"""A scheduler and workers as an office has them: started by Dask's own commands, with its own defaults."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from distributed.security import Security

from tests.conftest import ROOT
from tests.waiting import PATIENCE
from tests.workers.runs import alive


class Stock(NamedTuple):
    """Where a scheduler is, the configuration of Dask with which a client joins it, the ``processes`` that were
    started, without their own, and the folders in which they write what they say and what they spill."""

    address: str
    config: dict[str, str]
    processes: list["subprocess.Popen[bytes]"]
    logs: Path
    spill: Path

    def words(self) -> str:
        """Return all that was said so far."""
        return "".join(log.read_text("utf-8", "replace") for log in sorted(self.logs.iterdir()))

    def everybody(self) -> list[psutil.Process]:
        """Return the processes and those that they have started."""
        roots = [psutil.Process(process.pid) for process in self.processes if process.poll() is None]
        return [process for root in roots for process in (root, *root.children(recursive=True))]


@contextmanager
def stock_cluster(folder: Path, workers: int = 2, threads: int = 2) -> Iterator[Stock]:
    """Yield a cluster on the loopback address, which has ended afterwards."""
    keys, logs, spill = folder / "keys", folder / "logs", folder / "spill"
    for made in (keys, logs, spill):
        made.mkdir(mode=0o700)
    files = write_keys(keys)
    tls = ["--protocol", "tls", "--host", "127.0.0.1", "--tls-ca-file", files["ca"], "--tls-cert", files["cert"],
           "--tls-key", files["key"], "--dashboard-address", "127.0.0.1:0", "--no-dashboard"]  # fmt: skip
    about = folder / "scheduler.json"
    config = {
        "distributed.comm.tls.ca-file": files["ca"],
        "distributed.comm.tls.client.key": files["key"],
        "distributed.comm.tls.client.cert": files["cert"],
    }
    stock = Stock("", config, [], logs, spill)
    try:
        stock.processes.append(run("scheduler", ["--port", "0", "--scheduler-file", str(about), *tls], logs, spill))
        wait_until(about.exists, stock)
        stock = stock._replace(address=json.loads(about.read_text("utf-8"))["address"])
        for number in range(workers):
            own = ["--name", str(number), "--nthreads", str(threads), "--memory-limit", "2GiB"]
            own += ["--local-directory", str(spill), *tls, stock.address]
            stock.processes.append(run("worker", own, logs, spill, number))
        wait_until(lambda: stock.words().count("Registered to:") >= workers, stock)
        yield stock
    finally:
        end(stock)


def write_keys(folder: Path) -> dict[str, str]:
    """Return the files of new keys, which nobody else can read."""
    keys: Any = Security.temporary()
    contents = {"ca": keys.tls_ca_file, "cert": keys.tls_worker_cert, "key": keys.tls_worker_key}
    for name, content in contents.items():
        handle = os.open(folder / f"{name}.pem", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
    return {name: str(folder / f"{name}.pem") for name in contents}


def run(role: str, options: list[str], logs: Path, spill: Path, number: int = 0) -> "subprocess.Popen[bytes]":
    """Return a process of one of Dask's commands; what it says goes into a file, and what it spills
    into a folder."""
    with open(logs / f"{role}-{number}", "wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{role}", *options],
            cwd=logs.parent, env={**os.environ, "PYTHONPATH": str(ROOT), "DASK_TEMPORARY_DIRECTORY": str(spill)},
            stdin=subprocess.DEVNULL,
            stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip


def wait_until(done: Callable[[], bool], stock: Stock) -> None:
    """Wait until something is so, while all processes are there."""
    limit = time.monotonic() + PATIENCE
    while not done():
        assert all(process.poll() is None for process in stock.processes), stock.words()
        assert time.monotonic() < limit, stock.words()
        time.sleep(0.2)


def end(stock: Stock) -> None:
    """Tell the processes to end, workers before their scheduler, and kill what does not."""
    everybody = stock.everybody()
    for process in reversed(stock.processes):
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
    left = [process for process in everybody if process.is_running() and alive(process.pid)]
    for one in left:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    for process in stock.processes:
        process.wait(PATIENCE)
    assert left == [], stock.words()
