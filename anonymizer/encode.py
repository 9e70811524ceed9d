"""A table as small integer codes: what growing, scoring and pruning work on, and the way back.

Every quasi-identifier becomes a column of codes whose order is the order of its values; what a code stands
for is kept beside it in an :class:`Encoding`. No record's text is kept twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import EncodeError
from anonymizer.schema import Column, Kind, Schema
from anonymizer.target import ClassTarget, NumericTarget

MAX_CODES = 65_536
"""Most codes of a column (16 bits). Numeric columns with more distinct values share codes between neighbours."""
EXACT = 2**53
"""Whole numbers up to here are themselves as 64-bit floats."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """What the codes of one column stand for: b codes, the last of them "missing" when ``missing``.

    ``labels``: the value of each code but the missing one (numbers, ``datetime64`` or text), ascending or in
    the declared order. ``low``, ``high``: the smallest and largest number in each code (numeric and dates, dates
    as microseconds since 1970); for categorical columns both are the code itself. ``domain``: the public
    range (numeric), or (0, number of levels).
    """

    name: str
    kind: Kind
    by_order: bool
    labels: NDArray[Any]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    domain: tuple[float, float]
    missing: bool

    @property
    def n_codes(self) -> int:
        """Number of codes b, the one for missing included."""
        return len(self.labels) + self.missing

    @property
    def is_interval(self) -> bool:
        """Whether the column is measured by length (numbers and dates) rather than by counting levels."""
        return self.kind is not Kind.CATEGORICAL

    @property
    def missing_share(self) -> float:
        """Share of the domain that "missing" takes up in a numeric column: that of one of its b codes."""
        return 1.0 / self.n_codes if self.missing and self.is_interval else 0.0

    def text(self, code: int) -> str | None:
        """The value of a code as it is written in a release; ``None`` for missing."""
        if code >= len(self.labels):
            return None
        return value_text(self.labels[code])


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table in codes. ``codes`` (n, p) unsigned, row-major; ``encodings``: one a column.

    Sensitive columns: ``target``, the classes that guide the tree (a single class when numbers do); ``numeric``, all
    numeric sensitive columns together, which guide it when ``by_numbers``; ``others``, the categorical ones that do
    not. ``notes``: what a steward should know of how the table was encoded, in sentences.
    """

    codes: NDArray[np.unsignedinteger]
    encodings: tuple[Encoding, ...]
    target: ClassTarget
    notes: tuple[str, ...] = ()
    numeric: NumericTarget | None = None
    others: tuple[ClassTarget, ...] = ()
    by_numbers: bool = False

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return int(self.codes.shape[0])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the p quasi-identifiers."""
        return tuple(encoding.name for encoding in self.encodings)


def encode(table: pd.DataFrame, schema: Schema, *, max_codes: int = MAX_CODES) -> EncodedTable:
    """Codes of the quasi-identifiers and of the target.

    Numeric columns keep every distinct value as a code of its own up to ``max_codes``; beyond that,
    neighbouring values share a code (equal counts), and a note says so. Missing values get a code of their
    own, the last. Without a target every record is of one class.

    Raises :class:`SchemaError` when the schema does not fit the table and :class:`EncodeError`, with column and
    row, for an infinite number, a number or level outside the declared domain, text in a numeric column, or
    more levels than ``max_codes``.
    """
    schema.check(table)
    if len(table) == 0:
        raise EncodeError("The table has no records.", remedy="Bring a table with at least one row.")
    columns = [schema[name] for name in schema.quasi_identifying]
    encodings: list[Encoding] = []
    coded: list[NDArray[np.unsignedinteger]] = []
    notes: list[str] = []
    for column in columns:
        codes, encoding, note = encode_column(table[column.name], column, max_codes)
        coded.append(codes)
        encodings.append(encoding)
        if note:
            notes.append(note)
    widest = np.uint8 if all(encoding.n_codes <= 256 for encoding in encodings) else np.uint16
    matrix = np.empty((len(table), len(columns)), dtype=widest)
    for position, codes in enumerate(coded):
        matrix[:, position] = codes
        coded[position] = codes[:0]
    matrix.flags.writeable = False
    by_numbers = schema.target is not None and schema[schema.target].kind is not Kind.CATEGORICAL
    numeric, others, sensitive_notes = encode_sensitive(table, schema)
    target = (
        whole_table(len(table)) if schema.target is None or by_numbers else encode_classes(table, schema.target, schema)
    )
    return EncodedTable(matrix, tuple(encodings), target, (*notes, *sensitive_notes), numeric, others, by_numbers)


def encode_column(
    values: "pd.Series[Any]", column: Column, max_codes: int = MAX_CODES
) -> tuple[NDArray[np.unsignedinteger], Encoding, str]:
    """Codes (n,), their encoding, and a note (empty when there is nothing to say) for one column."""
    if column.kind is Kind.CATEGORICAL:
        codes, labels = levels_of(values, column)
        note = ""
        ends = np.arange(len(labels), dtype=np.float64)
        low, high, domain = ends, ends, (0.0, float(len(labels)))
    else:
        numbers, restore = numbers_of(values, column)
        codes, distinct, low, high, note = number_codes(numbers, column, max_codes)
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
    encoding = Encoding(column.name, column.kind, column.by_order, labels, low, high, domain, missing)
    return small, encoding, note


def whole_table(n: int) -> ClassTarget:
    """n records of one and the same class: the target of a tree that classes do not guide."""
    return ClassTarget("", ("all",), np.zeros(n, dtype=np.uint8))


def encode_sensitive(
    table: pd.DataFrame, schema: Schema
) -> tuple[NumericTarget | None, tuple[ClassTarget, ...], tuple[str, ...]]:
    """The numeric sensitive columns together, the categorical ones but the target, and notes."""
    columns = [schema[name] for name in schema.sensitive]
    others = tuple(
        encode_classes(table, column.name, schema)
        for column in columns
        if column.kind is Kind.CATEGORICAL and column.name != schema.target
    )
    measured = [column for column in columns if column.kind is not Kind.CATEGORICAL]
    if not measured:
        return None, others, ()
    n, r = len(table), len(measured)
    values, low, width, centre = np.zeros((n, r)), np.zeros(r), np.zeros(r), np.zeros(r)
    missing = np.zeros(r, dtype=np.int64)
    for position, column in enumerate(measured):
        numbers = numbers_of(table[column.name], column)[0].astype(np.float64)
        absent = np.isnan(numbers)
        missing[position] = absent.sum()
        if not absent.all():
            low[position], high = np.nanmin(numbers), np.nanmax(numbers)
            width[position] = high - low[position]
            if not np.isfinite(width[position]):
                raise EncodeError(
                    f"The values of column {column.name!r} lie too far apart to be measured.",
                    column=column.name,
                    remedy="Correct the extreme value, or treat it as missing.",
                )
            scaled = (numbers - low[position]) / width[position] if width[position] > 0 else np.zeros(n)
            centre[position] = scaled[~absent].mean()
            values[:, position] = np.where(absent, 0.0, scaled - centre[position])
    notes = tuple(
        f"{column.name!r} is missing for {count:,} people; they count as if they had its mean."
        for column, count in zip(measured, missing.tolist(), strict=True)
        if count
    )
    values.flags.writeable = False
    names = tuple(column.name for column in measured)
    dates = frozenset(column.name for column in measured if column.kind is Kind.DATE)
    return NumericTarget(names, values, low, width, centre, missing, dates), others, notes


def encode_classes(table: pd.DataFrame, name: str, schema: Schema) -> ClassTarget:
    """A categorical sensitive column; missing is a class of its own, the last."""
    column = schema[name]
    codes, labels = levels_of(table[column.name], column)
    texts: list[str | None] = [str(label) for label in labels]
    if codes.max() == len(labels):
        texts.append(None)
    return ClassTarget(
        column.name,
        tuple(texts),
        codes.astype(np.uint8 if len(texts) <= 256 else np.uint32),
        column.ordered and column.domain is not None,
    )


def levels_of(values: "pd.Series[Any]", column: Column) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Codes (n,) and levels (text) of a column taken as categories; missing is coded as the number of levels.

    The levels are the declared domain in its order, or the values found, sorted (as numbers when all of them
    are numbers): the order in which they appear in the table never shows.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        found = np.asarray(values.cat.categories)
        first_codes = values.cat.codes.to_numpy().astype(np.int64)
        used = np.unique(first_codes[first_codes >= 0])
    else:
        if values.dtype == object and pd.api.types.infer_dtype(values) != "string":
            values = values.map(value_text, na_action="ignore")  # 1 and True are equal, and lists have no hash
        first_codes, uniques = pd.factorize(values)
        found = np.asarray(uniques, dtype=object)
        used = np.arange(len(found))
    texts = [value_text(found[code]) for code in used]
    levels = list(cast(tuple[str, ...], column.domain)) if column.domain else sorted(set(texts), key=level_order(texts))
    rank = {level: position for position, level in enumerate(levels)}
    unknown = [text for text in texts if text not in rank]
    if unknown:
        row = int(np.argmax(first_codes == used[texts.index(unknown[0])]))
        raise EncodeError(
            f"Column {column.name!r} holds {unknown[0]!r} (row {row + 1}), which is not in its declared domain.",
            column=column.name,
            row=row,
            value=unknown[0],
            remedy="Add the level to the domain, or correct the value.",
        )
    lookup = np.full(len(found) + 1, len(levels), dtype=np.int64)
    lookup[used] = [rank[text] for text in texts]
    return lookup[first_codes], np.array(levels, dtype=object)


def level_order(texts: list[str]) -> Any:
    """The sort key of levels: as numbers when all are finite numbers, as text otherwise."""
    try:
        if not all(np.isfinite(float(text)) for text in texts):
            return str
    except ValueError:
        return str
    return lambda text: (float(text), text)


def numbers_of(values: "pd.Series[Any]", column: Column) -> tuple[NDArray[Any], Any]:
    """The column as numbers (n,), NaN for missing in floats, and a function from numbers back to values."""
    if column.kind is Kind.DATE:
        try:
            stamps = pd.to_datetime(values)
        except (ValueError, TypeError) as error:
            readable = pd.to_datetime(values.astype(object), errors="coerce", format="mixed", utc=True).notna()
            wrong = np.flatnonzero(~readable.to_numpy() & values.notna().to_numpy())
            at = int(wrong[0]) if len(wrong) else None
            which = "" if at is None else f" (the first is in row {at + 1}: {value_text(values.iloc[at])!r})"
            raise EncodeError(
                f"Column {column.name!r} is a date column, but its values are not all dates of one form{which}.",
                column=column.name,
                row=at,
                remedy="Make it categorical, or correct the dates.",
            ) from error
        if getattr(stamps.dt, "tz", None) is not None:
            stamps = stamps.dt.tz_convert("UTC").dt.tz_localize(None)
        micro = stamps.to_numpy(dtype="datetime64[us]")
        numbers = micro.astype(np.int64).astype(np.float64)
        numbers[np.isnat(micro)] = np.nan
        return numbers, lambda found: found.astype(np.int64).astype("datetime64[us]")
    if not pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype):
        converted = pd.to_numeric(values.astype(object), errors="coerce")
        wrong = np.flatnonzero(converted.isna().to_numpy() & values.notna().to_numpy())
        if len(wrong):
            raise EncodeError(
                f"Column {column.name!r} is numeric, but holds "
                f"{value_text(values.iloc[wrong[0]])!r} (row {wrong[0] + 1}).",
                column=column.name,
                row=int(wrong[0]),
                value=values.iloc[wrong[0]],
                remedy="Treat it as missing, or make the column categorical.",
            )
        values = converted
    if isinstance(values.dtype, np.dtype):
        numbers = values.to_numpy()
    elif values.isna().any() or not pd.api.types.is_integer_dtype(values.dtype):
        if pd.api.types.is_integer_dtype(values.dtype) and (values.abs() > EXACT).any():
            raise EncodeError(
                f"Column {column.name!r} holds whole numbers beyond {EXACT:,} beside missing values, which "
                "numbers with a missing mark cannot hold exactly.",
                column=column.name,
                remedy="Make the column categorical, or identifying if it is a number of a person.",
            )
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        numbers = values.to_numpy(dtype=np.int64)
    if numbers.dtype.kind == "f":
        numbers = numbers.astype(np.float64, copy=False)
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            raise EncodeError(
                f"Column {column.name!r} holds an infinite number (row {infinite[0] + 1}).",
                column=column.name,
                row=int(infinite[0]),
                value=float(numbers[infinite[0]]),
                remedy="Treat it as missing, or make the column categorical.",
            )
        numbers = numbers + 0.0  # -0.0 and 0.0 are one value
    return numbers, lambda found: found


def number_codes(
    numbers: NDArray[Any], column: Column, max_codes: int
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float64], NDArray[np.float64], str]:
    """Codes (n,), one value a code, lowest and highest value of each code, and a note when values share codes."""
    codes, distinct = distinct_numbers(numbers)
    missing = bool(len(codes) and codes.max() == len(distinct))
    most = max_codes - missing
    if len(distinct) <= most:
        ends = distinct.astype(np.float64)
        return codes, distinct, ends, ends, ""
    counts = np.bincount(codes, minlength=len(distinct))[: len(distinct)]
    bins = np.minimum((np.cumsum(counts) - counts) * most // counts.sum(), most - 1)
    bins = np.unique(bins, return_inverse=True)[1]
    first = np.flatnonzero(np.diff(bins, prepend=-1))
    last = np.append(first[1:], len(distinct)) - 1
    note = (
        f"{column.name!r} has {len(distinct):,} different values; splits see them as {len(first):,} classes of "
        "neighbours with about equally many records. The released intervals are still exact."
    )
    lookup = np.append(bins, len(first))
    ends = distinct.astype(np.float64)
    return lookup[codes], distinct[first], ends[first], ends[last], note


def distinct_numbers(numbers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Codes (n,) and the distinct values in ascending order; missing is coded as their number."""
    if numbers.dtype.kind in "iu" and len(numbers):
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < max(4 * len(numbers), 1 << 16):
            present = np.zeros(high - low + 1, dtype=bool)
            wide = np.uint64 if numbers.dtype == np.uint64 else np.int64  # narrow types would overflow
            offsets = numbers.astype(wide, copy=False) - wide(low)
            present[offsets] = True
            values = np.flatnonzero(present)
            lookup = np.zeros(len(present), dtype=np.int32)
            lookup[values] = np.arange(len(values))
            return lookup[offsets], (values.astype(wide) + wide(low)).astype(numbers.dtype)
    first_codes, uniques = pd.factorize(numbers)
    order = np.argsort(uniques, kind="stable")
    rank = np.empty(len(uniques) + 1, dtype=np.int64)
    rank[order] = np.arange(len(uniques))
    rank[-1] = len(uniques)
    return rank[first_codes], np.asarray(uniques)[order]


