"""JSON and JSON Lines: records are rows, and what is no record is one sentence."""

import gzip
import json

import pandas as pd
import pytest

from anonymizer.errors import ReadError
from anonymizer.reading.files import read_table
from anonymizer.reading.samples import SAMPLES

RECORDS = [
    {"age": 30, "sex": "m", "born": "1990-01-31", "zip": "01234", "cost": 1.5, "alive": True},
    {"age": 40, "sex": "f", "born": None, "zip": "10115", "cost": None, "alive": False},
    {"age": 50, "born": "1970-12-01", "zip": "10117", "cost": 2, "alive": True, "more": "x"},
]


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.ndjson", "t.csv", "t"])
@pytest.mark.parametrize("lines", [True, False])
def test_records__are_rows_whatever_the_file_is_called(name: str, lines: bool) -> None:
    text = "\n".join(map(json.dumps, RECORDS)) if lines else json.dumps(RECORDS, indent=1)
    for data in (text.encode(), b"\xef\xbb\xbf" + text.encode(), gzip.compress(text.encode())):
        reading = read_table(data, name=name)
        assert reading.format == "json"
        frame = reading.frame
        assert frame["age"].tolist() == [30, 40, 50]
        assert frame["age"].dtype == "int64"
        assert frame["sex"].isna().tolist() == [False, False, True]
        assert frame["born"].tolist() == [pd.Timestamp("1990-01-31"), pd.NaT, pd.Timestamp("1970-12-01")]
        assert frame["zip"].tolist() == ["01234", "10115", "10117"]
        assert frame["cost"].tolist()[::2] == [1.5, 2.0]
        assert frame["alive"].tolist() == ["true", "false", "true"]
        assert frame["more"].isna().tolist() == [True, True, False]


def test_a_table__comes_back_as_pandas_wrote_it() -> None:
    table = SAMPLES["hospital"].load().head(300)
    data = table.to_json(orient="records", lines=True, date_format="iso").encode()
    frame = read_table(data, name="t.jsonl").frame
    for name in table:
        first, second = table[name], frame[name]
        assert first.isna().tolist() == second.isna().tolist()
        assert first.dropna().astype(str).tolist() == second.dropna().astype(str).tolist()


def test_a_column_of_lists__is_left_out_and_said() -> None:
    reading = read_table(b'{"age": 1, "tags": ["a"]}\n{"age": 2, "tags": {"b": 1}}\n')
    assert list(reading.frame) == ["age"]
    assert "Column 'tags' holds lists or objects. It was left out." in [problem.text for problem in reading.problems]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2]", "Row 1 of t.json is no object"), ('{"a": 1}\n[2]', "Line 2 of t.json is no object"),
        ('{"a": 1, "a": 2}', "'a' twice"), ('[{"a": 1},\n{"b" 2}]', "Line 2, character 6"),
        ('{"a": 1}\n{"a": ', "Line 2"), ("[]", "no rows"), ('{"a": []}', "No column"), ("{}", "no rows"),
        ('{"a":' * 100_000, "too deep"), ("[" * 100_000 + "{", "no JSON|too deep|delimit|rows|fields"),
    ],
)  # fmt: skip
def test_what_are_no_records__is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(ReadError, match=words):
        read_table(text.encode(), name="t.json")


def test_numbers_of_many_digits_and_values_of_several_types__stay_text_and_are_said() -> None:
    reading = read_table(b'{"id": 12345678901234567890, "x": 1}\n{"id": 1, "x": "a"}\n')
    assert reading.frame["id"].tolist() == ["12345678901234567890", "1"]
    assert reading.frame["x"].tolist() == ["1", "a"]
    assert sum("stay text" in problem.text for problem in reading.problems) == 2


def test_a_header_that_begins_with_a_bracket__is_no_json() -> None:
    assert list(read_table(b"[x,y\n1,2\n").frame) == ["[x", "y"]
    assert list(read_table(b"{x},y\n1,2\n").frame) == ["{x}", "y"]
