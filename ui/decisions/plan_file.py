"""A plan (``copse.toml``) beside a table: downloaded, opened, and taken over by the table that it fits."""

import re
from pathlib import Path

import pandas as pd

from anonymizer.databases.address import is_address, outline
from anonymizer.errors import MemoryOnlyError
from anonymizer.gate.finding import is_reason
from anonymizer.plan.plan import Plan, reading_keys
from anonymizer.plan.sections import REPORT
from anonymizer.provenance.report import read_options
from anonymizer.reading.files import Reading
from anonymizer.reading.samples import SAMPLE_PREFIX
from anonymizer.settings import Settings
from anonymizer.whatif.project import Project
from ui.release.downloads import file_stem
from ui.release.state import ReleaseState
from ui.workspace import Workspace

LAYOUT = re.compile(rb"(?m)^[ \t]*layout[ \t]*=")


def is_plan(content: str | bytes) -> bool:
    """Return whether a file is meant to be a plan: it says its layout on a line of its own."""
    return isinstance(content, bytes) and content.lstrip()[:1] != b"{" and LAYOUT.search(content) is not None


def plan_of(ws: Workspace) -> Plan:
    """Return the plan of the decisions that hold here; it has neither scenarios nor history nor spent ε."""
    reading = ws.reading
    assert reading is not None
    name = SAMPLE_PREFIX + reading.name if reading.format == "sample" else reading.name
    release = {"input": outline(name) if is_address(name) else name, "out": f"{file_stem(reading.name)}-released.csv"}
    texts = ws.state(ReleaseState).words
    suggested = ws.suggest()
    return Plan.of_decisions(
        ws.schema or suggested,
        dict(ws.settings),
        suggested,
        reading=reading_keys(read_options(reading)) if isinstance(reading, Reading) else {},
        release=release | ({"keep_earlier": True} if ws.keep else {}),
        texts={name: texts[name] for name in REPORT if texts.get(name)},
        answers={key: reason for key, reason in ws.reasons.items() if is_reason(reason)},
    )


def project_of_plan(plan: Plan) -> Project:
    """Return a plan as a project that waits for its table. Raises :class:`ReadError` where it names a file."""
    return Project(
        plan.schema_alone({}), dict(plan.settings), table_name=Path(plan.release.get("input", "")).name,
        reasons=plan.answers, words=plan.texts, keep=plan.release.get("keep_earlier", False),
    )  # fmt: skip


def take_plan_over(ws: Workspace, plan: Plan) -> None:
    """Take a plan over. Raises what its decisions raise where they do not fit the table that is here."""
    decisions, reading = ws.decisions, ws.reading
    assert reading is not None
    schema, changes = plan.take_over(table_of(ws), reading.variables, suggested=ws.suggest())
    schema.check(reading.preview)
    ws.set_schema(schema)
    ws.open(dict(Settings(**plan.settings)))
    ws.state(ReleaseState).fill(plan.texts)
    ws.reasons, ws.keep = plan.answers, plan.release.get("keep_earlier", False)
    decisions.planned = len(plan.columns), changes


def table_of(ws: Workspace) -> pd.DataFrame:
    """Return the table that is here. Raises :class:`MemoryOnlyError` for one in pieces."""
    table = ws.table
    if table is None:
        raise MemoryOnlyError("A plan")
    return table
