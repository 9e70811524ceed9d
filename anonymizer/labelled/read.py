"""Read a statistician's file (SPSS, Stata, SAS): its columns with labels, and its missing values told apart.

A column whose codes have labels becomes categories, shown by label. Codes that a file declares to be missing are levels
of such a column; of numbers and dates they stand in a column of their own beside it, so that neither is lost.
"""

import codecs
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anonymizer.errors import Progress, ReadError, extras_by_name, no_progress
from anonymizer.labelled.parts import PARTS, PARTS_UNPACKED, RawColumn, read_parts
from anonymizer.labelled.variable import Code, Variable, code_text

KINDS = {"sav": "read_sav", "por": "read_por", "dta": "read_dta", "sas7bdat": "read_sas7bdat", "xpt": "read_xport"}
"""Each format, and the function of pyreadstat that reads it."""

MOST_WIDE = 255
"""Letters of a column on the screen that are believed."""

DAY = 86_400_000_000
SPSS_EPOCH = -12_219_379_200_000_000
STATA_EPOCH = -315_619_200_000_000
"""Microseconds from 1970 back to 14 October 1582, and to 1960, which SAS counts from as well."""

SPSS_MOMENTS = ("DATETIME", "YMDHMS", "DATE", "ADATE", "EDATE", "SDATE", "JDATE", "MOYR", "QYR", "WKYR")
SAS_STAMPS = re.compile("DATETIME|[EB]8601D[TZNX]|DATEAMPM|MDYAMPM|DTDATE|DTMONYY|DTYEAR")
SAS_DAYS = re.compile(
    "(MMDDYY|DDMMYY|YYMMDD|YYMM|MMYY|YYQ)[BCDNPS]?|DATE|[EB]8601DA|JULIAN|MONYY|(WORD|WEEK)DAT[EX]|DAY|MONTH|QTR|YEAR"
)
CLOCKS = ("TIME", "DTIME", "MTIME", "HHMM", "E8601TM")
"""Formats that show the hours of a day. They stay the numbers that they are."""
PERIODS = {"w": ("weeks", 52), "m": ("months", 12), "q": ("quarters", 4), "h": ("half-years", 2)}
"""What Stata counts from 1960 on, by the second letter of its format: the name, and how many of it are a year."""

OTHER_CHARSETS = ("WINDOWS-1252", "ISO-8859-1")
"""What is tried where text is not in the encoding that its file names."""


@dataclass(frozen=True, eq=False)
class LabelledColumn:
    """One column (n,): numbers, moments, codes of categories, or pieces of text; and what its file says of it.

    ``notes``: a level ("info" or "warning"), a sentence, and what to do.
    """

    name: str
    variable: Variable
    values: Any
    notes: tuple[tuple[str, str, str], ...] = ()


def read_labelled(
    data: bytes | Path,
    kind: str,
    name: str,
    *,
    stop: Callable[[int, int], None],
    encoding: str | None = None,
    as_numbers: tuple[str, ...] = (),
    as_text: tuple[str, ...] = (),
    progress: Progress = no_progress,
) -> list[LabelledColumn]:
    """Return the columns of a file of one of :data:`KINDS`, those of missing values each behind its own.

    ``data``: its bytes, or where it lies. ``stop``: called with rows and columns, so that it can raise.
    ``as_numbers``, ``as_text``: columns that are numbers, or categories, whatever their labels say. Raises
    :class:`ReadError` for a file that is damaged or has no record, and for an ``encoding`` that its text is not in;
    text that is not in the encoding that its file names is read in one of :data:`OTHER_CHARSETS`, with a note.
    """
    with extras_by_name():
        import pyreadstat

    charset = charset_of(encoding, kind) if encoding and kind != "por" else None
    for other in (charset,) if charset or kind == "por" else (None, *OTHER_CHARSETS):
        try:
            columns = _read(data, kind, name, other, stop, as_numbers, as_text, progress)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError, OverflowError) as error:
            fault = error
            if "onvert string" in str(error) or "character set" in str(error) or isinstance(error, UnicodeDecodeError):
                continue
            break
        if other and not charset:
            sentence = f"Text of {name} is not in the encoding that the file names; it was read as {other}."
            note = ("warning", sentence, "Check letters with accents; name the encoding if they look wrong.")
            columns[0] = replace(columns[0], notes=(note, *columns[0].notes))
        return columns
    if charset and "Unable to convert" in str(fault):
        problem, remedy = f"Text of {name} is not in the encoding {encoding}.", "Name another one, or none."
        raise ReadError(problem, remedy=remedy) from fault
    raise ReadError(
        f"{name} cannot be read as a .{kind} file: it is damaged, cut off, locked, or of a kind that is not known.",
        remedy="Save it again in the program that it came from, or as CSV.",
    ) from fault


