"""Prices of repairs: the figures that taking the repair gives, over all repairs of several tables."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.checking.linkage import LookAlikes
from anonymizer.errors import AnonymizerError
from anonymizer.flow import Flow
from anonymizer.gate.finding import Gate, Severity, kind_of, together
from anonymizer.gate.price import figure_left, price_of
from anonymizer.gate.shared import shared_values
from anonymizer.reading.samples import hospital
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.gate.test_who import visits


def kept_by_mistake() -> Flow:
    table = hospital(300, 3)[["name", "age", "sex", "diagnosis"]]
    table = table.assign(pay=np.random.default_rng(0).integers(900, 9000, 300))
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["diagnosis", "pay"])
    return Flow(table, schema, Settings(k=5))


def of_persons() -> Flow:
    table = visits()
    turn = np.random.default_rng(1).integers(0, 5, len(table))
    table["patient"] = np.select([turn == 1, turn == 2], [table.patient.str.upper(), "unknown"], table.patient)
    schema = Schema.of(table, person="patient", quasi_identifying=["age", "sex", "town"], sensitive=["ill"])
    return Flow(table, schema, Settings(k=5, grouping="least"))


def of_few_values() -> Flow:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"age": rng.integers(20, 60, 400), "sex": rng.choice(["f", "m"], 400)})
    table["ill"] = np.where(table.age < 30, "flu", rng.choice(["no", "cold"], 400, p=[0.9, 0.1]))
    return Flow(table, Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["ill"]), Settings(k=8))


@pytest.mark.parametrize("make", [kept_by_mistake, of_persons, of_few_values])
def test_every_price__is_what_taking_the_repair_gives(make) -> None:
    flow = make()
    cards = [one for one in together(flow.gate.findings) if one.severity is not Severity.FINE]
    repairs = [(one, repair) for one in cards for repair in one.repairs if not repair.missing]
    assert repairs
    for one, repair in repairs:
        price = price_of(flow, one, repair)
        schema, settings = repair.apply(flow.schema, flow.settings)
        afresh = Flow(flow.table, schema, settings)
        assert price.figure == one.figure
        assert price.lost == flow.utility.gcp
        if price.problem:
            with pytest.raises(AnonymizerError):
                _ = afresh.judgement
            continue
        left = [card for card in together(afresh.gate.findings) if card.severity is not Severity.FINE]
        left = [card for card in left if kind_of(card.first) == kind_of(one.first)]
        left = [
            card.figure for card in left if not one.first.columns or set(card.first.columns) & set(one.first.columns)
        ]
        assert price.left == (left[0] if left else "")
        assert price.opens <= len(together(afresh.gate.open))
        assert price.loses == pytest.approx(afresh.utility.gcp, rel=1e-12)
        assert price.columns == len(schema.identifying) - len(flow.schema.identifying)


@pytest.mark.parametrize("make", [kept_by_mistake, of_persons, of_few_values])
def test_every_repair__can_be_taken_back(make) -> None:
    flow = make()
    for finding in flow.gate.findings:
        for repair in finding.repairs:
            if not repair.missing:
                back = repair.back(flow.schema, flow.settings)
                after = repair.apply(flow.schema, flow.settings)
                assert back.apply(*after) == (flow.schema, flow.settings)


def test_expected_seconds__are_those_of_what_is_not_shared() -> None:
    flow = kept_by_mistake()
    assert flow.expected(flow.but(k=7)) == 0
    flow.compute("judgement", "utility")
    assert flow.expected(flow.but(reasons={"a": "b"})) == 0
    other = flow.but(k=7)
    alone = flow.expected(other)
    assert alone > 0
    assert alone == sum(flow._stages[name][1].seconds for name in flow._stages if not other.ready(name))


def test_shared_values__are_those_of_a_loop() -> None:
    flow = of_few_values()
    released, column = flow.released, flow.table["ill"].iloc[flow.release.order]
    slow: dict[str, list[int]] = {}
    for _, rows in column.reset_index(drop=True).groupby([released["age"], released["sex"]], observed=True):
        if rows.nunique() == 1:
            counts = slow.setdefault(rows.iloc[0], [0, 0])
            counts[0] += len(rows)
            counts[1] += 1
    fast = shared_values(column, flow.look_alikes)
    assert {one.value: [one.rows, one.groups] for one in fast} == slow
    assert [one.is_usual for one in fast] == [one.value == "no" for one in fast]
    assert [one.usual for one in fast] == [float((flow.table["ill"] == one.value).mean()) for one in fast]


def test_missing__tells_little() -> None:
    flow = of_few_values()
    column = flow.table["ill"].iloc[flow.release.order].where(lambda values: values != "flu")
    fast = shared_values(column, flow.look_alikes)
    assert [one.value for one in fast if one.is_usual and one.value != "no"] == ["missing"]


def test_values_as_frequent_as_each_other__are_all_unusual() -> None:
    alike = LookAlikes(np.array([0, 0, 1, 1]), np.array([2, 2]))
    for values in (["yes", "yes", "no", "no"], ["no", "no", "yes", "yes"]):
        ways = shared_values(pd.Series(values), alike)
        assert [(one.value, one.rows, one.is_usual) for one in ways] == [("no", 2, False), ("yes", 2, False)]


def test_shared_values__of_the_most_frequent_value_are_in_order() -> None:
    flow = of_few_values()
    ill = next(one for one in flow.gate.findings if one.key == "one value: ill")
    flu = next(one for one in flow.shared["ill"] if one.value == "flu")
    assert ill.severity is Severity.LOOK
    assert ill.figure == f"{flu.rows:,} rows"
    table = flow.table.assign(ill=flow.table.ill.where(flow.table.ill != "flu", "no"))
    quiet = Flow(table, flow.schema, flow.settings).gate["one value: ill"]
    assert quiet.severity is Severity.FINE


def test_the_most_dangerous__comes_first_and_cards_are_counted() -> None:
    gate = kept_by_mistake().gate
    order = [tuple(Severity).index(one.severity) for one in gate.findings]
    assert order == sorted(order)
    assert kind_of(gate.findings[0]) == "identifying"
    assert gate.risks == len(together(gate.open))
    assert str(gate.risks) in gate.verdict
    assert figure_left(gate, together(gate.findings)[0]) == gate.findings[0].figure
    assert Gate(()).risks == 0
