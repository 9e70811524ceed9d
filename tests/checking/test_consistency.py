"""The consistency graph against brute force: counts, matchings, usable pairs, posteriors, limits."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from anonymizer.cells import Cell
from anonymizer.checking import candidates as candidates_module
from anonymizer.checking import consistency as consistency_module
from anonymizer.checking.consistency import consistency
from anonymizer.checking.verify import verify
from anonymizer.errors import CellError, ParameterError, SchemaError
from anonymizer.pipeline import anonymize
from anonymizer.schema import Schema
from tests import naive_verify as naive
from tests.sweeps import few

LEVELS = ("a", "b", "c")
MISSING = "missing"


def schema_of(table: pd.DataFrame, quasi: list[str], sensitive: list[str] | None = None, **kinds: str) -> Schema:
    return Schema.of(table, quasi_identifying=quasi, sensitive=sensitive or [], kinds=kinds)


@st.composite
def releases(draw: st.DrawFn, most: int = 7) -> tuple[pd.DataFrame, pd.DataFrame, list[list[int]], list[list[int]]]:
    """An original, a release that may or may not contain it, and both consistency matrices (without, with kept)."""
    n = draw(st.integers(1, most))
    number = st.one_of(st.none(), st.integers(0, 4))
    numbers = draw(st.lists(number, min_size=n, max_size=n))
    levels = draw(st.lists(st.one_of(st.none(), st.sampled_from(LEVELS)), min_size=n, max_size=n))
    letters = draw(st.lists(st.sampled_from(["x", "y", None]), min_size=n, max_size=n))
    faithful = draw(st.booleans())
    number_cells, level_cells, number_sets, level_sets = [], [], [], []
    for i in range(n):
        low, high = sorted((draw(st.integers(0, 4)), draw(st.integers(0, 4))))
        with_missing = draw(st.booleans())
        allowed = draw(st.sets(st.sampled_from(LEVELS), min_size=1))
        level_missing, withheld = draw(st.booleans()), draw(st.booleans())
        if faithful and numbers[i] is not None:
            low, high = min(low, numbers[i]), max(high, numbers[i])
        if faithful and numbers[i] is None:
            with_missing = True
        if faithful and levels[i] is not None:
            allowed = allowed | {levels[i]}
        if faithful and levels[i] is None:
            level_missing = True
        number_sets.append(set(range(low, high + 1)) | ({None} if with_missing else set()))
        number_cells.append(Cell.interval(str(low), str(high), missing=with_missing).text())
        if withheld:
            level_sets.append({*LEVELS, None})
            level_cells.append(Cell.WITHHELD.text())
        else:
            level_sets.append(allowed | ({None} if level_missing else set()))
            level_cells.append(Cell.of_levels(sorted(allowed), missing=level_missing).text())
    original = pd.DataFrame(
        {"number": pd.array(numbers, dtype="Int64"), "level": pd.Series(levels, dtype=object), "kept": letters}
    )
    released = pd.DataFrame({"number": number_cells, "level": level_cells, "kept": letters})
    fit = [[int(numbers[i] in number_sets[j] and levels[i] in level_sets[j]) for j in range(n)] for i in range(n)]
    with_kept = [[fit[i][j] * int(letters[i] == letters[j]) for j in range(n)] for i in range(n)]
    return original, released, fit, with_kept


@given(releases(), st.randoms(use_true_random=False))
def test_everything_agrees_with_brute_force(case, random) -> None:
    original, released, fit, with_kept = case
    n = len(original)
    schema = schema_of(original, ["number", "level"], ["kept"])
    order = list(range(n))
    random.shuffle(order)
    beside = consistency(released.iloc[order].reset_index(drop=True), original, schema)
    assert beside.records_per_row.tolist() == [sum(fit[i][j] for i in range(n)) for j in order]
    assert beside.rows_per_record.tolist() == [sum(row) for row in fit]
    assert beside.contained == (naive.permanent(with_kept) > 0)
    assert (beside.misfit is None) == beside.contained
    ways = naive.permanent(fit)
    if not ways:
        assert beside.matches_per_record is None
        assert beside.posterior is None
        assert "no assignment" in beside.reason
        return
    shares = naive.posteriors(fit)
    assert beside.perfect_matchings == ways
    assert beside.matches_per_record.tolist() == [sum(share > 0 for share in row) for row in shares]
    assert beside.posterior.exact
    assert beside.posterior.highest == pytest.approx(float(max(map(max, shares))), rel=1e-12)
    assert max(shares[i][order[beside.posterior.at_row]] for i in range(n)) == max(map(max, shares))

    with_order = consistency(released.iloc[order].reset_index(drop=True), original, schema, order=np.array(order))
    assert with_order.contained == all(with_kept[i][i] for i in range(n))
    assert with_order.posterior.own.tolist() == pytest.approx([float(shares[i][i]) for i in order], rel=1e-12)


@given(releases(most=5))
def test_the_slow_permanent_is_right(case) -> None:
    _, _, fit, _ = case
    assert naive.permanent(fit) == naive.permanent_by_permutations(fit)


@st.composite
def intervals(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    n = draw(st.integers(8, 30))
    values = draw(st.lists(st.integers(0, 25), min_size=n, max_size=n))
    width = st.integers(0, 4)
    return values, [(value - draw(width), value + draw(width)) for value in values]


def interval_release(values: list[int], ends: list[tuple[int, int]]) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    original = pd.DataFrame({"x": values})
    released = pd.DataFrame({"x": [Cell.interval(str(low), str(high)).text() for low, high in ends]})
    return released, original, schema_of(original, ["x"])


@given(intervals(), st.randoms(use_true_random=False))
def test_usable_pairs_agree_with_removing_each_pair(case, random) -> None:
    values, ends = case
    random.shuffle(ends)
    n = len(values)
    fit = np.array(naive.consistency([[v] for v in values], [[list(e)] for e in ends]))
    beside = consistency(*interval_release(values, ends))
    expected = []
    for i in range(n):
        usable = 0
        for j in np.flatnonzero(fit[i]):
            rest = np.delete(np.delete(fit, i, axis=0), j, axis=1)
            usable += int((maximum_bipartite_matching(csr_matrix(rest)) >= 0).sum() == n - 1)
        expected.append(usable)
    assert beside.contained is True
    assert beside.matches_per_record.tolist() == expected


@given(st.integers(0, 10_000))
def test_largest_assignment_has_the_size_that_scipy_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    values = rng.integers(0, 12, n)
    low = rng.integers(0, 12, n)
    ends = [(int(a), int(a + rng.integers(0, 3))) for a in low]
    released, original, schema = interval_release(values.tolist(), ends)
    fit = csr_matrix(np.array(naive.consistency([[v] for v in values], [[list(e)] for e in ends])))
    size = int((maximum_bipartite_matching(fit) >= 0).sum())
    beside = consistency(released, original, schema)
    assert beside.contained == (size == n)
    if size < n:
        assert f"at least {n - size} rows" in beside.mismatch


def test_blocks_of_bits_give_the_same_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    n = 400
    original = pd.DataFrame(
        {"x": rng.integers(0, 1000, n), "y": rng.integers(0, 900, n), "z": rng.choice(list("abcd"), n)}
    )
    reach = rng.integers(0, 200, (4, n))
    boxes = [
        [[x - reach[0, i], x + reach[1, i]], [y - reach[2, i], y + reach[3, i]], sorted({z, "abcd"[i % 4]})]
        for i, (x, y, z) in enumerate(original.itertuples(index=False))
    ]
    released = pd.DataFrame(
        {
            "x": [Cell.interval(str(b[0][0]), str(b[0][1])).text() for b in boxes],
            "y": [Cell.interval(str(b[1][0]), str(b[1][1])).text() for b in boxes],
            "z": [Cell.of_levels(b[2]).text() for b in boxes],
        }
    )
    schema = schema_of(original, ["x", "y", "z"])
    fit = np.array(naive.consistency(original.astype(object).to_numpy().tolist(), boxes))
    whole = consistency(released, original, schema)
    monkeypatch.setattr(candidates_module, "BITS_BYTES", 1)
    blocks = consistency(released, original, schema)
    for beside in (whole, blocks):
        assert beside.records_per_row.tolist() == fit.sum(axis=0).tolist()
        assert beside.rows_per_record.tolist() == fit.sum(axis=1).tolist()
    assert whole.matches_per_record.tolist() == blocks.matches_per_record.tolist()
    assert whole.posterior.highest == pytest.approx(blocks.posterior.highest)


def test_the_estimate_for_large_components_is_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0, *range(10, 22)]
    ends = [(0, 11), (0, 21), (0, 21), *[(10, 21)] * 10]
    exact = consistency(*interval_release(values, ends), order=np.arange(13))
    assert exact.posterior.exact
    assert exact.posterior.highest == pytest.approx(0.75)
    monkeypatch.setattr(consistency_module, "EXACT_ROWS", 0)
    rough = consistency(*interval_release(values, ends), order=np.arange(13))
    assert not rough.posterior.exact
    assert rough.perfect_matchings is None
    assert rough.posterior.at_row == 0
    assert rough.posterior.highest == pytest.approx(0.75, abs=0.01)
    assert rough.posterior.own == pytest.approx(exact.posterior.own, abs=0.01)
    assert rough.posterior.residual < 1e-5


def test_the_estimate_stays_close_to_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(few(60)):
        values = rng.integers(0, 20, 14)
        ends = np.column_stack([values - rng.integers(0, 8, 14), values + rng.integers(0, 8, 14)])
        sides = interval_release(values.tolist(), [(int(a), int(b)) for a, b in ends])
        monkeypatch.setattr(consistency_module, "EXACT_ROWS", 20)
        exact = consistency(*sides, order=np.arange(14)).posterior
        monkeypatch.setattr(consistency_module, "EXACT_ROWS", 0)
        rough = consistency(*sides, order=np.arange(14)).posterior
        gaps.append(rough.highest - exact.highest)
        assert rough.own == pytest.approx(exact.own, abs=0.2)
    assert min(gaps) > -0.03
    assert max(gaps) < 0.2


def test_the_estimate_counts_equal_records_and_rows_rightly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every record of a chain of overlapping classes shares out to 1 over all rows, and every row over all records."""
    monkeypatch.setattr(consistency_module, "EXACT_ROWS", 0)
    values = [1] * 4 + [2] * 5 + [3] * 6
    ends = [(1, 2)] * 5 + [(2, 3)] * 7 + [(1, 3)] * 3
    shares = np.zeros((15, 15))
    for shift in range(15):
        order = np.roll(np.arange(15), shift)
        released, original, schema = interval_release(values, ends)
        # Each shift puts another person behind each row: together they show all pairs.
        own = consistency_own(released, original, schema, order)
        shares[order, np.arange(15)] = own
    assert shares.sum(axis=0) == pytest.approx(np.ones(15), abs=1e-4)
    assert shares.sum(axis=1) == pytest.approx(np.ones(15), abs=1e-4)


