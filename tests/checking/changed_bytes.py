"""``python -m tests.checking.changed_bytes FILE FIRST``: change bytes of a file, and say what comes of each.

The library of statisticians' files can end the process that reads a damaged one, as it then ends a child of ours. So
this is a program of its own, and says of each byte what came of it.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from anonymizer.checking.released_file import ReleasedFile, read_file
from anonymizer.errors import ReadError
from tests.sweeps import few

TRIED = few(250)


def differ(file: ReleasedFile, whole: ReleasedFile) -> bool:
    """Whether two files have other rows, or say other things of their columns."""
    rows, others = (one.rows.astype(object).where(one.rows.notna(), None) for one in (file, whole))
    notes = [(one.variables, one.stored) for one in (file, whole)]
    return notes[0] != notes[1] or not pd.DataFrame.equals(rows, others)


def outcome(forged: bytes, whole: ReleasedFile) -> str:
    """What the checker makes of a changed file, in a word."""
    try:
        file = read_file(forged)
    except ReadError:
        return "refused"
    if file.beside or file.unjudged:
        return "said"
    return "other rows" if differ(file, whole) else "silent"


def main(path: str, first: str) -> None:
    """Print what comes of each byte from the first on."""
    data, rng = Path(path).read_bytes(), np.random.default_rng(3)
    whole = read_file(data)
    assert (whole.beside, whole.unjudged) == ((), "")
    places, bits = rng.integers(0, len(data), TRIED), rng.integers(0, 8, TRIED)
    for at, bit in list(zip(places.tolist(), bits.tolist(), strict=True))[int(first) :]:
        forged = bytearray(data)
        forged[at] ^= 1 << bit
        print(at, outcome(bytes(forged), whole), sep="\t", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
