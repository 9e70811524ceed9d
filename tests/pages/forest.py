"""The Forest page without a browser, opened with the hospital sample."""

import json

from streamlit.testing.v1 import AppTest

from anonymizer.forest.domains import domains_of
from anonymizer.reading.samples import SAMPLES
from anonymizer.schema import Schema
from tests.pages.test_data import SHELL, session_of, texts
from tests.waiting import PATIENCE
from ui.forest.state import Codebook, ForestState
from ui.workspace import Workspace, sample_reading

TABLE = SAMPLES["hospital"].load()
SCHEMA = Schema.of(
    TABLE,
    identifying=["name", "email"],
    quasi_identifying=["age", "sex", "postcode", "marital_status", "occupation", "admission_date"],
    sensitive=["diagnosis"],
)
COLUMNS = ["age", "sex", "marital_status", "occupation"]


def session(public: bool = True) -> Workspace:
    ws = Workspace(reading=sample_reading("hospital", TABLE), schema=SCHEMA)
    ws.state(ForestState).columns = tuple(COLUMNS)
    if public:
        known_domains = domains_of(TABLE, "diagnosis", columns=COLUMNS, schema=SCHEMA)
        codebook = known_domains.to_dict()
        for domain in codebook.values():
            domain.pop("read_from_data", None)
        bring_codebook(ws, json.dumps(codebook))
    return ws


def bring_codebook(ws: Workspace, text: str) -> None:
    ws.state(ForestState).codebook = Codebook(text, "codebook.json")


def open_page(ws: Workspace | None = None) -> AppTest:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/forest.py").run()


def plain_text(app: AppTest) -> str:
    more = [item.value for item in app.success]
    return "\n".join([texts(app), *more]).replace("\\", "")


def grow(app: AppTest) -> None:
    """Press the button that grows a forest, and wait until it is there."""
    app.button(key="begin forest").click().run()
    job = session_of(app).jobs.get("forest")
    if job is not None:
        assert job.done.wait(PATIENCE)
        app.run()


def figures(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}
