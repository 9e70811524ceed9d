"""Start the dashboard, ``python -m ui.door.start``; where it must not start, end with one sentence and status 2."""

import sys

from ui.server.framework import serve


def look() -> None:
    """End the program where the dashboard must not start. What it asks reads options as it is loaded, so not before."""
    from ui.door.doors import require_doors
    from ui.door.operator import require_key

    require_doors()
    require_key()


if __name__ == "__main__":
    serve(sys.argv[1:], look)
