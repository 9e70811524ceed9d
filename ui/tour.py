"""A tour of one minute: the hospital sample, and one short card on each of the five steps."""

from dataclasses import dataclass

import streamlit as st

from ui.controls import PAGES
from ui.navigation import STEPS
from ui.workspace import Workspace

SAMPLE = "hospital"
TITLES = {name: title for name, title, _ in STEPS}

CARDS = {
    "data": (
        "These are 2,000 made-up admissions to a hospital, one row a person, with names and dates as your own file may "
        "have them.",
        "Look at a few rows. Then say what each column is.",
    ),
    "roles": (
        "Copse suggests who could know what. Q: somebody could know it. S: it must stay secret. I: it names a person, "
        "and is never released.",
        "Select columns to give them another role. Below stands how many rows are unique now.",
    ),
    "tree": (
        "People who look alike are in one group. The larger the smallest group, **k**, the safer, and the more detail "
        "is lost.",
        "Move k, and pick a group: who is in it, and why it was not divided further.",
    ),
    "gate": (
        "Copse checks what would be released: names kept by mistake, columns that reveal others, groups that share a "
        "value.",
        "Each risk has a repair beside it, with its price. Or release it, with a reason.",
    ),
    "release": (
        "Every promise was checked from the released cells, by code that did not make them. See one row before and "
        "after.",
        "Download the table and its report. Your own table is next: *Open another table*, on the Data page.",
    ),
}
"""What is seen on the page of each step, and what can be done there."""


@dataclass
class TourState:
    """Whether the tour goes on."""

    goes_on: bool = False


def offer_tour(ws: Workspace) -> None:
    """Draw the button that begins the tour."""
    if st.button("One-minute tour", icon=":material/tour:", help="Opens a sample and leads over the five steps"):
        with st.spinner("Making the sample …"):
            ws.bring_sample(SAMPLE)
        ws.state(TourState).goes_on = ws.reading is not None
        st.rerun()


def tour(ws: Workspace, page: str) -> None:
    """Draw the card of a page as long as the tour goes on, with the way to the next, and the end at any time."""
    state = ws.state(TourState)
    if not state.goes_on or page not in CARDS or ws.reading is None:
        return
    order = list(CARDS)
    at = order.index(page)

    def end() -> None:
        state.goes_on = False

    with st.container(border=True, horizontal=True, vertical_alignment="center", key="tour"):
        st.markdown(
            f"**{at + 1:d} of {len(CARDS):d} · {TITLES[page]}.** {CARDS[page][0]} {CARDS[page][1]}", width="stretch"
        )
        if at + 1 < len(order):
            if st.button(f"On to: {TITLES[order[at + 1]]}", key=f"tour {page}", icon=":material/arrow_forward:"):
                st.switch_page(PAGES / f"{order[at + 1]}.py")
            st.button("End the tour", key="end tour", type="tertiary", on_click=end)
        else:
            st.button("Finish", key="end tour", icon=":material/check:", on_click=end)
