"""The key of a person or a server, from which the secret of packing follows: 32 bytes in a file of its own.

With it the same table gives the same groups again, and nobody else can run the method again. It is made at its first
use, for its owner alone to read, or is named by an operator. It is in no other file.
"""

import os
import stat
import sys
from pathlib import Path
from secrets import token_bytes

from anonymizer.errors import ParameterError
from anonymizer.releasing.files import write_once

KEY_FILE = "COPSE_KEY_FILE"
"""The environment variable that names the file of the key; such a file is never made."""
LENGTH = 32
"""Bytes of a key."""
REMEDY = f"Name a file of {LENGTH} random bytes, which you alone can read, in {KEY_FILE}."


def read_key() -> bytes:
    """Return the key, which is made when this user has none. Raises :class:`ParameterError`, without the key, when its
    file is absent, cannot be read or written, can be read by others, or is of another length."""
    own = os.environ.get(KEY_FILE)
    path = Path(own) if own else user_folder() / "key"
    if not own and not path.is_absolute():
        raise ParameterError("There is no place for the key of packing: this user has no home folder.", remedy=REMEDY)
    try:
        if not own and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_once(path, token_bytes(LENGTH))
    except OSError as error:
        problem = f"The key of packing, {path}, cannot be read or made: {error.strerror}."
        raise ParameterError(problem, remedy=REMEDY) from None
    return key_in(path)


def key_in(path: Path, name: str = "The key of packing", remedy: str = REMEDY) -> bytes:
    """Return the key in a file. ``name``: what it is called; ``remedy``: where it cannot be read.

    Raises :class:`ParameterError`, without the key, when the file is absent, cannot be read, can be read by others, or
    is of another length.
    """
    try:
        with path.open("rb") as file:
            mode, key = os.fstat(file.fileno()).st_mode, file.read(LENGTH + 1)
    except OSError as error:
        raise ParameterError(f"{name}, {path}, cannot be read: {error.strerror}.", remedy=remedy) from None
    if sys.platform != "win32" and stat.S_IMODE(mode) & 0o077:
        raise ParameterError(
            f"{name}, {path}, can be read by others.", remedy="Let its owner alone read it (mode 600)."
        )
    if len(key) != LENGTH:
        raise ParameterError(
            f"{name}, {path}, is not {LENGTH} bytes long.",
            remedy=f"Restore the file that it was, or make a new one of {LENGTH} random bytes: other groups follow.",
        )
    return key


def user_folder() -> Path:
    """Return the folder in which this system keeps the data of a user's programs, with this one's name."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "Copse"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Copse"
    data = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (data if data.is_absolute() else home / ".local" / "share") / "copse"
