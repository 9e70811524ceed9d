"""Public grids against slow twins: which cells there are, how boxes are written in them, and what that loses."""

import datetime as dt
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.cells import parse_cell
from anonymizer.cuts import DATE_STEPS
from anonymizer.errors import SchemaError
from anonymizer.flow import Flow
from anonymizer.groups.hulls import code_ends
from anonymizer.growing.encode import encode
from anonymizer.measuring.utility import cell_ncp, cut_gcp
from anonymizer.releasing.generalize import GENERALIZERS, release_of
from anonymizer.releasing.grid import DAY, grids_of, on_grids
from anonymizer.schema import Column, Kind, Schema
from anonymizer.settings import Settings
from anonymizer.values import numbers_of
from anonymizer.whatif.ends import loss_by_ends
from tests.sweeps import few

QUASI = ["number", "date"]
NUMBERS = {
    "whole": lambda rng, n: rng.integers(-40, rng.choice([-35, 60, 5000]), n).astype(float),
    "decimal": lambda rng, n: np.round(rng.normal(0, rng.choice([0.02, 3, 4e6]), n), 3),
    "quarters": lambda rng, n: rng.integers(0, 90, n) / 4,
    "one value": lambda rng, n: np.full(n, 3.7),
    "mostly nothing": lambda rng, n: np.where(rng.random(n) < 0.8, 0, rng.integers(1, 99_999, n)).astype(float),
}


