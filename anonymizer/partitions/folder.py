"""A release as a folder: Parquet files whose rows follow each other by content, a dictionary, and a manifest that has
the digest of every file. A report that has the digest of the manifest binds them all."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonymizer.errors import Progress, ReadError, no_progress
from anonymizer.json_value import read_json
from anonymizer.partitions.boxes import PartedRelease
from anonymizer.partitions.values import ROWS, in_order
from anonymizer.releasing.files import write_file
from anonymizer.reporting.report import digest
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.version import VERSION

MANIFEST, DICTIONARY = "manifest.json", "dictionary.json"
PART = re.compile(r"part-[0-9]{5,9}\.parquet")
GROUP = 1 << 17
"""Rows of a group in a file, which is what a check holds at a time."""
REMEDY = "Bring the folder as it was written."


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


def write_folder(release: PartedRelease, folder: Path, rows: int = ROWS, progress: Progress = no_progress) -> Manifest:
    """Write the files of a release into an empty folder, ``rows`` in each, the manifest last; return it."""
    starts = range(0, release.n_records, rows)

    def write(start: int) -> Part:
        piece = release.rows(start, start + rows)
        content = piece.to_bytes("parquet", GROUP)
        name = f"part-{start // rows:05}.parquet"
        write_file(folder / name, content)
        return Part(name, piece.n_records, digest(content))

    parts: list[Part] = []
    for part in in_order(write, starts):
        progress(len(parts) / len(starts), f"Writing {part.name}")
        parts.append(part)
    return write_manifest(folder, parts, release.dictionary())


def write_manifest(folder: Path, parts: Sequence[Part], entries_of_columns: list[dict[str, Any]]) -> Manifest:
    """Write the dictionary of a release into the folder that holds its parts, then the manifest; return it."""
    dictionary = _json(entries_of_columns)
    write_file(folder / DICTIONARY, dictionary)
    entries: dict[str, Any] = {
        "software": {"name": "Copse", "version": VERSION},
        "rows": sum(part.rows for part in parts),
        "parts": [{"name": part.name, "rows": part.rows, "sha256": part.sha256} for part in parts],
        "dictionary_sha256": digest(dictionary),
    }
    content = _json(entries)
    write_file(folder / MANIFEST, content)
    return Manifest(tuple(parts), digest(dictionary), digest(content))


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def read_manifest(folder: str | Path) -> Manifest:
    """Return the manifest of a released folder. Raises :class:`ReadError` when it is not in order."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise ReadError(f"There is no {MANIFEST} in {Path(folder).name!r}, so it is no released folder.", remedy=REMEDY)
    document = read_json(path, "manifest", REMEDY)
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
    return Manifest(tuple(parts), document.field("dictionary_sha256").sha256(), digest(path.read_bytes()))


def dictionary_schema(folder: str | Path) -> Schema:
    """Return the roles and kinds that the dictionary of a released folder states; no domains. Raises
    :class:`ReadError` when it is not in order."""
    document = read_json(Path(folder) / DICTIONARY, "dictionary", REMEDY)
    columns = []
    for item in document.items(fewest=1):
        role, kind = item.field("role").one_of(list(Role)), item.field("kind").one_of(list(Kind))
        columns.append(Column(item.field("name").text(), Role(role), Kind(kind)))
    return document.build(lambda: Schema(tuple(columns)))


def beside_parts(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield what a folder holds beside the parts of its manifest and a dictionary of the right digest, in sentences."""
    names = {MANIFEST, DICTIONARY, *(part.name for part in manifest.parts)}
    others = sorted(file.name for file in folder.iterdir() if file.name not in names)
    if others:
        yield f"The folder holds {len(others):,} files that its manifest does not name."
    dictionary = folder / DICTIONARY
    if not dictionary.is_file() or digest(dictionary.read_bytes()) != manifest.dictionary:
        yield "The dictionary is not the one that the manifest names."


def part_bytes(folder: Path, part: Part) -> bytes:
    """Return the content of a part. Raises :class:`ReadError` when it is not there, or not the one of the manifest."""
    try:
        content = (folder / part.name).read_bytes()
    except OSError as error:
        raise ReadError(f"{part.name} cannot be opened: {error.strerror}.", remedy=REMEDY) from None
    if digest(content) != part.sha256:
        raise ReadError(f"{part.name} is not the file that the manifest names: its SHA-256 is another.", remedy=REMEDY)
    return content
