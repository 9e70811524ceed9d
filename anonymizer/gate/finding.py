"""One thing to see to before a release leaves: its figure, its sentence, what would repair it, and why it may stay."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any

from anonymizer.errors import ParameterError
from anonymizer.schema import Role, Schema, csv_names
from anonymizer.settings import Settings
from anonymizer.treatments import words_of

FEWEST_WORDS = 3
"""Words that say something; fewer are no reason."""


PROMISE = "promise"
"""The key of the finding that says what a release is, by the checker."""


KINDS = (
    "codes", "computed", "ends of one person", "follows", "holds", "identifying", "ids alike", "known",
    "left out unread", "levels of one person", "minimality", "nobody", "one value", "persons", PROMISE, "rare values",
    "repeats", "risk", "rows together", "same people", "together", "unchanged", "unchanged together",
)  # fmt: skip
"""What findings there are, by what stands in their keys before the columns or figures."""
TOGETHER = (
    ("not counted", "not-counted"), ("limits", "limits"), ("promised", "promised"), ("nobody", "nobody"),
    ("the same groups", "same-groups"), ("", "below"),
)  # fmt: skip
"""What a finding about several releases is called, by the words that its key goes on with."""


def kind_of_key(key: object) -> str:
    """Return which of :data:`KINDS` a key or a name is of, by its text alone; "" for what is neither."""
    before = str(key).partition(":")[0]
    before = before if before in KINDS else before.replace("-", " ")
    first = before.partition(" ")[0]
    return before if before in KINDS else first if first in ("holds", "repeats") and ":" in str(key) else ""


def short_name(key: str, columns: tuple[str, ...]) -> str:
    """Return the name of the finding that has a key. ``columns``: of which it speaks."""
    kind, _, rest = key.partition(": ")
    word = kind.replace(" ", "-")
    if kind == "together":
        return f"{word}:{next(name for start, name in TOGETHER if rest.startswith(start))}"
    if kind == "unchanged" or (kind == "levels of one person" and len(columns) > 1) or not rest:
        return word
    if kind.startswith("repeats "):
        word = "repeats"
    return f"{word}:{csv_names(columns[:1] if kind == 'computed' else columns)}"


def name_of_key(key: str, names: Collection[str]) -> str:
    """Return the name of the finding that an answer is given to, by its key or its name. ``names``: of the table's
    columns; a key of none of them is returned as it is."""
    kind, colon, rest = key.partition(": ")
    if not colon or not kind_of_key(key):
        return key
    own = (rest,) if rest in names else tuple(rest.split(", "))
    if kind.startswith("repeats "):
        own = (*own, kind.removeprefix("repeats "))
    is_of_all = kind in ("together", "unchanged", "levels of one person")
    return short_name(key, own) if is_of_all or {*own} <= {*names} else key


class Severity(StrEnum):
    """Whether a finding keeps a release from leaving."""

    STOPS = "stands in the way"
    LOOK = "worth a look"
    FINE = "in order"


@dataclass(frozen=True)
class Repair:
    """A decision that closes a finding, the same wherever it is made.

    ``words``: what is done, on a button. ``roles``: of columns; ``settings``: by name; ``missing``: texts that the file
    is to be read with as missing. ``ids``: what is done with the values of the column that says whose a row is: its
    fields, by name. ``treats``: treatments of columns. ``keep``: whether groups keep those of earlier releases;
    ``None`` for as it is.
    """

    words: str
    roles: tuple[tuple[str, Role], ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    missing: tuple[str, ...] = ()
    ids: tuple[tuple[str, Any], ...] = ()
    treats: tuple[tuple[str, str], ...] = ()
    keep: bool | None = None

    def apply(self, schema: Schema, settings: Settings) -> tuple[Schema, Settings]:
        """Return the roles and settings with the repair; how the file is read is for whoever has the file."""
        for name, role in self.roles:
            schema = schema.with_column(name, role=role)
        if self.ids and schema.person is not None:
            schema = schema.with_column(schema.person, **dict(self.ids))
        for name, treat in self.treats:
            schema = schema.with_column(name, treat=treat)
        return schema, settings.but(**dict(self.settings))

    def back(self, schema: Schema, settings: Settings) -> "Repair":
        """Return what takes this repair back, of roles and settings as they are before it; not how a file is read."""
        person = schema.person
        return Repair(
            "Undo",
            roles=tuple((name, schema[name].role) for name, _ in self.roles),
            settings=tuple((name, settings[name]) for name, _ in self.settings),
            ids=tuple((field, getattr(schema[person], field)) for field, _ in self.ids) if person else (),
            treats=tuple((name, schema[name].treat) for name, _ in self.treats),
            keep=None if self.keep is None else not self.keep,
        )

    @property
    def options(self) -> str:
        """The same on the command line, quoted for a shell: names are text of whoever made the table."""
        roles: dict[Role, list[str]] = {}
        for name, role in self.roles:
            roles.setdefault(role, []).append(name)
        words = [word for role, names in roles.items() for word in (f"--{role}", csv_names(names))]
        words += [word for name, value in self.settings for word in (f"--{name.replace('_', '-')}", str(value))]
        words += [f"--treat={name}={treat}" for name, treat in self.treats]
        words += [f"--missing={text}" for text in self.missing]
        words += ["--keep-earlier"] if self.keep else []
        for field, value in self.ids:
            words += ["--same-ids"] if field == "alike" else [f"--nobody={text}" for text in value]
        return shlex.join(words)


@dataclass(frozen=True)
class Finding:
    """One thing to see to.

    ``key``: what it is and of which columns, the same as long as both are; a reason is given to it, or to its name.
    ``figure``: a number and its unit; ``sentence`` and ``detail``: what that means, in words; ``columns``: of which it
    speaks; ``repairs``: each of which closes it. ``reason``: why the release may leave all the same, as the steward
    wrote it.
    """

    key: str
    severity: Severity
    figure: str
    sentence: str
    detail: str = ""
    columns: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    reason: str = ""

    @property
    def name(self) -> str:
        """A short name that stays when a figure changes or a column comes: ``unchanged``, ``identifying:name``. A
        reason that is given to a name is for every finding of that name."""
        return short_name(self.key, self.columns)

    @property
    def is_open(self) -> bool:
        """True when it keeps the release from leaving: nobody gave a reason."""
        return self.severity is Severity.STOPS and not self.reason

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready: for those who may see the original."""
        return {
            "name": self.name,
            "key": self.key,
            "severity": self.severity.value,
            "figure": self.figure,
            "sentence": self.sentence,
            "detail": self.detail,
            "columns": list(self.columns),
            "reason": self.reason or None,
        }


