"""Shares of any number of workers, every question asked twice, by workers that keep nothing: one machine's files."""

import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.engines import anonymize_files
from anonymizer.partitions import ranges, records
from anonymizer.partitions.pieces import open_table
from anonymizer.settings import Settings
from anonymizer.workers import shares
from anonymizer.workers.remote import release_on
from benchmarks._inline import Answer, Inline
from tests.partitions.tables import people, schema_of, visits, visits_schema, whole_frame, write_pieces
from tests.partitions.test_places import write_text
from tests.partitions.test_run import cuts
from tests.sweeps import few
from tests.workers.runs import same_files

WAYS: list[dict[str, Any]] = [
    {"generalizer": "uniform", "grouping": "least"},
    {"generalizer": "uniform", "grouping": "error-risk", "l": 2},
    {"generalizer": "refine", "grouping": "least"},
    {"generalizer": "pack", "grouping": "least"},
]


class Forgetful(Inline):
    """Workers of which each is killed after every answer, which another one gives again."""

    def ask(self, step: str, work: Any, *arguments: Any, share: int | None = None) -> Answer:
        """See :class:`anonymizer.workers.cluster.Cluster`."""
        super().ask(step, work, *arguments, share=share)
        shares.forget("")
        return super().ask(step, work, *arguments, share=share)


@settings(max_examples=few(6, 1))
@given(
    st.lists(st.integers(0, 240), max_size=4).map(sorted),
    st.integers(1, 5),
    st.integers(30, 120),
    st.sampled_from(WAYS),
    st.booleans(),
    st.sampled_from(["diagnosis", "income"]),
    st.booleans(),
)
def test_any_shares_asked_twice__release_the_files_of_one_machine(
    ends: list[int], workers: int, rows: int, way: dict[str, Any], persons: bool, target: str, as_text: bool
) -> None:
    frame = (visits if persons else people)(240, 5)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    quasi = ["age", "born", "job", "town"]
    schema = (visits_schema if persons else schema_of)(
        whole_frame(table), quasi_identifying=quasi, sensitive=["diagnosis", "income"], target=target
    )
    how = {"k": 3, "prosecutor_limit": 1, **way}
    if target == "income" and "l" in how:
        del how["l"]
    with (
        tempfile.TemporaryDirectory() as name,
        mock.patch.object(records, "SMALL", 4),  # so that nodes of few records are divided in waves
        mock.patch("anonymizer.workers.records.SMALL", 4),
        mock.patch.object(ranges, "RANGE", 50 * rows),
    ):
        folder = Path(name)
        source = write_text(folder / "in", frame, ends) if as_text else write_pieces(folder / "in", table, ends, 50)
        secret = np.random.default_rng
        anonymize_files(source, schema, folder / "here", rows=rows, override="a test", rng=secret(1), **how)
        cluster: Any = Forgetful(workers)
        release_on(
            cluster, open_table(source, rows), schema, folder / "there", Settings(**how), rng=secret(1),
            override="a test", rows=rows,
        )  # fmt: skip
        assert same_files(folder / "there", folder / "here")
        assert cluster.steps["take"].tasks


@settings(max_examples=few(6, 1))
@given(cuts(), st.integers(1, 4), st.sampled_from(WAYS))
@pytest.mark.sweep(0)
def test_pieces_of_any_form__release_the_files_of_one_machine(
    case: tuple[list[pa.Table], int], workers: int, way: dict[str, Any]
) -> None:
    """In any order, with levels that nobody has, whole numbers beside others, and a column without values in one."""
    (pieces, rows), secret = case, np.random.default_rng
    with (
        tempfile.TemporaryDirectory() as name,
        mock.patch.object(records, "SMALL", 4),
        mock.patch("anonymizer.workers.records.SMALL", 4),
    ):
        folder = Path(name)
        (folder / "in").mkdir()
        for number, piece in enumerate(pieces):
            pq.write_table(piece, folder / "in" / f"{number}.parquet", row_group_size=20)
        schema = schema_of(people(60), identifying=["ward"])
        how = {"k": 3, "override": "a test", "rng": secret(1), "rows": rows, **way}
        anonymize_files(folder / "in", schema, folder / "here", **how)
        cluster: Any = Forgetful(workers)
        release_on(
            cluster, open_table(folder / "in", rows), schema, folder / "there", Settings(k=3, **way), rng=secret(1),
            override="a test", rows=rows,
        )  # fmt: skip
        assert same_files(folder / "there", folder / "here")
