"""One account of forests over sessions: what they may tell of a person, and a budget that refuses the next one."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.digests import digest
from anonymizer.errors import GuaranteeError, ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.ledger.account import Account, raised
from anonymizer.ledger.chain import Chain, entry_hash
from anonymizer.ledger.ledger import Ledger, merge_ledgers
from anonymizer.pipeline import run_flow
from anonymizer.settings import Settings
from tests.sweeps import few

KEY = bytes(range(32))
LETTERS = "abcde"


def table_of(people: str) -> pd.DataFrame:
    """A table of a row for each letter, which says whose it is."""
    return pd.DataFrame({"who": pd.array(list(people), dtype=object), "x": 1})


def schema_of(table: pd.DataFrame, *, alike: bool = False, person: bool = True) -> an.Schema:
    schema = an.Schema.of(table, quasi_identifying=[], person="who" if person else None)
    if not alike:
        return schema
    columns = tuple(replace(one, alike=True) if one.name == "who" else one for one in schema.columns)
    return replace(schema, columns=columns)


def charge(ledger: Ledger, people: str, epsilon: float, **how: bool) -> None:
    table = table_of(people)
    ledger.charge(table, schema_of(table), epsilon, **how)


FORESTS = st.lists(
    st.tuples(st.text(LETTERS, min_size=1, max_size=8), st.sampled_from([0.1, 0.5, 1, 2.25])), max_size=4
)


@tried(max_examples=few(60), deadline=None)
@given(FORESTS, st.text(LETTERS, min_size=1, max_size=8))
def test_account__is_the_sum_over_the_rows_of_each_person(
    tmp_path_factory: pytest.TempPathFactory, forests: list[tuple[str, float]], people: str
) -> None:
    ledger = Ledger.new(tmp_path_factory.mktemp("account") / "register", KEY)
    spent: Counter[str] = Counter()
    for letters, epsilon in forests:
        charge(ledger, letters, epsilon)
        for letter in letters:
            spent[letter] += epsilon
    account = ledger.account()
    assert account.spent == pytest.approx(max(spent.values(), default=0))
    assert (account.forests, account.releases, account.smallest) == (len(forests), 0, None)
    table = table_of(people)
    of_table = ledger.account(table, schema_of(table), 0.25)
    assert of_table.spent == pytest.approx(max(spent[letter] + 0.25 * people.count(letter) for letter in people))
    nobody = ledger.account(table, schema_of(table, person=False), 0.25)
    assert nobody.spent == pytest.approx(account.spent + 0.25)


def test_whoever_cannot_be_recognised__may_be_anybody(tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    table = table_of("ab")
    ledger.charge(table, schema_of(table, person=False), 0.5)
    charge(ledger, "aab", 1)
    ledger.charge(table_of("Bb"), schema_of(table_of("Bb"), alike=True), 0.25)
    assert ledger.account().spent == pytest.approx(0.5 + 2 + 0.5)
    assert ledger.account(table, schema_of(table)).spent == pytest.approx(2.5)
    assert ledger.account(table_of("b"), schema_of(table_of("b"))).spent == pytest.approx(0.5 + 1 + 0.5)


def test_budget__refuses_what_it_does_not_hold_before_a_row_is_asked(tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    ledger.note("The budget of forests.", budget=1.5)
    charge(ledger, "ab", 1)
    entries = len(ledger.entries)
    for people, epsilon, how in (("bc", 0.6, {}), ("cc", 0.8, {}), ("c", 0.1, {"private": False})):
        with pytest.raises(GuaranteeError):
            charge(ledger, people, epsilon, **how)
    assert len(ledger.entries) == entries
    charge(ledger, "bc", 0.5)
    charge(ledger, "cc", 0.5)
    again = Ledger.open(ledger.path)
    assert (again.account().spent, again.account().budget) == (1.5, 1.5)
    again.note("The budget of forests.", budget=2)
    charge(again, "ab", 0.5)
    assert again.account().spent == 2


def test_forest_without_promise__leaves_no_epsilon(tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    charge(ledger, "ab", 1, private=False)
    charge(ledger, "ab", 1)
    assert ledger.account().spent == math.inf
    assert ledger.account().sentences == ("2 forests, not all of them private: no ε holds for them together.",)
    assert ledger.account(table_of("c"), schema_of(table_of("c"))).spent == 0


@pytest.mark.parametrize(("share", "epsilon"), [(0.1, 0.5), (0.5, 1), (0.9, 0.1), (0.1, 0), (1, 3)])
def test_raised__multiplies_the_odds(share: float, epsilon: float) -> None:
    """p e^{2ε} / (1 − p + p e^{2ε})."""
    grown = share * math.exp(2 * epsilon)
    assert raised(share, epsilon) == pytest.approx(grown / (1 - share + grown))


def test_sentences__say_both_and_no_one_number() -> None:
    assert Account(2, 1.5, 3, 1, 10).sentences == (
        "2 forests: about one person they have spent ε = 1.5 together, and may spend 3.",
        "The releases leave each person at least 10 candidates, so a guess is right with a chance of at most 10.0%; "
        "with the forests, of at most 69.1%.",
    )


@pytest.mark.parametrize("second", ["the same persons", "no persons", "persons in other writing"])
def test_candidates__are_said_only_where_all_releases_can_be_joined(tmp_path: Path, second: str) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    table = pd.DataFrame({"who": [f"p{n}" for n in range(40)], "age": [20 + n % 4 for n in range(40)]})
    table["ill"] = list("abcd" * 10)
    schema = an.Schema.of(table, quasi_identifying=["age"], sensitive=["ill"], person="who")
    other = {
        "the same persons": schema,
        "no persons": schema.with_column("who", role="identifying"),
        "persons in other writing": schema.with_column("who", alike=True),
    }[second]
    settings = Settings(k=5, generalizer="uniform", grouping="least")
    for number, own in enumerate((schema, other)):
        flow = Flow(table, own, settings, earlier=ledger.earlier, key=ledger.key)
        result = run_flow(flow.but(reasons={one.key: "they are made up" for one in flow.gate.open}))
        ledger.add(table, result.release, result.report, f"y{number}.csv", "ab" * 32)
    assert ledger.account().smallest == (10 if second == "the same persons" else None)


def test_withdrawn__still_counts(tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    charge(ledger, "ab", 1)
    ledger.note("Sent to the wrong address.", "data office", asked_back=2)
    entry = ledger.entries[-1]
    assert (entry["kind"], entry["of"], entry["note"]) == (
        "withdrawn", ledger.entries[1]["hash"], "Sent to the wrong address.",
    )  # fmt: skip
    assert ledger.account().spent == 1
    for line in (1, 3, 9):
        with pytest.raises(ParameterError, match="is of no release, tree or forest"):
            ledger.note("x", asked_back=line)


def test_erase_and_merge__reach_the_members_of_forests(tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    charge(ledger, "abb", 1)
    for path in tmp_path.glob("register*"):
        target = tmp_path / path.name.replace("register", "copy")
        if path.is_dir():
            target.mkdir()
            for file in path.iterdir():
                (target / file.name).write_bytes(file.read_bytes())
        else:
            target.write_bytes(path.read_bytes())
    (tmp_path / "copy.ledger-key").chmod(0o600)
    copy = Ledger.open(tmp_path / "copy")
    charge(copy, "a", 2)
    assert ledger.erase("b") == 1
    assert ledger.account().spent == 1
    assert not ledger.faults()
    merged = merge_ledgers(ledger, copy, tmp_path / "both")
    assert merged.account().spent == 3
    assert merged.account().forests == 2
    assert not merged.faults()


@pytest.mark.parametrize(
    "change",
    [{"epsilon": 0}, {"epsilon": "nan"}, {"epsilon": "1e999"}, {"epsilon": True}, {"private": 1}, {"members": None},
     {"epsilon": "many"}],
)  # fmt: skip
def test_entries__of_strangers_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    charge(ledger, "ab", 1)
    first, entry = ledger.entries
    edited = {**entry, **change}
    edited["hash"] = entry_hash(edited)
    ledger.path.write_bytes(Chain((first, edited)).to_bytes())
    with pytest.raises(ReadError):
        ledger.account()


def test_nobody__is_in_the_entry_of_a_forest(tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    table = pd.DataFrame({"who": ["canary-1", "canary-2"], "x": ["secret-value", "y"]})
    ledger.charge(table, schema_of(table), 1, name="rules.json", mode="strict", to="the press")
    text = ledger.path.read_text("utf-8")
    assert "canary" not in text
    assert "secret-value" not in text
    assert digest(b"canary-1") not in text
