"""The Forest page without a browser: empty, its choices, its budget, its results."""

import json
import threading

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.errors import CancelledError
from anonymizer.forest.audit import Finding
from anonymizer.forest.domains import domains_of, read_domains
from anonymizer.forest.forest import grow_forest, rehearsed_accuracy
from anonymizer.forest.mechanisms import RehearsalNoise, SecureNoise
from anonymizer.forest.rehearsal import RIVALS
from anonymizer.reading.files import ReadOptions
from anonymizer.reading.profile import suggest
from anonymizer.schema import Schema
from tests.pages.forest import COLUMNS, SCHEMA, TABLE, bring_codebook, figures, grow, open_page, plain_text, session
from tests.pages.test_data import session_of, texts
from tests.waiting import PATIENCE
from ui.controls import share
from ui.forest import view
from ui.forest.choices import Order, schema_as_declared
from ui.forest.state import Codebook, ForestState
from ui.forest.view import sample_table
from ui.workspace import Workspace, sample_reading


def codebook_of(ws: Workspace) -> str:
    return ws.state(ForestState).codebook.text


def test_empty__leads_to_the_data() -> None:
    app = open_page()
    assert not app.exception
    assert "There is no table yet" in plain_text(app)


def test_public_values__strict__spends_exactly_the_budget() -> None:
    app = open_page(session())
    assert not app.exception
    assert "All values are public" in plain_text(app)
    grow(app)
    assert not app.exception
    assert "may be published" in plain_text(app)
    assert figures(app)["Spent"] == "1"
    assert figures(app)["Accuracy"] == "–"
    ws = session_of(app)
    assert ws.spent == {ws.reading.sha256: 1.0, ws.content: 1.0}
    app.segmented_control(key="forest panel").set_value("Rules").run()
    assert {item.proto.label for item in app.get("download_button")} >= {"Rules (CSV)", "Rules (JSON)", "Rules (text)"}


def test_session_budget__repeated_runs_add_up_until_it_refuses() -> None:
    app = open_page(session())
    for spent in (1.0, 2.0, 3.0):
        grow(app)
        assert set(session_of(app).spent.values()) == {spent}
    assert app.button(key="begin forest").disabled
    assert "That would make 4" in plain_text(app)
    app.select_slider(key="forest epsilon").set_value(0.1).run()
    assert app.button(key="begin forest").disabled
    app.number_input(key="forest limit").set_value(5.0).run()
    assert not app.button(key="begin forest").disabled


def test_session_budget__outlives_the_table() -> None:
    ws = session()
    ws.spent["abc"] = 1.5
    ws.forget()
    assert ws.table is None
    assert ws.spent == {"abc": 1.5}


def test_values_from_the_records__only_after_a_warning_which_stays() -> None:
    app = open_page(session(public=False))
    assert "come from the rows" in plain_text(app)
    assert "begin forest" not in {button.key for button in app.button}
    next(box for box in app.checkbox if "publicly known" in box.label).check().run()
    grow(app)
    assert not app.exception
    assert "may be published" not in plain_text(app)
    assert any("Read from the table" in error.value for error in app.error)


def test_suggested_order_of_levels__is_not_taken_for_a_public_domain() -> None:
    table = pd.DataFrame({"pain": ["low", "medium", "high"] * 30, "t": ["u", "v", "v"] * 30})
    suggested = suggest(table)
    assert suggested["pain"].domain == ("low", "medium", "high")
    ws = Workspace(reading=sample_reading("pain", table), schema=suggested)
    bring_codebook(ws, json.dumps({"t": ["u", "v"]}))
    assert schema_as_declared(ws)["pain"].domain is None
    ws.set_schema(suggested.with_column("pain", domain=("none", "low", "medium", "high")))
    assert schema_as_declared(ws)["pain"].domain == ("none", "low", "medium", "high")


