"""A release becomes a new table of a database that the operator lists for that: in one transaction, read back, checked.

The password goes from its field to the thread that writes, and is dropped.
"""

from dataclasses import dataclass

import streamlit as st

from anonymizer.databases.address import PASSWORD, Address, table_from
from anonymizer.databases.write import write_release
from anonymizer.errors import AnonymizerError, CancelledError, ReadError
from anonymizer.provenance.report import Report
from anonymizer.releasing.release import Release
from ui.background import Job
from ui.controls import plain, plural, problem
from ui.data.databases import ON_SERVER
from ui.job import start_job, stop_job, watch
from ui.server.listed import READ, databases_to_write
from ui.session import take_secret
from ui.workspace import Workspace

JOB = "database"


@dataclass
class TargetState:
    """What was typed: ``database``, by its name; ``table``, ``user``. ``tries``: how often the form was sent;
    ``failure``: why it was refused."""

    database: str = ""
    table: str = ""
    user: str = ""
    tries: int = 0
    failure: AnonymizerError | None = None


def into_database(ws: Workspace, release: Release, report: Report, reason: str, locked: bool) -> None:
    """Draw the form that writes a release into a new table, and what became of it; nothing where the operator lists no
    database for that, or the release may not leave."""
    listed = databases_to_write(READ)
    if not listed:
        return
    state = ws.state(TargetState)
    job = ws.jobs.get(JOB)
    if job is not None and job.key[0] is not release:
        stop_job(ws, JOB)
        job = None
    with st.expander("Into a new table of a database", icon=":material/database:", key="into database"):
        if locked:
            st.caption("Nothing can be written as long as the release may not leave.")
        elif job is not None and not job.done.is_set():
            watch(job, JOB)
        elif job is not None and job.failure is None:
            new_table(ws, job, report, reason)
        else:
            if job is not None and job.failure is not None:
                show_failure(job.failure)
            if state.failure is not None:
                problem(state.failure)
            form(ws, state, listed, release)


def form(ws: Workspace, state: TargetState, listed: dict[str, Address], release: Release) -> None:
    """Draw the fields, and begin to write when they are sent."""
    names, tries = list(listed), state.tries
    state.database = st.selectbox(
        "Database to write to", names, names.index(state.database) if state.database in names else 0,
        key="into database name", help="Those that the operator of this server lists for new tables.",
    )  # fmt: skip
    base, password = listed[state.database], ""
    with st.form("into database form", border=False):
        state.table = st.text_input(
            "Name of the new table", state.table, key=f"into table {tries}", placeholder="schema.name, or name",
            help="It must not be there yet: no table is ever changed or replaced.",
        ).strip()  # fmt: skip
        if base.kind == ON_SERVER:
            left, right = st.columns(2)
            with left:
                user = st.text_input("Account", state.user or base.user, key=f"into user {tries}", autocomplete="off")
                state.user = user.strip()
            with right:
                password = take_secret("Password", f"into password {tries}")
            st.caption(":material/key: The password serves this writing alone: it is neither stored nor logged.")
        pressed = st.form_submit_button("Write the table", icon=":material/database_upload:", key="into write")
    if pressed:
        state.tries, state.failure = tries + 1, None
        try:
            begin(ws, release, target_of(state, base, password))
        except AnonymizerError as error:
            stop_job(ws, JOB)
            state.failure = error
        st.rerun()


def target_of(state: TargetState, base: Address, password: str) -> Address:
    """Return the address of the new table that was typed. Raises :class:`ReadError` for what is incomplete."""
    if not state.table:
        raise ReadError("It is not said what the new table is called.", remedy="Type its name.")
    if base.kind == ON_SERVER and not state.user:
        raise ReadError("It is not said who writes.", remedy="Type the account.")
    user = state.user if base.kind == ON_SERVER else ""
    return base.but(table=table_from(state.table), user=user, password=password)


def begin(ws: Workspace, release: Release, target: Address) -> None:
    """Begin to write a release into a new table, in the background."""
    flow = ws.flow
    limits = {**flow.settings.limits.required, "population": flow.population}
    schema, verification = flow.schema, flow.verification

    def work(job: Job) -> str:
        return write_release(release, target, schema, verification, limits, job.go_on)

    start_job(ws, JOB, (release, target.but(password="")), work)
    ws.taking()()


def new_table(ws: Workspace, job: Job, report: Report, reason: str) -> None:
    """Draw that the table is there, its report, and the way to another one."""
    release, target = job.key
    rows = plural(release.n_records, "row")
    st.success(
        f"The table {plain(target.what)} in the database at {plain(target.place)} is new and has {rows}. They were "
        "read back and passed the checker before the transaction ended.",
        icon=":material/verified:",
    )
    with st.container(horizontal=True):
        st.download_button(
            "Report of this table (JSON)", report.with_output({"database": job.answer}, reason).to_json(),
            "database-report.json", "application/json", key="download database report",
            icon=":material/description:", on_click="ignore",
            help="What was done and found, with the SHA-256 of the table's rows. It holds no row.",
        )  # fmt: skip
        st.button("Write another table", key="into another", on_click=stop_job, args=(ws, JOB))


def show_failure(failure: Exception) -> None:
    """Draw why a table was not written."""
    if isinstance(failure, CancelledError):
        st.info("Stopped. The database is as it was.", icon=":material/info:")
    elif isinstance(failure, ReadError) and failure.value == PASSWORD:
        problem(ReadError(failure.problem, remedy="Type it beside the account."))
    elif isinstance(failure, AnonymizerError):
        problem(failure)
    else:
        st.error("This failed unexpectedly; the database is as it was.", icon=":material/error:")
