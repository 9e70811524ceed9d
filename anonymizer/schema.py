"""What the steward said about the table: the role, kind and public domain of every column.

A :class:`Schema` is a value: hashable, immutable, and the same after a round trip through JSON. It never
holds a record of the table, only names and, where the steward declared them, public domains.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa

from anonymizer.bands import Bands, bands_of
from anonymizer.cuts import Cuts, grid_step
from anonymizer.errors import SchemaError, check_headers, did_you_mean
from anonymizer.hierarchy import Hierarchy
from anonymizer.json_value import JsonValue, parse
from anonymizer.labelled.variable import Variable
from anonymizer.tables import PLAIN, frame_of
from anonymizer.treatments import suit


class Role(StrEnum):
    """What a column is to an attacker.

    >>> import anonymizer as an
    >>> an.Role("sensitive") is an.Role.SENSITIVE
    True
    """

    PERSON = "person"
    IDENTIFYING = "identifying"
    QUASI_IDENTIFYING = "quasi-identifying"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"
    WEIGHT = "weight"
    HOUSEHOLD = "household"
    STRATUM = "stratum"


class Kind(StrEnum):
    """How the values of a column are compared.

    >>> import anonymizer as an
    >>> [str(kind) for kind in an.Kind]
    ['numeric', 'categorical', 'date']
    """

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    DATE = "date"


POINTING = (Role.PERSON, Role.IDENTIFYING)
"""Roles of columns that point at a person by themselves."""
DESIGN = (Role.WEIGHT, Role.HOUSEHOLD, Role.STRATUM)
"""Roles of columns that say how a sample was drawn."""
LEFT_OUT = (*POINTING, *DESIGN)
"""Roles of columns that never leave."""
UNCHANGED = (Role.SENSITIVE, Role.INSENSITIVE)
"""Roles of columns that are released without a box: unchanged, or treated."""
ONCE = (Role.PERSON, *DESIGN)
"""Roles that one column has at most."""

MOST_COLUMNS = 100_000
"""Columns of the widest schema that is read."""

Domain = tuple[float, float] | tuple[str, ...]
TEXTS = ("nobody", "harmless")
"""The fields of a column that are lists of its values."""
REASONS = ("reason", "own_reason")
"""The fields of a column that say why it has its role, and change nothing."""
LONGEST_REASON = 1_000
LONGEST_TREAT = 60
MOST_IMPORTANT = 10
"""How often the detail of a column can count, and of how many columns the detail can count as much as that of one."""


@dataclass(frozen=True)
class Column:
    """One column, as the steward described it.

    ``domain``: numeric and date: (lowest, highest), dates as ISO text; categorical: all levels, in their
    order. ``None`` means "read it from the data". ``ordered``: the levels have a natural order, and splits
    respect it. ``reason``: why the role was suggested, in words: "" when it was not, never compared. ``grid``: of
    numbers and dates, the step of the public grid in which ends are written (a number, or one of `DATE_STEPS`)
    and a number that is on it (0 for dates); ``None``: proposed. ``groups``: of categories, the public groups of levels
    that are written together when asked for, each level in one at most; ``None``: proposed. ``suggested``: the domain
    is what some table suggests, and nobody declared it. ``own_reason``: why the steward wants this role. ``variable``:
    what the file that it came from says of it. ``cuts``: the public cuts; values of a hierarchy are the domain.
    Of the column that says whose a row is: ``alike``: values that differ in case, form, blanks, signs or leading zeros
    only are one person's; ``nobody``: values that stand for nobody. Of a sensitive column of levels, ``harmless``:
    those that nobody learns anything from, which l does not count, as what is missing.
    ``importance``: of a quasi-identifying column, how often its detail counts where groups are refined or packed.
    ``treat``: what is done to a sensitive or insensitive column before it is released, such as ``month`` or
    ``round:100`` (see :mod:`anonymizer.treatments`); its domain is then that of what is released, and not declared.

    >>> import anonymizer as an
    >>> an.Column("age", an.Role.QUASI_IDENTIFYING, an.Kind.NUMERIC, domain=(0, 120)).name
    'age'
    """

    name: str
    role: Role
    kind: Kind
    domain: Domain | None = None
    ordered: bool = False
    reason: str = field(default="", compare=False)
    grid: tuple[float | str, float] | None = None
    groups: tuple[tuple[str, ...], ...] | None = None
    suggested: bool = False
    own_reason: str = ""
    variable: Variable = Variable()
    cuts: Cuts = Cuts()
    alike: bool = False
    nobody: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    treat: str = ""
    importance: float = 1.0

    def __repr__(self) -> str:
        return f"Column {self.name!r}: {self.role}, {self.kind}"

    def __post_init__(self) -> None:
        try:
            self._normalize()
        except SchemaError:
            raise
        except (ValueError, TypeError) as error:
            raise SchemaError(
                f"The role, kind or domain of column {self.name!r} cannot be read: {error}.",
                column=self.name,
                value=self.domain,
                remedy="Use one of the roles and kinds, two ends for a range, and a list for levels.",
            ) from error

    def _normalize(self) -> None:
        object.__setattr__(self, "role", Role(self.role))
        object.__setattr__(self, "kind", Kind(self.kind))
        for name in TEXTS:
            object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        object.__setattr__(self, "importance", float(self.importance))
        if not 1 / MOST_IMPORTANT <= self.importance <= MOST_IMPORTANT:
            raise SchemaError(
                f"The importance of {self.name!r} must be {1 / MOST_IMPORTANT:g} to {MOST_IMPORTANT:g}.",
                column=self.name,
                value=self.importance,
                remedy="1 is usual; 2 counts its detail twice.",
            )
        object.__setattr__(self, "cuts", self.cuts.suit(self.name, self.kind))
        if self.treat:
            levels = self.cuts.hierarchy.n_levels if self.cuts.hierarchy else 0
            treat = suit(self.name, self.kind, self.treat, levels) if self.role in UNCHANGED else ""
            object.__setattr__(self, "treat", treat)
            object.__setattr__(self, "domain", None if treat else self.domain)
        if self.grid is not None:
            object.__setattr__(self, "grid", grid_step(self.name, self.kind, *self.grid))
        if self.groups is not None:
            object.__setattr__(self, "groups", self._groups(self.groups))
        if self.cuts.hierarchy is not None and not self.treat:
            self._take_values(self.cuts.hierarchy)
        if self.domain is None:
            object.__setattr__(self, "suggested", False)
            return
        domain = tuple(self.domain)
        if self.kind is Kind.CATEGORICAL:
            domain = tuple(str(level) for level in domain)
            if len(set(domain)) != len(domain) or not domain:
                raise SchemaError(
                    f"The domain of {self.name!r} is empty or lists a level twice.",
                    column=self.name,
                    remedy="List every level once.",
                )
        else:
            domain = tuple(self._end(end) for end in domain)
            if len(domain) != 2 or not domain[0] <= domain[1]:  # type: ignore[operator]
                raise SchemaError(
                    f"The domain of {self.name!r} must be two ends, the lower one first.",
                    column=self.name,
                    value=self.domain,
                    remedy="Write it as lowest, highest.",
                )
        object.__setattr__(self, "domain", domain)

    def _take_values(self, hierarchy: Hierarchy) -> None:
        """Make the values of a public hierarchy the domain. Raises :class:`SchemaError` for a wider one."""
        declared = self.domain if self.domain is not None and self.declared else ()
        if self.kind is Kind.CATEGORICAL:
            outside, domain = len(set(map(str, declared)) - set(hierarchy.values)), cast(Domain, hierarchy.values)
        else:
            domain = float(hierarchy.numbers[0]), float(hierarchy.numbers[-1])
            outside = sum(not domain[0] <= float(end) <= domain[1] for end in declared)
        if outside:
            what = f"{outside:,} of the declared domain of {self.name!r} are not in its hierarchy."
            raise SchemaError(what, column=self.name, remedy="Add them to the hierarchy, or read the domain anew.")
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "suggested", False)

    def _groups(self, groups: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
        """Return the public groups of levels, as they are kept."""
        division = tuple(tuple(str(level) for level in group) for group in groups)
        levels = [level for group in division for level in group]
        if self.kind is not Kind.CATEGORICAL or len(set(levels)) != len(levels) or not all(division):
            raise SchemaError(
                f"The public groups of {self.name!r} do not divide its levels.",
                column=self.name,
                remedy="List levels of a categorical column, each in one group.",
            )
        return division

    def _end(self, end: object) -> float | str:
        """Return one end of a numeric or date domain, as it is kept."""
        try:
            if self.kind is Kind.NUMERIC:
                return float(cast(float, end))
            stamp = pd.Timestamp(cast(str, end))
            if stamp is pd.NaT or (isinstance(end, str) and not end[:4].isdigit()):  # 1/2/2024: which is the day?
                raise ValueError
            return str(stamp.isoformat())
        except (ValueError, TypeError):
            what = "number" if self.kind is Kind.NUMERIC else "date"
            problem = "is missing" if end is None or end == "" else f"is no {what}: {str(end)[:40]!r}"
            raise SchemaError(
                f"An end of the domain of {self.name!r} {problem}.",
                column=self.name,
                value=end,
                remedy="Write numbers as 3.5 and dates as 1990-12-31.",
            ) from None

    @property
    def why(self) -> str:
        """Why the column has its role: the steward's reason, or why it was suggested, or that the steward gave it."""
        return self.own_reason or self.reason or "Set by the steward."

    @property
    def declared(self) -> bool:
        """True when somebody declared the domain, so that it says nothing of who is in the table."""
        return self.domain is not None and not self.suggested

    @property
    def by_order(self) -> bool:
        """True when splits cut the values in their order (numbers, dates, ordered levels, a hierarchy)."""
        return self.kind is not Kind.CATEGORICAL or self.ordered or bool(self.cuts.hierarchy and not self.treat)

    @cached_property
    def bands(self) -> Bands | None:
        """The bands that the levels are, where they are ordered ones; a public hierarchy has its own words."""
        if self.kind is not Kind.CATEGORICAL or not self.ordered or self.domain is None or self.cuts.hierarchy:
            return None
        return bands_of(cast(tuple[str, ...], self.domain))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description; empty parts are left out."""
        parts: dict[str, Any] = {
            "domain": None if self.domain is None or self.cuts.hierarchy else list(self.domain),
            "grid": None if self.grid is None else list(self.grid),
            "groups": None if self.groups is None else [list(group) for group in self.groups],
            **{name: getattr(self, name) or None for name in ("ordered", "suggested", "alike", *REASONS)},
            **{name: list(getattr(self, name)) or None for name in TEXTS},
            "variable": self.variable.to_dict() or None,
            "cuts": self.cuts.to_dict() or None,
            "treat": self.treat or None,
            "importance": None if self.importance == 1 else self.importance,
        }
        entry = {"name": self.name, "role": self.role.value, "kind": self.kind.value}
        return entry | {name: part for name, part in parts.items() if part is not None}

    @classmethod
    def from_value(cls, entry: JsonValue) -> "Column":
        """Return the inverse of :meth:`to_dict`. Raises :class:`ReadError` with the place of what does not fit."""
        parts = ("domain", "ordered", "grid", "groups", "suggested", "variable", "cuts", "treat", "alike", "importance")
        fields = entry.fields(("name", "role", "kind", *parts, *TEXTS, *REASONS))
        kind = fields["kind"].one_of(list(Kind)) if "kind" in fields else Kind.CATEGORICAL
        domain = entry.field("domain")
        ends = [] if domain.absent else domain.items()
        values: list[Any] = [end.number() if kind == Kind.NUMERIC else end.text() for end in ends]
        grid = entry.field("grid")
        numbered = enumerate(() if grid.absent else grid.items())
        step: list[Any] = [part.text() if kind == Kind.DATE and not i else part.number() for i, part in numbered]
        groups = entry.field("groups")
        texts: dict[str, Any] = {
            **{name: tuple(text.text() for text in fields[name].items()) for name in TEXTS if name in fields},
            **{name: fields[name].text(LONGEST_REASON) for name in REASONS if name in fields},
        }
        lists = None if groups.absent else [[level.text() for level in group.items()] for group in groups.items()]
        return entry.build(
            lambda: cls(
                name=entry.field("name").text(fewest=1),
                role=Role(fields["role"].one_of(list(Role)) if "role" in fields else Role.INSENSITIVE),
                kind=Kind(kind),
                domain=None if domain.absent else tuple(values),
                ordered="ordered" in fields and fields["ordered"].flag(),
                grid=None if grid.absent else tuple(step),
                groups=lists,  # type: ignore[arg-type]
                suggested="suggested" in fields and fields["suggested"].flag(),
                alike="alike" in fields and fields["alike"].flag(),
                variable=Variable.from_value(fields["variable"]) if "variable" in fields else Variable(),
                cuts=Cuts.from_value(fields["cuts"]) if "cuts" in fields else Cuts(),
                treat=fields["treat"].text(LONGEST_TREAT) if "treat" in fields else "",
                importance=fields["importance"].number() if "importance" in fields else 1.0,
                **texts,
            )
        )


@dataclass(frozen=True)
class Schema:
    """The columns of a table in their order, and which sensitive column is the target.

    ``target``: the column that errors are counted on, and that guides the trees of the papers: a sensitive column, by
    default the first.
    At most one column has each role of :data:`ONCE`: rows with equal values of the person are one person's.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> schema.quasi_identifying, schema.target
    (('age', 'sex'), 'diagnosis')
    """

    columns: tuple[Column, ...]
    target: str | None = None

    def __repr__(self) -> str:
        parts = [f"{len(self.names(role)):,} {role}" for role in Role if self.names(role)]
        target = f", target {self.target!r}" if self.target else ""
        return f"Schema of {len(self.columns):,} columns: {', '.join(parts)}{target}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        names = [column.name for column in self.columns]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            what = f"Two columns have the same name: {twice[0]!r}."
            raise SchemaError(what, column=twice[0], remedy="Rename one of them.")
        for role in ONCE:
            for second in self.names(role)[1:]:
                raise SchemaError(
                    f"Both {self.only(role)!r} and {second!r} are said to be the {role} of a row.",
                    column=second,
                    remedy=f"Give one of them the role {role}, and make the other identifying.",
                )
        if self.target is None:
            object.__setattr__(self, "target", next(iter(self.sensitive), None))
        elif self.target not in self.sensitive:
            raise SchemaError(
                f"The target {self.target!r} is not a sensitive column.",
                column=self.target,
                remedy="Make it sensitive, or choose one of the sensitive columns as the target.",
            )

    @classmethod
    def of(
        cls,
        table: Any,
        *,
        quasi_identifying: Sequence[str],
        sensitive: Sequence[str] = (),
        identifying: Sequence[str] = (),
        person: str | None = None,
        weight: str | None = None,
        household: str | None = None,
        stratum: str | None = None,
        target: str | None = None,
        kinds: Mapping[str, str] | None = None,
        domains: Mapping[str, Sequence[Any]] | None = None,
        ordered: Iterable[str] = (),
        grids: Mapping[str, Sequence[Any]] | None = None,
    ) -> "Schema":
        """Return a schema from lists of names; every other column of ``table`` is insensitive and kept.

        ``table``: see :func:`anonymizer.tables.frame_of`. A single name stands for a list of it.
        ``person``: the column whose equal values are one person; without it every row is a person. ``weight``: how many
        people a row stands for; ``household``, ``stratum``: equal values were drawn together, or at one rate.

        Raises :class:`SchemaError` when a name is not in the table or is given two roles.
        """
        roles: dict[str, Role] = {}
        ordered = set(ordered)
        kinds, domains, grids = dict(kinds or {}), dict(domains or {}), dict(grids or {})
        table = frame_of(table)
        check_values(table)
        for role, names in (
            *zip(ONCE, (person or (), weight or (), household or (), stratum or ()), strict=True),
            (Role.IDENTIFYING, identifying),
            (Role.QUASI_IDENTIFYING, quasi_identifying),
            (Role.SENSITIVE, sensitive),
        ):
            for name in [names] if isinstance(names, str) else names:
                if name in roles:
                    two = f"Column {name!r} was given two roles: {roles[name]} and {role}."
                    raise SchemaError(two, column=name, remedy="Give it one.")
                roles[name] = role
        for name in [*roles, *kinds, *domains, *ordered, *grids]:
            if name not in table.columns:
                raise SchemaError(
                    f"There is no column {name!r} in the table.{did_you_mean(str(name), table.columns)}",
                    column=name,
                    remedy="Its columns are: " + ", ".join(map(str, table.columns[:40])) + ".",
                )
        return cls(
            tuple(
                Column(
                    name=str(name),
                    role=roles.get(name, Role.INSENSITIVE),
                    kind=kinds.get(name, kind_of(table[name])),  # type: ignore[arg-type]
                    domain=domains.get(name),  # type: ignore[arg-type]
                    ordered=name in ordered,
                    grid=grids.get(name),  # type: ignore[arg-type]
                )
                for name in table.columns
            ),
            target,
        )

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        near = did_you_mean(str(name), (column.name for column in self.columns))
        raise SchemaError(f"The schema has no column {name!r}.{near}", column=name)

    def names(self, role: Role) -> tuple[str, ...]:
        """Return the names of the columns with this role, in the table's order."""
        return tuple(column.name for column in self.columns if column.role is role)

    def only(self, role: Role) -> str | None:
        """Return the name of the one column with this role; ``None`` when there is none."""
        return next(iter(self.names(role)), None)

    @property
    def by_numbers(self) -> bool:
        """True when the target is numeric or a date, so that all such sensitive columns guide a tree together."""
        return self.target is not None and self[self.target].kind is not Kind.CATEGORICAL

    @property
    def quasi_identifying(self) -> tuple[str, ...]:
        """Names of the quasi-identifying columns: length p."""
        return self.names(Role.QUASI_IDENTIFYING)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive columns."""
        return self.names(Role.SENSITIVE)

    @property
    def identifying(self) -> tuple[str, ...]:
        """Names of the columns that never leave, the one that tells persons apart among them."""
        return tuple(column.name for column in self.columns if column.role in LEFT_OUT)

    @property
    def person(self) -> str | None:
        """Name of the column whose equal values are one person; ``None``: every row is one."""
        return self.only(Role.PERSON)

    @property
    def insensitive(self) -> tuple[str, ...]:
        """Names of the columns that are kept as they are."""
        return self.names(Role.INSENSITIVE)

    @property
    def released(self) -> tuple[str, ...]:
        """Names of the columns of a release: all but those that never leave, in the table's order."""
        return tuple(column.name for column in self.columns if column.role not in LEFT_OUT)

    def with_column(self, name: str, **changes: Any) -> "Schema":
        """Return a new schema in which one column is changed, the target moved on when it stops being sensitive; a
        domain that is given counts as declared."""
        changes = {"suggested": False, **changes} if "domain" in changes else changes
        kind = changes.get("kind", self[name].kind)
        changes = changes if kind == self[name].kind else {"treat": "", **changes}
        return self._with(replace(c, **changes) if c.name == name else c for c in self.columns)

    def with_roles(self, roles: Mapping[str, Role]) -> "Schema":
        """Return a new schema with other roles, and no reason for them yet; a column that had a role of :data:`ONCE`
        which another gets becomes identifying, and the target moves on when it stops being sensitive."""
        others = [self.only(role) for role in ONCE if role in roles.values()]
        roles = {**{name: Role.IDENTIFYING for name in others if name is not None}, **roles}
        return self._with(
            replace(c, role=roles[c.name], reason="", own_reason="") if roles.get(c.name, c.role) is not c.role else c
            for c in self.columns
        )

    @cached_property
    def bare(self) -> "Schema":
        """The schema without reasons: all that has an effect."""
        return self._with(replace(c, reason="", own_reason="") for c in self.columns)

    def _with(self, columns: Iterable[Column]) -> "Schema":
        schema = Schema(tuple(columns))
        return schema.with_target(self.target) if self.target in schema.sensitive else schema

    def with_target(self, target: str | None) -> "Schema":
        """Return a new schema with another target."""
        return Schema(self.columns, target)

    def check(self, table: pd.DataFrame) -> None:
        """Raise :class:`SchemaError` unless the table has exactly these columns and the roles can be used."""
        check_values(table)
        missing = [column.name for column in self.columns if column.name not in table.columns]
        extra = [str(name) for name in table.columns if name not in {c.name for c in self.columns}]
        if missing or extra:
            lacks = [f"the {what} lacks {of[:5]}" for what, of in (("table", missing), ("schema", extra)) if of]
            what = f"The schema does not fit the table: {'; '.join(lacks)}."
            raise SchemaError(what, column=(missing + extra)[0], remedy="Describe every column of this table once.")
        if not self.quasi_identifying:
            what = "No column is quasi-identifying, so there is nothing to generalize."
            raise SchemaError(what, remedy="Mark the columns that an attacker could know about a person.")

    def to_json(self) -> str:
        """Return JSON text; :meth:`from_json` gives back an equal schema."""
        columns = [column.to_dict() for column in self.columns]
        return json.dumps({"columns": columns, "target": self.target}, ensure_ascii=False, indent=2)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Schema":
        """Return the inverse of :meth:`to_json`; raises :class:`ReadError` on anything else."""
        return cls.from_value(parse(text, "schema", "Use a file that was saved as a schema."))

    @classmethod
    def from_value(cls, value: JsonValue) -> "Schema":
        """Return the schema in a JSON value; raises :class:`ReadError` with the place of what does not fit."""
        target, entries = value.field("target"), value.field("columns").items(MOST_COLUMNS)
        columns = tuple(map(Column.from_value, entries))
        return value.build(lambda: cls(columns, None if target.absent else target.text()))


