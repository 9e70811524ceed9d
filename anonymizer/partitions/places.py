"""Where the files of a table are: a file, a folder or a pattern on this machine, or an address that fsspec opens; and
delimited text, read from there block by block, every column as text.
"""

import codecs
import glob
import gzip
import importlib
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.csv as pacsv

from anonymizer.errors import AnonymizerError, ParameterError, ReadError
from anonymizer.reading.delimited import BLOCK, UTF8, codec_of, find_delimiter, first_record
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.stream import Text, TextStream

PARQUET, DELIMITED = (".parquet",), (".csv", ".csv.gz", ".tsv", ".txt")
"""Endings of files that hold a table, by what they are."""

ADDRESSES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "hdfs", "webhdfs", "sftp", "smb", "file", "memory")
"""What an address of files begins with."""

HEAD = 1 << 20
"""Bytes in which delimiter and names are looked for."""

STATED = ("size", "created", "mtime", "modified", "updated", "last_modified", "LastModified", "etag", "ETag")
"""What an address says of a file that differs once it is written again; each kind of address has some of it."""

Stamp = tuple[Any, ...]
"""What differs once a file is written again."""


@dataclass(frozen=True)
class RemoteFile:
    """A file at an address such as ``s3://bucket/folder/part.parquet``."""

    address: str

    @property
    def name(self) -> str:
        """The name of the file itself."""
        return PurePosixPath(self.address).name


@dataclass(frozen=True, eq=False)
class MemoryFile:
    """A file that is nowhere but in memory, under a name. ``delimited``: it is text, unpacked, and not Parquet."""

    name: str
    content: bytes = field(repr=False)
    delimited: bool = False


File = Path | RemoteFile | MemoryFile


def local_source(source: str | Path) -> str | Path:
    """Return what is read as a path where it is one: ``file:///in`` is ``/in``."""
    text = str(source)
    return url2pathname(urlsplit(text).path) if text.startswith("file://") else source


def is_remote(source: str | Path) -> bool:
    """Return whether a source is an address of files that are not on this machine's disk."""
    return is_files_address(source) and not str(source).startswith("file://")


def is_files_address(source: object) -> bool:
    """Return whether a text is the address of files, here or elsewhere."""
    protocol, colon, _ = str(source).partition("://")
    return bool(colon) and protocol in ADDRESSES


@contextmanager
def opened(file: File) -> Iterator[BinaryIO]:
    """Open a file for reading."""
    if isinstance(file, MemoryFile):
        yield io.BytesIO(file.content)
    elif isinstance(file, Path):
        with open(file, "rb") as handle:
            yield handle
    else:
        with _open_address(file) as handle:
            yield handle


def stamp_of(file: File) -> Stamp:
    """Return the stamp of a file: its size, and when it was last written and changed in any way; of one at an address
    what that says. Raises :class:`OSError` where there is none."""
    if isinstance(file, MemoryFile):
        return ()
    if isinstance(file, Path):
        status = file.stat()
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns
    with _at_address(file, FileNotFoundError):
        system, path = _fsspec().core.url_to_fs(file.address)
        system.invalidate_cache()
        about = system.info(path)
    return tuple(str(about.get(name)) for name in STATED)


@contextmanager
def unchanged(file: File, stamp: Stamp) -> Iterator[None]:
    """Raise :class:`ReadError` where a file is not what its stamp says: before anything is read, or afterwards."""
    _refuse_changed(file, stamp)
    try:
        yield
    finally:
        _refuse_changed(file, stamp)


def _refuse_changed(file: File, stamp: Stamp) -> None:
    try:
        now: Stamp | None = stamp_of(file)
    except OSError:
        now = None
    if now != stamp:
        raise ReadError(
            f"{file.name} changed while it was read.", remedy="Start again when nobody writes to it."
        ) from None


def _open_address(file: RemoteFile) -> BinaryIO:
    with _at_address(file):
        return cast(BinaryIO, _fsspec().open(file.address, "rb").open())


