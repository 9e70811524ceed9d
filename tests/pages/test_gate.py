"""Ready, without a browser: the verdict, a card for each finding, repairs that close it, reasons that open."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.gate.finding import Severity, together
from anonymizer.reading.samples import hospital, sample_reading
from anonymizer.schema import Role, Schema
from anonymizer.whatif.price import price_of
from anonymizer.whatif.project import from_json, outward, to_json
from tests.conftest import ROOT
from tests.gate.test_who import visits
from tests.pages.test_data import helps
from tests.waiting import PATIENCE, wait_until
from ui.decisions.project_file import open_project, project_of, take_over
from ui.gate.view import cost_text, effect_text
from ui.navigation import SIDE_PAGES, STEPS
from ui.release.downloads import KINDS, report_text
from ui.strip import readiness
from ui.workspace import Workspace

SHELL = str(ROOT / "ui" / "shell.py")
WHY = "agreed with Zqwxcanary on paper"
TABLE = hospital(200, 3)[["name", "age", "sex", "diagnosis"]]


@pytest.fixture
def ws() -> Workspace:
    """A session whose steward kept the names."""
    schema = Schema.of(TABLE, quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    ws = Workspace(reading=sample_reading("people", TABLE), schema=schema)
    ws.set(k=5, generalizer="uniform")
    return ws


RELEASES = {label for label, _ in KINDS.values()}
"""Labels of the downloads that hold the release."""


def open_page(ws: Workspace | None, page: str = "gate") -> AppTest:
    """The dashboard, opened on a page."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run().switch_page(f"../pages/{page}.py").run()


def text_of(app: AppTest) -> str:
    """Everything on the page as it is read: without the escapes of Markdown."""
    return re.sub(r"[\\\u2060]", "", "\n".join(item.value for item in [*app.title, *app.markdown, *app.caption]))


def press(app: AppTest, label: str, number: int = 0) -> AppTest:
    """The page after the first button of this label was pressed, or that with this number."""
    return [item for item in app.button if re.sub(r"[\\\u2060]", "", item.label) == label][number].click().run()


def locked(app: AppTest) -> set[bool]:
    """Whether the downloads of the Release page are shut."""
    return {item.proto.disabled for item in app.get("download_button") if "take it" not in item.proto.label}


def test_empty__leads_to_the_data_page() -> None:
    app = open_page(None)
    assert not app.exception
    assert "Not ready to release" in app.header[0].value


def test_page__says_every_finding_and_its_verdict_first(ws: Workspace) -> None:
    app = open_page(ws)
    assert not app.exception
    gate = ws.flow.gate
    assert app.title[0].value == "2 risks are open"
    words = text_of(app)
    more = re.sub(r"[\\\u2060]", "", helps(app))
    for finding in gate.findings:
        assert finding.sentence in words + more
        if finding.severity is not Severity.FINE:
            assert finding.figure in words
            assert " ".join(finding.detail.split()) in words + more
    assert f"{TABLE['name'].nunique():,} names" in words
    assert app.button(key="next release").disabled
    assert app.button(key="next release").label == "Next: Release (2 open)"
    assert readiness(ws) == "2 open"


def test_repair__closes_what_it_repairs(ws: Workspace) -> None:
    app = press(open_page(ws), "Leave it out")
    assert not app.exception
    assert ws.schema is not None
    assert ws.schema["name"].role is Role.IDENTIFYING
    assert app.title[0].value == "Ready to release"
    assert not app.button(key="next release").disabled
    assert readiness(ws) == "Yes"


def test_prices__are_shown_before_and_repairs_can_be_undone(ws: Workspace) -> None:
    app = open_page(ws)
    wait_until(lambda: ws.jobs["prices"].done.is_set())
    words = text_of(app.run())
    flow, finding = ws.flow, together(ws.flow.gate.findings)[0]
    price = price_of(flow, finding, finding.repairs[0])
    assert effect_text(price).split("[")[1].rstrip("]").replace("\\", "") in words
    assert f"{finding.figure} → in order" in words
    schema, settings = ws.schema, ws.settings
    app = press(app, "Leave it out")
    assert "Repaired: Leave it out." in text_of(app)
    assert app.title[0].value == "Ready to release"
    assert ws.flow.utility.gcp == pytest.approx(price.loses, rel=1e-12)
    assert "added by them" in text_of(app)
    ws.open({"k": 7})
    assert "added by them" not in text_of(app.run()), "k costs, too"
    ws.open({"k": 5})
    app = press(app.run(), "Undo")
    assert not app.exception
    assert (ws.schema, ws.settings) == (schema, settings)
    assert "Repaired" not in text_of(app)


