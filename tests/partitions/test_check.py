"""The check of a folder: as strict beside the original as the check of one table, group by group."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymizer import engines
from anonymizer.checking.parquet_file import FileBytes
from anonymizer.checking.verify import verify
from anonymizer.errors import ReadError
from anonymizer.partitions import check, run
from anonymizer.partitions.check import OriginalRows, verify_folder
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.folder import read_manifest
from anonymizer.partitions.pieces import open_table
from anonymizer.reading.parquet import write_parquet
from anonymizer.schema import Column, Kind, Role, Schema
from tests.partitions.tables import people, schema_of, whole_frame, write_pieces

LARGE = 2**53


def write_parts(folder: Path, tables: list[pa.Table], schema: Schema, groups: int = 1 << 20) -> None:
    """Write a released folder by hand."""
    parts = []
    for number, table in enumerate(tables):
        name = f"part-{number:05}.parquet"
        columns = table.to_pandas(types_mapper={pa.string(): pd.StringDtype("pyarrow")}.get)
        with (folder / name).open("wb") as sink:
            write_parquet({each: columns[each] for each in table.column_names}, len(table), sink, groups)
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        parts.append({"name": name, "rows": len(table), "sha256": digest})
    dictionary = json.dumps([{"name": c.name, "role": c.role, "kind": c.kind} for c in schema.columns]).encode()
    (folder / "dictionary.json").write_bytes(dictionary)
    manifest = {
        "rows": sum(map(len, tables)), "parts": parts, "dictionary_sha256": hashlib.sha256(dictionary).hexdigest()
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))


def numbered(after: list[int]) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """Return a table with whole numbers that floats do not tell apart, and a release that keeps others."""
    before = pd.DataFrame({"age": [30] * 4, "number": [LARGE, LARGE + 1, LARGE + 2, 7]})
    schema = Schema.of(before, quasi_identifying=["age"])
    released = pd.DataFrame({"age": pd.Categorical(["30"] * 4), "number": after})
    return before, released, schema


@pytest.mark.parametrize(("last", "fits"), [(LARGE + 1, True), (LARGE, False), (LARGE + 2, False)])
def test_whole_numbers_that_floats_do_not_tell_apart__are_compared(last: int, fits: bool, tmp_path: Path) -> None:
    before, released, schema = numbered([LARGE, last, LARGE + 2, 7])
    whole = verify(released, schema, k=2, original=before, order=np.arange(4))
    assert whole["containment"].passed is fits
    pq.write_table(pa.Table.from_pandas(before, preserve_index=False), tmp_path / "in.parquet")
    coded = code_table(open_table(tmp_path / "in.parquet"), schema)
    folder = tmp_path / "out"
    folder.mkdir()
    table = pa.Table.from_pandas(released, preserve_index=False).replace_schema_metadata(None)
    write_parts(folder, [table], schema)
    pieces = verify_folder(folder, schema, k=2, original=OriginalRows(coded, np.arange(4)))
    assert pieces["containment"].passed is fits


# What a folder tells, however it is cut.


def released_parts(seed: int, rows: int) -> tuple[pa.Table, Schema]:
    rng = np.random.default_rng(seed)
    ages, towns = np.array(["[20, 30]", "[31, 40]", None], dtype=object), np.array(["{a, b}", "c", "*"], dtype=object)
    table = pd.DataFrame({"age": ages[rng.integers(0, 3, rows)], "town": towns[rng.integers(0, 3, rows)]})
    table["sick"] = np.array(["yes", "no", None], dtype=object)[rng.integers(0, 3, rows)]
    table["visits"] = rng.integers(0, 4, rows)
    kinds = {"age": Kind.NUMERIC, "town": Kind.CATEGORICAL, "sick": Kind.CATEGORICAL, "visits": Kind.NUMERIC}
    roles = [Role.QUASI_IDENTIFYING, Role.QUASI_IDENTIFYING, Role.SENSITIVE, Role.INSENSITIVE]
    columns = tuple(Column(name, role, kinds[name]) for name, role in zip(kinds, roles, strict=True))
    return pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None), Schema(columns)


@pytest.mark.parametrize(("ends", "groups", "merge"), [([], 1000, 5), ([1, 90], 7, 10), ([40], 30, 1 << 20)])
def test_a_folder_in_any_pieces__is_checked_as_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: list[int], groups: int, merge: int
) -> None:
    monkeypatch.setattr(check, "MERGE", merge)
    table, schema = released_parts(len(ends), 120)
    cuts = zip([0, *ends], [*ends, len(table)], strict=True)
    write_parts(tmp_path, [table.slice(start, end - start) for start, end in cuts], schema, groups)
    pieces = verify_folder(tmp_path, schema, k=2, l=2)
    whole = verify(table.to_pandas(strings_to_categorical=True), schema, k=2, l=2)
    assert [one for one in pieces.checks if one.name != "file"] == list(whole.checks)
    assert pieces["file"].passed


def test_rows_in_codes__are_the_rows(tmp_path: Path) -> None:
    table, _ = released_parts(0, 300)
    rows = check.DistinctRows()
    for start in range(0, 300, 70):
        assert rows.add(check.GroupRows.of(*check._coded(table.slice(start, 70).combine_chunks())))
    assert not rows.add(check.GroupRows.of(*check._coded(table.slice(0, 5).drop_columns(["sick"]))))
    frame, counts = rows.table()
    frame["rows"] = counts
    text = frame.astype(object).where(frame.notna(), "missing").astype(str)
    own = table.to_pandas().astype(object)
    own = own.where(own.notna(), "missing").astype(str)
    expected = own.groupby(list(own.columns), sort=True).size()
    assert text.set_index(list(own.columns))["rows"].astype(int).sort_index().to_dict() == expected.to_dict()


@pytest.fixture(scope="module")
def boxed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Path, Schema]:
    return boxed_people(tmp_path_factory.mktemp("boxed"))


@pytest.mark.parametrize(
    ("name", "place"), [("age", 0), ("income", 999), ("born", 699), ("town", 600), ("ward", 700), ("diagnosis", 130)]
)
def test_one_cell_that_was_changed__is_found(
    boxed: tuple[Any, Any, Path, Schema], tmp_path: Path, name: str, place: int
) -> None:
    order, coded, folder, schema = boxed
    parts = [pq.read_table(folder / part.name) for part in read_manifest(folder).parts]
    whole = pa.concat_tables(parts)
    cells = whole[name].to_pylist()
    other_cells = {"age": "[200, 201]", "income": "[-2, -1]", "born": "[1901-01-01, 1902-01-01]"}
    cells[place] = other_cells.get(name, "{town 98, town 99}" if name == "town" else "x")
    changed = whole.set_column(whole.column_names.index(name), name, pa.array(cells))
    for number, honest in ((1, whole), (2, changed)):
        other = tmp_path / f"out-{number}"
        other.mkdir()
        write_parts(other, [honest.slice(0, 600), honest.slice(600)], schema, 128)
        result = verify_folder(other, schema, k=2, original=OriginalRows(coded, order))
        assert result["containment"].passed is (number == 1)


def boxed_people(tmp_path: Path) -> tuple[Any, Any, Path, Schema]:
    """Return the order, the original, and a released folder of people."""
    table = pa.Table.from_pandas(people(1000), preserve_index=False)
    schema = schema_of(whole_frame(table))
    source = write_pieces(tmp_path / "in", table, [400])
    coded = code_table(open_table(source), schema)
    answers: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        honest = run.release_of_pieces
        patch.setattr(run, "release_of_pieces", lambda *a: answers.append(honest(*a)) or answers[0])
        result = engines.anonymize_files(
            source, schema, tmp_path / "out", generalizer="uniform", grouping="least", rows=300
        )
    assert result.folder is not None
    return answers[0][0].order, coded, tmp_path / "out", schema


def test_columns_of_other_types__are_refused_or_checked(tmp_path: Path) -> None:
    table, schema = released_parts(1, 40)
    place = table.column_names.index("sick")
    empty = table.set_column(place, "sick", pa.nulls(len(table)))
    write_parts(tmp_path, [empty], schema)
    assert verify_folder(tmp_path, schema, k=1)["file"].passed
    write_parts(tmp_path, [table, table.set_column(place, "sick", pa.array(range(40)))], schema)
    with pytest.raises(ReadError, match=r"part-00001.parquet has other columns"):
        verify_folder(tmp_path, schema, k=1)
    nested = table.set_column(place, "sick", pa.array([["yes"]] * 40))
    write_parts(tmp_path, [table, nested], schema)
    with pytest.raises(ReadError, match=r"part-00001.parquet is no release"):
        verify_folder(tmp_path, schema, k=1)


def test_parts__are_hashed_and_read_slice_by_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, schema = released_parts(5, 20_000)
    write_parts(tmp_path, [table.slice(0, 9000), table.slice(9000)], schema, 1500)
    slices: list[int] = []
    whole, read, get = Path.read_bytes, check._rows_of, FileBytes.__getitem__
    monkeypatch.setattr(
        Path, "read_bytes", lambda path: pytest.fail("a part as a whole") if "part" in path.name else whole(path)
    )
    monkeypatch.setattr(FileBytes, "__getitem__", lambda file, at: slices.append(len(get(file, at))) or get(file, at))
    assert verify_folder(tmp_path, schema, k=1)["file"].passed
    smallest = min(path.stat().st_size for path in tmp_path.glob("part-*"))
    assert 0 < max(slices) < smallest / 2

    def late(source: Path, *about: Any) -> check.PartRows:
        rows = read(source, *about)
        with source.open("ab") as file:
            file.write(b"x")
        return rows

    monkeypatch.setattr(check, "_rows_of", late)
    with pytest.raises(ReadError, match="changed while it was read"):
        verify_folder(tmp_path, schema, k=1)
