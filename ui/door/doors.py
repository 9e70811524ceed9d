"""Who may come in: everybody on this machine; others only when they have signed in and are among the people listed.

It looks at the addresses that each connection really has, however the server was started, and it stands before all
else: somebody whom it refuses starts no script, opens no WebSocket and reaches no file and no upload.
"""

import asyncio
import os
import re
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from urllib.parse import quote

import streamlit as st
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anonymizer.cli.app import I_KNOW, is_loopback, refusal
from anonymizer.errors import ParameterError
from anonymizer.version import how_to_install
from ui.door.login import LASTS, Identities, Login, Person, login
from ui.door.notices import link, notice
from ui.server.browsers import browser_of
from ui.server.framework import USER_COOKIE_NAME, encode_provider_token, set_option
from ui.server.listed import require_listed
from ui.server.origins import POLICY_VIOLATION
from ui.server.sessions import forget, hang_up

SIGN_IN, SIGN_OUT, BEGIN, BACK, HEALTH = "sign-in", "auth/logout", "auth/login", "oauth2callback", "_stcore/health"
"""Paths below the server's base path. The framework's own are all but the first."""
PERSON = "copse.person"
"""Where the scope of a request that was let in says who asks."""
NEEDS = ("authlib", "httpx", "joserfc")
"""Modules without which nobody can sign in."""
ELSEWHERE = "This dashboard answers to its own machine only: whoever runs it has configured no login."


def require_doors() -> None:
    """End the program, with one message and status 2, where others could open the dashboard and nobody would ask who
    they are, or where a list of databases is not in order.

    With a login, the server answers under the name that the operator's file says, as well as under those configured.
    """
    hosts = list(st.get_option("server.allowedHosts"))
    try:
        people = login()
        reason = refusal(st.get_option("server.address"), hosts, login=people is not None, knows=knows())
        require_listed()
    except ParameterError as error:
        people, reason = None, str(error)
    if people is not None and not all(map(find_spec, NEEDS)):
        reason = f"what lets people sign in is not installed. {how_to_install('login')}"
    if reason:
        print(f"copse: {reason}", file=sys.stderr)
        raise SystemExit(2)
    if people is not None and hosts:
        set_option("server.allowedHosts", [*hosts, people.host])


def knows() -> bool:
    """Return whether the operator says that others may open the dashboard without a login of ours."""
    return os.environ.get(I_KNOW, "") not in ("", "0")


def is_from_here(scope: Scope) -> bool:
    """Return whether both ends of a connection are on this machine; those of a proxy's client count, not its own."""
    ends = [(scope.get(side) or ("",))[0] for side in ("server", "client")]
    return all(is_loopback(str(address)) for address in ends)


def below_base(path: str) -> str:
    """Return a path below the server's own base path, without slashes around it."""
    return path.removeprefix(st.get_option("server.baseUrlPath").rstrip("/")).strip("/")


def address_of(path: str) -> str:
    """Return the address, on this server, of a path below its base path."""
    return "/".join((st.get_option("server.baseUrlPath").rstrip("/"), path))


