"""Evaluation under cross-validation: what is learnt only from training records, and each figure by another way."""

import json
import math
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from anonymizer.cells import Cell
from anonymizer.cli.main import main
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.groups.prune import prune
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import encode, rows_of
from anonymizer.growing.grow import grow
from anonymizer.measuring.comparison import as_table, paired_t_test, title_of
from anonymizer.measuring.measures import FORMS, MEASURES, MODELS, OF_NUMBERS, Outcome
from anonymizer.measuring.predict import accuracy, cell_of, classify, features_of, pruned_by_confidence, regress
from anonymizer.measuring.utility import gcp, mape
from anonymizer.releasing.generalize import GENERALIZERS, generalize
from anonymizer.releasing.tiers import Parts
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.studies.experiment import all_groupings, evaluate, expected_seconds
from anonymizer.studies.folds import Fold, folds_of, part_of_leaf
from tests.groups.test_refine import random_table

FITS_CLASSES = [grouping for grouping in all_groupings() if grouping != "regression-mondrian"]


@pytest.fixture(scope="module")
def outcomes():
    table, schema = random_table(12, 240)
    return evaluate(Flow(table, schema), folds=3, ks=(4, 8), groupings=FITS_CLASSES, generalizers=list(GENERALIZERS))


def test_every_setting__is_measured_in_every_fold(outcomes):
    assert len(outcomes) == 1 + 2 * len(FITS_CLASSES) * len(GENERALIZERS)
    for outcome in outcomes:
        assert set(outcome.measured) == set(MEASURES)
        assert outcome.folds == 3
        for name, values in outcome.measured.items():
            assert np.isfinite(values).all() or name.startswith(("slope", "correlations")), name
        assert 0 <= outcome.mean("gcp") <= 1
        assert 0 <= outcome.mean("error_raw") <= 1
        assert 0 <= outcome.mean("error_box") <= 1
        assert 0 <= outcome.mean("two_way") <= 1
        assert 0 <= outcome.mean("coefficients") <= 1
        assert 0 <= outcome.mean("rsd") <= 1
        if outcome.grouping != "original" and outcome.generalizer != "tiered":
            assert outcome.measured["smallest"].min() >= outcome.k
    frame = as_table(outcomes)
    assert frame.loc[0, ["grouping", "k", "gcp", "two_way", "coefficients"]].tolist() == ["original", 1, 0.0, 0.0, 1.0]
    assert outcomes[0].mean("error_raw") == outcomes[0].mean("error_box")
    assert len(frame) == len(outcomes)


def test_a_numeric_target__has_no_class_error():
    table, schema = random_table(13, 150)
    schema = schema.with_target("cost")
    outcomes = evaluate(
        Flow(table, schema), folds=2, ks=(5,), groupings=["regression-mondrian", "error-digression", "blend:1"]
    )
    frame = as_table(outcomes)
    assert not {"error_raw", "error_box"} & set(frame)
    of_numbers = [
        f"{figure}_{model}_{form}" for figure in ("mape", "rmse", "mae", "r2") for model in MODELS for form in FORMS
    ]
    assert frame[[*of_numbers, "rsd"]].notna().all(axis=None)
    assert math.isnan(outcomes[1].mean("error_raw"))


def test_test_records__play_no_part_in_the_groups():
    """Other test values, same training rows: the same groups, losses and RSD."""
    table, schema = random_table(14, 120)
    train, test = np.arange(80), np.arange(80, 120)
    outcomes = []
    for rows in (np.arange(80, 120), np.arange(119, 79, -1)):
        mixed = table.copy()
        mixed.loc[test, ["ill", "cost"]] = table.loc[rows, ["ill", "cost"]].to_numpy()
        fold = Fold.of(Flow(mixed, schema), train, test)
        outcomes.append(fold.measure("least", "tiered-strict", 5))
    first, second = (outcome.figures for outcome in outcomes)
    for name in ("gcp", "groups", "two_way", "coefficients"):
        assert first[name] == second[name]
    assert first["rsd"] == pytest.approx(second["rsd"], rel=1e-9)
    for form in FORMS:
        assert first[f"error_{form}"] != second[f"error_{form}"]


@pytest.mark.parametrize("method", sorted(GENERALIZERS))
def test_losses_and_boxes__are_those_of_a_release_of_the_training_records(method):
    table, schema = random_table(15, 160)
    whole = encode(table, schema)
    train, test = np.arange(0, 160, 2), np.arange(1, 160, 2)
    measured = Fold.of(Flow(table, schema), train, test).measure("error-risk", method, 6)
    part, encoded = table.iloc[train].reset_index(drop=True), rows_of(whole, train)
    tree = grow(encoded)
    pruning = prune(tree, annotate(tree, encoded), "error-risk", 6)
    release = generalize(
        part, schema, encoded, pruning, method, 6, numbers=Settings().numbers, rng=np.random.default_rng(0)
    )
    assert measured.figures["gcp"] == pytest.approx(gcp(release, whole.encodings), rel=1e-12)


