"""What one browser session holds.

A page asks :func:`ui.session.workspace` for the session's :class:`Workspace`, reads ``ws.table``, ``ws.schema`` and
``ws.settings``, and asks ``ws.flow`` for a stage: ``ws.flow.tree``, ``ws.flow.release``, ``ws.flow.verification``. A
stage is computed once and kept under everything it depends on (:mod:`anonymizer.flow`), so a page that is drawn again
costs nothing and a change of k regrows no tree. Nothing is shared between sessions and nothing is written to disk.

A widget's state is lost when its page is left, so choices live here: settings by ``ws.set(k=st.slider(..., value=ws.k,
key="k"))`` (with a key, the changing ``value`` is only the first one), and how a page looks in a small object of its
own, ``ws.state(TreeState)``. Pages return early rather than call ``st.stop()``: the strip is drawn after them.

Callbacks of widgets hold the workspace, and no table, flow or tree: Streamlit keeps them for long.

Stages raise :class:`anonymizer.errors.AnonymizerError`; pages show it with :func:`ui.controls.problem`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pandas as pd

from anonymizer.abilities import fits
from anonymizer.checking.cell_limits import Promise
from anonymizer.checking.linkage import LinkageRisk, linkage_risk, singling_out
from anonymizer.databases.address import Address
from anonymizer.databases.read import read_database
from anonymizer.errors import AnonymizerError, CancelledError, MemoryOnlyError, ParameterError, Progress, ReadError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier, OtherPeople, Uncounted
from anonymizer.growing.encode import Encoding, encode_column
from anonymizer.ledger.account import Account
from anonymizer.partitions.flow import PartedFlow
from anonymizer.partitions.parted import LARGE_READERS, PartedReading, parted
from anonymizer.reading.child import read_in_child
from anonymizer.reading.facts import ColumnFacts, profile
from anonymizer.reading.files import Reading, ReadOptions
from anonymizer.reading.options import Answer as ReadingAnswer
from anonymizer.reading.profile import suggest, suggest_again, with_suggested_reasons
from anonymizer.reading.samples import SAMPLES, sample_reading
from anonymizer.releasing.generalize import INTERVALS, LEAVES_OUT
from anonymizer.reporting.packet import members_of, read_members
from anonymizer.schema import Column, Schema
from anonymizer.settings import SETTINGS, Settings
from anonymizer.values import content_digest
from anonymizer.whatif.scenarios import History, Scenario, choices_of
from ui.answers import Answers
from ui.background import Job
from ui.decisions.ledger import OpenLedger
from ui.decisions.state import Decisions
from ui.disclosure.state import DisclosureState
from ui.server.memory import size_of
from ui.server.places import PLACES
from ui.server.turns import Owner
from ui.turn import turns_of
from ui.what_if.state import WhatIfState

State = TypeVar("State")

WITH_SHARED_RECORDS = ("sets", "groups", "concatenate", *INTERVALS)
"""Ways to write cells that do not count, so they suit boxes that share records."""


@dataclass
class Workspace:
    """One session: the table as it was read, the roles of its columns, the settings, and the answers to both.

    ``source``: the bytes (or the operator's file, or the address of a database, without its password) that the table
    was read from, kept so that it can be read again in another way. ``edition`` counts the files tried, ``version`` the
    changes of schema that did not come from the roles table itself: parts of widget keys, so that a widget of an older
    table, or an upload that was dealt with, is forgotten.
    ``states``: what is chosen on a page beside the settings, by its class, which outlives a change of page.
    ``jobs``: work in the background, by name; ``answers``: what pages compute once. All three are emptied with another
    table.
    ``failure``: why the last file could not be used, until another one is brought.
    ``doubt``: a file that can be read in several ways, and its bytes, until it is answered which is right.
    ``spent``: privacy budget (ε) spent in this session on each table, by the digests of its file and of its
    :attr:`content`; it outlives the tables, for what was answered cannot be taken back.
    ``releases``: what was taken away of each table, by the same digests: roles and settings that it was made by, and
    the class of each row. It is counted together with the next release of the table, outlives it as the budget does,
    and is gone with :meth:`forget`.
    ``reasons``: why the release may leave although something stands in the way, by the key of the finding.
    ``scenarios``: settings that were kept; ``history``: every decision on this table; ``manner``: how its file is to be
    read, where somebody said that.
    ``decisions``: what of all this is kept in the browser or waits in a project file; it outlives the tables.
    ``owner``: stands for the session where turns of work are given out.
    """

    reading: Reading | PartedReading | None = None
    source: Any = None
    schema: Schema | None = None
    settings: Settings = field(default_factory=Settings)
    edition: int = 0
    version: int = 0
    states: dict[type, Any] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    answers: Answers = field(init=False)
    failure: AnonymizerError | None = None
    doubt: tuple[Reading, Any] | None = None
    spent: dict[str, float] = field(default_factory=dict)
    releases: dict[str, tuple[tuple[Any, Earlier], ...]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    scenarios: tuple[Scenario, ...] = ()
    history: History = field(default_factory=History)
    manner: ReadOptions | None = None
    ledger: OpenLedger | None = None
    keep: bool = False
    decisions: Decisions = field(default_factory=Decisions)
    owner: Owner = field(default_factory=Owner)
    _flow: Flow | None = None

    def __post_init__(self) -> None:
        self.turn = turns_of(self.owner)
        self.answers = Answers(self.turn)

    @property
    def table(self) -> pd.DataFrame | None:
        """Return the table, or ``None`` as long as none was brought. Raises :class:`MemoryOnlyError` for one in
        pieces."""
        if isinstance(self.reading, PartedReading):
            raise MemoryOnlyError()
        return None if self.reading is None else self.reading.frame

    @property
    def n_records(self) -> int:
        """Return the number of records of the table; 0 without one."""
        return 0 if self.reading is None else self.reading.n_records

    def memory(self) -> int:
        """Return the bytes that this session holds, about: its table and what was worked out of it."""
        made = [job.answer for job in tuple(self.jobs.values())]  # other threads ask
        own = self.reading, self.source, self.doubt, self._flow, self.answers, self.states, self.releases
        return size_of((*own, made))

    @property
    def content(self) -> str:
        """Return the digest of what the table says, "" without one: another file of the same records has the same."""
        reading = self.reading
        if reading is None:
            return ""
        if isinstance(reading, PartedReading):
            return reading.sha256
        return self.answers.get("content", id(reading), lambda: content_digest(reading.frame))

    @property
    def spent_here(self) -> float:
        """Return the privacy budget (ε) spent on this table: on its content, or on its file however that was read."""
        return max((self.spent.get(key, 0.0) for key in self._accounts()), default=0.0)

    def account(self, epsilon: float = 0.0) -> Account | None:
        """Return what forests have told of this table's people by the ledger that is open, as it stands now; ``None``
        without one, or where it cannot be read. ``epsilon``: of a forest that is to come, which counts, too."""
        opened, reading = self.ledger, self.reading
        if opened is None or reading is None or reading.in_pieces:
            return None
        schema = self.schema or self.suggest()
        name = f"ledger account {epsilon > 0}"
        try:
            key = opened.ledger.head, reading.sha256, schema, epsilon
            return self.answers.get(name, key, lambda: opened.ledger.account(self.table, schema, epsilon))
        except ReadError:
            return None

    def spend(self, epsilon: float, at_least: float = 0.0) -> None:
        """Charge the table: what was spent, and ``epsilon``, or ``at_least`` so much in all."""
        total = max(self.spent_here + epsilon, at_least)
        if total:
            self.spent |= dict.fromkeys(self._accounts(), total)

    def taking(self) -> Callable[[], None]:
        """Return what notes that the release as it is now was taken away."""
        flow = self.flow
        promise = Promise.of(flow.schema, flow.limits)
        entry = flow.needs("class_of"), Earlier(flow.class_of, int(flow.settings.k), promise)

        def take() -> None:
            for account in self._accounts():
                before = self.releases.get(account, ())
                if all(made_by != entry[0] for made_by, _ in before):
                    self.releases[account] = (*before, entry)

        return take

    def _other_releases(self, flow: Flow) -> tuple[Earlier | OtherPeople, ...]:
        """Return the releases of this table that were taken away, but for that of the flow itself, and last time's,
        where a project with one decided."""
        before = self.decisions.last
        in_pieces = self.reading is not None and self.reading.in_pieces
        of_ledger = () if self.ledger is None or in_pieces else self.ledger.releases
        last = () if before is None or before.profile is None else (before.release,)
        if self.ledger is not None and self.ledger.entries and of_ledger:
            last = tuple(one for one in last if not isinstance(one, Uncounted))
        last = (*last, *of_ledger)
        if not self.releases:
            return last
        now, entries = (
            flow.needs("class_of"),
            [entry for key in self._accounts() for entry in self.releases.get(key, ())],
        )
        others = [one for made_by, one in entries if made_by != now and len(one.class_of) == self.n_records]
        return (*dict.fromkeys(others), *last)

    def use_ledger(self, ledger: OpenLedger | None) -> None:
        """Count releases with those of a ledger, and pack with its key; with ``None``, without one."""
        keys = [None if one is None else one.ledger.key for one in (self.ledger, ledger)]
        self.ledger = ledger
        if keys[0] != keys[1]:
            self._flow = None

    def _accounts(self) -> tuple[str, ...]:
        return () if self.reading is None else (self.reading.sha256, self.content)

    @property
    def title(self) -> str:
        """Return the table's name on the pages: that of its file, or the title of the sample."""
        if self.reading is None:
            return ""
        sample = SAMPLES.get(self.reading.name) if self.reading.format == "sample" else None
        return sample.title if sample else self.reading.name

    def state(self, kind: type[State]) -> State:
        """Return what is chosen on a page: the session's one object of this class, made on first use."""
        if kind not in self.states:
            self.states[kind] = kind()
        return self.states[kind]  # type: ignore[no-any-return]

    @property
    def k(self) -> int:
        """Return the smallest group allowed, in records."""
        return int(self.settings.k)

    def bring(
        self,
        source: Any,
        name: str,
        options: ReadOptions | None = None,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Read a file (bytes, or a path the operator allows) or a database and make it the table. False when it cannot
        be read, or when ``cancelled`` says so. The password of a database is not kept.

        A large file becomes a table in pieces. What can be read in two ways is not the table yet: it waits in ``doubt``
        until its questions are answered.
        On failure the previous table stays, and ``failure`` says why. Read again in another way, a table of the
        same columns keeps the roles somebody chose; what was only suggested is suggested anew.
        """
        try:
            reading = _read(source, name, options, progress=progress, cancelled=cancelled)
            source = source.but(password="") if isinstance(source, Address) else source
            PLACES.require(self.owner, name, size_of(reading))
        except AnonymizerError as error:
            self.refuse(error)
            return False
        if reading.questions:
            self.doubt, self.failure = (reading, source), None
            self.edition += 1
        else:
            self._accept(reading, source)
            self.manner = options
        return True

    def answer(self, answers: Iterable[ReadingAnswer], **watch: Any) -> bool:
        """Read the file that waits in ``doubt`` again, with these answers. False when that does not work. ``watch``:
        as for :meth:`bring`."""
        if self.doubt is None:
            return False
        reading, source = self.doubt
        options = reading.options
        for answer in answers:
            options = answer.apply(options)
        return self.bring(source, reading.name, options, **watch)

    def take_pieces(self, reading: PartedReading) -> bool:
        """Make a table in pieces the table. False, with ``failure`` set, when there is no room for it."""
        try:
            PLACES.require(self.owner, reading.name, size_of(reading))
        except AnonymizerError as error:
            self.refuse(error)
            return False
        self._accept(reading, None)
        return True

    def bring_sample(self, name: str) -> bool:
        """Make one of the built-in samples the table, with the decisions that it brings. False, with ``failure`` set,
        when it cannot be had."""
        sample = SAMPLES[name]
        try:
            frame = sample.load()
            PLACES.require(self.owner, sample.title, size_of(frame))
        except AnonymizerError as error:
            self.refuse(error)
            return False
        self._accept(sample_reading(name, frame), None)
        if sample.roles and self.schema is None:
            self.set_schema(sample.schema(frame))
            self.set(**sample.settings)
            self.states[DisclosureState] = DisclosureState(**sample.disclosure)
        return True

    def unfold_packet(self, name: str, data: bytes) -> tuple[dict[str, bytes], list[str], str]:
        """Return what :func:`anonymizer.checking.released_file.read_archive` returns of a packet; it unfolds in a
        process of its own, and nothing is kept. Raises :class:`ReadError`, also where the session has no room."""
        reading = read_in_child(data, name=name, reader=read_members)
        PLACES.require(self.owner, name, 2 * size_of(reading.frame))
        return members_of(reading)

    @property
    def asks_password(self) -> bool:
        """Return True when the table can only be read again with the password of a database, which is not kept."""
        return isinstance(self.source, Address) and bool(self.source.user)

    def read_again(self, options: ReadOptions, *, password: str = "", **watch: Any) -> bool:
        """Read the kept bytes, or the database, in another way. False, with ``failure`` set, when that does not work.
        ``watch``: as for :meth:`bring`."""
        if self.reading is None or self.source is None:
            return False
        source = self.source.but(password=password) if isinstance(self.source, Address) else self.source
        return self.bring(source, self.reading.name, options, **watch)

    @property
    def can_read_again(self) -> bool:
        """True when the table can be read again in another way, and nobody has to be asked for anything."""
        return self.source is not None and not self.asks_password

    def reader(self) -> Callable[[tuple[str, ...]], Reading | PartedReading]:
        """Return what reads the table again, with more texts as missing; it does not make that the table. It raises
        what reading raises, and :class:`ReadError` where the session has no room for both."""
        source, before, owner = self.source, self._need_reading(), self.owner

        def read(missing: tuple[str, ...]) -> Reading | PartedReading:
            PLACES.require(owner, before.name, 2 * size_of(before))
            return _read(source, before.name, before.options.with_missing(missing))

        return read

    def stop_reading(self, name: str, edition: int) -> None:
        """Say that the reading of a file was stopped, unless it ended meanwhile; what was there before stays.
        ``edition``: when the reading began."""
        if edition == self.edition:
            self.failure = CancelledError(f"The reading of {name} was stopped.")
            self.edition += 1

    def forget(self) -> None:
        """Drop the table, everything derived from it, and what is kept of it in the browser; the count of editions and
        the budgets spent stay."""
        reading = self.reading or (self.doubt[0] if self.doubt else None)
        if reading is not None:
            self.decisions.forget(reading.sha256)
        self._end_jobs()
        for place in (self.states, self.answers):  # Streamlit may keep them, with widgets that are gone
            place.clear()
        fresh = Workspace(edition=self.edition + 1, spent=self.spent, decisions=self.decisions, owner=self.owner)
        self.__dict__.update(fresh.__dict__)

    def _end_jobs(self) -> None:
        for job in tuple(self.jobs.values()):
            job.stopped.set()
        self.jobs.clear()

    def refuse(self, error: AnonymizerError) -> None:
        """Say why a file cannot be the table; what was there before stays."""
        self.failure, self.doubt = error, None
        self.edition += 1

    def _accept(self, reading: Reading | PartedReading, source: Any) -> None:
        previous = self.reading
        same_columns = previous is not None and previous.sha256 == reading.sha256 and previous.names == reading.names
        suggested = self.suggest() if same_columns and self.schema is not None else None
        self.answers.clear()
        self._end_jobs()
        self._flow = None
        self.reading, self.source, self.failure, self.doubt = reading, source, None, None
        self.edition += 1
        if not same_columns:
            self.states.clear()
            self.schema, self.settings, self.scenarios, self.history = None, Settings(), (), History()
            self.manner, self.reasons, self.keep = None, {}, False
            if reading.in_pieces:
                self.set(generalizer="uniform")  # whose figures follow from the tree alone
            self.decisions.begin()
        elif self.schema is not None and suggested is not None:
            variables, facts = reading.variables, self.facts()
            self.set_schema(suggest_again(self.schema, suggested, reading.values, variables, facts))

    # What is known before anything is generalized.

    def facts(self) -> tuple[ColumnFacts, ...]:
        """Return facts about each column of the table."""
        return self.answers.get("facts", self._read_key(), self._facts)

    def _facts(self) -> tuple[ColumnFacts, ...]:
        reading = self._need_reading()
        return reading.table.facts if isinstance(reading, PartedReading) else profile(reading.frame)

    def suggest(self) -> Schema:
        """Return the suggested roles and kinds, with reasons."""
        return self.answers.get("suggested", self._read_key(), self._suggest)

    def _suggest(self) -> Schema:
        reading = self._need_reading()
        return suggest(reading.values, reading.variables, self.facts())

    def encoding(self, column: Column) -> Encoding:
        """Return the encoding of a column of the table, as this one is declared. Raises :class:`EncodeError` for values
        that do not fit."""
        reading = self._need_reading()
        return encode_column(reading.values[column.name], column, counts=reading.counts(column.name))[1]

    def singling(self) -> Any:
        """Return for each quasi-identifier how far it singles people out."""
        names = self._need_schema().quasi_identifying
        return self.answers.get("singling", (*self._read_key(), names), lambda: self._singling_out(names))

    def _singling_out(self, names: tuple[str, ...]) -> dict[str, int]:
        reading = self._need_reading()
        if isinstance(reading, PartedReading):
            return reading.table.singling_out(names)
        return singling_out(reading.frame, names)

    def _linkage_risk(self, names: tuple[str, ...]) -> LinkageRisk:
        reading = self._need_reading()
        if isinstance(reading, PartedReading):
            return reading.table.linkage_risk(names)
        return linkage_risk(reading.frame, names)

    def unique_on(self, circle: str, names: tuple[str, ...]) -> int:
        """Return how many records are unique on these columns, of a group that is called ``circle``."""
        key = (*self._read_key(), names)
        return self.answers.get(f"unique {circle}", key, lambda: self._linkage_risk(names).unique)

    def set_schema(self, schema: Schema, *, from_editor: bool = False) -> None:
        """Replace the schema. ``from_editor``: the roles table itself made it, and may keep its state. Why a role
        was suggested is said of columns in that role alone."""
        if self.reading is not None:
            schema = with_suggested_reasons(schema, self.suggest())
        if schema != self.schema:
            self.schema = schema
            self.version += not from_editor

    def set(self, **changes: Any) -> None:
        """Change settings: ``ws.set(k=20)``. Cells that would count people twice, where boxes share records, are
        written as usual; a generalizer that leaves no record out does not do so. What does not fit a table in pieces is
        as usual there."""
        self.settings = self.settings.but(**changes)
        if self.settings.generalizer == "tiered":
            unfit = [name for name in ("writing", "numbers") if self.settings[name] not in WITH_SHARED_RECORDS]
            self.settings = self.settings.but(**{name: SETTINGS[name].default for name in unfit})
        if self.settings.generalizer not in LEAVES_OUT:
            self.settings = self.settings.but(suppression=SETTINGS["suppression"].default)
        self.settings = self.settings.but(**{name: SETTINGS[name].default for name in self.unfit(self.settings)})

    @property
    def in_pieces(self) -> bool:
        """True when the table is in pieces."""
        return isinstance(self.reading, PartedReading)

    def unfit(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of settings whose values take a table in memory, while this one is in pieces."""
        return tuple(name for name, value in settings.items() if self.in_pieces and not fits("local", name, value))

    def remember(self) -> None:
        """Make what changed since the last time a decision in the history."""
        if self.schema is not None:
            self.history = self.history.record(choices_of(self.schema, dict(self.settings), self.keep))

    def open(self, parameters: Mapping[str, Any]) -> None:
        """Choose parameters by name, as a scenario holds them; widgets forget what they showed."""
        self.set(**parameters)
        self.version += 1

    @property
    def flow(self) -> Flow:
        """Return the stages that follow from the table, its roles and the settings; what is the same stays.

        Kept nowhere but here: whoever holds a flow holds the table. A criterion that does not fit the target gives way
        to what suits it.
        """
        reading, schema, settings = self._need_reading(), self._need_schema(), self.settings
        if settings.criterion in ("sse", "entropy", "gini") and (settings.criterion == "sse") != schema.by_numbers:
            settings = settings.but(criterion=None)
        population = self.state(WhatIfState).population
        flow = self._flow
        if flow is None and isinstance(reading, PartedReading):
            flow = PartedFlow(reading.table, schema, settings, turn=self.turn)  # type: ignore[arg-type]
        elif flow is None:
            key = None if self.ledger is None else self.ledger.ledger.key
            flow = Flow(reading.frame, schema, settings, reading=reading, turn=self.turn, key=key)
        if (flow.schema, flow.settings, flow.reasons, flow.population) != (schema, settings, self.reasons, population):
            flow = flow.but(schema, self.reasons, population, **settings)
        if (self._other_releases(flow), self.keep) != (flow.earlier, flow.keep):
            flow = flow.but(earlier=self._other_releases(flow), keep=self.keep)
        self._flow = flow
        return flow

    def ready(self, stage: str) -> bool:
        """Return True when a stage of the flow is there and still true. Computes nothing."""
        return self.reading is not None and self.schema is not None and self.flow.ready(stage)

    def _read_key(self) -> tuple[Any, ...]:
        reading = self.reading
        return () if reading is None else (reading.sha256, reading.options)

    def _need_reading(self) -> Reading | PartedReading:
        if self.reading is None:
            raise ParameterError("There is no table yet.", remedy="Choose one on the Data page.")
        return self.reading

    def _need_schema(self) -> Schema:
        if self.schema is None:
            self.schema = self.suggest()
        return self.schema


def _read(source: Any, name: str, options: ReadOptions | None, **watch: Any) -> Reading | PartedReading:
    """Return the table of a file or a database. ``watch``: as for :meth:`Workspace.bring`. Raises what they raise."""
    if isinstance(source, Address):
        return read_database(source, options=options, **watch)
    return parted(read_in_child(source, name=name, options=options, instead=LARGE_READERS, **watch))
