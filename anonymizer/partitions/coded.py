"""A table in pieces as codes: the encodings of its columns, made from their distinct values, and one small number for
each record and column. They are those that :func:`anonymizer.growing.encode.encode` makes of the whole table.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.alike import persons_of_values
from anonymizer.errors import EncodeError, Progress, SchemaError, no_progress
from anonymizer.growing.encode import (
    DETAIL,
    CodeColumns,
    EncodedTable,
    Encoding,
    encode_classes,
    encode_column,
    notes_of_classes,
    number_persons,
    number_target,
    scaled_numbers,
    whole_table,
)
from anonymizer.growing.number_codes import note_of_bins, number_domain
from anonymizer.growing.target import ClassTarget, NumericTarget
from anonymizer.partitions.pieces import PartitionedTable
from anonymizer.partitions.places import File
from anonymizer.partitions.values import CodedColumn, code_columns
from anonymizer.reading.facts import ColumnFacts, with_ids
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.profile import speaks_of_one
from anonymizer.releasing.grid import PersonEnds, ends_of_persons
from anonymizer.schema import Column, Kind, Schema

Codes = NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class CodedTable:
    """n records in codes. ``columns``: those that leave, by name; ``lookups``: of each quasi-identifier, the code in
    its encoding of each distinct value; ``encoded``: the encodings and what guides the tree, without the codes.
    ``others``: how many values there are in columns that speak of persons and do not leave."""

    schema: Schema
    columns: Mapping[str, CodedColumn]
    lookups: tuple[Codes, ...]
    encoded: EncodedTable
    others: tuple[ColumnFacts, ...] = ()

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

    def ends_of_persons(self, position: int) -> PersonEnds | None:
        """Return what :func:`anonymizer.releasing.grid.ends_of_persons` says of a quasi-identifier; ``None`` where
        every record is a person."""
        person = self.encoded.person
        if person is None:
            return None
        return ends_of_persons(self.codes(position), person, len(self.encoded.encodings[position].labels))

    def rows(self, rows: slice) -> EncodedTable:
        """Return some consecutive records in codes, without whose they are."""
        target = replace(self.encoded.target, codes=self.encoded.target.codes[rows])
        numeric = self.encoded.numeric
        if numeric is not None:
            numeric = replace(numeric, values=numeric.values[rows])
        codes = CodeColumns(len(target.codes), tuple(self.codes(at, rows) for at in range(len(self.lookups))))
        return EncodedTable(codes, self.encoded.encodings, target, numeric=numeric, by_numbers=self.encoded.by_numbers)

    @cached_property
    def whole(self) -> EncodedTable:
        """All records in codes, as one table in memory."""
        return replace(self.encoded, codes=self.rows(slice(None)).codes)

    def sample(self, most: int) -> "Sample":
        """Return at most so many records, evenly spread over the table."""
        rows, person = places_of_sample(self.n_records, most), self.encoded.person
        frame = pd.DataFrame({name: column.take(rows) for name, column in self.columns.items()})
        return Sample(frame, None if person is None else person[rows], self.others)


class Sample(NamedTuple):
    """Some records of a table, with all columns that leave, and whose each is, (n,), -1 for nobody's, ``None`` when
    every record is a person; ``others``: see :class:`CodedTable`."""

    frame: pd.DataFrame
    person: NDArray[np.int32] | None
    others: tuple[ColumnFacts, ...]


def places_of_sample(n: int, most: int) -> NDArray[np.int64]:
    """Return at most so many of n records, evenly spread."""
    return np.arange(n) if n <= most else np.arange(most) * n // most


def code_table(
    table: PartitionedTable,
    schema: Schema,
    options: ReadOptions | None = None,
    progress: Progress = no_progress,
    passed: dict[File, str] | None = None,
) -> CodedTable:
    """Return a table in pieces as codes, of its :func:`columns_of`. ``passed``: see
    :func:`anonymizer.partitions.values.code_columns`.

    Raises what :func:`anonymizer.growing.encode.encode` raises, without any value of the table.
    """
    return code_records(read_columns(table, schema, options, progress, passed), schema)


def read_columns(
    table: PartitionedTable,
    schema: Schema,
    options: ReadOptions | None = None,
    progress: Progress = no_progress,
    passed: dict[File, str] | None = None,
    every: bool = False,
) -> dict[str, CodedColumn]:
    """Return those columns of a table in pieces that are of :func:`columns_of`, or ``every`` one. Other arguments, and
    what it raises: of :func:`code_table`."""
    schema.check(pd.DataFrame(columns=list(table.names)))
    return code_columns(table, table.names if every else columns_of(schema), options, progress, passed=passed)


def columns_of(schema: Schema) -> tuple[str, ...]:
    """Return the columns that are read: those that leave, and those of :func:`person_columns`."""
    return (*schema.released, *person_columns(schema))


def person_columns(schema: Schema) -> tuple[str, ...]:
    """Return the column that says whose a row is; without one, those that could, by their headers."""
    if schema.person is not None:
        return (schema.person,)
    return tuple(name for name in schema.identifying if speaks_of_one(name))


def code_records(read: Mapping[str, CodedColumn], schema: Schema, cost: str = DETAIL) -> CodedTable:
    """Return the columns of a table under a schema, and whose its records are. ``cost``: one of
    :data:`anonymizer.growing.encode.COSTS`; ``read``: those of :func:`columns_of`;
    of those that do not leave nothing stays but their counts, and a number of each record's person."""
    table = code_values({name: read[name] for name in schema.released}, schema, cost=cost)
    person, notes = persons_in(schema, read)
    encoded = replace(table.encoded, person=person, notes=(*table.encoded.notes, *notes))
    return replace(table, encoded=encoded, others=tuple(facts_of(read[name]) for name in person_columns(schema)))