def test_rows_of__centres_numbers_on_the_rows_and_keeps_the_rest():
    table, schema = random_table(16, 50)
    whole = encode(table, schema)
    rows = np.array([3, 4, 10, 20, 21])
    part = rows_of(whole, rows)
    assert part.n_records == 5
    np.testing.assert_array_equal(part.codes.matrix(), whole.codes.matrix()[rows])
    np.testing.assert_array_equal(part.codes.matrix(), whole.codes.matrix(rows))
    np.testing.assert_allclose(part.numeric.values.mean(axis=0), 0, atol=1e-12)
    again = part.numeric.low + part.numeric.width * (part.numeric.values + part.numeric.centre)
    np.testing.assert_allclose(again[:, 0], table["cost"].to_numpy()[rows])
    assert part.target.codes.tolist() == whole.target.codes[rows].tolist()


def test_folds__hold_every_record_once_and_are_stratified():
    table, schema = random_table(17, 200)
    encoded = encode(table, schema)
    pairs = list(folds_of(encoded, 5, 0))
    assert sorted(np.concatenate([test for _, test in pairs])) == list(range(200))
    for train, test in pairs:
        assert not set(train) & set(test)
        shares = np.bincount(encoded.target.codes[test], minlength=3) / len(test)
        np.testing.assert_allclose(shares, np.bincount(encoded.target.codes) / 200, atol=0.04)


def test_a_test_record__goes_to_the_part_of_most_of_its_leaf():
    tree = type("Nodes", (), {"n_nodes": 6})
    leaf = np.array([2, 2, 2, 3, 3, 5, 5], dtype=np.int32)
    none = np.empty(0, np.int64)
    parts = Parts(np.array([1, 1, 0, 2, 0, 1, 1]), 3, none, none)
    assert part_of_leaf(leaf, parts, tree).tolist() == [-1, -1, 1, 0, -1, 1]


def test_seen__reads_cells_as_an_analyst_would():
    table, schema = random_table(2, 60)
    encodings = {e.name: e for e in encode(table, schema).encodings}
    grade, born = encodings["grade"], encodings["born"]
    levels = list(grade.labels)
    assert features_of(Cell.of_levels(levels[:2]), grade)[:3] == [0.5, 0.5, 0.0]
    assert features_of(Cell.concatenation(levels[:2], counts=(3, 1)), grade)[:3] == [0.75, 0.25, 0.0]
    assert sum(features_of(Cell.WITHHELD, grade)) == pytest.approx(1)
    ends = [born.text(0), born.text(born.n_codes - 1)]
    assert features_of(Cell.interval(*ends), born) == [pytest.approx(0.5), 0]
    assert features_of(Cell.estimated(ends[1]), born) == [1, 0]
    assert features_of(Cell.MISSING, born) == [0.5, 1]


def test_models__of_boxes_are_those_of_records():
    """Weighted rows give the predictions that the records themselves give."""
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    rng = np.random.default_rng(0)
    features, box = rng.normal(size=(30, 3)), rng.integers(0, 30, 600)
    y = features[box] @ np.array([[1.0, 0.0], [2.0, 1.0], [0.0, -1.0]]) + rng.normal(size=(600, 2))
    classes = (y[:, 0] > 0).astype(int)
    linear, tree = regress(features, box, y, features)
    assert linear == pytest.approx(LinearRegression().fit(features[box], y).predict(features), abs=1e-9)
    slow = DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(features[box], y)
    assert tree == pytest.approx(slow.predict(features), abs=1e-9)
    by_records = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0)
    by_records.fit(features[box], classes)
    with not_pruned():
        assert classify(features, box, classes, features).tolist() == by_records.predict(features).tolist()


def not_pruned():
    return mock.patch(
        "anonymizer.measuring.predict.pruned_by_confidence", lambda left, right, records: np.arange(len(left))
    )


