"""A release as a folder: Parquet files whose rows follow each other by content, a dictionary, and a manifest that has
the digest of every file. A report that has the digest of the manifest binds them all. The same files can be one ZIP
file in memory, :class:`Archive`."""

import io
import json
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anonymizer.checking.set_names import SetNames
from anonymizer.digests import digest
from anonymizer.errors import ParameterError, Progress, ReadError, no_progress
from anonymizer.json_value import JsonValue, parse, read_json
from anonymizer.partitions.boxes import PartedRelease
from anonymizer.partitions.pieces import file_digest
from anonymizer.partitions.places import stamp_of, unchanged
from anonymizer.partitions.values import ROWS, in_order
from anonymizer.reading.options import bytes_text
from anonymizer.releasing.files import replace_folder, write_file
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.version import VERSION

LAYOUT = 1
"""The layout of a manifest."""
MANIFEST, DICTIONARY = "manifest.json", "dictionary.json"
PART = re.compile(r"part-[0-9]{5,9}\.parquet")
GROUP = 1 << 17
"""Rows of a group in a file, which is what a check holds at a time."""
REMEDY = "Use the folder as it was written."
LARGEST = 512 << 20
"""Bytes that a release may have as one file in memory."""


@dataclass(frozen=True)
class Part:
    """One file of a released folder: its name, rows, and SHA-256."""

    name: str
    rows: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a released folder holds: its files of rows in their order, and the digest of its dictionary. ``sha256``: of
    the manifest itself."""

    parts: tuple[Part, ...]
    dictionary: str
    sha256: str

    @property
    def rows(self) -> int:
        """Number of released rows."""
        return sum(part.rows for part in self.parts)


class Packing:
    """The files of a release on their way into one ZIP file in memory, called ``name``, of at most ``most`` bytes.

    They are stored as they are, for Parquet is packed already: nothing unfolds where it is read.
    """

    def __init__(self, name: str, most: int = LARGEST) -> None:
        self.name, self.most = name, most
        self._sink = io.BytesIO()
        self._files = zipfile.ZipFile(self._sink, "w", allowZip64=False)
        self._places: dict[str, slice] = {}
        self._archive: Archive | None = None

    def write(self, name: str, content: bytes) -> None:
        """Add a file. Raises :class:`ParameterError` when they become too many bytes."""
        if self._sink.tell() + len(content) > self.most:
            raise ParameterError(
                f"The release takes more than {bytes_text(self.most)}, and so it cannot leave as one file.",
                remedy="Let fewer columns leave, or have the rows sorted by their content, which packs them well.",
            )
        file = zipfile.ZipInfo(name)  # its time is the first that ZIP knows
        file.create_system, file.external_attr = 3, 0o100644 << 16
        self._files.writestr(file, content)
        self._places[name] = slice(self._sink.tell() - len(content), self._sink.tell())

    def archive(self) -> "Archive":
        """Return the ZIP file of the files so far; after that, none is added."""
        if self._archive is None:
            self._files.close()
            self._archive = Archive(self.name, self._sink.getvalue(), self._places)
            self._sink.close()
        return self._archive


@dataclass(frozen=True, eq=False)
class Archive:
    """The files of a release as the bytes of one ZIP file, each stored as it is. ``places``: where each is."""

    name: str
    data: bytes = field(repr=False)
    places: Mapping[str, slice]

    @classmethod
    def of(cls, data: bytes, name: str) -> "Archive":
        """Return the ZIP file of a release that came from anywhere.

        Raises :class:`ReadError` for one that is larger than a release may be, damaged, packed otherwise, or holds
        anything beside the files of a release: between or behind them, in a note, under another name or twice.
        """
        if len(data) > LARGEST:
            raise ReadError(f"{name} has more than {bytes_text(LARGEST)}.", remedy="Unpack it, and check the folder.")
        again = Packing(name, LARGEST)
        with (
            suppress(zipfile.BadZipFile, EOFError, ValueError, RuntimeError, struct.error, ParameterError),
            zipfile.ZipFile(io.BytesIO(data)) as packed,
        ):
            for file in packed.infolist():
                fitting = _is_file(file.filename) and file.compress_type == zipfile.ZIP_STORED
                if not fitting or file.filename in again._places:
                    break
                again.write(file.filename, packed.read(file))
        archive = again.archive()
        if not archive.places or archive.data != data:
            raise ReadError(
                f"{name} is damaged, or holds something beside the files of a release as they were packed.",
                remedy="Use it as it was downloaded, or unpack it and check the folder.",
            )
        return archive

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raises :class:`ReadError` where it is not there."""
        if name not in self.places:
            raise ReadError(f"There is no {name} in {self.name!r}.", remedy="Use it as it was downloaded.")
        return self.data[self.places[name]]


