"""Tables in pieces, and the same tables whole, for tests."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from anonymizer.reading.files import read_table
from anonymizer.schema import Schema


def people(n: int, seed: int = 0, classes: int = 3) -> pd.DataFrame:
    """Return n made-up people: numbers, dates, levels, missing values, and a diagnosis that follows from them."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    income = np.round(rng.lognormal(10, 1, n), 1)
    born = np.datetime64("1950-01-01", "us") + rng.integers(0, 9000, n).astype("timedelta64[D]")
    job = np.array(["clerk", "nurse", "driver", "teacher", "smith", "cook"], dtype=object)[rng.integers(0, 6, n)]
    town = np.array([f"town {number:02}" for number in range(30)], dtype=object)[rng.integers(0, 30, n)]
    job[rng.random(n) < 0.05] = None
    noisy = (age // 20 + (income > 25_000) + rng.integers(0, 2, n)) % classes
    table = pd.DataFrame({"age": age.astype(float), "income": income, "born": born, "job": job, "town": town})
    table.loc[rng.random(n) < 0.03, "age"] = np.nan
    table["ward"] = np.array(["east", "west", "north"], dtype=object)[rng.integers(0, 3, n)]
    table["diagnosis"] = np.array(["flu", "cold", "asthma", "none"], dtype=object)[noisy]
    return table


QUASI = ["age", "income", "born", "job", "town"]


def schema_of(table: pd.DataFrame, **changes: Any) -> Schema:
    """Return the roles of :func:`people`."""
    roles: dict[str, Any] = {"quasi_identifying": QUASI, "sensitive": ["diagnosis"], **changes}
    return Schema.of(table, **roles)


def write_pieces(folder: Path, table: pa.Table, ends: list[int], groups: int = 1 << 20) -> Path:
    """Write a table as files that end at these rows, in a folder; two equal ends make a file without rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (start, end) in enumerate(zip([0, *ends], [*ends, len(table)], strict=True)):
        pq.write_table(table.slice(start, end - start), folder / f"part-{number:03}.parquet", row_group_size=groups)
    return folder


def whole_frame(table: pa.Table) -> pd.DataFrame:
    """Return the table as it is read from one file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return read_table(sink.getvalue().to_pybytes(), name="whole.parquet").frame


def visits(n: int, seed: int = 0) -> pd.DataFrame:
    """Return n made-up rows of about n / 3 people, each with one town and birthday; of some rows nobody knows whose."""
    rng = np.random.default_rng(seed)
    table = people(n, seed)
    whose = rng.integers(0, max(1, n // 3), n)
    table["town"] = np.array([f"town {number:02}" for number in range(30)], dtype=object)[whose % 30]
    table["born"] = np.datetime64("1950-01-01", "us") + (whose * 37 % 9000).astype("timedelta64[D]")
    names = np.array([f"P{number:06}" for number in whose], dtype=object)
    names[rng.random(n) < 0.02] = None
    table.insert(2, "patient", names)
    return table


def visits_schema(table: pd.DataFrame, **changes: Any) -> Schema:
    """Return the roles of :func:`visits`."""
    return schema_of(table, **{"person": "patient", **changes})
