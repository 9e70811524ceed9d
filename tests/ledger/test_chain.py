"""The chain of a ledger: the worked cases, every edit of a file, and two copies that went on apart."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.errors import ParameterError, ReadError
from anonymizer.ledger.chain import (
    Chain,
    canonical,
    entry_hash,
    in_order,
    judge,
    merge_chains,
    new_entry,
    read_chain,
)
from tests.checking.test_together import cases
from tests.sweeps import SWEEPS

CASES = ("good", "edited", "swapped", "cut short")


def chain_of(*kinds: str, after: Chain | None = None, times: tuple[str, ...] = ()) -> Chain:
    """A chain of new entries of these kinds, after those of another one; ``times``: when each was written."""
    entries = list(after.entries) if after else []
    for number, kind in enumerate(kinds):
        entry = new_entry(len(entries) + 1, [entries[-1]["hash"]] if entries else [], kind, note=f"n{number}")
        if times:
            entry["at"] = times[number]
            entry["hash"] = entry_hash(entry)
        entries.append(entry)
    return Chain(tuple(entries))


def time_at(minute: int) -> str:
    return f"2026-05-03T10:{minute:02}:00Z"


@pytest.mark.parametrize("name", CASES)
def test_chain__is_judged_as_the_cases_say(name: str) -> None:
    (case,) = (case for case in cases("ledger_chain") if case["name"] == name)
    fault = judge(case["lines"])
    chain = read_chain(b"".join(canonical(entry) + b"\n" for entry in case["lines"]))
    assert chain.fault == fault
    if name == "good":
        assert (fault, chain.head) == (None, case["head"])
        assert [entry_hash(entry) for entry in case["lines"]] == [entry["hash"] for entry in case["lines"]]
    elif name == "cut short":
        assert fault is None
        proof = chain.against(case["packet_head"], "A packet of 3 May")
        assert proof is not None
        assert proof.sentence.startswith("A packet of 3 May names an entry that this ledger does not have: it was cut")
        assert chain.against(chain.head, "A packet") is None
    else:
        assert fault is not None
        assert fault.line == case["first_wrong"]
        assert fault.sentence.lower().startswith(case["expected"])


def test_edited__says_that_nothing_was_changed() -> None:
    entries = [dict(entry) for entry in chain_of("note", "note", "note").entries]
    entries[1]["note"] = "other"
    fault = judge(entries)
    assert fault is not None
    assert fault.sentence == (
        "Entry 2 is not what was written; it and what follows prove nothing. Nothing was changed."
    )


WHOLE = chain_of("note", "table", "note", "note")
FORK = (
    chain_of("note", "note", after=WHOLE, times=(time_at(1), time_at(3))),
    chain_of("note", "table", after=WHOLE, times=(time_at(2), time_at(4))),
)
MERGED = merge_chains(*FORK)


@pytest.mark.parametrize(("chain", "step"), [(WHOLE, 1), (MERGED, 1 if SWEEPS else 7)], ids=["whole", "merged"])
def test_every_byte__that_is_changed_removed_or_added_is_named(chain: Chain, step: int) -> None:
    content = chain.to_bytes()
    assert read_chain(content).fault is None
    for at in range(0, len(content), step):
        byte = content[at]
        line = content[:at].count(b"\n") + 1
        for new in (bytes([byte ^ 1]), bytes([byte ^ 32]), b"", bytes([byte]) + b" ", b"\n" + bytes([byte])):
            fault = read_chain(content[:at] + new + content[at + 1 :]).fault
            assert fault is not None
            assert line <= fault.line <= line + 1 or fault.kind == "tails"


@pytest.mark.parametrize("chain", [WHOLE, MERGED], ids=["whole", "merged"])
def test_lines__that_are_swapped_removed_or_repeated_are_named(chain: Chain) -> None:
    lines = chain.to_bytes().splitlines(keepends=True)
    for one in range(len(lines)):
        for other in range(one + 1, len(lines)):
            swapped = lines.copy()
            swapped[one], swapped[other] = lines[other], lines[one]
            assert read_chain(b"".join(swapped)).fault is not None, (one, other)
        for place in range(len(lines) + 1):
            repeated = [*lines[:place], lines[one], *lines[place:]]
            assert read_chain(b"".join(repeated)).fault is not None, (one, place)
        fault = read_chain(b"".join([*lines[:one], *lines[one + 1 :]])).fault
        # A ledger that ends earlier, at an entry, is found by a packet alone.
        assert (fault is None) == (one == len(lines) - 1 and chain is WHOLE)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "Line 1 is damaged: it has no end."),
        (WHOLE.to_bytes()[:-1], "Line 4 is damaged: it has no end."),
        (WHOLE.to_bytes() + b"[]\n", "Line 5 is damaged: it is no entry."),
        (WHOLE.to_bytes() + b'{"version":2}\n', "This ledger was written by a later version. Nothing was changed."),
        (b"".join(WHOLE.to_bytes().splitlines(True)[1:]), "Entry 1 follows an entry that is not here"),
        (
            b"".join([*FORK[0].to_bytes().splitlines(True), *FORK[1].to_bytes().splitlines(True)[4:]]),
            "Two entries follow entry 4: the ledger went on in two places. Merge them.",
        ),
    ],
)
def test_faults__have_their_sentences(content: bytes, sentence: str) -> None:
    chain = read_chain(content)
    assert chain.fault is not None
    assert chain.fault.sentence.startswith(sentence)
    with pytest.raises(ReadError, match=sentence[:20]):
        chain.require()


def test_json__that_cannot_be_trusted_is_a_damaged_line() -> None:
    for line in (b'{"k":NaN}', b'{"k":1,"k":2}', b"[" * 10_000, b'{"a":"\xff"}', b'{"previous":[1],"hash":"a"}'):
        fault = read_chain(WHOLE.to_bytes() + line + b"\n").fault
        assert fault is not None
        assert (fault.kind, fault.line) == ("damaged", 5)


def test_canonical__sorts_and_writes_numbers_that_are_not_whole_as_text() -> None:
    entry = {"é": [1, 2.0, np.int64(3)], "a": {"t": 0.2, "n": None}, "b": True}
    assert canonical(entry) == '{"a":{"n":null,"t":"0.2"},"b":true,"é":[1,2,3]}'.encode()
    for wrong in (float("nan"), float("inf"), object(), "\ud800"):
        with pytest.raises(ParameterError):
            canonical({"x": wrong})
    with pytest.raises(ParameterError, match="no kind of entry"):
        new_entry(1, [], "other")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text('aé"\\\n'), some, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc", min_size=1), values, max_size=4))
def test_canonical__is_one_text_that_reads_back(entry: dict[str, Any]) -> None:
    text = canonical(entry)
    assert json.loads(text) == entry
    assert canonical(dict(reversed(entry.items()))) == text
    assert b"\n" not in text


# Merging.


def test_merge__is_the_beginning_then_both_tails_by_time_then_an_entry_that_follows_both() -> None:
    hashes = [entry["hash"] for entry in MERGED.entries]
    tails = [[entry["hash"] for entry in chain.entries[4:]] for chain in FORK]
    assert hashes[:4] == [entry["hash"] for entry in WHOLE.entries]
    assert hashes[4:8] == [tails[0][0], tails[1][0], tails[0][1], tails[1][1]]
    assert MERGED.entries[-1]["kind"] == "merge"
    assert sorted(MERGED.entries[-1]["previous"]) == sorted([FORK[0].head, FORK[1].head])
    assert MERGED.entries[-1]["number"] == 9
    assert read_chain(MERGED.to_bytes()).fault is None
    assert [entry["hash"] for entry in merge_chains(*reversed(FORK)).entries[:8]] == hashes[:8]


def test_merge__of_one_that_is_the_beginning_of_the_other_adds_nothing() -> None:
    for pair in ((WHOLE, FORK[0]), (FORK[0], WHOLE), (MERGED, FORK[1]), (MERGED, MERGED)):
        longer = max(pair, key=lambda chain: len(chain.entries))
        assert merge_chains(*pair).to_bytes() == longer.to_bytes()


def test_merge__of_a_merged_ledger_and_a_copy_that_went_on() -> None:
    later = chain_of("note", after=FORK[1], times=(time_at(0),))
    again = merge_chains(MERGED, later)
    assert judge(again.entries) is None
    assert {entry["hash"] for entry in (*MERGED.entries, *later.entries)} < set(again.lines)


def test_merge__takes_one_file_with_both_tails() -> None:
    both = Chain(in_order([*FORK[0].entries, *FORK[1].entries]))
    fault = judge(both.entries)
    assert fault is not None
    assert fault.kind == "tails"
    assert judge(merge_chains(Chain(both.entries, fault), both).entries) is None


def test_merge__refuses_other_ledgers_and_those_with_a_fault() -> None:
    with pytest.raises(ParameterError, match="not copies of one ledger"):
        merge_chains(WHOLE, chain_of("note"))
    with pytest.raises(ReadError):
        merge_chains(WHOLE, read_chain(WHOLE.to_bytes()[:-5]))
