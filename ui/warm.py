"""Compile at start what a steward will need in a minute: the first table must not wait for the compiler.

The machine code stays on disk beside the sources, so this is quick from the second start on. Only made-up records are
used. What stays loaded then is kept out of the way of the collection of garbage.
"""

import gc
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

NAME = "warm-up"
"""Of the thread that compiles."""


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Warm up beside the server, which answers meanwhile."""
    threading.Thread(target=begin, name=NAME, daemon=True).start()
    yield


def begin() -> None:
    """Load the libraries and compile, and sweep after each."""
    from anonymizer import attack, charts, comparison  # noqa: F401

    sweep()
    warm_up()
    sweep()


def sweep() -> None:
    """Collect all garbage, and take what is left out of the collections until the next sweep.

    After each drawing of a page all objects are looked through, so that large arrays do not pile up; those of the
    libraries, which stay, made a move of a slider wait for 150 ms. The frame sweeps again when a table came or went.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def wait_text(work: str) -> str:
    """What a spinner says: the work, and why it takes longer as long as loops are being compiled."""
    compiling = any(thread.name == NAME for thread in threading.enumerate())
    return f"{work} Copse is still compiling itself, as once after every update." if compiling else work


def warm_up() -> None:
    """Run the whole flow once on each kind of table."""
    import anonymizer as an
    from anonymizer.domains import code, domains_of
    from anonymizer.draw import svg
    from anonymizer.forest import grow_forest
    from anonymizer.frontier import tree_frontier
    from anonymizer.samples import customers, employees, hospital

    svg("digraph { a }")
    for table, numeric in ((customers(), False), (employees(), True), (hospital(400), False)):
        schema = an.suggest(table)
        grouping = "error-digression" if numeric else "error-risk"
        for generalizer in an.GENERALIZERS:
            result = an.anonymize(table, schema, grouping=grouping, generalizer=generalizer, k=2)
        tree_frontier(result.tree, result.risk, result.encoded, range(2, 9))
    consistency_of_chain()
    table = customers()
    grow_forest(code(table, domains_of(table, str(table.columns[-1]))), 100.0)


def consistency_of_chain() -> None:
    """A release whose linking probabilities are too many to count, so that they are estimated."""
    import pandas as pd

    from anonymizer.consistency import consistency
    from anonymizer.schema import Schema

    people = pd.DataFrame({"x": range(30)})
    rows = pd.DataFrame({"x": [f"[{max(0, x - 1)}, {min(29, x + 1)}]" for x in range(30)]})
    consistency(rows, people, Schema.of(people, quasi_identifying=["x"]))
