"""``ledger`` and its actions, and ``anonymize --ledger NAME``: the account of what was released to whom."""

import argparse
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anonymizer.checking.released_file import LARGEST_ARCHIVE
from anonymizer.cli.inputs import ask_password, first_bytes, read_apart
from anonymizer.databases.address import Address, address_from, is_address
from anonymizer.databases.read import read_rows
from anonymizer.databases.write import rows_bytes
from anonymizer.digests import digest
from anonymizer.errors import ParameterError, ReadError
from anonymizer.gate.finding import Gate, Severity, kind_of
from anonymizer.ledger.cells import ALONE_FAILS
from anonymizer.ledger.chain import Chain, composes
from anonymizer.ledger.ledger import NO_KEY, Ledger, merge_ledgers
from anonymizer.partitions.folder import is_archive, read_manifest
from anonymizer.provenance.claim import claim_from
from anonymizer.provenance.report import Report
from anonymizer.releasing.key import key_in
from anonymizer.reporting.packet import is_packet, members_of, read_members
from anonymizer.reporting.packet_files import REPORT
from anonymizer.result import Result
from anonymizer.values import plural


def run_ledger(options: argparse.Namespace) -> int:
    """Run one of :data:`ACTIONS`; return 1 when something is wrong with the ledger or with what it is compared to."""
    if options.action not in ACTIONS:
        what = f"There is no ledger {options.action!r}."
        raise ParameterError(what, value=options.action, remedy=f"Use one of {', '.join(ACTIONS)}.")
    takes = {
        "key_file": ("new",), "out": ("merge",), "budget": ("new", "budget"), "entry": ("withdraw",),
        "why": ("withdraw",),
    }  # fmt: skip
    for name, actions in takes.items():
        if getattr(options, name) not in (None, "") and options.action not in actions:
            words = " and ".join(f"ledger {action}" for action in actions)
            raise ParameterError(f"--{name.replace('_', '-')} is of {words} alone.", remedy="Leave it out.")
    if options.files and options.action not in ("check", "merge"):
        raise ParameterError(f"ledger {options.action} takes one ledger.", remedy="Leave the other names out.")
    return ACTIONS[options.action](options)


def new_ledger(options: argparse.Namespace) -> int:
    """Make a ledger; return 0."""
    key = key_in(Path(options.key_file), "The key", "Name another file.") if options.key_file else None
    budget = options.budget and as_budget(options)
    ledger = Ledger.new(options.name, key, options.by)
    if budget is not None:
        ledger.note("The budget of forests.", options.by, budget=budget)
    print(f"Written: {ledger.path}, {ledger.key_path} and {ledger.members_path}.")
    print("Keep the last two as you keep the table, for yourself alone: with both, names tell who is in a release.")
    return 0


def show_ledger(options: argparse.Namespace) -> int:
    """Print the entries of a ledger; return 1 when something is wrong with it."""
    chain = Ledger(path_of(options.name)).read()
    for line, entry in enumerate(chain.entries, 1):
        words = f"{line:>4}  {str(entry.get('at', ''))[:10]:<10}  {entry['kind']:<9}  {about_entry(entry)}"
        print("".join(letter if letter.isprintable() else "?" for letter in words).rstrip())
    if chain.fault is not None:
        print(chain.fault.sentence)
        return 1
    ledger = Ledger.open(options.name)
    if sentences := ledger.account().sentences:
        print(*sentences, sep="\n")
    if ledger.key is None:
        print(NO_KEY)
    return 0


