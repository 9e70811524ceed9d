"""The files of worked cases: each says what it is and where it comes from, and a test reads it."""

import json

from tests.cases import FOLDER

FIELDS = {"about", "source", "conventions", "erratum", "made_up", "cases"}


def test_every_file_has_a_source_and_cases() -> None:
    files = sorted(FOLDER.glob("*.json"))
    assert len(files) > 30
    for path in files:
        content = json.loads(path.read_text("utf-8"))
        assert {"about", "source", "cases"} <= set(content) <= FIELDS, path.name
        assert content["cases"], path.name
        names = [case["name"] for case in content["cases"] if "name" in case]
        assert len(names) == len(set(names)), path.name


def test_every_file_is_read_by_a_test() -> None:
    tests = "".join(path.read_text("utf-8") for path in FOLDER.parent.glob("test_*.py"))
    assert [path.name for path in FOLDER.glob("*.json") if f'"{path.stem}"' not in tests] == []
