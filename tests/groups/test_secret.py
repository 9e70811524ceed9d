"""The secret of packing: the same table is released the same, whoever reads it and in whatever order, under one key."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import anonymizer as an
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.groups.secret import SPREAD, Secret, content_of, digests_of, record_numbers, seed_of
from anonymizer.growing.encode import encode, rows_of
from anonymizer.releasing import pack
from anonymizer.releasing.key import KEY_FILE, read_key
from anonymizer.settings import Settings
from tests.conftest import run_python

KEY = bytes(range(32))
QI = ["age", "sex", "postcode", "admission_date", "marital_status"]
SAMPLE = an.SAMPLES["hospital"].load().head(600).drop(columns=["name", "email"])
TIES = SAMPLE.assign(
    age=SAMPLE["age"] // 15 * 15,
    postcode=SAMPLE["postcode"].astype(str).str[:1],
    admission_date=SAMPLE["admission_date"].dt.to_period("Q").dt.start_time,
)
"""The same people, most of whom are equal to others in all that is known of them."""
METHODS = ("pack", "refine", "uniform", "polish", "tiered", "tiered-strict", "pack-persons")


def own_key(monkeypatch: pytest.MonkeyPatch, folder: Path, key: bytes = KEY, mode: int = 0o600) -> Path:
    path = folder / "own.key"
    path.write_bytes(key)
    path.chmod(mode)
    monkeypatch.setenv(KEY_FILE, str(path))
    return path


def schema_of(table: pd.DataFrame) -> an.Schema:
    return an.Schema.of(table, quasi_identifying=QI, sensitive=["diagnosis", "cost"], target="diagnosis")


def shuffled(table: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    return table.iloc[np.random.default_rng(seed).permutation(len(table))].reset_index(drop=True)


def released(table: pd.DataFrame, **settings: object) -> bytes:
    """What is released as CSV and as Parquet, whatever the gate says."""
    flow = Flow(table, schema_of(table), Settings(**{"k": 10, "generalizer": "pack", **settings}))
    reasons = {finding.key: "this is a test" for finding in flow.gate.findings}
    leaving = flow.but(reasons=reasons).leaving
    return leaving.to_bytes("csv") + leaving.to_bytes("parquet")


@pytest.mark.sweep(2)
@pytest.mark.parametrize("order", ["content", "secret"])
@pytest.mark.parametrize("method", METHODS)
def test_release__is_the_same_of_the_same_rows_in_any_order(method: str, order: str) -> None:
    how = {"generalizer": method, "order": order}
    assert released(SAMPLE, **how) == released(shuffled(SAMPLE), **how)


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    "how",
    [{"suppression": 0.05}, {"writing": "weighted"}, {"numbers": "mean"}, {"numbers": "range"}, {"l": 2}],
    ids=str,
)
def test_release__is_the_same_whatever_else_is_asked(how: dict[str, object]) -> None:
    assert released(SAMPLE, **how) == released(shuffled(SAMPLE), **how)


def test_release__does_not_depend_on_which_k_came_before() -> None:
    flow = Flow(SAMPLE, schema_of(SAMPLE), Settings(k=5, generalizer="pack"))
    assert flow.parts.n_parts > 0
    moved = flow.but(k=12).parts.part
    fresh = Flow(SAMPLE, schema_of(SAMPLE), Settings(k=12, generalizer="pack")).parts.part
    assert moved.tolist() == fresh.tolist()


def test_another_key__makes_other_groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = released(SAMPLE)
    own_key(monkeypatch, tmp_path, bytes(32))
    second = released(SAMPLE)
    assert first != second
    assert len(set(first.split(b"\n")) & set(second.split(b"\n"))) < len(SAMPLE) / 2


def test_other_content__makes_another_seed() -> None:
    encoded = encode(SAMPLE, schema_of(SAMPLE))
    seed = seed_of(encoded, KEY)
    rows = np.arange(len(SAMPLE))
    assert seed_of(rows_of(encoded, rows[::-1]), KEY) == seed
    doubled = np.append(rows[:-1], 0)
    seeds = {
        seed,
        seed_of(encoded, bytes(32)),
        seed_of(rows_of(encoded, rows[:-1]), KEY),
        seed_of(rows_of(encoded, doubled), KEY),
        seed_of(replace(encoded, encodings=(replace(encoded.encodings[0], name="years"), *encoded.encodings[1:])), KEY),
    }
    assert len(seeds) == 5


def test_content__of_parts_adds_up_and_counts_equal_records() -> None:
    encoded = encode(SAMPLE, schema_of(SAMPLE))
    numbers = record_numbers(encoded.codes.columns, digests_of(encoded.encodings, KEY), len(SAMPLE))
    whole, first, rest = content_of(numbers), content_of(numbers[:100]), content_of(numbers[100:])
    assert whole == (first.records + rest.records, (first.total + rest.total) % 2**64)
    twice = content_of(np.repeat(numbers[:1], 2))
    assert twice.total == 2 * content_of(numbers[:1]).total % 2**64 != 0


def test_values__have_one_number_however_they_are_stored() -> None:
    """Whole numbers or not, text or categories, days or microseconds; a missing value is none of them."""
    table = SAMPLE.head(50)
    other = table.astype({"age": float, "sex": object, "admission_date": "datetime64[ns]"})
    schema = schema_of(table)
    digests = [digests_of(encode(one, schema).encodings, KEY) for one in (table, other)]
    assert all((one == same).all() for one, same in zip(*digests, strict=True))
    missing = table.assign(age=table["age"].astype("Int64").where(table.index != 3))
    with_missing = digests_of(encode(missing, schema).encodings, KEY)[0]
    assert len(set(with_missing.tolist())) == len(with_missing)


def test_weights__and_the_order_are_part_of_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each alone makes other groups: a secret of which one is taken out is seen here."""
    encoded = encode(SAMPLE, schema_of(SAMPLE))
    secrets = [Secret.of(encoded.encodings, np.random.default_rng(seed)) for seed in range(40)]
    logs = np.log([secret.weight for secret in secrets])
    assert abs(logs.std() - SPREAD) < 0.03
    assert len(np.unique(logs)) == logs.size

    def groups(secret: Secret) -> set[bytes]:
        lines = pack.Lines(encoded, secret)
        group = pack.pack_line(lines.line(np.zeros(len(SAMPLE), np.int64)), 10)
        return {np.flatnonzero(group == number).tobytes() for number in range(group.max() + 1)}

    one, other = secrets[:2]
    of_one = groups(one)
    assert groups(one) == of_one
    assert len(groups(one._replace(weight=other.weight)) & of_one) < len(of_one) / 2
    assert groups(one._replace(digests=other.digests)) != of_one


