"""The settings of the papers on the page: figures of their own releases, each one choice away."""

import pytest
from streamlit.testing.v1 import AppTest

import ui.gains
from anonymizer.flow import Flow
from anonymizer.whatif.papers import gain_sentence, with_figures
from tests.groups.test_refine import random_table
from tests.pages.test_data import SHELL
from tests.pages.test_release import plain_text
from tests.waiting import PATIENCE, wait_until
from ui.controls import share
from ui.workspace import Workspace, sample_reading

TABLE, SCHEMA = random_table(5, 300)


def open_release() -> tuple[AppTest, Workspace]:
    ws = Workspace(reading=sample_reading("people", TABLE), schema=SCHEMA)
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = ws
    app.run().switch_page("../pages/release.py").run()
    assert not app.exception
    return app, ws


def test_gains__are_said_with_every_setting_of_the_papers_one_choice_away() -> None:
    app, ws = open_release()
    settings = with_figures(Flow(TABLE, SCHEMA))
    text = plain_text(app)
    for one in settings:
        assert f"**{one.title}** ({one.source})" in text
        assert f"detail lost (GCP) **{share(one.gcp)}**, highest risk {share(one.highest)}" in text
    assert gain_sentence(ws.flow, settings).partition(" of the detail")[2] in text
    app.button(key="release use paper 0").click().run()
    assert not app.exception
    assert {name: {**ws.settings}[name] for name in settings[0].settings} == settings[0].settings
    assert ws.flow.utility.gcp == pytest.approx(settings[0].gcp)
    assert app.button(key="release use paper 0").disabled


def test_gains__of_a_large_table_are_worked_out_beside_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ui.gains, "AT_ONCE", 10)
    app, ws = open_release()
    assert "highest risk" not in plain_text(app).partition("own settings")[2]
    app.button(key="begin settings of papers").click().run()
    job = ws.jobs["settings of papers"]
    assert job.done.wait(PATIENCE)
    wait_until(lambda: "release use paper 0" in [button.key for button in app.run().button])
    assert not app.exception
    assert f"detail lost (GCP) **{share(job.answer[0].gcp)}**" in plain_text(app)
