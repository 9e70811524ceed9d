"""A treatment on the Roles page: chosen, applied, refused in a sentence, and taken back."""

import pandas as pd
from streamlit.testing.v1 import AppTest

from anonymizer.reading.samples import SAMPLES
from anonymizer.schema import Schema
from tests.pages.test_data import SHELL
from ui.workspace import Workspace, sample_reading

HOSPITAL = SAMPLES["hospital"].load()


def open_page() -> tuple[AppTest, Workspace]:
    """The dashboard, opened on the Roles page, with a cost that is released without a box."""
    table: pd.DataFrame = HOSPITAL
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["cost"], identifying=["name", "email"])
    ws = Workspace(reading=sample_reading("hospital", table), schema=schema)
    app = AppTest.from_file(SHELL, default_timeout=120)
    app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/roles.py").run(), ws


def box(app: AppTest, label: str) -> object:
    return next(item for item in app.selectbox if item.label == label)


def apply(app: AppTest) -> AppTest:
    return next(item for item in app.button if item.label == "Apply").click().run()


def test_treatment__is_applied_refused_and_taken_back() -> None:
    app, ws = open_page()
    box(app, "Column to treat").set_value("cost").run()  # type: ignore[attr-defined]
    box(app, "Treatment").set_value("round").run()  # type: ignore[attr-defined]
    number = next(item for item in app.text_input if item.label == "n")
    number.set_value("100").run()
    apply(app)
    assert not app.exception
    assert ws.schema is not None
    assert ws.schema["cost"].treat == "round:100"
    assert any("Rounded to the nearest multiple of 100" in item.value for item in app.caption)
    next(item for item in app.text_input if item.label == "n").set_value("x").run()
    apply(app)
    assert any("needs a number" in item.value for item in app.error)
    assert ws.schema["cost"].treat == "round:100"
    box(app, "Treatment").set_value("").run()  # type: ignore[attr-defined]
    apply(app)
    assert ws.schema["cost"].treat == ""
