"""Who may ask: only pages of this very server, under a name that the operator allows.

The browser says with a request which page asked. A page of another program on this machine comes from another port
and is refused as any foreign page is, and before the framework sees the request: to judge a foreign page, it would
look up the public address of this machine.
"""

from fnmatch import fnmatchcase
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

POLICY_VIOLATION = 1008
"""The code with which a WebSocket is refused (RFC 6455, 7.4.1)."""


def refusal(headers: Headers, allowed_hosts: list[str], *, needs_origin: bool) -> str:
    """Return why a request is refused, as a sentence; empty when it may pass.

    ``allowed_hosts``: names under which this server may be addressed, without port, ``*`` for any letters; any name
    when there are none.
    ``needs_origin``: whether a request that names no page is refused too.
    """
    host = headers.get("host", "")
    if allowed_hosts and not any(fnmatchcase(host_name(host), allowed) for allowed in allowed_hosts):
        return "This server answers under another name: see server.allowedHosts in its configuration."
    origin = headers.get("origin")
    if origin is None:
        return "A page of this server has to ask." if needs_origin else ""
    if origin not in (f"http://{host}", f"https://{host}"):
        return "Another page asked: only pages of this server may."
    return ""


def host_name(host: str) -> str:
    """Return the name in a ``Host`` header, without port and in small letters; empty when it has none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


class Origins:
    """Middleware that answers pages of this server and refuses all others."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        is_socket = scope["type"] == "websocket"
        reason = refusal(Headers(scope=scope), st.get_option("server.allowedHosts"), needs_origin=is_socket)
        if not reason:
            return await self.app(scope, receive, send)
        if is_socket:
            return await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": reason})
        return await PlainTextResponse(reason, 403)(scope, receive, send)
