"""Files that are written whole or not at all, and never over one of the others that a command names."""

import glob
import io
import os
import shutil
import stat
import sys
import tempfile
import time
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, cast

from anonymizer.errors import FolderExistsError, ParameterError

if sys.platform != "win32":
    import fcntl

MARK = "copse-"
"""Stands in the name of every half file, so that no other program's are taken for one."""


@contextmanager
def replace_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file beside ``path`` for writing; it takes the place of ``path`` when all of it is on the disk.

    When writing fails, or the process is killed, what was at ``path`` before is still there, whole. A link keeps
    pointing where it points, and the file there is replaced. What is no file (a pipe, a terminal, a device) is never
    replaced: it gets the bytes as they come. Half files that killed processes left beside ``path`` are removed.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as sink:
            yield sink
        return
    path = Path(os.path.realpath(path))
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    try:
        _remove_left(path)
        handle, beside, lock = _half_file(path)
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
    finally:
        if lock is not None:
            os.close(lock)
    _sync_folder(path.parent)


def _half_file(path: Path) -> tuple[int, str, int | None]:
    """Return a new file beside ``path``: open, its name, and a second descriptor that keeps it locked until closed.

    ``None`` where files cannot be locked so. The system unlocks it when the process is killed.
    """
    while True:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}.{MARK}", suffix=".part", dir=path.parent)
        if sys.platform == "win32":
            return handle, beside, None
        lock = os.dup(handle)
        with suppress(OSError):  # where nothing can be locked, nothing is taken for left, either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(beside):
            return handle, beside, lock
        os.close(handle)  # it was taken for left by another process, before it was locked
        os.close(lock)


