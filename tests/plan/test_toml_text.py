"""TOML from outside: every key has its line and column, and whatever the text holds, a fault is one sentence."""

import time
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.errors import ReadError
from anonymizer.plan.toml_text import MOST_BYTES, parse

WHOLE = """\
layout = 1
[columns.age] # comment with = and [brackets]
role = "x"
[columns."a.b"]
"k\\ny" = [1, {z = 2, 'q'=[3,
 4]}]
a . b.c = \"\"\"x
y = 3\"\"\"
[[h."ü"]]
k=1
"""
PLACES = {
    ("layout",): (1, 1), ("columns", "age"): (2, 1), ("columns", "age", "role"): (3, 1), ("columns", "a.b"): (4, 1),
    ("columns", "a.b", "k\ny"): (5, 1), ("columns", "a.b", "k\ny", 0): (5, 11), ("columns", "a.b", "k\ny", 1): (5, 14),
    ("columns", "a.b", "k\ny", 1, "z"): (5, 15), ("columns", "a.b", "k\ny", 1, "q"): (5, 22),
    ("columns", "a.b", "k\ny", 1, "q", 1): (6, 2), ("columns", "a.b", "a", "b", "c"): (7, 1),
    ("h", "ü", "k"): (10, 1),
}  # fmt: skip
BROKEN: dict[str, tuple[Any, str]] = {
    "nothing behind a key": (b"a = ", "line 1, column 5"),
    "nul": (b"a = 1\n\x00", "line 2, column 1"),
    "key twice": (b"a = 1\na = 2", "line 2, column 6: cannot overwrite a value."),
    "deep lists": (b"a = " + b"[" * 10_000, "line 1, column 26: more than 20"),
    "deep tables": (b"a = " + b"{a=" * 10_000, "more than 20"),
    "a long dotted key": (b"a." * 1_000_000 + b"a = 1", "more than 20"),
    "a long header": (b"[" + b"a." * 1_000_000 + b"a]", "more than 20"),
    "a huge number": (b"x = " + b"9" * 5_000, "copse.toml"),
    "another encoding": ("ü = 1".encode("utf-16"), "line 1: this is not text in UTF-8."),
    "latin letters": ("a = 1\nb = 'é'".encode("latin-1"), "line 2: this is not text in UTF-8."),
    "an open text": (b'a = "x', "line 1, column 7"),
    "an open long text": (b'a = """x\n\n', "line 3, column 1"),
    "an open table": (b"[a\nb = 1", "line 1, column 3"),
    "no key": (b"= 1", "line 1, column 1"),
    "no day": (b"a = 1979-13-45", "line 1"),
    "many quotes": (b'"' * 1_000_000, "copse.toml"),
    "many escapes": (b'"""\\' * 200_000, "copse.toml"),
    "too large": (b"#" * (MOST_BYTES + 1), "larger than 4 MiB"),
    "a table": (b"name,age\nAnn,3\n", "line 1, column 5"),
}


def test_places__of_every_key() -> None:
    source = parse(WHOLE, "copse.toml").source
    assert {path: source.where(path) for path in PLACES} == {
        path: f"copse.toml, line {line}, column {column}" for path, (line, column) in PLACES.items()
    }
    assert source.where(("columns", "age", "nothing")) == source.where(("columns", "age")), "of the table around it"
    assert source.where(("nothing",)) == "copse.toml"


@pytest.mark.parametrize("change", [lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n")])
def test_places__do_not_depend_on_marks_and_ends_of_lines(change: Any) -> None:
    value = parse(change(WHOLE).encode(), "copse.toml")
    assert value.value == tomllib.loads(WHOLE)
    assert value.source.places == parse(WHOLE, "copse.toml").source.places


@pytest.mark.parametrize("case", BROKEN)
def test_broken_text__is_one_sentence_with_its_place(case: str) -> None:
    content, words = BROKEN[case]
    start = time.monotonic()
    with pytest.raises(ReadError) as error:
        parse(content, "copse.toml")
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert time.monotonic() - start < 20, "a hostile text takes no time"


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The slow twin: the path of every key and item of a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way for key, own in pairs for way in ((*path, key), *paths(own, (*path, key)))]


KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.integers(-9, 9) | st.booleans() | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def quoted(text: str) -> str:
    return '"' + "".join(f"\\U{ord(letter):08x}" for letter in text) + '"'


def inline(value: Any) -> str:
    """A value as TOML within a line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)} = {inline(own)}" for key, own in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return quoted(value) if isinstance(value, str) else str(value).lower()


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.dictionaries(KEYS, VALUES, max_size=3))
def test_places__are_those_of_all_paths(first: dict[str, Any], second: dict[str, Any]) -> None:
    text = "".join(f"{quoted(key)}={inline(value)} # =[\n" for key, value in first.items())
    header = "own table"
    text += f"['{header}']\n" + "".join(f"{quoted(key)} = {inline(value)}\n" for key, value in second.items())
    value = parse(text, "copse.toml")
    assert set(value.source.places) == set(paths(value.value))


@given(st.binary(max_size=60) | st.text(max_size=60) | st.text("[]{}=.,\"'\n#a1 \\", max_size=80))
def test_any_text__is_a_table_or_one_sentence(content: bytes | str) -> None:
    sentence = ""
    try:
        value = parse(content, "copse.toml")
    except ReadError as error:
        sentence = str(error)
    else:
        assert isinstance(value.value, dict)
        assert set(value.source.places) >= set(paths(value.value)), "whoever asks gets a place"
    assert "\n" not in sentence
