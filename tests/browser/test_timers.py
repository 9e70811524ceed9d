"""A page that draws itself again by a timer makes way for another one, which stays."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import listen, settle
from tests.conftest import ROOT, serve

pytestmark = pytest.mark.browser

APP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import streamlit as st
from starlette.middleware import Middleware
from ui.server.timers import Timers
app = st.App("pages_of_test.py", middleware=[Middleware(Timers)])
"""
PAGES = """
import time
import streamlit as st

def first():
    st.title("First")
    @st.fragment(run_every=0.1)
    def clock():
        st.write(time.time())
    clock()
    if st.button("Go"):
        time.sleep(1)
        st.switch_page(other)

def second():
    st.title("Second")
    time.sleep(0.3)
    st.write("What the second page says")

other = st.Page(second)
st.navigation([st.Page(first), other]).run()
st.caption("The foot")
"""
TRIES = 5


@pytest.mark.sweep(0)
def test_a_page__stays_where_one_with_a_timer_made_way_for_it(page: Page, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP, "utf-8")
    (tmp_path / "pages_of_test.py").write_text(PAGES, "utf-8")
    listen(page)
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--browser.gatherUsageStats", "false"]
    with serve(command, tmp_path, tmp_path / "log", real=True) as dashboard:
        for _ in range(TRIES):
            page.goto(dashboard.address)
            page.get_by_role("button", name="Go").click()
            expect(page.get_by_role("heading", name="Second")).to_be_visible()
            settle(page)
            assert page.get_by_text("What the second page says").count() == 1
