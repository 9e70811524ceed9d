"""Kinds of tables and releases in a ledger: what is counted, against the released rows of each true person."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import anonymizer as an
from anonymizer.flow import Flow
from anonymizer.ledger.cells import ALONE_FAILS
from anonymizer.ledger.ledger import Ledger
from anonymizer.settings import Settings
from tests.ledger.test_ledger import KEY
from tests.partitions.tables import visits
from tests.partitions.test_ledger import in_memory
from tests.releasing.test_hierarchies import BOTH as HIERARCHIES
from tests.releasing.test_hierarchies import people as with_hierarchies

QI = ["age", "sex", "postcode"]
PEOPLE = an.SAMPLES["hospital"].load().head(300)[[*QI, "diagnosis"]].assign(patient=[f"p{n:03}" for n in range(300)])
SCHEMA = an.Schema.of(PEOPLE, quasi_identifying=QI, sensitive=["diagnosis"], person="patient")
RECORDS = PEOPLE.drop(columns="patient")
OF_RECORDS = an.Schema.of(RECORDS, quasi_identifying=QI, sensitive=["diagnosis"])
VISITS = visits(300, 5)
OF_VISITS = an.Schema.of(VISITS, quasi_identifying=["age", "job", "town"], sensitive=["diagnosis"], person="patient")

IN_GROUPS = with_hierarchies(3, 300).assign(patient=[f"p{number:03}" for number in range(300)])
OF_GROUPS = an.Schema.of(IN_GROUPS, quasi_identifying=["age", "job"], sensitive=["ill"], person="patient")
for name, cuts in HIERARCHIES.items():
    OF_GROUPS = OF_GROUPS.with_column(name, cuts=cuts)

KINDS: dict[str, tuple[pd.DataFrame, an.Schema, dict[str, Any]]] = {
    "suppressed rows": (RECORDS, OF_RECORDS, {"generalizer": "pack", "suppression": 0.1}),
    "public ends": (PEOPLE, SCHEMA, {"generalizer": "pack", "numbers": "public"}),
    "ends of their own": (PEOPLE, SCHEMA, {"generalizer": "refine", "numbers": "range"}),
    "named sets": (PEOPLE, SCHEMA, {"generalizer": "uniform", "sets": "named"}),
    "several rows": (VISITS, OF_VISITS, {"generalizer": "pack"}),
    "hierarchies": (IN_GROUPS, OF_GROUPS, {"generalizer": "pack"}),
    "strict tiers": (PEOPLE, SCHEMA, {"generalizer": "tiered-strict"}),
    "tiers": (PEOPLE, SCHEMA, {"generalizer": "tiered"}),
}


def rows_of(flow: Flow) -> dict[int, tuple[str, ...]]:
    """The released quasi-identifying cells of each row of the table that is in a release."""
    cells = flow.leaving.frame()[list(flow.schema.quasi_identifying)].astype(str)
    return dict(zip(flow.leaving.order.tolist(), map(tuple, cells.to_numpy().tolist()), strict=True))


def below(releases: list[Mapping[int, tuple[str, ...]]], whose: list[Any], k: int) -> tuple[int, int]:
    """How many persons are in cells of fewer than k, by what each of their rows looks like in all releases, and how
    many are in one at all."""
    people, everybody = defaultdict(set), set[Any]()
    for row, person in enumerate(whose):
        cell = tuple(one.get(row) for one in releases)
        if person is not None and any(part is not None for part in cell):
            people[cell].add(person)
            everybody.add(person)
    few = {person for own in people.values() if len(own) < k for person in own}
    return len(few), len(everybody)


@pytest.mark.parametrize("kind", KINDS)
def test_cells__are_those_of_the_released_rows(tmp_path: Path, kind: str) -> None:
    table, schema, how = KINDS[kind]
    ledger = Ledger.new(tmp_path / "register", KEY)
    whose = [None if pd.isna(one) else one for one in table.get("patient", pd.Series(table.index))]
    first = in_memory(ledger, table, schema, k=4, grouping="least", **how)
    settings = Settings(**{**how, "k": 5, "grouping": "error-risk", "generalizer": "pack"})
    second = Flow(table, schema, settings, earlier=ledger.earlier, key=ledger.key)
    few, everybody = below([rows_of(first), rows_of(second)], whose, 5)
    (finding,) = (one for one in second.gate.findings if one.key.startswith("together: ") and " below " in one.key)
    assert finding.key.startswith(f"together: {few} of {everybody} below 5 ")
    assert (ALONE_FAILS.partition("{which}")[2] in finding.detail) == (kind == "tiers")
    assert ledger.read().releases[0].composes == (kind != "tiers")
    assert Counter(ledger.entries[1]["settings"])["suppression_weight"] == (1 if "suppression" in how else 0)
