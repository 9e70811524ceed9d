"""The project file: saved, opened, and taken over by the table that it fits, at once or as soon as that comes."""

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from functools import partial
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd
import streamlit as st

from anonymizer.checking.cell_limits import Promise
from anonymizer.checking.released_file import ReleasedFile, read_released
from anonymizer.errors import AnonymizerError, MemoryOnlyError, ReadError
from anonymizer.gate.earlier import LastRelease
from anonymizer.labelled.codebook import is_codebook
from anonymizer.plan.carry_over import carry_over
from anonymizer.plan.plan import NAME, Plan
from anonymizer.reading.child import read_codebook_in_child, read_in_child
from anonymizer.reading.options import ReadOptions
from anonymizer.reporting.packet import project_in
from anonymizer.schema import Schema
from anonymizer.settings import SETTINGS, Settings, in_text
from anonymizer.whatif.described import with_codebook
from anonymizer.whatif.next_year import profile_of, read_as_then
from anonymizer.whatif.project import Project, from_json, outward, release_of_last_time, to_json
from ui.controls import plural
from ui.decisions.plan_file import is_plan, plan_of, project_of_plan, take_plan_over
from ui.decisions.state import DAYS, MOST, Awaited, LastTime
from ui.release.downloads import file_stem
from ui.release.state import ReleaseState
from ui.server.framework import drop_uploads
from ui.server.memory import size_of
from ui.server.places import PLACES
from ui.workspace import Workspace

WHAT = (
    "how the file is read, roles, declared domains, settings, scenarios, history, reasons and what you write for "
    "reports"
)

LARGEST_PACKET = 512 << 20
"""Bytes of the largest packet of one's own from which a project is taken."""
PROJECTS = "The packet that was made for your own files has its project in it: open the ZIP as it is."
CODEBOOKS = (
    "A codebook says what the columns are: a DDI-Codebook (XML), a Frictionless Table Schema or Data Package (JSON), "
    "or a CSV with the columns name, label, role, kind and domain. Domains that it names are public: "
    "those for a private forest, too. What contradicts the table is said, and not taken over."
)


def project_of(ws: Workspace) -> Project:
    """Return what was decided about the table that is here; its roles as suggested where nobody gave any."""
    reading = ws.reading
    assert reading is not None
    manner = None if ws.source is None else reading.options
    last = None
    if ws.schema is not None and ws.ready("report"):
        flow = ws.flow
        last = ws.answers.get("profile", flow.release, lambda: profile_of(flow))
    return Project(
        ws.schema or ws.suggest(), dict(ws.settings), ws.scenarios, ws.history, reading.name, reading.sha256,
        reading.n_records, manner, ws.spent_here, ws.state(ReleaseState).words,
        ws.reasons, last, keep=ws.keep,
    )  # fmt: skip


def open_project(ws: Workspace, content: str | bytes, visit: str = "") -> None:
    """Have a project, that of a packet, or a codebook taken over when the page is next drawn, or as soon as its table
    is here. What is none of these leaves everything as it is, and ``ws.decisions.problem`` says why. ``visit``: whose
    it is, where the browser kept it."""
    decisions = ws.decisions
    decisions.files += 1
    decisions.note, decisions.problem, decisions.described, decisions.planned = "", None, None, None
    try:
        if isinstance(content, bytes):
            content = project_in(content, partial(ws.unfold_packet, "The packet"))
        if is_plan(content):
            plan = Plan.from_text(content)
            decisions.awaited = Awaited(project_of_plan(plan), content, visit, plan=plan)
            return
        if isinstance(content, bytes) and is_codebook(content):
            decisions.codebook = read_codebook_in_child(content)
            return
        decisions.awaited = Awaited(from_json(content), content, visit)
    except AnonymizerError as error:
        decisions.problem = error


