"""Looks for marks in the memory, the open files and the folder for temporary files of a running program (Linux)."""

import array
import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

PAGE = 4096
PRESENT = 0b11 << 62
"""Bits of an entry of ``/proc/PID/pagemap``: the page is in memory, or swapped out."""
LONGEST = 1 << 26
"""Bytes read at once."""


def writings(mark: str) -> list[bytes]:
    """A text as it may stand in memory: in one, two or four bytes a letter."""
    return [mark.encode(), mark.encode("utf-16-le"), mark.encode("utf-32-le")]


def in_memory(process: int, mark: str) -> int:
    """How often a mark stands in the writable memory of a process."""
    return sum(stretch.count(text) for stretch in stretches(process) for text in writings(mark))


def stretches(process: int) -> Iterator[bytes]:
    """The writable memory of a process, without the pages that it never touched."""
    folder = Path(f"/proc/{process}")
    with (folder / "mem").open("rb", 0) as memory, (folder / "pagemap").open("rb", 0) as pagemap:
        for line in (folder / "maps").read_text().splitlines():
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if not match:
                continue
            first, last = (int(end, 16) // PAGE for end in match.groups())
            pagemap.seek(first * 8)
            entries = array.array("Q", pagemap.read((last - first) * 8))
            for start, stop in stretches_of([bool(entry & PRESENT) for entry in entries]):
                with contextlib.suppress(OSError):  # it was given back meanwhile
                    memory.seek((first + start) * PAGE)
                    yield memory.read((stop - start) * PAGE)


def stretches_of(present: list[bool]) -> Iterator[tuple[int, int]]:
    """Stretches of pages that are there, each as its first page and the one after its last."""
    start = None
    for page, there in enumerate([*present, False]):
        if start is not None and (not there or (page - start) * PAGE >= LONGEST):
            yield start, page
            start = None
        if there and start is None:
            start = page


def in_open_files(process: int, mark: str) -> list[str]:
    """The open files of a process in which a mark stands, files without a name included."""
    return [str(path) for path in Path(f"/proc/{process}/fd").iterdir() if holds_mark(path, mark)]


def in_folder(folder: Path, mark: str) -> list[str]:
    """The files in a folder and below it in which a mark stands."""
    return [str(path) for path in folder.rglob("*") if holds_mark(path, mark)]


def holds_mark(path: Path, mark: str) -> bool:
    """Whether a mark stands in a regular file."""
    try:
        return path.is_file() and any(text in path.read_bytes() for text in writings(mark))
    except OSError:
        return False  # it was closed meanwhile


def may_read(process: int) -> bool:
    """Whether this program may read the memory of another."""
    return os.access(f"/proc/{process}/mem", os.R_OK) and os.access(f"/proc/{process}/pagemap", os.R_OK)
