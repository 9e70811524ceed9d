"""Merging of groups that lack something, against its slow twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.releasing import merge as module
from anonymizer.releasing.merge import RULES, losses_of, merge
from anonymizer.releasing.pack import pack_line, wants_of
from anonymizer.settings import Limits
from tests import naive_pack
from tests.groups.test_refine import encoded_table
from tests.releasing.test_pack import LIMITS, cases, secret_line
from tests.sweeps import few


@settings(max_examples=few(60), deadline=None)
@given(cases, st.sampled_from(LIMITS), st.integers(0, RULES - 1), st.sampled_from([2, 4, 200]), st.integers(1, 2))
def test_merged__agrees_with_its_slow_twin(
    case: tuple[int, int, int], limits: Limits, rule: int, reach: int, regions: int
) -> None:
    seed, n, k = case
    encoded, limits = encoded_table(seed, n), limits.but(k=k)
    line, _ = secret_line(encoded, seed, regions=regions)
    group, wants = pack_line(line, k)[line.order], wants_of(line, encoded, limits)
    assert wants is not None
    slow = []
    for start, end in zip(line.starts, line.ends, strict=True):
        rows = [line.order[start:end][group[start:end] == number].tolist() for number in np.unique(group[start:end])]
        slow += naive_pack.slow_merge(encoded, rows, line.scale.weight.tolist(), limits, rule, reach)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "REACH", reach)
        after = merge(line, group, k, wants, rule)
    first = np.unique(after, return_index=True)[1]
    assert first.tolist() == sorted(first)  # numbered by first places
    assert sorted(sorted(line.order[after == number].tolist()) for number in np.unique(after)) == sorted(
        map(sorted, slow)
    )


@settings(max_examples=few(30), deadline=None)
@given(cases, st.integers(1, 3))
def test_losses__of_regions_are_those_of_their_groups(case: tuple[int, int, int], regions: int) -> None:
    seed, n, k = case
    encoded = encoded_table(seed, n)
    line, _ = secret_line(encoded, seed, regions=regions)
    group = pack_line(line, k)[line.order]
    slow = []
    for start, end in zip(line.starts, line.ends, strict=True):
        rows = [line.order[start:end][group[start:end] == number].tolist() for number in np.unique(group[start:end])]
        slow.append(naive_pack.loss_of(encoded, rows, line.scale.weight.tolist()))
    assert losses_of(line, group) == pytest.approx(slow)