def _remove_left(path: Path) -> None:
    """Remove the half files of ``path`` that this user's processes left when they were killed: unlocked, so not in
    use."""
    if sys.platform == "win32":
        return
    for name in glob.glob(glob.escape(f".{path.name}.{MARK}") + "?" * 8 + ".part", root_dir=path.parent):
        with suppress(OSError):
            half = os.open(path.parent / name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                status = os.fstat(half)
                if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                    fcntl.flock(half, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(path.parent / name)
            finally:
                os.close(half)


@contextmanager
def replace_folder(path: str | Path) -> Iterator[Path]:
    """Make a folder beside ``path``, for nobody else to read; it becomes ``path`` when all of it is on the disk.

    Files in it are written by :func:`write_file`.

    When making it fails nothing is left, and when the process is killed there is no ``path``; what was left then is
    removed by whoever makes the folder next. Raises :class:`FolderExistsError` when there is something at ``path``, or
    comes there meanwhile.
    """
    path = Path(os.path.realpath(path))
    require_free(path)
    remove_left_folders(path.parent, _half_folders(path))
    beside = Path(tempfile.mkdtemp(prefix=f".{path.name}.{MARK}", suffix=".part", dir=path.parent))  # mode 0700
    lock = lock_folder(beside)
    try:
        yield beside
        _sync_folder(beside)
        require_free(path)
        if path.exists():
            path.rmdir()
        os.replace(beside, path)
        path.chmod(0o777 & ~_umask())
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _sync_folder(path.parent)


def require_free(path: str | Path) -> None:
    """Raise :class:`FolderExistsError` when there is something at ``path`` that is no empty folder."""
    path = Path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FolderExistsError(f"There is something at {path} already.", value=str(path), remedy="Name a new folder.")


def lock_folder(folder: Path) -> int | None:
    """Return a descriptor that keeps a folder locked until it is closed; ``None`` where folders cannot be locked.

    Raises :class:`OSError` when another process has locked it.
    """
    if sys.platform == "win32":
        return None
    handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _half_folders(path: Path) -> str:
    """Return the pattern of the names of half folders of ``path``."""
    return glob.escape(f".{path.name}.{MARK}") + "?" * 8 + ".part"


def remove_left_folders(parent: Path, pattern: str, age: float = 0.0) -> None:
    """Remove the folders of a pattern in ``parent`` that this user's processes left when they were killed: nobody locks
    them, and nothing came into them for so many seconds, ``age``."""
    if sys.platform == "win32":
        return
    for name in glob.glob(pattern, root_dir=parent, include_hidden=True):
        folder = parent / name
        with suppress(OSError):
            lock = lock_folder(folder)
            if lock is not None:
                status = os.fstat(lock)
                if status.st_uid == os.geteuid() and time.time() - status.st_mtime >= age:
                    shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def remove_halves(path: str | Path) -> None:
    """Remove what this user's processes left of a file or folder when they were killed while they made it."""
    path = Path(os.path.realpath(path))
    _remove_left(path)
    remove_left_folders(path.parent, _half_folders(path))


def require_apart(source: str | Path, folder: str | Path) -> None:
    """Raise :class:`ParameterError` when a folder to be written is, holds, or is inside what is read."""
    one, other = Path(os.path.realpath(source)), Path(os.path.realpath(folder))
    if one == other or one in other.parents or other in one.parents:
        raise ParameterError(
            f"The folder {str(folder)!r} and the input are inside one another.",
            value=str(folder),
            remedy="Name a folder elsewhere.",
        )


def write_file(path: str | Path, content: bytes | str) -> None:
    """Write a whole file in place of another; text as UTF-8. See :func:`replace_file`."""
    with replace_file(path) as sink:
        sink.write(content.encode() if isinstance(content, str) else content)


def write_once(path: Path, content: bytes) -> None:
    """Write a whole file for its owner alone to read, unless there is one already, such as another process's."""
    handle, beside, lock = _half_file(path)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as sink:
            sink.write(content)
            sink.flush()
            os.fsync(sink.fileno())
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        Path(beside).unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)
    _sync_folder(path.parent)


def write_hashed(
    path: str | Path, write: Callable[[BinaryIO], None], before: Callable[[str], object] | None = None
) -> str:
    """Write a whole file in place of another, as ``write`` does it, and return its SHA-256, made of the bytes on their
    way. ``before``: called with the SHA-256 before the file takes its place; when it raises, nothing does. See
    :func:`replace_file`."""
    with replace_file(path) as file:
        sink = _HashedSink(file)
        write(cast(BinaryIO, sink))
        if before is not None:
            before(sink.digest.hexdigest())
    return sink.digest.hexdigest()


class _HashedSink(io.BufferedIOBase):
    """A file for writing whose bytes a digest gets on their way to ``sink``, which stays open."""

    def __init__(self, sink: BinaryIO) -> None:
        self.sink, self.digest = sink, sha256()

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write some bytes, all of them, and return how many."""
        self.digest.update(data)
        return self.sink.write(data)


def archive(members: Mapping[str, bytes]) -> bytes:
    """Return a ZIP file of these members, by name: equal members are equal files, with no time and no other note.

    Raises :class:`ParameterError` when it is too large for one.
    """
    sink = io.BytesIO()
    try:
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, allowZip64=False) as packed:
            for name, content in members.items():
                member = zipfile.ZipInfo(name)  # its time is the first that ZIP knows
                member.compress_type, member.create_system = zipfile.ZIP_DEFLATED, 3
                member.external_attr = 0o100644 << 16
                packed.writestr(member, content)
    except zipfile.LargeZipFile as error:
        raise ParameterError("The files are too large for one ZIP file.", remedy="Take them one by one.") from error
    return sink.getvalue()


def require_different_files(inputs: Mapping[str, str | Path | None], outputs: Mapping[str, str | Path | None]) -> None:
    """Raise :class:`ParameterError` when something would be written over an input, or two outputs are one file.

    Both: what each file is called on the command line, and its path, ``None`` or "" when there is none. Links, hard
    links and different spellings of one path count as one file, and so do names that differ in case only, which are
    one file on many systems: a pair of files must not be lost when it is copied there.
    """
    names: dict[object, str] = {}
    for name, path in inputs.items():
        for identity, _ in _identities(path):
            names.setdefault(identity, name)
    for name, path in outputs.items():
        for identity, what in _identities(path):
            other = names.setdefault(identity, name)
            if other != name:
                raise ParameterError(
                    f"{name} and {other} {what}: {path}.", value=str(path), remedy="Give them different names."
                )


def _identities(path: str | Path | None) -> Iterator[tuple[object, str]]:
    """Yield each thing by which two names may be of one file, whether it exists or not, and what that is in words."""
    if not path:
        return
    real = os.path.realpath(path)
    with suppress(OSError):
        status = os.stat(real)
        yield (status.st_dev, status.st_ino), "are one file"
    yield (real,), "are one file"
    yield unicodedata.normalize("NFC", real).casefold(), "differ in upper and lower case only"


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
