"""What a report claims of a release, so that a file can be held against it: which file, which columns, which limits."""

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anonymizer.checking.set_names import SetNames
from anonymizer.json_value import JsonValue, parse, read_json
from anonymizer.labelled.variable import Variable
from anonymizer.provenance.report import commitment, schema_digest, sets_digest
from anonymizer.releasing.release import ORDERS
from anonymizer.schema import LEFT_OUT, Role, Schema
from anonymizer.settings import OF_POPULATION, SETTINGS, Limits
from anonymizer.treatments import words_of

REMEDY = "Give the report that was written with the file."
REQUIRED = frozenset(Limits().required) - frozenset(OF_POPULATION)
"""The limits that a claim requires: what is known of the population stays with whoever made the release."""


@dataclass(frozen=True)
class Claim:
    """``schema``: roles, kinds and domains; ``outputs``: the digests of the file in each format; ``rows``; ``limits``:
    what the release has to keep, by name; ``suppression``: the largest share of records that may be left out, and
    ``left_out``: how many are, ``None`` where that is not said. ``commitment`` to the original, and its ``key``, which
    only the internal report has; "" when it is not there. ``order``: in which the rows stand, a key of ``ORDERS``, ""
    where that is not said; ``settings``: of the run, by name; ``is_internal``: the report is the steward's.
    ``ledger``: the number and the hash of its entry in the sender's ledger, ``None`` without one.
    ``sets``: the levels of each set that has a short name, by column and name; ``None`` where long sets have none."""

    schema: Schema
    outputs: Mapping[str, str]
    rows: int
    limits: Mapping[str, Any]
    commitment: str = ""
    key: str = ""
    suppression: float = 0.0
    left_out: int | None = None
    order: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_internal: bool = False
    ledger: tuple[int, str] | None = None
    sets: SetNames | None = None

    @property
    def knows_labels(self) -> bool:
        """Whether the labels of columns are known that a file of SPSS, Stata or SAS should have."""
        return self.is_internal or any(column.variable != Variable() for column in self.schema.columns)

    @property
    def held_to(self) -> dict[str, Any]:
        """The limits that a released file is held to, with the share of records that may be left out."""
        return {**self.limits, "suppression": self.suppression}

    @property
    def promise(self) -> dict[str, Any]:
        """The limits that the release promises, those on what is known of the population, too."""
        return {**self.limits, **{name: self.settings.get(name) for name in OF_POPULATION}}

    @property
    def limits_text(self) -> str:
        """The limits that a released file is held to, in words."""
        limits = self.held_to if self.suppression else self.limits
        stated = [f"{name} = {value:g}" for name, value in limits.items() if value is not None]
        return f"Held to the limits of the report: {', '.join(stated)}."

    def original(self, sha256: str) -> tuple[bool | None, str]:
        """Return whether a file of this digest is the original that the report speaks of, ``None`` when that cannot be
        told, and the same in words."""
        if not self.key or not self.commitment:
            return None, "Whether this is its original cannot be checked: that takes the key in the internal report."
        if hmac.compare_digest(commitment(sha256, self.key), self.commitment):
            return True, "This is the original that the report speaks of."
        return False, "This is not the original that the report speaks of."

    def differences(self, content_sha256: str, rows: int, schema: Schema) -> tuple[str, ...]:
        """Return how a file of this digest and these rows, checked under a schema, is not what the report speaks of: a
        sentence each; none when it is."""
        sentences = []
        if content_sha256 not in self.outputs.values():
            counted = "" if rows == self.rows else f" It has {rows:,} rows; the report speaks of {self.rows:,}."
            sentences.append(f"This is not the file that the report speaks of: its SHA-256 is another.{counted}")
        if other := other_roles(schema, self.schema):
            sentences.append(f"These are not the roles that the report speaks of: {other}.")
        return tuple(sentences)


def same_text(what: str, differences: Sequence[str], others: Sequence[str]) -> str:
    """Return whether a file or folder, ``what``, is the one that its report speaks of, in words. ``differences``: how
    it is not; ``others``: limits that it is held to in place of the report's, a sentence each."""
    whole = f"This is the {what} that the report speaks of, under its roles{'' if others else ' and limits'}."
    return " ".join([*(differences or (whole,)), *others])


def other_roles(schema: Schema, claimed: Schema) -> str:
    """Return how roles, or the kinds of quasi-identifiers, differ from those that were claimed, in words; "" when they
    do not. Columns that never leave are passed over."""
    mine = {column.name: column for column in schema.columns}
    for column in claimed.columns:
        if column.role in LEFT_OUT:
            continue
        name = column.name
        if name not in mine:
            return f"{name!r} was {column.role}, and is no column here"
        if mine[name].role is not column.role:
            return f"{name!r} was {column.role}, and is {mine[name].role} here"
        if column.role is Role.QUASI_IDENTIFYING and mine[name].kind is not column.kind:
            return f"{name!r} was {column.kind}, and is {mine[name].kind} here"
        if mine[name].treat != column.treat:
            return f"{name!r} was released {treat_text(column.treat)}, and is {treat_text(mine[name].treat)} here"
        if mine[name].domain not in (None, column.domain):
            return f"{name!r} has another domain"
    return ""


