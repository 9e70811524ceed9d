"""A regression that the steward names: how it is read, and its figures against other libraries and by sums alone."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.measuring.coefficients import DRAWS
from anonymizer.measuring.named_regression import Formula, formula_from
from anonymizer.population.estimates import sampling_of
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.naive_margins import values_of

NAMES = ("income", "age", "sex", "a+b", "x=y", "of ~")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("income ~ age", Formula("income", None, ("age",))),
        (" income~age +sex ", Formula("income", None, ("age", "sex"))),
        ("`a+b` ~ `of ~` + `x=y`", Formula("a+b", None, ("of ~", "x=y"))),
        ("x=y ~ age", Formula("x=y", None, ("age",))),
        ("sex=female ~ age", Formula("sex", "female", ("age",))),
        ("sex = f=g ~ age", Formula("sex", "f=g", ("age",))),
    ],
)
def test_formula__names_a_target_and_predictors(text: str, expected: Formula) -> None:
    assert formula_from(text, NAMES) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("income", "has no target and predictors"),
        ("income ~", "has no target and predictors"),
        ("income ~ age ~ sex", "has no target and predictors"),
        ("income ~ height", "'height', which is no column"),
        ("income ~ age + age", "'age' twice"),
        ("income ~ age + income", "'income' twice"),
        ("income ~ age +", "names '', which is no column"),
    ],
)
def test_formula__that_cannot_be_read_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        formula_from(text, NAMES)


def people(n: int = 500, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "age": rng.integers(18, 80, n) * 1.0, "city": rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2]),
        "weight": rng.choice([1.0, 3.0], n), "home": rng.integers(0, n // 2, n), "region": rng.choice(list("ns"), n),
    })  # fmt: skip
    score = 0.05 * (table["age"] - 50) + table["city"].map({"a": 0.0, "b": 1.0, "c": -1.0}) + rng.logistic(size=n)
    return table.assign(ill=np.where(score > 0.5, "yes", "no"), cost=100 + 40 * score)


def flow_of(table: pd.DataFrame, regression: str, **choices: object) -> Flow:
    schema = Schema.of(
        table, quasi_identifying=["age", "city"], sensitive=["ill", "cost"], weight="weight", household="home",
        stratum="region",
    )  # fmt: skip
    return Flow(table, schema, Settings(regression=regression, **choices))


def design_of(age: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(age)), age, b, c]).astype(float)


def seen_after(flow: Flow) -> np.ndarray:
    """An age and a city of each row, as they are drawn from its box."""
    rng = np.random.default_rng(DRAWS)
    age, city = (np.array(values_of(flow, name, rng)) for name in ("age", "city"))
    return design_of(age, city == "b", city == "c")


def slow_errors(x: np.ndarray, slope: np.ndarray, missed: np.ndarray, table: pd.DataFrame) -> np.ndarray:
    """Sandwich errors: the totals of w x e of each household in its stratum, between the inverse information."""
    w = table["weight"].to_numpy()
    inverse = np.linalg.inv((x.T * (w * slope)) @ x)
    sums: dict[str, dict[int, np.ndarray]] = {"n": {}, "s": {}}
    for row in range(len(table)):
        part = inverse @ (w[row] * missed[row] * x[row])
        of = sums[table["region"][row]]
        of[table["home"][row]] = of.get(table["home"][row], np.zeros(x.shape[1])) + part
    variance = np.zeros((x.shape[1], x.shape[1]))
    for totals in sums.values():
        parts = np.array(list(totals.values()))
        apart = parts - parts.mean(axis=0)
        variance += len(parts) / (len(parts) - 1) * apart.T @ apart
    return np.sqrt(np.diag(variance))


def freedom_of(flow: Flow, m: int) -> int:
    return sampling_of(flow.table, flow.schema).freedom - m + 1


def test_numbers__are_the_weighted_least_squares_of_scikit_learn_with_sandwich_errors() -> None:
    from sklearn.linear_model import LinearRegression

    table = people()
    flow = flow_of(table, "cost ~ age + city", k=10)
    regression = flow.weighted.regression
    assert (regression.model, regression.target) == ("linear regression", "cost")
    assert [term.title for term in regression.terms] == ["(constant)", "age", "city = b", "city = c"]
    y = table["cost"].to_numpy()
    first = design_of(table["age"].to_numpy(), table["city"] == "b", table["city"] == "c")
    for x, answers in (
        (first, [term.before for term in regression.terms]),
        (seen_after(flow), [term.after for term in regression.terms]),
    ):
        model = LinearRegression(fit_intercept=False).fit(x, y, sample_weight=table["weight"])
        np.testing.assert_allclose([one.value for one in answers], model.coef_, rtol=1e-7)
        errors = slow_errors(x, np.ones(len(x)), y - x @ model.coef_, table)
        np.testing.assert_allclose([one.error for one in answers], errors, rtol=1e-6)
        reach = student.ppf(0.975, freedom_of(flow, 4)) * errors
        np.testing.assert_allclose([one.high - one.value for one in answers], reach, rtol=1e-6)


def test_levels__are_the_weighted_logistic_regression_of_scikit_learn_with_sandwich_errors() -> None:
    from sklearn.linear_model import LogisticRegression

    table = people()
    flow = flow_of(table, "ill ~ age + city", k=10)
    regression = flow.weighted.regression
    rarer = table["ill"].value_counts().index[-1]
    assert (regression.model, regression.target) == ("logistic regression", f"ill = {rarer}")
    y = (table["ill"] == rarer).to_numpy().astype(float)
    first = design_of(table["age"].to_numpy(), table["city"] == "b", table["city"] == "c")
    for x, answers in (
        (first, [term.before for term in regression.terms]),
        (seen_after(flow), [term.after for term in regression.terms]),
    ):
        model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, solver="newton-cholesky", max_iter=500)
        coefficients = model.fit(x, y, sample_weight=table["weight"]).coef_[0]
        np.testing.assert_allclose([one.value for one in answers], coefficients, rtol=1e-5, atol=1e-6)
        share = 1 / (1 + np.exp(-x @ coefficients))
        errors = slow_errors(x, share * (1 - share), y - share, table)
        np.testing.assert_allclose([one.error for one in answers], errors, rtol=1e-5)


def test_a_target_that_is_generalized__is_drawn() -> None:
    table = people()
    named = flow_of(table, "city=b ~ cost", k=10).weighted.regression
    assert named.target == "city = b"
    assert named.is_logistic
    middle = flow_of(table, "age ~ cost", k=10)
    x = np.column_stack([np.ones(len(table)), table["cost"]])
    y, w = seen_after(middle)[:, 1], table["weight"].to_numpy()
    expected = np.linalg.solve((x.T * w) @ x, (x.T * w) @ y)
    np.testing.assert_allclose([one.after.value for one in middle.weighted.regression.terms], expected, rtol=1e-8)


def test_rows_without_a_number__are_left_out() -> None:
    table = people().assign(age=lambda rows: rows["age"].where(rows.index % 9 > 0))
    flow = flow_of(table, "cost ~ age", k=10)
    rest = table.dropna(subset=["age"])
    slope = np.polynomial.polynomial.polyfit(rest["age"], rest["cost"], 1, w=np.sqrt(rest["weight"]))
    terms = flow.weighted.regression.terms
    np.testing.assert_allclose([one.before.value for one in terms], slope, rtol=1e-6)
    assert all(math.isfinite(one.after.value) for one in terms)


def test_a_coefficient_that_the_release_cannot_estimate__does_not_overlap() -> None:
    """A mean is one number for everybody."""
    table = people(60)
    flow = flow_of(table, "cost ~ age", k=60, generalizer="uniform", numbers="mean")
    regression = flow.weighted.regression
    assert math.isnan(regression.terms[1].after.value)
    assert (regression.overlaps, regression.mean_overlap) == ((0.0,), 0.0)
    described = json.loads(json.dumps(regression.to_dict(), allow_nan=False))
    assert described["coefficients"][1]["after"]["value"] is None


@pytest.mark.parametrize(
    ("regression", "words"),
    [
        ("city ~ age", "has 3 levels, so one of them has to be named"),
        ("city=z ~ age", "has no level 'z'"),
        ("cost=3 ~ age", "has numbers, so no level of it can be named"),
        ("home ~ age", "'home', which is no column"),
    ],
)
def test_what_cannot_be_regressed__is_said(regression: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        _ = flow_of(people(60), regression, k=5).weighted


def test_too_few_rows__are_said() -> None:
    with pytest.raises(ParameterError, match="cannot be estimated on the original"):
        _ = flow_of(people(25), "cost ~ age + city", k=5).weighted


def test_regression__is_a_setting_that_changes_no_release() -> None:
    flow = flow_of(people(), "cost ~ age", k=10)
    other = flow.but(regression="cost ~ city")
    assert other.release is flow.release
    assert other.weighted is not flow.weighted
    assert "--regression 'cost ~ city'" in other.report.provenance.command
    with pytest.raises(ParameterError, match="regression cannot be"):
        Settings(regression="a\nb")
