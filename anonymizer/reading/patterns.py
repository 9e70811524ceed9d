"""What a column is about, judged by the words of its header and the look of its values.

Words are matched whole, without accents, in English and the commonest German, French and Spanish forms; values
are matched by shape and, where there are any, by check digits. Nothing here keeps or reports a value.
"""

import ipaddress
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anonymizer.schema import Role

ENOUGH = 0.9
"""Share of the values that must look alike for a column to be called by a pattern."""


@dataclass(frozen=True)
class Meaning:
    """What a header says: ``what`` in words, the ``role`` it suggests, and whether numbers there are mere codes."""

    what: str
    role: Role
    words: frozenset[str]
    nominal: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _meaning(what: str, role: Role, words: str, nominal: bool = False) -> Meaning:
    return Meaning(what, role, _words(words), nominal)


MEANINGS: tuple[Meaning, ...] = (
    _meaning(
        "a survey weight",
        Role.INSENSITIVE,
        "fnlwgt fnlwt finalweight instanceweight sampleweight surveyweight samplingweight personweight "
        "designweight pweight perwt hhweight gewichtungsfaktor",
    ),
    _meaning(
        "an e-mail address",
        Role.IDENTIFYING,
        "email mail emailaddress emails correo courriel",
    ),
    _meaning(
        "a telephone number",
        Role.IDENTIFYING,
        "phone telephone tel mobile cellphone fax phonenumber telefon telefonnummer handy handynummer "
        "telefono telephonenumber movil",
    ),
    _meaning(
        "an official number",
        Role.IDENTIFYING,
        "ssn socialsecurity socialsecuritynumber passport passportnumber iban nino nhsnumber mrn taxid "
        "steuernummer sozialversicherungsnummer dni nif nir licenseplate numberplate vin imei accountnumber "
        "kontonummer cardnumber creditcardnumber insurancenumber versichertennummer driverslicense",
    ),
    _meaning(
        "an address",
        Role.IDENTIFYING,
        "address street streetaddress addressline strasse anschrift hausnummer adresse rue direccion calle "
        "domicilio latitude longitude gps coordinates",
    ),
    _meaning(
        "an account or device",
        Role.IDENTIFYING,
        "username login userid ip ipaddress url website homepage deviceid macaddress",
    ),
    _meaning(
        "a person's name",
        Role.IDENTIFYING,
        "name names firstname lastname surname forename fullname middlename givenname familyname maidenname "
        "vorname nachname familienname nom prenom nombre apellido apellidos",
    ),
    _meaning(
        "a birth date",
        Role.QUASI_IDENTIFYING,
        "birthdate dateofbirth birthday dob birthyear birthmonth yearofbirth born yob geburtsdatum geburtstag "
        "geburtsjahr naissance datedenaissance nacimiento fechadenacimiento",
    ),
    _meaning(
        "health",
        Role.SENSITIVE,
        "diagnosis diagnoses diagnose disease illness condition icd icd10 symptom symptoms drug drugs "
        "medication medicine treatment therapy hiv cancer tumor tumour diabetes diabete stroke heartdisease "
        "heartcondition blood bloodpressure cholesterol glucose bmi contraceptive contraception "
        "pregnancy pregnant mental depression psychiatric smoker smoking alcohol drinks drinking operation "
        "surgery procedure testresult result results lab finding krankheit medikament befund maladie "
        "diagnostic diagnostico enfermedad stay daysofstay lengthofstay los complication complications "
        "allergy vaccine hospitalized",
    ),
    _meaning(
        "money",
        Role.SENSITIVE,
        "income salary wage wages pay payment payments earnings cost costs charge charges price amount "
        "balance credit credits loan debt capital saving savings checking asset assets wealth tax dividend "
        "dividends rent installment mortgage revenue expense expenses spending purchase bought bonus premium "
        "einkommen gehalt lohn kosten betrag vermogen kredit revenu salaire cout montant ingreso ingresos "
        "salario sueldo coste costo finance",
    ),
    _meaning(
        "belief or politics",
        Role.SENSITIVE,
        "religion religious faith church belief politics political party vote voted voting union konfession "
        "partei religione politique politica creencia",
        nominal=True,
    ),
    _meaning(
        "sexual life",
        Role.SENSITIVE,
        "sexuality orientation sexualorientation",
        nominal=True,
    ),
    _meaning(
        "crime",
        Role.SENSITIVE,
        "crime criminal offence offense conviction convicted arrest arrested charged sentence prison "
        "recidivism straftat delit delito",
    ),
    _meaning(
        "performance",
        Role.SENSITIVE,
        "grade grades score scores gpa rating satisfaction appraisal performance punktzahl calificacion",
    ),
    _meaning(
        "genes",
        Role.SENSITIVE,
        "gene genes genotype genetic dna snp allele",
        nominal=True,
    ),
    _meaning(
        "the outcome to be studied",
        Role.SENSITIVE,
        "class target label outcome response klasse zielvariable",
        nominal=True,
    ),
    _meaning(
        "age",
        Role.QUASI_IDENTIFYING,
        "age ages agegroup ageband alter altersgruppe edad",
    ),
    _meaning(
        "sex or gender",
        Role.QUASI_IDENTIFYING,
        "sex gender geschlecht sexe genre sexo genero",
        nominal=True,
    ),
    _meaning(
        "origin",
        Role.QUASI_IDENTIFYING,
        "race ethnicity ethnic ethnie skin ancestry origin hispanic herkunft origine raza etnia",
        nominal=True,
    ),
    _meaning(
        "where somebody lives",
        Role.QUASI_IDENTIFYING,
        "zip zipcode postcode postalcode postal plz postleitzahl codepostal codigopostal city town village "
        "county state district region province municipality neighborhood neighbourhood place residence "
        "location ort stadt wohnort kreis bundesland gemeinde ville departement commune ciudad provincia "
        "municipio estado",
        nominal=True,
    ),
    _meaning(
        "nationality or language",
        Role.QUASI_IDENTIFYING,
        "nationality citizenship citizen country nation native foreign immigrant immigration language tongue "
        "staatsangehorigkeit nationalitat land sprache nationalite pays langue nacionalidad pais idioma",
        nominal=True,
    ),
    _meaning(
        "marital state",
        Role.QUASI_IDENTIFYING,
        "marital maritalstatus marstat married personalstatus spouse partner familienstand etatcivil "
        "situationfamiliale estadocivil",
        nominal=True,
    ),
    _meaning(
        "education",
        Role.QUASI_IDENTIFYING,
        "education educ edu school schooling degree university college study studies "
        "qualification literacy bildung schulabschluss ausbildung studium diplome formation educacion "
        "estudios escolaridad",
    ),
    _meaning(
        "work",
        Role.QUASI_IDENTIFYING,
        "occupation occupations job jobtitle profession work working worked worker workclass employment employer "
        "employed employee industry company department position hours hoursperweek beruf arbeit "
        "arbeitgeber tatigkeit branche metier emploi travail ocupacion profesion trabajo empleo",
    ),
    _meaning(
        "the date of an event",
        Role.QUASI_IDENTIFYING,
        "date datum fecha day month year time timestamp admission admitted discharge visit appointment "
        "arrival departure aufnahme entlassung ingresodate",
    ),
    _meaning(
        "how somebody lives",
        Role.QUASI_IDENTIFYING,
        "housing house home dwelling car vehicle veteran veterans military living phoneowner owner wohnung "
        "logement vivienda insurance hlthins medicare medicaid media",
    ),
    _meaning(
        "bodily features",
        Role.QUASI_IDENTIFYING,
        "height weight bodyweight eyecolor eyecolour haircolor haircolour disability disabled handicap grosse "
        "gewicht taille poids altura peso",
    ),
    _meaning(
        "family or household",
        Role.QUASI_IDENTIFYING,
        "relationship household householder family children child kids dependents dependants parents parent "
        "siblings wife husband mother father haushalt haushaltsgrosse kinder famille enfants menage familia "
        "hijos hogar",
    ),
)

