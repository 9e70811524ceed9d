"""What stands in the way of the release of a table in pieces: by the table and its roles, later by its release, too."""

import streamlit as st

from anonymizer.partitions.run import SAMPLE
from ui.controls import count
from ui.gate.view import WHERE, cards, headline, way_on
from ui.release.folder import folder_gate, folder_result
from ui.workspace import Workspace

BEFORE = (
    "This was looked for in the table and the roles of its columns: what leaves by mistake, what undoes a box, what "
    "stands out."
)


def gate_of_pieces(ws: Workspace) -> None:
    """Draw every finding about the table, or about its release once that is made, and how much was looked at."""
    ws.flow.compute("about_table")
    gate, is_made = folder_gate(ws), folder_result(ws) is not None
    assert gate is not None
    headline(gate, WHERE if is_made else BEFORE, so_far=not is_made)
    st.info(f"{records_text(ws.n_records)}{'' if is_made else later_text(ws)}", icon=":material/grid_view:")
    cards(ws, gate, "release")
    way_on(gate)


def records_text(records: int) -> str:
    """Return how many records the gate looks at, in a sentence."""
    if records <= SAMPLE:
        return f"All {count(records)} rows were looked at."
    return f"{count(SAMPLE)} of the {count(records)} rows were looked at, evenly spread over the table."


def later_text(ws: Workspace) -> str:
    """Return what is looked at later, in a sentence after others."""
    does = "made" if ws.source is not None else "written"
    return (
        f" What its groups tell (k, groups that share one sensitive value, rows that the kept columns find) is looked "
        f"at in every released row when the release is {does} on the next page, and stands here then."
    )
