"""A release put together again from a packet: its rows, and what the packet's report says of its columns.

Everything in a packet that follows from these is made again and compared. So nothing can stand in a dictionary, a
catalogue entry, a script or the bytes of a table that does not follow from the rows, the roles and the report.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.cells import Cell, parse_column_cell
from anonymizer.json_value import JsonValue
from anonymizer.labelled.variable import Variable
from anonymizer.releasing.release import Release, ReleasedColumn
from anonymizer.reporting.catalogue import Entry
from anonymizer.reporting.findings import Statement
from anonymizer.reporting.report import version_of
from anonymizer.schema import REASONS, Column, Role, Schema

LONGEST, MOST_LEVELS, MOST_COLUMNS = 100_000, 1_000_000, 100_000
SCRIPT = ("name", "parameters", "read_with", "reasons")
"""What the script of a packet is made of."""


def libraries() -> dict[str, str]:
    """Return the versions of what writes the files of a release, by name."""
    return {name: version_of(name) for name in ("pyarrow", "pyreadstat", "pandas")} | {
        "zlib": zlib.ZLIB_RUNTIME_VERSION
    }


@dataclass(frozen=True)
class Facts:
    """What a report says of a release beside its rows and roles: for the dictionary and the script.

    ``what`` the release is, in words; ``purpose``, ``prepared_by``: of the steward; ``numbers``: how they are written;
    ``script``: what it is made of, by :data:`SCRIPT`. ``columns``: of each, by name, its domain, whether that was
    declared, whether a value can be missing, and what a file says of it.
    """

    what: str
    purpose: str
    prepared_by: str
    numbers: str
    script: Mapping[str, Any]
    columns: Mapping[str, tuple[tuple[str, ...], bool, bool, Variable]]

    @classmethod
    def of(cls, release: Release, what: str, statement: Statement, script: Mapping[str, Any]) -> "Facts":
        """Return the facts of a release."""
        columns = {c.name: (c.domain, c.declared, c.may_miss, c.variable) for c in release.columns}
        return cls(what, statement.purpose, statement.prepared_by, release.numbers, dict(script), columns)

    def to_dict(self) -> dict[str, Any]:
        """Return them, JSON-ready."""
        columns = [
            {"name": name, "domain": list(domain), "declared": declared, "may_miss": may_miss,
             "variable": variable.to_dict()}
            for name, (domain, declared, may_miss, variable) in self.columns.items()
        ]  # fmt: skip
        return {
            "what": self.what, "purpose": self.purpose, "prepared_by": self.prepared_by, "numbers": self.numbers,
            "script": {name: self.script[name] for name in SCRIPT}, "columns": columns,
        }  # fmt: skip

    @classmethod
    def from_value(cls, value: JsonValue) -> "Facts":
        """Return the inverse of :meth:`to_dict`. Raises :class:`ReadError` with the place of what does not fit."""
        value.fields(("what", "purpose", "prepared_by", "numbers", "script", "columns"))
        columns = {}
        for column in value.field("columns").items(MOST_COLUMNS):
            column.fields(("name", "domain", "declared", "may_miss", "variable"))
            domain = tuple(level.text(LONGEST) for level in column.field("domain").items(MOST_LEVELS))
            columns[column.field("name").text(LONGEST)] = (
                domain, column.field("declared").flag(), column.field("may_miss").flag(),
                Variable.from_value(column.field("variable")),
            )  # fmt: skip
        texts = [value.field(name).text(LONGEST) for name in ("what", "purpose", "prepared_by", "numbers")]
        script = value.field("script")
        script.fields(SCRIPT)
        return cls(texts[0], texts[1], texts[2], texts[3], dict(script.value), columns)


def release_again(rows: pd.DataFrame, schema: Schema, facts: Facts) -> Release:
    """Return the release of which these are the rows, under its schema. Raises :class:`CellError` for what is no cell,
    and ``KeyError`` for a column of which nothing is said."""
    columns = tuple(_column(str(name), rows[name], schema[str(name)], facts) for name in rows.columns)
    return Release(columns, np.arange(len(rows)), "", numbers=facts.numbers)


def _column(name: str, values: "pd.Series[Any]", about: Column, facts: Facts) -> ReleasedColumn:
    domain, declared, may_miss, variable = facts.columns[name]
    bare = ReleasedColumn(
        name, about.role, about.kind, domain, may_miss, variable=variable, declared=declared, treat=about.treat
    )
    if about.role is not Role.QUASI_IDENTIFYING:
        return replace(bare, values=values)
    codes, texts = pd.factorize(values.astype(object))
    cells = [parse_column_cell(str(text), about) for text in texts]
    if (codes < 0).any():
        codes = np.where(codes < 0, len(cells), codes)
        cells.append(Cell.MISSING)
    index = codes.astype(np.min_scalar_type(max(1, len(cells))))
    return replace(bare, cells=tuple(cells), index=index)


def entry_again(
    release: Release, facts: Facts, files: Mapping[str, bytes], media: Mapping[str, str], time: str
) -> Entry:
    """Return what a catalogue is told of a release that was put together again."""
    statement = Statement(purpose=facts.purpose, prepared_by=facts.prepared_by)
    return Entry(release, files, media, facts.what, time, statement)


def is_by_content(release: Release) -> bool:
    """Return whether the rows stand in the order of their own cells."""
    return bool((release.by_content().order == np.arange(release.n_records)).all())


def recipient_text(document: Mapping[str, Any], facts: Facts) -> str:
    """Return the report for a recipient with just its own fields, as it is written. Raises ``KeyError`` where one is
    missing, ``TypeError`` where one is of another type, and what :class:`Schema` raises."""
    run = document["provenance"]
    schema = json.loads(Schema.from_json(json.dumps(run["schema"])).to_json())
    columns = [{k: v for k, v in c.items() if k not in (*REASONS, "variable")} for c in schema["columns"]]
    again = {
        "software": {name: document["software"][name] for name in ("name", "version")},
        "verification": {name: document["verification"][name] for name in ("passed", "rows", "left_out")},
        "override": document["override"],
        "provenance": {
            "input": {"commitment": run["input"]["commitment"]},
            "output_sha256": run["output_sha256"],
            "schema": schema | {"columns": columns},
            "schema_sha256": run["schema_sha256"],
            "parameters": run["parameters"],
            "time": run["time"],
            "row_order": run["row_order"],
        },
        "dictionary": facts.to_dict(),
    }
    return report_text(again)


def report_text(document: Mapping[str, Any]) -> str:
    """Return a report as it is written."""
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
