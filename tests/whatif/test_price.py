"""Prices of repairs: what taking the repair gives, to the digit, over all repairs of several tables; losses and columns
are those of the released files."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from anonymizer.checking.linkage import LookAlikes
from anonymizer.errors import AnonymizerError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier
from anonymizer.gate.finding import Gate, Several, Severity, kind_of, together
from anonymizer.gate.shared import shared_values
from anonymizer.reading.files import Reading, read_table
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.whatif.price import figure_left, of_reading, price_of
from tests.gate.test_who import visits
from tests.test_pipeline_figures import loss
from ui.gate.view import cost_text, effect_text


def kept_by_mistake() -> Flow:
    table = hospital(200, 3)[["name", "age", "sex", "diagnosis"]]
    table = table.assign(pay=np.random.default_rng(0).integers(900, 9000, 200))
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


def of_all_kinds() -> Flow:
    """Most columns are kept, some rows are left out, and nearly every kind of repair is offered; no rerun is tried."""
    table = hospital(100, 4)
    schema = Schema.of(table, quasi_identifying=["age", "sex"], identifying=["name"], sensitive=["diagnosis"])
    return Flow(table, schema, Settings(k=4, suppression=0.05, grouping="median-mondrian"))


def of_numbered_people() -> Flow:
    """Visits whose patients are left out: counting them opens another risk."""
    schema = Schema.of(visits(), identifying=["patient"], quasi_identifying=["age", "sex", "town"], sensitive=["ill"])
    return Flow(visits(), schema, Settings(k=5, grouping="least"))


def beside_an_earlier_release() -> Flow:
    """A second release of the same table: its groups part those of the first."""
    table = hospital(300, 6)[["age", "sex", "diagnosis"]]
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    first = Flow(table, schema, Settings(k=4, grouping="least"))
    return Flow(table, schema, Settings(k=5)).but(earlier=[Earlier(first.class_of, 4)])


def codes() -> bytes:
    """A file in which codes for missing values stand among numbers of two columns, and as a text of a third."""
    rng = np.random.default_rng(7)
    table = pd.DataFrame({"age": rng.integers(20, 60, 300), "children": rng.integers(0, 5, 300)})
    table.loc[rng.choice(300, 9, replace=False), "age"] = 999
    table["pay"] = rng.integers(900, 4000, 300)
    table.loc[rng.choice(300, 20, replace=False), "pay"] = -8
    table["ward"] = rng.choice(["1", "2", "-8", "b"], 300)
    table["ill"] = rng.choice(["no", "cold", "flu"], 300)
    return table.to_csv(index=False).encode()


def of_codes() -> Flow:
    reading = read_table(codes(), name="codes.csv")
    schema = Schema.of(reading.frame, quasi_identifying=["age", "children", "ward"], sensitive=["ill", "pay"])
    return Flow(reading.frame, schema, Settings(k=5), reading=reading)


FLOWS = [
    kept_by_mistake,
    of_persons,
    of_few_values,
    of_all_kinds,
    of_numbered_people,
    beside_an_earlier_release,
    of_codes,
]


def read_again(flow: Flow, texts: tuple[str, ...]) -> Flow:
    """The flow of the file with these texts as missing, from its bytes."""
    assert flow.reading is not None
    return of_reading(flow, read_with(flow, texts), suggest(flow.table))


def read_with(flow: Flow, texts: tuple[str, ...]) -> Reading:
    assert flow.reading is not None
    return read_table(codes(), name="codes.csv", options=replace(flow.reading.options, missing=("", *texts)))


def text_of_file(flow: Flow) -> tuple[float, int]:
    """The detail lost (%), and the columns, of the released CSV file; whoever is left out lost all detail."""
    released = pd.read_csv(BytesIO(flow.release.to_bytes("csv")), dtype=str, keep_default_na=False, na_values=[""])
    losses = []
    for name in flow.schema.quasi_identifying:
        values, kind = flow.table[name], flow.schema[name].kind
        lost = sum(loss(cell, values, kind) * n for cell, n in released[name].value_counts(dropna=False).items())
        losses.append((lost + len(flow.table) - len(released)) / len(flow.table))
    return 100 * float(np.mean(losses)), len(released.columns)


def open_risks(flow: Flow) -> Counter[str]:
    """How many cards keep a release from leaving, by what they are; several columns of one kind are one card."""
    cards = {one.sentence: kind_of(one.first) for one in together(flow.gate.findings) if one.first.is_open}
    return Counter(cards.values())


def badges(before: Flow, after: Flow, files: Sequence[tuple[float, int]], one: Several) -> str:
    """The price of a repair as the page says it, from both releases alone. ``files``: what their files say."""
    own = {kind_of(finding) for finding in one.findings}
    there = [card for card in together(after.gate.findings) if card.severity is not Severity.FINE]
    left = [
        card.figure
        for card in there
        if kind_of(card.first) in own and (not one.first.columns or set(card.first.columns) & set(one.first.columns))
    ]
    figure = left[0] if left else "in order"
    (lost, columns), (loses, others) = files
    opened = sum(number for kind, number in (open_risks(after) - open_risks(before)).items() if kind not in own)
    points = round(loses - lost, 1)
    return " ".join(
        [f"[{one.figure} → {figure}]"]
        + [f"[{columns - others} column{'s' * (columns - others > 1)} less]"] * (columns > others)
        + [f"[{'+' if points > 0 else '−'}{abs(points):.1f} points of detail lost]"] * (points != 0)
        + ["[no detail lost]"] * (points == 0 and columns <= others)
        + [f"[opens {opened} other risk{'s' * (opened > 1)}]"] * (opened > 0)
    )


@pytest.mark.parametrize("make", FLOWS)
def test_every_price__is_what_taking_the_repair_gives(make) -> None:
    flow = make()
    cards = [one for one in together(flow.gate.findings) if one.severity is not Severity.FINE]
    repairs = [(one, repair) for one in cards for repair in one.repairs if not repair.missing or flow.reading]
    file = text_of_file(flow)
    assert repairs
    for one, repair in repairs:
        price = price_of(flow, one, repair, again=partial(read_again, flow))
        text = re.sub(r"\\|:\w+-badge", "", f"{effect_text(price)} {cost_text(price)}").strip()
        schema, settings = repair.apply(flow.schema, flow.settings)
        table = read_with(flow, repair.missing).frame if repair.missing else flow.table
        afresh = Flow(table, schema, settings, earlier=flow.earlier, keep=bool(repair.keep))
        if price.problem:
            with pytest.raises(AnonymizerError):
                _ = afresh.judgement
            assert text == "[no release can be made]"
            continue
        files = file, text_of_file(afresh)
        assert text == badges(flow, afresh, files, one)
        assert (price.lost, price.loses) == pytest.approx([lost / 100 for lost, _ in files], rel=1e-12)
        if repair.keep:
            cells = pd.DataFrame({"first": flow.earlier[0].class_of, "second": afresh.class_of}).value_counts()
            assert (price.left, cells.min() >= 4) == ("", True)
    assert any(repair.missing for _, repair in repairs) is (make is of_codes)
    if make is of_numbered_people:
        assert any(price_of(flow, one, repair).opens for one, repair in repairs)


@pytest.mark.parametrize("make", FLOWS)
def test_every_repair__can_be_taken_back(make) -> None:
    flow = make()
    for finding in flow.gate.findings:
        for repair in finding.repairs:
            if not repair.missing:
                back = repair.back(flow.schema, flow.settings)
                after = repair.apply(flow.schema, flow.settings)
                assert back.apply(*after) == (flow.schema, flow.settings)
                assert (repair.keep, back.keep) in ((None, None), (True, False))


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
