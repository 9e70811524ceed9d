"""Suggestions on made-up tables with the columns of fifty public ones: a floor under what was reached."""

import pandas as pd
import pytest

from anonymizer.reading.patterns import MEANINGS
from anonymizer.reading.profile import suggest
from anonymizer.schema import Role
from benchmarks._codebooks import set_aside
from benchmarks.suggestions import answers, part, role_figures


@pytest.mark.parametrize(("file", "tables"), [("codebooks", 14), ("codebooks_later", 9)])
def test_suggestions__are_mostly_right_on_tables_set_aside(file: str, tables: int) -> None:
    aside = set_aside(file)
    rows = [row for row in answers(file) if row.table in aside]
    assert len({row.table for row in rows}) == tables
    assert part(row.role in row.label.roles for row in rows) >= 0.88
    assert role_figures(rows)["s"][0] >= 0.93, "sensitive is no bin for all that is not understood"
    assert part(row.kind in row.label.kinds for row in rows) >= 0.96
    assert [row.label.name for row in rows if row.role == "n" and "n" not in row.label.roles] == []


def test_topics__are_well_formed() -> None:
    assert {meaning.circle for meaning in MEANINGS} == {"nobody", "anybody", "near", "work", "registers", "confidence"}
    assert all(meaning.words for meaning in MEANINGS)
    assert all(len(stem) >= 3 for meaning in MEANINGS for stem in meaning.stems)


def test_what_came_of_a_stop_or_of_triage__is_sensitive() -> None:
    names = (
        "search_conducted", "searchBasis", "frisk_performed", "contraband_found", "citation_issued", "arrest_made",
        "stop_outcome", "PAINSCALE", "PULSE", "RFV1", "chief_complaint", "CHF", "MRI", "triage_level",
    )  # fmt: skip
    for name in names:
        column = suggest(pd.DataFrame({"age": range(40), name: [1, 2, 3, 4] * 10})).columns[1]
        assert column.role is Role.SENSITIVE, (name, column.reason)
    for name in ("researcher", "job_search", "pulsar", "painter"):
        assert suggest(pd.DataFrame({"age": range(40), name: [1, 2, 3, 4] * 10})).columns[1].role is not Role.SENSITIVE
