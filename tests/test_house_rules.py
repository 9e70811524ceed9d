"""House rules, checked on the source itself. Each rule is shown an offence first, so that none can rest asleep."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import run
from tests import copies
from tests.conftest import is_foreign
from tests.sources import nodes_of, parsed

ROOT = Path(__file__).resolve().parents[1]
MACHINE_PATH = re.compile(r"(?<![\w.~*-])/(?:work|root|home)" + r"/\w")
REGISTRY = re.compile(
    "|".join(["py" + r"pi\.org", "python" + r"hosted\.org", "npm" + r"js\.org", r"deb\.deb" + r"ian\.org"])
)
UNSAFE_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__"}
KEPT_FOR_GOOD = {"version_of", "_fonts", "_graphviz", "_listed", "_laplace", "_gumbel", "_noisy_max", "workers",
                 "linear_algebra", "login", "style", "policy", "meanings"}  # fmt: skip
"""Functions that keep their answers while the process runs: of packages, fonts, programs, noise and the operator."""
UNSAFE_METHODS = {"read_pickle", "to_pickle"}
PARTICIPLES = {"asked", "chosen", "drawn", "found", "given", "held", "kept", "known", "said", "seen", "shown", "taken",
               "told", "wanted", "written"}  # fmt: skip
WRITES = {"write_text", "write_bytes", "NamedTemporaryFile", "mkstemp", "savefig", "write_html", "write_image", "dump",
          "tofile", "savez", "save"}  # fmt: skip
"""Functions that write a file by its name."""
WRITERS = {"anonymizer/releasing/files.py", "anonymizer/reading/child.py", "anonymizer/reading/process.py"}
"""Where files are written; the child writes to its pipe, and to the system how soon it may be ended."""
LONGEST = {"pages": 120, "anonymizer": 600, "ui": 600, "run.py": 600, "app.py": 20}
"""Lines of a file, by its folder."""
MOST_LINES = 60
"""Lines of a function, without its docstring."""


def list_files(ending: str = "") -> list[str]:
    """The project's own files, as paths below its root; without git, every file that is not hidden."""
    answer = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if answer.returncode == 0:
        names = answer.stdout.decode("utf-8").split("\0")
    else:
        names = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if "/." not in path.as_posix()]
    return sorted(name for name in names if name.endswith(ending) and (ROOT / name).is_file())


def text_of(name: str) -> str | None:
    """The text of a file, or None where it is a picture or another thing that is not text."""
    content = (ROOT / name).read_bytes()
    return None if b"\0" in content else content.decode("utf-8", "replace")


