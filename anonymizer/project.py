"""The project file: what a steward decided about a table, without the table. JSON, saved and opened again.

A project file comes from outside, so nothing in it is believed: every field has a type, a range and a length, and what
does not fit is refused with its place.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from anonymizer.errors import AnonymizerError, ReadError
from anonymizer.generalize import GENERALIZERS, NUMBERS, WRITINGS
from anonymizer.grouping import GROUPINGS
from anonymizer.grow import CRITERIA
from anonymizer.limits import TESTS
from anonymizer.scenarios import COLUMN, FIGURES, LONGEST_WHAT, Entry, History, Scenario
from anonymizer.schema import Column, Schema
from anonymizer.version import VERSION

FORMAT = 1
"""Version of the file's layout."""

MAX_BYTES = 20 << 20
MOST_SCENARIOS = 500
MOST_ENTRIES = 20_000
LONGEST_NAME = 200
LONGEST_COMMENT = 5_000
LONGEST_COLUMN = 10_000
LARGEST = 1 << 53

Rule = Callable[[Any], bool]


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _share(value: Any) -> bool:
    return _number(value) and 0 <= value <= 1


def _from_one(value: Any) -> bool:
    return _number(value) and 1 <= value <= LARGEST


def _one_of(known: Sequence[str]) -> Rule:
    return lambda value: isinstance(value, str) and value in known


def _or_none(rule: Rule) -> Rule:
    return lambda value: value is None or rule(value)


PARAMETER_RULES: dict[str, Rule] = {
    "k": _count,
    "grouping": _one_of(GROUPINGS),
    "generalizer": _one_of(tuple(GENERALIZERS)),
    "writing": _one_of(tuple(WRITINGS)),
    "numbers": _one_of(tuple(NUMBERS)),
    "criterion": _or_none(_one_of(CRITERIA)),
    "min_leaf": _count,
    "max_depth": _or_none(_count),
    "weight": _or_none(_share),
    "l": _or_none(_from_one),
    "entropy_l": _or_none(_from_one),
    "t": _or_none(_share),
    "rsd_min": _or_none(_share),
    "spread_min": _or_none(_share),
    "significance": _or_none(_share),
    "tested": _one_of(TESTS),
    "prosecutor_limit": _count,
    "journalist_limit": _count,
    "marketer_limit": _count,
}
"""What each parameter may be."""


@dataclass(frozen=True)
class Project:
    """What was decided about one table.

    ``table_sha256``: of the bytes of its file, hexadecimal, "" when it came from none; ``table_name``; ``records``: its
    number of rows. ``parameters``: by name, see :data:`PARAMETER_RULES`.
    """

    schema: Schema
    parameters: Mapping[str, Any]
    scenarios: tuple[Scenario, ...] = ()
    history: History = History()
    table_name: str = ""
    table_sha256: str = ""
    records: int = 0

    def mismatch(self, sha256: str, columns: Sequence[str]) -> str:
        """What to say when it is opened beside a table of this digest and these columns; "" when all fits."""
        if sha256 == self.table_sha256:
            return ""
        named = f"{self.table_name!r}" if self.table_name else "another table"
        said = f"This project was saved for {named}, whose content is not that of the table here."
        missing = [column.name for column in self.schema.columns if column.name not in columns]
        extra = [name for name in columns if name not in {column.name for column in self.schema.columns}]
        if missing or extra:
            parts = [
                f"the table lacks {_names(missing)}" if missing else "",
                f"it adds {_names(extra)}" if extra else "",
            ]
            return f"{said} Its columns differ: {'; '.join(filter(None, parts))}. Roles cannot be taken over."
        return f"{said} The columns are the same, so roles and parameters can be used; figures must be computed again."

    def fits(self, columns: Sequence[str]) -> bool:
        """Whether a table has exactly the columns of the project."""
        return set(columns) == {column.name for column in self.schema.columns}


