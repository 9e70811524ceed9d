"""Choices beside the schema: their rules, their defaults, and that names are asked when they are needed."""

import json
from functools import cache

import numpy as np
import pytest

from anonymizer.errors import ParameterError
from anonymizer.pipeline import Result, anonymize
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.schema import Role
from anonymizer.settings import AT_MOST, NAMES, RUN, SETTINGS, Limits, Setting, Settings, names_of, setting_names
from tests import golden
from tests.runs import make_table


def test_defaults__are_allowed() -> None:
    assert all(setting.allows(name, setting.default) for name, setting in SETTINGS.items())
    assert dict(Settings()) == {name: setting.default for name, setting in SETTINGS.items()}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 0), ("k", True), ("k", 2.0), ("k", None), ("k", 10**400), ("k", 2**53), ("k", "10"),
        ("t", 1.01), ("t", float("nan")), ("t", "0.5"), ("l", 0.5), ("l", float("inf")), ("weight", None),
        ("grouping", "nearest"), ("generalizer", None), ("generalizer", ["uniform"]), ("tested", "both"),
        ("max_depth", 0), ("marketer_limit", 0),
    ],
)  # fmt: skip
def test_what_is_not_allowed__is_refused_with_what_is(name: str, value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        Settings(**{name: value})
    assert name in str(caught.value)
    assert SETTINGS[name].range_text(name) in caught.value.remedy
    assert len(str(caught.value)) < 400


def test_an_unknown_name__is_refused() -> None:
    with pytest.raises(ParameterError, match="no setting 'kk'"):
        Settings(kk=3)
    with pytest.raises(ParameterError, match="no setting 'grouping'"):
        Limits(grouping="least")


def test_settings__are_frozen_values() -> None:
    settings = Settings(k=20)
    with pytest.raises(AttributeError):
        settings.k = 3
    other = settings.but(l=2)
    assert (settings.l, other.l, other.k) == (None, 2, 20)
    assert other.but(l=None) == settings
    assert hash(other.but(l=None)) == hash(settings)
    assert other != settings
    assert settings != settings.limits
    assert repr(other) == "Settings(k=20, l=2)"
    with pytest.raises(AttributeError):
        _ = settings.nothing


def test_numbers_of_numpy__are_taken() -> None:
    settings = Settings(k=np.int64(7), t=np.float64(0.25))
    assert (type(settings.k), type(settings.t)) == (int, float)


def test_limits__are_those_of_the_settings() -> None:
    limits = Settings(k=4, t=0.2, significance=0.05, generalizer="refine").limits
    assert limits == Limits(k=4, t=0.2, significance=0.05)
    assert {name: value for name, value in limits.required.items() if value is not None} == {"k": 4, "t": 0.2}
    assert {"l", "entropy_l", "rsd_min", "spread_min", "risk_max", "risk_mean", "k_map"} < set(limits.required)
    assert limits.beside_k
    assert not Limits(k=99, tested="leaves", test_form="adjusted").beside_k


def test_a_short_value__stands_for_several() -> None:
    assert Settings(generalizer="concatenate") == Settings(generalizer="uniform", writing="concatenate")


def test_names__are_asked_when_settings_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError):
        Settings(generalizer="mine")
    monkeypatch.setitem(GENERALIZERS, "mine", GENERALIZERS["uniform"])
    assert Settings(generalizer="mine").generalizer == "mine"
    assert "mine" in names_of("generalizer")


def test_a_setting_from_outside__is_a_setting_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Setting(None, "number", "limit", "Share", "largest share of a value", 0, 1, optional=True, checked=True)
    monkeypatch.setitem(SETTINGS, "share_max", own)
    assert Settings(share_max=0.5).limits.required["share_max"] == 0.5
    assert "share_max" in setting_names(*RUN)
    with pytest.raises(ParameterError):
        Settings(share_max=2)


BESIDE: dict[str, dict[str, object]] = {
    "share_max": {"share_max": None},
    "suppression_weight": {"suppression": 0.2},
    "weight": {"criterion": "blend"},
    "sets": {"k": 60},
    "significance": {"grouping": "error-digression", "generalizer": "uniform", "k": 2},
    "tested": {"grouping": "error-digression", "significance": 0.2},
    "test_form": {
        "grouping": "error-digression", "significance": 0.0031, "generalizer": "uniform", "k": 2, "max_depth": 2,
        "min_leaf": 60,
    },
}  # fmt: skip
"""What else must be chosen for a setting to be asked for."""
CHOICES: dict[str, object] = {
    "k": 20, "grouping": "least", "generalizer": "uniform", "writing": "weighted", "numbers": "range",
    "suppression": 0.2, "suppression_weight": 0.1, "order": "secret", "sets": "named", "regression": "cost ~ age",
    "criterion": "gini", "cost": "ranks", "min_leaf": 60, "max_depth": 1, "weight": 0.9, "share_max": 0.05, "l": 4,
    "entropy_l": 3, "t": 0.2, "rsd_min": 0.9, "spread_min": 0.9, "risk_max": 0.05, "risk_mean": 0.04, "k_map": 30,
    "significance": 0.95, "tested": "leaves", "test_form": "adjusted",
}  # fmt: skip
"""A choice of every setting that changes something."""


@cache
def run_with(**settings: object) -> Result:
    """A run with these settings."""
    table, schema = make_table()
    if "share_max" in settings:
        schema = schema.with_column("email", role=Role.PERSON)
    return anonymize(table, schema, rng=np.random.default_rng(1), **settings)


def outcome_of(**settings: object) -> str:
    """All that comes of a run but the record of its settings: cells, checks, findings, report."""
    result = run_with(**settings)
    report = result.report.to_dict()
    for what in ("run", "provenance", "plan"):
        report.pop(what, None)
    checks = [(check.name, check.required, check.achieved) for check in result.verification.checks]
    return "\n".join((result.release.frame().to_csv(), repr(checks), repr(result.gate.to_dict()), json.dumps(report)))


@pytest.mark.parametrize("name", setting_names(*RUN))
def test_every_setting__is_read_by_something_and_does_what_it_did(name: str) -> None:
    """A setting that nothing reads would be offered, accepted and recorded, and change nothing."""
    beside = BESIDE.get(name, {})
    assert outcome_of(**{**beside, name: CHOICES[name]}) != outcome_of(**beside)
    golden.check(name, run_with(**{**beside, name: CHOICES[name]}))


def test_a_setting_that_is_only_listed__changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETTINGS, "listed", Setting(1, "count", "limit", "Listed", "listed and read by nothing"))
    assert outcome_of(listed=2) == outcome_of(listed=1)


def test_every_attacker__has_a_limit_and_no_other_setting_is_of_attackers() -> None:
    assert setting_names("attackers") == tuple(f"{name}_limit" for name in NAMES["attacker"])


def test_at_most__are_those_that_say_the_greatest_or_largest() -> None:
    texts = {name: SETTINGS[name].text for name in (*setting_names("limit"), "suppression")}
    assert {name for name, text in texts.items() if text.startswith(("greatest", "largest"))} == set(AT_MOST)