def _is_file(name: str) -> bool:
    return name in (MANIFEST, DICTIONARY) or PART.fullmatch(name) is not None


def is_archive(data: bytes) -> bool:
    """Return whether the first bytes of a file are those of a release as one ZIP file: a part comes first."""
    return data.startswith(b"PK\3\4") and PART.match(data[30:60].decode("ascii", "replace")) is not None


def archive_of(folder: Path, manifest: Manifest, most: int = LARGEST) -> Archive | None:
    """Return a released folder as one ZIP file; ``None`` when it has more than ``most`` bytes. Raises
    :class:`ReadError` when its files are not those of the manifest."""
    names = [*(part.name for part in manifest.parts), DICTIONARY, MANIFEST]
    if sum((folder / name).stat().st_size for name in names) + 200 * len(names) > most:
        return None
    packing = Packing(folder.name, most)
    for part in manifest.parts:
        packing.write(part.name, part_bytes(folder, part))
    for name in (DICTIONARY, MANIFEST):
        packing.write(name, (folder / name).read_bytes())
    return packing.archive()


def released_place(source: str | Path | Archive) -> Path | Archive:
    """Return where a release is: a folder, or the ZIP file of one. Raises what :meth:`Archive.of` raises."""
    if isinstance(source, Archive):
        return source
    path = Path(source)
    if not path.is_file():
        return path
    with path.open("rb") as file:
        return Archive.of(file.read(LARGEST + 1), path.name)


@contextmanager
def temporary_folder(place: str | Path | Packing) -> Iterator[Path | Packing]:
    """Yield a temporary folder; rename it to ``place`` if nothing raises: see
    :func:`anonymizer.releasing.files.replace_folder`."""
    if isinstance(place, Packing):
        yield place
        return
    with replace_folder(place) as half:
        yield half


def place_of(half: str | Path | Packing) -> Path | Archive:
    """Return where the files are that were written."""
    return half.archive() if isinstance(half, Packing) else Path(half)


def name_of_place(place: str | Path | Packing) -> str:
    """Return what the folder or file of a release is called."""
    return place.name if isinstance(place, Packing) else Path(place).name


def _write(place: Path | Packing, name: str, content: bytes) -> None:
    if isinstance(place, Packing):
        place.write(name, content)
    else:
        write_file(place / name, content)


def write_folder(
    release: PartedRelease, folder: Path | Packing, rows: int = ROWS, progress: Progress = no_progress
) -> Manifest:
    """Write the files of a release into an empty folder, ``rows`` in each, the manifest last; return it."""
    starts = range(0, release.n_records, rows)

    def write(start: int) -> tuple[Part, bytes]:
        """Return a part, and what is still to be written of it: in a ZIP file they follow each other."""
        piece = release.rows(start, start + rows)
        content = piece.to_bytes("parquet", GROUP)
        part = Part(f"part-{start // rows:05}.parquet", piece.n_records, digest(content))
        if isinstance(folder, Packing):
            return part, content
        write_file(folder / part.name, content)
        return part, b""

    parts: list[Part] = []
    for part, content in in_order(write, starts):
        if isinstance(folder, Packing):
            folder.write(part.name, content)
        progress(len(parts) / len(starts), f"Writing {part.name}")
        parts.append(part)
    return write_manifest(folder, parts, release.dictionary())


