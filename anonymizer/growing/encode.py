"""A table as small integer codes: what growing, scoring and pruning work on, and the way back.

Every quasi-identifier becomes a column of codes whose order is the order of its values; what a code stands
for is kept beside it in an :class:`Encoding`. No record's text is kept twice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.alike import meaning, persons_of_values
from anonymizer.errors import EncodeError
from anonymizer.growing.number_codes import cut_codes, number_codes, number_domain, require_values
from anonymizer.growing.target import ClassTarget, NumericTarget, on_steps
from anonymizer.hierarchy import Hierarchy
from anonymizer.labelled.variable import Variable
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import offer
from anonymizer.values import BLOCK, levels_of, numbers_of, value_text

DETAIL, RANKS = "detail", "ranks"
COSTS = (DETAIL, RANKS)
"""What numbers and dates cost in a box: the share of the domain that it spans; or half of that, and half of the share
of records between its ends."""
MOST_SPELLINGS = 5
"""Most levels of a column of which a note tells the spellings."""
MAX_CODES = 65_536
"""Most codes of a column (16 bits). Numeric columns with more distinct values share codes between neighbours."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """What the codes of one column stand for: b codes, the last of them "missing" when ``missing``.

    ``labels``: the value of each code but the missing one (numbers, ``datetime64`` or text), ascending or in
    the declared order. ``low``, ``high``: the smallest and largest number in each code (numeric and dates, dates
    as microseconds since 1970); for categorical columns both are the code itself. ``domain``: the public
    range (numeric), or (0, number of levels). ``variable``: what the column and its levels are in words.
    ``hierarchy``: the public one, whose values are the codes. ``point``: how wide a single number is that was rounded.
    ``importance``: how often its detail counts where groups are refined or packed. ``ranks`` (2, values): the rank of
    the lower and of the upper end of each, where detail costs by ranks, too: see :func:`ranks_of`.
    ``exact``: the same codes before they were made as wide as cells, where they were.
    """

    name: str
    kind: Kind
    by_order: bool
    labels: NDArray[Any]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    domain: tuple[float, float]
    missing: bool
    variable: Variable = Variable()
    hierarchy: Hierarchy | None = None
    point: float = 0.0
    importance: float = 1.0
    ranks: NDArray[np.float64] | None = None
    exact: "Encoding | None" = None

    @property
    def n_codes(self) -> int:
        """Number of codes b, the one for missing included."""
        return len(self.labels) + self.missing

    @property
    def is_interval(self) -> bool:
        """True when the column is measured by length (numbers and dates) rather than by counting levels."""
        return self.kind is not Kind.CATEGORICAL

    @property
    def missing_share(self) -> float:
        """Share of the domain that "missing" takes up in a numeric column: that of one of its b codes."""
        return 1.0 / self.n_codes if self.missing and self.is_interval else 0.0

    @property
    def heights(self) -> NDArray[np.int16] | None:
        """(b,) of a column with a public hierarchy, how high the node is that holds a code and the one before it:
        missing stands beside all values."""
        if self.hierarchy is None:
            return None
        above = np.full(int(self.missing), self.hierarchy.n_levels + 2, np.int16)
        return np.concatenate([self.hierarchy.heights, above])

    def text(self, code: int) -> str | None:
        """Return the value of a code as it is written in a release; ``None`` for missing."""
        if code >= len(self.labels):
            return None
        return value_text(self.labels[code])


@dataclass(frozen=True, eq=False)
class People:
    """What is known of the population of n records: ``weights`` (n,), of how many people each record stands for; or
    ``codes`` (N, p): the keys of its people, and ``counts`` (N,) how many have each. A code of people is one of the
    table's; a half lies between two numbers of the table, and NaN is a level that the table does not have."""

    weights: NDArray[np.float64]
    codes: NDArray[np.float64] | None = None
    counts: NDArray[np.float64] | None = None

    @property
    def counted(self) -> bool:
        """True when people were counted, and not estimated."""
        return self.codes is not None


