"""How easily records can be told apart: classes of look-alike records, and the linking risk that follows.

It reads any table, the original as well as a release, and knows nothing of trees. Two records look alike when
they agree on every given column; missing agrees with missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import ParameterError, SchemaError
from anonymizer.values import BLOCK

AT_ONCE = 5
"""Columns that are laid side by side in one pass."""

_WIDEST = 1 << 62
"""Combined keys stay below this, so that they fit a signed 64-bit integer."""


@dataclass(frozen=True, eq=False)
class LinkageRisk:
    """What an attacker who knows the given columns of a person can do. Where rows are not persons, all figures are of
    persons, and whoever is in several classes counts once in each; ``highest`` is then the largest share of a class's
    rows that is one person's, for a row of the class is that person's with this chance.

    ``records`` n; ``groups``: number of classes of look-alike records; ``unique``: records alone in their class;
    ``smallest`` and ``mean``: class sizes in records. Probabilities between 0 and 1: ``highest`` is 1 / smallest,
    for an attacker who knows that the person is in the table (prosecutor); ``marketer`` is groups / records, the
    share of right links when everybody is linked at random within the classes. ``journalist`` does not know who is
    in the table: with a population table it is the highest 1 / (class size in the population), without one nothing
    better than the prosecutor's bound is known and ``population`` is ``None``; with one, ``marketer`` also uses the
    population's classes. ``sizes`` (d,) are the distinct class sizes, ascending, and ``records_of_size`` (d,) how
    many records live in classes of each size. El Emam, "Guide to the De-Identification of Personal Health
    Information", names the three attackers.
    """

    records: int
    groups: int
    unique: int
    smallest: int
    mean: float
    highest: float
    marketer: float
    journalist: float
    population: int | None
    sizes: NDArray[np.int64]
    records_of_size: NDArray[np.int64]

    def share_above(self, threshold: float) -> float:
        """Return the share of the records whose own linking risk, 1 / class size, is above the threshold (0 to 1).

        Raises :class:`ParameterError` for a threshold that is not a probability.
        """
        if not 0 <= threshold <= 1:
            raise ParameterError(
                f"A risk threshold of {threshold!r} is not a probability.",
                value=threshold,
                remedy="Choose a number from 0 to 1; 0.1 means one chance in ten.",
            )
        if not self.records:
            return 0.0
        risky = self.sizes * threshold < 1 - 1e-12
        return float(self.records_of_size[risky].sum() / self.records)

    def attackers(self) -> dict[str, tuple[float, str]]:
        """Return for each kind of attacker the risk (0 to 1) and what it means, in words."""
        if self.population is None:
            journalist = (
                "Does not know who is in the table. No table of the population was given, so the only safe bound is "
                "the prosecutor's."
            )
        else:
            journalist = (
                f"Does not know who is in the table, but has a list of the population ({self.population:,} people): "
                "the chance of a right link for the person most at risk."
            )
        return {
            "prosecutor": (
                self.highest,
                "Knows that the person is in the table: the chance of a right link for the person most at risk.",
            ),
            "journalist": (self.journalist, journalist),
            "marketer": (self.marketer, "Links everybody at once: the share of links that are expected to be right."),
        }


@dataclass(frozen=True, eq=False)
class LookAlikes:
    """Classes of records that agree on some columns: the class of each record (n,), and the classes' sizes (groups,),
    in records."""

    class_of: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @property
    def first(self) -> NDArray[np.int64]:
        """One record of each class, (groups,)."""
        record = np.empty(len(self.sizes), dtype=np.int64)
        record[self.class_of] = np.arange(len(self.class_of))
        return record


def look_alikes(frame: pd.DataFrame, columns: Sequence[str]) -> LookAlikes:
    """Return the classes of ``frame`` on ``columns``, to be found once and handed to whatever asks for them.

    Raises :class:`SchemaError` when a column is not there.
    """
    return classes_of((_column_key(frame, name) for name in columns), len(frame))


def classes_of(keys: Iterable[tuple[NDArray[np.integer[Any]], int]], n: int) -> LookAlikes:
    """Return the classes of n records that agree on every key: the codes of a column (n,), and a bound of them."""
    keys = list(keys)
    first = _first_of_runs([codes for codes, _ in keys], n)
    if first is None:
        class_of, groups = _dense(_fold(keys, n))
        return LookAlikes(class_of, np.bincount(class_of, minlength=groups).astype(np.int64))
    lengths = np.diff(first, append=n)
    class_of, groups = _dense(_fold([(codes[first], bound) for codes, bound in keys], len(first)))
    sizes = np.bincount(class_of, lengths, minlength=groups).astype(np.int64)
    return LookAlikes(np.repeat(class_of, lengths), sizes)


def _first_of_runs(columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64] | None:
    """Return the first of all records that follow each other and agree on every column, (runs,); ``None`` where these
    are more than half of all n."""
    other = np.zeros(n, dtype=np.bool_)
    other[:1] = True
    for codes in columns:
        other[1:] |= codes[1:] != codes[:-1]
        if 2 * np.count_nonzero(other) > n:
            return None
    return np.flatnonzero(other)


def sizes_of(classes: LookAlikes, counts: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the rows of each class (groups,), where each record stands for so many, (n,); one, when not given."""
    if counts is None:
        return classes.sizes
    return np.bincount(classes.class_of, counts, minlength=len(classes.sizes)).astype(np.int64)


