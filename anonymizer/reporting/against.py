"""A released table held against what its report says of it beside roles and limits: the order of its rows, and how its
cells are written."""

import pandas as pd

from anonymizer.checking.written import written_otherwise
from anonymizer.errors import CellError
from anonymizer.provenance.claim import Claim
from anonymizer.reporting.described import DescribedColumn, release_from
from anonymizer.schema import Schema

OUT_OF_ORDER = "The rows do not stand in the order that the report says: they are not sorted by their own cells."


def other_than_said(rows: pd.DataFrame, claim: Claim, is_file: bool = True) -> tuple[str, ...]:
    """Return how rows, as :meth:`ReleasedFile.under` the claimed schema gives them, are not ordered or written as a
    report says, a sentence each; none where that cannot be told, for columns are missing or cells are none.
    ``is_file``: they stand in a file; those of a database have no order."""
    if any(name not in rows.columns for name in claim.schema.released):
        return ()
    others = written_otherwise(rows, claim.schema, claim.settings)
    try:
        in_order = not is_file or claim.order != "content" or _stands_sorted(rows, claim.schema)
    except CellError:
        return tuple(others)
    return (*others, *([] if in_order else [OUT_OF_ORDER]))


def _stands_sorted(rows: pd.DataFrame, schema: Schema) -> bool:
    """Return whether rows stand as their own cells sort. Raises :class:`CellError` for what is no cell."""
    columns = [DescribedColumn(name, (), declared=False, may_miss=True) for name in schema.released]
    release = release_from(rows, schema, columns)
    return bool((release.by_content().order == release.order).all())
