"""A table in pieces on every page and view: what they show, and that sliders look at no record."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.flow import Flow
from anonymizer.growing.target import ClassTarget
from anonymizer.partitions import flow as flow_module
from anonymizer.partitions.flow import PartedFlow
from anonymizer.partitions.parted import PartedTable
from anonymizer.partitions.values import CodedColumn
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.settings import Settings
from anonymizer.whatif.project import from_json, outward, to_json
from tests.pages.test_folder import SENTENCE, N, open_page, places, session, texts, wait, write_release
from tests.pages.what_if import VIEWS
from tests.partitions.tables import people
from ui.controls import share
from ui.decisions.project_file import open_project, project_of, take_over
from ui.gate import pieces as gate
from ui.method import groupings_for
from ui.release.folder import folder_result
from ui.strip import figures
from ui.what_if.pieces import figures_of_groups, losses_of_groups
from ui.what_if.state import WhatIfState
from ui.workspace import Workspace

__all__ = ["places"]
SMALLER = ("Frontier", "Who knows less", "As a sample")
"""Views that say what takes a smaller table."""


def open_view(ws: Workspace, view: str) -> AppTest:
    """The What-if page, one of its views open and drawn."""
    ws.state(WhatIfState).view = view
    return wait(open_page(ws, "what_if"), ws)


def press(app: AppTest, ws: Workspace, label: str) -> AppTest:
    next(button for button in app.button if button.label.startswith(label)).click().run()
    return wait(app, ws)


@pytest.mark.parametrize("how", [{}, {"generalizer": "pack"}, {"grouping": "infogain-mondrian", "numbers": "mean"}])
def test_every_view__shows_what_it_can(places: tuple[Path, Path], how: dict[str, Any]) -> None:
    ws = session(places[0], **how)
    for view in VIEWS:
        app = open_view(ws, view)
        assert not app.exception
        assert not app.error
        assert (SENTENCE in texts(app)) == (view in SMALLER)


def test_the_glance__has_the_losses_of_the_whole_table(places: tuple[Path, Path]) -> None:
    guided = {"grouping": "least", "criterion": "entropy", "numbers": "range"}
    ws = session(places[0], **guided)
    app = open_view(ws, "At a glance")
    whole = Flow(people(N, 3), ws.flow.schema, Settings(generalizer="uniform", **guided))
    assert losses_of_groups(ws) == pytest.approx(whole.utility.ncp_by_column, abs=0.001)
    assert figures_of_groups(ws)["groups"] == whole.after.groups
    assert f"at most {share(1 / whole.after.smallest)}" in texts(app)
    assert "those of the tree's groups" in texts(app)
    alike = whole.verification["homogeneity of diagnosis"].achieved or 0
    assert alike > 0
    assert f"{alike:,.0f} rows share one value of diagnosis" in texts(app)


def test_a_column__is_shown_before_and_after_when_asked(places: tuple[Path, Path]) -> None:
    ws = session(places[0])
    app = open_view(ws, "What would I lose?")
    assert len(app.get("plotly_chart")) == 1
    app = press(app, ws, "Show it before and after")
    assert not app.error
    assert len(app.get("plotly_chart")) == 2


def test_a_setting__is_kept_with_the_figures_of_its_groups(places: tuple[Path, Path]) -> None:
    ws = session(places[0])
    press(open_view(ws, "Scenarios"), ws, "Keep this setting")
    ws.set(generalizer="pack")
    app = press(open_view(ws, "Scenarios"), ws, "Keep this setting")
    first, second = ws.scenarios
    assert sorted(first.figures) == ["error", "gcp", "groups", "risk", "smallest"]
    assert not second.figures
    assert "No figures: this scenario was saved" in texts(app)


def test_the_strip__has_the_figures_of_the_release_that_was_made(places: tuple[Path, Path]) -> None:
    ws = session(places[0], generalizer="pack")
    write_release(wait(open_page(ws, "release"), ws), ws, "people 2026")
    result = folder_result(ws)
    assert result is not None
    values = {figure.label: figure.value for figure in figures(ws)}
    assert values["Smallest group"] == f"{result.after.smallest:,}"
    assert values["Groups"] == f"{result.after.groups:,}"
    assert values["Detail lost (GCP)"] == share(sum(result.loss.values()) / len(result.loss))
    ws.set(k=20)
    ws.flow.compute("pruning")
    assert {figure.label: figure.value for figure in figures(ws)}["Groups"] == "–"


def test_the_gate__says_how_much_it_looked_at(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    ws = session(places[0])
    app = wait(open_page(ws, "gate"), ws)
    assert app.title[0].value == "Ready to release, so far"
    assert "All 3,000 rows were looked at" in texts(app)
    write_release(wait(open_page(ws, "release"), ws), ws, "people 2026")
    app = open_page(ws, "gate")
    assert app.title[0].value == "Ready to release"
    assert "This release is 10-anonymous" in texts(app)
    for module in (gate, flow_module):
        monkeypatch.setattr(module, "SAMPLE", 1000)
    ws = session(places[0])
    assert "1,000 of the 3,000 rows were looked at, evenly" in texts(wait(open_page(ws, "gate"), ws))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("page", ["tree", "release", *VIEWS])
def test_a_slider__looks_at_no_record(places: tuple[Path, Path], page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ws = session(places[0])
    app = open_view(ws, page) if page in VIEWS else wait(open_page(ws, page), ws)
    read: list[str] = []

    def watched(owner: type) -> property:
        def codes(self: Any) -> Any:
            read.append(owner.__name__)
            return self.__dict__["codes"]

        return property(codes)

    for owner in (CodedColumn, ClassTarget):
        monkeypatch.setattr(owner, "codes", watched(owner), raising=False)
    monkeypatch.setattr(PartedTable, "__len__", lambda table: N)
    monkeypatch.setattr(PartedFlow, "leaf", property(lambda flow: read.append("leaf")), raising=False)
    next(slider for slider in app.slider if slider.label.startswith("Group size")).set_value(40).run()
    assert not app.exception
    assert ws.k == 40
    assert not read
    _ = ws.flow.coded.codes(0), ws.flow.leaf
    assert read == ["CodedColumn", "leaf"]


def test_what_takes_a_smaller_table__is_not_offered(places: tuple[Path, Path]) -> None:
    ws = session(places[0], generalizer="tiered", suppression=0.02, risk_max=0.2, grouping="median-mondrian")
    assert not ws.unfit(ws.settings)
    assert ws.settings.grouping == "median-mondrian"  # which takes the codes of all records alone
    assert "median-mondrian" in groupings_for(ws)
    app = wait(open_page(ws, "tree"), ws)
    box = next(box for box in app.selectbox if box.key == "tree generalizer")
    assert 0 < len(box.options) < len(GENERALIZERS)


def test_a_project__says_which_of_its_settings_are_not_kept(places: tuple[Path, Path]) -> None:
    ws = session(places[0])
    ws.settings = Settings(generalizer="uniform", suppression=0.02)
    project = outward(project_of(ws))
    ws.set(suppression=0.0)
    open_project(ws, to_json(project, ws.suggest()))
    assert from_json(to_json(project, ws.suggest())).parameters["suppression"] == 0.02
    take_over(ws)
    assert ws.settings.suppression == 0.0
    assert "is not as in the project: rows left out" in ws.decisions.note
