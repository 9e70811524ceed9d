"""A codebook beside a table: what it says holds, what contradicts the table has a sentence, dictionaries come back."""

import re

import pandas as pd
import pytest

from anonymizer.cells import kept_text
from anonymizer.forest.domains import domains_of
from anonymizer.labelled.codebook import read_codebook
from anonymizer.labelled.description import Description
from anonymizer.reading.profile import suggest
from anonymizer.schema import Kind, Role, Schema
from anonymizer.whatif.described import with_codebook
from tests.reporting.test_packet import flow, members_of, packet

TABLE = pd.DataFrame(
    {
        "age": [30, 41, 52, 63],
        "sex": [1, 2, 1, 2],
        "ill": ["cold", "flu", "flu", "cold"],
        "seen": pd.to_datetime(["2025-01-01", "2025-02-01", "2025-03-01", "2025-04-01"]),
        "w": [1.0, 2.0, 1.5, 2.5],
    }
)
BOOK = (
    "name,label,role,kind,domain\nage,Age in years,quasi-identifying,numeric,0..120\n"
    "sex,Sex,quasi-identifying,categorical,1=female|2=male|3=other\nill,Illness,sensitive,ordered,cold|flu|plague\n"
    "seen,Day,insensitive,date,2020-01-01..2030-12-31\nw,Weight,weight,,\n"
)


def described(book: str, table: pd.DataFrame = TABLE) -> tuple[Schema, list[str]]:
    schema, changes = with_codebook(suggest(table), read_codebook(book.encode()), table)
    schema.check(table)
    return schema, [change.sentence for change in changes]


def test_codebook__gives_roles_kinds_public_domains_and_labels() -> None:
    schema, sentences = described(BOOK)
    assert sentences == []
    assert [column.role for column in schema.columns] == [
        Role.QUASI_IDENTIFYING, Role.QUASI_IDENTIFYING, Role.SENSITIVE, Role.INSENSITIVE, Role.WEIGHT,
    ]  # fmt: skip
    assert [column.variable.label for column in schema.columns] == ["Age in years", "Sex", "Illness", "Day", "Weight"]
    assert schema["age"].domain == (0.0, 120.0)
    assert (schema["sex"].kind, schema["sex"].domain) == (Kind.CATEGORICAL, ("1", "2", "3"))
    assert dict(schema["sex"].variable.meanings) == {"1": "female", "2": "male", "3": "other"}
    assert (schema["ill"].domain, schema["ill"].ordered) == (("cold", "flu", "plague"), True)
    assert not any(column.suggested for column in schema.columns if column.domain)
    assert Schema.from_json(schema.to_json()) == schema
    domains = domains_of(TABLE, "ill", schema=schema)
    assert domains.read_from_data == ("seen",)
    assert domains.target.levels == ("cold", "flu", "plague")


@pytest.mark.parametrize(
    ("book", "sentence"),
    [
        ("name\nage\nsex\nill\nseen\nw\nnone", "The table has no column 'none', which the codebook describes."),
        ("name\nage\nsex", "The codebook says nothing of 'ill', 'seen', 'w'."),
        ("name,role\nage,secret", "The role 'secret' of column 'age' is none of person, identifying"),
        ("name,role\nage,weight\nw,weight", "both 'age' and 'w' the weight; the second stays"),
        ("name,kind\nage,length", "The kind 'length' of column 'age' is none of numeric, categorical, date; it stays"),
        ("name,kind\nill,numeric", "calls column 'ill' numeric, which its values are not; it stays categorical."),
        ("name,domain\nill,cold|plague", "Column 'ill' holds 1 level that the codebook does not list."),
        ("name,domain\nill,cold|flu|cold", "lists a level of 'ill' twice"),
        ("name,domain\nill,1..3", "gives 'ill' two ends, but it is categorical"),
        ("name,domain\nage,31..62", "2 values of column 'age' lie outside 31 to 62, the range"),
        ("name,domain\nage,old..120", "An end of the domain of 'age' is no number: 'old'."),
        ("name,domain\nage,120..0", "two ends, the lower one first"),
    ],
)
def test_contradictions__are_said_and_not_taken_over(book: str, sentence: str) -> None:
    schema, sentences = described(book)
    before = suggest(TABLE)
    assert sum(sentence in one for one in sentences) == 1, sentences
    assert [column.domain for column in schema.columns] == [column.domain for column in before.columns]
    assert [column.kind for column in schema.columns] == [column.kind for column in before.columns]


def test_numbers_that_mean_missing_are_said() -> None:
    book = [Description("age", kind="numeric", missing=("30", "-9"))]
    _, changes = with_codebook(suggest(TABLE), book, TABLE)
    assert "calls '30' missing" in changes[0].sentence


def test_a_table_that_is_shown_by_its_labels() -> None:
    table = TABLE.assign(sex=["female", "male", "male", "female"])
    schema, sentences = described(BOOK, table)
    assert sentences == []
    assert schema["sex"].domain == ("female", "male", "other")
    assert schema["sex"].variable.meanings == ()


def test_what_was_only_suggested_gives_way() -> None:
    table = pd.concat([TABLE.rename(columns={"sex": "patient_id"})] * 20, ignore_index=True)
    table["patient_id"] = [1000 + row // 2 for row in range(len(table))]
    suggested = suggest(table)
    assert suggested.person == "patient_id"
    schema, _ = with_codebook(suggested, [Description("age", role="person")], table)
    assert (schema.person, schema["patient_id"].role) == ("age", Role.IDENTIFYING)


@pytest.mark.parametrize("member", ["datapackage.json", "ddi-codebook.xml"])
def test_dictionary_of_a_packet__comes_back_as_a_codebook(member: str) -> None:
    made = flow()
    book = read_codebook(members_of(packet("external"))[member])
    blank = Schema(tuple(column for column in suggest(made.table).columns if column.name != "who"))
    table = made.table[[column.name for column in blank.columns]]
    schema, changes = with_codebook(blank, book, table)
    names = [column.name for column in schema.columns if re.fullmatch("[a-z]+", column.name)]
    for name in names:
        was = made.schema[name]
        assert (schema[name].role, schema[name].kind) == (was.role, was.kind), name
    lowest, highest = schema["cost"].domain or (0, 0)
    assert (lowest, highest) == (table["cost"].min(), table["cost"].max())
    if member.endswith(".json"):  # XML has no place for the letters of the other header and of one of the levels
        assert {schema[kept_text(name) if name not in table else name].role for name in table} == {
            made.schema[name].role for name in table
        }
        assert changes == ()
        assert set(schema["ill"].domain or ()) == set(made.table["ill"])
