"""A released file of SPSS, Stata or SAS: its rows, and its labels held against those that its columns should have."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa

from anonymizer.errors import ParameterError
from anonymizer.json_value import short_text
from anonymizer.labelled.read import LabelledColumn, read_labelled
from anonymizer.labelled.variable import Variable
from anonymizer.labelled.write import labelled_bytes, planned_table
from anonymizer.schema import Schema

LABELLED = ("sav", "dta", "xpt")
"""The formats of SPSS, Stata, and SAS transport files, as the signatures of files call them."""
MOST_LISTED = 20
"""Labels that are listed at most."""
WORDS = {
    "label": "another label", "levels": "other codes or labels of values", "missing": "other missing values",
    "ranges": "other missing values",
}  # fmt: skip
"""What is other where two descriptions of a column differ, by the part."""
OTHERS = "The file does not show its columns as the report says: labels, widths or formats are others."


def labelled_rows(data: bytes, format: str) -> tuple[pd.DataFrame, tuple[str, ...], dict[str, Variable]]:
    """Return the rows of a file of SPSS, Stata or SAS, what else it holds, a sentence each, and what it
    says of its columns.

    Raises :class:`ReadError` for a file that cannot be read.
    """
    columns = []
    for column in read_labelled(data, format, "The file", stop=lambda rows, width: None):
        values = column.values
        if isinstance(values, list):
            values = pd.Categorical(pa.chunked_array(values).cast(pa.large_string()).to_pandas().replace("", None))
        columns.append(replace(column, values=values))
    beside = []
    for column in columns:
        if isinstance(column.values, pd.Categorical) and len(column.variable.levels) > len(column.values.categories):
            beside.append(f"Column {column.name!r} has labels of codes that no row has.")
    try:
        same = labelled_bytes(planned_table(columns, format), format) == data
    except ParameterError:
        same = False
    if not same and not beside:
        beside.append("The file holds something beside its rows and their labels, or is not written as releases are.")
    rows = pd.DataFrame({column.name: column.values for column in columns}, copy=False)
    return rows, tuple(beside), {column.name: column.variable for column in columns}


def label_problems(variables: Mapping[str, Variable], rows: pd.DataFrame, schema: Schema, format: str) -> list[str]:
    """Return how labels in a file are not those that its columns have in a schema, a sentence for each column.
    ``variables``: what the file says of them; ``format``: of the file."""
    names = [str(name) for name in rows.columns]
    own = {column.name: column.variable for column in schema.columns}
    try:
        here = planned_table([_column(rows, name, variables.get(name, Variable())) for name in names], format)
        expected = planned_table(
            [_column(rows, name, own.get(name, Variable())) for name in names], format, schema.quasi_identifying
        )
        if labelled_bytes(here, format) == labelled_bytes(expected, format):
            return []
    except ParameterError:
        return [OTHERS]
    return [
        f"Column {one.name!r} has {WORDS[part]} than the report gives."
        for one, other in zip(here, expected, strict=True)
        for part in [part for part in WORDS if getattr(one.variable, part) != getattr(other.variable, part)][:1]
    ] or [OTHERS]


def labels_text(variables: Mapping[str, Variable]) -> str:
    """Return the labels that nothing but their file gives, in a sentence; "" where it has none."""
    labels = [f"{name!r} is called {short_text(one.label)}" for name, one in variables.items() if one.label]
    more = f", and {len(labels) - MOST_LISTED:,} more" if len(labels) > MOST_LISTED else ""
    if not labels:
        return ""
    return f"Labels that only the file gives, so nobody checked them: {'; '.join(labels[:MOST_LISTED])}{more}."


def _column(rows: pd.DataFrame, name: str, variable: Variable) -> LabelledColumn:
    values = rows[name]
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iufM":
        return LabelledColumn(name, variable, values.to_numpy())
    texts = values if isinstance(values.dtype, pd.CategoricalDtype) else values.astype("category")
    return LabelledColumn(name, variable, texts.array)
