"""Uploads stay in memory."""

from starlette.formparsers import MultiPartParser

UNLIMITED = 0


def keep_in_memory() -> None:
    """Have no upload spooled to a file, of whatever size: the framework limits it (``server.maxUploadSize``)."""
    MultiPartParser.spool_max_size = UNLIMITED
