"""Large files of text in pieces: wherever they are cut, what is read, and its digest, are those of the whole file."""

import gzip
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import ReadError
from anonymizer.growing.encode import encode
from anonymizer.partitions import places, ranges
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.pieces import PartitionedTable, open_table
from anonymizer.partitions.places import File, MemoryFile
from anonymizer.partitions.ranges import find_ranges, in_ranges, keeps_ascii
from anonymizer.partitions.values import code_columns
from anonymizer.reading.delimited import ENCODINGS
from anonymizer.reading.files import read_table
from anonymizer.reading.options import VARIABLES, ReadOptions
from anonymizer.schema import Schema
from anonymizer.workers import shares
from anonymizer.workers.questions import shares_of
from tests.partitions.tables import people, schema_of
from tests.partitions.test_values import assert_same_encoding
from tests.sweeps import few

FIELDS = [
    "a",
    "",
    "ï",
    '"b"',
    '""',
    '"x,y"',
    '"1\n2"',
    '"1\r\n2"',
    '"\r"',
    '"q""q"',
    '""""',
    'a"b',
    '"a"b"',
    ' "a"',
    "\ufeffc",
]
LINE_ENDS = ["\n", "\r\n", "\r", "\n\n", "\n\r\n"]


def cut(table: PartitionedTable) -> tuple[PartitionedTable, dict[File, str]]:
    return in_ranges(table, lambda texts: [find_ranges(text) for text in texts])


def records(table: PartitionedTable) -> Any:
    """Return all records, or the name of what is raised."""
    try:
        batches = [batch for piece in table.pieces for batch in table.batches(piece, table.names)]
    except ReadError as error:
        return error.problem
    return [tuple(record.values()) for batch in batches for record in batch.to_pylist()]


def assert_same_records(content: bytes, options: ReadOptions, largest: int, block: int) -> int:
    """Assert that a file has the same records and the same digest in pieces; return how many these are."""
    with (
        tempfile.TemporaryDirectory() as name,
        mock.patch.object(ranges, "RANGE", largest),
        mock.patch.object(ranges, "BLOCK", block),
        mock.patch.object(places, "BLOCK", 1 << 12),
    ):
        path = Path(name) / "a.csv"
        path.write_bytes(content)
        table = open_table(path, options=options)
        several, digests = cut(table)
        assert records(several) == records(table)
        assert digests == ({path: sha256(content).hexdigest()} if len(content) > largest else {})
        return len(several.pieces)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """Return lines of two fields, quoted in any way, with any line ends between them."""
    field = st.sampled_from(FIELDS)
    rows = draw(st.lists(st.tuples(field, field, st.sampled_from(LINE_ENDS)), min_size=1, max_size=12))
    text = "".join(f"{one or '-'},{two}{end}" for one, two, end in rows)
    return text.rstrip("\r\n") if draw(st.booleans()) else text


@settings(max_examples=few(250))
@given(
    st.sampled_from(["", "\ufeff", "\r\n\n"]), st.sampled_from(["name", '"name"', '"two\nlines"', 'ï»¿"name']), lines(),
    st.booleans(), st.sampled_from([None, "utf-8-sig", "cp1252"]), st.integers(1, 40), st.integers(8, 40),
)  # fmt: skip
def test_lines_in_any_pieces__are_the_records_of_the_file(
    start: str, name: str, text: str, header: bool, encoding: str | None, largest: int, block: int
) -> None:
    if encoding == "cp1252":
        start, text = start.replace("\ufeff", ""), text.replace("\ufeff", "c")
    content = f"{start}{name},other\n{text}".encode(encoding or "utf-8")
    options = ReadOptions(delimiter=",", header=header, encoding=encoding)
    assert_same_records(content, options, largest, block)


@settings(max_examples=few(250))
@given(st.text('ab"\r\n', max_size=40), st.booleans(), st.integers(1, 30), st.integers(8, 40))
def test_any_text_of_one_column__has_the_records_of_the_file(text: str, header: bool, largest: int, block: int) -> None:
    assert_same_records(f"name\n{text}".encode(), ReadOptions(delimiter=",", header=header), largest, block)


