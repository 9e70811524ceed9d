"""What draws itself again by a timer waits while a page is drawn for somebody.

The framework's timer asks under the address of the page on which it began. Where that page makes way for another in
the meantime, the answer would have the browser take the new page for the old one, and empty it.
"""

import time

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.server.framework import BackMsg, ForwardMsg

LARGEST = 65_536
"""Bytes of a message that says that a page begins or ends to be drawn; larger ones hold what is drawn."""
FORGOTTEN = 60.0
"""Seconds after which a request that no drawing followed is no longer due: the framework drops some."""


class Timers:
    """Middleware that drops what a timer asks for while something else is due on its page; it will ask again."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = Page(receive, send) if scope["type"] == "websocket" else None
        await self.app(scope, page.receive if page else receive, page.send if page else send)


class Page:
    """What a page and its server say to each other: a drawing is ``due`` until a moment, or it ``is_running``."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.due, self.is_running = 0.0, False

    async def receive(self) -> Message:
        """Return the next message of the browser that is not a timer's, or comes while nothing else is due."""
        while True:
            message = await self._receive()
            try:
                ask = BackMsg.FromString(message.get("bytes") or b"")
            except DecodeError:  # for the framework to refuse
                return message
            if ask.WhichOneof("type") != "rerun_script":
                return message
            if not ask.rerun_script.is_auto_rerun:
                self.due = time.monotonic() + FORGOTTEN
                return message
            if time.monotonic() > self.due and not self.is_running:
                return message

    async def send(self, message: Message) -> None:
        """Pass a message on to the browser."""
        content = message.get("bytes") or b""
        if content and len(content) <= LARGEST:
            answer = ForwardMsg.FromString(content)
            if answer.WhichOneof("type") == "new_session":
                self.due, self.is_running = 0.0, True
            elif answer.WhichOneof("type") == "script_finished":
                self.is_running = answer.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
        await self._send(message)
