"""Files that are read where they lie, so that their bytes need not stand in memory beside the table."""

import codecs
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO

from anonymizer.errors import ReadError
from anonymizer.reading.delimited import UTF8, codec_of, is_utf8, refuse_binary
from anonymizer.reading.stream import Text, count_byte

LOOK = 1 << 20
"""Bytes that are looked at once."""

HEAD = (1 << 16) + 8
"""Bytes by which it is told whether a file is text, and its delimiter."""


@dataclass(frozen=True)
class Place:
    """A file, and what it was before it was read.

    ``size``, ``state``: its bytes, and what would differ had it been written meanwhile; ``sha256``: of its bytes.
    ``text``: what it holds where that is delimited text.
    """

    path: Path
    format: str
    size: int
    state: tuple[int, ...]
    sha256: str
    text: Text | None = None

    @contextmanager
    def unchanged(self, name: str) -> Iterator[None]:
        """Raise :class:`ReadError` where it was written before the end of what is done meanwhile."""
        try:
            yield
        finally:
            try:
                state = state_of(self.path)
            except OSError:
                state = ()
            if state != self.state:
                raise ReadError(f"{name} was changed while it was read.", remedy="Read it again when it is saved.")


def state_of(path: Path) -> tuple[int, ...]:
    """Return the size of a file, and what differs once it is written again."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def start_of(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, at most so many."""
    with path.open("rb") as file:
        return file.read(size)


def text_of(path: Path, encoding: str | None) -> tuple[Text, str, int]:
    """Return the text in a file, the SHA-256 of its bytes and their number; they are read once, block by block.

    Raises :class:`ReadError` for what is no text, is in another ``encoding``, or begins by naming its delimiter.
    """
    head = start_of(path, HEAD)
    start = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
    refuse_binary(head[start : start + (1 << 16)])
    plain = head[start : start + 4].lower() != b"sep=" and (encoding is None or codec_of(encoding) in UTF8)
    digest, size, cut, counts = sha256(), 0, b"", Counter[bytes]()
    with path.open("rb") as file:
        while plain and (block := file.read(LOOK)):
            digest.update(block)
            size += len(block)
            letters, cut = _letters(cut + block)
            plain &= b"\x00" not in block and is_utf8(letters)
            for byte in (b"\n", b"\r", b'"'):
                counts[byte] += count_byte(block, byte)
    if cut or not plain:
        raise ReadError("The file is not plainly text in UTF-8.")

    def opened() -> IO[bytes]:
        file = path.open("rb")
        file.seek(start)
        return file

    text = Text(head[start:], size - start, max(counts[b"\n"], counts[b"\r"]), counts[b'"'], opened)
    return text, digest.hexdigest(), size


def _letters(block: bytes) -> tuple[bytes, bytes]:
    """Return the whole letters of a block, and the first bytes of one that goes on behind it."""
    decoder = codecs.getincrementaldecoder("utf-8")("ignore")
    decoder.decode(block[-3:])
    cut = decoder.getstate()[0]
    return block[: len(block) - len(cut)], cut
