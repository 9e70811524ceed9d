"""The visit of a page: which page it is, what its panels were when it was opened, and how far the steps are."""

from dataclasses import dataclass, field

from anonymizer.schema import Schema
from ui.workspace import Workspace


@dataclass
class FrameState:
    """What the frame remembers.

    ``page``: the address of the page that is open. ``panels``: by name, what a panel was when the page was opened.
    ``steps``: those that are done, for the roles ``schema``. ``edition``: of the table for which memory was swept.
    """

    page: str | None = None
    panels: dict[str, bool] = field(default_factory=dict)
    steps: frozenset[str] = frozenset()
    schema: Schema | None = None
    edition: int = -1


def at_first(ws: Workspace, panel: str, opens: bool) -> bool:
    """Return whether a panel was open when its page was opened. One that is said to be open, then shut, again and again
    would shut while somebody works in it."""
    return ws.state(FrameState).panels.setdefault(panel, opens)
