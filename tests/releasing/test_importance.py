"""The importance of columns: the detail of some counts more where groups are made, so that a later release keeps it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import anonymizer as an
from anonymizer.cli.main import main
from anonymizer.engines import anonymize_files
from anonymizer.errors import SchemaError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier
from anonymizer.provenance.claim import claim_from
from anonymizer.reading.samples import hospital
from anonymizer.schema import Role, Schema
from anonymizer.settings import Settings
from tests.partitions.tables import people, schema_of, write_pieces

QI = ["age", "sex", "postcode", "occupation"]
TABLE = hospital(600, 5)[[*QI, "diagnosis"]]
SCHEMA = Schema.of(TABLE, quasi_identifying=QI, sensitive=["diagnosis"])


def important(*names: str, number: float = 3) -> Schema:
    schema = SCHEMA
    for name in names:
        schema = schema.with_column(name, importance=number)
    return schema


def losses(schema: Schema, generalizer: str) -> dict[str, float]:
    """What each column loses in packed groups."""
    result = an.anonymize(TABLE, schema, k=8, grouping="error-risk", generalizer=generalizer)
    assert result.verification.passed
    return dict(result.utility.ncp_by_column)


@pytest.mark.parametrize("generalizer", ["pack", "polish", "refine"])
def test_important_column__keeps_more(generalizer: str) -> None:
    before = losses(SCHEMA, generalizer)
    for name in ("age", "occupation"):
        after = losses(important(name, number=6), generalizer)
        assert after[name] < before[name]
        assert sum(after.values()) > sum(before.values()) - 1e-3


def test_equal_importance__changes_nothing() -> None:
    """Only what it is beside the others counts, but for rounding: powers of two lose nothing by it."""
    release = an.anonymize(TABLE, SCHEMA, k=8, generalizer="pack").release.to_bytes("csv")
    twice = important(*QI, number=2)
    assert an.anonymize(TABLE, twice, k=8, generalizer="pack").release.to_bytes("csv") == release


def test_later_release__of_important_columns_alone_keeps_more() -> None:
    """The second release has two of four columns, in groups that keep those of the first."""
    later = ["age", "sex"]
    second = replace(SCHEMA, columns=tuple(
        replace(one, role=Role.INSENSITIVE) if one.name in QI and one.name not in later else one
        for one in SCHEMA.columns
    ))  # fmt: skip
    lost = []
    for first in (SCHEMA, important(*later, number=4)):
        flow = Flow(TABLE, first, Settings(k=8, generalizer="pack"))
        keeping = Flow(TABLE, second, flow.settings, earlier=[Earlier(flow.class_of, 8)], keep=True)
        cells = pd.DataFrame({"first": flow.class_of, "second": keeping.class_of})
        assert cells.value_counts().min() >= 8
        lost.append(keeping.utility.gcp)
    assert lost[1] < lost[0]


def test_pieces__are_released_as_the_whole_table(tmp_path: Path) -> None:
    frame = people(900, 3)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    folder = write_pieces(tmp_path / "in", table, [400, 500], 300)
    schema = schema_of(frame)
    name = schema.quasi_identifying[0]
    digests = []
    for importance in (1.0, 5.0):
        own = schema.with_column(name, importance=importance)
        result = anonymize_files(
            folder, own, tmp_path / f"out {importance}", rng=np.random.default_rng(1), generalizer="pack"
        )
        digests.append(result.to_dict()["utility"]["ncp_by_column"][name])
    assert digests[1] < digests[0]


@pytest.mark.parametrize("number", [0, -1, 0.05, 11, float("nan"), float("inf"), "much"])
def test_importance__is_a_number_that_makes_sense(number: object) -> None:
    with pytest.raises(SchemaError):
        SCHEMA.with_column("age", importance=number)


def test_importance__is_kept_in_a_file() -> None:
    schema = important("age", number=2.5)
    assert Schema.from_json(schema.to_json()) == schema
    assert "importance" not in SCHEMA.to_json()


def test_terminal__takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("people.csv", index=False)
    run = ["anonymize", "people.csv", "--quasi-identifying", ",".join(QI), "--sensitive", "diagnosis", "--k", "8"]
    assert main([*run, "--importance", "age=4", "--out", "out.csv", "--report", "report.json"]) == 0
    assert claim_from(Path("report.json").read_bytes()).schema["age"].importance == 4
    capsys.readouterr()
    for words, problem in (
        (["diagnosis=2"], "has no importance"),
        (["age=x"], "age"),
        (["age=100"], "must be 0.1 to 10"),
    ):
        assert main([*run, "--importance", *words]) == 2
        assert problem in capsys.readouterr().err
