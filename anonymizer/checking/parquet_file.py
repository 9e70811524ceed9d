"""What a Parquet file holds beside its rows: its footer and pages, read as they stand.

A file is columns of pages and a footer that says where they are. Every byte has to belong to one of them, and every
value that stands there, in a dictionary or as the end of a range, has to be the value of some row.
"""

import base64
import io
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anonymizer.errors import ReadError
from anonymizer.reading.parquet import parquet_writer

MAGIC = b"PAR1"
ARROW_SCHEMA = b"ARROW:schema"
MAKER = r"[A-Za-z][A-Za-z-]{0,40}( version v?[0-9][0-9A-Za-z.+-]{0,30})?( \(build [0-9A-Za-z.-]{0,48}\))?"
"""What names the program that wrote a file, and has no room for anything else."""

NOT_SAME = "The file has something beside its rows, or is not written as releases are."

DEEPEST = 30
Fields = dict[int, Any]
"""A struct of the footer or of a page's header: its fields by their numbers in parquet.thrift."""

FILE_FIELDS = {1, 2, 3, 4, 5, 6, 7}
GROUP_FIELDS = {1, 2, 3, 4, 5, 6, 7}
CHUNK_FIELDS = {2, 3}
COLUMN_FIELDS = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16}
SCHEMA_FIELDS = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
PAGE_FIELDS = {1, 2, 3, 4, 5, 7, 8}
COUNTS_FIELDS = {3, 4, 7, 8, 9}
ENDS = (1, 2, 5, 6)
"""Fields of statistics that are values."""

NUMBERS = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8"}
"""Physical types that are numbers, as the pages hold them."""
TEXT = 6
CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4", 6: "zstd", 7: "lz4_raw"}


class FileBytes:
    """The bytes of a file on the disk, of which only those slices are read that are asked for."""

    def __init__(self, path: Path) -> None:
        self.path, self.size = path, path.stat().st_size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: slice) -> bytes:
        start, end, _ = place.indices(self.size)
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(max(0, end - start))


