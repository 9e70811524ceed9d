"""Schemas: values that say what every column is, and refuse what cannot be meant."""

from typing import Any

import pandas as pd
import pytest

from anonymizer.errors import ReadError, SchemaError, check_headers
from anonymizer.schema import Column, Kind, Role, Schema, kind_of


@pytest.fixture
def table() -> pd.DataFrame:
    return pd.DataFrame(
        {"name": ["Ann", "Bo"], "age": [30, 40], "zip": ["02139", "10001"], "job": ["x", "y"], "sick": ["no", "yes"]}
    )


@pytest.fixture
def schema(table: pd.DataFrame) -> Schema:
    return Schema.of(
        table,
        quasi_identifying=["age", "zip"],
        sensitive=["job", "sick"],
        identifying=["name"],
        target="sick",
        domains={"age": (0, 120), "zip": ("10001", "02139")},
        ordered=["zip"],
    )


def test_of__roles_kinds_and_names_in_the_tables_order(schema: Schema) -> None:
    assert schema.quasi_identifying == ("age", "zip")
    assert schema.sensitive == ("job", "sick")
    assert schema.identifying == ("name",)
    assert schema.insensitive == ()
    assert schema.released == ("age", "zip", "job", "sick")
    assert schema.target == "sick"
    assert schema["age"] == Column("age", Role.QUASI_IDENTIFYING, Kind.NUMERIC, (0.0, 120.0))
    assert schema["zip"].domain == ("10001", "02139")
    assert schema["zip"].by_order
    assert not schema["job"].by_order
    assert schema["age"].by_order


def test_of__what_is_not_named_is_insensitive_and_the_first_sensitive_column_guides(table: pd.DataFrame) -> None:
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["sick", "job"])
    assert schema.insensitive == ("name", "zip")
    assert schema.target == "job"
    assert Schema.of(table, quasi_identifying="age").target is None


def test_a_schema_is_a_hashable_value(schema: Schema, table: pd.DataFrame) -> None:
    again = Schema.from_json(schema.to_json())
    assert again == schema
    assert hash(again) == hash(schema)
    assert {schema: 1}[again] == 1
    assert schema.with_target("job") != schema


def test_reasons__are_the_stewards_or_the_suggestions_and_go_with_the_role() -> None:
    columns = (
        Column("age", Role.QUASI_IDENTIFYING, Kind.NUMERIC, reason="Speaks of age."),
        Column("pay", Role.SENSITIVE, Kind.NUMERIC, own_reason="the board asked"),
    )
    schema = Schema(columns)
    assert [column.why for column in schema.columns] == ["Speaks of age.", "the board asked"]
    again = Schema.from_json(schema.to_json())
    assert [column.why for column in again.columns] == ["Speaks of age.", "the board asked"]
    other = schema.with_roles({"age": Role.SENSITIVE, "pay": Role.QUASI_IDENTIFYING})
    assert [column.why for column in other.columns] == ["Set by the steward."] * 2
    assert other.target == "age"
    assert schema != schema.bare
    assert schema.bare.columns == (columns[0], Column("pay", Role.SENSITIVE, Kind.NUMERIC))
    with pytest.raises(ReadError):
        Schema.from_json(schema.to_json().replace("the board asked", "x" * 1_001))


def test_with_roles__another_person_column_becomes_identifying() -> None:
    schema = Schema((Column("a", Role.PERSON, Kind.NUMERIC), Column("b", Role.SENSITIVE, Kind.NUMERIC)))
    other = schema.with_roles({"b": Role.PERSON})
    assert (other.person, other.identifying, other.target) == ("b", ("a", "b"), None)


@pytest.mark.parametrize("role", [Role.WEIGHT, Role.HOUSEHOLD, Role.STRATUM])
def test_roles_of_a_sample__are_given_once_and_never_leave(role: Role) -> None:
    table = pd.DataFrame({"age": [30, 40], "a": [1.0, 2.0], "b": [1.0, 2.0]})
    schema = Schema.of(table, quasi_identifying=["age"], **{str(role): "a"})
    assert schema.only(role) == "a"
    assert schema.released == ("age", "b")
    assert Schema.from_json(schema.to_json()) == schema
    other = schema.with_roles({"b": role})
    assert (other.only(role), other["a"].role) == ("b", Role.IDENTIFYING)
    with pytest.raises(SchemaError, match="'a' and 'b'"):
        schema.with_column("b", role=role)


