"""``python -m tests.fuzz KIND FIRST COUNT``: run cases, and say of each in a line of JSON how it ended."""

import json
import random
import sys
import time
import traceback
import warnings

from tests.fuzz.cases import KINDS


def main(kind: str, first: int, count: int) -> None:
    """Run the cases of one kind with the seeds from ``first``."""
    warnings.simplefilter("ignore")
    for seed in range(first, first + count):
        started = time.perf_counter()
        try:
            fault = KINDS[kind](random.Random(f"{kind} {seed}"))
        except Exception:
            fault = "".join(traceback.format_exc()[-1500:])
        print(json.dumps([seed, fault, time.perf_counter() - started]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
