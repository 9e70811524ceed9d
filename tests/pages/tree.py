"""The Tree page without a browser, opened with a table of 400 records."""

import re

import numpy as np
from streamlit.testing.v1 import AppTest

from anonymizer.schema import Schema
from tests.drawn_trees import table
from tests.pages.test_data import SHELL, texts
from tests.waiting import PATIENCE
from ui.tree.choices import GROWTH
from ui.workspace import Workspace, sample_reading


def session(k: int = 8) -> Workspace:
    """A session with a table of 400 records, three columns and three illnesses."""
    frame, schema = table()
    ws = Workspace(reading=sample_reading("four hundred", frame), schema=schema)
    ws.set(k=k)
    return ws


def open_page(ws: Workspace | None = None, *, unfolded: bool = True) -> AppTest:
    """The page, with all that folds open."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    if unfolded:
        for key in (GROWTH, "groups", "steps"):
            app.session_state[key] = True
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/tree.py").run()


def plain_text(app: AppTest) -> str:
    """Everything that is said on the page, without the escapes of Markdown."""
    return re.sub(r"[\\\u2060]", "", texts(app))


def numbers(k: int = 8, categories: bool = False) -> Workspace:
    """A session whose sensitive columns are two numbers, or these beside the illness that guides the tree."""
    frame, _ = table()
    rng = np.random.default_rng(2)
    frame["income"] = (1000 + 40 * frame["age"].fillna(50) + rng.normal(0, 400, len(frame))).round()
    frame["stay"] = rng.integers(1, 30, len(frame))
    sensitive = ["illness", "income", "stay"] if categories else ["income", "stay"]
    if not categories:
        frame = frame.drop(columns="illness")
    schema = Schema.of(frame, quasi_identifying=["age", "job", "day"], sensitive=sensitive)
    ws = Workspace(reading=sample_reading("four hundred with numbers", frame), schema=schema)
    ws.set(k=k)
    return ws
