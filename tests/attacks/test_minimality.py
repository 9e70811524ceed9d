"""Minimality: rerunning the method under other values, against whole flows under every permutation."""

from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
import pytest

from anonymizer.attacks.minimality import arrangements, minimality, number_of_ways
from anonymizer.attacks.outcome import Rate
from anonymizer.errors import AnonymizerError, CancelledError
from anonymizer.flow import Flow
from anonymizer.reporting.dossier import document_of
from anonymizer.reporting.findings import findings_of
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.studies.attack import attack
from anonymizer.values import share
from tests.attacks.test_rerun import few
from tests.naive_attacks import rows_of


def flow_of(seed: int, n: int = 8, **settings) -> Flow:
    table, schema = few(seed, n)
    ways = {
        "k": 2,
        "grouping": "least",
        "criterion": "entropy",
        "generalizer": "uniform",
        "numbers": "range",
        **settings,
    }
    return Flow(table, schema, Settings(**ways), rng=np.random.default_rng(0))


def slow_minimality(flow: Flow) -> tuple[int, int, float]:
    """People who become certain, people who were, and by how much the chance of the truth rises: every different order
    of the sensitive column over the whole table is released by a whole flow, and those that give the published rows
    are as likely."""
    published, truth = rows_of(flow.released), flow.table["s"].tolist()
    right, back = np.zeros(len(truth)), 0
    for order in sorted(set(permutations(truth))):
        other = Flow(flow.table.assign(s=list(order)), flow.schema, flow.settings, rng=np.random.default_rng(0))
        try:
            same = rows_of(other.released) == published
        except AnonymizerError:
            continue
        if same:
            back += 1
            right += np.array([value == own for value, own in zip(order, truth, strict=True)])
    group = pd.Series(flow.parts.part)
    share = np.array([np.mean([truth[other] == own for other in np.flatnonzero(group == group[person])])
                      for person, own in enumerate(truth)])  # fmt: skip
    chance = right / back
    return int(((chance == 1) & (share < 1)).sum()), int((share == 1).sum()), float((chance - share).mean())


@pytest.mark.sweep(1)
@pytest.mark.parametrize("settings", [
    {"l": 2}, {}, {"generalizer": "refine"}, {"grouping": "error-risk"}, {"grouping": "infogain-mondrian"},
    {"grouping": "median-mondrian"}, {"criterion": "detail"},
])  # fmt: skip
def test_minimality__is_what_whole_flows_say(settings: dict) -> None:
    certain = 0
    for seed in range(4):
        flow = flow_of(seed, **settings)
        result = minimality(flow.run, np.random.default_rng(0))
        assert result is not None
        slow = slow_minimality(flow)
        assert (result.certain.right, result.already.right) == slow[:2]
        assert result.gain == pytest.approx(slow[2])
        assert (result.certain.tries, result.whole, result.walks) == (8, True, 0)
        certain += slow[0]
    assert (certain > 0) == (settings not in ({"grouping": "median-mondrian"}, {"criterion": "detail"}))


def test_walk__bounds_what_enumeration_says() -> None:
    for seed in range(4):
        flow = flow_of(seed, 12, k=6)
        exact = minimality(flow.run, np.random.default_rng(0), most=10**6)
        bound = minimality(flow.run, np.random.default_rng(seed), most=0)
        assert exact is not None
        assert bound is not None
        assert (bound.whole, bound.walks, bound.gain) == (False, 12, None)
        assert bound.certain.tries == 12
        assert bound.certain.right >= 0
        assert ("at most" in bound.sentence) == (bound.certain.right > 0)
    free = flow_of(0, 12, k=6, grouping="median-mondrian")  # values play no part: everybody's changes on the walk
    result = minimality(free.run, np.random.default_rng(0), most=0)
    assert result is not None
    assert result.certain.right == 0


