"""What a page needs before it can show anything: a table, and what each of its columns is."""

from anonymizer.errors import MemoryOnlyError
from anonymizer.reading.files import Reading
from ui.controls import empty_state, problem
from ui.data.pieces import opening
from ui.workspace import Workspace


def lacks(ws: Workspace, title: str, text: str, *, roles: bool = True, whole: str = "") -> bool:
    """Return True when there is no table yet, or with ``roles`` no role of its columns, and draw the way to them, or
    how far a table is that is being opened; with ``whole``, what takes a table in memory, also when it is in pieces,
    and say so.

    ``title`` and ``text``: what the page would show, and what it needs for that.
    """
    if ws.reading is None:
        if not opening(ws):
            empty_state(title, text, "data", "Choose a table")
    elif roles and ws.schema is None:
        empty_state(title, text, "roles", "Say what each column is")
    elif whole and not isinstance(ws.reading, Reading):
        problem(MemoryOnlyError(whole))
    else:
        return False
    return True
