"""Bring a Parquet or Arrow file in: numbers and dates as they are, text with its missing marks, decoded once."""

from collections.abc import Callable, Mapping
from io import BytesIO
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet as pq

from anonymizer.errors import Progress, ReadError
from anonymizer.reading.decimals import LONGEST_INTEGER
from anonymizer.reading.delimited import repair_names
from anonymizer.reading.options import Content, Extent, Problem, ReadOptions, refuse_too_wide
from anonymizer.reading.parse import TextColumn, infinity_problems, plain_text

EXACT = 1 << 53
"""Whole numbers up to here are exact beside missing values, where they are floats."""

ROW_GROUP = 1 << 18
"""Rows of a release that stand together in Parquet."""


def parquet_extent(file: pq.ParquetFile) -> Extent:
    """Return how far a Parquet file reaches, from its metadata.

    A number takes 8 bytes and a text at least the 4 of its code; pages are unpacked before they become columns.
    """
    metadata, schema = file.metadata, file.schema_arrow
    widths = [4 if is_text(field.type) or pa.types.is_dictionary(field.type) else 8 for field in schema]
    packed = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    rows, columns = metadata.num_rows, len(schema)
    return Extent(rows, columns, rows * columns, max(packed, rows * sum(widths)))


CODED = frozenset(("PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"))
"""The encodings of Parquet from which text is read by codes."""


def texts_by_codes(file: pq.ParquetFile) -> list[str]:
    """Return the columns of text that can be read by codes: those in no encoding such as DELTA_BYTE_ARRAY."""
    metadata = file.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(at) for group in groups for at in range(metadata.num_columns)]
    other = {chunk.path_in_schema for chunk in chunks if not CODED.issuperset(chunk.encodings)}
    return [field.name for field in file.schema_arrow if is_text(field.type) and field.name not in other]


