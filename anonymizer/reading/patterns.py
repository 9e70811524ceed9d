"""What a column is about, judged by the words of its header and the look of its values.

Words are those of ``topics.txt``, in seven languages and without accents; values are matched by shape and, where there
are any, by check digits. Nothing here keeps or reports a value.
"""

import ipaddress
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from anonymizer.bands import in_order
from anonymizer.schema import Role

ENOUGH = 0.9
"""Share of the values that must look alike for a column to be called by a pattern."""

TOPICS = Path(__file__).with_name("topics.txt")


@dataclass(frozen=True)
class Meaning:
    """What a header says: ``what`` in words, the ``role`` it suggests, who could know it (``circle``: anybody, near,
    work, registers, confidence, nobody), and whether numbers there are mere codes (``nominal``).

    ``words`` match whole, ``alone`` when the header says nothing else, ``stems`` with any letters after them.
    """

    what: str
    role: Role
    circle: str
    nominal: bool
    words: frozenset[str]
    alone: frozenset[str]
    stems: tuple[str, ...]

    def matches(self, phrases: Iterable[str], whole: str) -> bool:
        """Return True when a phrase of a header, or the whole of it, speaks of this."""
        return whole in self.alone or any(p in self.words or p.startswith(self.stems) for p in phrases)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _topics(text: str) -> tuple[Meaning, ...]:
    """Return the topics of a file in the form that ``topics.txt`` explains."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    topics = []
    for block in lines.split("== ")[1:]:
        head, _, rest = block.partition("\n")
        what, role, circle, *codes = (part.strip() for part in head.split("|"))
        words = rest.split()
        topics.append(
            Meaning(
                what, Role(role), circle, bool(codes),
                frozenset(word for word in words if word[0] != "=" and word[-1] != "*"),
                frozenset(word[1:] for word in words if word[0] == "="),
                tuple(word[:-1] for word in words if word[-1] == "*"),
            )
        )  # fmt: skip
    return tuple(topics)


MEANINGS = _topics(TOPICS.read_text(encoding="utf-8"))
"""All topics, the first that matches a header first."""

SURVEY_WEIGHT = next(meaning for meaning in MEANINGS if meaning.what == "a survey weight")
OUTCOME = next(meaning for meaning in MEANINGS if meaning.what == "the outcome to be studied")

COUNT_WORDS = _words("num count n number anzahl nombre numero aantal cantidad quantidade")
MEASURE_WORDS = COUNT_WORDS | _words(
    "since years months days hours size distance duration length minutes seconds percent tage jahre monate stunden "
    "jours heures dias anos meses horas giorni anni ore dagen jaren uren children kids nchild kinder enfants hijos "
    "figli filhos kinderen"
)
SCALE_WORDS = _words(
    "level scale stage rank grade severity decile quintile quartile index stufe niveau nivel livello escala "
    "schweregrad gravite gravedad gravita satisfaction rating score band education educ edu quality"
)
ID_WORDS = _words("id ids uid uuid guid identifier idno seqn serial caseid idnr")
PERSON_WORDS = _words(
    "patient person client customer member subject participant employee student user case insured respondent "
    "patienten kunde kunden versicherten teilnehmer mitglied mitarbeiter personal paciente cliente asegurado miembro "
    "empleado alumno usuario paziente assistito assicurato iscritto utente utilizador beneficiaire assure adherent "
    "eleve salarie deelnemer klant lid household haushalt menage hogar huishouden"
)
HOUSEHOLD_WORDS = _words("household householdid hh hhid hhnr haushalt menage hogar famiglia huishouden family familyid")
NUMBER_WORDS = _words(
    "id ids key uid uuid guid identifier identification number no nr nbr num nummer numero record row seqn serial "
    "matricule matricola matricula codigo"
)
CODE_WORDS = _words("code codes recode type kind category cat group class status method typ art kategorie id ids")
POSTCODE_WORDS = _words(
    "zip zipcode postcode postalcode plz postleitzahl codepostal codigopostal codicepostale cap cep"
)
CASE_WORDS = _words(
    "bed beds room case order invoice receipt ticket booking reference ref token hash hashed pseudonym session device "
    "imei imsi iccid mac serial plate licenseplate licenceplate numberplate registration vin chassis badge chip "
    "barcode tag rfid account policy contract claim docket file extension ext locker seat desk apartment flat parcel "
    "shipment tracking transaction batch lot voucher coupon staff personnel user username login handle initials "
    "family familyid household householdid md5 sha sha1 sha256 digest key guid passport prescription specimen "
    "accession bett zimmer fall auftrag rechnung beleg buchung aktenzeichen gerat kennzeichen konto vertrag familie "
    "haushalt schlussel lit chambre dossier commande facture reservation appareil plaque compte contrat famille menage "
    "cama habitacion caso pedido factura reserva dispositivo matricula cuenta contrato hogar letto stanza pratica "
    "ordine fattura targa conto contratto famiglia kamer zaak bestelling factuur kenteken rekening gezin huishouden "
    "quarto fatura conta"
)
"""What else than people is numbered: cases, orders, rooms, devices, families."""
MAP_WORDS = _words(
    "latitude longitude lat lon lng long gps coordinate coordinates coords latlon latlong easting northing geohash geo "
    "grid gridref gridreference osgb mgrs utm pluscode what3words breitengrad laengengrad langengrad koordinaten "
    "latitud longitud latitudine longitudine breedtegraad lengtegraad"
)
THING_WORDS = _words(
    "product drug disease country city company firm hospital school ward department file column brand event region "
    "produkt medikament krankheit land stadt firma schule station ort produit medicament pays ville entreprise commune "
    "ecole producto pais ciudad empresa escuela municipio prodotto paese comune azienda scuola produto cidade escola "
    "bedrijf gemeente stad enfants hijos figli filhos"
)
NUMBER_ENDS = ("nummer", "numero", "numer")
SHORTEST_END = 5
"""Letters of the shortest last part of a compound (*Hauptdiagnose*) that is looked up."""


def header_words(header: str) -> tuple[str, ...]:
    """Return the words of a header, lower case and without accents: ``"Marital-Status"`` -> marital, status."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", header)
    letters = unicodedata.normalize("NFKD", spaced.replace("ß", "ss"))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return tuple(re.findall(r"[a-z]+|[0-9]+", plain.lower()))


