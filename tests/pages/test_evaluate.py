"""The Evaluate page without a browser: empty, a comparison to its end, cancelled, a sample, other roles."""

import time

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.comparison import as_table, tradeoff_sentence
from anonymizer.experiment import MEASURES, evaluate
from anonymizer.generalize import GENERALIZERS, WRITINGS
from anonymizer.schema import Schema
from tests.pages.test_data import SHELL
from tests.pages.test_release import said
from tests.test_refine import random_table
from ui.controls import duration
from ui.evaluate_view import MEANINGS, held_job
from ui.workspace import Workspace, sample_reading

TABLE, SCHEMA = random_table(41, 240)


def session(table: pd.DataFrame = TABLE, schema: Schema = SCHEMA, **chosen: object) -> Workspace:
    usual = {"groupings": ["least", "median-mondrian"], "generalizers": ["uniform"], "ks": [5], "folds": 2}
    ws = Workspace(reading=sample_reading("people", table), schema=schema)
    ws.view["evaluate"] = {**usual, **chosen}
    return ws


def opened(ws: Workspace | None = None) -> AppTest:
    app = AppTest.from_file(SHELL, default_timeout=120)
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/evaluate.py").run()


def compared(app: AppTest, ws: Workspace) -> AppTest:
    """After the comparison has ended."""
    app.button(key="begin evaluation").click().run()
    assert not app.exception
    job = held_job(ws)
    assert job is not None
    assert job.done.wait(120)
    return app.run()


def test_empty__leads_to_the_data_page() -> None:
    app = opened()
    assert not app.exception
    assert "Nothing to compare yet" in app.subheader[0].value


def test_figures__are_those_of_the_package_and_outlive_the_page() -> None:
    ws = session()
    app = compared(opened(ws), ws)
    assert not app.exception
    expected = evaluate(TABLE, SCHEMA, folds=2, ks=(5,), groupings=("least", "median-mondrian"))
    wanted = as_table(expected).drop(columns="seconds")
    shown = app.dataframe[0].value.drop(columns="seconds")
    pd.testing.assert_frame_equal(shown, wanted)
    assert tradeoff_sentence(expected, "error") in said(app)
    assert "Means over 2 folds of 240 records" in said(app)
    app.switch_page("../pages/roles.py").run()
    app.switch_page("../pages/evaluate.py").run()
    pd.testing.assert_frame_equal(app.dataframe[0].value.drop(columns="seconds"), wanted)
    assert {item.proto.label for item in app.get("download_button")} == {"Means (CSV)", "Every fold (CSV)"}


def test_every_measure__is_explained_in_words() -> None:
    assert set(MEANINGS) == set(MEASURES)
    ws = session()
    app = compared(opened(ws), ws)
    for name in MEASURES:
        assert f"{MEASURES[name]}**: {MEANINGS[name]}." in said(app)


def test_cost__is_said_before_it_begins_and_grows_with_the_folds() -> None:
    ws = session(groupings=["least", "blend"], weights=[0.2, 0.8])
    app = opened(ws)
    assert "3 settings and the original records" in said(app)
    assert "2 times on 240 records: about **1 second**" in said(app)
    assert held_job(ws) is None
    app.pills(key="evaluate ks").set_value([5, 10]).run()
    assert "6 settings and the original records" in said(app)


def test_cancel__ends_it_and_says_so() -> None:
    ws = session(groupings=["least", "error-risk", "median-mondrian"], generalizers=list(GENERALIZERS), folds=10)
    app = opened(ws)
    app.button(key="begin evaluation").click().run()
    assert "It goes on when you leave this page." in said(app)
    app.button(key="cancel evaluation").click().run()
    job = held_job(ws)
    started = time.monotonic()
    assert job.done.wait(20)
    assert time.monotonic() - started < 10
    app.run()
    assert not app.exception
    assert "Stopped before the first fold" in said(app) or "(stopped early)" in said(app)


def test_cancel__ends_it_too_when_the_table_is_forgotten() -> None:
    ws = session(groupings=["least", "error-risk", "median-mondrian"], generalizers=list(GENERALIZERS), folds=10)
    app = opened(ws)
    app.button(key="begin evaluation").click().run()
    job = held_job(ws)
    ws.forget()
    assert job.done.wait(20)
    assert len(job.answer) == 0 or job.answer[0].folds < 10


def test_sample__is_offered_for_a_large_table_and_said() -> None:
    table = pd.concat([TABLE] * 100, ignore_index=True)
    ws = session(table)
    app = opened(ws)
    assert "on 20,000 records" in said(app)
    app.selectbox(key="evaluate sample 24000").set_value(2_000).run()
    compared(app, ws)
    assert "2,000 of 24,000 records, drawn at random" in said(app)
    found = held_job(ws).answer
    assert found[1].mean("groups") * 5 <= 1_000


def test_other_roles__take_the_figures_away() -> None:
    ws = session()
    app = compared(opened(ws), ws)
    ws.set_schema(SCHEMA.with_target("cost"))
    app.run()
    assert not app.exception
    assert len(app.dataframe) == 0


def test_nothing_chosen__cannot_begin() -> None:
    app = opened(session())
    app.pills(key="evaluate generalizers").set_value([]).run()
    assert not app.exception
    assert "Choose at least one" in app.info[0].value
    assert "begin evaluation" not in {button.key for button in app.button}


def test_what_does_not_fit__is_said_as_one_error() -> None:
    ws = session(generalizers=["tiered"], writing="weighted")
    app = compared(opened(ws), ws)
    assert not app.exception
    assert "count people twice" in app.error[0].value.replace("\\", "")
    assert app.selectbox(key="evaluate writing").options == [found.title for found in WRITINGS.values()]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 second"), (61, "61 seconds"), (95, "2 minutes"), (5_500, "2 hours")]
)
def test_duration__in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words
