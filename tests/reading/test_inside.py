"""What reaches a person inside a text: right numbers of each kind are seen in a note, wrong ones and labels are not."""

import numpy as np
import pytest

from anonymizer.reading.inside import NATIONAL, inside

NUMBERS = [
    "AB 12 34 56 C", "AB123456C", "943 476 5919", "9434765919", "86095742719", "65929970489", "15070649C103",
    "2 55 08 14 168 025 38", "255081416802538", "RSSMRA85T10A562S", "12345678Z", "X1234567L", "811228-9874",
    "19811228-9874", "211062-5629", "15108695088", "131052-308T", "44051401359", "111222333", "85.07.30-033.28",
    "756.9217.0769.85", "1237 010180", "710319/2745", "1630615123457", "36805280109", "33392005961", "17291716060",
    "6433435F", "390.533.447-05", "39053344705", "2341 2341 2346", "ACUPA7085R", "123-456-782", "7503305044089",
    "360426199101010071", "BOXW310820HNERXN09", "12.531.909-2", "20-05536168-2", "S1234567D",
]  # fmt: skip
"""Numbers in the examples of those who give them."""

OTHERS = {
    "e-mail addresses": ["jane@example.org", "anna (at) x dot org", "anna.meyer [at] mail [dot] example.com",
                         "anna at example dot org", "a_b(at)x.de", "jo {at} firm.co.uk"],
    "IBAN account numbers": ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "FR1420041010050500013M02606"],
    "payment card numbers": ["4111 1111 1111 1111", "5500005555555559", "3714 496353 98431"],
    "telephone numbers": ["+49 30 1234567", "030 12345678", "(030) 1234 5678", "555-234-1234", "(212) 555-0123",
                          "07911 123456", "0049 30 1234567"],
    "web addresses": ["https://example.org/u/17", "www.example.org/anna"],
    "internet addresses": ["192.168.10.4", "2001:db8::8a2e:370:7334", "fe80::1ff:fe23:4567:890a"],
    "addresses of devices": ["00:1B:44:11:3A:B7", "00-1b-44-11-3a-b7"],
    "social security numbers": ["078-05-1120", "219-09-9999"],
    "names of people": ["Mrs. Anna Meyer", "Herr Schmidt", "Dr. Okafor", "Mme Dubois", "her mother Lena Vogel"],
}  # fmt: skip


CASES = [(NATIONAL, n) for n in NUMBERS] + [(what, text) for what, texts in OTHERS.items() for text in texts]


@pytest.mark.parametrize(("what", "text"), CASES)
def test_right_one__is_seen_inside_a_note(what: str, text: str) -> None:
    notes = ["was here again today", f"please call {text} back soon", "none", f"{text}, as the file says"]
    assert inside(notes)[what].tolist() == [1, 3]


LABELS = [
    "12-34 days", "2023-05-17", "17.05.2023 10:30", "1,234.50", "version 1.2.3.4", "0.5 mg twice", "A-12", "18 to 25",
    "Married-civ-spouse", "Other Service", "Mother Tongue English", "With Parents", "I10.9", "250.83", "ratio 3:2:1",
    "10:30:00", "1999-2004", "code 12345", "call center support", "at home", "dot matrix printer", "Mr", "n/a", "80331",
    "see page 12/34", "C18.7 and C20", "5 at 8 mg", "more than 50 000", "Male patient", "patient stable",
]  # fmt: skip


def test_labels_and_plain_notes__hold_nothing() -> None:
    assert inside(LABELS) == {}
    assert inside([]) == {}


@pytest.mark.parametrize("number", [n for n in NUMBERS if any(c.isdigit() for c in n) and n.replace(" ", "").isdigit()])
def test_wrong_check_digit__is_no_number_of_a_person(number: str) -> None:
    """Of the ten last digits that a number can have, those pass that some country's rule allows: at most half."""
    plain = number.replace(" ", "")
    passed = [d for d in range(10) if inside([f"the order {plain[:-1]}{d} was sent"]).get(NATIONAL) is not None]
    assert int(plain[-1]) in passed
    assert len(passed) <= 7


def test_columns_of_codes__do_not_pass_by_chance() -> None:
    rng = np.random.default_rng(3)
    for digits in range(5, 14):
        codes = [str(code) for code in rng.integers(10 ** (digits - 1), 10**digits, 400)]
        assert inside(codes) == {}


def test_column_of_right_numbers__is_seen_without_words() -> None:
    weights = np.arange(10, 1, -1)
    rows = []
    for first in np.random.default_rng(4).integers(0, 10, (300, 9)):
        check = -int(first @ weights) % 11
        rows += ["".join(map(str, [*first, check]))] if check < 10 else []
    assert len(inside(rows)[NATIONAL]) == len(rows)