def test_paper__says_that_it_is_not_private_where_chosen_and_where_shown() -> None:
    app = open_page(session())
    app.selectbox(key="forest mode").set_value("paper").run()
    assert sum("NOT differentially private" in error.value for error in app.error) == 1
    grow(app)
    assert sum("NOT differentially private" in error.value for error in app.error) == 2
    assert "may be published" not in plain_text(app)


def test_accuracy__measured_on_held_out_records_costs_nothing_more() -> None:
    app = open_page(session())
    app.toggle(key="forest measure").set_value(True).run()
    grow(app)
    assert not app.exception
    assert "%" in figures(app)["Accuracy, held out"]
    assert set(session_of(app).spent.values()) == {1.0}


def test_cut_points__bought_with_a_tenth_of_the_budget() -> None:
    ws = session()
    codebook = json.loads(codebook_of(ws))
    ws.state(ForestState).codebook = Codebook(
        json.dumps(codebook | {"age": {"low": 0, "high": 110, "missing": True}}), "codebook.json"
    )
    app = open_page(ws)
    app.toggle(key="forest cuts").set_value(True).run()
    grow(app)
    assert not app.exception
    app.segmented_control(key="forest panel").set_value("Budget").run()
    queries = next(frame.value for frame in app.dataframe if "Query" in frame.value.columns)
    assert queries.set_index("Query").loc["find cut points of age", "ε of each"] == pytest.approx(0.1)
    assert figures(app)["Spent"] == "1"


def test_predict__pasted_records_and_their_faults() -> None:
    app = open_page(session())
    grow(app)
    app.segmented_control(key="forest panel").set_value("Predict").run()
    row = TABLE[COLUMNS].dropna().iloc[:2]
    app.text_area(key="forest pasted").set_value(row.to_csv(index=False)).run()
    assert not app.exception
    predicted = [frame.value for frame in app.dataframe if "predicted diagnosis" in frame.value.columns]
    assert len(predicted[0]) == 2
    app.text_area(key="forest pasted").set_value("age,sex\n30,M\n").run()
    assert any("lack the column" in error.value for error in app.error)


def test_rehearsal__on_a_made_up_sample() -> None:
    app = finish(open_page(session()), "forest rehearsal")
    assert "A rehearsal on" in plain_text(app)
    assert session_of(app).spent == {}


def finish(app: AppTest, job: str) -> AppTest:
    """Begin work in the background, wait until it is done, and draw the page."""
    app.button(key=f"begin {job}").click().run()
    assert session_of(app).jobs[job].done.wait(PATIENCE)
    app.run()
    assert not app.exception
    return app


def test_rivals__their_ledgers_are_those_of_forests_grown_now() -> None:
    app = finish(open_page(session()), "forest rivals")
    (rows,) = [item.value for item in app.dataframe if "Trees τ" in item.value.columns]
    order = session_of(app).state(ForestState)
    table = sample_table()
    for row, (mode, n_trees) in zip(rows.to_dict("records"), RIVALS, strict=True):
        noise = RehearsalNoise(np.random.default_rng(0))
        how = {"mode": mode, "n_trees": n_trees, "max_depth": order.depth}
        ledger = grow_forest(table, order.epsilon, noise=noise, **how).ledger
        steps = [step[3] for step in ledger.dearest]
        assert row["Questions on a path"] == len(steps)
        assert (row["ε of the cheapest"], row["ε of the dearest"]) == (round(min(steps), 4), round(max(steps), 4))
        assert row["Accuracy"] == share(rehearsed_accuracy(table, order.epsilon, folds=3, **how).mean())
        assert row["Private"] == ("no" if mode == "paper" else "yes")
        if mode == "paper":  # F15, Table 1
            assert row["ε of the dearest"] == round(order.epsilon / (n_trees * (2 * order.depth - 1)), 4)
        if mode.startswith("diffpid3"):
            assert row["ε of the dearest"] == pytest.approx(order.epsilon / (2 * order.depth), abs=1e-4)
    assert session_of(app).spent == {}


