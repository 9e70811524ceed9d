"""The strip: known figures only, equal to those of the release that follows."""

import numpy as np
import pytest

from anonymizer.checking.linkage import linkage_risk
from anonymizer.measuring.utility import gcp
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import visits
from anonymizer.schema import Schema
from tests.groups.test_refine import random_table
from tests.naive_margins import raked_mean
from tests.naive_measures import two_way_mean
from tests.pages.test_workspace import SCHEMA, TABLE
from ui.controls import count, share
from ui.strip import figures, readiness, tables
from ui.workspace import Workspace, sample_reading


@pytest.fixture
def ws() -> Workspace:
    return Workspace(reading=sample_reading("people", TABLE), schema=SCHEMA)


def values(ws: Workspace) -> dict[str, str]:
    return {figure.label: figure.value for figure in figures(ws)}


def test_nothing_is_shown_before_the_tree_is_pruned(ws: Workspace) -> None:
    ws.flow.compute("tree")
    assert figures(ws) == []


def test_uniform__is_foreseen_exactly(ws: Workspace) -> None:
    ws.set(generalizer="uniform")
    ws.flow.compute("pruning")
    foreseen = values(ws)
    assert not ws.ready("release")
    released = linkage_risk(ws.flow.release.frame(), SCHEMA.quasi_identifying)
    assert foreseen["Rows"] == count(len(TABLE))
    assert foreseen["Smallest group"] == count(released.smallest)
    assert foreseen["Highest risk"] == share(released.highest)
    assert foreseen["Detail lost (GCP)"] == share(gcp(ws.flow.release, ws.flow.encoded.encodings))
    ws.flow.compute("after")
    assert values(ws) == foreseen


def test_groups_below_k__are_not_ready_so_far(ws: Workspace) -> None:
    ws.set(k=10)
    ws.flow.compute("pruning", "about_table")
    assert values(ws)["Ready"] == readiness(ws, 10) == "Yes, so far"
    assert readiness(ws, 9) == "k is not kept"


def test_a_person_who_owns_too_much__is_not_ready_so_far() -> None:
    table = visits(200)
    ws = Workspace(reading=sample_reading("visits", table), schema=suggest(table))
    ws.flow.compute("about_table")
    assert readiness(ws) == "Yes, so far"
    ws.flow.compute("after")
    assert ws.flow.after.highest > 1 / ws.settings.prosecutor_limit
    assert readiness(ws) == "1 open so far"
    assert ws.flow.gate.open
    ws.set(prosecutor_limit=1)
    ws.flow.compute("after")
    assert readiness(ws) == "Yes, so far"


def test_other_generalizers__are_not_guessed(ws: Workspace) -> None:
    ws.set(generalizer="tiered")
    ws.flow.compute("pruning")
    assert values(ws)["Highest risk"] == "–"
    ws.flow.compute("after")
    assert values(ws)["Highest risk"] == share(ws.flow.after.highest)


def test_change_of_k__takes_old_figures_away(ws: Workspace) -> None:
    ws.flow.compute("pruning")
    ws.set(k=50)
    assert figures(ws) == []


def test_means__are_not_foreseen_as_ranges(ws: Workspace) -> None:
    ws.set(numbers="mean")
    ws.flow.compute("pruning")
    assert values(ws)["Detail lost (GCP)"] == "–"


def test_worst_groups__follow_the_pruning(ws: Workspace) -> None:
    for k in (10, 50):
        ws.set(k=k)
        cut = ws.flow.pruning.cut()
        lowest = next(worst for worst in ws.flow.worst if worst.figure == "TIDI")
        assert lowest.node == cut[np.argmin(ws.flow.risk.tidi[cut])]
        assert ws.flow.worst is ws.flow.worst


def test_numeric_target__has_the_lowest_rsd_in_place_of_an_error() -> None:
    table, schema = random_table(61, 200)
    ws = Workspace(reading=sample_reading("people", table), schema=schema.with_target("cost"))
    ws.set(k=8, generalizer="uniform")
    group = ws.flow.pruning.group_of_node()[ws.flow.leaf]
    lowest = min(
        min(rsd(table[name].to_numpy(float), group == node) for node in np.unique(group))
        for name in ws.flow.risk.numeric.names
    )
    assert "Error" not in values(ws)
    assert values(ws)["Lowest RSD"] == share(lowest)
    ws.set(generalizer="tiered")
    assert values(ws)["Lowest RSD"] == "–"


def rsd(column: np.ndarray, here: np.ndarray) -> float:
    """By its definition, L14 (10), of one group."""
    own, whole = column[here] - column[here].mean(), column[here] - column.mean()
    return float((own**2).sum() / (whole**2).sum())


def test_two_way_tables__are_said_once_they_are_known(ws: Workspace) -> None:
    ws.flow.compute("release")
    assert not tables(ws)
    ws.flow.compute("two_way")
    even, mean = two_way_mean(TABLE, ws.flow.released, SCHEMA), raked_mean(ws.flow)
    assert mean > 0.001
    (figure,) = tables(ws)
    assert figure.value == share(mean)
    start = f"Cross tables show {share(mean)} of the rows in a wrong cell, on average. Read evenly: {share(even)}. "
    assert figure.meaning.startswith(f"{start}One-way tables alone: ")
    assert values(ws)[figure.label] == figure.value
    ws.set(k=50)
    assert not tables(ws)
    alone = TABLE[["age"]]
    ws = Workspace(reading=sample_reading("people", alone), schema=Schema.of(alone, quasi_identifying=["age"]))
    ws.flow.compute("two_way")
    assert not tables(ws), "there is no pair of columns"


def test_no_target__no_error_is_claimed() -> None:
    table = TABLE[["age", "sex"]]
    ws = Workspace(reading=sample_reading("people", table), schema=Schema.of(table, quasi_identifying=["age", "sex"]))
    ws.flow.compute("pruning")
    assert values(ws)["Error"] == "–"
    ws.flow.compute("utility")
    assert values(ws)["Error"] == "–"
