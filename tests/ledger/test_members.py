"""Members of a release: the digests of the cases, classes that are looked up, prints of columns, files."""

from collections import defaultdict
from hashlib import sha256
from hmac import new as new_hmac

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.errors import ReadError
from anonymizer.growing.encode import persons_of
from anonymizer.ledger.members import (
    Members,
    cell_words,
    members_of_rows,
    person_digests,
    prints_of,
    record_digests,
)
from tests.checking.test_together import cases

KEY = bytes(range(32))


def test_digests__are_those_of_the_cases() -> None:
    (case,) = (case for case in cases("ledger_chain") if case["name"] == "digests")
    key = bytes.fromhex(case["key_hex"])
    persons = [text.removeprefix("person:") for text in case["digests"]]
    assert [f"{word:016x}" for word in person_digests(persons, key)] == list(case["digests"].values())


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=80)), st.binary(min_size=32, max_size=32))
def test_digests__are_the_first_bytes_of_hmac(texts: list[str], key: bytes) -> None:
    expected = [new_hmac(key, b"person:" + text.encode(), sha256).digest()[:8] for text in texts]
    assert [int(word).to_bytes(8) for word in person_digests(texts, key)] == expected


def test_person__is_one_in_every_type_that_says_the_same() -> None:
    for same in ([17, 17.0, "17", np.int64(17)], [pd.Timestamp("2020-01-02"), "2020-01-02"]):
        assert len(set(person_digests(same, KEY).tolist())) == 1
    assert len(set(person_digests(["17", "017", "é", 1.5], KEY).tolist())) == 4
    assert len(set(person_digests(["P-007", "p 7"], KEY, alike=True).tolist())) == 1


rows = st.lists(st.tuples(st.integers(-1, 6), st.integers(-1, 3)), max_size=30)


@given(rows)
def test_members__of_persons_agree_with_dictionaries(pairs: list[tuple[int, int]]) -> None:
    who, classes = np.array(pairs, int).reshape(-1, 2).T
    table = pd.DataFrame({"age": 1, "id": [None if one < 0 else f"p{one}" for one in who]}, dtype=object)
    schema = an.Schema.of(table.assign(age=range(len(table))), quasi_identifying=["age"], person="id", sensitive=[])
    members = members_of_rows(table, schema, classes, persons_of(table, schema)[0], KEY)
    of_person = defaultdict(set)
    for person, own in pairs:
        if person >= 0:
            of_person[person].add(own)
    words = dict(zip(of_person, person_digests([f"p{one}" for one in of_person], KEY).tolist(), strict=True))
    records = sorted((words[person], own) for person, own in pairs if person >= 0)
    assert sorted(zip(members.digest.tolist(), members.class_of.tolist(), strict=True)) == records
    assert (np.diff(members.digest.astype(object)) >= 0).all()
    own, here = members.classes(person_digests([f"p{one}" for one in range(9)], KEY))
    assert here.tolist() == [one in of_person for one in range(9)]
    sets = [frozenset(of_person[one] - {-1}) if one in of_person else frozenset() for one in range(9)]
    for one in range(9):
        assert (own[one] == -1) == (not sets[one])
        assert [own[one] == other for other in own] == [sets[one] == other for other in sets]
        assert len(sets[one]) != 1 or {int(own[one])} == sets[one]


def test_members__of_records_are_a_record_for_each_row() -> None:
    table = pd.DataFrame({"age": [3, 3, 4, None], "sex": ["f", "f", "m", "m"], "ill": list("abcd")})
    schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["ill"])
    members = members_of_rows(table, schema, np.array([0, 0, 1, -1]), None, KEY)
    digests = record_digests(table, ["sex", "age"], KEY)
    assert digests[0] == digests[1]
    assert len(set(digests.tolist())) == 3
    assert sorted(zip(digests.tolist(), [0, 0, 1, -1], strict=True)) == list(
        zip(members.digest.tolist(), members.class_of.tolist(), strict=True)
    )
    assert (record_digests(table, ["age", "sex"], KEY) == digests).all()
    assert not set(record_digests(table, ["age", "sex"], bytes(32)).tolist()) & set(digests.tolist())


def test_file__has_twelve_bytes_a_record_and_reads_back() -> None:
    members = Members.of(np.array([9, 2**63 + 1, 9], np.uint64), np.array([4, -1, 2]))
    content = members.to_bytes()
    assert content.hex() == (
        "0000000000000009" "00000002" "0000000000000009" "00000004" "8000000000000001" "ffffffff"
    )  # fmt: skip
    again = Members.from_bytes(content)
    assert (again.digest.tolist(), again.class_of.tolist()) == (members.digest.tolist(), [2, 4, -1])
    assert members.without(np.array([9], np.uint64)).to_bytes() == content[24:]
    with pytest.raises(ReadError, match="damaged"):
        Members.from_bytes(content[:-1])


@given(st.lists(st.sampled_from([None, 1.0, 2.5, -0.0, 7.0]), min_size=1, max_size=12))
def test_print__is_the_same_in_any_order_and_under_one_key(values: list[float | None]) -> None:
    column = pd.Series(values, name="cost", dtype="float64")
    mixed = pd.DataFrame({"cost": column.sample(frac=1, random_state=len(values))})
    own = prints_of(pd.DataFrame({"cost": column}), KEY)
    assert prints_of(mixed, KEY) == own
    assert own["cost"] == f"{sum(map(int, cell_words(column, KEY))) % 2**64:016x}"
    assert prints_of(mixed, bytes(32)) != own
    assert prints_of(mixed.rename(columns={"cost": "pay"}), KEY)["pay"] != own["cost"]
    assert prints_of(mixed.astype(object), KEY) == own
    assert prints_of(pd.DataFrame({"cost": [*values, 1.0]}), KEY) != own
