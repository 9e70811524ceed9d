"""The release of a table in pieces, checked, with its report and manifest: a folder below a place that the operator
named or, of an upload, that folder as one file in memory."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import streamlit as st

from anonymizer.errors import AnonymizerError, CancelledError, FolderExistsError, ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.finding import Gate, Severity, kind_of
from anonymizer.partitions.flow import PartedFlow
from anonymizer.partitions.folder import MANIFEST, Archive, Packing, archive_of
from anonymizer.partitions.ledger import Register
from anonymizer.partitions.parted import PartedReading
from anonymizer.partitions.run import FilesResult
from ui.background import Job
from ui.controls import count, plain, plural, problem, share
from ui.gate.view import in_the_way
from ui.job import start_job, stop_job, watch
from ui.release.downloads import file_stem
from ui.release.reports import statement_of
from ui.release.view import check_line, headline
from ui.workspace import Workspace

FOLDER_VARIABLE = "COPSE_RELEASE_FOLDER"
DATA_VARIABLE = "COPSE_DATA_FOLDER"
JOB = "folder"
NAME = re.compile(r"[^\W_][\w -]{0,79}")
"""Names of releases: letters, digits, underscores, hyphens and spaces; no dot, no separator."""

SMALL = 64 << 20
"""Bytes up to which a folder on the server can be taken away as one file."""
NOT_TOGETHER = (
    "Without a ledger, releases of a table in pieces are not counted together: do not put a second, different one "
    "beside the first."
)
WHAT_IS_WRITTEN = (
    "A new folder is written to the disk of this server: the released rows as Parquet files, their data dictionary, "
    "and a manifest with the digest of each; no original row. As long as it is not checked, only the account that runs "
    "this server can read it; afterwards, whoever its operator lets read the place of releases."
)
WHAT_IS_MADE = (
    "One ZIP file is made in the memory of this session, and nothing is written to a disk of the server: the "
    "released rows as Parquet files, their data dictionary, and a manifest with the digest of each; no original row."
)

_CLAIMED: set[Path] = set()
_LOCK = Lock()


class Outcome(NamedTuple):
    """What came of a release, the texts of its report and manifest, and all of its files as one; ``None`` where these
    are too many bytes for that."""

    result: FilesResult
    report: str
    manifest: bytes
    archive: Archive | None = None


@dataclass
class FolderState:
    """What was typed: ``name`` of the release."""

    name: str = ""


def release_place(environment: Any = os.environ) -> Path | None:
    """Return the folder in which releases are written: the operator's environment variable; ``None``, and nothing is
    written, where it is not set, is not there, or lies in the folder of the data or around it."""
    named, data = (environment.get(name, "").strip() for name in (FOLDER_VARIABLE, DATA_VARIABLE))
    folder = Path(named).expanduser().resolve() if named else None
    if folder is None or not folder.is_dir() or not Path(named).expanduser().is_absolute():
        return None
    source = Path(data).expanduser().resolve() if data else None
    if source is not None and (folder.is_relative_to(source) or source.is_relative_to(folder)):
        return None
    return folder


@contextmanager
def claimed(place: Path, name: str) -> Iterator[Path]:
    """Yield the folder of a release that is to be made. Raises :class:`ParameterError` for what is no name, is there
    already, or is being written by another session."""
    if not NAME.fullmatch(name) or name != name.strip():
        raise ParameterError(
            "This cannot be the name of a release.",
            remedy="Begin with a letter or a digit; then letters, digits, spaces, hyphens and underscores, 80 at most.",
        )
    path = place / name
    with _LOCK:
        if path in _CLAIMED or os.path.lexists(path):
            raise name_in_use(name)
        _CLAIMED.add(path)
    try:
        yield path
    finally:
        with _LOCK:
            _CLAIMED.discard(path)


def name_in_use(name: str) -> ParameterError:
    """Return the error that there is a release of this name, in words without where it is."""
    return ParameterError(f"There is a release {name!r} already.", remedy="Choose another name.")


def write_claimed(flow: Flow, place: Path, name: str, register: Register | None, job: Job) -> Outcome:
    """Return what came of writing a release, in words without where it is."""
    assert isinstance(flow, PartedFlow)
    with claimed(place, name) as path:
        try:
            result = flow.write_folder(path, progress=job.go_on, register=register)
            if result.folder is None:
                return Outcome(result, result.to_json(), b"")
            manifest, archive = (path / MANIFEST).read_bytes(), archive_of(path, result.manifest, SMALL)
        except OSError as error:
            raise ParameterError(
                f"The release {name!r} cannot be written: {error.strerror}.", remedy="Ask who runs this server."
            ) from None
        except FolderExistsError:
            raise name_in_use(name) from None
    return Outcome(result, result.to_json(), manifest, archive)


def pack(flow: Flow, name: str, register: Register | None, job: Job) -> Outcome:
    """Return what came of making a release as one file in memory, called ``name``."""
    assert isinstance(flow, PartedFlow)
    result = flow.write_folder(Packing(name), progress=job.go_on, register=register)
    if not isinstance(result.folder, Archive):
        return Outcome(result, result.to_json(), b"")
    return Outcome(result, result.to_json(), result.folder.read(MANIFEST), result.folder)


def folder_key(ws: Workspace) -> tuple[Any, ...]:
    """Return what a release in a folder depends on."""
    name = "" if ws.ledger is None else ws.ledger.name
    return ws.flow.schema, ws.flow.settings, dict(ws.reasons), name


def register_of(ws: Workspace) -> Register | None:
    """Return the ledger that a release is entered in, and what the entry says; ``None`` without one."""
    if ws.ledger is None:
        return None
    words = statement_of(ws)
    return Register(ws.ledger.ledger, {"to": words.recipient, "basis": words.basis, "by": words.prepared_by})


def folder_result(ws: Workspace) -> FilesResult | None:
    """Return what came of the release of a table in pieces with the choices as they are; ``None`` as long as none was
    made."""
    job = ws.jobs.get(JOB)
    return None if job is None or job.answer is None or job.key != folder_key(ws) else job.answer.result


def folder_gate(ws: Workspace) -> Gate | None:
    """Return what stands in the way of the release of a table in pieces: by its release, or as long as there is none by
    what the table and its roles tell; ``None`` before these were looked at, and of a table in memory."""
    result = folder_result(ws)
    if result is not None:
        return result.gate
    if ws.schema is None or not isinstance(ws.reading, PartedReading) or not ws.flow.ready("about_table"):
        return None
    return Gate(ws.flow.about_table).with_reasons(ws.reasons)


def release_pieces(ws: Workspace) -> None:
    """Draw the form that makes the release, of an upload as one file, else as a new folder on the server, and what came
    of it."""
    flow, place, state, is_upload = ws.flow, release_place(), ws.state(FolderState), ws.source is not None
    with st.container(border=True):
        gate = Gate(flow.about_table).with_reasons(ws.reasons)
        in_the_way(ws, gate)
        if place is None and not is_upload:
            st.info(
                f"A table in pieces is released as a folder on the server. Who runs this server has named no place for "
                f"it (`{FOLDER_VARIABLE}`).",
                icon=":material/info:",
            )
            return
        job = ws.jobs.get(JOB)
        key = folder_key(ws)
        if job is not None and job.key != key:
            stop_job(ws, JOB)
            job = None
        if job is not None and not job.done.is_set():
            watch(job, JOB)
            return
        if job is not None and isinstance(job.failure, CancelledError):
            st.info("Stopped. Nothing was written.", icon=":material/info:")
        elif job is not None and isinstance(job.failure, AnonymizerError):
            problem(job.failure)
            for note in getattr(job.failure, "__notes__", ()):
                st.caption(plain(note))
        elif job is not None and job.failure is not None:
            st.error("This failed unexpectedly. Nothing was written.", icon=":material/error:")
        elif job is not None:
            outcome(ws, job.answer)
        st.caption(f"{WHAT_IS_MADE if is_upload else WHAT_IS_WRITTEN} {how_counted(ws)}")
        with st.form("folder form", border=False):
            if not is_upload:
                state.name = st.text_input(
                    "Name of the release", state.name, max_chars=80, key="folder name",
                    help="A new folder of this name is made on the server, where its operator has releases written.",
                ).strip()  # fmt: skip
            pressed = st.form_submit_button(
                f"{'Make' if is_upload else 'Write'} and check the release", type="primary", icon=":material/save:",
                disabled=bool(gate.open),
            )  # fmt: skip
    if pressed:
        name, register = f"{file_stem(ws.title)}-released" if is_upload else state.name, register_of(ws)
        if is_upload:
            start_job(ws, JOB, key, lambda job: pack(flow, name, register, job))
        elif place is not None:
            start_job(ws, JOB, key, lambda job: write_claimed(flow, place, name, register, job))
        st.rerun()


def how_counted(ws: Workspace) -> str:
    """Return whether a release is counted with others, in a sentence."""
    if ws.ledger is None:
        return NOT_TOGETHER
    return f"It is counted with the releases of the ledger {plain(ws.ledger.name)}, and its entry comes first."


def outcome(ws: Workspace, answer: Outcome) -> None:
    """Draw what a release is, and its report and manifest; or why it was not written."""
    result = answer.result
    headline(result.verification)
    if result.folder is None:
        in_the_way(ws, result.gate)
        st.error("Nothing was written.", icon=":material/block:")
    else:
        loss = sum(result.loss.values()) / len(result.loss)
        st.success(
            f"**{plain(result.folder.name)}** is {'made' if ws.source is not None else 'written'} and checked: "
            f"{plural(result.after.records, 'row')} in "
            f"{plural(len(result.manifest.parts), 'file')}, {plural(result.after.groups, 'group')}, the "
            f"smallest of {count(result.after.smallest)}; {share(loss)} of the detail is lost.",
            icon=":material/folder:",
        )
        st.caption(f"SHA-256 of its manifest: {plain(result.manifest.sha256)}")
        if result.entry is not None:
            together = [one for one in result.gate.of(Severity.FINE) if kind_of(one) == "together"]
            st.caption(plain(" ".join([*(one.sentence for one in together), result.ledger_sentence])))
            if ws.ledger is not None and result.manifest.sha256 not in ws.ledger.entries:
                ws.use_ledger(ws.ledger.again())
        with st.container(horizontal=True):
            if answer.archive is not None:
                st.download_button(
                    "Download as one file", answer.archive.data, f"{result.folder.name}.zip", "application/zip",
                    key="folder archive", on_click="ignore", type="primary",
                    help="A ZIP of the whole folder, which the Verify page and `copse verify` check with its report.",
                )  # fmt: skip
            st.download_button(
                "Report", answer.report, f"{result.folder.name} report.json", "application/json", key="folder report",
                on_click="ignore",
            )  # fmt: skip
            st.download_button(
                "Manifest", answer.manifest, f"{result.folder.name} {MANIFEST}", "application/json",
                key="folder manifest", on_click="ignore",
            )  # fmt: skip
    for note in filter(None, (result.made.why, *result.notes)):
        st.caption(plain(note))
    with st.expander("What the checker found", key="folder checks"):
        for check in result.verification.checks:
            check_line(check)
