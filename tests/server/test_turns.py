"""Who computes when many sessions want to."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.waiting import PATIENCE
from ui.server.turns import PASSED, Owner, Turns, Work


class Asking:
    """A thread that asks for a turn, says so, and keeps it until it may end."""

    def __init__(
        self, turns: Turns, owner: Owner, work: Work = Work.SHORT, order: list[str] | None = None, name: str = "",
        look: Callable[[int], None] | None = None, run: object = None,
    ) -> None:  # fmt: skip
        self.granted, self.end, self.error = threading.Event(), threading.Event(), None
        waiting = turns.waiting() + turns.working()
        self.thread = threading.Thread(target=self.ask, args=(turns, owner, work, order, name, look, run), daemon=True)
        self.thread.start()
        while turns.waiting() + turns.working() == waiting and not self.granted.is_set() and self.thread.is_alive():
            self.thread.join(0.001)

    def ask(self, turns, owner, work, order, name, look, run) -> None:  # type: ignore[no-untyped-def]
        try:
            with turns.turn(owner, work, look, run):
                if order is not None:
                    order.append(name)
                self.granted.set()
                assert self.end.wait(PATIENCE)
        except RuntimeError as error:
            self.error = error

    def finish(self) -> None:
        self.end.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@contextmanager
def all_taken(turns: Turns) -> Iterator[None]:
    """No turn is free as long as the block lasts."""
    holders = [Asking(turns, Owner()) for _ in range(turns.most)]
    yield
    for holder in holders:
        holder.finish()


def finish_in_turn(asking: list[Asking]) -> None:
    """End whoever has a turn, until nobody is left."""
    left = list(asking)
    while left:
        at_work = next((one for one in left if one.granted.wait(0.05)), None)
        if at_work is not None:
            left.remove(at_work)
            at_work.finish()


def test_turns__as_many_at_once_as_allowed() -> None:
    turns = Turns(2)
    first, second, third = (Asking(turns, Owner()) for _ in range(3))
    assert first.granted.wait(PATIENCE)
    assert second.granted.wait(PATIENCE)
    assert not third.granted.is_set()
    assert (turns.working(), turns.waiting()) == (2, 1)
    first.finish()
    assert third.granted.wait(PATIENCE)
    second.finish()
    third.finish()
    assert (turns.working(), turns.waiting()) == (0, 0)


def test_turns__first_come_first_served_among_new_sessions() -> None:
    turns, order = Turns(1), list[str]()
    with all_taken(turns):
        asking = [Asking(turns, Owner(), order=order, name=name) for name in "abcd"]
    finish_in_turn(asking)
    assert order == list("abcd")


def test_turns__who_had_none_for_longest_goes_first() -> None:
    turns, order = Turns(1), list[str]()
    busy, idle = Owner(), Owner()
    for owner in (idle, busy, busy):
        Asking(turns, owner).finish()
    with all_taken(turns):
        asking = [Asking(turns, busy, order=order, name="busy"), Asking(turns, idle, order=order, name="idle")]
    finish_in_turn(asking)
    assert order == ["idle", "busy"]


def test_turns__one_drawing_keeps_its_place_for_all_that_it_asks() -> None:
    turns, order = Turns(1), list[str]()
    one, other = Owner(), Owner()
    for owner in (one, other):
        Asking(turns, owner).finish()
    drawing = object()
    Asking(turns, one, run=drawing).finish()
    with all_taken(turns):
        asking = [
            Asking(turns, other, order=order, name="other", run=object()),
            Asking(turns, one, order=order, name="same drawing", run=drawing),
        ]
    finish_in_turn(asking)
    assert order == ["same drawing", "other"]


def test_turns__short_before_long_before_background() -> None:
    turns, order = Turns(1), list[str]()
    with all_taken(turns):
        asking = [Asking(turns, Owner(), work, order, work.name) for work in reversed(Work)]
    finish_in_turn(asking)
    assert order == ["SHORT", "LONG", "BACKGROUND"]


@pytest.mark.parametrize("work", [Work.LONG, Work.BACKGROUND])
def test_turns__long_work_is_passed_over_a_few_times_only(work: Work) -> None:
    turns, order = Turns(1), list[str]()
    moving = [Owner() for _ in range(2 * PASSED)]
    for owner in moving:
        Asking(turns, owner).finish()
    with all_taken(turns):
        asking = [Asking(turns, Owner(), work, order, "long")]
        asking += [Asking(turns, owner, Work.SHORT, order, "short") for owner in moving]
    finish_in_turn(asking)
    assert order.index("long") == PASSED


def test_turns__background_leaves_one_turn_to_the_pages() -> None:
    turns = Turns(2)
    first, second = Asking(turns, Owner(), Work.BACKGROUND), Asking(turns, Owner(), Work.BACKGROUND)
    assert not second.granted.is_set()
    page = Asking(turns, Owner(), Work.LONG)
    assert page.granted.wait(PATIENCE)
    page.finish()
    assert not second.granted.is_set()
    first.finish()
    assert second.granted.wait(PATIENCE)
    second.finish()


def test_turns__threads_of_a_session_share_its_turn() -> None:
    """Also where all turns are taken: they wait for each other's answers."""
    turns, owner = Turns(1), Owner()
    first, other = Asking(turns, owner), Asking(turns, Owner())
    second = Asking(turns, owner)
    assert second.granted.wait(PATIENCE)
    first.finish()
    assert not other.granted.is_set(), "the second thread still works"
    second.finish()
    assert other.granted.wait(PATIENCE)
    other.finish()