def charset_of(encoding: str, kind: str) -> str:
    """Return what the library of such files calls an encoding of Python's. Raises :class:`ReadError` for one that they
    cannot be in."""
    name = codecs.lookup(encoding).name.replace("_", "-").upper()
    if name.startswith(("UTF-16", "UTF-32")):
        raise ReadError(f"A .{kind} file cannot be in the encoding {encoding}.", remedy="Name another one, or none.")
    return {"MAC-ROMAN": "MACINTOSH", "UTF-8-SIG": "UTF-8", "ISO8859-1": "ISO-8859-1"}.get(name, name)


def _read(
    data: bytes | Path,
    kind: str,
    name: str,
    charset: str | None,
    stop: Callable[[int, int], None],
    as_numbers: tuple[str, ...],
    as_text: tuple[str, ...],
    progress: Progress,
) -> list[LabelledColumn]:
    """Return the columns of a file, its text read in a ``charset``, or in the one that it names; raises what pyreadstat
    raises, and :class:`ReadError` where there is no record."""
    import pyreadstat

    read = getattr(pyreadstat, KINDS[kind])
    options: dict[str, Any] = {"output_format": "dict", "disable_datetime_conversion": True}
    options |= {"encoding": charset} if charset else {}
    options |= {"user_missing": True} if kind in ("sav", "dta", "sas7bdat") else {}
    most = PARTS_UNPACKED if kind == "sav" and _start(data) == b"$FL3" else PARTS

    def source() -> Any:
        return io.BytesIO(data) if isinstance(data, bytes) else str(data)

    _, about = read(source(), metadataonly=True, **options)
    names = list(about.column_names)
    if None in names:
        raise pyreadstat.PyreadstatError("a column has no name")
    stop(about.number_rows or 0, len(names))
    raw: dict[str, RawColumn] = {label: RawColumn(max(about.number_rows or 0, 0)) for label in names}
    rows = 0
    for part in read_parts(read, source, about.number_rows, len(names), most, options):
        size = len(next(iter(part.values()), ()))
        rows += size
        stop(rows, len(names))
        for label in names:
            raw[label].add(part.pop(label), about.readstat_variable_types[label] == "string")
        progress(0.8 * rows / max(rows, about.number_rows or 0, 1), f"Reading {rows:,} rows")
    if not rows or not names:
        raise ReadError(f"{name} has no rows.", remedy="Use a table with at least one row.")
    columns: list[LabelledColumn] = []
    for position, label in enumerate(names):
        progress(0.8 + 0.2 * position / len(names), f"Reading column {label}")
        columns += _columns(label, raw.pop(label), about, kind, label in as_numbers, label in as_text)
    return _with_free_names(columns)


def _start(data: bytes | Path) -> bytes:
    """Return the first four bytes."""
    if isinstance(data, bytes):
        return data[:4]
    with data.open("rb") as file:
        return file.read(4)


def _variable(name: str, raw: RawColumn, about: Any) -> tuple[dict[Code, str], set[str], Variable]:
    """Return what a file says of a column: labels by code, texts that mean missing, and the variable."""
    labels = {
        _code(code, not raw.is_text): text for code, text in (about.variable_value_labels.get(name) or {}).items()
    }
    ranges = about.missing_ranges.get(name) or []
    discrete = {str(one["lo"]) for one in ranges if isinstance(one, dict) and isinstance(one["lo"], str)}
    discrete |= {one for one in ranges if isinstance(one, str)}
    spans = tuple(
        (float(one["lo"]), float(one["hi"])) if isinstance(one, dict) else (float(one), float(one))
        for one in ranges
        if not (isinstance(one, str) or isinstance(one, dict) and isinstance(one["lo"], str))
    )
    measure = about.variable_measure.get(name) or ""
    alignment = about.variable_alignment.get(name) or "unknown"
    variable = Variable(
        label=about.column_names_to_labels.get(name) or "",
        ranges=spans,
        format=about.original_variable_types.get(name) or "",
        measure="" if measure == "unknown" else measure,
        width=min(abs(about.variable_display_width.get(name) or 0), MOST_WIDE),
        alignment="" if alignment in ("unknown", "left" if raw.is_text else "right") else alignment,
    )
    return labels, discrete, variable


