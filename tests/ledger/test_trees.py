"""Published trees in a ledger: what they leave of values with releases, against sets of Python, and their entries."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.checking.cell_limits import Promise
from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.multiway import grow_multiway
from anonymizer.disclosure.outline import keys_of, lay_keys
from anonymizer.errors import GuaranteeError, ReadError
from anonymizer.flow import Flow
from anonymizer.gate.finding import Finding, Severity
from anonymizer.growing.encode import encode
from anonymizer.ledger.chain import Chain, entry_hash
from anonymizer.ledger.drafts import TreeDraft
from anonymizer.ledger.ledger import Ledger, merge_ledgers
from anonymizer.ledger.trees import Remainder, TreeLeaves, remainder_of
from anonymizer.pipeline import run_flow
from anonymizer.settings import Limits, Settings
from tests.sweeps import few

KEY = bytes(range(32))
ROWS = 7
CLASSES = st.lists(st.integers(-1, 2), min_size=ROWS, max_size=ROWS).map(np.array)
VALUES = st.lists(st.sampled_from(["flu", "gout", "none", None]), min_size=ROWS, max_size=ROWS)
UNITS = st.lists(st.integers(-1, 4), min_size=ROWS, max_size=ROWS).map(np.array)


@st.composite
def trees_of(draw: st.DrawFn) -> TreeLeaves:
    says = draw(st.dictionaries(st.integers(0, 2), st.sampled_from(["flu", "gout", "other", None]), max_size=2))
    elsewhere = frozenset(draw(st.sets(st.integers(0, 2))))
    return TreeLeaves("ill", draw(CLASSES), 3, draw(st.booleans()), says, 2, elsewhere)


def sets_of(values: list[str | None], one: np.ndarray | TreeLeaves) -> list[set[str | None] | None]:
    """The values that something published leaves of each row, ``None`` for all."""
    classes = one.leaf if isinstance(one, TreeLeaves) else one
    answer: list[set[str | None] | None] = []
    for own in classes.tolist():
        if own < 0 or (isinstance(one, TreeLeaves) and not one.rates):
            answer.append(None)
        elif isinstance(one, TreeLeaves) and own in one.says:
            answer.append({one.says[own]} if one.says[own] in values else None)
        elif isinstance(one, TreeLeaves) and own in one.elsewhere:
            answer.append(None)
        else:
            answer.append({value for value, other in zip(values, classes.tolist(), strict=True) if other == own})
    return answer


def left_of(values: list[str | None], published: Sequence[np.ndarray | TreeLeaves]) -> list[int]:
    """How many values all that is published leaves of each row."""
    every: set[str | None] = set(values)
    numbers = []
    for of_row in zip(*(sets_of(values, one) for one in published), strict=True) if published else [()] * ROWS:
        common = every.intersection(*(some for some in of_row if some is not None))
        numbers.append(len(common) or len(every))
    return numbers


@tried(max_examples=few(300), deadline=None)
@given(
    VALUES, UNITS, st.lists(CLASSES, max_size=2), st.lists(trees_of(), max_size=2), CLASSES | trees_of(),
    st.sampled_from([None, 2, 3]),
)  # fmt: skip
def test_remainder__is_what_sets_leave(values, unit, releases, trees, now, l) -> None:  # noqa: E741 - the name of the limit
    sensitive = an.Schema.of(pd.DataFrame({"ill": ["a"]}), quasi_identifying=[], sensitive=["ill"])
    promises = [] if l is None else [Promise.of(sensitive, Limits(l=l))]
    column = pd.Series(values, name="ill", dtype=object)
    remainder = remainder_of(column, unit, releases, trees, now, promises)
    before = [*releases, *trees]
    left, alone, after = (left_of(values, some) for some in (before, [now], [*before, now]))
    least = l or 2
    few_values = {
        who
        for row, who in enumerate(unit.tolist())
        if who >= 0 and after[row] < min(least, left[row]) and (l or after[row] < alone[row])
    }
    ones = [
        len({who for row, who in enumerate(unit.tolist()) if who >= 0 and some[row] == 1}) for some in (after, left)
    ]
    persons = len({who for who in unit.tolist() if who >= 0})
    assert remainder == Remainder("ill", persons, least, len(few_values), *ones, l is not None)


PEOPLE = pd.DataFrame(
    {
        "who": [f"p{n}" for n in range(8)],
        "age": [20, 20, 20, 20, 60, 60, 60, 60],
        "town": ["N", "S", "N", "S", "N", "S", "N", "S"],
        "ill": ["flu", "flu", "gout", "ache", "flu", "gout", "gout", "ache"],
    }
)  # fmt: skip
"""Some people, half of them young, half of them in the north."""


def schema_of(table: pd.DataFrame = PEOPLE, *names: str) -> an.Schema:
    return an.Schema.of(table, quasi_identifying=names or ["age", "town"], sensitive=["ill"], person="who")


def tree_of(
    table: pd.DataFrame, column: str, ledger: Ledger, *, rates: bool = True, name: str = "tree.json"
) -> TreeDraft:
    """A tree that asks one column."""
    schema = schema_of(table, column)
    encoded = encode(table, schema)
    keys = keys_of(encoded)
    tree = lay_keys(grow_multiway(keys, "gini", 2, 1), keys)
    return TreeDraft.of(table, schema, tree, Knowledge(rates), encoded.codes.matrix(), name, ledger.require_key())


def release_by_age(ledger: Ledger, table: pd.DataFrame = PEOPLE, **limits: int) -> None:
    schema = schema_of(table, "age")
    flow = Flow(table, schema, Settings(k=4, generalizer="pack", **limits), key=KEY)
    result = run_flow(flow)
    ledger.add(table, result.release, result.report, "y1.csv", "0" * 64)


def of_values(findings: Sequence[Finding]) -> list[tuple[Severity, str]]:
    return [(one.severity, one.figure) for one in findings if one.key.startswith("together: values")]


def test_tree__is_counted_with_a_release_and_stops_where_both_tell_more(tmp_path: Path) -> None:
    table = PEOPLE.assign(ill=["flu", "ache", "gout", "ache", "none", "none", "gout", "none"])
    ledger = Ledger.new(tmp_path / "register", KEY)
    release_by_age(ledger, table)
    draft = tree_of(table, "town", ledger)
    findings = ledger.tree_findings(draft)  # 20: flu, ache, gout; N: flu, gout, none; 60: none, gout; S: ache, none
    assert of_values(findings) == [(Severity.STOPS, "4 people")]
    (finding,) = findings
    assert (
        "With 1 earlier release, a tree and the groups leave 4 people one possible value of 'ill'" in finding.sentence
    )
    with pytest.raises(GuaranteeError, match="4 people one possible value"):
        ledger.enter_tree(draft, {})
    assert len(ledger.entries) == 2
    entry = ledger.enter_tree(draft, {finding.key: "all of one office"}, to="the press")
    assert (entry["kind"], entry["to"], entry["leaves"], entry["says"]) == ("tree", "the press", 2, {})
    assert ledger.account().sentences == ("1 published tree: a leaf says a value of 0 people.",)
    assert of_values(ledger.tree_findings(draft)) == [(Severity.FINE, "Values hold")]
    assert of_values(ledger.tree_findings(tree_of(table, "town", ledger, rates=False))) == [
        (Severity.FINE, "Values hold")
    ]


def test_release__is_counted_with_a_tree_that_came_before(tmp_path: Path) -> None:
    table = PEOPLE.assign(ill=["flu", "ache", "gout", "ache", "none", "none", "gout", "none"])
    ledger = Ledger.new(tmp_path / "register", KEY)
    ledger.enter_tree(tree_of(table, "town", ledger), {})
    (earlier,) = ledger.earlier
    flow = Flow(table, schema_of(table, "age"), Settings(k=4, generalizer="pack"), key=KEY, earlier=(earlier,))
    (finding,) = (one for one in flow.gate.findings if one.key.startswith("together: values"))
    assert (finding.severity, finding.figure) == (Severity.STOPS, "4 people")
    with pytest.raises(GuaranteeError, match="4 people one possible value"):
        release_by_age(ledger, table)
    older = table.assign(who=[f"q{n}" for n in range(8)])
    release_by_age(ledger, older)  # of other people


def test_promise__of_a_release_holds_for_a_tree_alone(tmp_path: Path) -> None:
    table = PEOPLE.assign(ill=["flu", "ache", "flu", "gout", "flu", "ache", "flu", "gout"])
    ledger = Ledger.new(tmp_path / "register", KEY)
    release_by_age(ledger, table, l=2)
    draft = tree_of(table, "town", ledger)
    assert draft.about["says"] == {"0": "flu"}
    assert of_values(ledger.tree_findings(draft)) == [(Severity.STOPS, "4 people")]
    open_ledger = Ledger.new(tmp_path / "open", KEY)
    release_by_age(open_ledger, table)
    (finding,) = open_ledger.tree_findings(draft)
    assert (finding.severity, finding.figure) == (Severity.LOOK, "4 more people")
    open_ledger.enter_tree(draft, {})
    assert open_ledger.account().sentences == ("1 published tree: a leaf says a value of 4 people.",)
    gone = table.iloc[1:].reset_index(drop=True)  # what a leaf says holds when somebody of it has left
    own = tree_of(gone, "age", open_ledger)
    assert ", 3 before." in open_ledger.tree_findings(own)[0].detail
    assert "they count as all" in open_ledger.tree_findings(own)[0].detail


def test_tree_of_nobody_who_is_known__is_said(tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    release_by_age(ledger)
    others = PEOPLE.assign(who=[f"q{n}" for n in range(8)])
    (finding,) = ledger.tree_findings(tree_of(others, "town", ledger))
    assert finding.sentence == "None of these people is in the ledger."
    nobodys = PEOPLE.drop(columns="who").assign(age=PEOPLE["age"] + 1)
    schema = an.Schema.of(nobodys, quasi_identifying=["town"], sensitive=["ill"])
    encoded = encode(nobodys, schema)
    keys = keys_of(encoded)
    tree = lay_keys(grow_multiway(keys, "gini", 2, 1), keys)
    draft = TreeDraft.of(nobodys, schema, tree, Knowledge(), encoded.codes.matrix(), "tree.json", KEY)
    (finding,) = ledger.tree_findings(draft)
    assert finding.is_open
    assert "Nothing says who is who" in finding.sentence


def test_entry__names_values_that_a_leaf_says_and_no_person(tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    draft = tree_of(PEOPLE, "town", ledger)
    ledger.enter_tree(draft, {})
    text = ledger.path.read_text("utf-8")
    assert not [one for one in PEOPLE["who"] if f'"{one}"' in text]
    (entry,) = ledger.entries[1:]
    assert set(entry["tree"]["files"]) == {"json", "rules", "pmml"}
    assert ledger.erase("p3") == 1
    assert ledger.faults() == ()
    merged = merge_ledgers(ledger, ledger, tmp_path / "both")
    assert [one["kind"] for one in merged.entries] == ["note", "tree", "note"]
    ledger.note("Asked back.", asked_back=2)


@pytest.mark.parametrize(
    ("name", "value"),
    [("leaves", 0), ("says", {"2": "flu"}), ("says", {"x": "flu"}), ("says", {"0": 1}), ("target", ""), ("knows", {})],
)
def test_entry__with_something_else_is_refused(name: str, value: object, tmp_path: Path) -> None:
    ledger = Ledger.new(tmp_path / "register", KEY)
    ledger.enter_tree(tree_of(PEOPLE, "town", ledger), {})
    first, entry = (dict(one) for one in ledger.entries)
    entry[name] = value
    entry["hash"] = entry_hash(entry)
    ledger.path.write_bytes(Chain((first, json.loads(json.dumps(entry)))).to_bytes())
    with pytest.raises(ReadError, match="entry 2"):
        _ = ledger.earlier
