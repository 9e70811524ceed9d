"""Rerunning: against whole flows on changed tables, and what a secret takes from it."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.attacks.outcome import Rate
from anonymizer.attacks.rerun import contents_of, groups_of, other_values, rerun
from anonymizer.errors import CancelledError
from anonymizer.flow import Flow
from anonymizer.schema import Column, Schema
from anonymizer.settings import Settings
from tests.naive_attacks import slow_certain

EVERYBODY = 10_000


def few(seed: int, n: int = 10) -> tuple[pd.DataFrame, Schema]:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "x": rng.integers(0, 6, n),
            "y": rng.integers(0, 4, n),
            "c": rng.choice(list("ab"), n),
            "s": rng.choice(["yes", "no"], n),
        }
    )
    schema = Schema.of(table, quasi_identifying=["x", "y", "c"], sensitive=["s"])
    declared = {"x": (0, 5), "y": (0, 3), "c": ("a", "b")}
    columns = [
        Column(c.name, c.role, c.kind, domain=declared.get(c.name)) if c.name in declared else c for c in schema.columns
    ]
    return table, Schema(tuple(columns), schema.target)


def values(flow: Flow) -> list[np.ndarray]:
    """A grid on which every value is a cell of its own."""
    return [np.arange(encoding.n_codes) for encoding in flow.encoded.encodings]


@pytest.mark.sweep(1)
@pytest.mark.parametrize("settings", [
    {}, {"generalizer": "refine"}, {"grouping": "median-mondrian"}, {"grouping": "infogain-mondrian"},
    {"generalizer": "tiered-strict"},
])  # fmt: skip
def test_certain__is_what_whole_flows_say(settings: dict) -> None:
    certain = 0
    for seed in range(3):
        table, schema = few(seed)
        flow = Flow(
            table,
            schema,
            Settings(
                k=2,
                numbers="range",
                **{"grouping": "least", "criterion": "entropy", "generalizer": "uniform", **settings},
            ),
        )
        expected = sum(slow_certain(flow, person) for person in range(len(table)))
        result = rerun(flow.run, np.arange(len(table)), [1, 2, 3, 4], np.random.default_rng(0), most=EVERYBODY)
        assert result is not None
        assert result.certain == Rate(expected, len(table))
        assert result.certain_by_group.right <= result.certain.right
        assert (result.secrets, result.again.share) == (1, 1.0)
        certain += expected
    assert certain < 30


def test_packed__the_secret_hides_and_its_holder_knows() -> None:
    again, certain = Rate(0, 0), Rate(0, 0)
    for seed in range(3):
        table, schema = few(seed, 14)
        settings = Settings(k=2, grouping="least", generalizer="pack", min_leaf=14, numbers="range")
        people = np.arange(len(table))
        flow = Flow(table, schema, settings, rng=np.random.default_rng(99))
        mine = rerun(flow.run, people, range(6), np.random.default_rng(0), most=EVERYBODY)
        theirs = rerun(
            Flow(table, schema, settings, rng=np.random.default_rng(99)).run, people, [99], np.random.default_rng(0),
            most=EVERYBODY,
        )  # fmt: skip
        assert mine is not None
        assert theirs is not None
        assert (mine.secrets, theirs.secrets) == (6, 1)
        assert theirs.again.share == 1
        again = Rate(again.right + mine.again.right, again.tries + mine.again.tries)
        certain = Rate(certain.right + theirs.certain.right, certain.tries + theirs.certain.tries)
    assert 0 < again.share < 1
    assert certain.right > 0


def test_contents__are_what_the_box_admits() -> None:
    table, schema = few(0)
    flow = Flow(table, schema, Settings(k=3, grouping="least", generalizer="uniform", numbers="range"))
    for person in range(len(table)):
        contents = contents_of(flow.run, person, EVERYBODY, np.random.default_rng(0), values(flow))
        place = int(np.flatnonzero(flow.release.order == person)[0])
        admitted = 1
        for name in schema.quasi_identifying:
            cell = next(c for c in flow.release.columns if c.name == name)
            one = cell.cells[cell.index[place]]
            admitted *= sum(one.admits(str(value), value if name != "c" else None) for value in table[name].unique())
        assert len(contents) == len({content.tobytes() for content in contents}) == admitted
        assert np.array_equal(contents[0], flow.encoded.codes.matrix()[person])
        few_contents = contents_of(flow.run, person, 2, np.random.default_rng(0), values(flow))
        assert len(few_contents) == min(3, admitted)


def test_groups__are_those_of_the_release() -> None:
    table, schema = few(1, 14)
    flow = Flow(table, schema, Settings(k=2, grouping="least", generalizer="pack", min_leaf=14, numbers="range"))
    groups = groups_of(flow.encoded, flow.parts, other_values(flow.run), values(flow))
    assert len(groups.of) == len(flow.look_alikes.sizes)
    class_of = np.empty(len(table), np.int64)
    class_of[flow.release.order] = flow.look_alikes.class_of
    assert len({*zip(class_of.tolist(), groups.group.tolist(), strict=True)}) == len(groups.of)


def test_rerun__ends_in_time_and_when_it_is_stopped() -> None:
    table, schema = few(0)
    flow = Flow(table, schema, Settings(k=2, grouping="least", generalizer="uniform"))
    nobody = rerun(flow.run, np.arange(10), [1, 2], np.random.default_rng(0), seconds=0.0)
    assert nobody is not None
    assert (nobody.certain.tries, nobody.again.tries) == (0, len(flow.look_alikes.sizes))

    def stop(share: float, what: str) -> None:
        raise CancelledError("stopped")

    with pytest.raises(CancelledError):
        rerun(flow.run, np.arange(10), [1], np.random.default_rng(0), say=stop)
    shared = Flow(table, schema, Settings(k=4, grouping="least", generalizer="tiered"))
    assert len(shared.parts.shared_record)
    assert rerun(shared.run, np.arange(10), [1], np.random.default_rng(0)) is None