def take_over(ws: Workspace) -> None:
    """Take over the codebook that waits, and the project, if it fits the table that is here; tried once for each table,
    and what does not fit is noted."""
    take_codebook_over(ws)
    decisions, awaited = ws.decisions, ws.decisions.awaited
    reading = ws.reading if ws.doubt is None else ws.doubt[0]
    if awaited is None or reading is None or awaited.tried == ws.edition:
        return
    project = awaited.project
    awaited.tried = ws.edition
    same = project.may_be_of(reading.sha256, reading.name)
    follows = project.may_precede(list(reading.names))
    options = project.reading if awaited.plan is None else awaited.plan.read_as(reading.options)
    if options is not None and (same or follows):
        if awaited.plan is None and not same:
            options = read_as_then(options, reading.options, reading.sheets)
        if not read_as(ws, options):  # ws.failure says why
            decisions.awaited = awaited if ws.asks_password else None
            return
    if ws.doubt is not None or ws.reading is None:  # its questions come first
        return
    columns = list(ws.reading.names)
    decisions.note, decisions.fits = project.mismatch(ws.reading.sha256, columns), False
    same = same and (bool(project.table_sha256) or (project.fits(columns) and project.records == ws.n_records))
    if not (project.fits(columns) if same else project.may_precede(columns)):
        return
    try:
        if awaited.plan is not None:
            decisions.awaited, decisions.note = None, ""
            return take_plan_over(ws, awaited.plan)
        project = from_json(awaited.content, ws.suggest())
        if same:
            schema = Schema(tuple(project.schema[name] for name in columns), project.schema.target)
        else:
            schema, changes = carry_over(project.schema, project.last, in_memory(ws), ws.suggest())
            decisions.last = LastTime(project, changes)
        schema.check(ws.reading.preview)
    except AnonymizerError as error:
        decisions.problem, decisions.awaited = error, None
        return
    ws.set_schema(schema)
    ws.open(dict(project.parameters))
    unfit = ws.unfit(project.parameters)
    if same or decisions.last is None or not decisions.last.changes:
        ws.scenarios, ws.history, ws.keep = project.scenarios, project.history, project.keep
    ws.state(ReleaseState).fill(project.words)
    if same:  # what was answered cannot be taken back, and a reason speaks of this table's values
        ws.spend(0.0, at_least=project.spent)
        ws.reasons = project.reasons
    decisions.visit = awaited.visit if same and awaited.visit else decisions.visit
    decisions.awaited, decisions.fits = None, same and not decisions.note
    if same:
        decisions.note = decisions.note or restored_text(project)
    elif not project.fits(columns):
        decisions.note = ""  # what changed says it all
    if unfit:
        decisions.note, decisions.fits = f"{decisions.note} {unfit_text(unfit)}".strip(), False


def bring_last_time(ws: Workspace, last: LastTime, name: str, content: bytes) -> None:
    """Count last time's release with this one from now on, by its table or by the released file alone, which is told by
    the column that says whose a row is; ``last.problem`` says why that cannot be done."""
    project, settings = last.project, Settings(**last.project.parameters)
    last.problem = None
    try:
        with ws.turn(True):
            reading = read_in_child(content, name=name, reader=read_released)
            PLACES.require(ws.owner, name, 2 * size_of(reading.frame))
            if project.schema.person in reading.names:
                last.release = release_of_last_time(project, read_in_child(content, name=name, options=project.reading))
            else:
                file = ReleasedFile.of_reading(reading).under(project.schema)
                promise = Promise.of(project.schema, settings.limits)
                last.release = LastRelease(file.rows, project.schema, settings.k, promise)
    except AnonymizerError as error:
        last.problem = error


def unfit_text(names: Iterable[str]) -> str:
    """Return that some settings are not those of the project, in one sentence."""
    listed = ", ".join(in_text(SETTINGS[name].title) for name in names)
    return f"This table is kept in pieces, so what takes a smaller one is not as in the project: {listed}."


def in_memory(ws: Workspace) -> pd.DataFrame:
    """Return the table that is here. Raises :class:`MemoryOnlyError` for one in pieces."""
    table = ws.table
    assert table is not None
    return table


def take_codebook_over(ws: Workspace) -> None:
    """Hold the codebook that waits against the table that is here."""
    decisions = ws.decisions
    if not decisions.codebook or ws.reading is None or ws.doubt is not None:
        return
    codebook, decisions.codebook = decisions.codebook, ()
    try:
        schema, changes = with_codebook(ws.schema or ws.suggest(), codebook, in_memory(ws))
    except MemoryOnlyError as error:
        decisions.problem = error
        return
    ws.set_schema(schema)
    decisions.described = len(codebook), changes


