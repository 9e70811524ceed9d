"""Compile every loop before anybody waits for one: once after every update, with a bar. A second process helps where
there are two processors.

The machine code is kept beside the sources, or where numba finds a place that can be written to. A mark beside it says
of which sources it is, so that a start knows whether a compiler will be needed.
"""

import gc
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from anonymizer.errors import Progress, has_extra
from anonymizer.loop_cache import PACKAGE, can_write
from anonymizer.releasing.files import lock_folder, write_file

if TYPE_CHECKING:
    import pandas as pd

    from anonymizer.flow import Flow
    from anonymizer.schema import Schema

Step = tuple[str, Callable[[], object]]
"""What has to run, in words, and as a function."""

HELP = "import sys; from anonymizer.cli.warm import help_compiling; help_compiling(sys.argv[1])"
"""The program that helps to compile."""
UNGROWN = "Compiling: a first release of one region"
"""What it does first: loops of a release, while the other process compiles those of trees, which a table that
cannot be divided does not need."""
FEW = 1_000_000
"""Rows of a leaf that no sample has."""
MARK = "copse-compiled.txt"
BEGUN = "begun: "
"""Before the digest of the sources in the mark, as long as not all of their loops are compiled."""
WIDTHS = ((10, 2), (10, 300), (250, 300), (300, 2), (300, 250), (300, 300), (10, 0), (300, 0))
"""Values of a column and classes by which codes, classes, and both in one number take 8, 16 or 32 bits; 0: numbers."""


