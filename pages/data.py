"""Data page: bring a table, see how it was read, and fix what was read wrongly."""

import pandas as pd
import streamlit as st

from anonymizer.reading.files import PREVIEW
from ui.controls import KIND_LABELS, count, next_step, plain, problem, size, without_midnight
from ui.data.chooser import chooser
from ui.data.ledger import ledger_panel
from ui.data.paper import paper_panel
from ui.data.pieces import about_pieces
from ui.data.reading_form import problems_found, questions_form, reading_form
from ui.data.start import start
from ui.decisions.project_file import project_panel
from ui.decisions.view import offer
from ui.session import workspace
from ui.workspace import Workspace


def overview(ws: Workspace) -> None:
    """Draw the table in a few numbers."""
    reading = ws.reading
    if reading is None:
        return
    st.title(plain(ws.title), anchor=False)
    st.markdown("Correct here what was read wrongly.")
    with st.container(horizontal=True, gap="large"):
        st.metric("Rows", count(reading.n_records))
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
    problems_found(ws, reading.problems)
    preview, columns, how = st.tabs(["Preview", "Columns", "How it was read"], key=f"details {reading.sha256}")
    with preview:
        st.dataframe(without_midnight(reading.preview), hide_index=True, height=390, key=f"preview {ws.edition}")
        if reading.n_records > PREVIEW:
            st.caption(f"The first {PREVIEW} of {count(reading.n_records)} rows.")
    with columns:
        st.dataframe(facts_table(ws), hide_index=True, key=f"facts {ws.edition}")
    with how:
        reading_form(ws)


def facts_table(ws: Workspace) -> pd.DataFrame:
    """Return one row a column of the table."""
    return pd.DataFrame([{**fact.to_dict(), "Kind": KIND_LABELS[fact.kind]} for fact in ws.facts()])


def decisions(ws: Workspace) -> None:
    """Draw where decisions are kept, and the project file that holds them."""
    with st.expander("Decisions and project file", icon=":material/bookmark:", key="decisions"):
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
        start(ws)
        return
    overview(ws)
    offer(ws)
    if ws.failure is not None:
        problem(ws.failure, "The table you had before is still here.")
    paper_panel(ws)
    details(ws)
    with st.expander("Open another table", icon=":material/upload_file:", key=f"another {ws.edition}"):
        chooser(ws)
    ledger_panel(ws)
    decisions(ws)
    next_step("roles", "Next: give roles")


main()
