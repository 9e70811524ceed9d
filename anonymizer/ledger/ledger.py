"""A ledger of releases: every release of some people's data, so that the next one is counted with all before it.

Three things beside each other: ``NAME.copse-ledger``, a chain of entries in which no person is; the folder
``NAME.ledger-members``, a file of pseudonyms for each release; and ``NAME.ledger-key``, 32 random bytes. The last two
never leave: together with a list of names they tell who is in a release, and in which class.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hmac import compare_digest
from hmac import digest as hmac_digest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.together import Together
from anonymizer.digests import digest
from anonymizer.errors import GuaranteeError, ParameterError, ReadError
from anonymizer.gate.earlier import Earlier, Now, OtherPeople
from anonymizer.gate.finding import Finding
from anonymizer.growing.encode import persons_of
from anonymizer.ledger.account import Account, Charge, most_spent, spent_by
from anonymizer.ledger.cells import LedgerCells, cells_of_rows, findings_of, together_of, tree_findings_of, with_trees
from anonymizer.ledger.chain import Chain, ForestEntry, ReleaseEntry, merge_chains, new_entry, read_chain
from anonymizer.ledger.drafts import Draft, TreeDraft
from anonymizer.ledger.lock import lock_ledger
from anonymizer.ledger.members import Members, Words, person_digests
from anonymizer.ledger.rows import KeyedRows, LedgerRows, members_of_rows, own_persons, rows_print, several_rows
from anonymizer.provenance.report import Report
from anonymizer.releasing.files import write_file, write_once
from anonymizer.releasing.key import key_in, read_key
from anonymizer.releasing.release import Release
from anonymizer.schema import Schema

ENDING, MEMBERS, KEY = ".copse-ledger", ".ledger-members", ".ledger-key"
NEXT = ".new"
"""What ends the name of the file that is to take the place of members, once a note says so."""
NO_KEY = "The key of this ledger is not here: entries can be read, nobody recognised, nothing added."


@dataclass(frozen=True)
class Ledger:
    """A ledger at a ``path``; ``key``: 32 bytes, ``None`` where it is not here. What it says is read when it is asked
    for, so it is never older than the file.

    >>> import anonymizer as an
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> ledger = an.Ledger.new(Path(mkdtemp(), "register"))
    >>> len(ledger.entries), ledger.faults()
    (1, ())
    """

    path: Path
    key: bytes | None = None

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    @classmethod
    def new(cls, path: str | Path, key: bytes | None = None, by: str = "") -> "Ledger":
        """Return a new ledger, whose files stand beside each other. ``path``: its name, with or without its ending;
        ``key``: by default that of packing, so that groups stay what they are without a ledger; ``by``: who makes it.

        Raises :class:`ParameterError` when one of its files is there already, or the key cannot be read.
        """
        ledger = cls(_with_ending(path), read_key() if key is None else key)
        assert ledger.key is not None
        if ledger.path.exists():
            raise ParameterError(f"There is a ledger at {ledger.path} already.", remedy="Name another one.")
        write_once(ledger.key_path, ledger.key)
        if not compare_digest(key_in(ledger.key_path, "The key of the ledger", "Restore it."), ledger.key):
            raise ParameterError(f"There is another key at {ledger.key_path}.", remedy="Name another ledger.")
        ledger.members_path.mkdir(mode=0o700, exist_ok=True)
        first = new_entry(1, (), "note", by=by, note="The beginning of this ledger.", key_check=_check_of(ledger.key))
        write_once(ledger.path, Chain((first,)).to_bytes())
        return ledger

    @classmethod
    def open(cls, path: str | Path, key: bytes | None = None) -> "Ledger":
        """Return the ledger at a path. ``key``: by default that beside it, where there is one.

        Raises :class:`ReadError` when there is no ledger, something is wrong with it, or the key is another one's.
        """
        ledger = cls.open_copy(path, key)
        ledger.read().require()
        return ledger

    @classmethod
    def open_copy(cls, path: str | Path, key: bytes | None = None) -> "Ledger":
        """Return what :meth:`open` does, also of a ledger that went on in two places, to be merged with a copy."""
        ledger = cls.at(path)
        if key is None and ledger.key_path.exists():
            key = key_in(ledger.key_path, "The key of the ledger", "Restore the file that it was.")
        chain = ledger.read()
        if chain.fault is not None and chain.fault.kind != "tails":
            chain.require()
        if key is not None and not compare_digest(str(chain.entries[0].get("key_check", "")), _check_of(key)):
            raise ReadError("This is not the key of this ledger.", remedy=f"Restore {ledger.key_path.name}.")
        return cls(ledger.path, key)

    @classmethod
    def at(cls, path: str | Path) -> "Ledger":
        """Return the ledger at a path, without a key and unread. ``path``: with or without its ending."""
        return cls(Path(path) if Path(path).is_file() else _with_ending(path))

    @property
    def key_path(self) -> Path:
        """Where the key is."""
        return self.path.with_name(self.path.name.removesuffix(ENDING) + KEY)

    @property
    def members_path(self) -> Path:
        """The folder with the members of each release."""
        return self.path.with_name(self.path.name.removesuffix(ENDING) + MEMBERS)

    def read(self) -> Chain:
        """Return the chain as it stands in the file, with the first fault that it has. Raises :class:`ReadError` when
        there is no file."""
        try:
            return read_chain(self.path.read_bytes())
        except OSError as error:
            raise ReadError(f"{self.path.name} cannot be opened as a ledger.", remedy="Check the path.") from error

    @property
    def entries(self) -> tuple[Mapping[str, Any], ...]:
        """The entries, in order. Raises :class:`ReadError` when something is wrong with the chain."""
        return self.read().require().entries

    @property
    def head(self) -> str:
        """The hash of the last entry. Raises :class:`ReadError` when something is wrong with the chain."""
        return self.read().require().head

    @property
    def earlier(self) -> tuple[OtherPeople, ...]:
        """The releases of the ledger, as the gate of a flow counts them. Raises :class:`ParameterError` without a
        key."""
        self.require_key()
        chain = self.read().require()
        return (LedgerReleases(self, chain.head),) if chain.releases or chain.trees else ()

    def cells(self, table: pd.DataFrame, schema: Schema) -> LedgerCells:
        """Return the classes of a table's people in all releases, by row and by person.

        Raises :class:`ParameterError` without a key, and :class:`ReadError` when something is wrong with the ledger.
        """
        return self.cells_of(self.rows_of(table, schema))

    def cells_of(self, rows: LedgerRows) -> LedgerCells:
        """Return what :meth:`cells` does of the rows of a table, wherever that is."""
        return self._cells(self.read().require(), rows)

    def findings(self, rows: LedgerRows, now: Now) -> tuple[Finding, ...]:
        """Return what a release leaves of people together with all releases and published trees, as the gate lists it;
        nothing where there is none. ``rows``: of its table. Raises as :meth:`cells`."""
        chain = self.read().require()
        return findings_of(self._cells(chain, rows), now) if chain.releases or chain.trees else ()

    def tree_findings(self, draft: TreeDraft) -> tuple[Finding, ...]:
        """Return what a tree that is to be published leaves of values together with all releases and published trees of
        its people, as the gate lists it; nothing where there is none. Raises as :meth:`cells`."""
        return tree_findings_of(self.cells_of(draft.rows), draft.values, draft.leaves)

    def rows_of(self, table: pd.DataFrame, schema: Schema) -> KeyedRows:
        """Return the rows of a table in memory. Raises :class:`ParameterError` without a key."""
        return KeyedRows.of(table, schema, persons_of(table, schema)[0], self.require_key())

    def together(self) -> Together:
        """Return what all releases that say whose their rows are leave of people together. Raises :class:`ReadError`
        when something is wrong with the ledger."""
        chain = self.read().require()
        releases = [entry for entry in chain.releases if entry.person is not None]
        return together_of([self._members(entry, chain) for entry in releases], [entry.k for entry in releases])

    def _cells(self, chain: Chain, rows: LedgerRows) -> LedgerCells:
        cells = cells_of_rows(rows, [(entry, self._members(entry, chain)) for entry in chain.releases])
        trees = [(tree, self._members(tree.people, chain)) for tree in chain.trees]
        return with_trees(cells, rows, trees) if trees else cells

    def add(
        self, table: pd.DataFrame, release: Release, report: Report, name: str, sha256: str, **words: str
    ) -> Mapping[str, Any]:
        """Return the new entry of a release of a table in memory: see :meth:`enter`. ``name``, ``sha256``: of its
        file."""
        return self.enter(Draft.of(table, release, report, name, sha256, self.require_key()), **words)

    def enter(self, draft: Draft, *, to: str = "", basis: str = "", by: str = "") -> Mapping[str, Any]:
        """Return the new entry of a release, once it is written. It comes before the release's file: see
        :meth:`write`. ``to``: who gets it, ``basis``: on what basis, ``by``: who gives it.

        The release is counted again with what the ledger holds by then. Raises :class:`GuaranteeError` when something
        stands in the way that has no reason, and :class:`ParameterError` when the ledger cannot be written.
        """
        rows, now = draft.rows, draft.now
        self.require_key()
        several = several_rows(rows)
        with self._writing() as chain:
            number, cells = len(chain.entries) + 1, self._cells(chain, rows)
            _require_reasons(findings_of(cells, now), draft.reasons)
            both = cells.together(now.class_of, now.k)
            entry = new_entry(
                number, [chain.head], "release", by=by, to=to, basis=basis, table=_table_of(rows, several),
                settings={name: value for name, value in draft.settings.items() if value is not None},
                release={
                    "name": draft.name, "sha256": draft.sha256, "rows": draft.n_records, "classes": draft.boxes[1]
                },
                classes=draft.boxes[0], achieved={"k": draft.smallest, "passed": draft.passed},
                cells={"with": cells.lines, "k": both.k, "smallest": both.smallest, "below": both.below},
                reasons=draft.reasons,
                members=self._write_members(number, members_of_rows(rows, now.class_of, several)),
            )  # fmt: skip
            self._append(chain, entry)
        return entry

    def enter_tree(
        self, draft: TreeDraft, reasons: Mapping[str, str], *, to: str = "", basis: str = "", by: str = ""
    ) -> Mapping[str, Any]:
        """Return the new entry of a published tree, once it is written: it comes before the tree's file. ``reasons`` by
        the key of the finding; other words and errors: as of :meth:`enter`."""
        rows, leaves = draft.rows, draft.leaves
        self.require_key()
        several = several_rows(rows)
        with self._writing() as chain:
            number, cells = len(chain.entries) + 1, self._cells(chain, rows)
            findings = tree_findings_of(cells, draft.values, leaves)
            _require_reasons(findings, reasons)
            entry = new_entry(
                number, [chain.head], "tree", by=by, to=to, basis=basis, table=_table_of(rows, several), **draft.about,
                beside=[one.sentence for one in findings], reasons=reasons,
                members=self._write_members(number, members_of_rows(rows, leaves.leaf, several)),
            )  # fmt: skip
            self._append(chain, entry)
        return entry

    @contextmanager
    def _writing(self) -> Iterator[Chain]:
        """Give the chain as it stands, which nobody else writes meanwhile. Raises :class:`ParameterError` when it
        cannot be written."""
        try:
            with lock_ledger(self.path):
                yield self.read().require()
        except OSError as error:
            raise ParameterError(
                f"The entry could not be written, so nothing leaves: {error.strerror or error}.",
                remedy="Make room, or let this user write there, and try again.",
            ) from error

    @contextmanager
    def noted(self, name: str) -> Iterator[None]:
        """Add to whatever is raised which entry was written meanwhile, whose file does not stand. ``name``: of that."""
        before = len(self.read().entries)
        try:
            yield
        except BaseException as error:
            entries = enumerate(self.read().entries[before:], before + 1)
            own = [line for line, entry in entries if dict(entry.get(entry["kind"]) or {}).get("name") == name]
            ledger = self.path.name.removesuffix(ENDING)
            for line in own:
                note = (
                    f"Entry {line:,} of the ledger {ledger} was written, and its file was not. Make it again with the "
                    f"same settings, or mark the entry: ledger withdraw {ledger} --entry {line} --why TEXT."
                )
                if note not in getattr(error, "__notes__", ()):
                    error.add_note(note)
            raise

    def write(
        self, path: str | Path, table: pd.DataFrame, release: Release, report: Report, **words: str
    ) -> Mapping[str, Any]:
        """Write a release of a table into a file, and return its entry, which is written before the file stands at its
        name. ``words``: of :meth:`enter`. Raises as that, and as
        :meth:`anonymizer.releasing.release.Release.write`."""
        if Path(path).exists() and not Path(path).is_file():
            raise ParameterError(f"{path} is no file: its entry could not come first.", remedy="Name a file.")
        return self.write_with(
            lambda before: release.write(path, before), Path(path).name, table, release, report, **words
        )

    def write_with(
        self,
        write: Callable[[Callable[[str], object]], object],
        name: str,
        table: pd.DataFrame,
        release: Release,
        report: Report,
        **words: str,
    ) -> Mapping[str, Any]:
        """Return the entry of a release that is written somewhere. ``write``: writes it, and calls what it is given
        with the digest of that before it can be seen; ``name``: what it is called there. Raises as that, and as
        :meth:`enter`."""
        entries: list[Mapping[str, Any]] = []
        with self.noted(name):
            write(lambda sha256: entries.append(self.add(table, release, report, name, sha256, **words)))
        return entries[0]

    def account(self, table: pd.DataFrame | None = None, schema: Schema | None = None, epsilon: float = 0.0) -> Account:
        """Return what forests may tell of one person, of those of a ``table`` where one is given, and what releases
        leave beside them. ``epsilon``: of a forest of the table that is to come, which counts as one that was grown.

        Raises :class:`ReadError` when something is wrong with the ledger, and for a table without its key
        :class:`ParameterError`.
        """
        chain = self.read().require()
        charges = [self._charge(entry, chain) for entry in chain.forests]
        if table is None or schema is None or schema.person is None:
            spent = most_spent(charges) + epsilon
        else:
            own = self.rows_of(table, schema)
            persons = {alike: own.persons(alike) for alike in (False, True)}
            rows = _rows_of_persons(own, len(persons[False]))
            spent = float((spent_by(charges, persons) + epsilon * rows).max(initial=0))
        ways = {(one.person is not None, one.alike) for one in chain.releases}
        together = self.together() if ways in ({(True, False)}, {(True, True)}) else None
        smallest = None if together is None or not together.smallest else together.smallest
        says = [self._members(tree.people, chain).of_classes(tree.says) for tree in chain.trees]
        certain = len(np.unique(np.concatenate(says))) if says else 0
        return Account(len(charges), spent, chain.budget, len(chain.releases), smallest, len(says), certain)

    def charge(
        self,
        table: pd.DataFrame,
        schema: Schema,
        epsilon: float,
        *,
        private: bool = True,
        **words: str,
    ) -> Mapping[str, Any]:
        """Return the new entry of a forest that is to be grown of a table for ``epsilon``, once it is written: it comes
        before the first question to the rows. ``private``: whether the forest promises anything; ``words``: its
        ``name`` and ``mode``, ``to``, ``basis`` and ``by`` as :meth:`add` has them.

        Raises :class:`GuaranteeError` when the budget of the ledger does not hold it, and :class:`ParameterError` when
        the ledger cannot be written or its key is not here.
        """
        rows = self.rows_of(table, schema)
        with self._writing() as chain:
            self.account(table, schema, epsilon).require(private)
            number, members = len(chain.entries) + 1, None
            if rows.person is not None:
                digests = own_persons(rows)
                members = self._write_members(number, Members.of(digests, _rows_of_persons(rows, len(digests))))
            entry = new_entry(
                number, [chain.head], "forest", table=_people_of(rows), members=members,
                epsilon=epsilon, private=private, neighbours="rows", **words,
            )  # fmt: skip
            self._append(chain, entry)
        return entry

    def note(self, text: str, by: str = "", *, budget: float | None = None, asked_back: int | None = None) -> None:
        """Enter a sentence. ``budget``: the most that forests may tell of one person from now on; ``asked_back``: the
        line of an entry whose files were asked back, which stays in all cells, for copies may stay.

        Raises :class:`ParameterError` when there is no such release, or the ledger cannot be written.
        """
        with self._writing() as chain:
            kind, words = "note", {} if budget is None else {"budget": budget}
            if asked_back is not None:
                if asked_back not in {one.line for one in (*chain.with_members, *chain.forests)}:
                    what = f"Entry {asked_back} is of no release, tree or forest."
                    raise ParameterError(what, remedy="Show the ledger.")
                kind, words = "withdrawn", {"of": chain.entries[asked_back - 1]["hash"]}
            self._append(chain, new_entry(len(chain.entries) + 1, [chain.head], kind, by=by, note=text, **words))

    def erase(self, person: Any, by: str = "") -> int:
        """Remove a person from the members of all releases and forests, and return from how many. A note keeps the
        digests of the files before and after. To later releases the person is nobody.

        Raises :class:`ParameterError` when no release of this ledger has the person, or without a key.
        """
        with lock_ledger(self.path):
            chain = self.read().require()
            files = []
            for entry in chain.with_members:
                if entry.person is None:
                    continue
                members = self._members(entry, chain)
                rest = members.without(person_digests([person], self.require_key(), entry.alike))
                if len(rest.digest) < len(members.digest):
                    files.append(self._write_next(entry, chain, rest))
            if not files:
                raise ParameterError("No entry of this ledger has this person.", remedy="Check how it is written.")
            words = {"by": by, "note": "A person was erased.", "erased": files}
            self._append(chain, new_entry(len(chain.entries) + 1, [chain.head], "note", **words))
            for entry in chain.with_members:
                self._settle(entry, self.read())
        return len(files)

    def faults(self) -> tuple[str, ...]:
        """Return what is wrong with the ledger, a sentence each; nothing where it is whole. Raises :class:`ReadError`
        when there is no file."""
        chain = self.read()
        if chain.fault is not None:
            return (chain.fault.sentence,)
        sentences = []
        for entry in chain.with_members:
            try:
                self._members(entry, chain)
            except ReadError as error:
                sentences.append(error.problem)
        return tuple(sentences)

    def require_key(self) -> bytes:
        """Return the key. Raises :class:`ParameterError` when it is not here."""
        if self.key is None:
            raise ParameterError(NO_KEY, remedy=f"Restore {self.key_path.name}.")
        return self.key

    def _charge(self, entry: ForestEntry, chain: Chain) -> Charge:
        """Return what a forest may tell of whom. Raises :class:`ReadError` when its members are not those it had."""
        if not entry.file:
            return Charge(entry.epsilon, None, None)
        members = self._members(entry, chain)
        return Charge(entry.epsilon, members.digest, members.class_of, entry.alike)

    def _members(self, entry: ReleaseEntry | ForestEntry, chain: Chain) -> Members:
        """Return the members of a release. Raises :class:`ReadError` when they are not what was written."""
        expected = chain.erased.get(entry.file, entry.sha256)
        for name in (entry.file, entry.file + NEXT):
            try:
                content = (self.members_path / name).read_bytes()
            except OSError:
                continue
            if digest(content) == expected:
                return Members.from_bytes(content)
        raise ReadError(
            f"The members of entry {entry.line:,} are missing, or not what was written.",
            remedy=f"Restore the files of {self.members_path.name}.",
        )

    def _write_members(self, number: int, members: Members) -> dict[str, Any]:
        """Write the members of a release, for the owner alone to read, and return what its entry says of them."""
        content = members.to_bytes()
        sha256 = digest(content)
        file = f"{number:04}-{sha256[:8]}"
        self._write_private(file, content)
        return {"file": file, "sha256": sha256, "persons": len(members.persons[0])}

    def _write_private(self, file: str, content: bytes) -> None:
        """Write a file of members, in place of what a writer left that was ended before its entry."""
        self.members_path.mkdir(mode=0o700, exist_ok=True)
        (self.members_path / file).unlink(missing_ok=True)
        write_once(self.members_path / file, content)

    def _write_next(self, entry: ReleaseEntry | ForestEntry, chain: Chain, members: Members) -> dict[str, str]:
        """Write what the members of a release are to be beside what they are, and return what a note says of both."""
        self._settle(entry, chain)
        content = members.to_bytes()
        self._write_private(entry.file + NEXT, content)
        before = chain.erased.get(entry.file, entry.sha256)
        return {"file": entry.file, "before": before, "after": digest(content)}

    def _settle(self, entry: ReleaseEntry | ForestEntry, chain: Chain) -> None:
        """Put the members of a release in their place, where a note already says so, and remove what no note names."""
        path = self.members_path / (entry.file + NEXT)
        if path.exists():
            if digest(path.read_bytes()) == chain.erased.get(entry.file):
                path.replace(self.members_path / entry.file)
            else:
                path.unlink()

    def _append(self, chain: Chain, entry: Mapping[str, Any]) -> None:
        """Write the file of the chain anew, with one more entry."""
        write_file(self.path, Chain((*chain.entries, entry)).to_bytes())


@dataclass(frozen=True)
class LedgerReleases:
    """The releases of a ledger whose last entry is ``head``, to count together with one that is looked at."""

    ledger: Ledger
    head: str

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """How a command names them."""
        return (("--ledger", self.ledger.path.name.removesuffix(ENDING)),)

    def beside(self, now: Now) -> tuple[Finding, ...]:
        """Return what all leave of people together."""
        return self.ledger.findings(KeyedRows.of(now.table, now.schema, now.person, self.ledger.require_key()), now)

    def of_rows(self, table: pd.DataFrame, schema: Schema) -> tuple[Earlier, ...]:
        """Return those that somebody of a table is in."""
        own, entries = self.ledger.rows_of(table, schema), {entry.line: entry for entry in self.ledger.read().releases}
        cells, prints = self.ledger.cells_of(own), own.prints(schema.sensitive)
        answers = []
        for at, (line, rows) in enumerate(zip(cells.lines, cells.rows, strict=True)):
            same = all(entries[line].prints.get(name) == one for name, one in prints.items())
            whole = same and not (cells.classes[at][cells.present :] >= 0).any()
            answers.append(Earlier(rows, cells.k[at], cells.promises[at], whole))
        return tuple(one for one in answers if (one.class_of >= 0).any())


def merge_ledgers(first: Ledger, second: Ledger, path: str | Path, by: str = "") -> Ledger:
    """Return the ledger that two copies of one make together, a new one at a path: see
    :func:`anonymizer.ledger.chain.merge_chains`. Whoever was erased in one copy, and is in a release of
    both, is erased.

    Raises :class:`ParameterError` when they are not copies of one, when the first has no key, or when there is
    something at the path.
    """
    copies = [(ledger, ledger.read()) for ledger in (first, second)]
    merged = merge_chains(copies[0][1], copies[1][1], by=by)
    answer = Ledger(_with_ending(path), first.require_key())
    if answer.path.exists() or answer.members_path.exists():
        raise ParameterError(f"There is a ledger at {answer.path} already.", remedy="Name another one.")
    write_once(answer.key_path, first.require_key())
    members: dict[str, list[Members]] = {entry.file: [] for entry in merged.with_members}
    for ledger, chain in copies:
        for entry in chain.with_members:
            members[entry.file].append(ledger._members(entry, chain))
    gone = [np.setxor1d(pair[0].digest, pair[1].digest) for pair in members.values() if len(pair) > 1]
    erased = []
    for entry in merged.with_members:
        content = members[entry.file][0].without(np.concatenate([np.empty(0, np.uint64), *gone])).to_bytes()
        before = merged.erased.get(entry.file, entry.sha256)
        answer._write_private(entry.file, content)
        if digest(content) != before:
            erased.append({"file": entry.file, "before": before, "after": digest(content)})
    entries = list(merged.entries)
    if erased:
        words = {"by": by, "note": "Persons were erased in both copies.", "erased": erased}
        entries.append(new_entry(len(entries) + 1, [merged.head], "note", **words))
    write_once(answer.path, Chain(tuple(entries)).to_bytes())
    return Ledger.open(answer.path)


def _table_of(rows: LedgerRows, several: Words | None) -> dict[str, Any]:
    """Return what an entry says of a table. ``several``: of :func:`anonymizer.ledger.rows.several_rows`."""
    about = _people_of(rows) | {
        "columns": {one.name: [str(one.role), str(one.kind)] for one in rows.schema.columns},
        "print": rows.prints(rows.names),
    }
    return about | ({} if several is None else {"rows_print": rows_print(several)})


def _people_of(rows: LedgerRows) -> dict[str, Any]:
    """Return what an entry says of the people of a table."""
    schema, person = rows.schema, rows.person
    persons = len(rows) if person is None else int(person.max(initial=-1)) + 1
    alike = {"alike": True} if schema.person and schema[schema.person].alike else {}
    return {"rows": len(rows), "persons": persons, "person": schema.person} | alike


def _rows_of_persons(rows: LedgerRows, n: int) -> NDArray[np.int64]:
    """Return how many rows each of n persons has."""
    assert rows.person is not None
    return np.bincount(rows.person[rows.person >= 0], minlength=n).astype(np.int64)


def _require_reasons(findings: Sequence[Finding], reasons: Mapping[str, str]) -> None:
    """Raise :class:`GuaranteeError` for a finding that stops the release and has no reason."""
    for finding in findings:
        if finding.is_open and not {finding.key, finding.name} & set(reasons):
            raise GuaranteeError(finding.sentence, remedy="Repair it, or give a reason for it, and try again.")


def _check_of(key: bytes) -> str:
    """Return what tells whether a key is that of a ledger."""
    return hmac_digest(key, b"ledger", "sha256")[:8].hex()


def _with_ending(path: str | Path) -> Path:
    path = Path(path)
    return path if path.name.endswith(ENDING) else path.with_name(path.name + ENDING)
