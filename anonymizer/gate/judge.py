"""The gate: everything about a release that its steward should see before it leaves, in one place.

What depends on the table and the roles alone (:func:`about_table`) is looked at once; what depends on the release
(:func:`judge`) takes the checker's figures and counts nothing again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.evidence import Check
from anonymizer.checking.verify import Verification
from anonymizer.errors import check_headers
from anonymizer.gate.codes import of_numbers, rare_levels
from anonymizer.gate.dependence import FUNCTIONAL, NEAR, Dependence, dependences
from anonymizer.gate.finding import (
    PROMISE,
    Finding,
    Gate,
    Repair,
    Severity,
    danger,
    generalize,
    leave_out,
    share_text,
)
from anonymizer.gate.looks import looks, persons
from anonymizer.gate.shared import ONE_VALUE, Shared, of_unusual
from anonymizer.gate.texts import repeated
from anonymizer.gate.unchanged import computed, judged, knowable, unchanged
from anonymizer.gate.who import ids, risks, same_people, still_people
from anonymizer.reading.facts import ColumnFacts, distinct_values, profile, with_ids
from anonymizer.reading.profile import person_columns, suggest
from anonymizer.schema import Kind, Role, Schema
from anonymizer.settings import Settings

SPREAD = 0.1
"""Least spread of a number that is asked for where groups share one value."""
MOST_VALUES = 10**9
"""More values than any column has."""


def about_table(
    table: pd.DataFrame,
    schema: Schema,
    person: NDArray[np.integer[Any]] | None = None,
    others: Iterable[ColumnFacts] = (),
) -> tuple[Finding, ...]:
    """Return what the table and its roles alone tell: what leaves by mistake, what undoes a box, what stands out.

    ``person`` (n,): whose each record is, -1 for nobody's, when rows are not persons. ``others``: of
    columns that speak of persons, do not leave, and are not in the table.
    """
    check_headers(table)
    distinct = {str(name): distinct_values(table[name]) for name in table.columns}
    facts = profile(table, distinct)
    if schema.person in distinct:
        facts = tuple(with_ids(fact, *distinct[fact.name]) if fact.name == schema.person else fact for fact in facts)
    names = tuple(looks(table, schema, suggest(table, facts=facts), facts, distinct))
    named = {name for finding in names for name in finding.columns}
    with_codes, with_ends = of_numbers(table, schema, facts, distinct, person)
    numbering = person_columns(schema, (*facts, *others))
    apart = tuple(finding for finding in rare_levels(table, schema, facts, person) if not named & set(finding.columns))
    follows = tuple(undone(table, schema, named))
    return (
        *(names or nameless(schema)),
        *repeated(table, schema, facts, distinct, named),
        *knowable(schema, facts, distinct, named),
        *follows,
        *computed(table, schema, {*named, *(f.columns[0] for f in follows if f.severity is Severity.STOPS)}),
        *persons(schema, (*facts, *others)),
        *ids(schema, (*facts, *others)),
        *same_people(table, schema, [fact for fact in facts if fact.name not in numbering]),
        *with_codes,
        *apart,
        *with_ends,
    )


def nameless(schema: Schema) -> tuple[Finding, ...]:
    """Return the finding that nothing that is released looks identifying."""
    number = len(schema.released)
    what = "1 column" if number == 1 else f"{number:,} columns"
    sentence = "No released column looks identifying."
    left = ", ".join(schema.identifying)
    return (Finding("identifying", Severity.FINE, what, sentence, f"Left out: {left}." if left else ""),)


def undone(table: pd.DataFrame, schema: Schema, but: Iterable[str] = ()) -> Iterable[Finding]:
    """Yield the unchanged columns that undo what generalizing another one did, each with the one it tells most of.

    An insensitive column undoes by telling most of another, or by following from it entirely; following nearly is worth
    a look. A sensitive one is there to be studied by what it follows from: it undoes when it gives a generalized column
    away, and is worth a look when it nearly does. ``but``: not of these.
    """
    others = [schema[name] for name in schema.quasi_identifying]
    columns = [schema[name] for name in (*schema.insensitive, *schema.sensitive) if name not in but]
    worst: dict[str, Dependence] = {}
    for pair in dependences(table, columns, others):
        if schema[pair.column].role is Role.INSENSITIVE or pair.tells >= NEAR:
            worst.setdefault(pair.column, pair)
    for name, pair in worst.items():
        sensitive = schema[name].role is Role.SENSITIVE
        tells = pair.tells >= NEAR
        stops = pair.tells >= (FUNCTIONAL if sensitive else NEAR) or (not sensitive and pair.functional)
        share = pair.tells if tells else pair.follows
        says = (
            f"“{name}” is released unchanged and reveals “{pair.other}”."
            if tells and share >= FUNCTIONAL
            else f"“{name}” is released unchanged and reveals most of “{pair.other}”."
            if tells
            else f"“{name}” is released unchanged and partly reveals “{pair.other}”."
        )
        detail = (
            f"Somebody who sees “{name}” knows {share_text(share)} of what differs in the generalized “{pair.other}”."
            if tells
            else f"{share_text(share)} of what differs in “{name}” follows from the generalized “{pair.other}”."
        )
        yield Finding(
            f"follows: {name}, {pair.other}",
            Severity.STOPS if stops else Severity.LOOK,
            share_text(share),
            says,
            detail,
            (name, pair.other),
            (leave_out(name),) if sensitive else (generalize(name), leave_out(name)),
        )


def judge(
    about: Iterable[Finding],
    schema: Schema,
    settings: Settings,
    verification: Verification,
    classes: Callable[[str], tuple[int, int]] = lambda name: (MOST_VALUES, 0),
    values: Mapping[str, Sequence[Shared]] | None = None,
) -> Gate:
    """Return the gate of a release. ``about``: what :func:`about_table` says; ``verification``: of the release.
    ``classes``: of a column that is left out how many values it has, and how many the class with the fewest.
    ``values``: the values that whole groups share, by column, where they are known."""
    about = still_people(about, settings.k, classes)
    findings = [one for finding in about if not is_settled(finding, settings) for one in judged(finding, verification)]
    names = {name for finding in findings if finding.key.startswith("identifying: ") for name in finding.columns}
    findings += [*unchanged(schema, verification, names), *shared(schema, settings, verification, values or {})]
    findings += risks(schema, settings, verification)
    findings.append(promise(schema, verification))
    return Gate(tuple(sorted(findings, key=danger)))


def is_settled(finding: Finding, settings: Settings) -> bool:
    """Return True when the settings are already those of a repair, such as round ends."""
    return any(
        repair.settings and all(settings[name] == value for name, value in repair.settings)
        for repair in finding.repairs
    )


def shared(
    schema: Schema, settings: Settings, verification: Verification, values: Mapping[str, Sequence[Shared]]
) -> Iterable[Finding]:
    """Yield the sensitive columns of which whole groups share one value, with the limit that keeps them from it:
    different values of levels, spread of numbers. The checker requires different values of numbers, too, which spread
    gives them."""
    checks = {name: verification.get(f"homogeneity of {name}") for name in schema.sensitive}
    checks = {name: check for name, check in checks.items() if check is not None and check.achieved}
    spread = (("spread_min", max(SPREAD, settings.spread_min or 0)),)
    numbers = spread if any(schema[name].kind is not Kind.CATEGORICAL for name in checks) else ()
    for name, check in checks.items():
        assert check is not None
        if schema[name].kind is Kind.CATEGORICAL:
            repair = Repair("Ask for 2 values", settings=(("l", max(2, settings.l or 2)), *numbers))
        else:
            repair = Repair("Ask for a spread of 10%", settings=spread)
        finding = Finding(
            f"{ONE_VALUE}{name}",
            Severity.LOOK,
            rows_of(check),
            f"All people of a group have the same “{name}”.",
            f"{check.sentence} So anybody known to be in the group has it.",
            (name,),
            (repair, leave_out(name)),
        )
        yield of_unusual(name, values[name], finding) if name in values else finding


def rows_of(check: Check) -> str:
    """Return the rows that a check counts, in words."""
    rows = int(check.achieved or 0)
    return "1 row" if rows == 1 else f"{rows:,} rows"


def promise(schema: Schema, verification: Verification) -> Finding:
    """Return what the release is, as the checker says. One that fails a check leaves for a reason that is given where
    it is downloaded, or with ``--override``."""
    first, _, rest = verification.describe().partition(". ")
    if verification.passed:
        k = f"{verification.k:,}-anonymous" if verification.k_anonymous else "Checked"
        return Finding(PROMISE, Severity.FINE, k, first.rstrip(".") + ".", rest, schema.quasi_identifying)
    number = len(verification.failed)
    figure = "1 check" if number == 1 else f"{number:,} checks"
    return Finding(PROMISE, Severity.LOOK, f"{figure} failed", first.rstrip(".") + ".", rest, schema.quasi_identifying)
