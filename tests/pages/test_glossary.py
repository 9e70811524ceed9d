"""Every technical word that a page uses can be looked up on that page, in the words of the glossary."""

import ast
import re

import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.groups.recipe import GROUPING_WORDS, grouping_words
from anonymizer.releasing.generalize import GUARANTEES
from tests.conftest import ROOT
from tests.pages.test_data import SHELL
from tests.pages.tree import open_page, session
from tests.waiting import PATIENCE
from ui.glossary import TERMS, WORDS, meaning, meanings, words
from ui.navigation import SIDE_PAGES, STEPS

PAGES = [name for name, *_ in (*STEPS, *(page for members in SIDE_PAGES.values() for page in members))]
EVERYDAY = {
    "audit", "box", "branch", "cell", "check", "columns", "cut", "domain", "error", "external report", "flow", "global",
    "identifying", "internal report", "key", "kind", "leaf", "limit", "linking", "margin", "mean", "median", "missing",
    "noise", "person", "raw", "record", "room", "rule", "setting", "split", "stage", "target", "verification", "hall",
    "insensitive", "sensitive", "node", "spread", "concatenated", "scenario", "threshold", "project file", "inference",
    "significance", "pruning", "not k-anonymous", "isolation", "posterior", "round ends", "budget",
}  # fmt: skip
"""Words of the glossary that mean on a page what they mean anywhere, or stand on every page."""


def texts_of(page: str) -> str:
    """All text of a page's own modules but docstrings and keys, in lower case."""
    files = [ROOT / "pages" / f"{page}.py", *sorted((ROOT / "ui" / page).glob("*.py"))]
    texts = []
    for file in files:
        tree = ast.parse(file.read_text("utf-8"))
        notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts += [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes
            and " " in node.value
        ]  # fmt: skip
    return "\n".join(texts).lower()


@pytest.mark.parametrize("page", PAGES)
def test_every_technical_word_of_a_page__has_its_meaning_there(page: str) -> None:
    explained = {meanings()[word.lower()] for word in WORDS[page]}
    technical = {word for word in meanings() if len(word) > 3 and "(" not in word} - EVERYDAY
    texts = texts_of(page)
    used = {word for word in technical if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", texts)}
    assert not {word for word in used if meanings()[word] not in explained}


def test_every_word_of_a_page__is_in_the_glossary() -> None:
    assert set(WORDS) == set(PAGES)
    assert not {word for terms in WORDS.values() for word in terms if word.lower() not in meanings()}


@pytest.mark.parametrize("page", ["data", "verify"])
def test_the_button__opens_the_words_of_the_page(page: str) -> None:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run().switch_page(f"../pages/{page}.py").run()
    explained = {meanings()[word.lower()] for word in WORDS[page]}
    assert not explained & {item.value for item in app.markdown}, "nothing is sent before it is asked for"
    app.session_state[f"words {page}"] = True
    app.run()
    assert not app.exception
    assert explained <= {item.value for item in app.markdown}


def test_a_page_without_words__has_no_button() -> None:
    assert words("nowhere") is None


def test_a_method_and_a_limit__are_explained_where_they_are_chosen() -> None:
    titles = [grouping_words(name)[0] for name in GROUPING_WORDS] + [words.title for words in GUARANTEES.values()]
    assert all(meaning(name) for name in (*TERMS, *titles))
    assert {"k", "l", "t"} <= set(TERMS)
    assert meaning("something else") is None
    app = open_page(session())
    assert app.slider(key="tree k").help == meaning("k")
    assert app.number_input(key="tree l").help == meaning("l")
    for name in ("least", "median-mondrian"):
        app.selectbox(key="tree grouping").set_value(name).run()
        assert app.selectbox(key="tree grouping").value == name
        assert app.selectbox(key="tree grouping").help == meaning(grouping_words(name)[0])
