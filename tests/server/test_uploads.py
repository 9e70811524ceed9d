"""Uploads stay in memory."""

import asyncio
import tempfile
from typing import Any

import pytest
from starlette.formparsers import MultiPartParser
from starlette.requests import Request

from ui.server.uploads import keep_in_memory

PIECE = b"x" * 65536


def form_of(n_pieces: int) -> Any:
    """What the framework's parser makes of an upload of so many pieces."""
    begin = b'--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
    parts = [begin, *([PIECE] * n_pieces), b"\r\n--b--\r\n"]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    headers = [(b"content-type", b"multipart/form-data; boundary=b")]

    async def read() -> int:
        async with Request({"type": "http", "headers": headers}, receive).form() as form:
            return len(await form["f"].read())  # type: ignore[union-attr]

    return asyncio.run(read())


@pytest.fixture
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No temporary file can be made."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("an upload was about to be written to disk")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    monkeypatch.setattr(MultiPartParser, "spool_max_size", MultiPartParser.spool_max_size)


@pytest.mark.usefixtures("no_disk")
def test_keep_in_memory__an_upload_of_any_size() -> None:
    MultiPartParser.spool_max_size = 2**20
    with pytest.raises(AssertionError, match="about to be written"):
        form_of(32)
    keep_in_memory()
    assert form_of(32) == 32 * len(PIECE)
