"""Methods, attackers and measures have one name each, wherever they are spoken of."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from anonymizer.measuring.measures import MEASURES
from anonymizer.releasing.generalize import GUARANTEES, NUMBERS, WRITINGS
from anonymizer.reporting.dossier import PAPERS
from anonymizer.settings import NAMES, in_text, method_text, name_of, names_of
from anonymizer.whatif.scenarios import FIGURES
from tests.sources import nodes_of

ROOT = Path(__file__).resolve().parents[1]
SPELLINGS = {
    r"(\w+[ -])?mondrian": {"Median Mondrian", "InfoGain Mondrian", "Regression Mondrian", "Mondrian", "a Mondrian",
                            "by Mondrian", "median-mondrian", "and median-mondrian", "or median-mondrian"},
    r"(?:[\w']+ ){0,3}\(GCP": {"Detail lost (GCP", "of the detail (GCP", "by these groups (GCP", "(GCP"},
    r"error-(?:risk|digression)(?: \w+)?": {"Error-risk pruning", "Error-digression pruning", "error-risk",
                                             "error-digression"},
    r"(?:tiered|uniform) (?:generali[sz]ation|boxes)": {"Uniform boxes", "Tiered boxes"},
}  # fmt: skip
"""What may stand where a word like this stands; a key of a dictionary is a word of the command line, too."""
SPOKEN_OF = re.compile(r"mondrian|\(GCP|error-|generali|boxes", re.IGNORECASE)
"""What a text has that speaks of any of them."""


def texts(source: str) -> Iterator[str]:
    """Every text of a source but its docstrings."""
    nodes = nodes_of(source, ast.Expr, ast.Constant)
    comments = {id(node.value) for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in comments:
            yield node.value


def other_spellings(source: str) -> list[str]:
    """Words for methods and measures that are spelled as nowhere else."""
    return [
        match[0]
        for text in texts(source)
        if " " in text and SPOKEN_OF.search(text)
        for pattern, right in SPELLINGS.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
        if match[0].strip().lower() not in {word.lower() for word in right}
    ]


def other_tables(source: str) -> list[str]:
    """Dictionaries that give two or more methods or measures a title of their own; a sentence is no title."""
    tables = []
    for node in nodes_of(source, ast.Dict):
        if not isinstance(node, ast.Dict):
            continue
        for names in NAMES.values():
            titles = [
                value.value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value in names
                and isinstance(value, ast.Constant) and isinstance(value.value, str)
                and len(value.value.split()) <= 6 and value.value != value.value.lower()
                and not value.value[-4:].isdigit()
            ]  # fmt: skip
            tables += [titles] if len(titles) > 1 else []
    return [str(titles) for titles in tables]


def sources() -> dict[str, str]:
    """The sources of the package and of the dashboard, but the one that has the names."""
    files = [file for room in ("anonymizer", "ui", "pages") for file in sorted((ROOT / room).rglob("*.py"))]
    return {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in files if file.name != "settings.py"}


def test_other_spellings_and_tables__are_seen() -> None:
    assert other_spellings("x = 'For comparison: the Mondrian of old'")
    assert other_spellings("x = 'Loss of detail (GCP), 0 to 1'")
    assert other_spellings("x = 'the error-risk way'")
    assert other_spellings("x = f'{y} tiered generalization'")
    assert other_tables("x = {'least': 'Least of all', 'error-risk': 'ERP'}")
    assert not other_spellings("'''Error-risk and median-mondrian, old.'''")


def test_names__are_spelled_in_one_way() -> None:
    offences = {name: other_spellings(source) for name, source in sources().items()}
    assert not {name: words for name, words in offences.items() if words}


def test_names__stand_in_one_table() -> None:
    offences = {name: other_tables(source) for name, source in sources().items()}
    assert not {name: words for name, words in offences.items() if words}


@pytest.mark.parametrize(
    "kind", ["grouping", "generalizer", "criterion", "writing", "numbers", "order", "sets", "tested", "test_form"]
)
def test_every_choice__has_one_name(kind: str) -> None:
    assert set(names_of(kind)) <= set(NAMES[kind])
    assert len({name.lower() for name in NAMES[kind].values()}) == len(NAMES[kind])


def test_titles__begin_with_the_name() -> None:
    for kind, words in (("generalizer", GUARANTEES), ("writing", WRITINGS), ("numbers", NUMBERS)):
        assert all(guarantee.title.startswith(NAMES[kind][name] + ":") for name, guarantee in words.items())
    for key, source in PAPERS.items():
        names = {NAMES[kind][key] for kind in ("grouping", "generalizer") if key in NAMES[kind]}
        assert all(source.startswith(name) for name in names), key
    assert MEASURES["gcp"] == in_text(NAMES["measure"]["gcp"])
    assert set(FIGURES) <= set(NAMES["measure"])


def test_names__stand_in_the_glossary() -> None:
    glossary = (ROOT / "docs" / "GLOSSARY.md").read_text("utf-8").lower()
    missing = [
        name
        for kind in ("grouping", "generalizer", "attacker")
        for name in NAMES[kind].values()
        if name.lower() not in glossary
    ]
    assert not missing


def test_text__of_names() -> None:
    assert [in_text(name) for name in ("Packed groups", "InfoGain Mondrian", "RSD", "R²")] == [
        "packed groups", "InfoGain Mondrian", "RSD", "R²"
    ]  # fmt: skip
    assert method_text("least", "pack") == "Least pruning with packed groups"
    assert method_text("least", "uniform", 0.25) == "Blend of weight 0.25 with uniform boxes"
    assert name_of("grouping", "from outside") == "from outside"
