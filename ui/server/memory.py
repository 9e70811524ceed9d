"""How much memory something takes, about: its arrays, tables and texts, each counted once."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

OURS = ("anonymizer.", "ui.")
"""Begins of the modules whose objects are looked into."""
SAMPLE = 100
"""Entries of a long list that stand for all."""


def size_of(thing: Any) -> int:
    """Return the bytes that something takes, with all that it leads to."""
    return _size(thing, set())


def _size(thing: Any, counted: set[int]) -> int:
    if thing is None or isinstance(thing, bool | int | float | complex) or id(thing) in counted:
        return 0
    counted.add(id(thing))
    if isinstance(thing, np.ndarray):
        return thing.nbytes if thing.base is None else _size(thing.base, counted)
    if isinstance(thing, pd.DataFrame):
        return int(thing.memory_usage(deep=False).sum())
    if isinstance(thing, pd.Series | pd.Index | pa.Array | pa.ChunkedArray | pa.Table | memoryview):
        return int(thing.nbytes)
    if isinstance(thing, bytes | bytearray | str):
        return sys.getsizeof(thing)
    if isinstance(thing, Mapping):
        return sum(_size(part, counted) for entry in tuple(thing.items()) for part in entry)
    if isinstance(thing, list | tuple | set | frozenset):
        entries = list(thing)
        scale = max(1.0, len(entries) / SAMPLE)
        return sys.getsizeof(thing) + int(scale * sum(_size(entry, counted) for entry in entries[:SAMPLE]))
    if type(thing).__module__.startswith(OURS):
        slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        parts = [getattr(thing, name) for name in slots if name != "__weakref__" and hasattr(thing, name)]
        return sum(_size(part, counted) for part in (*parts, *getattr(thing, "__dict__", {}).values()))
    return 0
