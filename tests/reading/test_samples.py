"""The built-in samples: the papers' examples as the worked cases have them, and plausible made-up admissions."""

import threading
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.reading.samples import CONTRA_COLUMNS, SAMPLES, adult, contra, customers, employees, hospital
from anonymizer.settings import Settings
from tests.cases import load
from tests.waiting import PATIENCE


@pytest.fixture
def no_internet(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise URLError("no route")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", refuse)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))


def test_customers__are_those_of_the_worked_case() -> None:
    case = load("y19_figure_1")[0]
    expected = pd.DataFrame(case["rows"], columns=["Age", "Gender", "Marital Status"]).astype({"Age": int})
    expected["Bought Medical Product"] = case["class"]
    pd.testing.assert_frame_equal(customers()[expected.columns], expected, check_dtype=False)


def test_employees__are_those_of_the_worked_case() -> None:
    case = load("l09_example")[0]
    expected = pd.DataFrame(case["rows"], columns=["Age", "YearsEdu", "Occupation"])
    expected[["Income", "Asset"]] = case["responses"]
    pd.testing.assert_frame_equal(employees(), expected, check_dtype=False)


def test_hospital__same_seed_same_records() -> None:
    pd.testing.assert_frame_equal(hospital(300, 1), hospital(300, 1))
    assert not hospital(300, 1).equals(hospital(300, 2))


def test_hospital__holds_what_it_says() -> None:
    table = hospital(5000)
    assert len(table) == 5000
    assert table["email"].is_unique
    assert table["email"].str.endswith("@example.invalid").all()
    postcodes = table["postcode"].astype(str)
    assert (postcodes.str.len() == 5).all()
    assert postcodes.str.startswith("0").any()
    assert table["age"].between(0, 99).all()
    assert table["days_of_stay"].min() >= 1
    assert table["cost"].min() > 0
    assert table["occupation"].isna().any()
    assert table["admission_date"].dt.year.eq(2024).all()


def test_hospital__is_correlated() -> None:
    table = hospital(20_000)
    births = table[table["diagnosis"] == "Childbirth"]
    assert len(births) > 100
    assert (births["sex"] == "female").all()
    assert births["age"].between(18, 49).all()
    old = table["age"] >= 65
    assert (
        (table.loc[old, "occupation"] == "Retired").mean() > 0.5 > (table.loc[~old, "occupation"] == "Retired").mean()
    )
    assert np.corrcoef(table["days_of_stay"], table["cost"])[0, 1] > 0.5
    stays = table.groupby("diagnosis", observed=True)["days_of_stay"].mean()
    assert stays["Depression"] > 2 * stays["Asthma"]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_hospital__any_size(n: int) -> None:
    assert len(hospital(n)) == n


def test_hospital__no_records_is_an_error() -> None:
    with pytest.raises(ParameterError):
        hospital(0)


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.synthetic])
def test_samples__load_offline(name: str, no_internet: None) -> None:
    sample = SAMPLES[name]
    assert sample.name == name
    assert len(sample.load()) >= 6


@pytest.mark.usefixtures("no_internet")
@pytest.mark.filterwarnings("ignore:A network error:UserWarning")
def test_adult__says_that_there_is_no_internet() -> None:
    with pytest.raises(ReadError, match="URLError") as raised:
        adult()
    assert "without internet" in raised.value.remedy


def test_adult__does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: released.wait(PATIENCE))
    with pytest.raises(ReadError, match="within 0 seconds"):
        adult(wait=0.05)
    released.set()


def test_adult__names_its_class_income(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bunch:
        frame = pd.DataFrame({"age": [39], "class": ["<=50K"]})

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: Bunch)
    assert list(adult().columns) == ["age", "income"]


def test_contra__has_names_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bunch:
        frame = pd.DataFrame([range(10)] * 30)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: Bunch)
    assert tuple(contra().columns) == CONTRA_COLUMNS
    assert SAMPLES["contra"].schema(contra()).target == CONTRA_COLUMNS[-1]
    Bunch.frame = pd.DataFrame([range(9)])
    with pytest.raises(ReadError, match="9 columns"):
        contra()


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.synthetic and sample.roles])
def test_decisions__give_a_tree_and_groups(name: str) -> None:
    sample = SAMPLES[name]
    table = sample.load()
    flow = Flow(table, sample.schema(table), Settings(**sample.settings))
    assert flow.pruning.satisfied
    assert flow.released.shape == table.shape


def test_customers__bring_the_tree_of_figure_1() -> None:
    (case,) = load("y19_figure_1")
    sample = SAMPLES["customers"]
    table = sample.load()
    flow = Flow(table, sample.schema(table), Settings(**sample.settings))
    ours = {
        tuple(np.flatnonzero((flow.leaf >= t) & (flow.leaf < t + flow.tree.size[t]))): t
        for t in range(flow.tree.n_nodes)
    }
    theirs = {tuple(node["records"]): node for node in case["tree"]}
    assert set(ours) == set(theirs)
    for records, t in ours.items():
        node = theirs[records]
        if "attr" in node:
            assert flow.encoded.names[flow.tree.feature[t]] == node["attr"]
            assert node.get("threshold", np.nan) == pytest.approx(flow.tree.threshold[t], nan_ok=True)
        assert flow.risk.tidi[t] == pytest.approx(case["nodes"][str(node["id"])]["R"], rel=1e-9)
    assert flow.settings.k == case["k"]
    assert [flow.tree.n[step] for step in flow.pruning.steps] == [step["n"] for step in case["error_risk"]["log"]]


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_customers__no_impurity_asks_gender_first(criterion: str) -> None:
    sample = SAMPLES["customers"]
    table = sample.load()
    tree = Flow(table, sample.schema(table), Settings(k=3, criterion=criterion)).tree
    assert table.columns[tree.feature[0]] == "Age"
