"""Freed memory is overwritten."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from anonymizer.cli.app import OVERWRITING
from tests.conftest import ROOT

MARK = "Zqwxcanary"
PROBE = f"""
import os, sys
from tests.server.scan import in_memory
import pyarrow as pa, pandas as pd
mark = "".join(reversed({MARK[::-1]!r}))
names = [mark + str(n) for n in range(30_000)]
table = pa.table({{"name": names}})
frame = table.to_pandas()
codes = frame["name"].astype("category")
del names, table, frame, codes
print(in_memory(os.getpid(), mark))
"""


def left_behind(**environment: str) -> int:
    """How many of 30,000 names are left in a program that has let go of all of them."""
    command = [sys.executable, "-c", PROBE]
    answer = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=True)
    return int(answer.stdout)


@pytest.mark.skipif(not Path("/proc/self/pagemap").exists(), reason="the memory of a program cannot be read here")
def test_overwriting__overwrites_what_is_freed() -> None:
    assert left_behind(**dict.fromkeys(OVERWRITING, "")) > 1000
    assert left_behind(**OVERWRITING) < 10
