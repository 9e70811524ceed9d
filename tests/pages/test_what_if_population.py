"""The table as a sample, on the What-if page: every figure is one of the package, and follows k."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.checking.persons import release_risk
from anonymizer.population.attackers import k_map_size
from anonymizer.population.individual import fewest_alike
from anonymizer.population.sample import Population, SampleRisk, riskiest, sample_risk, special_of
from anonymizer.reading.samples import SAMPLES
from anonymizer.schema import Role
from tests.pages.test_release import plain_text
from tests.pages.what_if import QUASI, SCHEMA, TABLE, open_view, press, session, slider
from tests.waiting import PATIENCE
from ui.controls import count, share
from ui.what_if.population import people_alone
from ui.what_if.state import WhatIfState
from ui.workspace import Workspace, sample_reading

VIEW = "As a sample"


def figures_of(app: object) -> pd.DataFrame:
    """The table of figures, by name."""
    (frame,) = (item.value for item in app.dataframe if "Original" in item.value)
    return frame.set_index("Figure")


def after_of(ws: Workspace, population: Population) -> SampleRisk:
    flow = ws.flow
    return release_risk(flow.released, flow.look_alikes, flow.release.order, TABLE, flow.schema, population)


def test_figures__are_those_of_the_package_and_follow_k() -> None:
    app = open_view(session(), VIEW)
    app = next(item for item in app.radio if item.label.startswith("How many")).set_value("one in").run()
    next(item for item in app.number_input if item.label == "One person in").set_value(50).run()
    population, risks = Population(fraction=1 / 50), []
    for k in (5, 40):
        slider(app).set_value(k).run()
        assert not app.exception
        ws = app.session_state["workspace"]
        before, after = sample_risk(TABLE, SCHEMA, population), after_of(ws, population)
        table = figures_of(app)
        for column, risk in (("Original", before), ("Release", after)):
            assert table.at["Average risk (marketer)", column] == share(risk.marketer)
            assert table.at["Highest risk of a row", column] == share(risk.risk.max())
            assert table.at["Unique rows", column] == count(risk.alone)
            assert table.at["Journalist, highest", column] == share(risk.journalist.highest)
            assert table.at["People alone in the population", column] == people_alone(risk)
        assert table.at["k of k-map", "Original"] == "not counted"
        assert share(after.marketer) in plain_text(app)
        assert f"{share(before.marketer)} to {share(before.alone / len(TABLE) * before.alone_there)}" in plain_text(app)
        assert before.uniques.best.model in plain_text(app)
        risks.append(after.marketer)
    assert risks[1] < risks[0]


def test_a_table_of_the_population__is_counted() -> None:
    ws = session()
    people = pd.concat([TABLE, TABLE.sample(frac=0.5, random_state=1)])[QUASI]
    state = ws.state(WhatIfState)
    state.extent, state.people, state.people_name = "file", people, "[people](https://example.org)"
    app = open_view(ws, VIEW)
    assert not app.exception
    population = Population(table=people)
    before, after = sample_risk(TABLE, SCHEMA, population), after_of(app.session_state["workspace"], population)
    table = figures_of(app)
    assert table.at["k of k-map", "Original"] == count(before.k_map)
    assert table.at["k of k-map", "Release"] == count(after.k_map)
    assert f"{count(before.sure)} of {count(before.alone)} unique rows" in plain_text(app)
    assert "(https://example.org)" not in "".join(item.value for item in app.caption).replace("\\", "?")


def test_limits_of_attackers__judge_the_release() -> None:
    app = open_view(session(k=10), VIEW)
    boxes = [item for item in app.number_input if item.label.startswith("Highest risk you accept")]
    assert [box.value for box in boxes] == [10, 10, 20]
    after = after_of(app.session_state["workspace"], Population())
    assert [item.value for item in app.metric if item.label.endswith("risk") and item.label[0] in "PJM"] == [
        share(after.prosecutor.highest), share(after.journalist.highest), share(after.marketer),
    ]  # fmt: skip
    assert sum("Within" in item.value for item in app.success) == 2 + (after.marketer <= 1 / 20)
    app = boxes[0].set_value(11).run()
    assert app.session_state["workspace"].settings.prosecutor_limit == 11
    part = share(float((after.f < 11).mean()))
    assert any(f"{part} of the rows are above your limit" in item.value for item in app.warning)


def test_k_of_a_sample__is_that_of_the_accepted_risk_and_can_be_used() -> None:
    ws = session(k=2)
    state = ws.state(WhatIfState)
    state.extent, state.one_in = "one in", 4
    app = open_view(ws, VIEW)
    by_risk, (by_map, _) = fewest_alike(1 / 10, 1 / 4), k_map_size(10, 2000, 8000, 0.05, truncated=True)
    text = plain_text(app).replace("**", "")
    assert f"k = {by_risk} keeps the risk of a row at one in 10" in text
    assert f"From k = {by_map} on" in text
    press(app, "Use k = ")
    assert app.session_state["workspace"].k == max(by_risk, by_map)
    assert not [item for item in app.button if item.label.startswith("Use k = ")]  # it would only lower k


@pytest.mark.parametrize("by", ["score", "risk"])
def test_the_riskiest_records__are_listed_when_asked_for(by: str) -> None:
    ws = session()
    ws.state(WhatIfState).riskiest_by = by
    app = open_view(ws, VIEW)
    assert not [item for item in app.dataframe if "Alone by" in item.value]
    press(app, "Look for them")
    ws.jobs["special uniques"].done.wait(PATIENCE)
    app.run()
    (listed,) = (item.value for item in app.dataframe if "Alone by" in item.value)
    expected = riskiest(sample_risk(TABLE, SCHEMA), special_of(TABLE, SCHEMA), QUASI, len(listed), by)
    assert listed["Row"].tolist() == [record.row + 1 for record in expected]
    assert listed["Alone by"].tolist() == [", ".join(record.columns) for record in expected]
    assert listed["age"].tolist() == TABLE["age"].iloc[[record.row for record in expected]].tolist()


def test_weights_and_households__take_the_place_of_the_question() -> None:
    table = SAMPLES["hospital"].load().assign(w=np.arange(2000) % 7 + 1.0, home=np.arange(2000) // 2)
    ws = Workspace(reading=sample_reading("hospital", table))
    ws.schema = ws.suggest().with_roles({"w": Role.WEIGHT, "home": Role.HOUSEHOLD})
    ws.set(generalizer="uniform")
    app = open_view(ws, VIEW)
    assert not app.exception
    assert "sampling weights" in plain_text(app)
    before = sample_risk(table, ws.schema)
    assert figures_of(app).at["Average risk of a household", "Original"] == share(before.household.mean())


def test_limits_on_people__steer_the_release_and_follow_what_is_said_of_the_population() -> None:
    ws = session(k=2, grouping="least")
    ws.state(WhatIfState).extent, ws.state(WhatIfState).one_in = "one in", 50
    app = open_view(ws, VIEW)
    next(item for item in app.toggle if item.label == "Other limits").set_value(True).run()
    assert "one person in 50 is in the table" in plain_text(app)
    assert not [item for item in app.number_input if item.label == "k-map: people of the population"]
    next(item for item in app.number_input if item.label == "Risk of a row").set_value(0.01).run()
    assert not app.exception
    ws = app.session_state["workspace"]
    check = ws.flow.verification["risk of a row"]
    assert (ws.settings.risk_max, check.required, check.passed) == (0.01, 0.01, True)
    assert figures_of(app).at["Highest risk of a row", "Release"] == share(check.achieved)
