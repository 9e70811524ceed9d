"""``python -m tests.fuzz KIND FIRST COUNT``: run cases, and say of each in a line of JSON how it ended."""

import json
import os
import random
import sys
import traceback
import warnings

from tests.fuzz.cases import KINDS


def worked() -> float:
    """Seconds of processor time that this process, and those that it waited for, took."""
    return sum(os.times()[:4])


def main(kind: str, first: int, count: int) -> None:
    """Run the cases of one kind with the seeds from ``first``."""
    warnings.simplefilter("ignore")
    for seed in range(first, first + count):
        started = worked()
        try:
            fault = KINDS[kind](random.Random(f"{kind} {seed}"))
        except Exception:
            fault = "".join(traceback.format_exc()[-1500:])
        print(json.dumps([seed, fault, worked() - started]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