def test_pruning__takes_back_splits_that_learn_noise():
    #        0 (9 a, 9 b)
    #      1 (9 a, 0)  2 (0, 9 b)
    left, right = np.array([1, -1, -1]), np.array([2, -1, -1])
    useful = np.array([[9.0, 9.0], [9.0, 0.0], [0.0, 9.0]])
    assert pruned_by_confidence(left, right, useful).tolist() == [0, 1, 2]
    noise = np.array([[9.0, 1.0], [5.0, 0.0], [4.0, 1.0]])
    assert pruned_by_confidence(left, right, noise).tolist() == [0, 0, 0]
    deep_left, deep_right = np.array([1, 2, -1, -1, -1]), np.array([4, 3, -1, -1, -1])
    records = np.array([[9.0, 10.0], [9.0, 1.0], [5.0, 0.0], [4.0, 1.0], [0.0, 9.0]])
    assert pruned_by_confidence(deep_left, deep_right, records).tolist() == [0, 1, 1, 1, 4]
    by_heart = pruned = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(2000, 4))
        classes = ((features[:, 0] > 0) ^ (rng.random(2000) < 0.2)).astype(int)
        arguments = (features[:1000], np.arange(1000), classes[:1000], features[1000:])
        pruned += (classify(*arguments) != classes[1000:]).sum()
        with not_pruned():
            by_heart += (classify(*arguments) != classes[1000:]).sum()
    assert pruned < 0.9 * by_heart


def test_mape__leaves_zeros_out_and_counts_them():
    table, schema = random_table(18, 90)
    table["cost"] = np.where(np.arange(90) % 3 == 0, 0.0, 10.0)
    outcomes = evaluate(Flow(table, schema), folds=3, ks=(5,), groupings=["least"])
    assert all(outcome.left_out == 30 for outcome in outcomes)
    table["cost"] = np.where(np.arange(90) % 3 == 0, 0.0, np.random.default_rng(4).normal(2.0, 0.7, 90))
    outcomes = evaluate(Flow(table, schema), folds=3, ks=(5,), groupings=["least"])
    assert all(outcome.left_out == 30 for outcome in outcomes), "a 0 is a 0 after scaling and back"
    assert mape(np.array([0.0, 0.0]), np.array([1.0, 2.0]))[1] == 2
    assert math.isnan(mape(np.array([0.0]), np.array([1.0]))[0])


def outcome_of(values) -> Outcome:
    return Outcome("least", "uniform", 5, {name: np.array(values, dtype=float) for name in MEASURES}, 0)


def test_paired_t_test__is_the_usual_one():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=10), rng.normal(size=10) + 0.4
    test = paired_t_test(outcome_of(first), outcome_of(second), "error_raw")
    assert test.difference == pytest.approx((first - second).mean())
    assert test.p_value == pytest.approx(ttest_rel(first, second).pvalue, rel=1e-9)
    assert paired_t_test(outcome_of([0.5, 0.5]), outcome_of([0.5, 0.5]), "gcp") == (0.0, 1.0)
    assert paired_t_test(outcome_of([0.5, 0.5]), outcome_of([0.25, 0.25]), "gcp") == (0.25, 0.0)
    assert math.isnan(paired_t_test(outcome_of([0.5]), outcome_of([0.2]), "gcp").p_value)


def test_cancelling__returns_the_folds_that_are_complete():
    table, schema = random_table(19, 90)
    counts, calls = [], []

    def cancelled() -> bool:
        counts.append(len(calls))
        return len(counts) > 2 and counts[-3:] == [4, 4, 4]  # amid the second of two settings of the second fold

    outcomes = evaluate(Flow(table, schema), folds=3, ks=(5,), groupings=["least"], generalizers=["uniform"],
                     cancelled=cancelled, progress=lambda share, what: calls.append((share, what)))  # fmt: skip
    assert [outcome.folds for outcome in outcomes] == [1, 1]
    assert [share for share, _ in calls] == pytest.approx([0, 1 / 6, 2 / 6, 3 / 6])
    assert "Fold 2 of 3" in calls[-1][1]
    assert evaluate(Flow(table, schema), folds=3, ks=(5,), cancelled=lambda: True) == ()


def test_a_sample__is_drawn_from_all_records_and_keeps_their_domains():
    table, schema = random_table(22, 200)
    seen_tables = []
    real = Fold.of

    def spy(part, *rest):
        seen_tables.append(part.table)
        return real(part, *rest)

    with mock.patch.object(Fold, "of", spy):
        outcomes = evaluate(Flow(table, schema), folds=2, ks=(5,), groupings=["least"], sample=60)
    part = seen_tables[0]
    assert len(part) == 60
    pd.testing.assert_frame_equal(part, table.loc[part.index])
    assert part.index.max() > 100
    assert outcomes[1].mean("groups") <= 30 / 5
    whole = evaluate(Flow(table, schema), folds=2, ks=(5,), groupings=["least"])
    beyond = evaluate(Flow(table, schema), folds=2, ks=(5,), groupings=["least"], sample=999)
    np.testing.assert_array_equal(whole[1].measured["gcp"], beyond[1].measured["gcp"])
    with pytest.raises(ParameterError):
        evaluate(Flow(table, schema), folds=2, ks=(50,), groupings=["least"], sample=60)


