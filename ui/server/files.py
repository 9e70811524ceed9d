"""A file that was made for a click stays until it can have been fetched."""

import time
from contextvars import ContextVar
from functools import wraps
from typing import Any

from ui.server.framework import delete_files, media_file_manager, session_of_click

PATIENCE = 10.0
"""Seconds in which a file that was made for a click must begin to be fetched."""

CLICKED: ContextVar[str] = ContextVar("CLICKED", default="")
"""The session for whose click a file is being made."""


class Lifetime(media_file_manager.MediaFileMetadata):
    """What the framework knows of a file, which may be deleted :data:`PATIENCE` seconds after no page offered it.

    The framework's own would let it go the second time that any page of any session has been drawn meanwhile: under
    load, that is before the browser has asked for it. ``session``: for whose click it was made, "" for none.
    """

    since: float | None = None

    def __init__(self, *about: Any, **named: Any) -> None:
        super().__init__(*about, **named)
        self.session = CLICKED.get()

    @property
    def is_marked_for_delete(self) -> bool:
        """True when the file has had its time."""
        return self.since is not None and time.monotonic() - self.since >= PATIENCE

    def mark_for_delete(self) -> None:
        """Note, the first time, that no page offers the file."""
        if self.since is None:
            self.since = time.monotonic()


def keep_for_a_while() -> None:
    """Have every file that is made for a click stay for a while, however many pages are drawn, and know whose it is."""
    manager: Any = media_file_manager.MediaFileManager
    execute = manager.execute_deferred

    @wraps(execute)
    def execute_deferred(files: Any, file_id: str) -> str:
        token = CLICKED.set(session_of_click(files, file_id))
        try:
            return str(execute(files, file_id))
        finally:
            CLICKED.reset(token)

    manager.execute_deferred = execute_deferred
    media_file_manager.MediaFileMetadata = Lifetime  # type: ignore[misc]


def drop_files(session: str) -> None:
    """Delete at once every file that no page offers: nobody is to have what was forgotten, or is of a session that has
    ended. ``session``: the one that forgot or ended; what was made for a click of another one stays."""
    delete_files(lambda file: getattr(file, "session", "") in ("", session))
