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

from anonymizer.checking.linkage import linkage_risk
from anonymizer.cli.main import main
from anonymizer.digests import digest
from anonymizer.drawing.charts import loss_sentence, moved_sentence
from anonymizer.drawing.surveys import interval_text, regression_sentence
from anonymizer.pipeline import anonymize
from anonymizer.reading.samples import SAMPLES
from anonymizer.releasing.generalize import GENERALIZERS, GUARANTEES, INTERVALS, NUMBERS, WRITINGS
from anonymizer.releasing.release import ORDERS, read_release
from anonymizer.releasing.set_names import SETS
from anonymizer.reporting.findings import one_row_of
from anonymizer.schema import Schema
from anonymizer.settings import RUN, setting_names
from tests.conftest import ROOT
from tests.pages.test_data import SHELL, session_of, texts
from tests.waiting import PATIENCE
from ui.controls import share
from ui.release.downloads import file_stem, report_text
from ui.workspace import Workspace, sample_reading

CUSTOMERS = SAMPLES["customers"].load()
QUASI = list(CUSTOMERS.columns[:-1])
SCHEMA = Schema.of(CUSTOMERS, quasi_identifying=QUASI, sensitive=[CUSTOMERS.columns[-1]])
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
    quasi = ["age", "sex", "postcode", "marital_status", "occupation", "admission_date"]
    schema = Schema.of(table, identifying=["name", "email"], quasi_identifying=quasi, sensitive=["diagnosis"])
    ws = Workspace(reading=sample_reading("hospital", table), schema=schema)
    ws.reasons = {"unchanged: days_of_stay, cost": "nobody in this table lives"}
    ws.set(k=10)
    return ws


def open_page(ws: Workspace | None = None) -> AppTest:
    """The dashboard, opened on the Release page."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/release.py").run()


def open_tree(ws: Workspace) -> AppTest:
    """The dashboard, opened on the Tree page, where settings are."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/tree.py").run()


def on_release(app: AppTest) -> AppTest:
    """The Release page, gone to from another one."""
    return app.switch_page("../pages/release.py").run()


def buttons(app: AppTest) -> dict[str, bool]:
    """Each download, and whether it can be clicked."""
    return {item.proto.label: not item.proto.disabled for item in app.get("download_button")}


def plain_text(app: AppTest) -> str:
    """Everything that is said on the page, as it is read: without the escapes of Markdown."""
    more = [item.value for item in app.success]
    return re.sub(r"[\\\u2060]", "", "\n".join([texts(app), *more]))


def without(words: object, names: tuple[str, ...]) -> object:
    """The same JSON without some entries; sums in another order may differ in their last digits."""
    if isinstance(words, dict):
        return {name: without(value, names) for name, value in words.items() if name not in names}
    if isinstance(words, float):
        return round(words, 9)
    return [without(value, names) for value in words] if isinstance(words, list) else words


def test_empty__leads_to_the_data_page() -> None:
    app = open_page()
    assert not app.exception
    assert "nothing to release" in app.header[0].value
    assert not app.get("download_button")


def test_no_roles__leads_to_the_roles_page() -> None:
    app = open_page(Workspace(reading=sample_reading("customers", CUSTOMERS)))
    assert not app.exception
    assert [link.proto.label for link in app.get("page_link")] == ["Say what each column is"]


def test_customers__the_page_says_what_the_release_is() -> None:
    app = open_page(session(2))
    assert not app.exception
    released = session_of(app).flow.release.frame()
    risk = linkage_risk(released, QUASI)
    assert risk.smallest >= 2
    assert "This release is 2-anonymous" in plain_text(app)
    assert len(app.success) == 1
    assert not app.error
    strip = {item.label: item.value for item in app.metric}
    assert strip["Rows"] == "14"
    assert strip["Groups"] == str(risk.groups)
    assert strip["Smallest group"] == str(risk.smallest)
    assert strip["Highest risk"] == share(risk.highest)
    assert strip["Detail lost (GCP)"] == share(session_of(app).flow.utility.gcp)
    assert set(buttons(app).values()) == {True}
    assert len(buttons(app)) == len(session_of(app).flow.release.formats) + 3


def test_every_check__is_a_sentence_on_the_page(hospital: Workspace) -> None:
    app = open_page(hospital)
    assert not app.exception
    words = plain_text(app)
    for check in hospital.flow.verification.checks:
        assert check.sentence in words
    assert "Left out of the file: name, email" in words


