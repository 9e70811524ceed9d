"""Numbers on a slider with a field beside it: both show what holds, whoever changed it."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.tree import numbers, open_page, session
from ui.history import travel
from ui.slider import OFF, with_stop


def both_of(app: AppTest, name: str) -> tuple[object, float | None]:
    """What the slider and the field of a limit show."""
    return app.select_slider(key=f"tree {name} slider").value, app.number_input(key=f"tree {name}").value


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("name", "move", "typed", "loosest"),
    [
        ("l", 2, 3, 0),
        ("entropy_l", 1.5, 1.6, 0),
        ("t", 0.5, 0.47, -1),
        ("risk_max", 0.1, 0.07, -1),
        ("risk_mean", 0.05, 0.06, -1),
        ("rsd_min", 0.1, 0.12, 0),
        ("spread_min", 0.2, 0.21, 0),
    ],
)
def test_limit__slider_and_field_are_one_number(name: str, move: float, typed: float, loosest: int) -> None:
    ws = numbers(categories=True)
    app = open_page(ws)
    assert both_of(app, name) == (OFF, None)
    app.select_slider(key=f"tree {name} slider").set_value(move).run()
    assert (ws.settings[name], both_of(app, name)) == (move, (move, move))
    app.number_input(key=f"tree {name}").set_value(typed).run()
    assert (ws.settings[name], both_of(app, name)) == (typed, (typed, typed))
    assert app.select_slider(key=f"tree {name} slider").options[loosest] == "off"
    app.number_input(key=f"tree {name}").set_value(None).run()
    assert (ws.settings[name], both_of(app, name)) == (None, (OFF, None))
    app.select_slider(key=f"tree {name} slider").set_value(move).run()
    app.select_slider(key=f"tree {name} slider").set_value(OFF).run()
    assert (ws.settings[name], both_of(app, name)) == (None, (OFF, None))
    assert not app.exception


def k_of(app: AppTest) -> tuple[int, int]:
    """What the slider and the field of k show."""
    return app.slider(key="tree k").value, app.number_input(key="tree k field").value


def test_k__goes_beyond_the_slider_back_and_never_to_nothing() -> None:
    ws = session()
    app = open_page(ws)
    app.slider(key="tree k").set_value(12).run()
    assert (ws.k, k_of(app)) == (12, (12, 12))
    app.number_input(key="tree k field").set_value(300).run()
    assert (ws.k, k_of(app), app.slider(key="tree k").max) == (300, (300, 300), 300)
    app.number_input(key="tree k field").set_value(9).run()
    assert (ws.k, k_of(app), app.slider(key="tree k").max) == (9, (9, 9), 200)
    app.number_input(key="tree k field").set_value(None).run()
    assert (ws.k, k_of(app)) == (9, (9, 9))


def test_undo__is_shown_by_both() -> None:
    ws = session()
    app = open_page(ws)
    app.number_input(key="tree k field").set_value(12).run()
    app.select_slider(key="tree l slider").set_value(2).run()
    for k in (12, 8):
        travel(ws, ws.history.undo())
        app.run()
        assert (k_of(app), both_of(app, "l")) == ((k, k), (OFF, None))


def test_alpha__is_typed_and_slid() -> None:
    ws = numbers()
    ws.set(grouping="error-digression", significance=0.05)
    app = open_page(ws)
    app.number_input(key="tree significance field").set_value(0.6).run()
    assert (ws.settings.significance, app.slider(key="tree significance").value) == (0.6, 0.6)
    app.slider(key="tree significance").set_value(0.0).run()
    assert (ws.settings.significance, app.number_input(key="tree significance field").value) == (0, 0)


def test_accepted_risk_and_budget__can_be_typed() -> None:
    ws = session()
    app = open_page(ws).switch_page("../pages/roles.py").run()
    app.number_input(key="prosecutor limit field").set_value(7).run()
    assert (ws.settings.prosecutor_limit, app.select_slider(key="prosecutor limit").value) == (7, 7)
    app = app.switch_page("../pages/forest.py").run()
    app.number_input(key="forest epsilon field").set_value(0.42).run()
    assert app.select_slider(key="forest epsilon").value == 0.42
    app.select_slider(key="forest epsilon").set_value(2.0).run()
    assert app.number_input(key="forest epsilon field").value == 2
    assert not app.exception


def test_with_stop__keeps_the_order_and_where_off_is() -> None:
    assert with_stop((OFF, 1, 3), 2) == (OFF, 1, 2, 3)
    assert with_stop((1, 3, OFF), 2) == (1, 2, 3, OFF)
    assert with_stop((1, 3), 3) == (1, 3)
    assert with_stop((1, 3, OFF), None) == (1, 3, OFF)
