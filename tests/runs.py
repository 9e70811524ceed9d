"""Runs of the whole flow that several tests look at: every grouping with every generalizer, on small tables."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd

from anonymizer.groups.mondrian import MONDRIAN
from anonymizer.pipeline import Result, anonymize
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLES, hospital
from anonymizer.releasing.generalize import GENERALIZERS, GUARANTEES, NUMBERS, WRITINGS
from anonymizer.releasing.release import read_release
from anonymizer.schema import Kind, Schema
from anonymizer.settings import names_of
from tests.growing.test_persons import visits

K = 4
TABLES = ("hospital", "customers", "employees", "gaps")
STRICT = tuple(name for name in GENERALIZERS if GUARANTEES[name].strict)


@cache
def table_of(name: str) -> tuple[pd.DataFrame, Schema]:
    """A small table and its schema; ``gaps`` has missing values everywhere."""
    if name == "gaps":
        table = hospital(160, 3).drop(columns=["name", "email", "postcode"])
        rng = np.random.default_rng(5)
        for column in ("age", "sex", "admission_date", "diagnosis", "cost"):
            table[column] = table[column].mask(rng.random(len(table)) < 0.15)
    else:
        table = hospital(200, 1) if name == "hospital" else SAMPLES[name].load()
    return table, suggest(table)


def fits(schema: Schema, grouping: str) -> bool:
    numeric = schema[schema.target].kind is not Kind.CATEGORICAL
    if MONDRIAN.get(grouping):
        return numeric == (MONDRIAN[grouping] == "sse")
    return grouping != "error-digression" or any(schema[s].kind is not Kind.CATEGORICAL for s in schema.sensitive)


RUNS = [run for run in product(TABLES, names_of("grouping"), GENERALIZERS) if fits(table_of(run[0])[1], run[1])]

BESIDES: dict[str, dict[str, object]] = {
    **{f"persons-{way}": {"generalizer": way} for way in GENERALIZERS},
    **{f"limits-{way}": {"generalizer": way, "l": 2, "share_max": 0.3} for way in GENERALIZERS if way != "tiered"},
    **{
        f"{numbers}-{writing}": {"generalizer": "pack", "numbers": numbers, "writing": writing}
        for numbers, writing in zip(NUMBERS, [*WRITINGS][::-1], strict=True)
    },
}
"""Further runs: every generalizer where rows are not persons, without limits and with some, and every way to write."""


@cache
def run_beside(name: str) -> Result:
    """One of :data:`BESIDES`."""
    table, schema = visits(5, 150) if name.startswith(("persons", "limits")) else table_of("gaps")
    return anonymize(table, schema, grouping="least", k=K, rng=np.random.default_rng(9), **BESIDES[name])


@cache
def make_table() -> tuple[pd.DataFrame, Schema]:
    """Two categorical and two numeric sensitive columns."""
    table = hospital(300, 1)
    schema = Schema.of(
        table,
        quasi_identifying=["age", "sex", "postcode", "admission_date"],
        sensitive=["diagnosis", "marital_status", "days_of_stay", "cost"],
        identifying=["name", "email", "occupation"],
    )
    return table, schema


@cache
def run_of(name: str, grouping: str, generalizer: str) -> Result:
    table, schema = table_of(name)
    return anonymize(table, schema, grouping=grouping, generalizer=generalizer, k=K, rng=np.random.default_rng(9))


@cache
def read_back(name: str, grouping: str, generalizer: str, format: str = "csv") -> pd.DataFrame:
    return read_release(run_of(name, grouping, generalizer).release.to_bytes(format), table_of(name)[1])


def keys_of(frame: pd.DataFrame, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    texts = frame[list(names)].astype(object).where(frame[list(names)].notna(), "(missing)").astype(str)
    return list(texts.itertuples(index=False, name=None))


def classes_of(released: pd.DataFrame, schema: Schema) -> list[pd.DataFrame]:
    keys = pd.Series(keys_of(released, schema.quasi_identifying))
    return [released[(keys == key).to_numpy()] for key in keys.unique()]
