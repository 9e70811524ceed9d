"""A table and its release as samples: what is knowledge of the population, and which figures follow."""

import numpy as np
import pandas as pd
import pytest

import anonymizer as an
from anonymizer.cells import parse_cell
from anonymizer.checking.persons import release_risk
from anonymizer.errors import AnonymizerError, ParameterError, SchemaError
from anonymizer.flow import Flow
from anonymizer.population.individual import individual_risk
from anonymizer.population.sample import Population, reach_of, riskiest, sample_risk, special_of
from anonymizer.schema import Kind, Role, Schema
from anonymizer.settings import Settings

TABLE = pd.DataFrame(
    {
        "age": [30, 30, 31, 40, 40, 40],
        "sex": ["f", "f", "f", "m", "m", "f"],
        "region": ["n", "n", "n", "s", "s", "s"],
        "weight": [10.0, 10.0, 20.0, 5.0, 5.0, 1.0],
        "home": [1, 1, 2, 3, 3, 3],
    }
)
PLAIN = Schema.of(TABLE[["age", "sex"]], quasi_identifying=["age", "sex"])
KEYS = [2, 2, 1, 2, 2, 1]


def schema_of(**roles: str) -> Schema:
    return Schema.of(TABLE, quasi_identifying=["age", "sex"], **roles)


def test_risk__without_any_knowledge_is_that_of_a_whole_population() -> None:
    risk = sample_risk(TABLE, schema_of())
    assert risk.f.tolist() == risk.population.tolist() == KEYS
    assert risk.risk.tolist() == [1 / f for f in KEYS]
    assert (risk.k_map, risk.alone, risk.uniques.best.uniques, risk.alone_there) == (1, 2, 2, 1.0)
    assert "whole population" in risk.source


def test_risk__by_weights_households_and_a_fraction() -> None:
    risk = sample_risk(TABLE, schema_of(weight="weight", household="home"))
    assert risk.population.tolist() == [20, 20, 20, 10, 10, 1]
    np.testing.assert_allclose(risk.risk, individual_risk(np.array(KEYS), risk.population))
    of_first = 1 - (1 - risk.risk[0]) * (1 - risk.risk[1])
    assert risk.household[0] == pytest.approx(of_first)
    assert risk.household[5] == 1  # who is alone of everybody is recognised, and the household with that person
    assert (risk.size, risk.k_map) == (51, None)
    twice = sample_risk(TABLE, schema_of(), Population(fraction=0.5))
    assert twice.population.tolist() == [2 * f for f in KEYS]
    assert twice.size == 12
    assert twice.journalist.highest == twice.risk.max() < 1


def test_risk__beside_a_table_of_the_population_is_counted() -> None:
    people = pd.DataFrame({"age": [30, 30, 30, 31, 40, 40, 40, 50], "sex": list("fffffmmm")})
    risk = sample_risk(TABLE, schema_of(), Population(table=people))
    assert risk.population.tolist() == [3, 3, 1, 2, 2, 1]
    assert (risk.k_map, risk.sure, risk.uniques, risk.exact) == (1, 2, None, True)
    assert risk.marketer == pytest.approx((1 / 3 + 1 / 3 + 1 + 1 / 2 + 1 / 2 + 1) / 6)
    counts = people.groupby(["age", "sex"]).size().reset_index(name="count")
    same = sample_risk(TABLE, schema_of(), Population(table=counts))
    assert same.to_dict() == risk.to_dict()


def test_risk__by_counts_of_a_region_draws_at_its_rate() -> None:
    people = pd.DataFrame({"region": ["n", "s", "w"], "count": [30, 6, 7]})
    reach = reach_of(TABLE, schema_of(stratum="region"), Population(table=people))
    assert reach.weights.tolist() == [10, 10, 10, 2, 2, 2]
    assert (reach.size, reach.exact) == (43, False)
    assert "region" in reach.source


@pytest.mark.parametrize(
    "people",
    [
        pd.DataFrame({"region": ["n", "s"], "count": [2, 6]}),  # fewer than in the table
        pd.DataFrame({"region": ["n", "s"]}),
        pd.DataFrame({"other": ["n"], "count": [100]}),
        pd.DataFrame({"age": [30], "sex": ["f"], "count": [1.5]}),
    ],
)
def test_population_tables__that_do_not_fit_are_refused(people: pd.DataFrame) -> None:
    with pytest.raises(ParameterError):
        sample_risk(TABLE, schema_of(), Population(table=people))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_weights__are_numbers_above_0(bad: float) -> None:
    table = TABLE.assign(weight=[1.0, bad, 1.0, 1.0, 1.0, 1.0])
    with pytest.raises(SchemaError, match="Row 2"):
        sample_risk(table, schema_of(weight="weight"))


