"""The highest risk of a row is above a limit if and only if some row is counted above it, wherever either is said."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.checking.linkage import linkage_risk
from anonymizer.checking.verify import verify
from anonymizer.gate.who import risks
from anonymizer.reporting.annex import _risks
from anonymizer.reporting.document import Figure, Table
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.values import share
from anonymizer.whatif.frontier import POLICIES
from tests import naive_verify as naive
from tests.sweeps import few

ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(-1, 5)), min_size=1, max_size=40)


def policies_of(after: Any) -> list[tuple[Any, ...]]:
    """The rows of the report's table of thresholds."""
    section = _risks(SimpleNamespace(before=after, after=after))  # type: ignore[arg-type]
    _, thresholds = (block for block in section.blocks if isinstance(block, Table))
    return list(thresholds.rows)


@settings(max_examples=few(300))
@given(ROWS, st.booleans(), st.integers(1, 25), st.integers(1, 6))
def test_above_a_limit__if_and_only_if_somebody_is_counted(
    rows: list[tuple[str, str, int]], by_person: bool, accepts: int, k: int
) -> None:
    table = pd.DataFrame(rows, columns=["town", "sex", "who"])
    table["who"] = [None if who < 0 else f"p{who}" for who in table.who] if by_person else np.arange(len(table))
    names = ["town", "sex"]
    of_rows = naive.row_risks(table, names, "who")
    schema = Schema.of(table, quasi_identifying=names, **{"person" if by_person else "identifying": "who"})
    person = pd.factorize(table.who)[0] if by_person else None
    after = linkage_risk(table, names, person=person)

    checked = verify(table[names], schema, k=k, original=table, order=np.arange(len(table)))
    finding = {one.key: one for one in risks(schema, Settings(k=k, prosecutor_limit=accepts), checked)}.get("risk")
    counted = sum(risk > 1 / accepts * (1 + 1e-9) for risk in of_rows)
    assert (finding is not None) == (counted > 0) == (after.share_above(1 / accepts) > 0)
    assert finding is None or finding.figure == share(float(max(of_rows)))

    for policy, (_, _, above, verdict, _) in zip(POLICIES, policies_of(after), strict=True):
        counted = sum(risk > policy.risk * (1 + 1e-9) for risk in of_rows)
        assert isinstance(above, Figure)
        assert above.text == share(counted / len(table))
        assert (verdict == "not kept") == (above.text != "0%") == (max(of_rows) > policy.risk * (1 + 1e-9))
