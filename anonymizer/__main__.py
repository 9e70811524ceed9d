"""``python -m anonymizer``: the same flow from a terminal."""

import sys

from anonymizer.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
