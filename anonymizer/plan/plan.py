"""``copse.toml``: what is decided about a release, in one file that is read, compared, reviewed, and followed.

It holds no row, and no value but those that somebody declared. Its paths are from its own folder. What it does not say
is as usual; roles, k and the method are always said, and so is every setting that was decided, the usual value as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol, Self

import pandas as pd

from anonymizer.errors import AnonymizerError, ReadError
from anonymizer.gate.finding import FEWEST_WORDS, is_reason
from anonymizer.groups.recipe import named
from anonymizer.json_value import parse as parse_json
from anonymizer.labelled.variable import Variable
from anonymizer.plan.carry_over import Change, Profile, carry_over
from anonymizer.plan.columns import column_from, decisions_of, plain_number, visible
from anonymizer.plan.sections import (
    ALWAYS,
    COLUMN,
    LAYOUT,
    PARTS,
    POPULATION,
    READING,
    RELEASE,
    REPORT,
    SECTIONS,
    looked_up,
    section_in,
    settings_in,
    text,
)
from anonymizer.plan.toml_text import MOST_BYTES, Keys, Source, TomlValue, parse
from anonymizer.plan.write import text_of
from anonymizer.population.sample import Population
from anonymizer.reading.files import read_table
from anonymizer.reading.options import DEFAULT_MISSING, ReadOptions
from anonymizer.reading.profile import suggest
from anonymizer.releasing.files import write_file
from anonymizer.schema import ONCE, Column, Role, Schema
from anonymizer.settings import SETTINGS, Settings, setting_names
from anonymizer.version import VERSION

NAME = "copse.toml"
"""What a plan is called where nobody says it."""
HEAD = (
    "What is decided about a release. Read it, change it, and keep it with the table's other files.",
    "`copse check` says what stands in the way of the release, `copse release` makes it.",
)
KEEP = "keep"
"""The option of reading that a plan calls ``not_missing``, as the command line does."""


TEXTS = ("answers", "texts")
"""The fields that hold what people wrote."""


class HasReport(Protocol):
    """A run: what has a report, and that a plan."""

    @property
    def report(self) -> Any: ...


@dataclass(frozen=True)
class Plan:
    """What is decided about a release.

    ``columns``: by name, what is decided of each, by the keys of :data:`anonymizer.plan.sections.COLUMN`; ``settings``:
    by name, see :data:`anonymizer.settings.SETTINGS`; ``target``: the sensitive column that errors are counted on.
    ``reading``: how the file is read; ``answers``: why the release may be written although something stands in the way,
    by the key of the finding; ``texts``: for the reports; ``release``: where the table comes from and releases go;
    ``population``: what is known of it. ``software``: the version of Copse that wrote it; ``source``: the text that it
    was read from.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "copse.toml")
    >>> an.Plan.of(result).write(path)
    >>> an.Plan.read(path).settings["k"]
    10
    """

    columns: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    target: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    release: Mapping[str, Any] = field(default_factory=dict)
    population: Mapping[str, Any] = field(default_factory=dict)
    software: str = field(default=VERSION, compare=False)
    source: Source | None = field(default=None, compare=False, repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Return the plan in a file, in a folder that has a ``copse.toml``, or in a report in JSON.

        Raises :class:`ReadError`, with line and column, for what is no plan, and where it cannot be opened.
        """
        path = Path(path)
        path = path / NAME if path.is_dir() else path
        try:
            with path.open("rb") as file:
                content = file.read(20 * MOST_BYTES)
        except (OSError, ValueError) as error:
            remedy = "Check its name; copse init writes one."
            raise ReadError(f"The plan {path.name!r} cannot be opened.", remedy=remedy) from error
        if content.lstrip()[:1] == b"{":
            plan = parse_json(content, "report", "Give the report of a release, as it was saved.").field("plan")
            content = plan.text(MOST_BYTES).encode()
        return cls.from_text(content, path.name, path.parent)

    @classmethod
    def from_text(cls, text: str | bytes, name: str = NAME, folder: Path | None = None) -> Self:
        """Return the plan in a TOML text. ``name``: what it is called in messages; ``folder``: that paths are from.

        Raises :class:`ReadError`, with line and column, for what is no plan.
        """
        plan = parse(text, name, folder)
        plan.fields(SECTIONS)
        layout, version = plan.field("layout"), plan.field("copse")
        if layout.absent:
            layout.refuse(f"a plan begins with layout = {LAYOUT}")
        layout.whole(LAYOUT, LAYOUT)
        columns = {name: _column(name, own) for name, own in section_in(plan, "columns").fields().items()}
        read = cls(
            columns=columns,
            settings=settings_in(plan),
            target=None if plan.field("target").absent else plan.field("target").text(),
            reading=looked_up(section_in(plan, "reading"), READING),
            answers={key: _answer(own) for key, own in section_in(plan, "answers").fields().items()},
            texts=looked_up(section_in(plan, "report"), REPORT),
            release=looked_up(section_in(plan, "release"), RELEASE),
            population=looked_up(section_in(plan, "population"), POPULATION),
            software=VERSION if version.absent else version.text(40, plain=True),
            source=plan.source,
        )
        read._check(plan)
        return read

    def _check(self, plan: TomlValue) -> None:
        """Raise :class:`ReadError` for a role of two columns that one has, a target that guides nothing, or reading
        that cannot be."""
        columns = plan.field("columns")
        for role in ONCE:
            for second in [name for name, own in self.columns.items() if own["role"] == role][1:]:
                columns.field(second).field("role").refuse(f"another column is the {role} of a row already")
        target = self.target
        if target is not None and self.columns.get(target, {}).get("role") != Role.SENSITIVE:
            plan.field("target").refuse("the target is one of the sensitive columns")
        plan.field("reading").build(lambda: self.read_options)

    @classmethod
    def of(cls, result: HasReport) -> "Plan":
        """Return the plan of a run, which makes it again."""
        plan: Plan = result.report.plan
        return plan

    @classmethod
    def of_decisions(
        cls, schema: Schema, settings: Mapping[str, Any], suggested: Schema | None = None, **parts: Any
    ) -> Self:
        """Return the plan of a schema and settings. ``suggested``: the schema that is suggested for the table;
        ``parts``: other fields, by name."""
        names = set() if suggested is None else {column.name for column in suggested.columns}
        columns = {
            column.name: decisions_of(column, suggested[column.name] if suggested and column.name in names else None)
            for column in schema.columns
        }
        own = {name: value for name, value in settings.items() if value is not None}
        parts |= {name: {key: visible(text) for key, text in parts.get(name, {}).items()} for name in TEXTS}
        return cls(columns, named(Settings(**own), schema) | own, schema.target, **parts)

    def but(self, **changes: Any) -> Self:
        """Return another plan: this one with some fields changed."""
        return replace(self, **changes)

    @property
    def read_options(self) -> ReadOptions:
        """How the file is read."""
        return self.read_as(ReadOptions())

    def read_as(self, options: ReadOptions) -> ReadOptions:
        """Return how a file is read, with what the plan does not say from some ``options``."""
        return replace(options, **{KEEP if name == "not_missing" else name: own for name, own in self.reading.items()})

    @property
    def folder(self) -> Path:
        """The folder that paths are from."""
        return Path() if self.source is None or self.source.folder is None else self.source.folder

    def where(self, *path: str | int) -> str:
        """Return where something stands, such as ``copse.toml, line 3, column 1``; "" where it was read from no
        text."""
        return "" if self.source is None else self.source.where(path)

    def over(self, other: "Plan") -> Self:
        """Return this plan with what it does not say from another one."""
        parts = [one.name for one in fields(self) if isinstance(getattr(self, one.name), Mapping)]
        merged: dict[str, Any] = {name: {**getattr(other, name), **getattr(self, name)} for name in parts}
        return replace(self, **merged, target=self.target or other.target)

    # A table.

    def schema_for(self, table: pd.DataFrame, variables: Mapping[str, Variable] | None = None) -> Schema:
        """Return the schema of a table, decided as the plan says; columns that it does not name as suggested.

        ``variables``: what the file says of its columns. Raises :class:`SchemaError` where a decision does not fit.
        """
        return self.take_over(table, variables)[0]

    def take_over(
        self,
        table: pd.DataFrame,
        variables: Mapping[str, Variable] | None = None,
        last: Profile | None = None,
        suggested: Schema | None = None,
    ) -> tuple[Schema, tuple[Change, ...]]:
        """Return the schema of a table, and how the table is not the one that was decided on.

        ``last``: counts of that one, where they are known; ``suggested``: the schema that is suggested for this one.
        """
        suggested = suggested or suggest(table, variables)
        new = {column.name: column for column in suggested.columns}
        schema, changes = carry_over(self.schema_alone(new), last, table, suggested, self._place)
        for name, decisions in self.columns.items():
            if "ordered" in decisions and name in new and not schema[name].declared:
                levels = {} if decisions["ordered"] else {"domain": None}
                schema = schema.with_column(name, ordered=decisions["ordered"], **levels)
        return schema, changes

    def schema_alone(self, suggested: Mapping[str, Column]) -> Schema:
        """Return the schema of the columns that the plan names. ``suggested``: columns by name, of which those have
        what the plan does not say. Raises :class:`SchemaError` where a decision does not fit."""
        folder = None if self.source is None else self.source.folder
        columns = []
        for name, decisions in self.columns.items():
            try:
                columns.append(column_from(name, decisions, suggested.get(name), folder))
            except AnonymizerError as error:
                where = self.where("columns", name)
                raise type(error)(
                    f"{where}{': ' * bool(where)}{error.problem}", column=name, remedy=error.remedy
                ) from error
        return Schema(tuple(columns), self.target)

    def _place(self, name: str) -> str:
        where = self.where("columns", name)
        return f" ({where})" if where else ""

    def population_data(self) -> Population:
        """Return what is known of the population. Raises :class:`ReadError` for a file that cannot be read."""
        path = self.population.get("population")
        people = None if path is None else read_table(self.folder / path).frame
        return Population(self.population.get("fraction"), people)

    # Its text.

    @property
    def sections(self) -> dict[str, Any]:
        """The sections of its text, by name: what was decided, and what is always said."""
        own: dict[str, Any] = {"layout": LAYOUT, "copse": self.software}
        if self.target is not None:
            own["target"] = self.target
        parts = {"release": (self.release, RELEASE), "reading": (self.reading, READING)}
        more = {"population": (self.population, POPULATION), "report": (self.texts, REPORT)}
        own |= {name: {key: part[key] for key in keys if key in part} for name, (part, keys) in parts.items()}
        own["columns"] = {
            name: {key: decisions[key] for key in COLUMN if key in decisions}
            for name, decisions in self.columns.items()
        }
        settings = {name: SETTINGS[name].default for name in ALWAYS} | {**self.settings}
        for section, names in PARTS.items():
            own[section] = {
                name: plain_number(settings[name])
                for name in sorted(setting_names(*names), key=lambda name: name not in ALWAYS)
                if settings.get(name) is not None
            }
        own |= {name: {key: part[key] for key in keys if key in part} for name, (part, keys) in more.items()}
        own["answers"] = dict(self.answers)
        return {name: part for name, part in own.items() if part != {} or name in ("columns", "limits", "method")}

    @property
    def text(self) -> str:
        """The plan as TOML; of one that was read from a text, that text with what has changed since."""
        return text_of(self.sections, "" if self.source is None else self.source.text, head=HEAD)

    def commented(self, schema: Schema) -> str:
        """Return the plan as TOML, with the reasons why roles were suggested behind them. ``schema``: has these."""
        comments: dict[Keys, str] = {}
        for one in schema.columns:
            is_other = one.name in self.columns and self.columns[one.name]["role"] != one.role
            comments["columns", one.name, "role"] = f"Suggested: {one.role}. {one.reason}" if is_other else one.reason
        return text_of(self.sections, comments=comments, head=HEAD)

    def write(self, path: str | Path) -> None:
        """Write the plan to a file; comments of the text that it was read from stay.

        Raises :class:`OSError` when that cannot be done.
        """
        write_file(path, self.text)