def about_entry(entry: Mapping[str, Any]) -> str:
    """Return what an entry is of, in a few words."""
    to = f" to {entry['to']}" if entry.get("to") else ""
    if entry["kind"] == "forest":
        people = part(entry, "table")
        promise = f"ε = {entry.get('epsilon', '?')}" if entry.get("private") else "no promise"
        persons = f"{people.get('persons', '?')} {'persons' if people.get('person') else 'rows'}"
        return f"{entry.get('name') or 'a forest'}{to}: {promise}, {persons}, {entry.get('mode', '?')}"
    if entry["kind"] == "tree":
        people, leaves, says = part(entry, "table"), entry.get("leaves", "?"), len(part(entry, "says"))
        persons = f"{people.get('persons', '?')} {'persons' if people.get('person') else 'rows'}"
        name, target = part(entry, "tree").get("name", "?"), entry.get("target", "?")
        return f"{name}{to}: a tree for {target}, {leaves} leaves, {says} of them without an error, {persons}"
    if entry["kind"] != "release":
        budget = f"ε = {entry['budget']}" if entry.get("budget") else ""
        of = f"of {str(entry['of'])[:12]}" if entry.get("of") else ""
        by = f"({entry['by']})" if entry.get("by") else ""
        return " ".join(filter(None, (str(entry.get("note", "")), budget, of, by)))
    release, settings = part(entry, "release"), part(entry, "settings")
    name, rows, groups = (release.get(word, "?") for word in ("name", "rows", "classes"))
    alone = "" if composes(entry) else ", cannot be composed"
    return f"{name}{to}: k = {settings.get('k', '?')}, {rows} rows in {groups} groups{alone}, {str(entry['hash'])[:12]}"


