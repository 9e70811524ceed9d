"""Every option of reading changes what is read, or is refused: nothing that is typed goes unused."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

from anonymizer.cli.inputs import reading_of
from anonymizer.cli.main import main, parsed
from anonymizer.cli.typed import READING
from anonymizer.errors import ParameterError
from anonymizer.reading.files import USED
from tests.hostile.make import xlsx

CSV: dict[str, tuple[bytes, list[str], list[str]]] = {
    "delimiter": (b"a;b,c\n1;2,3\n4;5,6\n", ["--delimiter=,"], ["--delimiter=;"]),
    "encoding": ("age,city\n1,Köln\n".encode("cp1252"), [], ["--encoding=cp437"]),
    "decimal": (b"a;b\n1.234;x\n5.678;y\n", ["--decimal=."], ["--decimal=,"]),
    "header": (b"a,b\n1,2\n", [], ["--no-header"]),
    "missing": (b"a,b\n1,2\n3,4\n", [], ["--missing=3"]),
    "no-missing": (b"a,b\n1,NA\n3,x\n", [], ["--no-missing"]),
    "not_missing": (b"a,b\n1,NA\n3,x\n", [], ["--not-missing=NA"]),
    "dates": (b"a;b\n1/2/2001;x\n2/3/2001;y\n", ["--dates=day"], ["--dates=month"]),
    "as_text": (b"a,b\n1,2\n3,4\n", [], ["--as-text=a"]),
    "as_numbers": (b"a;b\n12e4;x\n13e4;y\n", ["--as-text=a"], ["--as-numbers=a"]),
    "skip": (b"a,b\nx,y\n1,2\n", [], ["--skip=1"]),
}
"""A file that is read in two ways with these options, by the option that makes the difference."""
BOOK = xlsx({"one": [["a", "b"], ["x", "NA"], ["z", "y"]], "two": [["a"], [1], [2]]})
SHEET = {
    "sheet": (BOOK, ["--sheet=one"], ["--sheet=two"]),
    "header": (BOOK, ["--sheet=one"], ["--sheet=one", "--no-header"]),
    "skip": (BOOK, ["--sheet=one"], ["--sheet=one", "--skip=1"]),
    "missing": (BOOK, ["--sheet=one"], ["--sheet=one", "--missing=x"]),
    "no-missing": (BOOK, ["--sheet=one"], ["--sheet=one", "--no-missing"]),
    "not_missing": (BOOK, ["--sheet=one"], ["--sheet=one", "--not-missing=NA"]),
    "dates": (xlsx({"s": [["a"], ["1/2/2001"], ["2/3/2001"]]}), ["--dates=day"], ["--dates=month"]),
    "decimal": (xlsx({"s": [["a"], ["1.234"], ["5.678"]]}), ["--decimal=."], ["--decimal=,"]),
    "as_text": (xlsx({"s": [["a"], ["1"], ["2"]]}), [], ["--as-text=a"]),
    "as_numbers": (xlsx({"s": [["a"], ["12e4"], ["13e4"]]}), ["--as-text=a"], ["--as-numbers=a"]),
}  # fmt: skip
JSON = {
    "encoding": ('[{"a": "Köln"}]'.encode("cp1252"), ["--encoding=cp1252"], ["--encoding=cp437"]),
    "missing": (b'[{"a": "x"}, {"a": "NA"}]', [], ["--missing=x"]),
    "no-missing": (b'[{"a": "x"}, {"a": "NA"}]', [], ["--no-missing"]),
    "not_missing": (b'[{"a": "x"}, {"a": "NA"}]', [], ["--not-missing=NA"]),
    "dates": (b'[{"a": "1/2/2001"}, {"a": "2/3/2001"}]', ["--dates=day"], ["--dates=month"]),
    "as_text": (b'[{"a": 1}, {"a": 2}]', [], ["--as-text=a"]),
}
FILES = {"csv": CSV, "xlsx": SHEET, "json": JSON}


def reading(path: str, *words: str) -> Any:
    """What is read of a file with these options."""
    return reading_of(path, parsed(["risk", path, "--quasi-identifying", "age", *words]))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own for every test."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("ending", "option"), [(ending, option) for ending, cases in FILES.items() for option in cases]
)
def test_an_option_of_a_format__changes_what_is_read(ending: str, option: str) -> None:
    data, first, second = FILES[ending][option]
    Path(f"t.{ending}").write_bytes(data)
    one, other = reading(f"t.{ending}", *first).frame, reading(f"t.{ending}", *second).frame
    assert (
        list(one) != list(other) or not one.astype(str).equals(other.astype(str)) or not one.dtypes.equals(other.dtypes)
    )


def test_the_options__are_all_of_them() -> None:
    assert set(CSV) | set(SHEET) - {"no-missing"} == set(READING) | {"no-missing"}
    for format, cases in {"csv": CSV, "spreadsheet": SHEET, "json": JSON}.items():
        assert {READING[option] for option in cases if option in READING} == USED[format]


@pytest.mark.sweep(30)
@pytest.mark.parametrize("option", READING)
@pytest.mark.parametrize("ending", ["csv", "xlsx", "json", "parquet", "feather", "dta", "sav", "sample:graduates"])
def test_any_other_option__is_refused(ending: str, option: str) -> None:
    table = pd.DataFrame({"age": [30, 40], "city": ["x", "NA"]})
    if ending in FILES:
        Path(f"t.{ending}").write_bytes(FILES[ending]["as_text"][0])
    elif ending == "sav":
        pyreadstat.write_sav(table, "t.sav")
    elif "sample" not in ending:
        getattr(table, {"dta": "to_stata"}.get(ending, f"to_{ending}"))(f"t.{ending}")
    format = {"xlsx": "spreadsheet", "sample:graduates": "sample"}.get(ending, ending)
    if READING[option] not in USED[format]:
        with pytest.raises(ParameterError, match="says nothing of"):
            reading(ending if "sample" in ending else f"t.{ending}", CSV.get(option, SHEET.get(option))[2][-1])


@pytest.mark.parametrize("option", sorted(set(CSV) - {"delimiter", "encoding"}))
def test_verify__refuses_what_speaks_of_an_original_without_one(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("r.csv").write_text("age,ill\n20-29,x\n20-29,y\n")
    assert (
        main(["verify", "r.csv", "--quasi-identifying", "age", "--sensitive", "ill", "--k", "2", *CSV[option][2]]) == 2
    )
    assert "speaks of the original, and none is named" in capsys.readouterr().err


def test_verify__reads_a_release_from_elsewhere_with_its_delimiter_and_encoding() -> None:
    Path("r.csv").write_bytes("age;ill\n20-29;Grün\n20-29;Rot\n".encode("cp1252"))
    roles = ["--quasi-identifying", "age", "--sensitive", "ill", "--k", "2"]
    assert main(["verify", "r.csv", *roles, "--delimiter", ";", "--encoding", "cp1252"]) == 0
    assert main(["verify", "r.csv", *roles]) == 2


@pytest.mark.parametrize("name", ["Income, net", 'so "called"', "a,b,c"])
def test_names_with_commas_and_quotes__can_be_named_and_the_report_names_them(name: str, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            name: [1000, 2000] * 20,
            "age": [20 + at % 10 for at in range(40)],
            "ill": list("xyyxyxxyxyxyyxyxxyxyyxyxxyyxxyxyyxyxxyyx"),
        }
    )
    table.to_csv("t.csv", index=False)
    quoted = '"' + name.replace('"', '""') + '"'
    words = ["anonymize", "t.csv", "--quasi-identifying", f"age,{quoted}", "--sensitive", "ill", "--k", "5"]
    assert main([*words, "--out", "out.csv", "--report", "report.json"]) == 0
    assert name in pd.read_csv("out.csv").columns
    with pytest.raises(SystemExit, match="2"):
        main(["anonymize", "t.csv", "--quasi-identifying", 'age,"Income', "--sensitive", "ill"])


def test_a_kept_star__is_said_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.csv").write_text("age,extra,ill\n20-29,*,x\n20-29,*,y\n")
    main(["verify", "r.csv", "--quasi-identifying", "age", "--sensitive", "ill", "--k", "2"])
    assert "Column 'extra' has '*', which a release writes as '\"*\"'." in capsys.readouterr().out


def test_wildcards__leave_nobody_alone_in_the_population_where_nobody_is_unique(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("k.csv").write_text("A,B\n1,1\n1,1\n1,1\n,1\n")
    assert main(["risk", "k.csv", "--quasi-identifying", "A", "--wildcard"]) == 0
    assert "About 0 of 4 people are alone in the population" in capsys.readouterr().out
