"""A table of a database that the operator lists: named on the page, read with the account of whoever asks.

The password goes from its field to the process that reads, and is dropped: a table is read again with it typed again.
"""

from dataclasses import dataclass

import streamlit as st

from anonymizer.databases.address import PASSWORD, Address, table_from
from anonymizer.errors import ReadError
from ui.data.progress import ReadingBar
from ui.server.listed import READ, databases
from ui.session import take_secret
from ui.workspace import Workspace

WAYS = {"table": "A table", "query": "A query"}
ON_SERVER = "postgresql"
"""The kind of database that asks for an account."""


@dataclass
class DatabaseState:
    """What was typed: ``database``, by its name; ``way``: a key of :data:`WAYS`; ``table``, ``query``, ``user``."""

    database: str = ""
    way: str = "table"
    table: str = ""
    query: str = ""
    user: str = ""


def from_database(ws: Workspace) -> None:
    """Draw the form that reads a table of a listed database; nothing where the operator lists none."""
    listed = databases(READ)
    if not listed:
        return
    state, names = ws.state(DatabaseState), list(listed)
    again = ws.failure is not None and bool(state.database)
    with st.expander("Or a table in a database", expanded=again, icon=":material/database:", key=f"db {ws.edition}"):
        state.database = st.selectbox(
            "Database",
            names,
            names.index(state.database) if state.database in names else 0,
            key=f"db name {ws.edition}",
            help="Those that the operator of this server lists. They are read, never changed.",
        )
        way = st.segmented_control(
            "What to read", list(WAYS), default=state.way, format_func=WAYS.get, required=True,
            key=f"db way {ws.edition}",
        )  # fmt: skip
        state.way = str(way)
        with st.form(f"db form {ws.edition}", border=False):
            password = fields(ws, state, listed[state.database])
            pressed = st.form_submit_button("Read it", icon=":material/database:", key=f"db read {ws.edition}")
        if pressed:
            try:
                address = address_of(state, listed[state.database], password)
            except ReadError as error:
                ws.failure = error
                ws.edition += 1
                st.rerun()
            read(ws, address)


def fields(ws: Workspace, state: DatabaseState, base: Address) -> str:
    """Draw the fields of the form, and return the password that was typed."""
    if state.way == "table":
        state.table = st.text_input(
            "Name of the table", state.table, key=f"db table {ws.edition}", placeholder="schema.name, or name",
            help="In upper and lower case as it stands; what has a dot of its own goes in double quotes.",
        ).strip()  # fmt: skip
    else:
        state.query = st.text_area(
            "Query", state.query, key=f"db query {ws.edition}", height=100, placeholder="SELECT … FROM …",
            help="One SELECT. A query that would change something is refused.",
        )  # fmt: skip
    if base.kind != ON_SERVER:
        return ""
    left, right = st.columns(2)
    with left:
        state.user = st.text_input(
            "Account", state.user or base.user, key=f"db user {ws.edition}", autocomplete="off"
        ).strip()
    with right:
        password = take_secret("Password", f"db password {ws.edition}")
    st.caption(":material/key: The password serves this reading alone: it is neither stored nor logged.")
    return password


def address_of(state: DatabaseState, base: Address, password: str) -> Address:
    """Return the address of the table or the query that was typed. Raises :class:`ReadError` for what is incomplete."""
    query = state.query.strip().rstrip(";").strip() if state.way == "query" else ""
    if not (query or state.way == "table" and state.table):
        raise ReadError("It is not said what to read.", remedy="Name a table, or write a query.")
    if base.kind == ON_SERVER and not state.user:
        raise ReadError("It is not said who asks.", remedy="Type the account.")
    table = ("", "") if query else table_from(state.table)
    return base.but(table=table, query=query, user=state.user, password=password)


def read(ws: Workspace, address: Address) -> None:
    """Read what an address names with a progress bar and a Cancel, then draw the page again."""
    ws.edition += 1  # the form is dealt with, whatever comes of it
    bar, awaited = ReadingBar(ws, address.name), ws.decisions.awaited
    same = awaited is not None and awaited.project.table_name == address.name
    options = awaited.project.reading if awaited is not None and same else None
    ws.bring(address, address.name, options, progress=bar.progress, cancelled=bar.cancelled)
    if ws.failure is not None and ws.failure.value == PASSWORD:
        ws.failure = ReadError(ws.failure.problem, remedy="Type it beside the account.")
    st.rerun()
