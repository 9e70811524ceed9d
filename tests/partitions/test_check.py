"""The check of a folder: as strict beside the original as the check of one table, group by group."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymizer.checking.verify import verify
from anonymizer.partitions.check import OriginalRows, verify_folder
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.pieces import open_table
from anonymizer.schema import Schema

LARGE = 2**53


def write_parts(folder: Path, tables: list[pa.Table], schema: Schema, groups: int = 1 << 20) -> None:
    """Write a released folder by hand."""
    parts = []
    for number, table in enumerate(tables):
        name = f"part-{number:05}.parquet"
        pq.write_table(table, folder / name, row_group_size=groups, store_schema=False, write_statistics=False)
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
