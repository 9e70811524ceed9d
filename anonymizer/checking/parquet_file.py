"""Whether a Parquet file holds its rows and nothing else: written again, they have to be the same bytes.

That is known of what this version of the library wrote. Of any other file, the rows are known, and not what its bytes
may hold beside them.
"""

import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anonymizer.errors import ReadError
from anonymizer.reading.parquet import parquet_writer

NOT_SAME = "The file has something beside its rows, or is not written as releases are."
CHUNK = 1 << 20
"""Bytes of a file that are read at a time."""
TYPES = b"ARROW:schema"
"""The entry of a file's metadata that holds the types of its columns."""


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
                    remedy="Use the file as it was written: text, numbers and dates only.",
                )
        texts = [
            field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        ]
        self.data = source if isinstance(source, bytes) else FileBytes(source)
        self.file = pq.ParquetFile(file, read_dictionary=texts, page_checksum_verification=True)
        self.names = names
        self.unused: Counter[str] = Counter()
        self.again = SameBytes(self.data)
        self.writer: pq.ParquetWriter | None = None

    def groups(self) -> Iterator[pa.Table]:
        """Yield the rows of each group of rows; text by codes, without levels that no row has."""
        for number in range(self.file.metadata.num_row_groups):
            table = self.file.read_row_group(number, use_pandas_metadata=False).replace_schema_metadata(None)
            columns = [_compact(column.combine_chunks()) for column in table.columns]
            group = pa.table(columns, names=self.names)
            for name, there, used in zip(self.names, table.columns, columns, strict=True):
                self.unused[name] += _levels(there.chunks) - _levels([used])
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
        return tuple(
            f"The dictionary of column {name!r} has {count:,} values that no row has."
            for name, count in self.unused.items()
            if count
        ) + tuple(
            f"The file's metadata has an entry {key.decode('utf-8', 'replace')[:40]!r} that no release needs."
            for key in self.file.metadata.metadata or {}
            if key != TYPES
        )

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
            f"The file is not written as this version writes it. Its rows are those that pyarrow {pa.__version__} "
            f"reads; what its bytes (SHA-256 {self.again.digest}) may hold beside them cannot be said."
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

    @property
    def digest(self) -> str:
        """The SHA-256 of the other."""
        sha256 = hashlib.sha256()
        for start in range(0, len(self.data), CHUNK):
            sha256.update(self.data[start : start + CHUNK])
        return sha256.hexdigest()


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


def _levels(chunks: Sequence[Any]) -> int:
    """Return how many values the dictionaries of a column have."""
    dictionaries = [chunk.dictionary for chunk in chunks if pa.types.is_dictionary(chunk.type)]
    return int(pc.count_distinct(pa.chunked_array(dictionaries)).as_py()) if dictionaries else 0


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
