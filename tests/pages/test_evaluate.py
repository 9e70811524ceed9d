"""The Evaluate page without a browser: empty, a comparison to its end, cancelled, a sample, other roles."""

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.flow import Flow
from anonymizer.measuring.comparison import as_table, asked_by, drawable, in_use, ranks, tradeoff_sentence
from anonymizer.measuring.measures import MEASURES
from anonymizer.releasing.generalize import GENERALIZERS, WRITINGS
from anonymizer.schema import Schema
from anonymizer.studies.experiment import evaluate
from anonymizer.studies.printed import TABLES, beside_print
from tests.groups.test_refine import random_table
from tests.pages.test_data import SHELL
from tests.pages.test_release import plain_text
from tests.waiting import PATIENCE, wait_until
from ui.controls import duration
from ui.evaluate.state import EvaluateState
from ui.evaluate.view import MEANINGS, current_job, with_names
from ui.workspace import Workspace, sample_reading

TABLE, SCHEMA = random_table(41, 240)


def session(table: pd.DataFrame = TABLE, schema: Schema = SCHEMA, **choices: object) -> Workspace:
    usual = {"groupings": ("least", "median-mondrian"), "generalizers": ("uniform",), "ks": (5,), "folds": 2}
    ws = Workspace(reading=sample_reading("people", table), schema=schema)
    ws.states[EvaluateState] = EvaluateState(**{**usual, **choices})
    return ws


def open_page(ws: Workspace | None = None) -> AppTest:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/evaluate.py").run()


def run_comparison(app: AppTest, ws: Workspace) -> AppTest:
    """After the comparison has ended."""
    app.button(key="begin evaluation").click().run()
    assert not app.exception
    job = current_job(ws)
    assert job is not None
    assert job.done.wait(PATIENCE)
    return app.run()


def test_empty__leads_to_the_data_page() -> None:
    app = open_page()
    assert not app.exception
    assert "Nothing to compare yet" in app.header[0].value


def test_alpha__is_a_slider_that_begins_without_the_test() -> None:
    ws = session(groupings=("error-digression",))
    app = open_page(ws)
    slider = app.slider(key="evaluate significance")
    assert (slider.min, slider.max, slider.value) == (0.0, 0.5, 0.0)
    app = run_comparison(slider.set_value(0.05).run(), ws)
    assert not app.exception
    assert current_job(ws).key[2].significance == 0.05
    app = run_comparison(app.slider(key="evaluate significance").set_value(0.0).run(), ws)
    assert current_job(ws).key[2].significance is None


def test_figures__are_those_of_the_package_and_outlive_the_page() -> None:
    ws = session()
    app = run_comparison(open_page(ws), ws)
    assert not app.exception
    expected = evaluate(
        Flow(TABLE, SCHEMA), folds=2, ks=(5,), groupings=("least", "median-mondrian"), generalizers=("uniform",)
    )
    expected_table = with_names(asked_by(as_table(expected), "raw")).drop(columns="seconds")
    figures = app.dataframe[0].value.drop(columns="seconds")
    pd.testing.assert_frame_equal(figures, expected_table)
    assert tradeoff_sentence(expected, "error_raw") in plain_text(app)
    assert "Your setting is not among these" in plain_text(app)
    ws.set(grouping="least", generalizer="uniform", k=5)
    app.run()
    sentence = tradeoff_sentence(expected, "error_raw", in_use(expected, "least", "uniform", 5))
    assert sentence in plain_text(app)
    assert "Means over 2 folds of 240 rows" in plain_text(app)
    app.switch_page("../pages/roles.py").run()
    app.switch_page("../pages/evaluate.py").run()
    pd.testing.assert_frame_equal(app.dataframe[0].value.drop(columns="seconds"), expected_table)
    assert {item.proto.label for item in app.get("download_button")} == {"Means (CSV)", "Every fold (CSV)"}


def test_every_measure__is_explained_in_words_where_it_stands() -> None:
    assert set(MEANINGS) == set(MEASURES)
    ws = session()
    app = run_comparison(open_page(ws), ws)
    for form, other in (("raw", "box"), ("box", "raw")):
        app.segmented_control(key="evaluate form").set_value(form).run()
        assert not app.exception
        caption = next(item.value for item in app.caption if item.value.startswith("The models are asked"))
        assert ("presumes the tree" in caption) == (form == "box")
        for name in MEASURES:
            explanation = f"{MEASURES[name]}**: {MEANINGS[name]}."
            assert (explanation in plain_text(app)) == (not name.endswith(f"_{other}")), name
            assert (name in app.dataframe[0].value) == (not name.endswith(f"_{other}")), name