class Doors:
    """Middleware that lets people in."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.login: Login | None = login()
        self.identities = Identities(self.login) if self.login else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        if self.login is None or self.identities is None:
            if knows() or is_from_here(scope):
                return await self.app(scope, receive, send)
            return await refuse(scope, receive, send, 403, ELSEWHERE)
        path, connection = below_base(scope["path"]), HTTPConnection(scope)
        send = self.marking(send)
        if scope["type"] == "http" and path in (HEALTH, SIGN_IN, BEGIN, BACK, SIGN_OUT):
            return await self.sign(path, connection, scope, receive, send)
        person = self.identities.person(connection)
        if person is None:
            reason = "Sign in first: this dashboard is open to people on its list."
            return await refuse(scope, receive, send, 401, reason, link(address_of(SIGN_IN), "Sign in", "button first"))
        if not person.among(self.login.people):
            reason = f"{person.name} is not among the people who may open this dashboard."
            return await refuse(scope, receive, send, 403, reason, link(address_of(SIGN_OUT), "Sign out"))
        scope[PERSON] = person
        if scope["type"] == "websocket":
            return await self.page(person, scope, receive, send)
        return await self.app(scope, receive, send)

    async def page(self, person: Person, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a page connect, until the person has to sign in again."""

        async def end() -> None:
            await asyncio.sleep(person.until - time.time())
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})

        ending = asyncio.create_task(end())
        try:
            await self.app(scope, receive, send)
        finally:
            ending.cancel()

    async def sign(self, path: str, connection: HTTPConnection, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer on the paths that are open to everybody: health, signing in and out."""
        again = link(address_of(SIGN_IN), "Try again", "button first")
        if path == SIGN_IN:
            to = f"{address_of(BEGIN)}?provider={quote(encode_provider_token('default'))}"
            await RedirectResponse(to, 303, {"Cache-Control": "no-store"})(scope, receive, send)
        elif path == BEGIN:
            words = "The sign-in service does not answer; whoever runs this dashboard can see why in its log."
            page = notice("Signing in is not possible now", words, again, status=502)
            await self.app(scope, receive, instead(page, is_failure, scope, receive, send))
        elif path == BACK and not {"code", "error"}.isdisjoint(connection.query_params):
            words = "The sign-in service gave no answer that this dashboard can trust."
            page = notice("Signing in did not succeed", words, again, status=403)
            await self.app(scope, receive, instead(page, lacks_identity, scope, receive, send))
        elif path == SIGN_OUT:
            if connection.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
                return await refuse(scope, receive, send, 403, "Another page asked to sign you out.")
            assert self.identities is not None
            self.identities.end(connection)
            name = browser_of(connection)
            await forget(lambda _, visit: visit.browser == name)
            await hang_up(lambda _, line: line.browser == name)
            await self.app(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def marking(self, send: Send) -> Send:
        """Return a way to answer in which the identity cookie lives no longer than a sign-in holds, and no cookie goes
        without TLS where browsers reach this server by it."""
        if self.login is None:
            return send
        secure = self.login.secure

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, value + b"; Secure" if secure and is_open_cookie(name, value) else value)
                    for name, value in map(with_its_life, message["headers"])
                ]
            await send(message)

        return marked


def with_its_life(header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """Return a header; of an identity cookie, one that a browser keeps no longer than a sign-in holds."""
    name, value = header
    if name.lower() != b"set-cookie" or not value.startswith(USER_COOKIE_NAME.encode()):
        return header
    return name, re.sub(rb"(?i)max-age=(\d+)", lambda age: b"Max-Age=%d" % min(int(age[1]), int(LASTS)), value)


def is_open_cookie(name: bytes, value: bytes) -> bool:
    """Return whether a header sets a cookie that a browser would send without TLS."""
    return name.lower() == b"set-cookie" and b"; secure" not in value.lower()


def is_failure(start: Message) -> bool:
    """Return whether an answer says that something went wrong."""
    return int(start["status"]) >= 400


def lacks_identity(start: Message) -> bool:
    """Return whether an answer gives the browser no identity cookie; one that is deleted is none."""
    cookie = f"{USER_COOKIE_NAME}=".encode()
    return not any(
        name.lower() == b"set-cookie" and value.startswith(cookie) and b"max-age=0" not in value.lower()
        for name, value in start["headers"]
    )


def instead(page: Response, fails: Callable[[Message], bool], scope: Scope, receive: Receive, send: Send) -> Send:
    """Return a way to answer that gives a page of ours where the beginning of the answer ``fails``.

    The cookies of the answer go with it: those of somebody who was signed in before are deleted.
    """
    replaced = False

    async def checking(message: Message) -> None:
        nonlocal replaced
        if message["type"] == "http.response.start" and fails(message):
            replaced = True
            page.raw_headers += [pair for pair in message["headers"] if pair[0].lower() == b"set-cookie"]
            await page(scope, receive, send)
        if not replaced:
            await send(message)

    return checking


async def refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str, *links: str) -> None:
    """Answer with one sentence: as a page where a person looks at it, and to a WebSocket with its end."""
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": reason})
    if "text/html" in HTTPConnection(scope).headers.get("accept", ""):
        title = "Sign in" if status == 401 else "This dashboard is not open to you"
        return await notice(title, reason, *links, status=status)(scope, receive, send)
    await PlainTextResponse(reason, status)(scope, receive, send)
