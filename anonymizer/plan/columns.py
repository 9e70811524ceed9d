"""What is decided of a column, as a plan says it, and the column that comes of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anonymizer.cuts import Cuts
from anonymizer.errors import ReadError, SchemaError
from anonymizer.hierarchy import MOST_BYTES, Hierarchy
from anonymizer.labelled.variable import Variable
from anonymizer.schema import Column, Kind, Role

LINES = "\n\t"
"""What a text of several lines may hold beside what can be shown."""
OF_NUMBERS = ("bands", "bottom", "top", "round")


def decisions_of(column: Column, suggested: Column | None = None) -> dict[str, Any]:
    """Return what is decided of a column, by key: role and kind, and what is not usual. A domain that was only read
    from the table is no decision. ``suggested``: what is suggested for it, so that another order is one."""
    cuts, is_declared = column.cuts, column.declared and column.cuts.hierarchy is None
    domain = _domain(column) if is_declared else ()
    parts: dict[str, Any] = {
        "role": column.role.value,
        "kind": column.kind.value,
        "reason": visible(column.own_reason),
        "range": () if column.kind is Kind.CATEGORICAL else domain,
        "levels": domain if column.kind is Kind.CATEGORICAL else (),
        "ordered": column.ordered if is_declared else None,
        "grid": tuple(map(plain_number, column.grid or ())),
        "groups": column.groups,
        "bands": tuple(map(plain_number, cuts.bands)),
        "bottom": plain_number(cuts.bottom),
        "top": plain_number(cuts.top),
        "round": plain_number(cuts.rounding),
        "hierarchy": None if cuts.hierarchy is None else cuts.hierarchy.rows,
        "treat": column.treat,
        "importance": None if column.importance == 1 else plain_number(column.importance),
        "same_ids": column.alike,
        "nobody": column.nobody,
        "harmless": column.harmless,
    }
    decisions = {
        name: part for name, part in parts.items() if part is not None and part is not False and part not in ("", ())
    }
    if not is_declared and _is_order_decided(column, suggested):
        decisions["ordered"] = column.ordered
    return decisions


def _is_order_decided(column: Column, suggested: Column | None) -> bool:
    """Return whether the order of levels that nobody declared is another than is suggested, or may be."""
    if suggested is not None:
        return column.ordered is not suggested.ordered
    is_used = column.kind is Kind.CATEGORICAL and column.role in (Role.QUASI_IDENTIFYING, Role.SENSITIVE)
    return is_used and (column.ordered or column.domain is None)


def _domain(column: Column) -> tuple[Any, ...]:
    """Return a domain as people write it."""
    if column.kind is Kind.DATE:
        return tuple(str(end).removesuffix("T00:00:00") for end in column.domain or ())
    return tuple(map(plain_number, column.domain or ()))


def visible(text: str) -> str:
    """Return a text with blanks in place of what cannot be shown; its lines stay."""
    return "".join(letter if letter.isprintable() or letter in LINES else " " for letter in text)


def plain_number(value: Any) -> Any:
    """Return a number as people write it, whole where it is whole; what is none as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def column_from(
    name: str, decisions: Mapping[str, Any], suggested: Column | None = None, folder: Path | None = None
) -> Column:
    """Return the column that decisions make. ``suggested``: for it, of which it has what they do not say;
    ``folder``: from which paths of hierarchies are.

    Raises :class:`SchemaError` for decisions that do not fit each other, and :class:`ReadError` for a hierarchy that
    cannot be read.
    """
    kind = Kind(decisions.get("kind") or (suggested.kind if suggested is not None else _likely_kind(decisions)))
    other = "range" if kind is Kind.CATEGORICAL else "levels"
    if other in decisions:
        what = f"Column {name!r} is {kind}, so it has no {other}."
        remedy = "Write levels." if kind is Kind.CATEGORICAL else "Write a range of two ends."
        raise SchemaError(what, column=name, remedy=remedy)
    cuts = Cuts(
        bands=decisions.get("bands", ()),
        bottom=decisions.get("bottom"),
        top=decisions.get("top"),
        rounding=decisions.get("round"),
        hierarchy=_hierarchy(decisions.get("hierarchy"), folder),
    )
    return Column(
        name,
        Role(decisions["role"]),
        kind,
        domain=decisions.get("range") or decisions.get("levels"),
        ordered=decisions.get("ordered", False),
        grid=decisions.get("grid"),
        groups=decisions.get("groups"),
        own_reason=decisions.get("reason", ""),
        variable=Variable() if suggested is None else suggested.variable,
        cuts=cuts,
        alike=decisions.get("same_ids", False),
        nobody=decisions.get("nobody", ()),
        harmless=decisions.get("harmless", ()),
        treat=decisions.get("treat", ""),
        importance=decisions.get("importance", 1.0),
    )


def _likely_kind(decisions: Mapping[str, Any]) -> Kind:
    """Return the kind of a column that decisions can be of, where they do not say it."""
    ends = decisions.get("range") or decisions.get("grid")
    if ends is not None:
        return Kind.DATE if isinstance(ends[0], str) else Kind.NUMERIC
    return Kind.NUMERIC if any(name in decisions for name in OF_NUMBERS) else Kind.CATEGORICAL


def _hierarchy(rows: Any, folder: Path | None) -> Hierarchy | None:
    """Return the hierarchy of some rows, or in the file of that name in a folder."""
    if not isinstance(rows, str):
        return None if rows is None else Hierarchy(rows)
    if folder is None:
        what = "A plan that comes from no folder names the file of a hierarchy."
        raise ReadError(what, remedy="Write the rows of the hierarchy into the plan.")
    try:
        with (folder / rows).open("rb") as file:
            return Hierarchy.from_csv(file.read(MOST_BYTES + 1))
    except (OSError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise ReadError(f"The hierarchy {rows!r} cannot be opened.", remedy="Give the path of a CSV file.") from error