def consistency_own(released: pd.DataFrame, original: pd.DataFrame, schema: Schema, order: np.ndarray) -> np.ndarray:
    beside = consistency(released, original, schema, order=order)
    assert not beside.posterior.exact
    return beside.posterior.own


def test_a_strict_release_is_exact_at_any_size() -> None:
    values = [*range(1000), *range(5000, 5100)]
    ends = [(0, 999)] * 1000 + [(5000, 5099)] * 100
    beside = consistency(*interval_release(values, ends))
    assert beside.posterior.exact
    assert beside.posterior.highest == float(Fraction(1, 100))
    assert beside.matches_per_record.min() == 100


def test_too_many_edges_are_counted_but_not_kept() -> None:
    values, ends = list(range(20)), [(0, 19)] * 10 + [(0, 20)] * 10
    beside = consistency(*interval_release(values, ends), max_edges=5)
    assert beside.records_per_row.tolist() == [20] * 20
    assert beside.rows_per_record.tolist() == [20] * 20
    assert beside.contained is None
    assert beside.matches_per_record is None
    assert beside.posterior is None
    assert "40 ways" in beside.reason
    with_order = consistency(*interval_release(values, ends), max_edges=5, order=np.arange(20))
    assert with_order.contained is True


def test_too_many_pairs_are_not_looked_at() -> None:
    values, ends = list(range(20)), [(0, 19)] * 20
    for limits in ({"max_pairs": 3}, {"max_edges": 0}):
        beside = consistency(*interval_release(values, ends), **limits)
        assert (beside.contained, beside.records_per_row, beside.rows_per_record) == (None, None, None)
        assert beside.reason


