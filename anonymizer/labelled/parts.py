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


@dataclass(eq=False)
class RawColumn:
    """A column as it stands in the file, gathered part by part: numbers with tags, or text.

    ``numbers``: of each part the distinct ones and their codes, or ``None`` and all. ``tags``: the letters (0 is none)
    of the parts that have such, by their place. ``texts``: of each part the distinct ones and their codes.
    """

    numbers: list[tuple[NDArray[np.float64] | None, NDArray[Any]]] = field(default_factory=list)
    tags: dict[int, NDArray[np.uint8]] = field(default_factory=dict)
    texts: list[pa.Array] = field(default_factory=list)

    def add(self, values: Any, is_text: bool) -> None:
        """Take the values of the next part up."""
        if is_text:
            texts = pa.array(["" if value is None else str(value) for value in values], pa.large_string())
            encoded = texts.dictionary_encode()
            codes = encoded.indices.to_numpy()
            kind = np.min_scalar_type(max(len(encoded.dictionary) - 1, 0))
            self.texts.append(pa.DictionaryArray.from_arrays(pa.array(codes.astype(kind)), encoded.dictionary))
            return
        try:
            numbers = np.array(values, dtype=np.float64)
        except ValueError:
            numbers = np.array([np.nan if isinstance(value, str) else value for value in values], dtype=np.float64)
            tags = np.array([ord(value[0]) if isinstance(value, str) else 0 for value in values], np.uint8)
            self.tags[len(self.numbers)] = tags
        numbers += 0.0  # -0.0 and 0.0 are one value
        self.numbers.append(_packed(numbers))

    def take_texts(self) -> list[pa.Array]:
        """Return the texts, codes of four bytes, and hold them no longer."""
        texts, self.texts = self.texts, []
        return [pa.DictionaryArray.from_arrays(part.indices.cast(pa.int32()), part.dictionary) for part in texts]

    def take(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the numbers (n,), missing as NaN, and the tags (n,), and hold them no longer."""
        sizes = [len(codes) for _, codes in self.numbers]
        numbers, tags = np.empty(sum(sizes)), np.zeros(sum(sizes), np.uint8)
        first = 0
        for at, (size, (distinct, codes)) in enumerate(zip(sizes, self.numbers, strict=True)):
            numbers[first : first + size] = codes if distinct is None else distinct[codes]
            if at in self.tags:
                tags[first : first + size] = self.tags[at]
            first += size
        self.numbers, self.tags = [], {}
        return numbers, tags


def _packed(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64] | None, NDArray[Any]]:
    """Return the distinct numbers and the codes (n,), where that is smaller by half, else ``None`` and the numbers."""
    if len(np.unique(numbers[:PROBE])) <= PROBE // 4:
        encoded = pa.array(numbers).dictionary_encode()
        if 8 * len(encoded.dictionary) <= 2 * len(numbers) and len(encoded.dictionary) <= 1 << 16:
            kind = np.min_scalar_type(max(len(encoded.dictionary) - 1, 0))
            return encoded.dictionary.to_numpy(), encoded.indices.to_numpy().astype(kind)
    return None, numbers


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
    known = rows is not None and rows >= 0
    size = max(smallest, -(-(rows or 0) // most)) if known else smallest
    first = 0
    while True:
        part, _ = read(source(), row_offset=first, row_limit=size, **options)
        count = len(next(iter(part.values()), ()))
        yield part
        first += count
        if count < size or (known and first >= (rows or 0)):
            return
        size = size if known else first
