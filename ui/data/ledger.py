"""A ledger of releases, opened or begun beside the table."""

import streamlit as st

from anonymizer.errors import AnonymizerError, ReadError
from anonymizer.ledger.cells import Since
from anonymizer.ledger.ledger import Ledger
from anonymizer.ledger.rows import KeyedRows
from anonymizer.partitions.ledger import rows_of_parted
from anonymizer.partitions.parted import PartedReading
from anonymizer.reading.files import Reading
from anonymizer.schema import Schema
from ui.controls import count, plain, plural, problem
from ui.decisions.ledger import OpenLedger, ledger_folder, ledgers_in, path_in
from ui.workspace import Workspace

NONE = "No ledger"
WHAT = "With a ledger, each release is counted together with all before it. Keep its files as you keep the table."


def ledger_panel(ws: Workspace) -> None:
    """Draw which ledger is open, what it knows of these people, and the way to another or a new one; nothing where
    this server has no place for ledgers."""
    folder = ledger_folder()
    if folder is None or ws.reading is None:
        return
    title = "Ledger of releases" if ws.ledger is None else f"Ledger of releases: {plain(ws.ledger.name)}"
    with st.expander(title, icon=":material/history_edu:", key="ledger"):
        if ws.ledger is None:
            st.markdown(WHAT)
        else:
            of_these_people(ws, ws.ledger)
        account = ws.account()
        if account is not None and account.sentences:
            st.markdown(plain(" ".join(account.sentences)))
        names = [NONE, *ledgers_in(folder)]
        now = NONE if ws.ledger is None else ws.ledger.name
        left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
        place = names.index(now) if now in names else 0
        name = left.selectbox("Ledger", names, index=place, format_func=plain, key=f"ledger {now}")
        with right.form("new ledger", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
            new = st.text_input("Or begin a new one", placeholder="Its name", max_chars=80, key="new ledger name")
            begin = st.form_submit_button("Begin")
        try:
            if begin:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                ws.use_ledger(OpenLedger.at(Ledger.new(path_in(folder, new)).path))
                st.rerun()
            if name != now:
                ws.use_ledger(None if name == NONE else OpenLedger.at(path_in(folder, name)))
                st.rerun()
        except AnonymizerError as error:
            problem(error)
        except OSError as error:
            remedy = "Make room, or ask who runs this server to let it write there."
            problem(ReadError(f"The ledger could not be written: {error.strerror}.", remedy=remedy))


def rows_of(reading: Reading | PartedReading, ledger: Ledger, schema: Schema) -> KeyedRows:
    """Return the rows of a table as a ledger sees them."""
    if isinstance(reading, PartedReading):
        return rows_of_parted(ledger, reading.table, schema)
    return ledger.rows_of(reading.frame, schema)


def of_these_people(ws: Workspace, opened: OpenLedger) -> None:
    """Draw how many releases a ledger has, how many of the table's people are in them, and who came and left."""
    releases = plural(len(opened.entries), "release")
    reading, schema = ws.reading, ws.schema or ws.suggest()
    if not opened.entries or reading is None:
        st.markdown(f"**{releases}.** {WHAT}")
        return
    cells = ws.answers.get(
        "ledger cells",
        (opened.head, reading.sha256, schema),
        lambda: opened.ledger.cells_of(rows_of(reading, opened.ledger, schema)),
    )
    if cells.unknown and not cells.recognised:
        st.markdown(f"**{releases}.** Say on the Roles page which column tells whose a row is: that recognises people.")
        return
    people = f"{count(cells.recognised)} of {count(cells.present)} people recognised"
    st.markdown(f"**{releases}: {people}.**" if cells.recognised else f"**{releases}, none of these people.**")
    if cells.since is not None and cells.since.came + cells.since.left:
        picture_of(cells.since)


def picture_of(since: Since) -> None:
    """Draw who stayed, came and left since a release: its people above those of the table."""
    parts = {"left": since.left, "stayed": since.stayed, "came": since.came}
    figures = f"{count(since.left)} left, {count(since.stayed)} stayed, {count(since.came)} came"
    st.markdown(f"Since {plain(since.day)}: {plain(figures)}.")
    widths = " ".join(f"minmax({3 if number else 0}px, {number}fr)" for number in parts.values())
    columns = {"left": "1", "stayed": "2", "came": "3"}
    bars = [("left", 1), ("stayed", 1), ("stayed", 2), ("came", 2)]
    cells = "".join(
        f'<i class="{what}" style="grid-area:{row}/{columns[what]}"></i>' for what, row in bars if parts[what]
    )
    st.html(f'<div class="copse-people" aria-hidden="true" style="grid-template-columns:{widths}">{cells}</div>')