def _column(name: str, own: TomlValue) -> dict[str, Any]:
    """Return what is decided of a column. Raises :class:`ReadError` where it does not fit."""
    decisions = looked_up(own, COLUMN)
    if "role" not in decisions:
        own.refuse("a column needs a role")
    if not name.strip():
        own.refuse("a column needs a name")
    beside = {key: value for key, value in decisions.items() if key != "hierarchy" or not isinstance(value, str)}
    own.build(lambda: column_from(name, beside))
    return decisions


def _answer(value: TomlValue) -> str:
    """Return this answer. Raises :class:`ReadError` where it says too little."""
    answer = text(value)
    if not is_reason(answer):
        value.refuse(f"it says too little: write at least {FEWEST_WORDS} words")
    return answer


def stated_reading(options: ReadOptions) -> dict[str, Any]:
    """Return how a file is read, as far as it cannot be taken for granted."""
    usual = ReadOptions()
    words = {one.name: getattr(options, one.name) for one in fields(ReadOptions)}
    if set(options.missing) == set(DEFAULT_MISSING):
        words.pop("missing")
    return reading_keys(
        {name: value for name, value in words.items() if value is not None and value != getattr(usual, name)}
    )


def reading_keys(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of reading by the keys that a plan has for them."""
    words = {"not_missing" if name == KEEP else name: value for name, value in options.items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in words.items()}
