"""Verify page: any packet, or released file and its report, for whoever gives it and whoever gets it."""

import streamlit as st

from ui.session import workspace
from ui.verify.view import bring, offer_page, outcome


def main() -> None:
    ws = workspace()
    st.title("Is this release what its report says?", anchor=False)
    st.markdown(
        "Drop a release packet, or a released file and the report that came with it. The checker reads the **whole "
        "file**: its cells, and whatever else stands in it. No table has to be open, and the file is not kept. Drop "
        "releases of the same people at once to see what they tell together."
    )
    bring(ws)
    outcome(ws)
    offer_page()


main()
