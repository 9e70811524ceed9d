"""A run over files: the rows that a run in memory releases, in a folder that is there whole or not at all."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.engines import anonymize_files
from anonymizer.errors import FolderExistsError, GuaranteeError, ParameterError, ReadError
from anonymizer.partitions import ranges, records, run
from anonymizer.partitions.check import verify_folder
from anonymizer.partitions.folder import MANIFEST, read_manifest
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.records import InPieces
from anonymizer.reading.files import read_table
from tests import golden
from tests.partitions.files import FILES, parts_of
from tests.partitions.tables import people, schema_of, whole_frame, write_pieces
from tests.partitions.test_records import assert_same_tree
from tests.sweeps import few


def rows_of(folder: Path) -> pd.DataFrame:
    parts = [pd.read_parquet(folder / part.name) for part in read_manifest(folder).parts]
    return pd.concat([part.astype(object) for part in parts], ignore_index=True)


def same_rows(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    first, second = (frame.astype(object).where(frame.notna(), None).values.tolist() for frame in (one, other))
    return first == second


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    "changes",
    [
        {"generalizer": "uniform", "grouping": "least"},
        {"generalizer": "uniform", "grouping": "error-risk", "numbers": "range", "l": 2},
        {"generalizer": "uniform", "grouping": "least", "numbers": "mean", "writing": "weighted"},
        {"generalizer": "uniform", "grouping": "infogain-mondrian", "writing": "groups"},
        {"generalizer": "refine", "grouping": "least"},
        {"generalizer": "pack", "grouping": "least"},
    ],
)
def test_files__are_released_as_the_table_in_memory(tmp_path: Path, changes: dict[str, Any]) -> None:
    table = pa.Table.from_pandas(people(4000, 3), preserve_index=False)
    frame = whole_frame(table)
    schema = schema_of(frame)
    source = write_pieces(tmp_path / "in", table, [1000, 1000, 2500], 700)
    secret = np.random.default_rng
    expected = an.anonymize(frame, schema, rng=secret(1), **changes)
    result = anonymize_files(source, schema, tmp_path / "out", rng=secret(1), rows=900, **changes)
    assert result.folder is not None, result.gate.open
    assert len(result.manifest.parts) == 5
    assert result.tree.sums.tobytes() == expected.tree.sums.tobytes()
    assert result.pruning.cut().tolist() == expected.pruning.cut().tolist()
    assert same_rows(rows_of(tmp_path / "out"), expected.release.frame())
    for check in result.verification.checks:
        if check.name not in ("file", "linking posterior"):
            other = expected.verification[check.name]
            assert (check.passed, check.achieved, check.sentence) == (other.passed, other.achieved, other.sentence)
    assert result.loss == pytest.approx(expected.utility.ncp_by_column)
    assert result.after.sizes.tolist() == expected.report.after.sizes.tolist()


@pytest.mark.sweep(1)
@pytest.mark.parametrize(
    ("sensitive", "target"), [(["cost", "visits", "diagnosis"], "cost"), (["diagnosis", "cost", "visits"], "diagnosis")]
)
def test_files_with_sensitive_numbers__are_released_as_the_table_in_memory(
    tmp_path: Path, sensitive: list[str], target: str
) -> None:
    frame = people(3000, 3).assign(
        cost=np.random.default_rng(1).lognormal(8, 1, 3000).round(2),
        visits=pd.array([None if at % 7 == 0 else at % 13 for at in range(3000)], "Int64"),
    )
    table = pa.Table.from_pandas(frame, preserve_index=False)
    whole = whole_frame(table)
    schema = schema_of(whole, sensitive=sensitive, target=target)
    source = write_pieces(tmp_path / "in", table, [1000, 1000, 2500], 700)
    settings: dict[str, Any] = {"generalizer": "uniform", "rsd_min": 0.05}
    expected = an.anonymize(whole, schema, rng=np.random.default_rng(1), **settings)
    result = anonymize_files(source, schema, tmp_path / "out", rows=900, rng=np.random.default_rng(1), **settings)
    assert result.folder is not None, result.gate.open
    assert result.tree.moments.tobytes() == expected.tree.moments.tobytes()
    assert result.pruning.cut().tolist() == expected.pruning.cut().tolist()
    assert same_rows(rows_of(tmp_path / "out"), expected.release.frame())
    for check in result.verification.checks:
        if check.name not in ("file", "linking posterior"):
            other = expected.verification[check.name]
            assert (check.passed, check.sentence) == (other.passed, other.sentence)
            assert check.achieved == pytest.approx(other.achieved)


@pytest.mark.parametrize("name", FILES)
def test_files__come_to_what_they_did(name: str) -> None:
    golden.check(name, parts_of(name))


def test_a_limit_that_all_records_fail__is_said_as_in_memory(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(people(60), preserve_index=False)
    frame = whole_frame(table)
    schema, source = schema_of(frame), write_pieces(tmp_path / "in", table, [40])
    with pytest.raises(GuaranteeError, match="at least 40") as whole:
        an.anonymize(frame, schema, l=40)
    with pytest.raises(GuaranteeError) as pieces:
        anonymize_files(source, schema, tmp_path / "out", l=40)
    assert str(pieces.value) == str(whole.value)
    assert not (tmp_path / "out").exists()


def test_the_report__binds_the_folder(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(people(1000), preserve_index=False)
    schema = schema_of(whole_frame(table))
    source = write_pieces(tmp_path / "in", table, [400])
    result = anonymize_files(source, schema, tmp_path / "out", generalizer="uniform", grouping="least")
    report = json.loads(result.to_json())
    assert report["provenance"]["output_sha256"] == {"folder": read_manifest(tmp_path / "out").sha256}
    assert report["passed"] is True
    again = verify_folder(tmp_path / "out", schema, k=10)
    assert again.passed
    assert again.k_anonymous
    assert again["file"].passed


# Folders that are not in order.


def made(tmp_path: Path) -> tuple[Path, an.Schema]:
    table = pa.Table.from_pandas(people(1000), preserve_index=False)
    schema = schema_of(whole_frame(table))
    source = write_pieces(tmp_path / "in", table, [400])
    anonymize_files(source, schema, tmp_path / "out", generalizer="uniform", grouping="least", rows=300)
    return tmp_path / "out", schema


def test_a_part_that_was_changed__is_named(tmp_path: Path) -> None:
    folder, schema = made(tmp_path)
    part = folder / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-9] + b"x" * 9)
    with pytest.raises(ReadError, match=r"part-00001.parquet is not the file"):
        verify_folder(folder, schema, k=10)
    part.unlink()
    with pytest.raises(ReadError, match=r"part-00001.parquet cannot be opened"):
        verify_folder(folder, schema, k=10)


def test_what_is_beside_the_parts__fails(tmp_path: Path) -> None:
    folder, schema = made(tmp_path)
    (folder / "names.txt").write_text("Rumpelstiltskin")
    check = verify_folder(folder, schema, k=10)["file"]
    assert check.passed is False
    assert "1 files that its manifest does not name" in check.sentence


@pytest.mark.parametrize("name", ["../secret.parquet", "part-1.parquet", "/etc/passwd"])
def test_a_manifest_that_names_others__is_refused(tmp_path: Path, name: str) -> None:
    folder, schema = made(tmp_path)
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["parts"][0]["name"] = name
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ReadError, match="no name of a part"):
        verify_folder(folder, schema, k=10)


def test_a_cell_that_does_not_hold_its_record__is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.Table.from_pandas(people(1000), preserve_index=False)
    schema = schema_of(whole_frame(table))
    source = write_pieces(tmp_path / "in", table, [])
    honest = run.release_of_pieces

    def careless(*arguments: Any) -> Any:
        release, classes = honest(*arguments)
        release.part[:] = release.part[::-1].copy()
        return release, classes

    monkeypatch.setattr(run, "release_of_pieces", careless)
    result = anonymize_files(source, schema, tmp_path / "out", generalizer="uniform", grouping="least")
    assert result.verification["containment"].passed is False
    assert result.folder is None
    assert not (tmp_path / "out").exists()
    assert os.listdir(tmp_path) == ["in"]


# There whole or not at all.


def test_a_run_that_fails__leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.Table.from_pandas(people(500), preserve_index=False)
    schema = schema_of(whole_frame(table))
    source = write_pieces(tmp_path / "in", table, [])

    def fails(*arguments: Any, **more: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(run, "verify_folder", fails)
    with pytest.raises(RuntimeError, match="the disk is full"):
        anonymize_files(source, schema, tmp_path / "out", generalizer="uniform")
    assert os.listdir(tmp_path) == ["in"]


KILLED = """
import os, signal, sys
from pathlib import Path
from anonymizer.releasing.files import replace_folder
with replace_folder(sys.argv[1]) as half:
    (half / "part-00000.parquet").write_bytes(b"half")
    print(oct(half.stat().st_mode & 0o777), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders are locked on POSIX systems only")
def test_a_run_that_is_killed__leaves_no_folder_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    from anonymizer.releasing.files import remove_halves, replace_folder

    out = tmp_path / "out"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(out)], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL
    assert killed.stdout.strip() == "0o700"
    assert not out.exists()
    assert len(os.listdir(tmp_path)) == 1
    with replace_folder(out) as half:
        (half / "whole").write_bytes(b"")
        assert len(os.listdir(tmp_path)) == 1
        with replace_folder(tmp_path / "out.2"):  # another run beside it
            assert half.exists()
        remove_halves(out)
        assert half.exists()
    assert sorted(os.listdir(tmp_path)) == ["out", "out.2"]


