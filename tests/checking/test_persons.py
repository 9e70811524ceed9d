"""Releases whose rows are not persons: what the checker counts, against counting by hand."""

import re
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.checking.candidates import prepare
from anonymizer.checking.linkage import look_alikes
from anonymizer.checking.persons import count_persons
from anonymizer.checking.verify import verify
from anonymizer.releasing.generalize import divide
from anonymizer.schema import Schema
from tests import naive_verify as naive
from tests.growing.test_persons import visits
from tests.sweeps import few


def small(seed: int, n: int) -> tuple[pd.DataFrame, Schema, pd.DataFrame, np.ndarray]:
    """A tiny table, its schema, a release of it in random boxes, and the original row of each released one."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"who": rng.choice(["p", "q", "r", None], n), "age": rng.integers(0, 6, n)})
    table["ill"] = rng.choice(list("xy"), n)
    schema = Schema.of(table, person="who", quasi_identifying=["age"], sensitive=["ill"])
    boxes = np.sort(np.stack([table.age - rng.integers(0, 3, n), table.age + rng.integers(0, 3, n)]), axis=0)
    edges = {(2 * (low // 2), 2 * (high // 2) + 1) for low, high in boxes.T}
    cells = [next(f"[{low}, {high}]" for low, high in sorted(edges) if low <= age <= high) for age in table.age]
    order = rng.permutation(n)
    released = pd.DataFrame({"age": cells, "ill": table.ill})
    return table, schema, released.iloc[order].reset_index(drop=True), order


@settings(max_examples=few(60), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_persons__are_counted_with_the_order(seed: int, n: int) -> None:
    table, schema, released, order = small(seed, n)
    classes = look_alikes(released, ["age"])
    counts = count_persons(released, prepare(table, schema), classes, order, None)
    person = table.who.to_numpy()[order]
    assert counts.exact
    for number in range(len(classes.sizes)):
        inside = pd.Series(person[classes.class_of == number])
        assert counts.in_class[number] == inside.nunique()
    shares = [
        pd.Series(person[classes.class_of == g]).value_counts().max() / (classes.class_of == g).sum()
        for g in range(len(classes.sizes))
        if pd.Series(person[classes.class_of == g]).notna().any()
    ]
    assert counts.largest == pytest.approx(max(shares, default=0.0))
    # Who fits all boxes of a person's rows, by looking at every other person's records.
    codes, names = pd.factorize(table.who)
    ends = released.age.str.strip("[]").str.split(", ", expand=True).astype(int).to_numpy()
    for code, name in enumerate(names):
        boxes = {tuple(ends[row]) for row in np.flatnonzero(person == name)}
        fits = [
            all(((table.age >= low) & (table.age <= high) & (table.who == other)).any() for low, high in boxes)
            for other in names
        ]
        assert counts.fitting[code] == sum(fits)
    assert (codes < 0).sum() == table.who.isna().sum()


@settings(max_examples=few(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_bound__holds_whatever_row_is_whose(seed: int, n: int) -> None:
    table, schema, released, _ = small(seed, n)
    classes = look_alikes(released, ["age"])
    bound = count_persons(released, prepare(table, schema), classes, None, None)
    assert not bound.exact
    ends = released.age.str.strip("[]").str.split(", ", expand=True).astype(int).to_numpy()
    for order in permutations(range(n)):
        its = table.iloc[list(order)]
        if not ((its.age >= ends[:, 0]) & (its.age <= ends[:, 1]) & (its.ill.to_numpy() == released.ill)).all():
            continue
        for number, least in enumerate(bound.in_class):
            assert least <= its.who[classes.class_of == number].nunique()


@settings(max_examples=few(100), deadline=None)
@given(st.data())
def test_chance_of_a_person__is_bounded_where_boxes_overlap(data: st.DataObject) -> None:
    """A person's records may fit rows of other classes, too: every complete assignment is counted."""
    sizes = data.draw(st.lists(st.integers(2, 3), min_size=1, max_size=3))
    who = [name for size in sizes for name in data.draw(st.permutations(["p", "q", "r", None]))[:size]]
    ages = data.draw(st.lists(st.integers(0, 3), min_size=len(who), max_size=len(who)))
    wide, ends = st.integers(0, 3), []
    for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        inside = [*ages[start : start + size], data.draw(wide)]
        ends += [(min(inside), max(inside))] * size
    table = pd.DataFrame({"who": who, "age": ages})
    schema = Schema.of(table, person="who", quasi_identifying=["age"])
    released = pd.DataFrame({"age": [f"[{low}, {high}]" for low, high in ends]})
    shares = naive.posteriors([[int(low <= age <= high) for low, high in ends] for age in ages])
    chances = [
        sum(shares[record][row] for record in np.flatnonzero(table.who == name))
        for name in "pqr"
        for row in range(len(ages))
    ]
    check = verify(released, schema, k=2, original=table, order=np.arange(len(ages)))["linking posterior"]
    assert max(chances) <= check.achieved + 1e-12
    assert check.achieved <= 1