def treat_text(treat: str) -> str:
    """Return how a column is released, in words: ``unchanged``, or by which treatment."""
    return f"treated ({words_of(treat)})" if treat else "unchanged"


def claim_from(source: str | Path | bytes) -> Claim:
    """Return what a report claims: a path, or the bytes of its file.

    Raises :class:`ReadError` when it cannot be read, speaks of no file, or its roles are not those that
    it states the digest of.
    """
    if isinstance(source, bytes):
        return claim_in(parse(source, "report", REMEDY))
    return claim_in(read_json(source, "report", REMEDY))


def claim_in(document: JsonValue) -> Claim:
    """Return what a report claims that was parsed. Raises :class:`ReadError` as :func:`claim_from` does."""
    run = document.field("provenance")
    outputs = {name: value.sha256() for name, value in run.field("output_sha256").fields().items()}
    if not outputs:
        document.refuse("it speaks of no released file")
    left_out = document.field("verification").field("left_out")
    schema, stated = Schema.from_value(run.field("schema")), run.field("schema_sha256")
    if stated.sha256() != schema_digest(schema):
        stated.refuse("it is not that of the roles that stand there")
    return Claim(
        schema=schema,
        outputs=outputs,
        rows=document.field("verification").field("rows").whole(),
        left_out=None if left_out.absent else left_out.whole(),
        suppression=_share(run.field("parameters").field("suppression")),
        limits=_limits(run.field("parameters")),
        commitment=_digest_or_none(run.field("input").field("commitment")),
        key=_digest_or_none(run.field("input").field("key")),
        order=next((order for order, text in ORDERS.items() if text == run.field("row_order").value), ""),
        settings=_settings(run.field("parameters")),
        is_internal=not run.field("command").absent,
        ledger=_entry(run.field("ledger")),
        sets=sets_in(document),
    )


def sets_from(source: str | Path) -> SetNames | None:
    """Return the sets that a report names, ``None`` where none has a name, or the file is a schema alone."""
    document = read_json(source, "report", REMEDY)
    return None if document.field("provenance").absent else sets_in(document)


def sets_in(document: JsonValue) -> SetNames | None:
    """Return the sets that a report names; ``None`` where long sets have no names. Raises :class:`ReadError` for others
    than it states the digest of."""
    way, stated = document.field("provenance").field("parameters").field("sets"), document.field("sets")
    if way.absent or way.text() != "named":
        return None if stated.absent else stated.refuse("long sets are written in full")
    if stated.absent:
        return {}
    sets = {
        column: {name: levels.texts(2) for name, levels in own.fields().items()}
        for column, own in stated.fields().items()
    }
    if document.field("sets_sha256").sha256() != sets_digest(sets):
        stated.refuse("they are not those that the report states the digest of")
    return sets


def _entry(value: JsonValue) -> tuple[int, str] | None:
    """Return the entry of a ledger that a report names, ``None`` for none."""
    if value.absent:
        return None
    if not value.field("hash").sha256():
        value.refuse("an entry has a SHA-256")
    return value.field("number").whole(1), value.field("hash").sha256()


def _digest_or_none(value: JsonValue) -> str:
    return "" if value.absent else value.sha256()


def _share(value: JsonValue) -> float:
    return 0.0 if value.absent else float(value.number(0, 1))


def _settings(parameters: JsonValue) -> dict[str, Any]:
    """Return the settings that a report states, in their order; none whose name is not known here."""
    parts: dict[str, Callable[[JsonValue], Any]] = {
        "count": JsonValue.whole, "number": JsonValue.number, "name": JsonValue.text, "text": JsonValue.text,
    }  # fmt: skip
    stated = {name: parameters.field(name) for name in SETTINGS if name in parameters.fields()}
    return {name: None if value.absent else parts[SETTINGS[name].kind](value) for name, value in stated.items()}


def _limits(parameters: JsonValue) -> dict[str, Any]:
    figures = {
        name: value.number() for name, value in parameters.fields().items() if name in REQUIRED and not value.absent
    }
    return parameters.build(lambda: Limits(**figures).required)


def roles_text(schema: Schema) -> str:
    """Return the roles of a schema in words, with the digest that binds them."""
    parts = [
        f"{role} {', '.join(f'{name} ({schema[name].kind})' for name in names)}"
        for role in (Role.QUASI_IDENTIFYING, Role.SENSITIVE, Role.INSENSITIVE)
        if (names := schema.names(role))
    ]
    return f"Checked as: {'; '.join(parts)}. SHA-256 of these roles: {schema_digest(schema)}."
