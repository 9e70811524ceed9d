"""What each engine can do: what it says it can, it does; and whoever does what a refusal says gets a release."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonymizer as an
from anonymizer.abilities import CHOICES, ENGINES, SOURCES, Need, can, require, source_of
from anonymizer.cli.main import main
from anonymizer.cuts import Cuts
from anonymizer.engines import anonymize_files
from anonymizer.errors import ParameterError
from anonymizer.groups.recipe import fitting_groupings
from anonymizer.partitions.pieces import open_table
from anonymizer.reading.files import IN_PIECES, endings
from anonymizer.releasing.release import ORDERS
from anonymizer.schema import Schema
from anonymizer.settings import SETTINGS, Settings, names_of
from anonymizer.workers.remote import release_on
from tests.partitions.tables import people, schema_of, visits, visits_schema, whole_frame, write_pieces
from tests.partitions.test_records import assert_same_tree
from tests.partitions.test_run import rows_of, same_rows
from tests.workers.test_shares import Here

FRAME = people(300, 2)
WHOLE = pa.Table.from_pandas(FRAME, preserve_index=False)
SCHEMA = schema_of(FRAME, sensitive=["diagnosis", "ward"])
ON: dict[str, dict[str, Any]] = {
    "suppression": {"suppression": 0.1},
    "regression": {"regression": "income ~ age"},
    "population": {"k_map": 5},
    "cuts": {},
}
"""Settings with which each choice is on; cuts are of the schema."""
WHERE = {"file": "in.parquet", "files": "in/*.parquet", "address": "s3://bucket/in", "memory address": "memory://in",
         "format": "in.xlsx"}  # fmt: skip
CASES = [
    (engine, generalizer, order, tree, choice, where)
    for engine, generalizer, order, tree, choice, where in product(
        ENGINES, ("uniform", "polish", "tiered", "pack-persons"), ORDERS,
        ({}, {"criterion": "blend"}, {"criterion": "in-order"}, {"grouping": "median-mondrian"}), (None, *ON), WHERE,
    )
]  # fmt: skip


def follow(way: str, settings: dict[str, Any], schema: Schema, where: str) -> list[tuple[Any, ...]]:
    """Return the engine, settings, schema and source of everything that a remedy says, ``None`` for the same engine."""
    runs: list[tuple[Any, ...]] = [(None, settings, schema, where)]
    if "--engine" in way:
        where = "in.parquet" if "one file that is here" in way else where
        return [(name, settings, schema, where) for name in re.findall(r"--engine (\w+)", way)]
    for part in way.split(" and "):
        if choose := re.fullmatch(r"choose --(\w+) (.+)", part):
            names = re.split(", | or ", choose[2])
            runs = [(None, {**some, choose[1]: name}, *rest) for _, some, *rest in runs for name in names]
            continue
        choice = next((name for name, (_, without) in CHOICES.items() if without == part), None)
        source = next((name for name, (_, without) in SOURCES.items() if without == part), None)
        assert choice or source, part
        for at, (_, some, roles, place) in enumerate(runs):
            off = {name: SETTINGS[name].default for name in ON.get(choice or "", {})}
            roles = schema_of(FRAME, sensitive=["diagnosis", "ward"]) if choice == "cuts" else roles
            runs[at] = None, {**some, **off}, roles, "in.parquet" if source else place
    return runs


def refusal(engine: str, settings: dict[str, Any], schema: Schema, where: str) -> ParameterError | None:
    """Return why an engine does not do something."""
    try:
        require(engine, Settings(**settings), schema, where)
    except ParameterError as error:
        return error
    return None


@pytest.mark.parametrize("ending", endings())
def test_a_file__is_known_by_every_ending_that_is_read(ending: str) -> None:
    whole = ending not in (*IN_PIECES, "gz")
    assert source_of(f"people.{ending}") == source_of(f"PEOPLE.{ending.upper()}") == ("format" if whole else "file")
    assert source_of(f"people.{ending}.gz") == source_of(f"people.{ending}")


def test_every_refusal__says_what_is_not_refused() -> None:
    refused = 0
    for engine, generalizer, order, tree, choice, where in CASES:
        settings = {"generalizer": generalizer, "order": order, **tree, **ON.get(choice or "", {})}
        schema = SCHEMA.with_column("age", cuts=Cuts(bands=(30.0, 60.0))) if choice == "cuts" else SCHEMA
        error = refusal(engine, settings, schema, WHERE[where])
        if error is None:
            continue
        refused += 1
        assert re.fullmatch(r"[^.]+ takes [^.]+\.", error.problem), error.problem
        remedy = error.remedy[0].lower() + error.remedy[1:].removesuffix(".")
        for way in remedy.split("; or "):
            for other, some, roles, place in follow(way, settings, schema, WHERE[where]):
                assert refusal(other or engine, some, roles, place) is None, remedy
    assert refused > len(CASES) // 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pieces(tmp_path_factory.mktemp("pieces") / "in", WHOLE, [90])


def able(engine: str, kind: str, names: Any) -> list[str]:
    return [name for name in names if can(engine, Need(kind, name, ""))]


HOW = {"generalizer": "uniform", "k": 3, "override": "a test"}


@pytest.mark.parametrize("engine", ["local", "dask"])
@pytest.mark.parametrize("target", ["diagnosis", "income"])
def test_what_an_engine_can_do__it_does(tmp_path: Path, folder: Path, engine: str, target: str) -> None:
    quasi = [name for name in ("age", "born", "job", "town") if name != target]
    schema = schema_of(
        whole_frame(WHOLE), quasi_identifying=quasi,
        sensitive=["diagnosis", "income"], target=target,
    )  # fmt: skip
    fitting = [
        name for name in names_of("criterion") if (name == "sse") == schema.by_numbers or name in ("blend", "in-order")
    ]
    ways: list[dict[str, Any]] = [
        *(
            {"generalizer": name}
            for name in able(engine, "generalizer", names_of("generalizer"))
            if name != "pack-persons"
        ),
        *({"grouping": name} for name in able(engine, "grouping", fitting_groupings(schema))),
        *({"criterion": name} for name in able(engine, "criterion", fitting)),
        *({"order": name} for name in able(engine, "order", ORDERS)),
    ]
    for number, way in enumerate(ways):
        how, out = {**HOW, **way}, tmp_path / str(number)
        override = how.pop("override")
        if engine == "local":
            result = anonymize_files(folder, schema, out, override=override, rng=np.random.default_rng(3), **how)
        else:
            require(engine, Settings(**how), schema, folder)
            here: Any = Here()
            secret = np.random.default_rng(3)
            result = release_on(here, open_table(folder), schema, out, Settings(**how), rng=secret, override=override)
        assert result.folder == out, (way, result.gate.open)


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("target", "way"),
    [
        ("diagnosis", {"grouping": "median-mondrian"}),
        ("income", {"grouping": "median-mondrian"}),
        ("diagnosis", {"criterion": "blend", "weight": 0.3}),
        ("income", {"criterion": "blend"}),
        ("diagnosis", {"grouping": "infogain-mondrian"}),
        ("income", {"grouping": "regression-mondrian"}),
    ],
)
def test_baselines_and_blends_in_pieces__have_the_groups_of_the_whole(
    tmp_path: Path, folder: Path, target: str, way: dict[str, Any]
) -> None:
    frame = whole_frame(WHOLE)
    schema = schema_of(
        frame, quasi_identifying=["age", "born", "job", "town"], sensitive=["diagnosis", "income"], target=target
    )
    settings = {"generalizer": "uniform", "k": 5, **way}
    here = anonymize_files(folder, schema, tmp_path / "out", override="a test", **settings)
    whole = an.anonymize(frame, schema, **settings)
    assert_same_tree(here.tree, whole.tree)
    assert here.pruning.cut().tolist() == whole.pruning.cut().tolist()
    assert same_rows(rows_of(tmp_path / "out"), whole.release.frame())


def test_persons_together__are_released_in_pieces(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(visits(600, 3), preserve_index=False)
    source = write_pieces(tmp_path / "in", table, [200])
    schema = visits_schema(whole_frame(table))
    result = anonymize_files(source, schema, tmp_path / "out", generalizer="pack-persons", k=3, prosecutor_limit=1)
    assert result.folder is not None
    with pytest.raises(ParameterError, match="'pack-persons' takes one machine"):
        anonymize_files(source, schema, tmp_path / "other", generalizer="pack-persons", engine="dask")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--engine", "memory", "--out", "out.csv"],
            "A table in a folder or many files takes work in pieces. Choose",
        ),
        (
            ["--engine", "local", "--check"],
            "--check takes one table in memory. Choose one file that is here, and",
        ),
        (["--engine", "dask", "--fraction", "0.1"], "--fraction takes one table in memory"),
        (
            ["--engine", "dask", "--criterion", "blend"],
            "'blend' takes one machine. Choose --engine local; or choose",
        ),
        (["--engine", "dask", "--grouping", "median-mondrian"], "'median-mondrian' takes one machine"),
    ],
)
def test_a_refusal__comes_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "part.parquet").write_text("no Parquet at all")
    out = [] if "--out" in options else ["--out", str(tmp_path / "out")]
    assert main(["anonymize", str(tmp_path / "in"), "--generalizer", "uniform", *out, *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
