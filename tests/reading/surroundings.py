"""What a child that reads foreign files has around it."""

import os
import socket
from typing import Any


def surroundings(source: bytes, argument: Any, progress: Any) -> list[Any]:
    """What work in a child finds: environment variables, and whether it may open a connection."""
    try:
        socket.socket(socket.AF_INET).close()
    except OSError as error:
        return [dict(os.environ), error.errno]
    return [dict(os.environ), 0]
