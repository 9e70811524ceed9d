"""Hierarchies: ARX's files in and out, the order of values, the smallest group that holds some."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.cuts import Cuts
from anonymizer.errors import SchemaError
from anonymizer.hierarchy import MOST_VALUES, Hierarchy
from tests.sweeps import few

JOBS = b"""Tech-support;Technical;*
Sales;Nontechnical;*
Craft-repair;Technical;*
Priv-house-serv;Other;*
Exec-managerial;Nontechnical;*
Adm-clerical;Other;*
Armed-Forces;Army;*
"""
"""In the form of ARX's own example of occupations: groups are not side by side."""

AGES = "".join(f"{a};{a // 5 * 5}-{a // 5 * 5 + 4};{a // 20 * 20}-{a // 20 * 20 + 19};*\n" for a in range(100)).encode()


def slow_cover(hierarchy: Hierarchy, low: int, high: int) -> tuple[int, int]:
    """The smallest set of values that share a word and hold all from one to another; all values, where none does."""
    best = (0, len(hierarchy.rows) - 1)
    if low == high:
        return low, high
    for level in range(hierarchy.n_levels, 0, -1):
        words = [row[level] for row in hierarchy.rows]
        if len(set(words[low : high + 1])) == 1:
            same = [place for place, word in enumerate(words) if word == words[low]]
            best = (same[0], same[-1])
    return best


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Values 0 to b − 1 in up to four levels of nested groups, their rows in any order."""
    b, levels = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    groups = list(range(b))
    columns = [[str(value) for value in range(b)]]
    for level in range(1, levels + 1):
        parent = [draw(st.integers(0, 3)) for _ in range(max(b, 4))]
        groups = [parent[group] for group in groups]
        columns.append([f"level {level} group {group}" for group in groups])
    rows = draw(st.permutations(list(zip(*columns, strict=True))))
    return Hierarchy(tuple(rows))


@settings(max_examples=few(60))
@given(hierarchies())
def test_nodes__stand_side_by_side_and_cover_as_they_should(hierarchy: Hierarchy) -> None:
    b = len(hierarchy.rows)
    for level in range(1, hierarchy.n_levels + 1):
        words = [row[level] for row in hierarchy.rows]
        assert all(words.index(word) + words.count(word) > place for place, word in enumerate(words))
    pairs = [(low, high) for low in range(b) for high in range(low, b)]
    first, last = hierarchy.cover(*(np.array(ends) for ends in zip(*pairs, strict=True)))
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == [slow_cover(hierarchy, *pair) for pair in pairs]
    assert Hierarchy.from_csv(hierarchy.to_csv()) == hierarchy
    assert Hierarchy(hierarchy.rows).rows == hierarchy.rows
    for codes in ([0], list(range(b)), list(range(b // 2, b))):
        ends = [
            hierarchy.words.get(word, (hierarchy.values.index(word),) * 2 if word in hierarchy.values else None)
            for word in hierarchy.parts(codes)
        ]
        assert [value for first, last in ends for value in range(first, last + 1)] == codes


def test_jobs__by_hand() -> None:
    jobs = Hierarchy.from_csv(JOBS)
    assert jobs.values == (
        "Tech-support", "Craft-repair", "Sales", "Exec-managerial", "Priv-house-serv", "Adm-clerical", "Armed-Forces"
    )  # fmt: skip
    assert jobs.words == {"Technical": (0, 1), "Nontechnical": (2, 3), "Other": (4, 5)}
    assert jobs.heights.tolist() == [3, 1, 2, 1, 2, 1, 2]
    assert jobs.levels() == [(4, ("Technical", "Nontechnical", "Other", "Army")), (1, ("*",))]
    assert jobs.parts([2, 3, 4]) == ["Nontechnical", "Priv-house-serv"]
    assert Hierarchy.from_csv('\ufeffä;"b;c";*\r\nß;"b;c";*\r\n'.encode()).words == {"b;c": (0, 1)}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\n", "no semicolon"),
        (b"a;b;*\nc;d\n", "Row 2 of the hierarchy has 2 fields, and the first row has 3"),
        (b"a;b;*\na;b;*\n", "Rows 1 and 2 of the hierarchy hold one value twice"),
        (b"a;b;*\nc;b;*\na;d;*\n", "Rows 1 and 3 of the hierarchy hold one value under two parents"),
        (b"a;g;x;*\nb;g;y;*\n", "Row 2 of the hierarchy puts a group of level 1 under a second parent"),
        (b"a;*;x\nb;*;x\nc;d;x\n", "writes \\* for a group that does not hold all values"),
        (b"a;g;*\ng;h;*\nb;g;*\n", "stands for two different groups"),
        (b"*;g;*\nb;g;*\n", "begins with \\*"),
        (b"a;;*\n", "empty"),
        (b"a;=cmd|' /C calc'!A0;*\n", "run as a formula"),
        (b"a;+b;*\n", "run as a formula"),
        (b"a;<script>alert(1)</script>;*\n", "markup"),
        (b"a;b\x07;*\n", "control characters"),
        (b"a;b\0;*\n", "no text file"),
        (b"\xff\xfe;b;*\n", "not text in UTF-8"),
        (b"PK\x03\x04;\n", "control characters"),
        (b"a;" + b"x" * 1000 + b";*\n", "longer than 500"),
        (b"a" + b";b" * 40 + b"\n", "from 1 to 30 levels"),
        (b'a;"b\nc;d\n' * 2, "control characters|cannot be read|fields"),
        (b"".join(b"%d;all\n" % n for n in range(MOST_VALUES + 1)), f"more than {MOST_VALUES:,} rows"),
    ],
)
def test_files_that_are_none__are_refused_in_a_sentence(data: bytes, words: str) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        Hierarchy.from_csv(data)
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)


def test_numbers__must_be_in_intervals() -> None:
    ages = Hierarchy.from_csv(AGES).in_numbers()
    assert ages.numbers.tolist() == list(range(100))
    mixed = Hierarchy.from_csv(b"10;low;*\n2;low;*\n30;high;*\n-5;low;*\n")
    assert mixed.in_numbers().values == ("-5", "2", "10", "30")
    for wrong, words in {
        b"1;a;*\n2;b;*\n3;a;*\n": "no interval",
        b"1;a;*\nx;b;*\n": "no numbers",
        b"1;a\n1.0;a\n": "twice",
    }.items():
        with pytest.raises(SchemaError, match=words):
            Hierarchy.from_csv(wrong).in_numbers()
    assert Cuts(hierarchy=ages).allows(20, 39)
    assert Cuts(hierarchy=ages).allows(7, 7)
    assert Cuts(hierarchy=ages).allows(0, 99)
    assert not Cuts(hierarchy=ages).allows(20, 38)
    assert not Cuts(hierarchy=ages).allows(0, 120)


def test_most_values__are_read_in_time() -> None:
    rows = tuple((str(n), f"a{n // 10}", f"b{n // 1000}", "*") for n in range(MOST_VALUES))
    hierarchy = Hierarchy(rows)
    assert len(hierarchy.words) == MOST_VALUES // 10 + MOST_VALUES // 1000
