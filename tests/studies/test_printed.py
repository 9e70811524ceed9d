"""The experiment tables of the papers: their lines, and what stands beside them."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.measuring.measures import MEASURES, ORIGINAL
from anonymizer.schema import Schema
from anonymizer.studies.experiment import evaluate
from anonymizer.studies.printed import TABLES, beside_print, run_printed


def flow_of(target: str, n: int = 200) -> Flow:
    """A small table with an age, a job, an illness and an income, one of which is sensitive."""
    rng = np.random.default_rng(3)
    age, job = rng.integers(18, 80, n), rng.choice(list("abc"), n)
    illness = np.where(rng.random(n) < age / 90, "x", "y")
    table = pd.DataFrame({"age": age, "job": job, "illness": illness, "income": 100 + 3 * age + rng.normal(0, 9, n)})
    table = table[["age", "job", target]]
    return Flow(table, Schema.of(table, quasi_identifying=["age", "job"], sensitive=[target]))


@pytest.mark.parametrize("name", TABLES)
def test_tables__every_line_has_a_known_method_and_all_figures(name: str) -> None:
    table = TABLES[name]
    assert set(table.measures) <= set(MEASURES)
    for _, method, k, figures in table.lines:
        assert method in (*table.methods, ORIGINAL)
        assert (k == 1) == (method == ORIGINAL)
        assert len(figures) == len(table.measures)
        assert all(0 < figure < 1 for figure in figures if not np.isnan(figure))
    assert len({line[:3] for line in table.lines}) == len(table.lines)


def test_tables__a_few_cells_as_they_are_in_print() -> None:
    lines = {name: {line[:3]: line[3] for line in table.lines} for name, table in TABLES.items()}
    assert lines["Y19-2"]["Adult", "Proposed method", 20] == (0.3696, 0.1708)
    assert lines["Y19-2"]["Contra", "Mondrian", 30] == (0.5771, 0.6028)
    assert lines["L09-4"]["Alcohol", "MART", 40] == (0.9392, 0.1033)
    assert lines["L14-5"]["Census", "MART", 30] == (0.8234, 0.8192, 0.8236)
    assert [len(lines[name]) for name in TABLES] == [20, 8, 3]


@pytest.mark.parametrize(("name", "target"), [("Y19-2", "illness"), ("L14-5", "income")])
def test_beside_print__has_the_figures_of_an_evaluation_of_its_own(name: str, target: str) -> None:
    table, flow = TABLES[name], flow_of(target)
    figures = beside_print(table, run_printed(flow, table, folds=2))
    method = list(table.methods)[-1]
    grouping, generalizer = table.methods[method]
    outcomes = evaluate(flow.but(**table.settings), folds=2, ks=[30], groupings=[grouping], generalizers=[generalizer])
    for measure in table.measures:
        words = f"{MEASURES[measure]}, here"
        row = figures[(figures["method"] == method) & (figures["k"] == 30)].iloc[-1]
        assert row[words] == pytest.approx(outcomes[1].mean(measure))
        first = figures[figures["method"] == ORIGINAL].iloc[0][words]
        assert first == pytest.approx(outcomes[0].mean(measure), nan_ok=True)
    printed = figures[[column for column in figures if column.endswith("in print")]].to_numpy()
    assert np.array_equal(printed, [line[3] for line in table.lines], equal_nan=True)


def test_run_printed__says_what_a_table_needs() -> None:
    for name, target in (("Y19-2", "income"), ("L09-4", "illness")):
        flow = flow_of(target)
        assert not TABLES[name].fits(flow.schema)
        with pytest.raises(ParameterError, match=f"needs {TABLES[name].asks}"):
            run_printed(flow, TABLES[name])
