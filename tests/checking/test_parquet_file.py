"""A Parquet file holds its rows and nothing else where they are the same bytes when they are written again."""

import hashlib
import io
import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymizer.checking.parquet_file import NOT_SAME, parquet_rows
from anonymizer.checking.released_file import read_file
from anonymizer.checking.verify import verify
from anonymizer.errors import ReadError
from anonymizer.pipeline import anonymize
from anonymizer.reading.parquet import parquet_bytes, parquet_writer
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLES
from anonymizer.schema import Schema


@pytest.fixture(scope="module")
def parquet() -> bytes:
    """A release as Parquet, in several groups of rows, with missing cells."""
    table = SAMPLES["hospital"].load().head(900)
    release = replace(anonymize(table, suggest(table), k=5).release, bars=())
    return release.to_bytes("parquet", group=256)


def test_a_release__is_the_same_bytes_when_its_rows_are_written_again(parquet: bytes) -> None:
    _, beside, unjudged = parquet_rows(parquet)
    assert (beside, unjudged) == ((), "")


def texts_of_the_footer(data: bytes) -> list[tuple[int, int]]:
    """Where texts of three letters and more stand in a footer, each with its length: places that could hide more."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    places = []
    for match in re.finditer(rb"[\x03-\x7f](?=[A-Za-z_])", data[start:-8]):
        at, size = start + match.start(), match[0][0]
        text = data[at + 1 : at + 1 + size]
        if len(text) == size and re.fullmatch(rb"[A-Za-z_][\w .()-]*", text):
            places.append((at, size))
    return places


def test_a_footer__hides_no_text_in_any_place(parquet: bytes) -> None:
    places, wrong = texts_of_the_footer(parquet), []
    assert len(places) > 19
    length = int.from_bytes(parquet[-8:-4], "little")
    for at, size in places:
        text = b"x" * 7_200
        count = bytes([len(text) & 0x7F | 0x80, len(text) >> 7])
        more = parquet[:at] + count + text + parquet[at + 1 + size : -8]
        grown = len(more) - (len(parquet) - 8)
        forged = more + (length + grown).to_bytes(4, "little") + b"PAR1"
        try:
            _, beside, unjudged = parquet_rows(forged)
        except (ReadError, pa.ArrowException, OSError):
            continue
        wrong += [] if beside or unjudged else [at]
    assert not wrong


OTHERS = {"snappy": {"compression": "snappy"}, "statistics": {"compression": "zstd"}, "old": {"version": "1.0"}}


@pytest.mark.parametrize("how", OTHERS.values(), ids=list(OTHERS))
def test_a_file_of_another_program__has_its_rows_a_digest_and_a_clean_copy(how: dict[str, Any]) -> None:
    sink = io.BytesIO()
    table = pd.DataFrame({"age": ["[20, 29]", "[30, 39]", None], "cost": [1.5, 2.0, None], "n": [1, 2, 3]})
    pq.write_table(pa.Table.from_pandas(table).replace_schema_metadata(None), sink, store_schema=False, **how)
    data = sink.getvalue()
    file = read_file(data)
    assert "cannot be said" in file.unjudged
    assert hashlib.sha256(data).hexdigest() in file.unjudged
    schema = Schema.of(table, quasi_identifying=["age"], kinds={"age": "numeric"})
    verification = verify(file.rows, schema, beside=file.beside, unjudged=file.unjudged, k=1)
    assert (verification["file"].passed, verification.passed) == (None, True)
    rows, beside, unjudged = parquet_rows(parquet_bytes(file.rows))
    assert (beside, unjudged) == ((), "")
    assert rows.to_pylist() == parquet_rows(data)[0].to_pylist()


def test_what_a_table_of_pandas_notes_in_a_file__is_said() -> None:
    sink = io.BytesIO()
    pd.DataFrame({"age": ["[20, 29]"]}).to_parquet(sink)
    assert parquet_rows(sink.getvalue())[1] == ("The file's metadata has an entry 'pandas' that no release needs.",)


def test_a_release_as_this_version_writes_it__has_no_free_byte(parquet: bytes) -> None:
    """What says to be of this version is held to its bytes: a text in a dictionary that no row has is one too many."""
    table = pq.read_table(pa.BufferReader(parquet), read_dictionary=["age"]).replace_schema_metadata(None)
    ages = table["age"].combine_chunks().chunk(0) if table["age"].num_chunks == 1 else table["age"].unify_dictionaries()
    first = ages if isinstance(ages, pa.DictionaryArray) else ages.chunk(0)
    more = pa.concat_arrays([first.dictionary, pa.array(["nobody's"], first.dictionary.type)])
    forged = table.slice(0, len(first)).set_column(
        table.column_names.index("age"), "age", pa.DictionaryArray.from_arrays(first.indices, more)
    )
    sink = io.BytesIO()
    with parquet_writer(sink, forged.schema) as writer:
        writer.write_table(forged)
    assert parquet_rows(sink.getvalue())[1] == (NOT_SAME,)
