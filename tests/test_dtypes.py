"""Tables of pandas with columns of every kind: released, or refused in one sentence; never an exception of Python's."""

from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from anonymizer.errors import AnonymizerError, SchemaError
from anonymizer.pipeline import anonymize
from anonymizer.schema import Schema

N = 60
COLUMNS: dict[str, Any] = {
    "small whole numbers": np.arange(N, dtype="uint8"),
    "whole numbers, some missing": pd.array([at if at % 7 else None for at in range(N)], dtype="Int64"),
    "truths, some missing": pd.array([True, False, None] * 20, dtype="boolean"),
    "decimals": [Decimal("1.5") + at for at in range(N)],
    "decimals of Arrow": pd.Series([Decimal("1.5"), Decimal("2.5")] * 30).astype(pd.ArrowDtype(pa.decimal128(5, 2))),
    "periods": pd.period_range("2020-01", periods=N, freq="M"),
    "durations": pd.to_timedelta(np.arange(N), unit="h"),
    "moments of a zone": pd.date_range("2020-01-01", periods=N, tz="Europe/Berlin"),
    "moments of Arrow": pd.Series(pd.date_range("2020", periods=N)).astype("timestamp[us][pyarrow]"),
    "intervals": pd.interval_range(0, N),
    "days": [date(2020, 1, 1) + timedelta(at) for at in range(N)],
    "hours": [time(at % 24) for at in range(N)],
    "several types": [1, "a", None] * 20,
    "bytes": [b"a", b"b"] * 30,
    "large whole numbers": [10**30 + at for at in range(N)],
    "levels that are numbers": pd.Categorical([1, 2, 3] * 20),
    "few": pd.arrays.SparseArray([0, 1] * 30),
    "no number": [np.nan] * N,
    "no date": pd.to_datetime([None] * N),
    "far dates": pd.Series(np.array(["9999-12-31"] * N, dtype="datetime64[us]")),
}
REFUSED: dict[str, Any] = {
    "more than 63 bits": pd.array([2**63 + at for at in range(N)], dtype="uint64"),
    "63 bits": pd.array([2**63 + at for at in range(N)], dtype="UInt64"),
    "complex numbers": np.arange(N) * 1j,
    "numbers of 16 bits": np.arange(N, dtype="float16"),
    "type list": [[1], [2]] * 30,
    "type dict": [{"a": 1}] * N,
    "type set": [{1}, {2}] * 30,
    "type list<": pd.Series([[1], [2]] * 30).astype(pd.ArrowDtype(pa.list_(pa.int64()))),
}
ROLES = ("quasi_identifying", "sensitive", "identifying", "insensitive")


def release(values: Any, role: str) -> None:
    """Release a table with these values in a role."""
    table = pd.DataFrame({"a": values, "age": np.arange(N) % 30, "ill": ["x", "y", "z"] * 20})
    roles = {"quasi_identifying": ["age"], "sensitive": ["ill"]}
    if role != "insensitive":
        roles[role] = [*roles.get(role, []), "a"]
    anonymize(table, Schema.of(table, target="ill", **roles), k=5)


@pytest.mark.sweep(27)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("what", COLUMNS)
def test_columns_of_every_kind__are_released_or_refused_in_one_sentence(what: str, role: str) -> None:
    with suppress(AnonymizerError):  # any other exception fails
        release(COLUMNS[what], role)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("what", REFUSED)
def test_columns_without_plain_values__are_refused_with_the_reason(what: str, role: str) -> None:
    with pytest.raises(SchemaError, match=f"'a'.*{what}"):
        release(REFUSED[what], role)


@pytest.mark.parametrize("table", [[1, 2], pd.Series([1]), {"a": [1]}, None])
def test_what_is_no_table__is_refused(table: Any) -> None:
    with pytest.raises(SchemaError, match="DataFrame"):
        Schema.of(table, quasi_identifying=["a"])