def part(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object in an entry, an empty one where there is none."""
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def check_ledger(options: argparse.Namespace) -> int:
    """Print whether a ledger is whole, and has what packets and releases say; return 1 where something is not so."""
    ledger = Ledger(path_of(options.name))
    faults = list(ledger.faults())
    chain = ledger.read()
    if not faults:
        print(f"The chain holds: {plural(len(chain.entries), 'entry', 'entries')}. The last is {chain.head}.")
    sentences = [(sentence, False) for sentence in faults]
    if chain.fault is None:
        sentences += [about_file(chain, file) for file in options.files]
    for sentence, _ in sentences:
        print(sentence)
    return 0 if all(right for _, right in sentences) else 1


def about_file(chain: Chain, file: str) -> tuple[str, bool]:
    """Return what a packet, a report or a release proves of a ledger, in a sentence, and whether both agree."""
    name, apart = Path(file).name, is_address(file) or Path(file).is_dir()
    content = b"" if apart else first_bytes(file, LARGEST_ARCHIVE)
    if is_address(file):
        table = address_from(file)
        name, sha256 = table.name, digest(rows_bytes(ask_password(table, read_rows)))
    else:
        apart = apart or is_archive(content)
        sha256 = read_manifest(file).sha256 if apart else digest(content)
    entries = [
        (line, entry) for line, entry in enumerate(chain.entries, 1)
        if sha256 in (part(entry, "release").get("sha256"), *part(part(entry, "tree"), "files").values())
    ]  # fmt: skip
    if entries:
        line, entry = entries[0]
        to = f" to {entry['to']}" if entry.get("to") else ""
        what = "published" if entry["kind"] == "tree" else "released"
        return f"{name} is what entry {line:,} says was {what}{to}.", True
    if apart:
        return f"No entry of this ledger speaks of {name}.", False
    what, report = "report", content
    if is_packet(content):
        what, report = "packet", members_of(read_apart(content, reader=read_members))[0].get(REPORT, b"")
    try:
        claim = claim_from(report)
    except ReadError:
        return f"No entry of this ledger speaks of {name}.", False
    if claim.ledger is None:
        return f"{name} names no ledger.", False
    number, entry_hash = claim.ledger
    fault = chain.against(entry_hash, f"A {what}, {name},")
    return (fault.sentence, False) if fault else (f"{name} names entry {number:,}, which is here.", True)


def merge_copies(options: argparse.Namespace) -> int:
    """Write the ledger of two copies; return 0."""
    if len(options.files) != 1 or not options.out:
        raise ParameterError("Two copies make one ledger.", remedy="Write: ledger merge A B --out C.")
    first, second = Ledger.open_copy(options.name), Ledger.open_copy(options.files[0])
    common = {entry.file for entry in first.read().releases} & {entry.file for entry in second.read().releases}
    merged = merge_ledgers(first, second, options.out, options.by)
    print(f"Written: {merged.path}, with {plural(len(merged.entries), 'entry', 'entries')}.")
    both, apart = merged.together(), [one.line for one in merged.read().releases if one.file not in common]
    if not both.holds:
        lines = f"Releases {', '.join(map(str, apart))} were made apart: " if len(apart) > 1 else ""
        print(f"{lines}{both.sentence} What was released cannot be taken back; the next release is held to it.")
    return 0


def erase_person(options: argparse.Namespace) -> int:
    """Erase the person whose id is the first line of standard input from all members; return 0."""
    ledger = Ledger.open(options.name)
    if sys.stdin.isatty():
        print("Id of the person, as the table has it: ", end="", file=sys.stderr, flush=True)
    person = sys.stdin.readline().rstrip("\r\n")
    if not person:
        raise ParameterError("Nobody was named.", remedy="Write the person's id to standard input, as a line.")
    entries = plural(ledger.erase(person, options.by), "entry", "entries")
    print(f"Erased from {entries}. Later releases do not know this person.")
    return 0


def set_budget(options: argparse.Namespace) -> int:
    """Enter the most that forests may tell of one person; return 0."""
    ledger, budget = Ledger.open(options.name), as_budget(options)
    ledger.note("The budget of forests.", options.by, budget=budget)
    print(*ledger.account().sentences, sep="\n")
    return 0


def as_budget(options: argparse.Namespace) -> float:
    """Return the budget that was typed. Raises :class:`ParameterError` for none, or one that is no number above 0."""
    if options.budget is None or not 0 < options.budget < math.inf:
        raise ParameterError("The budget must be a number above 0.", remedy="Write: ledger budget NAME --budget 3.")
    return float(options.budget)


def withdraw_entry(options: argparse.Namespace) -> int:
    """Enter that the files of an entry were asked back; return 0."""
    if options.entry is None or not options.why:
        raise ParameterError(
            "Say which entry was asked back, and why.", remedy="Write: ledger withdraw NAME --entry N --why TEXT."
        )
    Ledger.open(options.name).note(options.why, options.by, asked_back=options.entry)
    print(f"Entry {options.entry:,} is marked as asked back. It still counts: copies of its files may stay.")
    return 0


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "new": new_ledger, "show": show_ledger, "check": check_ledger, "merge": merge_copies, "erase": erase_person,
    "budget": set_budget, "withdraw": withdraw_entry,
}  # fmt: skip
"""What can be done with a ledger."""


def path_of(name: str) -> Path:
    """Return the file of a ledger, named with or without its ending."""
    return Ledger.at(name).path


# Of a release.


def ledger_of(options: argparse.Namespace) -> Ledger | None:
    """Return the ledger that a release is counted with, ``None`` without one.

    Raises :class:`ParameterError` when its key is not here, when somebody is named who gets the release and no ledger
    is, or the release goes where no entry can come first.
    """
    if not options.ledger:
        if options.to:
            raise ParameterError("--to is for the entry of a ledger.", remedy="Name one with --ledger.")
        return None
    ledger, out = Ledger.open(options.ledger), options.out
    ledger.require_key()
    if isinstance(out, str) and Path(out).exists() and not Path(out).is_file() and not Path(out).is_dir():
        raise ParameterError(f"{out} is no file: its entry could not come first.", remedy="Name a file.")
    return ledger


Write = Callable[[Callable[[str], object] | None], str]
"""What writes a release and returns the digest of that; it calls what it is given with it before it can be seen."""


def entry_words(options: argparse.Namespace) -> dict[str, str]:
    """Return what the entry of a release says of who gets it, on what basis, and who gives it."""
    return {"to": options.to or options.recipient, "basis": options.basis, "by": options.prepared_by}


def print_together(gate: Gate) -> None:
    """Print what is in order of a release and earlier ones together."""
    for finding in gate.of(Severity.FINE):
        if kind_of(finding) == "together":
            print(finding.sentence)


def write_entered(
    ledger: Ledger, options: argparse.Namespace, table: Any, result: Result, write: Write
) -> tuple[str, Report]:
    """Write a release and return the digest of it, and its report with the entry, which was written before. ``write``:
    writes it. A release that leaves in packets alone is entered by the digest of its CSV."""
    words, release = entry_words(options), result.release
    report: Report = result.report
    if options.out:
        name = options.out.name if isinstance(options.out, Address) else Path(options.out).name
        entry = ledger.write_with(write, name, table, release, report, **words)
    else:
        name = Path(options.packet or options.internal_packet).name
        entry = ledger.add(table, release, report, name, digest(release.to_bytes("csv")), **words)
    report = report.with_ledger(entry["number"], entry["hash"])
    if not options.json:
        print_together(result.gate)
        print(report.ledger_sentence)
        if not composes(entry):
            print(ALONE_FAILS.format(which="This release"))
    return str(entry["release"]["sha256"]), report
