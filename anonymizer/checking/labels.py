"""Labels of a released file of SPSS, Stata or SAS, held against those that its columns should have."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from anonymizer.errors import ParameterError
from anonymizer.json_value import short_text
from anonymizer.labelled.read import LabelledColumn
from anonymizer.labelled.variable import Variable
from anonymizer.labelled.write import labelled_bytes, planned_table
from anonymizer.schema import Schema

MOST_LISTED = 20
"""Labels that are listed at most."""
WORDS = {
    "label": "another label", "levels": "other codes or labels of values", "missing": "other missing values",
    "ranges": "other missing values",
}  # fmt: skip
"""What is other where two descriptions of a column differ, by the part."""
OTHERS = "The file does not show its columns as the report says: labels, widths or formats are others."


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
