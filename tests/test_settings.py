"""Choices beside the schema: their rules, their defaults, and that names are asked when they are needed."""

import numpy as np
import pytest

from anonymizer.errors import ParameterError
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.settings import RUN, SETTINGS, Limits, Setting, Settings, names_of, setting_names


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
    assert not Limits(k=99, tested="leaves").beside_k


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
