"""Runs over files that are compared with what they came to (:mod:`tests.golden`)."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from anonymizer.engines import anonymize_files
from anonymizer.partitions.folder import read_manifest
from tests.golden import ABSENT, plain, without_sentences
from tests.partitions.tables import people, schema_of, visits, visits_schema, whole_frame, write_pieces

FILES: dict[str, dict[str, Any]] = {
    "files-uniform": {"generalizer": "uniform", "grouping": "least", "k": 5, "prosecutor_limit": 1},
    "files-weighted": {"generalizer": "uniform", "numbers": "mean", "writing": "weighted", "order": "secret"},
    "files-persons": {"generalizer": "pack", "grouping": "least", "l": 2, "prosecutor_limit": 1},
    "files-median": {"generalizer": "uniform", "numbers": "median", "writing": "groups", "k": 3},
}
"""By name, the settings of each."""


def parts_of(name: str) -> dict[str, Any]:
    """Return what one of :data:`FILES` came to, by its parts."""
    persons = name == "files-persons"
    table = pa.Table.from_pandas((visits if persons else people)(700, 3), preserve_index=False)
    frame = whole_frame(table)
    numbers = {"quasi_identifying": ["age", "born", "job", "town"], "sensitive": ["diagnosis", "income"]}
    roles = numbers if name == "files-weighted" else {}
    schema = (visits_schema if persons else schema_of)(frame, **roles)
    heard: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        source, out = write_pieces(Path(folder) / "in", table, [200, 450], 150), Path(folder) / "out"
        result = anonymize_files(
            source, schema, out, rng=np.random.default_rng(9), rows=200,
            progress=lambda share, what: heard.append((share, what)), **FILES[name],
        )  # fmt: skip
        rows = [pd.read_parquet(out / part.name).to_csv() for part in read_manifest(out).parts]
        dictionary = json.loads((out / "dictionary.json").read_text("utf-8"))
    report = result.to_dict()
    figures = {what: value for what, value in report.items() if what not in ABSENT}
    origin = {what: report["provenance"][what] for what in ("parameters", "engine", "row_order")}
    return {
        "rows": rows,
        "report": without_sentences(plain([figures, origin, dictionary])),
        "progress": [f"{share:.6f} {what}" for share, what in heard],
    }
