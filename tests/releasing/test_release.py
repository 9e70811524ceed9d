"""Releases as files: writing and reading is the identity, and nothing secret is in them."""

import gzip
import io
from hashlib import sha256

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.cells import Cell, kept_text
from anonymizer.errors import ParameterError, ReadError
from anonymizer.releasing import files
from anonymizer.releasing.release import Release, ReleasedColumn, read_release
from anonymizer.schema import Column, Kind, Role, Schema
from tests.sweeps import few

NASTY = ["missing", "*", "", " ", "=1+1", "+49 30", "-x", "@A1", "\tx", "a\r\nb", "a, b", 'say "x"', '"', "😀", "NA",
         "null", "-5", "{a}", "[1, 2]", "שלום", "a+b", "#N/A"]  # fmt: skip
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=6))
missing_or = lambda values: st.one_of(st.none(), values)  # noqa: E731


def release_of(sets, intervals, pairs, name="city"):
    """A release of a set column, an interval column, and three kept ones."""
    n = len(sets)
    columns = [cell_column(name, Kind.CATEGORICAL, sets), cell_column("age", Kind.NUMERIC, intervals)]
    for kind, title in ((Kind.CATEGORICAL, "note"), (Kind.NUMERIC, "cost")):
        values = pd.Series([pair[kind is Kind.NUMERIC] for pair in pairs], name=title)
        values = values.astype("float64" if kind is Kind.NUMERIC else "str")
        columns.append(ReleasedColumn(title, Role.SENSITIVE, kind, (), True, values=values))
    return Release(tuple(columns), np.arange(n), "uniform")


def cell_column(name, kind, cells):
    distinct = tuple(dict.fromkeys(cells))
    index = np.array([distinct.index(cell) for cell in cells], dtype=np.int32)
    return ReleasedColumn(name, Role.QUASI_IDENTIFYING, kind, (), True, distinct, index)


def schema_of(release):
    return Schema(tuple(Column(c.name, c.role, c.kind) for c in release.columns))


def values_of(frame):
    return [[None if pd.isna(value) else value for value in frame[name]] for name in frame.columns]


rows = st.lists(
    st.tuples(
        st.one_of(
            st.just(Cell.WITHHELD),
            st.just(Cell.MISSING),
            st.lists(texts, min_size=1, max_size=3, unique=True).map(Cell.of_levels),
        ),
        st.one_of(st.just(Cell.MISSING), st.integers(0, 99).map(lambda low: Cell.interval(str(low), "99.5", low > 50))),
        st.tuples(missing_or(texts), missing_or(st.floats(allow_nan=False, allow_infinity=False))),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=few(25))
@given(rows, texts.filter(lambda name: name.strip() and name not in ("age", "note", "cost")))
def test_write_then_read__is_the_identity(case, name):
    release = release_of(*map(list, zip(*case, strict=True)), name=name)
    frame, schema = release.frame(), schema_of(release)
    for format in release.formats:
        back = read_release(release.to_bytes(format), schema)
        assert list(back.columns) == list(frame.columns)
        assert values_of(back) == values_of(frame)
    plain = read_release(release.to_bytes("csv"))
    assert values_of(plain)[:2] == values_of(frame)[:2]
    assert values_of(plain)[2] == [None if text is None else kept_text(text) for text in values_of(frame)[2]]


@settings(max_examples=few(30))
@given(rows)
def test_other_readers__see_the_same_text(case):
    release = release_of(*map(list, zip(*case, strict=True)))
    other = pd.read_csv(io.BytesIO(release.to_bytes()), dtype=str, keep_default_na=False, na_values=[""])
    assert values_of(other)[:2] == values_of(release.frame())[:2]
    assert not any(str(text).startswith(("=", "@", "\t", "\r")) for text in other.to_numpy().ravel())


@settings(max_examples=few(60))
@given(rows, st.sampled_from([1, 2, 3, 1 << 20]))
def test_parquet__is_that_of_plain_text(case, row_group):
    """Dictionaries are handed on; the file is the one that comes of every text written out."""
    release, slow = release_of(*map(list, zip(*case, strict=True))), io.BytesIO()
    table = pa.Table.from_pandas(release.frame(), preserve_index=False).replace_schema_metadata(None)
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    plain = table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))
    pq.write_table(
        plain, slow, row_group_size=row_group, compression="zstd", store_schema=False, write_statistics=False
    )
    assert release.to_bytes("parquet", row_group) == slow.getvalue()


