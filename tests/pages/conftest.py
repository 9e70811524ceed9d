"""What tests of pages share: what a server does once, or beside its pages, is not done for every page of a test."""

import functools
from collections.abc import Iterator

import pytest
from streamlit.components.v2 import manifest_scanner

from ui import proposal, warm
from ui.server.places import PLACES


@pytest.fixture(scope="session", autouse=True)
def one_scan() -> Iterator[None]:
    """Streamlit reads the metadata of every installed package for each page that a test opens, a server once."""
    scan = functools.cache(manifest_scanner.scan_component_manifests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_sweeps() -> Iterator[None]:
    """The page of a new session has all garbage of the process collected, which takes longer than to draw it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm, "sweep", lambda: None)
        patch.setattr(warm, "tidy", lambda: None)
        yield


@pytest.fixture(autouse=True)
def places_given_back() -> Iterator[None]:
    """The session of a test has no end that the server sees, and would keep its place until garbage is collected."""
    yield
    for owner in PLACES.memory():
        PLACES.leave(owner)


@pytest.fixture(autouse=True)
def nothing_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the target should guide the tree is tried in the background of each Tree page, for nobody."""
    monkeypatch.setattr(proposal, "RESTED", 0.0)
    monkeypatch.setattr(proposal, "propose", lambda flow, progress: None)
