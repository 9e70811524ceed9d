"""Who is in a release, by keyed digests: 8 bytes of a digest and 4 of the class that the person was released in.

A person is the first 8 bytes of HMAC-SHA256 under the ledger's key of ``person:`` and the value as text. Where no
column says whose a row is, a record is one of ``record:`` and the keyed digests of its quasi-identifying values, which
finds it in the same table only. Files of members are pseudonyms: their owner alone reads them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha256
from hmac import digest as hmac_digest
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.alike import id_key
from anonymizer.errors import ReadError
from anonymizer.gate.earlier import classes_of_persons
from anonymizer.values import value_text

Words = NDArray[np.uint64]
RECORD = np.dtype([("digest", ">u8"), ("class", ">i4")])
"""A record of a file of members; files are sorted by digest."""
BLOCK = 64
"""Bytes of a block of SHA-256."""


def keyed_digests(messages: Iterable[bytes], key: bytes) -> Words:
    """Return the first 8 bytes of HMAC-SHA256 of each message (m,), as numbers. ``key``: of at most 64 bytes."""
    padded = key.ljust(BLOCK, b"\0")
    inner, outer = (sha256(bytes(byte ^ mask for byte in padded)).copy for mask in (0x36, 0x5C))
    digests = []
    for message in messages:
        inside, outside = inner(), outer()
        inside.update(message)
        outside.update(inside.digest())
        digests.append(outside.digest())
    return np.frombuffer(b"".join(digests), ">u8").astype(np.uint64)[:: sha256().digest_size // 8]


def person_digests(values: Iterable[Any], key: bytes, alike: bool = False) -> Words:
    """Return the digest of each person (m,). ``values``: what says who it is, none missing; ``alike``: ids that differ
    in writing only are one person's."""
    if alike:
        values = map(id_key, values)
    texts = (value if type(value) is str else value_text(value) for value in values)
    return keyed_digests([f"person:{text}".encode(errors="surrogatepass") for text in texts], key)


def cell_words(values: "pd.Series[Any]", name: str, key: bytes) -> Words:
    """Return a keyed digest of each cell of a column (n,), the same of equal ones in columns of one ``name``."""
    own = hmac_digest(key, b"cell:" + name.encode(errors="surrogatepass"), "sha256")
    plain = isinstance(values.dtype, np.dtype) and values.dtype.kind not in "mM"
    cells = zip(values.to_numpy() if plain else values.array, values.isna(), strict=True)
    texts = (b"" if absent else b"=" + value_text(value).encode(errors="surrogatepass") for value, absent in cells)
    words = np.frombuffer(b"".join(blake2b(text, digest_size=8, key=own).digest() for text in texts), ">u8")
    return np.asarray(words.astype(np.uint64))


def distinct_rows(words: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which of the different rows of a matrix each row is (n,), and the first of each."""
    codes = np.zeros(len(words), np.int64)
    for column in words.T:
        codes = pd.factorize(codes * (len(words) + 1) + pd.factorize(column)[0])[0].astype(np.int64)
    return codes, np.unique(codes, return_index=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Members:
    """The members of a release: ``digest`` (m,) ascending and ``class_of`` (m,), -1 of who was left out: a record for
    each row, none for one that is nobody's."""

    digest: Words
    class_of: NDArray[np.int32]

    @classmethod
    def of(cls, digests: Words, class_of: NDArray[np.integer[Any]]) -> "Members":
        """Return the members that some records are, in whatever order. Both (m,)."""
        order = np.lexsort((class_of, digests))
        return cls(digests[order], np.asarray(class_of, np.int32)[order])

    @classmethod
    def from_bytes(cls, content: bytes) -> "Members":
        """Return the members in a file. Raises :class:`ReadError` when it is none."""
        if len(content) % RECORD.itemsize:
            raise ReadError("A file of members of the ledger is damaged.", remedy="Restore the file that it was.")
        records = np.frombuffer(content, RECORD)
        return cls(records["digest"].astype(np.uint64), records["class"].astype(np.int32))

    def to_bytes(self) -> bytes:
        """Return the file."""
        records = np.empty(len(self.digest), RECORD)
        records["digest"], records["class"] = self.digest, self.class_of
        return records.tobytes()

    def without(self, person: Words) -> "Members":
        """Return the members without those of these digests."""
        stay = ~np.isin(self.digest, person)
        return Members(self.digest[stay], self.class_of[stay])

    def of_classes(self, classes: Iterable[int]) -> Words:
        """Return the digests of those of which all records are in one of some classes."""
        distinct, class_of = self.persons
        return distinct[np.isin(class_of, list(classes))]

    @cached_property
    def persons(self) -> tuple[Words, NDArray[np.int64]]:
        """The different digests (d,), ascending, and the class of each: that of its records, a number of its own for
        each set of several, -1 of who was left out."""
        first = np.append(True, self.digest[1:] != self.digest[:-1])[: len(self.digest)]
        who = np.cumsum(first) - 1
        return self.digest[first], classes_of_persons(who, self.class_of.astype(np.int64), int(first.sum()))

    def classes(self, digests: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the class of each person (m,), -1 of who is in none, and whether the digest is here at all (m,); soon
        where they ascend."""
        distinct, class_of = self.persons
        if not len(distinct):
            return np.full(len(digests), -1, np.int64), np.zeros(len(digests), np.bool_)
        place = np.minimum(np.searchsorted(distinct, digests), len(distinct) - 1)
        here = distinct[place] == digests
        return np.where(here, class_of[place], -1), here
