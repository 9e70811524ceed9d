"""Delimited text in blocks, as its parser takes them."""

import codecs
from typing import IO


class TextStream:
    """A file of text, read on in blocks that do not end between the two bytes of a line end: the parser leaves out a
    line feed that begins a block behind a carriage return, in quotes too. ``is_start``: the mark and the empty lines
    with which the file begins are left out.
    """

    def __init__(self, file: IO[bytes], is_start: bool = True) -> None:
        self.file, self.is_start, self.ahead = file, is_start, b""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self.file.closed

    def read(self, size: int) -> bytes:
        """Return the next bytes, about so many; none at the end."""
        data, self.ahead = self.ahead + self.file.read(size), b""
        if self.is_start:
            data = data.removeprefix(codecs.BOM_UTF8)
        while self.is_start and data:  # no block that is empty, which is an end
            first = data.lstrip(b"\r\n")
            data, self.is_start = first or self.file.read(size), not first
        if data.endswith(b"\r"):
            self.ahead = self.file.read(1)
            if self.ahead == b"\n":
                data, self.ahead = data + self.ahead, b""
        return data

    def close(self) -> None:
        """Leave the file open: whoever opened it closes it."""