def check_values(table: pd.DataFrame, names: Iterable[str] | None = None) -> None:
    """Raise :class:`SchemaError` unless the names of columns are text of their own and each column holds plain values:
    numbers that are exact here, dates, or text; no lists, records or complex numbers. ``names``: of the columns that
    are looked at, all by default."""
    if not isinstance(table, pd.DataFrame):
        raise SchemaError(f"A table is a DataFrame of pandas, not {type(table).__name__}.", remedy="Make it one.")
    check_headers(table)
    for name in table.columns if names is None else [name for name in names if name in table.columns]:
        values, why, row = table[name], "", None
        kind = getattr(values.dtype, "kind", "O")
        if kind == "c":
            why = "complex numbers"
        elif kind == "u" and len(values) and not (values.dropna() <= np.iinfo(np.int64).max).all():
            why = "whole numbers of more than 63 bits"
        elif values.dtype == np.float16:
            why = "numbers of 16 bits"
        elif values.dtype == object:
            nested = (at for at, v in enumerate(values) if isinstance(v, list | dict | set | tuple | np.ndarray))
            row = next(nested, None)
            if row is not None:
                why = f"values of type {type(values.iloc[row]).__name__} (the first is in row {row + 1})"
        elif isinstance(values.dtype, pd.ArrowDtype) and pa.types.is_nested(values.dtype.pyarrow_dtype):
            why = f"values of type {values.dtype.pyarrow_dtype}"
        if why:
            raise SchemaError(f"Column {name!r} holds {why}.", column=str(name), row=row, remedy=PLAIN)


def csv_names(names: Iterable[str]) -> str:
    """Return names of columns in one text, as options take them: with commas between them, and in double quotes where a
    name holds a comma or a quote."""
    return ",".join('"' + name.replace('"', '""') + '"' if set(name) & {",", '"'} else name for name in names)


def kind_of(values: "pd.Series[Any]") -> Kind:
    """Return the kind that a column's type suggests: numbers numeric, dates date, all else categorical."""
    if pd.api.types.is_bool_dtype(values.dtype):
        return Kind.CATEGORICAL
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_complex_dtype(values.dtype):
        return Kind.NUMERIC
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return Kind.DATE
    return Kind.CATEGORICAL
