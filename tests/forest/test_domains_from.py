"""A codebook that was written from a table is not public: it says so wherever it is written, and readers believe it."""

import json
from pathlib import Path

import pandas as pd
import pytest

from anonymizer.cli.main import main
from anonymizer.errors import SchemaError
from anonymizer.forest.domains import Attribute, domains_of
from anonymizer.labelled.codebook import read_codebook
from anonymizer.pipeline import anonymize
from anonymizer.reporting.catalogue import MEDIA_TYPES, Entry, codebook, data_package, dictionary_document
from anonymizer.reporting.findings import Statement
from anonymizer.schema import Schema
from anonymizer.whatif.described import with_codebook

RARE = "Progeria"
TABLE = pd.DataFrame({
    "age": [20 + n % 30 for n in range(120)], "sex": ["f", "m"] * 60, "ward": ["east", "west", "north"] * 40,
    "ill": [RARE, *["flu", "cold", "none"] * 39, "flu", "cold"],
})  # fmt: skip
DECLARED = {"ward": ["east", "north", "west", "south"], "age": [0, 120]}


def schema_of(**domains: list[object]) -> Schema:
    return Schema.of(
        TABLE, quasi_identifying=["age", "sex"], sensitive=["ill"], domains=domains, kinds={"ward": "categorical"}
    )


def entry_of(schema: Schema) -> Entry:
    reasons = {"unchanged: ward": "nobody in this table lives"}
    result = anonymize(TABLE, schema, k=4, reasons=reasons)
    path = "data/release.csv"
    return Entry(
        result.release, {path: b"x"}, {path: MEDIA_TYPES["csv"]}, "A test.", "2026-11-26T00:00:00Z", Statement()
    )


@pytest.mark.parametrize("write", [codebook, data_package])
def test_written_codebook__says_where_each_domain_came_from(write: object) -> None:
    text = write(entry_of(schema_of(**DECLARED)))  # type: ignore[operator]
    described = {one.name: one for one in read_codebook(text if isinstance(text, bytes) else text.encode())}
    assert (described["ill"].from_data, described["ward"].from_data) == (True, False)
    assert RARE in dict(described["ill"].levels)
    schema, _ = with_codebook(schema_of(), list(described.values()), TABLE)
    assert (schema["ill"].declared, schema["ward"].declared) == (False, True)
    domains = domains_of(TABLE, "ill", schema=schema)
    assert "ill" in domains.read_from_data
    assert "ward" not in domains.read_from_data


def test_dictionaries__say_it_in_words_and_in_json() -> None:
    entry = entry_of(schema_of(**DECLARED))
    of = {one["name"]: one.get("domain_from") for one in entry.release.dictionary()}
    assert (of["ill"], of["ward"], of["age"]) == ("data", "declared", "declared")
    (table,) = dictionary_document(entry).sections[0].blocks
    values = {row[0]: row[-1] for row in table.rows}
    assert "levels that occur in the table it was made from: " in values["ill"]
    assert "4 levels: " in values["ward"]


def test_codebook_in_csv__can_say_it() -> None:
    book = b"name,domain,from\nill,flu|cold|none|Progeria,data\nward,east|west|north|south,\n"
    schema, _ = with_codebook(schema_of(), read_codebook(book), TABLE)
    assert domains_of(TABLE, "ill", schema=schema).read_from_data == ("age", "sex", "ill")


@pytest.mark.parametrize(
    ("domain", "exact"),
    [
        (["flu", "cold", "none", RARE], True), (["flu", "cold", "none", RARE, None], True),
        (["flu", "cold", "none", RARE, "mumps"], False), (["flu", "cold", "none", RARE, "*"], False),
    ],
)  # fmt: skip
def test_domains_that_are_just_what_occurs__are_asked_about(domain: list[str], exact: bool) -> None:
    domains = domains_of(TABLE, "ill", {"ill": domain, "age": {"low": 0, "high": 120}, "sex": ["f", "m", "x"]})
    assert domains.exact == (("ill",) if exact else ())
    assert ("exactly those that occur" in domains.question) == exact
    assert domains.target.public, "a question is no answer"
    read = domains.as_read(["ill"])
    assert (read.exact, read.target.public) == ((), False)
    assert "ill" in read.read_from_data
    with pytest.raises(SchemaError, match="nobody"):
        domains.as_read(["nobody"])


def test_ends_that_are_just_those_that_occur__are_asked_about() -> None:
    assert domains_of(TABLE, "ill", {"age": {"low": 20, "high": 49}}).exact == ("age",)
    assert domains_of(TABLE, "ill", {"age": {"low": 20, "high": 50}}).exact == ()
    assert domains_of(TABLE, "ill", schema=schema_of(age=[20, 49], ward=["east", "west", "north"])).exact == (
        "age", "ward",
    )  # fmt: skip
    assert not Attribute.from_dict("a", ["x"]).exact


def test_terminal__asks_and_takes_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("people.csv", index=False)
    domains = {"sex": ["f", "m", "x"], "ward": ["east", "west", "north", "south"], "ill": sorted(set(TABLE["ill"]))}
    Path("domains.json").write_text(json.dumps({**domains, "age": {"low": 0, "high": 120}}), "utf-8")
    command = ["forest", "people.csv", "--target", "ill", "--domains", "domains.json"]
    assert main(command) == 0
    assert "QUESTION: The declared values of ill are exactly those" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "--from-data ill." in answer["questions"][0]
    assert answer["warnings"] == []
    assert main([*command, "--json", "--from-data", "ill"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["questions"] == []
    assert any("the possible values of ill." in warning for warning in answer["warnings"])
