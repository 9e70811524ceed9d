"""The chain of a ledger: entries as lines of JSON, each of which names the hash of the one that it follows.

The hash of an entry is the SHA-256 of its canonical JSON without the hash itself. After two copies of a ledger are
merged some entries follow others than the line before; the file stands then in the one order in which every entry
comes after those that it follows and, of several that can come next, the earliest by time.
"""

import heapq
import json
import math
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from anonymizer.checking.cell_limits import LEAST, Promise
from anonymizer.digests import digest
from anonymizer.errors import ParameterError, ReadError
from anonymizer.json_value import JsonValue, parse
from anonymizer.schema import Column, Kind, Role
from anonymizer.settings import OF_POPULATION, SETTINGS, Limits, extension_limits

FORMAT, VERSION = "copse-ledger", 1
KINDS = ("table", "release", "forest", "tree", "withdrawn", "merge", "note")
"""What an entry can be of."""
RESTORE = "Compare it with other copies of this ledger, and with the packets that name its entries."


def canonical(entry: Mapping[str, Any]) -> bytes:
    """Return the one JSON text of an entry: names sorted, no blanks, UTF-8; numbers that are not whole stand as text.

    Raises :class:`ParameterError` for what has no such text: infinite numbers, NaN, half characters, other types.
    """
    try:
        text = json.dumps(_plain(entry), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except UnicodeEncodeError:
        raise ParameterError("An entry of the ledger has a text with half a character.", remedy="Correct it.") from None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating) and np.isfinite(value):
        return int(value) if float(value).is_integer() else repr(float(value))
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    raise ParameterError(
        f"An entry of the ledger cannot hold a {type(value).__name__}, nor a number without a value.",
        remedy="Give texts, numbers and lists.",
    )


def entry_hash(entry: Mapping[str, Any]) -> str:
    """Return the hash of an entry: SHA-256 of its canonical JSON without the hash, hexadecimal."""
    return digest(canonical({name: value for name, value in entry.items() if name != "hash"}))


def new_entry(number: int, previous: Sequence[str], kind: str, **fields: Any) -> dict[str, Any]:
    """Return an entry with its hash, made now. ``fields``: what it says beside what every entry says.

    Raises :class:`ParameterError` for another kind than those of :data:`KINDS`.
    """
    if kind not in KINDS:
        raise ParameterError(f"{kind!r} is no kind of entry.", value=kind, remedy=f"Use one of {', '.join(KINDS)}.")
    entry = {
        "format": FORMAT, "version": VERSION, "number": number, "previous": list(previous), "kind": kind,
        "at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"), "nonce": secrets.token_hex(16),
        **fields,
    }  # fmt: skip
    content: dict[str, Any] = json.loads(canonical(entry))
    return content | {"hash": entry_hash(content)}


@dataclass(frozen=True)
class Fault:
    """What is wrong with a ledger: ``kind``, the ``line`` (from 1) where it begins, and the ``sentence`` on it."""

    kind: str
    line: int
    sentence: str


@dataclass(frozen=True)
class ReleaseEntry:
    """What later releases need of the entry of a release: its ``line``, when it was made, the ``k`` that it promised;
    of its table the column that says whose each row is, ``None`` without one, whether ids that differ in writing only
    are one person's, the quasi-identifying columns, the ``prints`` of all columns, and that of its ``rows``, "" where
    each person has one; the ``file`` of its members and the digest of that; the ``promise`` besides k; and whether it
    ``composes``: each class of it alone has k rows."""

    line: int
    at: str
    k: int
    person: str | None
    alike: bool
    quasi_identifying: tuple[str, ...]
    prints: Mapping[str, str]
    rows: str
    file: str
    sha256: str
    promise: Promise = Promise()
    composes: bool = True

    @classmethod
    def of(cls, line: int, entry: Mapping[str, Any]) -> "ReleaseEntry":
        """Return what an entry says. Raises :class:`ReadError` when something is missing or of another type."""
        value = JsonValue(dict(entry), f"entry {line:,}", "ledger", RESTORE)
        columns = {name: column.items() for name, column in value.field("table").field("columns").fields().items()}
        k, promise = value.field("settings").field("k").whole(1), _promise_in(value.field("settings"), columns)
        return replace(cls.of_people(line, value), k=k, promise=promise, composes=composes(entry))

    @classmethod
    def of_people(cls, line: int, value: JsonValue) -> "ReleaseEntry":
        """Return what an entry says of its people and their table, promising nothing. Raises as :meth:`of`."""
        table, members = value.field("table"), value.field("members")
        person, alike, rows = (table.field(name) for name in ("person", "alike", "rows_print"))
        columns = {name: column.items() for name, column in table.field("columns").fields().items()}
        return cls(
            line, value.field("at").time(), 1,
            None if person.absent else person.text(), not alike.absent and alike.flag(),
            tuple(name for name, words in columns.items() if words and words[0].value == "quasi-identifying"),
            {name: text.text(16) for name, text in table.field("print").fields().items()},
            "" if rows.absent else rows.text(16), _file_in(members), members.field("sha256").sha256(),
        )  # fmt: skip


