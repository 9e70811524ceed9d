"""Several sessions at once on a real server: who finds no place, who brings a bomb, and who only wants a page."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.proto.ClientState_pb2 import ClientState

from tests.conftest import COMMAND, ROOT, serve
from tests.hostile.bombs import far_corner, many_cells
from tests.server.visitor import Refusal, Visitor
from tests.waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def small_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with two places, one turn, and little memory."""
    log = tmp_path_factory.mktemp("small") / "server.log"
    limits = {"COPSE_SESSIONS": "2", "COPSE_TURNS": "1", "COPSE_MEMORY": "8"}
    with serve(COMMAND, ROOT, log, {**os.environ, **limits}) as dashboard:
        yield dashboard.address


def opened(visitor: Visitor) -> bool:
    """Whether a page is let in now."""
    try:
        visitor.open()
    except Refusal:
        return False
    return True


def test_places__who_finds_none_is_told_so_and_gets_in_when_another_leaves(small_server: str) -> None:
    first, second, third = (Visitor(small_server) for _ in range(3))
    first.open()
    second.open("tree")
    with pytest.raises(Refusal, match=r"2 sessions at once.* You are number \*\*1\*\* in the line"):
        third.open()
    first.open()
    first.close()
    wait_until(lambda: opened(third))
    assert third.shows("Release a table about people, safely")
    with Visitor(small_server) as fourth, pytest.raises(Refusal):
        fourth.open()
    second.close()
    third.close()


def test_memory__a_table_too_large_for_what_is_left_is_refused_in_a_sentence(small_server: str) -> None:
    rows = "\n".join(f"{n},{n * 7 % 1000},{n % 2}" for n in range(60_000))
    with Visitor(small_server) as visitor:
        wait_until(lambda: opened(visitor))
        visitor.upload(f"a,b,c\n{rows}\n".encode(), "people.csv")
        assert visitor.shows("people.csv takes 1.4 MB, and with what is worked out of it about")
        visitor.upload(b"a,b\n1,2\n3,4\n", "few.csv")
        assert visitor.shows("few.csv")
        assert visitor.shows("2 Rows")


@pytest.mark.sweep(0)
def test_bomb__of_one_session_does_not_disturb_another(app_server: str) -> None:
    """While a file unfolds, another session opens pages, brings a table and gets its tree."""
    done = threading.Event()
    answers: list[str] = []

    def bring_bombs() -> None:
        with Visitor(app_server) as hostile:
            hostile.open()
            for bomb in (many_cells, far_corner):
                hostile.upload(bomb(), "people.xlsx")
                answers.extend(hostile.words())
        done.set()

    with Visitor(app_server) as other:
        other.open()
        thread = threading.Thread(target=bring_bombs, daemon=True)
        thread.start()
        other.click("Use")
        assert other.shows("Rows")
        other.open("roles")
        other.click("Accept")
        other.open("tree")
        assert other.shows("after")
        thread.join(PATIENCE)
    assert done.is_set()
    assert any("people.xlsx" in line for line in answers), "each bomb was refused in a sentence"


def test_session__that_ends_while_it_waits_leaves_the_line(small_server: str, tmp_path: Path) -> None:
    """One turn, two sessions: the one that is closed in the middle gives back whatever it had."""
    rows = "\n".join(f"{n % 90},{n * 7 % 13},{'yes' if n % 3 else 'no'}" for n in range(2000))
    one, other = Visitor(small_server), Visitor(small_server)
    for visitor in (one, other):
        wait_until(lambda visitor=visitor: opened(visitor))  # type: ignore[misc]
        visitor.upload(f"age,street,ill\n{rows}\n".encode(), "people.csv")
        visitor.open("roles")
        visitor.click("Accept")
    one.send(ClientState(page_script_hash=one.pages["tree"]))
    one.close()
    other.open("tree")
    assert other.shows("Tree")
    other.close()


@pytest.mark.skipif(sys.platform != "linux", reason="what a process watches is read from Linux")
def test_server__watches_no_folder(tmp_path: Path) -> None:
    """A file that is compiled would wake it, and it would look through all folders."""
    with serve(COMMAND, ROOT, tmp_path / "log") as dashboard, Visitor(dashboard.address) as visitor:
        visitor.open()
        targets = {os.readlink(link) for link in Path(f"/proc/{dashboard.process}/fd").iterdir() if link.is_symlink()}
    assert not [target for target in targets if "inotify" in target]
