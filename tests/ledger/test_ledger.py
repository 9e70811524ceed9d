"""A ledger on the disk: what is in its files, who may read them, writers at once, writers that are killed, erasing."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zlib
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import anonymizer as an
from anonymizer.digests import digest
from anonymizer.errors import GuaranteeError, ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.gate.finding import Finding, Severity
from anonymizer.ledger.chain import Chain, entry_hash
from anonymizer.ledger.ledger import Ledger, merge_ledgers
from anonymizer.ledger.lock import lock_ledger
from anonymizer.ledger.members import RECORD, person_digests
from anonymizer.pipeline import Result, run_flow
from anonymizer.settings import Settings
from anonymizer.studies.attack import attack_over_releases
from tests import naive_verify
from tests.conftest import ROOT

KEY = bytes(range(32))
QI = ["age", "sex", "postcode"]
NUMBERED = an.SAMPLES["hospital"].load().head(400)[[*QI, "diagnosis"]].assign(
    patient=[f"patient-{number:04}" for number in range(400)]
)  # fmt: skip
SCHEMA = an.Schema.of(NUMBERED, quasi_identifying=QI, sensitive=["diagnosis"], person="patient")
BARE = NUMBERED.drop(columns="patient")


def flow_of(ledger: Ledger, table: pd.DataFrame = NUMBERED, schema: an.Schema = SCHEMA, **how: Any) -> Flow:
    """The flow of a release that is counted with those of a ledger."""
    settings = Settings(**({"k": 10, "generalizer": "pack"} | how))
    return Flow(table, schema, settings, earlier=ledger.earlier, key=ledger.key)


def made(ledger: Ledger, table: pd.DataFrame = NUMBERED, schema: an.Schema = SCHEMA, **how: Any) -> Result:
    """A release of a table, counted with those of a ledger."""
    return run_flow(flow_of(ledger, table, schema, **how))


def with_reasons(ledger: Ledger, **how: Any) -> Result:
    """The same with a reason for whatever stands in its way."""
    flow = flow_of(ledger, **how)
    return run_flow(flow.but(reasons={one.key: "both stay in one office" for one in flow.gate.open}))


def together_of(result: Result) -> list[Finding]:
    return [one for one in result.gate.findings if one.key.startswith("together: ")]


def add(ledger: Ledger, result: Result, table: pd.DataFrame = NUMBERED) -> Any:
    return ledger.add(table, result.release, result.report, "y1.csv", "ab" * 32, to="the university")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ledger, Result]:
    """A ledger with one release; tests read it and change nothing."""
    folder = tmp_path_factory.mktemp("ledger")
    ledger = Ledger.new(folder / "register", KEY, by="data office")
    result = made(ledger)
    ledger.write(folder / "y1.csv", NUMBERED, result.release, result.report, to="the university", basis="contract 12")
    return ledger, result


def copy_of(ledger: Ledger, folder: Path) -> Ledger:
    """A copy of a ledger's files."""
    folder.mkdir(exist_ok=True)
    for path in (ledger.path, ledger.key_path):
        shutil.copy(path, folder)
    shutil.copytree(ledger.members_path, folder / ledger.members_path.name)
    return Ledger.open(folder / ledger.path.name)


def test_entry__says_what_was_released_to_whom(first: tuple[Ledger, Result]) -> None:
    ledger, result = first
    beginning, entry = ledger.entries
    assert (beginning["number"], beginning["kind"], beginning["previous"]) == (1, "note", [])
    assert (entry["number"], entry["kind"], entry["previous"]) == (2, "release", [beginning["hash"]])
    assert (entry["to"], entry["basis"], beginning["by"]) == ("the university", "contract 12", "data office")
    file = ledger.path.parent / "y1.csv"
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    assert entry["release"]["sha256"] == digest(file.read_bytes())
    assert (entry["release"]["rows"], entry["release"]["name"]) == (400, "y1.csv")
    boxes = pd.read_csv(
        pd.io.common.BytesIO(zlib.decompress(b64decode(entry["classes"]))), dtype=dict.fromkeys(QI, str)
    )
    counted = frame.groupby(QI).size().rename("rows").reset_index().sort_values(QI, ignore_index=True)
    pd.testing.assert_frame_equal(boxes, counted.astype(boxes.dtypes), check_dtype=False)
    assert entry["release"]["classes"] == len(boxes)
    assert entry["achieved"] == {"k": int(boxes["rows"].min()), "passed": True}
    assert (entry["settings"]["k"], entry["settings"]["generalizer"]) == (10, "pack")
    assert entry["table"]["columns"]["age"] == ["quasi-identifying", "numeric"]
    assert (entry["table"]["rows"], entry["table"]["persons"], entry["table"]["person"]) == (400, 400, "patient")
    members = np.frombuffer((ledger.members_path / entry["members"]["file"]).read_bytes(), RECORD)
    of_person = dict(zip(members["digest"].tolist(), members["class"].tolist(), strict=True))
    words = person_digests(NUMBERED["patient"].iloc[result.release.order], KEY).tolist()
    of_boxes, released = boxes[QI].to_numpy().tolist(), result.release.frame()[QI].astype(str).to_numpy().tolist()
    assert [of_boxes[of_person[word]] for word in words] == released