def _columns(
    name: str, raw: RawColumn, about: Any, kind: str, as_numbers: bool, as_text: bool
) -> Iterator[LabelledColumn]:
    """Yield a column, and behind it the one of its missing values where it has such."""
    labels, discrete, variable = _variable(name, raw, about)
    spans = variable.ranges
    if raw.is_text:
        yield _text(name, raw.take_texts(), variable, {str(code): text for code, text in labels.items()}, discrete)
        return
    numbers, codes_of, tags = raw.take()  # (m,) numbers, each once where codes (n,) say who has it
    spread = _spread(codes_of)
    absent = np.zeros(len(numbers), np.bool_)
    for low, high in spans:
        absent |= (numbers >= low) & (numbers <= high)
    present = ~absent & ~np.isnan(numbers)
    reasons = _reasons(numbers, tags, absent, spread)
    named = {code: text for code, text in labels.items() if isinstance(code, float) and not _among(code, spans)}
    named_codes = {code: text for code, text in named.items() if text.strip()}
    valid = np.unique(numbers[present]) if named_codes or as_text else np.zeros(0)
    bare = [float(code) for code in valid if float(code) not in named_codes]
    if as_text or (named_codes and not as_numbers and len(bare) <= len(named_codes)):
        codes: list[Code] = [*sorted({*named, *map(float, valid)}), *_declared(labels, reasons, spans)]
        variable, notes = _with_levels(name, variable, codes, labels, len(codes) - len({*named, *map(float, valid)}))
        place = {code: at for at, (_, code) in enumerate(variable.levels)}
        index = np.full(len(numbers), -1, np.int32)
        index[present] = np.array([place[float(code)] for code in valid], np.int32)[
            np.searchsorted(valid, numbers[present])
        ]
        index = spread(index)
        for code, rows in reasons.items():
            index[rows] = place[code]
        yield LabelledColumn(name, variable, _categories(index, variable.domain), notes)
        return
    numbers[absent] = np.nan
    values, notes = _moments(name, numbers, variable.format, kind)
    values = spread(values)
    if named_codes:
        levels = tuple((text, code) for code, text in sorted(named_codes.items()))
        first = f"{_words_of(levels[0][1], variable.format, kind)} is {levels[0][0]!r}"
        what = "dates" if values.dtype.kind == "M" else "numbers"
        sentence = f"Column {name!r} stays {what}, for most of its values have no label; of those that have, {first}."
        remedy = "If its values are codes, have it read as text."
        variable, notes = replace(variable, levels=levels), (*notes, ("info", sentence, remedy))
    yield LabelledColumn(name, variable, values, notes)
    if reasons:
        codes = _declared({code: labels[code] for code in reasons if code in labels}, reasons, spans)
        apart = Variable(label=variable.label, measure="nominal", of=name)
        apart, notes = _with_levels(name, apart, codes, labels, len(codes))
        index = np.full(len(values), -1, np.int32)
        for at, (_, code) in enumerate(apart.levels):
            index[reasons[code]] = at
        sentence = (
            f"{sum(map(len, reasons.values())):,} values of column {name!r} are missing for a reason that the file "
            f"tells: the reasons are column {name + '_missing'!r}."
        )
        notes = (*notes, ("info", sentence, "Leave it out if nobody needs it."))
        yield LabelledColumn(f"{name}_missing", apart, _categories(index, apart.domain), notes)