def test_homogeneous_groups__are_a_warning_in_view() -> None:
    app = open_page(session(2))
    frame, target = session_of(app).flow.release.frame(), CUSTOMERS.columns[-1]
    groups = frame.groupby(QUASI, observed=True, dropna=False)[target]
    alike = int((groups.transform("nunique") == 1).sum())
    assert alike > 0
    warned = [item.value for item in app.warning if "have the same" in item.value]
    assert len(warned) == 1
    assert warned[0].startswith(f"{alike} rows")
    assert "ask for l = 2" in warned[0]
    ws = session(2)
    ws.set(l=2)
    assert not [item.value for item in open_page(ws).warning if "have the same" in item.value]


def test_one_row__stands_before_and_after(hospital: Workspace) -> None:
    app = open_page(hospital)
    originals = set()
    for _ in range(4):
        cells = next(item.value for item in app.dataframe if "original" in item.value).set_index("column")
        assert set(cells.index) == set(hospital.schema.quasi_identifying)
        low, high = re.fullmatch(r"\[?(\d+)(?:, (\d+)\])?", cells.released["age"]).group(1, 2)
        assert int(low) <= int(cells.original["age"]) <= int(high or low)
        changed = (cells.original != cells.released).tolist()
        assert changed == sorted(changed, reverse=True)
        released = hospital.flow.released
        same = (released[list(cells.index)].astype(str) == cells.released.to_numpy()).all(axis=1)
        words = plain_text(app)
        assert f"{sum(changed)} of 6 quasi-identifiers changed. {same.sum() - 1} other rows look the same." in words
        originals.add(tuple(cells.original))
        next(button for button in app.button if button.label == "Another row").click()
        app.run()
    assert len(originals) > 1


def test_one_row__a_missing_value_that_is_released_as_missing_did_not_change() -> None:
    table = CUSTOMERS.astype({QUASI[0]: object})
    table.loc[:, QUASI[0]] = None
    cells = one_row_of(session(table=table, schema=Schema.of(table, quasi_identifying=QUASI)).flow, 0).cells
    assert (QUASI[0], "missing", "missing") in cells


@pytest.mark.parametrize("grouping", ["median-mondrian", "infogain-mondrian", "error-risk"])
def test_grouping__can_be_compared_on_the_page(grouping: str) -> None:
    app = open_tree(session(2, generalizer="uniform"))
    app.selectbox(key="tree grouping").set_value(grouping).run()
    assert not app.exception
    on_release(app)
    assert "This release is 2-anonymous" in plain_text(app)
    made = anonymize(CUSTOMERS, SCHEMA, grouping=grouping, generalizer="uniform", k=2)
    risk = linkage_risk(made.release.frame(), QUASI)
    strip = {item.label: item.value for item in app.metric}
    assert strip["Groups"] == str(risk.groups)
    assert f"--grouping {grouping}" in next(code.value for code in app.code if " anonymize " in code.value)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_cells__are_written_as_chosen_and_explained(writing: str, numbers: str) -> None:
    app = open_tree(session(2, generalizer="uniform"))
    app.selectbox(key=f"tree writing {len(WRITINGS)}").set_value(writing)
    app.selectbox(key=f"tree numbers {len(NUMBERS)}").set_value(numbers).run()
    session_of(app).flow.compute("release")
    app.run()
    assert not app.exception
    for guarantee in (WRITINGS[writing], NUMBERS[numbers]):
        assert guarantee.gives in plain_text(app)
        assert guarantee.does_not in plain_text(app)
    made = anonymize(CUSTOMERS, SCHEMA, generalizer="uniform", k=2, writing=writing, numbers=numbers)
    released_rows = session_of(app).flow.release.frame()
    for name in QUASI:
        assert sorted(map(str, released_rows[name])) == sorted(map(str, made.release.frame()[name]))
    public, ranges = (anonymize(CUSTOMERS, SCHEMA, generalizer="uniform", k=2, writing=writing, numbers=name)
                      for name in INTERVALS)  # fmt: skip
    price = f"{share(public.utility.gcp)} with round ends, {share(ranges.utility.gcp)} with exact ends"
    assert price in plain_text(app)
    strip = {item.label: item.value for item in on_release(app).metric}
    assert strip["Detail lost (GCP)"] == strip["Detail lost"] == share(made.utility.gcp)


def test_order_of_the_rows__is_chosen_and_said() -> None:
    app = open_tree(session(2, generalizer="uniform"))
    assert ORDERS["content"] in plain_text(app)
    app.selectbox(key="tree order").set_value("secret").run()
    assert not app.exception
    assert ORDERS["secret"] in plain_text(app)
    assert ORDERS["content"] not in plain_text(app)
    on_release(app)
    ws = session_of(app)
    assert sorted(ws.flow.leaving.order) == sorted(ws.flow.release.order)
    assert ws.flow.leaving.order.tolist() != ws.flow.release.by_content().order.tolist()
    assert "--order secret" in next(code.value for code in app.code if " anonymize " in code.value)


