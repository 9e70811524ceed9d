"""Columns whose values stay with their shares: the codes, files and checks of one machine, whoever is killed."""

import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.engines import anonymize_files
from anonymizer.errors import EncodeError
from anonymizer.growing.encode import MAX_CODES
from anonymizer.growing.number_codes import number_codes
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.pieces import open_table
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import Settings
from anonymizer.workers import bounds
from anonymizer.workers.bounds import bins_of_shares, keys_of, numbers_of_keys
from anonymizer.workers.cluster import Cluster, open_cluster
from anonymizer.workers.questions import Share
from anonymizer.workers.remote import release_on
from anonymizer.workers.shares import LocalNumbers, Tallies
from anonymizer.workers.table import ClusterTable
from tests.partitions.tables import people, schema_of, write_pieces
from tests.sweeps import few
from tests.workers.killing import killing
from tests.workers.runs import same_files

X = Column("x", Role.QUASI_IDENTIFYING, Kind.NUMERIC)


class Here:
    """Workers that answer at once, in this process; ``edges``: how many were asked about at most."""

    def __init__(self) -> None:
        self.edges = 0

    def ask(self, step: str, work: Any, *arguments: Any, share: int = -1) -> Any:
        if step == "below":
            self.edges = max(self.edges, len(arguments[-1]))
        return work(*arguments)

    def answer(self, answer: Any) -> Any:
        return answer

    def answers(self, answers: list[Any]) -> list[Any]:
        return answers


def local_numbers(numbers: np.ndarray) -> LocalNumbers:
    distinct, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    return LocalNumbers(distinct, np.append(0, np.cumsum(counts)), int(np.isnan(numbers).sum()))


def bins_in_shares(of_shares: list[np.ndarray], most: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Here]:
    """Return the codes of numbers in shares."""
    cluster = Here()
    shares: Any = [SimpleNamespace(number=at, most=most, numeric=(X,)) for at in range(len(of_shares))]
    monkeypatch.setattr(bounds, "numbers_in", lambda share, _: local_numbers(of_shares[share.number]))
    bins, _ = bins_of_shares(cluster, shares, [Tallies({}, (), len(some), ("x",)) for some in of_shares])  # type: ignore[arg-type]
    return bins["x"], cluster


NUMBERS = st.one_of(
    st.integers(-30, 30).map(float), st.floats(allow_nan=True, allow_infinity=False), st.sampled_from([0.0, -0.0]),
    st.floats(-1e-300, 1e-300), st.integers(2**52, 2**53).map(float),
)  # fmt: skip


@settings(max_examples=few(150))
@given(
    st.lists(st.lists(NUMBERS, max_size=60), min_size=1, max_size=11),
    st.integers(2, 20),
    st.sampled_from([1, 5, 1 << 20]),
)
def test_bins_of_shares__are_the_codes_of_the_whole(parts: list[list[float]], most: int, few: int) -> None:
    of_shares = [np.array(part, np.float64) for part in parts]
    whole = np.concatenate(of_shares)
    distinct = np.unique(whole[~np.isnan(whole)])
    if len(distinct) <= most:
        return
    codes, _, low, high, note = number_codes(whole, X, most)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(bounds, "FEW", few)
        monkeypatch.setattr(bounds, "BATCH", few)
        bins, _ = bins_in_shares(of_shares, most, monkeypatch)
    assert bins.low.tolist() == low.tolist()
    assert bins.high.tolist() == high.tolist()
    missing = np.isnan(whole)
    assert np.where(missing, len(low), np.searchsorted(bins.cuts, whole)).tolist() == codes.tolist()
    assert bins.records.tolist() == np.bincount(codes[~missing], minlength=len(low)).tolist()
    assert bins.missing == missing.sum()
    assert f"{bins.distinct:,} different values; splits see them as {len(low):,} classes" in note


def test_keys__are_in_the_order_of_the_numbers() -> None:
    numbers = np.array([-np.inf, -1e300, -2.5, -5e-324, 0.0, 5e-324, 1, 1.5, 2.0**53, 1e300, np.inf])
    keys = keys_of(numbers)
    assert (np.diff(keys.astype(object)) > 0).all()
    assert numbers_of_keys(keys).tolist() == numbers.tolist()
    assert keys_of(np.array([-0.0])) == keys_of(np.array([0.0]))


