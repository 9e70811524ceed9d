"""No value of a record reaches standard error, which may be a log; whoever has the table is told which it is."""

from pathlib import Path

import pandas as pd
import pytest

from anonymizer.cli.main import main
from anonymizer.errors import AnonymizerError
from anonymizer.flow import Flow
from anonymizer.forest.domains import code, domains_of
from anonymizer.schema import Schema
from anonymizer.settings import Settings

CANARY = "Zebulon-4711"
NUMBER = "47114711"
TABLE = pd.DataFrame({
    "age": [20 + n % 30 for n in range(90)], "sex": ["f", "m"] * 45, "ill": ["flu", "cold", "none"] * 30,
    "seen": ["2024-01-02"] * 90, "pay": [1000 + n for n in range(90)],
})  # fmt: skip
ROLES = ["--quasi-identifying", "age,sex", "--sensitive", "ill", "--keep", "seen,pay", "--k", "3"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sexes.csv").write_text("f;*\nm;*\n", "utf-8")
    Path("ages.csv").write_text("".join(f"{n};{'<30' if n < 30 else '>=30'};*\n" for n in range(20, 50)), "utf-8")
    Path("domains.json").write_text('{"sex": ["f", "m"], "ill": ["flu", "cold", "none"]}', "utf-8")
    Path("book.csv").write_text("name,domain\nsex,f|m\nage,20..50\n", "utf-8")


CASES = {
    "a domain of a forest": ("sex", ["forest", "--target", "ill", "--domains", "domains.json"]),
    "a target of a forest": ("ill", ["forest", "--target", "ill", "--domains", "domains.json"]),
    "a hierarchy of levels": ("sex", ["anonymize", *ROLES, "--hierarchy", "sex=sexes.csv"]),
    "a hierarchy of numbers": ("age", ["anonymize", *ROLES, "--hierarchy", "age=ages.csv"]),
    "a number that is none": ("age", ["anonymize", *ROLES, "--kinds", "age=numeric"]),
    "a day that is none": ("seen", ["anonymize", *ROLES[:1], "age,sex,seen", *ROLES[2:4], "--keep", "pay", "--kinds",
                                    "seen=date"]),
    "a codebook": ("sex", ["anonymize", *ROLES, "--codebook", "book.csv"]),
    "a range of a codebook": ("age", ["anonymize", *ROLES, "--codebook", "book.csv"]),
    "a first band": ("age", ["anonymize", *ROLES, "--bands", "age=90000000,90000010"]),
    "a regression": ("sex", ["anonymize", *ROLES, "--regression", "pay ~ age + sex"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_standard_error__holds_no_value(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    column, (command, *options) = CASES[name]
    table = TABLE.astype({column: object})
    value = int(NUMBER) if name in ("a range of a codebook", "a first band", "a hierarchy of numbers") else CANARY
    table.loc[7, column] = value
    table.to_csv("people.csv", index=False)
    assert main([command, "people.csv", *options]) in (0, 1, 2)
    text = capsys.readouterr().err
    assert str(value) not in text
    assert name == "a regression" or column in text


@pytest.mark.parametrize("column", ["sex", "age"])
def test_hierarchy__names_what_it_lacks_on_standard_output(column: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = TABLE.astype({column: object})
    table.loc[7:8, column] = CANARY if column == "sex" else int(NUMBER)
    table.to_csv("people.csv", index=False)
    assert (
        main(["anonymize", "people.csv", *CASES[f"a hierarchy of {'levels' if column == 'sex' else 'numbers'}"][1][1:]])
        == 2
    )
    output = capsys.readouterr()
    assert "1 value of" in output.err
    assert f"Not in it: '{CANARY if column == 'sex' else NUMBER}' (2 rows)." in output.out


def test_told__names_the_value_to_whoever_has_the_table() -> None:
    table = TABLE.astype({"sex": object})
    table.loc[7, "sex"] = CANARY
    domains = domains_of(TABLE, "ill", {"sex": ["f", "m"]})
    with pytest.raises(AnonymizerError) as caught:
        code(table, domains)
    assert CANARY in caught.value.in_full
    assert CANARY not in str(caught.value)
    schema = Schema.of(table, quasi_identifying=["sex"], domains={"sex": ["f", "m"]})
    with pytest.raises(AnonymizerError) as caught:
        Flow(table, schema, Settings(k=2)).encoded  # noqa: B018
    assert CANARY in caught.value.in_full
    assert CANARY not in str(caught.value)
