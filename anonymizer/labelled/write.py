"""Write a table as a file of SPSS, Stata or SAS: labels, missing codes, order; equal tables are equal files.

:func:`planned` says how a column stands in a format, or refuses; :func:`labelled_bytes` writes what was planned and
nothing else, so that a file is in order exactly when its columns, as they are read back, are written as the same bytes.
"""

import os
import re
import struct
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import ParameterError, extras_by_name
from anonymizer.labelled.forms import code_form, moment_form, number_form, screen_width, text_form
from anonymizer.labelled.read import LabelledColumn, first_days, moment_scale, period_numbers, period_of
from anonymizer.labelled.variable import Code, Variable

FORMATS = ("sav", "dta", "xpt")
"""What is written: SPSS, Stata, and SAS transport files."""

NAMES = {
    "sav": re.compile(r"(?=.{1,32}$)[^\W\d_][\w.@#$]*(?<![._])"),
    "dta": re.compile(r"[^\W\d]\w{0,31}"),
    "xpt": re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}"),
}
RESERVED = {
    "sav": {"all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"},
    "dta": {"_all", "_b", "_coef", "_cons", "_n", "_pi", "_pred", "_rc", "_skip", "byte", "double", "float", "if", "in",
            "int", "long", "str", "strl", "using", "with"},
    "xpt": set(),
}  # fmt: skip
WHAT_NAMES = {
    "sav": "names there are letters, digits and underscores, 32 at most",
    "dta": "names there are letters, digits and underscores, 32 at most",
    "xpt": "names there are plain letters, digits and underscores, 32 at most",
}
LABEL = {"sav": 120, "dta": 80, "xpt": 40}
"""Letters of a variable's label; a longer one ends with an ellipsis."""
CODE_LABEL = {"sav": 120, "dta": 32_000, "xpt": 0}
"""Bytes of a code's label; cells that are longer stand as text."""
TEXT = {"sav": 32_767, "dta": 2_045, "xpt": 200}
"""Bytes of a text."""
EXACT = 2**53
SIZES = {
    "sav": (0.0, sys.float_info.max * (1 - 2**-52)),
    "dta": (0.0, 2.0**1023 * (1 - 2**-53)),
    "xpt": (1e-77, 2.0**249 * (1 - 2**-53)),
}
"""The least number beside 0 and the largest that stand in a file with all their digits. Larger ones mean a missing
value in SPSS and Stata, those of a transport file are read as infinite."""
CODES = {"sav": EXACT, "dta": 2_147_483_620}
"""The largest code that has a label: behind it, Stata's mean a missing value, and SPSS's are not told apart."""
FIRST_CODE = 1001
"""The first code of cells that are no single value, so that they stand apart from the codes of the file."""
MOST_DISCRETE = 3
SCREEN = struct.pack("<iii", 7, 11, 4)
SIDES = ("left", "right", "center")
STAMP = re.compile(rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d")


def planned(column: LabelledColumn, format: str, generalized: bool = False) -> LabelledColumn:
    """Return a column as it stands in a format: its values as they are, and the codes of its levels.

    A level that the file had a code for keeps it, and a number of a ``generalized`` column is its own; other cells get
    codes behind these, from :data:`FIRST_CODE`. Text without codes stays text, and so does what is too long for a
    label. Raises :class:`ParameterError` for what the format cannot hold.
    """
    name, variable, values = column.name, column.variable, column.values
    if not NAMES[format].fullmatch(name) or name.lower() in RESERVED[format]:
        raise _refusal(format, f"no column {name!r}, for {WHAT_NAMES[format]}")
    label = " ".join(variable.label.split())
    label = label if len(label.encode()) <= LABEL[format] else _cut(label, LABEL[format])
    bare = Variable(label=label)
    if format == "sav":
        own = replace(variable, alignment="") if generalized else variable
        bare = replace(bare, measure=variable.measure, width=variable.width, alignment=own.alignment)
        if generalized and isinstance(values, pd.Categorical):
            bare = replace(bare, width=screen_width(variable.width, values.categories))
    if not isinstance(values, pd.Categorical):
        return replace(column, variable=_number_plan(name, variable, values, bare, format))
    texts = list(values.categories)
    for text in texts:
        if not text or text != text.strip() or not text.isprintable() or len(text.encode()) > TEXT[format]:
            what = "it is empty, too long, or begins or ends with what is not kept"
            raise _refusal(format, f"no text like {text[:30]!r} of column {name!r}: {what}")
    if variable.of or set(texts) <= set(variable.missing):  # alone, they are values like others
        variable = replace(variable, missing=(), ranges=())
    codes = dict(variable.levels)
    fits = all(len(text.encode()) <= CODE_LABEL[format] for text in texts)
    as_text = bare if generalized else replace(bare, format=text_form(variable.format, format))
    if not fits or not texts or not (generalized or codes):
        return replace(column, variable=as_text)
    if format == "dta" and len(name) == 32:
        raise _refusal(format, f"no labels of codes of a column whose name has 32 letters, like {name!r}")
    if all(isinstance(codes.get(text), str) and text not in variable.missing for text in texts) and format == "sav":
        if all(len(str(codes[text])) <= 8 for text in texts):
            return replace(column, variable=replace(bare, levels=tuple((text, codes[text]) for text in texts)))
        return replace(column, variable=as_text)
    room = len(texts)  # behind the codes of the file, for those that have none
    numbers = _numbers(texts, variable) if generalized else {}
    whole = {text: _numeric(codes.get(text, numbers.get(text)), format, room) for text in texts}
    used = [_numeric(code, format, room) for code in (*codes.values(), *(high for _, high in variable.ranges))]
    least = FIRST_CODE - 1 if generalized else 0
    free = int(max([least, *(code for code in (*used, *whole.values()) if code is not None)])) + 1
    levels: list[tuple[str, Code]] = []
    tags = iter(f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
    for text in texts:
        code: Code | None = whole[text]
        if format == "dta" and text in variable.missing:
            code = next(tags, None)
        if code is None:
            code, free = float(free), free + 1
        levels.append((text, code))
    missing = tuple(text for text in texts if text in variable.missing)
    ranges = _ranges(name, variable, levels, missing) if format == "sav" else ()
    order = sorted(levels, key=lambda level: (level[0] in missing, isinstance(level[1], str), level[1]))
    bare = replace(bare, format=code_form(variable.format, format, [code for _, code in order]))
    return replace(column, variable=replace(bare, levels=tuple(order), missing=missing, ranges=ranges))


def _numbers(texts: Sequence[str], variable: Variable) -> dict[str, float]:
    """Return the numbers that cells are: a number that the file has as the code of a level is none of them."""
    of_levels = {code for _, code in variable.levels}
    numbers = {}
    for text in texts:
        with suppress(ValueError):
            number = float(text)
            if isfinite(number) and f"{number:.15g}" == text and number not in of_levels:
                numbers[text] = number
    return numbers


def planned_table(
    columns: Sequence[LabelledColumn], format: str, generalized: Sequence[str] = ()
) -> list[LabelledColumn]:
    """Return the columns of a table as they stand in a format; those of missing values that stand in another column
    again have its name in ``variable.of``. ``generalized``: columns that hold cells. Raises like :func:`planned`."""
    plans: list[LabelledColumn] = []
    for column in columns:
        plan = planned(column, format, column.name in generalized)
        before = plans[-1] if plans else None
        merged = None if before is None else _merged(before, column, format)
        if merged is not None:
            plans[-1], plan = merged
        plans.append(plan)
    texts = [plan.values for plan in plans if isinstance(plan.values, pd.Categorical) and not plan.variable.levels]
    if format == "xpt" and len(texts) == len(plans) and all(text.codes[-1] < 0 for text in texts):
        raise _refusal(format, "no last row without any value: it would be read as the end")
    return plans


def _merged(
    parent: LabelledColumn, column: LabelledColumn, format: str
) -> tuple[LabelledColumn, LabelledColumn] | None:
    """Return a planned column of numbers and the reasons for which its values are missing, where both can stand in
    one; ``None`` where they cannot."""
    variable, values = column.variable, column.values
    if variable.of != parent.name or column.name != f"{parent.name}_missing" or format == "xpt":
        return None
    if isinstance(parent.values, pd.Categorical) or not isinstance(values, pd.Categorical):
        return None
    codes: dict[str, Code | None] = {
        text: _numeric(dict(variable.levels).get(text), format) for text in values.categories
    }
    if format == "dta":
        if len(codes) > 26 or len(parent.values) and parent.values.dtype.kind not in "fM":
            return None
        codes = {text: f".{chr(97 + at)}" for at, text in enumerate(codes)}
        ranges: tuple[tuple[float, float], ...] = ()
    else:
        numbers = _cells(parent, format)
        ranges = parent.variable.ranges or tuple((code, code) for code in codes.values() if isinstance(code, float))
        clash = np.zeros(len(numbers), np.bool_)
        for low, high in ranges:
            clash |= (numbers >= low) & (numbers <= high)
        among = all(isinstance(code, float) and any(a <= code <= b for a, b in ranges) for code in codes.values())
        if not among or clash.any() or (len(ranges) > 1 and len(ranges) > MOST_DISCRETE):
            return None
    if np.any((values.codes >= 0) & ~pd.isna(parent.values)) or not codes:
        return None
    levels = tuple(sorted(((text, code) for text, code in codes.items() if code is not None), key=lambda pair: pair[1]))
    apart = Variable(of=parent.name, levels=levels, missing=tuple(text for text, _ in levels))
    joined = replace(parent, variable=replace(parent.variable, ranges=ranges))
    return joined, replace(column, variable=apart)


def _number_plan(name: str, variable: Variable, values: NDArray[Any], bare: Variable, format: str) -> Variable:
    """Return what a column of numbers or moments is in a format."""
    if values.dtype.kind == "M":
        present = values[~np.isnat(values)]
        days = bool((present == present.astype("datetime64[D]")).all())
        exact = values.astype("datetime64[us]")
        for form in (moment_form(variable.format, format, days), moment_form("", format, days)):
            again = _moments(_numbers_of(values, form, format), form, format)
            if np.array_equal(again, exact, equal_nan=True):
                break
        else:
            raise _refusal(format, f"no times as exact as those of column {name!r}")
        return replace(bare, format=form, ranges=variable.ranges if format == "sav" else ())
    if values.dtype.kind not in "iufb":
        raise _refusal(format, f"no values like those of column {name!r}")
    if values.dtype.kind in "iu" and len(values) and max(abs(int(values.min())), abs(int(values.max()))) > EXACT:
        raise _refusal(format, f"no whole numbers as large as those of column {name!r}")
    sizes, (least, most) = np.abs(values[values != 0].astype(np.float64)), SIZES[format]
    if ((sizes < least) | (sizes > most)).any():
        raise _refusal(format, f"no numbers as large or as near 0 as those of column {name!r}")
    here = set(np.unique(values).tolist()) if variable.levels else set()
    levels = tuple(
        (text, code)
        for text, code in variable.levels
        if code in here and text.isprintable() and len(text.encode()) <= CODE_LABEL[format]
        and _numeric(code, format) is not None
    ) if format != "xpt" else ()  # fmt: skip
    form = number_form(variable.format, format)
    return replace(bare, levels=levels, format=form, ranges=variable.ranges if format == "sav" else ())


def _ranges(
    name: str, variable: Variable, levels: list[tuple[str, Code]], missing: tuple[str, ...]
) -> tuple[tuple[float, float], ...]:
    """Return the codes from and to that SPSS is told to be missing: those of the file, or one each."""
    codes = sorted(float(code) for text, code in levels if text in missing)
    valid = [float(code) for text, code in levels if text not in missing]
    inside = variable.ranges and all(any(low <= code <= high for low, high in variable.ranges) for code in codes)
    if inside and not any(low <= code <= high for low, high in variable.ranges for code in valid):
        return variable.ranges
    if len(codes) <= MOST_DISCRETE:
        return tuple((code, code) for code in codes)
    if not any(codes[0] <= code <= codes[-1] for code in valid):
        return ((codes[0], codes[-1]),)
    raise _refusal("sav", f"no more than {MOST_DISCRETE} codes for missing among the others, which column {name!r} has")


def labelled_bytes(columns: Sequence[LabelledColumn], format: str) -> bytes:
    """Return the file of planned columns: equal columns make equal files, with no time in them.

    Missing values that a column of its own tells apart (see :func:`anonymizer.labelled.read.read_labelled`) stand in
    the column itself again, where the format has codes for them.
    Raises :class:`ParameterError` for two names that differ in upper and lower case alone.
    """
    with extras_by_name():
        import pyreadstat

    names = [column.name for column in columns]
    if len({name.lower() for name in names}) < len(names):
        raise _refusal(format, "no two columns whose names differ in upper and lower case only")
    frame: dict[str, Any] = {}
    labels: dict[str, dict[Any, str]] = {}
    missing: dict[str, list[Any]] = {}
    formats: dict[str, str] = {}
    reasons = {column.variable.of: column for column in columns if column.variable.of}
    for column in columns:
        variable, name = column.variable, column.name
        if variable.of:
            continue
        frame[name] = _cells(column, format)
        if name in reasons:
            apart = reasons[name]
            variable = replace(variable, levels=(*variable.levels, *apart.variable.levels))
            frame[name] = pd.Series(_cells(apart, format)).where(apart.values.codes >= 0, frame[name])
        if variable.levels:
            labels[name] = {_file_code(code, format): text for text, code in variable.levels}
        if variable.format:
            formats[name] = variable.format
        if format == "dta":
            tags = [str(code)[1:] for _, code in variable.levels if isinstance(code, str)]
            missing |= {name: tags} if tags else {}
        elif variable.ranges and format == "sav":
            missing[name] = [low if low == high else {"lo": low, "hi": high} for low, high in variable.ranges]
    options: dict[str, Any] = {"column_labels": {column.name: column.variable.label or None for column in columns}}
    options |= {"variable_format": formats} if formats else {}
    if format == "sav":
        measures = {column.name: column.variable.measure or "unknown" for column in columns}
        widths = {column.name: column.variable.width for column in columns if column.variable.width}
        options |= {"variable_value_labels": labels, "missing_ranges": missing, "variable_measure": measures}
        options |= {"variable_display_width": widths} if widths else {}
        options["row_compress"] = True
    elif format == "dta":
        options |= {"variable_value_labels": labels, "missing_user_values": missing}
    else:
        long = any(len(name) > 8 for name in names)
        options["file_format_version"] = 8 if long else 5
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[format]
    try:
        data = _without_time(_in_memory(write, pd.DataFrame(frame, copy=False), options), format)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise _refusal(format, f"not this table: {str(error)[:200].rstrip('.')}") from error
    sides = {column.name: column.variable.alignment for column in columns}
    return _aligned(data, [sides[name] for name in frame]) if format == "sav" else data


def _cells(column: LabelledColumn, format: str) -> Any:
    """Return the values of a planned column as the writer takes them."""
    values, variable = column.values, column.variable
    if not isinstance(values, pd.Categorical):
        if values.dtype.kind == "M":
            return _numbers_of(values, variable.format, format)
        return values.astype(np.float64)
    codes = dict(variable.levels)
    if not codes:
        return pd.Series(values, dtype=object).where(~values.isna(), "")
    distinct = [_file_code(codes[text], format) for text in values.categories]
    if any(isinstance(code, str) for code in distinct):
        empty: Any = "" if all(isinstance(code, str) for code in distinct) and format == "sav" else np.nan
        return pd.Series(np.array([*distinct, empty], dtype=object)[values.codes])
    return np.array([*distinct, np.nan], dtype=np.float64)[values.codes]


def _file_code(code: Code, format: str) -> Any:
    if format == "dta":
        return code[1:] if isinstance(code, str) else int(code)
    return code


def _numbers_of(values: NDArray[Any], form: str, format: str) -> NDArray[np.float64]:
    """Return moments as the numbers that a format has for them."""
    if (period := period_of(form, format)) is not None:
        return period_numbers(values.astype("datetime64[us]"), period[1])
    unit, epoch = moment_scale(form, format) or (1.0, 0)
    micro = values.astype("datetime64[us]").astype(np.int64)
    numbers = (micro - epoch) / unit
    numbers[np.isnat(values)] = np.nan
    return np.asarray(numbers, np.float64)


def _moments(numbers: NDArray[np.float64], form: str, format: str) -> NDArray[Any]:
    if (period := period_of(form, format)) is not None:
        return first_days(numbers, period[1])
    unit, epoch = moment_scale(form, format) or (1.0, 0)
    moments = np.full(len(numbers), np.datetime64("NaT"), "datetime64[us]")
    here = ~np.isnan(numbers)
    moments[here] = (np.rint(numbers[here] * unit).astype(np.int64) + epoch).astype("datetime64[us]")
    return moments


def _in_memory(write: Any, frame: pd.DataFrame, options: dict[str, Any]) -> bytes:
    """Return what a writer writes to a file that is in memory alone; where the system has none, in a folder of its own
    that goes at once."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("release"), "rb") as file, _files_allowed():
            write(frame, f"/proc/self/fd/{file.fileno()}", **options)
            return file.read()
    with tempfile.TemporaryDirectory() as folder, _files_allowed():
        path = Path(folder) / "release"
        write(frame, str(path), **options)
        return path.read_bytes()


@contextmanager
def _files_allowed() -> Iterator[None]:
    """Let a process that may write no file, for it reads what strangers made, write as much as it may use memory: to
    the system a file in memory is one."""
    try:
        import resource
    except ImportError:  # not on every system
        yield
        return
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))


def _without_time(data: bytes, format: str) -> bytes:
    """Return a file without the time at which it was made."""
    if format == "sav":
        return data[:92] + b"01 Jan 7000:00:00" + data[109:]
    if format == "dta":
        start = data.index(b"<timestamp>") + len(b"<timestamp>")
        size = data[start]
        return data[: start + 1] + b"01 Jan 1970 00:00".ljust(size)[:size] + data[start + 1 + size :]
    head, rest = data[:2000], data[2000:]
    return STAMP.sub(b"01JAN70:00:00:00", head, count=4) + rest


def _aligned(data: bytes, sides: Sequence[str]) -> bytes:
    """Return a .sav file whose columns stand at these sides of the screen, "" for the usual one, which pyreadstat does
    not write: it is the third number of each column in record 7, subtype 11. A file with texts so long that they take
    several columns there stays as it is."""
    at = data.find(SCREEN)
    count = int.from_bytes(data[at + 12 : at + 16], "little")
    if at < 0 or count != 3 * len(sides) or not any(sides):
        return data
    changed = bytearray(data)
    for position, side in enumerate(sides):
        if side:
            changed[at + 24 + 12 * position] = SIDES.index(side)
    return bytes(changed)


def _cut(text: str, most: int) -> str:
    return text.encode()[: most - 3].decode("utf-8", "ignore") + "…"


def _numeric(code: Code | None, format: str, room: int = 0) -> float | None:
    """Return a code as a number that a format has labels for, with ``room`` for more behind it; ``None`` where it is
    none."""
    if code is None or isinstance(code, str):
        return None
    number = float(code)
    if not abs(number) <= CODES[format] - room or (format == "dta" and not number.is_integer()):
        return None
    return number


def _refusal(format: str, what: str) -> ParameterError:
    return ParameterError(
        f"A .{format} file holds {what}.", value=format, remedy="Write it as .csv, .csv.gz, .parquet or .feather."
    )
