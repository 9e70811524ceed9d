"""The settings of the papers beside those that are chosen: each figure is that of its own release."""

import pytest

from anonymizer.checking.verify import verify
from anonymizer.flow import Flow
from anonymizer.pipeline import anonymize
from anonymizer.schema import Schema
from anonymizer.settings import RUN, method_text
from anonymizer.whatif.papers import gain_sentence, paper_settings, with_figures
from tests.groups.test_refine import random_table

TABLE, SCHEMA = random_table(5, 300)
K = 7


@pytest.fixture(scope="module")
def flow() -> Flow:
    return Flow(TABLE, SCHEMA).but(k=K)


def test_figures__are_those_of_a_run_with_these_settings(flow: Flow) -> None:
    settings = with_figures(flow)
    assert len(settings) >= 2
    for one in settings:
        run = anonymize(TABLE, SCHEMA, **{**flow.settings.of(*RUN), **one.settings})
        assert one.gcp == pytest.approx(run.utility.gcp)
        assert (one.highest, one.groups) == (run.report.after.highest, run.report.after.groups)


def test_promises__are_kept(flow: Flow) -> None:
    for one in with_figures(flow):
        other = flow.but(**one.settings)
        assert verify(other.released, SCHEMA, k=K).k_anonymous == ("not k-anonymous" not in one.promise), one.title


def test_settings__fit_the_schema() -> None:
    titles = [one.title for one in paper_settings(Flow(TABLE, SCHEMA))]
    assert titles[0] == method_text("error-risk", "uniform")
    numbers = Schema.of(TABLE, quasi_identifying=["age", "city"], sensitive=["cost"])
    titles = [one.title for one in paper_settings(Flow(TABLE, numbers))]
    assert titles[0] == method_text("error-digression", "uniform")
    assert titles[-1].endswith("and α = 0.05")


def test_limits_that_cannot_be_kept__are_said() -> None:
    hopeless = Flow(TABLE, SCHEMA).but(k=len(TABLE) + 1)
    assert all(one.gcp is None for one in with_figures(hopeless))


def test_limit_that_tiers_cannot_keep__leaves_their_figures_out() -> None:
    table = TABLE.assign(who=range(len(TABLE)))
    names = list(SCHEMA.quasi_identifying)
    schema = Schema.of(table, quasi_identifying=names, sensitive=[str(SCHEMA.target)], person="who")
    flow = Flow(table, schema).but(k=5, share_max=0.5)
    of = {one.settings["generalizer"]: one.gcp for one in with_figures(flow)}
    assert of["tiered"] is None
    assert of["uniform"] is not None


def test_sentence__says_what_is_gained_and_what_is_not(flow: Flow) -> None:
    settings = with_figures(flow)
    strict = [one for one in settings if "not k-anonymous" not in one.promise]
    best = min(strict, key=lambda one: one.gcp)
    sentence = gain_sentence(flow, settings)
    assert f"{flow.utility.gcp:.0%} of the detail" in sentence
    assert f"{best.gcp:.0%} of" in sentence
    assert ("less than" in sentence) == (flow.utility.gcp < best.gcp)
