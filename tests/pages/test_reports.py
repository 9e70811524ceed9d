"""Attacks and reports on the Release page: the numbers of the package, files of what is shown, locks that hold."""

import time

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.attacks.outcome import Rate
from anonymizer.digests import digest
from anonymizer.provenance.signature import SigningKey
from anonymizer.reporting.dossier import AUDIENCES
from anonymizer.reporting.packet import check_packet
from anonymizer.schema import Schema
from anonymizer.studies.attack import attack
from anonymizer.whatif.project import from_json
from tests.pages.test_data import session_of
from tests.pages.test_release import CUSTOMERS, REASON, buttons, open_page, plain_text, session
from tests.reporting.test_dossier import Reader
from tests.reporting.test_packet import members_of
from tests.waiting import PATIENCE, wait_until
from ui.controls import share
from ui.release.attacks import outcome_of, rate_text
from ui.release.reports import statement
from ui.release.state import ReleaseState
from ui.workspace import Workspace

NASTY = "<b>secret</b> [x](http://y)"


def attack_page(app: AppTest) -> AppTest:
    """The page when the attacks that were begun are done."""
    app.button(key="begin attack").click().run()
    wait_until(lambda: outcome_of(session_of(app), session_of(app).flow.release) is not None)
    return app.run()


def test_attacks__show_what_the_package_finds() -> None:
    app = open_page(session(2))
    assert not app.exception
    assert "every guess is counted" in plain_text(app)
    app = attack_page(app)
    assert not app.exception
    ws: Workspace = session_of(app)
    assert ws.schema is not None
    expected = attack(CUSTOMERS, ws.flow.release.frame(), ws.schema, ws.flow.encoded, flow=ws.flow)
    metrics = {item.label: item.value for item in app.metric}
    titles = ("Singling out", "Linkability", "Inference", "Downcoding", "Rerun", "Minimality")
    for title, criterion in zip(titles, expected.outcomes, strict=True):
        assert metrics[title] == share(criterion.after)
        assert criterion.sentence in plain_text(app)
    table = app.dataframe[-1].value
    assert list(table.index) == [one.column for one in expected.inferences]
    assert table["look-up, release"].tolist() == [rate_text(one.look_up[1]) for one in expected.inferences]
    assert table["added by the release"].tolist() == [share(one.advantage) for one in expected.inferences]


def test_public_groups__are_not_offered_where_no_level_singles_anybody_out() -> None:
    app = open_page(session(2))
    assert "Singling out" not in {item.label for item in app.metric}
    assert not [item for item in app.toggle if item.key == "public groups"]


def test_public_groups__are_offered_with_their_price_where_levels_single_out() -> None:
    table = pd.DataFrame({"town": list("aaabcccc"), "ill": ["yes"] * 4 + ["no"] * 4})
    app = open_page(session(4, table=table, schema=Schema.of(table, quasi_identifying=["town"], sensitive=["ill"])))
    app.toggle(key="public groups").set_value(True).run()
    ws: Workspace = session_of(app)
    closed = ws.flow.but(writing="groups")
    assert (ws.flow.isolation.records, closed.isolation.records) == (Rate(1, 8), Rate(0, 8))
    assert "single out 0% of the rows instead of 12.5%" in plain_text(app)
    assert f"and lose {share(closed.utility.gcp)} of the detail (GCP)" in plain_text(app)


def test_attacks__of_another_setting_are_not_shown() -> None:
    app = attack_page(open_page(session(2)))
    assert outcome_of(session_of(app), session_of(app).flow.release) is not None
    session_of(app).open({"k": 4})
    app.run()
    assert not app.exception
    assert outcome_of(session_of(app), session_of(app).flow.release) is None
    assert "Singling out" not in [item.label for item in app.metric]
    assert [item for item in app.button if item.key == "begin attack"]


def make_packet(app: AppTest, audience: str = "external") -> AppTest:
    """The page when the packet that was begun is done."""
    app.segmented_control(key="packet audience").set_value(audience).run()
    app.button(key="begin packet").click().run()
    job = session_of(app).jobs["packet"]
    assert job.done.wait(PATIENCE)
    assert job.failure is None, job.failure
    return app.run()


