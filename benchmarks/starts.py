"""What it takes to start: processor time of whole processes, beside that of an empty one and of numpy and pandas.

    python run.py bench starts --runs 5

Each is run in turn, so that all meet the same machine; figures are medians of user and system seconds of the process
and its children. Adult is read from ``../shared/data``; compiled loops are warm.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ADULT = ROOT.parent / "shared" / "data" / "adult_complete.csv.gz"
QUASI = "age,workclass,education,marital-status,occupation,relationship,race,sex,hours-per-week,native-country"
RELEASE = [
    "anonymize", str(ADULT), "-q", QUASI, "-s", "income", "-i", "fnlwgt,education-num,capital-gain,capital-loss",
    "-k", "10", "-o", "adult.csv",
]  # fmt: skip
COPSE = ["-m", "anonymizer"]
PROGRAMS = {
    "python -c pass": ["-c", "pass"],
    "import numpy, pandas": ["-c", "import numpy, pandas"],
    "copse --version": [*COPSE, "--version"],
    "copse --help": [*COPSE, "--help"],
    "copse anonymize --help": [*COPSE, "anonymize", "--help"],
    "an unknown command": [*COPSE, "anonymise"],
    "a missing file": [*COPSE, "anonymize", "nowhere.csv"],
    "copse anonymize of Adult": [*COPSE, *RELEASE],
}
"""What is run, by what it is called."""


def seconds(words: list[str], folder: str) -> float:
    """Return the processor seconds, user and system, of a process with these words, and of its children."""
    before = os.times()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, check=False)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main(arguments: list[str]) -> int:
    """Print a line for each program; returns the exit status."""
    parser = argparse.ArgumentParser(prog="bench starts", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each (default: 5)")
    options = parser.parse_args(arguments)
    figures: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.runs):
            for name, words in PROGRAMS.items():
                figures[name].append(seconds(words, folder))
                time.sleep(0.1)
    unit = statistics.median(figures["import numpy, pandas"])
    print(f"{'':<28}{'CPU s':>8}{'of numpy, pandas':>20}")
    for name, values in figures.items():
        print(f"{name:<28}{statistics.median(values):>8.2f}{statistics.median(values) / unit:>20.2f}")
    return 0
