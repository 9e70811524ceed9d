"""What released files prove together, against counting with dictionaries, the truth, and the files of a run."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.cells import Cell
from anonymizer.checking import together as module
from anonymizer.checking.cell_limits import CellLimit
from anonymizer.checking.several import Proof, class_in_table, verify_together
from anonymizer.checking.together import ReleasedClasses, Together, bounds, cells_meet, joins_of, together
from tests import naive_verify as naive
from tests.checking.test_together import cases
from tests.sweeps import few

QI = ["age", "sex", "postcode"]


@st.composite
def files(draw: st.DrawFn) -> tuple[ReleasedClasses, ReleasedClasses]:
    """Two files of one box column whose classes and values are drawn."""
    cells = st.sampled_from(
        [Cell.WITHHELD, Cell.MISSING, Cell.estimated("3"), Cell.of_levels(("a", "b")), Cell.of_levels(("b", "c"), True)]
        + [Cell.interval(str(low), str(low + width)) for low in range(5) for width in range(3)]
    )
    both = []
    for _ in range(2):
        boxes = tuple(draw(st.lists(cells, min_size=1, max_size=5, unique=True)))
        rows = draw(st.lists(st.tuples(st.integers(0, len(boxes) - 1), st.integers(0, 3)), min_size=1, max_size=25))
        class_of, values = np.array(rows).T
        class_of = np.unique(class_of, return_inverse=True)[1]
        column = (boxes, np.array(sorted({one for one, _ in rows})))
        both.append(ReleasedClasses(class_of, (column,), values))
    return both[0], both[1]


def naive_bounds(first: ReleasedClasses, second: ReleasedClasses, same: bool) -> dict[tuple[int, int], list[int]]:
    """The formulas of least and most, written out."""
    (cells, of_one), (others, of_other) = first.columns[0], second.columns[0]

    def meet(g: int, h: int) -> bool:
        one, other = cells[of_one[g]], others[of_other[h]]
        if one.withheld or other.withheld or one.estimate or other.estimate:
            return True
        if one.low is not None and other.low is not None and one.high is not None and other.high is not None:
            return max(one.low, other.low) <= min(one.high, other.high)
        return bool(set(one.levels) & set(other.levels)) or (one.missing and other.missing)

    a = Counter(zip(first.unchanged.tolist(), first.class_of.tolist(), strict=True))
    b = Counter(zip(second.unchanged.tolist(), second.class_of.tolist(), strict=True))
    answer: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for (x, g), rows in a.items():
        for (y, h), other_rows in b.items():
            if x != y or not meet(g, h):
                continue
            most = min(rows, other_rows)
            left = rows - sum(min(rows, n) for (z, o), n in b.items() if z == x and o != h and meet(g, o))
            right = other_rows - sum(min(other_rows, n) for (z, o), n in a.items() if z == x and o != g and meet(o, h))
            unique = sum(n for (z, _), n in a.items() if z == x) == sum(n for (z, _), n in b.items() if z == x) == 1
            answer[g, h][0] += max(0, left, right) if same else most * unique
            answer[g, h][1] += most
    return answer


@given(files(), st.booleans(), st.booleans())
@settings(max_examples=few(400, 60))
def test_bounds__agree_with_their_formulas(
    both: tuple[ReleasedClasses, ReleasedClasses], same: bool, blocks: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW_PAIRS", 0 if blocks else 4096)
        patch.setattr(module, "AT_ONCE", 2)
        answer = bounds(*both, same)
    cells = zip(answer.first.tolist(), answer.second.tolist(), strict=True)
    figures = zip(answer.least.tolist(), answer.most.tolist(), strict=True)
    assert dict(zip(cells, map(list, figures), strict=True)) == naive_bounds(*both, same)


def test_cells_meet__tells_more_levels_than_a_word_has_bits() -> None:
    levels = [f"level {number}" for number in range(150)]
    first = [Cell.of_levels(levels[start : start + 3]) for start in range(0, 147, 7)]
    second = [Cell.of_levels((level,)) for level in levels]
    expected = [[bool({*one.levels} & {*other.levels}) for other in second] for one in first]
    assert cells_meet(first, second).tolist() == expected


def test_joins__of_distinct_values_lay_out_one_pair_a_row() -> None:
    n = 5000
    cells = tuple(Cell.interval(str(low), str(low + 9)) for low in range(50))
    classes = np.random.default_rng(1).integers(0, 50, (2, n))
    one, other = (ReleasedClasses(own, ((cells, np.arange(50)),), np.arange(n)) for own in classes)
    joins = joins_of(one, other)
    assert len(joins.i) <= n
    assert (joins.first.value[joins.i] == joins.second.value[joins.j]).all()


# Tables of the same people, released by hand.


def released(rows: Sequence[tuple[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["age", "illness"]).astype({"age": "str"})


SCHEMA = an.Schema(
    (
        an.Column("age", an.Role.QUASI_IDENTIFYING, an.Kind.NUMERIC),
        an.Column("illness", an.Role.SENSITIVE, an.Kind.CATEGORICAL),
    ),
    "illness",
)


def with_boxes(people: pd.DataFrame, groups: Sequence[int]) -> pd.DataFrame:
    """The release of people in these groups, -1 for nobody: the hull of the ages of each."""
    by_group = people["age"].groupby(np.asarray(groups))
    low, high = by_group.transform("min").astype(str), by_group.transform("max").astype(str)
    table = people.assign(age=("[" + low + ", " + high + "]").where(low != high, low))
    return table[np.asarray(groups) >= 0].reset_index(drop=True)


def people_of(ages: Sequence[int], illness: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame({"age": ages, "illness": list(illness)})


def test_three_files__fail_where_each_two_hold() -> None:
    """Each two of three releases leave pairs, all three leave everybody alone: unique values join the rows."""
    people = people_of([20, 20, 20, 20, 30, 30, 30, 30], "abcdefgh")
    first = with_boxes(people, [0, 0, 0, 0, 1, 1, 1, 1])
    second = with_boxes(people, [0, 0, 1, 1, 1, 1, 0, 0])
    third = with_boxes(people, [0, 1, 0, 1, 0, 1, 0, 1])
    for pair in ((first, second), (first, third)):
        assert verify_together(pair, SCHEMA, k=2).below == 0
    answer = verify_together([first, second, third], SCHEMA, k=2)
    boxes = [table["age"].nunique() for table in (first, second, third)]
    assert boxes == [2, 1, 1]  # equal boxes are one class, so these three hold
    assert (answer.verdict, answer.below) == ("holds", 0)


def test_three_files__join_rows_of_unique_values() -> None:
    people = people_of([1, 2, 3, 4, 5, 6, 7, 8], "abcdefgh")
    groups = [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1]]
    tables = [with_boxes(people, own) for own in groups]
    pairs = [verify_together([tables[a], tables[b]], SCHEMA, k=2) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert [one.verdict for one in pairs] == ["holds"] * 3
    answer = verify_together(tables, SCHEMA, k=2)
    assert (answer.verdict, answer.below, answer.persons) == ("fails", 8, 8)
    assert answer.pairs == ((0, 1, 0), (0, 2, 0), (1, 2, 0))
    assert answer.sentence == (
        "These three files alone prove it: at least 8 of 8 people are in groups of fewer than 2."
    )
    assert not answer.holds
    assert verify_together([tables[0]] * 3, SCHEMA, k=4).holds


def test_files__that_cannot_tell_are_told_by_the_table() -> None:
    people = people_of([1, 2, 3, 4, 5, 6], "aabbcc")
    tables = [with_boxes(people, [0, 0, 0, 1, 1, 1]), with_boxes(people, [0, 1, 0, 1, 0, 1])]
    alone = verify_together(tables, SCHEMA, k=2)
    assert (alone.verdict, alone.sentence) == (
        "the files cannot tell", "These two files alone cannot tell. Use the table, or the ledger."
    )  # fmt: skip
    orders = [np.arange(6), np.arange(6)]
    exact = verify_together(tables, SCHEMA, k=2, original=people, orders=orders)
    assert exact.exact == together([[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]], 2)  # type: ignore[list-item]
    assert exact.verdict == "fails"
    by_person = verify_together(tables, SCHEMA, k=1, original=people, orders=orders, person=np.zeros(6, np.int64))
    assert by_person.exact is not None
    assert by_person.exact.persons == 1


def test_table__tells_classes_by_values_boxes_and_by_counting() -> None:
    people = people_of([1, 2, 3, 4, 5, 6], "aabbab")
    table = with_boxes(people, [0, 0, 0, 1, 1, 1]).sample(frac=1, random_state=4)
    boxes = {text: number for number, text in enumerate(table["age"].unique())}
    classes_there = class_in_table(people, table, SCHEMA, None)
    assert classes_there.tolist() == [boxes["[1, 3]"]] * 3 + [boxes["[4, 6]"]] * 3
    more = pd.concat([people, people_of([9], "z")], ignore_index=True)
    assert class_in_table(more, table, SCHEMA, None)[6] == -1
    # By boxes alone 3 fits both; counting leaves one place.
    overlapping = released([("[1, 3]", "a"), ("[1, 3]", "a"), ("[3, 6]", "a"), ("[3, 6]", "a")])
    same = people_of([1, 3, 5, 6], "aaaa")
    first, second = class_in_table(same, overlapping, SCHEMA, None)[[0, 1]].tolist()
    assert first == second


def test_rows_of_other_people__never_hold() -> None:
    first = with_boxes(people_of([1, 2, 3, 4], "aabb"), [0, 0, 1, 1])
    second = with_boxes(people_of([1, 2, 3, 4], "aaab"), [0, 0, 1, 1])
    answer = verify_together([first, second], SCHEMA, k=2)
    assert (answer.verdict, answer.persons) == ("the files cannot tell", None)
    small = verify_together([first, with_boxes(people_of([1, 2, 3], "aaa"), [0, 0, 1])], SCHEMA, k=2)
    assert small.verdict == "fails"
    assert "at least 1 person is in groups of fewer than 2" in small.sentence


@pytest.mark.parametrize("unchanged", [["diagnosis"], ["diagnosis", "cost"]])
def test_proof__is_below_the_truth_on_releases_of_a_run(unchanged: list[str]) -> None:
    table = an.SAMPLES["hospital"].load().head(400)[[*QI, "diagnosis", "cost"]]
    schema = an.Schema.of(table[[*QI, *unchanged]], quasi_identifying=QI, sensitive=unchanged, target="diagnosis")
    k, n = 5, len(table)
    own = [
        {"grouping": "least"}, {"grouping": "error-risk"}, {"k": 8, "suppression": 0.1, "generalizer": "refine"},
    ]  # fmt: skip
    results = [
        an.anonymize(table[[*QI, *unchanged]], schema, **{"k": k, "generalizer": "pack", **more}) for more in own
    ]
    tables = [one.release.frame() for one in results]
    orders = [one.release.order for one in results]
    classes = []
    for one in results:
        class_of = np.full(n, -1)
        class_of[one.release.order] = one.release.frame().groupby(QI, sort=False, dropna=False).ngroup()
        classes.append(class_of)
    truth = together(classes, k)
    exact = verify_together(tables, schema, k=k, original=table, orders=orders)
    assert exact.exact == truth
    alone = verify_together(tables, schema, k=k)
    beside = verify_together(tables, schema, k=k, original=table)
    assert 0 <= alone.below <= beside.below <= truth.below
    assert alone.verdict in ("fails", "the files cannot tell")
    assert beside.verdict == "fails"
    classes_there = class_in_table(table, tables[0], schema, None)
    assert (classes_there[classes_there != -2] >= 0).all()
    assert pd.Series(classes_there[classes_there != -2]).groupby(classes[0][classes_there != -2]).nunique().eq(1).all()
    assert (classes_there != -2).mean() > (0.9 if "cost" in unchanged else 0.1)


people_in_groups = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from("abc"), *[st.integers(-1, 2)] * 3), min_size=1, max_size=14
)


@given(people_in_groups, st.integers(1, 4), st.booleans())
@settings(max_examples=few(300, 40), deadline=None)
def test_proof__is_true_of_any_groups(rows: list[tuple[int, str, int, int, int]], k: int, everybody: bool) -> None:
    ages, illness, *groups = zip(*rows, strict=True)
    groups = [[abs(one) if everybody else one for one in own] for own in groups]
    people = people_of(ages, "".join(illness))
    tables = [with_boxes(people, own) for own in groups]
    if not all(map(len, tables)):
        return
    classes = []
    for own, table in zip(groups, tables, strict=True):
        class_of = np.full(len(people), -1)
        class_of[np.asarray(own) >= 0] = table.groupby("age", sort=False).ngroup()
        classes.append(class_of)
    truth = together(classes, k)
    alone = verify_together(tables, SCHEMA, k=k)
    beside = verify_together(tables, SCHEMA, k=k, original=people)
    for proof in (alone, beside):
        assert proof.verdict != "fails" or not truth.holds
        assert proof.verdict != "holds" or truth.holds
    if everybody:
        assert alone.below <= beside.below <= truth.below
    else:
        assert beside.exact in (None, truth)


def test_files__are_read_by_their_names(tmp_path: Path) -> None:
    people = people_of([1, 2, 3, 4, 5, 6, 7, 8], "abcdefgh")
    tables = [with_boxes(people, own) for own in ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1])]
    paths = [tmp_path / f"{number}.csv" for number in range(2)]
    for path, table in zip(paths, tables, strict=True):
        table.to_csv(path, index=False)
    for k in (2, 3):
        assert verify_together(paths, SCHEMA, k=k) == verify_together(tables, SCHEMA, k=k)
    assert verify_together([str(paths[0]), tables[1]], SCHEMA, k=3).to_dict()["verdict"] == "fails"


@pytest.mark.parametrize(
    ("proof", "sentence"),
    [
        (Proof(10, 2, "fails", 7778, 45222, ()),
         "These two files alone prove it: at least 7,778 of 45,222 people are in groups of fewer than 10."),
        (Proof(10, 6, "fails", 1, 20, ()),
         "These 6 files alone prove it: at least 1 of 20 people is in groups of fewer than 10."),
        (Proof(10, 3, "holds", 0, 20, ()),
         "These three files alone prove it: everybody is in a group of at least 10 people."),
        (Proof(10, 2, "fails", 3, 20, (), None, True),
         "With the table, these two files prove it: at least 3 of 20 people are in groups of fewer than 10."),
        (Proof(10, 2, "the files cannot tell", 0, 20, (), None, True),
         "With the table, these two files cannot tell. Use the ledger."),
        (Proof(3, 2, "fails", 4, 4, (), Together(3, 4, 4, 2, 1), True),
         "With the table, 4 of 4 people are in groups of fewer than 3, 2 of them alone."),
    ],
)  # fmt: skip
def test_proof__says_what_it_is(proof: Proof, sentence: str) -> None:
    assert proof.sentence == sentence


def test_proof__says_first_what_fails() -> None:
    limits = tuple(CellLimit("l", "ill", 3.0, 1.0, 4, 9, verdict) for verdict in ("holds", "fails"))
    first, *others = Proof(2, 2, "holds", 0, 9, (), limits=limits).sentences(["a.csv", "b.csv"])
    assert first == "4 of 9 people are in groups with fewer than 3 values of ill (at worst 1)."
    assert others[0] == Proof(2, 2, "holds", 0, 9, ()).sentence
    assert len(others) == 3


def test_verify_together__refuses_what_does_not_go_together() -> None:
    table = with_boxes(people_of([1, 2], "ab"), [0, 0])
    for releases, more in (
        ([table], {}),
        ([table, table], {"schema": [SCHEMA]}),
        ([table, table], {"k": 0}),
        ([table, table], {"orders": [np.array([0, 7])] * 2, "original": people_of([1, 2], "ab")}),
        ([table, table], {"orders": [np.array([0])] * 2, "original": people_of([1, 2], "ab")}),
    ):
        with pytest.raises(an.ParameterError):
            verify_together(releases, **{"schema": SCHEMA, "k": 2, **more})  # type: ignore[arg-type]


# What files prove of limits besides k.


@given(people_in_groups, st.booleans(), st.integers(2, 3))
@settings(max_examples=few(300, 40), deadline=None)
def test_limits__that_files_prove_are_true_of_any_groups(
    rows: list[tuple[int, str, int, int, int]], everybody: bool, n_files: int
) -> None:
    """What fails or holds by the files does so by counting the cells of the true people; with the table it is equal."""
    ages, illness, *groups = zip(*rows, strict=True)
    groups = [[abs(one) if everybody else one for one in own] for own in groups[:n_files]]
    people = people_of(ages, "".join(illness))
    tables = [with_boxes(people, own) for own in groups]
    if not all(map(len, tables)):
        return
    orders = [np.flatnonzero(np.asarray(own) >= 0) for own in groups]
    boxes = naive.joined(tables, orders, ["age"], len(people))
    there = [row for row, box in enumerate(boxes) if any(one is not None for one in box)]
    cells, values = [boxes[row] for row in there], [illness[row] for row in there]
    limits = {"l": 2, "entropy_l": 1.9, "t": 0.45}
    mixed, apart = naive.entropy_l(cells, values), naive.closeness(cells, values, None)
    below = naive.people_below(boxes, list(illness), 2)
    truth = {"l": below > 0, "entropy_l": (mixed or 0) < 1.9, "t": apart > 0.45 + 1e-9}
    same = None if everybody else False  # files of others can have all values equally often
    alone = verify_together(tables, SCHEMA, k=1, same_people=same, **limits)
    beside = verify_together(tables, SCHEMA, k=1, original=people, orders=orders, same_people=same, **limits)
    assert [one.limit for one in beside.limits] == list(limits)
    for one in beside.limits:
        assert (one.verdict == "fails") == truth[one.limit]
        assert one.verdict != "cannot tell"
    for one in alone.limits:
        assert one.verdict != "fails" or truth[one.limit], one
        assert one.verdict != "holds" or not truth[one.limit], one
        assert one.limit != "l" or one.below <= below
    assert beside.limits[0].below == below
    assert alone.overall != "holds" or beside.overall == "holds"


def test_limits__of_the_worked_case_fail_by_the_files_alone() -> None:
    """Costs are distinct, so all rows join; by illness alone some values of a cell are sure."""
    for case in cases("ledger_worked"):
        schema = an.Schema(
            (
                an.Column("age", an.Role.QUASI_IDENTIFYING, an.Kind.NUMERIC),
                an.Column("illness", an.Role.SENSITIVE, an.Kind.CATEGORICAL),
                an.Column("cost", an.Role.SENSITIVE, an.Kind.NUMERIC),
            ),
            "illness",
        )
        tables = [pd.DataFrame(of["rows"])[["age", "illness", "cost"]] for of in case["releases"]]
        tables = [table.assign(age=[f"[{low}, {high}]" for low, high in table["age"]]) for table in tables]
        proof = verify_together(tables, schema, k=2, l=2)
        ill, cost = proof.limits
        assert (proof.verdict, proof.overall) == ("holds", "fails")
        assert (ill.verdict, ill.below, cost.verdict) == ("fails", 2, "holds")
        assert ill.sentence == "at least 2 people are in groups with fewer than 2 values of illness (at worst 1)."
        assert proof.to_dict()["verdict"] == "fails"
        assert verify_together(tables, schema, k=2).overall == "holds"


def test_limits__on_a_column_that_one_file_lacks_are_not_known() -> None:
    people = people_of([1, 2, 3, 4], "abab")
    first, second = with_boxes(people, [0, 0, 1, 1]), with_boxes(people, [0, 0, 0, 0])
    proof = verify_together([first, second[["age"]]], [SCHEMA, an.Schema((SCHEMA["age"],))], k=1, l=2)
    assert (proof.limits[0].verdict, proof.overall) == ("cannot tell", "the files cannot tell")
    shares = verify_together([first, second], SCHEMA, k=1, share_max=0.4)
    (share,) = shares.limits
    assert (share.verdict, share.below) == ("fails", 4)
    assert verify_together([first, second], SCHEMA, k=1, share_max=0.5).limits[0].verdict in ("holds", "cannot tell")


def test_limits__of_numbers_are_proved_where_all_rows_join() -> None:
    schema = an.Schema(
        (
            an.Column("age", an.Role.QUASI_IDENTIFYING, an.Kind.NUMERIC),
            an.Column("illness", an.Role.SENSITIVE, an.Kind.NUMERIC),
        ),
        "illness",
    )
    people = pd.DataFrame({"age": range(8), "illness": [1.0, 2.0, 9.0, 8.0, 1.5, 8.5, 2.5, 7.5]})
    tables = [with_boxes(people, [0, 0, 0, 0, 1, 1, 1, 1]), with_boxes(people, [0, 0, 1, 1, 2, 2, 2, 2])]
    limits = {"rsd_min": 0.1, "spread_min": 0.2, "t": 0.3, "l": 2}
    alone = verify_together(tables, schema, k=1, **limits)
    orders = [np.arange(8)] * 2
    beside = verify_together(tables, schema, k=1, original=people, orders=orders, **limits)
    assert {one.verdict for one in alone.limits} == {"holds", "fails"}
    for one, other in zip(alone.limits, beside.limits, strict=True):
        assert (one.limit, one.verdict, one.below) == (other.limit, other.verdict, other.below)
        assert one.verdict == "holds" or one.achieved == pytest.approx(other.achieved)