def list_imports(source: str) -> Iterator[str]:
    """The names of all modules that a source imports, wherever in it."""
    for node in nodes_of(source, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def streamlit_imports(name: str, source: str) -> list[str]:
    """Only the dashboard's own folders, and tests of them, know Streamlit."""
    if name == "app.py" or name.startswith(("ui/", "pages/", "tests/")):
        return []
    return [module for module in list_imports(source) if module.partition(".")[0] == "streamlit"]


def state_uses(name: str, source: str) -> list[str]:
    """Pages reach the session and its caches through ui/session.py alone."""
    if name == "ui/session.py" or not name.startswith(("ui/", "pages/")):
        return []
    forbidden = {"session_state", "cache_data", "cache_resource"}
    nodes = nodes_of(source, ast.Attribute)
    return [node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr in forbidden]


def unsafe_code(name: str, source: str) -> list[str]:
    """Nothing that could run what a stranger's file says."""
    offences = [module for module in list_imports(source) if module.partition(".")[0] in UNSAFE_MODULES]
    for node in nodes_of(source, ast.Call):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in UNSAFE_CALLS:
                offences.append(node.func.id)
            if isinstance(node.func, ast.Attribute) and node.func.attr in UNSAFE_METHODS:
                offences.append(node.func.attr)
            true_words = {word.arg for word in node.keywords if getattr(word.value, "value", None) is True}
            offences += sorted(true_words & {"allow_pickle", "shell"})
    return offences


def lasting_answers(name: str, source: str) -> list[str]:
    """What a function of the package keeps for good is shared by all sessions and forgotten with none."""
    if not name.startswith(("anonymizer/", "ui/", "pages/")):
        return []
    caches = {"cache", "lru_cache"}
    return [
        node.name
        for node in nodes_of(source, ast.FunctionDef)
        if isinstance(node, ast.FunctionDef) and node.name not in KEPT_FOR_GOOD
        for one in node.decorator_list
        if caches & {part.id for part in ast.walk(one) if isinstance(part, ast.Name)}
        or caches & {part.attr for part in ast.walk(one) if isinstance(part, ast.Attribute)}
    ]


def talk(name: str, source: str) -> list[str]:
    """The package is silent, so that no record reaches a terminal or a log; only its command line prints."""
    if not name.startswith("anonymizer/") or name.startswith(("anonymizer/cli", "anonymizer/__main__")):
        return []
    nodes = nodes_of(source, ast.Call)
    calls = [node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return ["print"] * calls.count("print") + [module for module in list_imports(source) if module == "logging"]


def other_writes(name: str, source: str) -> list[str]:
    """Files are written by anonymizer/releasing/files.py alone, which leaves none by half; memory is no file."""
    if name in WRITERS or not name.startswith(("anonymizer/", "ui/", "pages/")):
        return []
    offences = []
    for node in nodes_of(source, ast.Call):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        opens = called in ("open", "fdopen") and any(
            re.fullmatch("[rbt]*[wax+][rbt+]*", word.value)
            for word in ast.walk(node)
            if isinstance(word, ast.Constant) and isinstance(word.value, str)
        )
        to_file = (
            called in ("to_csv", "to_parquet", "to_excel") and node.args and "sink" not in ast.unparse(node.args[0])
        )
        if opens or to_file or called in WRITES:
            offences.append(ast.unparse(node))
    return offences


def too_long(name: str, source: str) -> list[str]:
    """Files stay short enough to be read in one sitting."""
    allowed = LONGEST.get(name.partition("/")[0])
    lines = source.count("\n")
    return [f"{lines} lines, more than {allowed}"] if allowed and lines > allowed else []


def long_functions(name: str, source: str) -> list[str]:
    """A function does one thing, and is seen whole."""
    if name.partition("/")[0] not in LONGEST:
        return []
    offences = []
    for node in nodes_of(source, ast.FunctionDef, ast.AsyncFunctionDef):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[1] if ast.get_docstring(node) is not None and node.body[1:] else node.body[0]
            lines = first.lineno - node.body[0].lineno if first is not node.body[0] else 0
            lines = (node.end_lineno or 0) - node.lineno + 1 - lines
            offences += [f"{node.name}: {lines} lines, more than {MOST_LINES}"] if lines > MOST_LINES else []
    return offences


NAMING = (
    ast.Name, ast.Attribute, ast.arg, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias,
    ast.ExceptHandler, ast.MatchAs,
)  # fmt: skip
"""What gives something a name."""


def participles(name: str, source: str) -> list[str]:
    """A name says what a thing is, not what was done to it: rows or answer, not found."""
    names = []
    for node in nodes_of(source, *NAMING):
        match node:
            case ast.Name(id=word, ctx=ast.Store()) | ast.Attribute(attr=word, ctx=ast.Store()) | ast.arg(arg=word):
                names.append(word)
            case ast.FunctionDef(name=word) | ast.AsyncFunctionDef(name=word) | ast.ClassDef(name=word):
                names.append(word)
            case ast.alias(asname=word) | ast.ExceptHandler(name=word) | ast.MatchAs(name=word) if word:
                names.append(word)
    return [word for word in names if word.strip("_").lower() in PARTICIPLES]


def percent_signs(name: str, source: str) -> list[str]:
    """A percent sign stands at its number, 57.2%, in all that Copse writes."""
    if not name.startswith(("anonymizer/", "ui/", "pages/")):
        return []
    nodes = nodes_of(source, ast.Constant, ast.JoinedStr)
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    offences = [text for text in texts if re.search(r"\d %(?!\w)", text)]
    for node in nodes:
        parts = node.values if isinstance(node, ast.JoinedStr) else []
        pairs = zip(parts, parts[1:], strict=False)
        offences += [
            after.value
            for before, after in pairs
            if isinstance(before, ast.FormattedValue)
            and isinstance(after, ast.Constant)
            and re.match(r" %(?![\w{])", str(after.value))
        ]
    return offences


RULES: dict[Callable[[str, str], list[str]], tuple[str, str]] = {
    streamlit_imports: ("anonymizer/risk.py", "def f():\n    from streamlit import cache_data\n"),
    state_uses: ("pages/tree.py", "import streamlit as st\nst.session_state['k'] = 1\n"),
    unsafe_code: ("anonymizer/read.py", "import numpy\nnumpy.load('f', allow_pickle=True)\n"),
    lasting_answers: ("anonymizer/alike.py", "@lru_cache(maxsize=9)\ndef meaning(text):\n    return text\n"),
    talk: ("anonymizer/grow.py", "print(1)\n"),
    participles: ("ui/roles/before.py", "def f(x):\n    for found in x:\n        print(found)\n"),
    other_writes: (
        "anonymizer/cli/main.py",
        "def f(path):\n    with path.open('w') as sink:\n        sink.write('x')\n",
    ),
    percent_signs: ("ui/strip.py", "text = f'{x:.1f} % of all'\n"),
    too_long: ("pages/data.py", "x = 1\n" * 121),
    long_functions: ("ui/strip.py", 'def f():\n    """It."""\n' + "    x = 1\n" * 60),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_house_rule(rule: Callable[[str, str], list[str]]) -> None:
    name, offence = RULES[rule]
    assert rule(name, offence), "the rule does not see an offence"
    by_file = {name: rule(name, (ROOT / name).read_text("utf-8")) for name in list_files(".py")}
    assert not {name: offences for name, offences in by_file.items() if offences}, rule.__doc__


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "eval('1')",
        "import pandas as pd\npd.read_pickle('f')",
        "run('ls', shell=True)",
        "from joblib import load",
    ],
)
def test_unsafe_code__is_seen(source: str) -> None:
    assert unsafe_code("anonymizer/read.py", source)


@pytest.mark.parametrize(
    "source",
    [
        "open(path, 'ab')",
        "open(path, mode='x')",
        "gzip.open(path, 'wt')",
        "Path(path).write_text('x')",
        "frame.to_csv(path)",
        "frame.to_parquet(path)",
        "figure.write_html(path)",
        "tempfile.NamedTemporaryFile()",
        "json.dump(value, sink)",
    ],
)
def test_other_writes__are_seen(source: str) -> None:
    assert other_writes("ui/shell.py", source)
    assert not other_writes(
        "ui/shell.py", "open(path)\nframe.to_csv(sink)\nframe.to_csv(index=False)\nopen(path, 'rb')"
    )


def test_text__names_no_machine_and_no_registry() -> None:
    assert MACHINE_PATH.search("see /" + "root/x")
    assert not MACHINE_PATH.search(" ".join(before + "/work" + "/x" for before in ("a", "..", "~")))
    assert REGISTRY.search("https://files.python" + "hosted.org")
    names = list_files()
    assert "run.py" in names
    texts = {name: text for name in names if (text := text_of(name)) is not None}
    matches = {
        name: match[0]
        for name, text in texts.items()
        for match in [MACHINE_PATH.search(text) or REGISTRY.search(text)]
        if match
    }
    assert not matches


def test_modules__have_a_docstring() -> None:
    names = [name for name in list_files(".py") if not name.startswith("tests/") and (ROOT / name).stat().st_size > 0]
    bare = [name for name in names if not ast.get_docstring(parsed((ROOT / name).read_text("utf-8")))]
    assert not bare


def test_importing_the_package__compiles_nothing_and_loads_no_dashboard() -> None:
    heavy = {"numba", "streamlit", "plotly", "sklearn", "scipy", "sqlalchemy", "duckdb", "psycopg", "pyreadstat"}
    probe = f"import sys, anonymizer; print(sorted({heavy} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_locks__pin_what_the_requirements_ask_for() -> None:
    for kind in ("requirements-dev", "requirements-bench", "requirements-solver"):
        required, locked = (pins((ROOT / f"{kind}.{ending}").read_text("utf-8")) for ending in ("in", "txt"))
        assert required <= locked, f"{kind}.txt was not locked anew after a change: {sorted(required - locked)}"


def test_locks__pin_every_dependency_of_the_package_within_its_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    locked = set().union(*(pins((ROOT / f"requirements{kind}.txt").read_text("utf-8")) for kind in ("", "-solver")))
    extras = [dependency for extra in project["optional-dependencies"].values() for dependency in extra]
    for dependency in map(Requirement, [*project["dependencies"], *extras]):
        if dependency.name == project["name"]:  # extras that are made of others
            continue
        versions = [version for name, version in locked if name == dependency.name]
        assert versions, f"No lock has {dependency.name}: lock anew"
        assert all(version in dependency.specifier for version in versions), dependency.name


def test_notice__names_everything_that_runs_with_copse() -> None:
    listed = set(re.findall(r"^([\w.-]+) {2,}\S", (ROOT / "NOTICE").read_text("utf-8"), re.MULTILINE))
    assert listed == {name for name, _ in pins((ROOT / "requirements.txt").read_text("utf-8"))}


@pytest.mark.parametrize("kind", ["requirements", "requirements-dev", "requirements-bench", "requirements-solver"])
def test_locks__name_the_digest_of_every_file(kind: str) -> None:
    entries = re.split(r"\n(?=\S)", (ROOT / f"{kind}.txt").read_text("utf-8"))
    packages = [entry for entry in entries if not entry.startswith("#")]
    assert packages
    assert [entry for entry in packages if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []


def pins(text: str) -> set[tuple[str, str]]:
    """Each pinned package with its version, markers and extras left out."""
    matches = re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==([^\s;]+)", text, flags=re.MULTILINE)
    return {(name.lower(), version) for name, version in matches}


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["help"], 0), (["--help"], 0), (["nonsense"], 2), (["lint", "--what"], 2), (["docs", "--what"], 2)],
)
def test_run__tells_its_commands(arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(arguments) == status
    output = capsys.readouterr().out
    assert all(
        command in output for command in ("test", "lint", "bench", "solver", "sbom", "audit-packages", "docs", "help")
    )


def test_run__needs_nothing_but_the_standard_library() -> None:
    for name, own in (("run.py", {"supply"}), ("supply.py", set())):
        used = {module.partition(".")[0] for module in list_imports((ROOT / name).read_text("utf-8"))}
        assert used - own <= sys.stdlib_module_names


def test_run__is_understood_by_old_pythons() -> None:
    """An old Python must reach the line that says it is too old, so it must be able to read the whole file."""
    ast.parse((ROOT / "run.py").read_text("utf-8"), feature_version=(3, 7))


@pytest.mark.parametrize(
    ("address", "foreign"),
    [
        ("http://127.0.0.1:8501/tree", False),
        ("ws://localhost:8501/_stcore/stream", False),
        ("data:text/plain,x", False),
        ("https://fonts.example.com/a", True),
        ("http://127.0.0.1.example.com/", True),
    ],
)
def test_foreign_requests__are_seen(address: str, foreign: bool) -> None:
    assert is_foreign(address) is foreign


SKIPPING = """
import pytest

@pytest.mark.parametrize("case", [])
def test_of_no_case(case): ...

def test_of_data(data):
    data("no-such-file")

@pytest.mark.browser
@pytest.mark.skip(reason="not today")
def test_walk(): ...

def test_of_database():
    pytest.skip("PostgreSQL is not installed")

def test_of_labels():
    pytest.skip("R with haven is not installed")
"""


def run_sample(source: str, folder: Path, *words: str, **environment: str) -> tuple[str, dict[str, int]]:
    """What pytest prints of a file of tests with what tests share, and how many ended how."""
    (folder / "test_sample.py").write_text(source, "utf-8")
    options = ["-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    command = ["-m", "pytest", *options, "-c", str(ROOT / "pyproject.toml"), *words]
    surroundings = {"TMPDIR": str(folder), "PYTEST_ADDOPTS": "", **environment}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in surroundings.items():
            patch.setenv(name, value)
        text = copies.run(command, ROOT).stdout
    counted = re.findall(r"(\d+) (passed|failed|skipped|error|deselected)", text.splitlines()[-1])
    return text, {word: int(number) for number, word in counted}


@pytest.mark.parametrize(("required", "outcome"), [("", "skipped"), ("shared,browser,postgresql,haven", "failed")])
def test_skips__fail_where_they_are_required(required: str, outcome: str, tmp_path: Path) -> None:
    text, counted = run_sample(SKIPPING, tmp_path, str(tmp_path), COPSE_REQUIRE=required)
    words = {"failed" if word == "error" else word for word in counted}  # pytest's word for a fault before the call
    assert words == {outcome}, text
    assert sum(counted.values()) == 5


SWEEP = """
import pytest

@pytest.mark.sweep(3)
@pytest.mark.parametrize("b", range(5))
@pytest.mark.parametrize("a", range(2))
def test_of_pairs(a, b):
    print(a, b)

@pytest.mark.parametrize("a", range(2))
def test_of_two(a): ...
"""


def test_long_tests__that_are_named_are_there() -> None:
    lines = [line for line in (ROOT / "tests" / "long.txt").read_text("utf-8").splitlines() if line[:1] != "#"]
    files = {line.partition("::")[0] for line in lines}
    functions = {
        f"{file}::{node.name}"
        for file in files
        for node in nodes_of((ROOT / file).read_text("utf-8"), ast.FunctionDef)
        if isinstance(node, ast.FunctionDef)
    }
    assert [line for line in lines if line not in functions] == []
    assert len(lines) == len(set(lines)) > 100


def test_sweeps__run_some_cases_and_all_where_they_are_asked_for(tmp_path: Path) -> None:
    folder, case = str(tmp_path), f"{tmp_path / 'test_sample.py'}::test_of_pairs[1-2]"
    text, counted = run_sample(SWEEP, tmp_path, "-s", folder, COPSE_SWEEPS="")
    assert counted == {"passed": 5, "deselected": 7}, text
    assert re.findall(r"\d \d", text) == ["0 0", "0 3", "1 1"]
    assert run_sample(SWEEP, tmp_path, folder, COPSE_SWEEPS="1")[1] == {"passed": 12}
    assert run_sample(SWEEP, tmp_path, case, COPSE_SWEEPS="")[1] == {"passed": 1}
