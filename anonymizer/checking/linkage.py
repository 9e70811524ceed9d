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

ROUNDING = 1e-12
"""A risk that is above a threshold by no more than this share of itself is equal to it."""

_WIDEST = 1 << 62
"""Combined keys stay below this, so that they fit a signed 64-bit integer."""


@dataclass(frozen=True, eq=False)
class LinkageRisk:
    """What an attacker who knows the given columns of a person can do. The risk of a row is its own person's share of
    the rows of its class: 1 / class size where every row is a person, and more where a person has several rows there.
    A row of nobody is one of a person of its own where others are beside it, else its class may be one person's.

    ``records``: rows n; ``groups``: number of classes of look-alike rows; ``unique``: rows whose class is all one
    person's; ``smallest`` and ``mean``: persons of a class. Probabilities between 0 and 1: ``highest`` is the largest
    risk of a row, for an attacker who knows that the person is in the table (prosecutor); ``marketer`` is the mean, the
    share of right links when everybody is linked at random within the classes. ``journalist`` does not know who is
    in the table: with a population table it is the highest 1 / (class size in the population), without one nothing
    better than the prosecutor's bound is known and ``population`` is ``None``; with one, ``marketer`` also uses the
    population's classes. ``sizes`` (d,) are the distinct class sizes in persons, ascending, and ``records_of_size``
    (d,) how many rows live in classes of each size; ``shares`` (s,) the distinct risks of rows, ascending, and
    ``records_of_share`` (s,) how many rows have each. El Emam, "Guide to the De-Identification of Personal Health
    Information", names the three attackers.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> risk = an.linkage_risk(table, ["age", "sex"])
    >>> risk.records, risk.highest
    (300, 1.0)
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
    shares: NDArray[np.float64]
    records_of_share: NDArray[np.int64]

    def __repr__(self) -> str:
        return (
            f"LinkageRisk of {self.records:,} rows in {self.groups:,} groups: {self.unique:,} unique, "
            f"highest {self.highest:.4g}, mean {self.marketer:.4g}"
        )

    def share_above(self, threshold: float) -> float:
        """Return the share of the rows whose own risk is above the threshold (0 to 1): 0 exactly when ``highest`` is
        not.

        Raises :class:`ParameterError` for a threshold that is not a probability.
        """
        if not 0 <= threshold <= 1:
            raise ParameterError(
                f"A risk threshold of {threshold!r} is not a probability.",
                value=threshold,
                remedy="Choose a number from 0 to 1; 0.1 means one chance in ten.",
            )
        above = self.shares * (1 - ROUNDING) > threshold
        return float(self.records_of_share[above].sum() / max(1, self.records))

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

    >>> import anonymizer as an
    >>> an.linkage_risk(an.SAMPLES["hospital"].load(), ["age", "sex"])
    LinkageRisk of 2,000 rows in 198 groups: 5 unique, highest 1, mean 0.099
    """
    classes = look_alikes(frame, columns)
    risk = risk_of_classes(classes, person)
    if population is None:
        return risk
    if not risk.records:
        return replace(risk, population=len(population))
    in_population = _population_counts(frame, population, columns)
    counts = classes.sizes if person is None else np.maximum(owned_in(classes, person).persons, 1)
    own = counts[classes.class_of]
    short = np.flatnonzero(in_population < own)
    if len(short):
        raise ParameterError(
            f"The population table has {int(in_population[short[0]]):,} people like those of row {short[0] + 1}, "
            f"but the table has {int(own[short[0]]):,}.",
            row=int(short[0]),
            remedy="Use a population table that contains everybody in the table, written the same way.",
        )
    journalist, marketer = float(1 / in_population.min()), float(np.mean(1 / in_population))
    return replace(risk, journalist=journalist, marketer=marketer, population=len(population))


def risk_of_classes(classes: LookAlikes, person: NDArray[np.integer[Any]] | None = None) -> LinkageRisk:
    """Return the linking risk of records in these classes, without a population; ``person`` as in
    :func:`linkage_risk`."""
    return risk_of_sizes(classes.sizes, None if person is None else owned_in(classes, person))