class ParquetRows:
    """The rows of a Parquet file, group by group, every physical column a column, and what else the file holds.

    ``source``: its bytes, or where it lies.

    Raises :class:`ReadError` for columns that no release has: nested, doubled, or of a type that is neither text,
    numbers nor dates; and what pyarrow raises for a file that it cannot read.
    """

    def __init__(self, source: bytes | Path) -> None:
        file = pa.BufferReader(source) if isinstance(source, bytes) else source
        schema = pq.ParquetFile(file).schema_arrow
        names: list[str] = schema.names
        if not names or len(set(names)) != len(names):
            raise ReadError(
                "The file has no columns, or two columns of one name.", remedy="Give each a name of its own."
            )
        for field in schema:
            if not _is_plain(field.type):
                raise ReadError(
                    f"Column {field.name!r} holds values of type {field.type}, which no release has.",
                    column=field.name,
                    remedy="Bring the file as it was written: text, numbers and dates only.",
                )
        texts = [
            field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        ]
        self.data = source if isinstance(source, bytes) else FileBytes(source)
        self.file = pq.ParquetFile(file, read_dictionary=texts, page_checksum_verification=True)
        self.names = names
        self.values: list[list[Any]] = [[] for _ in names]
        self.again = SameBytes(self.data)
        self.writer: pq.ParquetWriter | None = None

    def groups(self) -> Iterator[pa.Table]:
        """Yield the rows of each group of rows; text by codes, without levels that no row has."""
        for number in range(self.file.metadata.num_row_groups):
            table = self.file.read_row_group(number, use_pandas_metadata=False).replace_schema_metadata(None)
            columns = [_compact(column.combine_chunks()) for column in table.columns]
            for values, column in zip(self.values, columns, strict=True):
                values.append(_distinct(column))
            group = pa.table(columns, names=self.names)
            self.writer = self.writer or parquet_writer(self.again, group.schema)
            self.writer.write_table(group, row_group_size=max(1, len(group)))
            yield group
        if self.writer is not None:
            self.writer.close()

    def beside(self) -> tuple[str, ...]:
        """Return what the file holds beside the rows of its groups, in sentences; to be asked when they were read.

        Nothing is where the rows, written again, are the same bytes.
        """
        if self.again.whole:
            return ()
        if self.as_releases_are:
            return (NOT_SAME,)
        values = [_union(parts) for parts in self.values]
        try:
            return tuple(dict.fromkeys(_beside_rows(self.data, self.names, values)))
        except (IndexError, struct.error, KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
            raise ReadError(
                "The inner parts of this Parquet file are not in order, so what it holds beside its rows cannot be "
                "said.",
                remedy="Bring the file as it was written.",
            ) from error

    @property
    def as_releases_are(self) -> bool:
        """Whether the file says that the library that is here wrote it in the way of releases."""
        metadata = self.file.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        chunks = [group.column(at) for group in groups for at in range(metadata.num_columns)]
        plain = not any(chunk.is_stats_set or chunk.compression != "ZSTD" for chunk in chunks)
        return plain and not metadata.metadata and metadata.created_by == f"parquet-cpp-arrow version {pa.__version__}"

    @property
    def unjudged(self) -> str:
        """What is to be said of a file that another program or version wrote; "" where its bytes are judged."""
        if self.again.whole or self.as_releases_are:
            return ""
        return (
            f"The file has the rows that pyarrow {pa.__version__} reads of it. Another program wrote it, or it is not "
            "written as releases are, so that what its bytes may hold beside the rows cannot be said for certain."
        )


class SameBytes(io.RawIOBase):
    """What takes the bytes of a file that is written again, and keeps only whether they are those of another."""

    def __init__(self, data: "bytes | FileBytes") -> None:
        self.data, self.place, self.same = data, 0, True

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, more: Any) -> int:
        """Compare some bytes with those that stand there in the other, and return how many they are."""
        part = bytes(more)
        self.same = self.same and self.data[self.place : self.place + len(part)] == part
        self.place += len(part)
        return len(part)

    @property
    def whole(self) -> bool:
        """Whether all bytes of the other came, and no more."""
        return self.same and self.place == len(self.data)


def parquet_rows(data: bytes) -> tuple[pa.Table, tuple[str, ...], str]:
    """Return the rows of a Parquet file, what else it holds, and whether its bytes can be judged, as
    :class:`ParquetRows` does, all at once."""
    file = ParquetRows(data)
    groups = list(file.groups())
    table = pa.concat_tables(groups).unify_dictionaries() if groups else file.file.read(use_pandas_metadata=False)
    return table, file.beside(), file.unjudged


