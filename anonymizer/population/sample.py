"""A table, or a release of it, as a sample: what is known of the population, and the risk of every record.

What is known comes from a second table of the population, counts of it by some columns, the sampling weights of the
table, or the share of the population that is in it; where nothing is, the table counts as the whole population.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.alike import persons_of_values
from anonymizer.errors import ParameterError, Progress, SchemaError, no_progress
from anonymizer.population.attackers import Attackers, Chances, k_map
from anonymizer.population.frequencies import Floats, class_sizes, codes_of, combine, frequencies
from anonymizer.population.individual import household_risk, individual_risk
from anonymizer.population.log_linear import LogLinearRisk, log_linear_risk
from anonymizer.population.suda import SpecialUniques, special_uniques
from anonymizer.population.uniques import Histogram, PopulationUniques, population_of, population_uniques
from anonymizer.schema import Role, Schema

COUNT = "count"
"""The column of a population table that says how many people a row of it stands for; without one, each is one."""


@dataclass(frozen=True, eq=False)
class Population:
    """What a steward says of the population: ``fraction``, the share of it that is in the table, or ``table``: a row a
    person, or a number of people in the column ``count``, with all quasi-identifiers, or with some columns of the table
    only. ``wildcard``: a missing value of the table agrees with every value."""

    fraction: float | None = None
    table: pd.DataFrame | None = None
    wildcard: bool = False

    def __post_init__(self) -> None:
        if self.fraction is not None:
            population_of(1, self.fraction)

    @property
    def tells(self) -> bool:
        """True when anything is said of the population beside the sampling weights of the table."""
        return self.fraction is not None or self.table is not None


WHOLE = Population()
"""Nothing is known: the table counts as the whole population, but for sampling weights."""


@dataclass(frozen=True, eq=False)
class Reach:
    """How far a table of n records reaches into its population: ``weights`` (n,), of how many people each record stands
    for; ``size``: people of the population; ``source``: where that comes from, in words. ``people``: the table of the
    population, with all quasi-identifiers, and ``counts`` how many people each of its rows is; ``None`` without one."""

    weights: Floats
    size: int
    source: str
    people: pd.DataFrame | None = None
    counts: NDArray[np.int64] | None = None

    @property
    def exact(self) -> bool:
        """True when the population was counted, and not estimated."""
        return self.people is not None


@dataclass(frozen=True, eq=False)
class SampleRisk:
    """The risk of the records of a sample. ``rows`` (r,): which rows of the table were counted: all, or of a person's
    rows with one key the first. ``f``, ``population`` (r,): the records of each key in the sample, and the people of
    the population; ``exact``: these were counted. ``own`` (r,): the share of the rows of each key that are its
    person's. ``risk`` (r,): the chance that a record is linked to its person;
    ``household``: that anybody of its household is, ``None`` without a household. ``uniques``: how many people are
    alone in the population, estimated, ``None`` where they were counted. ``source``: of what is known, in words.
    ``log_linear``: the risk of those that are alone in a table, where people were not counted."""

    rows: NDArray[np.int64]
    f: Floats
    population: Floats
    own: Floats
    exact: bool
    risk: Floats
    household: Floats | None
    uniques: PopulationUniques | None
    size: int
    source: str
    log_linear: LogLinearRisk | None = None

    @property
    def prosecutor(self) -> Chances:
        """Chances of who knows that the person is in the sample: a row of the key is the person's."""
        return Chances(float(self.own.max()), float(self.own.min()), float(self.own.mean()))

    @property
    def journalist(self) -> Chances:
        """Chances of who looks a record up in the population; the records' risks where people were not counted."""
        if self.exact:
            return Attackers(self.f, self.population).journalist
        return Chances(float(self.risk.max()), float(self.risk.min()), self.marketer)

    @property
    def marketer(self) -> float:
        """Share of right links when every record is linked with somebody of its key: the mean risk."""
        return float(self.risk.mean())

    @property
    def k_map(self) -> int | None:
        """Fewest people of the population with the key of a record; ``None`` where they were not counted."""
        return k_map(self.population) if self.exact or self.size == len(self.rows) else None

    @property
    def alone_there(self) -> float | None:
        """Share of the records that are alone in the sample which are expected to be alone in the population, 0 to 1;
        ``None`` where no record is alone, or people were counted."""
        if self.uniques is None or not self.alone or self.uniques.best.uniques is None:
            return None
        return min(1.0, self.uniques.best.uniques * len(self.rows) / self.uniques.population / self.alone)

    @property
    def alone(self) -> int:
        """Records that are alone in the sample."""
        return int((self.f == 1).sum())

    @property
    def sure(self) -> int | None:
        """Records that are alone in the sample and in the population; ``None`` where that was not counted."""
        return int(((self.f == 1) & (self.population == 1)).sum()) if self.exact else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, JSON-ready; none is of a single record."""
        households = self.household
        estimates = () if self.uniques is None else self.uniques.estimates
        return {
            "population": {"people": self.size, "source": self.source, "counted": self.exact},
            "records": len(self.rows),
            "unique_records": self.alone,
            "unique_in_population_too": self.sure,
            "unique_ones_alone_in_population": self.alone_there,
            "highest_risk": float(self.risk.max()),
            "average_risk": self.marketer,
            "expected_right_links": float(self.risk.sum()),
            "average_household_risk": None if households is None else float(households.mean()),
            "k_map": self.k_map,
            "prosecutor": vars(self.prosecutor),
            "journalist": vars(self.journalist),
            "marketer": self.marketer,
            "log_linear": None if self.log_linear is None else vars(self.log_linear),
            "population_uniques": None
            if self.uniques is None
            else {
                "people": self.uniques.best.uniques,
                "share": (self.uniques.best.uniques or 0.0) / self.uniques.population,
                "model": self.uniques.best.model,
                "models": [{"model": one.model, "people": one.uniques, "note": one.note} for one in estimates],
            },
        }


def reach_of(table: pd.DataFrame, schema: Schema, population: Population) -> Reach:
    """Return how far a table reaches into its population. Raises :class:`ParameterError` for a population table that
    does not fit, and :class:`SchemaError` for weights that are not numbers above 0."""
    if population.table is not None:
        return reach_by_table(table, schema, population.table)
    weight = schema.only(Role.WEIGHT)
    if weight is not None:
        values = pd.to_numeric(table[weight], errors="coerce").to_numpy(float)
        if (bad := np.flatnonzero(~(np.isfinite(values) & (values > 0)))).size:
            raise SchemaError(
                f"Row {bad[0] + 1} has no sampling weight above 0.",
                column=weight,
                row=int(bad[0]),
                remedy="Give every row the number of people that it stands for.",
            )
        return Reach(values, max(len(table), round(values.sum())), "the sampling weights of the rows")
    if population.fraction is not None:
        size = population_of(len(table), population.fraction)
        source = f"the share of the population that is in the table: {population.fraction:g}"
        return Reach(np.full(len(table), 1 / population.fraction), size, source)
    source = "nothing: the table counts as the whole population"
    return Reach(np.ones(len(table)), len(table), source)


def reach_by_table(table: pd.DataFrame, schema: Schema, people: pd.DataFrame) -> Reach:
    """Return the reach that a table of the population, or counts of it by some columns, give."""
    counts = np.ones(len(people), np.int64)
    if COUNT in people.columns and COUNT not in table.columns:
        numbers = pd.to_numeric(people[COUNT], errors="coerce").to_numpy(float)
        if not (np.isfinite(numbers) & (numbers >= 0) & (numbers % 1 == 0)).all():
            raise ParameterError(
                f"Not every number in the column {COUNT!r} of the population table is a whole number of people.",
                remedy="Write how many people each row stands for.",
            )
        counts = numbers.astype(np.int64)
    if set(schema.quasi_identifying) <= set(people.columns):
        names = list(schema.quasi_identifying)
        return Reach(
            np.ones(len(table)), int(counts.sum()), "a table of the population", people[names].reset_index(drop=True),
            counts,
        )  # fmt: skip
    shared = [name for name in people.columns if name in table.columns]
    if not shared or COUNT not in people.columns:
        raise ParameterError(
            "The population table has neither all quasi-identifiers nor counts of people by columns of the table.",
            remedy=f"Use a row for each person, or numbers in a column {COUNT!r} beside columns of the table.",
        )
    own, theirs = codes_of(table, shared, people)
    here, there = frequencies(own), frequencies(own, theirs, counts.astype(float))
    if (short := np.flatnonzero(there < here)).size:
        raise ParameterError(
            f"The table has {here[short[0]]:,.0f} rows like row {short[0] + 1}, and the population only "
            f"{there[short[0]]:,.0f} people.",
            row=int(short[0]),
            remedy="Use counts that hold everybody in the table, written the same way.",
        )
    return Reach(there / here, int(counts.sum()), f"counts of people by {', '.join(shared)}")


def sample_risk(table: pd.DataFrame, schema: Schema, population: Population | None = None) -> SampleRisk:
    """Return the risk of a table as it stands. Raises what :func:`reach_of` raises."""
    population = population or Population()
    reach = reach_of(table, schema, population)
    wildcard = 1.0 if population.wildcard else None
    if reach.people is None:
        codes, theirs = codes_of(table, schema.quasi_identifying)
    else:
        codes, theirs = codes_of(table, schema.quasi_identifying, reach.people)
    key, person = combine(codes), person_of(table, schema)
    rows = distinct_rows(key, person)
    f = frequencies(codes[rows], wildcard=wildcard)
    if reach.people is None or reach.counts is None:
        people = frequencies(codes[rows], weights=reach.weights[rows], wildcard=wildcard)
    else:
        people = frequencies(codes[rows], theirs, reach.counts.astype(float), wildcard=wildcard)
    sizes = sizes_like(f) if population.wildcard else class_sizes(codes[rows])
    own = 1 / f if person is None else shares_of_persons(key, person)[rows]
    risk = risk_of(rows, f, people, own, sizes, reach, households_of(table, schema))
    if reach.exact or population.wildcard:
        return risk
    return replace(risk, log_linear=log_linear_risk(codes[rows], f, 1 / np.maximum(reach.weights[rows], 1.0)))


def sizes_like(f: Floats) -> NDArray[np.int64]:
    """Return the sizes of classes (u,) in which records have the frequencies ``f`` (r,), as nearly as whole classes
    can: records that agree with each other by wildcards are in no classes of their own."""
    sizes, records = np.unique(np.rint(f).astype(np.int64), return_counts=True)
    return np.repeat(sizes, np.maximum(np.rint(records / sizes).astype(np.int64), 1))


def risk_of(
    rows: NDArray[np.int64],
    f: Floats,
    people: Floats,
    own: Floats,
    sizes: NDArray[np.int64],
    reach: Reach,
    household: NDArray[np.int64] | None,
) -> SampleRisk:
    """Return the risks that follow from the frequencies ``f`` and ``people`` (r,) of some rows; who is in the sample is
    in the population, too. ``own`` (r,): see :class:`SampleRisk`; ``sizes`` (u,): of classes of equal keys.
    ``household`` (n,): of every row."""
    people = np.maximum(people, f)
    risk = 1 / people if reach.exact else individual_risk(f, people)
    return SampleRisk(
        rows=rows,
        f=f,
        population=people,
        own=own,
        exact=reach.exact,
        risk=risk,
        household=None if household is None else household_risk(risk, household[rows]),
        uniques=None if reach.exact else population_uniques(Histogram.of(sizes), reach.size),
        size=reach.size,
        source=reach.source,
    )


def person_of(table: pd.DataFrame, schema: Schema) -> NDArray[np.int64] | None:
    """Return whose each row is (n,), -1 for nobody's; ``None`` when every row is a person."""
    return None if schema.person is None else persons_of_values(table[schema.person], schema[schema.person])