def test_group_by_group__knows_more_than_the_whole() -> None:
    """Who knows all other groups is certain of everybody of whom somebody who knows less is certain."""
    for seed in range(4):
        flow = flow_of(seed, 10)
        ways = number_of_ways([np.flatnonzero(flow.parts.part == part) for part in np.unique(flow.parts.part)],
                              pd.factorize(flow.table["s"])[0])  # fmt: skip
        whole = minimality(flow.run, np.random.default_rng(0))
        single = minimality(flow.run, np.random.default_rng(0), most=ways - 1)
        assert whole is not None
        assert single is not None
        assert single.whole == (ways == 1)
        assert single.certain.right >= whole.certain.right


def test_packed__regions_are_all_that_can_be_said_without_the_secret() -> None:
    results = [minimality(flow_of(seed, 10, generalizer="pack").run, np.random.default_rng(0)) for seed in range(6)]
    assert sum(result.certain.right for result in results if result) > 0
    for root in ({"min_leaf": 10}, {"grouping": "median-mondrian"}):
        free = [
            minimality(flow_of(seed, 10, generalizer="pack", **root).run, np.random.default_rng(0)) for seed in range(3)
        ]
        assert [(result.certain.right, round(result.gain, 12)) for result in free if result] == [(0, 0)] * 3


def test_packed_under_limits__groups_of_no_region_can_be_of_any_values() -> None:
    """The whole table is one region: that the groups cross the tree's regions says nothing of who has what."""
    some = [minimality(flow_of(seed, 24, generalizer="pack", l=2).run, np.random.default_rng(0)) for seed in range(3)]
    assert [result.certain.right for result in some if result] == [0] * 3


def test_not_counted__when_there_is_no_time_or_nothing_to_count() -> None:
    flow = flow_of(0)
    none = minimality(flow.run, np.random.default_rng(0), seconds=-1)
    assert none is not None
    assert none.certain == Rate(0, 0)
    assert none.sentence.startswith("Not counted")
    assert minimality(flow_of(0, generalizer="tiered", k=3).run, np.random.default_rng(0)) is None
    table, schema = few(0)
    bare = Flow(table[["x", "y"]], Schema.of(table[["x", "y"]], quasi_identifying=["x", "y"]), Settings(k=2))
    assert minimality(bare.run, np.random.default_rng(0)) is None
    with pytest.raises(CancelledError):
        minimality(flow.run, np.random.default_rng(0), say=stop)


def stop(share: float, what: str) -> None:
    raise CancelledError("enough")


def test_attack__says_it_in_the_report_s_words() -> None:
    flow = flow_of(1, 10)
    outcome = attack(flow.table, flow.released, flow.schema, flow.encoded, flow=flow, tries=10)["minimality"]
    result = minimality(flow.run, np.random.default_rng(0))
    assert result is not None
    assert outcome.sentence == result.sentence
    assert (outcome.rates[1], outcome.rates[0].tries) == (result.certain, result.certain.tries)


def test_arrangements__are_all_different_orders() -> None:
    for values in ([0, 1, 1, 2], [3], [0, 0, 0], list(range(4))):
        orders = list(arrangements(values))
        assert sorted(orders) == sorted(set(permutations(values)))
        assert len(orders) == number_of_ways([np.arange(len(values))], np.array(values))
    assert number_of_ways([np.arange(10)], np.arange(10)) == factorial(10)


def test_report__says_not_counted_rather_than_none() -> None:
    flow = flow_of(1, 10)
    outcome = attack(flow.table, flow.released, flow.schema, flow.encoded, flow=flow, tries=10, seconds=0)
    findings = findings_of(flow.report, flow.table, flow.released, outcome)
    assert document_of(findings).figures["minimality.after"] == "not counted"
    counted = attack(flow.table, flow.released, flow.schema, flow.encoded, flow=flow, tries=10)
    figures = document_of(findings_of(flow.report, flow.table, flow.released, counted)).figures
    assert figures["minimality.after"] == share(counted["minimality"].after)