def random_table(seed, n, kind="whole", days=500, with_time=False):
    rng = np.random.default_rng(seed)
    number = NUMBERS[kind](rng, n)
    date = pd.Timestamp("2023-12-20") + pd.to_timedelta(rng.integers(0, days, n), unit="D")
    if with_time:
        date = date + pd.to_timedelta(rng.integers(0, 86_400, n), unit="s")
    number[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({
        "number": number, "date": pd.Series(date).where(rng.random(n) > 0.1),
        "city": rng.choice(list("abc"), n), "class": rng.choice(["yes", "no"], n),
    })  # fmt: skip


def flow_of(table, k=3, generalizer="pack", numbers="public", **schema):
    roles = Schema.of(table, quasi_identifying=[*QUASI, "city"], sensitive=["class"], **schema)
    return Flow(table, roles, Settings(k=k, generalizer=generalizer, numbers=numbers), rng=np.random.default_rng(0))


def grids(flow):
    """The grids of a flow's columns."""
    return grids_of(flow.encoded, flow.schema, flow.settings.k)


def values_of(flow, name):
    """The numbers of a column, dates as microseconds, without the missing ones."""
    numbers = numbers_of(flow.table[name], flow.schema[name])[0].astype(float)
    return numbers[~np.isnan(numbers)]


def slow_cell(grid, number):
    """The one cell that holds a number, by looking at all of them: where two meet, the upper one."""
    return [c for c in range(len(grid.low)) if grid.low[c] <= number <= grid.high[c]][-1]


tables = st.tuples(
    st.integers(0, 10**6), st.integers(12, 60), st.sampled_from(list(NUMBERS)), st.sampled_from([1, 30, 500, 4000]),
    st.booleans(),
)  # fmt: skip


@settings(max_examples=few(60))
@given(tables, st.integers(1, 5))
def test_cells__hold_every_value_once_and_the_outermost_hold_k(case, k):
    flow = flow_of(random_table(*case), k)
    for name, grid in grids(flow).items():
        values = values_of(flow, name)
        assert np.all(grid.low <= grid.high)
        assert np.all(grid.low[1:] >= grid.high[:-1])
        assert [slow_cell(grid, value) for value in values] == grid.cells(values).tolist()
        for end in (0, len(grid.low) - 1):
            assert (grid.cells(values) == end).sum() >= min(k, len(values))


def middle_of(values):
    """Of sorted values, those that the middle nine tenths of them reach, and of one value also the others' middle."""
    low = next(value for value in values if np.mean(values <= value) >= 0.05)
    high = next(value for value in values if np.mean(values <= value) >= 0.95)
    others = values[values != low]
    if low == high and len(others):
        return min(low, middle_of(others)[0]), max(high, middle_of(others)[1])
    return low, high


@settings(max_examples=few(60))
@given(tables, st.integers(1, 5))
def test_numbers__are_themselves_or_end_on_multiples_of_a_step_that_the_middle_has_twenty_of(case, k):
    flow = flow_of(random_table(*case), k)
    values, grid = np.sort(values_of(flow, "number")), grids(flow)["number"]
    distinct, counts = np.unique(values, return_counts=True)
    assert (grid.step == "value") == (counts.min() >= 2 * k)
    if grid.step == "value":
        assert grid.low.tolist() == grid.high.tolist() == distinct.tolist()
        return
    step, whole = Fraction(repr(grid.step)), bool(np.all(values % 1 == 0))
    assert f"{grid.step:e}".split("e")[0].rstrip("0.") in ("1", "2", "5")
    low, high = middle_of(values)
    width = high - low
    assert width == 0 or 20 <= width / grid.step <= 51 or (whole and grid.step == 1 and width < 20)
    if low == values[0] == values[-1] and not whole:
        return
    assert all(Fraction(repr(float(end))) % step == 0 for end in grid.low)
    ends_beyond = not np.array_equal(grid.low[1:-1], grid.high[1:-1]) or (len(grid.low) < 3 and not whole)
    assert 0 <= values[0] - grid.low[0] < grid.step * (1 + 1e-9)
    assert not ends_beyond or grid.high[-1] - values[-1] <= grid.step * (1 + 1e-9)


def slow_cells(values, step, k):
    """The cells of whole numbers at steps of one, as runs of them, one after the other from the middle outwards."""
    low, high = middle_of(values)
    line = list(range(int(values[0]), int(values[-1]) + 1))

    def tail(far, end):
        """The runs from the middle on to the outermost cell, and that cell, which holds the fewest that are k."""
        last = next((n for n in range(1, len(far)) if np.isin(values, far[-n:]).sum() >= k), len(far))
        near, outermost, runs, width = far[: len(far) - last], far[len(far) - last :], [], 1
        while near:
            while width < len(near) and np.isin(values, near[:width]).sum() < k:
                width *= 2
            if np.isin(values, near[:width]).sum() < k:
                break
            runs.append(near[:width])
            near = near[width:]
        return runs, near + outermost

    assert step == 1
    assert np.isin(values, [one for one in line if one < low]).sum() >= k
    assert np.isin(values, [one for one in line if one > high]).sum() >= k
    below, lowest = tail([one for one in line[::-1] if one < low], low)
    above, highest = tail([one for one in line if one > high], high)
    middle = [[one] for one in line if low <= one <= high]
    runs = [lowest, *below[::-1], *middle, *above, highest]
    return [(min(run), max(run)) for run in runs]


@pytest.mark.parametrize("k", [1, 2, 5, 9])
@pytest.mark.parametrize("seed", range(4))
def test_beyond_the_middle__cells_double_until_k_are_in_each(k, seed):
    rng = np.random.default_rng(seed)
    values = np.sort(np.concatenate([rng.integers(0, 21, 400), rng.geometric(0.05, 20) + 20, -rng.geometric(0.1, 20)]))
    grid = grids(flow_of(random_table(seed, len(values)).assign(number=values.astype(float)), k))["number"]
    assert list(zip(grid.low, grid.high, strict=True)) == slow_cells(values, grid.step, k)
    assert k == 1 or grid.even is not None
    assert k == 1 or "wider beyond" in grid.describe()


@pytest.mark.parametrize("seed", range(3))
def test_of_rows_of_persons__k_persons_are_in_each_cell_beyond_the_middle(seed):
    rng = np.random.default_rng(seed)
    table = random_table(seed, 600).assign(number=np.round(rng.exponential(20, 600)), who=rng.integers(0, 90, 600))
    schema = Schema.of(table, quasi_identifying=QUASI, sensitive=["class"], person="who")
    grid = grids(Flow(table, schema, Settings(k=4, numbers="public")))["number"]
    high = middle_of(np.sort(table["number"].to_numpy()))[1]
    for low, end in zip(grid.low[grid.low > high], grid.high[grid.low > high], strict=True):
        assert table["who"][table["number"].between(low, end)].nunique() >= 4


def test_one_far_value__leaves_all_others_their_steps():
    table = random_table(0, 400).assign(
        number=[1e12, *np.random.default_rng(0).integers(0, 100, 399)], date=[pd.Timestamp("9999-12-31")]
        + list(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(399), unit="D")),
    )  # fmt: skip
    flow = flow_of(table, 3)
    assert [grids(flow)[name].step for name in QUASI] == [2, "week"]
    assert flow.verification.passed
    assert len(grids(flow)["number"].low) > 45 < len(grids(flow)["date"].low)
    assert grids(flow)["date"].domain[1] == "9999-12-31"
    with_time = flow_of(table.assign(date=table["date"] + pd.Timedelta(hours=5)), 3)
    assert grids(with_time)["date"].domain[1] == "9999-12-31T23:59:59"
    assert with_time.verification.passed


