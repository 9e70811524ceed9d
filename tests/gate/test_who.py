"""Who is counted as a person: ids in several ways, ids of nobody, and columns that number people under any header."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import anonymizer as an
from anonymizer.gate.finding import Severity
from anonymizer.schema import Schema
from anonymizer.settings import Settings

Writing = Callable[[str, int], str]

DIRTY: dict[str, Writing] = {
    "case": lambda text, turn: text.upper() if turn else text,
    "leading zeros": lambda text, turn: f"{text[:1]}{'0' * turn}{text[1:]}",
    "form of numbers": lambda text, turn: f"{text[1:]}.0" if turn else text[1:],
    "blanks": lambda text, turn: (text, f" {text}", f"{text[:1]}\u00a0{text[1:]}\u200b")[turn],
    "full width": lambda text, turn: "".join(chr(ord(one) + 0xFEE0) for one in text) if turn else text,
    "hyphens and dots": lambda text, turn: (text, f"{text[:1]}-{text[1:]}", f"{text[:1]}.{text[1:]}")[turn],
}


def visits(seed: int = 0, persons: int = 90) -> pd.DataFrame:
    """Visits, 1 to 40 a person, with what is known of the person in each."""
    rng = np.random.default_rng(seed)
    rows = np.minimum(40, 1 + rng.geometric(0.2, persons))
    who = np.repeat(np.arange(persons), rows)
    table = pd.DataFrame({"patient": [f"p{10_000 + one}" for one in who]})
    table["age"], table["sex"] = rng.integers(18, 80, persons)[who], rng.choice(list("fm"), persons)[who]
    table["town"] = rng.choice(list("abcdef"), persons)[who]
    table["ill"] = rng.choice(list("xyz"), len(who))
    return table.sample(frac=1, random_state=seed).reset_index(drop=True)


def roles(table: pd.DataFrame, **more: object) -> Schema:
    return Schema.of(table, **{"quasi_identifying": ["age", "sex", "town"], "sensitive": ["ill"], **more})


def fewest_persons(truth: pd.Series, result: an.Result) -> int:
    """The fewest persons of a released class, counted by hand; those of nobody are none."""
    rows = result.release.frame()[["age", "sex", "town"]]
    classes: dict[tuple[str, ...], set[str]] = {}
    for row, who in zip(rows.to_numpy(), truth.to_numpy()[result.release.order], strict=True):
        classes.setdefault(tuple(map(str, row)), set()).update(() if pd.isna(who) else (who,))
    return min(map(len, classes.values()))


@pytest.mark.parametrize("kind", DIRTY)
def test_ids_in_several_ways__stop_and_count_as_one_by_the_repair(kind: str) -> None:
    table = visits()
    truth = table.patient.copy()
    turns = np.random.default_rng(1).integers(0, 3, len(table))
    table["patient"] = [DIRTY[kind](text, turn) for text, turn in zip(truth, turns, strict=True)]
    schema = roles(table, person="patient")
    dirty = an.anonymize(table, schema, k=5, share_max=0.5, prosecutor_limit=2)
    assert fewest_persons(truth, dirty) < 5, "what the finding is about"
    finding = dirty.gate["ids alike: patient"]
    assert finding in dirty.gate.open
    (repair,) = finding.repairs
    assert repair.options == "--same-ids"
    assert not any(text in f"{finding.sentence} {finding.detail}" for text in table.patient)
    repaired, _ = repair.apply(schema, Settings())
    result = an.anonymize(table, repaired, k=5, share_max=0.5, prosecutor_limit=2)
    assert not result.gate.open
    assert result.encoded.n_persons == truth.nunique()
    assert result.verification["k persons"].achieved == fewest_persons(truth, result) >= 5
    assert Schema.from_json(repaired.to_json()) == repaired


@pytest.mark.parametrize("mark", ["unknown", "n/a", "999", "-", "TBA", "??"])
def test_ids_of_nobody__stop_and_count_for_nobody_by_the_repair(mark: str) -> None:
    table = visits()
    table.loc[np.random.default_rng(2).random(len(table)) < 0.3, "patient"] = mark
    truth = table.patient.where(table.patient != mark)
    schema = roles(table, person="patient")
    finding = an.anonymize(table, schema, k=5, share_max=0.6, prosecutor_limit=1).gate["nobody: patient"]
    assert finding.is_open
    assert f"“{mark}”" in finding.sentence
    (repair,) = finding.repairs
    assert repair.options.strip("'") == f"--nobody={mark}"
    repaired, _ = repair.apply(schema, Settings())
    result = an.anonymize(table, repaired, k=5, share_max=0.6, prosecutor_limit=1)
    assert not result.gate.open
    assert result.encoded.n_persons == truth.nunique()
    assert result.verification["k persons"].achieved == fewest_persons(truth, result) >= 5
    assert Schema.from_json(repaired.to_json()) == repaired


def test_clean_ids__stop_nothing() -> None:
    table = visits()
    result = an.anonymize(table, roles(table, person="patient"), k=5, share_max=0.5, prosecutor_limit=2)
    assert not [one.key for one in result.gate.findings if one.severity is Severity.STOPS]


HEADERS = ["name", "pseudonym", "client", "Kennung", "x7", "code", "member", "Proband"]


def regulars(header: str, values: Callable[[int], object] = lambda one: f"Person {one}") -> pd.DataFrame:
    """30 people of ten rows each, with what is known of a person in each, and wards that differ."""
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(30), 10)
    table = pd.DataFrame({header: [values(one) for one in who]})
    table["age"], table["sex"] = rng.integers(18, 80, 30)[who], rng.choice(list("fm"), 30)[who]
    table["town"], table["ward"] = rng.choice(list("abcdef"), 30)[who], rng.choice(list("uvw"), len(who))
    table["ill"] = rng.choice(list("xyz"), len(who))
    return table.sample(frac=1, random_state=0).reset_index(drop=True)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("values", [lambda one: f"Ann Smith {one}", lambda one: 7 * one + 3, lambda one: f"k{one:05}x"])
@pytest.mark.parametrize("header", HEADERS)
def test_a_column_that_numbers_people__stops_whatever_its_header(header: str, values: Callable[[int], object]) -> None:
    table = regulars(header, values)
    schema = roles(table, quasi_identifying=["age", "sex", "town", "ward"], identifying=[header])
    result = an.anonymize(table, schema, k=5)
    (finding,) = (one for one in result.gate.open if header in one.columns)
    (repair,) = finding.repairs
    repaired, _ = repair.apply(schema, Settings())
    assert repaired.person == header
    again = an.anonymize(table, repaired, k=5, prosecutor_limit=2)
    assert not again.gate.open
    assert again.verification["k persons"].achieved >= 5


@pytest.mark.parametrize("header", ["postcode", "country", "visited", "x7"])
def test_a_left_out_place_or_day__does_not_stop(header: str) -> None:
    rng = np.random.default_rng(5)
    n, place = 3000, rng.integers(0, 60, 3000)
    table = pd.DataFrame({"age": rng.integers(18, 80, n), "sex": rng.choice(list("fm"), n)})
    table["region"] = [f"r{one // 10}" for one in place]
    table[header] = [f"2024-01-{one % 28 + 1:02}" if header == "visited" else f"{10000 + one}" for one in place]
    table["ill"] = rng.choice(list("xyz"), n)
    schema = roles(table, quasi_identifying=["age", "sex", "region"], identifying=[header])
    result = an.anonymize(table, schema, k=10)
    assert not result.gate.open
    keys = {one.key for one in result.gate.findings}
    assert (f"same people: {header}" in keys) is (header == "x7"), "a weak agreement is worth a look"


def test_names_of_other_people__do_not_stop() -> None:
    """Names that some people share by chance agree in nothing."""
    table = visits(persons=300).drop_duplicates("patient").reset_index(drop=True)
    table["name"] = np.random.default_rng(6).choice([f"n{one}" for one in range(100)], len(table))
    schema = roles(table, identifying=["name", "patient"])
    result = an.anonymize(table, schema, k=10)
    assert not result.gate.open


def test_people_of_whom_every_class_has_enough__are_worth_a_look() -> None:
    table = regulars("x7")
    schema = roles(table, quasi_identifying=["age", "sex", "town", "ward"], identifying=["x7"])
    result = an.anonymize(table, schema, k=10, grouping="least", generalizer="uniform", max_depth=1, min_leaf=120)
    finding = result.gate["same people: x7"]
    rows = result.release.frame()[["age", "sex", "town", "ward"]].astype(str).agg("|".join, axis=1)
    fewest = table.x7.iloc[result.release.order].reset_index(drop=True).groupby(rows).nunique().min()
    assert fewest >= 10
    assert finding.severity is Severity.LOOK


def test_fewer_values_than_twice_k__number_nobody() -> None:
    table = regulars("x7")
    schema = roles(table, quasi_identifying=["age", "sex", "town", "ward"], identifying=["x7"])
    keys = {one.key for one in an.anonymize(table, schema, k=16).gate.findings}
    assert "same people: x7" not in keys
    assert "persons" in keys


def test_a_left_out_hospital__does_not_stop() -> None:
    """It tells its region and its kind, as every other hospital there of that kind does."""
    rng = np.random.default_rng(7)
    n, place = 4000, rng.integers(0, 80, 4000)
    table = pd.DataFrame({"age": rng.integers(18, 80, n), "sex": rng.choice(list("fm"), n)})
    table["area"], table["kind"] = [f"r{one % 5}" for one in place], [f"k{one // 5 % 4}" for one in place]
    table["clinic"], table["ill"] = [f"c{one}" for one in place], rng.choice(list("xyz"), n)
    schema = roles(table, quasi_identifying=["age", "sex", "area", "kind"], identifying=["clinic"])
    result = an.anonymize(table, schema, k=10)
    assert result.gate["same people: clinic"].severity is Severity.LOOK
    assert not result.gate.open