SURVEY_WEIGHT = next(meaning for meaning in MEANINGS if meaning.what == "a survey weight")
OUTCOME = next(meaning for meaning in MEANINGS if meaning.what == "the outcome to be studied")

MEASURE_WORDS = _words("number num count since years months days hours anzahl nombre numero")
ID_WORDS = _words("id ids uid uuid guid identifier")
PERSON_WORDS = _words("patient person client customer member subject participant employee student user case insured")
NUMBER_WORDS = _words("id ids key uid uuid guid identifier identification number no nr num nummer numero record row")
CODE_WORDS = _words("code codes recode type kind category cat group class status method typ art kategorie")
POSTCODE_WORDS = _words("zip zipcode postcode postalcode plz postleitzahl codepostal codigopostal")


def header_words(header: str) -> tuple[str, ...]:
    """Return the words of a header, lower case and without accents: ``"Marital-Status"`` -> marital, status."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", header)
    plain = "".join(c for c in unicodedata.normalize("NFKD", spaced.replace("ß", "ss")) if not unicodedata.combining(c))
    return tuple(re.findall(r"[a-z]+|[0-9]+", plain.lower()))


def header_phrases(header: str) -> frozenset[str]:
    """Return the words of a header and its runs of up to four words written as one."""
    words = header_words(header)
    runs = ("".join(words[i : i + size]) for size in range(1, 5) for i in range(len(words) - size + 1))
    return frozenset(runs)


def meanings_of(header: str) -> list[Meaning]:
    """Return what a header may be about: a match of the whole header first, then in the order of ``MEANINGS``.

    A word for the outcome counts only when the header says nothing else: ``class``, but not ``class-of-worker``.
    """
    words, phrases = header_words(header), header_phrases(header)
    if "weight" in phrases and phrases & {"instance", "sample", "sampling", "survey", "final", "person", "design"}:
        return [SURVEY_WEIGHT]
    whole = "".join(words)
    meanings = [meaning for meaning in MEANINGS if meaning.words & phrases]
    if not set(words) <= OUTCOME.words:
        meanings = [meaning for meaning in meanings if meaning is not OUTCOME]
    return sorted(meanings, key=lambda meaning: whole not in meaning.words)


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
    """Return True for a telephone number as people write it: 7 to 15 digits with a plus, leading zero or separators."""
    digits = re.sub(r"[^0-9]", "", text)
    if not 7 <= len(digits) <= 15 or not re.fullmatch(r"\+?[0-9 ()./-]+", text):
        return False
    if re.fullmatch(r"[0-9]{1,4}[-/. ][0-9]{1,2}[-/. ][0-9]{1,4}|(19|20)[0-9]{2}[-/ ](19|20)[0-9]{2}", text):
        return False  # a date, or two years
    grouped = bool(re.search(r"[0-9][ )/-][ (]?[0-9]", text))
    return text.startswith("+") or grouped or (text.startswith("0") and len(digits) >= 9)


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
    return _sorted_by([_band(level) for level in levels], levels)


def _sorted_by(places: Sequence[tuple[float, float] | None], levels: Sequence[str]) -> tuple[str, ...] | None:
    """Return the levels by their places; ``None`` unless every level has a place of its own."""
    ranks = [place for place in places if place is not None]
    if len(set(ranks)) != len(levels):
        return None
    return tuple(level for _, level in sorted(zip(ranks, levels, strict=True)))


def _band(level: str) -> tuple[float, float] | None:
    """Return the ends of a band such as ``18-25``, ``<=30``, ``>65`` or ``80+``."""
    number = r"([0-9]+(?:\.[0-9]+)?)"
    text = level.replace(" ", "").replace("–", "-")
    if match := re.fullmatch(rf"{number}-{number}", text):
        return (float(match[1]), float(match[2])) if float(match[1]) < float(match[2]) else None
    if match := re.fullmatch(rf"(<=|≤|<){number}", text):
        return (float("-inf"), float(match[2]))
    if match := re.fullmatch(rf"(>=|≥|>){number}", text) or re.fullmatch(rf"(){number}\+", text):
        return (float(match[2]), float("inf"))
    return None
