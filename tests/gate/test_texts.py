"""Texts that are released: what reaches a person inside them, and values of columns left out."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.flow import Flow
from anonymizer.gate.finding import Severity
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.gate.dangers import FAMILY, FIRST, QUASI, N, table

NOTES = ["came alone and left early", "no change since last week", "white and quiet", "sent home with a letter"]


def notes_of(rng: np.random.Generator, n: int = N) -> np.ndarray:
    return np.array(NOTES, object)[rng.integers(0, len(NOTES), n)]


def keys(rows: pd.DataFrame, left: list[str], sensitive: list[str]) -> dict[str, Severity]:
    schema = Schema.of(rows, quasi_identifying=QUASI, sensitive=sensitive, identifying=left)
    flow = Flow(rows, schema, Settings(generalizer="uniform"))
    return {f.key: f.severity for f in flow.about_table if f.key.startswith(("holds", "repeats"))}


@pytest.mark.parametrize(
    ("what", "note"),
    [
        ("IBAN account numbers", "pays from DE89 3704 0044 0532 0130 00 each month"),
        ("telephone numbers", "reach her under 030 12345678 only"),
        ("national numbers of people", "steuer-id 86095742719 is in the file"),
        ("payment card numbers", "card 4111 1111 1111 1111 was declined"),
        ("internet addresses", "logged in from 192.168.10.4 twice"),
        ("e-mail addresses", "write to anna (at) x dot org"),
        ("names of people", "call Mrs. Anna Meyer back"),
    ],
)
@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_note_that_reaches_a_person__stops_in_any_role(what: str, note: str, role: str) -> None:
    rng = np.random.default_rng(2)
    rows = table(rng).assign(note=notes_of(rng))
    sensitive = ["smoker", "note"] if role == "sensitive" else ["smoker"]
    assert keys(rows, [], sensitive) == {}
    rows.loc[[5, 77], "note"] = note
    assert keys(rows, [], sensitive) == {f"holds {what}: note": Severity.STOPS}


def people(rng: np.random.Generator) -> pd.DataFrame:
    names = [f"{rng.choice(FIRST)} {rng.choice(['Black', 'White', *FAMILY])} {i:04d}"[:-5] for i in range(N)]
    rows = table(rng).assign(note=notes_of(rng), person=names, number=[f"P{i:06d}" for i in rng.permutation(N)])
    return rows.assign(race=rng.choice(["White", "Black or other", "Asian"], N), account=rng.permutation(N) + 300_000)


LEFT = ["person", "number", "account"]


def test_values_of_columns_left_out__are_looked_for_in_every_released_column() -> None:
    rows = people(np.random.default_rng(3))
    assert keys(rows, LEFT, ["note", "smoker", "race"]) == {}
    rows.loc[9, "note"] = f"said that {rows['person'][400].lower()} had come too"
    assert keys(rows, LEFT, ["note", "smoker", "race"]) == {"repeats person: note": Severity.STOPS}
    rows.loc[9, "note"] = f"see file {rows['number'][3].lower()} as well"
    assert keys(rows, LEFT, ["note", "smoker", "race"]) == {"repeats number: note": Severity.STOPS}
    rows.loc[9, ["person", "note"]] = ["Ada Okonkwo", "OKONKWO came alone"]
    assert keys(rows, LEFT, ["note", "smoker", "race"]) == {"repeats person: note": Severity.STOPS}
    rows["note"], rows["x"] = "none", rows["account"].where(rows.index % 7 == 0, rows["account"][::-1].to_numpy())
    assert keys(rows, LEFT, ["x", "smoker", "race"]) == {"repeats account: x": Severity.STOPS}