def test_prices_that_take_long__are_worked_out_when_asked(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.gate.costs.AT_ONCE", -1.0)
    app = open_page(ws)
    assert "prices" not in ws.jobs
    assert app.button(key="begin prices").label.startswith("Work out prices (about ")
    app.button(key="begin prices").click().run()
    wait_until(lambda: ws.jobs["prices"].done.is_set())
    assert "→ in order" in text_of(app.run())


def test_names_kept_by_mistake__leave_for_a_typed_reason_only(ws: Workspace) -> None:
    app = open_page(ws, "release")
    assert not app.exception
    assert locked(app) == {True}
    assert "2 risks are open" in app.error[0].value
    words = "\n".join([text_of(app), *(error.value for error in app.error)])
    assert words.count("risks are open") == 1
    app = open_page(ws)
    for finding in ws.flow.gate.open:
        app = press(app, "Release it, with a reason")
        field = app.text_input[0]
        app = field.set_value("too short").run()
        assert finding.key not in ws.reasons
        app = app.text_input[0].set_value(f"  {WHY} ").run()
        assert ws.reasons[finding.key] == WHY
    assert app.title[0].value == "Ready to release: 2 reasons given".replace(":", "\\:")
    assert f"Your reason: {WHY}" in text_of(app)
    assert locked(open_page(ws, "release")) == {False}
    document = json.loads(report_text(ws.flow.leaving, ws.flow.report, ""))
    assert [f["reason"] for f in document["gate"]["findings"] if f["severity"] == Severity.STOPS] == [WHY, WHY]
    app = press(open_page(ws), "Take it back")
    assert app.title[0].value == "1 risk is open"
    assert locked(open_page(ws, "release")) == {True}


def test_button_of_another_finding_that_ends_the_typing__opens_its_field(ws: Workspace) -> None:
    """The browser may send both at once: the reason that was typed, and the button that was pressed next."""
    first, second = ws.flow.gate.open
    app = press(open_page(ws), "Release it, with a reason")
    app.text_input[0].set_value(WHY)
    app = press(app, "Release it, with a reason", 1)
    assert ws.reasons == {first.key: WHY}
    app = app.text_input[0].set_value(WHY).run()
    assert ws.reasons == {first.key: WHY, second.key: WHY}


def test_field_for_a_reason__stays_when_its_button_is_pressed_twice(ws: Workspace) -> None:
    app = press(open_page(ws), "Release it, with a reason")
    assert len(press(app, "Release it, with a reason").text_input) == 1


ALL_PAGES = [name for members in (STEPS, *SIDE_PAGES.values()) for name, *_ in members]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("page", ALL_PAGES)
def test_nothing_can_be_released__and_no_page_leads_on_to_it(ws: Workspace, page: str) -> None:
    ws.set(k=len(TABLE) + 1)
    for session in (Workspace(), ws):
        app = open_page(session, page)
        assert not app.exception
        keys = ("next gate", "next release", "begin packet", "download packet")
        assert [item.key for item in app.button if item.key in keys and not item.disabled] == []
        shut = [item.proto.disabled for item in app.get("download_button") if item.proto.label in RELEASES]
        assert all(shut)


def test_something_can_be_released__and_pages_lead_on_to_it(ws: Workspace) -> None:
    ws.reasons = {finding.key: WHY for finding in ws.flow.judgement.findings}
    assert not open_page(ws, "tree").button(key="next gate").disabled
    assert not open_page(ws, "gate").button(key="next release").disabled
    app = open_page(ws, "release")
    assert not app.button(key="begin packet").disabled
    assert {item.proto.label for item in app.get("download_button") if not item.proto.disabled} >= RELEASES


def test_strip__says_as_much_as_is_known(ws: Workspace) -> None:
    ws.flow.compute("pruning")
    assert readiness(ws) == "–"
    ws.flow.compute("about_table")
    assert readiness(ws) == "1 open so far"
    ws.flow.compute("judgement")
    assert readiness(ws) == "2 open"
    ws.set(k=7)
    assert not ws.ready("judgement")
    assert readiness(ws) == "1 open so far"
    ws.reasons = {finding.key: WHY for finding in ws.flow.about_table}
    assert readiness(ws) == "Yes, so far"


def test_check_failed__no_page_says_that_nothing_stands_in_the_way() -> None:
    table = hospital(200, 3)[["age", "sex", "diagnosis"]]
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    ws = Workspace(reading=sample_reading("people", table), schema=schema)
    ws.set(k=7, generalizer="tiered")
    assert not ws.flow.verification.passed
    assert not ws.flow.gate.open
    for page in ("gate", "release"):
        app = open_page(ws, page)
        words = text_of(app)
        assert "Ready to release" not in words
        assert "A check failed" in words
        assert "Needs a reason" in [metric.value for metric in app.metric if metric.label == "Ready"]


def test_tree__tells_the_verdict_at_first_sight(ws: Workspace) -> None:
    app = open_page(ws, "tree")
    assert "1 open so far" in [metric.value for metric in app.metric if metric.label == "Ready"]


def test_project__keeps_reasons_for_its_own_table(ws: Workspace) -> None:
    ws.reasons = {"identifying: name": WHY}
    text = to_json(outward(project_of(ws)), ws.suggest())
    assert from_json(text).reasons == ws.reasons
    older = json.loads(text)
    del older["reasons"]
    assert from_json(json.dumps(older)).reasons == {}
    same = Workspace(reading=ws.reading)
    open_project(same, text)
    take_over(same)
    assert same.reasons == ws.reasons
    other = Workspace(reading=sample_reading("others", TABLE.iloc[:50]))
    open_project(other, to_json(project_of(ws), ws.suggest()))
    take_over(other)
    assert other.schema is not None
    assert other.reasons == {}
    ws.forget()
    assert ws.reasons == {}


def test_code__is_read_as_missing_after_its_repair(tmp_path: Path) -> None:
    table = TABLE.drop(columns="name").assign(pay=[-8 if i < 9 else 100 + i % 60 for i in range(len(TABLE))])
    ws = Workspace()
    assert ws.bring(table.to_csv(index=False).encode(), "people.csv")
    ws.set_schema(Schema.of(ws.table, quasi_identifying=["age", "sex"], sensitive=["diagnosis", "pay"]))
    ws.set(k=5, generalizer="uniform")
    app = open_page(ws)
    wait_until(lambda: ws.jobs["prices"].done.is_set())
    price = next(price for (_, words), price in ws.jobs["prices"].parts if words == "Treat as missing")
    app.run()
    assert f"{effect_text(price)} {cost_text(price)}" in [one.value for one in app.markdown]
    app = press(app, "Treat as missing")
    assert not app.exception
    assert (price.figure, price.left) == ("−8", "")
    assert ws.flow.utility.gcp == pytest.approx(price.loses, rel=1e-12)
    assert ws.table["pay"].isna().sum() == 9
    assert "codes: pay" not in {finding.key for finding in ws.flow.gate.findings}


def test_repairs_of_persons__close_what_they_repair() -> None:
    table = visits()
    turn = np.random.default_rng(1).integers(0, 5, len(table))
    table["patient"] = np.select([turn == 1, turn == 2], [table.patient.str.upper(), "unknown"], table.patient)
    schema = Schema.of(table, person="patient", quasi_identifying=["age", "sex", "town"], sensitive=["ill"])
    ws = Workspace(reading=sample_reading("visits", table), schema=schema)
    ws.set(k=5, grouping="least")
    app = open_page(ws)
    for label in ("Count them as one", "These are nobody", "Let nobody own more than 1 in 10"):
        app = press(app, label)
        assert not app.exception
    assert app.title[0].value == "Ready to release"
    assert ws.schema is not None
    assert (ws.schema["patient"].alike, ws.schema["patient"].nobody) == (True, ("unknown",))
    assert ws.settings.share_max == 0.1
    assert project_of(ws).schema == ws.schema


def test_shared_values__are_a_table_the_rarest_first() -> None:
    rng = np.random.default_rng(0)
    n = 600
    table = pd.DataFrame({"age": np.arange(n) % 60 + 20, "town": rng.choice(list("abcd"), n)})
    table["ill"] = np.where(table["age"] < 24, "rare", np.where(table["age"] < 30, "scarce", rng.choice(["x", "y"], n)))
    table["paid"] = np.where(table["age"] > 75, "late", rng.choice(["cash", "card"], n))
    schema = Schema.of(table, quasi_identifying=["age", "town"], sensitive=["ill", "paid"]).with_target("ill")
    ws = Workspace(reading=sample_reading("people", table), schema=schema)
    ws.set(k=5)
    app = open_page(ws)
    assert not app.exception
    cells = ws.flow.released[["age", "town"]].map(str).agg("|".join, axis=1).to_numpy()
    expected = []
    for name in ("ill", "paid"):
        values = ws.flow.released[name]
        usual = values.value_counts(normalize=True)
        alone = values.groupby(cells).transform("nunique") == 1
        for value, rows in values[alone].value_counts().items():
            if value != usual.idxmax():
                expected.append((name, value, rows, len(set(cells[alone & (values == value)])), usual[value]))
    assert len({name for name, *_ in expected}) == 2
    expected.sort(key=lambda line: (line[4], -line[2]))
    frame = next(frame.value for frame in app.dataframe if "usual" in frame.value)
    assert [tuple(line[:4]) for line in frame.to_numpy().tolist()] == [line[:4] for line in expected]
    assert frame["usual"].tolist() == pytest.approx([line[4] for line in expected])
