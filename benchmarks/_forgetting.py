"""For pytest while code is changed (:mod:`benchmarks.mutants`): what functions remember from a run without a change is
forgotten, so that it is not taken for what the changed code does."""

import os
import sys

import pytest


def forget() -> None:
    """Forget the answers that functions of the project and its tests remember, but for the line to a program."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("anonymizer", "tests") and name != "tests.copies":
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


def pytest_sessionstart() -> None:
    """Forget before the tests of a change: they run in a copy of a process in which all tests ran without one."""
    forget()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget before each test where it is looked up what each test reaches."""
    if os.environ.get("MUTANT_UNDER_TEST") == "stats":
        forget()