def test_another_number_of_rows_is_not_contained() -> None:
    released, original, schema = interval_release([1, 2, 3], [(0, 3)] * 3)
    beside = consistency(released.iloc[:2], original, schema)
    assert beside.contained is False
    assert beside.mismatch == "the release has 2 rows, the original 3"
    assert beside.records_per_row.tolist() == [3, 3]


def test_dates_are_compared_as_dates_and_numbers_as_numbers() -> None:
    original = pd.DataFrame({"day": pd.to_datetime(["2024-01-05", "2024-03-01", None]), "x": [10.0, 9.5, np.nan]})
    released = pd.DataFrame({"day": ["[2024-01-05, 2024-02-01]", "2024-03-01", None], "x": ["[9.50, 10]", "9.5", None]})
    schema = schema_of(original, ["day", "x"])
    beside = consistency(released, original, schema, order=np.arange(3))
    assert beside.contained is True
    assert beside.perfect_matchings == 1
    wrong = released.assign(day=["[2024-01-06, 2024-02-01]", "2024-03-01", None])
    assert consistency(wrong, original, schema).contained is False


def test_categories_that_look_like_numbers_are_compared_as_text() -> None:
    original = pd.DataFrame({"zip": ["01", "1"]})
    schema = schema_of(original, ["zip"])
    assert consistency(pd.DataFrame({"zip": ["01", "1"]}), original, schema).perfect_matchings == 1
    assert consistency(pd.DataFrame({"zip": ["1", "1"]}), original, schema).contained is False


