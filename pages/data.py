"""Data page: bring a table, see how it was read, and fix what was read wrongly."""

import pandas as pd
import streamlit as st

from anonymizer.reading.files import PREVIEW
from ui.controls import KIND_LABELS, count, next_step, plain, problem, size, without_midnight
from ui.data.chooser import chooser
from ui.data.paper import paper_panel
from ui.data.pieces import about_pieces
from ui.data.reading_form import problems_found, questions_form, reading_form
from ui.decisions.project_file import WHAT, project_panel
from ui.decisions.state import DAYS
from ui.decisions.view import offer
from ui.session import workspace
from ui.tour import offer_tour
from ui.workspace import Workspace


def welcome() -> None:
    """Draw what Copse does, before there is any data."""
    st.title("Release a table about people, safely", anchor=False)
    st.markdown(
        "Copse groups people who look alike and makes what an attacker could know just coarse enough, "
        "while a column of your choice stays worth studying."
    )


def promises() -> None:
    """Draw four sentences about what happens to the data."""
    st.markdown(
        ":material/memory: **It stays in memory.** The table is held for this session only, never written to disk, "
        "and *Remove table* drops it at once.\n\n"
        ":material/lock: **It goes nowhere.** No part of it is sent to another service, put in a link or logged.\n\n"
        f":material/bookmark: **Your decisions stay with you.** They are {WHAT}; for {DAYS} days this browser keeps "
        "them, encrypted, and they come back when the same file is dropped.\n\n"
        ":material/fact_check: **The release is checked.** What you download is verified from its own cells, by code "
        "that did not make it."
    )


def overview(ws: Workspace) -> None:
    """Draw the table in a few numbers."""
    reading = ws.reading
    if reading is None:
        return
    st.title(plain(ws.title), anchor=False)
    st.markdown("This is how the table was read: correct what is wrong here, then say what each column is.")
    with st.container(horizontal=True, gap="large"):
        st.metric("Records", count(reading.n_records))
        st.metric("Columns", count(len(reading.names)))
        st.metric("Size", size(reading.size))
        st.metric("Format", plain(reading.format))
        warnings = [one for one in reading.problems if one.level != "info"]
        st.metric("Things to look at", count(len(warnings)))
    if reading.in_pieces:
        st.info(about_pieces(ws), icon=":material/grid_view:")


def details(ws: Workspace) -> None:
    """Draw a preview, facts about each column, and how the file was read."""
    reading = ws.reading
    if reading is None:
        return
    problems_found(reading.problems)
    preview, columns, how = st.tabs(["Preview", "Columns", "How it was read"], key=f"details {reading.sha256}")
    with preview:
        st.dataframe(without_midnight(reading.preview), hide_index=True, height=390, key=f"preview {ws.edition}")
        if reading.n_records > PREVIEW:
            st.caption(f"The first {PREVIEW} of {count(reading.n_records)} records.")
    with columns:
        st.dataframe(facts_table(ws), hide_index=True, key=f"facts {ws.edition}")
    with how:
        reading_form(ws)


def facts_table(ws: Workspace) -> pd.DataFrame:
    """Return one row a column of the table."""
    return pd.DataFrame([{**fact.to_dict(), "Kind": KIND_LABELS[fact.kind]} for fact in ws.facts()])


def decisions(ws: Workspace) -> None:
    """Draw where decisions are kept, and the project file that holds them."""
    with st.expander("Decisions and project file", icon=":material/bookmark:", key=f"decisions {ws.reading is None}"):
        project_panel(ws)


def main() -> None:
    ws = workspace()
    if ws.doubt is not None:
        if ws.failure is not None:
            problem(ws.failure)
        offer(ws)
        questions_form(ws)
        with st.expander("Choose another file", icon=":material/upload_file:", key=f"instead {ws.edition}"):
            chooser(ws)
        return
    if ws.reading is None:
        welcome()
        offer_tour(ws)
        if ws.failure is not None:
            problem(ws.failure)
        chooser(ws, promises)
        decisions(ws)
        return
    overview(ws)
    offer(ws)
    if ws.failure is not None:
        problem(ws.failure, "The table you had before is still here.")
    paper_panel(ws)
    details(ws)
    with st.expander("Open another table", icon=":material/upload_file:", key=f"another {ws.edition}"):
        chooser(ws)
    decisions(ws)
    next_step("roles", "Next: give roles")


main()
