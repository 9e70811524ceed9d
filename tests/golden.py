"""What runs came to when it was last looked at: a digest of each of their parts, by the name of the run.

A test compares with ``golden.json``. After a change that is meant, look at what differs and keep the new digests:

    python -m tests.golden RUN PART > new.txt   # the part in full, to be compared with that of the version before
    python -m tests.golden                      # write golden.json anew
"""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anonymizer.growing.tree import Tree
from anonymizer.pipeline import Result

FILE = Path(__file__).with_suffix(".json")
ABSENT = ("layout", "software", "run", "provenance", "plan")
"""What a report says of the program and the moment."""


def plain(value: Any) -> Any:
    """Return a value as JSON has it, its numbers with nine digits: the last ones differ between processors."""
    if isinstance(value, np.ndarray):
        return [list(value.shape), [plain(one) for one in value.ravel().tolist()]]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float | np.floating):
        return "0" if abs(value) < 1e-12 else f"{value:.9g}"
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def without_sentences(value: Any) -> Any:
    """Return a plain value with an empty text for every one of several words; names of findings follow from keys."""
    if isinstance(value, dict):
        own = {name: one for name, one in value.items() if name != "name" or "severity" not in value}
        return {name: without_sentences(one) for name, one in own.items()}
    if isinstance(value, list):
        return [without_sentences(one) for one in value]
    return "" if isinstance(value, str) and " " in value else value


def digest(value: Any) -> str:
    """Return a few letters that follow from a value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def parts(result: Result | Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run came to, by its parts; a run over files says them itself."""
    if isinstance(result, Mapping):
        return dict(result)
    report, pruning = result.report.to_dict(), result.pruning
    whole = {
        "tree": {field.name: getattr(result.tree, field.name) for field in fields(Tree)},
        "risk": result.risk,
        "pruning": [pruning.steps, pruning.ratios, pruning.smallest, pruning.satisfied],
        "cells": result.release.frame().to_csv(),
        "utility": result.utility,
    }
    figures = {
        "checks": result.verification.to_dict(),
        "gate": result.gate.to_dict(),
        "report": {name: value for name, value in report.items() if name not in ABSENT},
    }
    return {name: plain(part) for name, part in whole.items()} | {
        name: without_sentences(plain(part)) for name, part in figures.items()
    }


def check(name: str, came_to: Result | Mapping[str, Any]) -> None:
    """Fail, with the parts that changed, when a run came to something else than it did."""
    before = json.loads(FILE.read_text("utf-8"))[name]
    now = {part: digest(value) for part, value in parts(came_to).items()}
    assert {part for part in before | now if before.get(part) != now.get(part)} == set(), (
        f"see python -m tests.golden {name}"
    )


def main(words: list[str]) -> None:
    """Print a part of a run, or write all digests."""
    from tests.partitions.files import FILES, parts_of
    from tests.runs import BESIDES, RUNS, run_beside, run_of
    from tests.test_settings import BESIDE, CHOICES, run_with

    runs: dict[str, Callable[[], Result | Mapping[str, Any]]] = {
        "-".join(run): lambda run=run: run_of(*run) for run in RUNS
    }
    runs |= {name: lambda name=name: run_beside(name) for name in BESIDES}
    runs |= {name: lambda name=name: parts_of(name) for name in FILES}
    runs |= {name: lambda name=name: run_with(**{**BESIDE.get(name, {}), name: CHOICES[name]}) for name in CHOICES}
    if words:
        print(json.dumps(parts(runs[words[0]]())[words[1]], indent=1, sort_keys=True))
        return
    digests = {name: {part: digest(value) for part, value in parts(run()).items()} for name, run in runs.items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(of_run)}" for name, of_run in sorted(digests.items()))
    FILE.write_text(f"{{\n{lines}\n}}\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