@contextmanager
def _at_address(file: RemoteFile, *left: type[Exception]) -> Iterator[None]:
    """Raise :class:`ReadError` for whatever opens an address has errors of its own for, but for those of ``left``."""
    try:
        yield
    except Exception as error:
        if isinstance(error, (AnonymizerError, *left)):
            raise
        protocol = file.address.partition("://")[0]
        raise ReadError(
            f"{file.name} cannot be opened at its address ({type(error).__name__}).",
            remedy=f"See that whoever reads it, or each worker, may do so, and has what opens {protocol}:// installed.",
        ) from None


def files_of(source: str | Path | MemoryFile) -> list[File]:
    """Return the files that a path, a pattern or an address names, in the order of their names; of one in memory, that.

    Names that begin with a dot or an underscore are passed over in a folder, as other programs do; a folder that has
    Parquet files is those.

    Raises :class:`ReadError` where there is none, and :class:`ParameterError` for an address with a password.
    """
    if isinstance(source, MemoryFile):
        return [source]
    source = local_source(source)
    files: Sequence[Path | RemoteFile] = _remote_files(str(source)) if is_remote(source) else _local_files(source)
    if not files:
        raise ReadError(
            f"There is no Parquet file at {str(source)!r}, and none of delimited text.",
            remedy="Name a file, a folder of files that end in .parquet or .csv, or a pattern such as 'in/*.parquet'.",
        )
    return [*sorted(files, key=lambda file: file.as_posix() if isinstance(file, Path) else file.address)]


def _local_files(source: str | Path) -> list[Path]:
    path = Path(source)
    if path.is_dir():
        inside = [file.relative_to(path) for file in path.rglob("*") if file.is_file()]
        return [path / name for name in _tables(file.as_posix() for file in inside)]
    if path.is_file():
        return [path]
    return [Path(name) for name in glob.glob(str(source), recursive=True) if Path(name).is_file()]


def _remote_files(source: str) -> list[RemoteFile]:
    if urlsplit(source).username is not None or urlsplit(source).password is not None:
        raise ParameterError(
            "The address of the table has a name or a password in it.",
            remedy="Leave them out: what opens the address takes them from the environment or from its own file.",
        )
    protocol, host = source.partition("://")[0], urlsplit(source).netloc
    try:
        system, path = _fsspec().core.url_to_fs(source)
        if system.isdir(path):
            whole = system.find(path)
            inside = {name[len(path.rstrip("/")) + 1 :]: name for name in whole}
            paths = [inside[name] for name in _tables(inside)]
        else:
            paths = system.glob(path) if any(letter in path for letter in "*?[") else [path] * system.exists(path)
        _, root = _fsspec().core.url_to_fs(f"{protocol}://{host}/")
    except AnonymizerError:
        raise
    except Exception as error:  # what opens an address has errors of its own
        raise ReadError(
            f"What is at an address {protocol}:// cannot be listed ({type(error).__name__}).",
            remedy=f"See that it is there, that you may read it, and that what opens {protocol}:// is installed.",
        ) from None
    if host in root:  # a path there begins with it, as with a bucket
        return [RemoteFile(system.unstrip_protocol(path)) for path in paths]
    return [RemoteFile(f"{protocol}://{host}{path}") for path in paths]


def _tables(names: Iterable[str]) -> list[str]:
    """Return the names of files that hold a table: Parquet, else delimited text."""
    visible = [name for name in names if not any(part.startswith((".", "_")) for part in name.split("/"))]
    for endings in (PARQUET, DELIMITED):
        if tables := [name for name in visible if name.lower().endswith(endings)]:
            return tables
    return []


def _fsspec() -> Any:
    try:
        return importlib.import_module("fsspec")
    except ImportError:
        raise ParameterError(
            "An address such as s3:// takes the package fsspec.", remedy="Install it, or name a folder here."
        ) from None


def is_delimited(file: File) -> bool:
    """Return whether a file is delimited text, by its name where it does not say so itself."""
    return file.delimited if isinstance(file, MemoryFile) else file.name.lower().endswith(DELIMITED)