def test_noise__is_not_ranked_and_the_page_says_so() -> None:
    table = TABLE.assign(cost=np.random.default_rng(2).permutation(TABLE["cost"]))
    ws = session(table, SCHEMA.with_target("cost"))
    app = run_comparison(open_page(ws), ws)
    outcomes = current_job(ws).answer
    offered = drawable(outcomes)
    measure = next(name for name in offered if not ranks(outcomes, name))
    app.selectbox(key=f"evaluate measure {len(offered)}").set_value(measure).run()
    assert not app.exception
    assert "No ranking: even the original rows explain next to nothing here" in plain_text(app)
    assert "None is ringed: what differs is chance." in plain_text(app)


def test_cost__is_said_before_it_begins_and_grows_with_the_folds() -> None:
    ws = session(groupings=["least", "blend"], weights=[0.2, 0.8])
    app = open_page(ws)
    assert "3 settings and the original rows" in plain_text(app)
    assert "2 times on 240 rows: about **1 second**" in plain_text(app)
    assert current_job(ws) is None
    app.pills(key="evaluate ks").set_value([5, 10]).run()
    assert "6 settings and the original rows" in plain_text(app)


def test_cancel__ends_it_and_says_so() -> None:
    ws = session(groupings=["least", "error-risk", "median-mondrian"], generalizers=list(GENERALIZERS), folds=10)
    app = open_page(ws)
    app.button(key="begin evaluation").click().run()
    assert "It goes on when you leave this page." in plain_text(app)
    app.button(key="cancel evaluation").click().run()
    job = current_job(ws)
    assert job.done.wait(PATIENCE)
    app.run()
    assert not app.exception
    assert "Stopped before the first fold" in plain_text(app) or "(stopped early)" in plain_text(app)


def test_figures__are_shown_after_the_first_fold() -> None:
    ws = session(groupings=["least", "error-risk", "median-mondrian"], generalizers=list(GENERALIZERS), folds=10)
    app = open_page(ws)
    app.button(key="begin evaluation").click().run()
    job = current_job(ws)
    wait_until(lambda: job.parts)
    app.run()
    assert not app.exception
    assert not job.done.is_set()
    assert "(so far)" in plain_text(app)
    assert app.dataframe
    assert not app.get("download_button"), "a file of half the folds could be taken for the whole"
    app.button(key="cancel evaluation").click().run()
    assert job.done.wait(PATIENCE)


def test_cancel__ends_it_too_when_the_table_is_forgotten() -> None:
    ws = session(groupings=["least", "error-risk", "median-mondrian"], generalizers=list(GENERALIZERS), folds=10)
    app = open_page(ws)
    app.button(key="begin evaluation").click().run()
    job = current_job(ws)
    ws.forget()
    assert job.done.wait(PATIENCE)
    assert len(job.answer) == 0 or job.answer[0].folds < 10


def test_sample__is_offered_for_a_large_table_and_said() -> None:
    table = pd.concat([TABLE] * 100, ignore_index=True)
    ws = session(table)
    app = open_page(ws)
    assert "on 20,000 rows" in plain_text(app)
    app.selectbox(key="evaluate sample 24000").set_value(2_000).run()
    run_comparison(app, ws)
    assert "2,000 of 24,000 rows, drawn at random" in plain_text(app)
    outcomes = current_job(ws).answer
    assert outcomes[1].mean("groups") * 5 <= 1_000


def test_other_roles__take_the_figures_away() -> None:
    ws = session()
    app = run_comparison(open_page(ws), ws)
    ws.set_schema(SCHEMA.with_target("cost"))
    app.run()
    assert not app.exception
    assert len(app.dataframe) == 0


def test_nothing_chosen__cannot_begin() -> None:
    app = open_page(session())
    app.pills(key="evaluate generalizers").set_value([]).run()
    assert not app.exception
    assert "Choose at least one" in app.info[0].value
    assert "begin evaluation" not in {button.key for button in app.button}


def test_what_does_not_fit__is_said_as_one_error() -> None:
    ws = session(generalizers=["tiered"], writing="weighted")
    app = run_comparison(open_page(ws), ws)
    assert not app.exception
    assert "count people twice" in app.error[0].value.replace("\\", "")
    assert app.selectbox(key="evaluate writing").options == [outcomes.title for outcomes in WRITINGS.values()]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 second"), (61, "61 seconds"), (95, "2 minutes"), (5_500, "2 hours")]
)
def test_duration__in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_tables_of_papers__are_run_by_a_button_beside_the_figures_in_print() -> None:
    ws = session()
    app = open_page(ws)
    assert {f"begin printed {name}" for name in TABLES} <= {button.key for button in app.button}
    app.button(key="begin printed L14-5").click().run()
    assert ws.jobs["printed L14-5"].done.wait(PATIENCE)
    app.run()
    assert not app.exception
    table = next(frame.value for frame in app.dataframe if "method" in frame.value)
    expected = beside_print(TABLES["L14-5"], ws.jobs["printed L14-5"].answer)
    pd.testing.assert_frame_equal(table, expected)
    fits = TABLES["L14-5"].fits(SCHEMA)
    assert f"Here: {'your table' if fits else 'the made-up hospital'}, 2 folds" in plain_text(app)
