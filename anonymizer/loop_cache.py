"""Where compiled loops lie: beside their sources, or in a folder of this process where nothing else can be written."""

import os
from pathlib import Path

PACKAGE = Path(__file__).parent


def choose_cache() -> None:
    """Let compiled loops go to a folder of this process where neither the package's folder nor the home can be written
    to. To be called before numba is imported; it deletes the folder when the process ends."""
    if os.access(PACKAGE, os.W_OK) or "NUMBA_CACHE_DIR" in os.environ or can_write(Path.home()):
        return
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="copse-loops-")
    os.environ["NUMBA_CACHE_DIR"] = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


def can_write(folder: Path) -> bool:
    """Return True when a file can be made in a folder."""
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
