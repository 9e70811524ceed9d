"""The figures of a release, from its files alone: the original table and the released one, both as CSV, and the roles.

Groups are rows whose released quasi-identifying cells are equal, as texts. Which original a released row has is told by
an unchanged column without equal values.
"""

from collections import Counter
from functools import cached_property
from io import BytesIO
from itertools import combinations, product
from math import exp, log, sqrt

import numpy as np
import pandas as pd
from scipy.stats import t as student

from anonymizer.flow import Flow
from anonymizer.measuring.bins import bins_of as own_bins
from anonymizer.measuring.coefficients import DRAWS
from anonymizer.measuring.ranges import questions_of
from anonymizer.schema import Kind, Schema
from tests.naive_margins import Part, expanded, parts_of, values_of
from tests.naive_measures import bins_of_column, sides_of, slow_figures, two_way_tables
from tests.test_pipeline_figures import INTERVAL, loss, members, number

Names = list[str]


def percent(part: float) -> str:
    """A share as Copse writes it: neither a small one nor what a nearly full one lacks is rounded away."""
    part = round(part, 12)
    if 0 < part < 0.0005 or 0.9995 <= part < 1:
        return "< 0.1%" if part < 0.5 else "> 99.9%"
    return f"{part:.1%}".replace(".0%", "%")


def gate_percent(part: float) -> str:
    """A share as the gate writes it, with more digits near none and all."""
    if 0.9999 < part < 1:
        return "> 99.99%"
    return f"{part:.{0 if 0.1 <= part <= 0.9 or part == 1 else 1 if 0.01 <= part <= 0.99 else 2}%}"


def some(count: int, what: str) -> str:
    """A number with its noun."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def ends_of(cell: str) -> tuple[float, float]:
    """The ends of an interval; of a lone number or date, both are it."""
    ends = INTERVAL.fullmatch(cell)
    low, high = ends.groups() if ends else (cell, cell)
    return number(low), number(high)


def read(content: bytes, schema: Schema, also: Names) -> pd.DataFrame:
    """A CSV file as a table: texts, and numbers and dates in the columns of ``also`` that are such."""
    table = pd.read_csv(BytesIO(content), dtype=str, keep_default_na=False, na_values=[""])
    for name in table.columns.intersection(also):
        if schema[name].kind is Kind.NUMERIC:
            table[name] = pd.to_numeric(table[name])
        elif schema[name].kind is Kind.DATE:
            table[name] = pd.to_datetime(table[name])
        else:
            table[name] = table[name].astype(object).where(table[name].notna(), None)
    return table


class Risk:
    """Linking risk of rows: ``risks`` (n,), the share of a row's group that its person owns, ``sizes`` in persons."""

    def __init__(self, keys: list[tuple[str, ...]], who: list[object]) -> None:
        rows, owned = Counter(keys), Counter(zip(keys, who, strict=True))
        persons = Counter(key for key, _ in owned)
        self.rows, self.n = rows, len(keys)
        self.persons = {key: persons[key] for key in rows}
        self.risks = np.array([owned[key, one] / rows[key] for key, one in zip(keys, who, strict=True)])
        self.sizes = np.array([persons[key] for key in keys])
        self.owners = len(set(who))
        self.groups, self.smallest, self.highest = len(rows), int(self.sizes.min()), float(self.risks.max())
        self.unique = int((self.risks == 1).sum())

    def above(self, limit: float) -> float:
        """The share of the rows whose risk is above a limit."""
        return float((self.risks > limit * (1 + 1e-9)).mean())