@pytest.mark.sweep(5)
@pytest.mark.parametrize("generalizer", ["uniform", "refine", "pack", "polish", "tiered-strict", "pack-persons"])
@pytest.mark.parametrize("grouping", ["least", "error-risk", "median-mondrian"])
def test_release__has_k_persons_in_every_class_by_pandas(generalizer: str, grouping: str) -> None:
    table, schema = visits(5, 600)
    result = an.anonymize(table, schema, k=6, grouping=grouping, generalizer=generalizer)
    rows = result.release.frame()
    assert "patient" not in rows
    rows = rows.assign(patient=table.patient.to_numpy()[result.release.order])
    counts = rows.groupby(["age", "ward"], dropna=False).patient.nunique()
    assert counts.min() >= 6
    assert len(counts) > 3
    check = result.verification["k persons"]
    assert check.passed
    assert check.achieved == counts.min()
    share = (rows.value_counts(["age", "ward", "patient"], dropna=True) / rows.value_counts(["age", "ward"])).max()
    assert result.report.after.highest == pytest.approx(share)
    chance = result.verification["linking posterior"].achieved  # more, where boxes overlap and a person's records fit
    assert chance == pytest.approx(share) if generalizer in ("uniform", "refine") else chance >= share - 1e-12
    assert result.verification.k_anonymous
    assert "other persons" in result.verification.describe()


def test_rows_of_a_person__stay_together_where_that_is_the_choice() -> None:
    table, schema = visits(5, 600)
    apart, together = (
        an.anonymize(table, schema, k=6, l=2, generalizer=generalizer) for generalizer in ("pack", "pack-persons")
    )
    assert apart.verification["rows together"].achieved > 0
    assert together.verification["rows together"].achieved == 0
    assert together.verification.passed
    parts = divide(together.encoded, together.pruning, "pack-persons", 6)
    assert parts.n_parts > 2
    assert pd.Series(parts.part).groupby(table.patient).nunique().max() == 1


def test_tiered__lets_every_record_fit_rows_of_k_persons() -> None:
    table, schema = visits(5, 600, missing=0.0)
    result = an.anonymize(table, schema, k=6, generalizer="tiered")
    parts = divide(result.encoded, result.pruning, "tiered", 6)
    members = pd.DataFrame(
        {
            "part": np.concatenate([parts.part, parts.shared_part]),
            "who": table.patient.to_numpy()[np.concatenate([np.arange(len(table)), parts.shared_record])],
        }
    )
    assert members.groupby("part").who.nunique().min() >= 6
    assert len(parts.shared_record) > 0


def test_rows_of_few_persons__are_not_called_k_anonymous() -> None:
    table = pd.DataFrame({"who": ["p"] * 12 + ["q"] * 8, "age": [30] * 20, "ill": ["x", "y"] * 10})
    schema = Schema.of(table, person="who", quasi_identifying=["age"], sensitive=["ill"])
    released = table[["age", "ill"]].astype(str)
    verification = verify(released, schema, k=5, original=table, order=np.arange(20))
    assert verification["k-anonymity"].passed
    assert verification["k persons"].passed is False
    assert not verification.passed
    assert not verification.k_anonymous
    assert "rows of fewer than 5 persons" in verification.describe()
    alone = verify(released, schema, k=5)
    assert alone["k persons"].passed is None
    assert not alone.k_anonymous
    assert "is not known to be 5-anonymous" in alone.describe()


def test_file__is_checked_without_the_order_of_its_rows() -> None:
    table, schema = visits(5, 600, missing=0.0)
    result = an.anonymize(table, schema, k=6, grouping="least", generalizer="uniform")
    check = verify(result.release.frame(), schema, k=3, original=table)["k persons"]
    exact = result.verification["k persons"].achieved
    assert check.passed
    assert 3 <= check.achieved <= exact
    assert "whatever row is whose" in check.sentence


def test_too_few_persons__is_an_error_with_words() -> None:
    table, schema = visits(1, 60)
    table["patient"] = ["p", "q", "r"] * 20
    with pytest.raises(an.AnonymizerError, match="The table has 3 persons, fewer than k = 5") as error:
        an.anonymize(table, schema, k=5)
    assert error.value.remedy == "Choose a smaller k or add more persons."


def stays(seed: int = 1, persons: int = 120) -> tuple[pd.DataFrame, Schema]:
    """Hospital stays, 1 to 300 a person, half of what is known of a person the same in all of them."""
    rng = np.random.default_rng(seed)
    rows = np.minimum(300, 1 + rng.pareto(0.9, persons).astype(int) * 3)
    rows[0] = 300
    who = np.repeat(np.arange(persons), rows)
    table = pd.DataFrame({"who": [f"p{one}" for one in who], "age": rng.integers(18, 90, persons)[who]})
    table["sex"] = rng.choice(list("fm"), persons)[who]
    table["ward"], table["day"] = rng.choice(list("abcd"), len(who)), rng.integers(0, 365, len(who))
    table["ill"] = rng.choice(list("xyz"), len(who))
    table = table.sample(frac=1, random_state=seed).reset_index(drop=True)
    return table, Schema.of(table, person="who", quasi_identifying=["age", "sex", "ward", "day"], sensitive=["ill"])


