"""A second, different release of one table within a visit: both are counted, and the gate stops with the figure."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import anonymizer as an
from anonymizer.checking.together import together
from anonymizer.gate.earlier import Now
from anonymizer.plan.carry_over import Profile
from anonymizer.reading.samples import visits
from anonymizer.schema import Schema
from tests.groups.test_secret import QI, SAMPLE
from tests.pages import test_data
from tests.pages.decisions import file_of
from tests.pages.test_data import drop, session_of
from tests.pages.test_project import open_file
from tests.pages.test_release import open_page, plain_text, session
from ui.decisions.project_file import project_of
from ui.decisions.state import LastTime
from ui.release.packet import noted
from ui.workspace import Workspace

PEOPLE = SAMPLE[[*QI, "diagnosis"]]


def shut(app: AppTest) -> bool:
    """Whether no file of the release can be taken away."""
    return {item.proto.disabled for item in app.get("download_button") if item.proto.label == "CSV"} == {True}


def test_second_release__that_differs_is_counted_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    real = st.download_button

    def look(label: str, data: Any, *of: Any, **more: Any) -> Any:
        made[label] = data
        return real(label, data, *of, **more)

    monkeypatch.setattr(st, "download_button", look)
    app = open_page(session(10, "pack", PEOPLE, Schema.of(PEOPLE, quasi_identifying=QI, sensitive=["diagnosis"])))
    ws: Workspace = session_of(app)
    first, judged = ws.flow.class_of, ws.flow.gate
    assert not shut(app)
    report = ws.flow.report
    alone = an.anonymize(PEOPLE, ws.flow.schema, k=10, generalizer="pack").release
    assert made["CSV"]() == alone.to_bytes("csv"), "the page releases what Python does"
    made["Parquet"]()
    app.run()
    assert len(ws.flow.earlier) == 0
    assert ws.flow.gate == judged
    assert ws.flow.report is report, "the same release again is no second one"
    assert not shut(app)
    ws.open({"k": 12})
    app.run()
    app.run()
    both = together([first, ws.flow.class_of], 12)
    assert both.below > 0
    finding = ws.flow.gate.open[0]
    assert finding.sentence == f"With the release made before, {both.sentence}"
    assert finding.figure == f"{both.below:,} of {both.persons:,} people"
    assert shut(app)
    ws.reasons = {finding.key: "both go to one office"}
    app.run()
    assert not ws.flow.gate.open
    assert not shut(app)
    made["CSV"]()
    ws.open({"k": 10})
    app.run()
    assert len(ws.flow.earlier) == 1
    assert ws.flow.gate[finding.key].reason, "it is the same pair"
    ws.forget()
    assert not ws.releases


def test_other_roles_and_the_packet__are_noted_too() -> None:
    app = open_page(session(2))
    ws: Workspace = session_of(app)
    assert noted(ws.taking(), b"packet") == b"packet"
    assert ws.schema is not None
    names = ws.schema.quasi_identifying
    ws.set_schema(ws.schema.with_column(names[0], role="insensitive"))
    assert len(ws.flow.earlier) == 1
    assert any(finding.key.startswith("together: ") for finding in ws.flow.gate.findings)


def test_next_years_file__of_a_project_with_a_release_cannot_be_counted_and_stops() -> None:
    app = open_page(session(2))
    ws: Workspace = session_of(app)
    assert not ws.flow.gate.open
    project = project_of(ws)
    ws.decisions.last = LastTime(replace(project, last=None), ())
    assert not ws.flow.gate.open, "the project was saved before there was a release"
    ws.decisions.last = LastTime(replace(project, last=Profile({"records": 14})), ())
    app.run()
    (finding,) = ws.flow.gate.open
    assert finding.sentence == "What this release and last time's leave together cannot be counted."
    assert shut(app)
    ws.reasons = {finding.key: "nobody is in both tables"}
    app.run()
    assert not shut(app)


def csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def bring_last(app: AppTest, data: bytes, name: str) -> AppTest:
    """Last time's table or release, as if it had been dropped."""
    label = "Last time's table"
    return next(one for one in app.file_uploader if one.label.startswith(label)).upload(name, data).run()


def test_last_times_table__or_its_release_is_dropped_and_both_are_counted() -> None:
    table = visits(300)
    person = next(name for name in table if table[name].nunique() == 300)
    last = Workspace()
    assert last.bring(csv(table), "last.csv")
    last.set_schema(last.suggest().with_column(person, role="person"))
    last.open({"k": 5, "prosecutor_limit": 1})
    last.flow.compute("report")
    there = table[table[person] != table[person].iloc[0]]
    app = open_file(drop(test_data.open_page(), csv(there), "this.csv"), file_of(last))
    ws = session_of(app)
    assert ws.flow.schema.person == person
    assert ws.flow.earlier[0].beside(now_of(ws)).key == "together: not counted"
    bring_last(app, csv(table), "last.csv")
    assert not app.exception
    assert "counted with this one, by its table" in plain_text(app)
    people = pd.concat([table[person], there[person]]).map(str).unique()
    classes = []
    for flow, rows in ((last.flow, table), (ws.flow, there)):
        own = pd.Series(flow.class_of).groupby(rows[person].map(str).to_numpy()).agg(frozenset)
        classes.append(pd.factorize(own.reindex(people).fillna("nobody"))[0])
    cells = pd.Series(list(zip(*classes, strict=True))).value_counts()
    below = int(cells[cells < 5].sum())
    (finding,) = [one for one in ws.flow.gate.findings if one.key.startswith("together")]
    assert finding.figure == f"{below:,} of {len(people):,} people"
    bring_last(app, b"a;b\n1;2\n", "other.csv")
    assert app.error
    assert ws.flow.gate[finding.key], "what was counted stays"
    bring_last(app, last.flow.leaving.to_bytes("csv"), "released.csv")
    assert "by the released file alone" in plain_text(app)
    (finding,) = [one for one in ws.flow.gate.findings if one.key.startswith("together")]
    assert "two files alone" in finding.sentence
    ws.forget()
    assert ws.decisions.last is None


def now_of(ws: Workspace) -> Any:
    """The release of a session as the gate looks at it beside others."""
    flow = ws.flow
    return Now(flow.table, flow.schema, flow.released, flow.class_of, flow.settings.k, None)
