"""What a page needs before it can show anything: a table, and what each of its columns is."""

from ui.controls import empty_state
from ui.workspace import Workspace


def lacks(ws: Workspace, title: str, text: str, *, roles: bool = True) -> bool:
    """Return True when there is no table yet, or with ``roles`` no role of its columns, and draw the way to them.

    ``title`` and ``text``: what the page would show, and what it needs for that.
    """
    if ws.table is None:
        empty_state(title, text, "data", "Bring a table")
    elif roles and ws.schema is None:
        empty_state(title, text, "roles", "Say what each column is")
    else:
        return False
    return True
