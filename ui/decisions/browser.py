"""What the browser does for a session: it keeps decisions, asks before the page is left, and says when the server is
gone.

The component in the frame has all three; in a fragment, which redraws nothing else, a second one hands on what was
decided there. What comes back is outside input: it is read by :mod:`anonymizer.json_value`.
"""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import streamlit as st

from anonymizer.errors import AnonymizerError
from anonymizer.json_value import parse
from anonymizer.whatif.project import to_json
from ui.decisions.project_file import open_project, project_of
from ui.decisions.state import DAYS, MOST, REMEDY, Backup
from ui.session import widget_state
from ui.workspace import Workspace

HERE = Path(__file__).parent
KEY = "browser"
HTML = """
<span class="line" aria-live="polite"></span>
<template><dialog aria-labelledby="gone" aria-describedby="what">
  <h2 id="gone">Copse no longer answers</h2>
  <p id="what">This page has lost its server, and what stands behind this message is only a picture of before.
    <span class="lost">If the server has ended, <b>the table and all results are gone</b>: they were in its memory
    only.</span> <span class="decisions"></span></p>
  <ol>
    <li>Start Copse again (<code>python run.py</code> or <code>copse app</code>), or ask who runs it.</li>
    <li>Load this page again, and drop the same file.</li>
  </ol>
  <p class="foot"><button type="button">Load this page again</button>
    <span class="answer" aria-live="polite">If it was only out of reach, this page goes on by itself.</span></p>
</dialog></template>
"""

_mount = st.components.v2.component(
    "copse_browser",
    html=HTML,
    css=(HERE / "browser.css").read_text("utf-8"),
    js=(HERE / "browser.js").read_text("utf-8"),
)


def browser(ws: Workspace) -> None:
    """Have the browser keep what is decided now; drawn in the frame, once what is on the page has been drawn."""

    def report() -> None:
        hear(ws, value_of("report"))

    def project() -> None:
        receive(ws, value_of("project"))

    def greeting() -> None:
        ws.decisions.greetings += 1

    _mount(
        key=KEY, data={**content(ws), "frame": True}, width="content",
        on_report_change=report, on_project_change=project, on_greeting_change=greeting,
    )  # fmt: skip


def keep(ws: Workspace, place: str) -> None:
    """Have the browser keep what is decided now, from inside a fragment; ``place``: its name."""
    _mount(key=f"{KEY} {place}", data={**content(ws), "frame": False}, width=1, height=1)


def content(ws: Workspace) -> dict[str, Any]:
    """Return what the browser is told: whether a table is open, what to keep, and what to do."""
    decisions = ws.decisions
    summary = summary_of(ws)
    return {
        "session": decisions.session,
        "greetings": decisions.greetings,
        "table": "" if ws.reading is None else ws.reading.sha256,
        "visit": decisions.visit,
        "open": ws.reading is not None or ws.doubt is not None,
        "order": decisions.order._asdict(),
        "number": decisions.number,
        "summary": summary,
        "text": decisions.text if summary else "",
        "most": MOST,
        "days": DAYS,
    }


def summary_of(ws: Workspace) -> dict[str, Any] | None:
    """Return what is to be kept in a few words, its text renewed where something else was decided; ``None`` when there
    is nothing to keep."""
    decisions, reading = ws.decisions, ws.reading
    if reading is None or not decisions.is_on or decisions.obstacle or (ws.schema is None and ws.manner is None):
        return None
    project = project_of(ws)
    if project != decisions.project:
        decisions.project, decisions.saved = project, datetime.now(UTC).isoformat(timespec="seconds")
        decisions.text = to_json(replace(project, saved=decisions.saved), ws.suggest())
        decisions.number += 1
    shape, decided = (reading.n_records, len(reading.names)), len(ws.history.entries)
    return asdict(
        Backup(
            decisions.visit, decisions.saved, reading.name, reading.sha256, *shape, decided, len(ws.scenarios),
            tuple(reading.names),
        )
    )  # fmt: skip


def value_of(name: str) -> Any:
    """Return what the component sent under this name; ``None`` when it sent nothing."""
    state = widget_state(KEY)
    return None if state is None else dict(state).get(name)


def hear(ws: Workspace, report: Any) -> None:
    """Take over what the browser reports of itself; what is not in order is said on the page."""
    if isinstance(report, str):
        try:
            ws.decisions.hear(report)
        except AnonymizerError as error:
            ws.decisions.problem = error


def receive(ws: Workspace, answer: Any) -> None:
    """Open the decisions that the browser was asked for; those nobody asked for are left alone."""
    order = ws.decisions.order
    if not isinstance(answer, str) or order.what != "send":
        return
    try:
        described = parse(answer, "answer of the browser", REMEDY)
        visit, text = described.field("visit").text(64, fewest=1), described.field("text").text(20 << 20)
    except AnonymizerError as error:
        ws.decisions.problem = error
        return
    if visit == order.of:
        open_project(ws, text, visit)
