"""What is run at start to have everything compiled."""

import gc
import threading

import pytest

from ui import warm
from ui.warm import NAME, wait_text, warm_up


def test_warm_up__runs_on_the_samples() -> None:
    warm_up()


def test_begin__takes_what_is_loaded_out_of_later_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[bool] = []
    monkeypatch.setattr(warm, "warm_up", lambda: done.append(True))
    try:
        warm.begin()
        assert done
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_wait_text__says_that_loops_are_compiled_as_long_as_they_are() -> None:
    assert wait_text("Growing…") == "Growing…"
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name=NAME)
    thread.start()
    assert wait_text("Growing…") == "Growing… Copse is still compiling itself, as once after every update."
    done.set()
    thread.join()
    assert wait_text("Growing…") == "Growing…"
