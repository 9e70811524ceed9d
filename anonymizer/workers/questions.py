"""Questions to workers, and what an answer is: what goes wrong is one too, in words that hold no value."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import ref

import numpy as np
import pyarrow as pa

from anonymizer.errors import AnonymizerError
from anonymizer.growing.encode import MAX_CODES
from anonymizer.growing.threads import one_thread
from anonymizer.partitions.coded import person_columns
from anonymizer.partitions.pieces import PartitionedTable
from anonymizer.partitions.places import File
from anonymizer.reading.options import ReadOptions
from anonymizer.schema import Column, Kind, Schema
from anonymizer.version import VERSION

PACKAGES = ("numpy", "pandas", "pyarrow", "numba", "dask", "distributed")
R = TypeVar("R")


class Failure(NamedTuple):
    """What went wrong on a worker, in words that hold no value. ``kind``: the name of an error."""

    kind: str
    problem: str
    column: str | None = None
    remedy: str = ""


@dataclass(frozen=True, eq=False)
class Share:
    """Consecutive pieces of a table that a worker should have. ``run``: whose they are; ``names``: the columns that
    leave; ``whose``: those that are read beside them, for they speak of persons; ``numeric``: columns whose values may
    stay with their share, where these are more than ``most``."""

    run: str
    number: int
    table: PartitionedTable
    names: tuple[str, ...]
    options: ReadOptions
    whose: tuple[str, ...] = ()
    numeric: tuple[Column, ...] = ()
    most: int = MAX_CODES


def shares_of(
    run: str, table: PartitionedTable, schema: Schema, options: ReadOptions, workers: int
) -> tuple[Share, ...]:
    """Return the shares of a table, one for each worker, as equal as its pieces allow: in records, or in bytes of
    text; of files at an address, whose bytes are not known, in number."""
    sizes = [piece.size or 1 if table.delimiter else piece.rows for piece in table.pieces]
    starts = np.cumsum([0, *sizes])
    goals = np.arange(1, workers) * starts[-1] / max(1, workers)
    nearest = [int(np.abs(starts - place).argmin()) for place in goals]
    ends = [end for end in dict.fromkeys(nearest) if 0 < end < len(table.pieces)]
    bounds = zip([0, *ends], [*ends, len(table.pieces)], strict=True)
    names = schema.released, options, person_columns(schema), numeric_columns(table, schema)
    return tuple(
        Share(run, number, replace(table, pieces=table.pieces[start:end]), *names)
        for number, (start, end) in enumerate(bounds)
    )


def numeric_columns(table: PartitionedTable, schema: Schema) -> tuple[Column, ...]:
    """Return the quasi-identifying columns of numbers that are numbers in the files, too, and have no public cuts."""
    types = pa.types
    return tuple(
        schema[name]
        for name in schema.quasi_identifying
        if schema[name].kind is Kind.NUMERIC and not schema[name].cuts and not table.delimiter
        and (types.is_integer(table.types[name]) or types.is_floating(table.types[name]))
    )  # fmt: skip


def guarded(work: Callable[..., R]) -> Callable[..., R]:
    """Return ``work`` as a worker does it: it never raises, but returns a :class:`Failure`, also one that it is
    given."""

    @wraps(work)
    def guard(*arguments: Any) -> Any:
        for argument in arguments:
            for item in argument if isinstance(argument, list) else (argument,):
                if isinstance(item, Failure):
                    return item
        try:
            with one_thread():
                return work(*arguments)
        except AnonymizerError as error:
            return Failure(type(error).__name__, error.problem, error.column, error.remedy)
        except MemoryError:
            return Failure(
                "ClusterError",
                f"A worker has too little memory for the step {work.__name__!r}.",
                remedy="Give each worker more memory, or start more of them, and run it again. Nothing was written.",
            )
        except Exception as error:
            place, trace = "", error.__traceback__
            while trace is not None:
                place = f"{Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
                trace = trace.tb_next
            share = next((f" of share {item.number}" for item in arguments if isinstance(item, Share)), "")
            if isinstance(error, OSError) and error.filename and error.strerror:
                return out_of_reach(error)
            return Failure(
                "ClusterError",
                f"The step {work.__name__!r}{share} failed on a worker: {type(error).__name__} in {place}.",
                remedy="Nothing was written. If it happens again, run it with --engine local.",
            )

    return guard


def out_of_reach(error: OSError) -> Failure:
    """Return what is said of a file or folder that a worker could not read or write: its name, and what the system
    says."""
    return Failure(
        "ClusterError",
        f"A worker cannot read or write {str(error.filename)!r}: {error.strerror}.",
        remedy="See that every worker sees the input and the output folder under the same path, and may read and write "
        "there, then run it again; nothing was written.",
    )


def require_seen(file: File) -> None:
    """Raise :class:`OSError` where this worker cannot open a file of a disk: one that only the client sees did not
    change."""
    if isinstance(file, Path):
        file.open("rb").close()


class Question(NamedTuple):
    """A question by its key, with its future as long as somebody holds on to that."""

    key: str
    future: Callable[[], Any]


def keys_in(argument: Any) -> Any:
    """Return an argument of a question, :class:`Question` in the place of futures."""
    from distributed import Future

    if isinstance(argument, list):
        return [keys_in(item) for item in argument]
    return Question(str(argument.key), ref(argument)) if isinstance(argument, Future) else argument


def answers_in(argument: Any, future: Callable[[str, Any], Any]) -> Any:
    """Return an argument with the ``future`` of each question that is in it."""
    if isinstance(argument, list):
        return [answers_in(item, future) for item in argument]
    return future(argument.key, argument.future()) if isinstance(argument, Question) else argument


def about() -> dict[str, str]:
    """Return the versions that must be the same everywhere, by what they are of."""
    versions = {"Copse": VERSION, "Python": "{}.{}.{}".format(*sys.version_info[:3])}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = ""
    return versions


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Dask's own words of what comes and goes from the terminal."""
    from distributed.utils import silence_logging_cmgr

    with silence_logging_cmgr("CRITICAL"):
        yield
