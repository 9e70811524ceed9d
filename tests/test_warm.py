"""What is run at start to have everything compiled."""

from ui.warm import warm_up


def test_warm_up__runs_on_the_samples() -> None:
    warm_up()