@dataclass(frozen=True)
class TreeEntry:
    """What later releases and trees need of the entry of a published tree: its ``people`` and their table, as those of
    a release that promised nothing, each leaf a class; the ``target`` that it predicts, the ``number`` of its leaves,
    whether it has error ``rates``, and the value that a leaf ``says`` all its people have, by leaf."""

    people: ReleaseEntry
    target: str
    number: int
    rates: bool
    says: Mapping[int, str | None]

    @classmethod
    def of(cls, line: int, entry: Mapping[str, Any]) -> "TreeEntry":
        """Return what an entry says. Raises :class:`ReadError` when something is missing or of another type."""
        value = JsonValue(dict(entry), f"entry {line:,}", "ledger", RESTORE)
        number, says = value.field("leaves").whole(1), value.field("says").fields()
        for leaf, one in says.items():
            if not re.fullmatch(r"0|[1-9][0-9]{0,8}", leaf) or int(leaf) >= number:
                one.refuse("there is no such leaf")
        texts = {int(leaf): None if one.absent else one.text() for leaf, one in says.items()}
        target, rates = value.field("target").text(fewest=1), value.field("knows").field("error_rates").flag()
        return cls(ReleaseEntry.of_people(line, value), target, number, rates, texts)


@dataclass(frozen=True)
class ForestEntry:
    """What later forests need of the entry of a forest: its ``line``; ``epsilon``, what it may tell of a row, infinite
    where it promises nothing; of its table the column that says whose each row is, ``None`` without one, and whether
    ids that differ in writing only are one person's; the ``file`` of its members, "" without persons, and the digest of
    that."""

    line: int
    epsilon: float
    person: str | None
    alike: bool
    file: str
    sha256: str

    @classmethod
    def of(cls, line: int, entry: Mapping[str, Any]) -> "ForestEntry":
        """Return what an entry says. Raises :class:`ReadError` when something is missing or of another type."""
        value = JsonValue(dict(entry), f"entry {line:,}", "ledger", RESTORE)
        table, members = value.field("table"), value.field("members")
        person, alike = table.field("person"), table.field("alike")
        epsilon = real_in(value.field("epsilon")) if value.field("private").flag() else math.inf
        who = None if person.absent else person.text()
        files = ("", "") if who is None else (_file_in(members), members.field("sha256").sha256())
        return cls(line, epsilon, who, not alike.absent and alike.flag(), *files)


def composes(entry: Mapping[str, Any]) -> bool:
    """Return whether each class of the release of an entry has the k rows that it promises by itself; those of boxes
    that overlap have not, and then no other release can be put beside it."""
    achieved, settings = (entry.get(name) for name in ("achieved", "settings"))
    if not (isinstance(achieved, dict) and isinstance(settings, dict)):
        return True
    smallest, k = achieved.get("k"), settings.get("k")
    return not (isinstance(smallest, int) and isinstance(k, int) and smallest < k)


def real_in(value: JsonValue) -> float:
    """Return a number above 0. Raises :class:`ReadError` for any other."""
    number = _number_in(value)
    if not 0 < number < math.inf:
        value.refuse("a number above 0 was expected")
    return number


def _promise_in(settings: JsonValue, columns: Mapping[str, Sequence[JsonValue]]) -> Promise:
    """Return what a release promised besides k, by its settings."""
    numbers = [name for name in extension_limits() if SETTINGS[name].kind in ("number", "count")]
    fields = {name: settings.field(name) for name in (*LEAST, *OF_POPULATION, *numbers)}
    stated = {name: field for name, field in fields.items() if not field.absent}
    whole = {name for name in stated if name in ("k_map", *numbers) and SETTINGS[name].kind == "count"}
    limits = {name: one.whole() if name in whole else _number_in(one) for name, one in stated.items()}
    sensitive = [
        Column(name, Role.SENSITIVE, Kind(words[1].one_of([*Kind])))
        for name, words in columns.items()
        if len(words) > 1 and words[0].value == "sensitive"
    ]
    return Promise(settings.build(lambda: Limits(**limits)), tuple(sensitive))


def _number_in(field: JsonValue) -> float:
    """Return a number, which stands as text where it is not whole."""
    if isinstance(field.value, str):
        try:
            return float(field.value)
        except ValueError:
            field.refuse("this is no number")
    return field.number()