def header_phrases(header: str) -> frozenset[str]:
    """Return the words of a header and its runs of up to four words written as one."""
    words = header_words(header)
    runs = ("".join(words[i : i + size]) for size in range(1, 5) for i in range(len(words) - size + 1))
    return frozenset(runs)


def meanings_of(header: str) -> list[Meaning]:
    """Return what a header may be about: a match of the whole header first, then in the order of ``MEANINGS``.

    Where no word is known, ends of long words are looked up. A word for the outcome counts only when the header says
    nothing else: ``class``, but not ``class-of-worker``.
    """
    words, phrases = header_words(header), header_phrases(header)
    if "weight" in phrases and phrases & {"instance", "sample", "sampling", "survey", "final", "person", "design",
                                          "sectional"}:  # fmt: skip
        return [SURVEY_WEIGHT]
    whole = "".join(words)
    meanings = [meaning for meaning in MEANINGS if meaning.matches(phrases, whole)]
    if not set(words) <= OUTCOME.words:
        meanings = [meaning for meaning in meanings if meaning is not OUTCOME]
    if not meanings:
        ends = [word[i:] for word in words for i in range(1, len(word) - SHORTEST_END + 1)]
        meanings = [meaning for meaning in MEANINGS if meaning is not OUTCOME and meaning.matches(ends, "")]
    return sorted(meanings, key=lambda meaning: whole not in meaning.words | meaning.alone)


def numbers_rows(header: str) -> bool:
    """Return True when a header says that it holds numbers of people, cases or rows: ``id``, *Patientennummer*."""
    words = header_words(header)
    return bool(header_phrases(header) & (ID_WORDS | NUMBER_WORDS)) or any(word.endswith(NUMBER_ENDS) for word in words)


def speaks_of_persons(header: str) -> bool:
    """Return True when a header names whom its numbers stand for: ``patient_id``, ``customerid``, *Kundennummer*."""
    words = header_words(header)
    heads = [re.sub(r"(id|nr|no|num|nummer|numero|key)$", "", word) for word in words]
    return bool({*words, *heads} & PERSON_WORDS)


def luhn(digits: str) -> bool:
    """Return whether the check digit of a card number is right."""
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if position % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_card(text: str) -> bool:
    """Return True for a payment card number: 13 to 19 digits, in groups or not, with the right check digit."""
    digits = re.sub(r"[ -]", "", text)
    return bool(re.fullmatch(r"[1-9][0-9]{12,18}", digits)) and luhn(digits)


def is_iban(text: str) -> bool:
    """Return True for an IBAN: country, check digits, up to 30 letters and digits, remainder 1 when divided by 97."""
    plain = text.replace(" ", "").upper()
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", plain):
        return False
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1


