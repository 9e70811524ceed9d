"""Groups that keep earlier releases: the enumerated cases, every division of short lines, and any row of releases."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.checking.together import cells_of, together
from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier
from anonymizer.groups.hulls import scale_of
from anonymizer.growing.encode import encode
from anonymizer.releasing.pack import pack_line
from anonymizer.releasing.tiers import Groups
from anonymizer.releasing.units import keep, line_of_units, medoids, rows_that_stay, snap, undivided, waiting
from anonymizer.settings import Limits, Settings
from anonymizer.studies.attack import attack_release
from tests.checking.test_together import cases
from tests.groups.test_refine import encoded_table, random_table
from tests.sweeps import few

QI = ["age", "sex", "postcode", "occupation"]


def test_snap__is_that_of_the_cases() -> None:
    for case in cases("ledger_snap"):
        cell, region = np.array(case["earlier_cell"]), np.array(case["region"])
        answer = snap(cell, region, case["k"])
        assert answer.tolist() == case["expected"]["region_after"]
        assert int((answer != region).sum()) == case["expected"]["moved"]
        cells = Counter(zip(cell.tolist(), answer.tolist(), strict=True))
        assert {pair: cells[pair] for pair in sorted(cells)} == {
            tuple(one["cell"]): one["persons"] for one in case["expected"]["cells"]
        }


rows = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 4), st.integers(-1, 12)), min_size=1, max_size=40)


@given(rows, st.integers(1, 5), st.booleans())
def test_snap__leaves_no_small_part_and_is_idempotent(
    people: list[tuple[int, int, int]], k: int, are_rows: bool
) -> None:
    cell, region, person = np.array(people).T
    whose = None if are_rows else person
    answer = snap(cell, region, k, whose)
    of_cell, of_part = defaultdict(set), defaultdict(set)
    for row, own in enumerate(cell.tolist()):
        who = row if are_rows else int(person[row])
        if who >= 0:
            of_cell[own].add(who)
            of_part[own, int(answer[row])].add(who)
    for own, members in of_cell.items():
        parts = [len(some) for (one, _), some in of_part.items() if one == own]
        assert len(parts) == 1 or min(parts) >= k or len(members) < k
    np.testing.assert_array_equal(snap(cell, answer, k, whose), answer)
    if are_rows:
        for own, place, now in zip(cell.tolist(), region.tolist(), answer.tolist(), strict=True):
            sizes = Counter(int(r) for c, r in zip(cell, region, strict=True) if c == own)
            best = min(sizes, key=lambda r: (-sizes[r], r))
            assert now == (place if sizes[place] >= k else best)


def test_units__are_divided_as_in_the_cases() -> None:
    for case in cases("ledger_units"):
        units = case["atoms_on_the_line"]
        ages, unit = [], []
        for number, one in enumerate(units):
            ages += [one["age"][0], *[one["age"][1]] * (one["persons"] - 1)]
            unit += [number] * one["persons"]
        table = pd.DataFrame({"age": ages, "illness": ["a", "b"] * (len(ages) // 2) + ["a"] * (len(ages) % 2)})
        schema = an.Schema.of(table, quasi_identifying=["age"], sensitive=["illness"], kinds={"age": "numeric"})
        encoded = encode(table, schema)
        line = line_of_units(encoded, np.array(unit), np.arange(len(units)), scale_of(encoded.encodings))
        group = pack_line(line, case["k"])
        assert all(len(set(group[np.array(unit) == number])) == 1 for number in range(len(units)))
        width, lost = max(ages) - min(ages), Fraction(0)
        for number in np.unique(group):
            own = table["age"][group == number]
            lost += len(own) * Fraction(int(own.max() - own.min()), width)
        assert lost == Fraction(case["expected"]["least_loss"])
        of_unit = [int(group[unit.index(number)]) for number in range(len(units))]
        ends = [at for at in range(1, len(units)) if of_unit[at] != of_unit[at - 1]]
        assert [list(run) for run in zip([0, *ends], [*ends, len(units)], strict=True)] in case["expected"]["divisions"]


@given(st.integers(0, 10**6), st.integers(2, 30))
@settings(max_examples=few(60), deadline=None)
def test_units__lose_no_more_than_any_division(seed: int, n: int) -> None:
    encoded, rng = replace(encoded_table(seed, n), person=None), np.random.default_rng(seed)
    unit = np.unique(rng.integers(0, min(8, n), n), return_inverse=True)[1]
    n_units, k = int(unit.max()) + 1, int(rng.integers(1, 6))
    place, scale = rng.permutation(n_units), scale_of(encoded.encodings)
    group = pack_line(line_of_units(encoded, unit, place, scale), k)

    def loss(groups: np.ndarray) -> float:
        return sum(hull_loss(encoded, np.flatnonzero(groups == number)) for number in np.unique(groups))

    sizes, losses = np.bincount(unit, minlength=n_units)[np.argsort(place)], []
    for cuts in product([0, 1], repeat=n_units - 1):
        run = np.cumsum([0, *cuts])
        if min(np.bincount(run, sizes)) >= k:
            losses.append(loss(run[place[unit]]))
    assert n < k or loss(group) == pytest.approx(min(losses), abs=1e-6)
    assert len({(int(u), int(g)) for u, g in zip(unit, group, strict=True)}) == n_units


def hull_loss(encoded: Any, own: np.ndarray) -> float:
    from tests.naive_refine import loss

    return len(own) * loss(encoded, own.tolist(), [1.0] * len(encoded.encodings))


def test_medoids__are_nearest_to_the_middle() -> None:
    table = pd.DataFrame({"age": [20.0, 30, 31, 60, 5, 6], "area": list("nnnsee"), "illness": list("ababab")})
    schema = an.Schema.of(table, quasi_identifying=["age", "area"], sensitive=["illness"], kinds={"age": "numeric"})
    encoded = encode(table, schema)
    answer = medoids(encoded, np.array([0, 0, 0, 0, 1, 1]), np.arange(6, dtype=np.uint64), scale_of(encoded.encodings))
    assert answer.tolist() == [2, 4]


people_with_values = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(0, 4), st.sampled_from("abc")), min_size=1, max_size=40
)


@given(people_with_values, st.integers(1, 4))
def test_snap_and_units__divide_no_cell_where_a_part_would_have_one_value(
    people: list[tuple[int, int, str]], k: int
) -> None:
    """Each part that stays has k people and two values, or is a whole cell; units are parts, or divide them so."""
    cell, region = (np.array([row[side] for row in people]) for side in (0, 1))
    values = [value for *_, value in people]

    def two_values(part: np.ndarray) -> np.ndarray:
        sets: dict[int, set[str]] = defaultdict(set)
        for one, value in zip(part.tolist(), values, strict=True):
            sets[one].add(value)
        return np.array([len(sets[one]) > 1 for one in range(len(sets))])

    answer = snap(cell, region, k, None, two_values)
    assert snap(cell, answer, k, None, two_values).tolist() == answer.tolist()
    parts = Counter(zip(cell.tolist(), answer.tolist(), strict=True))
    of_part: dict[tuple[int, int], set[str]] = defaultdict(set)
    for *pair, value in zip(cell.tolist(), answer.tolist(), values, strict=True):
        of_part[pair[0], pair[1]].add(value)
    whole = Counter(cell.tolist())
    for pair, size in parts.items():
        assert size == whole[pair[0]] or (size >= k and len(of_part[pair]) > 1)
    part = np.unique(np.stack([cell, answer]), axis=1, return_inverse=True)[1].reshape(-1)
    unit = np.unique(part * 2 + np.arange(len(part)) % 2, return_inverse=True)[1]
    units = undivided(unit, part, two_values)
    for one in np.unique(part):
        own = np.unique(units[part == one])
        assert len(own) == 1 or two_values(units)[own].all()
        assert np.isin(units[part != one], own).sum() == 0
    assert undivided(unit, part, None) is unit


# Releases of one table, one after the other.


@st.composite
def runs(draw: st.DrawFn) -> tuple[int, list[dict[str, Any]]]:
    groupings = ["least", "error-risk", "median-mondrian", "infogain-mondrian"]
    releases = []
    for number in range(draw(st.integers(2, 4))):
        more: dict[str, Any] = {
            "k": draw(st.integers(2, 6)), "grouping": draw(st.sampled_from(groupings)),
            "target": draw(st.sampled_from(["c0", "c1"])), "few": draw(st.booleans()),
            "generalizer": draw(st.sampled_from(["pack", "uniform", "refine"])),
        }  # fmt: skip
        if draw(st.booleans()):
            more["suppression"] = 0.2
        if number and draw(st.booleans()):
            more["l"] = 2
        releases.append(more)
    return draw(st.integers(0, 10**6)), releases


def table_of(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 90))
    return pd.DataFrame({
        "q0": rng.integers(0, 30, n).astype(float), "q1": rng.choice(list("uvwxyz"), n), "q2": rng.integers(0, 5, n),
        "c0": rng.choice(["flu", "gout", "asthma"], n), "c1": rng.choice(["yes", "no"], n),
    })  # fmt: skip


def refusal(flow: Flow) -> str:
    try:
        return "" if flow.release.n_records else "nothing is released"
    except GuaranteeError as error:
        return str(error)


@given(runs())
@settings(max_examples=few(150, 12), deadline=None)
def test_releases__that_keep_each_other_leave_no_small_cell(case: tuple[int, list[dict[str, Any]]]) -> None:
    """A group-by of the released files, joined by the true rows, has no cell of 1 to k - 1 persons."""
    table = table_of(case[0])
    earlier: list[Earlier] = []
    truth = pd.DataFrame(index=table.index)
    smallest = min(more["k"] for more in case[1])
    for number, more in enumerate(case[1]):
        qi = ["q0", "q1"] if more["few"] else ["q0", "q1", "q2"]
        target = more["target"]
        columns = {name: value for name, value in more.items() if name not in ("few", "target")}
        roles = table.drop(columns=[name for name in ("q2",) if name not in qi])
        schema = an.Schema.of(roles, quasi_identifying=qi, sensitive=["c0", "c1"], target=target)
        flow = Flow(roles, schema, Settings(**columns), earlier=earlier, keep=bool(earlier))
        if why := refusal(flow):  # no group has l = 2, or too many would have to wait
            assert "l" in more or ("suppression" not in more and "no earlier release" in why)
            continue
        release = flow.release
        released = release.frame()
        joined = released[qi].astype("str").fillna("").agg("|".join, axis=1)
        truth[number] = pd.Series(joined.to_numpy(), index=release.order).reindex(table.index)
        earlier.append(Earlier.of(release, len(table), more["k"]))
    sizes = truth[truth.notna().any(axis=1)].groupby(list(truth.columns), dropna=False).size()
    assert sizes.min() >= smallest
    assert together([one.class_of for one in earlier], smallest).holds


def test_same_table_and_settings__are_the_same_groups() -> None:
    table = an.SAMPLES["hospital"].load().head(400)
    schema = an.Schema.of(table[[*QI, "diagnosis"]], quasi_identifying=QI, sensitive=["diagnosis"], target="diagnosis")
    table = table[[*QI, "diagnosis"]]
    first = an.anonymize(table, schema, k=5, grouping="error-risk", generalizer="pack")
    again = an.anonymize(table, schema, k=5, grouping="least", earlier=[first], keep=True)
    for one in ("age", "sex"):
        before = pd.Series(first.release.frame()[one].to_numpy(), index=first.release.order).sort_index()
        after = pd.Series(again.release.frame()[one].to_numpy(), index=again.release.order).sort_index()
        pd.testing.assert_series_equal(before, after)
    for run, k in ((again, 5), (an.anonymize(table, schema, k=12, earlier=[first, again], keep=True), 12)):
        (finding,) = (one for one in run.gate.findings if one.key.startswith("together: "))
        assert finding.severity.name == "FINE"
        assert run.release.frame().groupby(QI, dropna=False).size().min() >= k
        assert "were kept: they were divided where both parts are large enough, or joined." in run.report.made.why


def test_keep__needs_a_release_to_keep() -> None:
    table = table_of(2)
    with pytest.raises(ParameterError, match="No earlier release is given"):
        an.anonymize(table, an.Schema.of(table, quasi_identifying=["q0"], sensitive=["c0"]), keep=True)


def test_order_of_rows__does_not_show() -> None:
    table = table_of(3)
    schema = an.Schema.of(table, quasi_identifying=["q0", "q1", "q2"], sensitive=["c0", "c1"], target="c0")
    earlier = Flow(table, schema, Settings(k=3, generalizer="pack")).class_of
    files = []
    for order in (np.arange(len(table)), np.random.default_rng(0).permutation(len(table))):
        some = table.iloc[order].reset_index(drop=True)
        flow = Flow(some, schema, Settings(k=7), earlier=[Earlier(earlier[order], 3)], keep=True)
        files.append(flow.leaving.frame().astype("str"))
    pd.testing.assert_frame_equal(*files)


def test_new_people__wait_until_they_are_k() -> None:
    earlier = [np.array([0, 0, 0, -1, -1]), np.array([1, 1, 1, -1, -1])]
    assert waiting(earlier, 3).tolist() == [3, 4]
    assert waiting(earlier, 2).tolist() == []
    assert waiting(earlier, 2, np.array([0, 1, 2, 3, 3])).tolist() == [3, 4]
    assert waiting([np.full(5, -1)], 9).tolist() == []
    assert rows_that_stay(earlier, 3, None, 0.4).tolist() == [0, 1, 2]
    with pytest.raises(GuaranteeError, match="2 rows of people who are in no earlier release"):
        rows_that_stay(earlier, 3, None, 0.3)


def test_keep__refuses_limits_that_are_no_sums() -> None:
    encoded = encode(table := table_of(1), an.Schema.of(
        table, quasi_identifying=["q0", "q1", "q2"], sensitive=["c0", "c1"], target="c0"
    ))  # fmt: skip
    flow = Flow(table, an.Schema.of(table, quasi_identifying=["q0"], sensitive=["c0"]), Settings(k=3))
    leaf = np.zeros(len(table), np.int32)
    groups = Groups(flow.tree, encoded, leaf, np.zeros(flow.tree.n_nodes, np.int32), Limits(k=3, risk_max=0.2))
    with pytest.raises(ParameterError, match="cannot keep what was asked besides"):
        keep(groups, [np.zeros(len(table), np.int64)], 3, np.random.default_rng(0))


def test_persons__are_counted_and_not_rows() -> None:
    table = table_of(8)
    table["who"] = np.random.default_rng(1).integers(0, len(table) // 2, len(table))
    schema = an.Schema.of(
        table, quasi_identifying=["q0", "q1", "q2"], sensitive=["c0", "c1"], target="c0", person="who"
    )
    first = Flow(table, schema, Settings(k=3, generalizer="pack"))
    earlier = [Earlier(first.class_of, 3)]
    second = Flow(table, schema, Settings(k=4, grouping="least"), earlier=earlier, keep=True)
    person = np.asarray(table["who"])
    cell, sizes = cells_of([first.class_of, second.class_of], person)
    assert sizes.min() >= 3
    assert min(len(set(person[second.class_of == one])) for one in np.unique(second.class_of)) >= 4
    with pytest.raises(ParameterError, match="do not hold the rows of a person together"):
        _ = Flow(table, schema, Settings(k=3, generalizer="pack-persons"), earlier=earlier, keep=True).parts


def test_random_tables__with_missing_values_are_kept() -> None:
    for seed in range(few(40, 8)):
        encoded = encoded_table(seed, 30)
        rng = np.random.default_rng(seed)
        classes = np.unique(rng.integers(0, 3, 30), return_inverse=True)[1]
        flow_tree = Flow(*random_flow(seed)).tree
        groups = Groups(flow_tree, encoded, np.zeros(30, np.int32), np.zeros(flow_tree.n_nodes, np.int32))
        parts = keep(groups, [classes], 4, rng)
        small = min(np.bincount(classes))
        assert cells_of([classes, parts.part])[1].min() >= min(4, small)
        assert np.bincount(parts.part).min() >= 4


def random_flow(seed: int) -> Any:
    table, schema = random_table(seed, 30)[:2]
    return table, schema


def test_attacks__that_run_the_method_again_are_not_tried_where_releases_are_kept() -> None:
    table = table_of(5)
    schema = an.Schema.of(table, quasi_identifying=["q0", "q1", "q2"], sensitive=["c0", "c1"], target="c0")
    earlier = Flow(table, schema, Settings(k=3, generalizer="pack"))
    flow = earlier.but(earlier=[Earlier(earlier.class_of, 3)], keep=True, grouping="error-risk")
    names = {outcome.name for outcome in attack_release(flow, seconds=0.2).outcomes}
    assert "singling out" in names
    assert not names & {"rerun", "minimality"}
    (finding,) = flow.guidance
    assert finding.detail == "This attack is not tried where earlier releases are kept."