def test_short_names_of_sets__are_chosen_and_said(hospital: Workspace) -> None:
    schema = hospital.schema
    assert schema is not None
    ws = session(60, table=hospital.table, schema=schema)
    ws.reasons = hospital.reasons
    app = open_tree(ws)
    assert SETS["full"] in plain_text(app)
    app.selectbox(key="tree sets").set_value("named").run()
    assert not app.exception
    assert SETS["named"] in plain_text(app)
    on_release(app)
    release = session_of(app).flow.leaving
    names = {cell.text() for column in release.generalized for cell in column.cells if cell.name}
    assert names
    assert "give one of them with the file" in plain_text(app)
    assert "--sets named" in next(code.value for code in app.code if " anonymize " in code.value)
    assert any(text in names for _, _, text in one_row_of(ws.flow).cells)
    assert any(text in {value for table in app.dataframe for value in table.value.to_numpy().ravel()} for text in names)


def test_tiered__offers_no_writing_that_counts() -> None:
    ws = session(2, "tiered")
    ws.set(writing="weighted", numbers="mean")
    app = open_tree(ws)
    assert not app.exception
    assert not app.error
    assert (ws.settings.writing, ws.settings.numbers) == ("sets", "public")
    assert app.selectbox(key="tree numbers 2").options == [NUMBERS[name].title for name in INTERVALS]
    assert "count people twice" in plain_text(app)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_generalizer__comes_with_its_honest_label(generalizer: str) -> None:
    app = open_tree(session(3))
    app.selectbox(key="tree generalizer").set_value(generalizer).run()
    assert all(job.done.wait(PATIENCE) for job in session_of(app).jobs.values())
    app.run()
    assert not app.exception
    assert session_of(app).flow.release.method == generalizer
    words = plain_text(app)
    assert GUARANTEES[generalizer].gives in words
    assert GUARANTEES[generalizer].does_not in words
    words = plain_text(on_release(app))
    smallest = linkage_risk(session_of(app).flow.release.frame(), QUASI).smallest
    assert ("This release is 3-anonymous" in words) == (smallest >= 3)


def test_tiered__needs_a_reason_and_the_report_keeps_it() -> None:
    ws = session(3, "tiered")
    ws.set(criterion="in-order")
    app = open_page(ws)
    assert not app.exception
    assert not app.success
    assert "not 3-anonymous" in plain_text(app)
    assert set(buttons(app).values()) == {False}
    app.text_area[0].set_value("  because ").run()
    assert set(buttons(app).values()) == {False}
    app.text_area[0].set_value(REASON).run()
    assert set(buttons(app).values()) == {True}
    assert not app.button(key="begin packet").disabled
    app.switch_page("../pages/data.py").run()
    app.switch_page("../pages/release.py").run()
    assert app.text_area[0].value == REASON
    ws = session_of(app)
    report = json.loads(report_text(ws.flow.release, ws.flow.report, REASON))
    assert report["override"] == REASON
    assert report["passed"] is False
    app.switch_page("../pages/tree.py").run()
    app.slider(key="tree k").set_value(2).run()
    on_release(app)
    assert not app.text_area or app.text_area[0].value == ""


def test_required_l__steers_the_groups_and_is_checked() -> None:
    app = open_tree(session(2))
    app.number_input(key="tree l").set_value(2).run()
    assert not app.exception
    target = CUSTOMERS.columns[-1]
    held_by_groups = session_of(app).flow.release.frame().groupby(QUASI, observed=True)[target].nunique()
    assert held_by_groups.min() >= 2
    assert session_of(app).flow.verification[f"distinct l-diversity of {target}"].passed
    app.number_input(key="tree l").set_value(None).run()
    assert session_of(app).settings.l is None


def test_required_t__that_a_generalizer_breaks_locks_the_download() -> None:
    ws = session(2, "tiered")
    ws.set(t=0.0)
    app = open_page(ws)
    assert not app.exception
    failed = [check.name for check in session_of(app).flow.verification.failed]
    assert any(name.startswith("t-closeness") for name in failed)
    assert set(buttons(app).values()) == {False}


@pytest.mark.parametrize(("k", "l", "what"), [(15, None, "fewer than k = 15"), (2, 3, "at least 3 is required")])
def test_impossible__is_one_clear_message(k: int, l: int | None, what: str) -> None:  # noqa: E741
    ws = session(k)
    ws.set(l=l)
    app = open_page(ws)
    assert not app.exception
    assert len(app.error) == 1
    assert what in plain_text(app)
    assert not app.get("download_button")


