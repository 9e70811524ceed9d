"""Rules of a forest: filters, and texts that read back and run nothing."""

import csv
import io
import json

import pandas as pd
import pytest

from anonymizer.forest.domains import code, domains_of
from anonymizer.forest.forest import MODES, grow_forest
from anonymizer.forest.nodes import walk
from anonymizer.forest.rules import rules_csv, rules_json, rules_of, rules_text, select_rules
from tests.forest.samples import rehearse


def test_rules_text__states_the_guarantee_beside_a_warning_about_domains() -> None:
    table = pd.DataFrame({"a": ["x", "y"] * 50, "class": ["p", "q"] * 50})
    forest = grow_forest(code(table, domains_of(table, "class")), 1.0)
    text = rules_text(forest, rules_of(forest))
    assert text.index("Read from the table") < text.index(MODES["strict"].guarantee)
    assert "one row added or removed" in text


def test_rules__filters() -> None:
    forest = rehearse(epsilon=5.0)
    rules = rules_of(forest)
    domains = forest.domains
    assert len(rules) == sum(1 for _ in walk(forest.trees[0]))
    assert rules[0].premise(domains) == "always"
    selection = select_rules(rules, domains, confidence=0.6, support=50, label="b", column="q0", leaves=True)
    assert selection
    assert all(rule.confidence >= 0.6 and rule.support >= 50 and rule.is_leaf for rule in selection)
    assert all("q0" in dict(rule.conditions(domains)) and rule.label == 1 for rule in selection)


def test_rules__texts_read_back_and_run_nothing() -> None:
    table = pd.DataFrame({"=cmd": ["+1", "-x"] * 300, "t": ["@u", "v,w"] * 300})
    coded = code(table, domains_of(table, "t", {"=cmd": ["+1", "-x"], "t": ["@u", "v,w"]}))
    forest = grow_forest(coded, 5.0)
    rules = rules_of(forest)
    assert len(rules) == 3
    rows = list(csv.reader(io.StringIO(rules_csv(forest, rules))))
    assert len(rows) == 4
    assert all(not cell.startswith(("=", "+", "@")) for row in rows for cell in row)
    described = json.loads(rules_json(forest, rules))
    assert described["rules"][1]["if"] == [{"column": "=cmd", "value": "+1"}]
    assert described["spent"] == pytest.approx(5.0)
    assert "then t = @u" in rules_text(forest, rules)