def write_manifest(folder: Path | Packing, parts: Sequence[Part], entries_of_columns: list[dict[str, Any]]) -> Manifest:
    """Write the dictionary of a release into the folder that holds its parts, then the manifest; return it."""
    dictionary = _json(entries_of_columns)
    _write(folder, DICTIONARY, dictionary)
    entries: dict[str, Any] = {
        "layout": LAYOUT,
        "software": {"name": "Copse", "version": VERSION},
        "rows": sum(part.rows for part in parts),
        "parts": [{"name": part.name, "rows": part.rows, "sha256": part.sha256} for part in parts],
        "dictionary_sha256": digest(dictionary),
    }
    content = _json(entries)
    _write(folder, MANIFEST, content)
    return Manifest(tuple(parts), digest(dictionary), digest(content))


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def read_manifest(folder: str | Path | Archive) -> Manifest:
    """Return the manifest of a released folder, or of its ZIP file. Raises :class:`ReadError` when it is not in
    order."""
    place = released_place(folder)
    if not _is_there(place, MANIFEST):
        raise ReadError(f"There is no {MANIFEST} in {place.name!r}, so it is no released folder.", remedy=REMEDY)
    document = _read_json(place, MANIFEST, "manifest")
    parts: list[Part] = []
    for item in document.field("parts").items(fewest=1):
        name = item.field("name").text()
        if not PART.fullmatch(name) or name in [part.name for part in parts[-1:]]:
            item.field("name").refuse("this is no name of a part")
        parts.append(Part(name, item.field("rows").whole(1), item.field("sha256").sha256()))
    if len({part.name for part in parts}) < len(parts):
        document.field("parts").refuse("two parts have the same name")
    if document.field("rows").whole() != sum(part.rows for part in parts):
        document.field("rows").refuse("the parts do not have so many together")
    return Manifest(tuple(parts), document.field("dictionary_sha256").sha256(), digest(_content(place, MANIFEST)))


def dictionary_schema(folder: str | Path | Archive) -> Schema:
    """Return the roles and kinds that the dictionary of a released folder states; no domains. Raises
    :class:`ReadError` when it is not in order."""
    document = _read_json(released_place(folder), DICTIONARY, "dictionary")
    columns = []
    for item in document.items(fewest=1):
        role, kind = item.field("role").one_of(list(Role)), item.field("kind").one_of(list(Kind))
        columns.append(Column(item.field("name").text(), Role(role), Kind(kind)))
    return document.build(lambda: Schema(tuple(columns)))


def dictionary_sets(folder: str | Path | Archive) -> SetNames | None:
    """Return the sets that have short names in a released folder, by its dictionary; ``None`` where none has. Raises
    :class:`ReadError` when that is not in order."""
    sets = {
        item.field("name").text(): {name: own.texts(2) for name, own in item.field("sets").fields().items()}
        for item in _read_json(released_place(folder), DICTIONARY, "dictionary").items(fewest=1)
        if not item.field("sets").absent
    }
    return sets or None


def beside_parts(folder: Path | Archive, manifest: Manifest) -> Iterator[str]:
    """Yield what a folder holds beside the parts of its manifest and a dictionary of the right digest, in sentences."""
    names = {MANIFEST, DICTIONARY, *(part.name for part in manifest.parts)}
    files = folder.places if isinstance(folder, Archive) else [file.name for file in folder.iterdir()]
    if others := set(files) - names:
        yield f"The folder holds {len(others):,} files that its manifest does not name."
    if not _is_there(folder, DICTIONARY) or digest(_content(folder, DICTIONARY)) != manifest.dictionary:
        yield "The dictionary is not the one that the manifest names."


@contextmanager
def part_of(folder: Path | Archive, part: Part) -> Iterator[bytes | Path]:
    """Yield where a part lies, hashed block by block, or its bytes in a ZIP file. Raises :class:`ReadError` when it is
    not there, not the one of the manifest, or not the same to the end."""
    if isinstance(folder, Archive):
        yield part_bytes(folder, part)
        return
    path = folder / part.name
    try:
        stamp = stamp_of(path)
    except OSError as error:
        raise ReadError(f"{part.name} cannot be opened: {error.strerror}.", remedy=REMEDY) from None
    with unchanged(path, stamp):
        _refuse_other(part, file_digest(path, stamp))
        yield path


def part_bytes(folder: Path | Archive, part: Part) -> bytes:
    """Return the content of a part. Raises :class:`ReadError` when it is not there, or not the one of the manifest."""
    try:
        content = _content(folder, part.name)
    except OSError as error:
        raise ReadError(f"{part.name} cannot be opened: {error.strerror}.", remedy=REMEDY) from None
    _refuse_other(part, digest(content))
    return content


def _refuse_other(part: Part, sha256: str) -> None:
    if sha256 != part.sha256:
        raise ReadError(f"{part.name} is not the file that the manifest names: its SHA-256 is another.", remedy=REMEDY)


def _is_there(place: Path | Archive, name: str) -> bool:
    return name in place.places if isinstance(place, Archive) else (place / name).is_file()


def _content(place: Path | Archive, name: str) -> bytes:
    return place.read(name) if isinstance(place, Archive) else (place / name).read_bytes()


def _read_json(place: Path | Archive, name: str, what: str) -> JsonValue:
    return (
        parse(place.read(name), what, REMEDY) if isinstance(place, Archive) else read_json(place / name, what, REMEDY)
    )
