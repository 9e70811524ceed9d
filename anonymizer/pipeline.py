"""The whole flow, in one call: read this first, then :mod:`anonymizer.flow`.

    table + schema → encode → grow → annotate → prune → generalize → verify → report

Every step is a function of its own that can be called alone. In the order of the flow, and of the rooms:

    reading     a file of any kind to a table, with suggested roles
    growing     the table to small codes (encode), the codes to a tree (grow)
    groups      the tree's risk (annotate), and the splits that are taken back for k and other limits (prune)
    releasing   the groups to released cells (generalize)
    checking    every promise, computed again from the cells (verify)
    measuring   what the cells are still worth (measure)
    reporting   what was done and found

:class:`anonymizer.flow.Flow` strings them together, once; :class:`anonymizer.settings.Settings` is what can be chosen.
"""

from inspect import Parameter, signature
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.errors import Progress
from anonymizer.flow import Flow, Result
from anonymizer.reading.files import Reading
from anonymizer.schema import Schema
from anonymizer.settings import RUN, SETTINGS, Settings, setting_names

__all__ = ["Result", "anonymize"]


def anonymize(
    table: pd.DataFrame,
    schema: Schema,
    *,
    against_original: bool = True,
    reading: Reading | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Result:
    """Return a verified release of the table, its report, and every stage on the way to them.

    ``settings``: any of :data:`anonymizer.settings.SETTINGS` by name, such as ``k=20, grouping="error-risk"``.
    ``grouping``: ``least``, ``error-risk`` (Y19) and ``error-digression`` (L14) take back splits of a grown tree;
    ``median-mondrian``, ``infogain-mondrian`` and ``regression-mondrian`` (LeFevre et al.) are the baselines. When
    nothing is said, ``error-digression`` for a numeric target, ``error-risk`` for any other.
    ``criterion``: of the grown tree, by default ``entropy`` for a categorical target and ``sse`` for a numeric one,
    which all numeric sensitive columns then guide together; ``blend`` uses ``weight`` and never grows groups below k.
    ``generalizer``, ``writing``, ``numbers``: see :func:`anonymizer.releasing.generalize.generalize`. ``k`` and the
    other limits on every group: see :class:`anonymizer.settings.Limits`; they steer pruning, that of the baselines
    too, and the checker requires them of the release again.

    ``against_original``: let the checker also compare with the table. ``reading``: how the table came in, for the
    report. ``rng``: for the row order and whatever else is drawn; by default a fresh secret. ``progress``: called with
    a share from 0 to 1 and what is being done.

    Raises :class:`GuaranteeError` when the table has fewer than k records, :class:`ParameterError` for a setting that
    is not one, and whatever the stages raise.
    """
    flow = Flow(table, schema, Settings(**settings), against_original=against_original, reading=reading, rng=rng)
    return flow.result(progress)


_fixed = [
    parameter for parameter in signature(anonymize).parameters.values() if parameter.kind != Parameter.VAR_KEYWORD
]
anonymize.__signature__ = signature(anonymize).replace(  # type: ignore[attr-defined]
    parameters=[
        *_fixed,
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=SETTINGS[name].default) for name in setting_names(*RUN)),
    ]
)
