"""Everything of the framework that it does not promise to keep, looked for where it should be."""

import ast
import re
from pathlib import Path

import pytest
import streamlit
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.session_state import SessionState, WStates
from streamlit.testing.v1 import AppTest

from tests.conftest import ROOT
from ui.server import framework

SCRIPTS = Path(streamlit.__file__).parent / "static" / "static" / "js"
DOOR = "ui/server/framework.py"
ELEMENT = re.compile(r"data-testid=\"?(\w[\w-]*)")
CODE = [ROOT / "app.py", *(ROOT / "ui").rglob("*.py"), *(ROOT / "pages").glob("*.py")]
ELEMENTS = sorted(
    {
        name
        for file in (*(ROOT / "ui").rglob("*.css"), *(ROOT / "ui").rglob("*.js"))
        for name in ELEMENT.findall(file.read_text("utf-8"))
    }
)


def inner_imports(source: str) -> list[str]:
    """The modules inside the framework that a source imports from."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    names += [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    return [name for name in names if name.startswith("streamlit.")]


def test_nothing_else__reaches_into_the_framework() -> None:
    others = [file for file in CODE if file != ROOT / DOOR]
    assert len(others) > 50
    assert not {str(file): names for file in others if (names := inner_imports(file.read_text("utf-8")))}
    assert inner_imports((ROOT / DOOR).read_text("utf-8"))
    assert inner_imports("import streamlit.runtime as runtime") == ["streamlit.runtime"]


def test_styles__stand_in_the_style_sheet() -> None:
    assert not [str(file) for file in CODE if "data-testid" in file.read_text("utf-8")]


@pytest.mark.parametrize("name", framework.__all__)
def test_name__is_there(name: str) -> None:
    assert hasattr(framework, name)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (MediaFileManager, "_get_inactive_file_ids"), (MediaFileManager, "_delete_file"),
        (MediaFileManager, "execute_deferred"), (MediaFileManager, "clear_session_refs"),
        (MediaFileManager, "remove_orphaned_files"), (Runtime, "get_client"), (Runtime, "get_app_session"),
        (Runtime, "close_session"), (Runtime, "is_active_session"), (Runtime, "is_ready_for_browser_connection"),
        (Runtime, "media_file_mgr"), (Runtime, "uploaded_file_mgr"), (ScriptRunContext, "yield_check"),
    ],
)  # fmt: skip
def test_method__is_there(owner: type, name: str) -> None:
    assert hasattr(owner, name)


@pytest.mark.parametrize("name", ["_deferred_callables", "_file_metadata", "_lock"])
def test_files__have_what_is_read_of_them(name: str) -> None:
    assert hasattr(MediaFileManager(None), name)  # type: ignore[arg-type]


def test_widgets__have_what_is_read_of_them() -> None:
    assert isinstance(SessionState()._new_widget_state, WStates)
    assert WStates().widget_metadata == {}


def test_a_drawing__knows_its_widgets() -> None:
    def page() -> None:
        import streamlit as st

        from ui.server.framework import running, session_name, widgets_drawn

        st.button("Press", key="press")
        st.text(f"{len(widgets_drawn())} {bool(session_name())} {running().parallel_coordinator is not None}")

    assert AppTest.from_function(page).run().text[0].value.split()[:2] == ["1", "True"]


@pytest.fixture(scope="module")
def bundle() -> str:
    return "".join(file.read_text("utf-8") for file in SCRIPTS.glob("*.js"))


@pytest.mark.parametrize("name", ELEMENTS)
def test_element__is_drawn_by_the_framework(name: str, bundle: str) -> None:
    assert name.partition("-")[0] in bundle, "what follows is the kind of a button"


def test_elements__that_are_not_drawn_are_missed(bundle: str) -> None:
    assert len(ELEMENTS) > 20
    assert "stNothingOfTheKind" not in bundle