@dataclass(frozen=True, eq=False)
class CodeColumns:
    """CodeColumns of n records in p ``columns``, (n,) each, in as few bits as the column takes: 8 or 16."""

    n: int
    columns: tuple[NDArray[np.unsignedinteger], ...] = ()

    def __post_init__(self) -> None:
        for column in self.columns:
            column.flags.writeable = False  # always: loops are compiled for arrays of one kind

    @classmethod
    def of(cls, matrix: NDArray[np.unsignedinteger]) -> "CodeColumns":
        """Return those of a matrix (n, p)."""
        return cls(len(matrix), tuple(np.array(column) for column in matrix.T))

    def take(self, rows: slice | NDArray[np.integer[Any]]) -> "CodeColumns":
        """Return those of some records."""
        columns = tuple(column[rows] for column in self.columns)
        return CodeColumns(len(columns[0]) if columns else len(np.arange(self.n)[rows]), columns)

    def matrix(self, rows: slice | NDArray[np.integer[Any]] = slice(None)) -> NDArray[np.unsignedinteger]:
        """Return the codes of some records, (r, p) row-major, all in as many bits as the widest column."""
        some = self.take(rows)
        matrix = np.empty((some.n, len(self.columns)), np.result_type(np.uint8, *self.columns))
        for start in range(0, some.n, BLOCK):
            for position, column in enumerate(some.columns):
                matrix[start : start + BLOCK, position] = column[start : start + BLOCK]
        matrix.flags.writeable = False
        return matrix

    def by_column(self, order: NDArray[np.integer[Any]]) -> NDArray[np.uint16]:
        """Return the codes of records in this order, (p, r), one column after another in memory."""
        codes = np.empty((len(self.columns), len(order)), np.uint16)
        for row, column in zip(codes, self.columns, strict=True):
            row[:] = column[order]
        return codes


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table in ``codes``; ``encodings``: one a column.

    Sensitive columns: ``target``, the classes that guide the tree (a single class when numbers do); ``numeric``, all
    numeric sensitive columns together, which guide it when ``by_numbers``; ``others``, the categorical ones that do
    not. ``person`` (n,): whose each record is, from 0; -1 for nobody's; ``None`` when every record is a person of its
    own. ``people``: what is known of the population, where a limit asks for it. ``notes``: what a steward should know
    of how the table was encoded, in sentences.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> encoded = an.encode(table, schema)
    >>> len(encoded.encodings), encoded.target.texts[:2]
    (2, ('Appendicitis', 'Asthma'))
    """

    codes: CodeColumns
    encodings: tuple[Encoding, ...]
    target: ClassTarget
    notes: tuple[str, ...] = ()
    numeric: NumericTarget | None = None
    others: tuple[ClassTarget, ...] = ()
    by_numbers: bool = False
    person: NDArray[np.int32] | None = None
    people: "People | None" = None

    def __repr__(self) -> str:
        guide = "numbers" if self.by_numbers else f"target {self.target.name!r}" if self.target.name else "no target"
        return f"EncodedTable of {self.n_records:,} rows in {len(self.encodings):,} columns, {guide}"

    def __post_init__(self) -> None:
        if self.person is not None:
            self.person.flags.writeable = False

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return self.codes.n

    @property
    def n_persons(self) -> int:
        """Number of persons: of records, when every record is a person of its own."""
        return self.n_records if self.person is None else distinct_ids(self.person)

    @cached_property
    def person_values(self) -> tuple[NDArray[np.int32], ...]:
        """(n,) a number for each pair of a person and a value of the target, and of each of ``others``; -1 for
        nobody's."""
        return tuple(self._pairs(column) for column in (self.target, *self.others))

    def _pairs(self, column: ClassTarget) -> NDArray[np.int32]:
        assert self.person is not None
        pairs = self.person.astype(np.int64) * column.n_classes + column.codes
        pairs[self.person < 0] = -1
        numbers = pd.factorize(np.where(pairs < 0, np.nan, pairs))[0] if (pairs < 0).any() else pd.factorize(pairs)[0]
        return np.asarray(numbers, np.int32)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the p quasi-identifiers."""
        return tuple(encoding.name for encoding in self.encodings)


def encode(table: pd.DataFrame, schema: Schema, *, max_codes: int = MAX_CODES, cost: str = DETAIL) -> EncodedTable:
    """Return the codes of the quasi-identifiers and of the target. ``cost``: one of :data:`COSTS`.

    Numeric columns keep every distinct value as a code of its own up to ``max_codes``; beyond that,
    neighbouring values share a code (equal counts), and a note says so. Missing values get a code of their
    own, the last. Without a target every record is of one class.

    Raises :class:`SchemaError` when the schema does not fit the table and :class:`EncodeError`, with column and
    row, for an infinite number, a number or level outside the declared domain, text in a numeric column, or
    more levels than ``max_codes``.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> an.encode(table, schema)
    EncodedTable of 2,000 rows in 2 columns, target 'diagnosis'
    """
    schema.check(table)
    if len(table) == 0:
        raise EncodeError("The table has no rows.", remedy="Use a table with at least one row.")
    columns = [schema[name] for name in schema.quasi_identifying]
    encodings: list[Encoding] = []
    column_codes: list[NDArray[np.unsignedinteger]] = []
    notes: list[str] = []
    for column in columns:
        codes, encoding, note = encode_column(table[column.name], column, max_codes, cost=cost)
        column_codes.append(codes)
        encodings.append(encoding)
        if note:
            notes.append(note)
        if column.cuts:
            of_numbers = column.kind is Kind.NUMERIC
            numbers = numbers_of(table[column.name], column)[0].astype(np.float64) if of_numbers else np.empty(0)
            notes += column.cuts.notes(column.name, numbers)
    by_numbers = schema.by_numbers
    numeric, others, sensitive_notes = encode_sensitive(table, schema)
    target = (
        whole_table(len(table)) if schema.target is None or by_numbers else encode_classes(table, schema.target, schema)
    )
    notes += [
        f"The public cuts of {column.name!r} do not count: it is {column.role}, and quasi-identifying columns are cut."
        for column in schema.columns
        if column.cuts and column.role is not Role.QUASI_IDENTIFYING
    ]
    person, person_notes = persons_of(table, schema)
    notes += [*notes_of_classes((target, *others)), *sensitive_notes, *person_notes]
    codes_of_columns = CodeColumns(len(table), tuple(column_codes))
    return EncodedTable(codes_of_columns, tuple(encodings), target, tuple(notes), numeric, others, by_numbers, person)


def persons_of(table: pd.DataFrame, schema: Schema) -> tuple[NDArray[np.int32] | None, tuple[str, ...]]:
    """Return whose each record is (n,), from 0, -1 for nobody's, ``None`` without a person column; and notes.

    A record without a value there may be anybody's, so it makes no group larger.
    """
    if schema.person is None:
        return None, ()
    return number_persons(persons_of_values(table[schema.person], schema[schema.person]), schema.person)


def number_persons(codes: NDArray[np.integer[Any]], name: str) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Return what :func:`persons_of` does, from a number of each record's person (n,), -1 for nobody's, in the order in
    which they come. ``name``: of the column."""
    person = np.asarray(codes, np.int32)
    return person, note_of_nobody(int((person < 0).sum()), name)


