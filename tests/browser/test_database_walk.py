"""A table of a listed database, in the browser: refused, stopped, read; and the password is nowhere afterwards."""

import os
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import number, open_page, settle, step
from tests.conftest import COMMAND, ROOT, Served, serve
from tests.databases.cluster import Cluster
from tests.waiting import wait_until

pytestmark = pytest.mark.browser

CANARY = "Zqwx-walking-canary"
TRACES = """async () => {
    const texts = [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie, location.href,
        document.documentElement.outerHTML, JSON.stringify(history.state)];
    for (const field of document.querySelectorAll('input, textarea')) texts.push(field.value);
    return texts.join(' ');
}"""


@pytest.fixture(scope="module")
def dashboard(postgresql: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A dashboard whose operator lists a database with forty people, and an account that may read them."""
    postgresql.run("CREATE DATABASE ward", f"CREATE ROLE walker LOGIN PASSWORD '{CANARY}'")
    postgresql.run(
        "CREATE TABLE people AS SELECT 20 + n % 40 AS age, (ARRAY['Ulm','Bonn'])[1 + n % 2] AS city, "
        "(ARRAY['low','high'])[1 + n / 2 % 2] AS income FROM generate_series(1, 40) AS n",
        "GRANT SELECT ON people TO walker", "GRANT CREATE ON SCHEMA public TO walker", base="ward",
    )  # fmt: skip
    address = f"postgresql:///ward?host={postgresql.folder}&port={postgresql.port}&write=new"
    log = tmp_path_factory.mktemp("dashboard") / "server.log"
    with serve(COMMAND, ROOT, log, {**os.environ, "COPSE_DATABASES": address}) as running:
        yield running
    assert CANARY not in log.read_text("utf-8", "replace")
    postgresql.run("DROP DATABASE ward WITH (FORCE)", "DROP ROLE walker")


def ask(page: Page, what: str, text: str, password: str) -> None:
    """Fill in the form with the keyboard, and read."""
    settle(page)
    page.get_by_role("radio", name=what).click()
    settle(page)
    page.get_by_label("Query" if what == "A query" else "Name of the table", exact=True).fill(text)
    page.get_by_label("Account", exact=True).fill("walker")
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Read it").click()


def read_the_table(dashboard: Served, postgresql: Cluster, page: Page) -> None:
    requests: list[str] = []
    page.on("request", lambda fetch: requests.append(fetch.url))
    open_page(page, dashboard.address)
    page.get_by_text("Or a table in a database").click()
    assert page.get_by_label("Password", exact=True).get_attribute("type") == "password"
    ask(page, "A table", "people", "not-it")
    expect(page.get_by_text("did not let you in as 'walker'")).to_be_visible()
    expect(page.get_by_label("Name of the table", exact=True)).to_have_value("people")
    expect(page.get_by_label("Password", exact=True)).to_have_value("")

    ask(page, "A query", "SELECT age, pg_sleep(100)::text AS late FROM people", CANARY)
    expect(page.get_by_text(re.compile("Reading postgresql:.?query"))).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text(re.compile("The reading of postgresql:.?query was stopped."))).to_be_visible()
    busy = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'copse' AND usename = 'walker'"
    wait_until(lambda: postgresql.run(busy) == [(0,)])  # the server works for nobody

    ask(page, "A table", "public.people", CANARY)
    expect(page.get_by_role("heading", name=re.compile("postgresql:.?public.people"))).to_be_visible()
    expect(number(page, "Rows")).to_have_text("40")
    step(page, "Roles").click()
    expect(page.get_by_role("heading", name="Who could know what?")).to_be_visible()
    settle(page)
    assert CANARY not in page.evaluate(TRACES) + " ".join(requests)


def write_the_release(postgresql: Cluster, page: Page) -> None:
    step(page, "Release").click()
    settle(page)
    page.get_by_text("Into a new table of a database").click()
    for table, words in {
        "people": re.compile("There is a table .?.?people.* already; nothing was changed"),
        "left": re.compile("The table .?left in the database at .* is new and has 40 rows"),
    }.items():
        settle(page)
        page.get_by_label("Name of the new table", exact=True).fill(table)
        page.get_by_label("Account", exact=True).fill("walker")
        page.get_by_label("Password", exact=True).fill(CANARY)
        page.get_by_role("button", name="Write the table").click()
        expect(page.get_by_text(words)).to_be_visible()
    assert postgresql.run('SELECT count(*) FROM "left"', base="ward") == [(40,)]
    assert postgresql.run("SELECT count(*) FROM people", base="ward") == [(40,)]
    assert CANARY not in page.evaluate(TRACES)


@pytest.mark.sweep(0)
def test_table__is_read_and_its_release_written_and_no_password_is_left(
    dashboard: Served, postgresql: Cluster, page: Page
) -> None:
    read_the_table(dashboard, postgresql, page)
    write_the_release(postgresql, page)
