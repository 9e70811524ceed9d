"""The same command twice, another release of one table counted with the first, and a key that nothing gives away."""

import json
import os
from base64 import b64encode
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from anonymizer.cli.main import main
from anonymizer.reading.samples import hospital
from anonymizer.releasing.key import KEY_FILE, read_key
from tests.cli.test_main import Capture, folder, make
from tests.cli.test_packet import members_of
from tests.conftest import run_python

__all__ = ["folder"]

RUN = "import sys; from anonymizer.cli.main import main; sys.exit(main(sys.argv[1:]))"


def arguments(name: str, out: str, *more: str) -> list[str]:
    """The arguments of ``make`` for another file."""
    roles = ["--quasi-identifying", "age,sex,postcode,admission_date", "--sensitive", "diagnosis", "--k", "5"]
    columns = "name,email,occupation,marital_status,days_of_stay,cost"
    return ["anonymize", name, *roles, "--identifying", columns, "--out", out, *more]


def test_the_same_table__is_the_same_file_from_other_processes_and_files(tmp_path: Path) -> None:
    table = pd.read_csv("people.csv", dtype={"postcode": str}, parse_dates=["admission_date"])
    mixed = table.iloc[np.random.default_rng(3).permutation(len(table))]
    table.to_parquet("people.parquet")
    mixed.to_csv("mixed.csv", index=False)
    run_python(["-c", RUN, *arguments("people.csv", "there.csv")], Path.cwd())
    for name in ("people.csv", "people.parquet", "mixed.csv"):
        assert main(arguments(name, f"{name}.out.csv")) == 0
        assert Path(f"{name}.out.csv").read_bytes() == Path("there.csv").read_bytes(), name


def test_pieces__of_any_order_are_the_same_folder() -> None:
    table = pd.read_csv("people.csv", dtype={"postcode": str}, parse_dates=["admission_date"])
    for number, rows in enumerate((table, table.iloc[::-1])):
        rows.to_parquet(f"in{number}.parquet")
        assert main(arguments(f"in{number}.parquet", f"out{number}", "--engine", "local")) == 0
    assert main(arguments("in0.parquet", "whole.parquet")) == 0
    first, second = (pd.concat(map(pd.read_parquet, Path(f"out{n}").glob("**/*.parquet"))) for n in range(2))
    pd.testing.assert_frame_equal(first, second)
    whole = pd.read_parquet("whole.parquet").astype(str)
    pd.testing.assert_frame_equal(whole, first.astype(str).reset_index(drop=True))


def test_earlier_release__is_counted_and_stops_until_a_reason_is_given(capsys: Capture) -> None:
    assert main(arguments("people.csv", "first.csv", "--report", "first.json")) == 0
    again = ["--earlier", "first.json"]
    assert main(arguments("people.csv", "again.csv", *again)) == 0
    assert Path("again.csv").read_bytes() == Path("first.csv").read_bytes()
    capsys.readouterr()
    other = [*again, "--grouping", "least", "--target", "diagnosis"]
    assert main([*arguments("people.csv", "other.csv", *other), "--report", "other.json"]) == 1
    assert not Path("other.csv").exists()
    printed = capsys.readouterr().out
    assert "With the release made before, " in printed
    (key,) = (
        finding["key"]
        for finding in json.loads(Path("other.json").read_text("utf-8"))["gate"]["findings"]
        if finding["key"].startswith("together: ")
    )
    reason = f"{key}=both stay in one office"
    assert main(arguments("people.csv", "other.csv", *other, "--reason", reason)) == 0