# Two processes, any file type, any engine.

RUN = """
import sys
from hashlib import sha256
import anonymizer as an
from tests.groups.test_secret import released
for name in sys.argv[1:]:
    print(sha256(released(an.read_table(name).frame)).hexdigest())
"""


@pytest.mark.sweep(0)
def test_files__of_the_same_table_are_released_the_same_by_other_processes(tmp_path: Path) -> None:
    SAMPLE.to_csv(tmp_path / "a.csv", index=False)
    SAMPLE.to_parquet(tmp_path / "b.parquet")
    shuffled(SAMPLE).to_csv(tmp_path / "c.csv", index=False)
    shuffled(SAMPLE, 2).to_parquet(tmp_path / "d.parquet")
    printed = [run_python(["-c", RUN, *names], tmp_path) for names in (("a.csv", "d.parquet"), ("c.csv", "b.parquet"))]
    digests = " ".join(printed).split()
    assert len(digests) == 4
    assert len(set(digests)) == 1


@pytest.mark.parametrize("generalizer", ["pack", "polish"])
def test_pieces__are_released_as_the_whole_table_is(tmp_path: Path, generalizer: str) -> None:
    schema = schema_of(TIES)
    whole = an.anonymize(TIES, schema, k=10, generalizer=generalizer)
    reasons = {finding.key: "this is a test" for finding in whole.gate.findings}
    files = []
    for number, table in enumerate((TIES, shuffled(TIES))):
        folder, out = tmp_path / f"in{number}", tmp_path / f"out{number}"
        folder.mkdir()
        table.head(250).to_parquet(folder / "0.parquet")
        table.iloc[250:].to_parquet(folder / "1.parquet")
        how: dict[str, Any] = {"reasons": reasons, "rows": 300, "k": 10, "generalizer": generalizer}
        assert an.anonymize_files(folder, schema, out, **how).folder is not None
        files.append(sorted(out.glob("**/*.parquet")))
    first, second = ([path.read_bytes() for path in paths] for paths in files)
    assert first == second
    boxes = whole.release.frame()[[*QI, "cost"]].astype(str).value_counts().sort_index()
    rows = pd.concat([pd.read_parquet(path) for path in files[0]])[[*QI, "cost"]].astype(str)
    pd.testing.assert_series_equal(rows.value_counts().sort_index(), boxes)


