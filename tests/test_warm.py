"""What is run at start to have everything compiled."""

import gc
import threading
from collections.abc import Iterator

import pytest

from ui import warm
from ui.warm import NAME, freeze_libraries, wait_text, warm_up
from ui.workspace import Workspace


def test_warm_up__runs_on_the_samples() -> None:
    warm_up()


@pytest.fixture
def unfrozen() -> Iterator[None]:
    """Nothing frozen before, nothing after; no session of another test is left."""
    gc.unfreeze()
    gc.collect()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen")
def test_begin__what_is_loaded_and_compiled_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[list[int]] = []
    monkeypatch.setattr(warm, "warm_up", lambda: done.append([gc.get_freeze_count()]))
    monkeypatch.setattr(warm, "freeze_libraries", gc.freeze)
    warm.begin()
    assert done[0][0] > 0, "before compiling"
    assert gc.is_tracked(done)
    assert not any(thing is done for thing in gc.get_objects()), "and after it"


@pytest.mark.usefixtures("unfrozen")
def test_freeze__never_with_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    ws = Workspace()
    ws.bring_sample("customers")
    freeze_libraries()
    assert gc.get_freeze_count() == 0
    objects = [thing for thing in gc.get_objects() if type(thing) is not Workspace]
    monkeypatch.setattr(gc, "get_objects", lambda: [*objects, Workspace()])
    freeze_libraries()
    assert gc.get_freeze_count() > 0
    assert ws.reading is not None


def test_wait_text__says_that_loops_are_compiled_as_long_as_they_are() -> None:
    assert wait_text("Growing…") == "Growing…"
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name=NAME)
    thread.start()
    assert wait_text("Growing…") == "Growing… Copse is still compiling itself, as once after every update."
    done.set()
    thread.join()
    assert wait_text("Growing…") == "Growing…"
