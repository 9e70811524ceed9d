"""Compiling before anybody waits: what it leaves behind, when it is needed, and where nothing can be written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anonymizer.cli import warm
from anonymizer.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one compiled loop."""
    folder = tmp_path / "anonymizer"
    folder.mkdir()
    (folder / "loops.py").write_text("@njit\ndef add(): ...")
    (folder / "cells.py").write_text("text = 1")
    monkeypatch.setattr(warm, "PACKAGE", folder)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(warm, "steps", lambda: [("first", lambda: None), ("second", lambda: None)])
    return folder


def test_compile_loops__says_how_far_it_is_and_leaves_a_mark(package: Path) -> None:
    calls: list[tuple[float, str]] = []
    assert not warm.is_compiled()
    warm.compile_loops(lambda share, what: calls.append((share, what)))
    assert calls == [(0.0, "first"), (0.5, "second"), (1.0, "Done")]
    assert warm.is_compiled()


def test_another_source__makes_compiled_loops_stale(package: Path) -> None:
    warm.compile_loops()
    loop = package / "__pycache__" / "loops.add-1.py311.nbi"
    loop.touch()
    (package / "cells.py").write_text("text = 2")
    assert warm.is_compiled(), "it holds no loop"
    (package / "loops.py").write_text("@njit\ndef add(): return 1")
    assert not warm.is_compiled()
    warm.compile_loops()
    assert warm.is_compiled()
    assert not loop.exists()


def test_commands__compile_first_and_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[str] = []
    monkeypatch.setattr("anonymizer.cli.main.is_compiled", lambda: False)
    monkeypatch.setattr("anonymizer.cli.main.compile_loops", lambda show: calls.append("compiled"))
    assert main(["compile"]) == 0
    assert main(["verify", "no such file", "--quasi-identifying", "a"]) == 2
    assert calls == ["compiled"]
    assert "once after every update" in capsys.readouterr().err


READ_ONLY = """
import os, sys
import numpy as np
from anonymizer import kernels
node, n = np.zeros(3, np.int32), None
print(os.environ.get("NUMBA_CACHE_DIR", ""))
"""


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("unshare") is None, reason="needs mount namespaces")
def test_a_read_only_package_and_home__compile_into_a_folder_that_goes(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "anonymizer", tmp_path / "anonymizer", ignore=shutil.ignore_patterns("__pycache__"))
    script = f"mount --bind -o ro {tmp_path} {tmp_path} && cd {tmp_path} && exec {sys.executable} -c '{READ_ONLY}'"
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": ""}
    environment.pop("NUMBA_CACHE_DIR", None)
    answer = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    if answer.returncode and "Operation not permitted" in answer.stderr:
        pytest.skip("mount namespaces are not permitted here")
    assert answer.returncode == 0, answer.stderr
    folder = Path(answer.stdout.strip())
    assert "copse-loops-" in folder.name
    assert not folder.exists()