@dataclass(frozen=True)
class Gate:
    """All findings about a release, what stands in its way first."""

    findings: tuple[Finding, ...]

    def with_reasons(self, reasons: Mapping[str, str]) -> "Gate":
        """Return the gate with the steward's reasons, by name or key; a text of fewer than :data:`FEWEST_WORDS` words
        is none, and a reason for what is no finding is not used."""
        texts = {key: " ".join(text.split()) for key, text in reasons.items() if is_reason(text)}
        named = ((one, texts.get(one.key) or texts.get(one.name, "")) for one in self.findings)
        return Gate(tuple(replace(one, reason=reason) for one, reason in named))

    def unused(self, reasons: Mapping[str, str]) -> list[str]:
        """Return the names or keys of reasons that are of no finding here, though another table or setting may have it.

        Raises :class:`ParameterError` for a key that no finding ever has, and a reason that says too little.
        """
        names = list(dict.fromkeys(finding.name for finding in self.findings))
        own = {*names, *(finding.key for finding in self.findings)}
        for key, text in reasons.items():
            if key not in own and kind_of_key(key) not in KINDS:
                remedy = f"The findings are: {'; '.join(names)}." if names else "Leave the reason out."
                raise ParameterError(f"There is no finding {key!r}.", value=key, remedy=remedy)
            if not is_reason(text):
                remedy = f"Write at least {FEWEST_WORDS} words."
                raise ParameterError(f"The reason for {key!r} says too little.", value=key, remedy=remedy)
        return [key for key in reasons if key not in own]

    def beside(self, findings: Iterable[Finding]) -> "Gate":
        """Return the gate with other findings, the most dangerous first."""
        return Gate(tuple(sorted((*findings, *self.findings), key=danger)))

    def __getitem__(self, key: str) -> Finding:
        for finding in self.findings:
            if finding.key == key:
                return finding
        raise KeyError(key)

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings of one severity."""
        return tuple(finding for finding in self.findings if finding.severity is severity)

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that keep the release from leaving."""
        return tuple(finding for finding in self.findings if finding.is_open)

    @property
    def failed(self) -> bool:
        """Whether the release fails a check of its own: what it is (:data:`PROMISE`) is then worth a look."""
        return any(finding.key == PROMISE for finding in self.of(Severity.LOOK))

    @property
    def verdict(self) -> str:
        """Whether the release may leave, in a few words."""
        reasons = len(together(finding for finding in self.of(Severity.STOPS) if finding.reason))
        return verdict_of(self.risks, reasons, failed=self.failed)

    @property
    def risks(self) -> int:
        """Number of risks that are open: findings that say the same of several columns are one."""
        return len(together(self.open))

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready: for those who may see the original."""
        return {"verdict": self.verdict, "findings": [finding.to_dict() for finding in self.findings]}


ABOUT_SEVERAL = {
    "codes": "{n} columns hold codes, by their looks, and not numbers.",
    "ends of one person": "{n} columns end at one person's value.",
    "follows": "{n} columns are released unchanged and reveal generalized ones.",
    "known": "{n} columns are released unchanged, and others can know their values.",
    "rare values": "{n} columns are released unchanged, with values that few rows share.",
    "identifying": "{n} released columns look identifying.",
    "levels of one person": "{n} columns are released with values that belong to one person.",
    "one value": "In {n} columns everybody in some group shares one value.",
}
"""What is said of several columns at once, by the kind of a finding: what its key begins with."""


@dataclass(frozen=True)
class Several:
    """Findings that say the same of other columns, as one."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The first of them, which speaks for all that they have in common."""
        return self.findings[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """Their keys."""
        return tuple(finding.key for finding in self.findings)

    @property
    def names(self) -> tuple[str, ...]:
        """Their short names."""
        return tuple(dict.fromkeys(finding.name for finding in self.findings))

    @property
    def key(self) -> str:
        """The key of the first."""
        return self.first.key

    @property
    def severity(self) -> Severity:
        """Whether they keep a release from leaving."""
        return self.first.severity

    @property
    def reason(self) -> str:
        """Why the release may leave all the same."""
        return self.first.reason

    @property
    def figure(self) -> str:
        """Their figure; of several, the number of their columns."""
        return self.first.figure if len(self.findings) == 1 else f"{len(self.findings):,} columns"

    @property
    def sentence(self) -> str:
        """What they mean, in a sentence."""
        if len(self.findings) == 1:
            return self.first.sentence
        return ABOUT_SEVERAL[kind_of(self.first)].format(n=f"{len(self.findings):,}")

    @property
    def detail(self) -> str:
        """More of it; of several, the columns by name."""
        if len(self.findings) == 1:
            return self.first.detail
        names = [finding.columns[0] for finding in self.findings]
        more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
        return ", ".join(names[:MOST_NAMED]) + more + "."

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """The repairs that close all of them."""
        if len(self.findings) == 1:
            return self.first.repairs
        every = [{repair.words: repair for repair in finding.repairs} for finding in self.findings]
        common = [words for words in every[0] if all(words in repairs for repairs in every)]
        return tuple(
            Repair(
                re.sub(r"\bit\b", "them", words),
                roles=tuple(role for repairs in every for role in repairs[words].roles),
                settings=tuple({name: value for repairs in every for name, value in repairs[words].settings}.items()),
                missing=tuple(dict.fromkeys(text for repairs in every for text in repairs[words].missing)),
                treats=tuple(treat for repairs in every for treat in repairs[words].treats),
            )
            for words in common
        )


MOST_NAMED = 8
LONGEST = 120
"""Letters of the names of columns in a key; what is longer ends with a digest."""


DANGER = (
    "identifying", "holds", "repeats", "persons", "nobody", "ids alike", "same people", "risk", "together", "unchanged",
    "known", "follows", "computed", "codes", "levels of one person", "ends of one person", "one value", "rare values",
    "unchanged together", "rows together",
)  # fmt: skip
"""Kinds of findings, from those that point at a person to those that let somebody guess; others stand below."""


def danger(finding: Finding) -> tuple[int, int]:
    """Return the place of a finding among others: the most dangerous has the lowest."""
    kind, first = kind_of(finding), kind_of(finding).partition(" ")[0]
    name = kind if kind in DANGER else first
    return tuple(Severity).index(finding.severity), DANGER.index(name) if name in DANGER else len(DANGER)


def kind_of(finding: Finding) -> str:
    """Return what a finding is, without the columns of which it speaks."""
    return finding.key.partition(": ")[0]


def together(findings: Iterable[Finding]) -> tuple[Several, ...]:
    """Return the findings, those of one kind, severity and reason as one, where the first of them stood."""
    groups: dict[Any, list[Finding]] = {}
    for finding in findings:
        kind = kind_of(finding) if kind_of(finding) in ABOUT_SEVERAL else finding.key
        groups.setdefault((kind, finding.severity, finding.reason), []).append(finding)
    return tuple(Several(tuple(members)) for members in groups.values())


def verdict_of(stopping: int, reasons: int = 0, *, failed: bool = False) -> str:
    """Return whether a table may be released: how many risks are open, and for how many a reason was given.

    ``failed``: a check, which keeps it only until the reason is stated where the release is taken away.
    """
    if stopping:
        return "1 risk is open" if stopping == 1 else f"{stopping:,} risks are open"
    if failed:
        return "A check failed: releasing it takes a stated reason"
    return "Ready to release" + (f": {reasons:,} reason{'s' * (reasons != 1)} given" if reasons else "")


def is_reason(text: str) -> bool:
    """Return True when a text says something: at least a few words, each of them with letters."""
    return isinstance(text, str) and len(re.findall(r"[^\W\d_]{2,}", text)) >= FEWEST_WORDS


def leave_out(*names: str) -> Repair:
    """Return the repair that keeps columns from leaving."""
    words = "Leave it out" if len(names) == 1 else "Leave them out"
    return Repair(words, roles=tuple((name, Role.IDENTIFYING) for name in names))


def generalize(*names: str) -> Repair:
    """Return the repair that releases columns in boxes."""
    words = "Generalize it" if len(names) == 1 else "Generalize them"
    return Repair(words, roles=tuple((name, Role.QUASI_IDENTIFYING) for name in names))


def share_text(share: float) -> str:
    """Return a share as a percentage that hides neither a small one nor what is left of a nearly full one."""
    digits = 0 if 0.1 <= share <= 0.9 or share == 1 else 1 if 0.01 <= share <= 0.99 else 2
    return "> 99.99%" if 0.9999 < share < 1 else f"{share:.{digits}%}"


def names_text(names: tuple[str, ...]) -> str:
    """Return the names of columns, the same for the same columns and for no others."""
    text = ", ".join(names)
    if len(text) <= LONGEST:
        return text
    return f"{names[0][:40]} and {len(names) - 1:,} more, {sha256(chr(0).join(names).encode()).hexdigest()[:12]}"


def treat(name: str, how: str) -> Repair:
    """Return the repair that treats a column before it is released."""
    return Repair(words_of(how), treats=((name, how),))
