"""Suggestions on made-up tables with the columns of fifty public ones: a floor under what was reached."""

import pandas as pd

from anonymizer.reading.patterns import MEANINGS
from anonymizer.reading.profile import suggest
from anonymizer.schema import Role
from benchmarks._codebooks import set_aside
from benchmarks.suggestions import answers, part


def test_suggestions__are_mostly_right_on_tables_set_aside() -> None:
    aside = set_aside("codebooks")
    rows = [row for row in answers("codebooks") if row.table in aside]
    assert len({row.table for row in rows}) == 14
    assert part(row.role in row.label.roles for row in rows) >= 0.88
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
