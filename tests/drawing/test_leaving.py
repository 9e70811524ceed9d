"""The groups that leave, as stripes below the map."""

import json

import numpy as np
import pytest

from anonymizer.drawing.leaving import NARROWEST, Stripe, leaving, narrowest_ranges, stripe_text
from anonymizer.drawing.shades import risk_levels
from anonymizer.drawing.words import chance_text
from anonymizer.flow import Flow
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLES
from anonymizer.settings import Settings
from anonymizer.values import number_text
from tests.drawn_trees import table


def flow_of(generalizer: str = "pack") -> Flow:
    frame, schema = table()
    return Flow(frame, schema, Settings().but(k=8, generalizer=generalizer))


def classes(flow: Flow) -> np.ndarray:
    """Which records look alike, by the released cells themselves."""
    of = np.empty(len(flow.table), int)
    cells = flow.released[list(flow.schema.quasi_identifying)].map(str).agg("|".join, axis=1)
    of[flow.release.order] = cells.factorize()[0]
    return of


@pytest.mark.parametrize("generalizer", ["pack", "uniform", "tiered"])
def test_stripes__fill_the_width_in_the_order_of_the_tree(generalizer: str) -> None:
    flow = flow_of(generalizer)
    of = classes(flow)
    picture = leaving(flow.pruning, flow.encoded, flow.leaf, of)
    assert picture.groups == flow.after.groups == len(np.unique(of))
    assert sum(stripe.width for stripe in picture.stripes) == pytest.approx(1)
    lefts = [stripe.left for stripe in picture.stripes]
    assert lefts == sorted(lefts)
    for stripe, after in zip(picture.stripes, picture.stripes[1:], strict=False):
        assert stripe.left + stripe.width == pytest.approx(after.left)


def test_stripes__of_one_group_say_its_records_and_what_is_learnt() -> None:
    flow = flow_of()
    of, illness = classes(flow), flow.table["illness"].to_numpy()
    shares = {}
    for number in np.unique(of):
        labels, counts = np.unique(illness[of == number], return_counts=True)
        label = labels[counts.argmax()]
        part = counts.max() / counts.sum()
        level = risk_levels(np.array([part]), "sure")[0]
        shares[number] = (int(counts.sum()), f"{chance_text(part)} {label}", int(level), part)
    picture = leaving(flow.pruning, flow.encoded, flow.leaf, of)
    single = [stripe for stripe in picture.stripes if stripe.groups == 1]
    assert single
    triples = {(size, words, level) for size, words, level, _ in shares.values()}
    for stripe in single:
        assert (stripe.least, stripe.words, stripe.shade) in triples or any(
            size == stripe.least and level == stripe.shade for size, _, level, _ in shares.values()
        )
    assert picture.up_to_even == sum(part <= 0.5 for *_, part in shares.values())
    records = {level: sum(size for size, _, own, _ in shares.values() if own == level) for level in picture.records}
    assert picture.records == records
    assert sum(records.values()) == len(illness)
    assert picture.certain == sum(part == 1 for *_, part in shares.values())
    group = flow.pruning.group_of_node()[flow.leaf]
    for stripe in single:
        assert stripe.node in group
        assert stripe.width == pytest.approx(stripe.least / len(of))


@pytest.mark.parametrize("generalizer", ["pack", "uniform"])
def test_a_group_of_look_alikes__is_found_in_its_stripe(generalizer: str) -> None:
    """Of each record's group: the branch of its stripe, and as many groups there as the stripe says."""
    flow = flow_of(generalizer)
    of = classes(flow)
    picture = leaving(flow.pruning, flow.encoded, flow.leaf, of)
    group = flow.pruning.group_of_node()[flow.leaf]
    assert set(picture.at) == set(zip(group.tolist(), of.tolist(), strict=True))
    groups = [0] * len(picture.stripes)
    for (node, number), place in picture.at.items():
        stripe = picture.stripes[place]
        groups[place] += 1
        assert stripe.width >= NARROWEST
        if stripe.groups == 1:
            assert (stripe.node, stripe.least) == (node, int((of == number).sum()))
    assert groups == [stripe.groups for stripe in picture.stripes]


