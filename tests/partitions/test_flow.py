"""A table in pieces that is open: the same facts, roles, tree, cut figures and folder as of the whole table."""

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from anonymizer.abilities import fits, require
from anonymizer.checking.linkage import singling_out
from anonymizer.engines import anonymize_files
from anonymizer.errors import CancelledError, MemoryOnlyError, ParameterError, ReadError
from anonymizer.flow import DEPENDS, Flow
from anonymizer.measuring.distributions import distributions
from anonymizer.measuring.utility import cut_error, cut_gcp
from anonymizer.partitions.flow import STAGES, PartedFlow
from anonymizer.partitions.folder import Archive, Packing, archive_of
from anonymizer.partitions.parted import read_pieces
from anonymizer.reading.facts import profile
from anonymizer.reading.profile import suggest
from anonymizer.schema import Schema
from anonymizer.settings import Settings, names_of
from tests.partitions.tables import QUASI, people, schema_of, whole_frame, write_pieces

N = 4000


def roles_of(frame: pd.DataFrame, **changes: Any) -> Schema:
    return schema_of(frame, identifying=["person_no", "weight"], **changes)


@pytest.fixture
def pieces(tmp_path: Path) -> tuple[Path, pd.DataFrame]:
    frame = people(N, 3)
    frame.insert(0, "person_no", [f"P{at:05}" for at in range(N)])
    frame["weight"] = np.round(np.random.default_rng(2).uniform(1, 9, N), 2)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return write_pieces(tmp_path / "in", table, [1000, 1000, 2500], 700), whole_frame(table)


def test_facts_and_roles__are_those_of_the_whole_table(pieces: tuple[Path, pd.DataFrame]) -> None:
    folder, frame = pieces
    reading = read_pieces(folder, "people", folder.parent)
    assert reading.table.facts == profile(frame)
    values = {name: column.values for name, column in reading.table.columns.items()}
    assert suggest(values, facts=reading.table.facts) == suggest(frame)
    assert reading.n_records == N
    pd.testing.assert_frame_equal(reading.preview.astype(object), frame.head(200).astype(object), check_dtype=False)
    assert str(folder) not in repr(reading.table.source.source)


@pytest.mark.sweep(1)
@pytest.mark.parametrize(
    "changes", [{}, {"numbers": "range", "grouping": "least"}, {"generalizer": "uniform", "k": 25}]
)
def test_stages__are_those_of_the_whole_table(pieces: tuple[Path, pd.DataFrame], changes: dict[str, Any]) -> None:
    folder, frame = pieces
    reading = read_pieces(folder, "people", folder.parent)
    schema, settings = roles_of(frame), Settings(**changes)
    whole, flow = Flow(frame, schema, settings), PartedFlow(reading.table, schema, settings)  # type: ignore[arg-type]
    for one, other in ((whole, flow), (whole.but(k=40), flow.but(k=40))):
        assert one.tree.sums.tobytes() == other.tree.sums.tobytes()
        assert one.leaf.tolist() == other.leaf.tolist()
        assert one.pruning.cut().tolist() == other.pruning.cut().tolist()
        assert one.worst == other.worst
        assert one.node_ncp.tobytes() == other.node_ncp.tobytes()
        assert cut_gcp(one.tree, one.node_ncp, one.pruning.cut()) == cut_gcp(
            other.tree, other.node_ncp, one.pruning.cut()
        )
        assert cut_error(one.tree, one.pruning.cut()) == cut_error(other.tree, other.pruning.cut())
    assert flow.but(k=30).tree is flow.tree
    assert whole.by_k == flow.by_k
    assert whole.before.sizes.tolist() == flow.before.sizes.tolist()
    names = schema.quasi_identifying
    assert flow.table.singling_out(names) == singling_out(frame, names)


