"""A release on a cluster: the files of one machine, and nothing that gets out."""

import json
import os
import re
import sys
from dataclasses import replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from anonymizer.cli.main import main
from anonymizer.engines import anonymize_files
from anonymizer.errors import EncodeError, ParameterError, ReadError, SchemaError
from anonymizer.groups.recipe import Recipe
from anonymizer.partitions import ranges
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.places import RemoteFile
from anonymizer.partitions.records import grow_pieces
from anonymizer.reading.options import ReadOptions
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.version import how_to_install
from anonymizer.workers import leaving, questions, shares
from anonymizer.workers.cluster import Cluster, ClusterError, open_cluster
from anonymizer.workers.questions import Failure, Share, guarded
from anonymizer.workers.remote import grow_shares, release_on
from anonymizer.workers.table import ClusterTable
from tests.partitions.tables import people, schema_of, whole_frame, write_pieces
from tests.partitions.test_records import assert_same_tree, numbered
from tests.partitions.webhdfs import serve
from tests.workers.runs import CANARY, CASES, keys_of, same_files


@pytest.mark.sweep(2)
@pytest.mark.parametrize("changes", CASES)
def test_a_cluster__writes_the_files_of_one_machine(
    tmp_path: Path, two: Cluster, source: tuple[Path, Schema], changes: dict[str, Any]
) -> None:
    folder, schema = source
    expected = anonymize_files(folder, schema, tmp_path / "here", rows=900, **changes)
    there = tmp_path / "there"
    result = release_on(two, open_table(folder, 900), schema, there, Settings(**changes), rows=900)
    assert result.folder == there
    assert same_files(there, tmp_path / "here")
    assert result.manifest == expected.manifest
    assert result.verification.to_dict() == expected.verification.to_dict()
    assert result.loss == expected.loss
    assert result.after.sizes.tolist() == expected.after.sizes.tolist()
    assert result.to_dict()["provenance"]["engine"] == "dask"
    assert result.digest == expected.digest


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pieces(tmp_path_factory.mktemp("numbers") / "in", numbered(3000)[0], [900, 900, 2100], 500)


@pytest.mark.sweep(1)
@pytest.mark.parametrize("target", ["cost", "diagnosis", None])
def test_sensitive_numbers_on_a_cluster__grow_the_tree_of_one_machine(
    two: Cluster, numbers: Path, target: str | None
) -> None:
    schema = schema_of(whole_frame(numbered(3000)[0]), sensitive=["cost", "visits", "diagnosis"], target=target)
    table = open_table(numbers, 600)
    there, coded = ClusterTable(two, table, schema), code_table(table, schema)
    for enough in (300, 10_000):
        expected, *_ = grow_pieces(coded, Recipe(None, 2), 700, enough)
        assert expected.n_nodes > 5
        assert expected.moments.shape[1] == 6
        assert_same_tree(grow_shares(there, Recipe(None, 2), enough)[0], expected)