def test_audit__says_what_it_found_and_ends_when_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    import ui.forest.papers as view

    app = open_page(session())
    for bound, says in ((2.5, "Refuted"), (0.25, "Not refuted"), (-0.1, "shows no loss")):
        finding = Finding("strict", 1.0, "one-and-two", 8, 1, bound, (7, 90), 200, 0.99, False)
        monkeypatch.setattr(view, "audit", lambda *_, finding=finding, **__: finding)
        session_of(app).jobs.pop("forest audit", None)
        app = finish(app.run(), "forest audit")
        words = "\n".join(one.value for kind in (app.error, app.success, app.info) for one in kind)
        assert says in words
        assert "7 and 90 times in 200" in words
    monkeypatch.undo()
    session_of(app).jobs.pop("forest audit")
    app.run()
    app.selectbox(key="audit runs").select(50_000).run()
    app.button(key="begin forest audit").click().run()
    job = session_of(app).jobs["forest audit"]
    app.button(key="cancel forest audit").click().run()
    assert job.done.wait(PATIENCE)
    assert isinstance(job.failure, CancelledError)


@pytest.mark.parametrize("text", ["[1, 2]", "no json"])
def test_codebook__nonsense_is_one_message(text: str) -> None:
    ws = session()
    bring_codebook(ws, text)
    app = open_page(ws)
    assert not app.exception
    assert len(app.error) == 1


def test_texts_of_the_table_are_shown_as_text() -> None:
    table = pd.DataFrame({"[x](y)": ["<b>a</b>", "**c**"] * 30, "t": ["$u$", ":red[v]"] * 30})
    ws = Workspace(
        reading=sample_reading("odd", table), schema=Schema.of(table, quasi_identifying=["[x](y)"], sensitive=["t"])
    )
    ws.state(ForestState).codebook = Codebook(
        json.dumps({"[x](y)": ["<b>a</b>", "**c**"], "t": ["$u$", ":red[v]"]}), "codebook.json"
    )
    app = open_page(ws)
    grow(app)
    assert not app.exception
    assert "[x](y)" not in texts(app)


def test_spent_budget__gives_its_forest_even_when_the_page_is_touched_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ws = session()
    domains = domains_of(TABLE, "diagnosis", read_domains(codebook_of(ws)), columns=COLUMNS, schema=SCHEMA)
    monkeypatch.setattr(view, "AT_ONCE", 0.0)
    view.grow(ws, Order("strict", 0.5, 1, 3, domains), measure=False, buy=False)
    assert ws.spent == {ws.reading.sha256: 0.5, ws.content: 0.5}
    assert ws.jobs["forest"].done.wait(PATIENCE)
    app = open_page(ws)
    assert not app.exception
    assert "forest" not in ws.jobs
    assert view.newest_forest(ws).forest.epsilon == 0.5


def test_codebook__that_equals_what_occurs_is_asked_about_and_may_be_read_from_the_table() -> None:
    table = pd.DataFrame({"pain": ["low", "high"] * 30, "t": ["u", "v", "v"] * 20})
    ws = Workspace(
        reading=sample_reading("pain", table), schema=Schema.of(table, quasi_identifying=["pain"], sensitive=["t"])
    )
    bring_codebook(ws, json.dumps({"pain": ["high", "low"], "t": ["u", "v", "w"]}))
    app = open_page(ws)
    box_label = "They were read from the table"
    assert "pain" in next(item.value for item in app.warning if "exactly" in item.value)
    assert "begin forest" in {button.key for button in app.button}
    next(box for box in app.checkbox if box.label == box_label).check().run()
    assert not app.exception
    assert "Values of 1 column come from the rows" in plain_text(app)
    assert "begin forest" not in {button.key for button in app.button}
    bring_codebook(ws, json.dumps({"pain": ["high", "low", "none"], "t": ["u", "v", "w"]}))
    app = open_page(ws)
    assert box_label not in {box.label for box in app.checkbox}


