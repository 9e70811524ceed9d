"""No page draws a text that stands alone in its source: these say what a name is, to who reads the code."""

import ast

import pytest

from tests.pages.test_data import SHELL
from tests.pages.test_folder import PAGES, open_page, texts
from ui.workspace import Workspace


@pytest.mark.parametrize("page", PAGES)
def test_no_docstring__is_drawn(page: str) -> None:
    sources = (SHELL, SHELL.parents[1] / "pages" / f"{page}.py")
    alone = [
        node.value.value
        for source in sources
        for node in ast.walk(ast.parse(source.read_text("utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    assert len(alone) > 1
    words = texts(open_page(Workspace(), page))
    assert words
    assert not [text for text in alone if text in words]
