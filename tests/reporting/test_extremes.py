"""With round ends neither the data dictionary nor a report holds an extreme of the original."""

import json

import numpy as np
import pandas as pd
import pytest

from anonymizer.pipeline import Result, anonymize
from anonymizer.reporting.dossier import AUDIENCES, document_of
from anonymizer.reporting.findings import findings_of
from anonymizer.reporting.html import to_html
from anonymizer.schema import Schema

LOWEST, HIGHEST = 1234567.5, 98765432.25
FIRST, LAST = "1911-11-13", "2093-07-29"
CANARIES = ("1234567", "1,234,567", "98765432", "98,765,432", FIRST, LAST)


def result_of(numbers: str) -> tuple[pd.DataFrame, Result]:
    """A release of a table with one lowest and one highest number and date."""
    rng = np.random.default_rng(3)
    pay = np.round(rng.normal(5e7, 3e6, 200), 2)
    born = pd.Series(pd.Timestamp("1970-01-01") + pd.to_timedelta(rng.integers(0, 9_000, 200), "D"))
    pay[[7, 90]], born[7], born[90] = (LOWEST, HIGHEST), pd.Timestamp(FIRST), pd.Timestamp(LAST)
    table = pd.DataFrame({"pay": pay, "born": born, "ill": rng.choice(["a cold", "a cough"], 200)})
    schema = Schema.of(table, quasi_identifying=["pay", "born"], sensitive=["ill"])
    return table, anonymize(table, schema, k=5, numbers=numbers)


def texts_of(table: pd.DataFrame, result: Result) -> list[str]:
    """All that is written beside the release, and the release."""
    findings = findings_of(result.report, table, result.release.frame())
    return [
        json.dumps(result.release.dictionary()), result.report.to_json(), result.report.to_recipient_json(),
        *(to_html(document_of(findings, audience=audience)) for audience in AUDIENCES),
        result.release.to_bytes("csv").decode(),
    ]  # fmt: skip


@pytest.mark.parametrize("numbers", ["public", "mean", "median"])
def test_extremes__stand_nowhere(numbers: str) -> None:
    for text in texts_of(*result_of(numbers)):
        assert not [canary for canary in CANARIES if canary in text]


def test_extremes__stand_in_ranges() -> None:
    dictionary, *_, release = texts_of(*result_of("range"))
    for text in (dictionary, release):
        assert all(canary in text for canary in ("1234567.5", "98765432.25", FIRST, LAST))
