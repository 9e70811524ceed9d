"""The project file: what a steward decided about a table, without the table. JSON, saved and opened again.

It holds no record, and no value that was only read from the table: levels whose order was suggested are named as such,
and suggested again where the file is opened. Values that the steward declared, as a public domain, are decisions.

A project file comes from outside, so nothing in it is believed: every field has a type, a range and a length, and what
does not fit is refused with its place. What a project, or a report, made of a table that is here is made again at the
end of this module.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anonymizer.checking.cell_limits import Promise
from anonymizer.digests import digest
from anonymizer.errors import ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import LAST_PROJECT, Earlier, LastTable, OtherPeople, Uncounted
from anonymizer.gate.finding import is_reason
from anonymizer.groups.mondrian import MONDRIAN
from anonymizer.groups.recipe import natural_grouping
from anonymizer.json_value import MAX_BYTES, JsonValue, parse, read_json
from anonymizer.plan.carry_over import Profile
from anonymizer.plan.plan import Plan, stated_reading
from anonymizer.plan.sections import REPORT, setting_in
from anonymizer.provenance.claim import claim_from
from anonymizer.reading.files import Reading, read_table
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.profile import suggest
from anonymizer.releasing.release import FORMATS
from anonymizer.schema import Column, Schema
from anonymizer.settings import RUN, SETTINGS, Settings, setting_names
from anonymizer.version import VERSION
from anonymizer.whatif.scenarios import COLUMN, FIGURES, KEEP, LONGEST_WHAT, ON, Entry, History, Scenario

FORMAT = 2
"""Version of the file's layout. In the first one a tree was guided by its target where nothing else was said."""

MOST_SCENARIOS = 500
MOST_ENTRIES = 20_000
LONGEST_NAME = 200
LONGEST_COMMENT = 5_000
LONGEST_COLUMN = 10_000
MOST_TEXTS = 2_000
MOST_FIELDS = 20
MOST_REASONS = 1_000

SUGGESTED = "suggested"
"""What stands for a domain that is the one suggested for the column, from the table itself."""


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class Project:
    """What was decided about one table.

    ``table_sha256``: of the bytes of its file, hexadecimal, "" when it came from none or is not said; ``table_name``;
    ``records``: its number of rows. ``parameters``: by name, see :data:`anonymizer.settings.SETTINGS`. ``reading``: how
    the file was read; ``None`` when that is not known. ``spent``: privacy budget (ε) spent on the table; ``words``:
    what was written for the reports, by field; ``reasons``: why its release may leave although something stands in the
    way, by the key of the finding. ``last``: counts of the table and its release, to compare next year's with.
    ``saved``: when, ISO 8601 with its zone; "" for now. ``keep``: groups keep those of earlier releases.
    """

    schema: Schema
    parameters: Mapping[str, Any]
    scenarios: tuple[Scenario, ...] = ()
    history: History = History()
    table_name: str = ""
    table_sha256: str = ""
    records: int = 0
    reading: ReadOptions | None = None
    spent: float = 0.0
    words: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    last: Profile | None = None
    saved: str = field(default="", compare=False)
    keep: bool = False

    def mismatch(self, sha256: str, columns: Sequence[str]) -> str:
        """Return what to say when the project is opened beside a table of this digest and these columns; "" when all
        fits."""
        if sha256 == self.table_sha256 or (not self.table_sha256 and self.fits(columns)):
            return ""
        named = f"{self.table_name!r}" if self.table_name else "another table"
        text = f"This project was saved for {named}, whose content is not that of the table here."
        missing = [column.name for column in self.schema.columns if column.name not in columns]
        extra = [name for name in columns if name not in {column.name for column in self.schema.columns}]
        if missing or extra:
            parts = [
                f"the table lacks {_names(missing)}" if missing else "",
                f"it adds {_names(extra)}" if extra else "",
            ]
            return f"{text} Its columns differ: {'; '.join(filter(None, parts))}. Roles cannot be taken over."
        return f"{text} The columns are the same, so roles and parameters can be used; figures must be computed again."

    def may_be_of(self, sha256: str, name: str) -> bool:
        """Return whether the project may be that of a file: by its digest, or by its name where the digest is not
        said."""
        return sha256 == self.table_sha256 if self.table_sha256 else name == self.table_name

    def may_precede(self, columns: Sequence[str]) -> bool:
        """Return whether a table may be the next one of the same kind: it has two thirds of the columns, or more."""
        return are_alike([column.name for column in self.schema.columns], columns)

    def fits(self, columns: Sequence[str]) -> bool:
        """Return whether a table has exactly the columns of the project."""
        return set(columns) == {column.name for column in self.schema.columns}