def test_missing_fits_only_where_it_is_named_or_everything_is_withheld() -> None:
    original = pd.DataFrame({"level": ["a", None], "x": [1.0, np.nan]})
    schema = schema_of(original, ["level", "x"])
    for level, number, fits in (
        ("{a, missing}", "{1, missing}", True),
        ("*", "*", True),
        ("a", "{1, missing}", False),
        ("{a, missing}", "1", False),
    ):
        released = pd.DataFrame({"level": [level, level], "x": [number, number]})
        assert consistency(released, original, schema).contained is fits


def test_a_kept_column_that_was_changed_is_found() -> None:
    original = pd.DataFrame({"x": [1, 2, 3], "pay": [10, 20, 30], "note": ["=cmd", " blank", "p"]})
    schema = schema_of(original, ["x"], ["pay"])
    released = pd.DataFrame({"x": ["[1, 3]"] * 3, "pay": ["30", "10", "20"], "note": ["p", '"=cmd"', '" blank"']})
    assert consistency(released, original, schema).contained is True
    beside = consistency(released.assign(pay=["30", "10", "10"]), original, schema)
    assert beside.contained is False
    assert beside.misfit in (1, 2)
    assert beside.matches_per_record.tolist() == [3, 3, 3]  # the attacker's graph does not see kept columns


def test_bad_input_is_named() -> None:
    released, original, schema = interval_release([1, 2], [(0, 3)] * 2)
    with pytest.raises(SchemaError, match="release has no column 'x'"):
        consistency(released.rename(columns={"x": "y"}), original, schema)
    with pytest.raises(SchemaError, match="original has no column 'x'"):
        consistency(released, original.rename(columns={"x": "y"}), schema)
    with pytest.raises(CellError):
        consistency(released.assign(x=["[3, 1]", "2"]), original, schema)
    for order in ([0, 0], [0], [0, 5]):
        with pytest.raises(ParameterError, match="order"):
            consistency(released, original, schema, order=np.array(order))


@given(
    values=st.lists(st.integers(0, 12), min_size=4, max_size=12),
    k=st.integers(2, 4),
    wrong=st.integers(-1, 11),
    random=st.randoms(use_true_random=False),
)
def test_what_follows_from_large_classes_is_what_the_graph_says(values, k, wrong, random) -> None:
    """Groups of at least k in one box each: the whole graph agrees with what is bounded without it."""
    values = sorted(values)
    cuts = [start for start in range(0, len(values), k) if len(values) - start >= k]
    groups = [values[start:end] for start, end in zip(cuts, [*cuts[1:], len(values)], strict=True)]
    ends = [(min(group), max(group)) for group in groups for _ in group]
    if 0 <= wrong < len(ends):
        ends[wrong] = (13, 14)
    order = list(range(len(values)))
    random.shuffle(order)
    released, original, schema = interval_release(values, [ends[row] for row in order])
    full = consistency(released, original, schema, order=np.array(order))
    quick = consistency(released, original, schema, order=np.array(order), enough=k)
    blind = consistency(released, original, schema, enough=k)
    assert quick.contained == full.contained
    if quick.contained:
        assert blind.contained
        assert blind.rows_per_record is None
    else:
        assert blind.contained == consistency(released, original, schema).contained
    if quick.rows_per_record is not None or not full.contained:
        assert quick.reason == full.reason
        assert quick.misfit == full.misfit
        return
    smallest = min(released["x"].value_counts())
    assert smallest >= k
    assert full.rows_per_record.min() >= smallest
    assert full.records_per_row.min() >= smallest
    assert full.matches_per_record.min() >= smallest
    assert full.posterior.highest <= 1 / smallest + 1e-12


