"""Cut points that are bought: they follow the records and cost what they say."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.forest.cut_points import buy_cuts
from anonymizer.forest.domains import code, domains_of
from anonymizer.forest.forest import grow_forest, predict
from anonymizer.forest.mechanisms import Budget


def test_bought_cuts__follow_the_records_and_are_paid_from_the_same_budget() -> None:
    rng = np.random.default_rng(3)
    age = np.concatenate([rng.normal(30, 2, 3000), rng.uniform(0, 100, 300)]).clip(0, 99)
    table = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 3300), "t": np.where(age < 30, "u", "v")})
    codebook = {"age": {"low": 0, "high": 100}, "sex": ["f", "m"], "t": ["u", "v"]}
    domains = domains_of(table, "t", codebook)
    budget = Budget(1.0)
    better = buy_cuts(table, domains, budget, 0.1)
    assert budget.spent == pytest.approx(0.1)
    assert better.attributes[0].cuts is not None
    assert sum(25 < cut < 35 for cut in better.attributes[0].cuts) >= 4
    assert better.attributes[1] == domains.attributes[1]
    assert not better.warning
    forest = grow_forest(code(table, better), 1.0, budget=budget, n_trees=2)
    assert forest.ledger.spent == pytest.approx(1.0)
    assert forest.ledger.dearest[0][2] == "find cut points of age"
    accurate = (predict(forest, code(table, better).codes) == code(table, better).classes).mean()
    plain = grow_forest(code(table, domains), 1.0, n_trees=2)
    assert accurate > (predict(plain, code(table, domains).codes) == code(table, domains).classes).mean()


def test_bought_cuts__nothing_to_buy_costs_nothing() -> None:
    table = pd.DataFrame({"sex": ["f", "m"], "t": ["u", "v"]})
    budget = Budget(1.0)
    domains = domains_of(table, "t", {"sex": ["f", "m"], "t": ["u", "v"]})
    assert buy_cuts(table, domains, budget, 0.5) == domains
    assert budget.spent == 0
