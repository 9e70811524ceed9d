"""Public domains: values, ranges and their codes."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from anonymizer.errors import ReadError, SchemaError
from anonymizer.forest.domains import Attribute, code, domains_of, even_cuts, read_domains
from anonymizer.forest.forest import grow_forest
from anonymizer.reading.profile import suggest, suggest_again
from anonymizer.schema import Column, Kind, Role, Schema


def test_domains__given_beat_declared_beat_read() -> None:
    table = pd.DataFrame({"a": ["x", "y"] * 20, "b": range(40), "c": ["p"] * 40, "t": ["u", "v"] * 20})
    schema = Schema.of(table, quasi_identifying=["a"], domains={"b": (0, 80)})
    domains = domains_of(table, "t", {"a": ["x", "y", "z"]}, schema=schema)
    assert [attribute.levels for attribute in domains.attributes][0] == ("x", "y", "z")
    assert domains.attributes[1].cuts == tuple(range(10, 80, 10))
    assert domains.read_from_data == ("c", "t")
    assert "Read from the table" in domains.warning
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
    with pytest.raises(SchemaError, match="row 3") as caught:
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


def test_ordered_levels_that_were_only_suggested__are_not_public() -> None:
    """One person alone has the level "very good": suggested for the order, it would be published as a branch."""
    table = pd.DataFrame({"health": ["bad", "good"] * 40 + ["very good"], "ill": ["yes", "no"] * 40 + ["yes"]})
    schema = Schema((
        Column("health", Role.QUASI_IDENTIFYING, Kind.CATEGORICAL, ("bad", "good", "very good"), ordered=True),
        Column("ill", Role.SENSITIVE, Kind.CATEGORICAL, ("no", "yes")),
    ))  # fmt: skip
    assert domains_of(table, "ill", schema=schema).read_from_data == ("health",)
    declared = schema.with_column("health", domain=("very bad", "bad", "good", "very good"))
    assert domains_of(table, "ill", schema=declared).read_from_data == ()
    codebook = {"health": ["bad", "good", "very good"]}
    assert domains_of(table, "ill", codebook, schema=schema).read_from_data == ()
    suggested = suggest(table)
    ordered = [column.name for column in suggested.columns if column.ordered]
    assert set(ordered) <= set(domains_of(table, "ill", schema=suggested).read_from_data)


def test_suggested_levels__are_never_public_whatever_way_they_come() -> None:
    """What another table suggested is not public either: "very good" is nobody's here, and "bad" went unticked."""
    other = pd.DataFrame({"health": ["low", "medium", "high"] * 30, "ill": ["yes", "no", "no"] * 30})
    suggested = suggest(other)
    assert suggested["health"].suggested
    table = other[other["health"] != "high"].reset_index(drop=True)
    loose = Schema(tuple(replace(column, ordered=False) for column in suggested.columns))
    for schema in (suggested, loose):
        for again in (schema, Schema.from_json(schema.to_json()), suggest_again(schema, schema, other)):
            assert "health" in domains_of(table, "ill", schema=again).read_from_data
    declared = suggested.with_column("health", domain=("low", "medium", "high"))
    assert "health" not in domains_of(table, "ill", schema=declared).read_from_data
    assert Schema.from_json(declared.to_json()) == declared
    assert not replace(suggested["health"], domain=None).suggested
    forest = grow_forest(code(table, domains_of(table, "ill", schema=suggested)), 1.0, noise=None)
    assert not forest.private