def to_json(project: Project) -> str:
    """The project file: JSON text; :func:`from_json` gives back an equal project. It holds no record."""
    history = project.history
    described = {
        "copse_project": FORMAT,
        "software": {"name": "Copse", "version": VERSION},
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "table": {"name": project.table_name, "sha256": project.table_sha256, "records": project.records},
        "schema": json.loads(project.schema.to_json()),
        "parameters": dict(project.parameters),
        "scenarios": [
            {
                "name": scenario.name,
                "comment": scenario.comment,
                "parameters": dict(scenario.parameters),
                "figures": dict(scenario.figures),
                "basis": scenario.basis,
            }
            for scenario in project.scenarios
        ],
        "history": {
            "start": dict(history.start),
            "entries": [
                {"time": entry.time, "what": entry.what, "from": dict(entry.before), "to": dict(entry.after)}
                for entry in history.entries
            ],
            "position": history.position,
        },
    }
    return json.dumps(described, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def from_json(text: str | bytes) -> Project:
    """The project in a file, every field checked. Raises :class:`ReadError`, with the place of what does not fit."""
    if len(text) > MAX_BYTES:
        _refuse("the file", f"it is larger than {MAX_BYTES >> 20} MiB")
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ReadError(
            "This is no project file: it is not JSON.", remedy="Open a file that was saved as a project."
        ) from error
    if not isinstance(found, dict) or "copse_project" not in found:
        raise ReadError("This is no project file.", remedy="Open a file that was saved as a project.")
    if found["copse_project"] != FORMAT or isinstance(found["copse_project"], bool):
        _refuse("copse_project", f"only layout {FORMAT} can be read here")
    table = _dict(found.get("table"), "table")
    sha256 = _sha256(table.get("sha256"), "table, sha256")
    records = table.get("records")
    if isinstance(records, bool) or not isinstance(records, int) or not 0 <= records <= LARGEST:
        _refuse("table, records", "a number of records was expected")
    return Project(
        schema=_schema(found.get("schema")),
        parameters=_parameters(found.get("parameters"), "parameters"),
        scenarios=tuple(
            _scenario(item, f"scenario {number + 1}")
            for number, item in enumerate(_list(found.get("scenarios"), "scenarios", MOST_SCENARIOS))
        ),
        history=_history(found.get("history")),
        table_name=_text(table.get("name"), "table, name", LONGEST_COLUMN, free=True),
        table_sha256=sha256,
        records=records,
    )


def _sha256(found: Any, place: str) -> str:
    """A digest, or "" for none."""
    sha256 = _text(found, place, 64)
    if sha256 and (len(sha256) != 64 or set(sha256) - set("0123456789abcdef")):
        _refuse(place, "a SHA-256 has 64 hexadecimal digits")
    return sha256


def _schema(found: Any) -> Schema:
    try:
        return Schema.from_json(json.dumps(_dict(found, "schema")))
    except AnonymizerError as error:
        raise ReadError(f"The project file is not in order: schema: {error.problem}", remedy=error.remedy) from error


def _parameters(found: Any, place: str) -> dict[str, Any]:
    parameters = _dict(found, place)
    for name, value in parameters.items():
        if name not in PARAMETER_RULES:
            _refuse(place, f"there is no parameter {name[:60]!r}")
        if not PARAMETER_RULES[name](value):
            _refuse(f"{place}, {name}", f"{_shown(value)} is not allowed")
    return parameters


def _scenario(found: Any, place: str) -> Scenario:
    item = _dict(found, place)
    figures = _dict(item.get("figures"), f"{place}, figures")
    for name, value in figures.items():
        if name not in FIGURES or not _number(value):
            _refuse(f"{place}, figures", f"{name[:60]!r}: {_shown(value)} is no figure of a scenario")
    return Scenario(
        name=_text(item.get("name"), f"{place}, name", LONGEST_NAME, fewest=1),
        parameters=_parameters(item.get("parameters"), f"{place}, parameters"),
        figures=figures,
        comment=_text(item.get("comment"), f"{place}, comment", LONGEST_COMMENT, free=True),
        basis=_sha256(item.get("basis", ""), f"{place}, basis"),
    )


def _history(found: Any) -> History:
    described = _dict(found, "history")
    entries = []
    for number, item in enumerate(_list(described.get("entries"), "history, entries", MOST_ENTRIES)):
        place = f"decision {number + 1}"
        entry = _dict(item, place)
        before, after = (
            _choices(entry.get("from"), f"{place}, from", before=True),
            _choices(entry.get("to"), f"{place}, to"),
        )
        if set(before) != set(after) or not after:
            _refuse(place, "from and to must speak of the same choices")
        stamp = _time(entry.get("time"), f"{place}, time")
        entries.append(Entry(stamp, _text(entry.get("what"), f"{place}, what", LONGEST_WHAT, free=True), before, after))
    position = described.get("position")
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position <= len(entries):
        _refuse("history, position", "it is not a moment of this history")
    return History(_choices(described.get("start"), "history, start"), tuple(entries), position)


def _choices(found: Any, place: str, *, before: bool = False) -> dict[str, Any]:
    """Choices as :func:`anonymizer.scenarios.choices_of` makes them; ``before``: ``None`` where there was none."""
    choices = _dict(found, place)
    for key, value in choices.items():
        if before and value is None:
            continue
        if key == "target":
            if value is not None:
                _text(value, f"{place}, target", LONGEST_COLUMN, free=True)
        elif key.startswith(COLUMN):
            try:
                column = Column.from_dict(_dict(value, f"{place}, {key[:60]!r}"))
            except AnonymizerError as error:
                raise ReadError(f"The project file is not in order: {place}: {error.problem}") from error
            if COLUMN + column.name != key:
                _refuse(place, f"{key[:60]!r} describes another column")
        else:
            _parameters({key: value}, place)
    return choices


def _dict(found: Any, place: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        _refuse(place, "an object was expected")
    return dict(found)


def _list(found: Any, place: str, most: int) -> list[Any]:
    if not isinstance(found, list) or len(found) > most:
        _refuse(place, f"a list of at most {most:,} was expected")
    return list(found)


def _text(found: Any, place: str, longest: int, *, fewest: int = 0, free: bool = False) -> str:
    if not isinstance(found, str) or not fewest <= len(found) <= longest:
        _refuse(place, f"text of {fewest} to {longest:,} characters was expected")
    text = str(found)
    if not free and not text.isprintable():
        _refuse(place, "it holds characters that cannot be shown")
    return text


def _time(found: Any, place: str) -> str:
    text = _text(found, place, 40)
    try:
        stamp = datetime.fromisoformat(text)
    except ValueError:
        _refuse(place, "a time was expected (2026-01-31T12:00:00+00:00)")
    if stamp.tzinfo is None:
        _refuse(place, "a time with its zone was expected (2026-01-31T12:00:00+00:00)")
    return text


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _names(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) <= LARGEST else "so large a number"
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse(place: str, problem: str) -> NoReturn:
    raise ReadError(
        f"The project file is not in order: {place}: {problem}.",
        remedy="Open it as it was saved; a file that was changed by hand may have to be corrected there.",
    )