def largest_share(table: pd.DataFrame, result: an.Result) -> float:
    """The largest share of a released class that is one person's, counted row by row."""
    rows = result.release.frame()
    classes: dict[tuple[str, ...], list[str]] = {}
    for row, who in zip(rows[["age", "sex", "ward", "day"]].to_numpy(), table.who[result.release.order], strict=True):
        classes.setdefault(tuple(map(str, row)), []).append(who)
    return max(max(map(inside.count, set(inside))) / len(inside) for inside in classes.values())


@pytest.mark.sweep(2)
@pytest.mark.parametrize("generalizer", ["uniform", "tiered-strict", "refine", "pack", "polish", "pack-persons"])
@pytest.mark.parametrize("grouping", ["least", "error-risk", "median-mondrian", "infogain-mondrian"])
def test_share_of_one_person__is_kept_in_every_grouping_and_generalizer(grouping: str, generalizer: str) -> None:
    table, schema = stays()
    how = {"k": 4, "grouping": grouping, "generalizer": generalizer, "rng": np.random.default_rng(3)}
    result = an.anonymize(table, schema, share_max=0.3, **how)
    share = largest_share(table, result)
    assert share <= 0.3 + 1e-12
    assert result.report.after.highest == pytest.approx(share)
    check = result.verification["share of one person"]
    assert check.passed is True
    assert check.achieved == pytest.approx(share)
    assert result.report.after.groups > 1
    assert largest_share(table, an.anonymize(table, schema, **how)) > 0.3


def test_a_share_above_what_the_steward_accepts__stops_and_the_repair_goes_through() -> None:
    table, schema = stays()
    result = an.anonymize(table, schema, k=4, prosecutor_limit=5, grouping="least")
    finding = result.gate["risk"]
    assert result.report.after.highest > 0.25
    assert result.gate.open == (finding,)
    (repair,) = finding.repairs
    assert repair.options == "--share-max 0.2"
    repaired = an.anonymize(table, schema, k=4, grouping="least", prosecutor_limit=5, **dict(repair.settings))
    assert not repaired.gate.open
    assert repaired.report.after.highest <= 0.2
    assert "risk" not in {one.key for one in repaired.gate.findings}
    alone = an.anonymize(table, schema, k=4, grouping="least", against_original=False)
    assert alone.gate["risk"].severity == "stands in the way"


def test_rows_that_tell_persons_apart_together__stand_in_the_gate() -> None:
    table, schema = stays()
    result = an.anonymize(table, schema, k=4, grouping="least", share_max=0.25)
    finding = result.gate["rows together"]
    assert finding.figure.startswith(f"{result.verification['rows together'].achieved:,}")
    (repair,) = finding.repairs
    repaired = an.anonymize(table, schema, k=4, grouping="least", share_max=0.25, **dict(repair.settings))
    assert "rows together" not in {one.key for one in repaired.gate.findings}


def test_who_owns_more_of_the_whole_table__is_said_with_the_rows_that_may_stay() -> None:
    table, schema = stays(persons=30)
    most = table.who.value_counts()
    with pytest.raises(an.GuaranteeError, match=r"more than 0\.1 of all rows") as caught:
        an.anonymize(table, schema, k=4, share_max=0.1)
    (stay,) = re.findall(r"at most (\d+) rows of each person", caught.value.remedy)
    for rows, fits in ((int(stay), True), (int(stay) + 1, False)):
        left = np.minimum(most, rows)
        assert bool(left.max() <= 0.1 * left.sum()) is fits
    fewer = table.groupby("who").head(int(stay)).reset_index(drop=True)
    assert an.anonymize(fewer, schema, k=4, share_max=0.1).verification.passed


def test_tiered_boxes__are_refused_where_the_share_of_one_person_is_limited() -> None:
    table, schema = stays()
    with pytest.raises(an.AnonymizerError, match="keep no limit on the share of one person"):
        an.anonymize(table, schema, k=4, share_max=0.3, generalizer="tiered")


def test_share_of_one_person__is_one_in_so_many_rows_where_every_row_is_a_person() -> None:
    table, schema = stays()
    schema = schema.with_column("who", role="insensitive")
    result = an.anonymize(table, schema, k=2, share_max=0.1)
    assert result.report.after.smallest >= 10
    assert result.verification["share of one person"].passed
    assert an.anonymize(table, schema, k=5).gate["risk"].severity == "worth a look"


def test_who_fits_is_not_looked_up__where_that_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said that it was not counted; below the limit it is, and the limit counts looks, not pairs."""
    table, schema = visits(5, 300, missing=0.0)
    made = an.anonymize(table, schema, k=6, grouping="least", generalizer="uniform").release
    original, released = prepare(table, schema), made.frame()
    classes = look_alikes(released, list(schema.quasi_identifying))
    assert count_persons(released, original, classes, made.order, None).fitting is not None
    monkeypatch.setattr("anonymizer.checking.persons.MOST_LOOK_UPS", 0)
    counts = count_persons(released, original, classes, made.order, None)
    assert counts.fitting is None
    assert counts.reason
