"""A table in pieces: row groups of Parquet files, or files of delimited text or parts of them, of a folder, a pattern
or an address.

Which pieces there are, how they are cut, and in which order they come changes nothing of what is made of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from anonymizer.errors import AnonymizerError, ReadError
from anonymizer.partitions.places import (
    File,
    MemoryFile,
    Stamp,
    files_of,
    is_delimited,
    layout_of,
    opened,
    refuse_other_layout,
    stamp_of,
    text_batches,
    unchanged,
)
from anonymizer.reading.delimited import BLOCK, repair_names
from anonymizer.reading.options import Extent, Problem, ReadOptions, pieces_allowance, refuse_too_large, refuse_too_wide
from anonymizer.reading.parquet import is_plain, is_text, left_out_problem, texts_by_codes

BATCH = 1 << 20
"""Most records that are unpacked at a time."""


@dataclass(frozen=True)
class Piece:
    """``rows`` records of one file: those of some of its row groups; of text, those in its bytes from ``start`` to
    ``end``, or to its own end, which are counted when they are read, and -1 before. ``stamp``: of the file when the
    table was opened."""

    path: File
    groups: tuple[int, ...]
    rows: int
    stamp: Stamp = ()
    start: int = 0
    end: int | None = None

    @property
    def size(self) -> int:
        """The bytes of text here; 0 where they are not known."""
        return size_of(self.path) if self.end is None else self.end - self.start


@dataclass(frozen=True, eq=False)
class PartitionedTable:
    """A table in pieces. ``types``: of each column, by the name it has here, the type that holds the values of all
    files; ``labels``: the names in the files. ``delimiter``: of delimited text, whose columns are all text as yet, read
    with these ``options``; "" of Parquet. ``left_out``: the problem of each column that is none of numbers, dates or
    text."""

    source: str
    pieces: tuple[Piece, ...]
    types: dict[str, pa.DataType]
    labels: dict[str, str]
    delimiter: str = ""
    options: ReadOptions = ReadOptions()
    left_out: tuple[Problem, ...] = ()

    @property
    def n_records(self) -> int:
        """Number of records n, of Parquet files."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the first file."""
        return tuple(self.types)

    @property
    def files(self) -> tuple[File, ...]:
        """The files in their order."""
        return tuple(dict.fromkeys(piece.path for piece in self.pieces))

    @property
    def stamps(self) -> dict[File, Stamp]:
        """The stamp of each file when the table was opened."""
        return {piece.path: piece.stamp for piece in self.pieces}

    def digest(self, passed: Mapping[File, str], stopped: Callable[[], None] = lambda: None) -> str:
        """Return the digest of the bytes of all files: see :func:`digest_of`. ``passed``: of those whose bytes all
        passed when they were read or cut; the others are read once more. ``stopped``: see :func:`file_digest`.

        Raises :class:`ReadError` where one was changed since the table was opened.
        """
        stamps = self.stamps.items()
        return digest_of([passed.get(file) or file_digest(file, stamp, stopped) for file, stamp in stamps])

    def batches(
        self, piece: Piece, names: Sequence[str], size: int = BATCH, digest: Any = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the records of a piece, some columns, at most ``size`` at a time; text by codes. ``digest``: gets all
        bytes of a whole file of text as they pass.

        Raises :class:`ReadError`, with the name of the file and nothing that stands in it, when it is damaged, or was
        changed since the table was opened.
        """
        labels = [self.labels[name] for name in names]
        if self.delimiter:
            rows, part = 0, (digest, piece.start, piece.end)
            with unchanged(piece.path, piece.stamp), reading(piece.path):
                for batch in text_batches(piece.path, self.delimiter, self.names, names, self.options, *part):
                    rows += batch.num_rows
                    refuse_too_many(piece.path.name, piece.size, rows, len(self.types))
                    yield batch
            return
        with unchanged(piece.path, piece.stamp), reading(piece.path), _parquet(piece.path) as source:
            texts = sorted(set(labels).intersection(texts_by_codes(pq.ParquetFile(source))))
            file = pq.ParquetFile(source, read_dictionary=texts, page_checksum_verification=True)
            rows = 0
            for batch in file.iter_batches(size, row_groups=list(piece.groups), columns=labels, use_threads=False):
                rows += batch.num_rows
                yield batch.select(labels).rename_columns(list(names))
            if rows != piece.rows:
                raise pa.ArrowInvalid("The number of rows is another.")


def open_table(
    source: str | Path | MemoryFile, rows: int = BATCH, options: ReadOptions | None = None
) -> PartitionedTable:
    """Return the table in a file of Parquet or delimited text, in all of a folder, in those that a pattern such as
    ``in/*.parquet`` names, at an address such as ``s3://bucket/folder/``, or in memory; only their own accounts of
    themselves, or their first lines, are read, and a table that reaches further than work in pieces may is refused by
    them. ``rows``: row groups of fewer records share a piece; ``options``: how text is read.

    Raises :class:`ReadError` where there is none, one cannot be read, or two do not have the same columns.
    """
    paths = files_of(source)
    source = source.name if isinstance(source, MemoryFile) else source
    if all(map(is_delimited, paths)):
        return _open_text(source, paths, options or ReadOptions())
    pieces: list[Piece] = []
    first: tuple[File, list[str]] | None = None
    types: dict[str, pa.DataType] = {}
    records = 0
    for path in paths:
        with reading(path), _parquet(path) as handle:
            stamp = stamp_of(path)
            file = pq.ParquetFile(handle)
            metadata, schema = file.metadata, file.schema_arrow
            groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
            counts = [group.num_rows for group in groups]
            records += metadata.num_rows
            largest = max((group.total_byte_size for group in groups), default=0)
            refuse_too_many(path.name, size_of(path), records, len(schema), largest)
        if first is None:
            refuse_too_wide(len(schema), path.name)
            first = path, list(schema.names)
            if len(set(schema.names)) < len(schema):
                raise ReadError(f"Two columns of {path.name} have the same name.", remedy="Rename one of them.")
        if sorted(schema.names) != sorted(first[1]):
            other = sorted(set(schema.names) ^ set(first[1]))
            raise ReadError(
                f"{path.name} and {first[0].name} do not have the same columns: {other[:3]} are in one of them only.",
                remedy="Use files of one table.",
            )
        for field in schema:
            types[field.name] = common_type(field.name, types.get(field.name), plain_type(field.type), path)
        pieces += cut(path, counts, rows, stamp)
    names = first[1] if first else []
    if not names or not any(piece.rows for piece in pieces):
        raise ReadError(f"{source} has no rows.", remedy="Use a table with at least one row.")
    labels = dict(zip(repair_names(names)[0], names, strict=True))
    plain = {name: label for name, label in labels.items() if is_plain(types[label])}
    others = tuple(left_out_problem(name, types[label]) for name, label in labels.items() if name not in plain)
    if not plain:
        raise ReadError(f"No column of {source} holds numbers, dates or text.", remedy=others[0].remedy)
    return PartitionedTable(
        str(source), tuple(pieces), {name: types[label] for name, label in plain.items()}, plain, left_out=others
    )


def _open_text(source: str | Path, paths: Sequence[File], options: ReadOptions) -> PartitionedTable:
    if options.skip:
        raise ReadError(
            "Lines above the names of the columns are not left out of files in pieces.",
            value=options.skip,
            remedy="Take these lines out of the files.",
        )
    layouts, pieces = [], []
    for path in paths:
        with reading(path):
            pieces.append(Piece(path, (), -1, stamp_of(path)))
            layouts.append(layout_of(path, options))
        refuse_other_layout(path, paths[0], layouts[-1], layouts[0])
    delimiter, names = layouts[0]
    refuse_too_wide(len(names), paths[0].name)
    here = repair_names(names)[0]
    types, labels = dict.fromkeys(here, pa.string()), dict(zip(here, names, strict=True))
    return PartitionedTable(str(source), tuple(pieces), types, labels, delimiter, options)


def refuse_too_many(name: str, size: int, rows: int, columns: int, unpacked: int = 0) -> None:
    """Raise :class:`ReadError` for more records than a table in pieces may have. ``name``, ``size``: of the file with
    which they became so many; ``unpacked``: the bytes of what has to be unpacked at once, as the file states."""
    refuse_too_large(Extent(rows, columns, rows * columns, unpacked), name, size, pieces_allowance())


def file_digest(file: File, stamp: Stamp, stopped: Callable[[], None] = lambda: None) -> str:
    """Return the SHA-256 of the bytes of a file, read block by block. ``stopped``: called before each block, so that
    it can raise. Raises :class:`ReadError` where the file is not what its stamp says, before or afterwards."""
    digest = sha256()
    with unchanged(file, stamp), reading(file), opened(file) as handle:
        while block := handle.read(BLOCK):
            stopped()
            digest.update(block)
    return digest.hexdigest()


def digest_of(digests: Iterable[str]) -> str:
    """Return the digest of a table: that of its one file, or the SHA-256 of those of its files, in their order."""
    one, *more = digests
    return sha256(b"".join(map(bytes.fromhex, [one, *more]))).hexdigest() if more else one


def size_of(file: File) -> int:
    """Return the bytes of a file here; 0 where they are not known."""
    if isinstance(file, MemoryFile):
        return len(file.content)
    return file.stat().st_size if isinstance(file, Path) else 0


@contextmanager
def _parquet(file: File) -> Iterator[Any]:
    """Yield what a reader of Parquet takes: a path here, bytes in memory, or an open file."""
    if isinstance(file, MemoryFile):
        yield pa.BufferReader(file.content)
    elif isinstance(file, Path):
        yield file
    else:
        with opened(file) as handle:
            yield pa.PythonFile(handle, mode="r")


def cut(path: File, counts: Sequence[int], rows: int, stamp: Stamp) -> Iterator[Piece]:
    """Yield the pieces of a file whose row groups have so many records: consecutive groups of at most ``rows``
    together, or one larger group."""
    groups: list[int] = []
    size = 0
    for number, count in enumerate(counts):
        if groups and size + count > rows:
            yield Piece(path, tuple(groups), size, stamp)
            groups, size = [], 0
        groups.append(number)
        size += count
    if groups:
        yield Piece(path, tuple(groups), size, stamp)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values themselves: of a dictionary those in it, of any text text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.string() if is_text(kind) else kind


def common_type(name: str, one: pa.DataType | None, other: pa.DataType, path: File) -> pa.DataType:
    """Return the type that holds the values of both. Raises :class:`ReadError` where there is none."""
    if one is None or one == other:
        return other
    try:
        fields = (pa.schema([pa.field(name, kind)]) for kind in (one, other))
        return pa.unify_schemas(list(fields), promote_options="permissive").field(0).type
    except pa.ArrowException as error:
        raise ReadError(
            f"Column {name!r} is {other} in {path.name} and {one} in another file.",
            column=name,
            remedy="Write all files with the same types.",
        ) from error


@contextmanager
def reading(path: File) -> Iterator[None]:
    """Turn whatever a damaged file makes the reader raise into one :class:`ReadError` with the file's name."""
    try:
        yield
    except AnonymizerError:
        raise
    except MemoryError as error:
        raise ReadError(f"{path.name} takes more memory than there is.", remedy="Write smaller row groups.") from error
    except (pa.ArrowException, OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ReadError(
            f"{path.name} cannot be read ({type(error).__name__}).",
            remedy="See whether all of its lines have as many fields, in UTF-8 or the encoding that was named."
            if is_delimited(path)
            else "Write it again as Parquet; it may be damaged or cut off.",
        ) from None  # what the reader says may hold what stands in the file
