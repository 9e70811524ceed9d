"""The operator's page: which sessions there are, what they take, how to be rid of them. It shows nothing of a table.

It is a small page of the server's own and no page of the dashboard: it makes no session, and answers when scripts do
not. Where people sign in, it is for those whom the operator's file names; else for who has the key that the server
prints on a terminal at its start, or that the operator set.
"""

import os
import secrets
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from anonymizer.cli.operating import CHOICES, Choice
from anonymizer.version import VERSION
from ui.controls import duration, plural, size
from ui.door.doors import PERSON, address_of
from ui.door.login import login
from ui.door.notices import document, notice
from ui.server.framework import get_instance
from ui.server.places import PLACES
from ui.server.sessions import SESSIONS, Visit, forget
from ui.turn import TURNS
from ui.warm import WARM_UP

PATH = "operator"
COOKIE = "copse_operator"
OWN_KEY = "COPSE_OPERATOR_KEY"
SHORTEST = 16
"""Characters of a key that the operator sets."""
KEY, PASS = os.environ.get(OWN_KEY, "").strip() or secrets.token_urlsafe(16), secrets.token_urlsafe(32)
"""What the operator types, and what the browser gets for it; made anew at each start, but for a key that is set."""
BEGAN = time.monotonic()
FRAMEWORK = "STREAMLIT_"
"""How environment variables begin that set an option of the framework, which can be set in other ways, too."""
ALL = "all"


def require_key() -> None:
    """End the program, with one message and status 2, where a key was set that is too short."""
    if login() is None and len(KEY) < SHORTEST:
        print(f"copse: {OWN_KEY} has fewer than {SHORTEST} characters. Nothing was started.", file=sys.stderr)
        raise SystemExit(2)


def say_key() -> None:
    """Print where the operator's page is, and on a terminal the key that it asks for: what is printed elsewhere is a
    log, which others read. Ends the program as :func:`require_key` does."""
    require_key()
    if login() is not None:
        return
    words = f"whose key is shown on a terminal only; or set {OWN_KEY}"
    if OWN_KEY in os.environ:
        words = f"with the key of {OWN_KEY}"
    elif sys.stdout.isatty():
        words = f"with the key {KEY}"
    print(f"  Operator's page: {address_of(PATH)}, {words}\n", flush=True)


def refusal(request: Request) -> Response | None:
    """Return what somebody gets who is not the operator; ``None`` for the operator."""
    people = login()
    if people is not None:
        if request.scope[PERSON].among(people.operators):
            return None
        return notice("This page is not open to you", "It is for the operators of this dashboard.", status=403)
    if secrets.compare_digest(request.cookies.get(COOKIE, "").encode(), PASS.encode()):
        return None
    field = '<label>The key <input name="key" type="password" autocomplete="off" required autofocus></label>'
    words = f"The server printed a key on its terminal when it started, or it was set as {OWN_KEY}."
    body = f"<h1>Operator's page</h1><p>{words}</p>{form(field + '<button class=first>Open</button>')}"
    return with_forms(document("Operator's page", body, "narrow", 401))


def form(fields: str) -> str:
    """Return a form whose answer comes back to this page."""
    return f'<form method="post" action="{escape(address_of(PATH))}">{fields}</form>'


def with_forms(page: Response) -> Response:
    """Return a page whose forms say where they come from: without a referrer, browsers name no page that asks."""
    page.headers["Referrer-Policy"] = "same-origin"
    return page


async def show(request: Request) -> Response:
    """Answer with the page."""
    return refusal(request) or with_forms(document("Operator's page", await body(), "wide"))


async def act(request: Request) -> Response:
    """Take the key, or forget the sessions that are asked for; and lead back to the page."""
    async with request.form(max_files=0, max_fields=2) as fields:
        key, target = str(fields.get("key", "")), str(fields.get("forget", ""))
    back = RedirectResponse(address_of(PATH), 303)
    if login() is None and key and secrets.compare_digest(key.strip().encode(), KEY.encode()):
        secure = request.url.scheme == "https"
        back.set_cookie(COOKIE, PASS, path=address_of(PATH), httponly=True, samesite="strict", secure=secure)
        return back
    refused = refusal(request)
    if refused is None and target:
        sessions = {session for session in SESSIONS.visits if target in (ALL, handle(session))}
        await forget(lambda session, _: session in sessions)
    return refused or back


