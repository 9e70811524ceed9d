"""A table in pieces: what differs for it, and how a folder or a large file on the server is opened as one, every record
read once, in the background."""

from pathlib import Path

import streamlit as st

from anonymizer.errors import AnonymizerError, CancelledError, ReadError
from anonymizer.partitions.parted import PartedReading, read_pieces
from anonymizer.partitions.run import SAMPLE
from ui.background import Job
from ui.controls import count, plain, plural
from ui.job import start_job, stop_job, watch
from ui.workspace import Workspace

JOB = "pieces"


WHERE_UPLOADED = (
    "**What it is.** A large upload, kept in pieces: its bytes, and every value as a small number, are in the memory "
    "of this session. No row of it is written to a disk.",
    "**Its release.** One ZIP of Parquet files to download on the *Release* page, made in memory too.",
)
WHERE_LISTED = (
    "**What it is.** {files} on this server, kept in pieces: the files stay where they are, unchanged, and were read "
    "once. Every value is in the memory of this session as a small number.",
    "**Its release.** A new folder on this server, where its operator has releases written. You give it a name on the "
    "*Release* page, and download its report and manifest there; all of it, too, as long as it is small.",
)
WHAT_DIFFERS = (
    "**What is the same.** Facts, roles, tree, limits, *What if* and the checks of the release are those of all "
    "rows. The gate looks at {sample} rows at most, evenly spread.",
    "**What takes a smaller table.** Other formats and packets, rows side by side, attacks, rows left out, public "
    "cuts and hierarchies, risks in a population, looking one person up, *Evaluate*, *Forest* and *Disclosure*. Use "
    "a sample of the rows for these.",
)
"""What is said of a table in pieces: where it is, where its release will be, and what differs."""


def about_pieces(ws: Workspace) -> str:
    """Return what a table in pieces is, where its rows and its release are, and what differs, as Markdown."""
    assert isinstance(ws.reading, PartedReading)
    where = WHERE_UPLOADED if ws.source is not None else WHERE_LISTED
    files = plural(len(ws.reading.table.source.files), "file")
    return "\n\n".join((*where, *WHAT_DIFFERS)).format(files=files[:1].upper() + files[1:], sample=count(SAMPLE))


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
        ws.refuse(ReadError(f"{job.key} cannot be read ({type(job.failure).__name__}).", remedy="Choose another one."))
    st.rerun()
    return True
