"""A second, different release of one table within a visit: both are counted, and the gate stops with the figure."""

from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import anonymizer as an
from anonymizer.checking.together import together
from anonymizer.schema import Schema
from anonymizer.whatif.next_year import Profile
from tests.pages.test_data import session_of
from tests.pages.test_release import open_page, plain_text, session
from tests.releasing.test_secret import QI, SAMPLE
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
    app.slider(key="release k").set_value(12).run()
    app.run()
    both = together([first, ws.flow.class_of], 12)
    assert both.below > 0
    finding = ws.flow.gate.open[0]
    assert finding.sentence == f"With the release made before, {both.sentence}"
    assert finding.figure == f"{both.below:,} of {both.persons:,} people"
    assert finding.sentence in plain_text(app)
    assert shut(app)
    ws.reasons = {finding.key: "both go to one office"}
    app.run()
    assert not ws.flow.gate.open
    assert not shut(app)
    made["CSV"]()
    app.slider(key="release k").set_value(10)
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
    ws.decisions.last = LastTime("last year", None, ())
    assert not ws.flow.gate.open, "the project was saved before there was a release"
    ws.decisions.last = LastTime("last year", Profile({"records": 14}), ())
    app.run()
    (finding,) = ws.flow.gate.open
    assert finding.sentence == "What this release and last time's leave together cannot be counted."
    assert finding.sentence in plain_text(app)
    assert shut(app)
    ws.reasons = {finding.key: "nobody is in both tables"}
    app.run()
    assert not shut(app)
