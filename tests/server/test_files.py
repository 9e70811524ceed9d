"""Files that were made for a click, and when they go."""

import time
from types import SimpleNamespace

import pytest
from streamlit.runtime import media_file_manager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from ui.server import framework
from ui.server.files import PATIENCE, drop_files, keep_for_a_while

CONTENT = b"age,diagnosis\n"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the monotonic clock says; the framework's own class of files comes back after the test."""
    monkeypatch.setattr(media_file_manager, "MediaFileMetadata", media_file_manager.MediaFileMetadata)
    manager = media_file_manager.MediaFileManager
    monkeypatch.setattr(manager, "execute_deferred", manager.execute_deferred)
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_file_for_a_click__stays_however_many_pages_are_drawn_and_then_goes(clock: list[float]) -> None:
    keep_for_a_while()
    storage = MemoryMediaFileStorage("/media")
    files = media_file_manager.MediaFileManager(storage)
    button = files.add_deferred(lambda: CONTENT, "text/csv", "1.2", file_name="released.csv")
    name = files.execute_deferred(button).rpartition("/")[2]
    files.clear_session_refs()
    for _ in range(3):  # other sessions draw their pages before the browser asks
        files.remove_orphaned_files()
    clock[0] += 0.9 * PATIENCE
    files.remove_orphaned_files()
    assert storage.get_file(name).content == CONTENT
    clock[0] += 0.2 * PATIENCE
    files.remove_orphaned_files()
    with pytest.raises(MediaFileStorageError):
        storage.get_file(name)


def test_what_is_dropped__goes_at_once_but_what_a_page_offers_stays(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_for_a_while()
    drop_files("")  # without a server there is nothing to drop
    storage = MemoryMediaFileStorage("/media")
    files = media_file_manager.MediaFileManager(storage)
    monkeypatch.setattr(framework, "exists", lambda: True)
    monkeypatch.setattr(framework, "get_instance", lambda: SimpleNamespace(media_file_mgr=files))
    offered = files.add(CONTENT, "text/csv", "1.1", is_for_static_download=True).rpartition("/")[2]
    drop_files("")
    assert storage.get_file(offered).content == CONTENT
    files.clear_session_refs()
    drop_files("")
    with pytest.raises(MediaFileStorageError):
        storage.get_file(offered)


def test_what_was_made_for_a_click__stays_when_another_session_ends(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_for_a_while()
    storage = MemoryMediaFileStorage("/media")
    files = media_file_manager.MediaFileManager(storage)
    monkeypatch.setattr(framework, "exists", lambda: True)
    monkeypatch.setattr(framework, "get_instance", lambda: SimpleNamespace(media_file_mgr=files))
    monkeypatch.setattr(media_file_manager, "_get_session_id", lambda: "mine")
    button = files.add_deferred(lambda: CONTENT, "text/csv", "1.2", file_name="released.csv")
    name = files.execute_deferred(button).rpartition("/")[2]
    drop_files("another")
    assert storage.get_file(name).content == CONTENT
    drop_files("mine")
    with pytest.raises(MediaFileStorageError):
        storage.get_file(name)