def test_files__are_the_owner_s_alone_and_nobody_is_in_the_chain(first: tuple[Ledger, Result]) -> None:
    ledger, result = first
    for path in (ledger.key_path, *ledger.members_path.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.members_path.stat().st_mode) == 0o700
    chain = ledger.path.read_bytes()
    assert ledger.path.parent.joinpath("register.ledger-key").read_bytes() == KEY
    texts = [chain, zlib.decompress(b64decode(ledger.entries[1]["classes"]))]
    words = person_digests(NUMBERED["patient"], KEY).tolist()
    marks = {*NUMBERED["patient"], *(f"{word:016x}" for word in words), *map(str, words), KEY.hex()}
    for form in (NUMBERED, BARE, NUMBERED[["patient"]], NUMBERED[["age"]], NUMBERED[["diagnosis"]]):
        for content in (form.to_csv(index=False), form.to_csv(), form.to_csv(index=False, header=False)):
            marks |= {digest(content.encode()), digest(content.encode())[:16]}
    marks |= {f"{int(pd.util.hash_pandas_object(NUMBERED[name], index=False).sum()):016x}" for name in NUMBERED}
    marks |= {result.report.provenance.input_commitment, result.report.provenance.input_key} - {""}
    assert not [mark for mark in marks for text in texts if mark.encode() in text]
    assert not any(word.to_bytes(8) in text for word in words for text in texts)
    assert b"order" not in re.sub(rb'"order":"(content|secret)"', b"", chain)


def test_without_the_key__no_digest_is_the_same(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "other", bytes(32))
    result = made(ledger)
    entry, own = add(ledger, result), first[0].entries[1]
    assert not set(entry["table"]["print"].values()) & set(own["table"]["print"].values())
    assert entry["members"]["sha256"] != own["members"]["sha256"]
    assert ledger.entries[0]["key_check"] != first[0].entries[0]["key_check"]


def test_the_same_table__is_the_same_release_in_any_order(first: tuple[Ledger, Result]) -> None:
    ledger, result = first
    table = NUMBERED.sample(frac=1, random_state=3).reset_index(drop=True)
    again = made(ledger, table)
    (finding,) = together_of(again)
    assert finding.severity is Severity.FINE
    assert finding.sentence.startswith("These are the same groups as release 2, of ")
    assert again.release.to_bytes("csv") == result.release.to_bytes("csv")