def test_a_folder_that_is_there_or_in_the_input__is_not_written(tmp_path: Path) -> None:
    folder, schema = made(tmp_path)
    before = sorted(os.listdir(folder))
    with pytest.raises(FolderExistsError, match="something at"):
        anonymize_files(tmp_path / "in", schema, folder, generalizer="uniform")
    assert sorted(os.listdir(folder)) == before
    for inside in (tmp_path / "in", tmp_path / "in" / "out", tmp_path):
        with pytest.raises(ParameterError, match="inside one another"):
            anonymize_files(tmp_path / "in", schema, inside, generalizer="uniform")


def test_what_comes_to_the_place_of_a_folder_meanwhile__stays(tmp_path: Path) -> None:
    from anonymizer.releasing.files import replace_folder

    with pytest.raises(FolderExistsError, match="something at"), replace_folder(tmp_path / "out"):
        (tmp_path / "out").write_bytes(b"of others")
    assert os.listdir(tmp_path) == ["out"]
    assert (tmp_path / "out").read_bytes() == b"of others"


def test_what_takes_one_table_in_memory__is_said(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(people(100), preserve_index=False)
    source = write_pieces(tmp_path / "in", table, [])
    with pytest.raises(ParameterError, match="'tiered' takes one table in memory"):
        anonymize_files(source, schema_of(whole_frame(table)), tmp_path / "out", generalizer="tiered")


# However a table is cut.


def test_text_in_pieces__gives_the_folder_of_the_whole_and_of_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "people.csv"
    people(2000, 3).to_csv(source, index=False)
    whole = read_table(source.read_bytes(), name="people.csv").frame
    whole.to_parquet(tmp_path / "people.parquet", index=False)
    schema, how = schema_of(whole), {"generalizer": "refine", "grouping": "least", "rows": 700}
    expected = anonymize_files(source, schema, tmp_path / "one", **how)
    parquet = anonymize_files(tmp_path / "people.parquet", schema, tmp_path / "two", **how)
    monkeypatch.setattr(ranges, "RANGE", 9000)
    result = anonymize_files(source, schema, tmp_path / "three", **how)
    assert result.manifest.sha256 == expected.manifest.sha256 == parquet.manifest.sha256
    assert result.digest == expected.digest == sha256(source.read_bytes()).hexdigest()


@st.composite
def cuts(draw: st.DrawFn) -> tuple[list[pa.Table], int]:
    """Return the same people in pieces of any size, order and form, one of which may lack a column's values."""
    seed = draw(st.integers(0, 5))
    frame = people(60, seed)
    frame["age"] = frame["age"].fillna(40).astype(int)
    ends = sorted(draw(st.lists(st.integers(0, 60), max_size=4)))
    bounds = list(zip([0, *ends], [*ends, 60], strict=True))
    absent = draw(st.sampled_from([None, *range(len(bounds))]))
    pieces = []
    for number, (start, end) in enumerate(bounds):
        piece = frame.iloc[start:end].copy()
        if number == absent:
            piece["job"] = pd.Series([None] * len(piece), dtype="str").to_numpy()
        if draw(st.booleans()):
            piece["age"] = piece["age"].astype(float)
        table = pa.Table.from_pandas(piece, preserve_index=False)
        if draw(st.booleans()):
            levels = pa.array(["nobody's town", *sorted(frame["town"].unique())])
            codes = pc.index_in(table["town"].combine_chunks().cast(pa.string()), levels)
            table = table.set_column(4, "town", pa.DictionaryArray.from_arrays(codes, levels))
        pieces.append(table)
    return draw(st.permutations(pieces)), draw(st.integers(1, 70))


WAYS: list[dict[str, Any]] = [
    {"generalizer": "uniform", "grouping": "least", "criterion": "entropy"},
    {"generalizer": "uniform", "grouping": "error-risk"},
    {"generalizer": "refine", "grouping": "least"},
    {"generalizer": "pack", "grouping": "least", "criterion": "entropy"},
    {"generalizer": "pack"},
    {"generalizer": "pack", "cost": "ranks"},
]


@settings(max_examples=few(12, 3))
@given(cuts(), st.sampled_from(WAYS), st.sampled_from([None, 300, 3000]))
def test_any_pieces_in_any_order__give_the_same_tree_cut_cells_and_checks(
    case: tuple[list[pa.Table], int], way: dict[str, Any], of_text: int | None
) -> None:
    """Parquet files, or one of text in pieces of so many bytes."""
    (pieces, rows), secret = case, np.random.default_rng
    how: dict[str, Any] = {"k": 3, **way}
    waves: list[int] = []

    def divide(self: InPieces, divisions: Any, nodes: Any) -> Any:
        waves.append(len(divisions))
        return of_pieces(self, divisions, nodes)

    of_pieces = InPieces.divide
    with (
        tempfile.TemporaryDirectory() as name,
        mock.patch.object(records, "SMALL", 4),  # so that nodes of few records are divided in waves
        mock.patch.object(InPieces, "divide", divide),
        mock.patch.object(ranges, "RANGE", of_text),
    ):
        folder = Path(name)
        (folder / "in").mkdir()
        frame = pd.concat([piece.to_pandas() for piece in pieces], ignore_index=True)
        if of_text:
            content = frame.to_csv(index=False).encode()
            (folder / "in" / "0.csv").write_bytes(content)
            whole = read_table(content, name="whole.csv").frame
        else:
            for number, piece in enumerate(pieces):
                pq.write_table(piece, folder / "in" / f"{number}.parquet", row_group_size=20)
            table = pa.Table.from_pandas(frame.astype({"town": "str", "job": "str"}), preserve_index=False)
            whole = whole_frame(table)
        schema = schema_of(whole, identifying=["ward"])
        expected = an.anonymize(whole, schema, rng=secret(1), **how)
        result = anonymize_files(
            folder / "in", schema, folder / "out", rows=rows, override="a test", rng=secret(1), **how
        )
        assert any(waves) == (result.parameters["criterion"] != "detail")
        assert_same_tree(result.tree, expected.tree)
        assert result.pruning.cut().tolist() == expected.pruning.cut().tolist()
        assert result.verification.passed == expected.verification.passed
        for check in result.verification.checks:
            if check.name not in ("file", "linking posterior"):
                assert check.achieved == expected.verification[check.name].achieved
        assert result.folder is not None, result.gate.open
        frames = (rows_of(folder / "out"), expected.release.frame())
        assert same_rows(*frames)


@pytest.mark.parametrize("engine", ["local", pytest.param("dask", marks=pytest.mark.programs)])
def test_a_column_of_lists__is_left_out_and_said(tmp_path: Path, engine: str) -> None:
    table = pa.Table.from_pandas(people(400, 3), preserve_index=False)
    pieces = write_pieces(tmp_path / "in", table.append_column("tags", pa.array([["a", "b"]] * 400)), [200])
    result = an.anonymize_files(pieces, schema_of(whole_frame(table)), tmp_path / "out", engine=engine, k=4)
    assert any("'tags' holds values of type list" in note and "was left out" in note for note in result.notes)
    assert "tags" not in rows_of(tmp_path / "out").columns
    of_rest = an.anonymize_files(
        write_pieces(tmp_path / "rest", table, [200]), schema_of(whole_frame(table)), tmp_path / "o", k=4
    )
    assert of_rest.manifest.sha256 == result.manifest.sha256
    only = write_pieces(tmp_path / "only", table.select([]).append_column("tags", pa.array([["a"]] * 400)), [200])
    with pytest.raises(ReadError, match="No column of .* holds numbers, dates or text"):
        open_table(only)
