"""Which browser asks: a session, its uploads and its files answer to the browser that began it and to no other.

Each browser gets a random cookie that scripts cannot read. Its digest goes as a header to the framework, which takes
it for the name of the user (``server.trustedUserHeaders``) and resumes a session for the same user only. Files, whose
addresses nobody can guess, are handed to browsers only that have a page open.
"""

import hashlib
import re
import secrets
from collections import Counter

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.server.framework import ForwardMsg, headers_of
from ui.server.sessions import BROWSER, CONNECTION, LEAVING, LINES, SESSIONS, Line

COOKIE = "copse_browser"
GOING_AWAY = 1001
"""The code with which a browser closes a WebSocket when its page is closed, reloaded or left (RFC 6455, 7.4.1)."""
RESTARTED = 1012
"""The code with which a WebSocket is closed so that its page connects anew (IANA's registry of RFC 6455's codes)."""


def require_binding() -> None:
    """Raise unless the framework is told to go by the browser's name; without it, sessions would answer to any."""
    if st.get_option("server.trustedUserHeaders").get(BROWSER) is None:
        raise RuntimeError(f"server.trustedUserHeaders must name {BROWSER}, as .streamlit/config.toml does.")


def browser_of(connection: HTTPConnection) -> str:
    """Return the digest of the browser's cookie; empty when it has none of ours."""
    cookie = connection.cookies.get(COOKIE, "")
    return hashlib.sha256(cookie.encode()).hexdigest() if re.fullmatch(r"[\w-]{43}", cookie, re.ASCII) else ""


def began(session: str, browser: str) -> bool:
    """Return whether this browser is the one at the other end of a session."""
    return (BROWSER, browser) in headers_of(session)


def beginning() -> bytes:
    """Return the framework's message that has a page load anew: one that only connects anew keeps what it shows."""
    message = ForwardMsg()
    message.auth_redirect.url = f"{st.get_option('server.baseUrlPath').rstrip('/')}/"
    return message.SerializeToString()


class Browsers:
    """Middleware that tells browsers apart."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.pages: Counter[str] = Counter()
        """By browser, how many pages it has open."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self.page(scope, receive, send)
        elif scope["type"] == "http":
            await self.request(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a page connect, by the name of its browser; without a cookie that name will never come again."""
        name, connection = browser_of(HTTPConnection(scope)) or secrets.token_hex(), secrets.token_hex()
        headers = MutableHeaders(scope=scope)
        headers[BROWSER], headers[CONNECTION] = name, connection

        async def listening() -> Message:
            message = await receive()
            if message["type"] == "websocket.disconnect" and message["code"] == GOING_AWAY:
                SESSIONS.leave(connection)
            return message

        async def sending(message: Message) -> None:
            if connection in LINES or message["type"] == "websocket.close":
                await send(message)

        async def hang_up() -> None:
            if LINES.pop(connection, None) is not None:
                if connection not in LEAVING:
                    await send({"type": "websocket.send", "bytes": beginning()})
                await send({"type": "websocket.close", "code": RESTARTED})

        LINES[connection] = Line(name, hang_up)
        self.pages[name] += 1
        try:
            await self.app(scope, listening, sending)
        finally:
            LINES.pop(connection, None)
            LEAVING.discard(connection)
            self.pages[name] -= 1
            self.pages += Counter()  # drops those that have none

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request if it is for everybody or for this browser; give the browser a cookie if it has none.

        With a request that another site began, as the provider of a login does, it sends none even if it has one.
        """
        name = browser_of(HTTPConnection(scope))
        if not self.may(name, scope["path"].removeprefix(st.get_option("server.baseUrlPath").rstrip("/"))):
            return await PlainTextResponse("This belongs to a session that is not yours.", 403)(scope, receive, send)

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                secure = "; Secure" if scope["scheme"] == "https" else ""
                cookie = f"{COOKIE}={secrets.token_urlsafe(32)}; Path=/; HttpOnly; SameSite=Strict{secure}"
                MutableHeaders(scope=message).append("Set-Cookie", cookie)
            await send(message)

        elsewhere = HTTPConnection(scope).headers.get("sec-fetch-site") in ("cross-site", "same-site")
        await self.app(scope, receive, send if name or elsewhere else with_cookie)

    def may(self, name: str, path: str) -> bool:
        """Return whether the browser of this name may ask for a path, below the server's own base path."""
        match path.strip("/").split("/"):
            case ["media", *_]:
                return self.pages[name] > 0
            case ["_stcore", "upload_file", session, *_]:
                return began(session, name)
        return True
