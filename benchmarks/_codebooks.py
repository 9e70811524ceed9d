"""Tables made up from the codebooks of public ones (``codebooks*.txt``), and the answers that fit each column.

A column's values are words: ``int 1 9`` evenly, ``ones 1,2,8`` whole numbers and ``one a;b`` texts, the first most
often, ``gauss MEAN SD LOW HIGH``, ``poisson``, ``skew MEDIAN`` (log-normal), ``zeros MEDIAN`` (nine of ten are 0),
``real LOW HIGH DIGITS``, ``coord``, ``seq`` and ``rep … TIMES`` for numbers of rows and of persons, dates, and names.
"""

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

FILES = {part: Path(__file__).with_name(f"{part}.txt") for part in ("codebooks", "codebooks_later")}
ROWS = 800
FAMILIAR = (
    "Adult, census income",
    "Credit, German (Statlog)",
    "Emergency department visits, NHAMCS",
    "Traffic stops, an American city",
)
"""Tables by which suggestions had been judged before: never set aside."""
ROLES = {
    **{"i": "identifying", "p": "person", "q": "quasi-identifying", "s": "sensitive", "n": "insensitive"},
    "w": "weight",
}
KINDS = {"n": "number", "c": "category", "o": "ordered category", "d": "date"}

FIRST = [
    "Ana",
    "Luis",
    "Marta",
    "Jonas",
    "Chloe",
    "Emil",
    "Nora",
    "Paul",
    "Irene",
    "Hugo",
    "Zoe",
    "Karl",
    "Lea",
    "Omar",
]
LAST = ["Silva", "Meier", "Rossi", "Dubois", "Novak", "Garcia", "Jansen", "Schulz", "Costa", "Moreau", "Bianchi"]


class Labelled(NamedTuple):
    """A column: how its values are made, and the roles and kinds (letters) that fit it, the likeliest first."""

    name: str
    values: str
    roles: tuple[str, ...]
    kinds: tuple[str, ...]
    label: str = ""


def codebooks(file: str) -> dict[str, tuple[Labelled, ...]]:
    """Return the columns of every table of one of :data:`FILES`, by its name."""
    books: dict[str, list[Labelled]] = {}
    for line in FILES[file].read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            columns = books.setdefault(line[3:], [])
        elif line and not line.startswith("#"):
            name, values, roles, kinds, *label = (part.strip() for part in line.split("|"))
            columns.append(Labelled(name, values, tuple(roles.split("/")), tuple(kinds.split("/")), *label))
    return {name: tuple(columns) for name, columns in books.items()}


def set_aside(file: str) -> frozenset[str]:
    """Return the names of a file's tables that suggestions are not tuned on: every second of those not known before."""
    return frozenset(sorted(name for name in codebooks(file) if name not in FAMILIAR)[1::2])


