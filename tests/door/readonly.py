"""``python -m tests.door.readonly LOOPS PORT``: the dashboard as the Containerfile has it, where nobody can write.

In a file system of its own that is read-only but for ``/tmp``, which is in memory. Prints, as JSON: whether the project
could be written to, the status of the health check, how many compiled loops there are, and how many were made anew.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from tests.conftest import ROOT
from tests.waiting import PATIENCE

RUN = "import anonymizer as an; t = an.SAMPLES['customers'].load(); an.anonymize(t, an.suggest(t), k=2)"
WORDS = ("--server.headless", "true")


def mount() -> None:
    """Make everything read-only but ``/tmp``."""
    for command in (["mount", "-o", "remount,bind,ro", "/"], ["mount", "-t", "tmpfs", "tmpfs", "/tmp"]):
        subprocess.run(command, check=True)


def can_write(file: Path) -> bool:
    """Whether a file can be written."""
    try:
        file.write_text("")
    except OSError:
        return False
    file.unlink()
    return True


def ask_health(server: subprocess.Popen[bytes], port: str) -> int:
    """The status of the health check, as soon as there is one; 0 when the server ends or is silent for too long."""
    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=PATIENCE) as answer:
                return int(answer.status)
        except OSError:
            time.sleep(0.2)
    return 0


def main(folder: str, port: str) -> None:
    mount()
    environment = {**os.environ, "HOME": "/tmp", "TMPDIR": "/tmp", "NUMBA_CACHE_DIR": folder}
    environment.pop("COPSE_KEY_FILE", None)  # it may lie where /tmp was
    begun = time.time()
    server = subprocess.Popen(
        [sys.executable, "-m", "anonymizer", "app", "--port", port, *WORDS],
        env=environment, cwd=ROOT, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        health = ask_health(server, port)
        (copy,) = Path("/tmp").glob("copse-loops-*")
        run = [sys.executable, "-c", RUN]
        subprocess.run(run, env={**environment, "NUMBA_CACHE_DIR": str(copy)}, cwd=ROOT, check=True)
    finally:
        server.terminate()
        server.wait(PATIENCE)
    loops = list(copy.rglob("*.nb[ci]"))
    anew = [loop for loop in loops if loop.stat().st_mtime > begun]
    result = {"writable": can_write(ROOT / "x"), "health": health, "loops": len(loops), "anew": len(anew)}
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
