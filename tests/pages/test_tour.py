"""The tour of one minute: begun on the Data page, one card a step, ended at any time."""

from streamlit.testing.v1 import AppTest

from tests.pages.test_data import SHELL
from tests.waiting import PATIENCE
from ui.navigation import STEPS
from ui.tour import CARDS


def begin() -> AppTest:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run()
    next(button for button in app.button if button.label == "One-minute tour").click().run()
    assert not app.exception
    return app


def card(app: AppTest) -> str:
    return " ".join(item.value for item in app.markdown if " of 5 · " in item.value)


def test_the_tour__leads_through_the_five_steps_and_ends() -> None:
    app = begin()
    assert app.session_state["workspace"].reading.name == "hospital"
    assert list(CARDS) == [name for name, *_ in STEPS]
    for number, (name, title, _) in enumerate(STEPS, start=1):
        assert card(app).startswith(f"**{number} of 5 · {title}.**")
        assert all(sentence in card(app) for sentence in CARDS[name])
        if number < len(STEPS):
            app.button(key=f"tour {name}").click().run()
            assert not app.exception
    app.button(key="end tour").click().run()
    assert not card(app)
    app.switch_page("../pages/data.py").run()
    assert not card(app), "it is never shown again unless it is asked for"


def test_the_tour__is_ended_on_any_card_and_stands_on_no_other_page() -> None:
    app = begin()
    app.switch_page("../pages/what_if.py").run()
    assert not card(app)
    app.switch_page("../pages/roles.py").run()
    assert card(app)
    app.button(key="end tour").click().run()
    assert not card(app)
    assert not [button for button in app.button if button.label == "One-minute tour"]