def test_edges__are_few_however_many_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is sent is the same for any number of records."""
    monkeypatch.setattr(bounds, "FEW", 1000)
    rng = np.random.default_rng(3)
    _, cluster = bins_in_shares([rng.lognormal(10, 1, 40_000) for _ in range(3)], 500, monkeypatch)
    assert cluster.edges == max((1 << bounds.FIRST) - 1, 499 * ((1 << bounds.BITS) - 1))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Schema]:
    """A table whose incomes are more than there are codes, in each of two shares; salaries are, in the first alone; a
    whole number that nobody has and that floats do not tell from the next is in the second one's identifiers."""
    n, rng = 200_000, np.random.default_rng(4)
    table = people(n, 4).drop(columns=["born", "town"])
    table["income"] = np.where(rng.random(n) < 0.02, np.nan, rng.lognormal(10, 1, n))
    table["salary"] = np.where(np.arange(n) < 100_000, rng.integers(0, 10**9, n), rng.integers(0, 9, n))
    table["number"] = rng.permutation(n) + np.where(np.arange(n) > n - 9, 2**60, 0)
    table["whose"] = rng.integers(0, n // 2, n)
    table["diagnosis"] = np.where(table["income"] > 30_000, table["diagnosis"], "none")
    whole = pa.Table.from_pandas(table, preserve_index=False)
    folder = write_pieces(tmp_path_factory.mktemp("many") / "in", whole, [100_000], 40_000)
    schema = schema_of(
        table, quasi_identifying=["age", "income", "salary", "job", "number"], sensitive=["diagnosis", "ward"]
    )
    return folder, schema.with_roles({"whose": Role.IDENTIFYING})


def test_the_coding_of_shares__has_the_encodings_of_one_machine(two: Cluster, source: tuple[Path, Schema]) -> None:
    table = open_table(source[0], 50_000)
    there, here = ClusterTable(two, table, source[1]).here, code_table(table, source[1])
    assert set(there.bins) == {"income", "salary"}
    assert len(there.table.columns["income"].values) <= MAX_CODES
    assert there.table.encoded.notes == here.encoded.notes
    for one, other in zip(there.encodings, here.encoded.encodings, strict=True):
        assert one.labels.tolist() == other.labels.tolist()
        assert one.labels.dtype == other.labels.dtype
        assert (one.low.tolist(), one.high.tolist()) == (other.low.tolist(), other.high.tolist())
        assert (one.domain, one.missing, one.kind) == (other.domain, other.missing, other.kind)
    for at in range(len(there.encodings)):
        assert there.table.records(at).tolist() == here.records(at).tolist()


@pytest.mark.sweep(0)
@pytest.mark.parametrize(
    "changes",
    [
        {"generalizer": "uniform", "grouping": "least"},
        {"generalizer": "uniform", "grouping": "least", "numbers": "mean"},
        {"generalizer": "uniform", "grouping": "error-risk", "numbers": "range", "k": 40},
        {"generalizer": "refine", "grouping": "least", "k": 25},
        {"generalizer": "pack", "grouping": "least", "k": 25},
        {"generalizer": "uniform", "grouping": "least", "k": 25, "person": "whose"},
    ],
)
def test_values_that_stay__are_released_as_on_one_machine(
    tmp_path: Path, two: Cluster, source: tuple[Path, Schema], changes: dict[str, Any]
) -> None:
    folder, schema = source
    changes = dict(changes)
    schema = schema.with_roles({changes.pop("person"): Role.PERSON}) if "person" in changes else schema
    rng = np.random.default_rng
    expected = anonymize_files(folder, schema, tmp_path / "here", rows=50_000, rng=rng(5), **changes)
    there = tmp_path / "there"
    result = release_on(two, open_table(folder, 50_000), schema, there, Settings(**changes), rows=50_000, rng=rng(5))
    assert result.folder == there, result.gate.open
    assert same_files(there, tmp_path / "here")
    assert result.verification.to_dict() == expected.verification.to_dict()
    assert result.loss == expected.loss
    assert result.notes == expected.notes
    assert result.gate == expected.gate


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX systems")
@pytest.mark.sweep(0)
@pytest.mark.parametrize("step", ["below", "ends", "values_of_parts"])
def test_a_worker_that_is_killed__changes_nothing(tmp_path: Path, source: tuple[Path, Schema], step: str) -> None:
    folder, schema = source
    anonymize_files(folder, schema, tmp_path / "here", rows=50_000, generalizer="uniform", k=40)
    with open_cluster(workers=2, memory="2GiB", spill=tmp_path) as cluster, killing(cluster, step, tmp_path / "mark"):
        how = Settings(generalizer="uniform", k=40)
        release_on(cluster, open_table(folder, 50_000), schema, tmp_path / "there", how, rows=50_000)
    assert same_files(tmp_path / "there", tmp_path / "here")


def test_an_infinite_number__is_said_without_a_value(tmp_path: Path, two: Cluster) -> None:
    numbers = np.append(np.random.default_rng(1).normal(0, 1, 70_000), [np.inf, -123456.75])
    table = pd.DataFrame({"x": numbers, "ill": "no"})
    pieces = open_table(write_pieces(tmp_path / "in", pa.Table.from_pandas(table, preserve_index=False), []), 80_000)
    schema = Schema.of(table.head(9), quasi_identifying=["x"], sensitive=["ill"])
    with pytest.raises(EncodeError) as here:
        code_table(pieces, schema)
    with pytest.raises(EncodeError) as there:
        ClusterTable(two, pieces, schema)
    assert str(there.value) == str(here.value)
    assert "inf" not in str(there.value)


def test_values_of_one_record__are_sent_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from anonymizer.workers import shares

    here: Any = nullcontext(shares.Cache(own={"x": pa.array([10.5, 20.5, 30.5, 40.5])}))
    monkeypatch.setattr(shares, "cache_of", lambda share: here)
    monkeypatch.setattr(shares, "codes_of", lambda share, coding: {})
    nothing: Any = None
    values = shares.values_to_send(nothing, nothing, {"x": np.array([3, 4, 1, 3], np.uint8)})["x"]
    assert values.distinct.to_pylist() == [20.5, 40.5]
    assert values.codes.tolist() == [1, 2, 0, 1]  # 2: missing


def test_shares__know_which_columns_may_stay(tmp_path: Path) -> None:
    from anonymizer.workers.questions import shares_of

    table = people(50)
    folder = write_pieces(tmp_path / "in", pa.Table.from_pandas(table, preserve_index=False), [])
    schema = schema_of(table)
    (share,) = shares_of("run", open_table(folder), schema, None, 1)  # type: ignore[arg-type]
    assert isinstance(share, Share)
    assert [column.name for column in share.numeric] == ["age", "income"]
