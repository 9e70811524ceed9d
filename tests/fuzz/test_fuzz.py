"""Files made from seeds, whole and damaged: no traceback, no death, nothing slow, no value silently another.

``COPSE_FUZZ_CASES`` says how many of each kind (6 unless set), ``COPSE_FUZZ_SEED`` where their seeds begin.
"""

import json
import os

import pytest

from tests import copies
from tests.conftest import ROOT, absent
from tests.fuzz.cases import KINDS
from tests.fuzz.labels import FILES, sas_table
from tests.fuzz.trees import WRITERS

CASES = int(os.environ.get("COPSE_FUZZ_CASES", "6"))
FIRST = int(os.environ.get("COPSE_FUZZ_SEED", "0"))
SLOW = 20
"""Seconds of processor time that no case may take."""


@pytest.mark.parametrize("kind", list(KINDS))
def test_fuzz(kind: str) -> None:
    if writer := WRITERS.get(kind.removesuffix(" tree")):
        pytest.importorskip(writer, reason=f"{writer} is needed to write the file")
    if kind == "sas7bdat" and sas_table() is None:
        absent("haven", "R has no package haven, whose example of a SAS file is damaged here")
    few = kind in FILES and kind != "sas7bdat"  # each of these is a process
    count = max(1, CASES // 10) if few else CASES
    command = ["-m", "tests.fuzz", kind, str(FIRST), str(count)]
    ended = copies.run(command, ROOT)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    faults = [f"{kind} {seed}: {fault}" for seed, fault, _ in lines if fault]
    assert not faults, "\n".join(faults[:20])
    assert len(lines) == count, (
        f"{kind} {FIRST + len(lines)} ended the process: {ended.returncode} {ended.stderr[-500:]}"
    )
    assert max(seconds for *_, seconds in lines) < SLOW