def handle(session: str) -> str:
    """Return what a session is called here; nobody can reach it by that."""
    return sha256(session.encode()).hexdigest()[:12]


async def body() -> str:
    """Return the page's HTML: the server, its sessions, its limits."""
    visits = sorted(SESSIONS.visits.items(), key=lambda entry: entry[1].began)
    now, (ready, words) = time.monotonic(), await get_instance().is_ready_for_browser_connection
    words = WARM_UP.health()[1] if ready else words
    facts = {
        "Version": VERSION,
        "Health": "ready" if words == "ok" else words,
        "Sessions that compute": f"{TURNS.working()}, and {TURNS.waiting()} wait for their turn",
        "Sessions that wait for a place": f"{PLACES.waiting()}",
        "Running for": duration(now - BEGAN),
        "Memory of the server": memory_of_process(),
        "Memory of all sessions": size(sum(visit.memory() for _, visit in visits)),
    }
    parts = [
        f"<h1>{plural(len(visits), 'session')}</h1>",
        sessions_table(visits, now) if visits else "<p>Nobody has a page open.</p>",
        "<h2>The server</h2>",
        table(("", ""), [(name, escape(value)) for name, value in facts.items()]),
        "<h2>What is set</h2>",
        table(
            ("", "Variable", "Value"),
            [(escape(choice.words), choice.variable, in_effect(choice)) for choice in CHOICES],
        ),
    ]
    return "".join(parts)


def sessions_table(visits: Sequence[tuple[str, Visit]], now: float) -> str:
    """Return the sessions, oldest first, each with a button to forget it, and one for all."""
    rows = [
        (
            str(number),
            escape(visit.stage()),
            duration(now - visit.began),
            duration(now - visit.last),
            size(visit.memory()),
            "connected" if visit.lost is None else f"without a page for {duration(now - visit.lost)}",
            form(f'<button name="forget" value="{handle(session)}">Forget</button>'),
        )
        for number, (session, visit) in enumerate(visits, start=1)
    ]
    number = plural(len(visits), "session")
    question = f"<p>Drop the tables and results of {number} now? Nobody gets them back; open pages begin anew.</p>"
    button = form(f'<button name="forget" value="{ALL}" class="last">Forget all now</button>')
    ask = f'<details><summary class="button">Forget all …</summary>{question}{button}</details>'
    heads = ("Session", "Stage", "Age", "Idle", "Memory", "Page", "")
    again = f'<a class="button" href="{escape(address_of(PATH))}">Look again</a>'
    return f"{table(heads, rows)}<p></p><p>{again}</p>{ask}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; ``rows`` are HTML."""
    head = f"<tr>{''.join(f'<th>{name}</th>' for name in heads)}</tr>" if any(heads) else ""
    lines = (f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table>{head}{"".join(lines)}</table></div>'


def in_effect(choice: Choice) -> str:
    """Return what holds of something that the operator may set: a number as it is, and that anything else is set."""
    value = os.environ.get(choice.variable, "").strip()
    if choice.variable.startswith(FRAMEWORK):
        section, first, *rest = choice.variable.removeprefix(FRAMEWORK).lower().split("_")
        value = str(st.get_option(f"{section}.{first}{''.join(map(str.title, rest))}"))
    if not value:
        return escape(choice.default)
    is_plain = value.replace(".", "").replace(":", "").isdigit() and not choice.variable.endswith(
        ("_KEY", "_SECRET", "_PASSWORD")
    )
    return escape(value) if is_plain else "set"


def memory_of_process() -> str:
    """Return how much memory this process has, where the system says so (Linux)."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return "not told by this system"
    return size(pages * os.sysconf("SC_PAGE_SIZE"))


ROUTES = (
    Route(address_of(PATH), show, methods=["GET"]),
    Route(address_of(PATH), act, methods=["POST"]),
)
