"""Persons in place of rows: how many different ones a class holds, what all rows of one person tell together, and how
many people of a population are behind a class.

A release does not say whose its rows are. Where the secret order of the rows is known, persons are counted exactly;
beside the original alone, the fewest persons that can be behind a class are bounded from below, whatever row is whose.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.candidates import (
    MAX_EDGES,
    MAX_PAIRS,
    Graph,
    Original,
    as_one,
    graph_of,
    kept_columns,
    prepare,
    sides_of,
)
from anonymizer.checking.evidence import Check, Evidence, PersonCounts, rows_text
from anonymizer.checking.linkage import LookAlikes
from anonymizer.checking.released import ColumnCells
from anonymizer.errors import ParameterError
from anonymizer.population.sample import (
    Population,
    Reach,
    SampleRisk,
    distinct_rows,
    households_of,
    person_of,
    reach_of,
    risk_of,
    shares_of_persons,
)
from anonymizer.schema import Role, Schema
from anonymizer.values import share

Numbers = NDArray[np.int64]

MOST_LOOK_UPS = 200_000_000
"""Most times that it is looked up whether a person fits a class."""
CHUNK = 2_000_000
"""Look-ups at a time."""


def count_persons(
    released: pd.DataFrame,
    original: Original,
    classes: LookAlikes,
    order: NDArray[np.integer[Any]] | None,
    cells: Mapping[str, ColumnCells] | None,
) -> PersonCounts | None:
    """Return the persons of a release beside its original; ``None`` when every record is a person, or nobody knows.

    ``classes``, ``cells``: of the release; ``order`` (n',): the original row of each released row, when it is known.
    """
    person = original.person
    if person is None:
        return None
    if len(released) != len(original):
        return PersonCounts(None, False, None, None, None, "the release and the original have not as many rows")
    sides = sides_of(released, original, classes, cells)
    if order is None:
        columns = kept_columns(released, original)
        full = graph_of(sides.with_column(*as_one(columns)) if columns else sides, MAX_EDGES, MAX_PAIRS)
        if full.starts is None:
            return PersonCounts(None, False, None, None, None, full.reason)
        return PersonCounts(fewest_persons(full, person, classes), False, None, None, None)
    counted = persons_of_rows(person[np.asarray(order)], classes)
    assert counted.of_row is not None
    graph = graph_of(sides, MAX_EDGES, MAX_PAIRS)
    if graph.starts is None:
        return replace(counted, reason=graph.reason)
    fits = fitting_records(graph, person)
    class_, who, _ = pairs_of(classes.class_of, counted.of_row)
    fitting, reason = fitting_persons(fits, person, class_, who)
    return replace(counted, fitting=fitting, reason=reason, linking=highest_share(fits, classes.sizes))


def persons_of_rows(of_row: Numbers, classes: LookAlikes, counts: Numbers | None = None) -> PersonCounts:
    """Return the persons of released rows of which it is known whose each is (n,), -1 for nobody's; who fits which
    boxes is not computed, so any record of a person may be behind any row. ``counts`` (n,): how many rows each stands
    for; one, when not given."""
    class_, who, rows = pairs_of(classes.class_of, of_row, counts)
    in_class = np.bincount(class_, minlength=len(classes.sizes)).astype(np.int64)
    largest = float((rows / classes.sizes[class_]).max(initial=0.0))
    linking = float(np.bincount(who, rows).max(initial=0.0) / classes.sizes.min())
    reason = "it takes one table in memory"
    return PersonCounts(in_class, True, of_row, largest, None, reason, linking if linking < 1 else None)


def pairs_of(
    groups: NDArray[Any], person: NDArray[Any], counts: Numbers | None = None
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the pairs of a group and a person that occur, by group, then person, and how often; nobody left out.
    ``counts`` (n,): how many rows each stands for; one, when not given."""
    present = person >= 0
    width = int(person.max(initial=-1)) + 1
    pairs = groups[present].astype(np.int64) * width + person[present]
    keys, place = np.unique(pairs, return_inverse=True)
    times = np.bincount(place, None if counts is None else counts[present], len(keys)).astype(np.int64)
    return keys // max(width, 1), keys % max(width, 1), times


def fewest_persons(full: Graph, person: Numbers, classes: LookAlikes) -> Numbers:
    """Return a number (classes,) of persons that every class has at least, whatever record is behind which of its rows.

    ``full``: which records fit which rows, kept columns included. Of a person, at most as many rows are in a class as
    records of that person fit there; a class of n rows has at least as many persons as the largest of these numbers
    take to reach n. Rows that can be nobody's are taken first.
    """
    assert full.starts is not None
    assert full.types is not None
    type_, who, records = pairs_of(full.type_of, person + 1)  # nobody is 0
    first = np.searchsorted(type_, np.arange(len(full.type_sizes) + 1))
    part = np.repeat(np.arange(len(full.class_sizes)), np.diff(full.starts))
    length = np.diff(first)[full.types]
    at = np.repeat(first[full.types] - (np.cumsum(length) - length), length) + np.arange(int(length.sum()))
    of_part = pd.DataFrame({"part": np.repeat(part, length), "who": who[at], "records": records[at]})
    summed = of_part.groupby(["part", "who"], sort=False)["records"].sum().reset_index()
    summed["records"] = np.minimum(summed["records"], full.class_sizes[summed["part"]])
    class_of_part = np.empty(len(full.class_sizes), np.int64)
    class_of_part[full.class_of] = classes.class_of
    summed["class"] = class_of_part[summed["part"]]
    most = summed.groupby(["class", "who"], sort=False)["records"].sum().reset_index()
    most["nobody"] = most["who"] != 0
    most = most.sort_values(["class", "nobody", "records"], ascending=[True, True, False], kind="stable")
    reached = most.groupby("class")["records"].cumsum() - most["records"]
    needed = (reached < classes.sizes[most["class"]]) & most["nobody"]
    return np.bincount(most["class"][needed], minlength=len(classes.sizes)).astype(np.int64)


def fitting_records(graph: Graph, person: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the pairs of a class and a person of whom a record fits its box, by class, then person, and how many of
    that person's records do."""
    assert graph.starts is not None
    assert graph.types is not None
    type_, its, records = pairs_of(graph.type_of, person)
    n_persons = int(person.max(initial=-1)) + 1
    first = np.searchsorted(type_, np.arange(len(graph.type_sizes) + 1))
    part, length = np.repeat(np.arange(len(graph.class_sizes)), np.diff(graph.starts)), np.diff(first)[graph.types]
    at = np.repeat(first[graph.types] - (np.cumsum(length) - length), length) + np.arange(int(length.sum()))
    place, fits = pd.factorize(np.repeat(part, length) * n_persons + its[at], sort=True)
    count = np.bincount(place, records[at], len(fits)).astype(np.int64)
    return fits // max(n_persons, 1), fits % max(n_persons, 1), count


def highest_share(fits: tuple[Numbers, Numbers, Numbers], sizes: Numbers) -> float:
    """Return what the chance that a row is one person's is at most (0 to 1), when all complete assignments of records
    to rows are equally likely. ``fits``: as of :func:`fitting_records`; ``sizes`` (classes,): rows.

    The rows of a class can be exchanged, so the chance is the number of a person's records to be expected there, over
    its rows. Of these records no more are there than fit its box: more than are there in truth, where boxes overlap.
    """
    class_, _, records = fits
    return float((np.minimum(records, sizes[class_]) / sizes[class_]).max(initial=0.0))


def fitting_persons(
    fits: tuple[Numbers, Numbers, Numbers], person: Numbers, class_: Numbers, who: Numbers
) -> tuple[Numbers | None, str]:
    """Return how many persons fit all classes that each person has rows in (persons,), and why it was not computed.

    ``fits``: as of :func:`fitting_records`; ``class_``, ``who``: the pairs of a class and a person that occur, by
    class. A person fits a class when a record of that person fits its box.
    """
    fitting_class, its, _ = fits
    n_persons = int(person.max(initial=-1)) + 1
    keys_that_fit = fitting_class * n_persons + its
    crowd = np.bincount(fitting_class, minlength=int(class_.max(initial=-1)) + 1)
    start = np.concatenate([[0], np.cumsum(crowd)])
    # Of each person, the class that fewest fit: who does not fit that one does not fit all.
    by_person = np.lexsort((crowd[class_], who))
    own, classes = who[by_person], class_[by_person]
    opens = np.flatnonzero(np.diff(own, prepend=-1))
    narrow, count = classes[opens], np.diff(np.append(opens, len(own)))
    if int((crowd[narrow] * count).sum()) > MOST_LOOK_UPS:
        return None, "too many persons would have to be compared with each other"
    fitting = np.zeros(n_persons, np.int64)
    sizes = np.cumsum(crowd[narrow] * count)
    for chunk in np.split(np.arange(len(opens)), np.flatnonzero(np.diff(sizes // CHUNK)) + 1):
        length = crowd[narrow[chunk]]
        rank = np.repeat(np.arange(len(chunk)), length)
        places = np.repeat(start[narrow[chunk]] - (np.cumsum(length) - length), length) + np.arange(len(rank))
        other = its[places]
        times = count[chunk][rank]
        pair = np.repeat(np.arange(len(rank)), times)
        turn = np.arange(len(pair)) - np.repeat(np.cumsum(times) - times, times)
        keys = classes[opens[chunk][rank[pair]] + turn] * n_persons + other[pair]
        found_at = np.minimum(np.searchsorted(keys_that_fit, keys), len(keys_that_fit) - 1)
        in_all = np.bincount(pair, weights=keys_that_fit[found_at] == keys, minlength=len(rank)) == times
        fitting[own[opens[chunk]]] = np.bincount(rank, weights=in_all, minlength=len(chunk)).astype(np.int64)
    return fitting, ""


def k_persons(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that every class has rows of at least k different persons ((X, Y)-anonymity, Wang and Fung
    2006)."""
    name, k, persons = "k persons", evidence.required.k, evidence.persons
    if evidence.schema.person is None:
        return ()
    if persons is None or persons.in_class is None:
        why = "that takes the original" if persons is None else persons.reason
        sentence = f"Of how many different persons the rows of a class are was not counted: {why}."
        return (Check(name, k, None, None, "", sentence),)
    fewest = int(np.argmin(persons.in_class))
    achieved = int(persons.in_class[fewest])
    whatever = "" if persons.exact else ", whatever row is whose"
    if achieved >= k:
        sentence = f"Every class has rows of at least {_persons(achieved)}{whatever}."
        if persons.largest is not None:
            sentence += f" At most {share(persons.largest)} of the rows of a class are one person's."
        return (Check(name, k, achieved, True, evidence.where(fewest), sentence),)
    if persons.exact:
        small = persons.in_class < k
        sentence = (
            f"{rows_text(evidence.sizes[small].sum())} are in {small.sum():,} classes with rows of fewer than {k} "
            f"persons; the fewest are {achieved:,}."
        )
        return (Check(name, k, achieved, False, evidence.where(fewest), sentence),)
    sentence = (
        f"The cells alone show no more than {_persons(achieved)} behind the rows of a class; {k} were required. Who "
        "made the release knows which row is whose, and can count exactly."
    )
    return (Check(name, k, achieved, None, evidence.where(fewest), sentence),)


def share_of_one(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check of the largest share of the rows of a class that one person owns: the chance that such a row is
    that person's. None where every row is a person and nothing is required."""
    name, required, persons = "share of one person", evidence.required.share_max, evidence.persons
    if evidence.schema.person is None:
        shares = largest_shares(evidence.class_of, evidence.sizes)
        return () if required is None else (_share(evidence, shares),)
    if persons is None or persons.of_row is None:
        sentence = "The largest share of a class that is one person's was not counted: who made the release can."
        return (Check(name, required, None, None, "", sentence),)
    return (_share(evidence, largest_shares(evidence.class_of, evidence.sizes, persons.of_row, evidence.counts)),)


def largest_shares(
    class_of: Numbers, sizes: Numbers, of_row: Numbers | None = None, counts: Numbers | None = None
) -> NDArray[np.float64]:
    """Return the largest share of the rows of each class (classes,) that is one person's. ``of_row`` (n,): whose each
    row is, -1 for nobody's; without it every row is a person. ``counts`` (n,): how many rows each stands for."""
    if of_row is None:
        return np.asarray(1 / sizes)
    group, _, rows = pairs_of(class_of, of_row, counts)
    shares = np.ones(len(sizes))  # of a class of nobody's rows, which may all be one person's
    shares[group] = 0
    np.maximum.at(shares, group, rows / sizes[group])
    return shares


def _share(evidence: Evidence, of_class: NDArray[np.float64]) -> Check:
    worst, required = int(np.argmax(of_class)), evidence.required.share_max
    achieved = float(of_class[worst])
    sentence = f"Nobody owns more than {share(achieved)} of the rows of a class."
    passed = None if required is None else achieved <= required * (1 + 1e-9)
    if passed is False:
        sentence = f"One person owns {share(achieved)} of the rows of a class; at most {share(required)} was allowed."
    return Check("share of one person", required, achieved, passed, evidence.where(worst), sentence)


def rows_together(evidence: Evidence) -> tuple[Check, ...]:
    """Return how many persons could be told apart by somebody who knows which rows are one person's: fewer than k
    persons fit the boxes of all their rows."""
    persons, k = evidence.persons, evidence.required.k
    if persons is None or not persons.exact:
        return ()
    name = "rows together"
    if persons.fitting is None:
        return (
            Check(
                name, None, None, None, "", f"What a person's rows tell together was not computed: {persons.reason}."
            ),
        )
    present = persons.fitting[persons.fitting > 0]
    few = int((present < k).sum())
    if not few:
        sentence = (
            f"Even somebody who knows which rows are one person's finds at least {k} persons that fit all of them."
        )
        return (Check(name, None, 0, None, "", sentence),)
    sentence = (
        f"Somebody who knows which rows are one person's finds fewer than {k} persons that fit all of them for {few:,} "
        f"of {len(present):,} persons ({share(few / len(present))}). The release does not say which rows are one "
        "person's, unless kept columns do."
    )
    return (Check(name, None, few, None, "", sentence),)


def _persons(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} persons"


def release_risk(
    released: pd.DataFrame,
    classes: LookAlikes,
    order: NDArray[np.integer[Any]],
    table: pd.DataFrame,
    schema: Schema,
    population: Population | None = None,
) -> SampleRisk:
    """Return the risk of the rows of a release, in the order of the table's rows as far as persons are counted.

    ``classes``: of equal released rows; ``order`` (n',): the row of ``table`` behind each. An attacker finds a class of
    look-alikes; the people of the population behind it are those whose values fit its cells, where a table of the
    population has them, else the sum of the weights. Raises :class:`ParameterError` when the population is too large to
    be compared.
    """
    reach = reach_of(table, schema, population or Population())
    person = person_of(table, schema)
    by_table = np.argsort(order, kind="stable")
    class_of, rows = classes.class_of[by_table], np.asarray(order, np.int64)[by_table]
    person = None if person is None else person[rows]
    counted = distinct_rows(class_of, person)
    own = None if person is None else shares_of_persons(class_of, person)[counted]
    class_of, rows = class_of[counted], rows[counted]
    sizes = np.bincount(class_of, minlength=len(classes.sizes)).astype(np.int64)
    if reach.people is None:
        people: NDArray[Any] = np.bincount(class_of, weights=reach.weights[rows], minlength=len(classes.sizes))
    else:
        people = fitting(released, classes, schema, reach)
    f, household = sizes[class_of].astype(float), households_of(table, schema)
    return risk_of(rows, f, people[class_of], 1 / f if own is None else own, sizes[sizes > 0], reach, household)


def fitting(released: pd.DataFrame, classes: LookAlikes, schema: Schema, reach: Reach) -> NDArray[np.float64]:
    """Return how many people of the population fit the cells of each class of a release (classes,)."""
    assert reach.people is not None
    assert reach.counts is not None
    columns = tuple(schema[name] for name in schema.quasi_identifying)
    people: Original = prepare(reach.people, Schema(columns))
    sizes = np.bincount(people.types.class_of, weights=reach.counts, minlength=len(people.types.sizes))
    weighted = LookAlikes(people.types.class_of, sizes.astype(np.int64))
    sides = sides_of(released[list(schema.quasi_identifying)], people, classes)
    graph = graph_of(replace(sides, equal=lambda: weighted), MAX_EDGES, MAX_PAIRS)
    if graph.records_per_class is None:
        raise ParameterError(
            f"The release was not compared with the population: {graph.reason}.",
            remedy="Use the population as counts of people by fewer columns.",
        )
    return graph.records_per_class.astype(float)


def sample_of(
    released: pd.DataFrame,
    classes: LookAlikes,
    schema: Schema,
    population: Population,
    original: Original | None,
    order: NDArray[np.integer[Any]] | None,
) -> SampleRisk | None:
    """Return the risk of the rows of a release as far as it can be told: where weights, persons or the rates at which
    people were drawn are in the original alone, only beside it and with the ``order``, else ``None``."""
    if original is not None and order is not None:
        return release_risk(released, classes, order, original.table, schema, population)
    bare = Schema(tuple(schema[name] for name in schema.quasi_identifying))
    counted = population.table is not None and set(bare.quasi_identifying) <= set(population.table.columns)
    by_row = population.table is not None or schema.only(Role.WEIGHT) is not None
    if schema.person is not None or (by_row and not counted):
        return None
    return release_risk(released, classes, np.arange(len(released)), released, bare, population)
