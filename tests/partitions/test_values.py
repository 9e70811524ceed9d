"""Values of a table in pieces: however it is cut, the codes and encodings are those of the whole."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import EncodeError, ReadError
from anonymizer.growing.encode import EncodedTable, encode, encode_column
from anonymizer.partitions import values
from anonymizer.partitions.coded import CodedTable, code_table
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.values import code_columns
from anonymizer.schema import Column, Kind, Role, Schema
from tests.partitions.tables import people, schema_of, whole_frame, write_pieces
from tests.sweeps import few


def assert_same_encoding(coded: CodedTable, encoded: EncodedTable) -> None:
    assert coded.n_records == encoded.n_records
    assert coded.encoded.notes == encoded.notes
    for position, (mine, other) in enumerate(zip(coded.encoded.encodings, encoded.encodings, strict=True)):
        assert (mine.name, mine.kind, mine.by_order, mine.domain, mine.missing) == (
            other.name, other.kind, other.by_order, other.domain, other.missing
        )  # fmt: skip
        assert mine.labels.dtype == other.labels.dtype
        assert mine.labels.tolist() == other.labels.tolist()
        assert mine.low.tolist() == other.low.tolist()
        assert mine.high.tolist() == other.high.tolist()
        assert coded.codes(position).tolist() == encoded.codes.columns[position].tolist()
    for mine, other in zip(
        (coded.encoded.target, *coded.encoded.others), (encoded.target, *encoded.others), strict=True
    ):
        assert (mine.name, mine.labels, mine.ordered) == (other.name, other.labels, other.ordered)
        assert mine.codes.dtype == other.codes.dtype
        assert mine.codes.tolist() == other.codes.tolist()
    whole = coded.whole
    for one, other in zip(whole.codes.columns, encoded.codes.columns, strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, list[int], list[Any]]:
    n = draw(st.integers(1, 25))
    text = st.sampled_from(["a", "b", " b", "?", "", "NA", "10", "9", None])
    whole = st.one_of(st.none(), st.integers(-3, 12))
    real = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, 2.0, float("nan")]))
    rows = st.lists(st.tuples(text, whole, real, text), min_size=n, max_size=n)
    columns = list(zip(*draw(rows), strict=True))
    table = pa.table(
        {
            "level": pa.array(columns[0], pa.string()),
            "count": pa.array(columns[1], pa.int64()),
            "real": pa.array(columns[2], pa.float64()),
            "class": pa.array(columns[3], pa.string()),
        }
    )
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    forms = draw(
        st.lists(st.sampled_from(["plain", "float", "unused"]), min_size=len(ends) + 1, max_size=len(ends) + 1)
    )
    return table, ends, forms


def in_form(table: pa.Table, form: str) -> pa.Table:
    """Return the same values in another form: whole numbers as floats, or with levels that no record has."""
    if form == "float":
        at = table.column_names.index("count")
        return table.set_column(at, "count", table["count"].cast(pa.float64()))
    if form == "unused":
        levels = pa.array(["never", "a", "b", " b", "?", "", "NA", "10", "9"])
        codes = pa.array(
            [None if v is None else levels.index(v).as_py() for v in table["level"].to_pylist()], pa.int32()
        )
        return table.set_column(0, "level", pa.DictionaryArray.from_arrays(codes, levels))
    return table


@settings(max_examples=few(60))
@given(tables())
def test_any_pieces__are_encoded_as_the_whole(case: tuple[pa.Table, list[int], list[str]]) -> None:
    table, ends, forms = case
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = []
        for number, (start, end) in enumerate(zip([0, *ends], [*ends, len(table)], strict=True)):
            parts.append(in_form(table.slice(start, end - start), forms[number]))
            pq.write_table(parts[-1], folder / f"{number}.parquet", row_group_size=3)
        pieces = open_table(folder, rows=5)
        floats = "float" in forms
        frame = whole_frame(table.set_column(1, "count", table["count"].cast(pa.float64())) if floats else table)
        schema = Schema.of(frame, quasi_identifying=["level", "count", "real"], sensitive=["class"])
        coded = code_table(pieces, schema)
        assert_same_encoding(coded, encode(frame, schema))
        again = code_table(pieces, schema)
        for name_ in schema.released:
            assert coded.columns[name_].codes.tolist() == again.columns[name_].codes.tolist()


def test_values_that_share_codes__count_records(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    numbers = rng.permutation(np.repeat(np.arange(300.0), rng.integers(1, 9, 300)))
    column = Column("x", Role.QUASI_IDENTIFYING, Kind.NUMERIC)
    codes, encoding, note = encode_column(pd.Series(numbers), column, 20)
    distinct, counts = np.unique(numbers, return_counts=True)
    lookup, other, same = encode_column(pd.Series(distinct), column, 20, counts)
    assert note == same != ""
    assert other.low.tolist() == encoding.low.tolist()
    assert other.high.tolist() == encoding.high.tolist()
    assert lookup[np.searchsorted(distinct, numbers)].tolist() == codes.tolist()


def test_people__are_encoded_as_the_whole_in_any_order_of_the_pieces(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(people(5000), preserve_index=False)
    frame = whole_frame(table)
    schema = schema_of(frame)
    pieces = open_table(write_pieces(tmp_path / "in", table, [700, 700, 3000], 400), rows=500)
    assert len(pieces.pieces) > 5
    assert_same_encoding(code_table(pieces, schema), encode(frame, schema))
    turned = pa.concat_tables([table.slice(2000), table.slice(0, 2000)])
    backwards = open_table(write_pieces(tmp_path / "back", turned, [100]), rows=500)
    assert_same_encoding(code_table(backwards, schema), encode(whole_frame(turned), schema))


def test_columns_that_do_not_leave__are_not_read(tmp_path: Path) -> None:
    table = pa.table({"name": ["Ann Example", "Bob Example"], "age": [30, 40], "sick": ["yes", "no"]})
    pq.write_table(table, tmp_path / "one.parquet")
    pieces = open_table(tmp_path / "one.parquet")
    schema = Schema.of(table.to_pandas(), quasi_identifying=["age"], sensitive=["sick"], identifying=["name"])
    assert list(code_table(pieces, schema).columns) == ["age", "sick"]


def test_codes__are_as_narrow_as_the_column_allows(tmp_path: Path) -> None:
    table = pa.table({"few": np.arange(70_000) % 200, "more": np.arange(70_000) % 5000, "all": np.arange(70_000)})
    pq.write_table(table, tmp_path / "one.parquet", row_group_size=9_000)
    columns = code_columns(open_table(tmp_path, rows=20_000), ["few", "more", "all"])
    assert [columns[name].codes.dtype.itemsize for name in ("few", "more", "all")] == [1, 2, 4]
    assert columns["all"].take(slice(None)).tolist() == list(range(70_000))


# What cannot be read.


def test_a_damaged_piece__is_named_and_nothing_of_it_is_told(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(people(3000), preserve_index=False)
    folder = write_pieces(tmp_path / "in", table, [1000, 2000])
    pieces, schema = open_table(folder), schema_of(whole_frame(table))
    bad = folder / "part-001.parquet"
    data = bytearray(bad.read_bytes())
    for place in range(40, len(data) // 2, 7):
        data[place] ^= 0x5A
    bad.write_bytes(bytes(data))
    with pytest.raises(ReadError, match=r"part-001.parquet changed"):
        code_table(pieces, schema)
    pieces = open_table(folder)
    with pytest.raises(ReadError, match=r"part-001.parquet cannot be read") as caught:
        code_table(pieces, schema)
    assert caught.value.__cause__ is None
    bad.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ReadError, match=r"part-001.parquet cannot be read"):
        open_table(folder)
    with pytest.raises(ReadError, match=r"part-001.parquet"):
        code_table(pieces, schema)


def test_values_that_do_not_fit__are_not_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": ["31", "Rumpelstiltskin"], "sick": ["yes", "no"]}), tmp_path / "one.parquet")
    frame = pd.DataFrame({"age": [1], "sick": ["yes"]})
    schema = Schema.of(frame, quasi_identifying=["age"], sensitive=["sick"])
    with pytest.raises(EncodeError, match="'age' is numeric") as caught:
        code_table(open_table(tmp_path), schema)
    assert "Rumpelstiltskin" not in repr(vars(caught.value)) + str(caught.value)


def test_files_of_two_tables__are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": [1]}), tmp_path / "2.parquet")
    with pytest.raises(ReadError, match=r"2.parquet and 1.parquet do not have the same columns"):
        open_table(tmp_path)
    pq.write_table(pa.table({"a": ["text"]}), tmp_path / "2.parquet")
    with pytest.raises(ReadError, match="'a' is string in 2.parquet"):
        open_table(tmp_path)


def test_no_file_and_no_record__are_said(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no Parquet file"):
        open_table(tmp_path)
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "1.parquet")
    with pytest.raises(ReadError, match="has no rows"):
        open_table(tmp_path)
    (tmp_path / "_hidden.parquet").write_bytes(b"")
    assert len(open_table_files(tmp_path)) == 1


def open_table_files(folder: Path) -> list[Path]:
    from anonymizer.partitions.places import files_of

    return files_of(folder)


def test_first_texts__are_the_first_distinct_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_TEXTS", 3)
    few_texts = pa.array(["b", "a"])
    assert set(values.first_texts(few_texts, pa.array(["a", "b"])).to_pylist()) == {"a", "b"}
    enough = values.first_texts(few_texts, pa.array(["a", "c", "d"]))
    assert len(enough) == len(set(enough.to_pylist())) == 3
    assert values.first_texts(enough, pa.array(["e"])) is enough