@pytest.mark.parametrize("how", [{}, {"numbers": "median", "writing": "weighted"}, {"numbers": "range"}])
def test_a_column_before_and_after__is_that_of_the_whole_table(
    pieces: tuple[Path, pd.DataFrame], how: dict[str, Any]
) -> None:
    folder, frame = pieces
    schema, settings = roles_of(frame), Settings(generalizer="uniform", grouping="least", **how)
    whole = Flow(frame, schema, settings)
    flow = PartedFlow(read_pieces(folder, "people", folder.parent).table, schema, settings)  # type: ignore[arg-type]
    for expected in distributions(whole.encoded, replace(whole.boxed, by_tables=None)):  # pieces are read evenly
        column = flow.distribution(expected.name)
        assert (column.labels, column.missing) == (expected.labels, pytest.approx(expected.missing))
        assert column.before.tolist() == expected.before.tolist()
        assert column.after == pytest.approx(expected.after)


def test_settings__that_do_not_fit_are_those_that_are_refused(pieces: tuple[Path, pd.DataFrame]) -> None:
    folder, frame = pieces
    table, schema = read_pieces(folder, "people", folder.parent).table, roles_of(frame)
    ways = [(name, value) for name in ("generalizer", "grouping", "criterion", "cost") for value in names_of(name)]
    ways += [("suppression", 0.01), ("regression", "income ~ age"), ("risk_max", 0.1), ("k_map", 2)]
    ways = [(name, value) for name, value in ways if value not in ("sse", "error-digression", "regression-mondrian")]
    for name, value in ways:
        flow = PartedFlow(table, schema, Settings(grouping="least").but(**{name: value}))  # type: ignore[arg-type]
        with nullcontext() if fits("local", name, value) else pytest.raises(ParameterError):
            require("local", flow.settings, schema)
            _ = flow.tree


def test_other_stages__say_that_they_take_a_table_in_memory(pieces: tuple[Path, pd.DataFrame]) -> None:
    folder, frame = pieces
    flow = PartedFlow(read_pieces(folder, "people", folder.parent).table, roles_of(frame))  # type: ignore[arg-type]
    for name in DEPENDS:
        if name in STAGES:
            getattr(flow, name)
            continue
        with pytest.raises(MemoryOnlyError, match="table in memory"):
            getattr(flow, name)
    flow.compute("pruning", "after")
    with pytest.raises(MemoryOnlyError):
        flow.rows(np.arange(3))
    with pytest.raises(MemoryOnlyError):
        _ = flow.but(k_map=3).pruning


@pytest.mark.parametrize("generalizer", ["uniform", "pack"])
def test_the_folder__is_what_files_are_released_as(pieces: tuple[Path, pd.DataFrame], generalizer: str) -> None:
    folder, frame = pieces
    table = read_pieces(folder, "people", folder.parent).table
    schema = roles_of(frame)
    settings = Settings(generalizer=generalizer, grouping="least")
    secret = np.random.default_rng
    flow = PartedFlow(table, schema, settings, rng=secret(1))  # type: ignore[arg-type]
    result = flow.write_folder(folder.parent / "out")
    expected = anonymize_files(
        folder, schema, folder.parent / "other", rng=secret(1), generalizer=generalizer, grouping="least"
    )
    assert result.folder is not None
    assert result.manifest == expected.manifest
    flow = PartedFlow(table, schema, settings, rng=secret(1))  # type: ignore[arg-type]
    archive = flow.write_folder(Packing("out")).folder
    assert isinstance(archive, Archive)
    assert archive.data == archive_of(folder.parent / "out", result.manifest).data  # type: ignore[union-attr]
    assert result.parameters == expected.parameters
    mine, other = result.to_dict(), expected.to_dict()
    for report in (mine, other):
        for name in ("commitment", "key", "name"):
            report["provenance"]["input"].pop(name)
        report["provenance"].pop("time")
        report["plan"] = re.sub("^input = .*$", "", report["plan"], flags=re.MULTILINE)
    assert mine == other


def test_roles__are_changed_without_reading_again(pieces: tuple[Path, pd.DataFrame]) -> None:
    folder, frame = pieces
    flow = PartedFlow(read_pieces(folder, "people", folder.parent).table, roles_of(frame))  # type: ignore[arg-type]
    for file in folder.iterdir():
        file.unlink()
    other = roles_of(frame, quasi_identifying=[*QUASI, "ward"])
    changed = Flow(frame, other)
    assert flow.but(other).tree.sums.tobytes() == changed.tree.sums.tobytes()


