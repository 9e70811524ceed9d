"""What a session knows of the decisions that are kept outside it: in the browser, and in a project that was opened."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from secrets import token_hex
from typing import NamedTuple

from anonymizer.errors import AnonymizerError
from anonymizer.gate.earlier import OtherPeople, Uncounted
from anonymizer.json_value import JsonValue, parse
from anonymizer.labelled.description import Description
from anonymizer.plan.carry_over import Change, Profile
from anonymizer.plan.plan import Plan
from anonymizer.schema import MOST_COLUMNS
from anonymizer.whatif.project import Project, are_alike

MOST = 10
"""Visits of tables whose decisions a browser keeps."""
DAYS = 30
"""Days for which it keeps them."""
REASONS = ("", "loaded", "restarted")
"""Why a session begins though its page had a table: the page was loaded again, or the server was started again."""
OBSTACLES = ("", "insecure", "refused")
"""Why a browser keeps nothing: it does not encrypt on such a page, or gives no room to keep anything in."""
REMEDY = "Load the page again; if that does not help, drop what this browser keeps."
LONGEST_REPORT = 200
"""Most backups that a browser tells of; it keeps :data:`MOST`."""


class Order(NamedTuple):
    """What the browser is to do, once for each number: "forget" the table with this digest, "off" (drop all and keep
    nothing more), "on", "send" the decisions of a visit, or "sign out" (drop all, and go to be signed out)."""

    number: int = 0
    what: str = ""
    of: str = ""


@dataclass(frozen=True)
class Backup:
    """Decisions that the browser keeps, in a few words. ``visit``: which; ``saved``: when; ``name``, ``sha256``,
    ``records`` and ``columns``: of the table; ``decisions`` and ``scenarios``: how many; ``names``: of the columns."""

    visit: str
    saved: str
    name: str
    sha256: str
    records: int
    columns: int
    decisions: int
    scenarios: int
    names: tuple[str, ...] = ()


@dataclass
class Awaited:
    """A project that is to be taken over. ``content``: as it came; ``visit``: that of the browser's backup, "" for a
    file; ``tried``: the edition for which it was tried; ``plan``: that came in its place."""

    project: Project
    content: str | bytes
    visit: str = ""
    tried: int = -1
    plan: Plan | None = None


@dataclass
class LastTime:
    """A project that was taken over by another table, what is known of its own, and what changed. ``release``: last
    time's, as the gate counts it; ``problem``: why a file that was brought for that could not be."""

    project: Project
    changes: tuple[Change, ...]
    release: OtherPeople = field(default_factory=Uncounted)
    problem: AnonymizerError | None = None

    @property
    def profile(self) -> Profile | None:
        """What the project keeps of its own table and release."""
        return self.project.last


@dataclass
class Decisions:
    """What is kept where, and what is being done with it.

    ``session``: a name of this session, so that the browser sees when it is another one. ``visit``: of the table that
    is here, under which its decisions are kept. ``is_on``, ``obstacle``, ``reason``, ``backups``: what the browser
    reported; ``order``: what it is to do. ``project``, ``text``, ``number``, ``saved``: what it was handed last, and
    when.
    ``awaited``: a project that waits for its table; ``note``: what to know of one that was taken over, and ``fits``:
    whether it all fits; ``last``: of next year's file, what changed; ``problem``: why one could not be.
    ``codebook``: one that waits for its table; ``described``: of one that was held against the table, of how many
    columns it speaks, and what contradicts the table. ``files``: how many were brought; ``reports``: the newest one of
    the browser; ``greetings``: how often its connection came back.
    """

    session: str = field(default_factory=lambda: token_hex(8))
    visit: str = field(default_factory=lambda: token_hex(8))
    is_on: bool = True
    obstacle: str = ""
    reason: str = ""
    backups: tuple[Backup, ...] = ()
    order: Order = Order()
    project: Project | None = None
    text: str = ""
    number: int = 0
    saved: str = ""
    awaited: Awaited | None = None
    note: str = ""
    fits: bool = True
    last: LastTime | None = None
    problem: AnonymizerError | None = None
    codebook: tuple[Description, ...] = ()
    described: tuple[int, tuple[Change, ...]] | None = None
    planned: tuple[int, tuple[Change, ...]] | None = None
    files: int = 0
    reports: int = 0
    greetings: int = 0

    def begin(self) -> None:
        """Begin the visit of another table: nothing of it is kept yet."""
        self.visit, self.project, self.text, self.note, self.problem = token_hex(8), None, "", "", None
        self.last = self.described = self.planned = None

    def tell(self, what: str, of: str = "") -> None:
        """Have the browser do something, the next time the page is drawn."""
        self.order = Order(self.order.number + 1, what, of)

    def forget(self, sha256: str) -> None:
        """Drop what is kept of the table with this digest, here and in the browser."""
        self.begin()
        self.awaited, self.reason, self.codebook = None, "", ()
        self.backups = tuple(backup for backup in self.backups if backup.sha256 != sha256)
        self.tell("forget", sha256)

    def switch(self, is_on: bool) -> None:
        """Keep decisions in the browser from now on, or drop all that it keeps and keep nothing more."""
        self.is_on = is_on
        self.backups = self.backups if is_on else ()
        self.tell("on" if is_on else "off")

    def of_table(self, sha256: str) -> list[Backup]:
        """Return what the browser keeps of earlier visits of the table with this digest, the newest first."""
        return [one for one in self.backups if one.sha256 == sha256 and one.visit != self.visit]

    def of_last_time(self, columns: Sequence[str]) -> Backup | None:
        """Return the newest decisions that the browser keeps of a table with most of these columns; ``None`` for
        none."""
        others = (one for one in self.backups if one.visit != self.visit)
        return next((one for one in others if one.names and are_alike(one.names, columns)), None)

    def hear(self, report: str) -> None:
        """Take over what the browser reports, unless it was to another session or is an old report once more. Raises
        :class:`ReadError` when it is not in order."""
        described = parse(report, "list of decisions that the browser keeps", REMEDY)
        number = described.field("number").whole()
        if described.field("session").text() != self.session or number <= self.reports:
            return
        self.reports = number
        backups = [backup_from(item) for item in described.field("backups").items(LONGEST_REPORT)]
        is_on, obstacle = described.field("on").flag(), described.field("obstacle").one_of(OBSTACLES)
        reason = described.field("reason").one_of(REASONS)
        self.backups = tuple(sorted(backups, key=lambda one: datetime.fromisoformat(one.saved), reverse=True))
        self.is_on, self.obstacle, self.reason = is_on, obstacle, reason


def backup_from(value: JsonValue) -> Backup:
    """Return one entry of the browser's list; raises :class:`ReadError` with the place of what does not fit."""
    names = value.field("names")
    counts = {name: value.field(name).whole() for name in ("records", "columns", "decisions", "scenarios")}
    return Backup(
        visit=value.field("visit").text(64, fewest=1, plain=True),
        saved=value.field("saved").time(),
        name=value.field("name").text(),
        sha256=value.field("sha256").sha256(),
        names=() if names.absent else tuple(one.text() for one in names.items(MOST_COLUMNS)),
        **counts,
    )