def mark_path() -> Path:
    """Return where the mark of what was compiled stands: in numba's folder of this package."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"]) / MARK
    if can_write(PACKAGE):
        return PACKAGE / "__pycache__" / MARK
    return Path.home() / ".cache" / "copse" / MARK


def sources() -> str:
    """Return a digest of all that compiled loops depend on: their sources, and the compiler."""
    texts = [path.read_bytes() for path in sorted(PACKAGE.rglob("*.py"))]
    compiler = f"{sys.version} numba {version('numba')} numpy {version('numpy')}".encode()
    loops = [text for text in texts if re.search(rb"^(@|def )njit", text, re.MULTILINE)]
    return hashlib.sha256(compiler + b"".join(loops)).hexdigest()


def is_compiled() -> bool:
    """Return True when every loop of these sources was compiled here before."""
    try:
        return mark_path().read_text(encoding="utf-8") == sources()
    except OSError:
        return False


def is_begun() -> bool:
    """Return True when somebody began to compile these sources here, and did not come to the end."""
    try:
        return mark_path().read_text(encoding="utf-8") == BEGUN + sources()
    except OSError:
        return False


def compile_loops(progress: Progress | None = None) -> None:
    """Run the whole flow on made-up records of each kind, so that every loop is compiled and kept.

    ``progress``: called with a share from 0 to 1 and what is being done.
    """
    with alone(progress):
        if not (is_compiled() or is_begun()):
            forget_loops()
        mark, begun = mark_path(), BEGUN + sources()
        writable = can_write(mark.parent)
        if writable and not is_compiled():
            write_file(mark, begun)
        do_steps(steps(), progress, helped=writable and processors() > 1)
        if progress is not None:
            progress(1.0, "Done")
        if writable:
            write_file(mark, begun.removeprefix(BEGUN))


def do_steps(work: list[Step], progress: Progress | None, helped: bool) -> None:
    """Do all steps, each in this process or in the one that helps, where there is one."""
    with (
        tempfile.TemporaryDirectory(prefix="copse-steps-") as folder,
        helper(folder) if helped else nullcontext() as other,
    ):
        for number, (words, step) in enumerate(work):
            if take(folder, number):
                if progress is not None:
                    progress((len(os.listdir(folder)) - 1) / len(work), words)
                step()
        if other is None:
            return
        if progress is not None and other.poll() is None:
            progress(1 - 1 / len(work), "Waiting for the second compiler")
        if other.wait():  # it may have left some half done
            for _, step in work:
                step()


@contextmanager
def helper(folder: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Yield a process that does steps of :func:`help_compiling` as long as the block lasts."""
    paths = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
    with subprocess.Popen(
        [sys.executable, "-P", "-c", HELP, folder],
        stdin=subprocess.PIPE,  # whose end says that this process has ended
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": paths},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def help_compiling(folder: str) -> None:
    """Do the steps that no other process has taken: first the loops of a release, then from the last step on. The
    stages are left to the process that says them; this one ends with it."""
    threading.Thread(target=end_with_input, daemon=True).start()
    work = steps()
    titles = [words for words, _ in work]
    for number in (titles.index(UNGROWN), *range(len(work) - 1, titles.index(RELEASE), -1)):
        if take(folder, number):
            work[number][1]()


def end_with_input() -> None:
    """End this process when its input ends."""
    sys.stdin.buffer.read()
    os._exit(1)


def take(folder: str, number: int) -> bool:
    """Return True for the first process that takes a step."""
    try:
        os.close(os.open(os.path.join(folder, str(number)), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@contextmanager
def alone(progress: Progress | None) -> Iterator[None]:
    """Hold the folder of the mark while the block lasts, once no other process does, so that none compiles what another
    one does."""
    folder, handle = mark_path().parent, None
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    while can_write(folder):
        try:
            handle = lock_folder(folder)
            break
        except BlockingIOError:
            if progress is not None:
                progress(0.0, "Waiting: another Copse is compiling")
            time.sleep(1)
        except OSError:  # a place whose folders cannot be locked
            break
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def load_loops() -> None:
    """Load the libraries, and the compiled loops that a first table needs; compile all of them where that was not done
    yet. What a table of another kind needs beside them is loaded when it comes."""
    if not is_compiled():
        compile_loops()
        return
    for stage in STAGES:
        load_stage(stage)
    for _, step in first_steps():
        step()


def load_stage(stage: str) -> None:
    """Load the libraries and the loops of one of :data:`STAGES`."""
    for _, step in STAGES[stage]():
        step()


def forget_loops() -> None:
    """Remove the compiled loops beside the sources: each holds a copy of those that it calls in other files, so one
    change makes all of them stale."""
    for pattern in ("*.nbi", "*.nbc"):
        for path in mark_path().parent.rglob(pattern) if "NUMBA_CACHE_DIR" in os.environ else PACKAGE.rglob(pattern):
            path.unlink(missing_ok=True)


def steps() -> list[Step]:
    """Return what has to run so that every loop is compiled: first what a first tree needs, then a first release."""
    from anonymizer.reading.samples import employees, hospital, visits

    work: list[Step] = []
    for stage, first in STAGES.items():
        work += [*first(), (stage, gc.collect)]
    work += first_steps()
    work += steps_of("numbers", employees()) + steps_of("a larger table", hospital()) + steps_of("persons", visits(200))
    for values, classes in WIDTHS[1:]:
        work.append(step_of_width(values, classes))
    work.append(("Compiling: groups under limits", group_under_limits))
    work.append(("Compiling: trees of rows in pieces", grow_in_pieces))
    work.append(("Compiling: codes of numbers", code_numbers))
    work.append(("Compiling: chances of linking", check_links))
    return work


def first_tree() -> list[Step]:
    """Return what loads the libraries and the loops of the tree of a sample."""
    from anonymizer.drawing.svg import svg

    drawing: Step = ("Loading the drawing of trees", lambda: svg("digraph { a }"))
    drawings = [drawing] if has_extra("reports") else []
    return [*drawings, ("Compiling: a first tree", lambda: first_flow().compute("pruning", "frontier"))]


def first_release() -> list[Step]:
    """Return what loads the loops of the release of a sample: of one that needs no loops of trees, and of the usual."""
    from anonymizer.result import run_flow

    return [
        (UNGROWN, one_region),
        ("Compiling: a first release", lambda: run_flow(first_flow())),
    ]


def one_region() -> None:
    """Pack a sample as it stands and release it as one box: what a first release needs beside the loops of its tree,
    which the other process compiles meanwhile."""
    import numpy as np

    from anonymizer.groups.hulls import scale_of
    from anonymizer.releasing.pack import line_at, pack_line
    from anonymizer.result import run_flow

    flow = first_flow().but(min_leaf=FEW, criterion="entropy", grouping="least", generalizer="uniform")
    encoded, place = flow.coarse, np.arange(len(flow.table))
    pack_line(line_at(encoded, place, place[:1], place[-1:] + 1, place, scale_of(encoded.encodings)), flow.settings.k)
    run_flow(flow)


def first_flow() -> "Flow":
    """Return the flow of a sample; without a key, which nobody has asked for yet."""
    import numpy as np

    from anonymizer.flow import Flow
    from anonymizer.reading.profile import suggest
    from anonymizer.reading.samples import hospital

    return Flow(table := hospital(), suggest(table), rng=np.random.default_rng(0))


def first_steps() -> list[Step]:
    """Return what loads the libraries, that of noise among them, and the loops of a first table of another kind."""
    from anonymizer.forest.domains import code, domains_of
    from anonymizer.forest.forest import grow_forest
    from anonymizer.reading.samples import customers

    table = customers()
    records = code(table, domains_of(table, str(table.columns[-1])))
    forest: Step = ("Compiling: private forests", lambda: grow_forest(records, 100.0))
    return [*steps_of("classes", table), step_of_width(*WIDTHS[0]), *([forest] if has_extra("forest") else [])]


TREE, RELEASE = "Ready for a first tree", "Ready for a first release"
STAGES = {TREE: first_tree, RELEASE: first_release}
"""What is said when the loops of a first tree, and those of a first release, are compiled, and what needs these."""


def steps_of(title: str, table: "pd.DataFrame") -> list[Step]:
    """Return the whole flow of a sample, by every generalizer; without a key, which nobody has asked for yet."""
    import numpy as np

    from anonymizer.flow import Flow
    from anonymizer.reading.profile import suggest
    from anonymizer.releasing.generalize import GENERALIZERS
    from anonymizer.result import run_flow

    schema = suggest(table)
    grouping = "error-digression" if schema.by_numbers else "error-risk"
    usual = Flow(table, schema, rng=np.random.default_rng(0)).but(k=min(10, len(table) // 7))
    flow = usual.but(grouping=grouping)
    grow: Step = (f"Compiling: trees of {title}", partial(flow.compute, "pruning", "frontier"))
    detail: Step = (f"Compiling: detail of {title}", partial(run_flow, usual))
    return [detail, grow] + [
        (f"Compiling: {generalizer} boxes of {title}", partial(run_flow, flow.but(generalizer=generalizer)))
        for generalizer in GENERALIZERS
    ]


def step_of_width(values: int, classes: int) -> Step:
    """Return the growing of a tree from :func:`made_up` records."""
    from anonymizer.flow import Flow

    grown = Flow(*made_up(values, classes)).but(grouping="error-risk" if classes else "error-digression")
    return f"Compiling: trees of {values} values and {classes} classes", partial(grown.compute, "pruning")


def made_up(values: int, classes: int) -> tuple["pd.DataFrame", "Schema"]:
    """Return made-up records, so many that a tree's first nodes are divided from histograms, and their schema.

    ``values``: of a column. ``classes``: of the two sensitive columns; 0: the first one is numeric.
    """
    import pandas as pd

    from anonymizer.growing.records import SMALL
    from anonymizer.schema import Schema

    place = pd.Series(range(SMALL + 1))
    label = (place * 11 % max(classes, 2)).map(str)
    first = label if classes else place * 11 % 1009
    columns = {"x": place % values, "y": place * 7 % 31, "first": first, "second": label, "who": place // 2}
    table = pd.DataFrame(columns)
    return table, Schema.of(table, quasi_identifying=["x", "y"], sensitive=["first", "second"], person="who")


def group_under_limits() -> None:
    """Pack and polish groups that keep a limit on values, which are merged where packing cannot keep it."""
    for generalizer in ("pack", "polish"):
        first_flow().but(generalizer=generalizer, l=3).compute("parts")


def grow_in_pieces() -> None:
    """Grow a tree of records that are in pieces, whose counts are added up as larger numbers, and add up branches."""
    from io import BytesIO

    import numpy as np

    from anonymizer import kernels
    from anonymizer.groups.recipe import Recipe
    from anonymizer.partitions.coded import code_table
    from anonymizer.partitions.pieces import open_table
    from anonymizer.partitions.places import MemoryFile
    from anonymizer.partitions.records import grow_pieces

    table, schema = made_up(*WIDTHS[0])
    sink = BytesIO()
    table.to_parquet(sink)
    pieces = open_table(MemoryFile("records.parquet", sink.getvalue()))
    tree = grow_pieces(code_table(pieces, schema), Recipe(None, 2)).tree
    kernels.add_up(tree.parent, np.zeros((tree.n_nodes, 1), np.int64))


def code_numbers() -> None:
    """Code numbers that may be written into, and such that may not, by codes of 8, 16 and 32 bits."""
    import numpy as np

    from anonymizer.values import distinct_numbers

    for n in (1 << 4, 1 << 10, 1 << 17):
        numbers = np.arange(n)
        distinct_numbers(numbers)
        numbers.flags.writeable = False
        distinct_numbers(numbers)


def check_links() -> None:
    """Check two releases: one whose chances of linking are counted, and one where they are too many and estimated."""
    import pandas as pd

    from anonymizer.checking.consistency import consistency
    from anonymizer.schema import Schema

    for n in (6, 30):
        people = pd.DataFrame({"x": range(n)})
        rows = pd.DataFrame({"x": [f"[{max(0, x - 1)}, {min(n - 1, x + 1)}]" for x in range(n)]})
        consistency(rows, people, Schema.of(people, quasi_identifying=["x"]))