def test_narrow_stripes__are_joined_and_counted() -> None:
    flow = flow_of("uniform")
    n = len(flow.table)
    of = np.arange(n)  # everybody alone: 400 stripes of a four hundredth
    picture = leaving(flow.pruning, flow.encoded, flow.leaf, of, colour_by="tidi")
    assert sum(stripe.groups for stripe in picture.stripes) == n
    assert {stripe.shade for stripe in picture.stripes} == {-1}
    assert all(stripe.width >= NARROWEST for stripe in picture.stripes)


def test_focus__leaves_out_what_is_beside() -> None:
    flow = flow_of()
    tree = flow.pruning.tree
    focus = int(tree.children(0)[1])
    picture = leaving(flow.pruning, flow.encoded, flow.leaf, classes(flow), focus=focus)
    assert sum(stripe.width for stripe in picture.stripes) == pytest.approx(1)
    assert picture.stripes[0].left == 0
    assert all(focus <= stripe.node < focus + tree.size[focus] for stripe in picture.stripes)


def test_sizes_and_classes__have_their_own_shades() -> None:
    flow = flow_of()
    of = classes(flow)
    by_size = leaving(flow.pruning, flow.encoded, flow.leaf, of, colour_by="n")
    assert {stripe.shade for stripe in by_size.stripes} <= {1, 2, 3, 4}, "nobody is in fewer than k"
    by_class = leaving(flow.pruning, flow.encoded, flow.leaf, of, colour_by="classes")
    assert {stripe.shade for stripe in by_class.stripes} <= {0, 1, 2}
    assert json.loads(json.dumps(by_class.payload()))[0][4] == stripe_text(by_class.stripes[0])


def test_stripe_text() -> None:
    assert stripe_text(Stripe(0, 1, 3, 2, 1, 12, 12, "1 in 3 Flu")) == "12 rows that look alike: 1 in 3 Flu"
    assert stripe_text(Stripe(0, 1, 3, 2, 4, 10, 19)) == "4 groups of 10 to 19 rows that look alike"
    assert stripe_text(Stripe(0, 1, 3, 2, 4, 10, 10)) == "4 groups of 10 rows that look alike"


def test_narrowest_ranges__are_those_of_all_windows() -> None:
    rng = np.random.default_rng(1)
    of = np.append(np.arange(9), rng.integers(0, 9, 191))
    values = rng.integers(0, 50, 200) / 50
    for group, width in enumerate(narrowest_ranges(values, of)):
        own = np.sort(values[of == group])
        most = next(m for m in range(1, len(own) + 1) if m >= 0.8 * len(own))
        assert width == min(own[at + most - 1] - own[at] for at in range(len(own) - most + 1))


def test_groups_of_a_number__have_shades_by_their_range_in_its_unit() -> None:
    frame = SAMPLES["employees"].load()
    flow = Flow(frame, suggest(frame), Settings().but(k=5, grouping="error-digression"))
    assert flow.encoded.by_numbers
    name, (_, of) = flow.encoded.numeric.names[0], np.unique(flow.class_of, return_inverse=True)
    picture = leaving(flow.pruning, flow.encoded, flow.leaf, of, colour_by="digression")

    def narrowest(values: np.ndarray) -> float:
        most = int(np.ceil(0.8 * len(values) - 1e-9))
        return float((np.sort(values)[most - 1 :] - np.sort(values)[: len(values) - most + 1]).min())

    numbers = frame[name].to_numpy(float)
    whole = narrowest(numbers)
    expected = {11: 0, 12: 0, 13: 0, 14: 0, 15: 0, 16: 0}
    for group in np.unique(of):
        part = narrowest(numbers[of == group]) / whole
        expected[11 + sum(part <= end + 1e-9 for end in (1, 3 / 4, 1 / 2, 1 / 3, 1 / 6))] += int((of == group).sum())
    assert dict(picture.records) == {shade: rows for shade, rows in expected.items() if rows}
    assert picture.ranges[0] == f"wider than {number_text(whole, 2)}"
    assert {stripe.shade for stripe in picture.stripes} <= set(expected)
