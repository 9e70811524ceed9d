"""What reaches a person inside a text: numbers with their check digits, addresses, names after a title.

Check digits keep alarms rare: a number of the right shape is one of the kind in about one case in ten. A number that is
nothing but digits counts inside a note only, or where nearly all values of a column are such.
"""

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymizer.reading.patterns import ENOUGH, is_card, is_iban, is_phone

BEFORE, AFTER = r"(?<![\w.,/-])", r"(?![\w-]|[.,/][0-9])"
LONGEST = 2_000
"""Letters of a text that are looked at."""
NOTE_WORDS = 3
"""Words of a text that is a note, and not the name of a level."""

Test = Callable[[str], bool]


def digits_of(text: str) -> str:
    """Return the digits of a text."""
    return re.sub(r"[^0-9]", "", text)


def weighted(weights: Sequence[int], modulus: int, remainder: int = 0) -> Test:
    """Return the test that the weighted sum of the digits leaves a remainder; weights are repeated as needed."""

    def test(text: str) -> bool:
        digits = digits_of(text)
        return sum(int(d) * weights[i % len(weights)] for i, d in enumerate(digits)) % modulus == remainder

    return test


def luhn_of(text: str) -> bool:
    """Return whether the last digit is right by Luhn."""
    digits = [int(d) for d in reversed(digits_of(text))]
    return sum(d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(digits)) % 10 == 0


def is_day(year: int, month: int, day: int) -> bool:
    """Return whether there is such a day in some year."""
    return 1 <= month <= 12 and 1 <= day <= (29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31) and year >= 0


def dated(first: str) -> Test:
    """Return the test that the digits begin with a date, such as ``yymmdd``."""

    def test(text: str) -> bool:
        digits = digits_of(text)
        day, month = (int(digits[first.index(part) : first.index(part) + 2]) for part in ("dd", "mm"))
        return is_day(0, month, day)

    return test


def both(*tests: Test) -> Test:
    """Return the test that all tests pass."""
    return lambda text: all(test(text) for test in tests)


def any_of(*tests: Test) -> Test:
    """Return the test that some test passes."""
    return lambda text: any(test(text) for test in tests)


def varied(text: str) -> bool:
    """Return whether the digits are not all the same."""
    return len(set(digits_of(text))) > 1


def mod_11_10(text: str) -> bool:
    """Return whether the last digit is right by ISO 7064, MOD 11,10."""
    product = 10
    digits = digits_of(text)
    for digit in digits[:-1]:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == int(digits[-1])


def is_tax_id(text: str) -> bool:
    """Return whether a German tax number is right: of its first ten digits one or two are repeated."""
    digits = digits_of(text)
    counts = sorted(digits[:10].count(d) for d in set(digits[:10]))
    return mod_11_10(text) and digits[0] != "0" and counts[-1] in (2, 3) and len(counts) in (8, 9)


def is_pension_number(text: str) -> bool:
    """Return whether a German pension insurance number is right."""
    plain = re.sub(r"[^0-9A-Z]", "", text)
    digits = plain[:8] + f"{ord(plain[8]) - 64:02d}" + plain[9:]
    parts = (int(d) * w for d, w in zip(digits[:-1], (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=True))
    return sum(part // 10 + part % 10 for part in parts) % 10 == int(digits[-1])


def is_insee(text: str) -> bool:
    """Return whether the key of a French number is right."""
    plain = re.sub(r"[^0-9AB]", "", text.upper()).replace("2A", "19", 1).replace("2B", "18", 1)
    return plain.isdigit() and len(plain) == 15 and 97 - int(plain[:13]) % 97 == int(plain[13:])


ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
               (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14,
                16, 10, 22, 25, 24, 23), strict=True))  # fmt: skip


def is_codice_fiscale(text: str) -> bool:
    """Return whether the last letter of an Italian tax code is right."""
    plain = text.upper()
    total = sum(ODD[c] if i % 2 == 0 else int(c, 36) - 10 * c.isalpha() for i, c in enumerate(plain[:15]))
    return chr(65 + total % 26) == plain[15]


def is_dni(text: str) -> bool:
    """Return whether the letter of a Spanish DNI or NIE is right."""
    plain = re.sub(r"[^0-9A-Z]", "", text.upper())
    number = int(plain[:-1].translate(str.maketrans("XYZ", "012")))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == plain[-1]


