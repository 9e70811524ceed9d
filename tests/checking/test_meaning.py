"""What l, entropy l and homogeneity count: what values mean, not how they are written, nor that there is none."""

from math import exp, log

import numpy as np
import pandas as pd
import pytest

import anonymizer as an
from anonymizer.checking.verify import verify
from anonymizer.schema import Schema

HIV = ["HIV", "hiv", "H.I.V.", " hiv", "h i v", "\uff28\uff29\uff36", "HIV\u200b", "h\u00a0iv"]
MEANS = dict.fromkeys(HIV, "hiv") | {"flu": "flu", "Flu ": "flu", "gout": "gout", None: None, "none": "none"}


def patients(seed: int = 0, n: int = 600, missing: float = 0.0, harmless: float = 0.0) -> tuple[pd.DataFrame, Schema]:
    """Patients of whom the young mostly have one illness, in eight spellings."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.integers(18, 90, n), "sex": rng.choice(list("fm"), n)})
    ill = np.where(table.age < 40, rng.choice(HIV, n), rng.choice(["flu", "Flu ", "gout"], n)).astype(object)
    ill[rng.random(n) < 0.05] = "gout"
    ill[rng.random(n) < harmless] = "none"
    ill[rng.random(n) < missing] = None
    table["ill"] = ill
    return table, Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["ill"])


def meanings_of_classes(result: an.Result, silent: tuple[str | None, ...] = (None,)) -> list[list[str]]:
    """What the rows of each released class mean, but for what nobody learns anything from."""
    classes: dict[tuple[str, ...], list[str]] = {}
    for row in result.release.frame()[["age", "sex", "ill"]].astype(object).to_numpy():
        means = MEANS[None if pd.isna(row[2]) else row[2]]
        classes.setdefault((str(row[0]), str(row[1])), []).extend(() if means in silent else (means,))
    return [one for one in classes.values() if one]


def effective(values: list[str]) -> float:
    shares = [values.count(value) / len(values) for value in set(values)]
    return exp(-sum(share * log(share) for share in shares))


@pytest.mark.parametrize("limits", [{"l": 2}, {"entropy_l": 1.4}])
@pytest.mark.parametrize("generalizer", ["uniform", "refine", "pack", "polish"])
@pytest.mark.parametrize("grouping", ["least", "error-risk", "median-mondrian"])
@pytest.mark.parametrize(("missing", "harmless"), [(0.0, 0.0), (0.2, 0.0), (0.1, 0.3)])
@pytest.mark.sweep(6)
def test_limits__count_what_values_mean(
    missing: float, harmless: float, grouping: str, generalizer: str, limits: dict[str, float]
) -> None:
    table, schema = patients(1, 600, missing, harmless)
    schema = schema.with_column("ill", harmless=("None",)) if harmless else schema
    result = an.anonymize(table, schema, k=5, grouping=grouping, generalizer=generalizer, **limits)
    classes = meanings_of_classes(result, (None, "none"))
    assert len(classes) > 1
    assert min(len(set(one)) for one in classes) >= limits.get("l", 1)
    assert min(map(effective, classes)) >= limits.get("entropy_l", 1) - 1e-9
    assert result.verification.passed
    assert result.verification["distinct l-diversity of ill"].achieved == min(len(set(one)) for one in classes)
    assert result.verification["entropy l-diversity of ill"].achieved == pytest.approx(min(map(effective, classes)))
    assert any("count as one: " in note and "'HIV'" in note for note in result.encoded.notes)


@pytest.mark.parametrize(
    ("values", "distinct", "alike"),
    [
        (["HIV", "hiv", "H.I.V."], 1, 3),
        (["caf\u00e9", "cafe\u0301", "caf\u00e9"], 1, 3),
        (["a  b", "a b", "A b "], 1, 3),
        (["HIV", None, None], 1, 0),
        ([None, None, None], None, 0),
        (["HIV", "no event", None], 1, 0),
        (["no event"] * 3, None, 0),
        (["A+", "A-", "A"], 3, 0),
    ],
)
def test_classes__have_as_many_values_as_their_rows_mean(
    values: list[str | None], distinct: int | None, alike: int
) -> None:
    released = pd.DataFrame({"age": ["[20, 30]"] * 3, "ill": pd.Series(values, dtype=object)})
    schema = Schema.of(released, quasi_identifying=["age"], sensitive=["ill"], kinds={"age": "numeric"})
    checked = verify(released, schema.with_column("ill", harmless=("No event",)), k=2, l=2)
    check = checked["distinct l-diversity of ill"]
    assert check.achieved == distinct
    assert check.passed is (distinct is None or distinct >= 2)
    assert checked["homogeneity of ill"].achieved == alike


def test_schema__keeps_what_is_harmless() -> None:
    _, schema = patients()
    schema = schema.with_column("ill", harmless=["gout", "none"])
    assert schema["ill"].harmless == ("gout", "none")
    assert Schema.from_json(schema.to_json()) == schema
