"""Read the rows of a statistician's file part by part, and keep each column in few bytes.

pyreadstat gives cells as Python objects, 32 bytes a number: a part of them stands in memory at a time. What is kept of
a column with few values is each value once and codes of one or two bytes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PARTS = 32
"""A file is read in so many parts at most."""
PARTS_UNPACKED = 12
"""The same of a file whose rows are unpacked again whenever they are passed over."""
SMALLEST_PART = 2_000_000
"""Cells of a part, unless the file has fewer: 64 MB of objects."""
PROBE = 4096
"""Values that are looked at to see whether a column has few."""
MOST_CODES = 1 << 16
"""Distinct values of a column that has few: two bytes each."""


@dataclass(eq=False)
class RawColumn:
    """A column as it stands in the file, gathered part by part: numbers with tags, or text.

    ``capacity``: rows there is room for, which grows where the file does not say how many it has; ``size``: those that
    are here. ``cells``: their codes, or the numbers themselves where they are many. ``place``: the code of each
    distinct value, NaN as ``None``; ``tags``: the letters of missing numbers (0 is none), where some have such;
    ``texts``: parts of a column of many texts.
    """

    capacity: int = 0
    size: int = 0
    cells: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.uint8))
    place: dict[float | str | None, int] | None = field(default_factory=dict)
    tags: NDArray[np.uint8] | None = None
    texts: list[pa.Array] = field(default_factory=list)
    is_text: bool = False

    def add(self, values: Any, is_text: bool) -> None:
        """Take the values of the next part up."""
        self.is_text = is_text
        end = self.size + len(values)
        self._reserve(end)
        if is_text:
            texts = pa.array(values, pa.large_string())
            self._add_texts(texts.fill_null("").dictionary_encode())
        else:
            try:
                numbers = pa.array(values, pa.float64())
            except pa.ArrowException:  # letters of missing numbers stand between them
                numbers = pa.array([None if isinstance(value, str) else value for value in values], pa.float64())
                self.tags = np.zeros(self.capacity, np.uint8) if self.tags is None else self.tags
                self.tags[self.size : end] = [ord(value[0]) if isinstance(value, str) else 0 for value in values]
            self._add_numbers(numbers)
        self.size = end

    def take_texts(self) -> list[pa.Array]:
        """Return the texts, in one part or many, and hold them no longer."""
        if self.place is not None:
            self.texts = [self._text_part()]
        texts, self.texts, self.cells = self.texts, [], np.zeros(0, np.uint8)
        return texts

    def take(self) -> tuple[NDArray[np.float64], NDArray[Any] | None, NDArray[np.uint8]]:
        """Return the distinct numbers (m,) and the codes (n,), or all numbers and ``None``, and the tags (n,); missing
        is NaN. They are held no longer."""
        tags = np.zeros(self.size, np.uint8) if self.tags is None else self.tags[: self.size]
        cells = self.cells[: self.size]
        self.cells, self.tags = np.zeros(0, np.uint8), None
        return (cells, None, tags) if self.place is None else (self._distinct(), cells, tags)

    def _reserve(self, end: int) -> None:
        """Make room; what nothing was written to is no memory yet."""
        if end > self.capacity:
            self.capacity = max(end, 2 * self.size)
        if len(self.cells) < self.capacity and not self.texts:
            self.cells = _longer(self.cells, self.capacity, self.size)
            self.tags = None if self.tags is None else _longer(self.tags, self.capacity, self.size)

    def _add_numbers(self, numbers: pa.Array) -> None:
        if self.place is not None and len(numbers[:PROBE].unique()) <= PROBE // 4:
            encoded = numbers.dictionary_encode(null_encoding="encode")
            if len(encoded.dictionary) <= MOST_CODES:
                values = encoded.dictionary.to_pylist()
                distinct = [None if value is None or value != value else value + 0.0 for value in values]  # no -0.0
                if self._add_codes(distinct, encoded.indices.to_numpy()):
                    return
        if self.place is not None:
            before = np.take(self._distinct(), self.cells[: self.size])
            self.cells, self.place = _longer(before, self.capacity, self.size), None
        self.cells[self.size : self.size + len(numbers)] = numbers.to_numpy(zero_copy_only=False) + 0.0

    def _add_texts(self, encoded: pa.DictionaryArray) -> None:
        few = self.place is not None and len(encoded.dictionary) <= MOST_CODES
        if few and self._add_codes(encoded.dictionary.to_pylist(), encoded.indices.to_numpy()):
            return
        if self.place is not None:
            self.texts, self.place = [self._text_part()] if self.size else [], None
            self.cells = np.zeros(0, np.uint8)
        self.texts.append(encoded)

    def _add_codes(self, distinct: list[Any], codes: NDArray[Any]) -> bool:
        """Take codes of a part up; False where its distinct values are too many with those before."""
        place = self.place or {}
        if len(place.keys() | set(distinct)) > MOST_CODES:
            return False
        lookup = np.array([place.setdefault(value, len(place)) for value in distinct], np.uint16)
        kind = np.min_scalar_type(max(len(place) - 1, 0))
        if kind.itemsize > self.cells.itemsize:
            self.cells = _longer(self.cells.astype(kind), self.capacity, self.size)
        np.take(lookup.astype(self.cells.dtype), codes, out=self.cells[self.size : self.size + len(codes)], mode="clip")
        self.place = place
        return True

    def _distinct(self) -> NDArray[np.float64]:
        return np.array([np.nan if value is None else value for value in self.place or {}], np.float64)

    def _text_part(self) -> pa.Array:
        indices = pa.array(self.cells[: self.size].astype(np.int32))
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(self.place or {}), pa.large_string()))


def _longer(cells: NDArray[Any], capacity: int, size: int) -> NDArray[Any]:
    """Return the first ``size`` cells, in room for more."""
    room = np.empty(capacity, cells.dtype)
    room[:size] = cells[:size]
    return room


def read_parts(
    read: Callable[..., Any], source: Callable[[], Any], rows: int | None, columns: int, most: int,
    options: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the rows in parts, each column by name. ``source``: opens the file; ``rows``: that it says it has;
    ``most``: parts.

    Of a file that does not say how many rows it has, each part is as large as all before it: in such files rows that
    are passed over take nearly as long as others.
    """
    smallest = max(1, SMALLEST_PART // max(columns, 1))
    counted = rows is not None and rows >= 0
    size = max(smallest, -(-(rows or 0) // most)) if counted else smallest
    first = 0
    while True:
        part, _ = read(source(), row_offset=first, row_limit=size, **options)
        count = len(next(iter(part.values()), ()))
        yield part
        first += count
        if count < size or (counted and first >= (rows or 0)):
            return
        size = size if counted else first
