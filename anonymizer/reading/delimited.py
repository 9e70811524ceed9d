"""Delimited text, from bytes to columns: its encoding, delimiter and header; what cannot be told is asked."""

import codecs
import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from anonymizer.errors import Progress, ReadError
from anonymizer.reading.options import MAX_COLUMNS, Answer, Extent, Problem, Question
from anonymizer.reading.parse import TextColumn, header_problems
from anonymizer.reading.stream import Text, TextStream

DELIMITERS = (",", ";", "\t", "|")
"""The delimiters that are looked for, the likelier first."""

BLOCK = 1 << 23
"""Bytes of text that are decoded or parsed at once; a record must fit, or the file is tried once more in one piece."""

_CONTROL_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")

ENCODINGS = (
    "utf-8", "utf-16", "cp1252", "latin-1", "iso8859-15", "cp1250", "cp1251", "cp1253", "cp1254", "cp850", "cp437",
    "mac-roman", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "koi8-r", "utf-16-le", "utf-16-be", "utf-32",
)  # fmt: skip
"""The encodings that can be chosen."""

OTHER_NAMES = {
    "ansi": "cp1252", "windows": "cp1252", "western": "cp1252", "utf-8-bom": "utf-8-sig", "utf8-bom": "utf-8-sig",
    "utf-8-with-bom": "utf-8-sig", "unicode": "utf-16", "ucs-2": "utf-16", "dos": "cp850", "oem": "cp437",
    "mac": "mac-roman", "x-mac-roman": "mac-roman", "x-sjis": "shift_jis", "sjis": "shift_jis", "gb": "gb18030",
}  # fmt: skip
"""What programs call encodings, beside the names that Python knows."""
NO_CHARSETS = frozenset(
    (
        "idna",
        "punycode",
        "raw-unicode-escape",
        "raw_unicode_escape",
        "unicode-escape",
        "unicode_escape",
        "undefined",
        "utf-7",
        "mbcs",
    )
)
"""What Python decodes text by and no file is in."""

CANDIDATES = ("cp1250", "cp1251", "cp1253", "cp1254", "gb18030", "shift_jis", "big5", "euc_kr", "koi8-r", "mac-roman",
              "cp850")  # fmt: skip
"""The encodings that a file without any mark may be in, beside UTF-8 and cp1252, the likelier first."""

LIKELY = 0.9
"""Share of words that must be letters of one script in an encoding that is offered."""

MOST_WORDS = 500
"""Words with letters beyond ASCII that are looked at."""

SAMPLED = 1 << 16
"""Bytes of a text by which its layout is told."""

MOST_ABOVE, MOST_LINES = 20, 200
"""Records that may stand above the names of the columns unasked, and lines that are looked at for it."""

NUMBER_TEXT = re.compile(r"^[-+]?[0-9][0-9.,:/ -]*%?$")
"""What is no name of a column: a number, a date or a time."""

OTHER_MARKS = {None: "blanks", ":": "colons", "~": "tildes", "^": "carets", "/": "slashes", "#": "hash signs"}
"""What may stand between fields, though it is not looked for, with its name; ``None``: any blanks."""