@pytest.mark.parametrize("words", ["Growing", "Making groups", "Writing part", "Checking part"])
def test_cancel__leaves_nothing(pieces: tuple[Path, pd.DataFrame], words: str) -> None:
    folder, frame = pieces
    table = read_pieces(folder, "people", folder.parent).table

    def progress(share: float, what: str) -> None:
        if words in what:
            raise CancelledError("This was stopped.")

    flow = PartedFlow(table, roles_of(frame), Settings(generalizer="uniform")).watch(progress)  # type: ignore[arg-type]
    with pytest.raises(CancelledError):
        flow.write_folder(folder.parent / "out", progress=progress)
    assert [path.name for path in folder.parent.iterdir()] == ["in"]


def test_cancel__ends_the_work_on_every_k(pieces: tuple[Path, pd.DataFrame]) -> None:
    folder, frame = pieces
    flow = PartedFlow(read_pieces(folder, "people", folder.parent).table, roles_of(frame))  # type: ignore[arg-type]
    _ = flow.tree
    shares: list[float] = []

    def progress(share: float, what: str) -> None:
        shares.append(share)
        if share > 0.5:
            raise CancelledError("This was stopped.")

    with pytest.raises(CancelledError):
        _ = flow.watch(progress).by_k
    assert min(shares) == 0
    assert not flow.ready("by_k")


def test_cancel__in_reading(pieces: tuple[Path, pd.DataFrame]) -> None:
    def stopped() -> None:
        raise CancelledError("This was stopped.")

    with pytest.raises(CancelledError):
        read_pieces(pieces[0], "people", pieces[0].parent, stopped=stopped)


def test_a_part_that_leads_outside__is_refused(pieces: tuple[Path, pd.DataFrame], tmp_path: Path) -> None:
    folder, _ = pieces
    aside = tmp_path / "aside.parquet"
    (folder / "part-000.parquet").rename(aside)
    (folder / "part-000.parquet").symlink_to(aside)
    with pytest.raises(ReadError, match=r"part-000\.parquet leads out"):
        read_pieces(folder, "people", folder)


def test_a_damaged_part__is_told_without_its_place(pieces: tuple[Path, pd.DataFrame]) -> None:
    folder, _ = pieces
    part = folder / "part-003.parquet"
    part.write_bytes(part.read_bytes()[:-500] + bytes(500))
    with pytest.raises(ReadError) as caught:
        read_pieces(folder, "people", folder.parent)
    assert "part-003.parquet" in str(caught.value)
    assert str(folder.parent) not in str(caught.value)


def test_a_part_that_changes_meanwhile__is_refused(pieces: tuple[Path, pd.DataFrame]) -> None:
    folder, _ = pieces
    first = (folder / "part-000.parquet").read_bytes()

    def progress(share: float, what: str) -> None:
        if "digest" in what:
            (folder / "part-000.parquet").write_bytes(first + b"x")

    with pytest.raises(ReadError, match=r"part-000\.parquet changed while it was read"):
        read_pieces(folder, "people", folder.parent, progress=progress)


def test_an_empty_folder__is_told_without_its_place(tmp_path: Path) -> None:
    with pytest.raises(ReadError) as caught:
        read_pieces(tmp_path, "nothing here", tmp_path)
    assert "nothing here" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_gate__counts_unchanged_columns_of_all_records(pieces: tuple[Path, pd.DataFrame], tmp_path: Path) -> None:
    """What unchanged columns find is counted by the checker, in pieces as in memory."""
    folder, frame = pieces
    schema = roles_of(frame, quasi_identifying=["age", "job"], sensitive=["diagnosis", "income", "born"])
    settings = Settings(generalizer="uniform", k=25, grouping="error-risk")
    gate = Flow(frame, schema, settings).judgement
    reading = read_pieces(folder, "people", folder.parent)
    result = PartedFlow(reading.table, schema, settings).write_folder(tmp_path / "out")
    assert result.manifest is not None
    assert result.verification.unchanged == Flow(frame, schema, settings).verification.unchanged
    of = {finding.key: finding for finding in result.gate.findings}
    for finding in gate.findings:
        if finding.key.startswith(("known", "unchanged")):
            assert of[finding.key] == finding
    assert of["known: born"].is_open
    assert (of["minimality"].figure, of["minimality"].detail) == (
        "Not tried", "This attack is not tried on a table in pieces.",
    )  # fmt: skip
