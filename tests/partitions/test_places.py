"""Where tables in pieces are, and delimited text in pieces: read as the one file that it would be."""

import codecs
import csv
import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.engines import anonymize_files
from anonymizer.errors import EncodeError, ParameterError, ReadError
from anonymizer.growing.encode import encode
from anonymizer.partitions import places
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.pieces import open_table, reading
from anonymizer.partitions.places import RemoteFile, files_of
from anonymizer.partitions.places import opened as opened_file
from anonymizer.partitions.values import code_columns, first_rows
from anonymizer.reading import delimited
from anonymizer.reading.files import read_table
from anonymizer.reading.options import ReadOptions
from anonymizer.schema import Schema
from tests.partitions.tables import people, schema_of, whole_frame, write_pieces
from tests.partitions.test_run import rows_of, same_rows
from tests.partitions.test_values import assert_same_encoding
from tests.partitions.webhdfs import serve
from tests.sweeps import few

TEXTS = ["a", "b", " b", "?", "", "NA", "10", "9", 'x "y"', "with, comma", "two\nlines", "ü"]


@settings(max_examples=few(50))
@given(st.data())
def test_text_in_any_pieces__is_encoded_as_the_whole(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 20))
    level = data.draw(st.lists(st.sampled_from(TEXTS), min_size=n, max_size=n))
    words = st.sampled_from([text for text in TEXTS if not text.isdecimal()])  # sensitive numbers take one table
    text = data.draw(st.lists(words, min_size=n, max_size=n))
    numbers = st.sampled_from(["1", "2", "-3", "", "NA", "1.5", "2,5"])
    number = data.draw(st.lists(numbers, min_size=n, max_size=n))
    ends = sorted(data.draw(st.lists(st.integers(0, n), max_size=3)))
    rows = list(zip(level, number, text, strict=True))
    packed = data.draw(st.booleans())
    with tempfile.TemporaryDirectory() as name:
        for place, (start, end) in enumerate(zip([0, *ends], [*ends, n], strict=True)):
            content = csv_of(rows[start:end])
            path = Path(name) / f"{place}.csv{'.gz' * packed}"
            path.write_bytes(gzip.compress(content) if packed else content)
        frame = read_table(csv_of(rows), name="whole.csv").frame
        schema = Schema.of(frame, quasi_identifying=["level", "number"], sensitive=["class"])
        coded = code_table(open_table(name, options=ReadOptions(delimiter=",")), schema)
        assert_same_encoding(coded, encode(frame, schema))


def csv_of(rows: list[tuple[str, ...]]) -> bytes:
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerow(["level", "number", "class"])
    writer.writerows(rows)
    return sink.getvalue().encode()


def write_text(folder: Path, table: pd.DataFrame, ends: list[int]) -> Path:
    folder.mkdir()
    for number, (start, end) in enumerate(zip([0, *ends], [*ends, len(table)], strict=True)):
        table.iloc[start:end].to_csv(folder / f"{number}.csv", index=False)
    return folder


def test_text__is_released_as_the_file_in_memory(tmp_path: Path) -> None:
    table = people(1500, 2)
    table["ward"] = table["ward"].replace("east", "NA")
    source = write_text(tmp_path / "in", table, [400, 400, 1000])
    frame = read_table(table.to_csv(index=False).encode(), name="whole.csv").frame
    schema = schema_of(frame)
    how = {"generalizer": "uniform", "grouping": "least"}
    expected = an.anonymize(frame, schema, rng=np.random.default_rng(1), **how)
    result = anonymize_files(source, schema, tmp_path / "out", rows=700, rng=np.random.default_rng(1), **how)
    assert result.folder is not None, result.gate.open
    assert result.tree.sums.tobytes() == expected.tree.sums.tobytes()
    assert same_rows(rows_of(tmp_path / "out"), expected.release.frame())
    assert result.to_dict()["provenance"]["input"]["records"] == 1500
    assert first_rows(open_table(source), 300).dtypes.astype(str).tolist() == frame.dtypes.astype(str).tolist()


def test_other_letters_and_a_mark__are_read(tmp_path: Path) -> None:
    text = 'name;age\n"Müller";30\n"Ørsted";40\n'
    (tmp_path / "a.csv").write_bytes(text.encode("cp1252"))
    with pytest.raises(ReadError, match="not in UTF-8"):
        open_table(tmp_path / "a.csv")
    for encoding, options in (("cp1252", ReadOptions(encoding="cp1252")), ("utf-8-sig", ReadOptions())):
        (tmp_path / "a.csv").write_bytes(text.encode(encoding))
        table = open_table(tmp_path / "a.csv", options=options)
        assert table.names == ("name", "age")
        assert first_rows(table, 5, options)["name"].astype(str).tolist() == ["Müller", "Ørsted"]


def test_where_a_block_ends__does_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'a,b\r\n"one' + 20 * b"\r\ntwo" + b'",\xe9\r\n"x\r\n\r\ny",3\r\n'
    (tmp_path / "a.csv").write_bytes(content)
    for encoding in ("cp1252", "latin-1"):
        options = ReadOptions(encoding=encoding)
        for block in range(85, 140):
            monkeypatch.setattr(places, "BLOCK", block)
            monkeypatch.setattr(delimited, "BLOCK", block)
            pieces = code_columns(open_table(tmp_path / "a.csv", options=options), ["a"], options)["a"].take(
                slice(None)
            )
            whole = read_table(content, name="a.csv", options=options).frame["a"]
            for column in (pieces, whole):
                assert column.tolist() == ["one" + 20 * "\r\ntwo", "x\r\n\r\ny"], block