def look_alikes_in_codes(codes: NDArray[np.integer[Any]], bounds: Sequence[int]) -> LookAlikes:
    """Return the classes of records that agree in all of their codes (n, p), from 0 and below the bound of each
    column."""
    keys = [(codes[:, column], bound) for column, bound in enumerate(bounds)]
    class_of, groups = _dense(_fold(keys, len(codes)))
    return LookAlikes(class_of, np.bincount(class_of, minlength=groups).astype(np.int64))


def side_by_side(columns: "list[NDArray[Any]]") -> NDArray[np.void]:
    """Return p columns (n,) as one array (n,), whose items hold the values of all columns, each in its own width; the
    list is emptied. So the values of a record lie together, in as few bytes as they need."""
    fields = [(str(place), column.dtype) for place, column in enumerate(columns)]
    codes = np.empty(len(columns[0]) if columns else 0, dtype=fields)
    while columns:  # some at a time and block by block, so that what is written lies near, and what was, is let go
        first = len(fields) - len(columns)
        for start in range(0, len(codes), BLOCK):
            for place, column in enumerate(columns[:AT_ONCE], first):
                codes[str(place)][start : start + BLOCK] = column[start : start + BLOCK]
        del columns[:AT_ONCE]
    return codes


def rows_wide(codes: NDArray[np.void], rows: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """Return some rows of columns that lie :func:`side_by_side`, as loops take them, (rows, p)."""
    flat = codes.view(np.uint8).reshape(len(codes), -1)
    some = np.take(flat, rows, axis=0).reshape(-1).view(codes.dtype)
    wide = np.empty((len(rows), len(codes.dtype.names or ())), dtype=np.int32)
    for place, column in enumerate(columns_of(some)):
        wide[:, place] = column
    return wide


def columns_of(codes: NDArray[np.void]) -> list[NDArray[Any]]:
    """Return the columns that lie :func:`side_by_side`, p of (n,)."""
    return [codes[name] for name in codes.dtype.names or ()]


def linkage_risk(
    frame: pd.DataFrame,
    columns: Sequence[str],
    population: pd.DataFrame | None = None,
    *,
    person: NDArray[np.integer[Any]] | None = None,
) -> LinkageRisk:
    """Return the linking risk of ``frame`` for an attacker who knows ``columns``.

    ``population``: a larger table with the same columns that contains every record of ``frame``. ``person`` (n,):
    whose each record is, -1 for nobody's, where records are not persons; a population has one record for each.
    Without columns all records look alike. Raises :class:`SchemaError` when a column is not there, and
    :class:`ParameterError` when the population has fewer records of a class than the table.
    """
    classes = look_alikes(frame, columns)
    risk = risk_of_classes(classes, person)
    if population is None:
        return risk
    if not risk.records:
        return replace(risk, population=len(population))
    in_population = _population_counts(frame, population, columns)
    counts = classes.sizes if person is None else persons_in(classes, person)[0]
    own = counts[classes.class_of]
    short = np.flatnonzero(in_population < own)
    if len(short):
        raise ParameterError(
            f"The population table has {int(in_population[short[0]]):,} people like those of row {short[0] + 1}, "
            f"but the table has {int(own[short[0]]):,}.",
            row=int(short[0]),
            remedy="Bring a population table that contains everybody in the table, written the same way.",
        )
    journalist, marketer = float(1 / in_population.min()), float(np.mean(1 / in_population))
    return replace(risk, journalist=journalist, marketer=marketer, population=len(population))


def risk_of_classes(classes: LookAlikes, person: NDArray[np.integer[Any]] | None = None) -> LinkageRisk:
    """Return the linking risk of records in these classes, without a population; ``person`` as in
    :func:`linkage_risk`."""
    return risk_of_sizes(classes.sizes) if person is None else risk_of_sizes(*persons_in(classes, person))


def risk_of_sizes(counts: NDArray[np.int64], largest: float | None = None) -> LinkageRisk:
    """Return the linking risk of classes that have so many records each, or persons, (groups,). ``largest``: the
    largest share of the rows of a class that is one person's, where records are not persons."""
    n, groups = int(counts.sum()), len(counts)
    sizes, classes_of_size = np.unique(counts, return_counts=True)
    smallest = int(sizes[0]) if n else 0
    highest = largest if largest is not None else 1 / smallest if n else 0.0
    return LinkageRisk(
        records=n,
        groups=groups,
        unique=int(np.count_nonzero(counts == 1)),
        smallest=smallest,
        mean=n / groups if groups else 0.0,
        highest=highest,
        marketer=groups / n if n else 0.0,
        journalist=highest,
        population=None,
        sizes=sizes.astype(np.int64),
        records_of_size=(sizes * classes_of_size).astype(np.int64),
    )


def persons_in(classes: LookAlikes, person: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], float]:
    """Return the number of different persons in each class (groups,), 1 where all rows are nobody's, and the largest
    share of the rows of a class that is one person's.

    ``person`` (n,): whose each record is, -1 for nobody's.
    """
    pairs = pd.DataFrame({"class": classes.class_of, "person": person})
    rows = pairs[pairs["person"] >= 0].groupby(["class", "person"], sort=False).size()
    of_class = rows.index.get_level_values("class").to_numpy(np.int64)
    counts = np.bincount(of_class, minlength=len(classes.sizes)).astype(np.int64)
    shares = rows.to_numpy() / classes.sizes[of_class]
    largest = 1.0 if (counts == 0).any() else float(shares.max(initial=0.0))
    return np.maximum(counts, 1), largest


