"""What every answer tells the browser: use nothing but this server, stand in no frame, pass no address on."""

import base64
import hashlib
import re
from pathlib import Path

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE = Path(st.__file__).parent / "static" / "index.html"
"""The one document that is served; the framework draws everything into it."""


def script_hashes(document: str) -> tuple[str, ...]:
    """Return the sources, in the words of a policy, that allow exactly the scripts written into an HTML document."""
    scripts = re.findall(r"<script>(.*?)</script>", document, re.DOTALL)
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    return tuple(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def policy(document: str) -> str:
    """Return the Content-Security-Policy: everything from this server only.

    ``blob:`` is what the page itself made: the code of its components, and files to save. Styles are set by scripts.
    """
    sources = {
        "default-src": ("'self'",),
        "script-src": ("'self'", "blob:", *script_hashes(document)),
        "style-src": ("'self'", "'unsafe-inline'"),
        "img-src": ("'self'", "data:", "blob:"),
        "font-src": ("'self'", "data:"),
        "worker-src": ("'self'", "blob:"),
        "object-src": ("'none'",),
        "frame-src": ("'none'",),
        "frame-ancestors": ("'none'",),
        "base-uri": ("'none'",),
        "form-action": ("'none'",),
    }
    return "; ".join(" ".join((name, *allowed)) for name, allowed in sources.items())


HEADERS = {
    "Content-Security-Policy": policy(PAGE.read_text("utf-8")),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Headers:
    """Middleware that writes :data:`HEADERS` on every answer; one that has a policy of its own keeps it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({name: value for name, value in HEADERS.items() if name not in headers})
            await send(message)

        await self.app(scope, receive, with_headers)