def test_expected_seconds__grow_with_everything_that_is_asked_for():
    usual = {"records": 40_000, "columns": 14, "groupings": ["least"], "generalizers": ["uniform"], "ks": [10],
             "folds": 10}  # fmt: skip
    once = expected_seconds(**usual)
    for more in ({"records": 80_000}, {"columns": 20}, {"groupings": ["least", "blend:0.2"]}, {"ks": [10, 20]},
                 {"generalizers": ["uniform", "tiered"]}, {"folds": 11}):  # fmt: skip
        assert expected_seconds(**{**usual, **more}) > once
    assert 5 < once < 60


@pytest.mark.parametrize(
    "wrong",
    [{"groupings": ["mondrian"]}, {"groupings": ["blend:2"]}, {"groupings": ["least:0.5"]}, {"generalizers": ["none"]},
     {"folds": 1}, {"run": 4}, {"ks": ()}, {"ks": (61,)}, {"generalizers": ["tiered"], "numbers": "mean"},
     {"groupings": ["regression-mondrian"]}],
)  # fmt: skip
def test_impossible_settings__are_refused(wrong):
    table, schema = random_table(20, 90)
    writing = {name: wrong[name] for name in ("writing", "numbers") if name in wrong}
    rest = {"folds": 3, "ks": (5,), "groupings": ["least"]} | {
        name: wrong[name] for name in wrong if name not in writing
    }
    with pytest.raises(ParameterError):
        evaluate(Flow(table, schema, Settings(**writing)), **rest)


def test_weights_and_means__are_read_by_the_models():
    table, schema = random_table(21, 200)
    ways = {}, {"writing": "weighted", "numbers": "mean"}
    settings = [Settings(k=20, generalizer="uniform", grouping="error-risk", **way) for way in ways]
    boxed = [Flow(table, schema, one).boxed for one in settings]
    sides = [one.features()[one.box] for one in boxed]
    assert sides[0].shape == sides[1].shape
    # Counts give every level back as often as it is; sets do not.
    frequencies = table["city"].value_counts(normalize=True, dropna=False).sort_index().to_numpy()
    start = 2 + 2
    cities = slice(start, start + len(frequencies))
    np.testing.assert_allclose(sides[1][:, cities].mean(axis=0), frequencies)
    assert not np.allclose(sides[0][:, cities].mean(axis=0), frequencies)


def test_the_command__prints_writes_and_compares(tmp_path, capsys):
    table, _ = random_table(22, 120)
    path, out = tmp_path / "t.csv", tmp_path / "folds.csv"
    table.drop(columns="born").to_csv(path, index=False)
    command = ["evaluate", str(path), "--quasi-identifying", "age,city,grade", "--sensitive", "ill,cost", "--k", "4,8",
               "--folds", "3", "--groupings", "least,blend:0.9", "--generalizers", "uniform", "--against", "least",
               "--out", str(out)]  # fmt: skip
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "blend:0.9" in printed
    assert "p-value of the paired t-test" in printed
    assert "boxes (box), which presumes the tree" in printed
    assert "No ranking: even the original rows explain next to nothing here" in printed
    rows = pd.read_csv(out)
    assert len(rows) == 3 * 5
    plot = tmp_path / "plot.html"
    assert main([*command, "--only", "2", "--sample", "90", "--plot", str(plot)]) == 0
    page = plot.read_text("utf-8")
    for measure in ("error_raw", "error_box", "two_way", "coefficients", "rsd"):
        assert MEASURES[measure] in page
    assert page.count("plotly-graph-div") >= 4
    assert title_of("blend:0.9", "uniform") in page
    capsys.readouterr()
    assert main([*command, "--plot", "plot.txt"]) == 2
    assert "ends in .html" in capsys.readouterr().err
    assert main([*command, "--only", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["folds"] for row in answer["settings"]] == [2] * 5
    compared = {test["measure"] for test in answer["differences"]}
    assert {"gcp", "error_raw", "error_box", "two_way", "coefficients", "rsd"} <= compared
    assert main([*command, "--against", "error-risk"]) == 2
    assert "was not evaluated" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["evaluate", str(path), "--quasi-identifying", "age", "--k", "ten"])


