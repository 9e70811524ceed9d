"""The report: JSON that says what was done and holds no record, and commands that do it again."""

import hashlib
import io
import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from anonymizer.cli.main import main
from anonymizer.digests import digest
from anonymizer.errors import AnonymizerError, ReadError, SchemaError
from anonymizer.growing.records import descend
from anonymizer.pipeline import Result, anonymize
from anonymizer.provenance.report import check_line, commitment, provenance, schema_from
from anonymizer.reading.files import Reading, ReadOptions, read_table
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital, sample_reading
from anonymizer.releasing.generalize import GENERALIZERS, GUARANTEES
from anonymizer.releasing.release import FORMATS, read_release
from anonymizer.schema import Schema
from anonymizer.settings import RUN, setting_names
from anonymizer.values import number_text
from tests.conftest import run_python
from tests.groups.test_refine import random_table
from tests.reasons import anonymize_with_reasons
from tests.sweeps import SWEEPS

N = 240


@cache
def run_of(generalizer: str = "uniform") -> tuple[Reading, Result]:
    content = hospital(N, 4).to_csv(index=False).encode()
    reading = read_table(content, name="people.csv")
    return reading, anonymize(reading.frame, suggest(reading.frame), generalizer=generalizer, k=5, reading=reading)


def every_list(value: Any) -> list[list[Any]]:
    """All lists inside a JSON value."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ([value] if isinstance(value, list) else []) + [inner for part in inside for inner in every_list(part)]


# What it holds.


@pytest.mark.sweep(3)
@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_json__is_the_dictionary_and_round_trips(generalizer: str) -> None:
    _, result = run_of(generalizer)
    read = json.loads(result.report.to_json())
    assert read == json.loads(json.dumps(result.report.to_dict(), allow_nan=False))
    assert list(read) == list(result.report.to_dict())
    assert read["passed"] == result.verification.passed
    assert read["what_it_is"] == result.verification.describe()
    assert read["verification"]["checks"] == json.loads(json.dumps(result.verification.to_dict()["checks"]))
    assert read["utility"]["gcp"] == result.utility.gcp
    assert read["method"]["promises"] == GUARANTEES[generalizer].gives
    assert read["method"]["does_not_promise"] == GUARANTEES[generalizer].does_not
    assert read["method"]["k_anonymous_by_construction"] == GUARANTEES[generalizer].strict
    assert read["override"] is None


@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_json__holds_no_value_that_was_not_released(generalizer: str) -> None:
    reading, result = run_of(generalizer)
    text = result.report.to_json()
    for name in ("name", "email"):
        assert not [value for value in reading.frame[name] if str(value) in text]
    assert not [value for value in reading.frame["cost"] if f"{value}" in text]
    columns = json.loads(text)["provenance"]["schema"]["columns"]
    assert [column for column in columns if "domain" in column] == []


def test_json__holds_no_order_of_rows() -> None:
    _, result = run_of()
    lists = every_list(json.loads(result.report.to_json()))
    assert lists
    assert max(map(len, lists)) < N // 2
    assert not any(sorted(map(str, one)) == sorted(map(str, range(N))) for one in lists)


def test_figures__are_those_of_the_tables() -> None:
    reading, result = run_of()
    risk = json.loads(result.report.to_json())["linking_risk"]
    names = list(result.schema.quasi_identifying)
    for moment, frame in (("before", reading.frame), ("after", read_release(result.release.to_bytes()))):
        sizes = frame[names].astype(object).where(frame[names].notna(), "(missing)").astype(str).value_counts()
        assert risk[moment] == pytest.approx(
            {
                "records": N,
                "groups": len(sizes),
                "unique_records": int((sizes == 1).sum()),
                "smallest_group": int(sizes.min()),
                "mean_group": float(sizes.mean()),
                "prosecutor_highest": 1 / sizes.min(),
                "journalist_highest": 1 / sizes.min(),
                "marketer": len(sizes) / N,
            }
        )


def test_digests__are_those_of_the_files(tmp_path: Path) -> None:
    reading, result = run_of()
    output = {}
    for format in FORMATS:
        path = tmp_path / f"released.{format}"
        result.release.write(path)
        output[format] = digest(result.release.to_bytes(format))
        assert output[format] == hashlib.sha256(path.read_bytes()).hexdigest()
    report = result.report.with_output(output, "the board agreed")
    content = json.loads(report.to_json())
    assert content["provenance"]["output_sha256"] == output
    assert content["override"] == "the board agreed"
    source = content["provenance"]["input"]
    sha256 = hashlib.sha256(hospital(N, 4).to_csv(index=False).encode()).hexdigest()
    assert source["commitment"] == commitment(sha256, source["key"])
    assert sha256 not in report.to_json()
    assert source["records"] == N
    assert result.report.provenance.output == {}
    assert result.report.override == ""


def test_provenance__names_versions_time_and_every_parameter() -> None:
    _, result = run_of()
    provenance = result.report.to_dict()["provenance"]
    assert set(provenance["parameters"]) == set(setting_names(*RUN))
    assert provenance["versions"]["numpy"] == np.__version__
    assert "absent" not in provenance["versions"].values()
    age = pd.Timestamp.now("UTC") - pd.Timestamp(provenance["time"])
    assert pd.Timedelta(0) <= age + pd.Timedelta(seconds=1) < pd.Timedelta(hours=1)


def test_a_table_that_came_from_no_file() -> None:
    reading, result = run_of()
    bare = anonymize(reading.frame, result.schema, k=5).report.to_dict()["provenance"]
    assert bare["input"] == {"name": "TABLE", "commitment": "", "key": "", "records": N, "read_with": {}}
    assert "TABLE" in shlex.split(bare["command"])


def test_notes__are_those_of_the_encoding() -> None:
    table = pd.DataFrame({"x": np.arange(200.0), "s": list("ab") * 100, "constant": [7.0] * 200})
    schema = Schema.of(table, quasi_identifying=["x"], sensitive=["s", "constant"])
    result = anonymize(table, schema, k=5)
    assert result.report.to_dict()["notes"] == list(result.encoded.notes)


# The schema in it.


def test_schema_from__a_report_and_a_schema(tmp_path: Path) -> None:
    _, result = run_of()
    report, alone = tmp_path / "report.json", tmp_path / "schema.json"
    report.write_text(result.report.to_json(), "utf-8")
    alone.write_text(result.schema.to_json(), "utf-8")
    assert schema_from(report) == schema_from(alone) == result.schema


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\x00", b"[]", b"{}", b"null", b'"x"', b'{"provenance": []}', b'{"provenance": {"schema": []}}',
     b'{"columns": 3}', b'{"columns": [{"role": "sensitive"}]}', b"{" * 50],
)  # fmt: skip
def test_schema_from__anything_else(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    with pytest.raises((ReadError, SchemaError)) as caught:
        schema_from(path)
    assert str(caught.value).count("\n") == 0
    with pytest.raises(AnonymizerError):
        schema_from(tmp_path / "absent.json")


# Doing it again.


class Again(NamedTuple):
    """A file as it is named and read, how its columns are described, and what is asked of the run."""

    name: str
    content: bytes
    described: dict[str, Any]
    parameters: dict[str, Any] = {}
    options: ReadOptions = ReadOptions()


def people(**changes: Any) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 120),
            "zip": rng.integers(10, 30, 120) * 100,
            "sex": rng.choice(["f", "m"], 120),
            "level": rng.choice(["low", "mid", "top"], 120),
            "ill": rng.choice(["flu", "cold", "gout"], 120),
            "pay": rng.integers(100, 900, 120) / 8,
        }
    )
    return table.rename(columns=changes)


def csv(table: pd.DataFrame, encoding: str = "utf-8", **options: Any) -> bytes:
    return table.to_csv(index=False, **options).encode(encoding)


def parquet(table: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    table.to_parquet(sink, index=False)
    return sink.getvalue()


ODD = {"zip": "-zip", "sex": "sex, or not", "level": "le=vel", "ill": "--ill"}
PLAIN = {"quasi_identifying": ["age", "zip", "sex"], "sensitive": ["ill", "pay"]}
MARKED = people().assign(sex=np.resize(["f", "m", "NA", "", "n/k"], 120))
AGAIN = {
    "plain": Again("people.csv", csv(people()), PLAIN),
    "blanks and quotes in the name": Again("my 'people' $HOME.csv", csv(people()), PLAIN),
    "comma decimals": Again("people.csv", csv(people(sex="Größe"), "cp1252", sep=";", decimal=","),
                            {"quasi_identifying": ["age", "Größe"], "sensitive": ["pay"]},
                            {"grouping": "error-digression", "significance": 0.01}),
    "a text that is a value": Again("people.csv", csv(MARKED), PLAIN, {}, ReadOptions(keep=("NA",))),
    "another mark of missing": Again("people.csv", csv(MARKED), PLAIN, {}, ReadOptions(missing=("n/k", "-x"))),
    "nothing is missing": Again("people.csv", csv(MARKED), PLAIN, {}, ReadOptions(missing=())),
    "no header": Again("people.tsv", csv(people(), sep="\t", header=False),
                       {"quasi_identifying": [0, 1, 2], "sensitive": [4]}, {}, ReadOptions(header=False)),
    "kinds": Again("people.csv", csv(people()), PLAIN | {"kinds": {"zip": "categorical"}}),
    "domains and order": Again("people.csv", csv(people()),
                               {"quasi_identifying": ["age", "level"], "sensitive": ["ill"], "identifying": ["zip"],
                                "domains": {"age": (0, 120), "level": ("low", "mid", "top")}, "ordered": ["level"]}),
    "names for no command line": Again("people.parquet", parquet(people(**ODD)),
                                       {"quasi_identifying": ["age", "-zip", "sex, or not", "le=vel"],
                                        "sensitive": ["--ill"], "kinds": {"-zip": "categorical"}}),
    "an equals sign": Again("people.parquet", parquet(people(zip="z=ip")),
                            {"quasi_identifying": ["age", "z=ip"], "sensitive": ["ill"], "identifying": ["level"],
                             "kinds": {"z=ip": "categorical"}}),
    "another target": Again("people.csv", csv(people()), PLAIN | {"target": "pay"}, {"min_leaf": 4, "max_depth": 5}),
    "a blend": Again("people.csv", csv(people()), PLAIN, {"criterion": "blend", "weight": 0.3}),
    "limits": Again("people.csv", csv(people()), PLAIN,
                    {"l": 2, "entropy_l": 1.5, "t": 0.6, "rsd_min": 0.2, "spread_min": 0.2}),
    "gini, tiers": Again("people.csv", csv(people()), PLAIN,
                         {"criterion": "gini", "generalizer": "tiered-strict", "grouping": "error-risk"}),
    "a baseline, counts and means": Again(
        "people.csv", csv(people()), PLAIN,
        {"grouping": "infogain-mondrian", "writing": "weighted", "numbers": "mean", "min_leaf": 7}),
    "a baseline and a limit": Again("people.csv", csv(people()), PLAIN, {"grouping": "median-mondrian", "l": 2}),
    "concatenated": Again("people.csv", csv(people()), PLAIN, {"generalizer": "concatenate", "numbers": "median"}),
    "refined": Again("people.csv", csv(people()), PLAIN, {"generalizer": "refine", "l": 2, "rsd_min": 0.1}),
}  # fmt: skip


def rows_of(released: pd.DataFrame) -> list[tuple[str, ...]]:
    return sorted(released.astype(object).where(released.notna(), "").astype(str).itertuples(index=False, name=None))


def run_again(name: str) -> tuple[Again, Result]:
    """The first run, from the bytes; its file and report are then in the working folder."""
    again = AGAIN[name]
    Path(again.name).write_bytes(again.content)
    reading = read_table(again.content, name=again.name, options=again.options)
    headers = list(reading.frame.columns)
    described = {
        key: [headers[c] if isinstance(c, int) else c for c in value] if isinstance(value, list) else value
        for key, value in again.described.items()
    }
    schema = Schema.of(reading.frame, **described)
    settings = {"k": 6, "generalizer": "uniform"} | again.parameters
    result = anonymize_with_reasons(reading.frame, schema, how={"reading": reading}, **settings)
    Path("REPORT.json").write_text(result.report.to_json(), "utf-8")
    return again, result


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", AGAIN)
def test_command__makes_the_same_release_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    again, result = run_again(name)
    assert result.report.after.groups > 1, "a single group would be the same whatever the command says"
    words = shlex.split(result.report.provenance.command)
    assert words[:4] == ["python", "-m", "anonymizer", "anonymize"]
    assert main(words[3:]) == 0, capsys.readouterr().err
    second = json.loads(Path("REPORT-2.json").read_text("utf-8"))
    assert rows_of(read_release("RELEASE.csv")) == rows_of(read_release(result.release.to_bytes()))
    assert second["utility"]["gcp"] == pytest.approx(result.utility.gcp)
    assert second["linking_risk"] == result.report.to_dict()["linking_risk"]
    first = json.loads(result.report.to_json())["provenance"]
    secret = ("commitment", "key")  # drawn anew for each report
    for source in (first["input"], second["provenance"]["input"]):
        assert len({source.pop(name) for name in secret}) == 2
    assert second["provenance"]["input"] == first["input"]
    assert second["provenance"]["parameters"] == first["parameters"]
    assert Schema.from_json(json.dumps(second["provenance"]["schema"])) == result.schema
    assert second["provenance"]["output_sha256"]["csv"] == hashlib.sha256(Path("RELEASE.csv").read_bytes()).hexdigest()


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", AGAIN)
def test_check_line__agrees_with_the_report(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _, result = run_again(name)
    for format in result.release.formats if name == "plain" else ("csv",):
        result.release.write(f"released.{format}")
        words = shlex.split(check_line(result.report.provenance, f"released.{format}", "REPORT.json"))
        assert main([*words[3:], "--json"]) == 0, capsys.readouterr().err
        checked = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
        made = {check["name"]: check for check in result.verification.to_dict()["checks"]}
        assert checked.pop("file")["passed"] is True
        assert list(checked) == list(made)
        for title, check in made.items():
            assert checked[title]["required"] == check["required"]
            assert checked[title]["passed"] == check["passed"]
            assert checked[title]["achieved"] == pytest.approx(check["achieved"])


def test_python__makes_the_same_releases_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts, releases = {}, {}
    for number, name in enumerate(list(AGAIN)[:: 1 if SWEEPS else 4]):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        _, result = run_again(name)
        scripts[str(folder)], releases[folder] = result.report.provenance.python, result
    each = "    os.chdir(folder)\n    print(folder)\n    exec(script, {})"
    # In one process: to begin one takes longer than a small release.
    run_python(["-c", f"import os\nfor folder, script in {scripts}.items():\n{each}"], tmp_path)
    for folder, result in releases.items():
        assert rows_of(read_release(folder / "RELEASE.csv")) == rows_of(read_release(result.release.to_bytes()))


def test_a_sample__is_named_so_that_it_can_be_had_again() -> None:
    reading = sample_reading("customers")
    schema = suggest(reading.frame)
    parameters = dict.fromkeys(setting_names(*RUN)) | {"k": 3}
    made = provenance(schema, parameters, 14, reading)
    assert made.input_name == "sample:customers"
    sha256 = hashlib.sha256(reading.frame.to_csv(index=False).encode()).hexdigest()
    assert made.input_commitment == commitment(sha256, made.input_key)
    assert provenance(schema, parameters, 14, reading).input_commitment != made.input_commitment
    assert "sample:customers" in shlex.split(made.command)
    assert "SAMPLES['customers']" in made.python


def test_worst_groups__are_found_again_in_the_records() -> None:
    table, schema = random_table(51, 200)
    made = anonymize(table, schema, k=8)
    by_figure = {worst["figure"]: worst for worst in json.loads(made.report.to_json())["worst_groups"]}
    group = made.pruning.group_of_node()[descend(made.tree, made.encoded)]
    around = {}
    for name in schema.sensitive:
        if name in by_figure["RSD"]["column"]:
            values = table[name].to_numpy(float)
            for node in np.unique(group):
                here = values[group == node]
                around[int(node)] = ((here - here.mean()) ** 2).sum() / ((here - values.mean()) ** 2).sum()
    node = min(around, key=lambda node: around[node])
    assert by_figure["RSD"]["node"] == node
    assert by_figure["RSD"]["what"].startswith(f"lowest RSD: {number_text(around[node])}")
    assert {"TIDI", "digression", "RSD", "spread", "l"} == set(by_figure)
    sizes = dict(zip(*np.unique(group, return_counts=True), strict=True))
    assert by_figure["TIDI"]["node"] in sizes
