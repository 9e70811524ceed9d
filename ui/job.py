"""Work that takes a while: in a thread of its own, with its progress on the page and a Cancel that ends it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from anonymizer.errors import AnonymizerError
from anonymizer.maxent import CancelledError
from ui.controls import plain, problem
from ui.workspace import Workspace


@dataclass
class Job:
    """Work in a thread of its own, so that it can be watched and stopped."""

    key: Any
    share: float = 0.0
    what: str = "Beginning"
    answer: Any = None
    failure: Exception | None = None
    stopped: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)

    def begin(self, work: Callable[["Job"], Any]) -> None:
        """Start the work."""

        def run() -> None:
            try:
                self.answer = work(self)
            except Exception as error:
                self.failure = error
            finally:
                self.done.set()

        threading.Thread(target=run, daemon=True).start()

    def say(self, share: float, what: str) -> None:
        """How far it is."""
        self.share, self.what = min(max(share, 0.0), 1.0), what


def finished(ws: Workspace, name: str, key: Any, label: str, work: Callable[[Job], Any]) -> Any:
    """The answer of a job, or ``None`` as long as there is none; draws its button, progress and Cancel."""
    job: Job | None = ws.view.get(name)
    if job is not None and job.key != key:
        job.stopped.set()
        job = ws.view[name] = None
    if job is None:
        if not st.button(label, key=f"begin {name}", type="primary", icon=":material/calculate:"):
            return None
        job = ws.view[name] = Job(key)
        job.begin(work)
    if not job.done.is_set():
        watch(job, name)
        return None
    if job.failure is not None:
        if isinstance(job.failure, CancelledError):
            st.info("Stopped. Nothing was estimated.", icon=":material/info:")
        elif isinstance(job.failure, AnonymizerError):
            problem(job.failure)
        else:
            st.error(
                "The estimate failed unexpectedly. Try another tree or fewer assumptions.", icon=":material/error:"
            )
        if st.button("Try again", key=f"again {name}"):
            ws.view[name] = None
            st.rerun()
        return None
    return job.answer


@st.fragment(run_every=1.0)
def watch(job: Job, name: str) -> None:
    """How far a job is, drawn again every second, and its Cancel button."""
    if job.done.is_set():
        st.rerun()
    st.progress(job.share, text=plain(job.what))
    if st.button("Cancel", key=f"cancel {name}", icon=":material/cancel:"):
        job.stopped.set()