def test_turns__a_turn_within_a_turn_is_the_same() -> None:
    turns, owner = Turns(1), Owner()
    with turns.turn(owner, Work.LONG), turns.turn(owner, Work.SHORT):
        assert turns.working() == 1
    assert turns.working() == 0


def test_keeping__the_first_turn_stays_until_the_page_is_drawn() -> None:
    turns, owner = Turns(1), Owner()
    with turns.keeping(owner):
        assert turns.working() == 0, "a page that computes nothing needs no turn"
        for _ in range(2):
            with turns.turn(owner, Work.SHORT):
                pass
        other = Asking(turns, Owner())
        assert turns.working() == 1
        assert not other.granted.is_set()
    assert other.granted.wait(PATIENCE)
    other.finish()
    assert turns.working() == 0


def test_keeping__a_page_that_fails_gives_its_turn_back() -> None:
    turns, owner = Turns(1), Owner()
    with pytest.raises(ZeroDivisionError), turns.keeping(owner), turns.turn(owner, Work.SHORT):
        raise ZeroDivisionError
    assert turns.working() == 0


def test_turns__work_that_fails_gives_its_turn_back() -> None:
    turns = Turns(1)
    with pytest.raises(ZeroDivisionError), turns.turn(Owner(), Work.SHORT):
        raise ZeroDivisionError
    assert turns.working() == 0


def test_turns__who_leaves_the_line_is_waited_for_by_nobody() -> None:
    turns, numbers = Turns(1), list[int]()

    def look(before: int) -> None:
        numbers.append(before)
        raise RuntimeError("another choice was made")

    with all_taken(turns):
        ahead = Asking(turns, Owner())
        leaver = Asking(turns, Owner(), look=look)
        leaver.thread.join(PATIENCE)
        assert leaver.error is not None
        assert numbers == [1]
        assert turns.waiting() == 1
    assert ahead.granted.wait(PATIENCE)
    ahead.finish()


def test_turns__tell_how_many_are_before() -> None:
    turns, numbers = Turns(1), list[int]()
    last = Owner()
    Asking(turns, last).finish()
    with all_taken(turns):
        asking = [Asking(turns, Owner()) for _ in range(3)]
        looked = threading.Event()
        asking.append(Asking(turns, last, look=lambda before: (numbers.append(before), looked.set())[0]))  # type: ignore[func-returns-value]
        assert looked.wait(PATIENCE)
    finish_in_turn(asking)
    assert numbers[0] == 3


def test_rest__lets_others_go_before_and_goes_on() -> None:
    turns, owner = Turns(1), Owner()
    begun, waits, rested, end = (threading.Event() for _ in range(4))

    def work() -> None:
        with turns.turn(owner, Work.BACKGROUND), turns.turn(owner, Work.LONG):
            turns.rest(owner)  # nobody waits, so nothing is given back
            begun.set()
            assert waits.wait(PATIENCE)
            turns.rest(owner)
            rested.set()
            assert end.wait(PATIENCE)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert begun.wait(PATIENCE)
    assert turns.working() == 1
    other = Asking(turns, Owner())
    waits.set()
    assert other.granted.wait(PATIENCE)
    assert not rested.is_set()
    other.finish()
    assert rested.wait(PATIENCE)
    assert turns.working() == 1
    end.set()
    thread.join(PATIENCE)
    assert turns.working() == 0


def test_rest__not_while_another_thread_of_the_session_works() -> None:
    turns, owner = Turns(1), Owner()
    with turns.turn(owner, Work.BACKGROUND):
        same = Asking(turns, owner)
        assert same.granted.wait(PATIENCE)
        other = Asking(turns, Owner())
        turns.rest(owner)
        assert not other.granted.is_set()
        same.finish()
    assert other.granted.wait(PATIENCE)
    other.finish()


def test_rest__that_is_stopped_gives_its_turn_back_once() -> None:
    turns, owner = Turns(1), Owner()

    def look(before: int) -> None:
        raise RuntimeError("stopped")

    with turns.turn(owner, Work.BACKGROUND):
        other = Asking(turns, Owner())
        with pytest.raises(RuntimeError):
            turns.rest(owner, look)
    other.finish()
    assert (turns.working(), turns.waiting()) == (0, 0)
