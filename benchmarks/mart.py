"""Numeric sensitive columns: growing on three of them, error-digression pruning, blends, and Census from end to end.

    python run.py bench mart --rows 452220

The table is Adult, made larger by resampling. The class tree predicts ``income``, the tree of three responses
``hours-per-week``, ``capital-gain`` and ``education-num``; both split on the same other columns. A tree of numbers
finds something to gain much longer than one of two classes, so times are also given for trees of about the same number
of nodes. Figures are medians of warm runs in this process, trees in turn, by the clock and in brackets by processor
time, which says more on a busy machine. Census is read from ``../shared/data``.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import anonymizer as an
from anonymizer.growing.encode import EncodedTable
from benchmarks._tables import TABLES
from benchmarks.flow import adult, time_work

RESPONSES = ("hours-per-week", "capital-gain", "education-num")
GOALS = {"three responses over classes": 2.0, "error-digression, ms": 200.0}
"""At most: the aim, printed beside what was measured."""


def main(arguments: Sequence[str]) -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(prog="mart")
    parser.add_argument("--rows", type=int, default=452_220)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--weights", type=float, nargs="*", default=[0.0, 0.5, 0.97], help="of the blends")
    parser.add_argument("--k", type=int, default=10)
    options = parser.parse_args(arguments)
    by_class, by_numbers = both(options.rows)
    growing(by_class, by_numbers, options.repeats)
    pruning(by_numbers, options.k, options.repeats)
    blending(by_class, by_numbers, options)
    census(options.repeats)


def both(rows: int) -> tuple[EncodedTable, EncodedTable]:
    """Return the same quasi-identifiers with a class and with three numbers to predict."""
    table = adult(rows)
    quasi = [c for c in table.columns if c not in ("income", "education", *RESPONSES)]
    return tuple(  # type: ignore[return-value]
        an.encode(table, an.Schema.of(table, quasi_identifying=quasi, sensitive=list(sensitive)))
        for sensitive in (("income",), RESPONSES)
    )


def growing(by_class: EncodedTable, by_numbers: EncodedTable, repeats: int) -> None:
    """Grow both trees, to their ends and of about the same size, and print their seconds."""
    print(f"Growing on {by_class.n_records:,} records, {len(by_class.names)} columns\n")
    print("| | classes, s | nodes | three responses, s | nodes | ratio |")
    print("|---|---|---|---|---|---|")
    ends: list[tuple[str, dict[str, Any]]] = [
        ("to the end, at least 2 a leaf", {"min_leaf": 2}),
        ("at least 10 a leaf", {"min_leaf": 10}),
        ("at least 100 a leaf", {"min_leaf": 100}),
        ("12 levels", {"min_leaf": 2, "max_depth": 12}),
        ("8 levels", {"min_leaf": 2, "max_depth": 8}),
    ]
    for what, options in ends:
        print_pair(what, by_class, by_numbers, options, options, repeats)
    nodes = an.grow(by_class, "entropy", min_leaf=10).n_nodes
    fewest = like(by_numbers, nodes)
    print_pair(
        f"at least 10 and {fewest} a leaf", by_class, by_numbers, {"min_leaf": 10}, {"min_leaf": fewest}, repeats
    )
    print(f"\nGoal for the ratio: {GOALS['three responses over classes']:g}\n", flush=True)


def like(by_numbers: EncodedTable, nodes: int) -> int:
    """Return the fewest records of a leaf with which the tree of numbers has about so many nodes, by halving."""
    low, high = 2, 4096
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if an.grow(by_numbers, "sse", min_leaf=middle).n_nodes > nodes else (low, middle)
    return high


def print_pair(
    what: str,
    by_class: EncodedTable,
    by_numbers: EncodedTable,
    for_class: dict[str, Any],
    for_numbers: dict[str, Any],
    repeats: int,
) -> None:
    """Print one line: both trees, in turn."""
    first = clock_work(lambda: an.grow(by_class, "entropy", **for_class), repeats)
    second = clock_work(lambda: an.grow(by_numbers, "sse", **for_numbers), repeats)
    print(
        f"| {what} | {first.seconds:.3f} ({first.processor:.3f}) | {first.result.n_nodes:,} | "
        f"{second.seconds:.3f} ({second.processor:.3f}) | {second.result.n_nodes:,} | "
        f"{second.seconds / first.seconds:.2f} ({second.processor / first.processor:.2f}) |",
        flush=True,
    )


class Clocked(NamedTuple):
    """Median seconds by the clock and of all processors, and the last result."""

    seconds: float
    processor: float
    result: Any


def clock_work(work: Callable[[], Any], repeats: int) -> Clocked:
    """Run ``work`` several times."""
    clock, processor, result = [], [], None
    for _ in range(repeats):
        first, second = time.perf_counter(), time.process_time()
        result = work()
        clock.append(time.perf_counter() - first)
        processor.append(time.process_time() - second)
    return Clocked(statistics.median(clock), statistics.median(processor), result)


def pruning(by_numbers: EncodedTable, k: int, repeats: int) -> None:
    """Score and prune the tree of three responses, and print the seconds."""
    tree = an.grow(by_numbers, "sse", min_leaf=2)
    scored = time_work(lambda: an.annotate(tree, by_numbers), repeats)
    print(f"Its {tree.n_nodes:,} nodes are scored in {1000 * scored.median:.0f} ms.")
    for criterion in ("error-digression", "least"):
        pruned = time_work(lambda how=criterion: an.prune(tree, scored.result, how, k), repeats)  # type: ignore[misc]
        goal = f" (goal: {GOALS['error-digression, ms']:.0f})" if criterion == "error-digression" else ""
        groups = len(pruned.result.cut())
        print(f"{criterion}, k = {k}: {1000 * pruned.median:.0f} ms{goal}, {groups:,} groups", flush=True)


def blending(by_class: EncodedTable, by_numbers: EncodedTable, options: argparse.Namespace) -> None:
    """Print what it costs to hold the columns together as well."""
    print(f"\nBlends, at least k = {options.k} a leaf\n\n| target | weight | s | nodes |\n|---|---|---|---|")
    for what, encoded, plain in (("class", by_class, "entropy"), ("three numbers", by_numbers, "sse")):
        for weight in (None, *options.weights):
            if weight is None:
                work: Callable[[], Any] = lambda e=encoded, c=plain: an.grow(e, c, min_leaf=options.k)  # noqa: E731
            else:
                work = lambda e=encoded, w=weight: an.grow(e, "blend", min_leaf=options.k, weight=w)  # noqa: E731
            grown = time_work(work, max(1, options.repeats // 2))
            name = f"none ({plain})" if weight is None else f"{weight:g}"
            print(f"| {what} | {name} | {grown.median:.2f} | {grown.result.n_nodes:,} |", flush=True)


def census(repeats: int) -> None:
    """Run L14's large experiment from the file to the checked release: it needed 10.5 s for the groups alone."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        table, schema = TABLES["census"].read()
        read = time.perf_counter() - start
        way = {"grouping": "error-digression", "generalizer": "concatenate", "numbers": "range"}
        result = an.anonymize(table, schema, **way, k=30)
        seconds.append((time.perf_counter() - start, read))
    total, read = sorted(seconds)[len(seconds) // 2]
    after = result.report.after
    print(
        f"\nCensus ({after.records:,} records, {len(schema.quasi_identifying)} quasi-identifiers, k = 30, "
        f"error-digression, concatenated): {total:.1f} s from file to checked release, {read:.1f} s of them reading; "
        f"{after.groups:,} groups, smallest {after.smallest}; every check passed: {result.verification.passed}",
        flush=True,
    )