def is_ip(text: str) -> bool:
    """Return True for an internet address, version 4 or 6."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_phone(text: str) -> bool:
    """Return True for a telephone number as people write it: 7 to 15 digits that begin with a plus, a bracket or a
    zero, or are grouped as in North America. Other numbers with hyphens are those of cases or accounts."""
    digits = re.sub(r"[^0-9]", "", text)
    if not 7 <= len(digits) <= 15 or not re.fullmatch(r"[+(]?[0-9 ()./-]+", text):
        return False
    if re.fullmatch(r"[0-9]{1,4}[-/. ][0-9]{1,2}[-/. ][0-9]{1,4}|(19|20)[0-9]{2}[-/ ](19|20)[0-9]{2}", text):
        return False  # a date, or two years
    if text[0] in "+(" or re.fullmatch(r"(1[-. ])?[2-9][0-9]{2}[-. ]([2-9][0-9]{2}[-. ])[0-9]{4}", text):
        return True
    return bool(re.match(r"0[1-9]|00[1-9]", text)) and len(digits) >= 9


def is_person_name(text: str) -> bool:
    """Return True for two to four capitalised words, as in a full name, or a family name, a comma and given names."""
    words = text.replace(",", " ").split()
    return 2 <= len(words) <= 4 and all(re.fullmatch(r"[^\W\d_][^\W\d_'’.-]*([’'.-][^\W\d_]*)*", w) and w[0].isupper()
                                        for w in words)  # fmt: skip


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


PATTERNS: dict[str, Callable[[str], bool]] = {
    "e-mail addresses": _matches(r"[^@\s]{1,64}@[^@\s.]+(\.[^@\s.]+)+"),
    "web addresses": _matches(r"(?i)(https?://|www\.)\S+"),
    "UUIDs": _matches(r"(?i)\{?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\}?"),
    "internet addresses": is_ip,
    "IBAN account numbers": is_iban,
    "payment card numbers": is_card,
    "social security numbers": _matches(r"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}"),
    "telephone numbers": is_phone,
}
"""Values that identify by themselves, most telling first."""


def pattern_of(texts: Sequence[str]) -> str:
    """Return the name of the pattern that nearly all texts follow, or an empty text."""
    for name, matches in PATTERNS.items():
        if texts and sum(map(matches, texts)) >= ENOUGH * len(texts):
            return name
    return ""


def shape_of(texts: Sequence[str]) -> str:
    """Return the usual shape of codes: digits as 9, letters as A or a; empty when there is none or it is long."""
    if not texts:
        return ""
    shapes = Counter(
        re.sub(r"[^\W\d_]", lambda m: "A" if m[0].isupper() else "a", re.sub(r"\d", "9", t)) for t in texts
    )
    shape, often = shapes.most_common(1)[0]
    return shape if often >= ENOUGH * len(texts) and len(shape) <= 24 and "9" in shape else ""


LADDERS: tuple[tuple[str, ...], ...] = tuple(
    tuple(ladder.split("|"))
    for ladder in (
        "very low=vlow|low|medium=med=mid=moderate=middle=average|high|very high=vhigh",
        "extra small=xs|small=s|medium=med=m=middle=mid|large=big=l|extra large=xl",
        "none=no|mild=slight|moderate|severe|very severe=critical",
        "never|rarely=seldom|sometimes=occasionally|often=frequently|always",
        "very poor|poor|fair=average|good|very good=vgood|excellent",
        "strongly disagree|disagree|neutral=neither|agree|strongly agree",
        "very dissatisfied|dissatisfied|neutral|satisfied|very satisfied",
        "january=jan|february=feb|march=mar|april=apr|may|june=jun|july=jul|august=aug|september=sep=sept|october=oct|"
        "november=nov|december=dec",
        "niedrig|mittel|hoch|sehr hoch",
        "klein|mittel|gross",
        "faible|moyen|fort",
        "bajo|medio|alto",
    )
)
"""Levels with a natural order; forms of one level are joined by =."""


def natural_order(levels: Sequence[str]) -> tuple[str, ...] | None:
    """Return the levels in their natural order where it is beyond doubt: a known ladder of three or more, or bands."""
    if len(levels) < 3:
        return None
    plain = [" ".join(re.findall(r"[^\W\d_]+", unicodedata.normalize("NFKD", level).lower())) for level in levels]
    for ladder in LADDERS:
        rank = {form: (float(position), 0.0) for position, step in enumerate(ladder) for form in step.split("=")}
        if (order := _sorted_by([rank.get(word) for word in plain], levels)) is not None:
            return order
    return in_order(levels)


def _sorted_by(places: Sequence[tuple[float, float] | None], levels: Sequence[str]) -> tuple[str, ...] | None:
    """Return the levels by their places; ``None`` unless every level has a place of its own."""
    ranks = [place for place in places if place is not None]
    if len(set(ranks)) != len(levels):
        return None
    return tuple(level for _, level in sorted(zip(ranks, levels, strict=True)))