@st.composite
def overlapping(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame, list[list[int]], int]:
    """An original, a release of it in at least k equal rows of a box, wherever these lie, and who fits which row. Row i
    is record i's."""
    k = draw(st.integers(2, 3))
    sizes = draw(st.lists(st.integers(k, k + 1), min_size=2, max_size=8 // k))
    n = sum(sizes)
    numbers = draw(st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=n, max_size=n))
    levels = draw(st.lists(st.one_of(st.none(), st.sampled_from(LEVELS)), min_size=n, max_size=n))
    boxes: list[tuple[set, set]] = []
    cells: list[tuple[str, str]] = []
    for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        own, names = ({values[row] for row in range(start, start + size)} for values in (numbers, levels))
        ends = sorted((own - {None}) | {draw(st.integers(0, 4)), draw(st.integers(0, 4))})
        allowed = (names - {None}) | draw(st.sets(st.sampled_from(LEVELS), min_size=1))
        missing = [None in values or draw(st.booleans()) for values in (own, names)]
        of_numbers = set(range(ends[0], ends[-1] + 1)) | ({None} if missing[0] else set())
        boxes += [(of_numbers, allowed | ({None} if missing[1] else set()))] * size
        cells += [
            (
                Cell.interval(str(ends[0]), str(ends[-1]), missing=missing[0]).text(),
                Cell.of_levels(sorted(allowed), missing=missing[1]).text(),
            )
        ] * size
    original = pd.DataFrame({"number": pd.array(numbers, dtype="Int64"), "level": pd.Series(levels, dtype=object)})
    released = pd.DataFrame(cells, columns=["number", "level"])
    fit = [[int(numbers[i] in box[0] and levels[i] in box[1]) for box in boxes] for i in range(n)]
    return original, released, fit, k


@given(overlapping(), st.randoms(use_true_random=False))
def test_what_follows_holds_where_boxes_of_classes_overlap(case, random) -> None:
    """Every complete assignment counted: nobody fits fewer rows, or is linked more surely, than the classes say."""
    original, released, fit, k = case
    n, schema = len(original), schema_of(original, ["number", "level"])
    order = list(range(n))
    random.shuffle(order)
    rows = released.iloc[order].reset_index(drop=True)
    shares = naive.posteriors(fit)
    smallest = min(naive.class_sizes(released, ["number", "level"]))
    assert min(sum(row) for row in fit) >= smallest >= k
    assert min(sum(row[j] for row in fit) for j in range(n)) >= smallest
    assert min(sum(share > 0 for share in row) for row in shares) >= smallest
    assert max(map(max, shares)) <= Fraction(1, smallest)
    for secret in (None, np.array(order)):
        assert consistency(rows, original, schema, order=secret, enough=k).rows_per_record is None  # it follows
        checks = verify(rows, schema, k=k, original=original, order=secret)
        assert checks["containment"].passed
        for name in ("(1,k)", "(k,1)", "(k,k)", "global (1,k)"):
            assert (checks[name].passed, checks[name].achieved) == (True, smallest)
        assert checks["linking posterior"].achieved == pytest.approx(1 / smallest)


@given(overlapping(), st.data())
def test_what_follows_holds_of_those_who_are_there(case, data) -> None:
    """People who are left out may be behind any row, for who does not know who they are: the bounds are the same."""
    original, released, fit, k = case
    absent = data.draw(st.lists(st.integers(0, len(original) - 1), min_size=1, max_size=2))
    everybody = pd.concat([original, original.iloc[absent]], ignore_index=True)
    rows = fit + [fit[person] for person in absent]
    # A stand-in row for each absent person, which everybody fits: assignments of all rows, each counted equally often.
    shares = naive.posteriors([row + [1] * len(absent) for row in rows])
    smallest = min(naive.class_sizes(released, ["number", "level"]))
    n = len(original)
    assert max(share for row in shares for share in row[:n]) <= Fraction(1, smallest)
    schema = schema_of(everybody, ["number", "level"])
    checks = verify(released, schema, k=k, original=everybody, order=np.arange(n), suppression=0.6)
    assert checks["(1,k)"].passed
    assert checks["linking posterior"].achieved == pytest.approx(1 / smallest)


@pytest.mark.parametrize("generalizer", ["uniform", "tiered", "pack"])
@pytest.mark.parametrize("seed", range(3))
def test_a_release_of_numbers_with_missing_values_fits_its_original(seed: int, generalizer: str) -> None:
    """Every quasi-identifier is numeric and can be missing, so that no column is made of plain ranges."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.integers(1, 40, 60).astype(float) for name in ("age", "pay")})
    table = table.where(rng.random(table.shape) > 0.2).assign(illness=rng.choice(["a", "b", "c"], 60))
    schema = schema_of(table, ["age", "pay"], ["illness"])
    release = anonymize(table, schema, k=5, generalizer=generalizer).release
    for order in (None, release.order):
        comparison = consistency(release.frame(), table, schema, order=order)
        assert comparison.contained is True
        assert comparison.records_per_row is not None
        assert comparison.records_per_row.min() >= 5
