"""The whole flow of a table in files, on one machine or on the workers of a cluster: files in, a checked folder out.
What is released is what :func:`anonymizer.pipeline.anonymize` releases of the same table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anonymizer.abilities import require
from anonymizer.errors import ParameterError, Progress, no_progress
from anonymizer.ledger.ledger import Ledger
from anonymizer.partitions.ledger import Register
from anonymizer.partitions.pieces import PartitionedTable, open_table
from anonymizer.partitions.places import is_remote, local_source
from anonymizer.partitions.run import FilesResult, release_here
from anonymizer.partitions.values import ROWS
from anonymizer.reading.options import ReadOptions
from anonymizer.releasing.files import require_apart, require_free
from anonymizer.releasing.generalize import check_choices
from anonymizer.schema import Schema
from anonymizer.settings import Settings

IN_PIECES = ("local", "dask")
"""Engines that read files in pieces."""


def anonymize_files(
    source: str | Path | PartitionedTable,
    schema: Schema,
    folder: str | Path,
    *,
    options: ReadOptions | None = None,
    rng: np.random.Generator | None = None,
    reasons: Mapping[str, str] | None = None,
    override: str = "",
    progress: Progress = no_progress,
    rows: int = ROWS,
    engine: str = "local",
    cluster: Mapping[str, Any] | None = None,
    ledger: Ledger | None = None,
    words: Mapping[str, str] | None = None,
    **settings: Any,
) -> FilesResult:
    """Write a verified release of a table in files into a new folder, piece by piece; return what it is.

    ``source``: a file of Parquet or delimited text, a folder, a pattern such as ``in/*.parquet``, or an address that
    fsspec opens: see :func:`anonymizer.partitions.pieces.open_table`; or what that returned. ``folder``: new, or
    empty; it is there as a whole or not at all. ``options``: which texts mean missing, and how text is read. ``rng``,
    ``reasons``, ``settings``: of :func:`anonymizer.pipeline.anonymize`.
    ``override``: why it is written although a check fails. ``rows``: of a piece, and of a written file.
    ``engine``: "local", or "dask", where the records are on the workers of a cluster, the one that ``cluster`` says in
    the words of :func:`anonymizer.workers.cluster.open_cluster`; then all of them see the files and the folder.
    ``ledger``: the release is counted together with those of a ledger, packed with its key, and entered there before
    the folder stands at its name; ``words``: what the entry says, of :meth:`anonymizer.ledger.ledger.Ledger.enter`.

    Records are kept as small numbers, 1 to 4 bytes a column; of columns that do not leave only those are read that
    speak of persons, to count these. The gate looks at up to 500,000 records, evenly spread.

    Raises :class:`ParameterError` for settings that take one table in memory and a folder that is there already,
    :class:`ReadError` for a file that cannot be read or that changes meanwhile, by its name, and whatever the stages
    raise.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> table.to_csv(folder / "people.csv", index=False)
    >>> result = an.anonymize_files(folder / "people.csv", schema, folder / "released", k=10)
    >>> result.verification.passed, (folder / "released" / "manifest.json").exists()
    (True, True)
    """
    s = Settings(**settings)
    place = source.source if isinstance(source, PartitionedTable) else source
    if engine not in IN_PIECES:
        raise ParameterError(f"There is no engine {engine!r}.", value=engine, remedy="Choose local or dask.")
    check_choices(s.generalizer, s.writing, s.numbers)
    if ledger is not None:
        ledger.require_key()
    require(engine, s, schema, place)
    if not is_remote(place):
        require_apart(local_source(place), folder)
    require_free(folder)
    progress(0.0, "Reading the pieces")
    table = source if isinstance(source, PartitionedTable) else open_table(source, rows, options)
    register = None if ledger is None else Register(ledger, words or {})
    arguments = table, schema, folder, s, options, rng, reasons or {}, override, progress, rows, register
    if engine == "dask":
        from anonymizer.workers.remote import release_elsewhere

        return release_elsewhere(*arguments, **cluster or {})
    return release_here(*arguments)