def table_of(name: str, columns: tuple[Labelled, ...], rows: int = ROWS) -> pd.DataFrame:
    """Return the made-up table: the same at every call."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return pd.DataFrame({column.name: values_of(column.values, rows, rng) for column in columns})


def values_of(words: str, rows: int, rng: np.random.Generator) -> Any:
    """Return the values of a column that these words describe."""
    word, _, rest = words.partition(" ")
    return MAKERS[word](rest, rows, rng)


def often(levels: Any, rows: int, rng: np.random.Generator) -> Any:
    """Return draws of levels, the first most often; every level occurs."""
    weights = 1 / np.arange(1, len(levels) + 1) ** 0.7
    places = rng.choice(len(levels), rows, p=weights / weights.sum())
    places[: len(levels)] = np.arange(len(levels))
    return [levels[place] for place in rng.permutation(places)]


def gauss(text: str, rows: int, rng: np.random.Generator) -> Any:
    """Return rounded normal draws between two ends."""
    mean, deviation, low, high = map(float, text.split())
    return np.clip(rng.normal(mean, deviation, rows).round(), low, high).astype(np.int64)


def real(text: str, rows: int, rng: np.random.Generator) -> Any:
    """Return even draws with so many digits."""
    low, high, digits = text.split()
    return rng.uniform(float(low), float(high), rows).round(int(digits))


def repeated(text: str, rows: int, rng: np.random.Generator) -> Any:
    """Return numbers of persons who have so many rows each, on average."""
    form, _, times = text.rpartition(" ")
    return [numbered(form, int(number)) for number in np.sort(rng.integers(1, int(rows / float(times)), rows))]


def numbered(form: str, number: int) -> Any:
    """Return a number in its written form; whole numbers stay numbers."""
    text = form.format(number // 50, number % 50) if form.count("{") == 2 else form.format(number * 37 + 100_001)
    return int(text) if form.startswith("{:") and form.endswith("d}") and form.count("{") == 1 else text


def sequence(text: str, rows: int, rng: np.random.Generator) -> Any:
    """Return a number for every row, in any order."""
    return [numbered(text, int(number)) for number in rng.permutation(rows)]


def moments(text: str, rows: int, rng: np.random.Generator, unit: str = "s") -> Any:
    """Return even draws between two days, in seconds or days."""
    low, high = (np.datetime64(end, unit).astype(np.int64) for end in text.split())
    return rng.integers(low, high, rows).astype(f"datetime64[{unit}]").astype("datetime64[s]")


def days_with_gaps(text: str, rows: int, rng: np.random.Generator) -> Any:
    """Return days, of which four of five are missing."""
    return pd.Series(moments(text, rows, rng, "D")).where(rng.random(rows) < 0.2)


def people(form: Callable[[str, str], str]) -> Callable[[str, int, np.random.Generator], Any]:
    """Return a maker of names in one form."""
    return lambda _, rows, rng: [form(str(rng.choice(FIRST)), str(rng.choice(LAST))) for _ in range(rows)]


def digits(*sizes: int, mark: str = "") -> Callable[[str, int, np.random.Generator], Any]:
    """Return a maker of groups of digits."""
    return lambda _, rows, rng: [mark.join(f"{rng.integers(10 ** (s - 1), 10**s)}" for s in sizes) for _ in range(rows)]


def uuids(text: str, rows: int, rng: np.random.Generator) -> Any:
    """Return random UUIDs, each on so many rows on average."""
    of = rng.integers(0, rows / float(text), rows) if text else range(rows)
    pool = [bytes(rng.integers(0, 256, 16, dtype=np.uint8)).hex() for _ in range(rows)]
    return ["-".join((u[:8], u[8:12], u[12:16], u[16:20], u[20:])) for u in (pool[place] for place in of)]


def tax_codes(_: str, rows: int, rng: np.random.Generator) -> Any:
    """Return texts in the shape of Italian tax codes."""
    letters = np.array(list("ABCDEFGHLMNPRST"))
    parts = [("".join(rng.choice(letters, 6)), *rng.integers(10, 99, 2), *rng.choice(letters, 2)) for _ in range(rows)]
    return [f"{a}{b}{d}{c}{e}{rng.integers(100, 999)}X" for a, b, c, d, e in parts]


MAKERS: Mapping[str, Callable[[str, int, np.random.Generator], Any]] = {
    "int": lambda text, rows, rng: rng.integers(int(text.split()[0]), int(text.split()[1]) + 1, rows),
    "ones": lambda text, rows, rng: np.array(often([int(part) for part in text.split(",")], rows, rng)),
    "one": lambda text, rows, rng: often(text.split(";"), rows, rng),
    "gauss": gauss,
    "poisson": lambda text, rows, rng: rng.poisson(float(text), rows),
    "skew": lambda text, rows, rng: (float(text) * rng.lognormal(0, 0.7, rows)).round().astype(np.int64),
    "zeros": lambda text, rows, rng: np.where(
        rng.random(rows) < 0.9, 0, (float(text) * rng.lognormal(0, 0.7, rows)).round()
    ).astype(np.int64),
    "real": real,
    "coord": real,
    "seq": sequence,
    "rep": repeated,
    "date": lambda text, rows, rng: moments(text, rows, rng, "D"),
    "datesgap": days_with_gaps,
    "moment": moments,
    "people": people(lambda first, last: f"{first} {last}"),
    "titled": people(lambda first, last: f"{last}, Mr. {first}"),
    "given": people(lambda first, last: first),
    "family": people(lambda first, last: last),
    "mail": lambda text, rows, rng: [f"p{number}@example.org" for number in rng.permutation(rows)],
    "zip": lambda text, rows, rng: rng.choice(rng.integers(10_000, 99_999, 80), rows),
    "ssn": lambda text, rows, rng: [f"{a}-{b}-{c}" for a, b, c in zip(
        rng.integers(100, 665, rows), rng.integers(10, 99, rows), rng.integers(1000, 9999, rows), strict=True)],
    "nir": digits(1, 2, 2, 2, 3, 3, mark=" "),
    "uuid": uuids,
    "uuidrep": uuids,
    "taxcode": tax_codes,
}  # fmt: skip
