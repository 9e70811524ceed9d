"""How many sessions may be open, what they hold, and what is left."""

import gc
import os

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.reading.options import MIB
from tests.groups.test_refine import random_table
from ui.server.capacity import Capacity, operator_capacity
from ui.server.memory import size_of
from ui.server.places import GROWTH, Places
from ui.server.turns import Owner


def places(sessions: int = 2, memory: int = 1000, session_memory: int = 1000) -> Places:
    return Places(Capacity(sessions, 1, memory, session_memory))


def test_enter__who_comes_later_waits_until_somebody_leaves() -> None:
    here, owners = places(2), [Owner() for _ in range(4)]
    assert [here.enter(owner, int) for owner in owners] == [0, 0, 1, 2]
    assert (here.count(), here.waiting()) == (2, 2)
    here.leave(owners[0])
    assert [here.enter(owner, int) for owner in owners[1:]] == [0, 0, 1]
    here.leave(owners[2])
    here.leave(owners[1])
    assert here.enter(owners[3], int) == 0
    assert (here.count(), here.waiting()) == (1, 0)


def test_enter__a_session_that_is_gone_gives_its_place_back() -> None:
    here, first, second = places(1), Owner(), Owner()
    here.enter(first, int)
    assert here.enter(second, int) == 1
    del first
    gc.collect()
    assert here.enter(second, int) == 0


def test_left__is_what_the_others_do_not_hold() -> None:
    here, one, other = places(memory=1000, session_memory=700), Owner(), Owner()
    assert here.left(one) == 700
    here.enter(one, lambda: 250)
    here.enter(other, lambda: 600)
    assert here.memory() == {one: 250, other: 600}
    assert here.left(one) == 400
    assert here.left(other) == 700


def test_require__says_what_a_table_takes_and_what_is_left() -> None:
    here, one, other = places(memory=1000 * GROWTH, session_memory=700 * GROWTH), Owner(), Owner()
    here.require(one, "people.csv", 700)
    with pytest.raises(ReadError, match=r"people.csv takes 701 bytes, .* a session may take 5.6 kB\."):
        here.require(one, "people.csv", 701)
    here.enter(other, lambda: 600 * GROWTH)
    here.require(one, "people.csv", 400)
    with pytest.raises(ReadError, match=r"others, 3.2 kB are left\. .* when others have left"):
        here.require(one, "people.csv", 401)


def test_operator_capacity__is_what_the_environment_says() -> None:
    settings = {"COPSE_SESSIONS": "5", "COPSE_TURNS": "3", "COPSE_MEMORY": "2048", "COPSE_SESSION_MEMORY": "512"}
    assert operator_capacity(settings) == Capacity(5, 3, 2048 * MIB, 512 * MIB)
    standard = operator_capacity({})
    assert standard.turns == min(os.cpu_count() or 1, 4)
    assert standard.session_memory == standard.memory
    with pytest.raises(ParameterError, match="COPSE_SESSIONS is 'many'"):
        operator_capacity({"COPSE_SESSIONS": "many"})


def test_size_of__counts_arrays_tables_and_texts_once() -> None:
    array = np.zeros(1000)
    assert size_of(array) == 8000
    assert size_of((array, array)) - size_of((None, None)) == 8000
    assert size_of(array[10:]) == 8000, "a view keeps all of it"
    assert size_of({"a": array, "b": np.zeros(10)}) == 8080 + size_of("a") + size_of("b")
    table = pd.DataFrame({"x": np.zeros(1000)}, index=pd.RangeIndex(1000))
    assert 8000 <= size_of(table) < 8500
    assert size_of(b"x" * 5000) >= 5000
    assert size_of([b"x" * 1000 + bytes([n % 256]) + bytes([n // 256]) for n in range(1000)]) >= 1_000_000


def test_size_of__follows_a_flow_to_its_stages() -> None:
    table, schema = random_table(3, 300)
    flow = Flow(table, schema)
    before = size_of(flow)
    assert before >= size_of(table)
    codes = size_of(flow.encoded)
    assert codes > 0
    assert size_of(flow) >= before + codes - size_of(schema)
