"""Ids of one person and words of one meaning, however they are written."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.alike import id_key, meaning, nobodies, persons_of_values
from anonymizer.schema import Column, Kind, Role

ONE_PERSON = [
    ("ab12", ["AB12", "Ab 12", " ab12 ", "ab\u00a012", "a\u200bb12", "ab-12", "AB.12", "ab_012", "\uff41\uff4212"]),
    ("12", ["012", "0012", 12, 12.0, "12.0", "12,0", "12 ", "1-2", "\uff11\uff12", "١٢", "\u206012"]),
    ("josé", ["JOSÉ", "jose\u0301", "José ", "jose"]),
    ("123456789", ["123-45-6789", "123.456.789", "123\u201345\u20136789", "123 456 789"]),
]


@pytest.mark.parametrize(("text", "others"), ONE_PERSON)
def test_ids_of_one_person__have_one_key(text: str, others: list[object]) -> None:
    assert {id_key(other) for other in others} == {id_key(text)}


def test_ids_of_other_persons__have_other_keys() -> None:
    ids = ["ab1", "ab2", "abc1", "1", "10", "100", "-", "?", "-1", "0", "жук", "жуки", "12.5", "p1", "1p"]
    assert len({id_key(one) for one in ids}) == len(ids)


@pytest.mark.parametrize(
    "texts",
    [
        ["HIV", "hiv", "Hiv", "H.I.V.", " HIV", "HIV ", "\uff28\uff29\uff36", "h-i-v", "H I V"],
        ["heart  attack", "Heart attack", "heart\u00a0attack", "heart-attack"],
        ["caf\u00e9", "cafe\u0301", "CAFÉ", "cafe"],
        ["COVID-19", "covid 19", "Covid19"],
    ],
)
def test_words__are_one_where_they_mean_one(texts: list[str]) -> None:
    assert len({meaning(text) for text in texts}) == 1


def test_words__are_several_where_signs_mean_something() -> None:
    texts = [
        "A+",
        "A-",
        "A",
        "AB",
        "1.5",
        "15",
        "1 5",
        "-1",
        "1",
        "10-19",
        "1019",
        "<5",
        ">5",
        "5",
        "C",
        "C++",
        "-",
        ".",
    ]
    assert len({meaning(text) for text in texts}) == len(texts)


@pytest.mark.parametrize("text", ["unknown", "Unknown ", "n/a", "N.A.", "TBA", "-", "--", "?", "none", "unbekannt"])
def test_words_for_nobody__are_seen(text: str) -> None:
    assert nobodies(["p1", text, "p2"], np.array([3, 1, 2])) == (text.strip(),)


@pytest.mark.parametrize("text", ["999", 999, "9999", "0", 0, "000", -1, "123456", 999.0])
def test_numbers_for_nobody__are_seen_where_they_have_many_rows(text: object) -> None:
    ids = [*range(1001, 1031), text]
    assert len(nobodies(ids, np.array([3] * 30 + [60]))) == 1
    assert nobodies(ids, np.array([3] * 30 + [4])) == ()


def test_persons__are_numbered_as_the_column_says() -> None:
    values = pd.Series(["p1", "P-01", None, "unknown", "p2", "Unknown", "p1"])
    column = Column("who", Role.PERSON, Kind.CATEGORICAL)

    def numbers(**changes: object) -> list[int]:
        return persons_of_values(values, Column("who", Role.PERSON, Kind.CATEGORICAL, **changes)).tolist()

    assert persons_of_values(values, column).tolist() == pd.factorize(values)[0].tolist()
    assert numbers(alike=True) == [0, 0, -1, 1, 2, 1, 0]
    assert numbers(nobody=("unknown",)) == [0, 1, -1, -1, 2, -1, 0]
    assert numbers(alike=True, nobody=("UNKNOWN",)) == [0, 0, -1, -1, 1, -1, 0]