def _compact(column: Any) -> Any:
    """Return a column whose dictionary has no value that no row has."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.chunked_array(column.chunks, column.type).unify_dictionaries().combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_dictionary(column.type):
        return column
    again = column.indices.dictionary_encode()
    return pa.DictionaryArray.from_arrays(again.indices, column.dictionary.take(again.dictionary))


def _union(parts: list[Any]) -> Any:
    """Return the distinct values of a column, sorted, whole numbers as wide as a page may hold them."""
    values = np.unique(np.concatenate(parts)) if parts else np.empty(0)
    narrow = values.dtype.kind in "iu" and values.dtype.itemsize < 8
    return values.astype(np.int64) if narrow else values


def _count_absent(levels: Any, values: Any) -> int:
    """Return how many of some levels are none of the sorted ``values``; NaN is no value of anybody. The work does not
    grow with the values, for every group of rows asks for its own levels."""
    levels = levels[levels == levels].astype(values.dtype)
    place = np.searchsorted(values, levels)
    there = place < len(values)
    return len(levels) - int(np.count_nonzero(values[place[there]] == levels[there]))


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        test(kind)
        for test in (
            pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_float32, pa.types.is_float64,
            pa.types.is_boolean, pa.types.is_timestamp, pa.types.is_date, pa.types.is_null,
        )
    )  # fmt: skip


def _beside_rows(data: bytes | FileBytes, names: list[str], values: list[Any]) -> Iterator[str]:
    """Yield a sentence for each thing in the file that is no row's. ``values``: the distinct ones of each column,
    sorted."""
    length = struct.unpack("<I", data[-8:-4])[0]
    start = len(data) - 8 - length
    footer, end = _fields(data[start : len(data) - 8], 0)
    if data[:4] != MAGIC or end != length:
        yield "The file has bytes before its columns or after its footer's last field."
    yield from _unknown(footer, FILE_FIELDS, "footer")
    yield from _metadata(footer.get(5, []))
    if not _matches(MAKER, footer.get(6, b"parquet")):
        yield "The name of the program that wrote the file is a text of another kind."
    for element in footer[2]:
        yield from _unknown(element, SCHEMA_FIELDS, "description of a column")
    place = 4
    chunks = [chunk for group in footer.get(4, []) for chunk in _chunks(group)]
    for group in footer.get(4, []):
        yield from _unknown(group, GROUP_FIELDS, "group of rows")
    for position, chunk in sorted(chunks, key=lambda one: _first_byte(one[1][3])):
        name = names[position]
        yield from _unknown(chunk, CHUNK_FIELDS, f"column {name!r}")
        column = chunk[3]
        yield from _unknown(column, COLUMN_FIELDS, f"column {name!r}")
        yield from _ends(column.get(12, {}), column[1], values[position], name)
        first = _first_byte(column)
        if first != place:
            yield f"The file holds {abs(first - place):,} bytes that belong to no column."
        place = first + column[7]
        yield from _pages(data[first:place], column, values[position], name)
    if place != start:
        yield f"The file holds {start - place:,} bytes after its last column that belong to none, such as an index."


def _chunks(group: Fields) -> Iterable[tuple[int, Fields]]:
    return enumerate(group[1])


def _first_byte(column: Fields) -> int:
    return int(min(column[9], column.get(11) or column[9]))


def _pages(data: bytes, column: Fields, values: Any, name: str) -> Iterator[str]:
    """Yield what the pages of one column chunk hold beside the values of rows; ``values``: the column's distinct."""
    place = counted = 0
    while place < len(data):
        header, place = _fields(data, place)
        page = data[place : place + header[3]]
        place += header[3]
        yield from _unknown(header, PAGE_FIELDS, f"page of column {name!r}")
        kind = header[1]
        if kind == 2:
            yield from _dictionary(page, header, column, values, name)
        elif kind in (0, 3):
            described = header[5 if kind == 0 else 8]
            counted += described[1]
            yield from _ends(described.get(5 if kind == 0 else 8, {}), column[1], values, name)
        else:
            yield f"Column {name!r} holds a page of another kind."
    if place != len(data) or counted != column[5]:
        yield f"The pages of column {name!r} hold more or less than its rows."


def _dictionary(page: bytes, header: Fields, column: Fields, values: Any, name: str) -> Iterator[str]:
    """Yield a sentence when the dictionary of a column has values that no row has."""
    codec = CODECS[column[4]]
    plain = page if codec is None else pa.Codec(codec).decompress(page, header[2]).to_pybytes()
    levels = _plain_values(plain, column[1], header[7][1])
    if levels is None:
        yield f"What the dictionary of column {name!r} holds cannot be said."
        return
    unused = _count_absent(levels, values)
    if unused:
        yield f"The dictionary of column {name!r} has {unused:,} values that no row has."


def _ends(statistics: Fields, physical: int, values: Any, name: str) -> Iterator[str]:
    """Yield a sentence when the statistics of a column name a value that no row has."""
    for field in ENDS:
        if field in statistics:
            end = _end(statistics[field], physical)
            if end is None or _count_absent(end, values):
                yield f"The statistics of column {name!r} name a value that no row has."
    yield from _unknown(statistics, {*ENDS, *COUNTS_FIELDS}, f"statistics of column {name!r}")


def _end(raw: bytes, physical: int) -> Any:
    if physical == 0:
        return np.array([bool(raw[0])])
    if physical == TEXT:
        return np.array([raw.decode("utf-8", "surrogateescape")], dtype=object)
    return _plain_values(raw, physical, 1)


