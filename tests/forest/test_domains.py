"""Public domains: values, ranges and their codes."""

import json

import pandas as pd
import pytest

from anonymizer.errors import ReadError, SchemaError
from anonymizer.forest.domains import Attribute, code, domains_of, even_cuts, read_domains
from anonymizer.schema import Schema


def test_domains__given_beat_declared_beat_read() -> None:
    table = pd.DataFrame({"a": ["x", "y"] * 20, "b": range(40), "c": ["p"] * 40, "t": ["u", "v"] * 20})
    schema = Schema.of(table, quasi_identifying=["a"], domains={"b": (0, 80)})
    domains = domains_of(table, "t", {"a": ["x", "y", "z"]}, schema=schema)
    assert [attribute.levels for attribute in domains.attributes][0] == ("x", "y", "z")
    assert domains.attributes[1].cuts == tuple(range(10, 80, 10))
    assert domains.read_from_data == ("c", "t")
    assert "read from the records" in domains.warning
    assert not domains_of(table[["a", "t"]], "t", {"a": ["x", "y"], "t": ["u", "v"]}).warning


def test_domains__round_trip_through_json() -> None:
    codebook = {"a": ["x", None, "*"], "b": {"cuts": [1, 2.5], "missing": True}, "t": ["u", "v"]}
    table = pd.DataFrame({"a": ["x", None, "q"], "b": [0.5, None, 2.5], "t": ["u", "v", "v"]})
    domains = domains_of(table, "t", codebook)
    again = domains_of(table, "t", read_domains(json.dumps(domains.to_dict())))
    assert again == domains
    coded = code(table, domains)
    assert coded.codes.tolist() == [[0, 0], [1, 3], [2, 2]]
    assert [domains.attributes[0].text(value) for value in range(3)] == ["x", "missing", "anything else"]


@pytest.mark.parametrize("value", ["w", None])
def test_domains__a_value_outside_is_refused_with_its_place(value: str | None) -> None:
    table = pd.DataFrame({"a": ["x", "y", value], "t": ["u", "v", "v"]})
    with pytest.raises(SchemaError, match="record 3") as caught:
        code(table, domains_of(table, "t", {"a": ["x", "y"]}))
    assert (caught.value.column, caught.value.row) == ("a", 2)


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": {"cuts": []}}', '{"a": {"low": 1}}', '{"a": ["x", "x"]}'])
def test_domains__nonsense_is_refused(text: str) -> None:
    table = pd.DataFrame({"a": ["x", "y"], "t": ["u", "v"]})
    with pytest.raises((ReadError, SchemaError)):
        domains_of(table, "t", read_domains(text))


def test_numeric_ranges__hold_what_they_say() -> None:
    attribute = Attribute.numeric("age", [30, 40])
    values = pd.Series([-5, 29.9, 30, 39.9, 40, 1000], name="age")
    assert [attribute.text(place) for place in attribute.codes(values)] == [
        "< 30", "< 30", "30 to < 40", "30 to < 40", ">= 40", ">= 40",
    ]  # fmt: skip
    assert even_cuts(0, 80) == [10, 20, 30, 40, 50, 60, 70]
