"""Files that a careless or hostile producer might hand to ``copse verify``, one of each kind, and what has to be said.

Each starts from a good release of 24 people: an entry is what is done to it, and words of the sentence.
"""

import gzip
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from anonymizer.schema import Column, Kind, Role, Schema

AGES = ["[20, 34]"] * 6 + ["[35, 49]"] * 6 + ["{[50, 64], missing}"] * 6 + ["[65, 80]"] * 6
SEXES = ["F", "M", "{F, M}", "*"]
SEX = [SEXES[row // 6] for row in range(24)]
DAYS = ["[2024-01-01, 2024-06-30]"] * 12 + ["2024-07-01"] * 12
JOBS = ["clerk+cook"] * 12 + ["cook"] * 12
WARDS = ["east:4+west:2"] * 6 + ["east:1+west:5"] * 6 + ["west:6"] * 6 + ["east:3+missing:3"] * 6
ILLNESS = ["flu", "cold", "gout"] * 8
PAY = [float(1000 + 7 * row) for row in range(24)]

GOOD = pd.DataFrame({"age": AGES, "sex": SEX, "seen": DAYS, "job": JOBS, "ward": WARDS, "illness": ILLNESS, "pay": PAY})
SCHEMA = Schema(
    (
        Column("name", Role.IDENTIFYING, Kind.CATEGORICAL),
        Column("age", Role.QUASI_IDENTIFYING, Kind.NUMERIC, (18, 90)),
        Column("sex", Role.QUASI_IDENTIFYING, Kind.CATEGORICAL, ("F", "M")),
        Column("seen", Role.QUASI_IDENTIFYING, Kind.DATE, ("2024-01-01", "2024-12-31")),
        Column("job", Role.QUASI_IDENTIFYING, Kind.CATEGORICAL),
        Column("ward", Role.QUASI_IDENTIFYING, Kind.CATEGORICAL),
        Column("illness", Role.SENSITIVE, Kind.CATEGORICAL, ("cold", "flu", "gout")),
        Column("pay", Role.SENSITIVE, Kind.NUMERIC, (0, 9999)),
    )
)
ORIGINAL = pd.DataFrame(
    {
        "name": [f"Person {row}" for row in range(24)],
        "age": [25.0] * 5 + [34.0] + [40.0] * 6 + [55.0] * 5 + [np.nan] + [70.0] * 6,
        "sex": ["F"] * 6 + ["M"] * 6 + ["F", "M"] * 6,
        "seen": pd.to_datetime(["2024-03-01"] * 12 + ["2024-07-01"] * 12),
        "job": ["clerk", "cook"] * 6 + ["cook"] * 12,
        "ward": ["east"] * 4 + ["west"] * 2 + ["east"] + ["west"] * 5 + ["west"] * 6 + ["east"] * 3 + [None] * 3,
        "illness": ILLNESS,
        "pay": PAY,
    }
)
Change = Callable[[], bytes]


def csv_of(frame: pd.DataFrame = GOOD) -> bytes:
    """The file as it should be written."""
    sink = io.BytesIO()
    frame.to_csv(sink, index=False, float_format="%g", lineterminator="\n")
    return sink.getvalue()


def cell(column: str, text: object, rows: slice | int = slice(0, 6)) -> Change:
    """The release with other cells in a column."""

    def change() -> bytes:
        frame = GOOD.astype(object)
        frame.loc[frame.index[rows], column] = text
        return csv_of(frame)

    return change


def line(change: Callable[[str], str], number: int = 3) -> Change:
    """The release with one line changed as text."""

    def changed() -> bytes:
        lines = csv_of().decode().split("\n")
        lines[number] = change(lines[number])
        return "\n".join(lines).encode()

    return changed


def whole(change: Callable[[bytes], bytes]) -> Change:
    return lambda: change(csv_of())


def frame(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Change:
    return lambda: csv_of(change(GOOD.copy()))


def packed(flag: int = 0, extra: bytes = b"", after: bytes = b"") -> Change:
    """The release as gzip, with a field in its header, or something after its end."""

    def pack() -> bytes:
        data = gzip.compress(csv_of(), mtime=0)
        return data[:3] + bytes([flag]) + data[4:10] + extra + data[10:] + after

    return pack


def parquet(
    change: Callable[[pa.Table], pa.Table] = lambda table: table, spoil: Callable[[bytes], bytes] = lambda data: data,
    **options: object,
) -> Change:  # fmt: skip
    """The release as Parquet, its table, its writing or its bytes changed."""

    def write() -> bytes:
        sink = io.BytesIO()
        table = pa.Table.from_pandas(GOOD, preserve_index=False).replace_schema_metadata(None)
        plain = {"store_schema": False, "write_statistics": False}
        pq.write_table(change(table), sink, **(plain | options))
        return spoil(sink.getvalue())

    return write


def put(name: str, values: pa.Array) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        place = table.column_names.index(name)
        return table.set_column(place, name, values)

    return change


def unused(name: str, level: object, missing: bool = False) -> Callable[[pa.Table], pa.Table]:
    """A column with a dictionary that has one level more than its rows."""

    def change(table: pa.Table) -> pa.Table:
        encoded = table.column(name).combine_chunks().dictionary_encode()
        levels = pa.concat_arrays([encoded.dictionary, pa.array([level], encoded.dictionary.type)])
        indices = pa.array([None, *encoded.indices.to_pylist()[1:]], pa.int32()) if missing else encoded.indices
        return put(name, pa.DictionaryArray.from_arrays(indices, levels))(table)

    return change


def between(data: bytes) -> bytes:
    """Bytes between the last column and the footer."""
    (length,) = struct.unpack("<I", data[-8:-4])
    return data[: -8 - length] + b"Anna Berg, HIV" + data[-8 - length :]


def before_footer_length(data: bytes) -> bytes:
    """Bytes at the end of the footer, which its length covers."""
    (length,) = struct.unpack("<I", data[-8:-4])
    return data[:-8] + b"Anna Berg" + struct.pack("<I", length + 9) + b"PAR1"


def noted(table: pa.Table) -> pa.Table:
    """Each column with a note."""
    return table.cast(pa.schema([field.with_metadata({"by": "Anna"}) for field in table.schema]))


def wider(data: bytes) -> bytes:
    """A footer that says that somebody earns more than anybody does."""
    (length,) = struct.unpack("<I", data[-8:-4])
    footer = data[-8 - length :].replace(struct.pack("<d", PAY[-1]), struct.pack("<d", 9e6))
    return data[: -8 - length] + footer


def maker(data: bytes) -> bytes:
    name = b"parquet-cpp-arrow version"
    return data.replace(name, b"Anna Berg has had a stroke"[: len(name)])


def indexed(index: pd.Index) -> Change:
    def write() -> bytes:
        sink = io.BytesIO()
        GOOD.set_axis(index).to_parquet(sink)
        return sink.getvalue()

    return write


def workbook(part: str, content: str = "<x>Anna Berg</x>") -> Change:
    def write() -> bytes:
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as book:
            book.writestr("[Content_Types].xml", "<Types/>")
            book.writestr("xl/worksheets/sheet1.xml", "<worksheet/>")
            book.writestr(part, content)
        return sink.getvalue()

    return write


def swap(first: int, second: int, *columns: str) -> Change:
    def change(table: pd.DataFrame) -> pd.DataFrame:
        names = list(columns)
        table.loc[[first, second], names] = table.loc[[second, first], names].to_numpy()
        return table

    return frame(change)


MANNER = "written in two ways|different numbers of digits|which a release writes as"
OTHER = "is not written as those above"
SPELLED = "has one spelling"
BOOK = "workbook"
DOMAIN = "outside the declared domain"
SIZE = "the original 24"
UNFIT = "does not fit the original"

ALONE: dict[str, tuple[Change, str]] = {
    # cells of numbers
    "reversed interval": (cell("age", "[34, 20]"), "lower end is above"),
    "NaN": (cell("age", "NaN"), "finite number"),
    "nan": (cell("age", "nan"), "finite number"),
    "infinite": (cell("age", "inf"), "finite number"),
    "an infinite end": (cell("age", "[20, inf]"), "finite number"),
    "a number so large that it is infinite": (cell("age", "1e999"), "finite number"),
    "a word among numbers": (cell("age", "old"), "finite number"),
    "None": (cell("age", "None"), "finite number"),
    "an open interval": (cell("age", "(20, 34]"), "finite number"),
    "half an interval": (cell("age", "[20, 34"), "written [low, high]"),
    "an interval of three": (cell("age", "[20, 30, 34]"), "written [low, high]"),
    "an interval with one blank less": (cell("age", "[20,34]"), "written [low, high]"),
    "an interval with one blank more": (cell("age", "[20,  34]"), "finite number"),
    "an interval of one number": (cell("age", "[20, 20]"), SPELLED),
    "below the domain": (cell("age", "[2, 34]"), DOMAIN),
    "above the domain": (cell("age", "[20, 340]"), DOMAIN),
    "a number with a zero in front": (cell("age", "[020, 34]"), SPELLED),
    "a number with digits after it": (cell("age", "[20.000, 34]"), SPELLED),
    "a number with a plus": (cell("age", "[+20, 34]"), SPELLED),
    "a number with an exponent": (cell("age", "[2e1, 34]"), SPELLED),
    "a number with a comma for thousands": (cell("age", "1,020"), "finite number"),
    "Arabic digits": (cell("age", "[٢٠, 34]"), "finite number"),
    "full-width digits": (cell("age", "[２０, 34]"), "finite number"),
    "a mathematical minus": (cell("age", "[−20, 34]"), "finite number"),
    "an underscore in a number": (cell("age", "[2_0, 34]"), "finite number"),
    "a number in hexadecimal": (cell("age", "0x20"), "finite number"),
    "levels among numbers": (cell("age", "{20, 34}"), "levels in a column of numbers"),
    "a date among numbers": (cell("age", "[2024-01-01, 2024-02-01]"), "a date in a column of numbers"),
    "a blank behind a number": (cell("age", "[20, 34] "), "written [low, high]"),
    "missing before the interval": (cell("age", "{missing, [20, 34]}"), "not in order"),
    "missing in capitals": (cell("age", "{[20, 34], Missing}"), "not in order"),
    "missing as a word": (cell("age", "missing"), "finite number"),
    "missing as NA": (cell("age", "NA"), "finite number"),
    "missing as a dash": (cell("age", "-"), "finite number"),
    "an estimate outside the domain": (cell("age", "~3.5"), DOMAIN),
    "an estimate of an interval": (cell("age", "~[20, 34]"), "finite number"),
    # cells of dates
    "reversed dates": (cell("seen", "[2024-06-30, 2024-01-01]"), "lower end is above"),
    "a day that is none": (cell("seen", "2024-02-31"), "finite number or a date"),
    "a day outside the domain": (cell("seen", "[2023-01-01, 2024-06-30]"), DOMAIN),
    "a number among dates": (cell("seen", "[19723, 19904]"), "a number in a column of dates"),
    "a date in another form": (cell("seen", "1.7.2024"), "finite number or a date"),
    "a date with midnight": (cell("seen", "2024-07-01T00:00:00"), SPELLED),
    # cells of levels
    "a level outside the domain": (cell("sex", "X"), DOMAIN),
    "a level of the domain in small letters": (cell("sex", "f"), DOMAIN),
    "a level of a look-alike letter": (cell("sex", "М"), DOMAIN),
    "a level with a blank": (cell("sex", " F"), SPELLED),
    "a level with a hard blank": (cell("sex", "F\u00a0"), SPELLED),
    "a level with a letter of no width": (cell("sex", "F\u200b"), SPELLED),
    "a level in quotation marks": (cell("sex", '"F"'), SPELLED),
    "a level that is escaped": (cell("sex", '"\\u0046"'), SPELLED),
    "a quotation mark that is never closed": (cell("sex", '"F'), "never closed"),
    "a set with a level twice": (cell("sex", "{F, F}"), "each of them once"),
    "a set not in order": (cell("sex", "{M, F}"), "not in their order"),
    "a set not in order, without a domain": (cell("job", "{cook, clerk}"), "not in their order"),
    "a set of one level": (cell("sex", "{F}"), SPELLED),
    "an empty set": (cell("sex", "{}"), "a level is empty"),
    "a set that goes on": (cell("sex", "{F, M} x"), "closing brace"),
    "a set with a comma too many": (cell("sex", "{F, M, }"), "not in order"),
    "a set without blanks": (cell("sex", "{F,M}"), "a comma and a blank"),
    "missing alone in a set": (cell("sex", "{missing}"), SPELLED),
    "missing twice": (cell("sex", "{F, missing, missing}"), "comes last"),
    "an interval among levels": (cell("sex", "[1, 2]"), "an interval in a column of levels"),
    "a formula": (cell("job", '=HYPERLINK("//x")'), SPELLED),
    "counts of nobody": (cell("ward", "east:0+west:6"), "count of at least 1"),
    "counts with a sign": (cell("ward", "east:-4+west:10"), "followed by a count"),
    "counts of some": (cell("ward", "east:4+west"), "one count"),
    "counts with a zero in front": (cell("ward", "east:04+west:2"), SPELLED),
    "counts that do not add up": (cell("ward", "east:4+west:3"), "do not add up"),
    "counts of a level that comes twice": (cell("ward", "east:4+east:2"), "each of them once"),
    # kept columns
    "a kept level outside the domain": (cell("illness", "plague"), DOMAIN),
    "a kept number outside the domain": (cell("pay", 123456, 3), DOMAIN),
    "a kept number that is a word": (cell("pay", "much", 3), "numeric, but holds a value that is no number (row 4)"),
    "a kept number that is NaN": (cell("pay", "NaN", 3), "numeric, but holds a value that is no number (row 4)"),
    "equal kept numbers in two ways": (cell("pay", ["1000", "1000.0"], slice(0, 2)), MANNER),
    "a kept level in two ways": (cell("illness", '"flu"', 0), MANNER),
    # columns and rows
    "a column that identifies": (frame(lambda table: table.assign(name="Anna Berg")), "identifying columns: name"),
    "a column that nobody knows": (frame(lambda table: table.assign(note="x")), "does not know: note"),
    "a column of another case": (frame(lambda table: table.assign(AGE=range(24))), "does not know: AGE"),
    "a column with a blank": (frame(lambda table: table.assign(**{"age ": range(24)})), "does not know: age "),
    "a number of the row": (frame(lambda table: table.rename_axis("row").reset_index()), "does not know: row"),
    "an index of pandas": (frame(lambda table: table.assign(__index_level_0__=range(24))), "index of a table"),
    "an index without a name": (frame(lambda table: table.assign(**{"": range(24)})), "index of a table"),
    "a column twice": (
        whole(lambda data: re.sub(rb"\n(?=.)", b",1\n", data).replace(b"pay,1", b"pay,pay", 1)),
        "two columns of one name",
    ),
    "no quasi-identifier": (frame(lambda table: table.drop(columns="sex")), "no column 'sex'"),
    "no sensitive column": (
        frame(lambda table: table.drop(columns="illness")),
        "lacks the sensitive values of illness",
    ),
    "no sensitive column at all": (frame(lambda table: table.drop(columns=["illness", "pay"])), "lacks the sensitive"),
    "rows that differ in spelling": (cell("age", "[20, 34.0]", slice(0, 3)), SPELLED),
    "one row too few for k": (frame(lambda table: table.drop(index=0)), "not 6-anonymous"),
    "no rows": (frame(lambda table: table.head(0)), "no rows"),
    "one illness for all of a group": (cell("illness", "flu"), "only 1 value of illness"),
    # text files
    "a byte-order mark": (whole(lambda data: b"\xef\xbb\xbf" + data), "byte-order mark"),
    "UTF-16": (whole(lambda data: data.decode().encode("utf-16")), "not UTF-8"),
    "letters that are none": (whole(lambda data: data.replace(b"gout", b"go\xffut")), "not UTF-8"),
    "NUL": (whole(lambda data: data.replace(b"gout", b"gout\x00", 1)), "NUL"),
    "a comment": (whole(lambda data: data + b"# Anna Berg is in row 3\n"), "can be read"),
    "a comment above": (whole(lambda data: b"# Anna Berg\n" + data), "can be read"),
    "a row of too many fields": (line(lambda text: text + ",Anna Berg"), "can be read"),
    "a row of too few fields": (line(lambda text: text.rpartition(",")[0]), "can be read"),
    "an empty line": (whole(lambda data: data + b"\n"), OTHER),
    "one line ends otherwise": (line(lambda text: text + "\r"), OTHER),
    "one cell is quoted": (line(lambda text: re.sub("(flu|cold|gout)", r'"\1"', text)), OTHER),
    "blanks behind a line": (line(lambda text: text + "  "), MANNER),
    "a number with a point more": (cell("pay", "1014.00", 2), MANNER),
    "a mark in missing cells": (lambda: cell("illness", None, slice(0, 2))().replace(b",,", b',"",', 1), OTHER),
    "another delimiter": (whole(lambda data: data.replace(b",", b";")), "no column 'age'"),
    "nothing": (lambda: b"", "no header"),
    "noise": (lambda: bytes(range(256)) * 4, "can be read"),
    # packed files
    "the name of the original in gzip": (packed(8, b"patients_hiv.csv\x00"), "in its header"),
    "a comment in gzip": (packed(16, b"Anna Berg\x00"), "in its header"),
    "more fields in gzip": (packed(4, struct.pack("<H", 4) + b"Anna"), "in its header"),
    "a second part of gzip": (packed(after=gzip.compress(b"Anna Berg\n")), "second part"),
    "bytes after gzip": (packed(after=b"Anna Berg"), "second part"),
    "gzip that is cut off": (lambda: gzip.compress(csv_of())[:-20], "can be read"),
    "gzip of another content": (lambda: gzip.compress(b"x")[:10] + zlib.compress(csv_of()), "can be read"),
    # workbooks
    "a hidden sheet": (workbook("xl/worksheets/sheet2.xml"), BOOK),
    "a comment of a cell": (workbook("xl/comments1.xml"), BOOK),
    "a text that no cell uses": (workbook("xl/sharedStrings.xml"), BOOK),
    "properties of the document": (workbook("docProps/core.xml"), BOOK),
    "properties of a firm": (workbook("docProps/custom.xml"), BOOK),
    "names in a workbook": (workbook("xl/workbook.xml"), BOOK),
    "a macro": (workbook("xl/vbaProject.bin"), BOOK),
    "a picture": (workbook("xl/media/image1.png"), BOOK),
    "an old workbook": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), BOOK),
    # Parquet
    "metadata of pandas": (lambda: indexed(pd.RangeIndex(24))(), "'pandas'"),
    "an index that is stored": (indexed(pd.Index([7 * row % 24 for row in range(24)])), "__index_level_0__"),
    "an index with a name": (
        indexed(pd.Index([f"Person {row}" for row in range(24)], name="name")),
        "identifying columns: name",
    ),
    "metadata of the file": (
        parquet(lambda table: table.replace_schema_metadata({"by": "Anna Berg"}), store_schema=True),
        "entry 'by'",
    ),
    "metadata of the types": (
        parquet(lambda table: table.replace_schema_metadata({"by": "Anna"}), store_schema=True),
        "ARROW:schema",
    ),
    "metadata of a column": (parquet(noted, store_schema=True), "ARROW:schema"),
    "an unused level": (parquet(unused("illness", "leprosy")), "dictionary of column 'illness' has 1 values"),
    "an unused level of a quasi-identifier": (parquet(unused("age", "[33, 33.5]")), "dictionary of column 'age'"),
    "an unused level, unpacked": (parquet(unused("illness", "leprosy"), compression="none"), "dictionary of column"),
    "an unused level, by gzip": (parquet(unused("illness", "leprosy"), compression="gzip"), "dictionary of column"),
    "statistics of an unused level": (
        parquet(unused("illness", "zoster", missing=True), write_statistics=True),
        "statistics of column 'illness'",
    ),
    "statistics that are wider than the data": (
        parquet(spoil=wider, write_statistics=True, use_dictionary=False),
        "statistics of column 'pay'",
    ),
    "an index of pages": (parquet(write_statistics=True, write_page_index=True), "belong to none"),
    "bytes between columns and footer": (parquet(spoil=between), "belong to none"),
    "bytes in the footer": (parquet(spoil=before_footer_length), "not in order|can be read|after its footer"),
    "bytes after the file": (parquet(spoil=lambda data: data + b"Anna Berg"), "can be read"),
    "another name of the maker": (parquet(spoil=maker), "program that wrote"),
    "a column of lists": (parquet(put("illness", pa.array([["flu"]] * 24))), "no release has"),
    "a column of structures": (parquet(put("illness", pa.array([{"a": "flu"}] * 24))), "no release has"),
    "a column of bytes": (parquet(put("illness", pa.array([b"flu"] * 24))), "no release has"),
    "a column twice in Parquet": (
        parquet(lambda table: table.append_column("age", table.column("age"))),
        "two columns of one name",
    ),
    "Parquet that is cut off": (parquet(spoil=lambda data: data[:-30]), "can be read"),
    "numbers among levels in Parquet": (parquet(put("sex", pa.array([1] * 24))), DOMAIN),
}
"""What is caught in the file alone."""

BESIDE: dict[str, tuple[Change, str]] = {
    "a level that nobody has": (cell("job", "baker+cook", slice(0, 12)), "nowhere in the original"),
    "a level that looks like one": (cell("job", "clerk+соok", slice(0, 12)), "nowhere in the original"),
    "counts beyond the original": (cell("ward", "missing:6"), "more rows than the original has"),
    "one row too many": (frame(lambda table: pd.concat([table, table.tail(1)])), SIZE),
    "a group too few": (frame(lambda table: table.drop(index=range(6))), SIZE),
    "a group twice": (frame(lambda table: pd.concat([table, table.tail(6)])), SIZE),
    "other illnesses": (cell("illness", "gout", 0), UNFIT),
    "illnesses that change places": (swap(0, 7, "illness"), UNFIT),
    "pay that nobody has": (cell("pay", 4444, 0), UNFIT),
    "an interval that lost somebody": (cell("age", "[20, 33]"), UNFIT),
    "missing that was named": (cell("age", "[50, 64]", slice(12, 18)), UNFIT),
    "missing that nobody named": (cell("sex", None), UNFIT),
    "another group's level": (cell("sex", "M"), UNFIT),
    "an estimate beyond the original": (cell("age", "~85"), "as low, or as high"),
    "a column that the original has not": (frame(lambda table: table.assign(note="x")), "does not know: note"),
}
"""What is caught beside the original, and passes without it, but for the last two."""
