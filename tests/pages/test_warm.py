"""What is run at start to have everything compiled."""

import gc
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.cli.warm import RELEASE, TREE, load_loops
from tests.pages.test_data import SHELL, session_of
from tests.waiting import PATIENCE, wait_until
from ui import warm
from ui.warm import PAUSE, sweep, tidy


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
    monkeypatch.setattr(warm, "load_loops", lambda: done.append("compiled"))
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


STEPS = """
import os, sys, time
for line in ("Copse compiles itself", "  0% Loading", "  7% Ready for a first tree",
             "  9% Ready for a first release", " 31% Compiling: boxes"):
    print(line, file=sys.stderr, flush=True)
for _ in range(12_000):
    if os.path.exists(sys.argv[1]):
        break
    time.sleep(0.05)
"""


def test_pages__wait_for_the_loops_that_they_need_and_for_no_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(warm, "load_stage", loaded.append)
    warm_up = warm.WarmUp()
    monkeypatch.setattr(warm, "WARM_UP", warm_up)
    monkeypatch.setattr("ui.strip.WARM_UP", warm_up)
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run()
    app.button(key="sample customers").click().run()
    monkeypatch.setattr(warm, "COMPILER", (sys.executable, "-c", STEPS, str(tmp_path / "end")))
    thread = threading.Thread(target=warm.compile_beside, daemon=True)
    thread.start()
    wait_until(lambda: warm_up.share == 0.31)
    assert (warm_up.words, loaded, warm_up.loaded) == ("Compiling: boxes", [TREE, RELEASE], {TREE, RELEASE})
    assert all(map(warm_up.is_ready, ("", "roles", "verify", "tree", "gate", "release")))
    assert not any(map(warm_up.is_ready, ("what_if", "forest")))
    assert warm_up.compiler is not None
    if sys.platform != "win32":
        assert os.getpriority(os.PRIO_PROCESS, warm_up.compiler.pid) == warm.GIVES_WAY
    app.switch_page("../pages/tree.py").run()
    assert not app.get("progress")
    warm_up.loaded -= {RELEASE}
    assert not any(map(warm_up.is_ready, ("tree", "gate", "release")))
    app.run()
    assert "boxes" in app.get("progress")[0].proto.text
    (tmp_path / "end").touch()
    thread.join()
    assert warm_up.compiler is None
    app.run()
    assert app.title


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
