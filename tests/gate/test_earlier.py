"""Releases of one table that are counted together, in Python."""

import numpy as np
import pytest

import anonymizer as an
from anonymizer.checking.together import together
from anonymizer.errors import ParameterError
from anonymizer.gate.finding import Severity
from anonymizer.pipeline import Result
from tests.releasing.test_secret import SAMPLE, schema_of

HOW = {"k": 10, "generalizer": "pack"}


def classes(result: Result) -> np.ndarray:
    """The class of each row, by the texts of its released cells."""
    class_of = np.full(len(SAMPLE), -1)
    cells = result.release.frame()[list(result.schema.quasi_identifying)].astype(str).agg("|".join, axis=1)
    class_of[result.release.order] = cells.factorize()[0]
    return class_of


def test_earlier_release__is_counted_with_the_new_one() -> None:
    schema = schema_of(SAMPLE)
    first = an.anonymize(SAMPLE, schema, **HOW)
    other = an.anonymize(SAMPLE, schema, **(HOW | {"k": 12}), earlier=[first])
    both = together([classes(first), classes(other)], 12)
    (finding,) = (one for one in other.gate.findings if one.key.startswith("together: "))
    assert finding.severity is Severity.STOPS
    assert both.below > len(SAMPLE) / 4
    assert finding.sentence == f"With the release made before, {both.sentence}"
    assert finding.sentence.startswith(f"With the release made before, {both.below:,} of {len(SAMPLE):,} people are in")
    assert f"fewer than 12, {both.alone:,} of them alone." in finding.sentence
    with pytest.raises(an.GuaranteeError):
        other.release.to_bytes("csv")
    told = an.anonymize(
        SAMPLE, schema, **(HOW | {"k": 12}), earlier=[first],
        reasons={one.key: "both go to one office" for one in other.gate.findings},
    )  # fmt: skip
    assert told.release.to_bytes("csv")


def test_the_same_release_again__stops_nothing() -> None:
    schema = schema_of(SAMPLE)
    first = an.anonymize(SAMPLE, schema, **HOW)
    again = an.anonymize(SAMPLE, schema, **HOW, earlier=[first, first])
    (finding,) = (one for one in again.gate.findings if one.key.startswith("together: "))
    assert finding.severity is Severity.FINE
    assert "everybody is still in a group of at least" in finding.sentence
    assert "the 2 releases made before" in finding.sentence


def test_earlier_release__promised_the_larger_k() -> None:
    schema = schema_of(SAMPLE)
    first = an.anonymize(SAMPLE, schema, **(HOW | {"k": 30}))
    other = an.anonymize(SAMPLE, schema, **HOW, earlier=[first])
    assert any("fewer than 30" in one.sentence for one in other.gate.open)


def test_earlier_release__of_a_larger_table_is_refused() -> None:
    schema = schema_of(SAMPLE)
    first = an.anonymize(SAMPLE, schema, **HOW)
    with pytest.raises(ParameterError, match="another table"):
        an.anonymize(SAMPLE.head(300), schema_of(SAMPLE.head(300)), **HOW, earlier=[first])
