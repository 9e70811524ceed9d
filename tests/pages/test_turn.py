"""What a page says while it waits for its turn of heavy work."""

import threading

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.test_data import SHELL, texts
from tests.pages.tree import session
from tests.server.test_turns import Asking
from tests.waiting import PATIENCE
from ui.server.turns import Owner
from ui.turn import TURNS, Notice, before_text


@pytest.mark.parametrize("stays", [True, False], ids=["while it waits", "afterwards"])
def test_busy_server__the_page_says_how_many_are_before(monkeypatch: pytest.MonkeyPatch, stays: bool) -> None:
    """The line stands there until the turn comes, and only until then: ``stays`` keeps it to be looked at."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = session()
    app.run()
    line, draw = threading.Event(), Notice.__call__

    def draw_and_tell(notice: Notice, before: int) -> None:
        draw(notice, before)
        line.set()

    monkeypatch.setattr(Notice, "__call__", draw_and_tell)
    if stays:
        monkeypatch.setattr(Notice, "clear", lambda notice: None)
    asking = [Asking(TURNS, Owner()) for _ in range(TURNS.most)]
    asking.append(Asking(TURNS, Owner()))  # waits, too

    def finish() -> None:
        line.wait(PATIENCE)
        for one in asking:
            one.finish()

    others = threading.Thread(target=finish)
    others.start()
    app.switch_page("../pages/tree.py").run()
    others.join()
    assert line.is_set()
    assert not app.exception
    assert (before_text(1) in texts(app)) == stays
    assert "1 before you" in before_text(1)
    assert (TURNS.working(), TURNS.waiting()) == (0, 0)