def test_json__keeps_every_part() -> None:
    schema = Schema(
        (
            Column("größe", "quasi-identifying", "numeric", (1.5, 2), reason="people know it"),
            Column("since", Role.QUASI_IDENTIFYING, Kind.DATE, ("2020-01-01", "2021-06-30T12:00")),
            Column("level", Role.SENSITIVE, Kind.CATEGORICAL, ("low", 2, "*"), ordered=True),
        )
    )
    again = Schema.from_json(schema.to_json())
    assert again == schema
    assert [column.reason for column in again.columns] == ["people know it", "", ""]
    assert again["level"].domain == ("low", "2", "*")
    assert again["since"].domain == ("2020-01-01T00:00:00", "2021-06-30T12:00:00")
    assert "größe" in schema.to_json()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "5",
        "{}",
        '{"columns": 5}',
        '{"columns": null}',
        '{"columns": [5]}',
        '{"columns": [{"kind": "numeric"}]}',
        '{"columns": [{"name": "a", "colour": "red"}]}',
        '{"columns": [{"name": "a", "kind": "strange"}]}',
        '{"columns": [{"name": "a", "role": "secret"}]}',
        '{"columns": [{"name": "a", "domain": 5}]}',
        '{"columns": [{"name": "a", "kind": "numeric", "domain": ["x", "y"]}]}',
        '{"columns": [{"name": "a"}, {"name": "a"}]}',
        '{"columns": [{"name": "a"}], "target": "a"}',
        '{"columns": [], "target": ["a"]}',
    ],
)
def test_from_json__anything_else_is_refused(text: str) -> None:
    with pytest.raises(ReadError):
        Schema.from_json(text)


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        ("numeric", (2, 1)),
        ("numeric", (1,)),
        ("numeric", (1, 2, 3)),
        ("numeric", (float("nan"), 1)),
        ("numeric", ("low", "high")),
        ("numeric", 5),
        ("date", ("2021-01-01", "2020-01-01")),
        ("date", ("yesterday evening", "2020-01-01")),
        ("date", ("", "2020-01-01")),
        ("numeric", (None, 1)),
        ("categorical", ()),
        ("categorical", ("a", "a")),
        ("categorical", ("1", 1)),
        ("number", None),
    ],
)
def test_column__refuses_a_domain_or_kind_that_cannot_be_meant(kind: str, domain: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        Column("a", "quasi-identifying", kind, domain)  # type: ignore[arg-type]
    assert caught.value.column == "a"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("arguments", "column"),
    [
        ({"quasi_identifying": ["ages"]}, "ages"),
        ({"quasi_identifying": ["age"], "sensitive": ["age"]}, "age"),
        ({"quasi_identifying": ["age", "age"]}, "age"),
        ({"quasi_identifying": ["age"], "kinds": {"agee": "numeric"}}, "agee"),
        ({"quasi_identifying": ["age"], "kinds": {"age": "number"}}, "age"),
        ({"quasi_identifying": ["age"], "domains": {"age": 5}}, "age"),
        ({"quasi_identifying": ["age"], "ordered": ["zipp"]}, "zipp"),
        ({"quasi_identifying": ["age"], "target": "sick"}, "sick"),
    ],
)
def test_of__says_which_column_is_wrong(table: pd.DataFrame, arguments: dict[str, Any], column: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.of(table, **arguments)
    assert caught.value.column == column
    assert repr(column) in str(caught.value)


def test_with_column__is_a_new_schema_and_the_target_moves_on(schema: Schema) -> None:
    changed = schema.with_column("sick", role=Role.INSENSITIVE)
    assert changed.target == "job"
    assert schema.target == "sick"
    assert changed["sick"].role is Role.INSENSITIVE
    assert schema.with_column("age", kind="categorical", domain=None)["age"].kind is Kind.CATEGORICAL
    assert schema.with_column("job", role="insensitive").target == "sick"
    with pytest.raises(SchemaError):
        schema.with_column("nobody", role=Role.INSENSITIVE)
    with pytest.raises(SchemaError):
        schema.with_target("age")


def test_check__the_table_must_have_exactly_these_columns(schema: Schema, table: pd.DataFrame) -> None:
    schema.check(table)
    schema.check(table[["sick", "job", "zip", "age", "name"]])
    with pytest.raises(SchemaError, match=r"lacks \['age'\]"):
        schema.check(table.drop(columns="age"))
    with pytest.raises(SchemaError, match=r"the schema lacks \['new'\]"):
        schema.check(table.assign(new=1))
    with pytest.raises(SchemaError, match="No column is quasi-identifying"):
        Schema.of(table, quasi_identifying=[], sensitive=["sick"]).check(table)


@pytest.mark.parametrize("names", [["a", "a"], ["a", ""], ["a", "  "], ["a", 5], ["a", None]])
def test_headers__must_be_distinct_text(names: list[Any]) -> None:
    with pytest.raises(SchemaError):
        check_headers(pd.DataFrame([[1, 2]], columns=names))


def test_headers__several_levels_are_refused() -> None:
    with pytest.raises(SchemaError):
        check_headers(pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.Series([1, 2]), Kind.NUMERIC),
        (pd.Series([1.5, None]), Kind.NUMERIC),
        (pd.Series([1, None], dtype="Int8"), Kind.NUMERIC),
        (pd.Series([True, False]), Kind.CATEGORICAL),
        (pd.Series([True, None], dtype="boolean"), Kind.CATEGORICAL),
        (pd.Series(["1", "2"]), Kind.CATEGORICAL),
        (pd.Series(["a"], dtype="category"), Kind.CATEGORICAL),
        (pd.to_datetime(pd.Series(["2020-01-01"])), Kind.DATE),
        (pd.to_datetime(pd.Series(["2020-01-01"])).dt.tz_localize("UTC"), Kind.DATE),
        (pd.Series([1j]), Kind.CATEGORICAL),
    ],
)
def test_kind_of__the_type_decides(values: "pd.Series[Any]", kind: Kind) -> None:
    assert kind_of(values) is kind


def test_errors__carry_their_place_and_remedy() -> None:
    error = SchemaError("It broke.", column="a", row=3, value="x", remedy="Mend it.")
    assert str(error) == "It broke. Mend it."
    assert (error.problem, error.column, error.row, error.value, error.remedy) == ("It broke.", "a", 3, "x", "Mend it.")
    assert str(SchemaError("It broke.")) == "It broke."
