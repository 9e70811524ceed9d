"""The operator's page: for the operator only, and nothing of a table on it."""

import os
import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from anonymizer.cli.operating import CHOICES
from anonymizer.version import VERSION
from tests.browser.steps import drop, open_page, settle, step
from tests.conftest import COMMAND, ROOT, serve
from tests.door.provider import SECRET, run_provider
from tests.door.signing_in import Guarded, sign_in
from tests.waiting import PATIENCE
from ui.door import operator

KEY = "the-key-of-a-test-of-the-page"
MARK = "Zqwxoperator"
TABLE = f"{MARK}column,income\n" + f"{MARK}value,low\n{MARK}other,high\n" * 20


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A dashboard on one's own machine, without a login."""
    log = tmp_path_factory.mktemp("own") / "server.log"
    with serve(COMMAND, ROOT, log, {**os.environ, "COPSE_OPERATOR_KEY": KEY}) as running, run_provider() as provider:
        yield Guarded(running.address, provider, running.process, log)


def key_of(own: Guarded) -> str:
    """The key that was set, which the server's log does not hold."""
    text = own.log.read_text("utf-8")
    assert "Operator's page: /operator, with the key of COPSE_OPERATOR_KEY" in text
    assert KEY not in text
    return KEY


@pytest.mark.parametrize("is_terminal", [False, True])
def test_key__is_printed_on_a_terminal_only(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COPSE_OPERATOR_KEY", raising=False)
    monkeypatch.setattr(operator, "login", lambda: None)
    monkeypatch.setattr(operator.sys.stdout, "isatty", lambda: is_terminal)
    operator.say_key()
    text = capsys.readouterr().out
    assert "Operator's page: /operator" in text
    assert (operator.KEY in text) is is_terminal
    assert ("COPSE_OPERATOR_KEY" in text) is not is_terminal


def test_key__that_is_set_is_long_and_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(operator, "login", lambda: None)
    (choice,) = [one for one in CHOICES if one.variable == "COPSE_OPERATOR_KEY"]
    monkeypatch.setenv("COPSE_OPERATOR_KEY", "12345678901234567")
    assert operator.in_effect(choice) == "set"
    monkeypatch.setattr(operator, "KEY", "short")
    with pytest.raises(SystemExit, match="2"):
        operator.say_key()
    output = capsys.readouterr()
    assert "fewer than 16 characters" in output.err
    assert "short" not in output.out + output.err


def test_stranger__is_asked_for_the_key(own: Guarded) -> None:
    with httpx.Client(timeout=PATIENCE, base_url=own.address, follow_redirects=True) as client:
        for answer in (
            client.get("/operator"),
            client.post("/operator", data={"key": "guess"}),
            client.post("/operator", data={"forget": "all"}),
            client.get("/operator", headers={"Cookie": f"copse_operator={key_of(own)}"}),
        ):
            assert answer.status_code == 401
            assert VERSION not in answer.text


def test_another_site__cannot_have_anything_forgotten(own: Guarded) -> None:
    with httpx.Client(timeout=PATIENCE, base_url=own.address) as client:
        client.post("/operator", data={"key": key_of(own)}, headers={"Origin": own.address})
        for origin in ("http://elsewhere.example", "null"):
            assert client.post("/operator", data={"forget": "all"}, headers={"Origin": origin}).status_code == 403
        assert client.get("/operator").status_code == 200


@pytest.mark.browser
@pytest.mark.sweep(0)
def test_operator__sees_no_data_and_forgets_one_and_all(own: Guarded, page: Page) -> None:
    open_page(page, own.address)
    drop(page, TABLE.encode(), f"{MARK}file.csv")
    expect(page.get_by_role("heading", name=f"{MARK}file.csv")).to_be_visible()
    step(page, "Roles").click()
    settle(page)
    other = page.context.new_page()
    open_page(other, own.address)

    operator = page.context.new_page()
    operator.goto(f"{own.address}/operator")
    operator.get_by_label("The key").fill(key_of(own))
    operator.get_by_role("button", name="Open").click()
    expect(operator.get_by_role("heading", name="2 sessions")).to_be_visible()
    content = operator.locator("html").inner_html()
    assert MARK not in content
    assert VERSION in content
    assert all(choice.variable in content for choice in CHOICES)
    row = operator.locator("tr").filter(has_text="STREAMLIT_SERVER_PORT")
    expect(row).to_contain_text(own.address.rpartition(":")[2])
    first, second = (operator.locator("table").first.locator("tr").nth(number) for number in (1, 2))
    expect(first).to_contain_text("Roles")
    expect(second).to_contain_text("No table")
    expect(first).to_contain_text("connected")

    first.get_by_role("button", name="Forget").click()
    expect(operator.get_by_role("heading", name=re.compile("session"))).to_be_visible()
    expect(page.get_by_text(f"{MARK}file.csv")).to_have_count(0)
    expect(page.get_by_text("Your table stays")).to_be_visible()

    operator.get_by_role("link", name="Look again").click()
    operator.get_by_text("Forget all …").click()
    expect(operator.get_by_text("Nobody gets them back")).to_be_visible()
    operator.get_by_role("button", name="Forget all now").click()
    expect(operator.get_by_role("heading", name=re.compile("session"))).to_be_visible()


def test_with_a_login__it_is_for_the_operators_only(guarded: Guarded) -> None:
    clients = {person: sign_in(guarded, person)[0] for person in ("operator", "no-email", "eve")}
    answers = {person: client.get(f"{guarded.address}/operator") for person, client in clients.items()}
    assert {person: answer.status_code for person, answer in answers.items()} == {
        "operator": 200, "no-email": 403, "eve": 403
    }  # fmt: skip
    assert SECRET not in answers["operator"].text
    assert "Operator's page: " not in guarded.log.read_text("utf-8"), "there is no key"
    with httpx.Client(timeout=PATIENCE) as stranger:
        assert stranger.get(f"{guarded.address}/operator").status_code == 401
        assert stranger.post(f"{guarded.address}/operator", data={"forget": "all"}).status_code == 401
