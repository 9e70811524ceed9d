"""Populations and samples: figures of ARX and sdcMicro, and of the published equations where the programs differ."""

from collections.abc import Callable
from dataclasses import replace
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import PoissonRegressor

from anonymizer.population.attackers import Attackers, k_map_size
from anonymizer.population.frequencies import class_sizes, codes_of, combine, frequencies
from anonymizer.population.individual import household_risk, individual_risk, threshold_of
from anonymizer.population.log_linear import others_in_population, risk_of_others
from anonymizer.population.suda import FEWEST, SpecialUniques, special_uniques
from anonymizer.population.uniques import (
    Histogram,
    pitman,
    population_of,
    population_uniques,
    slide_negative_binomial,
    zayatz,
)
from tests.cases import load


def by_name(name: str) -> Any:
    cases = load(name)
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def codes_in(rows: list[str]) -> np.ndarray:
    """Rows of a case as keys; a dot is missing."""
    frame = pd.DataFrame([row.split() for row in rows], dtype=object).replace(".", None)
    return codes_of(frame, list(frame.columns))[0]


def histogram_of(case: dict[str, Any]) -> Histogram:
    sizes, counts = np.array(case["histogram"], np.int64).T
    return Histogram(sizes, counts)


@by_name("population_frequencies")
def test_frequencies__with_missing_values_as_wildcards(case: dict[str, Any]) -> None:
    codes, weights = codes_in(case["rows"]), np.array(case["weights"])
    nothing, complete = (codes < 0).all(axis=1), (codes >= 0).all(axis=1)
    for expected in case["by_alpha"]:
        alpha = expected["alpha"]
        f = frequencies(codes, wildcard=alpha)
        population = frequencies(codes, weights=weights, wildcard=alpha)
        # sdcMicro treats who misses everything unlike other wildcards: not counted for complete keys (unless there is
        # one column), and at any alpha alike everybody.
        others = complete & (codes.shape[1] > 1)
        f = f - alpha * nothing.sum() * others
        population = population - alpha * weights[nothing].sum() * others
        f[nothing], population[nothing] = len(codes), weights.sum()
        np.testing.assert_allclose(f, expected["fk"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(population, expected["Fk"], rtol=1e-12, atol=1e-9)


def test_individual_risk__is_the_integral() -> None:
    cases = load("population_individual_risk")
    f, p, exact = (np.array([case[name] for case in cases], float) for name in ("f", "p", "exact"))
    np.testing.assert_allclose(individual_risk(f, f / p), exact, rtol=1e-12)
    approximate = np.array([case["sdcmicro_approx"] for case in cases])
    larger = f >= 3  # below, its closed forms lose digits near p = 1
    assert (approximate >= exact * (1 - 1e-9))[larger].all()
    assert (approximate / exact)[larger].max() < 1.041  # as far as it is too high


@by_name("population_household")
def test_individual_and_household_risk(case: dict[str, Any]) -> None:
    codes, weights = codes_in(case["rows"]), np.array(case["weights"])
    f, population = frequencies(codes, wildcard=1.0), frequencies(codes, weights=weights, wildcard=1.0)
    np.testing.assert_allclose(f, case["fk"], atol=1e-9)
    np.testing.assert_allclose(population, case["Fk"], rtol=1e-12)
    np.testing.assert_allclose(individual_risk(f, population), case["risk_true"], rtol=1e-9)
    # What follows from the risks, from those of sdcMicro, whose own are up to 4% too high.
    risk, household = np.array(case["risk_approx"]), pd.factorize(np.array(case["households"]))[0]
    together = household_risk(risk, household)
    np.testing.assert_allclose(together, case["hier_risk"], rtol=1e-9)
    assert risk.sum() == pytest.approx(case["global_risk_ER"], rel=1e-9)
    assert together.sum() == pytest.approx(case["hier_risk_ER"], rel=1e-9)
    expected = case["threshold"] or None
    assert threshold_of(risk, case["max_global_risk"]) == (expected and pytest.approx(expected, rel=1e-9))


@pytest.mark.sweep(6)
@by_name("population_uniques")
def test_population_uniques__by_pitman_and_zayatz(case: dict[str, Any]) -> None:
    sizes = histogram_of(case)
    assert sizes.n == case["n"]
    for expected in case["estimates"]:
        population = population_of(sizes.n, expected["fraction"])
        assert population == expected["population"]
        assert zayatz(sizes, population).uniques == pytest.approx(expected["zayatz"], rel=1e-6)
        model, best = pitman(sizes, population), population_uniques(sizes, population)
        if expected["pitman"] is not None and 0 < expected["pitman_alpha"] < 1:
            assert model.uniques == pytest.approx(expected["pitman"], rel=1e-6)
            assert not model.note
            if expected["fraction"] <= 0.1:
                assert best.best.uniques == pytest.approx(expected["dankar"], rel=1e-6)
                assert best.best.model == "Pitman"
        else:  # ARX's steps leave the range of α, where the likelihood has a maximum in it
            assert model.uniques is not None
            assert model.parameters[1] == 0 or case["name"] == "t200"


@by_name("population_uniques_high")
def test_population_uniques__above_a_tenth(case: dict[str, Any]) -> None:
    sizes, population = histogram_of(case), case["population"]
    assert population_of(case["n"], case["fraction"]) == population
    assert zayatz(sizes, population).uniques == pytest.approx(case["zayatz"], rel=1e-6)
    snb = slide_negative_binomial(sizes, population)
    published = case["published_snb"]
    assert snb.uniques == (None if published is None else pytest.approx(published, rel=1e-6))
    best = population_uniques(sizes, population).best
    models = [value for value in (published, case["zayatz"]) if value is not None]
    if case["fraction"] > 0.1:
        assert best.uniques == pytest.approx(min(models), rel=1e-6)
    if case["snb"] is not None:  # ARX solves other equations
        assert case["snb"] < published


@by_name("population_log_linear")
def test_log_linear_risk__and_how_far_modrisk_is_above_it(case: dict[str, Any]) -> None:
    rows = pd.DataFrame([row.split() for row in case["rows"]], dtype=float).assign(weight=case["weights"])
    keys = rows.groupby([0, 1, 2])["weight"].agg(["size", "sum"])
    every = keys.reindex(pd.MultiIndex.from_product([level.unique() for level in keys.index.levels]), fill_value=0)
    f, population = every["size"].to_numpy(float), every["sum"].to_numpy(float)
    columns = (place := every.index.to_frame().to_numpy(float)) - place.mean(axis=0)
    for model in case["models"]:
        counts, exposure = f, np.ones(len(f))
        if model["method"] == "PML":
            counts = np.round(population * f.sum() / population.sum())
        if model["method"] == "CE":
            exposure = np.divide(f, population, out=np.zeros_like(f), where=population > 0) + 0.1
        fit = PoissonRegressor(alpha=0, solver="newton-cholesky", tol=1e-12)
        fit.fit(columns, counts / exposure, sample_weight=exposure)
        alone = f == 1
        means, share = fit.predict(columns)[alone] * exposure[alone], 1 / population[alone]
        as_coded = risk_of_others(means * (1 - share))  # not divided by the share
        assert as_coded.alone / len(keys) == pytest.approx(model["gr1"], rel=1e-6)
        assert as_coded.right / len(keys) == pytest.approx(model["gr2"], rel=1e-6)
        published = risk_of_others(others_in_population(means, share))
        assert published.alone < published.right < as_coded.right


@by_name("population_pitman")
def test_pitman__stands_at_the_maximum_and_says_where_that_is(case: dict[str, Any]) -> None:
    sizes = histogram_of(case)
    estimate = pitman(sizes, population_of(case["n"], 0.1))
    theta, alpha = estimate.parameters
    if case["kind"] == "boundary":
        assert alpha == 0
        assert "boundary" in estimate.note
        assert estimate.uniques == pytest.approx(min(theta, 10 * case["n"]))
    else:
        assert (theta, alpha) == (pytest.approx(case["theta"], rel=1e-5), pytest.approx(case["alpha"], rel=1e-5))
        assert estimate.uniques == pytest.approx(case["uniques_at_fraction_0_1"], rel=1e-5)


@by_name("population_snb")
def test_slide_negative_binomial__as_published(case: dict[str, Any]) -> None:
    sizes = histogram_of(case)
    for expected in case["estimates"]:
        estimate = slide_negative_binomial(sizes, expected["population"])
        if "uniques" not in expected:
            assert estimate.uniques is None
            continue
        assert estimate.uniques == pytest.approx(expected["uniques"], rel=1e-6)
        assert estimate.parameters == pytest.approx(
            (expected["classes_in_population"], expected["alpha"], expected["beta"]), rel=1e-5
        )


@by_name("population_attackers")
def test_attackers__with_and_without_a_population(case: dict[str, Any]) -> None:
    codes = codes_in(case["rows"])
    sizes, counts = np.unique(class_sizes(codes), return_counts=True)
    assert [list(pair) for pair in zip(sizes, counts, strict=True)] == case["histogram"]
    whole = Attackers(frequencies(codes), frequencies(codes))
    sample = codes[:: case["subset"]["every"]]
    part = Attackers(frequencies(sample), frequencies(sample, codes))
    for attackers, expected in ((whole, case["whole"]), (part, case["subset"]["summaries"])):
        for row in expected:
            for name, journalist in (("prosecutor", False), ("journalist", True)):
                chances = getattr(attackers, name)
                exact = row[name]
                assert (chances.highest, chances.lowest, chances.average) == pytest.approx(
                    (exact["highest"], exact["lowest"], exact["success"]), rel=1e-12
                )
                share = attackers.at_risk(row["threshold"], journalist)
                assert share == pytest.approx(exact["records_at_risk"], rel=1e-12)
            assert attackers.marketer == pytest.approx(row["marketer"]["success"], rel=1e-12)


def test_k_map_size__asks_for_no_more_than_its_test_needs() -> None:
    for case in load("population_k_map"):
        k, n = case["k"], case["n"]
        population = population_of(n, case["fraction"])
        size, error = k_map_size(k, n, population, case["significance"])
        assert min(size + 1, k, n) == case["poisson"]  # ARX asks for one more
        assert error == pytest.approx(case["poisson_type1"], abs=1e-12)
        size, error = k_map_size(k, n, population, case["significance"], truncated=True)
        assert (size, error) == (case["ztp"], pytest.approx(case["ztp_type1"], abs=1e-12))


@by_name("population_suda")
def test_special_uniques(case: dict[str, Any]) -> None:
    codes = codes_in(case["rows"])
    uniques = special_uniques(codes)
    assert (uniques.alone, uniques.pairs) == (case["uniques"], case["records_in_pairs"])
    columns = codes.shape[1]
    for record, expected in enumerate(case["minimal_uniques"]):
        assert uniques.of(record) == sorted({own_columns(one, columns) for one in expected}, key=lambda s: (len(s), s))
    for setting in case["by_setting"]:
        compare_scores(uniques if setting["original_scores"] else by_other_weights(uniques), setting)


def by_other_weights(uniques: SpecialUniques) -> SpecialUniques:
    """The same MSUs under sdcMicro's other weights, by which a set of all columns counts nothing."""
    n, columns = uniques.share.shape
    m, sizes = max(columns, FEWEST), uniques.sets.sum(axis=1)
    weights = np.array([(2 ** (m - k) - 1) * factorial(k) * factorial(m - k) / factorial(m) for k in sizes])
    score, parts = np.zeros(n), np.zeros((n, columns))
    np.add.at(score, uniques.record, weights[uniques.set_of])
    np.add.at(parts, uniques.record, weights[uniques.set_of, None] * uniques.sets[uniques.set_of])
    share = np.divide(parts, score[:, None], out=np.zeros_like(parts), where=score[:, None] > 0)
    return replace(uniques, score=score, share=share, contribution=parts.sum(axis=0) / score.sum())


def own_columns(one: list[int], columns: int) -> tuple[int, ...]:
    """An MSU without the columns that sdcMicro adds to two."""
    return tuple(sorted(column for column in one if column < columns))


def compare_scores(uniques: SpecialUniques, setting: dict[str, Any]) -> None:
    """Scores, DIS scores and shares are those of sdcMicro, or the true ones where its own are wrong."""
    columns = uniques.share.shape[1]
    np.testing.assert_allclose(uniques.score, setting["score"], atol=1e-9)
    dis = uniques.dis(setting["dis_fraction"])
    np.testing.assert_allclose(dis, setting.get("true_dis_score") or setting["dis_score"], atol=1e-7)
    share = np.array(setting.get("true_share") or setting["share"], float)[:, :columns]
    np.testing.assert_allclose(uniques.share, share, atol=1e-7)
    percent = setting.get("true_attribute_percent") or setting["attribute_percent"]
    np.testing.assert_allclose(100 * uniques.contribution, percent[:columns], atol=1e-6)


@by_name("population_suda_real")
def test_special_uniques__of_public_tables(case: dict[str, Any], data: Callable[[str], Path]) -> None:
    frame = pd.read_csv(data(case["file"]), dtype=str, keep_default_na=False)
    uniques = special_uniques(codes_of(frame, case["columns"])[0])
    dis = uniques.dis(case["dis_fraction"])
    assert len(frame) == case["records"]
    assert (uniques.score.sum(), uniques.score.max(), (uniques.score > 0).sum()) == (
        case["sum_score"], case["max_score"], case["scored"],
    )  # fmt: skip
    assert (dis.sum(), dis.max()) == pytest.approx((case["sum_dis"], case["max_dis"]), rel=1e-6)
    np.testing.assert_allclose(uniques.score[:60], case["first_scores"])
    np.testing.assert_allclose(dis[:60], case["first_dis"], rtol=1e-6)
    np.testing.assert_allclose(100 * uniques.contribution, case["true_attribute_percent"], rtol=1e-9)


@pytest.mark.parametrize(
    ("table", "file", "columns"),
    [
        (
            "adult",
            "adult_complete.csv.gz",
            ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"],
        ),
    ],
)
def test_histograms__of_public_tables(table: str, file: str, columns: list[str], data: Callable[[str], Path]) -> None:
    (case,) = (case for case in load("population_uniques") if case["name"] == table)
    codes = codes_of(pd.read_csv(data(file), dtype=str, keep_default_na=False), columns)[0]
    sizes = Histogram.of(class_sizes(codes))
    assert np.column_stack([sizes.sizes, sizes.counts]).tolist() == case["histogram"]
    assert len(set(combine(codes))) == sizes.u