@pytest.mark.parametrize("method", sorted(GENERALIZERS))
@pytest.mark.parametrize(("model", "columns"), [("linear", ["age", "born", "city", "grade"]), ("tree", ["age"])])
def test_raw__is_a_model_of_the_released_cells_asked_about_original_values(method, model, columns):
    """The models of scikit-learn, fitted to the rows of a release of the training records, and asked about records.

    With several columns a tree has several splits that are equally good for boxes, and takes any."""
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeRegressor

    table, schema = random_table(25, 200)
    table["cost"] = table["age"].fillna(40) * 2 + table["cost"]
    table["age"] += np.random.default_rng(1).random(200).round(3)
    schema = Schema.of(table, quasi_identifying=columns, sensitive=["ill", "cost"])
    flow = Flow(table, schema, Settings(k=8))
    train, test = np.arange(0, 200, 2), np.arange(1, 200, 2)
    figures = Fold.of(flow, train, test).measure("error-risk", method, 8).figures
    records = flow.rows(train).but(generalizer=method)
    encoded = records.encoded
    tree = grow(encoded)
    pruning = prune(tree, annotate(tree, encoded), "error-risk", 8)
    part = table.iloc[train].reset_index(drop=True)
    release = generalize(
        part, schema, encoded, pruning, method, 8, numbers=flow.settings.numbers, rng=np.random.default_rng(0)
    )

    def row(cells) -> list[float]:
        return [x for cell, e in zip(cells, encoded.encodings, strict=True) for x in features_of(cell, e)]

    answers = np.array(
        [row([release[n].cells[release[n].index[i]] for n in encoded.names]) for i in range(release.n_records)]
    )
    questions = np.array(
        [row([cell_of(code, e) for code, e in zip(codes, encoded.encodings, strict=True)])
         for codes in flow.encoded.codes.matrix()[test]]
    )  # fmt: skip
    cost = part["cost"].to_numpy()[release.order]
    truth = table["cost"].to_numpy()[test]
    slow = {"linear": LinearRegression(), "tree": DecisionTreeRegressor(min_samples_leaf=5, random_state=0)}[model]
    predicted = slow.fit(answers, cost).predict(questions)
    missed = truth - predicted
    expected = {
        "rmse": (missed**2).mean() ** 0.5,
        "mae": abs(missed).mean(),
        "mape": abs(missed / truth).mean(),
        "r2": 1 - (missed**2).sum() / ((truth - truth.mean()) ** 2).sum(),
        "slope": np.polyfit(predicted, truth, 1)[0],
    }
    assert set(expected) == set(OF_NUMBERS)
    assert {name: figures[f"{name}_{model}_raw"] for name in expected} == pytest.approx(expected, rel=1e-6)


def test_accuracy__of_predictions_that_say_nothing() -> None:
    truth = np.array([1.0, 2.0, 3.0])
    constant = accuracy(truth, np.full(3, 2.0))
    assert constant[:3] == (pytest.approx((2 / 3) ** 0.5), pytest.approx(2 / 3), pytest.approx(0))
    assert math.isnan(constant.slope)
    assert math.isnan(accuracy(np.full(3, 2.0), truth).r2)
    assert accuracy(truth, truth) == (0, 0, 1, pytest.approx(1))
    assert accuracy(truth, 2 * truth).slope == pytest.approx(0.5), "too bold by two"


def test_dates__are_predicted_in_days() -> None:
    table, schema = random_table(26, 150)
    schema = schema.with_target("cost")
    days = table["cost"].rank().astype(int)
    dated = table.assign(cost=pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"))
    numbered = table.assign(cost=days.astype(float))
    rmse = [
        Fold.of(Flow(each, of), np.arange(100), np.arange(100, 150))
        .measure("least", "uniform", 9)
        .figures["rmse_tree_raw"]
        for each, of in ((numbered, schema), (dated, schema.with_column("cost", kind="date")))
    ]
    assert rmse[0] == pytest.approx(rmse[1], rel=1e-6)


def test_each_fold__is_told_as_soon_as_it_is_complete() -> None:
    table, schema = random_table(5, 120)
    calls: list[tuple[Outcome, ...]] = []
    last = evaluate(Flow(table, schema), folds=3, ks=(5,), groupings=("least",), generalizers=("uniform",),
                    each=calls.append)  # fmt: skip
    assert [outcomes[0].folds for outcomes in calls] == [1, 2, 3]
    for before, after in zip(calls, calls[1:], strict=False):
        for one, other in zip(before, after, strict=True):
            assert (one.measured["gcp"] == other.measured["gcp"][: one.folds]).all()
    assert [o.mean("gcp") for o in calls[-1]] == [o.mean("gcp") for o in last]
