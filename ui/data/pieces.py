"""A table in pieces: what differs for it, and how a folder or a large file on the server is opened as one, every record
read once, in the background."""

from pathlib import Path

import streamlit as st

from anonymizer.errors import AnonymizerError, CancelledError, ReadError
from anonymizer.partitions.parted import PartedReading, read_pieces
from ui.controls import plain
from ui.job import Job, start_job, stop_job, watch
from ui.workspace import Workspace

JOB = "pieces"


def way_of_pieces(is_upload: bool) -> str:
    """Return what differs for a table in pieces, in a sentence."""
    place = "one ZIP of Parquet files to download" if is_upload else "a folder on the server"
    return (
        "This table is large, so it is **kept in pieces**, every value as a small number: roles, tree, *What if* and "
        f"checks are those of the whole table, and its release is {place}; other formats and packets, rows side by "
        "side, attacks, records left out, risks in a population, *Evaluate*, *Forest* and *Disclosure* take a smaller "
        "table."
    )


def begin_opening(ws: Workspace, path: Path, name: str, folder: Path) -> None:
    """Begin to read a table in pieces. ``name``: what people see of it; ``folder``: it may not lead out of."""

    def work(job: Job) -> PartedReading:
        def stopped() -> None:
            if job.cancelled():
                raise CancelledError(f"The reading of {name} was stopped.")

        return read_pieces(path, name, folder, progress=job.go_on, stopped=stopped)

    ws.failure = None
    start_job(ws, JOB, name, work)


def opening(ws: Workspace) -> bool:
    """Return True while a table in pieces is read, and draw how far that is; once it is read, it is the table."""
    job = ws.jobs.get(JOB)
    if job is None:
        return False
    if not job.done.is_set():
        st.markdown(f"Opening **{plain(job.key)}** in pieces.")
        watch(job, JOB)
        return True
    stop_job(ws, JOB)
    if job.failure is None:
        ws.take_pieces(job.answer)
    elif isinstance(job.failure, CancelledError):
        ws.refuse(CancelledError(f"The reading of {job.key} was stopped."))
    elif isinstance(job.failure, AnonymizerError):
        ws.refuse(job.failure)
    else:
        ws.refuse(ReadError(f"{job.key} cannot be read ({type(job.failure).__name__}).", remedy="Bring another one."))
    st.rerun()
    return True