@dataclass(frozen=True, eq=False)
class Owned:
    """Whose the rows of classes are. ``persons``, ``rows`` (groups,): different persons, and rows that are somebody's;
    ``shares``, ``records`` (s,): the distinct shares that one person has of the rows of a class, ascending, and the
    rows of those who have each."""

    persons: NDArray[np.int64]
    rows: NDArray[np.int64]
    shares: NDArray[np.float64]
    records: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64], group: NDArray[np.int64], rows: NDArray[np.int64]) -> "Owned":
        """Return that of classes of these ``sizes`` (groups,), from the pairs of a class and a person that occur: the
        ``group`` and the ``rows`` of each (pairs,)."""
        persons = np.bincount(group, minlength=len(sizes)).astype(np.int64)
        owned = np.bincount(group, rows, minlength=len(sizes)).astype(np.int64)
        return cls(persons, owned, *summed(rows / sizes[group], rows))

    @classmethod
    def together(cls, parts: "Sequence[Owned]") -> "Owned":
        """Return that of the same classes, from those of some of the persons each."""
        shares, records = (np.concatenate([getattr(part, name) for part in parts]) for name in ("shares", "records"))
        persons, rows = (np.sum([getattr(part, name) for part in parts], axis=0) for name in ("persons", "rows"))
        return cls(persons, rows, *summed(shares, records))


def summed(shares: NDArray[np.float64], rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct ones of some shares (s,), ascending, and the sum of the ``rows`` with each."""
    distinct, place = np.unique(shares, return_inverse=True)
    return distinct, np.bincount(place, rows, minlength=len(distinct)).astype(np.int64)


def owned_in(classes: LookAlikes, person: NDArray[np.integer[Any]]) -> Owned:
    """Return whose the rows of classes are. ``person`` (n,): whose each row is, -1 for nobody's."""
    pairs = pd.DataFrame({"class": classes.class_of, "person": person})
    rows = pairs[pairs["person"] >= 0].groupby(["class", "person"], sort=False).size()
    return Owned.of(classes.sizes, rows.index.get_level_values("class").to_numpy(np.int64), rows.to_numpy(np.int64))


def risk_of_sizes(sizes: NDArray[np.int64], owned: Owned | None = None) -> LinkageRisk:
    """Return the linking risk of classes of so many rows each, (groups,). ``owned``: whose these are, where rows are
    not persons."""
    if owned is None:
        persons, of_each = sizes, summed(1 / sizes, sizes)
    else:
        persons, nobody = np.maximum(owned.persons, 1), sizes - owned.rows
        alone = np.where(owned.persons > 0, 1 / sizes, 1.0)
        of_each = summed(np.append(owned.shares, alone[nobody > 0]), np.append(owned.records, nobody[nobody > 0]))
    (shares, records_of_share), n, groups = of_each, int(sizes.sum()), len(sizes)
    distinct, place = np.unique(persons, return_inverse=True)
    highest = float(shares[-1]) if n else 0.0
    return LinkageRisk(
        records=n,
        groups=groups,
        unique=int(records_of_share[shares == 1].sum()),
        smallest=int(persons.min()) if n else 0,
        mean=float(persons.mean()) if n else 0.0,
        highest=highest,
        marketer=float(shares @ records_of_share / n) if n else 0.0,
        journalist=highest,
        population=None,
        sizes=distinct.astype(np.int64),
        records_of_size=np.bincount(place, sizes, minlength=len(distinct)).astype(np.int64),
        shares=shares,
        records_of_share=records_of_share,
    )


def class_sizes(frame: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return how many records agree with each record on every column, itself included: (n,)."""
    classes = look_alikes(frame, columns)
    return classes.sizes[classes.class_of]


def singling_out(frame: pd.DataFrame, columns: Sequence[str]) -> dict[str, int]:
    """Return for each column, how many records are unique on all columns but would not be without this one.

    Exact at any size: no sampling, no hash that could collide. The work is about that of p + 1 countings of classes.

    >>> import anonymizer as an
    >>> an.singling_out(an.SAMPLES["hospital"].load(), ["age", "sex"])
    {'age': 5, 'sex': 5}
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