def note_of_nobody(nobody: int, name: str) -> tuple[str, ...]:
    """Return the note that so many records have no value in the column that says whose a row is; none of none."""
    if not nobody:
        return ()
    what = "1 row has" if nobody == 1 else f"{nobody:,} rows have"
    return (f"{what} no {name!r}: whose they are is not known, so they count for nobody.",)


def distinct_ids(ids: NDArray[np.int32]) -> int:
    """Return the number of different numbers from 0 on; -1 is none. ``ids`` (n,)."""
    present = np.zeros(int(ids.max(initial=-1)) + 1, np.bool_)
    present[ids[ids >= 0]] = True
    return int(present.sum())


def encode_column(
    values: "pd.Series[Any]",
    column: Column,
    max_codes: int = MAX_CODES,
    counts: NDArray[np.int64] | None = None,
    cost: str = DETAIL,
) -> tuple[NDArray[np.unsignedinteger], Encoding, str]:
    """Return codes (n,), their encoding, and a note (empty when there is nothing to say) for one column.

    ``counts`` (n,): how many records have each of the values, where these are not those of one record each; ``cost``:
    one of :data:`COSTS`.
    """
    hierarchy, point = column.cuts.hierarchy, 0.0
    if hierarchy is not None:
        require_values(values, column, hierarchy)
    if column.kind is Kind.CATEGORICAL:
        codes, labels = levels_of(values, column)
        note = ""
        ends = np.arange(len(labels), dtype=np.float64)
        low, high, domain = ends, ends, (0.0, float(len(labels)))
    else:
        numbers, restore = numbers_of(values, column)
        if column.cuts:
            codes, distinct, low, high, domain = cut_codes(numbers.astype(np.float64), column, max_codes)
            labels, note = distinct, ""
            if column.cuts.rounding is not None and len(distinct) > 1:
                point = column.cuts.rounding
                low, high, domain = low - point / 2, high + point / 2, (domain[0] - point / 2, domain[1] + point / 2)
        else:
            codes, distinct, low, high, note = number_codes(numbers, column, max_codes, counts)
            labels = restore(distinct)
            domain = number_domain(column, low, high)
    missing = bool(len(codes) and codes.max() == len(labels))
    if len(labels) + missing > max_codes:
        raise EncodeError(
            f"Column {column.name!r} has {len(labels):,} different levels; at most {max_codes:,} can be handled.",
            column=column.name,
            remedy="Make it identifying, or shorten its values (for example, the first three digits of a postcode).",
        )
    if column.kind is Kind.CATEGORICAL:
        domain = (0.0, float(len(labels) + missing))
    small: NDArray[np.unsignedinteger] = codes.astype(np.uint8 if len(labels) + missing <= 256 else np.uint16)
    about = column.name, column.kind, column.by_order, labels, low, high, domain, missing, column.variable
    ranks = None
    if cost == RANKS and column.kind is not Kind.CATEGORICAL and hierarchy is None:
        ranks = ranks_of(np.bincount(codes, counts, len(labels))[: len(labels)])
    return small, Encoding(*about, hierarchy, point, column.importance, ranks), note


