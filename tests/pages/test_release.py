"""The Release page without a browser: empty, with samples, and with a release that fails a check."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.charts import loss_sentence, moved_sentence
from anonymizer.cli import main
from anonymizer.generalize import GENERALIZERS, GUARANTEES, NUMBERS, WRITINGS
from anonymizer.linkage import linkage_risk
from anonymizer.pipeline import anonymize
from anonymizer.release import FORMATS, read_release
from anonymizer.report import PARAMETERS, digest
from anonymizer.samples import SAMPLES
from anonymizer.schema import Schema
from tests.conftest import ROOT
from tests.pages.test_data import SHELL, held, texts
from ui.controls import share
from ui.downloads import enough, file_stem, report_text
from ui.workspace import Workspace, sample_reading

CUSTOMERS = SAMPLES["customers"].load()
KNOWN = list(CUSTOMERS.columns[:-1])
SCHEMA = Schema.of(CUSTOMERS, quasi_identifying=KNOWN, sensitive=[CUSTOMERS.columns[-1]])
REASON = "Goes only to the ethics board"


def session(
    k: int = 2, generalizer: str = "uniform", table: pd.DataFrame = CUSTOMERS, schema: Schema = SCHEMA
) -> Workspace:
    """A session that is ready for its release."""
    ws = Workspace(reading=sample_reading("customers", table), schema=schema)
    ws.set(k=k, generalizer=generalizer)
    return ws


@pytest.fixture(scope="module")
def hospital() -> Workspace:
    table = SAMPLES["hospital"].load()
    known = ["age", "sex", "postcode", "marital_status", "occupation", "admission_date"]
    schema = Schema.of(table, identifying=["name", "email"], quasi_identifying=known, sensitive=["diagnosis"])
    ws = Workspace(reading=sample_reading("hospital", table), schema=schema)
    ws.set(k=10)
    return ws


def opened(ws: Workspace | None = None) -> AppTest:
    """The dashboard, opened on the Release page."""
    app = AppTest.from_file(SHELL, default_timeout=120)
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/release.py").run()


def buttons(app: AppTest) -> dict[str, bool]:
    """Each download, and whether it can be clicked."""
    return {item.proto.label: not item.proto.disabled for item in app.get("download_button")}


def said(app: AppTest) -> str:
    """Everything that is said on the page, as it is read: without the escapes of Markdown."""
    more = [item.value for item in app.success]
    return re.sub(r"[\\\u2060]", "", "\n".join([texts(app), *more]))


def without(found: object, names: tuple[str, ...]) -> object:
    """The same JSON without some entries; sums in another order may differ in their last digits."""
    if isinstance(found, dict):
        return {name: without(value, names) for name, value in found.items() if name not in names}
    if isinstance(found, float):
        return round(found, 9)
    return [without(value, names) for value in found] if isinstance(found, list) else found


def test_empty__leads_to_the_data_page() -> None:
    app = opened()
    assert not app.exception
    assert "nothing to release" in app.subheader[0].value
    assert not app.get("download_button")


def test_no_roles__leads_to_the_roles_page() -> None:
    app = opened(Workspace(reading=sample_reading("customers", CUSTOMERS)))
    assert not app.exception
    assert [link.proto.label for link in app.get("page_link")] == ["Go to Roles"]


def test_customers__the_page_says_what_the_release_is() -> None:
    app = opened(session(2))
    assert not app.exception
    released = held(app).release().frame()
    risk = linkage_risk(released, KNOWN)
    assert risk.smallest >= 2
    assert "This release is 2-anonymous" in said(app)
    assert len(app.success) == 1
    assert not app.error
    strip = {item.label: item.value for item in app.metric}
    assert strip["Records"] == "14"
    assert strip["Groups"] == str(risk.groups)
    assert strip["Smallest group"] == str(risk.smallest)
    assert strip["Highest risk"] == share(risk.highest)
    assert strip["Detail lost (GCP)"] == share(held(app).utility().gcp)
    assert set(buttons(app).values()) == {True}
    assert len(buttons(app)) == len(FORMATS) + 6


def test_every_check__is_a_sentence_on_the_page(hospital: Workspace) -> None:
    app = opened(hospital)
    assert not app.exception
    found = said(app)
    for check in hospital.verification().checks:
        assert check.sentence in found
    assert "Left out of the file: name, email" in found


def test_homogeneous_groups__are_a_warning_in_view() -> None:
    app = opened(session(2))
    frame, target = held(app).release().frame(), CUSTOMERS.columns[-1]
    groups = frame.groupby(KNOWN, observed=True, dropna=False)[target]
    alike = int((groups.transform("nunique") == 1).sum())
    assert alike > 0
    warned = [item.value for item in app.warning if "has the same" in item.value]
    assert len(warned) == 1
    assert warned[0].startswith(f"{alike} people")
    assert "ask for l = 2" in warned[0]
    ws = session(2)
    ws.set(l=2)
    assert not [item.value for item in opened(ws).warning if "has the same" in item.value]


def test_rows__stand_side_by_side(hospital: Workspace) -> None:
    app = opened(hospital)
    original, released = (item.value for item in app.dataframe)
    assert list(original.columns) == list(released.columns)
    assert "name" not in original.columns
    assert len(original) == len(released) == 12
    assert original["diagnosis"].tolist() == released["diagnosis"].tolist()
    for value, cell in zip(original["age"], released["age"], strict=True):
        low, high = re.fullmatch(r"\[?(\d+)(?:, (\d+)\])?", cell).group(1, 2)
        assert int(low) <= value <= int(high or low)
    next(button for button in app.button if button.label == "Show other people").click()
    app.run()
    assert app.dataframe[0].value["admission_date"].tolist() != original["admission_date"].tolist()


@pytest.mark.parametrize("grouping", ["median-mondrian", "infogain-mondrian", "error-risk"])
def test_grouping__can_be_compared_on_the_page(grouping: str) -> None:
    app = opened(session(2))
    app.selectbox(key="release grouping").set_value(grouping).run()
    assert not app.exception
    assert "This release is 2-anonymous" in said(app)
    made = anonymize(CUSTOMERS, SCHEMA, grouping=grouping, k=2)
    risk = linkage_risk(made.release.frame(), KNOWN)
    strip = {item.label: item.value for item in app.metric}
    assert strip["Groups"] == str(risk.groups)
    assert f"--grouping {grouping}" in next(code.value for code in app.code if " anonymize " in code.value)


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_cells__are_written_as_chosen_and_explained(writing: str, numbers: str) -> None:
    app = opened(session(2))
    app.selectbox(key=f"release writing {len(WRITINGS)}").set_value(writing)
    app.selectbox(key=f"release numbers {len(NUMBERS)}").set_value(numbers).run()
    assert not app.exception
    for guarantee in (WRITINGS[writing], NUMBERS[numbers]):
        assert guarantee.gives in said(app)
        assert guarantee.does_not in said(app)
    made = anonymize(CUSTOMERS, SCHEMA, k=2, writing=writing, numbers=numbers)
    shown = held(app).release().frame()
    for name in KNOWN:
        assert sorted(map(str, shown[name])) == sorted(map(str, made.release.frame()[name]))
    strip = {item.label: item.value for item in app.metric}
    assert strip["Detail lost (GCP)"] == share(made.utility.gcp)


def test_titles_of_panels__follow_at_once() -> None:
    app = opened(session(2))
    app.selectbox(key=f"release writing {len(WRITINGS)}").set_value("concatenate").run()
    app.selectbox(key="release criterion entropy").set_value("blend").run()
    app.slider(key="release weight").set_value(0.25).run()
    assert not app.exception
    titles = [item.label.replace("\\", "") for item in app.expander]
    assert f"How cells are written: {WRITINGS['concatenate'].title} · {NUMBERS['range'].title}" in titles
    assert "Grown as a blend, weight 0.25" in titles
    app.selectbox(key="release criterion entropy").set_value("entropy").run()
    assert "Grown by entropy of the classes" in [item.label for item in app.expander]


def test_tiered__offers_no_writing_that_counts() -> None:
    ws = session(2, "tiered")
    ws.set(writing="weighted", numbers="mean")
    app = opened(ws)
    assert not app.exception
    assert not app.error
    assert (ws.parameters.writing, ws.parameters.numbers) == ("sets", "range")
    assert app.selectbox(key="release numbers 1").options == [NUMBERS["range"].title]
    assert "count people twice" in said(app)


@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_generalizer__comes_with_its_honest_label(generalizer: str) -> None:
    app = opened(session(3))
    app.selectbox(key="release generalizer").set_value(generalizer).run()
    assert not app.exception
    assert held(app).release().method == generalizer
    found = said(app)
    assert GUARANTEES[generalizer].gives in found
    assert GUARANTEES[generalizer].does_not in found
    smallest = linkage_risk(held(app).release().frame(), KNOWN).smallest
    assert ("This release is 3-anonymous" in found) == (smallest >= 3)


def test_tiered__needs_a_reason_and_the_report_keeps_it() -> None:
    app = opened(session(3, "tiered"))
    assert not app.exception
    assert not app.success
    assert "not 3-anonymous" in said(app)
    assert set(buttons(app).values()) == {False}
    app.text_area[0].set_value("  because ").run()
    assert set(buttons(app).values()) == {False}
    app.text_area[0].set_value(REASON).run()
    assert set(buttons(app).values()) == {True}
    app.switch_page("../pages/data.py").run()
    app.switch_page("../pages/release.py").run()
    assert app.text_area[0].value == REASON
    ws = held(app)
    report = json.loads(report_text(ws.release(), ws.report(), REASON))
    assert report["override"] == REASON
    assert report["passed"] is False
    app.slider(key="release k").set_value(2).run()
    assert not app.text_area or app.text_area[0].value == ""


def test_required_l__steers_the_groups_and_is_checked() -> None:
    app = opened(session(2))
    app.number_input(key="release l").set_value(2).run()
    assert not app.exception
    target = CUSTOMERS.columns[-1]
    held_by_groups = held(app).release().frame().groupby(KNOWN, observed=True)[target].nunique()
    assert held_by_groups.min() >= 2
    assert held(app).verification()[f"distinct l-diversity of {target}"].passed
    app.number_input(key="release l").set_value(None).run()
    assert held(app).parameters.l is None


def test_required_t__that_a_generalizer_breaks_locks_the_download() -> None:
    app = opened(session(2, "tiered"))
    app.number_input(key="release t").set_value(0.0).run()
    assert not app.exception
    failed = [check.name for check in held(app).verification().failed]
    assert any(name.startswith("t-closeness") for name in failed)
    assert set(buttons(app).values()) == {False}


@pytest.mark.parametrize(("k", "l"), [(15, None), (2, 3)])
def test_impossible__is_one_clear_message(k: int, l: int | None) -> None:  # noqa: E741
    ws = session(k)
    ws.set(l=l)
    app = opened(ws)
    assert not app.exception
    assert len(app.error) == 1
    assert f"at least {l or k} is required" in said(app)
    assert not app.get("download_button")


def test_report__is_the_one_that_the_flow_makes() -> None:
    ws = session(2)
    flow = anonymize(CUSTOMERS, SCHEMA, k=2, reading=ws.reading).report
    varying = ("time", "worst")
    assert without(ws.report().to_dict(), varying) == without(flow.to_dict(), varying)
    assert set(flow.provenance.parameters) == set(PARAMETERS)


def test_report__holds_the_digest_of_every_file_and_no_order() -> None:
    ws = session(2)
    report = json.loads(report_text(ws.release(), ws.report(), ""))
    for format in FORMATS:
        content = ws.release().to_bytes(format)
        assert report["provenance"]["output_sha256"][format] == digest(content)
        assert len(read_release(content)) == len(CUSTOMERS)
    assert report["override"] is None
    assert "order" not in report["provenance"]


def test_command_and_python__make_the_same_groups_again(
    hospital: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = hospital.report()
    Path("REPORT.json").write_text(made.to_json(), "utf-8")
    app = opened(hospital)
    assert made.provenance.command in [item.value for item in app.code]
    assert made.provenance.python in [item.value for item in app.code]
    python, module, package, *arguments = shlex.split(made.provenance.command)
    assert (python, module, package) == ("python", "-m", "anonymizer")
    assert main(arguments) == 0
    by_command = linkage_risk(read_release("RELEASE.csv"), hospital.schema.quasi_identifying)
    assert (by_command.groups, by_command.smallest) == (made.after.groups, made.after.smallest)
    Path("RELEASE.csv").unlink()
    again = [sys.executable, "-c", made.provenance.python]
    subprocess.run(again, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=300, check=True)
    by_python = linkage_risk(read_release("RELEASE.csv"), hospital.schema.quasi_identifying)
    assert (by_python.groups, by_python.smallest) == (made.after.groups, made.after.smallest)
    check = shlex.split(next(item.value for item in app.code if " verify " in item.value))
    hospital.release().write(check[check.index("verify") + 1])
    Path(check[check.index("--schema") + 1]).write_text(made.to_json(), "utf-8")
    assert main(check[3:]) == 0


def test_charts__follow_the_chosen_column() -> None:
    app = opened(session(2))
    box = next(box for box in app.selectbox if box.label == "Column")
    columns = {column.name: column for column in held(app).distributions()}
    assert set(box.options) == set(columns) == set(KNOWN)
    for name in box.options:
        next(box for box in app.selectbox if box.label == "Column").set_value(name).run()
        assert not app.exception
        assert moved_sentence(columns[name]) in said(app)
    utility = held(app).utility()
    assert loss_sentence(utility.ncp_by_column, utility.gcp) in said(app)


def test_numeric_target__is_released_and_has_no_class_error() -> None:
    table = SAMPLES["employees"].load()
    schema = Schema.of(table, quasi_identifying=["Age", "YearsEdu", "Occupation"], sensitive=["Income", "Asset"])
    app = opened(session(3, table=table, schema=schema))
    assert not app.exception
    assert not app.error
    assert "This release is 3-anonymous" in said(app)
    assert "Error" not in {item.label for item in app.metric}


@pytest.mark.parametrize(
    ("text", "is_reason"),
    [
        ("", False),
        ("   ", False),
        ("ok", False),
        ("x y z", False),
        ("1 2 3", False),
        (REASON, True),
        ("für die Prüfung", True),
    ],
)
def test_reason__is_a_few_words(text: str, is_reason: bool) -> None:
    assert enough(text) is is_reason


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("adult.csv.gz", "adult"),
        ("a b/../c.xlsx", "c"),
        ("<b>.csv", "b"),
        ("", "table"),
        ("...", "table"),
        ("名.csv", "名"),
    ],
)
def test_file_stem__is_harmless(name: str, stem: str) -> None:
    assert file_stem(name) == stem