def test_a_lone_column__keeps_its_missing_rows():
    column = cell_column("city", Kind.CATEGORICAL, [Cell.MISSING, Cell.value("a"), Cell.MISSING])
    release = Release((column,), np.arange(3), "uniform")
    assert len(pd.read_csv(io.BytesIO(release.to_bytes()))) == 3
    assert values_of(read_release(release.to_bytes())) == [[None, "a", None]]


@pytest.mark.parametrize("format", ["csv", "csv.gz"])
def test_a_large_file__is_written_bit_by_bit(format, tmp_path, monkeypatch):
    writes = []

    def write(sink, data):
        writes.append(len(data))
        sink.digest.update(data)
        return sink.sink.write(data)

    monkeypatch.setattr(files._HashedSink, "write", write)
    monkeypatch.setattr("anonymizer.releasing.release._BATCH", 1000)
    cells = tuple(Cell.value(f"city {at}") for at in range(200))
    index = np.random.default_rng(3).integers(0, 200, 60_000, np.int32)
    city = ReleasedColumn("city", Role.QUASI_IDENTIFYING, Kind.CATEGORICAL, (), True, cells, index)
    Release((city,), np.arange(len(index)), "uniform").write(tmp_path / f"out.{format}")
    assert max(writes) < sum(writes) / 2


def test_write__by_ending(tmp_path):
    release = release_of([Cell.value("a")] * 3, [Cell.interval("1", "2")] * 3, [("x", 1.5)] * 3)
    for format in release.formats:
        path = tmp_path / f"out.{format.upper() if format == 'csv' else format}"
        digest = release.write(path)
        assert path.read_bytes() == release.to_bytes(format)
        assert digest == sha256(path.read_bytes()).hexdigest()
        assert values_of(read_release(path, schema_of(release))) == values_of(release.frame())
    assert gzip.decompress(release.to_bytes("csv.gz")) == release.to_bytes("csv")
    for name in ("out.xls", "out", "out.gz"):
        with pytest.raises(ParameterError):
            release.write(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_files__hold_no_trace_of_the_original_order():
    release = release_of([Cell.value("a")] * 4, [Cell.interval("1", "2")] * 4, [("x", 1.5)] * 4)
    shuffled = Release(release.columns, np.array([3, 1, 0, 2]), "uniform")
    for format in release.formats:
        assert release.to_bytes(format) == shuffled.to_bytes(format)
    assert b"pandas" not in release.to_bytes("parquet")


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"a,a\n1,2\n", b"\xff\xfea", b"PAR1xxxx", b"\x1f\x8bxxxx", b'a,b\n1\n2,3,4\n']
)  # fmt: skip
def test_content_that_is_no_release__is_one_clear_error(content):
    with pytest.raises(ReadError) as caught:
        read_release(content)
    assert caught.value.remedy


def test_a_file_that_is_not_there__is_one_clear_error(tmp_path):
    with pytest.raises(ReadError):
        read_release(tmp_path / "none.csv")


def test_frame__is_cheap_and_tells_missing_from_withheld():
    release = release_of([Cell.WITHHELD, Cell.MISSING], [Cell.interval("1", "2")] * 2, [(None, None), ("x", 2.0)])
    frame = release.frame()
    assert isinstance(frame["city"].dtype, pd.CategoricalDtype)
    assert frame["city"].tolist()[0] == "*"
    assert frame["city"].isna().tolist() == [False, True]
    assert frame["note"].isna().tolist() == [True, False]


def test_dictionary__describes_every_column():
    column = ReleasedColumn(
        "age", Role.QUASI_IDENTIFYING, Kind.NUMERIC, ("17", "90"), True, (Cell.MISSING,), np.zeros(1, int)
    )
    entry = Release((column,), np.zeros(1, int), "uniform").dictionary()[0]
    assert (entry["name"], entry["role"], entry["kind"]) == ("age", "quasi-identifying", "numeric")
    assert (entry["lowest"], entry["highest"]) == ("17", "90")
    assert "interval" in entry["cells"]
    assert "missing" in entry["cells"]


def test_dates_and_times_of_a_day_in_one_column__are_read_back():
    moments = ["2024-05-17", "2024-05-17T10:30:00", None, "1999-12-31T23:59:59.000001"]
    stamps = pd.Series([pd.Timestamp(moment) for moment in moments])
    visit = ReleasedColumn("seen", Role.SENSITIVE, Kind.DATE, (), True, values=stamps)
    release = Release((cell_column("city", Kind.CATEGORICAL, [Cell.value("a")] * 4), visit), np.arange(4), "uniform")
    for format in release.formats:
        back = read_release(release.to_bytes(format), schema_of(release))
        assert [None if pd.isna(value) else pd.Timestamp(value) for value in back["seen"]] == [
            None if pd.isna(value) else value for value in stamps
        ]
