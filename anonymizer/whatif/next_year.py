"""Next year's file beside last year's: the figures of both.

A project keeps a :class:`anonymizer.plan.carry_over.Profile` of last time for this: counts and shares of the whole
table, and no value of it.
"""

from collections.abc import Sequence
from dataclasses import replace

from anonymizer.flow import Flow
from anonymizer.measuring.utility import majorities
from anonymizer.plan.carry_over import FIGURES, Profile
from anonymizer.reading.options import ReadOptions
from anonymizer.values import share

COUNTS = ("records", "groups", "smallest")


def profile_of(flow: Flow) -> Profile:
    """Return the profile of the table and release of a flow, which makes what is not made yet."""
    target, after, before = flow.encoded.target.name, flow.after, flow.before
    figures: dict[str, float] = {
        "records": after.records,
        "groups": after.groups,
        "smallest": after.smallest,
        "unique_before": before.unique / before.records,
        "risk": after.highest,
        "gcp": flow.utility.gcp,
    }
    if target:
        most = majorities(flow.released[target], flow.look_alikes)
        figures["posterior"] = float((most / flow.look_alikes.sizes).max())
    table = flow.table[list(flow.schema.released)]
    values = {str(name): int(table[name].nunique()) for name in table.columns}
    missing = {str(name): round(float(table[name].isna().mean()), 2) for name in table.columns}
    return Profile(figures, values, missing)


def compare_figures(last: Profile, now: Profile) -> tuple[tuple[str, str, str], ...]:
    """Return the title, then and now of every figure that both have, as text."""

    def text(name: str, value: float) -> str:
        return f"{value:,.0f}" if name in COUNTS else share(value)

    names = [name for name in FIGURES if name in last.figures and name in now.figures]
    return tuple((FIGURES[name], text(name, last.figures[name]), text(name, now.figures[name])) for name in names)


def read_as_then(then: ReadOptions, now: ReadOptions, sheets: Sequence[str] = ()) -> ReadOptions:
    """Return how a file is read as another one was: what its texts mean as ``then``, how it is laid out as ``now``, but
    for a sheet of the same name among its ``sheets``."""
    sheet = then.sheet if then.sheet in sheets else now.sheet
    return replace(then, delimiter=now.delimiter, encoding=now.encoding, header=now.header, sheet=sheet)
