"""When a session ends, and what is dropped then."""

from ui.server.sessions import Sessions, Visit


def visit(connection: str) -> Visit:
    return Visit(connection, lambda: None)


def test_end__a_page_that_was_left_ends_at_once() -> None:
    sessions = Sessions()
    sessions.draw("a", visit("1"))
    sessions.draw("b", visit("2"))
    sessions.leave("1")
    assert sessions.end(lambda _: True, 0.0, 60.0) == {}, "its connection still stands"
    assert set(sessions.end(lambda session: session == "b", 1.0, 60.0)) == {"a"}
    assert set(sessions.visits) == {"b"}


def test_end__a_lost_connection_is_waited_for() -> None:
    sessions = Sessions()
    sessions.draw("a", visit("1"))
    assert sessions.end(lambda _: False, 10.0, 60.0) == {}
    assert sessions.end(lambda _: False, 69.9, 60.0) == {}
    assert set(sessions.end(lambda _: False, 70.0, 60.0)) == {"a"}


def test_end__a_connection_that_came_back_is_waited_for_anew() -> None:
    sessions = Sessions()
    sessions.draw("a", visit("1"))
    assert sessions.end(lambda _: False, 0.0, 60.0) == {}
    assert sessions.end(lambda _: True, 50.0, 60.0) == {}
    assert sessions.end(lambda _: False, 70.0, 60.0) == {}
    assert set(sessions.end(lambda _: False, 130.0, 60.0)) == {"a"}


def test_leave__only_the_newest_connection_of_a_session_counts() -> None:
    sessions = Sessions()
    sessions.draw("a", visit("1"))
    sessions.draw("a", visit("2"))
    sessions.leave("1")
    assert sessions.end(lambda _: False, 0.0, 60.0) == {}
    sessions.leave("2")
    assert set(sessions.end(lambda _: False, 1.0, 60.0)) == {"a"}