def ranks_of(records: NDArray[Any]) -> NDArray[np.float64]:
    """Return the ranks of values (2, b), twice: the share of ``records`` (b,) that have a lower one, and half of those
    that have it, from 0 at the lowest value that somebody has to 1 at the highest."""
    middle = np.cumsum(records) - records / 2
    present = middle[records > 0]
    width = present[-1] - present[0] if len(present) > 1 else np.inf
    return np.tile(np.clip((middle - present[:1]) / width if len(present) else middle, 0.0, 1.0), (2, 1))


def whole_table(n: int) -> ClassTarget:
    """Return n records of one and the same class: the target of a tree that classes do not guide."""
    return ClassTarget("", ("all",), np.zeros(n, dtype=np.uint8))


def encode_sensitive(
    table: pd.DataFrame, schema: Schema
) -> tuple[NumericTarget | None, tuple[ClassTarget, ...], tuple[str, ...]]:
    """Return the numeric sensitive columns together, the categorical ones but the target, and notes."""
    columns = [schema[name] for name in schema.sensitive]
    others = tuple(
        encode_classes(table, column.name, schema)
        for column in columns
        if column.kind is Kind.CATEGORICAL and column.name != schema.target
    )
    numeric = [column for column in columns if column.kind is not Kind.CATEGORICAL]
    if not numeric:
        return None, others, ()
    scaled = [scaled_numbers(table[column.name], column) for column in numeric]
    target, notes = number_target(numeric, scaled, np.column_stack([one.values for one in scaled]))
    return target, others, notes


class Scaled(NamedTuple):
    """Numbers on the scale of a :class:`NumericTarget`, ``values`` (n,), and what it takes to say what they are."""

    values: NDArray[np.float64]
    low: float
    width: float
    centre: float
    missing: int


