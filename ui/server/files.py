"""A file that was made for a click stays until it can have been fetched."""

import time

from streamlit.runtime import exists, get_instance, media_file_manager

PATIENCE = 10.0
"""Seconds in which a file that was made for a click must begin to be fetched."""


class Lifetime(media_file_manager.MediaFileMetadata):
    """What the framework knows of a file, which may be deleted :data:`PATIENCE` seconds after no page offered it.

    The framework's own would let it go the second time that any page of any session has been drawn meanwhile: under
    load, that is before the browser has asked for it.
    """

    since: float | None = None

    @property
    def is_marked_for_delete(self) -> bool:
        """True when the file has had its time."""
        return self.since is not None and time.monotonic() - self.since >= PATIENCE

    def mark_for_delete(self) -> None:
        """Note, the first time, that no page offers the file."""
        if self.since is None:
            self.since = time.monotonic()


def keep_for_a_while() -> None:
    """Have every file that is made for a click stay for a while, however many pages are drawn."""
    media_file_manager.MediaFileMetadata = Lifetime  # type: ignore[misc]


def drop_files() -> None:
    """Delete at once every file that no page offers: nobody is to have what was forgotten, or is of a session that has
    ended. One that was made for a click of another session in these seconds goes too, and has to be asked for again."""
    if not exists():
        return
    manager = get_instance().media_file_mgr
    with manager._lock:
        for file in manager._get_inactive_file_ids():
            manager._delete_file(file)
