"""One word for a thing: what people read on pages, in reports and on the terminal holds none of the words that have
another in the glossary, nor turns of phrase that nobody would say."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources import nodes_of

ROOT = Path(__file__).parents[1]
PLACES = ("anonymizer", "ui", "pages")
INSTEAD = {
    r"look-alikes": "group",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bequivalence class": "group",
    r"\bindividuals\b": "persons",
    r"\bends that are values\b": "exact ends",
    r"\bpublic ends\b": "round ends",
    r"\bReady to leave\b": "Ready",
    r"\bdropp?ed on\b": "opened",
    r"\bForget it\b": "Remove table",
    r"\bbring (a|another|one|it|fewer|more|files|them|the|last)\b": "use, choose or open",
    r"\bwaits for its table\b": "Now choose its table.",
    r"\bAccept one chance\b": "Highest risk you accept",
    r"\b(may|can) leave\b": "may be released",
    r"\bsays it all\b": "both give roles",
    r"\bTake it away\b": "Download",
    r"\bPoint at a person\b": "identify a person",
    r"\bnames no finding\b": "no such finding",
    r"\bLook closer\b": "Zoom into this branch",
}
"""What is not written, and what is instead."""
ON_SCREEN = {r"(?<!On )(\brecords?\b(?= [a-z…])|(?<=[a-z…] )records?\b)(?! row| surplus)": "row"}
"""The same, of texts of the program alone: documents for programmers speak of records."""


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The texts in a module that are no docstrings, with their lines; what is filled in is an ellipsis."""
    nodes = nodes_of(path.read_text("utf-8"), ast.Expr, ast.JoinedStr, ast.Constant)
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    others = alone | parts
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in others:
            yield node.lineno, node.value


def test_texts__use_the_words_of_the_glossary() -> None:
    any_of_them = re.compile("|".join(f"(?:{pattern})" for pattern in INSTEAD | ON_SCREEN), re.IGNORECASE)
    others = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]!r}, instead {word!r}"
        for place in PLACES
        for path in sorted((ROOT / place).rglob("*.py"))
        for line, text in texts_of(path)
        if any_of_them.search(text)
        for pattern, word in (INSTEAD | ON_SCREEN).items()
        if (match := re.search(pattern, text, re.IGNORECASE))
    ]
    assert others == []


DOCUMENTS = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("EXTENDING", "OPERATING", "POPULATION"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents__use_the_words_of_the_glossary(path: Path) -> None:
    text = path.read_text("utf-8")
    others = [
        (match[0], word) for pattern, word in INSTEAD.items() if (match := re.search(pattern, text, re.IGNORECASE))
    ]
    assert others == []


def test_a_word_that_has_another__is_seen(tmp_path: Path) -> None:
    module = tmp_path / "page.py"
    module.write_text('"""Look-alikes."""\nx = f"All {1} look-alikes"\ny = "mend"\n', "utf-8")
    assert list(texts_of(module)) == [(2, "All … look-alikes"), (3, "mend")]
    (record,) = ON_SCREEN
    assert all(re.search(record, text) for text in ("The records are here", "… records", "unique record"))
    assert not any(re.search(record, text) for text in ("On record with the police", "records", "what is recorded"))
