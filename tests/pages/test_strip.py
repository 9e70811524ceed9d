"""The strip: known figures only, equal to those of the release that follows."""

import numpy as np
import pytest

from anonymizer.linkage import linkage_risk
from anonymizer.schema import Schema
from anonymizer.utility import gcp
from tests.pages.test_workspace import SCHEMA, TABLE
from tests.test_refine import random_table
from ui.controls import count, share
from ui.strip import figures
from ui.workspace import Workspace, sample_reading


@pytest.fixture
def ws() -> Workspace:
    return Workspace(reading=sample_reading("people", TABLE), schema=SCHEMA)


def values(ws: Workspace) -> dict[str, str]:
    return {figure.label: figure.value for figure in figures(ws)}


def test_nothing_is_shown_before_the_tree_is_pruned(ws: Workspace) -> None:
    ws.tree()
    assert figures(ws) == []


def test_uniform__is_foreseen_exactly(ws: Workspace) -> None:
    ws.pruning()
    foreseen = values(ws)
    assert ws.peek("release") is None
    released = linkage_risk(ws.release().frame(), SCHEMA.quasi_identifying)
    assert foreseen["Records"] == count(len(TABLE))
    assert foreseen["Smallest group"] == count(released.smallest)
    assert foreseen["Highest risk"] == share(released.highest)
    assert foreseen["Detail lost (GCP)"] == share(gcp(ws.release(), ws.encoded().encodings))
    ws.released_risk()
    assert values(ws) == foreseen


def test_other_generalizers__are_not_guessed(ws: Workspace) -> None:
    ws.set(generalizer="tiered")
    ws.pruning()
    assert values(ws)["Highest risk"] == "–"
    ws.released_risk()
    assert values(ws)["Highest risk"] == share(ws.released_risk().highest)


def test_change_of_k__takes_old_figures_away(ws: Workspace) -> None:
    ws.pruning()
    ws.set(k=50)
    assert figures(ws) == []


def test_means__are_not_foreseen_as_ranges(ws: Workspace) -> None:
    ws.set(numbers="mean")
    ws.pruning()
    assert values(ws)["Detail lost (GCP)"] == "–"


def test_worst_groups__follow_the_pruning(ws: Workspace) -> None:
    for k in (10, 50):
        ws.set(k=k)
        cut = ws.pruning().cut()
        lowest = next(found for found in ws.worst() if found.figure == "TIDI")
        assert lowest.node == cut[np.argmin(ws.risk().tidi[cut])]
        assert ws.worst() is ws.worst()


def test_numeric_target__has_the_lowest_rsd_in_place_of_an_error() -> None:
    table, schema = random_table(61, 200)
    ws = Workspace(reading=sample_reading("people", table), schema=schema.with_target("cost"))
    ws.set(k=8)
    group = ws.pruning().group_of_node()[ws.leaf()]
    lowest = min(
        min(rsd(table[name].to_numpy(float), group == node) for node in np.unique(group))
        for name in ws.risk().numeric.names
    )
    assert "Error" not in values(ws)
    assert values(ws)["Lowest RSD"] == share(lowest)
    ws.set(generalizer="tiered")
    assert values(ws)["Lowest RSD"] == "–"


def rsd(column: np.ndarray, here: np.ndarray) -> float:
    """By its definition, L14 (10), of one group."""
    own, whole = column[here] - column[here].mean(), column[here] - column.mean()
    return float((own**2).sum() / (whole**2).sum())


def test_no_target__no_error_is_claimed() -> None:
    table = TABLE[["age", "sex"]]
    ws = Workspace(reading=sample_reading("people", table), schema=Schema.of(table, quasi_identifying=["age", "sex"]))
    ws.pruning()
    assert values(ws)["Error"] == "–"
    ws.utility()
    assert values(ws)["Error"] == "–"