def households_of(table: pd.DataFrame, schema: Schema) -> NDArray[np.int64] | None:
    """Return which household each row is of (n,), -1 where it is missing; ``None`` without such a column."""
    name = schema.only(Role.HOUSEHOLD)
    return None if name is None else pd.factorize(table[name])[0].astype(np.int64)


def distinct_rows(key: NDArray[np.int64], person: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the rows that count: all, or of a person's rows with one key (n,) the first."""
    if person is None:
        return np.arange(len(key))
    again = pd.DataFrame({"key": key, "person": person}).duplicated().to_numpy()
    return np.flatnonzero(~again | (person < 0))


def shares_of_persons(key: NDArray[np.int64], person: NDArray[np.int64]) -> Floats:
    """Return the share of the rows with each row's key (n,) that are its person's (n,). One of nobody (-1) is of a
    person of its own where others are beside it; else all may be one person's."""
    rows = pd.DataFrame({"key": key, "person": person, "somebody": person >= 0})
    of_key = rows.groupby("key")["somebody"].transform("size").to_numpy(float)
    own = rows.groupby(["key", "person"])["somebody"].transform("size").to_numpy(float)
    others = rows.groupby("key")["somebody"].transform("any").to_numpy()
    own[(person < 0) & others] = 1.0
    return np.asarray(own / of_key)


def special_of(table: pd.DataFrame, schema: Schema, progress: Progress = no_progress) -> SpecialUniques:
    """Return the special uniques of the rows of a table that count, by the place of each among them."""
    codes = codes_of(table, schema.quasi_identifying)[0]
    return special_uniques(codes[distinct_rows(combine(codes), person_of(table, schema))], progress)


@dataclass(frozen=True)
class Risky:
    """One record that is easy to recognise: ``row`` of the table, from 0; ``risk`` and ``score``; ``columns``: the
    smallest set that singles it out, () where none does, and how many such sets it has in all: ``sets``."""

    row: int
    risk: float
    score: float
    columns: tuple[str, ...]
    sets: int


def riskiest(
    risk: SampleRisk, special: SpecialUniques, names: Sequence[str], most: int, by: str = "score"
) -> list[Risky]:
    """Return the riskiest records, those first whose ``by`` ("score" or "risk") is largest. For the inside only: who
    reads it knows whom to look for. ``names`` (m,): of the quasi-identifiers."""
    first, second = (special.score, risk.risk) if by == "score" else (risk.risk, special.score)
    order = np.lexsort((np.arange(len(first)), -second, -first))[:most]
    records = []
    for place in order.tolist():
        sets = special.of(place)
        columns = tuple(names[column] for column in sets[0]) if sets else ()
        records.append(
            Risky(int(risk.rows[place]), float(risk.risk[place]), float(special.score[place]), columns, len(sets))
        )
    return records