def restored_text(project: Project) -> str:
    """Return what holds again, in one sentence."""
    when = f" of {moment(project.saved)}" if project.saved else ""
    scenarios = f", {plural(len(project.scenarios), 'scenario')}" if project.scenarios else ""
    changes = plural(len(project.history.entries), "decision")
    return f"Roles, domains and settings{when} hold again: {changes} in the history{scenarios}."


def moment(saved: str) -> str:
    """Return a moment as people say it where the browser is: its time, and its day unless that is today."""
    try:
        zone: tzinfo = ZoneInfo(st.context.timezone or "UTC")
    except (ValueError, OSError, ZoneInfoNotFoundError):
        zone = UTC
    then = datetime.fromisoformat(saved).astimezone(zone)
    is_today = then.date() == datetime.now(zone).date()
    return f"{then:%H:%M}" if is_today else f"{then.day:d} {then:%B %Y, %H:%M}"


def read_as(ws: Workspace, options: ReadOptions) -> bool:
    """Read the file that is here as a project says, where it was read otherwise or waits for an answer. False when it
    cannot be."""
    reading, source = (ws.reading, ws.source) if ws.doubt is None else ws.doubt
    if reading is None or source is None:
        return True
    if ws.doubt is None and reading.options == options:
        return True
    if ws.asks_password:
        ws.failure = ReadError(
            "The project reads the table in another way, and reading it again takes its password.",
            remedy="Read it once more from the database: the project is followed then.",
        )
        return False
    with st.spinner("Reading the file as the project says …"):
        is_read = ws.bring(source, reading.name, options)
    if ws.decisions.awaited is not None:
        ws.decisions.awaited.tried = ws.edition
    return is_read


def project_panel(ws: Workspace) -> None:
    """Draw where decisions are kept, how they are saved as a project file, and where one is opened."""
    kept_decisions(ws)
    project_field(ws)


def kept_decisions(ws: Workspace) -> None:
    """Draw where decisions are kept, and the button that saves them as a project file."""
    decisions = ws.decisions
    st.markdown(
        f"Your decisions: {WHAT}. The names of the file and its columns are kept with them. No row is, and "
        "of values only domains that you declared. "
        f"This browser keeps them for {DAYS} days, of the last {MOST} tables, encrypted. The key stays here. *Remove "
        "table* deletes those of its table."
    )
    if decisions.obstacle:
        st.warning(obstacle_text(decisions.obstacle), icon=":material/lock_open:")
    else:
        is_on = st.toggle(
            "Keep my decisions in this browser", decisions.is_on, key=f"keep decisions {decisions.is_on}",
            help="Switched off, all that this browser keeps is dropped at once, and nothing more is kept.",
        )  # fmt: skip
        if is_on != decisions.is_on:
            decisions.switch(is_on)
            st.rerun()
    if ws.schema is not None and ws.reading is not None:
        project = outward(project_of(ws))
        plan = plan_of(ws)
        st.download_button(
            "Save the plan", lambda: plan.text, NAME, "application/toml", key="save plan",
            icon=":material/description:", on_click="ignore", help="Roles, limits, method, answers and texts in one "
            "file that people read. `copse release` follows it in a terminal, and this page opens it.",
        )  # fmt: skip
        st.download_button(
            "Save the project", lambda: to_json(project, ws.suggest()), f"{file_stem(project.table_name)}-project.json",
            "application/json", key="save project", icon=":material/save:", on_click="ignore",
        )  # fmt: skip


def project_field(ws: Workspace) -> None:
    """Draw where a project file or a codebook is opened."""
    file = st.file_uploader(
        "Open a project, a plan or a codebook", ["json", "toml", "zip", "xml", "csv"],
        key=f"project {ws.edition} {ws.version} {ws.decisions.files}",
        max_upload_size=LARGEST_PACKET >> 20, help=f"{PROJECTS}\n\n{CODEBOOKS}",
    )  # fmt: skip
    if file is not None:
        drop_uploads()
        open_project(ws, file.getvalue())
        st.rerun()


def obstacle_text(obstacle: str) -> str:
    """Return why the browser keeps no decisions, and what helps."""
    if obstacle == "insecure":
        return (
            "This browser keeps no decisions: it encrypts only on pages of this computer, or over https. Save the "
            "project instead."
        )
    return "This browser gives no room to keep decisions in, as in a private window. Save the project instead."