def read_parquet(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the table of a Parquet file. ``stop``: called with its extent, so that it can raise.

    Raises :class:`ReadError` for values that are neither numbers, dates nor text, and for a file without records.
    """
    file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    names = list(file.schema_arrow.names)
    stop(parquet_extent(file))
    refuse_too_wide(len(names), name)
    if not file.metadata.num_rows or not names:
        raise ReadError(f"{name} has no rows.", remedy="Use a table with at least one row.")
    texts = [name for name in texts_by_codes(file) if names.count(name) == 1]
    table = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts, page_checksum_verification=True).read()
    return arrow_content(table, options, progress)


def read_arrow(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the table of an Arrow IPC file, also called Feather. ``stop``: called with its extent.

    Raises :class:`ReadError` as :func:`read_parquet` does.
    """
    if data.startswith(b"FEA1"):
        table = pyarrow.feather.read_table(pa.BufferReader(data))
    else:
        file = pa.ipc.open_file(pa.BufferReader(data))
        width = len(file.schema)
        refuse_too_wide(width, name)
        batches, rows = [], 0
        for number in range(file.num_record_batches):
            batches.append(file.get_batch(number))
            rows += batches[-1].num_rows
            stop(Extent(rows, width, rows * width, sum(batch.nbytes for batch in batches)))
        table = pa.Table.from_batches(batches, file.schema)
    table.validate(full=True)
    if not table.num_rows or not table.num_columns:
        raise ReadError(f"{name} has no rows.", remedy="Use a table with at least one row.")
    return arrow_content(table, options, progress)


def arrow_maker(values: "pd.Series[Any]") -> Callable[[slice], Any]:
    """Return what makes an Arrow array of some rows of a column. Texts come by codes: those that these rows have, in
    the order in which they first do."""
    if not isinstance(values.dtype, pd.CategoricalDtype):
        of_all = pa.Schema.from_pandas(values.to_frame("values"), preserve_index=False).field(0).type
        if is_text(of_all):
            return lambda rows: pa.Array.from_pandas(values.iloc[rows], type=of_all).dictionary_encode()
        return lambda rows: pa.Array.from_pandas(values.iloc[rows], type=of_all)
    codes, texts = values.array.codes, pa.Array.from_pandas(values.cat.categories)

    def by_appearance(rows: slice) -> Any:
        some = codes[rows]
        other = np.append(True, some[1:] != some[:-1])[: len(some)]  # rows that are alike mostly stand together
        first = np.flatnonzero(other)
        runs = some[first]
        present = pd.unique(runs)
        present = present[present >= 0]
        place = np.zeros(len(texts) + 1, np.int32)  # the last one is for missing, -1
        place[present] = np.arange(len(present))
        places = np.repeat(place.take(runs), np.diff(first, append=len(some)))
        indices = pa.array(places, mask=some < 0 if some.min(initial=0) < 0 else None)
        return pa.DictionaryArray.from_arrays(indices, texts.take(pa.array(present)))

    return by_appearance


def parquet_writer(sink: Any, schema: pa.Schema) -> pq.ParquetWriter:
    """Return what writes the rows of a release to Parquet, and nothing else: no metadata, no statistics. Equal rows in
    equal groups are equal files, by one version of the library."""
    return pq.ParquetWriter(sink, schema, compression="zstd", store_schema=False, write_statistics=False)


def write_parquet(
    columns: "Mapping[str, pd.Series[Any]]", n_records: int, sink: BinaryIO, group: int = ROW_GROUP
) -> None:
    """Write the columns of a table to Parquet, ``group`` rows together, and nothing else: a dictionary in the file has
    no level that no row has, in no order but that of the rows; no metadata, no statistics of columns."""
    makers = list(map(arrow_maker, columns.values()))

    def piece_from(start: int) -> Any:
        return pa.table([make(slice(start, start + group)) for make in makers], list(columns))

    pieces = map(piece_from, range(0, max(1, n_records), group))
    first = next(pieces)
    with parquet_writer(sink, first.schema) as writer:
        for piece in chain([first], pieces):
            writer.write_table(piece)


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """Return a Parquet file of the rows of a table, written as releases are, and nothing else."""
    sink = BytesIO()
    write_parquet({str(name): frame[name] for name in frame.columns}, len(frame), sink)
    return sink.getvalue()


def arrow_bytes(frame: pd.DataFrame) -> bytes:
    """Return an Arrow IPC file of the rows of a table and nothing else: equal tables are equal files.

    Where a value is missing its place holds zero, so that nothing stands behind it.
    """
    columns = []
    for name in frame.columns:
        values = frame[name]
        if isinstance(values.dtype, np.dtype) and values.dtype.kind in "fM":
            absent = values.isna().to_numpy()
            kind = pa.float64() if values.dtype.kind == "f" else pa.timestamp("us")
            plain = values.to_numpy().astype("float64" if values.dtype.kind == "f" else "datetime64[us]")
            bits = np.packbits(~absent, bitorder="little").tobytes() if absent.any() else None
            numbers = np.where(absent, plain.dtype.type(0, *(["us"] * (plain.dtype.kind == "M"))), plain)
            buffers = [bits and pa.py_buffer(bits), pa.py_buffer(numbers.tobytes())]
            columns.append(pa.Array.from_buffers(kind, len(plain), buffers, int(absent.sum())))
        elif isinstance(values.dtype, np.dtype) and values.dtype.kind in "iub":
            columns.append(pa.array(values.to_numpy()))
        else:
            codes, texts = pd.factorize(values.astype(object))
            texts = pa.array([str(text) for text in texts], pa.string())
            columns.append(texts.take(pa.array(codes, mask=codes < 0)))
    sink = pa.BufferOutputStream()
    batch = pa.record_batch(columns, names=list(map(str, frame.columns)))
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def arrow_rows(data: bytes) -> pd.DataFrame:
    """Return the rows of an Arrow IPC file as they stand there, text as categories. Raises what pyarrow raises for a
    file that it cannot read."""
    table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
    table.validate(full=True)
    rows: pd.DataFrame = table.to_pandas(strings_to_categorical=True, date_as_object=False, ignore_metadata=True)
    return rows


def arrow_content(
    table: pa.Table, options: ReadOptions, progress: Progress | None, decimals: frozenset[int] = frozenset()
) -> Content:
    """Return the columns of an Arrow table as a reading has them. ``decimals``: positions of columns of text that are
    decimal numbers of any length."""
    names = table.column_names
    repaired, problems = repair_names(names)
    left_out = [position for position, field in enumerate(table.schema) if not is_plain(field.type)]
    problems += [left_out_problem(repaired[position], table.schema[position].type) for position in left_out]
    if len(left_out) == len(names):
        kind = table.schema[0].type
        raise ReadError(
            f"No column holds numbers, dates or text: column {repaired[0]!r} holds values of type {kind}.",
            column=repaired[0],
            remedy="Turn what is to be released into text or numbers.",
        )
    values: dict[str, Any] = {}
    for position, label in enumerate(repaired):
        if position in left_out:
            continue
        column = table.column(position)
        values[label], notes = (
            _decimals(label, column) if position in decimals else column_values(label, column, options)
        )
        problems += notes
        if progress is not None:
            progress(position / len(names), f"Reading column {label}")
    return Content(pd.DataFrame(values, copy=False), options, problems)


def column_values(name: str, column: pa.ChunkedArray, options: ReadOptions) -> tuple[Any, list[Problem]]:
    """Return the values of a column: numbers and dates as they are, text with its missing marks."""
    kind = column.type
    if pa.types.is_dictionary(kind) and not is_text(kind.value_type):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        column, kind = column.cast(pa.string()), pa.string()
    if is_text(kind) or pa.types.is_dictionary(kind):
        marks = ("", *options.marks) if column.null_count else options.marks
        text = plain_text(name, _text_column(column), marks)
        return text.values, text.problems
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _moments(name, column)
    if pa.types.is_decimal(kind):
        return _decimals(name, column)
    if pa.types.is_integer(kind):
        return _whole_numbers(name, column)
    if pa.types.is_floating(kind):
        numbers = column.cast(pa.float64()).to_numpy().astype(np.float64)
        return numbers, infinity_problems(name, numbers)
    if pa.types.is_time(kind):
        text = plain_text(name, _text_column(column.cast(pa.string())), ("",) if column.null_count else ())
        return text.values, text.problems
    problem = left_out_problem(name, kind)
    raise ReadError(problem.text, column=name, remedy=problem.remedy)


def is_plain(kind: pa.DataType) -> bool:
    """Return True for every type of one number, date, time, truth or text, by codes or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    plain = (pa.types.is_null, pa.types.is_boolean, pa.types.is_date, pa.types.is_time, pa.types.is_timestamp,
             pa.types.is_decimal, pa.types.is_integer, pa.types.is_floating, is_text)  # fmt: skip
    return any(is_kind(kind) for is_kind in plain)


def left_out_problem(name: str, kind: pa.DataType) -> Problem:
    """Return the problem of a column of lists, records or bytes, which is left out."""
    text = f"Column {name!r} holds values of type {kind}, which are neither numbers, dates nor text. It was left out."
    return Problem("warning", text, name, remedy="Turn it into text in the file if it is to be released.")


def is_text(kind: pa.DataType) -> bool:
    """Return True for every type of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _text_column(column: pa.ChunkedArray) -> TextColumn:
    """Return a column of text, missing as "": by codes when it repeats, its dictionary taken over as it stands."""
    if pa.types.is_dictionary(column.type):
        whole = column.unify_dictionaries().combine_chunks()
        whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
        texts, indices = whole.dictionary.cast(pa.large_string()), whole.indices
        distinct = len(texts.unique()) == len(texts) and not texts.null_count
        if not distinct or 2 * len(texts) > len(indices):
            return _text_column(column.cast(pa.large_string()))
        blank = texts.index("").as_py()
        if indices.null_count and blank < 0:
            blank, texts = len(texts), pa.concat_arrays([texts, pa.array([""], pa.large_string())])
        indices = indices.cast(pa.int32()).fill_null(blank) if indices.null_count else indices
        return TextColumn(texts, indices.to_numpy(zero_copy_only=False))
    plain = column.cast(pa.large_string()).combine_chunks().fill_null("")
    encoded = plain.dictionary_encode()
    return TextColumn(plain, None) if 2 * len(encoded.dictionary) > len(encoded) else TextColumn.of([encoded])


def _whole_numbers(name: str, column: pa.ChunkedArray) -> tuple[Any, list[Problem]]:
    """Return whole numbers; text when missing ones beside them would cost digits."""
    ends = pc.min_max(column).as_py()
    least, most = int(ends["min"] or 0), int(ends["max"] or 0)
    if column.null_count:
        if max(-least, most) > EXACT:
            return _as_text(name, column, f"whole numbers beyond {EXACT:,} beside missing values")
        return column.to_numpy().astype(np.float64), []
    if most > np.iinfo(np.int64).max:
        return _as_text(name, column, "whole numbers of more than 63 bits")
    return column.to_numpy().astype(np.int64, copy=False), []


def _decimals(name: str, column: pa.ChunkedArray) -> tuple[Any, list[Problem]]:
    """Return decimal numbers; text when some have more digits than a number holds."""
    texts = column.cast(pa.string())  # Arrow's own way from decimals to floats makes 0.1 of them 0.09999999999999999
    digits = pc.utf8_trim(pc.replace_substring_regex(texts, r"E.*$|[-.]", ""), characters="0")
    if (pc.max(pc.utf8_length(digits)).as_py() or 0) > LONGEST_INTEGER:
        return _as_text(name, column, f"decimal numbers of more than {LONGEST_INTEGER} digits")
    return texts.cast(pa.float64()).to_numpy().astype(np.float64), []


def _as_text(name: str, column: pa.ChunkedArray, what: str) -> tuple[Any, list[Problem]]:
    texts = column.cast(pa.string())
    marks = ("",) if column.null_count else ()
    plain = plain_text(name, _text_column(texts), marks)
    text = f"Column {name!r} holds {what}, which cannot be kept exactly as numbers. It stays text."
    return plain.values, [
        *plain.problems,
        Problem("warning", text, name, remedy="Round it in the file if it is a measure."),
    ]


def _moments(name: str, column: pa.ChunkedArray) -> tuple[Any, list[Problem]]:
    """Return dates and times, in the clock time of their zone: the day that the file's own program shows."""
    problems = []
    zone = getattr(column.type, "tz", None)
    plain = column.cast(pa.timestamp(column.type.unit)) if zone else column
    options = pc.CastOptions(target_type=pa.timestamp("us"), allow_time_truncate=True)
    stamps = pc.cast(plain, options=options)
    if pa.types.is_timestamp(plain.type) and plain.type.unit == "ns" and not plain.equals(stamps.cast(plain.type)):
        problems.append(Problem("info", f"The times of column {name!r} were cut to microseconds.", name))
    moments = stamps.to_numpy().astype("datetime64[us]")
    if zone:
        local = pd.DatetimeIndex(moments).tz_localize("UTC").tz_convert(zone).tz_localize(None)
        moments = local.to_numpy(dtype="datetime64[us]", copy=True)
        text = f"The times of column {name!r} are those of the clocks in the zone {zone}."
        problems.append(Problem("info", text, name))
    return moments, problems
