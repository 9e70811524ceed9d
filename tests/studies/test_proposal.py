"""A tree guided by the target: what it would bring, against figures counted by hand, and when it is proposed."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import CancelledError
from anonymizer.flow import Flow
from anonymizer.growing.encode import EncodedTable, encode, rows_of
from anonymizer.measuring.members import seed_for
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.studies import proposal
from anonymizer.studies.folds import folds_of
from anonymizer.studies.proposal import FOLDS, Proposal, propose


def flow_of(seed: int, *, follows: bool, numbers: bool = False, n: int = 300) -> Flow:
    """People of whom one column in six says whether they are ill, or nothing does."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({f"q{j}": rng.integers(0, 40, n) for j in range(6)})
    truth = table["q3"] > 20 if follows else pd.Series(rng.random(n) < 0.5)
    table["ill"] = np.where(truth ^ (rng.random(n) < 0.05), "yes", "no")
    if numbers:
        table["ill"] = truth * 30.0 + rng.normal(0, 1, n)
    quasi = [name for name in table.columns if name != "ill"]
    return Flow(table, Schema.of(table, quasi_identifying=quasi, sensitive=["ill"]), Settings(k=10), key=bytes(32))


@pytest.mark.sweep(1)
@pytest.mark.parametrize("numbers", [False, True])
def test_target_that_follows_from_nothing__is_not_proposed(numbers: bool) -> None:
    chance = propose(flow_of(2, follows=False, numbers=numbers, n=150))
    assert chance is not None
    assert not chance.pays


@pytest.mark.parametrize("numbers", [False, True])
def test_proposal__is_of_the_papers_tree_beside_that_of_detail(numbers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    guides = []

    def score(made: Flow, test: EncodedTable, go_on: Callable[[float], None]) -> float:
        guides.append(made.criterion)
        return 0.5 + (made.criterion != "detail") * 0.1 + test.n_records / 1000

    monkeypatch.setattr(proposal, "of_numbers" if numbers else "of_classes", score)
    answer = propose(flow_of(1, follows=True, numbers=numbers))
    assert answer is not None
    guide = "sse" if numbers else "entropy"
    assert guides == ["detail", guide] * FOLDS
    assert (answer.measure, answer.pays, answer.gain) == ("R²" if numbers else "AUC", True, pytest.approx(0.1))
    assert answer.settings == {"criterion": guide, "grouping": "error-digression" if numbers else "error-risk"}
    assert (answer.guessed is None) == numbers


def test_figures__are_means_over_folds_of_both_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = flow_of(3, follows=True)
    monkeypatch.setattr(proposal, "of_classes", lambda made, test, go_on: made.utility.gcp + test.n_records)
    answer = propose(flow)
    assert answer is not None
    losses, guesses, seed = [], [], seed_for(flow.table)
    for train, test in folds_of(flow.encoded, FOLDS, seed % 2**32):
        assert rows_of(flow.encoded, test).n_records == 60
        pair, right = [], []
        for grouping in (None, "error-risk"):
            made = flow.rows(train).but(grouping=grouping)
            made.rng = np.random.default_rng(seed)
            pair.append(made.utility.gcp)
            cells = made.released.drop(columns="ill").astype(str).agg("|".join, axis=1)
            right.append(made.released.groupby(cells)["ill"].value_counts().groupby(level=0).max().sum() / len(train))
        losses.append(pair)
        guesses.append(right[1] - right[0])
    losses = np.array(losses)
    gains = losses[:, 1] - losses[:, 0]
    assert answer.gain == pytest.approx(gains.mean())
    assert answer.error == pytest.approx(gains.std(ddof=1) / np.sqrt(5))
    assert answer.lost == pytest.approx(losses[:, 1].mean() / losses[:, 0].mean() - 1)
    assert answer.guessed == pytest.approx(np.mean(guesses))


def test_folds__hold_all_rows_of_a_person_together() -> None:
    table = flow_of(5, follows=False).table.assign(who=np.arange(300) // 4)
    names = [f"q{j}" for j in range(6)]
    encoded = encode(table, Schema.of(table, quasi_identifying=names, sensitive=["ill"], person="who"))
    tests = []
    for train, test in proposal.folds(encoded, 7):
        assert not set(table["who"].iloc[train]) & set(table["who"].iloc[test])
        assert sorted([*train, *test]) == list(range(300))
        tests += test.tolist()
    assert sorted(tests) == list(range(300))


def test_auc__of_classes_is_that_of_pairs() -> None:
    """Counted pair by pair, each class against the others."""
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame({"x": rng.integers(0, 9, n), "y": rng.integers(0, 9, n), "c": rng.choice(list("abc"), n)})
    flow = Flow(table, Schema.of(table, quasi_identifying=["x", "y"], sensitive=["c"]), Settings(k=4), key=bytes(32))
    train, test = flow.rows(np.arange(80)), rows_of(flow.encoded, np.arange(80, n))
    from sklearn.ensemble import RandomForestClassifier

    model = proposal.learn(RandomForestClassifier, train, train.encoded.target.codes)
    shares, truth, figures = model.predict_proba(proposal.as_they_are(test)), test.target.codes, []
    for place, level in enumerate(model.classes_):
        own, others = shares[truth == level, place], shares[truth != level, place]
        wins = (own[:, None] > others).mean() + 0.5 * (own[:, None] == others).mean()
        figures.append((wins, len(own)))
    values, weights = zip(*figures, strict=True)
    assert proposal.of_classes(train, test) == pytest.approx(np.average(values, weights=weights))


def test_proposal__pays_above_a_point_and_two_errors_and_says_its_price() -> None:
    def one(gain: float, error: float = 0.001, lost: float = 0.2, guessed: float | None = 0.09) -> Proposal:
        return Proposal("AUC", gain, error, lost, guessed, {})

    assert [one(gain).pays for gain in (-0.5, 0.0, 0.01, 0.011)] == [False, False, False, True]
    assert not one(0.05, error=0.025).pays
    assert one(0.051, error=0.025).pays
    assert one(0.011).sentence == (
        "If the target guided the tree, a model learnt from the release would gain 1.1 points of AUC. 20% more detail "
        "would be lost. Rows in it would be guessed right 9 points more often."
    )
    assert one(-0.02, lost=-0.1, guessed=None).sentence == (
        "If the target guided the tree, a model learnt from the release would lose 2.0 points of AUC. 10% less detail "
        "would be lost."
    )


def test_what_cannot_be_asked__has_no_answer() -> None:
    flow = flow_of(4, follows=True)
    bare = Schema.of(flow.table[["q0", "q1"]], quasi_identifying=["q0", "q1"])
    assert propose(Flow(flow.table[["q0", "q1"]], bare, Settings(k=5))) is None
    assert propose(flow.but(k=250)) is None

    def stop(share: float, what: str) -> None:
        raise CancelledError("enough")

    with pytest.raises(CancelledError):
        propose(flow, stop)