def _file_in(value: JsonValue) -> str:
    """Return the name of a file of members, which leads nowhere else."""
    file = value.field("file")
    name = file.text(40)
    if not re.fullmatch(r"[0-9]{4,}-[0-9a-f]{8}", name):
        file.refuse("this is no file of members")
    return name


@dataclass(frozen=True, eq=False)
class Chain:
    """The entries of a ledger as they stand in its lines, up to where they can be read; ``fault``: what is wrong first,
    ``None`` where nothing is."""

    entries: tuple[Mapping[str, Any], ...]
    fault: Fault | None = None

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        return str(self.entries[-1]["hash"])

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of each entry, from 1, by its hash."""
        return {str(entry["hash"]): line for line, entry in enumerate(self.entries, 1)}

    @cached_property
    def releases(self) -> tuple["ReleaseEntry", ...]:
        """The releases, those that were asked back too, for copies of them may stay. Raises :class:`ReadError` for one
        that does not say what an entry of a release says."""
        return tuple(
            ReleaseEntry.of(line, entry) for line, entry in enumerate(self.entries, 1) if entry["kind"] == "release"
        )

    @cached_property
    def forests(self) -> tuple["ForestEntry", ...]:
        """The forests. Raises :class:`ReadError` for one that does not say what an entry of a forest says."""
        return tuple(
            ForestEntry.of(line, entry) for line, entry in enumerate(self.entries, 1) if entry["kind"] == "forest"
        )

    @cached_property
    def trees(self) -> tuple["TreeEntry", ...]:
        """The published trees. Raises :class:`ReadError` for one that does not say what an entry of a tree says."""
        return tuple(TreeEntry.of(line, entry) for line, entry in enumerate(self.entries, 1) if entry["kind"] == "tree")

    @property
    def with_members(self) -> tuple["ReleaseEntry | ForestEntry", ...]:
        """The entries that have members. Raises :class:`ReadError`."""
        trees = (tree.people for tree in self.trees)
        return (*self.releases, *trees, *(forest for forest in self.forests if forest.file))

    @property
    def budget(self) -> float | None:
        """The most that forests may tell of one person together, as was entered last; ``None`` where it never was.
        Raises :class:`ReadError`."""
        for line, entry in reversed(list(enumerate(self.entries, 1))):
            if entry.get("budget") is not None:
                return real_in(JsonValue(dict(entry), f"entry {line:,}", "ledger", RESTORE).field("budget"))
        return None

    @property
    def erased(self) -> Mapping[str, str]:
        """The digest of each file of members after the last person was erased from it. Raises :class:`ReadError`."""
        notes = (JsonValue(entry, f"entry {line:,}", "ledger", RESTORE) for line, entry in enumerate(self.entries, 1))
        files = (one for note in notes if not note.field("erased").absent for one in note.field("erased").items())
        return {_file_in(one): one.field("after").sha256() for one in files}

    def require(self) -> "Chain":
        """Return the chain. Raises :class:`ReadError` when something is wrong with it."""
        if self.fault is not None:
            raise ReadError(self.fault.sentence, remedy="" if self.fault.kind == "tails" else RESTORE)
        return self

    def against(self, head: str, source: str) -> Fault | None:
        """Return what a head that was named elsewhere proves of the ledger, ``None`` where it is one of its entries.
        ``source``: what named it, such as "A packet of 2026-05-03"."""
        if head in self.lines:
            return None
        text = f"{source} names an entry that this ledger does not have: it was cut short, or is another copy."
        return Fault("cut", len(self.entries), text)

    def to_bytes(self) -> bytes:
        """Return the file: a line of canonical JSON for each entry."""
        return b"".join(canonical(entry) + b"\n" for entry in self.entries)


def read_chain(content: bytes) -> Chain:
    """Return the chain in a file, with the first fault that it has. Nothing in the file is believed."""
    lines = content.split(b"\n")
    entries: list[Mapping[str, Any]] = []
    fault = None
    for number, line in enumerate(lines[:-1], 1):
        entry = _entry_in(line)
        if entry is None:
            fault = Fault("damaged", number, f"Line {number:,} is damaged: it is no entry. Nothing was changed.")
            break
        if isinstance(entry.get("version"), int) and entry["version"] > VERSION:
            return Chain((), Fault("later", number, LATER))
        if not _is_entry(entry) or canonical(entry) != line:
            fault = Fault("damaged", number, f"Line {number:,} is damaged: it is no entry. Nothing was changed.")
            break
        entries.append(entry)
    if fault is None and (lines[-1] or not entries):
        fault = Fault("damaged", len(lines), f"Line {len(lines):,} is damaged: it has no end. Nothing was changed.")
    earlier = judge(entries)
    if earlier is not None and (fault is None or earlier.kind != "tails"):
        fault = earlier
    return Chain(tuple(entries), fault)


LATER = "This ledger was written by a later version. Nothing was changed."


def _entry_in(line: bytes) -> dict[str, Any] | None:
    try:
        value = parse(line, "ledger", RESTORE).value
    except ReadError:
        return None
    return value if isinstance(value, dict) else None


def _is_entry(entry: Mapping[str, Any]) -> bool:
    """Return whether an object has what every entry has, of the right types, and numbers that stand as they should."""
    previous = entry.get("previous")
    texts = isinstance(previous, list) and all(isinstance(one, str) for one in previous)
    try:
        return texts and isinstance(entry.get("hash"), str) and entry.get("kind") in KINDS and bool(canonical(entry))
    except ParameterError:
        return False


def judge(entries: Sequence[Mapping[str, Any]]) -> Fault | None:
    """Return the first fault of entries in the order of their lines, ``None`` where the chain holds."""
    lines: dict[str, int] = {}
    for line, entry in enumerate(entries, 1):
        if entry.get("hash") != entry_hash(entry):
            return Fault(
                "edited", line, f"Entry {line:,} is not what was written; it and what follows prove nothing. "
                "Nothing was changed.",
            )  # fmt: skip
        follows = all(one in lines for one in entry["previous"]) and bool(entry["previous"]) == (line > 1)
        if not follows or entry["hash"] in lines:
            return _out_of_place(line)
        lines[entry["hash"]] = line
    if len(heads := heads_of(entries)) > 1:
        line = _last_in_common(entries, heads[:2])
        text = f"Two entries follow entry {line:,}: the ledger went on in two places. Merge them."
        return Fault("tails", line, text)
    for line, (entry, other) in enumerate(zip(entries, in_order(entries), strict=True), 1):
        if entry["hash"] != other["hash"]:
            return _out_of_place(line)
    return None


def heads_of(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the hashes of the entries that no other one follows, in their order: one, where the chain holds."""
    followed = {one for entry in entries for one in entry["previous"]}
    return [entry["hash"] for entry in entries if entry["hash"] not in followed]


