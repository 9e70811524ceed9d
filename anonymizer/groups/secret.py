"""What a release draws, from a key and the table's content: the same table is drawn the same, wherever its rows stand.

Each code of each column has a number of 64 bits, a keyed digest of the column's name and the value; the number of a
record is the exclusive or of those of its values. The content of a table is how many records it has, and the sum of
their numbers, each mixed first. So neither depends on the order of the rows or on how their file is written, and parts
of a table add up.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from hmac import digest
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from pandas.util import hash_array

from anonymizer.groups.hulls import Scale, scale_of
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.schema import Kind, Schema
from anonymizer.values import value_text

Words = NDArray[np.uint64]
Digests = tuple[Words, ...]
"""Of each column (p) the number of each code."""


Places = NDArray[np.int64]

SPREAD = 0.15
"""Standard deviation of the logarithms of the secret weights."""
KEY = 32
"""Bytes that the numbers of records are drawn from."""


class Content(NamedTuple):
    """What the values of some records are, whatever their order: how many ``records``, and the sum of their numbers."""

    records: int
    total: int


def digests_of(encodings: Sequence[Encoding], key: bytes) -> Digests:
    """Return the number of each code of each column."""
    return tuple(column_digests(encoding, key) for encoding in encodings)


def column_digests(encoding: Encoding, key: bytes) -> Words:
    """Return the number of each code of a column (b,)."""
    if encoding.kind is Kind.CATEGORICAL:
        values = [str(label).encode() for label in encoding.labels]
    else:
        of_dates = encoding.kind is Kind.DATE
        labels = np.asarray(encoding.labels).astype("datetime64[us]").astype(np.int64) if of_dates else encoding.labels
        numbers = np.asarray(labels, "<i8" if of_dates else "<f8") + 0  # there is one zero
        values = [number.tobytes() for number in numbers]
    own = digest(key, b"column " + encoding.name.encode(), "sha256")
    texts = [b"=" + value for value in values] + [b""] * encoding.missing
    return np.frombuffer(b"".join(blake2b(text, digest_size=8, key=own).digest() for text in texts), "<u8")


def record_numbers(columns: Sequence[NDArray[np.integer[Any]]], digests: Digests, n: int) -> Words:
    """Return the number of each of n records (n,), the same for equal ones. ``columns``: p of codes (n,)."""
    numbers = np.zeros(n, np.uint64)
    for column, words in zip(columns, digests, strict=True):
        numbers ^= words[column]
    return numbers


def content_of(numbers: Words) -> Content:
    """Return the content of records that have these numbers (n,)."""
    return Content(len(numbers), int(mixed(numbers).sum(dtype=np.uint64)))


def mixed(numbers: Words) -> Words:
    """Return other numbers (n,), of which sums say nothing but that the numbers are the same: SplitMix64's."""
    words = numbers + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))


def sequence_of(encoded: EncodedTable, others: Iterable[Words], key: bytes) -> Places:
    """Return the records (n,) in an order that follows from what they hold: for methods in which the first of equals is
    another than the second. ``others``: a number of each record's value (n,) in each other column that tells equals
    apart."""
    numbers = record_numbers(encoded.codes.columns, digests_of(encoded.encodings, key), encoded.n_records)
    beside = np.zeros(encoded.n_records, np.uint64)
    for words in others:
        beside = mixed(beside ^ words)
    return np.lexsort((beside, numbers)).astype(np.int64)


def others_of(schema: Schema) -> tuple[str, ...]:
    """Return the columns that tell equals apart: what else is released, and whose a row is."""
    released = tuple(name for name in schema.released if name not in schema.quasi_identifying)
    return released if schema.person is None else (*released, schema.person)


def words_of(values: "pd.Series[Any]") -> Words:
    """Return a number of each value (n,): the same of equal ones, whatever type they are stored in."""
    if is_numeric_dtype(values.dtype) and not is_bool_dtype(values.dtype):
        return np.asarray(hash_array(values.to_numpy(np.float64, na_value=np.nan) + 0.0), np.uint64)
    codes, distinct = pd.factorize(values)
    texts = np.array([value_text(value) for value in distinct], object)
    words = np.asarray(hash_array(texts, categorize=False), np.uint64)
    return np.asarray(np.append(words, np.uint64(0))[codes])


def seed_of(encoded: EncodedTable, key: bytes) -> bytes:
    """Return the seed of all that a release of a table draws, 32 bytes."""
    numbers = record_numbers(encoded.codes.columns, digests_of(encoded.encodings, key), encoded.n_records)
    return seed_of_content(content_of(numbers), key)


def seed_of_content(content: Content, key: bytes) -> bytes:
    """Return what :func:`seed_of` does of the content of a whole table."""
    return digest(key, f"content {content.records} {content.total}".encode(), "sha256")


GROUPS, ORDER = "groups", "order"
"""What is drawn: who is put together, and the order of rows."""


def draws(seed: bytes, what: str) -> np.random.Generator:
    """Return a generator for :data:`GROUPS` or :data:`ORDER`."""
    return np.random.Generator(np.random.PCG64DXSM(int.from_bytes(digest(seed, what.encode(), "sha256"), "big")))


class Secret(NamedTuple):
    """What nobody else knows of packing: the ``weight`` of each column (p,), and ``digests``, of which each record's
    number is made, by which records stand before they are cut. It does not depend on k."""

    weight: NDArray[np.float64]
    digests: Digests

    @classmethod
    def of(cls, encodings: Sequence[Encoding], rng: np.random.Generator) -> "Secret":
        """Return the secret of a table's columns that a generator draws."""
        importance = np.array([encoding.importance for encoding in encodings])
        weight = importance * np.exp(SPREAD * rng.standard_normal(len(encodings)))
        return cls(weight, digests_of(encodings, rng.bytes(KEY)))

    def numbers(self, columns: Sequence[NDArray[np.integer[Any]]], n: int) -> NDArray[np.uint64]:
        """Return the number of each of n records: the same wherever they stand. ``columns``: of codes (n,)."""
        return record_numbers(columns, self.digests, n)

    def scale(self, encodings: Sequence[Encoding]) -> Scale:
        """Return the scale on which records are laid: that of their values, and not of cells, which depend on k."""
        return scale_of([encoding.exact or encoding for encoding in encodings], self.weight)
