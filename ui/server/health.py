"""Health: whether a tree can be grown, told where whoever watches over servers asks, and the page itself does."""

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.server.browsers import browser_of
from ui.warm import WARM_UP

PATH = "/_stcore/health"
"""Where the framework answers as soon as pages can connect."""


class Health:
    """Middleware that answers for the warm-up, too: that it goes on, or 503 and the reason when it failed.

    A browser that has the page asks here before it connects. It is let in, with 200, and the page says the reason.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        base = st.get_option("server.baseUrlPath").rstrip("/")
        if scope["type"] != "http" or scope["path"].removeprefix(base) != PATH or scope["method"] != "GET":
            return await self.app(scope, receive, send)
        status, words = WARM_UP.health()
        if browser_of(HTTPConnection(scope)):
            status = 200
        body, answers = words.encode(), True

        async def with_words(message: Message) -> None:
            nonlocal answers
            if message["type"] == "http.response.start":
                answers = message["status"] == 200
                if answers:
                    message["status"] = status
                    MutableHeaders(scope=message)["Content-Length"] = str(len(body))
            elif message["type"] == "http.response.body" and answers:
                message["body"] = body
            await send(message)

        await self.app(scope, receive, with_words)