def test_another_release__is_counted_with_that_of_the_ledger(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    ledger = copy_of(first[0], tmp_path)
    other = made(ledger, k=12)
    (finding,) = together_of(other)
    assert finding.severity is Severity.STOPS
    groups = [
        dict(zip(one.release.order.tolist(), one.release.frame()[QI].astype(str).agg("|".join, axis=1), strict=True))
        for one in (first[1], other)
    ]
    cells = pd.Series([(groups[0][row], groups[1][row]) for row in range(400)])
    below = int((cells.map(cells.value_counts()) < 12).sum())
    assert f"{below:,} of 400 people are in groups of fewer than 12" in finding.sentence
    with pytest.raises(GuaranteeError):
        ledger.write(tmp_path / "y2.csv", NUMBERED, other.release, other.report)
    with pytest.raises(GuaranteeError, match="people are in groups"):
        add(ledger, other)
    assert not (tmp_path / "y2.csv").exists()
    assert len(ledger.entries) == 2
    entry = add(ledger, with_reasons(ledger, k=12))
    assert entry["cells"] == {"with": [2], "k": 12, "smallest": int(cells.value_counts().min()), "below": below}
    assert list(entry["reasons"].values()) == ["both stay in one office"]


@pytest.mark.parametrize(("gone", "new"), [(0, 0), (30, 0), (0, 25), (30, 25), (400, 9)])
def test_since__counts_who_stayed_came_and_left(first: tuple[Ledger, Result], gone: int, new: int) -> None:
    others = NUMBERED.head(new).assign(patient=[f"new {number}" for number in range(new)])
    table = pd.concat([NUMBERED.iloc[gone:], others], ignore_index=True).sample(frac=1, random_state=1)
    since = first[0].cells(table.reset_index(drop=True), SCHEMA).since
    before, now = set(NUMBERED["patient"]), set(table["patient"])
    if not before & now:
        assert since is None
        return
    assert since is not None
    assert since[1:] == (len(before & now), len(now - before), len(before - now))


def test_keep__makes_groups_that_keep_those_of_the_ledger(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    ledger, result = copy_of(first[0], tmp_path / "copy"), first[1]
    other = SCHEMA.with_target("sex") if "sex" in SCHEMA.sensitive else an.Schema.of(
        NUMBERED, quasi_identifying=QI[:2], sensitive=["diagnosis"], person="patient"
    )  # fmt: skip
    apart = flow_of(ledger, schema=other)
    keeping = Flow(NUMBERED, other, apart.settings, earlier=ledger.earlier, key=ledger.key, keep=True)
    (stops,), (fine,) = (together_of(run_flow(flow)) for flow in (apart, keeping))
    assert (stops.severity, fine.severity) == (Severity.STOPS, Severity.FINE)
    cells = pd.DataFrame({"first": classes(result, NUMBERED), "second": keeping.class_of}).value_counts()
    assert cells.min() >= 10


def classes(result: Result, table: pd.DataFrame) -> Any:
    """The class of each row of a table in a release, by its cells."""
    rows = result.release.frame()[QI].assign(row=result.release.order).set_index("row").loc[table.index]
    return rows.astype(object).fillna("").agg("|".join, axis=1).to_numpy()


def test_reason__does_not_cover_what_came_meanwhile(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    ledger = copy_of(first[0], tmp_path)
    checked = with_reasons(ledger, k=12)
    add(ledger, with_reasons(ledger, k=17))
    with pytest.raises(GuaranteeError):
        add(ledger, checked)
    assert len(ledger.entries) == 3


def test_records__without_persons_are_found_in_the_same_table(tmp_path: Path) -> None:
    schema = an.Schema.of(BARE, quasi_identifying=QI, sensitive=["diagnosis"])
    ledger = Ledger.new(tmp_path / "bare", KEY)
    add(ledger, made(ledger, BARE, schema), BARE)
    mixed = BARE.sample(frac=1, random_state=1).reset_index(drop=True)
    cells = ledger.cells(mixed, schema)
    assert (cells.recognised, cells.lines, len(np.unique(cells.rows[0]))) == (400, (2,), cells.rows[0].max() + 1)
    (finding,) = together_of(made(ledger, mixed, schema))
    assert finding.figure == "Same groups"
    (finding,) = together_of(made(ledger, mixed.head(390), schema))
    assert finding.sentence.startswith("Nothing says who is who")


def test_persons__with_several_rows_are_counted_row_by_row(tmp_path: Path) -> None:
    table = NUMBERED.assign(patient=[f"patient-{row // 2:03}" for row in range(400)])
    ledger = Ledger.new(tmp_path / "visits", KEY)
    first = made(ledger, table, generalizer="pack-persons", k=5)
    add(ledger, first, table)
    assert ledger.entries[1]["table"]["persons"] == 200
    mixed = table.sample(frac=1, random_state=2).reset_index(drop=True)
    (finding,) = together_of(made(ledger, mixed, generalizer="pack-persons", k=5))
    assert finding.figure == "Same groups"
    flow = flow_of(ledger, table, generalizer="pack-persons", k=7)
    (finding,) = (one for one in flow.judgement.findings if one.key.startswith("together: "))
    both = ledger.cells(table, SCHEMA).together(flow.class_of, 7)
    before = np.full(400, -1)
    before[first.release.order] = first.release.frame().groupby(QI, observed=True, sort=False).ngroup()
    cells = pd.DataFrame({"cell": list(zip(before, flow.class_of, strict=True)), "patient": table["patient"]})
    sizes = cells["cell"].map(cells.groupby("cell")["patient"].nunique())
    below = cells["patient"][sizes < 7].nunique()
    assert (both.below, both.smallest) == (below, sizes.min())
    assert f"{below:,} of 200 people are in groups of fewer than 7" in finding.sentence


# The key.


def test_ledger__without_its_key_is_read_and_nothing_more(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    copy = copy_of(first[0], tmp_path)
    copy.key_path.unlink()
    ledger = Ledger.open(tmp_path / "register")
    assert len(ledger.entries) == 2
    for call in (lambda: ledger.cells(NUMBERED, SCHEMA), lambda: ledger.earlier, lambda: ledger.erase("x")):
        with pytest.raises(ParameterError, match="The key of this ledger is not here: entries can be read, nobody"):
            call()
    with pytest.raises(ReadError, match="This is not the key of this ledger"):
        Ledger.open(tmp_path / "register", bytes(32))
    assert Ledger.open(tmp_path / "register", KEY).cells(NUMBERED, SCHEMA).recognised == 400
    assert KEY.hex() not in repr(first[0])
    assert repr(KEY) not in repr(first[0])


def test_new__takes_nothing_s_place(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "new")
    assert ledger.key_path.read_bytes() == Path(os.environ["COPSE_KEY_FILE"]).read_bytes()
    with pytest.raises(ParameterError, match="There is a ledger at"):
        Ledger.new(tmp_path / "new")
    ledger.path.unlink()
    with pytest.raises(ParameterError, match="There is another key at"):
        Ledger.new(tmp_path / "new", bytes(32))
    with pytest.raises(ReadError, match="cannot be opened as a ledger"):
        Ledger.open(tmp_path / "absent")


@pytest.mark.parametrize(
    "change",
    [
        {"members": {"file": "../../y1.csv", "sha256": "ab" * 32}}, {"members": None}, {"table": {"columns": []}},
        {"settings": {"k": "10"}}, {"at": "yesterday"}, {"members": {"file": "0002-aaaaaaaa", "sha256": 1}},
    ],
)  # fmt: skip
def test_entries__of_strangers_lead_nowhere(first: tuple[Ledger, Result], tmp_path: Path, change: Any) -> None:
    ledger = copy_of(first[0], tmp_path)
    entries = list(ledger.entries)
    entries[1] = {**entries[1], **change}
    entries[1]["hash"] = entry_hash(entries[1])
    ledger.path.write_bytes(Chain(tuple(entries)).to_bytes())
    with pytest.raises(ReadError, match="The ledger is not in order: entry 2"):
        ledger.cells(NUMBERED, SCHEMA)


# Erasing.


def test_erase__removes_a_person_and_keeps_the_chain_whole(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    ledger = copy_of(first[0], tmp_path)
    file = ledger.members_path / ledger.entries[1]["members"]["file"]
    before = file.read_bytes()
    assert ledger.erase("patient-0007", by="data office") == 1
    note = ledger.entries[-1]
    assert note["erased"] == [{"file": file.name, "before": digest(before), "after": digest(file.read_bytes())}]
    (word,) = person_digests(["patient-0007"], KEY).tolist()
    records = [before[at : at + 12] for at in range(0, len(before), 12)]
    assert file.read_bytes() == b"".join(one for one in records if not one.startswith(word.to_bytes(8)))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (ledger.faults(), ledger.cells(NUMBERED, SCHEMA).recognised) == ((), 399)
    assert word.to_bytes(8).hex() not in ledger.path.read_text("utf-8")
    with pytest.raises(ParameterError, match="No entry of this ledger has this person"):
        ledger.erase("patient-0007")
    file.write_bytes(before)
    assert ledger.faults() == ("The members of entry 2 are missing, or not what was written.",)


# Merging.


def test_merge__of_two_copies_holds_the_next_release_to_both(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    one, other = (copy_of(first[0], tmp_path / name) for name in ("one", "other"))
    add(one, with_reasons(one, k=12))
    add(other, with_reasons(other, k=17))
    one.erase("patient-0001")
    other.erase("patient-0002")
    merged = merge_ledgers(one, other, tmp_path / "merged")
    assert merged.faults() == ()
    assert [entry["kind"] for entry in merged.entries[-2:]] == ["merge", "note"]
    cells = merged.cells(NUMBERED, SCHEMA)
    assert len(cells.lines) == 3
    assert [np.flatnonzero(rows < 0).tolist() for rows in cells.rows] == [[1, 2]] * 3
    whole = np.where(np.isin(np.arange(400), [1, 2]), -1, 0)
    both = cells.together(whole, 10)
    assert (both.k, both.persons, both.below > 300) == (17, 398, True)
    assert merged.together() == both
    with pytest.raises(ParameterError, match="There is a ledger at"):
        merge_ledgers(one, other, tmp_path / "merged")


# Writers.


def age(ledger: Ledger, minutes: float) -> Path:
    """The lock of a ledger, as a writer left it so long ago."""
    lock = ledger.path.with_name(ledger.path.name + ".lock")
    since = (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()
    lock.write_text(json.dumps({"host": "elsewhere", "pid": 1, "time": since}), "utf-8")
    return lock


def test_lock__keeps_others_out_for_ten_minutes(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    ledger = copy_of(first[0], tmp_path)
    lock = age(ledger, 9.5)
    with pytest.raises(ParameterError, match=r"Somebody has been writing this ledger since \d\d:\d\d\. Try again\."):
        add(ledger, first[1])
    assert lock.exists()
    age(ledger, 10.5)
    add(ledger, first[1])
    assert not lock.exists()
    lock.write_text("nonsense")
    with pytest.raises(ParameterError, match="Somebody has been writing this ledger"):
        ledger.erase("patient-0001")


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked so on Windows")
def test_lock__of_who_still_writes_here_is_not_taken_over(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    ledger = copy_of(first[0], tmp_path)
    with lock_ledger(ledger.path):
        age(ledger, 60)
        with pytest.raises(ParameterError, match="Somebody has been writing this ledger"):
            add(ledger, first[1])
    assert len(ledger.entries) == 2
    add(ledger, first[1])


def test_two_writers__are_both_in_the_ledger_or_one_is_refused(first: tuple[Ledger, Result], tmp_path: Path) -> None:
    ledger = copy_of(first[0], tmp_path)

    def write(_: int) -> str:
        try:
            return str(add(Ledger.open(ledger.path), first[1])["hash"])
        except ParameterError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(write, range(6)))
    hashes = [answer for answer in answers if " " not in answer]
    assert len(hashes) >= 1
    assert all(answer in hashes or "Somebody has been writing this ledger" in answer for answer in answers)
    assert sorted(entry["hash"] for entry in ledger.entries[2:]) == sorted(hashes)
    assert ledger.faults() == ()


def test_ledger__that_cannot_be_written_keeps_the_release_in(
    first: tuple[Ledger, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, out = copy_of(first[0], tmp_path), tmp_path / "y2.csv"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("anonymizer.ledger.ledger.write_file", full)
    with pytest.raises(ParameterError, match="The entry could not be written, so nothing leaves: No space left"):
        ledger.write(out, NUMBERED, first[1].release, first[1].report)
    assert not out.exists()
    assert not list(tmp_path.glob(".*part"))
    assert ledger.faults() == ()
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ParameterError, match="is no file: its entry could not come first"):
        ledger.write(tmp_path / "pipe.csv", NUMBERED, first[1].release, first[1].report)


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.ledger.test_ledger import KEY, NUMBERED, Ledger, age, copy_of, made

EVENTS = ("open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.truncate")
folder, steps = Path(sys.argv[1]), []
ledger = Ledger.new(folder / "register", KEY)
result = made(ledger)
ledger.write(folder / "y1.csv", NUMBERED, result.release, result.report)


def work(copy, name):
    if name == "erase":
        copy.erase("patient-0003")
    else:
        copy.write(copy.path.parent / "y2.csv", NUMBERED, result.release, result.report)


for name in ("add", "erase"):
    for step in range(60):
        copy = copy_of(ledger, folder / f"{name}{step}")
        child = os.fork()
        if child == 0:
            left = [step]

            def kill(event, arguments):
                if event in EVENTS and (event != "open" or (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)):
                    if not left[0]:
                        os.kill(os.getpid(), signal.SIGKILL)
                    left[0] -= 1

            sys.addaudithook(kill)
            work(copy, name)
            os._exit(0)
        ended = os.waitpid(child, 0)[1]
        assert copy.faults() == (), (name, step, copy.faults())
        entries, out = len(copy.entries), copy.path.parent / "y2.csv"
        assert entries in (2, 3), (name, step)
        assert not out.exists() or entries == 3, (name, step)
        releases = entries - 1 if name == "add" else 1
        assert len(copy.cells(NUMBERED, result.schema).lines) == releases, (name, step)
        if ended == 0:
            break
        lock = copy.path.with_name(copy.path.name + ".lock")
        if lock.exists():
            age(copy, 11)
        if name == "erase" and entries == 3:
            copy.erase("patient-0004")
        else:
            work(copy, name)
        assert copy.faults() == ()
        assert len(copy.entries) == entries + 1
        steps.append((name, step, entries))
    assert ended == 0
print(steps)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes do not fork on Windows")
def test_killed_writer__leaves_the_ledger_whole_at_any_step(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", KILLED, str(tmp_path)]
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}
    answer = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    steps = steps_in(answer.stdout)
    for name in ("add", "erase"):
        entries = [one[2] for one in steps if one[0] == name]
        assert len(entries) > 5
        assert {2, 3} == set(entries)
        assert entries == sorted(entries)


def steps_in(text: str) -> list[tuple[str, int, int]]:
    """The steps that a program printed."""
    return [(name, int(step), int(entries)) for name, step, entries in re.findall(r"\('(\w+)', (\d+), (\d)\)", text)]


def test_limits__of_earlier_entries_are_asked_of_what_releases_leave_together(tmp_path: Path) -> None:
    """A pandas count over the released files agrees with the gate, and groups that keep the entry keep its promise."""
    ledger = Ledger.new(tmp_path / "limits", KEY)
    promised = made(ledger, l=4)
    ledger.write(tmp_path / "y1.csv", NUMBERED, promised.release, promised.report)
    (entry,) = ledger.read().releases
    assert (entry.promise.limits.l, [one.name for one in entry.promise.sensitive]) == (4, ["diagnosis"])
    other = made(ledger, grouping="median-mondrian", k=12)
    files = [result.release.frame() for result in (promised, other)]
    orders = [result.release.order for result in (promised, other)]
    rows = naive_verify.joined(files, orders, QI, len(NUMBERED))
    below = naive_verify.people_below(rows, NUMBERED["diagnosis"].tolist(), 4)
    (finding,) = (one for one in together_of(other) if one.key.startswith("together: limits"))
    assert 0 < below < len(NUMBERED)
    assert f"{below:,} of 400 people are in groups with fewer than 4 values of diagnosis" in finding.sentence
    with pytest.raises(GuaranteeError, match="in groups"):
        add(ledger, other)
    flow = flow_of(ledger, grouping="least", k=12).but(keep=True)
    rows = naive_verify.joined([files[0], flow.release.frame()], [orders[0], flow.release.order], QI, len(NUMBERED))
    assert naive_verify.people_below(rows, NUMBERED["diagnosis"].tolist(), 4) == 0
    assert [one.severity for one in flow.gate.findings if one.key.startswith("together: limits")] == [Severity.FINE]


def test_entry__of_this_very_table_tells_its_values(first: tuple[Ledger, Result]) -> None:
    ledger, result = first
    (releases,) = ledger.earlier
    (same,) = releases.of_rows(NUMBERED, SCHEMA)
    assert same.whole
    assert np.array_equal(same.class_of[result.release.order] >= 0, np.ones(len(result.release.order), bool))
    others = NUMBERED.assign(diagnosis=["flu"] * len(NUMBERED)), NUMBERED.head(300)
    assert not any(one.whole for table in others for one in releases.of_rows(table, SCHEMA))
    answer = attack_over_releases(flow_of(ledger))
    assert answer is not None
    assert [one.column for one in answer.values] == ["diagnosis"]
    assert attack_over_releases(flow_of(ledger, NUMBERED.head(300))).values == ()


def test_limits__of_an_entry_stand_as_text_where_they_are_not_whole(tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "limits", KEY)
    result = made(ledger, t=0.7, entropy_l=1.5)
    add(ledger, result)
    (entry,) = ledger.read().releases
    assert (entry.promise.limits.t, entry.promise.limits.entropy_l, entry.promise.limits.l) == (0.7, 1.5, None)
