"""Large files of delimited text in pieces: ranges of bytes, each of which begins and ends where a record does."""

import codecs
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.partitions.pieces import PartitionedTable, Piece, reading, size_of
from anonymizer.partitions.places import File, codec_in, is_packed, opened, unchanged
from anonymizer.reading.delimited import BLOCK, UTF8
from anonymizer.reading.options import ReadOptions

RANGE = 1 << 26
"""Bytes of text in one piece; a file of more is several."""

LINE_FEED, RETURN, QUOTE = b'\n\r"'


class LargeText(NamedTuple):
    """A file of text that is cut: the ``piece`` that it is as yet, how it is read, and at ``most`` how many bytes a
    piece has, as near as the ends of records allow."""

    piece: Piece
    delimiter: str
    options: ReadOptions
    most: int


class Ranges(NamedTuple):
    """The pieces of a file of text: where each ``ends``, the last one with the file; and the SHA-256 of its bytes."""

    ends: tuple[int, ...]
    digest: str


def in_ranges(
    table: PartitionedTable, find: Callable[[list[LargeText]], Iterable[Ranges]]
) -> tuple[PartitionedTable, dict[File, str]]:
    """Return a table of which large files of text are several pieces, and the digests of these files. ``find``: returns
    the ranges of some files, as :func:`find_ranges` does of one."""
    large = [piece for piece in table.pieces if table.delimiter and _is_large(piece, table.options)]
    texts = [LargeText(piece, table.delimiter, table.options, RANGE) for piece in large]
    ranges = dict(zip(large, find(texts), strict=True))
    pieces: list[Piece] = []
    for piece in table.pieces:
        if piece in ranges:
            ends = ranges[piece].ends
            pieces += [replace(piece, start=a, end=b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        else:
            pieces.append(piece)
    return replace(table, pieces=tuple(pieces)), {piece.path: of_file.digest for piece, of_file in ranges.items()}


def _is_large(piece: Piece, options: ReadOptions) -> bool:
    """Return whether a file of text is cut: it is large, it is here, and its bytes tell where records end."""
    if not isinstance(piece.path, Path) or is_packed(piece.path) or not keeps_ascii(codec_in(options)):
        return False
    return bool(piece.stamp[0] > RANGE)


def keeps_ascii(codec: str) -> bool:
    """Return whether bytes below 128 are their letters in ASCII and never a part of others: in UTF-8, and where each
    byte is a letter."""
    low, high = (bytes(some).decode(codec, "replace") for some in (range(128), range(128, 256)))
    return codec in UTF8 or (low.encode() == bytes(range(128)) and len(high) == 128 and not set(low) & set(high))


def find_ranges(text: LargeText, stopped: Callable[[], None] = lambda: None) -> Ranges:
    """Return the ranges of a file, as equal as its records allow; its bytes are read once, block by block. ``stopped``:
    called before each block.

    A line that ends behind an even number of quotes ends a record, as long as each quote that opens stands where a
    field begins, or behind one that closes, with which it is one quote of the text. Behind another nothing is cut.

    Raises :class:`ReadError` where the file is not what its stamp says, before or afterwards.
    """
    piece, codec, opens = text.piece, codec_in(text.options), np.zeros(256, bool)
    opens[[ord(text.delimiter), LINE_FEED, RETURN, QUOTE]] = True
    with unchanged(piece.path, piece.stamp), reading(piece.path), opened(piece.path) as file:
        digest, size = sha256(), size_of(piece.path)
        n = -(-size // text.most)
        goals, ends = [size * number // n for number in range(1, n)], list[int]()
        at, before, inside = 0, LINE_FEED, 0  # of a block: where it begins, behind which byte, and whether in quotes
        while block := file.read(BLOCK):
            stopped()
            digest.update(block)
            first = 0 if at else _first_record(block, codec)
            data = np.frombuffer(block, np.uint8)[first:]
            quotes = np.flatnonzero(data == QUOTE) if goals else np.empty(0, np.intp)
            opening = quotes[inside::2]
            other = opening[~opens[np.where(opening > 0, data[opening - 1], before)]]
            if goals and goals[0] <= at + len(block):
                places = at + first + _record_ends(data[: other[0]] if len(other) else data, quotes, inside)
                while goals and (later := places[np.searchsorted(places, goals[0]) :]).size:
                    ends.append(int(later[0]))
                    goals = [goal for goal in goals if goal > ends[-1]]
            if len(other):
                goals = []
            at, before, inside = at + len(block), block[-1], (inside + len(quotes)) % 2
    return Ranges((*ends, size), digest.hexdigest())


def _first_record(block: bytes, codec: str) -> int:
    """Return where the first record of a file begins: behind a byte-order mark and empty lines."""
    mark = codecs.BOM_UTF8 if codec in UTF8 else b""
    return len(block) - len(block.removeprefix(mark).lstrip(b"\r\n"))


def _record_ends(data: NDArray[np.uint8], quotes: NDArray[np.intp], inside: int) -> NDArray[np.intp]:
    """Return the places behind records that end in a block, where another one begins. ``inside``: 1 where the block
    begins in quotes; ``quotes``: their places in it.

    Not between the two bytes of a line end, and not before what may be a byte-order mark: a piece would lose it.
    """
    here, next_ = data[:-1], data[1:]
    lines = (here == LINE_FEED) | ((here == RETURN) & (next_ != LINE_FEED))
    ends: NDArray[np.intp] = np.flatnonzero(lines & (next_ != codecs.BOM_UTF8[0])) + 1
    outside: NDArray[np.intp] = ends[(np.searchsorted(quotes, ends) + inside) % 2 == 0]
    return outside
