"""From bytes to text: which encoding a file is in, where it does not fit, and what has to be asked."""

import codecs
import re
import unicodedata

from anonymizer.errors import ReadError
from anonymizer.reading.options import Answer, Problem, Question

ENCODINGS = (
    "utf-8", "utf-16", "cp1252", "latin-1", "iso8859-15", "cp1250", "cp1251", "cp1253", "cp1254", "cp850", "cp437",
    "mac-roman", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "koi8-r", "utf-16-le", "utf-16-be", "utf-32",
)  # fmt: skip
"""The encodings that can be chosen."""

CANDIDATES = ("cp1250", "cp1251", "cp1253", "cp1254", "gb18030", "shift_jis", "big5", "euc_kr", "koi8-r", "mac-roman",
              "cp850")  # fmt: skip
"""The encodings that a file without any mark may be in, beside UTF-8 and cp1252, the likelier first."""

LIKELY = 0.9
"""Share of words that must be letters of one script in an encoding that is offered."""

MOST_WORDS = 500
"""Words with letters beyond ASCII that are looked at."""

BLOCK = 1 << 23
"""Bytes that are decoded at once."""

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
_UTF8_PAIR = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = re.compile(rb"[\x80-\xff]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_WORD = re.compile(rb"[A-Za-z\x80-\xff'-]+")


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
        _refuse_binary(data)
        return data, "utf-8", [], None
    _refuse_binary(data)
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
    try:
        codec = codecs.lookup(encoding).name
    except LookupError:
        codec = ""
    if codec not in {codecs.lookup(name).name for name in (*ENCODINGS, "utf-8-sig", "ascii")}:
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
    if encoding in ("utf-8", "utf-8-sig"):
        text = data.removeprefix(codecs.BOM_UTF8)
    else:
        decoder = codecs.getincrementaldecoder(encoding)()
        pieces = [decoder.decode(data[at : at + BLOCK]).encode("utf-8") for at in range(0, len(data), BLOCK)]
        pieces.append(decoder.decode(b"", True).encode("utf-8"))
        text = b"".join(pieces).removeprefix(codecs.BOM_UTF8)
    _refuse_binary(text)
    return text, "utf-8" if encoding == "utf-8-sig" else encoding, [], None


def _fault(data: bytes, encoding: str) -> int | None:
    """Return the position of the first byte that does not fit the encoding; ``None`` when all do."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for at in range(0, len(data) + 1, BLOCK):
        n_pending = len(decoder.getstate()[0])
        try:
            decoder.decode(data[at : at + BLOCK], at + BLOCK > len(data))
        except UnicodeDecodeError as error:
            return max(0, min(len(data) - 1, at - n_pending + error.start))
        except UnicodeError:
            return 0
    return None


def _place(data: bytes, fault: int, encoding: str) -> tuple[int, int]:
    """Return the line and the character (from 1) of a byte."""
    before = data[:fault].decode(encoding, "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _refuse_binary(text: bytes) -> None:
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
        remedy="Bring a CSV or TSV text file, Parquet, or an Excel or OpenDocument sheet.",
    )
