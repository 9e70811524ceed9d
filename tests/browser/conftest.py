"""A dashboard whose memory, temporary files and folders are looked at: one for all walks of a process of tests."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import COMMAND, ROOT, serve


class Alone(NamedTuple):
    """A dashboard that one walk at a time uses: its address and process, the file with what it says, and the folders
    of its temporary files, of the data that its operator lists, and of releases."""

    address: str
    process: int
    log: Path
    temporary: Path
    data: Path
    releases: Path


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    """A dashboard that no other test uses while a walk does."""
    temporary, data, releases = (tmp_path_factory.mktemp(name) for name in ("temporary", "data", "releases"))
    log = tmp_path_factory.mktemp("alone") / "server.log"
    folders = {"TMPDIR": temporary, "COPSE_DATA_FOLDER": data, "COPSE_RELEASE_FOLDER": releases}
    environment = {**os.environ, **{name: str(folder) for name, folder in folders.items()}}
    with serve(COMMAND, ROOT, log, environment, real=True) as running:
        yield Alone(running.address, running.process, log, temporary, data, releases)