class Naive:
    """All figures; ``link``: the unchanged column that tells which row is whose; ``flow``: whose boxes say how they are
    read."""

    def __init__(self, original: bytes, released: bytes, schema: Schema, k: int, link: str, flow: Flow) -> None:
        self.schema, self.k, self.flow = schema, k, flow
        self.names, self.sensitive = list(schema.quasi_identifying), list(schema.sensitive)
        self.insensitive = list(schema.insensitive)
        self.unchanged = [name for name in schema.released if name not in self.names]
        self.table = read(original, schema, [column.name for column in schema.columns])
        self.released = read(released, schema, self.unchanged)
        row_of = {value: row for row, value in enumerate(self.table[link])}
        assert len(row_of) == len(self.table)
        self.order = np.array([row_of[value] for value in self.released[link]])
        self.there = self.table.iloc[self.order].reset_index(drop=True)
        self.n, self.left_out = len(self.table), len(self.table) - len(self.released)
        self.unit = "person" if schema.person else "row"

    def keys(self, frame: pd.DataFrame, names: Names) -> list[tuple[str, ...]]:
        texts = frame[names].astype(object).where(frame[names].notna(), "(missing)").astype(str)
        return list(texts.itertuples(index=False, name=None))

    def whose(self, table: pd.DataFrame) -> list[object]:
        return list(table[self.schema.person]) if self.schema.person else list(range(len(table)))

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        return self.keys(self.released, self.names)

    @cached_property
    def before(self) -> Risk:
        return Risk(self.keys(self.table, self.names), self.whose(self.table))

    @cached_property
    def after(self) -> Risk:
        return Risk(self.groups, self.whose(self.there))

    # What is lost.

    @cached_property
    def losses(self) -> dict[str, float]:
        """The detail that each column loses; who was left out loses all."""
        losses = {}
        for name in self.names:
            kind, cells = self.schema[name].kind, self.released[name].value_counts(dropna=False)
            values = self.table[name] if kind is Kind.CATEGORICAL else self.table[name].map(number, na_action="ignore")
            lost = sum(loss(cell, values, kind) * count for cell, count in cells.items())
            losses[name] = (lost + self.left_out) / self.n
        return losses

    @property
    def gcp(self) -> float:
        return float(np.mean(list(self.losses.values())))

    @property
    def gcp_there(self) -> float:
        """The same of the rows that are there."""
        return (self.gcp * self.n - self.left_out) / (self.n - self.left_out)

    @property
    def discernibility(self) -> int:
        return sum(size**2 for size in self.after.rows.values()) + self.left_out * self.n

    def error(self, frame: pd.DataFrame, keys: list[tuple[str, ...]]) -> float:
        """The share of rows without the most frequent value of the target in their group."""
        most = frame.groupby(pd.Series(keys, index=frame.index))[self.schema.target].agg(
            lambda values: values.value_counts(dropna=False).max()
        )
        return 1 - most.sum() / len(frame)

    @property
    def majority(self) -> float:
        return self.table[self.schema.target].value_counts(dropna=False).max() / self.n

    @cached_property
    def two_way(self) -> dict[tuple[str, str], tuple[float, float]]:
        """How far each two-way table is away: the share of rows in a wrong cell, and Hellinger's distance."""
        distances = {}
        for pair in [*combinations(self.names, 2), *product(self.names, self.sensitive)]:
            before, after = two_way_tables(self.table, self.released, self.schema, *pair, self.parts)
            both = np.array([(before[place], after[place]) for place in {*before, *after}])
            wrong, roots = np.abs(np.diff(both)).sum(), (np.diff(np.sqrt(both)) ** 2).sum()
            # Nothing of who was left out is in any cell after.
            distances[pair] = (wrong + self.left_out) / 2 / self.n, np.sqrt((roots + self.left_out) / 2 / self.n)
        return distances

    @property
    def cross_tables(self) -> dict[tuple[str, str], float]:
        """The share of rows in a wrong cell of each."""
        return {pair: wrong for pair, (wrong, _) in self.two_way.items()}

    @property
    def mean_distance(self) -> float:
        """The mean of these."""
        return float(np.mean(list(self.cross_tables.values())))

    @cached_property
    def mean_even(self) -> float:
        """The same of boxes that are read evenly."""
        distances = []
        for pair in [*combinations(self.names, 2), *product(self.names, self.sensitive)]:
            before, after = two_way_tables(self.table, self.released, self.schema, *pair)
            wrong = sum(abs(before[place] - after[place]) for place in {*before, *after})
            distances.append((wrong + self.left_out) / 2 / self.n)
        return float(np.mean(distances))

    @cached_property
    def ranges(self) -> tuple[float, float, float]:
        """How far counts of ranges are off: as boxes are read, evenly, and by exact one-way tables alone."""
        encoded, columns = self.flow.encoded, []
        binned = [own_bins(e, np.bincount(codes, minlength=e.n_codes), 10, 12)
                    for e, codes in zip(encoded.encodings, encoded.codes.columns, strict=True)]  # fmt: skip
        for name, in_bins in zip(self.names, binned, strict=True):
            bins = bins_of_column(self.table, self.schema, name)
            order = range(in_bins.count - 1) if bins.interval else [*bins.alone, "others"][: in_bins.count - 1]
            rows = [[{bins.of(value): 1.0} for value in self.table[name]]]
            rows += [sides_of(bins, self.released, self.schema, name, parts) for parts in (self.parts, None)]
            order = [*order, "missing"]
            columns.append([np.array([[row.get(one, 0.0) for one in order] for row in side]) for side in rows])
        errors = []
        for question in questions_of(binned):
            true, raked, even = (
                np.prod([columns[column][side] @ some for column, some in question], axis=0).sum() for side in range(3)
            )
            alone = self.n * np.prod([(columns[column][0] @ some).mean() for column, some in question])
            errors.append([abs(answer - true) / max(true, self.n / 100) for answer in (raked, even, alone)])
        raked, even, alone = np.mean(errors, axis=0).tolist()
        return raked, even, alone

    @property
    def baselines(self) -> str:
        """What is said beside them."""
        words = f"Read evenly: {percent(self.mean_even)}. One-way tables alone: {percent(self.mean_alone)}."
        return words + " They would tell as much as this release." * (self.mean_distance >= self.mean_alone)

    @property
    def mean_alone(self) -> float:
        """The mean share of rows in a wrong cell of the products of exact one-way tables."""
        distances = []
        for pair in [*combinations(self.names, 2), *product(self.names, self.sensitive)]:
            before, _ = two_way_tables(self.table, self.released, self.schema, *pair)
            first, second = Counter(), Counter()
            for (one, other), count in before.items():
                first[one] += count
                second[other] += count
            cells = product(first, second)
            off = sum(abs(first[a] * second[b] / self.n - before.get((a, b), 0)) for a, b in cells)
            distances.append(off / 2 / self.n)
        return float(np.mean(distances))

    @property
    def hellinger(self) -> float:
        return float(np.mean([distance for _, distance in self.two_way.values()]))

    @cached_property
    def marginals(self) -> tuple[float, float, float]:
        """Of single columns, on average: the Hellinger distance, the divergence in bits, and the detail lost by
        ranks."""
        figures = []
        for name in self.names:
            bins, after = bins_of_column(self.table, self.schema, name), Counter()
            before = Counter(map(bins.of, self.table[name]))
            for side in sides_of(bins, self.released, self.schema, name, self.parts):
                for place, share in side.items():
                    after[place] += share
            places = [place for place in {*before, *after} if before[place] or after[place] > 1e-9]
            apart = sum((sqrt(before[place]) - sqrt(after[place])) ** 2 for place in places) + self.left_out
            totals = [sum(some[place] + 0.5 for place in places) for some in (before, after)]
            p = {place: (before[place] + 0.5) / totals[0] for place in places}
            q = {place: (after[place] + 0.5) / totals[1] for place in places}
            bits = sum(p[place] * log(p[place] / q[place]) / log(2) for place in places)
            ranks = sum(self.rank_loss(name, cell) for cell in self.released[name]) + self.left_out
            figures.append((sqrt(apart / 2 / self.n), bits, ranks / self.n))
        return tuple(np.mean(figures, axis=0).tolist())

    def rank_loss(self, name: str, text: object) -> float:
        """What a cell loses where numbers and dates stand for the share of rows below them."""
        kind = self.schema[name].kind
        values = self.table[name] if kind is Kind.CATEGORICAL else self.table[name].map(number, na_action="ignore")
        lost, ends = loss(text, values, kind), INTERVAL.search(str(text))
        if kind is Kind.CATEGORICAL or not ends:
            return lost
        present = values.dropna()

        def rank(end: str) -> float:
            at = min(max(number(end), present.min()), present.max())
            return (present < at).sum() + (present == at).sum() / 2

        w = 1 / values.nunique(dropna=False) if "missing" in text else 0.0
        whole = rank(str(present.max())) - rank(str(present.min()))
        return (1 - w) * (rank(ends[2]) - rank(ends[1])) / whole + w

    # What a survey says.

    @cached_property
    def parts(self) -> dict[str, list[list[tuple[Part, float]]]]:
        """What may be said of each released row in the columns that have a one-way table, with its share."""
        place, names = np.argsort(np.argsort(self.order)), self.flow.boxed.readings
        return {name: [own[at] for at in place] for name in names for own in [parts_of(self.flow, name)]}

    def spread_out(self, name: str) -> pd.DataFrame:
        """The released column, a row for each level that a row may have, one for its mean number, with the share."""
        rows = expanded(self.flow, name)
        place = {row: at for at, row in enumerate(self.order)}
        return rows.assign(row=rows["row"].map(place)).sort_values("row", kind="stable", ignore_index=True)

    @cached_property
    def survey(self) -> list[tuple[str, str, str, tuple[float, ...], tuple[float, ...]]]:
        """What, column, level, and the figure with its interval before and after."""
        figures = []
        for name in self.names:
            if self.schema[name].kind is Kind.DATE:
                continue
            before = self.table[[name]].assign(row=range(self.n), share=1.0)
            after = self.spread_out(name)
            levels: list[str | None] = [None]
            if self.schema[name].kind is Kind.CATEGORICAL:
                levels = [*sorted(self.table[name].dropna().unique()), "missing"]
            for level in levels:
                old = slow_figures(before, before["share"], name, level, self.table, {})
                new = slow_figures(after, after["share"], name, level, self.there, {})
                for what in old:
                    if level != "missing" or self.table[name].isna().any():
                        figures.append((what, name, level or "", old[what], new[what]))
        return figures

    @cached_property
    def correlations(self) -> dict[tuple[str, str], tuple[float, float]]:
        """Of columns of numbers of which one is generalized at least, before and after."""
        numbers = [name for name in self.schema.released if self.schema[name].kind is Kind.NUMERIC]
        after = {name: self.spread_out(name)[name] if name in self.names else self.released[name] for name in numbers}
        return {
            (first, second): (self.table[first].corr(self.table[second]), after[first].corr(after[second]))
            for first, second in combinations(numbers, 2)
            if {first, second} & set(self.names)
        }

    # Sensitive values.

    def of_groups(self, name: str) -> list[list[object]]:
        """The values of a sensitive column, group by group."""
        groups: dict[tuple[str, ...], list[object]] = {}
        for key, value in zip(self.groups, self.released[name], strict=True):
            groups.setdefault(key, []).append(value)
        return list(groups.values())

    def persons_of_values(self, name: str) -> list[list[object]]:
        """The same, of each person and value of a group one."""
        groups: dict[tuple[str, ...], dict[object, None]] = {}
        for key, value, who in zip(self.groups, self.released[name], self.whose(self.there), strict=True):
            groups.setdefault(key, {})[value, who] = None
        return [[value for value, _ in pairs] for pairs in groups.values()]

    def distinct(self, name: str) -> int:
        return min(len(set(values)) for values in self.of_groups(name))

    def entropy(self, name: str) -> float:
        def effective(values: list[object]) -> float:
            counts, n = Counter(values), len(values)
            return exp(-sum(c / n * log(c / n) for c in counts.values()))

        return min(map(effective, self.persons_of_values(name)))

    def closeness(self, name: str) -> float:
        """The largest distance of a group from the whole table: ordered of numbers, equal of levels."""
        groups = self.persons_of_values(name)
        whole = Counter(value for values in groups for value in values)
        if self.schema.person:
            pairs = set(zip(self.released[name], self.whose(self.there), strict=True))
            whole = Counter(value for value, _ in pairs)
        domain, total = sorted(whole), whole.total()
        worst = 0.0
        for values in groups:
            inside = Counter(values)
            gaps = np.array([inside[v] / len(values) - whole[v] / total for v in domain])
            if self.schema[name].kind is Kind.CATEGORICAL:
                distance = np.abs(gaps).sum() / 2
            else:
                distance = np.abs(np.cumsum(gaps)).sum() / (len(domain) - 1)
            worst = max(worst, float(distance))
        return worst

    def spread(self, name: str) -> tuple[float, float]:
        """The lowest RSD and the lowest spread of a group, of a column of numbers without missing ones."""
        every = self.released[name].to_numpy(float)
        mean, whole = every.mean(), ((every - every.mean()) ** 2).mean()
        groups = [np.array(values, float) for values in self.of_groups(name)]
        rsd = min(((y - y.mean()) ** 2).sum() / ((y - mean) ** 2).sum() for y in groups)
        return rsd, min(np.sqrt(((y - y.mean()) ** 2).mean() / whole) for y in groups)

    def homogeneous(self, name: str) -> tuple[int, int]:
        """The rows, and the groups, that share one value."""
        single = [len(values) for values in self.of_groups(name) if len(set(values)) == 1]
        return sum(single), len(single)

    def unique_by(self, names: Names, boxes: bool = False) -> int:
        """The rows that nobody else is like in some unchanged columns, in the box too or not."""
        keys = self.keys(self.released, [*names, *self.names] if boxes else names)
        who: dict[tuple[str, ...], set[object]] = {}
        for key, one in zip(keys, self.whose(self.there), strict=True):
            who.setdefault(key, set()).add(one)
        return sum(len(who[key]) == 1 for key in keys)

    @cached_property
    def linking(self) -> float:
        """What the chance of a right link is at most: the rows of a person that may be in a group, over its rows."""
        if not self.schema.person:
            return 1 / min(self.after.rows.values())
        fits = self.fitting
        return max(min(n, self.after.rows[key]) / self.after.rows[key] for key, of in fits.items() for n in of.values())

    @cached_property
    def fitting(self) -> dict[tuple[str, ...], Counter]:
        """How many rows of each person fit the box of each group."""
        fits = {}
        for key in self.after.rows:
            inside = np.ones(self.n, bool)
            for name, cell in zip(self.names, key, strict=True):
                inside &= self.admits(name, cell)
            fits[key] = Counter(self.table[self.schema.person][inside])
        return fits

    def admits(self, name: str, cell: str) -> np.ndarray:
        """Which original rows a cell admits."""
        values = self.table[name]
        if cell == "*":
            return np.ones(self.n, bool)
        if self.schema[name].kind is Kind.CATEGORICAL:
            return values.where(values.notna(), "missing").isin(members(cell)).to_numpy()
        return values.between(*ends_of(cell)).to_numpy()

    @cached_property
    def together(self) -> int:
        """The fewest persons who fit all groups in which one person has rows."""
        of: dict[object, set[tuple[str, ...]]] = {}
        for key, who in zip(self.groups, self.whose(self.there), strict=True):
            of.setdefault(who, set()).add(key)
        return min(len(set.intersection(*(set(self.fitting[key]) for key in keys))) for keys in of.values())

    # A regression of the target on all quasi-identifiers.

    def design(self, response: np.ndarray, numbers: bool) -> tuple[np.ndarray, np.ndarray]:
        """The terms of every row, original and released: a constant, numbers and dates, and levels but the first."""
        before, after = [np.ones(self.n)], [np.ones(len(self.released))]
        draws, place = np.random.default_rng(DRAWS), np.argsort(np.argsort(self.order))
        for name in self.names:
            own = pd.Series(values_of(self.flow, name, draws), dtype=object).iloc[place].reset_index(drop=True)
            if self.schema[name].kind is not Kind.CATEGORICAL:
                assert not self.table[name].isna().any()
                values = self.table[name].map(number).to_numpy(float)
                before.append(values)
                unit = 86_400e6 if self.schema[name].kind is Kind.DATE else 1
                after.append(np.clip(own.to_numpy(float) / unit, values.min(), values.max()))
                continue
            texts = self.table[name].where(self.table[name].notna(), "missing")
            count, inside = Counter(texts), Counter(texts[response == 1])
            often = sorted(count, key=lambda level: (-count[level], level == "missing", level))

            def least(levels: list[str], count: Counter = count, inside: Counter = inside) -> int:
                people, of_class = (sum(how[level] for level in levels) for how in (count, inside))
                return people if numbers else min(of_class, people - of_class)

            alone = [level for level in often[1:] if least([level]) >= 10][:11]
            others = [level for level in often[1:] if level not in alone]
            terms = [[level] for level in alone] + [others] * (least(others) >= 10)
            for term in terms:
                before.append(texts.isin(term).to_numpy(float))
                after.append(own.where(own.notna(), "missing").isin(term).to_numpy(float))
        return np.column_stack(before), np.column_stack(after)

    @cached_property
    def coefficients(self) -> tuple[int, int, float]:
        """How many coefficients there are, how many of the release lie in the original's 95% intervals, and the median
        distance in standard errors."""
        target, inside, distances = self.schema.target, [], []
        numbers = self.schema[target].kind is not Kind.CATEGORICAL
        if numbers:
            responses = [(self.table[target].to_numpy(float), self.released[target].to_numpy(float))]
        else:
            count = Counter(self.table[target])
            often = sorted(count, key=lambda level: (-count[level], level))
            classes = often[1:] if len(often) <= 2 else often[:5]
            responses = [tuple((of[target] == one).to_numpy(float) for of in (self.table, self.released))
                         for one in classes]  # fmt: skip
        for old, new in responses:
            if not numbers and min(old.sum(), self.n - old.sum()) < 10:
                continue
            x, boxes = self.design(old, numbers)
            assert np.linalg.matrix_rank(x / x.max(axis=0)) == x.shape[1]
            estimate, error = fit(x, old, numbers)
            reach = student.ppf(0.975, self.n - x.shape[1] if numbers else 10**9) * error
            scaled = boxes / np.abs(boxes).max(axis=0)
            places = [p for p in range(x.shape[1]) if np.linalg.matrix_rank(scaled[:, : p + 1], tol=1e-7)
                      > (np.linalg.matrix_rank(scaled[:, :p], tol=1e-7) if p else 0)]  # fmt: skip
            again = np.full(x.shape[1], np.nan)
            again[places] = fit(boxes[:, places], new, numbers)[0]
            inside += (abs(again - estimate) <= reach)[1:].tolist()
            distances += (abs(again - estimate) / error)[1:].tolist()
        return len(inside), sum(inside), float(np.nanmedian(distances))


def fit(x: np.ndarray, y: np.ndarray, linear: bool) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and their standard errors: least squares, or logistic regression by Newton's method."""
    scale = np.abs(x).max(axis=0)
    x = x / scale
    if linear:
        inverse = np.linalg.inv(x.T @ x)
        estimate = inverse @ x.T @ y
        inverse = inverse * ((y - x @ estimate) ** 2).sum() / (len(x) - x.shape[1])
    else:
        estimate = np.zeros(x.shape[1])
        for _ in range(30):
            share = 1 / (1 + np.exp(-x @ estimate))
            inverse = np.linalg.inv((x.T * (share * (1 - share))) @ x)
            estimate = estimate + inverse @ x.T @ (y - share)
    return estimate / scale, np.sqrt(np.diag(inverse)) / scale
