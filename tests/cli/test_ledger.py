"""A ledger at the terminal: made, used by three releases, shown, checked, merged, a person erased."""

import io
import json
import shlex
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from anonymizer.cli import engine
from anonymizer.cli.main import main
from anonymizer.databases.sqlite import SQLite
from anonymizer.digests import digest
from anonymizer.errors import ReadError
from anonymizer.ledger.ledger import Ledger
from anonymizer.ledger.members import person_digests
from anonymizer.provenance.report import schema_from as schema_in_file
from anonymizer.reading.samples import hospital
from tests.cli.test_main import Capture
from tests.cli.test_packet import members_of
from tests.conftest import run_python

KEY = bytes(range(1, 33))
PEOPLE = hospital(300, 6)[["age", "sex", "postcode", "diagnosis"]].assign(patient=[f"pat-{n:03}" for n in range(300)])
RUN = [
    "anonymize", "people.csv", "--quasi-identifying", "age,sex,postcode", "--sensitive", "diagnosis",
    "--person", "patient", "--generalizer", "pack", "--attack-seconds", "0.1", "--ledger", "register",
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and a new ledger."""
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    Path("own.key").write_bytes(KEY)
    Path("own.key").chmod(0o600)
    assert main(["ledger", "new", "register", "--key-file", "own.key", "--by", "data office"]) == 0
    return tmp_path


def release(name: str, *more: str) -> int:
    return main([*RUN, "--k", "10", "--out", name, *more])


def reason_for(report: str) -> list[str]:
    """A reason for what a report says of releases together."""
    findings = json.loads(Path(report).read_text("utf-8"))["gate"]["findings"]
    keys = [one["key"] for one in findings if one["key"].startswith("together: ") and one["severity"][0] == "s"]
    return [f"--reason={key}=both stay in one office" for key in keys]


def test_anonymize__enters_a_release_before_its_file_and_stops_another(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[bool] = []
    add = Ledger.add

    def watched(*arguments: object, **words: object) -> object:
        answer = add(*arguments, **words)  # type: ignore[arg-type]
        places.append(Path("y1.csv").exists())
        return answer

    monkeypatch.setattr(Ledger, "add", watched)
    assert release("y1.csv", "--to", "the university", "--basis", "contract 12", "--report", "y1.json") == 0
    assert places == [False]
    entry = Ledger.open("register").entries[1]
    assert (entry["to"], entry["basis"], entry["release"]["name"]) == ("the university", "contract 12", "y1.csv")
    assert entry["release"]["sha256"] == digest(Path("y1.csv").read_bytes())
    own = json.loads(Path("y1.json").read_text("utf-8"))["provenance"]
    assert own["ledger"] == {"number": 2, "hash": entry["hash"]}
    assert f"This release is entry 2 of the sender's ledger of releases, {entry['hash']}." in capsys.readouterr().out
    assert release("again.csv") == 0
    assert "These are the same groups as release 2" in capsys.readouterr().out
    assert Path("again.csv").read_bytes() == Path("y1.csv").read_bytes()
    assert main([*RUN, "--k", "12", "--out", "y2.csv", "--report", "y2.json"]) == 1
    output = capsys.readouterr().out
    assert "people are in groups of fewer than 12" in output
    assert "Keep the same groups, or join earlier ones." in output
    assert not Path("y2.csv").exists()
    assert len(Ledger.open("register").entries) == 3
    assert main([*RUN, "--k", "12", "--out", "y2.csv", *reason_for("y2.json")]) == 0
    reasons = Ledger.open("register").entries[3]["reasons"]
    assert list(reasons.values()) == ["both stay in one office"]


def test_keep_earlier__makes_groups_that_keep_those_of_the_ledger(capsys: Capture) -> None:
    assert release("y1.csv") == 0
    other = [*RUN, "--k", "12", "--grouping", "least", "--out", "y2.csv"]
    assert main(other) == 1
    assert not Path("y2.csv").exists()
    capsys.readouterr()
    assert main([*other, "--keep-earlier"]) == 0
    assert "everybody is still in a group of at least 10 people." in capsys.readouterr().out
    assert [entry["kind"] for entry in Ledger.open("register").entries] == ["note", "release", "release"]
    assert main([*other[:-1], "y3.csv", "--keep-earlier"]) == 0
    assert Path("y3.csv").read_bytes() == Path("y2.csv").read_bytes()


def test_packing__uses_the_key_of_the_ledger() -> None:
    assert release("y1.csv") == 0
    assert main([word for word in RUN if word not in ("--ledger", "register")] + ["--k", "10", "--out", "x.csv"]) == 0
    assert Path("x.csv").read_bytes() != Path("y1.csv").read_bytes()


def test_next_table__is_counted_with_this_one(capsys: Capture) -> None:
    assert release("y1.csv") == 0
    PEOPLE.tail(297).assign(age=PEOPLE["age"] + 1).to_csv("people.csv", index=False)
    capsys.readouterr()
    assert release("y2.csv", "--check") == 1
    output = capsys.readouterr().out
    assert "3 people of " in output
    assert "keep their rows, publish only who is new, or leave out the" in output
    assert main([*RUN, "--k", "5", "--check"]) == 1
    assert "promised 10. With this one it is 5." in capsys.readouterr().out


def test_packets_and_reports__name_the_entry_and_hold_nothing_else_of_it(capsys: Capture) -> None:
    files = ("--packet", "out.zip", "--internal-packet", "own.zip", "--internal", "in.html", "--external", "ex.html")
    assert release("y1.csv", *files, "--report", "y1.json") == 0
    ledger = Ledger.open("register")
    hash_of_entry = ledger.entries[1]["hash"]
    assert main(["ledger", "check", "register", "out.zip", "own.zip", "y1.csv", "y1.json"]) == 0
    output = capsys.readouterr().out
    assert "The chain holds: 2 entries." in output
    assert "out.zip names entry 2, which is here." in output
    assert "y1.csv is what entry 2 says was released." in output
    assert main(["verify", "out.zip"]) == 0
    words = person_digests(PEOPLE["patient"], KEY).tolist()
    secrets = {
        KEY,
        KEY.hex().encode(),
        *(word.to_bytes(8) for word in words),
        *(f"{one:016x}".encode() for one in words),
    }
    prints = {text.encode() for text in ledger.entries[1]["table"]["print"].values()}
    texts = [Path(name).read_bytes() for name in ("in.html", "ex.html", "y1.json")]
    texts += [content for name in ("out.zip", "own.zip") for content in members_of(name).values()]
    texts += [capsys.readouterr().out.encode(), output.encode()]
    assert not [mark for mark in secrets | prints for text in texts if mark in text]
    for name in ("out.zip", "own.zip"):
        report = json.loads(members_of(name)["report.json"])
        assert report["provenance"]["ledger"] == {"number": 2, "hash": hash_of_entry}
    assert all(hash_of_entry.encode() in text for text in texts[:3])


def test_packet_alone__is_entered(capsys: Capture) -> None:
    assert main([*RUN, "--k", "10", "--packet", "out.zip"]) == 0
    (entry,) = Ledger.open("register").entries[1:]
    assert entry["release"] == {**entry["release"], "name": "out.zip", "rows": 300}
    assert entry["release"]["sha256"] == digest(members_of("out.zip")["data/release.csv"])


def test_check__names_a_ledger_that_was_cut_or_edited(capsys: Capture) -> None:
    assert release("y1.csv", "--report", "y1.json") == 0
    path = Path("register.copse-ledger")
    content = path.read_bytes()
    path.write_bytes(content.splitlines(keepends=True)[0])
    assert main(["ledger", "check", "register", "y1.json"]) == 1
    assert "y1.json, names an entry that this ledger does not have: it was cut short" in capsys.readouterr().out
    path.write_bytes(content.replace(b'"k":10', b'"k":99'))
    assert main(["ledger", "check", "register"]) == 1
    assert "Entry 2 is not what was written; it and what follows prove nothing." in capsys.readouterr().out
    assert main(["ledger", "show", "register"]) == 1
    assert release("y2.csv") == 2
    assert "Entry 2 is not what was written" in capsys.readouterr().err
    path.write_bytes(content)
    Path("other.csv").write_text("a,b\n1,2\n")
    assert main(["ledger", "check", "register", "other.csv"]) == 1
    assert "No entry of this ledger speaks of other.csv." in capsys.readouterr().out


def test_show__lists_what_was_released_without_the_key_too(capsys: Capture) -> None:
    assert release("y1.csv", "--recipient", "the university") == 0
    Path("register.ledger-key").unlink()
    capsys.readouterr()
    assert main(["ledger", "show", "register.copse-ledger"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "The beginning of this ledger. (data office)" in lines[0]
    assert "y1.csv to the university: k = 10, 300 rows in " in lines[1]
    assert lines[2].startswith("The key of this ledger is not here")
    assert release("y2.csv") == 2
    assert "nobody recognised, nothing added" in capsys.readouterr().err
    assert not Path("y2.csv").exists()


def test_merge__says_what_both_copies_leave(capsys: Capture) -> None:
    assert release("y0.csv") == 0
    Path("copy").mkdir()
    for name in ("register.copse-ledger", "register.ledger-key"):
        shutil.copy(name, "copy")
    shutil.copytree("register.ledger-members", "copy/register.ledger-members")
    for k, ledger in (("12", "register"), ("17", "copy/register")):
        command = [*RUN[:-1], ledger, "--k", k]
        assert main([*command, "--report", "x.json"]) == 1
        assert main([*command, "--out", f"y{k}.csv", *reason_for("x.json")]) == 0
    capsys.readouterr()
    assert main(["ledger", "merge", "register", "copy/register", "--out", "both"]) == 0
    output = capsys.readouterr().out
    assert "both.copse-ledger, with 5 entries." in output
    assert "Releases 3, 4 were made apart: " in output
    assert "What was released cannot be taken back; the next release is held to it." in output
    assert main(["ledger", "check", "both", "y0.csv", "y12.csv", "y17.csv"]) == 0
    assert main(["ledger", "merge", "register", "--out", "c"]) == 2


def test_erase__takes_the_id_from_standard_input(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert release("y1.csv") == 0
    for text, status in (("pat-007\n", 0), ("pat-007\n", 2), ("\n", 2)):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert main(["ledger", "erase", "register"]) == status
    output = capsys.readouterr()
    assert "Erased from 1 entry. Later releases do not know this person." in output.out
    assert "pat-007" not in output.out + output.err + Path("register.copse-ledger").read_text("utf-8")


FOREST = ["forest", "people.csv", "--target", "diagnosis", "--columns", "sex", "--from-data", "sex,diagnosis"]


def test_forests__are_charged_to_one_budget_before_they_are_grown(
    capsys: Capture,
) -> None:
    assert main(["ledger", "budget", "register", "--budget", "1.5", "--by", "data office"]) == 0
    assert "0 forests: about one person they have spent ε = 0 together, and may spend 1.5." in capsys.readouterr().out
    domains = {name: sorted({*PEOPLE[name], "another"}) for name in ("sex", "diagnosis")}
    Path("domains.json").write_text(json.dumps(domains))
    run = [*FOREST[:6], "--domains", "domains.json", "--person", "patient", "--ledger", "register", "--to", "the press"]
    assert main([*run, "--epsilon", "1", "--rules", "rules.json"]) == 0
    capsys.readouterr()
    assert main([*run, "--epsilon", "1", "--rules", "more.json"]) == 2
    refusal = capsys.readouterr().err
    assert "With this forest, ε about one person would be 2; the budget of the ledger is 1.5." in refusal
    assert not Path("more.json").exists()
    assert main([*run, "--epsilon", "0.5", "--trees", "9"]) == 2
    assert main([*run, "--epsilon", "0.5", "--mode", "paper"]) == 2
    assert "promises nothing" in capsys.readouterr().err
    assert main([word for word in run if word not in ("--person", "patient")]) == 2  # it may be of anybody
    assert "With this forest, ε about one person would be 2" in capsys.readouterr().err
    assert release("y1.csv") == 0
    assert main(["ledger", "withdraw", "register", "--entry", "3", "--why", "Sent to the wrong address."]) == 0
    capsys.readouterr()
    assert main(["ledger", "show", "register"]) == 0
    output = capsys.readouterr().out
    assert "rules.json to the press: ε = 1, 300 persons, strict" in output
    assert "The budget of forests. ε = 1.5 (data office)" in output
    assert "withdrawn  Sent to the wrong address. of " in output
    assert "1 forest: about one person they have spent ε = 1 together, and may spend 1.5." in output
    assert "so a guess is right with a chance of at most 10.0%; with the forests, of at most 45.1%." in output
    assert "pat-0" not in Path("register.copse-ledger").read_text("utf-8")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["ledger", "budget", "register"], "The budget must be a number above 0."),
        (["ledger", "budget", "register", "--budget", "inf"], "The budget must be a number above 0."),
        (["ledger", "new", "other", "--budget", "-1"], "The budget must be a number above 0."),
        (["ledger", "show", "register", "--budget", "1"], "--budget is of ledger new and ledger budget alone"),
        (["ledger", "withdraw", "register", "--entry", "1"], "Say which entry was asked back, and why."),
        (["ledger", "withdraw", "register", "--entry", "1", "--why", "x"], "Entry 1 is of no release, tree or forest."),
        ([*FOREST, "--to", "x"], "--to is for the entry of a ledger."),
        (["ledger", "burn", "register"], "There is no ledger 'burn'"),
        (["ledger", "new", "register"], "There is a ledger at register.copse-ledger already"),
        (["ledger", "show", "none"], "none.copse-ledger cannot be opened as a ledger"),
        (["ledger", "show", "register", "x"], "ledger show takes one ledger"),
        (["ledger", "show", "register", "--out", "x"], "--out is of ledger merge alone"),
        ([*RUN[:-2], "--to", "x"], "--to is for the entry of a ledger"),
        ([*RUN, "--engine", "local", "--keep-earlier", "--out", "folder"], "--keep-earlier takes one table in memory"),
    ],
)
def test_bad_input__is_one_line(command: list[str], words: str, capsys: Capture) -> None:
    assert main(command) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1


def test_table__of_people_without_their_column_is_not_counted(capsys: Capture) -> None:
    assert release("y1.csv") == 0
    pd.read_csv("people.csv").drop(columns="patient").to_csv("people.csv", index=False)
    command = [word for word in RUN if word not in ("--person", "patient")]
    assert main([*command, "--k", "10", "--out", "y2.csv"]) == 1
    assert "Nothing says who is who, so last time's people cannot be recognised." in capsys.readouterr().out


# Tables in pieces.


def in_pieces(name: str, *more: str) -> int:
    """A release of the table in two files, which goes into a folder."""
    Path("in").mkdir(exist_ok=True)
    PEOPLE.head(120).to_csv("in/a.csv", index=False)
    PEOPLE.tail(180).to_csv("in/b.csv", index=False)
    words = [word for word in RUN[2:] if word not in ("--attack-seconds", "0.1")]
    return main(["anonymize", "in", "--engine", "local", *words, "--k", "10", "--out", name, *more])


def test_pieces__are_entered_counted_and_checked_like_the_file(capsys: Capture) -> None:
    assert release("y1.csv") == 0
    assert in_pieces("y2", "--report", "y2.json", "--to", "the university") == 0
    output = capsys.readouterr().out
    ledger = Ledger.open("register")
    assert "These are the same groups as release 2" in output
    assert f"This release is entry 3 of the sender's ledger of releases, {ledger.head}." in output
    members = [path.read_bytes() for path in ledger.members_path.iterdir()]
    assert members[0] == members[1]
    assert main(["ledger", "check", "register", "y1.csv", "y2", "y2.json"]) == 0
    output = capsys.readouterr().out
    assert "y2 is what entry 3 says was released to the university." in output
    assert "y2.json names entry 3, which is here." in output
    assert in_pieces("y3", "--k", "12") == 1
    assert "people are in groups of fewer than 12" in capsys.readouterr().out
    assert not Path("y3").exists()
    shutil.copytree("y2", "theirs")
    Path("theirs/manifest.json").write_text(Path("y2/manifest.json").read_text("utf-8") + " ", "utf-8")
    assert main(["ledger", "check", "register", "theirs"]) == 1
    assert "No entry of this ledger speaks of theirs." in capsys.readouterr().out


def test_pieces__keep_no_earlier_groups_and_say_so_before_any_work(capsys: Capture) -> None:
    assert in_pieces("y1", "--keep-earlier") == 2
    assert "--keep-earlier takes one table in memory." in capsys.readouterr().err
    assert len(Ledger.open("register").entries) == 1


def test_entry__whose_folder_was_not_written_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    work = engine.call_in_child

    def killed(*arguments: Any, **words: Any) -> None:
        work(*arguments, **words)
        raise ReadError("The process that read in was ended.")

    monkeypatch.setattr(engine, "call_in_child", killed)
    assert in_pieces("y1") == 2
    assert "Entry 2 of the ledger register was written, and its file was not." in capsys.readouterr().err
    assert main(["ledger", "withdraw", "register", "--entry", "2", "--why", "it was never written"]) == 0


# Databases.


def with_database() -> str:
    """The address of the table, in a database that it is the only one in."""
    with sqlite3.connect("people.db") as connection:
        PEOPLE.to_sql("people", connection, index=False)
    return "sqlite:///people.db?table="


def test_database__is_read_and_written_with_an_entry_before_the_commit(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, tables = with_database(), list[int]()
    add = Ledger.add

    def watched(*arguments: Any, **words: Any) -> Any:
        answer = add(*arguments, **words)
        with sqlite3.connect("file:people.db?mode=ro", uri=True) as connection:
            tables.append(len(connection.execute("SELECT name FROM sqlite_master").fetchall()))
        return answer

    monkeypatch.setattr(Ledger, "add", watched)
    run = ["anonymize", address + "people", *RUN[2:], "--k", "10", "--to", "the university"]
    assert main([*run, "--out", address + "released", "--report", "y1.json"]) == 0
    assert tables == [1]
    ledger = Ledger.open("register")
    entry = ledger.entries[1]
    assert entry["release"]["name"] == "sqlite:released"
    own = json.loads(Path("y1.json").read_text("utf-8"))["provenance"]
    assert own["ledger"] == {"number": 2, "hash": entry["hash"]}
    assert own["output_sha256"] == {"database": entry["release"]["sha256"]}
    of_table = Ledger.open("register").cells(PEOPLE, schema_in_file("y1.json"))
    assert (of_table.recognised, of_table.unknown) == (300, ())
    assert main(["ledger", "check", "register", address + "released", "y1.json"]) == 0
    assert "sqlite:released is what entry 2 says was released to the university." in capsys.readouterr().out
    assert main(["ledger", "check", "register", address + "people"]) == 1


def test_database__that_fails_after_the_entry_says_what_to_do(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    address, execute = with_database(), SQLite.execute

    def fails(self: SQLite, connection: Any, statement: str) -> None:
        if statement == "COMMIT":
            raise sqlite3.OperationalError("disk I/O error")
        execute(self, connection, statement)

    monkeypatch.setattr(SQLite, "execute", fails)
    assert main(["anonymize", address + "people", *RUN[2:], "--k", "10", "--out", address + "released"]) == 2
    assert "Entry 2 of the ledger register was written, and its file was not." in capsys.readouterr().err
    with sqlite3.connect("people.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("people",)]


def test_database__that_is_stopped_by_the_ledger_stays_as_it_is() -> None:
    address = with_database()
    assert release("y1.csv") == 0
    assert main(["anonymize", address + "people", *RUN[2:], "--k", "12", "--out", address + "released"]) == 1
    with sqlite3.connect("people.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("people",)]
    assert len(Ledger.open("register").entries) == 2


# What repeats a release that keeps earlier ones.


def test_command__of_a_release_that_keeps_the_ledger_makes_the_same_groups_again() -> None:
    assert release("y1.csv") == 0
    other = [*RUN, "--k", "12", "--grouping", "least", "--keep-earlier"]
    assert main([*other, "--out", "y2.csv", "--report", "y2.json", "--internal-packet", "own.zip"]) == 0
    run_of = json.loads(Path("y2.json").read_text("utf-8"))["provenance"]
    assert run_of["keeps"] == [["--ledger", "register"]]
    words = shlex.split(run_of["command"])
    assert words[:3] == ["python", "-m", "anonymizer"]
    assert main(words[3:]) == 0
    assert Path("RELEASE.csv").read_bytes() == Path("y2.csv").read_bytes()
    script = members_of(Path("own.zip"))["repeat.py"].decode()
    assert "earlier = [an.Ledger.open('register')]" in script
    assert ", earlier=earlier, keep=True)" in script
    assert main(["verify", "own.zip"]) == 0


def test_command__of_a_release_that_keeps_another_names_its_report() -> None:
    run = [word for word in RUN if word not in ("--ledger", "register")]
    assert main([*run, "--k", "10", "--out", "y1.csv", "--report", "y1.json"]) == 0
    keeping = [*run, "--k", "12", "--grouping", "least", "--earlier", "y1.json", "--keep-earlier"]
    assert main([*keeping, "--out", "y2.csv", "--report", "y2.json"]) == 0
    run_of = json.loads(Path("y2.json").read_text("utf-8"))["provenance"]
    words = shlex.split(run_of["command"])
    assert words[-7:-4] == ["--earlier", "y1.json", "--keep-earlier"]
    assert main(words[3:]) == 0
    assert Path("RELEASE.csv").read_bytes() == Path("y2.csv").read_bytes()
    assert "\nearlier = ['y1.json']\n" in run_of["python"]
    Path("REPORT.json").write_bytes(Path("y2.json").read_bytes())
    Path("RELEASE.csv").unlink()
    run_python(["-c", run_of["python"]], Path.cwd())
    assert Path("RELEASE.csv").read_bytes() == Path("y2.csv").read_bytes()


TREE = [
    "disclosure", "people.csv", "--quasi-identifying", "age,sex,postcode", "--target", "diagnosis", "--no-internal",
    "--max-depth", "1", "--person", "patient", "--ledger", "register",
]  # fmt: skip


def test_published_tree__is_counted_with_releases_and_entered_before_its_file(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert release("y1.csv") == 0
    assert main(TREE) == 1
    assert "With 1 earlier release" in capsys.readouterr().out
    assert len(Ledger.open("register").entries) == 2  # nothing is published
    places: list[bool] = []
    enter = Ledger.enter_tree

    def watched(*arguments: Any, **words: Any) -> Any:
        answer = enter(*arguments, **words)
        places.append(Path("tree.json").exists())
        return answer

    monkeypatch.setattr(Ledger, "enter_tree", watched)
    publishing = [*TREE, "--out", "tree.json", "--to", "the press"]
    assert main(publishing) == 1
    output = capsys.readouterr().out
    assert "one possible value of 'diagnosis', which neither does alone." in output
    assert not Path("tree.json").exists()
    assert main([*TREE, "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["ledger"]["findings"]
    assert main([*publishing, f"--reason={finding['key']}=all readers are bound"]) == 0
    assert "This tree is entry 3 of the ledger" in capsys.readouterr().out
    assert places == [False]
    entry = Ledger.open("register").entries[2]
    assert (entry["kind"], entry["to"], list(entry["reasons"])) == ("tree", "the press", [finding["key"]])
    assert entry["tree"]["files"]["json"] == digest(Path("tree.json").read_bytes())
    assert main(["ledger", "show", "register"]) == 0
    output = capsys.readouterr().out
    assert "tree.json to the press: a tree for diagnosis" in output
    assert "1 published tree: a leaf says a value of" in output
    assert main(["ledger", "check", "register", "tree.json"]) == 0
    assert "tree.json is what entry 3 says was published to the press." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--person", "patient"], "--person is for the entry of a ledger."),
        (["--to", "the press"], "--to is for the entry of a ledger."),
        (["--reason", "x=because of this"], "--reason is for the entry of a ledger."),
        (["--person", "patient", "--ledger", "register", "--to", "the press"], "nothing is published"),
    ],
)
def test_published_tree__options_that_do_nothing_are_refused(words: list[str], sentence: str, capsys: Capture) -> None:
    assert main([*TREE[:9], *words]) == 2
    assert sentence in capsys.readouterr().err
    pd.concat([PEOPLE, PEOPLE]).rename(columns={"patient": "patient_id"}).to_csv("people.csv", index=False)
    assert main([*TREE[:9], "--ledger", "register"]) == 2
    assert "Add --person patient_id." in capsys.readouterr().err


NEXT = [
    "anonymize", "next.csv", "--quasi-identifying", "age,sex,postcode", "--sensitive", "diagnosis", "--person",
    "patient", "--generalizer", "pack", "--attack-seconds", "0.1", "--k", "10",
]  # fmt: skip


def test_command__of_a_release_that_keeps_last_times_names_its_table_and_project() -> None:
    run = [word for word in RUN if word not in ("--ledger", "register")]
    assert main([*run, "--k", "10", "--out", "y1.csv", "--internal-packet", "own.zip"]) == 0
    Path("last.json").write_bytes(members_of(Path("own.zip"))["project.json"])
    PEOPLE.head(290).to_csv("next.csv", index=False)
    keeping = [
        *NEXT,
        "--last-table",
        "people.csv",
        "--last-project",
        "last.json",
        "--keep-earlier",
        "--grouping",
        "least",
    ]
    main([*keeping, "--report", "first.json"])
    reasons = reason_for("first.json")
    assert main([*keeping, "--out", "y2.csv", "--report", "y2.json", *reasons]) == 0
    run_of = json.loads(Path("y2.json").read_text("utf-8"))["provenance"]
    assert run_of["keeps"] == [["--last-table", "people.csv"], ["--last-project", "last.json"]]
    assert main(shlex.split(run_of["command"])[3:]) == 0
    assert Path("RELEASE.csv").read_bytes() == Path("y2.csv").read_bytes()
    assert "\nearlier = [an.last_release('people.csv', 'last.json')]\n" in run_of["python"]
    Path("REPORT.json").write_bytes(Path("y2.json").read_bytes())
    Path("RELEASE.csv").unlink()
    run_python(["-c", run_of["python"]], Path.cwd())
    assert Path("RELEASE.csv").read_bytes() == Path("y2.csv").read_bytes()


def test_project__keeps_what_its_groups_kept(capsys: Capture) -> None:
    assert release("y1.csv") == 0
    other = [*RUN, "--k", "12", "--grouping", "least"]
    assert main([*other, "--keep-earlier", "--out", "y2.csv", "--internal-packet", "own.zip"]) == 0
    Path("own.json").write_bytes(members_of(Path("own.zip"))["project.json"])
    again = ["anonymize", "people.csv", "--project", "own.json", "--ledger", "register"]
    assert main([*again, "--out", "again.csv"]) == 0
    assert Path("again.csv").read_bytes() == Path("y2.csv").read_bytes()
    capsys.readouterr()
    assert main([*again, "--no-keep-earlier", "--check"]) == 1
    printed = capsys.readouterr()
    assert "--no-keep-earlier instead of what the project says." in printed.err
    assert "in groups of fewer than 12" in printed.out
    assert main([*again[:-2], "--check"]) == 2
    assert "No earlier release is named that could be kept." in capsys.readouterr().err
    assert (
        main(
            [*NEXT[:1], "people.csv", *NEXT[2:], "--last-project", "own.json", "--last-table", "people.csv", "--check"]
        )
        == 1
    )
    assert "last time's table alone does not make them again" in capsys.readouterr().out
    assert main([*NEXT[:1], "people.csv", *NEXT[2:], "--last-project", "own.json", "--check"]) == 2
    assert "--last-project speaks of last time's table." in capsys.readouterr().err


def test_project__beside_a_ledger_without_a_release_is_still_not_counted(capsys: Capture) -> None:
    run = [word for word in RUN if word not in ("--ledger", "register")]
    assert main([*run, "--k", "10", "--internal-packet", "own.zip"]) == 0
    Path("own.json").write_bytes(members_of(Path("own.zip"))["project.json"])
    assert main([*TREE, "--no-rates", "--out", "tree.json"]) == 0
    again = ["anonymize", "people.csv", "--project", "own.json", "--ledger", "register", "--check"]
    capsys.readouterr()
    assert main(again) == 1
    assert "What this release and last time's leave together cannot be counted." in capsys.readouterr().out
    assert release("y1.csv") == 0
    capsys.readouterr()
    main(again)
    assert "cannot be counted" not in capsys.readouterr().out
