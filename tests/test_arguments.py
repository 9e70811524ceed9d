"""What the package is given: tables of any kind are taken, slips end in one sentence that says what to do."""

import inspect
import warnings
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

import anonymizer as an
from anonymizer import api
from anonymizer.arguments import hints_of
from anonymizer.schema import Kind, Role
from anonymizer.tables import as_it_came, frame_of

N = 60
CANARY = "Zebulon Quux"
TABLE = pd.DataFrame(
    {"age": np.arange(N) % 30 + 20, "sex": ["f", "m"] * (N // 2), "ill": ["flu", "cold", CANARY] * (N // 3)}
)
ROLES = {"age": "quasi-identifying", "sex": "quasi-identifying", "ill": "sensitive"}
SCHEMA = an.Schema.of(TABLE, quasi_identifying=["age", "sex"], sensitive=["ill"])


class Stream:
    """A table of another library, of which nothing is known but its Arrow stream."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.table = pa.Table.from_pandas(frame, preserve_index=False)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def relation(frame: pd.DataFrame) -> Any:
    """A relation of DuckDB."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return duckdb.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))


def polars_frame(frame: pd.DataFrame) -> Any:
    """A frame of polars."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    return polars.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))


TABLES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "reader": lambda frame: pa.Table.from_pandas(frame, preserve_index=False).to_reader(),
    "stream": Stream,
    "DuckDB": relation,
    "polars": polars_frame,
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind__give_the_same(kind: str) -> None:
    make = TABLES[kind]
    assert [column.role for column in an.suggest(make(TABLE)).columns] == [c.role for c in an.suggest(TABLE).columns]
    assert an.Schema.of(make(TABLE), quasi_identifying=["age", "sex"], sensitive=["ill"]) == SCHEMA
    assert an.linkage_risk(make(TABLE), ["age", "sex"]).unique == an.linkage_risk(TABLE, ["age", "sex"]).unique
    assert an.encode(make(TABLE), SCHEMA).n_records == N
    assert [fact.distinct for fact in an.profile(make(TABLE))] == [30, 2, 3]


def test_arrow__keeps_values_and_kinds() -> None:
    table = pa.table(
        {
            "whole": pa.array([1, None, (1 << 60) + 1]),
            "day": pa.array([date(2020, 1, 2), None, date(1850, 1, 1)]),
            "money": pa.array([Decimal("0.10"), Decimal("2.55"), None]),
            "long": pa.array([Decimal("1234567890123456.78"), None, Decimal("1.00")]),
            "code": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([7, 8])),
            "nothing": pa.nulls(3),
            "true": pa.array([True, None, False]),
            "text": pa.array(["a", "", None], pa.large_string()),
        }
    )
    frame = frame_of(table)
    assert frame["whole"].tolist()[0] == 1
    assert int(frame["whole"].iloc[2]) == (1 << 60) + 1
    assert frame["day"].dtype.kind == "M"
    assert frame["money"].tolist()[:2] == [0.1, 2.55]
    assert frame["long"].iloc[0] == "1234567890123456.78"
    kinds = {column.name: column.kind for column in an.Schema.of(table, quasi_identifying=["whole"]).columns}
    assert kinds == {
        "whole": Kind.NUMERIC, "day": Kind.DATE, "money": Kind.NUMERIC, "long": Kind.CATEGORICAL,
        "code": Kind.CATEGORICAL, "nothing": Kind.CATEGORICAL, "true": Kind.CATEGORICAL, "text": Kind.CATEGORICAL,
    }  # fmt: skip
    assert frame["text"].tolist()[:2] == ["a", ""]


def test_days_and_decimals__become_dates_and_numbers_and_it_is_said() -> None:
    frame = pd.DataFrame(
        {
            "day": [date(2020, 1, 1), None, date(9999, 12, 31)],
            "price": [Decimal("1.10"), Decimal("2"), None],
            "moment": [datetime(2020, 1, 1, 12), None, datetime(2020, 1, 2)],
            "mixed": [date(2020, 1, 1), "none", None],
        }
    ).astype({"moment": object})
    with pytest.warns(an.AnonymizerWarning) as notes:
        plain = frame_of(frame)
    assert sorted(str(note.message) for note in notes) == [
        "Column 'day' is taken as dates.",
        "Column 'price' is taken as numbers.",
    ]
    assert plain["day"].tolist()[2] == pd.Timestamp("9999-12-31").as_unit("us")
    assert plain["price"].tolist()[:2] == [1.1, 2.0]
    assert plain["mixed"].tolist() == frame["mixed"].tolist()
    assert frame["day"].iloc[0] == date(2020, 1, 1), "the table that was given is not changed"
    with pytest.warns(an.AnonymizerWarning):
        schema = an.suggest(frame)
    assert (schema["day"].kind, schema["price"].kind) == (Kind.DATE, Kind.NUMERIC)


def test_note_on_a_table__names_the_line_that_called(recwarn: pytest.WarningsRecorder) -> None:
    an.profile(pd.DataFrame({"day": [date(2020, 1, 1)] * 3}))
    assert [note.filename for note in recwarn] == [__file__]


def test_exact_decimals__stay_where_a_number_cannot_hold_them() -> None:
    values = [Decimal("1234567890.123456789"), Decimal("1")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert frame_of(pd.DataFrame({"a": values}))["a"].tolist() == values


def test_plain_table__is_itself() -> None:
    assert frame_of(TABLE) is TABLE


def test_categories_that_are_numbers__stay_categories() -> None:
    frame = TABLE.assign(code=pd.Categorical(np.arange(N) % 3))
    for table in (frame, pa.Table.from_pandas(frame, preserve_index=False)):
        assert an.suggest(table)["code"].kind is Kind.CATEGORICAL
        schema = an.Schema.of(table, quasi_identifying=["age", "code"], sensitive=["ill"])
        assert schema["code"].kind is Kind.CATEGORICAL
        assert set(an.anonymize(table, schema, k=10).release["code"].domain) == {"0", "1", "2"}


@pytest.mark.parametrize("values", [[[1], [2]], [{"a": CANARY}, None], [None, (1, 2)], [{1}, {2}]])
def test_cells_that_are_lists__are_refused_with_column_and_row(values: list[Any]) -> None:
    row = next(at for at, value in enumerate(values) if value is not None)
    frame = pd.DataFrame({"age": [1, 2], "l": values})
    calls = [lambda: an.suggest(frame), lambda: an.profile(frame), lambda: an.linkage_risk(frame, ["l"])]
    for call in calls:
        with pytest.raises(an.SchemaError, match=rf"'l' holds .* row {row + 1}\)") as refusal:
            call()
        assert CANARY not in str(refusal.value)
        assert refusal.value.row == row
    assert an.linkage_risk(frame, ["age"]).unique == 2, "what is not looked at may be anything"


def test_lists_of_arrow__are_refused_with_column_and_row() -> None:
    table = pa.table({"a": [1, 2], "l": [None, [CANARY]]})
    with pytest.raises(an.SchemaError, match=r"'l' holds values of type list<.* row 2\)") as refusal:
        an.suggest(table)
    assert CANARY not in str(refusal.value)


def grown() -> tuple[an.EncodedTable, an.Tree]:
    """The table in codes, and its tree."""
    encoded = an.encode(TABLE, SCHEMA)
    return encoded, an.grow(encoded)


SLIPS: dict[str, tuple[Callable[[], Any], str]] = {
    "no schema": (lambda: an.anonymize(TABLE, None), r"'schema' of anonymize\(\) is None.*Schema\.of\("),
    "no schema at all": (lambda: an.anonymize(TABLE), r"anonymize\(\) lacks schema.*Schema\.of\("),
    "names for a schema": (lambda: an.anonymize(TABLE, ["age", "sex"]), r"names says no roles.*Schema\.of\("),
    "a name for a schema": (lambda: an.anonymize(TABLE, "age"), r"'schema' of anonymize\(\) is a text.*Schema"),
    "names to encode": (lambda: an.encode(TABLE, ("age",)), r"encode\(\) takes a Schema"),
    "half a role": (lambda: an.anonymize(TABLE, {"age": "quasi"}), "column 'age'.*Did you mean 'quasi-identifying'"),
    "a role misspelled": (lambda: an.anonymize(TABLE, {"age": "senstive"}), "Did you mean 'sensitive'"),
    "no role": (lambda: an.anonymize(TABLE, {"age": 3}), "A role is a text, not an int.*quasi-identifying"),
    "roles of no column": (lambda: an.anonymize(TABLE, {"ages": "sensitive"}), "role.*Choose among|no column"),
    "an open column": (lambda: an.anonymize(TABLE, {"age": "quasi-identifying"}), r"'sex' looks.*insensitive="),
    "a path to suggest": (lambda: an.suggest("people.csv"), r"'table' of suggest\(\) is a text.*read_table"),
    "a path to anonymize": (lambda: an.anonymize("people.csv", SCHEMA), "is a text, not a table.*read_table"),
    "a path to a schema": (
        lambda: an.Schema.of("t.csv", quasi_identifying=["a"]),
        "is a text, not a table.*read_table",
    ),
    "a list to suggest": (lambda: an.suggest([1, 2]), "is a list, not a table.*DataFrame"),
    "a series to profile": (lambda: an.profile(TABLE["age"]), "is a Series, not a table.*to_frame"),
    "an array of Arrow": (lambda: an.profile(pa.array([1])), "not a table"),
    "a table to read": (lambda: an.read_table(TABLE), r"'source' of read_table\(\) is a DataFrame.*a table already"),
    "Arrow to read": (lambda: an.read_table(pa.table({"a": [1]})), r"'source' of read_table\(\) .*a table already"),
    "a seed for k": (lambda: an.anonymize(TABLE, SCHEMA, k="ten"), "k cannot be 'ten'.*whole number"),
    "no setting": (lambda: an.anonymize(TABLE, SCHEMA, kk=3), "no setting 'kk'.*Choose among k"),
    "k without its name": (lambda: an.anonymize(TABLE, SCHEMA, 10), r"without a name.*k=10"),
    "a text for a seed": (lambda: an.anonymize(TABLE, SCHEMA, rng="x"), "'rng'.*not a generator.*default_rng"),
    "a fraction for a seed": (lambda: an.anonymize(TABLE, SCHEMA, rng=0.5), "'rng'.*not a generator"),
    "an old generator": (lambda: an.anonymize(TABLE, SCHEMA, rng=np.random.RandomState(1)), "'rng'.*not a generator"),
    "a reason for nothing": (
        lambda: an.anonymize(TABLE, SCHEMA, reasons={"nonsense": "so we all agreed"}),
        "no finding 'nonsense'.*The findings are: .*promise",
    ),
    "a reason without words": (lambda: an.anonymize(TABLE, SCHEMA, reasons={"promise": 3}), "says too little"),
    "reasons in a list": (lambda: an.anonymize(TABLE, SCHEMA, reasons=["x"]), "'reasons'.*is a list, not a dictionary"),
    "a table for a reading": (lambda: an.anonymize(TABLE, SCHEMA, reading=TABLE), "'reading'.*read_table"),
    "a table to grow": (lambda: an.grow(TABLE), r"'encoded' of grow\(\) is a DataFrame.*encode\(table, schema\)"),
    "a table to annotate": (lambda: an.annotate(grown()[1], TABLE), "'encoded' of annotate.*encode"),
    "a tree to prune alone": (lambda: an.prune(grown()[1]), r"prune\(\) lacks risk"),
    "a schema to prune": (lambda: an.prune(SCHEMA, None), r"'tree' of prune\(\) is a Schema.*grow\(encoded\)"),
    "a tree to generalize": (
        lambda: an.generalize(TABLE, SCHEMA, *grown()),
        r"'pruning' of generalize\(\) is a Tree.*prune\(tree, risk\)",
    ),
    "k in words": (lambda: an.verify(TABLE, SCHEMA, k="ten"), r"'k' of verify\(\) is a text, not a whole number"),
    "a file that is not there": (lambda: an.verify("nowhere.csv", SCHEMA, k=5), "nowhere.csv cannot be opened"),
    "a report that is not there": (lambda: an.verify(TABLE, report="nowhere.json"), "nowhere.json.*opened"),
    "no table of a tree": (lambda: an.disclosure(grown()[1]), "lacks the table.*encode"),
    "a table for a tree": (lambda: an.disclosure(TABLE, TABLE), r"'tree' of disclosure\(\) is a DataFrame"),
    "no target": (lambda: an.forest(TABLE, "illness"), "'illness'"),
    "no audience": (lambda: an.hierarchy(TABLE, SCHEMA, "age", "guesses"), "'guesses'.*cuts or tree"),
    "one release": (lambda: an.attack([TABLE], SCHEMA), "Only one release"),
    "schemas of others": (lambda: an.attack([TABLE, TABLE], [SCHEMA]), "2 releases and 1 schemas"),
    "no k": (lambda: an.verify(TABLE, SCHEMA), r"verify\(\) lacks k"),
    "no column": (lambda: an.linkage_risk(TABLE, "agee"), "no column 'agee'"),
    "numbers as columns": (lambda: an.linkage_risk(TABLE, [1]), "'columns'.*not names of columns"),
    "no columns": (lambda: an.singling_out(TABLE, None), "'columns'.*is None, not names of columns"),
    "a clone": (lambda: clone(an.anonymize(TABLE, SCHEMA, k=5)), "no estimator"),
    "a table to anonymize_files": (lambda: an.anonymize_files(TABLE, SCHEMA, "out"), "'source'.*is a DataFrame"),
    "a number for a folder": (lambda: an.verify_folder(3, SCHEMA, k=3), r"'folder' of verify_folder\(\) is an int"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_slips__end_in_one_sentence_with_what_to_do(slip: str) -> None:
    call, says = SLIPS[slip]
    with pytest.raises(an.AnonymizerError, match=says) as refusal:
        call()
    assert "\n" not in str(refusal.value)
    assert CANARY not in str(refusal.value)
    assert refusal.value.problem.endswith((".", "…"))


def test_one_name__is_a_list_of_it() -> None:
    assert an.linkage_risk(TABLE, "age").groups == an.linkage_risk(TABLE, ["age"]).groups
    assert an.singling_out(TABLE, "age") == an.singling_out(TABLE, ["age"])
    assert an.linkage_risk(TABLE, TABLE.columns[:2]).groups == an.linkage_risk(TABLE, ("age", "sex")).groups
    assert an.Schema.of(TABLE, quasi_identifying="age", sensitive="ill", identifying="sex").quasi_identifying == (
        "age",
    )


def test_roles_by_name__are_a_schema() -> None:
    result = an.anonymize(TABLE, ROLES, k=10)
    assert {column.name: column.role.value for column in result.schema.columns} == ROLES
    lists = {"quasi_identifying": ["age", "sex"], Role.SENSITIVE: "ill"}
    assert an.encode(TABLE, lists).names == an.encode(TABLE, SCHEMA).names
    words = {"age": "Quasi identifying", "sex": Role.QUASI_IDENTIFYING, "ill": "SENSITIVE"}
    assert an.anonymize(TABLE, words, k=10).schema.quasi_identifying == ("age", "sex")


def test_seed__is_a_generator() -> None:
    first, again = (an.anonymize(TABLE, SCHEMA, k=10, rng=42) for _ in range(2))
    assert first.release.frame().equals(again.release.frame())
    generator = np.random.default_rng(42)
    assert first.release.frame().equals(an.anonymize(TABLE, SCHEMA, k=10, rng=generator).release.frame())


def test_reading__is_a_table_with_all_that_its_file_says(tmp_path: Any) -> None:
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    reading = an.read_table(tmp_path / "t.csv")
    assert [c.role for c in an.suggest(reading).columns] == [c.role for c in an.suggest(reading.frame).columns]
    result = an.anonymize(reading, SCHEMA, k=10)
    assert result.report.provenance.input_name == "t.csv"


def test_one_earlier_release__is_a_list_of_it() -> None:
    first = an.anonymize(TABLE, SCHEMA, k=10)
    assert an.anonymize(TABLE, SCHEMA, k=10, earlier=first, keep=True).release.n_records == N


def functions() -> list[str]:
    """The public functions."""
    return [name for name in an.__all__ if inspect.isfunction(getattr(api, name))]


@pytest.mark.parametrize("name", functions())
def test_public_functions__tell_what_their_arguments_are(name: str) -> None:
    """Every public function checks what it is given, so no parameter may be declared in a way that cannot be read."""
    function = getattr(api, name)
    parameters = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
    hints = hints_of(function)
    assert hasattr(function, "__wrapped__"), "the function is not checked"
    assert {one.name for one in parameters if one.annotation is not one.empty} <= set(hints)
    with pytest.raises(an.ParameterError, match="has no argument 'nonsense'|lacks|no setting 'nonsense'"):
        function(nonsense=1)


@pytest.mark.parametrize("name", functions())
def test_public_functions__refuse_what_is_of_no_kind(name: str) -> None:
    function = getattr(api, name)
    parameters = list(inspect.signature(function).parameters.values())
    first = parameters[0]
    lacks = {one.name: object() for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD}
    with pytest.raises(an.AnonymizerError, match=r"is an object"):
        function(**{first.name: object(), **lacks})


def test_tables__are_released_as_they_came() -> None:
    frame = TABLE.assign(ill=TABLE["ill"].astype("category"))
    assert as_it_came(frame, pd.DataFrame) is frame
    for kind in ("Arrow", "stream", "DuckDB"):
        table = as_it_came(frame, type(TABLES[kind](TABLE)))
        assert isinstance(table, pa.Table)
        assert table.column_names == ["age", "sex", "ill"]
        assert table.schema.metadata is None, "an index or a name of a file in metadata is no row"


def test_polars__is_released_as_polars() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    assert isinstance(as_it_came(TABLE, type(polars_frame(TABLE))), polars.DataFrame)
