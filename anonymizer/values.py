"""Values of a column as numbers, as levels and as text, and figures as people read them, one way for every type."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import EncodeError
from anonymizer.schema import Column, Kind, Role

DAY_OR_MONTH = re.compile(r"\s*[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ][0-9]{2,4}")
"""Dates that do not say which part is the day."""

WHOLE = re.compile(r"[+-]?[0-9]+")

BLOCK = 1 << 16
"""Values that are looked at at a time: so many and what is made of them stay near the processor."""

EXACT = 2**53
"""Whole numbers up to here are themselves as 64-bit floats."""


def value_text(value: Any) -> str:
    """Return a value as text, one way for every type: shortest form that reads back, whole floats as integers."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.timedelta64):
        return str(pd.Timedelta(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    if isinstance(value, (np.datetime64, pd.Timestamp)):
        stamp = pd.Timestamp(value)
        return str(stamp.date().isoformat() if stamp == stamp.normalize() and stamp.tz is None else stamp.isoformat())
    return str(value)


LARGE = {1e6: "million", 1e9: "billion", 1e12: "trillion"}
"""Units of large figures."""


def number_text(value: float, digits: int = 3) -> str:
    """Return a figure as it is read: as many digits as matter, and never a row of them that nobody can tell apart.

    ``0.0312``, ``12.5``, ``1,234``; from ten thousand on rounded (``771,000``), from a million on with its unit (``771
    billion``), beyond these and very near 0 with a power of ten (``1.2 × 10⁻⁵``); a dash where it is not defined.
    """
    if not np.isfinite(value):
        return "–"
    value = float(f"{value:.{digits - 1}e}") if abs(value) >= 10_000 or abs(value) < 1000 else round(value)
    size = abs(value)
    if size and not 1e-4 <= size < 1e15:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        exponent = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{_short(mantissa)} × 10{exponent}"
    if size >= 1000:
        unit = max((unit for unit in LARGE if unit <= size), default=1.0)
        return f"{value:,.0f}" if unit == 1.0 else f"{_short(f'{value / unit:.{digits - 1}f}')} {LARGE[unit]}"
    return np.format_float_positional(value, trim="-")


def _short(text: str) -> str:
    """Return a decimal number without the zeros at its end."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def share(part: float) -> str:
    """Return a share between 0 and 1 as a percentage; neither a small share nor a nearly full one is rounded away."""
    part = round(part, 12)  # one figure, computed in two ways, can differ in the last bits
    if 0 < part < 0.0005:
        return "< 0.1%"
    if 0.9995 <= part < 1:
        return "> 99.9%"
    return f"{part:.1%}".replace(".0%", "%")


def plural(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: ``1 record``, ``1,200 records``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def numbers_of(values: "pd.Series[Any]", column: Column) -> tuple[NDArray[Any], Any]:
    """Return the column as numbers (n,), NaN for missing in floats, and a function from numbers back to values.

    Those of a quasi-identifying column that is rounded are rounded, for whoever made a release and whoever checks it.
    """
    numbers, restore = _plain_numbers(values, column)
    if column.cuts.rounding is not None and column.role is Role.QUASI_IDENTIFYING:
        numbers = column.cuts.rounded(numbers)
    return numbers, restore


def _plain_numbers(values: "pd.Series[Any]", column: Column) -> tuple[NDArray[Any], Any]:
    if column.kind is Kind.DATE:
        micro = _moments(values, column)
        numbers = micro.astype(np.int64).astype(np.float64)
        numbers[np.isnat(micro)] = np.nan
        return numbers, lambda moments: moments.astype(np.int64).astype("datetime64[us]")
    if not pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype):
        numeric = pd.to_numeric(values.astype(object), errors="coerce")
        wrong = np.flatnonzero(numeric.isna().to_numpy() & values.notna().to_numpy())
        if len(wrong):
            what, row = f"Column {column.name!r} is numeric, but holds", f"(row {wrong[0] + 1})."
            raise EncodeError(
                f"{what} a value that is no number {row}",
                in_full=f"{what} {value_text(values.iloc[wrong[0]])!r} {row}",
                column=column.name,
                row=int(wrong[0]),
                value=values.iloc[wrong[0]],
                remedy="Treat it as missing, or make the column categorical.",
            )
        values = numeric
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
    return numbers, lambda same: same


def exact_numbers(values: "pd.Series[Any]", column: Column) -> list[int | float | None]:
    """Return values as numbers (n,) of which two are equal only where no digit differs: whole ones of any size, dates
    as microseconds, ``None`` for missing. Raises what :func:`numbers_of` raises."""
    if column.kind is Kind.DATE:
        micro = _moments(values, column)
        return [
            None if absent else number
            for absent, number in zip(np.isnat(micro), micro.astype(np.int64).tolist(), strict=True)
        ]
    numbers = numbers_of(values, column)[0]
    exact: list[int | float | None] = [None if number != number else number for number in numbers.tolist()]
    if numbers.dtype.kind == "f" and not pd.api.types.is_float_dtype(values.dtype):
        for at in np.flatnonzero(np.abs(numbers) >= EXACT):
            text = value_text(values.iloc[at]).strip()
            exact[at] = int(text) if WHOLE.fullmatch(text) else exact[at]
    return exact


def _moments(values: "pd.Series[Any]", column: Column) -> NDArray[Any]:
    """Return dates as moments in microseconds (n,). Raises :class:`EncodeError` for what is none, or none that is
    told apart."""
    _refuse_day_or_month(values, column)
    try:
        stamps = _stamps(values)
    except (ValueError, TypeError) as error:
        readable = pd.to_datetime(values.astype(object), errors="coerce", format="mixed", utc=True).notna()
        wrong = np.flatnonzero(~readable.to_numpy() & values.notna().to_numpy())
        at = int(wrong[0]) if len(wrong) else None
        what = f"Column {column.name!r} is a date column, but its values are not all dates of one form"
        where, text = (
            ("", "") if at is None else (f" (the first is in row {at + 1}", f": {value_text(values.iloc[at])!r}")
        )
        end = ")." if where else "."
        raise EncodeError(
            f"{what}{where}{end}",
            in_full=f"{what}{where}{text}{end}",
            column=column.name,
            row=at,
            remedy="Make it categorical, or correct the dates.",
        ) from error
    if getattr(stamps.dt, "tz", None) is not None:
        stamps = stamps.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(stamps.to_numpy(dtype="datetime64[us]"))


def _stamps(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return values as stamps; text in one form, or in ISO 8601, where days may stand beside times of a day."""
    try:
        return pd.to_datetime(values)
    except (ValueError, TypeError):
        return pd.to_datetime(values, format="ISO8601")


def _refuse_day_or_month(values: "pd.Series[Any]", column: Column) -> None:
    """Raise :class:`EncodeError` for dates as text that do not say which part is the day."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return
    wrong = [at for at, value in enumerate(values) if isinstance(value, str) and DAY_OR_MONTH.match(value)]
    if wrong:
        at = wrong[0]
        text = value_text(values.iloc[at])
        what, rest = (
            f"Column {column.name!r} is a date column, but",
            f"(row {at + 1}) does not say which part is the day.",
        )
        raise EncodeError(
            f"{what} a value {rest}",
            in_full=f"{what} {text!r} {rest}",
            column=column.name,
            row=at,
            value=text,
            remedy="Say when the table is read whether the day or the month comes first, or write year-month-day.",
        )


def distinct_numbers(numbers: NDArray[Any]) -> tuple[NDArray[np.integer], NDArray[Any]]:
    """Return codes (n,) and the distinct values in ascending order; missing is coded as their number."""
    low, room = _span(numbers)
    if room:
        from anonymizer.number_kernels import look_up_numbers, mark_numbers

        present = np.zeros(room, dtype=np.bool_)
        whole = np.ascontiguousarray(numbers, dtype=np.int64)
        mark_numbers(whole, low, present)
        values = np.flatnonzero(present)
        lookup = np.zeros(room, dtype=np.min_scalar_type(len(values)))
        lookup[values] = np.arange(len(values))
        codes: NDArray[Any] = np.empty(len(numbers), lookup.dtype)
        look_up_numbers(whole, low, lookup, codes)
        return codes, (values + low).astype(numbers.dtype)
    first_codes, uniques = pd.factorize(numbers)
    order = np.argsort(uniques, kind="stable")
    rank = np.empty(len(uniques) + 1, dtype=np.min_scalar_type(len(uniques)))
    rank[order] = np.arange(len(uniques))
    rank[-1] = len(uniques)
    return look_up(rank, first_codes), np.asarray(uniques)[order]


def look_up(values: NDArray[Any], places: NDArray[np.integer]) -> NDArray[Any]:
    """Return the value at each place, (n,); -1 is the last. The same as ``values[places]``, block by block."""
    few = len(values) < len(places)
    if few and np.array_equal(values, np.arange(len(values))) and places.min() >= 0:  # every place is its own value
        return places.astype(values.dtype)
    answer = np.empty(len(places), values.dtype)
    for start in range(0, len(places), BLOCK):
        answer[start : start + BLOCK] = np.take(values, places[start : start + BLOCK])
    return answer


def count_numbers(numbers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return how many times each distinct value occurs, (d,), missing left out, and these values in ascending order."""
    low, room = _span(numbers)
    if not room:
        codes, values = distinct_numbers(numbers)
        return count_codes(codes, len(values)), values
    counts = np.zeros(room, dtype=np.int64)
    for offsets in _offsets(numbers, low, max(BLOCK, room)):
        some = np.bincount(offsets)
        counts[: len(some)] += some
    present = np.flatnonzero(counts)
    return counts[present], (present + low).astype(numbers.dtype)


def _span(numbers: NDArray[Any]) -> tuple[int, int]:
    """Return the lowest of some whole numbers and how many a table of all up to the highest has room for; no room
    where that is far more than there are, or they are not whole, or do not fit 63 bits."""
    if numbers.dtype.kind not in "iu" or not len(numbers):
        return 0, 0
    low, high = int(numbers.min()), int(numbers.max())
    narrow = high - low < max(4 * len(numbers), BLOCK) and low > -(1 << 62) and high < 1 << 62
    return (low, high - low + 1) if narrow else (0, 0)


def _offsets(numbers: NDArray[Any], low: int, step: int) -> Iterator[NDArray[np.int64]]:
    """Yield how far whole numbers lie above the lowest, so many at a time."""
    for start in range(0, len(numbers), step):
        yield np.subtract(numbers[start : start + step], low, dtype=np.int64)


def count_codes(codes: NDArray[np.integer[Any]], n_codes: int) -> NDArray[np.int64]:
    """Return how many records have each code from 0, (n_codes,); those beyond, and -1, which is missing, count
    nowhere."""
    counts, step = np.zeros(n_codes + 1, dtype=np.int64), max(BLOCK, n_codes)
    for start in range(0, len(codes), step):
        some = np.bincount(codes[start : start + step].astype(np.int64) + 1, minlength=n_codes + 1)
        counts += some[: n_codes + 1]
    return counts[1:]


def present_codes(codes: NDArray[np.integer[Any]], n_codes: int) -> NDArray[np.int64]:
    """Return which of the codes from 0 to ``n_codes`` - 1 any record has, ascending; ``n_codes`` and -1 are missing.
    Records are looked at until all have come."""
    present, step = np.zeros(n_codes + 1, dtype=np.bool_), max(BLOCK, n_codes)
    for start in range(0, len(codes), step):
        present[codes[start : start + step]] = True
        if present[:-1].all():
            break
    return np.flatnonzero(present[:-1])


def ranks_of(values: "pd.Series[Any]", column: Column) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
    """Return the place of each record's number among the distinct ones (n,), missing last, and these, ascending."""
    codes, distinct = distinct_numbers(_exact(numbers_of(values, column)[0]))
    return codes, distinct.astype(np.float64)


def counts_of(
    values: "pd.Series[Any]", column: Column, records: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how many records have each of the distinct numbers, (d,), and these, ascending. ``values`` (d',): the
    distinct ones of a column, missing left out, which may be one number; ``records`` (d',): how many have each."""
    codes, distinct = distinct_numbers(_exact(numbers_of(values, column)[0]))
    return np.bincount(codes, records, minlength=len(distinct)).astype(np.int64), distinct.astype(np.float64)


def _exact(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as they are where floats tell all of them apart, and else as floats."""
    if numbers.dtype.kind in "iu" and len(numbers) and max(-int(numbers.min()), int(numbers.max())) > EXACT:
        return numbers.astype(np.float64)
    return numbers


def levels_of(values: "pd.Series[Any]", column: Column) -> tuple[NDArray[np.integer], NDArray[Any]]:
    """Return codes (n,) and levels (text) of a column taken as categories; missing is coded as the number of levels.

    The levels are the declared domain in its order, or the values that occur, sorted (as numbers when all of them
    are numbers): the order in which they appear in the table never shows.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        categories = np.asarray(values.cat.categories)
        first_codes = values.array.codes
        present = present_codes(first_codes, len(categories))
    else:
        if values.dtype == object and pd.api.types.infer_dtype(values) != "string":
            values = values.map(value_text, na_action="ignore")  # 1 and True are equal, and lists have no hash
        first_codes, uniques = pd.factorize(values)
        categories = np.asarray(uniques, dtype=object)
        present = np.arange(len(categories))
    texts = [value_text(categories[code]) for code in present]
    levels = list(cast(tuple[str, ...], column.domain)) if column.domain else sorted(set(texts), key=level_order(texts))
    rank = {level: position for position, level in enumerate(levels)}
    unknown = [text for text in texts if text not in rank]
    if unknown:
        row = int(np.argmax(first_codes == present[texts.index(unknown[0])]))
        what, rest = f"Column {column.name!r} holds", f"(row {row + 1}), which is not in its declared domain."
        raise EncodeError(
            f"{what} a value {rest}",
            in_full=f"{what} {unknown[0]!r} {rest}",
            column=column.name,
            row=row,
            value=unknown[0],
            remedy="Add the level to the domain, or correct the value.",
        )
    lookup = np.full(len(categories) + 1, len(levels), dtype=np.min_scalar_type(len(levels)))
    lookup[present] = [rank[text] for text in texts]
    return look_up(lookup, first_codes), np.array(levels, dtype=object)


def content_digest(table: pd.DataFrame) -> str:
    """Return a SHA-256 of what a table says of its people, hexadecimal: the same in any order of rows or columns, and
    however its file was written. It never leaves this process."""
    rows = np.zeros(len(table), dtype=np.uint64)
    for name in sorted(map(str, table.columns)):
        codes, distinct = pd.factorize(table[name])
        texts = np.array([f"{name}={value_text(value)}" for value in distinct] + [name], dtype=object)
        rows = rows * np.uint64(0x9E3779B97F4A7C15) + pd.util.hash_array(texts, categorize=False)[codes]
    return hashlib.sha256(np.sort(rows).tobytes()).hexdigest()


def level_order(texts: list[str]) -> Any:
    """Return the sort key of levels: as numbers when all are finite numbers, as text otherwise."""
    try:
        if not all(np.isfinite(float(text)) for text in texts):
            return str
    except ValueError:
        return str
    return lambda text: (float(text), text)