def test_empty_lines_before_the_names__are_left_out(tmp_path: Path) -> None:
    for mark in (b"", codecs.BOM_UTF8):
        (tmp_path / "a.csv").write_bytes(mark + b"\r\n\nage\n1\n\n2\n")
        assert first_rows(open_table(tmp_path), 5)["age"].fillna(0).tolist() == [1, 0, 2]


@pytest.mark.parametrize("content", [b"a,b\n1,2\nRumpelstiltskin\n", b"a,b\n1,\xff\xfe\n" + b"1,2\n" * 400_000])
def test_text_that_cannot_be_split__is_named_and_nothing_of_it_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    schema = Schema.of(pd.DataFrame({"a": [1], "b": [1]}), quasi_identifying=["a"], sensitive=["b"])
    with pytest.raises(ReadError, match="a.csv") as caught:
        code_table(open_table(tmp_path / "a.csv"), schema)
    assert "Rumpelstiltskin" not in repr(vars(caught.value)) + str(caught.value)


def test_files_of_text_that_differ__are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("b,a\n1,2\n")
    with pytest.raises(ReadError, match=r"b.csv and a.csv do not have the same columns"):
        open_table(tmp_path)
    (tmp_path / "b.csv").write_text("a,b\n")
    (tmp_path / "a.csv").write_text("a,b\n")
    schema = Schema.of(pd.DataFrame({"a": [1], "b": ["x"]}), quasi_identifying=["a"], sensitive=["b"])
    with pytest.raises(ReadError, match="has no rows"):
        code_table(open_table(tmp_path), schema)
    with pytest.raises(ReadError, match="has no rows"):
        first_rows(open_table(tmp_path), 10)


def test_a_text_that_does_not_fit__is_not_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,sick\n31,yes\nRumpelstiltskin,no\n")
    schema = Schema.of(pd.DataFrame({"age": [1], "sick": ["x"]}), quasi_identifying=["age"], sensitive=["sick"])
    with pytest.raises(EncodeError, match="'age' is numeric") as caught:
        code_table(open_table(tmp_path), schema)
    assert "Rumpelstiltskin" not in repr(vars(caught.value)) + str(caught.value)


# Addresses.


def test_a_pattern_and_a_file_address__are_paths(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(people(30), preserve_index=False)
    folder = write_pieces(tmp_path / "in", table, [10])
    (folder / "notes.csv").write_text("a\n1\n")
    (folder / "_temporary.parquet").write_bytes(b"")
    parts = [folder / "part-000.parquet", folder / "part-001.parquet"]
    assert files_of(folder) == parts
    assert files_of(folder.as_uri()) == parts
    assert files_of(f"{folder}/part-*.parquet") == parts
    with pytest.raises(ParameterError, match="inside one another"):
        anonymize_files(folder.as_uri(), schema_of(whole_frame(table)), folder / "out", generalizer="uniform")


def test_a_folder_in_a_store__is_the_table(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    table = pa.Table.from_pandas(people(900), preserve_index=False)
    schema = schema_of(whole_frame(table))
    try:
        for number, rows in enumerate((table.slice(0, 500), table.slice(500))):
            with store.open(f"/copse-in/year=1/part-{number}.parquet", "wb") as file:
                pq.write_table(rows, file)
        store.pipe("/copse-in/_SUCCESS", b"")
        how = {"generalizer": "uniform", "grouping": "least"}
        here = anonymize_files(write_pieces(tmp_path / "in", table, []), schema, tmp_path / "one", **how)
        for source, out in (("memory://copse-in", "two"), ("memory://copse-in/*/*.parquet", "three")):
            there = anonymize_files(source, schema, tmp_path / out, **how)
            assert len(there.source.files) == 2
            assert there.manifest.parts == here.manifest.parts
        store.pipe("/copse-text/a.csv", b"a,b\n1,x\n2,y\n")
        assert first_rows(open_table("memory://copse-text/a.csv"), 9)["a"].tolist() == [1, 2]
        with pytest.raises(ReadError, match="There is no Parquet file"):
            open_table("memory://copse-nothing")
    finally:
        for folder in ("/copse-in", "/copse-text"):
            if store.exists(folder):
                store.rm(folder, recursive=True)


def test_a_server_that_an_address_names__is_where_its_files_are(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    table = people(90)
    write_pieces(tmp_path / "in" / "deep", pa.Table.from_pandas(table, preserve_index=False), [50])
    with serve(tmp_path) as address:
        for source in (f"{address}/in", f"{address}/in/deep/part-*.parquet", f"{address}/in/deep/part-000.parquet"):
            opened = open_table(source)
            files = [file for file in opened.files if isinstance(file, RemoteFile)]
            assert {file.address.partition("/in")[0] for file in files} == {address}
            assert first_rows(opened, 9)["age"].tolist() == table["age"].tolist()[:9]
        (tmp_path / "in" / "deep" / "part-000.parquet").unlink()
        with (
            pytest.raises(ReadError, match=r"part-000\.parquet cannot be opened at its address \(\w+\)"),
            reading(opened.files[0]),
            opened_file(opened.files[0]),
        ):
            pass


def test_a_password_in_an_address__is_refused_and_not_told() -> None:
    with pytest.raises(ParameterError, match="a name or a password") as caught:
        open_table("s3://key:Rumpelstiltskin@bucket/folder")
    assert "Rumpelstiltskin" not in repr(vars(caught.value)) + str(caught.value)
