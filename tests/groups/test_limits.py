"""What groups must satisfy: every limit against a plain computation, and the largest pruning against brute force."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import ParameterError
from anonymizer.groups.limits import distances, margins, people_of_nodes, too_large_share
from anonymizer.groups.prune import CRITERIA, prune
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.labelled.variable import Variable
from anonymizer.settings import Limits
from tests.groups.test_refine import random_table
from tests.sweeps import few


def grow_case(seed: int, n: int, target: str = "ill", min_leaf: int = 1, max_depth: int | None = None):
    table, schema = random_table(seed, n)
    schema = schema.with_target(target)
    encoded = encode(table, schema)
    tree = grow(encoded, "sse" if target == "cost" else "entropy", min_leaf, max_depth)
    return table, encoded, tree, annotate(tree, encoded)


EVERY = Limits(k=3, l=2, entropy_l=1.5, t=0.3, rsd_min=0.4, spread_min=0.3, significance=0.05, tested="leaves")
cases = st.tuples(st.integers(0, 10**6), st.integers(4, 60), st.sampled_from(["ill", "cost"]))


@settings(max_examples=few(60))
@given(cases)
def test_margins__agree_with_the_records(case):
    table, encoded, tree, risk = grow_case(*case)
    leaf = descend(tree, encoded)
    by_limit = {margin.limit: margin for margin in margins(tree, risk, encoded, EVERY)}
    assert len(by_limit) == 7
    shares = table["ill"].value_counts(normalize=True)
    cost = table["cost"].to_numpy()
    for t in range(tree.n_nodes):
        inside = (leaf >= t) & (leaf < t + tree.size[t])
        here = table["ill"][inside].value_counts(normalize=True).reindex(shares.index, fill_value=0)
        present = here[here > 0]
        around = ((cost[inside] - cost.mean()) ** 2).sum()
        expected = {
            "group size": inside.sum(),
            "l-diversity": len(present),
            "entropy l": np.exp(-(present * np.log(present)).sum()),
            "t-closeness": (here - shares).abs().sum() / 2,
            "RSD": ((cost[inside] - cost[inside].mean()) ** 2).sum() / around if around > 1e-15 else 1.0,
            "spread": cost[inside].std() / cost.std(),
        }
        for limit, value in expected.items():
            assert by_limit[limit].achieved[t] == pytest.approx(value, abs=1e-7), limit
    assert by_limit["p-value of the covariance"].achieved.tolist() == risk.numeric.p_value.tolist()


def test_distances__of_ordered_classes_count_ranks():
    # Li, Li and Venkatasubramanian 2007: salaries 3k to 11k; {3k, 4k, 5k} is .375 away, {6k, 8k, 11k} .167.
    whole = np.full(9, 1 / 9)
    low, spread = np.zeros(9), np.zeros(9)
    low[[0, 1, 2]], spread[[3, 5, 8]] = 1 / 3, 1 / 3
    assert distances(np.array([whole, low, spread]), True) == pytest.approx([0, 0.375, 1 / 6])
    assert distances(np.array([whole, low]), False) == pytest.approx([0, 2 / 3])
    assert distances(np.array([[1.0], [1.0]]), True).tolist() == [0, 0]


def prunings(tree, t: int) -> list[frozenset]:
    """Every way to cut the branch below a node into groups."""
    whole = [frozenset([t])]
    if tree.feature[t] < 0:
        return whole
    sides = [prunings(tree, child) for child in tree.children(t)]
    return whole + [frozenset().union(*parts) for parts in product(*sides)]


CHECKED = (
    Limits(k=3),
    Limits(k=2, l=2),
    Limits(k=2, t=0.35),
    Limits(k=2, entropy_l=1.5),
    Limits(k=2, l=2, t=0.5, rsd_min=0.2),
    Limits(k=1, rsd_min=0.5),
    Limits(k=1, spread_min=0.6),
)


@settings(max_examples=few(150))
@given(st.tuples(st.integers(0, 10**6), st.integers(6, 40)), st.sampled_from(CHECKED))
def test_least__is_the_largest_pruning_reached_from_the_top(case, limits):
    _, encoded, tree, risk = grow_case(*case, max_depth=3)
    passes = np.logical_and.reduce([margin.passes for margin in margins(tree, risk, encoded, limits)])

    def is_reached(cut: frozenset) -> bool:
        """Every node that the cut leaves open has children that pass, as groups of their own."""
        above = {int(s) for t in cut for s in tree.path(t)[:-1]}
        return all(passes[list(tree.children(t))].all() for t in above)

    pruning = prune(tree, risk, limits=limits, encoded=encoded)
    candidates = [cut for cut in prunings(tree, 0) if is_reached(cut)]
    largest = max(candidates, key=len)
    assert set(pruning.cut().tolist()) == largest
    assert sum(len(cut) == len(largest) for cut in candidates) == 1
    assert pruning.satisfied == bool(passes[list(largest)].all())
    if limits.rsd_min is None and limits.spread_min is None and passes[0]:
        # These limits hold in a union of groups that satisfy them: no pruning that satisfies them is larger.
        satisfying = [cut for cut in prunings(tree, 0) if passes[list(cut)].all()]
        assert max(satisfying, key=len) == largest


@settings(max_examples=few(80))
@given(cases, st.sampled_from(sorted(CRITERIA)), st.sampled_from(CHECKED))
def test_every_criterion__ends_with_groups_that_satisfy_the_limits(case, criterion, limits):
    _, encoded, tree, risk = grow_case(*case)
    pruning = prune(tree, risk, criterion, limits=limits, encoded=encoded)
    all_margins = margins(tree, risk, encoded, limits)
    if pruning.satisfied:
        assert all(margin.passes[pruning.cut()].all() for margin in all_margins)
    else:
        assert not all(margin.passes[0] for margin in all_margins)
    assert pruning.k == limits.k


def test_shortfall__says_what_is_missing_and_by_how_much():
    _, encoded, tree, risk = grow_case(4, 40)
    by_limit = {margin.limit: margin for margin in margins(tree, risk, encoded, Limits(k=50, t=0.0, rsd_min=1.0))}
    assert by_limit["group size"].shortfall(0) == "group size is 40, and at least 50 is required"
    t = int(np.argmax(by_limit["t-closeness"].achieved))
    assert by_limit["t-closeness"].shortfall(t).startswith("t-closeness of ill is 0.")
    assert by_limit["t-closeness"].shortfall(t).endswith("and at most 0 is required")
    assert "RSD of cost is" in by_limit["RSD"].shortfall(t)


def test_passes__forgives_rounding_only():
    _, encoded, tree, risk = grow_case(4, 40)
    share = float(risk.numeric.rsd[1, 0])
    for least, right in ((share, True), (share + 1e-12, True), (share + 1e-6, False)):
        margin = margins(tree, risk, encoded, Limits(k=1, rsd_min=least))[1]
        assert bool(margin.passes[1]) is right


@pytest.mark.parametrize(
    "wrong",
    [{"k": 0}, {"l": 0.5}, {"entropy_l": 0}, {"t": 1.1}, {"rsd_min": -0.1}, {"spread_min": 2}, {"significance": -1},
     {"tested": "nowhere"}, {"t": float("nan")}],
)  # fmt: skip
def test_impossible_limits__are_refused(wrong):
    with pytest.raises(ParameterError):
        Limits(**wrong)


def test_people_of_nodes__are_never_fewer_than_its_own_persons() -> None:
    """Weights below one, or a population table that lacks somebody, cannot make a group of the table smaller."""
    persons = SimpleNamespace(n=np.array([3, 0, 7]))
    assert people_of_nodes(SimpleNamespace(persons=persons, people=None)).tolist() == [3, 1, 7]
    assert people_of_nodes(SimpleNamespace(persons=persons, people=np.array([2.0, 0.5, 9.5]))).tolist() == [3, 1, 9.5]


@pytest.mark.parametrize(
    ("rows", "share", "words", "remedy"),
    [
        ([6, 2, 2], 0.4, "1 person owns more than 0.4 of all rows, up to 0.6,", "at most 2 rows of each person, or"),
        ([5, 5, 1], 0.4, "2 persons own more than 0.4 of all rows, up to 0.4545,", "at most 2 rows of each person, or"),
        ([3, 1, 1], 0.4, "1 person owns more than 0.4 of all rows, up to 0.6,", "at most 1 row of each person, or"),
        ([2, 2], 0.4, "2 persons own more than 0.4 of all rows, up to 0.5,", "Allow a larger share of one person."),
        ([1], 0.4, "1 person owns more than 0.4 of all rows, up to 1,", "Allow a larger share of one person."),
    ],
)
def test_too_large_share__says_who_owns_too_much_and_how_many_rows_may_stay(rows, share, words, remedy):
    error = too_large_share(np.repeat(np.arange(len(rows)), rows).astype(np.int32), share)
    assert words in str(error)
    assert remedy in error.remedy


@settings(max_examples=few(40))
@given(st.lists(st.integers(1, 9), min_size=1, max_size=7), st.integers(0, 4), st.floats(0.05, 0.95))
def test_too_large_share__names_the_most_rows_that_a_slow_loop_finds(rows, nobody, share):
    person = np.append(np.repeat(np.arange(len(rows)), rows), np.full(nobody, -1)).astype(np.int32)
    fits = [
        stay
        for stay in range(1, max(rows))
        if max(min(own, stay) for own in rows) <= share * (nobody + sum(min(own, stay) for own in rows)) * (1 + 1e-9)
    ]
    remedy = too_large_share(person, share).remedy
    most = f"at most {max(fits):,} row{'s' * (max(fits) > 1)} of each person" if fits else "Allow a larger"
    assert most in remedy


def test_margins__call_columns_by_their_titles():
    table, encoded, tree, risk = grow_case(3, 40)
    target = replace(encoded.target, variable=Variable("Illness of the person"))
    named = margins(tree, risk, replace(encoded, target=target), EVERY)
    assert {margin.title for margin in named if margin.column == target.name} == {target.title}
    assert "Illness of the person" in target.title