# The key.


def test_key__is_made_once_for_its_owner_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(KEY_FILE)
    monkeypatch.setattr("anonymizer.releasing.key.user_folder", lambda: tmp_path / "data" / "copse")
    key = read_key()
    assert len(key) == 32
    assert read_key() == key
    path = tmp_path / "data" / "copse" / "key"
    assert path.read_bytes() == key
    assert list(path.parent.iterdir()) == [path]
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o600


def test_user_folder__is_the_systems_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from anonymizer.releasing.key import user_folder

    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", "not absolute")
    assert user_folder() == tmp_path / ".local" / "share" / "copse"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert user_folder() == tmp_path / "data" / "copse"
    monkeypatch.setattr("sys.platform", "darwin")
    assert user_folder() == tmp_path / "Library" / "Application Support" / "Copse"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert user_folder() == tmp_path / "local" / "Copse"


@pytest.mark.skipif(os.name == "nt", reason="modes of files are POSIX's")
@pytest.mark.parametrize(
    ("key", "mode", "words"),
    [
        (KEY, 0o640, "can be read by others"),
        (KEY, 0o604, "can be read by others"),
        (KEY[:31], 0o600, "not 32 bytes long"),
        (KEY + b"\n", 0o600, "not 32 bytes long"),
        (b"", 0o600, "not 32 bytes long"),
    ],
)
def test_key__that_will_not_do_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: bytes, mode: int, words: str
) -> None:
    own_key(monkeypatch, tmp_path, key, mode)
    with pytest.raises(ParameterError, match=words) as refusal:
        released(SAMPLE)
    assert KEY.hex() not in str(refusal.value)


def test_key__that_is_absent_is_said_and_not_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "none" / "key"
    monkeypatch.setenv(KEY_FILE, str(path))
    with pytest.raises(ParameterError, match="cannot be read"):
        read_key()
    monkeypatch.delenv(KEY_FILE)
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("anonymizer.releasing.key.user_folder", lambda: tmp_path / "file")
    with pytest.raises(ParameterError, match="cannot be read or made"):
        read_key()
    assert not path.parent.exists()
    monkeypatch.setattr("anonymizer.releasing.key.user_folder", lambda: Path("~") / ".local")
    with pytest.raises(ParameterError, match="no home folder"):
        read_key()
    assert not Path("~").exists()


def test_key__is_one_when_many_make_it_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(KEY_FILE)
    monkeypatch.setattr("anonymizer.releasing.key.user_folder", lambda: tmp_path / "copse")
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: read_key(), range(32)))
    assert keys == {(tmp_path / "copse" / "key").read_bytes()}