def is_hetu(text: str) -> bool:
    """Return whether a Finnish number is right: its date, and its last letter."""
    digits = digits_of(text[:6] + text[7:10])
    right = "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(digits) % 31] == text[-1].upper()
    return right and is_day(0, int(digits[2:4]), int(digits[:2]))


def is_norwegian(text: str) -> bool:
    """Return whether both check digits of a Norwegian number are right."""
    digits = digits_of(text)
    day, month = int(digits[:2]) % 40, int(digits[2:4]) % 40
    first, second = weighted((3, 7, 6, 1, 8, 9, 4, 5, 2, 1), 11), weighted((5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1), 11)
    return first(digits[:10]) and second(digits) and is_day(0, month, day)


def is_pps(text: str) -> bool:
    """Return whether the letter of an Irish number is right."""
    plain = text.upper()
    total = sum(int(d) * w for d, w in zip(plain[:7], range(8, 1, -1), strict=True))
    total += 9 * (ord(plain[8]) - 64) if len(plain) > 8 and plain[8] != "W" else 0
    return "WABCDEFGHIJKLMNOPQRSTUV"[total % 23] == plain[7]


def two_check_digits(text: str) -> bool:
    """Return whether both check digits of a Brazilian CPF are right."""
    digits = [int(d) for d in digits_of(text)]

    def right(n: int) -> bool:
        return sum(d * w for d, w in zip(digits[:n], range(n + 1, 1, -1), strict=True)) * 10 % 11 % 10 == digits[n]

    return right(9) and right(10) and varied(text)


_TURNS = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def verhoeff(text: str) -> bool:
    """Return whether the last digit of an Indian Aadhaar is right, by the scheme of Verhoeff."""
    check = 0
    for i, sign in enumerate(reversed(digits_of(text))):
        digit = int(sign)
        for _ in range(i % 8):
            digit = _TURNS[digit]
        turned = check + digit if check < 5 else check - digit  # in the group of a pentagon's turns and flips
        check = turned % 5 + 5 * ((check < 5) != (digit < 5))
    return check == 0


def is_belgian(text: str) -> bool:
    """Return whether the key of a Belgian number is right, of somebody born before 2000 or after."""
    digits = digits_of(text)
    return any(97 - int(century + digits[:9]) % 97 == int(digits[9:]) for century in ("", "2"))


def is_turkish(text: str) -> bool:
    """Return whether both check digits of a Turkish number are right."""
    d = [int(digit) for digit in digits_of(text)]
    return d[0] > 0 and (7 * sum(d[0:9:2]) - sum(d[1:8:2])) % 10 == d[9] and sum(d[:10]) % 10 == d[10]


def is_resident_id(text: str) -> bool:
    """Return whether the check sign of a Chinese number is right."""
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(d) * w for d, w in zip(text[:17], weights, strict=True))
    return "10X98765432"[total % 11] == text[-1].upper() and is_day(0, int(text[10:12]), int(text[12:14]))


def is_rut(text: str) -> bool:
    """Return whether the check sign of a Chilean number is right."""
    plain = re.sub(r"[^0-9K]", "", text.upper())
    total = sum(int(d) * (2 + i % 6) for i, d in enumerate(reversed(plain[:-1])))
    return "0123456789K0"[11 - total % 11] == plain[-1]


def is_baltic(text: str) -> bool:
    """Return whether the check digit of an Estonian or Lithuanian number is right."""
    d = digits_of(text)
    sums = [sum(int(c) * w for c, w in zip(d, weights, strict=False)) % 11
            for weights in ((1, 2, 3, 4, 5, 6, 7, 8, 9, 1), (3, 4, 5, 6, 7, 8, 9, 1, 2, 3))]  # fmt: skip
    return (sums[0] if sums[0] < 10 else sums[1] % 11 % 10) == int(d[10]) and is_day(0, int(d[3:5]), int(d[5:7]))


