"""Work in the background ends when nobody waits for it any more, and keeps nothing of a table that was forgotten."""

import gc
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.errors import CancelledError, ParameterError
from anonymizer.releasing.generalize import GENERALIZERS, release_of
from anonymizer.releasing.tiers import Groups, Parts, uniform
from tests.groups.test_refine import random_table
from tests.pages.test_gate import SHELL
from tests.pages.test_release import open_page
from tests.pages.what_if import open_view
from tests.pages.what_if import session as hospital
from tests.waiting import PATIENCE
from ui.background import Job
from ui.job import start_job
from ui.what_if.scenarios import current_scenario
from ui.workspace import Workspace, sample_reading


def endless_job(ws: Workspace, name: str = "job") -> tuple[Job, threading.Event]:
    """A job that goes on until it is told to end, and whether it was."""
    ended, pause = threading.Event(), threading.Event()

    def work(job: Job) -> str:
        while not job.cancelled():
            pause.wait(0.01)
        ended.set()
        return "ended"

    return start_job(ws, name, "key", work), ended


def session() -> Workspace:
    table, schema = random_table(3, 30)
    return Workspace(reading=sample_reading("people", table), schema=schema)


def other_table(ws: Workspace) -> None:
    assert ws.bring(b"a,b\n1,2\n3,4\n", "other.csv")


@pytest.mark.parametrize("end", [Workspace.forget, other_table], ids=["forgotten", "another table"])
def test_job__ends_with_its_table(end: Callable[[Workspace], None]) -> None:
    ws = session()
    job, ended = endless_job(ws)
    assert not job.cancelled()
    ws.set(k=20)
    assert not job.cancelled(), "a choice is no reason to end"
    end(ws)
    assert ended.wait(PATIENCE)
    assert job.done.wait(PATIENCE)
    assert job.answer == "ended"


def test_job__ends_with_its_session() -> None:
    ws = session()
    _, ended = endless_job(ws)
    gone = weakref.ref(ws)
    del ws
    gc.collect()
    assert gone() is None
    assert ended.wait(PATIENCE)


def test_job__another_takes_its_place_and_cancel_ends_it() -> None:
    ws = session()
    first, first_ended = endless_job(ws)
    second, second_ended = endless_job(ws)
    assert first_ended.wait(PATIENCE)
    assert first.stopped.is_set()
    assert not second.cancelled()
    assert ws.jobs["job"] is second
    second.stopped.set()
    assert second_ended.wait(PATIENCE)


def test_groups__that_take_long_are_made_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says how far they are and offers Cancel; after it, Try again makes them and the page goes on."""
    begun, go_on = threading.Event(), threading.Event()

    def slowly(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
        begun.set()
        while not go_on.wait(0.01):
            groups.progress(0.25, "Polishing groups, round 2")
        return uniform(groups, k, rng)

    monkeypatch.setitem(GENERALIZERS, "polish", slowly)
    ws = session()
    ws.set(generalizer="polish", k=3)
    app = open_page(ws)
    assert not app.exception
    assert begun.wait(PATIENCE)
    assert not ws.ready("parts")
    assert [button.label for button in app.button if button.key == "cancel groups"] == ["Cancel"]
    assert not app.get("download_button")
    app.button(key="cancel groups").click().run()
    job = ws.jobs["groups"]
    assert job.done.wait(PATIENCE)
    assert isinstance(job.failure, CancelledError)
    app.run()
    assert any("Stopped" in info.value for info in app.info)
    go_on.set()
    app.button(key="again groups").click().run()
    assert ws.jobs["groups"].done.wait(PATIENCE)
    app.run()
    assert ws.flow.verification.k_anonymous
    assert app.get("download_button")


def in_page(ws: Workspace, page: str) -> AppTest:
    """The dashboard, opened on a page."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = ws
    return app.run().switch_page(f"../pages/{page}.py").run()


@pytest.mark.parametrize("page", ["tree", "gate", "release"])
def test_stages__of_a_large_table_can_be_cancelled(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Generalizing and checking work in the background, between whose steps Cancel ends them."""
    begun, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr("ui.job.LARGE", 10)
    monkeypatch.setattr("ui.job.AT_ONCE", 0.0)
    make = release_of

    def slowly(*about: Any, **more: Any) -> Any:
        begun.set()
        go_on.wait(PATIENCE)
        return make(*about, **more)

    monkeypatch.setattr("anonymizer.flow.release_of", slowly)
    ws = session()
    ws.set(generalizer="uniform", k=3)
    ws.flow.compute("pruning")
    app = in_page(ws, page)
    assert not app.exception
    assert begun.wait(PATIENCE)
    (name,) = ws.jobs
    assert app.button(key=f"cancel {name}").label == "Cancel"
    app.button(key=f"cancel {name}").click().run()
    go_on.set()
    job = ws.jobs[name]
    assert job.done.wait(PATIENCE)
    assert isinstance(job.failure, CancelledError)
    app.run()
    assert any("Stopped" in info.value for info in app.info)
    app.button(key=f"again {name}").click().run()
    assert ws.jobs[name].done.wait(PATIENCE)
    app.run()
    assert not app.exception
    assert ws.ready("release")
    assert not [button for button in app.button if button.key == f"cancel {name}"]


def test_stages__that_fail_in_the_background_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.job.LARGE", 10)
    monkeypatch.setattr("ui.job.AT_ONCE", PATIENCE)

    def fail(*about: Any, **more: Any) -> Any:
        raise ParameterError("There is no release.")

    monkeypatch.setattr("anonymizer.flow.release_of", fail)
    ws = session()
    ws.set(generalizer="uniform", k=3)
    app = in_page(ws, "gate")
    assert not app.exception
    assert [title.value for title in app.title] == ["Ready"]
    assert any("There is no release" in error.value for error in app.error)


def test_release_of_a_scenario__that_takes_long_is_made_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
        begun.set()
        while not go_on.wait(0.01):
            groups.progress(0.25, "Polishing groups, round 2")
        return uniform(groups, k, rng)

    monkeypatch.setitem(GENERALIZERS, "polish", slowly)
    ws = hospital()
    ws.scenarios = (replace(current_scenario(ws, "slow", ""), parameters={**ws.settings, "generalizer": "polish"}),)
    app = open_view(ws, "Who knows less")
    app.toggle(key="knowledge of scenarios").set_value(True).run()
    assert not app.exception
    assert begun.wait(PATIENCE)
    (name,) = [name for name in ws.jobs if name.startswith("release of")]
    assert app.button(key=f"cancel {name}").label == "Cancel"
    go_on.set()
    assert ws.jobs[name].done.wait(PATIENCE)
    app.run()
    assert not app.exception
    assert not [button for button in app.button if button.key == f"cancel {name}"]
    assert len([metric for metric in app.metric if metric.label == "Rows that fit"]) == 3