@settings(max_examples=few(60))
@given(tables)
def test_dates__end_where_parts_of_a_calendar_do(case):
    flow = flow_of(random_table(*case))
    grid = grids(flow)["date"]
    whole_days = bool(np.all(values_of(flow, "date") % DAY == 0))
    for end in grid.low:
        first = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(end))
        assert first.time() == dt.time()
        assert grid.step != "week" or grid.coded[0] or first.weekday() == 0
        assert grid.step not in ("month", "quarter", "year") or first.day == 1
        assert grid.step != "quarter" or first.month in (1, 4, 7, 10)
    for end in grid.high:
        after = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(end) + whole_days * DAY)
        assert after.time() == dt.time()
        assert grid.step not in ("month", "quarter", "year") or after.day == 1


@settings(max_examples=few(40))
@given(tables, st.sampled_from(list(GENERALIZERS)), st.integers(1, 4))
def test_release__is_written_in_cells_of_the_grid_that_hold_every_record(case, generalizer, k):
    flow = flow_of(random_table(*case), k, generalizer)
    everybody, released = flow.table.iloc[flow.release.order].reset_index(drop=True), flow.released
    total = 0.0
    for name in QUASI:
        column, grid = flow.schema[name], grids(flow)[name]
        values = values_of(flow, name)
        codes = len(np.unique(values)) + bool(everybody[name].isna().any())
        share = 1 / codes if everybody[name].isna().any() else 0.0
        numbers = numbers_of(everybody[name], column)[0].astype(float)
        width = values.max() - values.min()
        for text, number in zip(released[name], numbers, strict=True):
            cell = parse_cell(None if pd.isna(text) else text, column.kind)
            if cell.low is None:
                assert np.isnan(number)
                continue
            assert cell.low in grid.low
            assert cell.high in grid.high
            assert cell.missing if np.isnan(number) else cell.low <= number <= cell.high
            w = share if cell.missing else 0.0
            inside = min(cell.high, values.max()) - max(cell.low, values.min())
            total += 0.0 if cell.is_single else (1 - w) * (inside / width if width > 0 else 0) + w
    cities = [1.0 if text == "*" else text.count(",") + 1.0 for text in released["city"]]
    levels = everybody["city"].nunique()
    total += sum(1.0 if loss == 1 and text == "*" else (loss / levels if loss > 1 else 0.0)
                 for loss, text in zip(cities, released["city"], strict=True))  # fmt: skip
    assert flow.utility.gcp == pytest.approx(total / (3 * len(everybody)))
    assert flow.verification.passed or generalizer == "tiered"


