"""The whole flow, in one call: read this first, then :mod:`anonymizer.flow`.

    table + schema → encode → grow → annotate → prune → generalize → verify → report

Every step is a function of its own that can be called alone. In the order of the flow, and of the rooms:

    reading     a file of any kind to a table, with suggested roles
    growing     the table to small codes (encode), the codes to a tree (grow)
    groups      the tree's risk (annotate), and the splits that are taken back for k and other limits (prune)
    releasing   the groups to released cells (generalize)
    checking    every promise, computed again from the cells (verify)
    measuring   what the cells are still worth (measure)
    gate        what stands in the way of leaving, and the steward's reasons
    reporting   what was done and found

:class:`anonymizer.flow.Flow` strings them together, once; :class:`anonymizer.settings.Settings` is what can be chosen.
"""

from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.checking.cell_limits import Promise
from anonymizer.errors import ParameterError, Progress, warn
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier, OtherPeople
from anonymizer.ledger.ledger import Ledger
from anonymizer.plan.plan import Plan
from anonymizer.population.sample import WHOLE, Population
from anonymizer.reading.files import Reading
from anonymizer.result import Result, run_flow
from anonymizer.schema import Schema
from anonymizer.settings import RUN, SETTINGS, Settings, setting_names
from anonymizer.whatif.project import made_again


def anonymize(
    table: pd.DataFrame,
    schema: Schema | Plan,
    *,
    against_original: bool = True,
    reading: Reading | None = None,
    rng: np.random.Generator | None = None,
    reasons: Mapping[str, str] | None = None,
    population: Population = WHOLE,
    earlier: Sequence[Result | str | Path | Ledger | OtherPeople] | Ledger = (),
    keep: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Result:
    """Return a verified release of the table, its report, and every stage on the way to them.

    ``schema``: roles, kinds and domains; or a plan, which says settings and ``reasons``, too, where these are not said.
    ``settings``: any of :data:`anonymizer.settings.SETTINGS` by name, such as ``k=20, grouping="error-risk"``.
    ``criterion``: what guides the splits of the tree: ``detail``, the default, cuts where least is lost and never looks
    at what is sensitive; ``entropy``, ``gini``, and ``sse`` of all numeric sensitive columns together serve the target;
    ``blend`` uses ``weight`` and never grows groups below k. ``cost``: ``ranks`` counts detail of numbers half by
    rank where rows are cut and packed.
    ``grouping``: ``regions``, the default where groups are packed, and ``least``, where they are not, take splits back
    until k holds; ``error-risk`` (Y19) and ``error-digression`` (L14) do so at the least error, and mean the papers'
    criterion, ``entropy`` or ``sse``, where none is named; ``median-mondrian``, ``infogain-mondrian`` and
    ``regression-mondrian`` (LeFevre et al.) are the baselines. A table of more than a million rows is grown as in the
    papers where nothing is said.
    ``generalizer``, ``writing``, ``numbers``: see :func:`anonymizer.releasing.generalize.generalize`. ``k`` and the
    other limits on every group: see :class:`anonymizer.settings.Limits`; they steer pruning, that of the baselines
    too, and the checker requires them of the release again.

    ``against_original``: let the checker also compare with the table. ``reading``: how the table came in, for the
    report. ``rng``: for the row order and whatever else is drawn; by default that follows from the user's key and the
    table, so the same table and settings give the same release. ``reasons``: why the release may leave although
    something stands in the way, by the key of the finding, in three words at least; the report keeps them. Without a
    reason ``result.gate.open`` says what it is, and ``result.release`` makes no file.
    ``population``: what is known of it beside sampling weights, for the limits ``risk_max``, ``risk_mean``, ``k_map``.
    ``earlier``: what is released, too: results of the same table, with its rows in the same order, or their reports, by
    path, of which the releases are made again; last time's, of :func:`anonymizer.whatif.project.last_release`; or a
    ledger, whose releases may be of other tables of the same people, and whose key then is that of packing. The gate
    counts who is in groups of fewer than k when all are put together. ``keep``: make groups that keep these releases:
    everybody stays in a group of k people that all of them share. They are packed inside the earlier groups, or join
    them; who was in none of the releases and is one of fewer than k waits, as far as ``suppression`` allows.
    ``progress``: called with a share from 0 to 1 and what is being done.

    Raises :class:`GuaranteeError` when the table has fewer than k records, :class:`ParameterError` for a setting that
    is not one and a reason for what is never found, and whatever the stages raise.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> roles = {"age": "quasi-identifying", "sex": "quasi-identifying", "diagnosis": "sensitive"}
    >>> an.anonymize(table, roles, k=10).verification.k_anonymous
    True
    """
    if keep and not earlier:
        raise ParameterError("No earlier release is given that could be kept.", remedy="Give its result as earlier.")
    if isinstance(schema, Plan):
        settings, reasons = {**schema.settings, **settings}, schema.answers if reasons is None else reasons
        population = schema.population_data() if population is WHOLE else population
        schema = schema.schema_for(table, None if reading is None else reading.variables)
    before = [earlier] if isinstance(earlier, Ledger) else list(earlier)
    flow = Flow(
        table,
        schema,
        Settings(**settings),
        against_original=against_original,
        reading=reading,
        rng=rng,
        reasons=reasons,
        population=population,
        keep=keep,
        key=next((one.key for one in before if isinstance(one, Ledger)), None),
    )
    result = run_flow(flow.but(earlier=_earlier_of(before, flow)), progress)
    for key in result.gate.unused(reasons or {}):
        warn(f"No finding is called {key!r} here, so the reason for it is not used.")
    return result


def _earlier_of(
    before: Sequence[Result | str | Path | Ledger | OtherPeople], flow: Flow
) -> tuple[Earlier | OtherPeople, ...]:
    """Return what :func:`anonymize` takes as ``earlier`` as a flow counts it."""
    answers: list[Earlier | OtherPeople] = []
    for one in before:
        if isinstance(one, Ledger):
            answers += one.earlier
        elif isinstance(one, Result):
            limits = one.report.provenance.parameters
            answers.append(Earlier.of(one.release, len(flow.table), limits["k"], Promise.of(one.schema, limits)))
        else:
            answers.append(made_again(one, flow, answers) if isinstance(one, str | Path) else one)
    return tuple(answers)


_fixed = [
    parameter for parameter in signature(anonymize).parameters.values() if parameter.kind != Parameter.VAR_KEYWORD
]
anonymize.__signature__ = signature(anonymize).replace(  # type: ignore[attr-defined]
    parameters=[
        *_fixed,
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=SETTINGS[name].default) for name in setting_names(*RUN)),
    ]
)
