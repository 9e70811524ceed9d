"""What stands around the pages: checks of every request before them, and what goes on beside them."""

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.middleware import Middleware

from anonymizer.cli.app import OVERWRITING
from ui import warm
from ui.door import operator
from ui.door.doors import Doors
from ui.server import browsers, files, heads, log, sessions, uploads
from ui.server.headers import Headers
from ui.server.health import Health
from ui.server.origins import Origins
from ui.server.timers import Timers

MIDDLEWARE = tuple(map(Middleware, (Headers, Origins, Doors, browsers.Browsers, Timers, Health)))
"""From the outermost: what all answers say, which pages may ask, who may come in, what is whose, what a timer may ask
for, how the server is."""

heads.guard()  # before the server takes its first connection


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Run what goes on for as long as the server runs."""
    log.escape()
    browsers.require_binding()
    operator.say_key()
    uploads.keep_in_memory()
    files.keep_for_a_while()
    if not os.environ.items() >= OVERWRITING.items():
        logging.getLogger(__name__).warning(
            "Freed memory keeps what stood in it until it is used again. `python run.py` and `copse app` have it "
            "overwritten, on Linux."
        )
    async with warm.lifespan(app), sessions.lifespan():
        yield