@settings(max_examples=few(40))
@given(tables, st.sampled_from(["uniform", "pack", "refine"]))
def test_boxes__are_the_smallest_that_hold_their_group(case, generalizer):
    flow = flow_of(random_table(*case), 3, generalizer)
    rows = pd.DataFrame({"part": flow.parts.part[flow.release.order]})
    for name in QUASI:
        grid, numbers = grids(flow)[name], numbers_of(flow.table[name], flow.schema[name])[0].astype(float)
        for part, of_part in rows.groupby("part").groups.items():
            inside = numbers[flow.parts.part == part]
            inside = inside[~np.isnan(inside)]
            texts = flow.released[name][of_part]
            if not len(inside):
                assert texts.isna().all()
                continue
            cell = parse_cell(texts.iloc[0], flow.schema[name].kind)
            assert texts.nunique() == 1
            assert cell.low == grid.low[slow_cell(grid, inside.min())]
            assert cell.high == grid.high[slow_cell(grid, inside.max())]


@settings(max_examples=few(40))
@given(tables)
def test_hulls__of_codes_lose_what_their_written_boxes_lose(case):
    flow = flow_of(random_table(*case))
    for exact, wide in zip(flow.encoded.encodings, flow.coarse.encodings, strict=True):
        if not exact.is_interval:
            assert wide is exact
            continue
        grid, (low, high) = grids(flow)[exact.name], code_ends(wide)
        for first, last in [(0, 0), (0, len(exact.labels) - 1), (len(exact.labels) // 2, len(exact.labels) - 1)]:
            cell = parse_cell(
                "[{}, {}]".format(*(grid.low_text(slow_cell(grid, exact.low[first])),
                                    grid.high_text(slow_cell(grid, exact.low[last])))), exact.kind,
            )  # fmt: skip
            assert high[last] - low[first] == pytest.approx(cell_ncp(cell, exact), abs=1e-12)


def test_uniform__loses_what_its_nodes_say():
    flow = flow_of(random_table(4, 200), 5, "uniform")
    assert flow.utility.gcp == pytest.approx(cut_gcp(flow.tree, flow.node_ncp, flow.pruning.cut()))
    assert flow.utility.gcp > flow.but(numbers="range").utility.gcp
    point = next(point for point in flow.by_k if point.k == 5)
    assert point.gcp == pytest.approx(flow.utility.gcp)
    ranges = flow.but(numbers="range")
    for one in (flow, ranges):
        assert loss_by_ends(one) == pytest.approx({"public": flow.utility.gcp, "range": ranges.utility.gcp})


def test_leap_years_and_month_ends():
    dates = pd.to_datetime(["2024-02-29", "2024-02-01", "2023-02-28", "2023-03-01"] * 5)
    table = random_table(0, 20).assign(date=dates)
    flow = flow_of(table, 2, "uniform", grids={"date": ["month"]})
    grid = grids(flow)["date"]
    texts = [(grid.low_text(cell), grid.high_text(cell)) for cell in range(len(grid.low))]
    assert texts[0] == ("2023-02-01", "2023-02-28")
    assert texts[-1] == ("2024-02-01", "2024-02-29")
    assert texts[1] == ("2023-03-01", "2023-03-31")


@pytest.mark.parametrize("step", [*DATE_STEPS])
def test_declared_steps_of_dates(step):
    flow = flow_of(random_table(3, 60, days=4000), 2, grids={"date": [step]})
    assert grids(flow)["date"].step == step
    assert flow.verification.passed


def test_declared_steps_of_numbers__and_their_origin():
    table = random_table(3, 60)
    grid = grids(flow_of(table, 1, grids={"number": [7, 3]}))["number"]
    assert set(grid.low % 7) == {3}
    assert set(grid.high % 7) == {2}
    assert flow_of(table, 2, grids={"number": [0.3, 0]}).verification.passed
    assert flow_of(table, 2, grids={"number": [1.5, 0]}).verification.passed


def test_few_records__share_the_outermost_cell():
    ages = [17, 19, *range(30, 60), 88, 90]
    table = random_table(0, len(ages)).assign(number=np.array(ages, float))
    grid = grids(flow_of(table, 3))["number"]
    assert grid.step == 2
    assert grid.domain == ("16", "91")
    assert (grid.low_text(1), grid.high_text(0)) == ("32", "31")
    assert grid.coded == (True, True)
    assert grid.low_text(len(grid.low) - 1) == "58"
    assert grid.describe() == "steps of 2, up to 31 as one, from 58 on as one"
    free = grids(flow_of(table, 1))["number"]
    assert (free.domain, free.coded) == (("16", "91"), (False, False))
    declared = grids(flow_of(table, 3, grids={"number": [2]}))["number"]
    assert (declared.domain, declared.coded, declared.even) == (("0", "99"), (True, True), None)


def test_values_that_many_have__are_cells_themselves():
    table = random_table(0, 60).assign(number=np.repeat([1.5, 2.5, 90.0], 20))
    values = grids(flow_of(table, 10))["number"]
    assert (values.step, values.low.tolist(), values.coded) == ("value", [1.5, 2.5, 90], (False, False))
    assert values.describe() == "the values themselves, each of which 2k people or more have"
    assert grids(flow_of(table, 11))["number"].step == 2
    assert grids(flow_of(table, 10, grids={"number": [5]}))["number"].step == 5


def test_few_persons__share_the_outermost_cell_whatever_their_rows():
    ages = [*range(30, 60), *[90] * 5, *[88] * 3]
    table = random_table(0, len(ages)).assign(number=np.array(ages, float), who=[*range(30), *[30] * 5, 31, 31, 29])
    roles = {"quasi_identifying": [*QUASI, "city"], "sensitive": ["class"]}
    rows = grids(Flow(table, Schema.of(table, **roles, identifying=["who"]), Settings(k=3, numbers="public")))
    whole = Flow(table, Schema.of(table, **roles, person="who"), Settings(k=3, numbers="public"))
    persons = grids(whole)["number"]
    assert (rows["number"].coded[1], persons.coded[1]) == (False, True)
    top = table["who"][table["number"] >= persons.low[-1]]
    assert top.nunique() >= 3 > table["who"][table["number"] >= persons.low[-1] + persons.step].nunique()


def test_declared_domains__are_the_outermost_ends():
    table = random_table(0, 40).assign(number=np.arange(40.0) + 10)
    grid = grids(flow_of(table, 3, domains={"number": [5, 77]}))["number"]
    assert grid.domain == ("5", "77")


def test_dictionary__names_no_extreme_unless_ranges_do():
    table = random_table(1, 60).assign(number=np.arange(60.0) * 1.37 + 0.11)
    for numbers in ("public", "mean", "median", "range"):
        flow = flow_of(table, 3, numbers=numbers)
        entry = next(one for one in flow.release.dictionary() if one["name"] == "number")
        extremes = {repr(0.11), repr(float(table["number"].max()))}
        assert bool(extremes & {entry["lowest"], entry["highest"]}) == (numbers == "range")
        assert ("public grid" in entry["cells"]) == (numbers == "public")


def test_another_value_in_the_same_cell__changes_nothing_that_is_written():
    table = random_table(5, 60, "whole")
    table["number"] = np.random.default_rng(1).normal(0, 20, 60).clip(-59, 59)
    declared = {"domains": {"number": [-60, 60]}, "grids": {"number": [5]}}
    flow = flow_of(table, 3, **declared)
    grid = grids(flow)["number"]
    cell = grid.cells(table["number"].to_numpy())
    inner = (cell > 0) & (cell < len(grid.low) - 1)
    moved = table["number"].where(~inner, (grid.low[cell] + grid.high[cell]) / 2)
    assert inner.sum() > 40
    other = flow_of(table.assign(number=moved), 3, **declared)

    def write(one):
        of = (
            one.table,
            one.schema,
            one.encoded,
            flow.parts,
            "sets",
            "public",
            one.grids,
            np.arange(len(one.table)),
        )
        return release_of(*of).frame()

    assert write(flow).equals(write(other))


def test_shared_codes__still_hold_every_value():
    table = random_table(2, 400, "decimal").assign(number=lambda t: t["number"].fillna(0) + np.arange(400) * 1e-4)
    schema = Schema.of(table, quasi_identifying=["number"], sensitive=["class"], identifying=["date", "city"])
    encoded = encode(table, schema, max_codes=16)
    grid = grids_of(encoded, schema, 3)["number"]
    cells = grid.cells(table["number"].to_numpy())
    assert np.all((grid.low[cells] <= table["number"]) & (table["number"] <= grid.high[cells]))
    wide = on_grids(encoded, {"number": grid}).encodings[0]
    assert np.all((wide.low <= encoded.encodings[0].low) & (wide.high >= encoded.encodings[0].high))


@pytest.mark.parametrize(
    ("kind", "grid"),
    [("numeric", [0]), ("numeric", ["month"]), ("date", ["decade"]), ("categorical", [5]), ("numeric", [float("nan")])],
)
def test_a_step_that_cannot_be__is_refused(kind, grid):
    with pytest.raises(SchemaError):
        Column("a", "quasi-identifying", kind, grid=grid)


def test_a_step_that_is_too_fine__is_refused():
    with pytest.raises(SchemaError, match="more than 100,000 cells"):
        grids(flow_of(random_table(0, 40), grids={"number": [1e-6]}))


def test_schema__keeps_the_grid():
    table = random_table(0, 40)
    schema = flow_of(table, grids={"number": [5, 2], "date": ["month"]}).schema
    assert schema["number"].grid == (5.0, 2.0)
    assert Schema.from_json(schema.to_json()) == schema


# Public groups of levels.


def leveled(seed: int = 0) -> tuple[pd.DataFrame, Schema]:
    """A table with levels in declared groups, in proposed ones, and too few for several."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "town": rng.choice([f"town {letter}" for letter in "abcdefghij"], 120, p=np.arange(1, 11) / 55),
            "job": rng.choice([*(f"job {number}" for number in range(7)), None], 120),
            "sex": rng.choice(["f", "m"], 120),
            "ill": rng.choice(["yes", "no"], 120),
        }
    )
    schema = Schema.of(table, quasi_identifying=["town", "job", "sex"], sensitive=["ill"])
    north = [[f"town {letter}" for letter in letters] for letters in ("acegi", "bdf")]  # h and j alone
    return table, schema.with_column("town", groups=north)


@pytest.mark.parametrize("generalizer", ["uniform", "tiered", "refine", "pack"])
def test_groups__sets_are_closed_and_single_levels_stay(generalizer: str) -> None:
    table, schema = leveled()
    flow = Flow(table, schema, Settings(k=6, generalizer=generalizer, writing="groups"), rng=np.random.default_rng(1))
    towns = [set("acegi"), set("bdf"), {"h"}, {"j"}]
    jobs = [{f"job {number}" for number in numbers} for numbers in ((0, 1, 2), (3, 4, 5), (6,))]
    public = {"town": [{f"town {letter}" for letter in group} for group in towns], "job": jobs, "sex": [{"f", "m"}]}
    assert flow.verification.passed or generalizer == "tiered"
    wide = 0
    for name, groups in public.items():
        rows = flow.parts.part[flow.release.order]
        for row, text in enumerate(flow.released[name]):
            cell = parse_cell(None if pd.isna(text) else str(text), Kind.CATEGORICAL)
            levels = set().union(*groups) if cell.withheld else set(cell.levels)
            if len(levels) + cell.missing > 1:
                assert levels == set().union(*(group for group in groups if group & levels))
            if generalizer != "tiered":
                own = table[name].iloc[flow.release.order[rows == rows[row]]]
                assert set(own.dropna()) <= levels
                assert all(group & set(own) for group in groups if group & levels)
                wide += len(levels) > own.nunique()
    assert wide or generalizer == "tiered"
    plain = flow.but(writing="sets")
    assert flow.utility.gcp >= plain.utility.gcp


def test_groups__are_declared_for_categories_and_kept() -> None:
    table, schema = leveled()
    assert Schema.from_json(schema.to_json()) == schema
    assert schema["town"].groups is not None
    for name, groups in (("town", [["a"], ["a"]]), ("town", [[]])):
        with pytest.raises(SchemaError):
            schema.with_column(name, groups=groups)
    with pytest.raises(SchemaError):
        Schema.of(table.assign(age=1), quasi_identifying=["age"]).with_column("age", groups=[["a"]])
