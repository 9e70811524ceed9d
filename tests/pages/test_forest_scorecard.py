"""The Forest page without a browser: scorecards, and what the mode that takes the better model says of it."""

import base64
import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.forest.forest import Forest, predict_records
from anonymizer.forest.rules import rules_of
from tests.pages.forest import COLUMNS, TABLE, figures, grow, open_page, plain_text, session
from tests.pages.test_data import session_of
from ui.forest.state import ForestState


def grow_scorecard() -> tuple[AppTest, Forest]:
    app = open_page(session())
    app.selectbox(key="forest mode").set_value("scorecard").run()
    grow(app)
    assert not app.exception
    return app, session_of(app).state(ForestState).grown.forest


def test_scorecard__its_figures_rules_and_ledger_are_those_of_its_points() -> None:
    app, forest = grow_scorecard()
    card, domains = forest.model, forest.domains
    assert app.slider(key="forest depth").disabled
    assert "may be published" in plain_text(app)
    assert "a scorecard of 4 columns" in plain_text(app)
    rules = 1 + sum(attribute.n_levels for attribute in domains.attributes)
    assert figures(app) == {"Spent": "1", "Budget β": "1", "Rules and subrules": f"{rules}", "Accuracy": "–"}
    app.segmented_control(key="forest panel").set_value("Rules").run()
    table = app.dataframe[-1].value
    labels = [domains.target.text(code) for code in range(domains.target.n_levels)]
    supports = np.vstack([card.totals, *card.counts]).sum(axis=1)
    points = np.vstack([card.base, *card.points])[supports >= 0]
    np.testing.assert_allclose(table[[f"Points for {label}" for label in labels]].to_numpy(), points)
    assert table["Support"].tolist() == [round(float(support)) for support in supports if support >= 0]
    app.segmented_control(key="forest panel").set_value("Budget").run()
    queries = next(frame.value for frame in app.dataframe if "Query" in frame.value.columns)
    assert queries["ε of each"].tolist() == pytest.approx([1 / 8] * 8)
    assert set(queries["Part"]) == set(COLUMNS)


def test_scorecard__files_hold_every_rule_whatever_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    import ui.forest.view as view

    app, forest = grow_scorecard()
    lengths: list[int] = []
    monkeypatch.setattr(view, "rules_json", lambda _, rules: str(lengths.append(len(rules))))
    app.segmented_control(key="forest panel").set_value("Rules").run()
    lengths.clear()
    app.number_input(key="rule support").set_value(1e9).run()
    assert not app.exception
    assert len(app.dataframe[-1].value) == 0
    assert lengths == [len(rules_of(forest))]


def test_scorecard__has_a_chart_a_column_with_the_points_of_the_class_that_is_picked() -> None:
    app, forest = grow_scorecard()
    card, domains = forest.model, forest.domains
    app.segmented_control(key="forest panel").set_value("Picture").run()
    for code in (domains.target.n_levels - 1, 0):
        app.selectbox(key="forest points for").set_value(domains.target.text(code)).run()
        assert not app.exception
        assert f"begins with {card.base[code]:+.2f} points" in plain_text(app)
        widths = [float(np.ptp(points[:, code])) for points in card.points]
        order = sorted(range(len(widths)), key=lambda column: -widths[column])
        charts = {chart.proto.id.split("-")[-1]: json.loads(chart.proto.spec) for chart in app.get("plotly_chart")}
        assert set(charts) == {f"forest points {column}" for column in order}
        for column in order:
            chart = charts[f"forest points {column}"]
            assert numbers(chart["data"][0]["x"]) == pytest.approx(card.points[column][:, code].tolist())
            assert chart["layout"]["title"]["text"].startswith(domains.attributes[column].name)
    app.slider(key="forest charts 4").set_value(2).run()
    on_page = {chart.proto.id.split("-")[-1] for chart in app.get("plotly_chart")}
    assert on_page == {f"forest points {column}" for column in order[:2]}


def numbers(values: list[float] | dict[str, str]) -> list[float]:
    """The numbers of a chart, which may come packed."""
    if isinstance(values, list):
        return values
    return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"]).tolist()


def test_scorecard__predicts_pasted_records() -> None:
    app, forest = grow_scorecard()
    app.segmented_control(key="forest panel").set_value("Predict").run()
    rows = TABLE[COLUMNS].dropna().iloc[:3]
    app.text_area(key="forest pasted").set_value(rows.to_csv(index=False)).run()
    assert not app.exception
    answer = next(frame.value for frame in app.dataframe if "predicted diagnosis" in frame.value.columns)
    expected = predict_records(forest, rows)
    assert answer["predicted diagnosis"].tolist() == expected["class"].tolist()
    assert answer["confidence"].tolist() == pytest.approx(expected["confidence"].tolist())
