"""What the steward said about the table: the role, kind and public domain of every column.

A :class:`Schema` is a value: hashable, immutable, and the same after a round trip through JSON. It never
holds a record of the table, only names and, where the steward declared them, public domains.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, cast

import numpy as np
import pandas as pd

from anonymizer.errors import SchemaError


class Role(StrEnum):
    """What a column is to an attacker."""

    IDENTIFYING = "identifying"
    QUASI_IDENTIFYING = "quasi-identifying"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


class Kind(StrEnum):
    """How the values of a column are compared."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    DATE = "date"


Domain = tuple[float, float] | tuple[str, ...]


@dataclass(frozen=True)
class Column:
    """One column, as the steward described it.

    ``domain``: numeric and date: (lowest, highest), dates as ISO text; categorical: all levels, in their
    order. ``None`` means "read it from the data". ``ordered``: the levels have a natural order, and splits
    respect it. ``reason``: why the role was suggested, in words; never part of a comparison.
    """

    name: str
    role: Role
    kind: Kind
    domain: Domain | None = None
    ordered: bool = False
    reason: str = ""

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
        if self.domain is None:
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

    def _end(self, end: object) -> float | str:
        """One end of a numeric or date domain, as it is kept."""
        try:
            if self.kind is Kind.NUMERIC:
                return float(cast(float, end))
            stamp = pd.Timestamp(cast(str, end))
            if stamp is pd.NaT:
                raise ValueError
            return str(stamp.isoformat())
        except (ValueError, TypeError):
            what = "number" if self.kind is Kind.NUMERIC else "date"
            said = "is missing" if end is None or end == "" else f"is no {what}: {str(end)[:40]!r}"
            raise SchemaError(
                f"An end of the domain of {self.name!r} {said}.",
                column=self.name,
                value=end,
                remedy="Write numbers as 3.5 and dates as 1990-12-31.",
            ) from None

    @property
    def by_order(self) -> bool:
        """Whether splits cut the values in their order (numbers, dates, ordered levels)."""
        return self.kind is not Kind.CATEGORICAL or self.ordered

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description; empty parts are left out."""
        described: dict[str, Any] = {"name": self.name, "role": self.role.value, "kind": self.kind.value}
        if self.domain is not None:
            described["domain"] = list(self.domain)
        if self.ordered:
            described["ordered"] = True
        if self.reason:
            described["reason"] = self.reason
        return described

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> "Column":
        """The inverse of :meth:`to_dict`."""
        unknown = set(described) - {"name", "role", "kind", "domain", "ordered", "reason"}
        if unknown or "name" not in described:
            raise SchemaError(
                f"A column of the schema has unknown or missing entries: {sorted(unknown) or ['name']}.",
                remedy="Allowed are name, role, kind, domain, ordered and reason.",
            )
        domain = described.get("domain")
        try:
            return cls(
                name=str(described["name"]),
                role=Role(described.get("role", Role.INSENSITIVE)),
                kind=Kind(described.get("kind", Kind.CATEGORICAL)),
                domain=None if domain is None else tuple(domain),
                ordered=bool(described.get("ordered", False)),
                reason=str(described.get("reason", "")),
            )
        except SchemaError:
            raise
        except (ValueError, TypeError) as error:
            raise SchemaError(
                f"The schema of column {described['name']!r} cannot be read: {error}.", column=str(described["name"])
            ) from error


@dataclass(frozen=True)
class Schema:
    """The columns of a table in their order, and which sensitive column guides the tree.

    ``target`` is the column whose prediction the groups should keep possible: a sensitive column, by default
    the first.
    """

    columns: tuple[Column, ...]
    target: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        names = [column.name for column in self.columns]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise SchemaError(
                f"Two columns have the same name: {doubled[0]!r}.", column=doubled[0], remedy="Rename one of them."
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
        table: pd.DataFrame,
        *,
        quasi_identifying: Sequence[str],
        sensitive: Sequence[str] = (),
        identifying: Sequence[str] = (),
        target: str | None = None,
        kinds: Mapping[str, str] | None = None,
        domains: Mapping[str, Sequence[Any]] | None = None,
        ordered: Iterable[str] = (),
    ) -> "Schema":
        """A schema from lists of names; every other column of ``table`` is insensitive and kept.

        Raises :class:`SchemaError` when a name is not in the table or is given two roles.
        """
        roles: dict[str, Role] = {}
        ordered = set(ordered)
        kinds, domains = dict(kinds or {}), dict(domains or {})
        check_headers(table)
        for role, names in (
            (Role.IDENTIFYING, identifying),
            (Role.QUASI_IDENTIFYING, quasi_identifying),
            (Role.SENSITIVE, sensitive),
        ):
            for name in [names] if isinstance(names, str) else names:
                if name in roles:
                    raise SchemaError(
                        f"Column {name!r} was given two roles: {roles[name]} and {role}.",
                        column=name,
                        remedy="Give it one.",
                    )
                roles[name] = role
        for name in [*roles, *kinds, *domains, *ordered]:
            if name not in table.columns:
                raise SchemaError(
                    f"There is no column {name!r} in the table.",
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
                )
                for name in table.columns
            ),
            target,
        )

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"The schema has no column {name!r}.", column=name)

    def names(self, role: Role) -> tuple[str, ...]:
        """The names of the columns with this role, in the table's order."""
        return tuple(column.name for column in self.columns if column.role is role)

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
        """Names of the columns that never leave."""
        return self.names(Role.IDENTIFYING)

    @property
    def insensitive(self) -> tuple[str, ...]:
        """Names of the columns that are kept as they are."""
        return self.names(Role.INSENSITIVE)

    @property
    def released(self) -> tuple[str, ...]:
        """Names of the columns of a release: all but the identifying ones, in the table's order."""
        return tuple(column.name for column in self.columns if column.role is not Role.IDENTIFYING)

    def with_column(self, name: str, **changes: Any) -> "Schema":
        """A new schema in which one column is changed; the target moves on when it stops being sensitive."""
        columns = tuple(replace(c, **changes) if c.name == name else c for c in self.columns)
        self[name]
        sensitive = [c.name for c in columns if c.role is Role.SENSITIVE]
        return Schema(columns, self.target if self.target in sensitive else None)

    def with_target(self, target: str | None) -> "Schema":
        """A new schema with another target."""
        return Schema(self.columns, target)

    def check(self, table: pd.DataFrame) -> None:
        """Raise :class:`SchemaError` unless the table has exactly these columns and the roles can be used."""
        check_headers(table)
        missing = [column.name for column in self.columns if column.name not in table.columns]
        extra = [str(name) for name in table.columns if name not in {c.name for c in self.columns}]
        if missing or extra:
            raise SchemaError(
                "The schema does not fit the table: "
                + "; ".join(
                    part
                    for part in (
                        f"the table lacks {missing[:5]}" if missing else "",
                        f"the schema lacks {extra[:5]}" if extra else "",
                    )
                    if part
                )
                + ".",
                column=(missing + extra)[0],
                remedy="Describe every column of this table once.",
            )
        if not self.quasi_identifying:
            raise SchemaError(
                "No column is quasi-identifying, so there is nothing to generalize.",
                remedy="Mark the columns that an attacker could know about a person.",
            )

    def to_json(self) -> str:
        """JSON text; :meth:`from_json` gives back an equal schema."""
        return json.dumps(
            {"columns": [column.to_dict() for column in self.columns], "target": self.target},
            ensure_ascii=False,
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> "Schema":
        """The inverse of :meth:`to_json`; raises :class:`SchemaError` on anything else."""
        try:
            described = json.loads(text)
            columns = [dict(column) for column in described["columns"]]
            target = described.get("target")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SchemaError(
                "This is not a schema: JSON with a list of columns was expected.",
                remedy="Use a file that was saved as a schema.",
            ) from error
        return cls(tuple(Column.from_dict(column) for column in columns), target)


def kind_of(values: "pd.Series[Any]") -> Kind:
    """The kind that a column's type suggests: numbers numeric, dates date, all else categorical."""
    if pd.api.types.is_bool_dtype(values.dtype):
        return Kind.CATEGORICAL
    if pd.api.types.is_numeric_dtype(values.dtype) and not np.issubdtype(
        getattr(values.dtype, "numpy_dtype", values.dtype), np.complexfloating
    ):
        return Kind.NUMERIC
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return Kind.DATE
    return Kind.CATEGORICAL


def check_headers(table: pd.DataFrame) -> None:
    """Raise :class:`SchemaError` unless the column names are distinct, non-empty text."""
    if table.columns.nlevels > 1 or not all(isinstance(name, str) and name.strip() for name in table.columns):
        raise SchemaError(
            "Every column needs a name that is text and not empty.", remedy="Name the columns, then try again."
        )
    if not table.columns.is_unique:
        doubled = table.columns[table.columns.duplicated()][0]
        raise SchemaError(f"Two columns have the same name: {doubled!r}.", column=doubled, remedy="Rename one of them.")
