"""What every walk does in the browser: open, drop a file, wait until drawn, give roles, download."""

import base64
import re
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from playwright.sync_api import Page, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.waiting import wait_until
from ui.navigation import SIDE_PAGES

DROP = """([target, encoded, name]) => {
    const bytes = Uint8Array.from(atob(encoded), letter => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name));
    for (const kind of ['dragenter', 'dragover', 'drop'])
        target.dispatchEvent(new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true}));
}"""


REST, REST_TIME = 6, 300
"""Pictures in a row, and milliseconds, that a page must stay the same to be at rest: a slider waits for 200 before it
says that it was moved."""


class Drawings:
    """Whether the server has yet to draw something that a page asked for: read from what they say to each other.

    The page itself does not know for as long as a busy server has not answered a click.
    """

    def __init__(self) -> None:
        self.waiting = self.running = False

    def listen(self, socket: WebSocket) -> None:
        """Follow a new connection of the page; nothing is due on it yet."""
        self.waiting = self.running = False
        socket.on("framesent", self.note_request)
        socket.on("framereceived", self.note_answer)

    def note_request(self, payload: str | bytes) -> None:
        if isinstance(payload, bytes) and BackMsg.FromString(payload).WhichOneof("type") == "rerun_script":
            self.waiting = True

    def note_answer(self, payload: str | bytes) -> None:
        message = ForwardMsg.FromString(payload) if isinstance(payload, bytes) else ForwardMsg()
        if message.WhichOneof("type") == "new_session":
            self.waiting, self.running = False, True
        elif message.WhichOneof("type") == "script_finished":
            self.running = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN

    @property
    def due(self) -> bool:
        return self.waiting or self.running


DRAWINGS: WeakKeyDictionary[Page, Drawings] = WeakKeyDictionary()
"""Those of each page that is listened to."""


def listen(page: Page) -> None:
    """Listen to what a page and its server say, from its next connection on, so that :func:`settle` knows of it."""
    if page not in DRAWINGS:
        DRAWINGS[page] = Drawings()
        page.on("websocket", DRAWINGS[page].listen)


def open_page(page: Page, address: str, path: str = "") -> None:
    """The dashboard, drawn: what is clicked while a page is drawn is lost."""
    listen(page)
    page.goto(f"{address}/{path}")
    expect(step(page, "Data")).to_be_visible()
    settle(page)


FRAMES = """([number, time]) => new Promise(done => {
    const end = performance.now() + time;
    const draw = () => number-- > 0 || performance.now() < end ? requestAnimationFrame(draw) : done();
    draw();
})"""


def see_frames(page: Page, number: int, time: int = 0) -> None:
    """Wait until the browser has drawn so many pictures more, 60 a second, fewer on a busy machine; at least for a time
    in milliseconds."""
    page.evaluate(FRAMES, [number, time])


def settle(page: Page) -> None:
    """Wait until all that was asked for is drawn and stays so: a grid that is typed into while it is drawn again
    forgets what was typed, and a file that is dropped then is lost."""
    still = page.locator("[data-testid=stApp][data-test-script-state=notRunning]")
    drawings = DRAWINGS[page]

    def at_rest() -> bool:
        still.wait_for()
        see_frames(page, REST, REST_TIME)
        return bool(still.count()) and not drawings.due

    wait_until(at_rest, pause=0)


def drop(page: Page, data: bytes, name: str) -> None:
    """A file dropped on the page by drag and drop, once it is drawn."""
    settle(page)
    zone = page.get_by_test_id("stFileUploaderDropzone").first
    zone.wait_for()
    page.evaluate(DROP, [zone.element_handle(), base64.b64encode(data).decode(), name])


def step(page: Page, title: str) -> Any:
    """The link to a page, in the line of steps; opened first, where it stands in a section."""
    for section, members in SIDE_PAGES.items():
        if title in [of_page for _, of_page, _ in members]:
            page.get_by_test_id("stTopNavSection").filter(has_text=section).click()
            return page.get_by_test_id("stTopNavDropdownLink").filter(has_text=title)
    return page.get_by_test_id("stTopNavLink").filter(has_text=title)


def number(page: Page, label: str) -> Any:
    """The value of a metric."""
    return page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue")


def known_text(columns: int) -> re.Pattern[str]:
    """The sentence that says how many columns an attacker is taken to know."""
    return re.compile(rf"the {columns} quasi-identifier")


def columns_known(page: Page) -> int:
    """How many columns are quasi-identifying, as the page says."""
    sentence = page.get_by_text(re.compile(r"the \d+ quasi-identifier")).first
    expect(sentence).to_be_visible()
    match = re.search(r"the (\d+) quasi-identifier", sentence.inner_text())
    assert match
    return int(match.group(1))


def give_role(page: Page, name: str, role: str, quasi: int) -> None:
    """A role given to one column, as a person does: click it on its card, then take a role for what was clicked.

    ``quasi`` columns are quasi-identifying after it.
    """
    settle(page)
    page.get_by_test_id("stButtonGroup").get_by_role("button", name=re.compile(rf"^\w ?{re.escape(name)}$")).click()
    press_role(page, role)
    expect(page.get_by_text(known_text(quasi)).first).to_be_visible()


def press_role(page: Page, role: str) -> None:
    """A role for the columns that are selected, pressed in the bar."""
    page.locator(".st-key-roles-bar").get_by_role("radio", name=re.compile(f"{role}$")).click()
    settle(page)


def take_role(page: Page, of: str, role: str) -> None:
    """A role taken from the list whose label has these words."""
    settle(page)
    box = page.get_by_role("combobox", name=re.compile(re.escape(of))).first
    box.scroll_into_view_if_needed()
    see_frames(page, 18)  # a list closes when the page scrolls
    box.click()
    page.get_by_role("option", name=re.compile(rf"· {role}$")).click()
    settle(page)


def download(page: Page, label: str, folder: Path) -> Path:
    """A file fetched by its button, once the page is drawn: its fold comes after what stands above it."""
    settle(page)
    button, fold = page.get_by_role("button", name=label, exact=True), page.get_by_text("Single files", exact=True)
    button.or_(fold).first.wait_for()
    if not button.is_visible():
        fold.click()
    with page.expect_download() as waiting:
        button.click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def make_packet(page: Page, whom: str = "For the recipient") -> None:
    """The packet for somebody, made and ready to be downloaded."""
    page.get_by_role("radio", name=whom).click()
    settle(page)
    page.get_by_role("button", name="Make the packet").click()
    expect(page.get_by_role("button", name="Download the packet")).to_be_visible()
    settle(page)


def choose(page: Page, label: str, option: str) -> None:
    """An option of a select box, taken with the mouse."""
    settle(page)
    box = page.get_by_role("combobox", name=re.compile(re.escape(label))).first
    box.scroll_into_view_if_needed()
    see_frames(page, 18)  # a list closes when the page scrolls
    box.click()
    page.get_by_role("option", name=option, exact=True).click()
    settle(page)