def _plain_values(plain: bytes, physical: int, count: int) -> Any:
    """Return the values of a page in plain encoding (count,); ``None`` when it holds anything else."""
    if physical in NUMBERS:
        kind = np.dtype(NUMBERS[physical])
        return None if len(plain) != count * kind.itemsize else np.frombuffer(plain, kind)
    if physical != TEXT:
        return None
    texts, place = np.empty(count, dtype=object), 0
    for position in range(count):
        (size,) = struct.unpack_from("<I", plain, place)
        texts[position] = plain[place + 4 : place + 4 + size].decode("utf-8", "surrogateescape")
        place += 4 + size
    return texts if place == len(plain) else None


def _distinct(column: pa.Array) -> Any:
    """Return the distinct values of a column as its pages would hold them; missing is none of them."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary, kind.value_type
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    distinct = pc.drop_null(column.unique())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array(distinct.to_pylist(), dtype=object)
    return distinct.to_numpy(zero_copy_only=False)


def _metadata(entries: list[Fields]) -> Iterator[str]:
    """Yield a sentence for each entry of a file's own metadata, but the types of its columns."""
    for entry in entries:
        key, value = entry.get(1, b""), entry.get(2, b"")
        if key != ARROW_SCHEMA or not _only_types(value):
            yield f"The file's metadata has an entry {key.decode('utf-8', 'replace')[:40]!r} that no release needs."


def _only_types(value: bytes) -> bool:
    """Return whether an Arrow schema names columns and types, and nothing else."""
    raw = base64.b64decode(value)
    schema = pa.ipc.read_schema(pa.BufferReader(raw))
    bare = pa.schema([field.remove_metadata() for field in schema])
    return bool(bare.serialize().to_pybytes() == raw)


def _unknown(struct_: Fields, allowed: set[int], what: str) -> Iterator[str]:
    unknown = sorted(set(struct_) - allowed)
    if unknown:
        yield f"The {what} has parts that no release needs (field {', '.join(map(str, unknown))})."


def _matches(pattern: str, text: bytes) -> bool:
    return re.fullmatch(pattern, text.decode("utf-8", "replace")) is not None


# The compact protocol of Thrift, as far as Parquet uses it.


def _fields(data: bytes, place: int, depth: int = 0) -> tuple[Fields, int]:
    """Return the struct that begins at a place, and where it ends. A field that comes twice is refused."""
    if depth > DEEPEST:
        raise ValueError("too deep")
    fields: Fields = {}
    number = 0
    while True:
        head = data[place]
        place += 1
        if not head:
            return fields, place
        if head >> 4:
            number += head >> 4
        else:
            step, place = _whole(data, place)
            number = _signed(step)
        if number in fields:
            raise ValueError("a field comes twice")
        fields[number], place = _value(data, place, head & 15, depth)


def _value(data: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    match kind:
        case 1 | 2:
            return kind == 1, place
        case 3:
            return data[place], place + 1
        case 4 | 5 | 6:
            number, place = _whole(data, place)
            return _signed(number), place
        case 7:
            return struct.unpack_from("<d", data, place)[0], place + 8
        case 8:
            size, place = _whole(data, place)
            if place + size > len(data):
                raise ValueError("too long")
            return data[place : place + size], place + size
        case 9 | 10:
            return _items(data, place, depth)
        case 12:
            return _fields(data, place, depth + 1)
    raise ValueError("no such type")


def _items(data: bytes, place: int, depth: int) -> tuple[list[Any], int]:
    head = data[place]
    place += 1
    count = head >> 4
    if count == 15:
        count, place = _whole(data, place)
    if count > len(data):
        raise ValueError("too many")
    items = []
    for _ in range(count):
        if head & 15 in (1, 2):
            item, place = data[place] == 1, place + 1
        else:
            item, place = _value(data, place, head & 15, depth)
        items.append(item)
    return items, place


def _whole(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        part = data[place]
        place += 1
        number |= (part & 127) << shift
        shift += 7
        if part < 128:
            return number, place


def _signed(number: int) -> int:
    return (number >> 1) ^ -(number & 1)
