"""The release of a table on a cluster beside a ledger. The key stays here, and so do the digests that are made with it:
workers send which value each of their records has, a column at a time."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonymizer.ledger.rows import Distinct, KeyedRows
from anonymizer.partitions.ledger import Entering, Register
from anonymizer.partitions.pieces import reading
from anonymizer.partitions.values import CodedColumn, PieceValues, codes_among, one_column
from anonymizer.releasing.release import Release
from anonymizer.workers import leaving
from anonymizer.workers.folder import RemoteRelease
from anonymizer.workers.questions import Share, guarded, require_seen
from anonymizer.workers.shares import values_together
from anonymizer.workers.table import ClusterTable


@guarded
def others(share: Share, names: tuple[str, ...]) -> dict[str, PieceValues]:
    """Return the values of a share in columns that do not leave, read from its files."""
    parts: dict[str, list[PieceValues]] = {name: [] for name in names}
    types = share.table.types
    for piece in share.table.pieces:
        require_seen(piece.path)
        with reading(piece.path):
            for batch in share.table.batches(piece, names):
                for name in names:
                    parts[name].append(PieceValues.of(batch.column(name), types[name]))
    values = {}
    for name, of_pieces in parts.items():
        distinct = pc.unique(pa.chunked_array([part.distinct for part in of_pieces], types[name]))
        values[name] = PieceValues(distinct, codes_among(of_pieces, distinct, True))
    return values


def rows_of(table: ClusterTable, key: bytes) -> KeyedRows:
    """Return the rows of a table on a cluster. ``key``: of the ledger."""
    schema, names = table.schema, table.source.names
    apart = other_columns(table, tuple(name for name in names if name not in schema.released))
    person = None
    if table.persons is not None:
        person = np.concatenate([some.who for some in records(table, ())])
    return KeyedRows(schema, names, person, table.n_records, partial(column_of, table, apart), key)


def records(table: ClusterTable, names: tuple[str, ...]) -> list[leaving.Rows]:
    """Return all records of each share, in some columns that leave."""
    return list(table.cluster.answers(table.ask("column", leaving.every, names, table.numbering)))


def column_of(table: ClusterTable, apart: Mapping[str, CodedColumn], name: str) -> Distinct:
    """Return a column. ``apart``: those that do not leave."""
    if name in apart:
        return Distinct(apart[name].values, apart[name].codes)
    of_shares = records(table, (name,))
    values = values_together(table.here, [rows.values for rows in of_shares])
    coding = table.here.with_values({name: some.distinct for name, some in values.items()})
    codes = values[name].codes if name in values else np.concatenate([rows.codes[name] for rows in of_shares])
    return Distinct(coding.table.columns[name].values, codes)


def other_columns(table: ClusterTable, names: tuple[str, ...]) -> dict[str, CodedColumn]:
    """Return columns that do not leave, which are read from the files once more."""
    if not names:
        return {}
    futures = [table.cluster.ask("others", others, share, names, share=share.number) for share in table.shares]
    of_shares = table.cluster.answers(futures)
    options, manner, types = table.shares[0].options, table.here.manner, table.source.types
    return {
        name: one_column(name, types[name], [share[name] for share in of_shares], options, manner) for name in names
    }


def entering_of(
    table: ClusterTable, release: RemoteRelease, register: Register, smallest: int, settings: Mapping[str, Any]
) -> Entering:
    """Return a release on its way into a ledger. ``smallest``: rows of its smallest class; ``settings``: as a report
    keeps them."""
    boxed = release.here
    cells = Release(tuple(boxed.columns.values()), np.arange(len(boxed.sizes)), release.made.method)
    part = np.concatenate(table.cluster.answers(release.parts))
    rows = rows_of(table, register.ledger.require_key())
    return Entering.of(register, rows, cells, part, boxed.rank, smallest, settings)