def is_packed(file: File) -> bool:
    """Return whether a file of text is packed."""
    return not isinstance(file, MemoryFile) and file.name.lower().endswith(".gz")


def codec_in(options: ReadOptions) -> str:
    """Return the name of the encoding in which text is read: UTF-8, or the one that is named."""
    return "utf-8" if options.encoding is None else codec_of(options.encoding)


def layout_of(file: File, options: ReadOptions) -> tuple[str, list[str]]:
    """Return the delimiter of a file and the names of its columns. Raises :class:`ReadError` where they cannot be
    told."""
    with _text(file, options) as stream:
        head = stream.read(HEAD).removeprefix(codecs.BOM_UTF8)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last letter may be cut off
    except UnicodeDecodeError:
        raise ReadError(
            f"{file.name} is not in UTF-8, and a file in pieces is not searched for its encoding.",
            remedy="Say which encoding it is in: --encoding cp1252.",
        ) from None
    delimiter = options.delimiter or find_delimiter(head, file.name)
    names = first_record(Text.of(head), delimiter)
    return delimiter, names if options.header else [f"column {at + 1}" for at in range(len(names))]


def text_batches(
    file: File,
    delimiter: str,
    names: Sequence[str],
    select: Sequence[str],
    options: ReadOptions,
    digest: Any = None,
    start: int = 0,
    end: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a file, some columns of it, as text; "" where nothing stands. ``names``: of all columns;
    ``digest``: of :mod:`hashlib`, gets all bytes of the file as they pass; ``start``, ``end``: of the bytes that hold
    these records."""
    width = len(names)
    labels = [f"c{at}" for at in range(width)]
    columns = [labels[names.index(name)] for name in select]
    with _text(file, options, digest, start, end) as stream:
        reader = pacsv.open_csv(
            pa.PythonFile(TextStream(stream, start == 0), mode="r"),
            read_options=pacsv.ReadOptions(column_names=labels, block_size=BLOCK),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=width > 1
            ),
            convert_options=pacsv.ConvertOptions(
                column_types={label: pa.string() for label in labels}, strings_can_be_null=False,
                include_columns=columns,
            ),
        )  # fmt: skip
        header = options.header and start == 0
        for batch in reader:
            if header and batch.num_rows:
                batch, header = batch.slice(1), False
            if batch.num_rows:
                yield batch.rename_columns(list(select))


@contextmanager
def _text(
    file: File, options: ReadOptions, digest: Any = None, start: int = 0, end: int | None = None
) -> Iterator[BinaryIO]:
    """Open a file, or a range of its bytes, as UTF-8 text, unpacked. ``digest``: gets the bytes as they pass, and in
    the end those behind."""
    with opened(file) as handle:
        source: Any = handle
        if digest is not None or end is not None:
            handle.seek(start)
            source = _Passing(handle, digest, sys.maxsize if end is None else end - start)
        stream: Any = gzip.GzipFile(fileobj=source) if is_packed(file) else source
        codec = codec_in(options)
        yield cast(BinaryIO, stream if codec in UTF8 else codecs.EncodedFile(stream, "utf-8", codec))
        while digest is not None and source.read(BLOCK):
            pass


class _Passing:
    """So many bytes of a file, read in their order; a digest, where there is one, gets them as they pass."""

    def __init__(self, file: BinaryIO, digest: Any, left: int) -> None:
        self.file, self.digest, self.left = file, digest, left

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self.file.closed

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most so many."""
        data = self.file.read(min(size, self.left))
        self.left -= len(data)
        if self.digest is not None:
            self.digest.update(data)
        return data

    def close(self) -> None:
        """Leave the file open: whoever opened it reads the rest."""


def refuse_other_layout(file: File, first: File, mine: tuple[str, list[str]], whole: tuple[str, list[str]]) -> None:
    """Raise :class:`ReadError` when two files do not have the same columns in the same order."""
    if mine != whole:
        raise ReadError(
            f"{file.name} and {first.name} do not have the same columns, or not the same delimiter.",
            remedy="Use files of one table, written in one way.",
        )