def test_persons__with_several_rows_of_one_key_count_once() -> None:
    schema = schema_of(person="home")
    risk = sample_risk(TABLE, schema)
    assert risk.rows.tolist() == [0, 2, 3, 5]
    assert risk.f.tolist() == [1, 1, 1, 1]


def test_prosecutor__knows_a_persons_share_of_the_rows_as_the_report_does() -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"age": rng.integers(20, 26, 60), "sex": "f", "ill": ["a", "b"] * 30})
    table["who"] = pd.Series(rng.zipf(1.6, 60) % 9).astype(str)
    table.loc[[3, 17], "who"] = None
    schema = Schema.of(table, quasi_identifying=["age", "sex"], person="who", sensitive=["ill"])
    flow = Flow(table, schema, Settings(k=2))
    before = sample_risk(table, schema)
    assert before.prosecutor.highest == flow.report.before.highest > 1 / before.f.min()
    after = release_risk(flow.released, flow.look_alikes, flow.release.order, table, schema)
    assert after.prosecutor.highest == flow.report.after.highest


def test_missing__is_a_value_or_agrees_with_every_value() -> None:
    table = TABLE.assign(sex=["f", None, "f", "m", "m", "f"])
    assert sample_risk(table, schema_of()).f.tolist() == [1, 1, 1, 2, 2, 1]
    assert sample_risk(table, schema_of(), Population(wildcard=True)).f.tolist() == [2, 2, 1, 2, 2, 1]


def test_riskiest__are_those_whom_fewest_columns_single_out() -> None:
    risk, special = sample_risk(TABLE, PLAIN), special_of(TABLE, PLAIN)
    first, second, *others = riskiest(risk, special, PLAIN.quasi_identifying, 6)
    assert (first.row, first.columns) == (2, ("age",))
    assert (second.row, second.columns) == (5, ("age", "sex"))
    assert all(record.columns == () and record.score == 0 for record in others)
    assert len(riskiest(risk, special, PLAIN.quasi_identifying, 2, "risk")) == 2


@pytest.fixture(scope="module")
def flow() -> Flow:
    table = an.SAMPLES["hospital"].load().head(400)
    table = table.assign(home=np.arange(400) // 3, w=np.where(np.arange(400) % 2, 10.0, 30.0))
    schema = an.suggest(table).with_roles({"home": Role.HOUSEHOLD, "w": Role.WEIGHT})
    return Flow(table, schema, Settings(k=5), rng=np.random.default_rng(4))


def test_release__has_the_weights_of_its_look_alikes(flow: Flow) -> None:
    before = sample_risk(flow.table, flow.schema)
    after = release_risk(flow.released, flow.look_alikes, flow.release.order, flow.table, flow.schema)
    assert after.rows.tolist() == list(range(400))
    assert after.f.min() >= 5
    assert after.alone == 0
    assert after.risk.mean() < before.risk.mean()
    assert (after.household >= after.risk - 1e-12).all()
    class_of = np.empty(400, int)
    class_of[flow.release.order] = flow.look_alikes.class_of
    for row in (0, 17, 399):
        alike = class_of == class_of[row]
        assert after.f[row] == alike.sum()
        assert after.population[row] == pytest.approx(flow.table["w"][alike].sum())


def test_release__beside_a_table_of_the_population_counts_who_fits_its_boxes() -> None:
    rng = np.random.default_rng(8)
    people = pd.DataFrame({"age": rng.integers(20, 60, 300), "sex": rng.choice(["f", "m"], 300)})
    table = people.head(60).assign(what=rng.choice(["a", "b"], 60))
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["what"])
    flow = Flow(table, schema, Settings(k=4), rng=rng)
    knowledge = Population(table=people.assign(count=rng.integers(1, 4, 300)))
    after = release_risk(flow.released, flow.look_alikes, flow.release.order, table, schema, knowledge)
    counts = []
    for age, sex in zip(flow.released["age"], flow.released["sex"], strict=True):
        box, levels = parse_cell(age, Kind.NUMERIC), parse_cell(sex, Kind.CATEGORICAL)
        inside = [
            box.admits(str(person.age), float(person.age)) and levels.admits(person.sex)
            for person in people.itertuples()
        ]
        counts.append(knowledge.table["count"][inside].sum())
    assert after.population.tolist() == np.array(counts)[np.argsort(flow.release.order)].tolist()
    assert after.k_map == min(counts) > 4
    before = sample_risk(table, schema, knowledge)
    assert after.marketer < before.marketer


def test_figures__hold_no_record(flow: Flow) -> None:
    figures = sample_risk(flow.table, flow.schema, Population()).to_dict()
    assert all(not isinstance(value, list) or len(value) < 5 for value in figures.values())
    with pytest.raises(AnonymizerError):
        Population(fraction=2.0)
