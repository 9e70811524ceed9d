"""What commands of the terminal do, as functions: each is as thin as its command, and shares the work with it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from anonymizer.arguments import schema_of_roles
from anonymizer.pipeline import Result, anonymize


def release(
    table: pd.DataFrame,
    *,
    quasi_identifying: Sequence[str],
    sensitive: Sequence[str] = (),
    identifying: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    person: str | None = None,
    weight: str | None = None,
    household: str | None = None,
    stratum: str | None = None,
    target: str | None = None,
    kinds: Mapping[str, str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    ordered: Sequence[str] = (),
    **settings: Any,
) -> Result:
    """Return a verified release of a table (n rows) whose columns have these roles; the command ``anonymize``.

    ``quasi_identifying``: what others may know of a person; ``sensitive``: what nobody may learn; ``identifying``: left
    out; ``insensitive``: released as they are. ``person``: the column whose equal values are one person; ``weight``,
    ``household``, ``stratum``: how a sample was drawn. ``target``: the sensitive column that guides the tree, the first
    by default. ``kinds``, ``domains``, ``ordered``: of :meth:`anonymizer.schema.Schema.of`. ``settings``: whatever
    :func:`anonymizer.pipeline.anonymize` takes, such as ``k=10``, ``l=2``, ``generalizer="pack"``, ``reasons``.

    Raises :class:`SchemaError` for a column without a role that looks as if it told people apart, with the names to
    give one, and what :func:`anonymizer.pipeline.anonymize` raises.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> result.verification.passed, list(result.table.columns)
    (True, ['age', 'sex', 'diagnosis'])
    """
    once = {"person": person, "weight": weight, "household": household, "stratum": stratum}
    roles = {name: [column] for name, column in once.items() if column is not None}
    schema = schema_of_roles(
        table, quasi_identifying=quasi_identifying, sensitive=sensitive, identifying=identifying,
        insensitive=insensitive, target=target, kinds=kinds, domains=domains, ordered=ordered, **roles,
    )  # fmt: skip
    return anonymize(table, schema, **settings)