def is_nric(text: str) -> bool:
    """Return whether the letter of a Singaporean number is right."""
    total = sum(int(d) * w for d, w in zip(text[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True)) + 4 * (text[0] in "TG")
    return ("JZIHGFEDCBA" if text[0] in "ST" else "XWUTRQPNMLK")[total % 11] == text[8]


@dataclass(frozen=True)
class Kind:
    """What can stand inside a text: ``what`` it is, its ``pattern``, the ``test`` of a match; ``bare``: it can be
    nothing but digits, so that other numbers pass by chance; ``note``: it is told in notes only; ``digits``: it has at
    least so many; ``alone``: its digits are of nothing else."""

    what: str
    pattern: "re.Pattern[str]"
    test: Test
    bare: bool = False
    note: bool = False
    digits: int = 0
    alone: bool = False


def _right(text: str) -> bool:
    return True


def _kind(what: str, pattern: str, test: Test = _right, **more: bool | int) -> Kind:
    return Kind(what, re.compile(pattern), test, **more)  # type: ignore[arg-type]


NATIONAL = "national numbers of people"


def _national(pattern: str, test: Test = _right, bare: bool = False, digits: int = 7) -> Kind:
    return _kind(NATIONAL, f"{BEFORE}(?:{pattern}){AFTER}", test, bare=bare, digits=digits)


def is_address(text: str) -> bool:
    """Return whether a text is an internet address that is no version: two parts of it have two digits."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return ":" in text or sum(len(part) > 1 for part in text.split(".")) >= 2


def is_called(text: str) -> bool:
    """Return whether a match of a telephone number is one, and no date or time begins it."""
    return is_phone(text) and not re.match(r"[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ][0-9]{2,4}(?![0-9])", text)


_AT = r" ?(?:@|\((?:at|a|ät)\)|\[(?:at|a|ät)\]|\{at\}|<at>|_at_) ?"
_DOT = r"(?: ?(?:\.|\((?:dot|punkt|point|punto)\)|\[(?:dot|punkt|point|punto)\]|\{dot\}) ?| (?:dot|punkt|point|punto) )"
_WORD = r"[A-Za-z0-9_+-]{1,40}"
_NAME = r"[A-ZÀ-ÖØ-ÞŁŚŽČĆŠŞİ][\w'’-]+"
_TITLE = (
    r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Herr|Herrn|Frau|Hr|Mme|Mlle|Madame|Monsieur|Señor|Señora|Srta|Sra|Sr|"
    r"Sig|Signor|Signora|Sig\.ra|Dott|Dhr|Mevr|Mevrouw|Meneer|Pan|Pani|Doña|Don|Dona|Senhor|Senhora)"
)
_BEFORE_NAME = (
    r"(?:[Cc]all(?:ed)?|[Ss]poke (?:to|with)|[Tt]alked to|[Cc]ontact(?:ed)?|[Aa]sk(?:ed)? for|[Ii]nform(?:ed)?|"
    r"[Nn]ame:?|[Nn]amed|[Ww]ife|[Hh]usband|[Mm]other|[Ff]ather|[Ss]ister|[Bb]rother|[Dd]aughter|[Ss]on|[Nn]eighbou?r|[Ff]riend|"
    r"[Pp]atient|[Cc]lient|[Cc]ustomer|[Ee]hefrau|[Ee]hemann|[Mm]utter|[Vv]ater|[Tt]ochter|[Ss]ohn|[Bb]ruder|"
    r"[Ss]chwester|[Aa]nruf (?:von|bei)|[Rr]ückruf (?:von|an)|[Kk]ontakt:?|[Aa]ppeler|[Ll]lamar a|[Bb]ellen)"
)

KINDS: tuple[Kind, ...] = (
    _kind("e-mail addresses", r"[^@\s]{1,64}@[^@\s.]{1,64}\.[^@\s]{2,}"),
    _kind(
        "e-mail addresses",
        rf"(?i)(?<!\w){_WORD}(?:{_DOT}{_WORD}){{0,3}}(?:{_AT}{_WORD}(?:{_DOT}{_WORD}){{0,3}}{_DOT}|"
        rf" at {_WORD}(?: dot {_WORD}){{0,3}} dot )[A-Za-z]{{2,10}}(?!\w)",
    ),
    _kind("IBAN account numbers", r"(?<!\w)[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)", is_iban,
          digits=7, alone=True),
    _kind("payment card numbers", BEFORE + r"[2-6][0-9]{3}(?:[ -]?[0-9]{4,6}){2,3}[0-9]{0,3}" + AFTER, is_card,
          bare=True, digits=7),
    _kind("telephone numbers", r"(?<![\w.])\+[1-9][0-9 ()/.-]{6,18}[0-9](?!\w)", lambda text: is_phone(text.strip()),
          digits=7),
    _kind("telephone numbers", BEFORE + r"\(?0[0-9()][0-9 ()/-]{6,16}[0-9]" + AFTER, is_called,
          bare=True, digits=7),
    _kind("telephone numbers",
          BEFORE + r"(?:1[-. ])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-. ])[2-9][0-9]{2}[-. ][0-9]{4}" + AFTER,
          digits=7),
    _kind("web addresses", r"(?i)(?<!\w)(?:https?://|ftp://|www\.)[^\s]{3,}"),
    _kind("internet addresses", r"(?<![\w.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w.][0-9])", is_address),
    _kind("internet addresses", r"(?<![\w:])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){3,7}(?![\w:])",
          lambda text: is_address(text) and len(text) > 6),
    _kind("addresses of devices", r"(?<![\w:-])[0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])"),
    _kind("social security numbers", BEFORE + r"(?!000|666|9)[0-9]{3}([- ])(?!00)[0-9]{2}\1(?!0000)[0-9]{4}" + AFTER,
          digits=7),
    _national(r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?: ?[0-9]{2}){3} ?[A-D]", digits=4),
    _national(r"[0-9]{3}([ -]?)[0-9]{3}\1[0-9]{4}", both(weighted(range(10, 0, -1), 11), varied), True),
    _national(r"[0-9]{2}([ /]?)[0-9]{3}\1[0-9]{3}\1[0-9]{3}", is_tax_id, True),
    _national(r"[0-9]{2} ?[0-9]{6} ?[A-Z] ?[0-9]{3}", is_pension_number),
    _national(r"[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]|[2-9][0-9]) ?(?:[0-9]{2}|2[ABab]) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}",
              is_insee, True),
    _national(r"[A-Za-z]{6}[0-9]{2}[A-EHLMPRSTa-ehlmprst][0-9]{2}[A-Za-z][0-9]{3}[A-Za-z]", is_codice_fiscale),
    _national(r"(?:[0-9]{2}\.?[0-9]{3}\.?[0-9]{3}|[XYZxyz]-?[0-9]{7})[- ]?[A-Za-z]", is_dni),
    _national(r"(?:19|20)?[0-9]{6}[-+]?[0-9]{4}",
              lambda text: luhn_of(digits_of(text)[-10:]) and dated("yymmdd")(digits_of(text)[-10:]), True),
    _national(r"[0-9]{6}-[0-9]{4}", dated("ddmmyy")),
    _national(r"[0-9]{6} ?[0-9]{5}", is_norwegian, True),
    _national(r"[0-9]{6}[-+A-FU-Ya-fu-y][0-9]{3}[0-9A-Ya-y]", is_hetu),
    _national(r"[0-9]{11}", lambda text: weighted((1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), 10)(text)
              and is_day(0, int(text[2:4]) % 20, int(text[4:6])), True),
    _national(r"[0-9]{9}|[0-9]{4}\.[0-9]{2}\.[0-9]{3}", both(weighted((9, 8, 7, 6, 5, 4, 3, 2, -1), 11), varied), True),
    _national(r"[0-9]{2}\.?[0-9]{2}\.?[0-9]{2}[- ]?[0-9]{3}[-. ]?[0-9]{2}", both(is_belgian, dated("yymmdd")), True),
    _national(r"756\.?[0-9]{4}\.?[0-9]{4}\.?[0-9]{2}", weighted((1, 3), 10), True),
    _national(r"[0-9]{4} ?[0-9]{6}", both(weighted((3, 7, 9, -1, 5, 8, 4, 2, 1, 6), 11), varied), True),
    _national(r"[0-9]{6}/[0-9]{3,4}", lambda text: len(digits_of(text)) == 9 or int(digits_of(text)) % 11 == 0),
    _national(r"[1-8][0-9]{12}", both(weighted((2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9, -1), 11),
                                      lambda text: is_day(0, int(text[3:5]), int(text[5:7]))), True),
    _national(r"[1-6][0-9]{10}", is_baltic, True),
    _national(r"[0-9]{11}", both(any_of(mod_11_10, is_turkish), varied), True),
    _national(r"[0-9]{7}[A-Wa-w][A-IWa-iw]?", is_pps),
    _national(r"[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2}", two_check_digits, True),
    _national(r"[2-9][0-9]{3}([ -]?)[0-9]{4}\1[0-9]{4}", both(verhoeff, varied), True),
    _national(r"[A-Z]{3}[ABCFGHJLPT][A-Z][0-9]{4}[A-Z]", digits=4),
    _national(r"[1-9][0-9]{2}([ -]?)[0-9]{3}\1[0-9]{3}", both(luhn_of, varied), True),
    _national(r"[0-9]{3}([ ]?)[0-9]{3}\1[0-9]{3}", both(weighted((1, 4, 3, 7, 5, 8, 6, 9, 10), 11), varied), True),
    _national(r"[0-9]{6} ?[0-9]{4} ?[01][89][0-9]", both(luhn_of, dated("yymmdd")), True),
    _national(r"[1-9][0-9]{16}[0-9Xx]", is_resident_id),
    _national(r"[0-9]{6}-[1-8][0-9]{6}", dated("yymmdd")),
    _national(r"[A-Z][AEIOUX][A-Z]{2}[0-9]{6}[HM][A-Z]{5}[0-9A-Z][0-9]"),
    _national(r"[0-9]{1,2}\.?[0-9]{3}\.?[0-9]{3}-[0-9Kk]", is_rut),
    _national(r"(?:20|23|24|27)-?[0-9]{8}-?[0-9]", weighted((5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1), 11), True),
    _national(r"[STFG][0-9]{7}[A-Z]", is_nric),
    _kind("names of people", rf"(?<!\w){_TITLE}\.? (?:{_TITLE}\.? )?(?:[A-Z]\. ?)?{_NAME}", note=True),
    _kind("names of people", rf"(?<!\w){_BEFORE_NAME} {_NAME} {_NAME}", note=True),
)  # fmt: skip
"""Everything that is searched, each by a pattern and a test of what it matches."""


def inside(texts: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return what stands inside some texts: of each kind, the places of the texts that hold one, ascending."""
    plain = [text[:LONGEST].replace("\n", " ").replace("\r", " ") for text in texts]
    if not plain:
        return {}
    signs = np.frombuffer("\n".join(plain).encode("utf-32-le"), np.uint32)
    lengths = np.array([len(text) + 1 for text in plain])
    digits = np.add.reduceat((signs >= ord("0")) & (signs <= ord("9")), np.cumsum(lengths) - lengths, dtype=np.int64)
    answer: dict[str, set[int]] = {}
    for most in sorted({kind.digits for kind in KINDS}):
        places = np.flatnonzero(digits >= most)
        if not len(places):
            continue
        some, ends = [plain[at] for at in places.tolist()], np.cumsum(lengths[places])
        whole = "\n".join(some)
        for kind in (kind for kind in KINDS if kind.digits == most):
            matches = [match for match in kind.pattern.finditer(whole) if kind.test(match[0])]
            starts = np.searchsorted(ends, [match.start() for match in matches], side="right").tolist()
            hits = list(zip(starts, matches, strict=True))
            if kind.note:
                hits = [(at, match) for at, match in hits if is_note(some[at])]
            if kind.bare and len(hits) < ENOUGH * len(plain):
                hits = [(at, match) for at, match in hits if is_beside_letters(some[at], match[0])]
            answer.setdefault(kind.what, set()).update(int(places[at]) for at, _ in hits)
            if kind.alone:
                whole = without(whole, [match.span() for _, match in hits])
    return {what: np.array(sorted(of), np.int64) for what, of in answer.items() if of}


def is_beside_letters(text: str, match: str) -> bool:
    """Return whether words stand beside a number: the text is a note, and no code."""
    return re.search(r"[^\W\d_]{3}", text.replace(match, " ", 1)) is not None


def is_note(text: str) -> bool:
    """Return whether a text is a note: it has some words, one of them in small letters."""
    return len(text.split()) >= NOTE_WORDS and any(word[0].islower() for word in text.split())


def without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text, as long, in which some parts are no longer there: what is one thing is not another too."""
    ends = [0, *(end for _, end in spans)]
    parts = (text[end:start] + "\0" * (stop - start) for end, (start, stop) in zip(ends, spans, strict=False))
    return "".join(parts) + text[ends[-1] :] if spans else text