UTF8 = ("utf-8", "utf-8-sig")
"""The encodings whose bytes are read as they are."""

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
_UTF8_PAIR = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = re.compile(rb"[\x80-\xff]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_WORD = re.compile(rb"[A-Za-z\x80-\xff'-]+")


def find_delimiter(text: bytes, name: str = "") -> str:
    """Return the delimiter under which the first records are most alike, but for lines above the names of the columns;
    a comma for a single column."""
    lines = _sample(text)
    best, best_score = ",", (0.0, 0, 0)
    for position, delimiter in enumerate(DELIMITERS):
        records = [record for record in csv.reader(lines, delimiter=delimiter) if record]
        above = lines_above(records)
        counts = [len(record) for record in records[above:]]
        if not counts or counts[0] < 2:
            continue
        usual, often = Counter(counts).most_common(1)[0]
        alike = round(often / len(counts), 2) * (1.0 if counts[0] == usual else 0.5) - 0.1 * (above > 0)
        named = name.lower().endswith(".tsv") and delimiter == "\t"
        score = (alike + (0.3 if named else 0.0), usual, -position)
        if usual > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def lines_above(records: Sequence[Sequence[str]]) -> int:
    """Return how many of the first records are no names of columns but stand above these, such as a title.

    Names are told by the usual number of fields, all of them filled, different and no numbers. What stands above them
    has fewer fields; where more than one of these is filled, numbers must stand below names, for it could be names.
    """
    widths = Counter(len(record) for record in records if any(map(str.strip, record)))
    usual, often = widths.most_common(1)[0] if widths else (0, 0)
    if usual < 2 or often < 2:
        return 0
    for at, record in enumerate(records[: MOST_ABOVE + 1]):
        filled = sum(bool(field.strip()) for field in record)
        if len(record) > usual or (len(record) == usual and filled > 1):
            titles = all(_is_title(above, usual) for above in records[:at])
            blank = not any(field.strip() for above in records[:at] for field in above)
            names = len(record) == usual and not blank and _are_names(record)
            return at if names and (titles or _numbers_below(record, records[at + 1 :])) else 0
    return 0


def _is_title(record: Sequence[str], usual: int) -> bool:
    """Return whether a record cannot be names of columns: one field is filled, of more than two or too few."""
    return sum(bool(field.strip()) for field in record) <= 1 and (len(record) < usual or usual > 2)


def one_column_problem(text: bytes) -> list[Problem]:
    """Return a problem where all lines of a text without any usual delimiter are divided alike by another mark."""
    lines = [line.strip() for line in _sample(text)[:MOST_LINES]]
    for mark, what in OTHER_MARKS.items():
        counts = {len(line.split(mark)) for line in lines}
        if len(lines) >= 3 and len(counts) == 1 and max(counts) > 1:
            text_of = f"The table has one column, but every line has {max(counts):,} parts with {what} between them."
            remedy = f"If they are columns, say that {what} separate the fields."
            return [Problem("warning", text_of, remedy=remedy)]
    return []


def _are_names(record: Sequence[str]) -> bool:
    """Return whether all fields are filled, different, and no numbers."""
    names = [field.strip() for field in record]
    return all(names) and len(set(names)) == len(names) and not any(map(NUMBER_TEXT.match, names))


def _numbers_below(names: Sequence[str], records: Sequence[Sequence[str]]) -> bool:
    """Return whether most values of some column are numbers."""
    columns = zip(*(record for record in records if len(record) == len(names)), strict=False)
    return any(2 * sum(bool(NUMBER_TEXT.match(field.strip())) for field in column) > len(column) for column in columns)


def start_of_table(head: bytes, delimiter: str, skip: int | None, header: bool) -> tuple[int, int, list[Problem]]:
    """Return the byte at which the names of the columns begin, the lines above it, and what is to be said of these.

    ``skip``: how many there are; ``None``: they are looked for, where the table has a ``header``. Raises
    :class:`ReadError` where the text has no more lines than these.
    """
    if skip is None:
        lines = [line.decode("utf-8", "replace") for line in head[:SAMPLED].splitlines(keepends=True)[:MOST_LINES]]
        reader = csv.reader(lines, delimiter=delimiter)
        records, ends = [], [0]
        with suppress(csv.Error):
            for record in reader:
                records.append(record)
                ends.append(reader.line_num)
        skip = ends[lines_above(records)] if header else 0
    if not skip:
        return 0, 0, []
    lines_of_head = head.splitlines(keepends=True)
    if skip >= len(lines_of_head):
        raise ReadError(f"The text has no more than {skip:,} lines.", value=skip, remedy="Leave out fewer lines.")
    above = b"".join(lines_of_head[:skip])
    return len(above), skip, above_problem(skip, above.decode("utf-8", "replace"), "line")


def above_problem(count: int, text: str, what: str) -> list[Problem]:
    """Return what is said of lines or rows above the names of the columns that were left out."""
    first = " ".join(text.split())
    many = f"{count:,} {what}s" if count > 1 else f"The {what}"
    text = f"{many} above the names of the columns {'were' if count > 1 else 'was'} left out: {first[:60]!r}"
    remedy = f"If they belong to the table, say that 0 {what}s stand above its names."
    return [Problem("warning", text + ("…." if len(first) > 60 else "."), remedy=remedy)]


def read_columns(
    text: Text, delimiter: str, header: bool, stop: Callable[[Extent], None], progress: Progress | None = None
) -> tuple[list[str], list[TextColumn], list[Problem]]:
    """Return the names, the columns as text, and the problems of a text.

    ``stop``: called with the extent of the text, so that it can raise. Raises :class:`ReadError` for ragged records
    and open quotes (with the line), too many columns, no records.
    """
    first = first_record(text, delimiter)
    if len(first) > MAX_COLUMNS:
        raise ReadError(
            f"The table has {len(first):,} columns; at most {MAX_COLUMNS:,} can be handled.",
            remedy="Leave out columns that need not be released, or check the delimiter.",
        )
    stop(Extent(text.lines, len(first), text.lines * len(first), text.size))
    if text.quotes % 2:
        _refuse_open_quote(text, delimiter)
    try:
        names, chunks = _parse(text, delimiter, header, len(first), min(BLOCK, text.size + 1), progress)
    except pa.ArrowInvalid as error:
        fault = _find_ragged(text, delimiter, len(first))
        if fault is not None:
            raise fault from error
        if "straddl" not in str(error) or text.size > 1 << 30:
            raise ReadError(
                "The file cannot be split into rows.", remedy="Check its delimiter and its quotes."
            ) from error
        names, chunks = _parse(text, delimiter, header, len(first), text.size + 1, progress)
    columns = []
    for position, pieces in enumerate(chunks):
        columns.append(TextColumn.of(pieces))
        chunks[position] = []
    if not columns or columns[0].n_records == 0:
        raise ReadError(
            "The file has column names but no rows." if header else "The file has no rows.",
            remedy="Use a table with at least one row"
            + (", or say that the first line is a row too." if header else "."),
        )
    problems: list[Problem] = []
    if header:
        problems += header_problems(names, columns)
        names, repaired = repair_names(names)
        problems += repaired
    return names, columns, problems


def repair_names(names: list[str]) -> tuple[list[str], list[Problem]]:
    """Return column names that are text, not empty and distinct, and a problem for each that had to be changed."""
    problems: list[Problem] = []
    repaired: list[str] = []
    others = {_CONTROL_TEXT.sub(" ", name).strip() for name in names}
    earlier: set[str] = set()
    for position, name in enumerate(names):
        new = " ".join(_CONTROL_TEXT.sub(" ", name).split())
        if len(new) > 200:
            new = new[:199] + "…"
            why = "has a name of more than 200 characters"
        elif not new:
            new, why = f"column {position + 1}", "has no name"
        elif new in earlier:
            why = f"has the same name as another: {new!r}"
        else:
            why = "has line breaks or control characters in its name" if _CONTROL_TEXT.search(name) else ""
        base, number = new, 2
        while new in earlier or (new != base and new in others):
            new, number = f"{base} ({number})", number + 1
        earlier.add(new)
        repaired.append(new)
        if why:
            text = f"Column number {position + 1} {why}; it is called {new!r} here."
            problems.append(Problem("warning", text, new, remedy="Give it a name of its own in the file."))
    return repaired, problems


def _parse(
    text: Text, delimiter: str, header: bool, width: int, block: int, progress: Progress | None
) -> tuple[list[str], list[list[pa.Array]]]:
    """Return the names, and for each column its pieces: dictionary-encoded while values repeat, plain otherwise."""
    labels = [f"c{position}" for position in range(width)]
    names = [f"column {position + 1}" for position in range(width)]
    chunks: list[list[pa.Array]] = [[] for _ in labels]
    plain = [False] * width
    done = 0
    with text.open() as file:
        reader = pacsv.open_csv(
            pa.PythonFile(TextStream(file), mode="r"),
            read_options=pacsv.ReadOptions(column_names=labels, block_size=max(block, 64), use_threads=False),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, newlines_in_values=text.quotes > 0, ignore_empty_lines=width > 1
            ),
            convert_options=pacsv.ConvertOptions(
                column_types={label: pa.string() for label in labels}, strings_can_be_null=False, check_utf8=False
            ),
        )
        for batch in reader:
            if header and batch.num_rows:
                names = [batch.column(position)[0].as_py() for position in range(width)]
                batch, header = batch.slice(1), False
            if not batch.num_rows:
                continue
            for position in range(width):
                values = batch.column(position)
                encoded = None if plain[position] else values.dictionary_encode()
                plain[position] = encoded is None or 2 * len(encoded.dictionary) > len(values)
                if plain[position]:
                    chunks[position].append(pa.concat_arrays([values]))
                else:
                    chunks[position].append(encoded)
            done += batch.nbytes
            if progress is not None:
                progress(min(0.9, done / max(1, text.size)), "Reading rows")
    return names, chunks


def _sample(text: bytes, size: int = SAMPLED) -> list[str]:
    """Return the first whole lines, as text; quoted line breaks stay inside their list of lines."""
    head = text[:size].decode("utf-8", "replace")
    lines = io.TextIOWrapper(io.BytesIO(head.encode("utf-8")), "utf-8", newline="").readlines()
    if len(text) > size and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip("\r\n")]