@pytest.mark.sweep(1)
@pytest.mark.parametrize(
    "changes",
    [
        {"generalizer": "uniform", "grouping": "error-digression"},
        {"generalizer": "uniform", "grouping": "least", "criterion": "sse"},
        {"generalizer": "refine", "grouping": "error-digression", "l": 2},
    ],
)
def test_sensitive_numbers_on_a_cluster__are_released_as_on_one_machine(
    tmp_path: Path, two: Cluster, numbers: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anonymizer.workers.records.SMALL", 400)  # so that there are waves
    schema = schema_of(whole_frame(numbered(3000)[0]), sensitive=["cost", "visits", "diagnosis"], target="cost")
    expected = anonymize_files(numbers, schema, tmp_path / "here", rows=900, **changes)
    result = release_on(two, open_table(numbers, 900), schema, tmp_path / "there", Settings(**changes), rows=900)
    assert result.manifest == expected.manifest
    assert same_files(tmp_path / "there", tmp_path / "here")
    groups = [some.tree.moments[some.pruning.cut()].tobytes() for some in (result, expected)]
    assert groups[0] == groups[1]
    assert result.verification.to_dict() == expected.verification.to_dict()


def test_waves__grow_the_tree_of_one_machine(two: Cluster, source: tuple[Path, Schema]) -> None:
    table = open_table(source[0], 900)
    there, coded = ClusterTable(two, table, source[1]), code_table(table, source[1])
    for criterion, enough in (("entropy", 500), ("gini", 900), ("entropy", 10_000)):
        expected, *_ = grow_pieces(coded, Recipe(criterion, 2), 1000, enough)
        assert_same_tree(grow_shares(there, Recipe(criterion, 2), enough)[0], expected)
    assert there.sample(77).frame.equals(coded.sample(77).frame)


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("changes", "target"),
    [
        ({"grouping": "least", "cost": "ranks"}, "diagnosis"),
        ({"grouping": "error-risk", "numbers": "range", "l": 2, "t": 0.6}, "diagnosis"),
        ({"grouping": "error-digression", "rsd_min": 0.02}, "cost"),
        ({"grouping": "error-digression", "significance": 0.05}, "cost"),
        ({"grouping": "error-digression", "significance": 0.01, "tested": "leaves"}, "cost"),
    ],
)
def test_packed_groups__are_those_of_one_machine(
    tmp_path: Path, two: Cluster, numbers: Path, changes: dict[str, Any], target: str
) -> None:
    changes = changes | {"generalizer": "pack"}
    schema = schema_of(whole_frame(numbered(3000)[0]), sensitive=["cost", "visits", "diagnosis"], target=target)
    secret = np.random.default_rng(5)
    expected = anonymize_files(numbers, schema, tmp_path / "here", rows=900, rng=secret, override="a test", **changes)
    result = release_on(
        two, open_table(numbers, 900), schema, tmp_path / "there", Settings(**changes), rows=900,
        rng=np.random.default_rng(5), override="a test",
    )  # fmt: skip
    assert result.manifest == expected.manifest
    assert same_files(tmp_path / "there", tmp_path / "here")
    assert result.verification.to_dict() == expected.verification.to_dict()
    assert result.loss == expected.loss
    assert result.to_dict()["method"] == expected.to_dict()["method"]
    assert result.made.method == ("refine" if "tested" in changes else "pack")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Delimited text in four files: one has no record, one is packed, and only a column that does not leave tells of
    the last one that its comma is a decimal mark."""
    folder = tmp_path / "text"
    folder.mkdir()
    table = people(3000, 5).assign(weight="")
    table["age"] = table["age"].fillna(40).astype(int)
    table["income"] = table["income"].map(lambda number: f"{number % 900 + 10:.3f}".replace(".", ","))
    table.loc[2500:, "weight"] = "71,5"
    for number, (start, end) in enumerate([(0, 0), (0, 900), (900, 2000), (2000, 3000)]):
        name = f"part-{number}.csv.gz" if number == 2 else f"part-{number}.csv"
        table[start:end].to_csv(folder / name, index=False, sep=";")
    return folder


def test_delimited_text__is_released_as_on_one_machine(tmp_path: Path, two: Cluster, text: Path) -> None:
    table = open_table(text)
    schema = schema_of(people(3000, 5).assign(weight=""))
    changes: dict[str, Any] = {"generalizer": "uniform", "grouping": "least"}
    expected = anonymize_files(text, schema, tmp_path / "here", rows=900, **changes)
    result = release_on(two, table, schema, tmp_path / "there", Settings(**changes), rows=900)
    assert result.manifest == expected.manifest
    assert same_files(tmp_path / "there", tmp_path / "here")
    assert result.notes == expected.notes
    only = replace(table, pieces=table.pieces[:1])
    with pytest.raises(ReadError, match="has no rows"):
        ClusterTable(two, only, schema)
    there, coded = ClusterTable(two, table, schema), code_table(table, schema)
    assert there.sample(77).frame.equals(coded.sample(77).frame)
    assert sum(there.here.rows) == coded.n_records
    assert coded.columns["income"].values.dtype == np.float64
    with pytest.raises(SchemaError, match="does not fit the table"):
        ClusterTable(two, table, schema_of(people(10)))


def test_one_large_file_of_text__is_shared_out(tmp_path: Path, two: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "RANGE", 20_000)
    source, frame = tmp_path / "one.csv", people(3000, 5)
    frame.to_csv(source, index=False)
    schema, changes = schema_of(frame), {"generalizer": "refine", "grouping": "least"}
    there = ClusterTable(two, open_table(source), schema)
    assert [len(share.table.pieces) > 2 for share in there.shares] == [True, True]
    assert max(there.here.rows) < 1600
    assert there.passed == {source: sha256(source.read_bytes()).hexdigest()}
    assert two.answers(there.digests()) == []  # nobody reads the file again for its digest
    result = release_on(two, open_table(source), schema, tmp_path / "there", Settings(**changes), rows=900)
    monkeypatch.undo()
    expected = anonymize_files(source, schema, tmp_path / "here", rows=900, **changes)
    assert same_files(tmp_path / "there", tmp_path / "here")
    assert result.digest == expected.digest


def test_a_share_without_a_record__answers_every_question(tmp_path: Path, two: Cluster, text: Path) -> None:
    table, schema = open_table(text), schema_of(people(3000, 5).assign(weight=""))
    there = ClusterTable(two, table, schema)
    first, *rest = (replace(there.shares[0], number=at, table=replace(table, pieces=(piece,)))
                    for at, piece in enumerate(table.pieces))  # fmt: skip
    there.shares = (first, *rest)
    reads = [two.ask("read", shares.read, share, share=share.number) for share in there.shares]
    there.coding = two.ask("merge", shares.merge, reads, table, schema, ReadOptions())
    there.here = two.answer(there.coding)
    assert there.here.rows == (0, 900, 1100, 1000)
    coded = code_table(table, schema)
    expected, *_ = grow_pieces(coded, Recipe("entropy", 2), 1000, 400)
    assert_same_tree(grow_shares(there, Recipe("entropy", 2), 400)[0], expected)
    assert there.sample(77).frame.equals(coded.sample(77).frame)


# Nothing gets out.


def test_sockets_listen_on_the_loopback_address__and_logs_hold_no_value(
    tmp_path: Path, two: Cluster, source: tuple[Path, Schema], capfd: pytest.CaptureFixture[str]
) -> None:
    assert two.address.startswith("tls://127.0.0.1:")
    for pid in [os.getpid(), *(process.pid for process in two.processes)]:
        for socket in psutil.Process(pid).net_connections("inet"):
            assert socket.laddr.ip == "127.0.0.1" or socket.status != psutil.CONN_LISTEN, socket
    assert two.folder is not None
    assert two.folder.stat().st_mode & 0o777 == 0o700
    table = ClusterTable(two, open_table(source[0], 900), source[1])
    assert CANARY in set(table.here.table.columns["town"].values)
    spoilt = two.ask("spoilt", leaving.sample, table.shares[0], table.coding, np.array([10**9]), None, share=0)
    with pytest.raises(ClusterError, match=r"'sample' of share 0 failed on a worker: IndexError in leaving\.py"):
        two.answer(spoilt)
    words = "".join(capfd.readouterr())
    words += str(two.client.get_worker_logs()) + str(two.client.get_scheduler_logs())
    words += "".join(path.read_text("utf-8", "replace") for path in two.folder.rglob("*") if path.is_file())
    assert CANARY not in words
    assert "asthma" not in words


def test_damaged_text_and_packing__leave_no_value_in_logs(
    tmp_path: Path, two: Cluster, text: Path, source: tuple[Path, Schema], capfd: pytest.CaptureFixture[str]
) -> None:
    schema, good = schema_of(people(9).assign(weight="")), text / "part-3.csv"
    before = good.read_text("utf-8")
    good.write_text(before + f"1;2;{CANARY};{CANARY}\n", "utf-8")
    with pytest.raises(ReadError, match=r"part-3\.csv cannot be read") as refusal:
        ClusterTable(two, open_table(text), schema)
    columns = before.splitlines()[-1].split(";")
    good.write_text(before + ";".join([CANARY, *columns[1:]]) + "\n", "utf-8")
    with pytest.raises(EncodeError, match="'age' is numeric") as other:
        ClusterTable(two, open_table(text), schema)
    packed = Settings(generalizer="pack", grouping="least")
    release_on(two, open_table(source[0], 900), source[1], tmp_path / "out", packed, rows=900)
    words = "".join(capfd.readouterr()) + str(refusal.value) + str(other.value)
    words += str(two.client.get_worker_logs()) + str(two.client.get_scheduler_logs())
    assert two.folder is not None
    words += "".join(path.read_text("utf-8", "replace") for path in two.folder.rglob("*") if path.is_file())
    assert CANARY not in words
    assert "asthma" not in words


def test_what_goes_wrong__is_an_answer_without_values() -> None:
    @questions.guarded
    def spoil(value: str) -> str:
        raise ValueError(f"{value} is no number")

    answer: Any = spoil(CANARY)
    assert isinstance(answer, Failure)
    assert CANARY not in str(answer)
    assert "ValueError" in answer.problem
    again: Any = questions.guarded(lambda values: values)([answer])
    assert again is answer


# Questions.


@guarded
def too_large(share: int) -> None:
    np.empty(1 << 60, np.int8)


def test_too_little_memory__is_said_with_what_helps() -> None:
    failure = too_large(0)
    assert failure.problem == "A worker has too little memory for the step 'too_large'."
    assert "more memory" in failure.remedy


def test_a_question__asked_twice_and_of_another_worker_has_one_answer(
    two: Cluster, source: tuple[Path, Schema], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ClusterTable(two, open_table(source[0], 900), source[1])
    questions = []
    for place in two.workers():
        monkeypatch.setattr(two, "place", lambda number, place=place: place)
        questions += table.ask("read-again", lambda share, coding: shares.read(share)), table.ask("read-again", again)
    first, second, *others = [two.answers(of_shares) for of_shares in questions]
    assert [sorted(tallies.columns) for tallies in first] == [sorted(tallies.columns) for tallies in others[0]]
    for one, other in zip(second, others[1], strict=True):
        assert {name: codes.tolist() for name, codes in one.items()} == {
            name: codes.tolist() for name, codes in other.items()
        }


def again(share: Share, coding: shares.Coding) -> dict[str, Any]:
    return dict(shares.codes_of(share, coding))


@pytest.mark.parametrize(("sizes", "rows"), [([3, 4, 1], 2), ([10], 3), ([1, 1, 1, 1], 4), ([2, 5], 100)])
def test_spans__have_every_row_once(sizes: list[int], rows: int) -> None:
    classes = np.repeat(np.arange(len(sizes)), sizes)
    rows_of_all: list[int] = []
    for span in leaving.spans(np.array(sizes), rows):
        inside = np.flatnonzero((classes >= span.low) & (classes < span.high))
        rows_of_all += inside[span.skip : span.skip + span.rows].tolist()
    assert rows_of_all == list(range(len(classes)))


# The terminal.


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--suppression", "2%"], "takes one table in memory"),
        (["--generalizer", "tiered"], "takes one table in memory"),
        (["--generalizer", "polish"], "'polish' takes one machine"),
        (["--order", "secret"], "takes one machine"),
        (["--scheduler", "tcp://10.0.0.7:1"], "nothing would be encrypted"),
        (["--scheduler", "tls://127.0.0.1:1", "--workers", "2"], "has its own workers"),
        (["--workers", "0"], "at least one worker"),
        (["--memory", "much"], "no amount of memory"),
    ],
)
def test_what_a_cluster_cannot_do__is_one_sentence(
    tmp_path: Path, source: tuple[Path, Schema], capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    roles = tmp_path / "roles.json"
    roles.write_text(source[1].to_json(), "utf-8")
    plain = [] if "--generalizer" in options else ["--generalizer", "uniform"]
    arguments = ["anonymize", str(source[0]), "--schema", str(roles), "--out", str(tmp_path / "out"), *plain]
    assert main([*arguments, "--engine", "dask", *options]) == 2
    assert sentence in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["roles.json"]


@pytest.mark.sweep(0)
def test_files_at_an_address__are_read_by_workers(
    tmp_path: Path, two: Cluster, source: tuple[Path, Schema], text: Path
) -> None:
    pytest.importorskip("fsspec")
    how: dict[str, Any] = {"generalizer": "uniform", "grouping": "least"}
    for name, folder, schema in (("rows", *source), ("text", text, schema_of(people(9).assign(weight="")))):
        anonymize_files(folder, schema, tmp_path / f"{name}-here", rows=900, **how)
        with serve(folder.parent) as address:
            table = open_table(f"{address}/{folder.name}", 900)
            there = ClusterTable(two, table, schema)
            assert len(there.shares) == 2
            release_on(two, table, schema, tmp_path / f"{name}-there", Settings(**how), rows=900)
        assert same_files(tmp_path / f"{name}-there", tmp_path / f"{name}-here")
    if find_spec("s3fs"):
        return
    piece = replace(table.pieces[0], path=RemoteFile("s3://bucket/x.parquet"))
    share = replace(there.shares[0], run=there.shares[0].run + "x", table=replace(table, pieces=(piece,), delimiter=""))
    with pytest.raises(ReadError, match=r"x\.parquet cannot be opened at its address \(ImportError\)"):
        two.answer(two.ask("read", shares.read, share, share=0))


def test_addresses_of_one_process__are_not_of_a_cluster(
    tmp_path: Path, source: tuple[Path, Schema], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, schema = source
    (tmp_path / "roles.json").write_text(schema.to_json(), "utf-8")
    common = ["--schema", str(tmp_path / "roles.json"), "--generalizer", "uniform", "--engine", "dask"]
    with pytest.raises(ParameterError, match="memory://"):
        anonymize_files("memory://in", schema, tmp_path / "out", engine="dask", generalizer="uniform")
    assert sorted(os.listdir(tmp_path)) == ["roles.json"]
    file = folder.as_uri()
    assert main(["anonymize", file, "--out", str(tmp_path / "out"), *common, "--workers", "0"]) == 2
    assert "at least one worker" in capsys.readouterr().err


def test_options_of_a_cluster__are_of_dask_alone(
    tmp_path: Path, source: tuple[Path, Schema], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["anonymize", str(source[0]), "--out", str(tmp_path / "out"), "--engine", "local", "--workers", "2"]
    assert main(arguments) == 2
    assert "--workers is of a cluster" in capsys.readouterr().err


def test_without_dask__the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ParameterError, match=re.escape(how_to_install("dask"))), open_cluster(workers=1):
        pass


@pytest.mark.sweep(0)
def test_a_run_from_the_terminal__joins_a_scheduler_with_tls(
    tmp_path: Path, two: Cluster, source: tuple[Path, Schema], text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import dask.config

    tls = keys_of(two, tmp_path)
    plain = ["--generalizer", "uniform", "--grouping", "least", "--engine", "dask", "--scheduler", two.address]
    for name, (folder, schema) in {
        "columns": source,
        "lines": (text, schema_of(people(9).assign(weight=""))),
    }.items():
        (tmp_path / "roles.json").write_text(schema.to_json(), "utf-8")
        out = tmp_path / name
        with dask.config.set(tls):
            assert main(["anonymize", str(folder), "--schema", str(tmp_path / "roles.json"), "--out", str(out), *plain,
                         "--json"]) == 0  # fmt: skip
        assert json.loads(capsys.readouterr().out)["provenance"]["engine"] == "dask"
        anonymize_files(folder, schema, tmp_path / f"{name}-here", generalizer="uniform", grouping="least")
        assert same_files(out, tmp_path / f"{name}-here")
    assert len(two.workers()) == 2
