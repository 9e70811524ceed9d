"""A table in pieces as codes: the encodings of its columns, made from their distinct values, and one small number for
each record and column. They are those that :func:`anonymizer.growing.encode.encode` makes of the whole table.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import EncodeError, ParameterError, Progress, SchemaError, no_progress
from anonymizer.growing.encode import (
    EncodedTable,
    Encoding,
    encode_classes,
    encode_column,
    number_target,
    scaled_numbers,
    whole_table,
)
from anonymizer.growing.target import ClassTarget, NumericTarget
from anonymizer.partitions.pieces import PartitionedTable
from anonymizer.partitions.values import CodedColumn, code_columns
from anonymizer.reading.options import ReadOptions
from anonymizer.schema import Kind, Schema

Codes = NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class CodedTable:
    """n records in codes. ``columns``: those that leave, by name; ``lookups``: of each quasi-identifier, the code in
    its encoding of each distinct value; ``encoded``: the encodings and what guides the tree, without the codes."""

    schema: Schema
    columns: Mapping[str, CodedColumn]
    lookups: tuple[Codes, ...]
    encoded: EncodedTable

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return self.encoded.n_records

    def codes(self, position: int, rows: slice | NDArray[np.integer[Any]] = slice(None)) -> Codes:
        """Return the codes of a quasi-identifier, by its place among them."""
        lookup = self.lookups[position]
        return lookup[self.columns[self.encoded.names[position]].codes[rows]]

    def records(self, position: int) -> NDArray[np.int64]:
        """Return how many records have each code of a quasi-identifier that is a value, (b,)."""
        encoding = self.encoded.encodings[position]
        counts = np.bincount(self.lookups[position], self.columns[encoding.name].counts, minlength=encoding.n_codes)
        return counts[: len(encoding.labels)].astype(np.int64)

    def rows(self, rows: slice) -> EncodedTable:
        """Return some consecutive records in codes."""
        start, end, _ = rows.indices(self.n_records)
        widest = np.uint8 if all(encoding.n_codes <= 256 for encoding in self.encoded.encodings) else np.uint16
        matrix = np.empty((max(0, end - start), len(self.lookups)), widest)
        for position in range(len(self.lookups)):
            matrix[:, position] = self.codes(position, rows)
        target = replace(self.encoded.target, codes=self.encoded.target.codes[rows])
        numeric = self.encoded.numeric
        if numeric is not None:
            numeric = replace(numeric, values=numeric.values[rows])
        return EncodedTable(matrix, self.encoded.encodings, target, numeric=numeric, by_numbers=self.encoded.by_numbers)

    @cached_property
    def whole(self) -> EncodedTable:
        """All records in codes, as one table in memory."""
        return replace(self.encoded, codes=self.rows(slice(None)).codes)

    def sample(self, most: int) -> pd.DataFrame:
        """Return at most so many records, evenly spread over the table, with all columns that leave."""
        n = self.n_records
        rows = np.arange(n) if n <= most else np.arange(most) * n // most
        return pd.DataFrame({name: column.take(rows) for name, column in self.columns.items()})


def code_table(
    table: PartitionedTable,
    schema: Schema,
    options: ReadOptions | None = None,
    progress: Progress = no_progress,
) -> CodedTable:
    """Return a table in pieces as codes; columns that do not leave are not read.

    Raises what :func:`anonymizer.growing.encode.encode` raises, without any value of the table, and
    :class:`ParameterError` for what takes the table in one piece: persons.
    """
    schema.check(pd.DataFrame(columns=list(table.names)))
    if schema.person is not None:
        raise ParameterError(
            f"Column {schema.person!r} says whose a row is, and persons can only be counted in one table in memory.",
            remedy="Choose --engine memory, or bring one row a person.",
        )
    return code_values(code_columns(table, schema.released, options, progress), schema)


def code_values(columns: Mapping[str, CodedColumn], schema: Schema) -> CodedTable:
    """Return the columns of a table under a schema."""
    encodings: list[Encoding] = []
    lookups: list[Codes] = []
    notes: list[str] = []
    for name in schema.quasi_identifying:
        with without_values(name, schema):
            lookup, encoding, note = encode_column(columns[name].values, schema[name], counts=columns[name].counts)
        lookups.append(lookup)
        encodings.append(encoding)
        notes += [note] if note else []
    n = int(next(iter(columns.values())).counts.sum())
    by_numbers = schema.by_numbers
    of_classes = [name for name in schema.sensitive if schema[name].kind is Kind.CATEGORICAL]
    guide = None if by_numbers else schema.target
    target = whole_table(n) if guide is None else classes(columns[guide], schema)
    others = tuple(classes(columns[name], schema) for name in of_classes if name != schema.target)
    numeric, more = numbers([columns[name] for name in schema.sensitive if name not in of_classes], schema)
    no_codes = np.empty((n, 0), np.uint8)
    encoded = EncodedTable(no_codes, tuple(encodings), target, (*notes, *more), numeric, others, by_numbers)
    return CodedTable(schema, columns, tuple(lookups), encoded)


def classes(column: CodedColumn, schema: Schema) -> ClassTarget:
    """Return a categorical sensitive column, each record's class."""
    with without_values(column.name, schema):
        target = encode_classes(pd.DataFrame({column.name: column.values}), column.name, schema)
    return replace(target, codes=target.codes[column.codes])


def numbers(columns: Sequence[CodedColumn], schema: Schema) -> tuple[NumericTarget | None, tuple[str, ...]]:
    """Return the numeric sensitive columns together, each record's values, and notes; ``None`` without any."""
    if not columns:
        return None, ()
    scaled = []
    for column in columns:
        with without_values(column.name, schema):
            scaled.append(scaled_numbers(column.values, schema[column.name], column.counts))
    values = np.column_stack([one.values[column.codes] for one, column in zip(scaled, columns, strict=True)])
    return number_target([schema[column.name] for column in columns], scaled, values)


@contextmanager
def without_values(name: str, schema: Schema) -> Iterator[None]:
    """Turn the error of a value that does not fit into one that does not tell the value."""
    try:
        yield
    except SchemaError:
        raise
    except EncodeError as error:
        column = schema[name]
        within = "" if column.domain is None else ", within the domain that was declared"
        raise EncodeError(
            f"Column {name!r} is {column.kind}, and not all of its values can be read so{within}."
            if error.value is not None or error.row is not None
            else error.problem.partition(" (")[0],
            column=name,
            remedy=error.remedy,
        ) from None
