"""Every hostile file gives one clear message or a correct release: never anything else."""

import io
from typing import Any

import pandas as pd
import pytest

import anonymizer as an
from anonymizer.flow import Flow
from anonymizer.reading.files import read_table
from anonymizer.settings import Settings
from tests.hostile.make import EITHER, FILES, REFUSED, TABLES


def outcome(name: str) -> an.Reading | an.ReadError:
    """What reading the file gives; any other exception fails the test."""
    called, data = FILES[name]
    try:
        return read_table(data, name=called)
    except an.ReadError as error:
        return error


def try_anonymize(*args: Any, **options: Any) -> an.Result | an.AnonymizerError:
    """What anonymizing gives; any other exception fails the test."""
    try:
        return an.anonymize(*args, **options)
    except an.AnonymizerError as error:
        return error


def usable(schema: an.Schema) -> an.Schema:
    """The suggested schema, with at least one quasi-identifier."""
    if schema.quasi_identifying:
        return schema
    return schema.with_column(schema.columns[0].name, role=an.Role.QUASI_IDENTIFYING)


def test_files__are_forty_or_more_and_belong_to_one_group() -> None:
    assert len(FILES) == len(TABLES) + len(REFUSED) + len(EITHER) >= 40


@pytest.mark.parametrize("name", list(REFUSED))
def test_refused__with_one_clear_message(name: str) -> None:
    error = outcome(name)
    assert isinstance(error, an.ReadError)
    assert error.problem.endswith(".")
    assert error.remedy.endswith(".")
    assert "Traceback" not in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("name", [*TABLES, *EITHER])
def test_read__has_facts_and_suggestions(name: str) -> None:
    reading = outcome(name)
    if name in EITHER and isinstance(reading, an.ReadError):
        assert reading.remedy
        return
    assert isinstance(reading, an.Reading), reading
    frame = reading.frame
    assert frame.columns.is_unique
    assert all(isinstance(label, str) and label.strip() == label and label for label in frame.columns)
    assert all(problem.text.endswith(".") and problem.level in ("info", "warning") for problem in reading.problems)
    schema = an.suggest(frame)
    assert [column.name for column in schema.columns] == list(frame.columns)
    assert all(column.reason for column in schema.columns)


@pytest.mark.sweep(7)
@pytest.mark.parametrize("generalizer", ["uniform", "tiered-strict"])
@pytest.mark.parametrize("name", [*TABLES, *EITHER])
def test_anonymize__a_message_or_a_verified_release(name: str, generalizer: str) -> None:
    reading = outcome(name)
    if isinstance(reading, an.ReadError):
        assert name in EITHER
        return
    frame, schema = reading.frame, usable(an.suggest(reading.frame))
    k = min(3, len(frame))
    reasons = {} if name in UNMEASURABLE else reasons_for(frame, schema, k, generalizer)
    result = try_anonymize(frame, schema, k=k, generalizer=generalizer, reasons=reasons)
    if name in UNMEASURABLE:
        assert isinstance(result, an.AnonymizerError)
        assert result.problem
        assert result.remedy
        return
    assert not isinstance(result, an.AnonymizerError), result
    back = an.read_release(io.BytesIO(result.release.to_bytes("csv")))
    assert len(back) == len(frame)
    checks = an.verify(back, schema, k=k, original=frame, order=result.release.order)
    assert checks.passed, [check.sentence for check in checks.checks if not check.passed]
    assert result.verification.passed


def reasons_for(frame: pd.DataFrame, schema: an.Schema, k: int, generalizer: str) -> dict[str, str]:
    """The reasons for those findings that this release has."""
    judgement = Flow(frame, schema, Settings(k=k, generalizer=generalizer)).judgement
    return {finding.key: REASONS[finding.key] for finding in judgement.findings if finding.key in REASONS}


REASONS = {
    "holds web addresses: town": "a formula with a made-up address",
    "minimality": "a table of a few made-up rows",
}
"""Why tables may be released although the gate stops them."""

UNMEASURABLE = {"infinities", "1e308"}
"""Tables whose numbers cannot be measured: a message is right there, and only there."""


def test_values__come_through_as_they_are() -> None:
    for name, expected in (("formula cells", "=1+1"), ("html in values", "<b>bold</b>"), ("emoji", "👩‍👩‍👧‍👦")):
        reading = outcome(name)
        assert isinstance(reading, an.Reading)
        values: Any = reading.frame.iloc[:, 2].astype(str)
        assert (values == expected).any()