def _records(text: Text, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line (from 1) and the fields of each record, slowly: only used to find the place of a fault."""
    with io.TextIOWrapper(text.open(), "utf-8", newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter)
        start = 1
        for record in reader:
            yield start, record
            start = reader.line_num + 1


def first_record(text: Text, delimiter: str) -> list[str]:
    """Return the fields of the first record that has any. Raises :class:`ReadError` where there is none."""
    try:
        for _, record in _records(text, delimiter):
            if record:
                return record
    except csv.Error as error:
        raise ReadError(
            "The first row of the file cannot be read: it is very long or its quotes are not closed.",
            row=0,
            remedy="Check the file's first line.",
        ) from error
    raise ReadError("The file is empty.", remedy="Use a table with column names and at least one row.")


def _refuse_open_quote(text: Text, delimiter: str) -> None:
    """Raise :class:`ReadError` when a quoted field runs to the end of the file."""
    line = 1
    try:
        for start, _ in _records(text, delimiter):
            line = start
        with io.TextIOWrapper(text.open(), "utf-8", newline="") as lines:
            for _ in csv.reader(islice(lines, line - 1, None), delimiter=delimiter, strict=True):
                pass
    except csv.Error as error:
        if "end of data" in str(error) or "limit" in str(error):
            raise ReadError(
                f"A quote that opens in the row of line {line:,} or soon after it is never closed.",
                row=line - 1,
                remedy='Close it, or write a quote inside a quoted field twice ("").',
            ) from error


def _find_ragged(text: Text, delimiter: str, width: int) -> ReadError | None:
    """Return the error that names the first record with another number of fields, and how many such records there
    are."""
    first: tuple[int, int] | None = None
    wrong = 0
    try:
        for line, record in _records(text, delimiter):
            if len(record) != width and (record or width == 1):
                first = first or (line, len(record))
                wrong += 1
    except csv.Error:
        if first is None:
            return None
    if first is None:
        return None
    others = f" ({wrong - 1:,} more rows like it)" if wrong > 1 else ""
    return ReadError(
        f"Line {first[0]:,} has {first[1]:,} fields where {width:,} were expected{others}.",
        row=first[0] - 1,
        remedy="Correct the line, put fields that hold the delimiter in quotes, choose another delimiter, or say how "
        "many lines to skip above the names of the columns.",
    )


# From bytes to text: which encoding a file is in.


def decode(data: bytes, encoding: str | None) -> tuple[bytes, str, list[Problem], Question | None]:
    """Return the text as UTF-8 bytes without a byte-order mark, its encoding, and what to know and to ask of it.

    ``encoding=None``: a byte-order mark decides, then UTF-8 when it fits, then what makes words of its letters; cp1252
    where nothing else does, and a question where others do too.
    Raises :class:`ReadError` with line and column of the first byte that cannot be read, and for binary data.
    """
    if encoding is not None:
        return _decode_as(data, codec_of(encoding))
    for bom, name in _BOMS:
        if data.startswith(bom):
            return _decode_as(data, name)
    sample = data[:4096]
    if len(sample) >= 4 and sample.count(0) * 5 >= len(sample):
        wide = "utf-16-le" if sample[1::2].count(0) > sample[0::2].count(0) else "utf-16-be"
        zeros = sample[1::2] if wide == "utf-16-le" else sample[0::2]
        if zeros.count(0) * 5 >= len(zeros) * 2 and _fault(data, wide) is None:
            return _decode_as(data, wide)
    fault = _fault(data, "utf-8")
    if fault is None:
        refuse_binary(data)
        return data, "utf-8", [], None
    refuse_binary(data)
    pairs, high = _UTF8_PAIR.findall(data), len(_HIGH.findall(data))
    bad = high - sum(map(len, pairs))
    mixed = bool(pairs) and len(pairs) * 4 >= bad
    readings = [] if mixed else _readings(data)
    if not readings:
        line, column = _place(data, fault, "utf-8")
        raise ReadError(
            f"Line {line:,}, character {column:,}: byte 0x{data[fault]:02X} cannot be read, "
            + ("though the rest of the file is UTF-8." if pairs else "neither as UTF-8 nor as cp1252."),
            row=line - 1,
            remedy="Save the file again as UTF-8, or say which encoding it is in.",
        )
    text, used, problems, _ = _decode_as(data, readings[0][0])
    if len(readings) == 1:
        title = {"cp1252": " (Western European Windows)"}.get(used, "")
        note = f"The file is not UTF-8; it was read as {used}{title}."
        remedy = "Check letters with accents, and choose another encoding if they look wrong."
        return text, used, [*problems, Problem("info", note, remedy=remedy)], None
    answers = tuple(
        Answer(name, (("encoding", name),), tuple((_bytes_shown(raw), word) for raw, word in words))
        for name, words in readings
    )
    doubt = "The file is not UTF-8, and nothing in it says which encoding it is in."
    warning = Problem("warning", f"{doubt} It was read as {used}.", remedy="Choose the one whose words are right.")
    return text, used, [*problems, warning], Question("encoding", doubt, answers)


def _readings(data: bytes) -> list[tuple[str, list[tuple[bytes, str]]]]:
    """Return the encodings that make words of the letters beyond ASCII, the likeliest first, each with words; cp1252
    too where it fits.

    Two that give the same words are one.
    """
    raws = list(dict.fromkeys(word for word in _WORD.findall(data[: 1 << 20]) if _HIGH.search(word)))[:MOST_WORDS]
    scores: list[tuple[float, int, str, list[str]]] = []
    earlier: set[tuple[str, ...]] = set()
    for order, name in enumerate(("cp1252", *CANDIDATES)):
        try:
            words = [raw.decode(name) for raw in raws]
        except UnicodeDecodeError:
            continue
        if tuple(words) not in earlier and _fault(data, name) is None:
            earlier.add(tuple(words))
            scores.append((-sum(map(_is_word, words)) / max(1, len(words)), order, name, words))
    scores.sort(key=lambda score: score[:2])
    western = any(name == "cp1252" for _, _, name, _ in scores)
    likely = [score for score in scores if score[0] <= -LIKELY] or scores[: 4 * western]
    if western and all(name != "cp1252" for _, _, name, _ in likely):
        likely += [score for score in scores if score[2] == "cp1252"]
    return [(name, list(zip(raws, words, strict=True))[:3]) for _, _, name, words in likely[:8]]


def _is_word(text: str) -> bool:
    """Return whether all of the characters are letters of one script, and none an upper one behind a lower one."""
    scripts = {unicodedata.name(letter, "NONE").split()[0] for letter in text if letter not in "'-"}
    letters = all(unicodedata.category(letter)[0] in "LM" or letter in "'-" for letter in text)
    mixed = any(before.islower() and after.isupper() for before, after in zip(text, text[1:], strict=False))
    return letters and not mixed and (len(scripts) <= 1 or scripts <= {"CJK", "HIRAGANA", "KATAKANA"})


def _bytes_shown(raw: bytes) -> str:
    return "".join(chr(byte) if byte < 128 else f"\\x{byte:02X}" for byte in raw)


def codec_of(encoding: str) -> str:
    """Return the name of an encoding here. Raises :class:`ReadError` for one that is not known."""
    plain = "-".join(encoding.lower().split())
    try:
        info = codecs.lookup(OTHER_NAMES.get(plain, plain))
    except (LookupError, ValueError):
        info = None
    codec = info.name if info is not None and info._is_text_encoding else ""
    if not codec or codec in NO_CHARSETS:
        raise ReadError(
            f"The encoding {encoding!r} is not known here.", remedy=f"Choose one of: {', '.join(ENCODINGS)}."
        )
    return codec


def _decode_as(data: bytes, encoding: str) -> tuple[bytes, str, list[Problem], Question | None]:
    fault = _fault(data, encoding)
    if fault is not None:
        line, column = _place(data, fault, encoding)
        raise ReadError(
            f"Line {line:,}, character {column:,}: byte 0x{data[fault]:02X} cannot be read as {encoding}.",
            row=line - 1,
            remedy="Say which encoding the file is in, or save it again as UTF-8.",
        )
    if encoding in UTF8:
        text = data.removeprefix(codecs.BOM_UTF8)
    else:
        decoder = codecs.getincrementaldecoder(encoding)()
        pieces = [decoder.decode(data[at : at + BLOCK]).encode("utf-8") for at in range(0, len(data), BLOCK)]
        pieces.append(decoder.decode(b"", True).encode("utf-8"))
        text = b"".join(pieces).removeprefix(codecs.BOM_UTF8)
    refuse_binary(text)
    return text, "utf-8" if encoding == "utf-8-sig" else encoding, [], None


def _fault(data: bytes, encoding: str) -> int | None:
    """Return the position of the first byte that does not fit the encoding; ``None`` when all do."""
    decoder = codecs.getincrementaldecoder(encoding)()
    if encoding.startswith("utf-8") and is_utf8(data):
        return None
    for at in range(0, len(data) + 1, BLOCK):
        n_pending = len(decoder.getstate()[0])
        try:
            decoder.decode(data[at : at + BLOCK], at + BLOCK > len(data))
        except UnicodeDecodeError as error:
            return max(0, min(len(data) - 1, at - n_pending + error.start))
        except UnicodeError:
            return 0
    return None


def is_utf8(data: bytes) -> bool:
    """Return True when all bytes are UTF-8, in a fifth of the time that decoding takes."""
    with suppress(pa.ArrowInvalid):
        ends = pa.py_buffer(np.array([0, len(data)]))
        return pa.LargeStringArray.from_buffers(1, ends, pa.py_buffer(data)).validate(full=True) is None
    return False


def _place(data: bytes, fault: int, encoding: str) -> tuple[int, int]:
    """Return the line and the character (from 1) of a byte."""
    before = data[:fault].decode(encoding, "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def refuse_binary(text: bytes) -> None:
    """Raise :class:`ReadError` for text with NUL bytes or many control characters: that is no table."""
    nul = text.find(b"\x00")
    sample = text[: 1 << 16]
    if nul < 0 and len(_CONTROL.findall(sample)) * 100 <= len(sample):
        return
    where = ""
    if nul >= 0:
        line, column = _place(text, nul, "utf-8")
        where = f" (a NUL byte in line {line:,}, character {column:,})"
    raise ReadError(
        f"This is not a text file{where}.",
        remedy="Use a CSV or TSV text file, Parquet, or an Excel or OpenDocument sheet.",
    )