def test_pieces__are_as_large_as_is_said_and_end_before_a_quote_that_is_not_sure() -> None:
    rows = "".join(f'{at:04},"one\ntwo ""{at:04}"""\n' for at in range(100)).encode()
    assert assert_same_records(b"a,b\n" + rows, ReadOptions(), 250, 64) == 10
    assert assert_same_records(b"a,b\n" + rows[: len(rows) // 2] + b'1,6" tall\n' + rows, ReadOptions(), 250, 64) == 6
    assert assert_same_records(b"a,b\n" + rows, ReadOptions(), 5000, 64) == 1


def test_a_quote_that_begins_a_block__is_told_by_the_byte_before() -> None:
    for number in range(3, 43):
        content = b"a" * number + b',b\n6"x,"1\n2"\n' + b'"1\n2",3\n' * 9
        assert_same_records(content, ReadOptions(delimiter=","), 25, 20)


def test_only_files_whose_bytes_tell_where_records_end__are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "RANGE", 20)
    text = "name,age\n" + "Müller,30\n" * 9
    wide = ("utf-16", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "utf-16-le", "utf-16-be", "utf-32")
    assert tuple(name for name in ENCODINGS if not keeps_ascii(name)) == wide
    (tmp_path / "a.csv").write_bytes(text.encode("utf-16"))
    assert cut(open_table(tmp_path, options=ReadOptions(encoding="utf-16")))[1] == {}
    (tmp_path / "a.csv").unlink()
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert cut(open_table(tmp_path))[1] == {}
    assert cut(open_table(MemoryFile("a.csv", text.encode(), delimited=True)))[1] == {}


def test_a_table_in_ranges__is_encoded_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "RANGE", 5000)
    frame = people(2000, 4)
    frame["ward"] = frame["ward"].replace("east", 'the "east"\r\nside, NA')
    content = frame.to_csv(index=False).encode()
    (tmp_path / "a.csv").write_bytes(content)
    (tmp_path / "b.csv").write_text(",".join(frame.columns))
    whole = read_table(content, name="whole.csv").frame
    schema, pieces, passed = schema_of(whole), list[str](), dict[File, str]()
    table = open_table(tmp_path)
    assert_same_encoding(
        code_table(table, schema, None, lambda share, what: pieces.append(what), passed), encode(whole, schema)
    )
    assert pieces.count("Reading a.csv") > 20
    assert passed == {path: sha256(path.read_bytes()).hexdigest() for path in tmp_path.iterdir()}


def test_a_fault_in_a_later_range__is_named_and_nothing_of_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "RANGE", 100)
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"1,2\n" * 400 + b"Rumpelstiltskin\n" + b"1,2\n" * 400)
    with pytest.raises(ReadError, match=r"a\.csv cannot be read") as caught:
        code_columns(open_table(tmp_path), ["a", "b"])
    assert "Rumpelstiltskin" not in repr(vars(caught.value)) + str(caught.value)


def test_the_records_of_all_ranges__are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "RANGE", 100)
    monkeypatch.setenv(VARIABLES["cells"], "1000")
    for rows in (500, 501):
        (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"1,2\n" * rows)
        table = open_table(tmp_path)
        schema = Schema.of(pd.DataFrame({"a": [1], "b": ["x"]}), quasi_identifying=["a"], sensitive=["b"])
        (share,) = shares_of("counted", cut(table)[0], schema, ReadOptions(), 1)
        if rows == 500:
            code_columns(table, ["a", "b"])
            assert shares.read(share).rows == 500
            continue
        with pytest.raises(ReadError, match=r"a\.csv reaches over 501 rows") as caught:
            code_columns(table, ["a", "b"])
        assert shares.read(share).problem == caught.value.problem
    shares.forget("counted")
