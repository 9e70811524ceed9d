"""Decisions outlive a reload, a killed server and a forgotten page; records do not, and nothing of them is kept."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect

from anonymizer.whatif.project import from_json, outward
from tests.browser.conftest import Alone
from tests.browser.steps import columns_known, download, drop, give_role, open_page, see_frames, settle, step
from tests.conftest import COMMAND, ROOT, serve
from tests.server import scan
from tests.waiting import wait_until
from ui.decisions.state import DAYS, MOST

pytestmark = pytest.mark.browser

MARK = "Zqwxcanary"
PEOPLE = ("name,age,sex,city,level,income\n" + "".join(
    f"{MARK}{n:04d},{20 + n % 60},{'fm'[n % 2]},{('Ulmqxcanary', 'Bonnqxcanary', 'Kielqxcanary')[n % 3]},"
    f"{('low', 'medium', 'high')[n % 3]},{('poorqxcanary', 'richqxcanary')[n % 2]}\n"
    for n in range(300)
)).encode()  # fmt: skip
VALUES = ("Zqwxcanary", "qxcanary", '"medium')
"""Texts of which at least one stands in each text value of each record, and in none of the decisions; too long to
occur by chance in what is encrypted."""
LEVELS = "\n".join(["low", "medium", "high", "declared"])

DUMP = """async () => {
    const answered = request => new Promise((done, fail) => {
        request.onsuccess = () => done(request.result);
        request.onerror = request.onblocked = event => fail(new Error(event.type));
    });
    const base = await answered(indexedDB.open('copse'));
    const all = (name, what) => answered(base.transaction(name).objectStore(name)[what]());
    const [key] = await all('key', 'getAll');
    const visits = await all('visits', 'getAllKeys');
    const boxes = await all('visits', 'getAll');
    const contents = [];
    for (const [at, {iv, box}] of boxes.entries()) {
        const how = {name: 'AES-GCM', iv, additionalData: new TextEncoder().encode(visits[at])};
        contents.push(new TextDecoder().decode(await crypto.subtle.decrypt(how, key, box)));
    }
    const exported = key ? await crypto.subtle.exportKey('raw', key).then(() => true, () => false) : null;
    const clear = visits.join() + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie
        + boxes.map(({box}) => new TextDecoder('latin1').decode(box)).join();
    base.close();
    return {visits, contents, clear, exported, bases: (await indexedDB.databases()).map(({name}) => name)};
}"""
MULTIPLY = """async ([most, days]) => {
    const answered = request => new Promise((done, fail) => {
        request.onsuccess = () => done(request.result);
        request.onerror = request.onblocked = event => fail(new Error(event.type));
    });
    const base = await answered(indexedDB.open('copse'));
    const ask = (name, what, ...words) =>
        answered(base.transaction(name, 'readwrite').objectStore(name)[what](...words));
    const [key] = await ask('key', 'getAll');
    const [visit] = await ask('visits', 'getAllKeys');
    const [{iv, box}] = await ask('visits', 'getAll');
    const bytes = text => new TextEncoder().encode(text);
    const how = name => ({name: 'AES-GCM', iv, additionalData: bytes(name)});
    const content = JSON.parse(new TextDecoder().decode(await crypto.subtle.decrypt(how(visit), key, box)));
    await ask('visits', 'put', {iv, box}, 'another name');
    for (let day = 1; day <= most + days; day += 1) {
        content.summary.saved = new Date(Date.now() - 86400000 * 3 * day).toISOString().replace('Z', '+00:00');
        const name = 'old' + day;
        const locked = await crypto.subtle.encrypt(how(name), key, bytes(JSON.stringify(content)));
        await ask('visits', 'put', {iv, box: locked}, name);
    }
    base.close();
}"""


@pytest.fixture
def prompts(page: Page) -> list[str]:
    """What the browser asks on the page; everything is answered with yes."""
    prompts: list[str] = []

    def answer(dialog: Dialog) -> None:
        prompts.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    return prompts


def bring(page: Page, data: bytes = PEOPLE, name: str = "people.csv") -> None:
    drop(page, data, name)
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    settle(page)


def decide(page: Page) -> None:
    """Say that the city is sensitive."""
    step(page, "Roles").click()
    settle(page)
    give_role(page, "city", "Sensitive", columns_known(page) - 1)
    settle(page)
    expect(line(page)).to_contain_text("Decisions kept in this browser")


def line(page: Page) -> Any:
    """What the browser says of the decisions it keeps."""
    return page.locator(".st-key-kept .line")


def contents(page: Page) -> list[dict[str, Any]]:
    """What the browser keeps, decrypted."""
    return [json.loads(text) for text in page.evaluate(DUMP)["contents"]]


def take_up(page: Page) -> None:
    page.get_by_role("button", name="Take them up").click()
    expect(page.get_by_text("hold again")).to_be_visible()
    settle(page)


def test_reload__asks_explains_and_gives_all_back_until_the_table_is_removed(
    alone: Alone, page: Page, prompts: list[str], tmp_path: Path
) -> None:
    open_page(page, alone.address)
    page.reload()
    assert prompts == [], "nothing would be lost"
    settle(page)
    bring(page)
    decide(page)
    page.get_by_text("Order of levels").click()
    settle(page)
    column = page.get_by_role("combobox", name="Column").last
    column.click()
    if column.get_attribute("aria-expanded") != "true":  # the panel was still unfolding, and the click went astray
        column.press("ArrowDown")
    page.get_by_role("option", name="level", exact=True).click()
    settle(page)
    page.get_by_role("textbox", name="Levels, one a line").fill(LEVELS)
    page.get_by_role("button", name="Declare this domain").click()
    settle(page)
    step(page, "What if").click()
    expect(page.get_by_text("This release is").first).to_be_visible()
    settle(page)
    page.get_by_role("slider").first.press("ArrowRight")
    settle(page)
    page.get_by_test_id("stButtonGroup").get_by_text("Scenarios").click()
    settle(page)
    page.get_by_role("textbox", name="Name").fill("for the board")
    page.get_by_role("button", name="Keep this setting").click()
    expect(page.get_by_text("for the board")).to_be_visible()
    settle(page)
    page.get_by_test_id("stButtonGroup").get_by_text("History and project").click()
    settle(page)
    saved = from_json(download(page, "Save the project", tmp_path).read_text("utf-8"))
    assert prompts == [], "a download leaves the page where it is"
    assert saved.parameters["k"] == 11
    assert [scenario.name for scenario in saved.scenarios] == ["for the board"]

    storage = page.evaluate(DUMP)
    assert storage["exported"] is False, "the key cannot be taken out of the browser"
    (content,) = storage["contents"]
    assert outward(from_json(json.loads(content)["text"])) == saved
    assert not [text for text in (*VALUES, "people.csv", "income", "board") if text in storage["clear"]]
    text, declared = json.dumps(json.loads(json.loads(content)["text"])), json.dumps(LEVELS.split("\n"))
    assert declared in text, "levels that the steward declared are a decision"
    assert not [value for value in VALUES if value in text.replace(declared, "")]
    assert storage["bases"] == ["copse"]
    assert scan.in_folder(alone.temporary, MARK) == []
    assert scan.in_folder(alone.temporary, "for the board") == []

    page.reload()
    assert prompts == ["beforeunload"]
    sentence = page.get_by_text("The page was loaded again, so the table left this server's memory")
    expect(sentence).to_contain_text("people.csv (300 rows × 6 columns) are still in this browser")
    settle(page)
    step(page, "Data").click()
    settle(page)
    bring(page, b"a,b\n1,x\n2,y\n", "other.csv")
    expect(page.get_by_text("This is another file than the one before")).to_be_visible()
    expect(page.get_by_role("button", name="Take them up")).to_have_count(0)
    page.get_by_text("Open another table").click()
    bring(page, PEOPLE, "under another name.csv")
    take_up(page)
    step(page, "What if").click()
    settle(page)
    page.get_by_test_id("stButtonGroup").get_by_text("History and project").click()
    settle(page)
    again = from_json(download(page, "Save the project", tmp_path).read_text("utf-8"))
    assert again.schema == saved.schema
    assert (again.parameters, again.scenarios, again.history) == (saved.parameters, saved.scenarios, saved.history)
    assert len(contents(page)) == 1, "the visit goes on where it was"

    page.get_by_role("button", name="Remove table").click()
    expect(page.get_by_role("heading", name="Release a table about people, safely")).to_be_visible()
    settle(page)
    wait_until(lambda: contents(page) == [])
    page.reload()
    assert prompts == ["beforeunload"], "nothing would be lost"
    settle(page)
    expect(page.get_by_text("was loaded again")).to_have_count(0)


@pytest.mark.sweep(0)
def test_killed_server__is_said_and_what_was_decided_comes_back(page: Page, tmp_path: Path, prompts: list[str]) -> None:
    with serve(COMMAND, ROOT, tmp_path / "log") as dashboard:
        open_page(page, dashboard.address)
        bring(page)
        decide(page)
        os.kill(dashboard.process, signal.SIGKILL)
        message = page.get_by_role("dialog").filter(has_text="Copse no longer answers")
        expect(message).to_be_visible()
    expect(message).to_contain_text("the table and all results are gone")
    expect(message).to_contain_text("are kept in this browser and come back with one click")
    page.keyboard.press("Escape")
    see_frames(page, 180)
    expect(message).to_be_visible()
    expect(page.get_by_text("Streamlit server is not responding")).not_to_be_visible()
    message.get_by_role("button", name="Load this page again").click()
    expect(message).to_contain_text("It does not answer yet")
    port = dashboard.address.rpartition(":")[2]
    with serve(COMMAND, ROOT, tmp_path / "log again", port=int(port)):
        expect(page.get_by_text("Copse was started again")).to_be_visible()
        expect(message).to_have_count(0)
        settle(page)
        step(page, "Data").click()
        settle(page)
        bring(page)
        take_up(page)
        step(page, "Roles").click()
        expect(page.get_by_text("Who could know what?")).to_be_visible()
        settle(page)
        assert columns_known(page) == 3
    assert prompts == []


@pytest.mark.sweep(0)
def test_switched_off__all_is_dropped_and_nothing_more_is_kept(app_server: str, page: Page, prompts: list[str]) -> None:
    open_page(page, app_server)
    bring(page)
    decide(page)
    step(page, "Data").click()
    settle(page)
    page.get_by_text("Decisions and project file").click()
    page.get_by_text("Keep my decisions in this browser").click()
    settle(page)
    wait_until(lambda: contents(page) == [])
    emptied = page.evaluate(DUMP)
    assert (emptied["contents"], emptied["exported"]) == ([], None), "neither decisions nor a key"
    expect(line(page)).to_have_text("")
    page.reload()
    settle(page)
    expect(page.get_by_text("No decisions about it are kept")).to_be_visible()
    bring(page)
    step(page, "Roles").click()
    settle(page)
    assert contents(page) == []


@pytest.mark.sweep(0)
def test_what_is_kept__is_bounded_in_number_and_age(app_server: str, page: Page, prompts: list[str]) -> None:
    open_page(page, app_server)
    bring(page)
    decide(page)
    page.evaluate(MULTIPLY, [MOST, DAYS])
    page.reload()
    settle(page)
    expect(page.get_by_text("other visits of a table are kept too")).to_be_visible()
    visits = page.evaluate(DUMP)["visits"]
    assert len(visits) == min(MOST, 1 + (DAYS - 1) // 3)
    assert "another name" not in visits, "what cannot be read is dropped"
    assert {f"old{day}" for day in range(1, MOST)} <= set(visits)
