"""Limits on people of a population: what nodes know of it, and what the checker finds in the release."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.cells import Cell, parse_cell
from anonymizer.checking.verify import verify
from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.flow import Flow
from anonymizer.groups.limits import as_k, people_of_nodes, risk_of_nodes
from anonymizer.groups.recipe import group
from anonymizer.growing.people import codes_of_people, with_people
from anonymizer.growing.records import descend
from anonymizer.population.individual import individual_risk
from anonymizer.population.sample import Population
from anonymizer.schema import Schema
from anonymizer.settings import Limits, Settings

RNG = np.random.default_rng(11)
N = 3_000
PEOPLE = pd.DataFrame(
    {
        "age": RNG.choice([*range(18, 60), np.nan], N),
        "sex": RNG.choice(["f", "m"], N),
        "job": RNG.choice(["clerk", "cook", "nurse", "smith", "judge"], N, p=[0.4, 0.3, 0.2, 0.08, 0.02]),
    }
)
TABLE = (
    PEOPLE.head(200)
    .query("job != 'judge' or age < 40")
    .reset_index(drop=True)
    .assign(weight=lambda t: RNG.choice([4.0, 20.0, 60.0], len(t)), ill=lambda t: RNG.choice(list("abc"), len(t)))
)
QUASI = ["age", "sex", "job"]
KNOWLEDGE = Population(table=PEOPLE)


def flow_of(population: Population = KNOWLEDGE, roles: dict[str, str] | None = None, **settings: object) -> Flow:
    table = TABLE if roles else TABLE.drop(columns="weight")
    schema = Schema.of(table, quasi_identifying=QUASI, sensitive=["ill"], **(roles or {}))
    settings = {"k": 2, "grouping": "least"} | settings
    return Flow(table, schema, Settings(**settings), population=population, rng=np.random.default_rng(5))


def test_people_of_nodes__are_those_in_the_hull() -> None:
    flow = flow_of(k_map=2)
    tree, leaf = with_people(flow.tree, flow.reached), descend(flow.tree, flow.encoded)
    assert tree.counted
    for t in range(tree.n_nodes):
        rows = TABLE[(leaf >= t) & (leaf < t + tree.size[t])]
        fits = (PEOPLE["age"] >= rows["age"].min()) & (PEOPLE["age"] <= rows["age"].max())
        fits |= PEOPLE["age"].isna() & bool(rows["age"].isna().any())
        for name in ("sex", "job"):
            fits &= PEOPLE[name].isin(rows[name].unique())
        assert people_of_nodes(tree)[t] == max(fits.sum(), len(rows))
    np.testing.assert_allclose(risk_of_nodes(tree), 1 / people_of_nodes(tree))


def test_weights_of_nodes__are_sums_and_those_of_a_person_count_once() -> None:
    flow = flow_of(Population(), {"weight": "weight"}, risk_max=0.5)
    tree, leaf = with_people(flow.tree, flow.reached), descend(flow.tree, flow.encoded)
    who = np.arange(len(TABLE)) // 3
    table = TABLE.assign(who=who)
    schema = Schema.of(table, quasi_identifying=QUASI, sensitive=["ill"], weight="weight", person="who")
    persons = Flow(table, schema, Settings(k=2, grouping="least", risk_max=0.5))
    of_persons, their = with_people(persons.tree, persons.reached), descend(persons.tree, persons.encoded)
    for t in range(tree.n_nodes):
        inside = (leaf >= t) & (leaf < t + tree.size[t])
        assert tree.people[t] == pytest.approx(TABLE["weight"][inside].sum())
    for t in range(of_persons.n_nodes):
        rows = table[(their >= t) & (their < t + of_persons.size[t])].drop_duplicates("who")
        assert of_persons.people[t] == pytest.approx(rows["weight"].sum())
        assert of_persons.persons.n[t] == len(rows)
    expected = individual_risk(tree.n.astype(float), tree.people)
    np.testing.assert_allclose(risk_of_nodes(tree), expected)


def test_codes_of_people__lie_between_and_beyond_those_of_the_table() -> None:
    flow = flow_of()
    age, _, job = flow.encoded.encodings
    first, last = age.low[0], age.low[-1]
    values = pd.Series([first, first - 1, last + 1, np.nan, (age.low[0] + age.low[1]) / 2])
    missing = len(age.labels) if age.missing else np.nan
    expected = [0, -0.5, len(age.labels) - 0.5, missing, 0.5]
    np.testing.assert_array_equal(codes_of_people(values, age, flow.schema), expected)
    codes = codes_of_people(pd.Series(["cook", "pilot", None]), job, flow.schema)
    assert codes[0] == list(job.labels).index("cook")
    assert np.isnan(codes[1:]).all()


CASES = [
    ({"k_map": 40}, KNOWLEDGE, None),
    ({"risk_max": 0.02}, KNOWLEDGE, None),
    ({"risk_mean": 0.02}, KNOWLEDGE, None),
    ({"risk_max": 0.03}, Population(), {"weight": "weight"}),
    ({"risk_max": 0.03}, Population(fraction=0.1), None),
    ({"k_map": 9}, Population(), None),
]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("generalizer", ["uniform", "refine", "pack"])
@pytest.mark.parametrize(("limits", "population", "roles"), CASES)
def test_limits__hold_in_the_release_and_the_checker_counts_again(
    limits: dict[str, float], population: Population, roles: dict[str, str] | None, generalizer: str
) -> None:
    free, flow = flow_of(population, roles), flow_of(population, roles, generalizer=generalizer, **limits)
    ((limit, required),) = limits.items()
    name = {"k_map": "k-map", "risk_max": "risk of a row", "risk_mean": "average risk"}[limit]
    check = flow.verification[name]
    assert (check.required, check.passed) == (required, True)
    assert flow.verification.passed
    theirs = free.but(generalizer=generalizer).released
    again = verify(
        theirs, free.schema, k=2, original=free.original, order=free.but(generalizer=generalizer).release.order,
        population=population, **limits,
    )  # fmt: skip
    assert again[name].passed is False
    assert len(flow.look_alikes.sizes) < len(free.but(generalizer=generalizer).look_alikes.sizes)


def fits_cell(cell: Cell, value: object) -> bool:
    if cell.withheld or pd.isna(value):
        return cell.withheld or cell.missing
    return value in cell.levels if cell.low is None else cell.low <= value <= cell.high


def test_k_map__of_a_release_is_that_of_its_cells() -> None:
    flow = flow_of(k_map=40, generalizer="uniform")
    fewest = N
    for _, row in flow.released[QUASI].drop_duplicates().iterrows():
        fits = np.ones(N, bool)
        for name in QUASI:
            cell = parse_cell(row[name], flow.schema[name].kind)
            fits &= [fits_cell(cell, value) for value in PEOPLE[name]]
        fewest = min(fewest, int(fits.sum()))
    assert flow.verification["k-map"].achieved == fewest


def test_another_population__grows_no_tree_and_no_limit_asks_for_none() -> None:
    flow = flow_of()
    flow.compute("tree", "release")
    other = flow.but(population=Population(fraction=0.5))
    assert other.ready("release")
    assert not other.ready("verification")
    limited = other.but(risk_max=0.1)
    assert limited.ready("tree")
    assert not limited.ready("pruning")
    assert "risk of a row" not in [check.name for check in flow_of(Population()).verification.checks]


def test_limits_on_risk__are_a_k_where_all_stand_for_as_many() -> None:
    encoded = flow_of(Population(fraction=0.1), risk_max=0.03).reached
    assert as_k(Limits(k=2), encoded) == Limits(k=2)
    k = as_k(Limits(k=2, risk_max=0.03), encoded).k
    sizes = np.array([k - 1.0, float(k)])
    before, at = individual_risk(sizes, 10 * sizes)
    assert at <= 0.03 < before
    weighted = flow_of(Population(), {"weight": "weight"}, risk_max=0.03).reached
    assert as_k(Limits(k=2, risk_max=0.03), weighted).risk_max == 0.03


def test_limits_that_cannot_be_kept__say_so() -> None:
    with pytest.raises(ParameterError, match="k-map counts people"):
        flow_of(Population(fraction=0.1), k_map=5).pruning  # noqa: B018
    with pytest.raises(GuaranteeError, match="k-map"):
        flow_of(k_map=N + 1).release  # noqa: B018


def test_a_release_alone__is_judged_as_far_as_it_tells() -> None:
    flow = flow_of(Population(), {"weight": "weight"}, risk_max=0.03)
    alone = verify(flow.released, flow.schema, k=2, risk_max=0.03)
    assert alone["risk of a row"].passed is None
    assert "not computed" in alone["risk of a row"].sentence
    counted = verify(flow.released, flow.schema, k=2, k_map=2, population=KNOWLEDGE)
    assert counted["k-map"].passed
    estimated = verify(flow_of().released, flow_of().schema, k=2, k_map=2, population=Population(fraction=0.1))
    assert estimated["k-map"].passed is False


def test_pruning__keeps_a_limit_in_every_group() -> None:
    flow = flow_of(k_map=40)
    pruning = group(flow.tree, flow.risk, flow.reached, "error-risk", flow.limits)
    assert pruning.satisfied
    assert (people_of_nodes(pruning.tree)[pruning.cut()] >= 40).all()
