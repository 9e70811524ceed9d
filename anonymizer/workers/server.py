"""A scheduler or a worker of ours, in a process that :mod:`anonymizer.workers.cluster` has started on this machine.

It listens on the loopback address alone, shows no page, and ends as soon as whoever started it does; then it removes
the folder of the run as well.
"""

import asyncio
import json
import os
import shutil
import sys
import threading
from typing import Any

from anonymizer.reading.process import limit_memory

LOOPBACK = "127.0.0.1"
WAIT = "60s"
"""How long a worker looks for its scheduler."""
CONFIG = {
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": 10,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.comm.compression": None,
    "distributed.logging": {"distributed": "error"},
}
"""What this use of Dask needs: rows stay where they are, a full worker does not wait for ever, nothing is recorded, and
processes that wait do not look at themselves fifty times a second: that took as much as a tenth of a run."""


def main() -> int:
    """Be a scheduler or a worker on this machine, as the first line of the input says in JSON, until the input ends.
    Keys of TLS are in it: nothing secret stands on a command line or a disk."""
    wish = json.loads(sys.stdin.readline())
    threading.Thread(target=end_with_input, args=(wish["folder"],), daemon=True).start()
    asyncio.run(serve(wish))
    return 0


def end_with_input(folder: str) -> None:
    """End this process when its input ends, which it does when the process that started it is gone."""
    while sys.stdin.buffer.read(1 << 16):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


async def serve(wish: dict[str, Any]) -> None:
    """Run a scheduler, whose address is the only thing that is printed, or a worker."""
    import dask.config

    dask.config.set({**CONFIG, "temporary-directory": wish["folder"]})  # a path of imports: nobody else may write there
    from distributed import Scheduler, Worker
    from distributed.security import Security
    from tornado.httpserver import HTTPServer
    from tornado.web import Application

    class WithoutPages:
        """Serves no page: the server for them exists and listens to nobody."""

        def start_http_server(self, *arguments: Any, **more: Any) -> None:
            """Open no socket."""
            self.http_server = HTTPServer(Application())

    class QuietScheduler(WithoutPages, Scheduler):
        """A scheduler without pages."""

    class QuietWorker(WithoutPages, Worker):
        """A worker without pages."""

    security = Security(require_encryption=True, **wish["tls"])
    if wish["role"] == "scheduler":
        async with QuietScheduler(
            protocol="tls", host=LOOPBACK, port=0, dashboard=False, security=security
        ) as scheduler:
            sys.stdout.write(f"{scheduler.address}\n")
            sys.stdout.flush()
            await scheduler.finished()
        return
    limit_memory(wish["memory"])
    async with QuietWorker(
        wish["scheduler"], name=wish["name"], nthreads=1, protocol="tls", host=LOOPBACK, port=0, security=security,
        local_directory=wish["folder"], memory_limit=wish["memory"], death_timeout=WAIT,
    ) as worker:  # fmt: skip
        await worker.finished()


if __name__ == "__main__":
    sys.exit(main())