class Bins(NamedTuple):
    """The b codes of a column of numbers whose values are elsewhere: each goes up to one of the ``cuts`` (b - 1,), the
    last one beyond them. ``low``, ``high``, ``records`` (b,): its lowest and highest value, and its records;
    ``missing``: records without a value; ``distinct``: how many different values there are."""

    cuts: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    records: NDArray[np.int64]
    missing: int
    distinct: int


NO_BINS: Mapping[str, Bins] = {}


def code_values(
    columns: Mapping[str, CodedColumn], schema: Schema, bins: Mapping[str, Bins] = NO_BINS, cost: str = DETAIL
) -> CodedTable:
    """Return the columns of a table that leave under a schema. ``bins``: of columns that have the lowest value of each
    code, and no other; ``cost``: one of :data:`anonymizer.growing.encode.COSTS`."""
    encodings: list[Encoding] = []
    lookups: list[Codes] = []
    notes: list[str] = []
    for name in schema.quasi_identifying:
        with without_values(schema[name]):
            lookup, encoding, note = encode_column(
                columns[name].values, schema[name], counts=columns[name].counts, cost=cost
            )
            if name in bins:
                _, low, high, *_, distinct = bins[name]
                domain = number_domain(schema[name], low, high)
                encoding, note = replace(encoding, high=high, domain=domain), note_of_bins(name, distinct, len(low))
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
    notes += [*notes_of_classes((target, *others)), *more]
    encoded = EncodedTable(CodeColumns(n), tuple(encodings), target, tuple(notes), numeric, others, by_numbers)
    return CodedTable(schema, columns, tuple(lookups), encoded)


def facts_of(column: CodedColumn) -> ColumnFacts:
    """Return how many records have a value in a column, and how many values there are, without any of them."""
    codes = pd.factorize(column.values)[0]
    present = codes >= 0
    counts = np.bincount(codes[present], column.counts[present]).astype(np.int64)
    n, some = int(column.counts.sum()), int(counts.sum())
    facts = ColumnFacts(column.name, Kind.CATEGORICAL, n, n - some, len(counts), int((counts == 1).sum()))
    return with_ids(facts, column.values.drop_duplicates().dropna(), counts)


def persons_in(schema: Schema, read: Mapping[str, CodedColumn]) -> tuple[NDArray[np.int32] | None, tuple[str, ...]]:
    """Return what :func:`anonymizer.growing.encode.persons_of` says of the whole table."""
    if schema.person is None:
        return None, ()
    column = read[schema.person]
    codes = persons_of_values(column.values, schema[column.name]).astype(np.int32)[column.codes]
    somebody = codes >= 0
    codes[somebody] = pd.factorize(codes[somebody])[0]  # in the order in which they come
    return number_persons(codes, column.name)


def classes(column: CodedColumn, schema: Schema) -> ClassTarget:
    """Return a categorical sensitive column, each record's class."""
    with without_values(schema[column.name]):
        target = encode_classes(pd.DataFrame({column.name: column.values}), column.name, schema)
    return replace(target, codes=target.codes[column.codes])


def numbers(columns: Sequence[CodedColumn], schema: Schema) -> tuple[NumericTarget | None, tuple[str, ...]]:
    """Return the numeric sensitive columns together, each record's values, and notes; ``None`` without any."""
    if not columns:
        return None, ()
    scaled = []
    for column in columns:
        with without_values(schema[column.name]):
            scaled.append(scaled_numbers(column.values, schema[column.name], column.counts))
    values = np.column_stack([one.values[column.codes] for one, column in zip(scaled, columns, strict=True)])
    return number_target([schema[column.name] for column in columns], scaled, values)


@contextmanager
def without_values(column: Column) -> Iterator[None]:
    """Turn the error of a value that does not fit into one that does not tell the value."""
    try:
        yield
    except SchemaError:
        raise
    except EncodeError as error:
        within = "" if column.domain is None else ", within the domain that was declared"
        raise EncodeError(
            f"Column {column.name!r} is {column.kind}, and not all of its values can be read so{within}."
            if error.value is not None or error.row is not None
            else error.problem.partition(" (")[0],
            column=column.name,
            remedy=error.remedy,
        ) from None