def are_alike(names: Sequence[str], columns: Sequence[str]) -> bool:
    """Return whether a table of these columns may be the next one of a table of these names: it has two thirds of
    them."""
    return 3 * len(set(names) & set(columns)) >= 2 * len(names)


def plan_of(project: Project) -> Plan:
    """Return the plan of a project: its decisions alone, without scenarios, history, spent ε and figures."""
    release = {"input": project.table_name} if project.table_name else {}
    return Plan.of_decisions(
        project.schema,
        project.parameters,
        reading={} if project.reading is None else stated_reading(project.reading),
        release=release | ({"keep_earlier": True} if project.keep else {}),
        texts={name: project.words[name] for name in REPORT if project.words.get(name)},
        answers={key: reason for key, reason in project.reasons.items() if is_reason(reason)},
    )


def outward(project: Project) -> Project:
    """Return a project as it may leave: without any digest of the table. Who knows most of a table could try values for
    the rest until the digest fits."""
    scenarios = tuple(replace(scenario, basis="") for scenario in project.scenarios)
    return replace(project, table_sha256="", scenarios=scenarios)


def to_json(project: Project, suggested: Schema | None = None) -> str:
    """Return the project file: JSON text; :func:`from_json` gives back an equal project. It holds no record.

    ``suggested``: the schema that is suggested for the table. A domain that is the suggested one was read from the
    table, so only that is written, and no level of it.
    """
    history = project.history
    described = {
        "copse_project": FORMAT,
        "software": {"name": "Copse", "version": VERSION},
        "saved": project.saved or datetime.now(UTC).isoformat(timespec="seconds"),
        "table": {"name": project.table_name, "sha256": project.table_sha256, "records": project.records},
        "reading": None if project.reading is None else asdict(project.reading),
        "spent": project.spent,
        "words": dict(project.words),
        "reasons": dict(project.reasons),
        "last": None if project.last is None else project.last.to_dict(),
        "schema": json.loads(project.schema.to_json()),
        "parameters": dict(project.parameters),
        "keep": project.keep,
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
    described = json.loads(json.dumps(described, ensure_ascii=False, allow_nan=False))
    levels = _levels(suggested)
    for column in _columns(described):
        if column.get("domain") is not None and column["domain"] == levels.get(column["name"]):
            column["domain"] = SUGGESTED
    return json.dumps(described, ensure_ascii=False, indent=2) + "\n"


def from_json(text: str | bytes, suggested: Schema | None = None) -> Project:
    """Return the project in a file, every field checked. Raises :class:`ReadError`, with the place of what does not
    fit.

    ``suggested``: the schema that is suggested for the table beside which it is opened. Without it, a domain that was
    the suggested one is left open.
    """
    project = parse(text, "project file", "Open a file that was saved as a project, as it was saved.")
    layout = project.field("copse_project").whole(1, FORMAT)
    levels = _levels(suggested)
    for column in _columns(project.value):
        if column.get("domain") == SUGGESTED:
            column["domain"] = levels.get(str(column.get("name")))
    table, schema = project.field("table"), Schema.from_value(project.field("schema"))
    scenarios = tuple(_scenario(item) for item in project.field("scenarios").items(MOST_SCENARIOS))
    unsaid = with_unsaid(schema) if layout == 1 else dict
    return Project(
        schema=schema,
        parameters=unsaid(_parameters(project.field("parameters"))),
        scenarios=tuple(replace(scenario, parameters=unsaid(scenario.parameters)) for scenario in scenarios),
        history=_history(project.field("history")),
        table_name=table.field("name").text(LONGEST_COLUMN),
        table_sha256=table.field("sha256").sha256(),
        records=table.field("records").whole(),
        reading=_reading(project.field("reading")),
        spent=0.0 if project.field("spent").absent else project.field("spent").number(0),
        words=_words(project.field("words"), MOST_FIELDS),
        reasons=_words(project.field("reasons"), MOST_REASONS),
        last=Profile.from_value(project.field("last")),
        saved="" if project.field("saved").absent else project.field("saved").time(),
        keep=not project.field("keep").absent and project.field("keep").flag(),
    )


def with_unsaid(schema: Schema) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return what adds to parameters of the first layout what was meant where they do not say what guides the tree and
    how it is pruned: what the papers say for the target."""
    guide = "sse" if schema.by_numbers else "entropy"

    def add(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with what was meant."""
        grouping = parameters.get("grouping") or natural_grouping(schema)
        criterion = None if grouping in MONDRIAN else parameters.get("criterion") or guide
        return {**parameters, "grouping": grouping, "criterion": criterion}

    return add


def _levels(suggested: Schema | None) -> dict[str, list[Any]]:
    """Return by column the domains that were suggested, as JSON holds them."""
    columns = () if suggested is None else suggested.columns
    return {column.name: list(column.domain) for column in columns if column.domain is not None}


def _columns(described: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a project, as JSON, that may describe a column: of the schema and of the history."""
    schema, history = (_object(_object(described).get(name)) for name in ("schema", "history"))
    yield from filter(None, map(_object, _list(schema.get("columns"))))
    entries = [_object(entry) for entry in _list(history.get("entries"))]
    for choices in (history.get("start"), *(entry.get(end) for entry in entries for end in ("from", "to"))):
        for name, choice in _object(choices).items():
            if name.startswith(COLUMN) and _object(choice):
                yield choice


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _reading(value: JsonValue) -> ReadOptions | None:
    """Return how a file is read; ``None`` where a project of an older version does not say it."""
    if value.absent:
        return None
    described = value.fields([option.name for option in fields(ReadOptions)])
    choices: dict[str, Any] = {}
    for name, option in described.items():
        if name == "header":
            choices[name] = option.flag()
        elif name in ("missing", "keep", "as_text", "as_numbers"):
            choices[name] = tuple(item.text(LONGEST_COLUMN) for item in option.items(MOST_TEXTS))
        elif name == "skip":
            choices[name] = None if option.absent else option.whole()
        else:
            choices[name] = None if option.absent else option.text(LONGEST_NAME)
    return value.build(lambda: ReadOptions(**choices))


def _words(value: JsonValue, most: int) -> dict[str, str]:
    """Return texts by name; none where a project of an older version does not say them."""
    if value.absent:
        return {}
    words = value.fields()
    if len(words) > most:
        value.refuse(f"at most {most:,} fields were expected")
    return {name: text.text(LONGEST_COMMENT) for name, text in words.items()}


def _parameters(value: JsonValue) -> dict[str, Any]:
    return {name: setting_in(name, setting) for name, setting in value.fields(tuple(SETTINGS)).items()}


def _scenario(value: JsonValue) -> Scenario:
    return Scenario(
        name=value.field("name").text(LONGEST_NAME, fewest=1, plain=True),
        parameters=_parameters(value.field("parameters")),
        figures={name: figure.number() for name, figure in value.field("figures").fields(tuple(FIGURES)).items()},
        comment=value.field("comment").text(LONGEST_COMMENT),
        basis="" if value.field("basis").absent else value.field("basis").sha256(),
    )


def _history(value: JsonValue) -> History:
    entries = []
    for entry in value.field("entries").items(MOST_ENTRIES):
        before, after = _choices(entry.field("from"), before=True), _choices(entry.field("to"))
        if set(before) != set(after) or not after:
            entry.refuse("from and to must speak of the same choices")
        entries.append(Entry(entry.field("time").time(), entry.field("what").text(LONGEST_WHAT), before, after))
    position = value.field("position").whole(0, len(entries))
    return History(_choices(value.field("start")), tuple(entries), position)


def _choices(value: JsonValue, *, before: bool = False) -> dict[str, Any]:
    """Return choices as :func:`anonymizer.whatif.scenarios.choices_of` makes them; ``before``: ``None`` where none
    was."""
    choices = value.fields()
    for key, choice in choices.items():
        if choice.absent and (before or key in ("target", KEEP)):
            continue
        if key == KEEP:
            choice.one_of([ON])
        elif key == "target":
            choice.text(LONGEST_COLUMN)
        elif key.startswith(COLUMN):
            if COLUMN + Column.from_value(choice).name != key:
                choice.refuse("it describes another column")
        else:
            setting_in(key, choice)
    return {key: choice.value for key, choice in choices.items()}


def _names(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


# Releases made again, to be counted together with a new one, or kept by its groups.

BEFORE_LAST = Uncounted(
    "Last time's groups kept releases before them, so last time's table alone does not make them again. Use a ledger "
    "that has them."
)


def made_again(path: str | Path, flow: Flow, before: Sequence[Earlier | OtherPeople] = ()) -> Earlier:
    """Return the release that a report speaks of, made again of the table of a flow. ``before``: earlier ones, which it
    may keep.

    Raises :class:`ReadError` for a file that is no report, and :class:`ParameterError` where the release cannot be made
    again.
    """
    claim, document = claim_from(path), read_json(path, "report", "Give the report of a release, as it was saved.")
    parameters = document.field("provenance").field("parameters").fields(setting_names(*RUN))
    settings = Settings(**{name: setting_in(name, value) for name, value in parameters.items() if not value.absent})
    outputs = {format: sha256 for format, sha256 in claim.outputs.items() if format in FORMATS}
    for others in ((), tuple(before)) if before else ((),):
        how: dict[str, Any] = {"population": flow.population, "key": flow.key, "earlier": others, "keep": bool(others)}
        other = Flow(flow.table, claim.schema, settings, **how)
        leaving = replace(other.leaving, bars=())
        if any(digest(leaving.to_bytes(format)) == sha256 for format, sha256 in outputs.items()):
            promise = Promise.of(other.schema, other.limits)
            return Earlier(other.class_of, other.settings.k, promise, report=Path(path).name)
    raise ParameterError(
        f"The release that {Path(path).name} speaks of is not what this table and this key of packing make, so both "
        "cannot be counted together.",
        remedy="Give the table and the key that it was made with, and what it keeps before it.",
    )


def release_of_last_time(project: Project, reading: Reading, name: str = LAST_PROJECT) -> LastTable | Uncounted:
    """Return the release of last time's table, as its project made it. ``name``: of the project's file."""
    if project.keep:
        return BEFORE_LAST
    release = Flow(reading.frame, project.schema, Settings(**project.parameters)).as_last
    return replace(release, table=reading.name, project=name) if isinstance(release, LastTable) else release


def last_release(table: str | Path, project: str | Path) -> LastTable | Uncounted:
    """Return last time's release, to be counted together with this one. ``table``: last time's file; ``project``: that
    it was made with. Raises :class:`ReadError` when one of them cannot be read.

    >>> import anonymizer as an
    >>> columns = ["patient_id", "age", "sex", "diagnosis"]
    >>> table = an.SAMPLES["visits"].load().drop_duplicates("patient_id")[columns].head(600)
    >>> roles = {"quasi_identifying": ["age", "sex"], "sensitive": "diagnosis", "person": "patient_id"}
    >>> schema = an.Schema.of(table, **roles)
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from anonymizer.whatif.project import Project, to_json
    >>> folder = Path(mkdtemp())
    >>> table.to_csv(folder / "last.csv", index=False)
    >>> written = (folder / "last.json").write_text(to_json(Project(schema, {"k": 10})))
    >>> last = an.last_release(folder / "last.csv", folder / "last.json")
    >>> len(last.person) == len(table), last.k
    (True, 10)
    """
    try:
        with Path(project).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ReadError(f"{Path(project).name} cannot be opened as a project.", remedy="Check the path.") from error
    reading = read_table(table, options=from_json(content).reading)
    last = from_json(content, suggest(reading.frame, reading.variables))
    return release_of_last_time(last, reading, Path(project).name)