def class_sizes(frame: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return how many records agree with each record on every column, itself included: (n,)."""
    classes = look_alikes(frame, columns)
    return classes.sizes[classes.class_of]


def singling_out(frame: pd.DataFrame, columns: Sequence[str]) -> dict[str, int]:
    """Return for each column, how many records are unique on all columns but would not be without this one.

    Exact at any size: no sampling, no hash that could collide. The work is about that of p + 1 countings of classes.
    """
    return singled_out({name: _column_key(frame, name) for name in columns}, len(frame))


def singled_out(keys_of: Mapping[str, tuple[NDArray[np.integer[Any]], int]], n: int) -> dict[str, int]:
    """Return what :func:`singling_out` does; ``keys_of``: of each column the codes of n records (n,), and a bound."""
    columns, keys = list(keys_of), list(keys_of.values())
    whole, groups = _dense(_fold(keys, n))
    unique = np.bincount(whole, minlength=groups)[whole] == 1
    if not unique.any():
        return dict.fromkeys(columns, 0)
    after = [_nothing(n)]
    for key in reversed(keys[1:]):
        after.append(_join(key, after[-1]))
    before = _nothing(n)
    counts: dict[str, int] = {}
    for name, key, rest in zip(columns, keys, reversed(after), strict=True):
        without, groups = _dense(_join(before, rest))
        alone = np.bincount(without, minlength=groups)[without] == 1
        counts[name] = int(np.count_nonzero(unique & ~alone))
        before = _join(before, key)
    return counts


def equivalence_classes(frame: pd.DataFrame, columns: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    """Return the class of every record, numbered 0 to groups - 1 (n,), and the number of classes.

    Records are in one class when they agree on every column; missing agrees with missing.
    """
    return _dense(_fold([_column_key(frame, name) for name in columns], len(frame)))


_Key = tuple[NDArray[np.integer[Any]], int]
"""Integers below a bound, one a record, and the bound: equal integers mean agreeing records."""


def _column_key(frame: pd.DataFrame, name: str) -> _Key:
    if name not in frame.columns:
        raise SchemaError(
            f"There is no column {name!r} in the table.",
            column=name,
            remedy="Its columns are: " + ", ".join(map(str, frame.columns[:40])) + ".",
        )
    values = frame[name]
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes, bound = values.array.codes, len(values.cat.categories) + 1
        return codes.astype(np.min_scalar_type(-bound)) + codes.dtype.type(1), bound
    codes, distinct = pd.factorize(values)
    return codes + 1, len(distinct) + 1


def _nothing(n: int) -> _Key:
    return np.zeros(n, dtype=np.int64), 1


def _fold(keys: Iterable[_Key], n: int) -> _Key:
    key = _nothing(n)
    for other in keys:
        key = _join(key, other)
    return key


def _join(first: _Key, second: _Key) -> _Key:
    """Return a key in which two records are equal when they are equal in both keys."""
    if first[1] == 1:
        return second
    if second[1] == 1:
        return first
    if first[1] * second[1] >= _WIDEST:
        first, second = _dense(first), _dense(second)
    key = np.multiply(first[0], second[1], dtype=np.int64)
    key += second[0]
    return key, first[1] * second[1]


def _dense(key: _Key) -> tuple[NDArray[np.int64], int]:
    """Return the same key with no integer left out: numbered from 0 to the number of classes - 1."""
    codes, bound = key
    if bound <= max(2 * len(codes), 1 << 16):
        present = np.zeros(bound, dtype=bool)
        present[codes] = True
        number = np.cumsum(present) - 1
        return number[codes], int(number[-1]) + 1
    dense, distinct = pd.factorize(codes, size_hint=1 << 16)  # mostly few of n; else it makes room for n
    return dense, len(distinct)


def _population_counts(frame: pd.DataFrame, population: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return how many people of the population agree with each record: (n,)."""
    both: dict[str, Any] = {}
    for name in columns:
        for table in (frame, population):
            _column_key(table.iloc[:0], name)
        both[name] = pd.concat([frame[name].astype(object), population[name].astype(object)], ignore_index=True)
    codes, groups = equivalence_classes(pd.DataFrame(both), columns)
    return np.bincount(codes[len(frame) :], minlength=groups)[codes[: len(frame)]].astype(np.int64)