def _spread(codes: NDArray[Any] | None) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return what gives each row (n,) its value of those that codes stand for, or has them as they are."""
    return lambda values: values if codes is None else values[codes]


def _reasons(
    numbers: NDArray[np.float64],
    tags: NDArray[np.uint8],
    absent: NDArray[np.bool_],
    spread: Callable[[NDArray[Any]], NDArray[Any]],
) -> dict[Code, NDArray[np.int64]]:
    """Return the rows that are missing for each reason, by its code; none of those where nothing is said."""
    codes: dict[Code, NDArray[np.int64]] = {}
    for number in np.unique(numbers[absent]):
        codes[float(number)] = np.flatnonzero(spread(numbers == number))
    for tag in np.unique(tags[tags > 0]):
        codes[f".{chr(int(tag)).lower()}"] = np.flatnonzero(tags == tag)
    return codes


def _declared(labels: Mapping[Code, str], reasons: Mapping[Code, Any], spans: tuple[Any, ...]) -> list[Code]:
    """Return the codes that mean missing, labelled or in some row, in their order: numbers, then letters."""
    codes = {code for code in labels if isinstance(code, str) or _among(code, spans)} | set(reasons)
    return sorted(codes, key=lambda code: (isinstance(code, str), code))


def _text(
    name: str, texts: list[pa.Array], variable: Variable, labels: Mapping[str, str], missing: set[str]
) -> LabelledColumn:
    """Return a column of text: categories where its values have labels, or some of them mean missing."""
    if not labels and not missing:
        return LabelledColumn(name, variable, texts)
    whole = pa.chunked_array(texts).unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    values = whole.dictionary.to_pylist()
    codes = sorted({*labels, *values} - {""} - missing) + sorted(missing & {*labels, *values})
    variable, notes = _with_levels(name, variable, list(codes), labels, len(missing & set(codes)))
    place = {code: at for at, (_, code) in enumerate(variable.levels)} | {"": -1}
    lookup = np.array([place[value] for value in values], np.int32)
    return LabelledColumn(name, variable, _categories(lookup[whole.indices.to_numpy()], variable.domain), notes)


def _with_levels(
    name: str, variable: Variable, codes: list[Code], labels: Mapping[Any, str], missing: int
) -> tuple[Variable, tuple[tuple[str, str, str], ...]]:
    """Return the variable with a level for each code, all different, and notes; the last ``missing`` mean missing."""
    texts = [labels.get(code, "").strip() or code_text(code) for code in codes]
    alike = {text for text in texts if texts.count(text) > 1} if len(set(texts)) < len(texts) else set()
    levels = [f"{text} ({code_text(code)})" if text in alike else text for text, code in zip(texts, codes, strict=True)]
    while len(set(levels)) < len(levels):  # a label that looks like another with its code
        levels = [f"{level} ({at + 1})" if levels.count(level) > 1 else level for at, level in enumerate(levels)]
    notes = []
    bare = [code_text(code) for code in codes if not labels.get(code, "").strip()]
    if bare and any(labels.values()) and isinstance(codes[0], float | str):
        sentence = f"Column {name!r} has codes without a label, shown as they are: {_few(bare)}."
        notes.append(("info", sentence, "Label them in the file if they mean something."))
    if alike:
        sentence = f"Column {name!r} has codes with the same label, shown with the code: {_few(sorted(alike))}."
        notes.append(("info", sentence, "Give each a label of its own, or take them as one."))
    return replace(
        variable,
        levels=tuple(zip(levels, codes, strict=True)),
        missing=tuple(levels[len(levels) - missing :]),
    ), tuple(notes)


def _few(texts: list[str]) -> str:
    return ", ".join(text[:40] for text in texts[:5]) + (", …" if len(texts) > 5 else "")


def _categories(index: NDArray[np.int32], levels: tuple[str, ...]) -> pd.Categorical:
    """Return categories of the levels that some row has, in their order. ``index`` (n,): -1 for missing."""
    used = np.flatnonzero(np.bincount(index[index >= 0], minlength=len(levels)))
    place = np.full(len(levels) + 1, -1, np.int32)
    place[used] = np.arange(len(used))
    return pd.Categorical.from_codes(place[index], pd.Index([levels[at] for at in used], dtype="str"))


def _moments(name: str, numbers: NDArray[np.float64], format: str, kind: str) -> tuple[Any, tuple[Any, ...]]:
    """Return days and moments (n,) of a column that its file shows as such, any other as numbers; and notes."""
    if (period := period_of(format, kind)) is not None:
        return _periods(name, numbers, format, *period)
    scale = moment_scale(format, kind)
    if scale is None:
        clock = format.startswith(CLOCKS)
        sentence = f"Column {name!r} holds times of the form {format}, which stay the numbers that the file has."
        return _plain(numbers), (("info", sentence, ""),) if clock else ()
    unit, epoch = scale
    micro = np.rint(numbers * unit)
    far = np.abs(micro[~np.isnan(micro)]) > 6e18
    if far.any():
        sentence = f"Column {name!r} holds dates far beyond the calendar, so it stays numbers."
        return numbers, (("warning", sentence, "Correct them in the file."),)
    moments = np.full(len(numbers), np.datetime64("NaT"), "datetime64[us]")
    present = ~np.isnan(micro)
    moments[present] = (micro[present].astype(np.int64) + epoch).astype("datetime64[us]")
    cut = bool((np.abs(micro[present] - numbers[present] * unit) > 0.01).any())
    sentence = f"The times of column {name!r} were rounded to microseconds."
    return moments, (("info", sentence, ""),) if cut else ()


def period_of(format: str, kind: str) -> tuple[str, int] | None:
    """Return what a format of Stata counts from 1960 on, and how many of it are a year; ``None`` for other formats."""
    return PERIODS.get(format[2:3]) if kind == "dta" and format.startswith("%t") else None


def _periods(
    name: str, numbers: NDArray[np.float64], format: str, what: str, of_year: int
) -> tuple[Any, tuple[tuple[str, str, str], ...]]:
    """Return the first day (n,) of each period, and a note; the numbers where they count no whole periods."""
    present = numbers[~np.isnan(numbers)]
    if not ((present == np.rint(present)) & (np.abs(present) < 1_800 * of_year)).all():
        sentence = f"Column {name!r} holds no {what} of the calendar, though its format says so. It stays numbers."
        return _plain(numbers), (("warning", sentence, "Correct its format in the file."),)
    sentence = f"Column {name!r} holds {what} ({format}): each is shown by its first day."
    return first_days(numbers, of_year), (("info", sentence, ""),)


def first_days(numbers: NDArray[np.float64], of_year: int) -> NDArray[Any]:
    """Return the first day (n,) of periods that are counted from 1960 on, ``of_year`` of them a year; a week has 7 days
    from 1 January on, and the last of a year more."""
    days = np.full(len(numbers), np.datetime64("NaT"), "datetime64[us]")
    present = ~np.isnan(numbers)
    years, within = np.divmod(numbers[present].astype(np.int64), of_year)
    starts = (years - 10).astype("datetime64[Y]")
    if of_year == 52:
        days[present] = starts.astype("datetime64[D]") + 7 * within
    else:
        days[present] = starts.astype("datetime64[M]") + within * (12 // of_year)
    return days


def period_numbers(moments: NDArray[Any], of_year: int) -> NDArray[np.float64]:
    """Return the periods (n,) in which moments lie, as :func:`first_days` counts them."""
    years = moments.astype("datetime64[Y]").astype(np.int64)
    if of_year == 52:
        days = (moments.astype("datetime64[D]") - moments.astype("datetime64[Y]")).astype(np.int64)
        within = np.minimum(days // 7, 51)
    else:
        within = moments.astype("datetime64[M]").astype(np.int64) % 12 // (12 // of_year)
    numbers: NDArray[np.float64] = ((years + 10) * of_year + within).astype(np.float64)
    numbers[np.isnat(moments)] = np.nan
    return numbers


def _words_of(code: Code, format: str, kind: str) -> str:
    """Return a code of a column as its file shows it: a day or a moment where the format says so."""
    if isinstance(code, str):
        return code
    moments, _ = _moments("", np.array([code]), format, kind)
    return (
        code_text(code)
        if moments.dtype.kind != "M"
        else str(moments.astype("datetime64[s]")[0]).removesuffix("T00:00:00")
    )


def moment_scale(format: str, kind: str) -> tuple[float, int] | None:
    """Return how many microseconds one is and where 0 lies, of a format that shows days or moments; else ``None``."""
    word = format.upper().rstrip("0123456789.")
    if kind in ("sav", "por"):
        return (1e6, SPSS_EPOCH) if word in SPSS_MOMENTS else None
    if kind == "dta":
        if format.startswith(("%tc", "%tC")):
            return 1e3, STATA_EPOCH
        return (float(DAY), STATA_EPOCH) if format.startswith(("%td", "%d")) else None
    if SAS_STAMPS.fullmatch(word):
        return 1e6, STATA_EPOCH
    return (float(DAY), STATA_EPOCH) if SAS_DAYS.fullmatch(word) else None


def _plain(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Return whole numbers as such where none is missing."""
    whole = bool(np.isfinite(numbers).all() and (np.abs(numbers) < 2**53).all() and (numbers == np.rint(numbers)).all())
    return numbers.astype(np.int64) if whole else numbers


def _with_free_names(columns: list[LabelledColumn]) -> list[LabelledColumn]:
    """Return the columns with names of their own for those of missing values."""
    names = {column.name for column in columns if not column.variable.of}
    renamed = []
    for column in columns:
        label = column.name
        while column.variable.of and label in names:
            label += "_"
        names.add(label)
        renamed.append(replace(column, name=label))
    return renamed


def _among(code: Code, spans: tuple[tuple[float, float], ...]) -> bool:
    return isinstance(code, float) and any(low <= code <= high for low, high in spans)


def _code(code: Any, among_numbers: bool) -> Code:
    """Return a code as a table has it: text, a number, or the letter of a missing number behind a point."""
    if not among_numbers:
        return str(code)
    return f".{code.lower()}" if isinstance(code, str) else float(code)
