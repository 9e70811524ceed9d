"""What the pages Ready and Release and the report say in numbers, written again from :mod:`tests.naive_figures`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.schema import Kind
from tests.naive_attacks import SlowIsolation
from tests.naive_figures import Naive, gate_percent, percent, some

Check = tuple[str, Any, Any, str, bool]
"""Its name, what is required, what is so, the sentence, and whether it is judged."""
BOUND = "(A lower bound, by the size of the classes.)"


def left_out(of: Naive, share: float) -> str:
    """What is said of rows that were left out; "" where none may be."""
    if not share:
        return ""
    if not of.left_out:
        return f"No row was left out; {int(share * of.n + 1e-9):,} might have been."
    part = percent(of.left_out / of.n)
    return f"{of.left_out:,} of {of.n:,} rows ({part}) were left out: they are not in the release."


def description(of: Naive, share: float) -> str:
    """What the release is."""
    others = f"every row looks the same as at least {of.after.smallest - 1} others on the quasi-identifying columns"
    if of.unit == "person":
        others = (
            "on the quasi-identifying columns every row looks the same as rows of at least "
            f"{of.after.smallest - 1} other persons"
        )
    contains = "Every released cell covers the original value; unchanged columns are exact."
    return f"This release is {of.k}-anonymous: {others}. {contains} {left_out(of, share)}".strip()


def checks(of: Naive, limits: dict[str, float]) -> list[Check]:
    """The checks with a number in their sentence, but those of sensitive columns."""
    rows, k = min(of.after.rows.values()), of.k
    listed = [("k-anonymity", k, rows, f"Every released row looks the same as at least {rows - 1:,} others "
               f"(smallest class: {some(rows, 'row')}).", True)]  # fmt: skip
    who, people, everybody = ("row", "rows", "rows") if of.unit == "person" else ("person", "people", "people")
    there = f"very {who}" + " who was not left out" * bool(of.left_out and of.unit == "row")
    listed += [
        ("(1,k)", k, rows, f"E{there} fits at least {rows} released rows. {BOUND}", True),
        ("(k,1)", k, rows, f"Every released row fits at least {rows} {people}. {BOUND}", True),
        ("(k,k)", k, rows, f"It is ({k},{k})-anonymous: e{there} fits at least {k} rows, and every row at least {k} "
         f"{people} (at least {rows}). {BOUND}", True),
        ("global (1,k)", k, rows, f"It is globally (1,{k})-anonymous: with all {everybody} assigned to rows at once, "
         f"everybody fits at least {rows} rows. {BOUND}", True),
    ]  # fmt: skip
    together, n = of.unchanged, len(of.released)
    alone, beside = (of.unique_by(together, boxes) for boxes in (False, True))
    listed.append(
        ("columns as they are", None, beside, f"Somebody who knows the {len(together)} unchanged columns "
         f"({', '.join(together)}) finds {percent(alone / n)} of the rows, and {percent(beside / n)} beside the box.",
         False)
    )  # fmt: skip
    chance = f"For somebody who knows all quasi-identifiers, a link to a row is right with a chance of at most "\
        f"{of.linking:.3g}. Rows of a class can be exchanged."  # fmt: skip
    if of.unit == "person":
        highest, fewest = of.after.highest, of.after.smallest
        assert of.together >= k
        chance += " At most as many of them are a person's as that person has rows that may be there."
        listed += [
            ("k persons", k, fewest, f"Every class has rows of at least {some(fewest, 'person')}. At most "
             f"{percent(highest)} of the rows of a class are one person's.", True),
            ("share of one person", None, highest, f"Nobody owns more than {percent(highest)} of the rows of a class.",
             False),
            ("rows together", None, 0, "Even somebody who knows which rows are one person's finds at least "
             f"{k} persons that fit all of them.", False),
        ]  # fmt: skip
    listed.append(("linking posterior", None, of.linking, chance, False))
    if "suppression" in limits:
        most = int(limits["suppression"] * of.n + 1e-9)
        listed.append(("rows left out", most, of.left_out, left_out(of, limits["suppression"]), True))
    return listed


def checks_of(of: Naive, name: str, limits: dict[str, float]) -> list[Check]:
    """The checks of a sensitive column."""
    shared, classes = of.homogeneous(name)
    order, judged = ("equal" if of.schema[name].kind is Kind.CATEGORICAL else "ordered"), "l" in limits
    values = "1 value" if of.distinct(name) == 1 else f"{of.distinct(name):,} different values"
    where = "1 class" if classes == 1 else f"{classes:,} classes"
    listed = [
        ("distinct l-diversity", limits.get("l"), of.distinct(name), f"Every class holds at least {values} of {name}.",
         judged),
        ("entropy l-diversity", None, of.entropy(name), f"In every class the values of {name} are at least as mixed as "
         f"{of.entropy(name):.2f} equally frequent ones.", False),
        ("t-closeness", None, of.closeness(name), f"No class's distribution of {name} is further than "
         f"{of.closeness(name):.3f} from the whole table's ({order} distance, 0 to 1).", False),
    ]  # fmt: skip
    if order == "ordered":
        rsd, spread = of.spread(name)
        listed += [
            ("RSD", None, rsd, f"A class leaves at least {rsd:.1%} of the squared error that the table's mean leaves "
             f"there of {name} (RSD).", False),
            ("spread", None, spread, f"A class leaves at least {spread:.1%} of the whole table's standard deviation of "
             f"{name} (spread).", False),
        ]  # fmt: skip
    if shared:
        listed.append(("homogeneity", None, shared, f"{shared:,} rows ({percent(shared / len(of.released))}) are in "
                       f"{where} where all have the same {name}.", False))  # fmt: skip
    return listed


def findings(of: Naive, accepts: int) -> Iterator[tuple[str, str, str]]:
    """The figure, the sentence and the detail of what Ready may say; whether it is said is judged elsewhere."""
    n, table = len(of.released), of.table
    for names in (of.insensitive, *([name] for name in of.unchanged)):
        alone, beside = of.unique_by(names), of.unique_by(names, True)
        every = "every row" if beside == n else "nearly every row" if beside >= 0.95 * n else "most rows"
        yield (
            gate_percent(beside / n),
            f"Somebody who knows the {len(names)} insensitive columns finds {every}.",
            f"Of {n:,} rows {alone:,} are unique on {', '.join(names)} alone, and {beside:,} beside the boxes.",
        )
        yield gate_percent(beside / n), "", f"Alone it finds {alone:,} of {n:,} rows, and {beside:,} beside the boxes."
    alone, beside = of.unique_by(of.unchanged), of.unique_by(of.unchanged, True)
    yield (
        gate_percent(alone / n),
        f"Somebody who knows the {len(of.unchanged)} unchanged columns finds {alone:,} of {n:,} rows.",
        f"Sensitive columns are counted too: {', '.join(of.unchanged)}. Beside the boxes {beside:,} rows are unique.",
    )
    owns = f"In a group one person owns {percent(of.after.highest)} of the rows, so each of them is that person's so "\
        "likely."  # fmt: skip
    size = f"The smallest group has {of.after.smallest:,} rows." if of.unit == "row" else owns
    yield (
        percent(of.after.highest),
        f"The highest risk of a row is above the 1 in {accepts} that you accept.",
        f"{size} You accept 1 in {accepts} on Roles, or with --prosecutor-limit.",
    )
    for name in of.unchanged:
        counts = table[name].value_counts()
        one = int((table[name].map(counts) == 1).sum())
        values = f"{len(counts):,} values"
        few = f"“{name}” is released unchanged, with values that few rows share."
        yield values, few, f"{values} in {of.n:,} rows; {one:,} are in one row only."
        holders = table.dropna(subset=[name]).groupby(name)[of.schema.person or name].agg(
            "nunique" if of.schema.person else "size"
        )  # fmt: skip
        lone = int((holders == 1).sum())
        what = f"{lone:,} of its {len(counts):,} levels. Somebody who knows that a person has one finds the row."
        yield f"{lone:,} levels", "", what
        if of.schema[name].kind is Kind.NUMERIC:
            own = np.sort(table[name].dropna().unique())
            for side, at, gap in (("lowest", 0, own[1] - own[0]), ("highest", -1, own[-1] - own[-2])):
                part = gap / (own[-1] - own[0])
                if holders[own[at]] == 1 and part >= 0.1:
                    far = "somebody who knows that a person is far out finds them"
                    one_end = f"The {side} “{name}” is one person's, and is released unchanged."
                    yield "1 person", one_end, f"The next value is {part:.0%} of the range away: {far}."
        for other in of.names:
            share = gate_percent(told_by(table[name], table[other], of.schema[other].kind))
            yield share, "", f"Somebody who sees “{name}” knows {share} of what differs in the generalized “{other}”."
        shared, groups = of.homogeneous(name) if name in of.sensitive else (0, 0)
        if shared:
            yield from shared_value(of, name)
    persons = table[of.schema.person].nunique() if of.schema.person else 0
    yield f"{persons:,} persons", "", f"{of.n:,} rows of {persons:,} persons, by “{of.schema.person}”."
    yield f"{len(of.released.columns)} columns", "", ""
    yield f"{of.n:,} rows", "Every row is counted as a person.", ""


def shared_value(of: Naive, name: str) -> Iterator[tuple[str, str, str]]:
    """What is said of unusual values that whole groups share, the rarest first."""
    usual = of.table[name].value_counts()
    single = [values for values in of.of_groups(name) if len(set(values)) == 1 and values[0] != usual.index[0]]
    rows = sum(map(len, single))
    if not single:
        return
    rarest = min({values[0] for values in single}, key=lambda value: (usual[value], value))
    own = [len(values) for values in single if values[0] == rarest]
    whole = "A whole group shares" if len(single) == 1 else f"{len(single):,} whole groups share"
    detail = f"{name} is “{rarest}” for {some(sum(own), 'row')} in {some(len(own), 'group')}, and for "\
        f"{gate_percent(usual[rarest] / of.n)} of all rows."  # fmt: skip
    others = len({values[0] for values in single}) - 1
    more = of.homogeneous(name)[0] - rows
    detail += f" {some(others, 'other value')} likewise." * (others > 0)
    detail += f" {some(more, 'row')} that share the most frequent value, or none, are not counted." * (more > 0)
    yield some(rows, "row"), f"{whole} an unusual “{name}”.", detail


def told_by(by: "pd.Series[Any]", of: "pd.Series[Any]", kind: Kind) -> float:
    """The share of what differs in a column that who knows another one is told, corrected for the number of values."""
    by = by.astype(str).where(by.notna(), "missing")
    n = len(of)
    if kind is Kind.CATEGORICAL:
        of = of.astype(str).where(of.notna(), "missing")
        counts = pd.crosstab(by, of).to_numpy()
        within = n - (counts**2 / counts.sum(axis=1, keepdims=True)).sum()
        whole, groups = n - (counts.sum(axis=0) ** 2).sum() / n, len(counts)
    else:
        there = of.notna()
        rank, by = of[there].rank(), by[there]
        n, groups = len(rank), by.nunique()
        whole = ((rank - rank.mean()) ** 2).sum()
        within = ((rank - rank.groupby(by).transform("mean")) ** 2).sum()
    return 0.0 if n <= groups or not whole else float(np.clip(1 - within / (n - groups) / (whole / (n - 1)), 0, 1))


def singled_out(alone: SlowIsolation, of: Naive) -> tuple[str, dict[str, str]]:
    """The sentence on rows that their box singles out, and each of its figures."""
    rows, n = len(alone.people), len(of.released)
    figures = {
        "rows": percent(rows / n), "groups": percent(alone.groups / of.after.groups),
        "ends": percent(alone.ends[0] / max(alone.ends[1], 1)),
        "levels": percent(alone.levels[0] / max(alone.levels[1], 1)),
        **{name: percent(count / n) for name, count in alone.by_column.items()},
    }  # fmt: skip
    who = "They alone in their group have" if of.unit == "row" else "Their person alone in the group has"
    return (
        f"{figures['rows']} of the rows are singled out by their own box. {who} what one of its ends or levels says. "
        f"{figures['groups']} of the groups have such a row."
    ), figures