def number_domain(column: Column, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[float, float]:
    """The range against which widths are measured: the declared one, or that of the data."""
    if not len(low):
        return (0.0, 0.0)
    found = (float(low[0]), float(high[-1]))
    if column.domain is None:
        domain = found
    elif column.kind is Kind.DATE:
        ends = [pd.Timestamp(end).as_unit("us").asm8.astype(np.int64) for end in column.domain]
        domain = (float(ends[0]), float(ends[1]))
    else:
        domain = cast(tuple[float, float], column.domain)
    if not domain[0] <= found[0] <= found[1] <= domain[1]:
        outside = found[0] if found[0] < domain[0] else found[1]
        raise EncodeError(
            f"Column {column.name!r} holds {value_text(outside)}, outside its declared range "
            f"{value_text(domain[0])} to {value_text(domain[1])}.",
            column=column.name,
            value=outside,
            remedy="Widen the range, or correct the value.",
        )
    if not np.isfinite(domain[1] - domain[0]):
        raise EncodeError(
            f"The values of column {column.name!r} lie too far apart to be measured "
            f"({value_text(domain[0])} to {value_text(domain[1])}).",
            column=column.name,
            remedy="Correct the extreme value, treat it as missing, or make the column categorical.",
        )
    return domain


def value_text(value: Any) -> str:
    """A value as text, one way for every type: shortest form that reads back, whole floats as integers."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    if isinstance(value, (np.datetime64, pd.Timestamp)):
        stamp = pd.Timestamp(value)
        return str(stamp.date().isoformat() if stamp == stamp.normalize() and stamp.tz is None else stamp.isoformat())
    return str(value)


def distinct_keys(encoded: EncodedTable) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64]]:
    """The distinct rows of codes (d, p), in ascending order, and how many records have each (d,)."""
    keys, counts = np.unique(encoded.codes, axis=0, return_counts=True)
    return keys, counts


def level_map(encoded: EncodedTable) -> Mapping[str, Encoding]:
    """Each quasi-identifier's encoding by its name."""
    return {encoding.name: encoding for encoding in encoded.encodings}
