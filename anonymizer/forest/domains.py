"""Public domains: which values a private forest may know of, and a table written in their codes.

A differentially private tree has a child for every *public* value, whether anybody has it or not. Domains therefore
come from the steward or a public codebook. Reading them from the table is possible, but then the very presence of a
rare value is published without noise: each such column is marked, and the mark stays in every report.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import SchemaError
from anonymizer.json_value import parse
from anonymizer.schema import Kind, Schema, kind_of
from anonymizer.values import level_order, value_text

MISSING = None
OTHER = "*"
"""The level that catches whatever no other level names, missing values too, where the steward lists it."""

FEW_NUMBERS = 12
"""A numeric column with at most so many distinct values is taken as categories when its domain is read from it."""

MOST_LEVELS = 200
"""Most values of a column whose domain is read from it."""

N_BINS = 8
"""Ranges of equal width that a numeric column is cut into when only its two ends are known."""


@dataclass(frozen=True)
class Attribute:
    """One column a tree may split on (or the class).

    ``levels``: its values in order; ``None`` stands for missing, ``"*"`` for anything else. ``cuts``: for numbers, the
    inner ends of the ranges: range i holds cuts[i-1] <= value < cuts[i]; values beyond the ends fall into the outer
    ranges. ``public``: whether this came from the steward rather than from the records. ``bounds``: the two ends, where
    only they are known and the cuts in between are even; :mod:`anonymizer.forest.cut_points` can buy better ones.
    ``exact``: it was declared, and is just what occurs in the table.
    """

    name: str
    levels: tuple[str | None, ...]
    cuts: tuple[float, ...] | None = None
    public: bool = True
    bounds: tuple[float, float] | None = None
    exact: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not self.levels or len(set(self.levels)) != len(self.levels):
            raise SchemaError(f"The domain of {self.name!r} is empty or lists a value twice.", column=self.name)

    @classmethod
    def numeric(
        cls, name: str, cuts: Sequence[float], *, missing: bool = False, integer: bool = False, public: bool = True
    ) -> "Attribute":
        """Return ranges between cut points, and a level of its own for missing with ``missing``."""
        ends = tuple(sorted({float(cut) for cut in cuts}))
        if not ends or not all(np.isfinite(ends)):
            raise SchemaError(f"{name!r} needs at least one finite cut point.", column=name)
        texts = [value_text(end) for end in ends]
        ranges = [f"< {texts[0]}"]
        for low, high, first, last in zip(ends, ends[1:], texts, texts[1:], strict=False):
            ranges.append(first if integer and high - low == 1 else f"{first} to < {last}")
        levels: list[str | None] = [*ranges, f">= {texts[-1]}"]
        return cls(name, tuple(levels + [MISSING] * missing), ends, public)

    @classmethod
    def between(
        cls, name: str, low: float, high: float, bins: int = N_BINS, *, missing: bool = False, public: bool = True
    ) -> "Attribute":
        """Return ranges of equal width between two ends."""
        plain = cls.numeric(name, even_cuts(low, high, bins), missing=missing, public=public)
        return replace(plain, bounds=(low, high)) if low < high else plain

    @property
    def n_levels(self) -> int:
        """Number of values, missing and "anything else" included."""
        return len(self.levels)

    def text(self, code: int) -> str:
        """Return the value of a code in words."""
        level = self.levels[code]
        return "missing" if level is None else "anything else" if level == OTHER else level

    def codes(self, values: "pd.Series[Any]") -> NDArray[np.int64]:
        """Return (n,) the code of each value. Raises :class:`SchemaError` for a value outside the domain."""
        codes: NDArray[np.int64] = self._range_codes(values) if self.cuts is not None else self._level_codes(values)
        outside = codes < 0
        if OTHER in self.levels:
            codes[outside] = self.levels.index(OTHER)
        elif outside.any():
            row = int(np.argmax(outside))
            value = values.iloc[row]
            rest = f"in row {row + 1:,}, which its public domain does not allow."
            what = "is missing" if pd.isna(value) else "holds a value"
            raise SchemaError(
                f"{self.name!r} {what} {rest}",
                in_full="" if pd.isna(value) else f"{self.name!r} holds {str(value)[:40]!r} {rest}",
                column=self.name,
                row=row,
                remedy='Add the value to the public domain, or the level "*" for anything else (null for missing).',
            )
        return codes

    def _range_codes(self, values: "pd.Series[Any]") -> NDArray[np.int64]:
        """Return (n,) the range of each number, -1 for what is none."""
        numbers = pd.to_numeric(values.astype("object"), errors="coerce").to_numpy(dtype=np.float64)
        codes: NDArray[np.int64] = np.searchsorted(np.array(self.cuts), numbers, side="right").astype(np.int64)
        not_numbers = np.isnan(numbers)
        codes[not_numbers] = self.levels.index(MISSING) if MISSING in self.levels else -1
        if MISSING in self.levels:  # text that is no number is not "missing"
            codes[not_numbers & values.notna().to_numpy()] = -1
        return codes

    def _level_codes(self, values: "pd.Series[Any]") -> NDArray[np.int64]:
        """Return (n,) the level of each value, -1 for what is none."""
        place = {level: code for code, level in enumerate(self.levels) if level is not None}
        codes, distinct = pd.factorize(values)
        code_of = np.array([place.get(value_text(value), -1) for value in distinct] + [-1], dtype=np.int64)
        if MISSING in self.levels:
            code_of[-1] = self.levels.index(MISSING)
        return np.asarray(code_of[codes])

    def to_dict(self) -> dict[str, Any]:
        """Return the domain JSON-ready; the inverse of :meth:`from_dict`."""
        domain: dict[str, Any] = {"levels": list(self.levels)} if self.cuts is None else {"cuts": list(self.cuts)}
        if self.bounds is not None and self.cuts is not None:
            domain = {"low": self.bounds[0], "high": self.bounds[1], "bins": len(self.cuts) + 1}
        if self.cuts is not None and MISSING in self.levels:
            domain["missing"] = True
        return domain if self.public else domain | {"read_from_data": True}

    @classmethod
    def from_dict(cls, name: str, domain: Any) -> "Attribute":
        """Return that of ``[values]``, ``{"levels": [values]}``, ``{"cuts": [numbers]}`` or ``{"low": 0, "high":
        9}``.
        """
        try:
            if not isinstance(domain, Mapping):
                domain = {"levels": domain}
            public = not domain.get("read_from_data", False)
            missing = bool(domain.get("missing", False))
            if "levels" in domain:
                levels = [None if level is None else value_text(level) for level in domain["levels"]]
                return cls(name, tuple(levels), public=public)
            if "cuts" in domain:
                return cls.numeric(name, [float(cut) for cut in domain["cuts"]], missing=missing, public=public)
            low, high = float(domain["low"]), float(domain["high"])
            return cls.between(name, low, high, int(domain.get("bins", N_BINS)), missing=missing, public=public)
        except SchemaError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise SchemaError(
                f"The public domain of {name!r} cannot be read.",
                column=name,
                remedy='Write a list of values, {"cuts": [20, 40, 60]} or {"low": 0, "high": 100}.',
            ) from error


@dataclass(frozen=True)
class Domains:
    """The attributes that trees may split on, and the class."""

    attributes: tuple[Attribute, ...]
    target: Attribute

    @property
    def read_from_data(self) -> tuple[str, ...]:
        """Columns whose domain was read from the records: their rare values are published without noise."""
        return tuple(attribute.name for attribute in (*self.attributes, self.target) if not attribute.public)

    @property
    def exact(self) -> tuple[str, ...]:
        """Columns whose domain was declared, and is just what occurs in the table: was it read from there?"""
        return tuple(attribute.name for attribute in (*self.attributes, self.target) if attribute.exact)

    @property
    def question(self) -> str:
        """A sentence that asks about them; empty when there are none."""
        if not self.exact:
            return ""
        return (
            f"The declared values of {', '.join(self.exact)} are exactly those that occur in the table. Were they read "
            "from there? Then they are not public, and the guarantee does not cover which of them occur."
        )

    def as_read(self, names: Collection[str]) -> "Domains":
        """Return the same domains, of which those of some columns were read from the records after all. Raises
        :class:`SchemaError` for a name that is none of theirs."""
        own = {attribute.name for attribute in (*self.attributes, self.target)}
        if unknown := sorted(set(names) - own):
            raise SchemaError(f"No domain is that of a column {unknown[0]!r}.", column=unknown[0])

        def marked(attribute: Attribute) -> Attribute:
            return replace(attribute, public=False, exact=False) if attribute.name in names else attribute

        return Domains(tuple(map(marked, self.attributes)), marked(self.target))

    @property
    def warning(self) -> str:
        """A sentence on what is not protected; empty when all domains are public."""
        names = self.read_from_data
        if not names:
            return ""
        return (
            f"Read from the table, not from a public codebook: the possible values of {', '.join(names)}. "
            "Which values occur is published without noise, so the guarantee does not cover them. "
            "A value that only one person has gives that person away."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a domain for each column, JSON-ready."""
        return {attribute.name: attribute.to_dict() for attribute in (*self.attributes, self.target)}


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A table in the codes of public domains: ``codes`` (n, p), ``classes`` (n,)."""

    domains: Domains
    codes: NDArray[np.uint16]
    classes: NDArray[np.uint16]

    @property
    def n_records(self) -> int:
        """Number of records n. It is private."""
        return len(self.classes)

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """(p,) number of public values of each attribute."""
        return np.array([attribute.n_levels for attribute in self.domains.attributes], dtype=np.int64)

    @property
    def n_classes(self) -> int:
        """Number of public classes c."""
        return self.domains.target.n_levels

    def part(self, rows: NDArray[Any]) -> "CodedTable":
        """Return the records at ``rows``."""
        return CodedTable(self.domains, np.ascontiguousarray(self.codes[rows]), self.classes[rows])


def domains_of(
    table: pd.DataFrame,
    target: str,
    codebook: Mapping[str, Any] | None = None,
    *,
    columns: Sequence[str] | None = None,
    schema: Schema | None = None,
) -> Domains:
    """Return the domains of a table's columns: of the codebook, else of the schema, else read from the records, marked.

    ``codebook``: a domain a column, see :meth:`Attribute.from_dict`. ``columns``: those to split on (default: all but
    the target and those that the schema calls identifying). A domain that a table suggested, this one or another, is
    not public; ordered levels of a schema that are just those that occur are taken for suggested. A codebook is public;
    :attr:`Domains.question` asks about domains of it that are just what occurs.

    Raises :class:`SchemaError` for names that are not there.
    """
    codebook = dict(codebook or {})
    unknown = [name for name in (target, *(columns or ()), *codebook) if name not in table.columns]
    if unknown:
        raise SchemaError(f"There is no column {unknown[0]!r} in the table.", column=unknown[0])
    others = {target, *(schema.identifying if schema else ())}
    names = [str(name) for name in (columns or table.columns) if name not in others]
    if not names:
        raise SchemaError("There is no column to split on.", remedy="Keep at least one beside the class.")

    def attribute(name: str, is_class: bool = False) -> Attribute:
        """Return the domain of one column."""
        if name in codebook:
            return Attribute.from_dict(name, codebook[name])
        column = schema[name] if schema is not None else None
        if column is not None and column.domain is not None and column.kind is Kind.CATEGORICAL:
            levels = tuple(str(level) for level in column.domain)
            read = column.suggested or (column.ordered and _occur(table[name], levels))
            return Attribute(name, levels, public=not read)
        if column is not None and column.domain is not None and column.kind is Kind.NUMERIC:
            low, high = (float(end) for end in column.domain)
            return Attribute.between(name, low, high, missing=True, public=not column.suggested)
        kind = column.kind if column is not None else kind_of(table[name])
        return read_attribute(table[name], as_numbers=kind is Kind.NUMERIC and not is_class)

    def with_question(name: str, is_class: bool = False) -> Attribute:
        """Return the domain of one column, with whether it is to be asked about."""
        one = attribute(name, is_class)
        return replace(one, exact=one.public and _is_exact(one, table[name]))

    return Domains(tuple(map(with_question, names)), with_question(target, is_class=True))


def _is_exact(attribute: Attribute, values: "pd.Series[Any]") -> bool:
    """Return whether a domain is just what occurs: every level, or both ends."""
    if attribute.cuts is None:
        return _occur(values, [level for level in attribute.levels if level is not MISSING])
    numbers = pd.to_numeric(values.astype("object"), errors="coerce").dropna()
    return attribute.bounds is not None and len(numbers) > 0 and attribute.bounds == (numbers.min(), numbers.max())


def _occur(values: "pd.Series[Any]", levels: Sequence[str]) -> bool:
    """Return whether the levels of a column are just those that occur in it."""
    return {value_text(value) for value in values.dropna().unique()} == set(levels)


def read_attribute(values: "pd.Series[Any]", *, as_numbers: bool) -> Attribute:
    """Return a domain read from the records, marked as such. Many distinct numbers become ranges of equal width."""
    name, missing = str(values.name), bool(values.isna().any())
    distinct = values.dropna().unique()
    if as_numbers and len(distinct) > FEW_NUMBERS:
        numbers = np.asarray(distinct, dtype=np.float64)
        return Attribute.between(name, float(numbers.min()), float(numbers.max()), missing=missing, public=False)
    texts = sorted({value_text(value) for value in distinct})
    if len(texts) > MOST_LEVELS:
        raise SchemaError(
            f"{name!r} has {len(texts):,} different values, too many for a tree to branch on.",
            column=name,
            remedy="Leave the column out, or give it public ranges or a shorter list of values.",
        )
    levels = tuple(sorted(texts, key=level_order(texts)))
    return Attribute(name, levels + (MISSING,) * (missing or not levels), public=False)


def even_cuts(low: float, high: float, bins: int = N_BINS) -> list[float]:
    """Return the inner ends of ``bins`` ranges of equal width, in short numbers."""
    if not (np.isfinite([low, high]).all() and low < high and bins > 1):
        return [low]
    step = (high - low) / bins
    digits = max(0, 2 - int(np.floor(np.log10(step))))
    return [round(low + step * place, digits) for place in range(1, bins)]


def code(table: pd.DataFrame, domains: Domains) -> CodedTable:
    """Return the table in the codes of its public domains. Raises :class:`SchemaError` for a value outside them."""
    codes = np.empty((len(table), len(domains.attributes)), dtype=np.uint16)
    for place, attribute in enumerate(domains.attributes):
        codes[:, place] = attribute.codes(table[attribute.name])
    return CodedTable(domains, codes, domains.target.codes(table[domains.target.name]).astype(np.uint16))


def code_attributes(table: pd.DataFrame, domains: Domains) -> NDArray[np.int64]:
    """Return (n, p) the codes of new records, which need no class. Raises :class:`SchemaError` for what does not
    fit.
    """
    lacking = [attribute.name for attribute in domains.attributes if attribute.name not in table.columns]
    if lacking:
        raise SchemaError(
            f"The rows lack the column {lacking[0]!r}.",
            column=lacking[0],
            remedy="Give every column that the forest may ask: "
            + ", ".join(attribute.name for attribute in domains.attributes[:20])
            + ".",
        )
    return np.column_stack([attribute.codes(table[attribute.name]) for attribute in domains.attributes])


def read_domains(text: str | bytes) -> dict[str, Any]:
    """Return the codebook in a JSON text: an object with a domain for each column.

    Raises :class:`ReadError` for a domain that is neither levels (text, whole numbers, truths or null) nor an object.
    """
    codebook = parse(text, "codebook", 'Use an object of column: domain, such as {"sex": ["F", "M"]}.')
    for domain in codebook.fields().values():
        for part in domain.fields().values() if isinstance(domain.value, dict) else domain.items():
            for level in part.items() if isinstance(part.value, list) else [part]:
                if isinstance(level.value, int | float) and not isinstance(level.value, bool):
                    level.number()
                elif not level.absent and not isinstance(level.value, bool):
                    level.text()
    return dict(codebook.value)