def test_earlier_release__that_cannot_be_made_again_is_refused(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(arguments("people.csv", "first.csv", "--report", "first.json")) == 0
    key = Path("another.key")
    key.write_bytes(bytes(32))
    key.chmod(0o600)
    monkeypatch.setenv(KEY_FILE, str(key.resolve()))
    assert main(arguments("people.csv", "other.csv", "--earlier", "first.json")) == 2
    error = capsys.readouterr().err
    assert "first.json speaks of is not what this table and this key of packing make" in error
    assert main(arguments("people.csv", "other.csv", "--earlier", "none.json")) == 2


def test_project__says_that_last_time_cannot_be_counted_or_counts_it(capsys: Capture) -> None:
    assert make("--internal-packet", "own.zip", "--out", "last.csv", "--attack-seconds", "0.1") == 0
    Path("last.json").write_bytes(members_of("own.zip")["project.json"])
    hospital(320, 9).to_csv("new.csv", index=False)
    capsys.readouterr()
    command = ["anonymize", "new.csv", "--project", "last.json", "--check"]
    for more, sentence in (
        ([], "What this release and last time's leave together cannot be counted."),
        (["--last-table", "people.csv"], "What this release and last time's leave together cannot be counted."),
        (["--last-release", "last.csv"], "The two files alone do not tell what this release and last time's leave"),
    ):
        assert main([*command, *more]) == 1
        assert sentence in capsys.readouterr().out
    assert main(["anonymize", "people.csv", "--last-release", "last.csv", "--out", "x.csv"]) == 2


def spellings(key: bytes) -> set[bytes]:
    """How a key could stand in a file."""
    plain = {key, key.hex().encode(), key.hex().upper().encode(), b64encode(key)}
    return plain | {str(int.from_bytes(key, order)).encode() for order in ("big", "little")}


def test_key__is_in_nothing_that_is_written_or_printed(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the key, nor the seed, nor a number or weight that could be tested offline, nor where the key is."""
    from anonymizer.groups import secret
    from anonymizer.growing import encode as encoding

    path = Path("canary.key")
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    monkeypatch.setenv(KEY_FILE, str(path.resolve()))
    secrets: list[bytes] = [read_key()]
    seed_of, of = secret.seed_of, secret.Secret.of

    def seed_seen(encoded: encoding.EncodedTable, key: bytes) -> bytes:
        secrets.append(seed_of(encoded, key))
        return secrets[-1]

    def secret_seen(encodings: object, rng: np.random.Generator) -> secret.Secret:
        made = of(encodings, rng)  # type: ignore[arg-type]
        secrets.extend(repr(float(weight)).encode() for weight in made.weight)
        secrets.extend(str(int(words[0])).encode() for words in made.digests)
        return made

    monkeypatch.setattr("anonymizer.flow.seed_of", seed_seen)
    monkeypatch.setattr(secret.Secret, "of", secret_seen)
    files = ("--report", "report.json", "--packet", "out.zip", "--internal-packet", "own.zip")
    assert make("--out", "out.csv", *files, "--attack-seconds", "0.1") == 0
    assert main(arguments("people.csv", "out2.parquet", "--json")) == 0
    assert len(secrets) > 6
    output = capsys.readouterr()
    texts = [output.out.encode(), output.err.encode()]
    for name in ("out.csv", "report.json", "out2.parquet"):
        texts.append(Path(name).read_bytes())
    texts += [content for name in ("out.zip", "own.zip") for content in members_of(name).values()]
    for value in secrets:
        marks = spellings(value) if len(value) == 32 else {value}
        assert not [mark for text in texts for mark in marks if mark in text]
    assert not [text for text in texts if b"canary.key" in text]


def test_earlier_releases__are_kept_and_hold(capsys: Capture) -> None:
    assert main(arguments("people.csv", "first.csv", "--report", "first.json", "--generalizer", "pack")) == 0
    other = ["--grouping", "least", "--generalizer", "pack"]
    keep = ["--earlier", "first.json", "--keep-earlier"]
    assert main(arguments("people.csv", "second.csv", *other, *keep, "--report", "second.json")) == 0
    assert "Groups of an earlier release were kept" in capsys.readouterr().out
    findings = json.loads(Path("second.json").read_text("utf-8"))["gate"]["findings"]
    assert "With the release made before, everybody is still in a group of at least 5 people." in [
        finding["sentence"] for finding in findings
    ]
    both = ["--earlier", "first.json", "--earlier", "second.json"]
    assert main(arguments("people.csv", "third.csv", "--k", "12", *both, "--keep-earlier")) == 0
    assert main(arguments("people.csv", "fourth.csv", "--k", "12", *both)) == 1
    capsys.readouterr()
    assert main(arguments("people.csv", "fifth.csv", "--keep-earlier")) == 2
    assert "No earlier release is named that could be kept" in capsys.readouterr().err
