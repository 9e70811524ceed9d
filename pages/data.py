"""Data page: bring a table, see how it was read, and mend what was read wrongly."""

import pandas as pd
import streamlit as st

from ui.chooser import chooser
from ui.controls import count, next_step, plain, problem, size
from ui.reading_form import problems_found, reading_form
from ui.workspace import Workspace, workspace

PREVIEW_ROWS = 200


def welcome() -> None:
    """What Copse does and what happens to the data, before there is any."""
    st.title("Bring a table of people", anchor=False)
    st.markdown(
        "Copse groups people who look alike and makes what an attacker could know just coarse enough, "
        "while a column of your choice stays worth studying. Four steps: **data**, **roles**, **tree**, **release**."
    )


def promises() -> None:
    """Three sentences about what happens to the data."""
    for place, icon, title, text in zip(
        st.columns(3),
        (":material/memory:", ":material/lock:", ":material/fact_check:"),
        ("It stays in memory", "It goes nowhere", "The release is checked"),
        (
            "The table is held for this session only. Nothing is written to disk, and **Forget it** drops it at once.",
            "No part of it is sent to another service, put in a link or written to a log.",
            "What you download is verified from its own cells, by code that did not make it.",
        ),
        strict=True,
    ):
        with place, st.container(border=True, height="stretch"):
            st.markdown(f"{icon} **{title}**  \n{text}")


def overview(ws: Workspace) -> None:
    """The table in four numbers."""
    reading = ws.reading
    if reading is None:
        return
    st.title(plain(reading.name), anchor=False)
    with st.container(horizontal=True, gap="large"):
        st.metric("Records", count(len(reading.frame)))
        st.metric("Columns", count(len(reading.frame.columns)))
        st.metric("Size", size(reading.size))
        st.metric("Format", reading.format)
        warnings = [found for found in reading.problems if found.level != "info"]
        st.metric("Things to look at", count(len(warnings)))


def details(ws: Workspace) -> None:
    """Preview, facts about each column, and how the file was read."""
    reading = ws.reading
    if reading is None:
        return
    problems_found(reading.problems)
    preview, columns, how = st.tabs(["Preview", "Columns", "How it was read"])
    with preview:
        st.dataframe(reading.frame.head(PREVIEW_ROWS), hide_index=True, height=390, key=f"preview {ws.edition}")
        if len(reading.frame) > PREVIEW_ROWS:
            st.caption(f"The first {PREVIEW_ROWS} of {count(len(reading.frame))} records.")
    with columns:
        st.dataframe(facts_table(ws), hide_index=True, key=f"facts {ws.edition}")
    with how:
        reading_form(ws)


def facts_table(ws: Workspace) -> pd.DataFrame:
    """One row a column of the table."""
    return pd.DataFrame([fact.to_dict() for fact in ws.facts()])


def main() -> None:
    ws = workspace()
    if ws.table is None:
        welcome()
        if ws.failure is not None:
            problem(ws.failure)
        chooser(ws)
        promises()
        return
    overview(ws)
    if ws.failure is not None:
        problem(ws.failure, "The table you had before is still here.")
    details(ws)
    with st.expander("Bring another table", icon=":material/upload_file:"):
        chooser(ws)
    next_step("roles", "Next: give roles")


main()
