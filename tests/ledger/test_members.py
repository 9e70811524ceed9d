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
from anonymizer.ledger import rows as ledger_rows
from anonymizer.ledger.members import Members, Words, cell_words, person_digests
from anonymizer.ledger.rows import KeyedRows, members_of_rows, several_rows
from tests.checking.test_together import cases

KEY = bytes(range(32))


def keyed(table: pd.DataFrame, schema: an.Schema | None = None, key: bytes = KEY) -> KeyedRows:
    """The rows of a table, whose columns have no roles unless they are given."""
    schema = an.Schema(()) if schema is None else schema
    return KeyedRows.of(table, schema, persons_of(table, schema)[0], key)


def members_of(table: pd.DataFrame, schema: an.Schema, class_of: np.ndarray) -> Members:
    """The members of a release of a table."""
    own = keyed(table, schema)
    return members_of_rows(own, class_of, several_rows(own))


def record_digests(table: pd.DataFrame, names: list[str], key: bytes = KEY) -> Words:
    """The digest of each row of a table."""
    return keyed(table, key=key).records(names)


def prints_of(table: pd.DataFrame, key: bytes) -> dict[str, str]:
    """The sum of the digests of each column."""
    return keyed(table, key=key).prints(list(table.columns))


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
    members = members_of(table, schema, classes)
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
    members = members_of(table, schema, np.array([0, 0, 1, -1]))
    digests = record_digests(table, ["sex", "age"])
    assert digests[0] == digests[1]
    assert len(set(digests.tolist())) == 3
    assert sorted(zip(digests.tolist(), [0, 0, 1, -1], strict=True)) == list(
        zip(members.digest.tolist(), members.class_of.tolist(), strict=True)
    )
    assert (record_digests(table, ["age", "sex"]) == digests).all()
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
    assert own["cost"] == f"{sum(map(int, cell_words(column, 'cost', KEY))) % 2**64:016x}"
    assert prints_of(mixed, bytes(32)) != own
    assert prints_of(mixed.rename(columns={"cost": "pay"}), KEY)["pay"] != own["cost"]
    assert prints_of(mixed.astype(object), KEY) == own
    assert prints_of(pd.DataFrame({"cost": [*values, 1.0]}), KEY) != own


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(-1, 2)), min_size=1, max_size=30),
    st.integers(1, 7),
)
def test_records__are_the_same_in_pieces_of_any_size(pairs: list[tuple[str | None, int]], piece: int) -> None:
    table = pd.DataFrame(pairs, columns=["sex", "age"])
    whole = record_digests(table, ["sex", "age"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_rows, "ROWS", piece)
        assert record_digests(table, ["sex", "age"]).tolist() == whole.tolist()
