"""What is run at start to have everything compiled."""

import threading

from ui.warm import NAME, wait_text, warm_up


def test_warm_up__runs_on_the_samples() -> None:
    warm_up()


def test_wait_text__says_that_loops_are_compiled_as_long_as_they_are() -> None:
    assert wait_text("Growing…") == "Growing…"
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name=NAME)
    thread.start()
    assert wait_text("Growing…") == "Growing… Copse is still compiling itself, as once after every update."
    done.set()
    thread.join()
    assert wait_text("Growing…") == "Growing…"
