"""Polished groups: what they keep, and that no move that was looked for is left."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.errors import CancelledError
from anonymizer.flow import Flow
from anonymizer.growing.encode import EncodedTable
from anonymizer.pipeline import run_flow
from anonymizer.releasing import polish as module
from anonymizer.releasing.pack import Line, pack_line, wants_of
from anonymizer.releasing.polish import pieces_of, polish_line
from anonymizer.settings import Limits, Settings
from tests import naive_pack
from tests.groups.test_refine import encoded_table, random_table
from tests.naive_refine import persons
from tests.releasing.test_pack import LIMITS, cases, secret_line
from tests.sweeps import few

Groups = list[list[int]]


def lists_of(line: Line, group: np.ndarray) -> Groups:
    """The groups of a line as lists of records."""
    return [line.order[group == number].tolist() for number in range(int(group.max()) + 1)]


def loss_of(encoded: EncodedTable, line: Line, group: np.ndarray) -> float:
    return naive_pack.loss_of(encoded, lists_of(line, group), line.scale.weight.tolist())


def better(
    encoded: EncodedTable, line: Line, groups: Groups, k: int, judge: Callable[[list[int]], bool]
) -> Groups | None:
    """Two groups after a move or an exchange that lowers the loss and keeps every limit; ``None`` when none does."""
    loss = partial(naive_pack.loss_of, encoded, weight=line.scale.weight.tolist())
    region = np.searchsorted(line.ends, np.argsort(line.order), side="right")
    for a in groups:
        for b in groups:
            if a is b or region[a[0]] != region[b[0]]:
                continue
            for i in a:
                for s in (None, *b):
                    first, second = [r for r in a if r != i], [r for r in [*b, i] if r != s]
                    first += [] if s is None else [s]
                    fewest = min(persons(encoded, first), persons(encoded, second))
                    if fewest < k or not (judge(first) and judge(second)):
                        continue
                    if loss([first, second]) < loss([a, b]) - 1e-6:
                        return [first, second]
    return None


@settings(max_examples=few(40), deadline=None)
@given(cases, st.sampled_from([Limits(), *LIMITS]), st.integers(1, 2))
def test_polished__leaves_no_better_move(case: tuple[int, int, int], limits: Limits, regions: int) -> None:
    """With every group a partner, polishing until nothing changes ends where brute force has nothing better."""
    seed, n, k = case
    encoded, limits = encoded_table(seed, n), limits.but(k=k)
    line, _ = secret_line(encoded, seed, regions=regions)
    wants, judge = wants_of(line, encoded, limits), partial(naive_pack.keeps, encoded, limits)
    group = before = pack_line(line, k, wants)[line.order]
    losses = [loss_of(encoded, line, group)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PARTNERS", 50)
        while len(losses) < 2 or losses[-1] < losses[-2] - 1e-9:
            group = polish_line(line, group, k, wants)
            losses.append(loss_of(encoded, line, group))
    assert losses == sorted(losses, reverse=True)
    groups = lists_of(line, group)
    assert better(encoded, line, groups, k, judge) is None
    region = np.searchsorted(line.ends, np.argsort(line.order), side="right")
    assert all(len(set(region[rows])) == 1 for rows in groups)
    if all(persons(encoded, rows) >= k and judge(rows) for rows in lists_of(line, before)):
        assert all(persons(encoded, rows) >= k and judge(rows) for rows in groups)


def test_release__passes_the_checker_and_loses_less_than_packed() -> None:
    table, schema = random_table(4, 300)
    schema = schema.with_column("cost", role="insensitive")
    rng = partial(np.random.default_rng, 5)
    packed = an.anonymize(table, schema, k=5, generalizer="pack", l=2, rng=rng())
    polished = an.anonymize(table, schema, k=5, generalizer="polish", l=2, rng=rng())
    assert polished.verification.passed
    assert polished.verification.k_anonymous
    assert polished.utility.gcp < 0.98 * packed.utility.gcp


def test_pieces__are_all_groups_once_and_begin_half_a_piece_later_in_turn() -> None:
    ends = np.array([3, 300, 301])
    for shift in (0, module.PIECE // 2):
        pieces = pieces_of(ends, shift)
        assert [first for first, _ in pieces] == [0, *(last for _, last in pieces[:-1])]
        assert pieces[-1][1] == 301
        assert {3, 300} <= {last for _, last in pieces}
        assert all(first < last <= first + module.PIECE for first, last in pieces)
        assert (3, 3 + (shift or module.PIECE)) in pieces


def test_progress__says_how_far_it_is_and_can_end_the_work() -> None:
    flow = Flow(*random_table(4, 600), Settings(k=3, generalizer="polish", min_leaf=600))
    words: list[str] = []

    def stop(share: float, what: str) -> None:
        assert 0 <= share <= 1
        words.append(what)
        if "Polishing" in what:
            raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        run_flow(flow, stop)
    assert words[-1].startswith("Polishing groups, round 1")
    assert not flow.ready("parts")
    assert run_flow(flow).verification.k_anonymous