def test_report__is_the_one_that_the_flow_makes() -> None:
    ws = session(2, generalizer="uniform")
    flow = anonymize(CUSTOMERS, SCHEMA, generalizer="uniform", k=2, reading=ws.reading).report
    varying = ("time", "worst", "commitment", "key")
    assert without(ws.flow.report.to_dict(), varying) == without(flow.to_dict(), varying)
    assert set(flow.provenance.parameters) == set(setting_names(*RUN))


def test_report__holds_the_digest_of_every_file_and_no_order() -> None:
    ws = session(2)
    report = json.loads(report_text(ws.flow.release, ws.flow.report, ""))
    for format in ws.flow.release.formats:
        content = ws.flow.release.to_bytes(format)
        assert report["provenance"]["output_sha256"][format] == digest(content)
        assert len(read_release(content)) == len(CUSTOMERS)
    assert report["override"] is None
    assert "order" not in report["provenance"]


def test_command_and_python__make_the_same_groups_again(
    hospital: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hospital.set(generalizer="uniform")  # another secret makes other groups
    made = hospital.flow.report
    Path("REPORT.json").write_text(made.to_json(), "utf-8")
    app = open_page(hospital)
    assert made.provenance.command in [item.value for item in app.code]
    assert made.provenance.python in [item.value for item in app.code]
    python, module, package, *arguments = shlex.split(made.provenance.command)
    assert (python, module, package) == ("python", "-m", "anonymizer")
    assert main(arguments) == 0
    by_command = linkage_risk(read_release("RELEASE.csv"), hospital.schema.quasi_identifying)
    assert (by_command.groups, by_command.smallest) == (made.after.groups, made.after.smallest)
    Path("RELEASE.csv").unlink()
    again = [sys.executable, "-c", made.provenance.python]
    subprocess.run(again, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
    by_python = linkage_risk(read_release("RELEASE.csv"), hospital.schema.quasi_identifying)
    assert (by_python.groups, by_python.smallest) == (made.after.groups, made.after.smallest)
    check = shlex.split(next(item.value for item in app.code if " verify " in item.value))
    hospital.flow.release.write(check[check.index("verify") + 1])
    Path(check[check.index("--schema") + 1]).write_text(made.to_json(), "utf-8")
    assert main(check[3:]) == 0


def test_charts__follow_the_chosen_column() -> None:
    app = open_page(session(2))
    box = next(box for box in app.selectbox if box.label == "Column")
    columns = {column.name: column for column in session_of(app).flow.distributions}
    assert set(box.options) == set(columns) == set(QUASI)
    for name in box.options:
        next(box for box in app.selectbox if box.label == "Column").set_value(name).run()
        assert not app.exception
        assert moved_sentence(columns[name]) in plain_text(app)
    utility = session_of(app).flow.utility
    assert loss_sentence(utility.ncp_by_column, utility.gcp) in plain_text(app)


def test_nothing_to_analyse__is_not_spoken_of() -> None:
    app = open_page(session(2))
    assert not app.exception
    assert session_of(app).flow.coefficients is None
    assert "regression of" not in plain_text(app)


def test_numeric_target__is_released_and_has_no_class_error() -> None:
    table = SAMPLES["employees"].load()
    schema = Schema.of(table, quasi_identifying=["Age", "YearsEdu", "Occupation"], sensitive=["Income", "Asset"])
    app = open_page(session(3, table=table, schema=schema))
    assert not app.exception
    assert not app.error
    assert "This release is 3-anonymous" in plain_text(app)
    assert "Error" not in {item.label for item in app.metric}


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


def test_a_survey_and_a_named_regression__stand_below_what_changed(hospital: Workspace) -> None:
    app = open_page(hospital)
    assert not app.exception
    weighted = session_of(app).flow.weighted
    laps = [one.overlap for one in weighted.figures if one.what != "total"]
    assert f"The 95% intervals of means and shares overlap by {sum(laps) / len(laps):.1%} on average" in plain_text(app)
    named = next(field for field in app.text_input if field.label == "Regression before and after")
    named.set_value("days_of_stay ~ height").run()
    assert "names 'height', which is no column" in plain_text(app)
    assert session_of(app).settings.regression is None
    named = next(field for field in app.text_input if field.label == "Regression before and after")
    named.set_value("cost ~ age + sex").run()
    assert not app.exception
    regression = session_of(app).flow.weighted.regression
    assert regression.formula == "cost ~ age + sex"
    assert regression_sentence(regression) in plain_text(app)
    tables = [frame.value for frame in app.dataframe if "Figure" in frame.value]
    table = next(frame for frame in tables if "(constant)" in set(frame["Figure"]))
    assert table["Before (95% interval)"].tolist() == [interval_text(term.before) for term in regression.terms]