def _out_of_place(line: int) -> Fault:
    if line == 1:
        return Fault("order", 1, "Entry 1 follows an entry that is not here: the beginning is missing.")
    return Fault("order", line, f"Entry {line:,} does not follow entry {line - 1:,}. Nothing was changed.")


def _last_in_common(entries: Sequence[Mapping[str, Any]], heads: Sequence[str]) -> int:
    """Return the line of the last entry that both of two heads follow."""
    previous = {entry["hash"]: entry["previous"] for entry in entries}
    before: list[set[str]] = []
    for head in heads:
        reached, ahead = set(), [head]
        while ahead:
            one = ahead.pop()
            if one not in reached:
                reached.add(one)
                ahead += previous[one]
        before.append(reached)
    both = before[0] & before[1]
    return max((line for line, entry in enumerate(entries, 1) if entry["hash"] in both), default=1)


def in_order(entries: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return entries in the order of a file: each after those that it follows, and of those that can come next the
    earliest by time, then by hash. Entries that follow what is not there are left out."""
    by_hash = {str(entry["hash"]): entry for entry in entries}
    after: dict[str, list[str]] = {name: [] for name in by_hash}
    missing = {name: len(entry["previous"]) for name, entry in by_hash.items()}
    for name, entry in by_hash.items():
        for one in entry["previous"]:
            after.get(one, []).append(name)
    ready = [(str(by_hash[name].get("at", "")), name) for name, number in missing.items() if not number]
    heapq.heapify(ready)
    order = []
    while ready:
        _, name = heapq.heappop(ready)
        order.append(by_hash[name])
        for one in after[name]:
            missing[one] -= 1
            if not missing[one]:
                heapq.heappush(ready, (str(by_hash[one].get("at", "")), one))
    return tuple(order)


def merge_chains(first: Chain, second: Chain, **fields: Any) -> Chain:
    """Return the chain of two copies of a ledger: the common beginning, both tails by time, and an entry that follows
    both heads; a copy that is the beginning of the other adds nothing. One copy may have both tails. ``fields``: of the
    new entry.

    Raises :class:`ReadError` when something is wrong with one, and :class:`ParameterError` when they have no entry in
    common.
    """
    for chain in (first, second):
        if chain.fault is not None and chain.fault.kind != "tails":
            chain.require()
    if not set(first.lines) & set(second.lines):
        raise ParameterError("These are not copies of one ledger: they have no entry in common.", remedy="Name others.")
    entries = in_order([*first.entries, *second.entries])
    heads = heads_of(entries)
    more = [new_entry(len(entries) + 1, sorted(heads), "merge", **fields)] if len(heads) > 1 else []
    return Chain((*entries, *more))