def scaled_numbers(values: "pd.Series[Any]", column: Column, counts: NDArray[np.int64] | None = None) -> Scaled:
    """Return one numeric sensitive column on its scale. ``counts`` (n,): how many records have each of the values; one,
    when not given. Raises :class:`EncodeError` for values that lie too far apart."""
    numbers = numbers_of(values, column)[0].astype(np.float64)
    absent = np.isnan(numbers)
    each = np.ones(len(numbers), np.int64) if counts is None else counts
    missing = int(each[absent].sum())
    if missing == each.sum():
        return Scaled(np.zeros(len(numbers)), 0.0, 0.0, 0.0, missing)
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    width = high - low
    if not np.isfinite(width):
        raise EncodeError(
            f"The values of column {column.name!r} lie too far apart to be measured.",
            column=column.name,
            remedy="Correct the extreme value, or treat it as missing.",
        )
    scaled = (numbers - low) / width if width > 0 else np.zeros(len(numbers))
    n = int(each.sum())
    scaled = on_steps(np.where(absent, 0.0, scaled), n)
    centre = float(on_steps(np.asarray((scaled * each)[~absent].sum() / (n - missing)), n))
    return Scaled(np.where(absent, 0.0, scaled - centre), low, width, centre, missing)


def number_target(
    columns: Sequence[Column], scaled: Sequence[Scaled], values: NDArray[np.float64]
) -> tuple[NumericTarget, tuple[str, ...]]:
    """Return the numeric sensitive columns together, ``values`` (n, r) of the records, and notes."""
    _, low, width, centre, missing = zip(*scaled, strict=True)
    notes = tuple(
        f"{column.name!r} is missing for {count:,} rows; they count as if they had its mean."
        for column, count in zip(columns, missing, strict=True)
        if count
    )
    values.flags.writeable = False
    names = tuple(column.name for column in columns)
    dates = frozenset(column.name for column in columns if column.kind is Kind.DATE)
    titles = tuple(column.variable.full_name(column.name) for column in columns)
    about = np.array(low), np.array(width), np.array(centre), np.array(missing, dtype=np.int64)
    return NumericTarget(names, titles, values, *about, dates), notes


def encode_classes(table: pd.DataFrame, name: str, schema: Schema) -> ClassTarget:
    """Return a categorical sensitive column; levels of one :func:`anonymizer.alike.meaning` are one class, and missing
    is a class of its own, the last."""
    column = schema[name]
    codes, labels = levels_of(table[column.name], column)
    spellings: dict[str, list[str]] = {}
    for label in map(str, labels):
        spellings.setdefault(meaning(label), []).append(label)
    place = {key: number for number, key in enumerate(spellings)}
    class_of = np.array([*(place[meaning(str(label))] for label in labels), len(place)])
    texts: list[str | None] = [first for first, *_ in spellings.values()]
    if codes.max() == len(labels):
        texts.append(None)
    harmless = set(map(meaning, column.harmless))
    return ClassTarget(
        column.name,
        tuple(texts),
        class_of.astype(np.uint8 if len(texts) <= 256 else np.uint32)[codes],
        column.ordered and column.domain is not None,
        column.variable,
        tuple(tuple(several) for several in spellings.values() if len(several) > 1),
        tuple(text for key, (text, *_) in spellings.items() if key in harmless),
    )


def notes_of_classes(targets: Iterable[ClassTarget]) -> tuple[str, ...]:
    """Return the notes on levels of sensitive columns that count as one: which, and of how many levels."""
    return tuple(
        f"Levels of {target.name!r} that differ in writing only count as one: "
        + "; ".join(" = ".join(map(repr, several)) for several in target.spellings[:MOST_SPELLINGS])
        + (f"; and {len(target.spellings) - MOST_SPELLINGS:,} more." if len(target.spellings) > MOST_SPELLINGS else ".")
        for target in targets
        if target.spellings
    )


def rows_of(encoded: EncodedTable, rows: NDArray[np.int64]) -> EncodedTable:
    """Return the same encoding of some of the records; numeric sensitive columns are centred on these."""
    target = replace(encoded.target, codes=encoded.target.codes[rows])
    others = tuple(replace(other, codes=other.codes[rows]) for other in encoded.others)
    numeric = encoded.numeric
    if numeric is not None:
        values = numeric.values[rows]
        middle = on_steps(values.mean(axis=0), len(values))
        numeric = replace(numeric, values=values - middle, centre=numeric.centre + middle)
    codes = encoded.codes.take(rows)
    person = None if encoded.person is None else encoded.person[rows]
    people = None if encoded.people is None else replace(encoded.people, weights=encoded.people.weights[rows])
    return replace(encoded, codes=codes, target=target, others=others, numeric=numeric, person=person, people=people)


offer("cost", COSTS)
