"""What is run at start to have everything compiled."""

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.cli.warm import load_loops
from tests.pages.test_data import SHELL, session_of
from tests.waiting import PATIENCE
from ui import warm
from ui.warm import NAME, PAUSE, sweep, tidy, wait_text


def test_warm_up__runs_on_the_samples() -> None:
    load_loops()


class Loop:
    """Holds itself, so only a collection of garbage ends it."""

    def __init__(self) -> None:
        self.cycle = self


@pytest.fixture
def thaw() -> Iterator[None]:
    """What this test took out of the collections comes back."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thaw")
def test_sweep__ends_also_what_was_in_use_at_the_last_one() -> None:
    loop = Loop()
    alive = weakref.ref(loop)
    sweep()
    assert gc.get_freeze_count() > 0
    del loop
    gc.collect()
    assert alive() is not None
    sweep()
    assert alive() is None


def test_begin__sweeps_before_and_after_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr("anonymizer.cli.warm.load_loops", lambda: done.append("compiled"))
    monkeypatch.setattr(warm, "sweep", lambda: done.append("swept"))
    warm.begin()
    assert done == ["swept", "compiled", "swept"]


def test_frame__sweeps_when_a_table_came_or_went(monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[int] = []
    monkeypatch.setattr(warm, "sweep", lambda: swept.append(1))
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run()
    assert len(swept) == 1
    app.button(key="sample customers").click().run()
    assert len(swept) == 2
    app.run()
    assert len(swept) == 2
    session_of(app).forget()
    app.run()
    assert len(swept) == 3


def test_wait_text__says_that_loops_are_compiled_as_long_as_they_are() -> None:
    assert wait_text("Growing…") == "Growing…"
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name=NAME)
    thread.start()
    assert wait_text("Growing…") == "Growing… Copse is still compiling itself, as once after every update."
    done.set()
    thread.join()
    assert wait_text("Growing…") == "Growing…"


def test_frame__says_that_no_tree_can_be_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run()
    assert not app.error
    monkeypatch.setattr(warm.WARM_UP, "failure", "No tree can be grown: a_file_ is missing.")
    assert app.run().error[0].value == r"No tree can be grown\: a\_file\_ is missing\."


def test_tidy__collects_garbage_once_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[warm.threading.Timer] = []
    monkeypatch.setattr(warm, "COLLECTION", warm.threading.Lock())  # a page that was drawn before may have planned one
    monkeypatch.setattr(warm.threading.Timer, "start", lambda timer: planned.append(timer))
    gc.disable()
    try:
        for _ in range(2):
            garbage = weakref.ref(Loop())
            tidy()
            tidy()
            assert (len(planned), planned[0].interval) == (1, PAUSE)
            assert garbage() is not None
            planned.pop().function()
            assert garbage() is None
    finally:
        gc.enable()
