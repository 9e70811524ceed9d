"""Tables as codes: the order of the values, missing, declared domains, and errors that say where."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.errors import EncodeError, SchemaError
from anonymizer.growing.encode import Encoding, encode, encode_column
from anonymizer.schema import Column, Schema
from anonymizer.values import value_text


def codes_of(values: Any, kind: str, max_codes: int = 65_536, **rest: Any) -> tuple[list[int], Encoding, str]:
    column = Column("x", "quasi-identifying", kind, **rest)  # type: ignore[arg-type]
    codes, encoding, note = encode_column(pd.Series(values), column, max_codes)
    return codes.tolist(), encoding, note


def texts(values: Any, kind: str, **rest: Any) -> list[str | None]:
    """What the codes stand for, record by record."""
    codes, encoding, _ = codes_of(values, kind, **rest)
    return [encoding.text(code) for code in codes]


# Numbers.


def test_numbers__codes_follow_their_order() -> None:
    codes, encoding, note = codes_of([2.5, -1, 2.5, 10], "numeric")
    assert codes == [1, 0, 1, 2]
    assert encoding.labels.tolist() == [-1, 2.5, 10]
    assert encoding.low.tolist() == encoding.high.tolist() == [-1, 2.5, 10]
    assert encoding.domain == (-1, 10)
    assert (encoding.n_codes, encoding.missing, encoding.missing_share) == (3, False, 0)
    assert encoding.by_order
    assert encoding.is_interval
    assert note == ""


@pytest.mark.parametrize(
    "values",
    [
        [1.0, None, 3.0],
        pd.array([1, None, 3], dtype="Int64"),
        pd.array([1, None, 3], dtype="int64[pyarrow]"),
        ["1", None, "3"],
        [1, pd.NA, 3.0],
    ],
)
def test_numbers__missing_is_the_last_code_above_all_values(values: Any) -> None:
    codes, encoding, _ = codes_of(values, "numeric")
    assert codes == [0, 2, 1]
    assert encoding.missing
    assert encoding.n_codes == 3
    assert encoding.domain == (1, 3)
    assert encoding.missing_share == pytest.approx(1 / 3)
    assert [encoding.text(code) for code in range(3)] == ["1", "3", None]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_numbers__whole_numbers_of_every_width_survive(dtype: str) -> None:
    ends = np.iinfo(dtype)
    for low, high in ((ends.min, ends.min + 100), (ends.max - 100, ends.max), (max(ends.min, -90), 90)):
        values = np.array([high, low, low + 60, high, low + 1], dtype=dtype)
        codes, encoding, _ = codes_of(values, "numeric")
        assert encoding.labels[codes].tolist() == values.tolist()
        assert encoding.labels.tolist() == sorted({*values.tolist()})


@pytest.mark.parametrize(("dtype", "low", "high"), [("int8", -128, 127), ("int16", -32768, 32767)])
def test_numbers__a_narrow_type_may_be_used_in_full(dtype: str, low: int, high: int) -> None:
    values = np.array([low, -100, 0, 100, high] * 4, dtype=dtype)
    codes, encoding, _ = codes_of(values, "numeric")
    assert encoding.labels[codes].tolist() == values.tolist()
    assert encoding.domain == (low, high)


def test_numbers__negative_zero_is_zero() -> None:
    assert codes_of([-0.0, 0.0, 1.0], "numeric")[0] == [0, 0, 1]
    assert texts([-0.0], "numeric") == ["0"]


def test_numbers__a_declared_range_is_the_domain_of_a_column_without_values() -> None:
    for values, domain in [([np.nan], (-10, 100)), ([pd.NaT], ("2000-01-01", "2020-01-01"))]:
        table = pd.DataFrame({"q": values, "s": ["a"]})
        schema = Schema.of(table, quasi_identifying=["q"], sensitive=["s"], domains={"q": domain})
        low, high = encode(table, schema).encodings[0].domain
        assert low < high


def test_numbers__a_declared_range_is_the_domain() -> None:
    assert codes_of([5, 6], "numeric", domain=(0, 100))[1].domain == (0, 100)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False, width=32), min_size=1, max_size=30))
def test_numbers__codes_lead_back_to_the_values(values: list[float]) -> None:
    if max(map(abs, (v for v in values if v == v)), default=0) > 1e300:
        return
    codes, encoding, _ = codes_of(values, "numeric")
    for value, code in zip(values, codes, strict=True):
        if value != value:
            assert encoding.missing
            assert code == len(encoding.labels)
        else:
            assert encoding.labels[code] == value
    assert (np.diff(encoding.labels) > 0).all()


def test_numbers__too_many_share_codes_between_neighbours_and_say_so() -> None:
    rng = np.random.default_rng(5)
    values = pd.Series(np.append(rng.normal(size=2000), [np.nan] * 10))
    codes, encoding, note = codes_of(values, "numeric", max_codes=50)
    assert encoding.n_codes <= 50
    assert encoding.missing
    assert "2,000 different values" in note
    assert (encoding.low[1:] > encoding.high[:-1]).all()
    assert encoding.domain == (values.min(), values.max())
    for value, code in zip(values, codes, strict=True):
        if np.isnan(value):
            assert code == len(encoding.labels)
        else:
            assert encoding.low[code] <= value <= encoding.high[code]
    counts = np.bincount(codes)[:-1]
    assert counts.max() <= 2 * counts.min()


@pytest.mark.parametrize(
    ("values", "row", "says"),
    [
        ([1.0, 2.0, "x"], 2, "'x'"),
        (["1", ""], 1, "''"),
        ([1.0, np.inf], 1, "infinite"),
        (["1", "2", "-inf"], 2, "infinite"),
        ([1, True, {"a": 1}], 2, "numeric"),
    ],
)
def test_numbers__errors_say_where(values: list[Any], row: int, says: str) -> None:
    with pytest.raises(EncodeError) as caught:
        codes_of(pd.Series(values, dtype=object), "numeric")
    assert says in caught.value.in_full
    assert (caught.value.column, caught.value.row) == ("x", row)
    assert f"row {row + 1}" in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("values", "domain"),
    [([5, 6], (0, 5)), ([5, 6], (5.5, 9)), ([1e308, -1e308], None), ([1.0, 2.0], (float("-inf"), float("inf")))],
)
def test_numbers__outside_or_immeasurable_ranges_are_refused(values: list[float], domain: Any) -> None:
    with pytest.raises(EncodeError) as caught:
        codes_of(values, "numeric", domain=domain)
    assert caught.value.column == "x"


# Dates.


@pytest.mark.parametrize(
    "values",
    [
        ["2020-03-01", None, "2019-12-31"],
        pd.to_datetime(["2020-03-01", None, "2019-12-31"]),
        pd.to_datetime(["2020-03-01", None, "2019-12-31"]).tz_localize("UTC"),
        [datetime.date(2020, 3, 1), None, datetime.date(2019, 12, 31)],
    ],
)
def test_dates__are_numbers_that_are_written_as_dates(values: Any) -> None:
    codes, encoding, _ = codes_of(values, "date")
    assert codes == [1, 2, 0]
    assert [encoding.text(code) for code in range(3)] == ["2019-12-31", "2020-03-01", None]
    assert encoding.domain == (1577750400e6, 1583020800e6)
    assert encoding.is_interval


def test_dates__times_of_day_and_far_centuries() -> None:
    assert texts(["2020-03-01T10:30:00", "2020-03-01T00:00:00"], "date") == ["2020-03-01T10:30:00", "2020-03-01"]
    first, last = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
    assert texts([first, last], "date") == ["0001-01-01", "9999-12-31"]
    encoding = codes_of(["1580-01-01"], "date", domain=("1500-01-01", "2100-01-01"))[1]
    assert encoding.domain == (-14831769600e6, 4102444800e6)


def test_dates__errors_name_the_column() -> None:
    for values, domain in ((["2020-01-01", "garbage"], None), (["2020-01-02"], ("2020-01-03", "2021-01-01"))):
        with pytest.raises(EncodeError) as caught:
            codes_of(values, "date", domain=domain)
        assert caught.value.column == "x"


def test_dates__errors_say_which_row_in_plain_words() -> None:
    with pytest.raises(EncodeError, match=r"the first is in row 2\)\.") as caught:
        codes_of(["2020-01-01", "garbage"], "date")
    assert "the first is in row 2: 'garbage'" in caught.value.in_full
    assert caught.value.row == 1


def test_numbers__too_large_to_be_exact_beside_missing_ones_are_refused() -> None:
    exact = pd.array([2**53, None, 1], dtype="Int64")
    assert codes_of(exact, "numeric")[0] == [1, 2, 0]
    with pytest.raises(EncodeError, match="cannot hold exactly"):
        codes_of(pd.array([2**53 + 1, None, 1], dtype="Int64"), "numeric")
    assert codes_of(pd.array([2**53 + 1, 2**53], dtype="Int64"), "numeric")[0] == [1, 0]


# Categories.


def test_levels__of_several_types_are_told_apart_by_their_text() -> None:
    codes, encoding, _ = codes_of([1, True, None, [1, 2], 1.0], "categorical")
    assert encoding.labels.tolist() == ["1", "[1, 2]", "true"]
    assert codes == [0, 2, 3, 1, 0]


def test_levels__are_sorted_and_missing_is_the_last() -> None:
    codes, encoding, _ = codes_of(["b", None, "a", "b"], "categorical")
    assert codes == [1, 2, 0, 1]
    assert encoding.labels.tolist() == ["a", "b"]
    assert encoding.domain == (0, 3)
    assert encoding.missing
    assert not encoding.by_order
    assert not encoding.is_interval
    assert encoding.missing_share == 0


def test_levels__numbers_are_sorted_as_numbers_and_the_rest_as_text() -> None:
    assert codes_of(["10", "9", "1"], "categorical")[1].labels.tolist() == ["1", "9", "10"]
    assert codes_of(["10", "9", "b"], "categorical")[1].labels.tolist() == ["10", "9", "b"]
    assert codes_of([True, False], "categorical")[1].labels.tolist() == ["false", "true"]


@pytest.mark.parametrize("odd", ["nan", "inf", "-inf", "x", "1_0", "01"])
def test_levels__the_order_of_appearance_never_shows(odd: str) -> None:
    levels = ["2", "10", odd, "1", "30"]
    orders = {tuple(codes_of(list(np.roll(levels, shift)), "categorical")[1].labels.tolist()) for shift in range(5)}
    assert len(orders) == 1


def test_levels__a_declared_domain_gives_the_order_and_may_hold_more() -> None:
    codes, encoding, _ = codes_of(["b", "a"], "categorical", domain=("c", "b", "a"), ordered=True)
    assert codes == [1, 2]
    assert encoding.n_codes == 3
    assert encoding.by_order
    with pytest.raises(EncodeError, match="a value .row 2.") as caught:
        codes_of(["a", "q"], "categorical", domain=("a", "b"))
    assert (caught.value.column, caught.value.row, caught.value.value) == ("x", 1, "q")


def test_levels__a_categorical_type_is_read_without_its_unused_levels() -> None:
    values = pd.Categorical(["b", "a", None], categories=["z", "b", "a"])
    codes, encoding, _ = codes_of(values, "categorical")
    assert codes == [1, 0, 2]
    assert encoding.labels.tolist() == ["a", "b"]


def test_levels__text_na_is_a_level_and_not_missing() -> None:
    assert texts(["NA", None, "*", ""], "categorical") == ["NA", None, "*", ""]


def test_levels__too_many_are_refused() -> None:
    with pytest.raises(EncodeError, match="11 different levels"):
        codes_of([str(i) for i in range(11)], "categorical", max_codes=10)
    with pytest.raises(EncodeError):
        codes_of([None, *(str(i) for i in range(10))], "categorical", max_codes=10)


@pytest.mark.parametrize(("kind", "b"), [("numeric", 1), ("categorical", 1), ("date", 1)])
def test_all_missing__is_one_code(kind: str, b: int) -> None:
    codes, encoding, _ = codes_of([None, None], kind)
    assert codes == [0, 0]
    assert encoding.n_codes == b
    assert encoding.text(0) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (-2.5, "-2.5"),
        (np.int8(-3), "-3"),
        (True, "true"),
        (np.bool_(False), "false"),
        ("as it is ", "as it is "),
        (np.datetime64("2020-01-01T00:00", "us"), "2020-01-01"),
        (pd.Timestamp("2020-01-01 10:00"), "2020-01-01T10:00:00"),
    ],
)
def test_value_text(value: Any, text: str) -> None:
    assert value_text(value) == text


# Whole tables.


@pytest.fixture
def table() -> pd.DataFrame:
    return pd.DataFrame(
        {"age": [30, 20, 30], "job": ["b", "b", None], "note": ["p", "q", "r"], "sick": ["no", None, "yes"]}
    )


def test_encode__columns_classes_and_notes(table: pd.DataFrame) -> None:
    encoded = encode(table, Schema.of(table, quasi_identifying=["job", "age"], sensitive=["sick"]))
    assert encoded.names == ("age", "job")
    assert encoded.codes.matrix().tolist() == [[1, 0], [0, 0], [1, 1]]
    assert encoded.codes.by_column(np.array([2, 0])).tolist() == [[1, 1], [1, 0]]
    assert encoded.n_records == 3
    assert encoded.notes == ()
    assert encoded.target.name == "sick"
    assert encoded.target.labels == ("no", "yes", None)
    assert encoded.target.codes.tolist() == [0, 2, 1]
    with pytest.raises(ValueError, match="read-only"):
        encoded.codes.columns[0][0] = 1


def test_encode__without_a_target_everybody_is_of_one_class(table: pd.DataFrame) -> None:
    target = encode(table, Schema.of(table, quasi_identifying=["age"])).target
    assert target.n_classes == 1
    assert target.codes.tolist() == [0, 0, 0]


def test_encode__a_declared_class_without_records_counts(table: pd.DataFrame) -> None:
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["sick"], domains={"sick": ("yes", "no", "unknown")})
    assert encode(table, schema).target.labels == ("yes", "no", "unknown", None)


def test_encode__more_than_256_codes_need_16_bits_and_65536_fit() -> None:
    table = pd.DataFrame({"a": np.arange(65_536), "b": 0})
    encoded = encode(table, Schema.of(table, quasi_identifying=["a", "b"]))
    assert [column.dtype for column in encoded.codes.columns] == [np.uint16, np.uint8]
    assert encoded.codes.matrix().dtype == np.uint16
    assert (encoded.codes.columns[0] == np.arange(65_536)).all()
    table = pd.DataFrame({"a": np.append(np.arange(65_536.0), np.nan)})
    encoded = encode(table, Schema.of(table, quasi_identifying=["a"]))
    assert encoded.encodings[0].n_codes <= 65_536
    assert encoded.notes
    assert encoded.codes.columns[0][-1] == encoded.encodings[0].n_codes - 1


def test_encode__refuses_what_does_not_fit(table: pd.DataFrame) -> None:
    schema = Schema.of(table, quasi_identifying=["age"])
    with pytest.raises(EncodeError, match="no rows"):
        encode(table.iloc[:0], schema)
    with pytest.raises(SchemaError):
        encode(table.drop(columns="note"), schema)


def test_encode__leaves_the_table_as_it_was(table: pd.DataFrame) -> None:
    before = table.copy(deep=True)
    encode(table, Schema.of(table, quasi_identifying=["age", "job"], sensitive=["sick"]))
    pd.testing.assert_frame_equal(table, before)
