"""``python run.py mutate [ROOM [N [SEED]]]``: change the code in N places drawn at random, and show the changes that no
test notices.

The rooms are those that keep a release's promises. mutmut makes the changes, in a copy of the project, and runs for
each the tests of its room that reach the function, but for those that start programs. Compiled loops are left alone, as
mutmut cannot change them, and so are sentences for people.
"""

import ast
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import psutil
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.utils.format_utils import get_mutant_name

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "checking": ("checking", ("checking", "labelled", "measuring", "releasing", "reporting")),
    "groups": ("groups", ("groups", "population", "papers", "suppression")),
    "releasing": ("releasing", ("releasing", "suppression", "measuring")),
    "forest": ("forest/mechanisms.py", ("forest",)),
    "partitions": ("partitions", ("partitions",)),
}
"""Of each room: where the code is that is changed, and the folders of the tests that are to notice it."""
PROGRAMS = re.compile("run_python|subprocess")
"""What stands in tests that start programs, in which no change is made."""
COPIES = "from tests.copies import"
"""What stands in files of tests that run copies of the project."""
PLUGINS = ("-p", "no:cacheprovider", "-p", "benchmarks._forgetting")
COPIED = ("anonymizer", "benchmarks", "docs", "pages", "ui", ".streamlit", "app.py", "run.py", "supply.py")
SENTENCE = re.compile(r'f?"[^"\n]*[a-zA-Z]{2} [^"\n]*"')
IDLE = re.compile(r"""(,\s*)?\b(remedy=\w*|strict=\w+),?|__mutmut_\w+""")
"""What may change while the code does the same: sentences for people, and whether zip refuses what never happens."""
PATIENCE = "60"
"""Seconds that a test waits for what may never happen in changed code."""
LONGEST = 300
"""Seconds after which a change counts as noticed: a process that was forked beside threads may wait for ever."""
SURVIVED, UNTESTED = 0, 33
"""How mutmut writes down a change that no test noticed, and one that no test reaches."""


def sources(room: str) -> list[str]:
    """Return the paths of a room's modules without compiled loops."""
    place = ROOT / "anonymizer" / ROOMS[room][0]
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return [str(file.relative_to(ROOT)) for file in files if "njit" not in file.read_text("utf-8")]


def configure(room: str) -> str:
    """Return mutmut's part of pyproject.toml for a room."""
    tests = [ROOT / "tests" / folder for folder in ROOMS[room][1]]
    files = [file for folder in tests for file in folder.glob("test_*.py")] + sorted(
        [*ROOT.glob("tests/test_pipeline*.py"), ROOT / "tests" / "test_settings.py"]
    )
    files = [file for file in files if COPIES not in file.read_text("utf-8")]
    left_out = [
        f"--deselect={file.relative_to(ROOT)}::{name}"
        for file in files
        for name in starting_programs(file.read_text("utf-8"))
    ]
    options = {
        "source_paths": sources(room),
        "also_copy": [*COPIED, *(str(file.relative_to(ROOT)) for file in ROOT.glob("requirements*"))],
        "pytest_add_cli_args": ["-m", "not browser and not programs", *PLUGINS, *left_out],
        "pytest_add_cli_args_test_selection": [str(file.relative_to(ROOT)) for file in files],
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in options.items()]
    return "\n".join(["", "[tool.mutmut]", "track_dependencies = false", *lines, ""])


def starting_programs(source: str) -> list[str]:
    """Return the functions of a file of tests that start programs, themselves or by another of them."""
    codes = {part.name: ast.unparse(part) for part in ast.parse(source).body if isinstance(part, ast.FunctionDef)}
    starting = {name for name, code in codes.items() if PROGRAMS.search(code)}
    while more := {name for name, code in codes.items() if starting & set(re.findall(r"\w+", code))} - starting:
        starting |= more
    return sorted(starting)


def without_words(code: str) -> str:
    """Return a function's code without its name and without what may change while it does the same."""
    return re.sub(r"[\s,]+", " ", IDLE.sub("", SENTENCE.sub("", code)))


def draw(copy: Path, room: str, number: int, seed: int) -> list[str]:
    """Return the names of ``number`` changes of a room's code, drawn from all that mutmut makes of it."""
    os.chdir(copy)  # where mutmut looks for its settings
    names = []
    for path in sources(room):
        changed = mutate_file_contents(path, Path(path).read_text("utf-8"))
        lines = changed.code.splitlines()
        spans = changed.line_span_by_function_name.items()
        codes = {name: without_words("\n".join(lines[span.start - 1 : span.end])) for name, span in spans}
        for name in changed.mutant_names:
            if codes[name] != codes[name.rpartition("__")[0] + "__mutmut_orig"]:
                names.append(get_mutant_name(Path(path), name))
    return random.Random(seed).sample(names, min(number, len(names)))


def end_those_that_wait(process: "subprocess.Popen[bytes]") -> None:
    """Wait for mutmut, and end whatever of its changes takes longer than :data:`LONGEST`, as a limit of time would."""
    while process.poll() is None:
        time.sleep(1)
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(process.pid).children(recursive=True):
                if time.time() - child.create_time() > LONGEST and "mutmut: " in " ".join(child.cmdline()):
                    child.send_signal(signal.SIGXCPU)


def try_room(room: str, number: int, seed: int) -> Counter[int | None]:
    """Return how many changes of a room ended how; those that lived are printed."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copse"
        left = shutil.ignore_patterns(".git", ".venv", "mutants", "test-output", ".hypothesis", ".mypy_cache")
        shutil.copytree(ROOT, copy, ignore=left)  # with compiled loops, and the times of files, by which they are found
        with (copy / "pyproject.toml").open("a", encoding="utf-8") as file:
            file.write(configure(room))
        names = draw(copy, room, number, seed)
        mutmut = [str(Path(sys.executable).parent / "mutmut")]
        patient = os.environ | {"COPSE_PATIENCE": PATIENCE}
        with subprocess.Popen([*mutmut, "run", *names], cwd=copy, env=patient, stdin=subprocess.DEVNULL) as process:
            end_those_that_wait(process)
        codes: dict[str, int | None] = {}
        for meta in sorted((copy / "mutants").rglob("*.meta")):
            codes |= json.loads(meta.read_text("utf-8"))["exit_code_by_key"]
        for name in names:
            if codes.get(name) in (SURVIVED, UNTESTED):
                print(
                    f"--- {name}: {'no test notices' if codes[name] == SURVIVED else 'no test reaches it'}", flush=True
                )
                subprocess.run([*mutmut, "show", name], cwd=copy, check=False)
    return Counter(codes.get(name) for name in names)


def main(words: Sequence[str]) -> int:
    """Try one room, or all; 1 where more than one in twenty changes lived or one was not tried, else 0."""
    rooms = words[:1] or list(ROOMS)
    number, seed = (*map(int, words[1:]), *(60, 0)[len(words[1:]) :])
    ended: Counter[int | None] = Counter()
    for room in rooms:
        of_room = try_room(room, number, seed)
        ended += of_room
        alive = of_room[SURVIVED] + of_room[UNTESTED]
        print(f"{room}: of {of_room.total()} changes {alive} lived, {of_room[None]} were not tried.", flush=True)
    alive = ended[SURVIVED] + ended[UNTESTED]
    return int(ended[None] > 0 or alive > 0.05 * ended.total())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