def test_packet__is_of_what_is_shown() -> None:
    app = open_page(session(2))
    assert "Download the packet" not in buttons(app)
    assert "External report (HTML)" not in buttons(app)
    assert "Run the attacks first, under" in plain_text(app)
    app.text_input(key="statement purpose").set_value(NASTY)
    app.text_input(key="statement approvers").set_value("A. B., C. D.").run()
    app = attack_page(app)
    assert "Run the attacks first, under" not in plain_text(app)
    ws: Workspace = session_of(app)
    assert ws.state(ReleaseState).statement["purpose"] == NASTY
    for audience in AUDIENCES:
        app = make_packet(app, audience)
        assert not app.exception
        assert buttons(app)["Download the packet"]
        assert buttons(app)[f"{audience.capitalize()} report (PDF)"]
        packet = ws.jobs["packet"].answer
        check = check_packet(packet, original=CUSTOMERS)
        assert (check.passed, check.audience) == (True, audience)
        members = members_of(packet)
        page = Reader(members["report.html"].decode())
        assert page.figures["group.smallest"] == f"{ws.flow.after.smallest:,}"
        assert page.figures["gcp.after"] == share(ws.flow.utility.gcp)
        assert page.figures["linkability.after"] == share(ws.jobs["attack"].answer["linkability"].after)
        assert members["data/release.csv"] == ws.flow.leaving.to_bytes("csv")
        assert digest(members["data/release.csv"]) in page.text
        assert NASTY in page.text
        assert "b" not in page.tags
    assert from_json(project_in(app)).words["purpose"] == NASTY
    app = make_packet(app)
    # What was typed is still there on the way back from another page, and so is the packet.
    app.switch_page("../pages/tree.py").run()
    app.switch_page("../pages/release.py").run()
    assert app.text_input(key="statement purpose").value == NASTY
    assert buttons(app)["Download the packet"]
    # Of another setting, or with other words, it is not offered.
    app.text_input(key="statement purpose").set_value("Another purpose").run()
    assert "Download the packet" not in buttons(app.run())


def test_packet__is_signed_by_the_key_that_was_opened() -> None:
    key, password = SigningKey.new(), "three blind mice"
    pem = key.to_pem(password)
    app = open_page(session(2))
    for secret, opens in (("wrong", False), (password, True)):
        app.file_uploader[0].set_value([("key.pem", pem, "")])
        next(field for field in app.text_input if field.label == "Password of the key").set_value(secret)
        app = next(button for button in app.button if button.label == "Open the key").click().run()
        assert not app.exception
        assert ("Packets are signed" in plain_text(app)) == opens
        assert [("cannot be opened" in error.value) for error in app.error] == [True] * (not opens)
    assert f"{key.public.text}\n{key.public.groups}" in [code.value for code in app.code]
    ws: Workspace = session_of(app)
    packet = session_of(make_packet(app)).jobs["packet"].answer
    check = check_packet(packet, key=key.public)
    assert (check.differences, check.signed_by) == ((), key.public.id)
    state = f"{app.session_state} {vars(ws.state(ReleaseState))}"
    assert password not in state
    assert pem.decode().splitlines()[1] not in state
    app = app.button(key="put key away").click().run()
    assert "Download the packet" not in buttons(app)
    assert "Password of the key" in [field.label for field in app.text_input]


def project_in(app: AppTest) -> bytes:
    """The project of an internal packet."""
    return members_of(session_of(make_packet(app, "internal")).jobs["packet"].answer)["project.json"]


def test_packet__of_a_failed_release_needs_the_reason() -> None:
    app = open_page(session(4, "tiered"))
    assert not session_of(app).flow.verification.passed
    assert app.button(key="begin packet").disabled
    assert not any(buttons(app).values())
    app.text_area[0].set_value(REASON).run()
    app = make_packet(app)
    assert all(buttons(app).values())
    packet = session_of(app).jobs["packet"].answer
    assert REASON in Reader(members_of(packet)["report.html"].decode()).text
    check = check_packet(packet)
    assert not check.differences
    assert not check.passed


def test_packet__can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*_: object) -> None:
        job = session_of(app).jobs["packet"]
        while True:
            job.go_on(0.5, "Waiting")
            time.sleep(0.01)

    app = open_page(session(2))
    monkeypatch.setattr("ui.release.packet.findings_of", wait)
    app.button(key="begin packet").click().run()
    assert not app.exception
    app.button(key="cancel packet").click().run()
    assert session_of(app).jobs["packet"].done.wait(PATIENCE)
    app.run()
    assert "Download the packet" not in buttons(app)
    assert [item.value for item in app.info if "Stopped" in item.value]


def test_statement__is_what_was_typed() -> None:
    def script() -> None:
        import streamlit as st

        from ui.release.reports import statement, statement_of
        from ui.session import workspace

        statement(workspace())
        st.write(repr(statement_of(workspace())))

    app = AppTest.from_function(script).run()
    app.text_input(key="statement recipient").set_value("University").run()
    app.text_input(key="statement approvers").set_value(" A. B. ,, C. D. ").run()
    text = app.markdown[0].value
    assert "recipient='University'" in text
    assert "Approval(name='A. B.'" in text
    assert text.count("Approval(") == 2
    assert callable(statement)
