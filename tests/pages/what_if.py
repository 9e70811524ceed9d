"""The What-if page without a browser, opened at one of its views."""

from streamlit.testing.v1 import AppTest

from anonymizer.checking.linkage import linkage_risk
from anonymizer.gate.judge import about_table
from anonymizer.pipeline import anonymize
from anonymizer.reading.samples import SAMPLES
from anonymizer.schema import Schema
from tests.pages.test_data import SHELL
from tests.waiting import PATIENCE
from ui.controls import count, share
from ui.what_if.state import WhatIfState
from ui.workspace import Workspace, sample_reading

TABLE = SAMPLES["hospital"].load()
QUASI = ["age", "sex", "postcode", "marital_status", "occupation", "admission_date"]
SCHEMA = Schema.of(TABLE, identifying=["name", "email"], quasi_identifying=QUASI, sensitive=["diagnosis"])
VIEWS = (
    "At a glance",
    "Which k do I need?",
    "What would I lose?",
    "Frontier",
    "Who knows less",
    "As a sample",
    "Scenarios",
    "History and project",
)


def session(**choices: object) -> Workspace:
    """A session with the hospital's table."""
    ws = Workspace(reading=sample_reading("hospital", TABLE), schema=SCHEMA)
    ws.set(**{"generalizer": "uniform"} | choices)  # its figures are the same whatever the secret
    return ws


def open_view(ws: Workspace | None, view: str = VIEWS[0]) -> AppTest:
    """The page, one of its views open."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    if ws is not None:
        ws.state(WhatIfState).view = view
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/what_if.py").run()


def slider(app: AppTest) -> AppTest:
    return next(item for item in app.slider if item.label.startswith("Group size"))


def press(app: AppTest, label: str) -> AppTest:
    return next(item for item in app.button if item.label.startswith(label)).click().run()


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def figures_of(ws: Workspace) -> dict[str, str]:
    """The strip by a run of the package that knows nothing of the session."""
    p = ws.settings
    result = anonymize(TABLE, SCHEMA, k=p.k, grouping=p.grouping, criterion=p.criterion, generalizer=p.generalizer)
    risk = linkage_risk(result.release.frame(), QUASI)
    stopping = [finding for finding in about_table(TABLE, SCHEMA) if finding.is_open]
    so_far = "Yes, so far" if risk.smallest >= p.k else "k is not kept"
    return {
        "Ready": f"{len(stopping):,} open so far" if stopping else so_far,
        "Rows": count(risk.records),
        "Groups": count(risk.groups),
        "Smallest group": count(risk.smallest),
        "Highest risk": share(risk.highest),
        "Detail lost (GCP)": share(result.utility.gcp),
        "Error": share(result.utility.error or 0.0),
    }
