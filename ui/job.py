"""Work that takes a while, on a page: begun, drawn with its progress and a Cancel that ends it, and answered."""

import weakref
from collections.abc import Callable
from typing import Any

import streamlit as st

from anonymizer.errors import AnonymizerError, CancelledError
from anonymizer.releasing.generalize import TAKES_LONG
from ui.background import BEGIN, Job
from ui.controls import duration, plain, problem
from ui.turn import before_text
from ui.warm import wait_text
from ui.workspace import Workspace


def start_job(ws: Workspace, name: str, key: Any, work: Callable[[Job], Any], after: float = 0.0) -> Job:
    """Return a new job in the place of the one of this name, which is stopped. ``after``: seconds before it begins.

    It also ends when its table is forgotten, when another one is brought, and after the session is over, so ``work``
    must not hold the workspace.
    """
    stop_job(ws, name)
    session, reading = weakref.ref(ws), ws.reading

    def unwanted() -> bool:
        now = session()
        return now is None or now.reading is not reading

    job = ws.jobs[name] = Job(key, unwanted, ws.owner)
    job.start(work, after)
    return job


def stop_job(ws: Workspace, name: str) -> None:
    """Stop the job of this name, if there is one, and forget it."""
    job = ws.jobs.pop(name, None)
    if job is not None:
        job.stopped.set()


def groups_ready(ws: Workspace) -> bool:
    """Return True when the records are in groups, or soon will be. Until then, generalizers that take long work in the
    background, and what they do, or why there are no groups, is drawn here."""
    if ws.settings.generalizer not in TAKES_LONG or not ws.flow.has("parts") or ws.ready("parts"):
        return True
    flow = ws.flow
    answer_of_job(ws, "groups", (flow.schema, flow.settings), "", lambda job: flow.watch(job.go_on).compute("parts"))
    return ws.ready("parts")


def tree_ready(ws: Workspace) -> bool:
    """Return True when the tree is grown, or soon will be. One of records in pieces grows in the background, and
    how far it is, or why there is none, is drawn here."""
    flow = ws.flow
    if flow.has("release") or flow.ready("tree"):
        return True
    key = flow.schema.bare, flow.recipe, flow.grouping
    answer_of_job(ws, "tree", key, "", lambda job: flow.watch(job.go_on).compute("pruning", "about_table"))
    return flow.ready("tree")


STEPS = {
    "tree": "Growing the tree",
    "pruning": "Pruning it until every group is large enough",
    "release": "Making the release",
    "verification": "Checking the released cells",
    "judgement": "Looking for risks in what would be released",
    "utility": "Measuring what was lost",
    "two_way": "Comparing all pairs of columns, before and after",
    "coefficients": "Fitting the same regressions to the table and to the release",
    "weighted": "Comparing what a survey would say",
    "report": "Measuring the risk before and after",
}
"""What is being done while a stage of the flow is computed, where that can take long."""

LARGE = 20_000
"""Rows of a table from which on stages are computed in the background, and can be cancelled."""

AT_ONCE = 0.8
"""Seconds that a page waits for the background before it draws how far it is."""


def stages_ready(ws: Workspace, *stages: str) -> bool:
    """Return True when these stages of the flow are there. Those of a large table are computed in the background, one
    after another, and how far that is, or that it was cancelled, is drawn here. Raises what the stages raise."""
    flow = ws.flow
    missing = [stage for stage in stages if not flow.ready(stage)]
    if not missing:
        return True
    if ws.n_records < LARGE:
        with st.spinner(plain(wait_text(f"{STEPS.get(missing[0], BEGIN)} …")), show_time=True):
            flow.compute(*missing)
        return True

    def work(job: Job) -> bool:
        for done, stage in enumerate(missing):
            job.go_on(done / len(missing), STEPS.get(stage, job.what))
            flow.compute(stage)
        return True

    key = tuple((stage, flow.needs(stage)) for stage in stages)
    return answer_of_job(ws, f"stages {stages[-1]}", key, "", work, patience=AT_ONCE, raises=True) is not None


def answer_of_job(
    ws: Workspace,
    name: str,
    key: Any,
    label: str,
    work: Callable[[Job], Any],
    *,
    patience: float = 0.0,
    raises: bool = False,
) -> Any:
    """Return the answer of a job, ``None`` as long as there is none; draws its button, progress and Cancel. Without a
    ``label`` there is no button, and it begins at once. ``patience``: seconds in which a new one may end before its
    progress is drawn. ``raises``: an error of the package is raised here, and not drawn."""
    job = ws.jobs.get(name)
    if job is not None and job.key != key:
        stop_job(ws, name)
        job = None
    place = st.empty()
    if job is None:
        if label and not place.button(label, key=f"begin {name}", type="primary", icon=":material/calculate:"):
            return None
        place.empty()
        job = start_job(ws, name, key, work)
        job.done.wait(patience)
    if not job.done.is_set():
        watch(job, name, len(job.parts))
        return None
    if job.failure is None:
        before_answer(name)
        return job.answer
    if raises and isinstance(job.failure, AnonymizerError) and not isinstance(job.failure, CancelledError):
        stop_job(ws, name)
        raise job.failure
    show_failure(job.failure)
    st.button("Try again", key=f"again {name}", on_click=stop_job, args=(ws, name))
    return None


def before_answer(name: str) -> None:
    """Mark the place before the answer of a job, where the keyboard's focus goes when it is done."""
    with st.container(key=f"answer {name}"):
        st.html("<span></span>")


def parts_of(ws: Workspace, name: str, key: Any) -> tuple[Any, ...]:
    """Return what is there of the answer of a job that works on this key."""
    job = ws.jobs.get(name)
    return () if job is None or job.key != key else tuple(job.parts)


def show_failure(failure: Exception) -> None:
    """Draw why a job has no answer."""
    if isinstance(failure, CancelledError):
        st.info("Stopped.", icon=":material/info:")
    elif isinstance(failure, AnonymizerError):
        problem(failure)
    else:
        st.error("This failed unexpectedly. Try other choices.", icon=":material/error:")


@st.fragment(run_every=1.0)
def watch(job: Job, name: str, parts: int = 0) -> None:
    """Draw how far a job is, every second, how long it will take at its pace, and its Cancel button. ``parts``: how
    many of its answer the page shows."""
    if job.done.is_set() or len(job.parts) > parts:
        st.rerun()
    left = job.left
    st.progress(job.share, text=plain(job.what) + ("" if left is None else f" · about {duration(left)} left"))
    if job.before is not None:
        st.caption(f":material/hourglass_top: {before_text(job.before)}")
    ending = job.stopped.is_set()
    label = "Ending …" if ending else "Cancel"
    st.button(label, key=f"cancel {name}", icon=":material/cancel:", disabled=ending, on_click=job.stopped.set)
