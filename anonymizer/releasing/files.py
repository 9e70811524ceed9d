"""Files that are written whole or not at all, and never over one of the others that a command names."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from anonymizer.errors import ParameterError


@contextmanager
def replace_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file beside ``path`` for writing; it takes the place of ``path`` when all of it is on the disk.

    When writing fails, or the process is killed, what was at ``path`` before is still there, whole. A link keeps
    pointing where it points, and the file there is replaced. What is no file (a pipe, a terminal, a device) is never
    replaced: it gets the bytes as they come.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as sink:
            yield sink
        return
    path = Path(os.path.realpath(path))
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "wb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        os.chmod(beside, mode if mode is not None else 0o666 & ~_umask())
        os.replace(beside, path)
    except BaseException as error:
        Path(beside).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    _sync_folder(path.parent)


def write_file(path: str | Path, content: bytes | str) -> None:
    """Write a whole file in place of another; text as UTF-8. See :func:`replace_file`."""
    with replace_file(path) as sink:
        sink.write(content.encode() if isinstance(content, str) else content)


def require_different_files(inputs: Mapping[str, str | Path | None], outputs: Mapping[str, str | Path | None]) -> None:
    """Raise :class:`ParameterError` when something would be written over an input, or two outputs are one file.

    Both: what each file is called on the command line, and its path, ``None`` or "" when there is none. Links, hard
    links and different spellings of one path count as one file.
    """
    names: dict[object, str] = {}
    for name, path in inputs.items():
        if path:
            names.setdefault(_identity(path), name)
    for name, path in outputs.items():
        if not path:
            continue
        other = names.setdefault(_identity(path), name)
        if other != name:
            raise ParameterError(
                f"{name} and {other} are one file: {path}.", value=str(path), remedy="Give them different names."
            )


def _identity(path: str | Path) -> object:
    """Return what two names of one file have in common, whether it exists or not."""
    real = os.path.realpath(path)
    try:
        status = os.stat(real)
    except OSError:
        folder, name = os.path.split(real)
        return (os.path.normcase(folder), os.path.normcase(name))
    return (status.st_dev, status.st_ino)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the new name in a folder last, where the system knows how to."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