def test_codebook__can_be_taken_away_again() -> None:
    ws = session()
    ws.state(ForestState).codebook.name = "*mine*.json"
    app = open_page(ws)
    assert "In use: ***mine*.json**" in plain_text(app)
    assert "All values are public" in plain_text(app)
    app.button(key="remove codebook").click().run()
    assert not app.exception
    assert "come from the rows" in plain_text(app)
    assert "In use" not in plain_text(app)


def test_choices__outlive_another_view_and_another_page() -> None:
    app = open_page(session(public=False))
    app.checkbox[0].check().run()
    grow(app)
    app.segmented_control(key="forest panel").set_value("Rules").run()
    app.slider(key="rule confidence").set_value(0.6).run()
    app.selectbox(key="rule column").set_value("age").run()
    rules = len(app.dataframe[-1].value)
    for panel in ("Predict", "Picture", "Rules"):
        app.button_group(key="forest panel").set_value(panel).run()
        if panel == "Predict":
            app.text_area(key="forest pasted").set_value("age\n50\n").run()
        if panel == "Picture":
            app.slider(key="forest drawn").set_value(6).run()
    assert (app.slider(key="rule confidence").value, app.selectbox(key="rule column").value) == (0.6, "age")
    assert len(app.dataframe[-1].value) == rules
    app.button_group(key="forest panel").set_value("Predict").run()
    assert app.text_area(key="forest pasted").value == "age\n50\n"
    app.button_group(key="forest panel").set_value("Picture").run()
    assert app.slider(key="forest drawn").value == 6
    app.switch_page("../pages/data.py").run()
    app.switch_page("../pages/forest.py").run()
    assert app.checkbox[0].value
    assert not app.exception


def test_budget__is_that_of_the_content_whatever_the_file() -> None:
    """One more empty line, another order of rows or columns, another format: the same people, the same budget."""
    table = pd.DataFrame({"age": [30, 41, 52, 30], "ill": ["no", "yes", None, "no"], "paid": [1.0, 2.5, np.nan, 3.0]})
    files = {
        "a.csv": table.to_csv(index=False).encode(), "b.csv": table.to_csv(index=False).encode() + b"\n",
        "c.tsv": table.iloc[::-1][["paid", "age", "ill"]].to_csv(index=False, sep="\t").encode(),
    }  # fmt: skip
    ws, contents = Workspace(), []
    for name, data in files.items():
        assert ws.bring(data, name)
        contents.append(ws.content)
        assert ws.spent_here == (1.5 if len(contents) > 1 else 0.0)
        ws.spend(0.0, at_least=1.5)
    assert len(set(contents)) == 1
    assert ws.read_again(ReadOptions(missing=("no",)))
    assert ws.content not in contents
    assert ws.spent_here == 1.5
    assert ws.bring(table.assign(age=table["age"] + 1).to_csv(index=False).encode(), "d.csv")
    assert ws.content not in contents


def test_growing__shows_how_far_it_is_and_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was spent stays spent: questions that were asked cannot be taken back."""
    begun, go_on = threading.Event(), threading.Event()
    laplace = SecureNoise.discrete_laplace

    def slowly(noise: SecureNoise, counts: np.ndarray, epsilon: float) -> np.ndarray:
        begun.set()
        go_on.wait(PATIENCE)
        return laplace(noise, counts, epsilon)

    monkeypatch.setattr(SecureNoise, "discrete_laplace", slowly)
    app = open_page(session())
    app.button(key="begin forest").click().run()
    assert begun.wait(PATIENCE)
    ws = session_of(app)
    assert app.button(key="begin forest").disabled
    job = ws.jobs["forest"]
    assert job.what == "Growing tree 1 of 1"
    app.button(key="cancel forest").click().run()
    go_on.set()
    assert job.done.wait(PATIENCE)
    app.run()
    assert not app.exception
    assert any("Growing was stopped" in error.value and "stays spent" in error.value for error in app.error)
    assert ws.spent_here == 1.0
    assert ws.state(ForestState).grown is None
    grow(app)
    assert ws.spent_here == 2.0
    assert "may be published" in plain_text(app)
