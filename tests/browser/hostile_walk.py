"""A walk with names of columns and values that would be markup, links or formulas: every page and control shows them as
text. ``tests/server/test_alone.py`` takes it in a network that has no way out."""

import contextlib
import csv
import io
import random
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, TimeoutError, expect

from tests.browser.steps import download, drop, make_packet, open_page, see_frames, settle, step
from tests.browser.test_strangers import Listener
from tests.sweeps import SWEEPS
from ui.tree.choices import VIEWS

PEOPLE = 150
MARKUP = """() => {
    const bad = [];
    const note = (what, element) => bad.push(what + ' ' + element.outerHTML.slice(0, 200));
    const all = root => [...root.querySelectorAll('*')].flatMap(
        element => [element, ...(element.shadowRoot ? all(element.shadowRoot) : [])]);
    for (const element of all(document)) {
        const name = element.localName;
        for (const {name: key, value} of element.attributes) {
            if (/^on/i.test(key)) note('handler', element);
            if (/^(href|src|xlink:href|action|data|srcset|poster|background)$/i.test(key)
                && (/^\\s*javascript:/i.test(value) || value.includes('STRANGER')
                    || /evil\\.example|mailto:/.test(value))) note('link', element);
            if (key === 'style' && value.includes('STRANGER')) note('style', element);
        }
        if (/^(iframe|object|embed|foreignobject|frame|base)$/i.test(name)) note('element', element);
        if (element.classList.contains('katex')) note('formula', element);
        const own = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('').trim();
        if (/^(boldmark|redmark|codemark|strikemark|badgemark)\\d*$/.test(own)) note('style of text', element);
        if (own === 'skull' || /^sports_bar$/.test(own) || own.includes('\U0001f480')) note('icon', element);
        if (/^h[1-6]$/.test(name) && own.startsWith('headmark')) note('heading', element);
    }
    if (window.pwned !== undefined) bad.push('a script ran: ' + window.pwned);
    return bad;
}"""
"""What on the page can only come of a name or a value that was taken for markup."""


def hostile(stranger: str) -> dict[str, str]:
    """Names of columns by what they try. Each value is the name and a number."""
    return {
        "picture": f"![x]({stranger}/picture)",
        "tag": f"<img src={stranger}/tag onerror=window.pwned=1>",
        "script": f"<script>window.pwned=2;fetch('{stranger}/script')</script>",
        "jump": "[go](javascript:window.pwned=3)",
        "formula": f"$\\href{{{stranger}/formula}}{{x}}$ $$\\frac12$$",
        "style": ":material/skull: :skull: :red[redmark] **boldmark** `codemark` ~~strikemark~~ :red-badge[badgemark]",
        "sheet": f'=HYPERLINK("{stranger}/sheet","x")',
        "terminal": "\x1b[31mred\x1b[0m",
        "bidi": "\u202eevil\u202c",
        "long": f"{stranger}/long" + "x" * 300,
        "": "",
        "lines": f"two\n# headmark\n\n- [a]({stranger}/lines)",
        "svg": f'"><svg onload=window.pwned=4><a href="{stranger}/svg">x</a></svg>',
        "bare": f"{stranger}/bare www.evil.example mail@evil.example",
        "plotly": f'<a href="{stranger}/plotly">x</a><b>boldmark</b><br>%{{x}}',
        "table": "|a|b|\n|-|-|\n|1|2|",
        "template": "{{7*7}} ${7*7} %(x)s {0} %s",
        "index": "index",
        "level_0": "level_0",
        "Records": "Records",
    }


def people(stranger: str) -> bytes:
    """A table whose names and values are hostile; two columns of numbers, and a sensitive one."""
    rng, names = random.Random(1), hostile(stranger)
    sink = io.StringIO(newline="")
    writer = csv.writer(sink)
    writer.writerow([*names.values(), f"age <img src={stranger}/age>", f"income ![x]({stranger}/income)",
                     f"diagnosis <img src={stranger}/diagnosis> ![x]({stranger}/diagnosis)"])  # fmt: skip
    for _ in range(PEOPLE):
        values = [f"{name or 'empty'}{rng.randrange(3)}" for name in names.values()]
        ill = f"<img src={stranger}/ill onerror=window.pwned=5> [y]({stranger}/ill) {rng.randrange(4)}"
        writer.writerow([*values, rng.randint(18, 90), rng.randint(1000, 90000), ill])
    return sink.getvalue().encode()


WITH_WORDS = ("Tree", "Release")
MOST = 400 if SWEEPS else 1
"""Controls of a kind on a page that are opened one after another; they are drawn by the same code."""


class Explorer:
    """Goes through what a page offers, and looks after each step for text that became markup."""

    def __init__(self, page: Page, stranger: str, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.script = MARKUP.replace("STRANGER", stranger)
        self.files: list[Path] = []

    def look(self, where: str) -> None:
        settle(self.page)
        assert self.page.get_by_test_id("stException").count() == 0, where
        assert self.page.evaluate(self.script) == [], where
        assert Listener.paths == [], where

    def each(self, where: str, locator: Any, then: str = "") -> None:
        """Click each of the controls that are there, and look: after each where it is closed by a key ``then``, else
        after the last, for what they show stays on the page."""
        count = min(MOST, locator.count())
        for number in range(count):
            control = locator.nth(number)
            if control.count() and control.is_visible() and control.is_enabled():
                control.click()
                if then:
                    self.look(f"{where} {number}")
                    self.page.keyboard.press(then)
                elif number + 1 < count:
                    settle(self.page)
        if count:
            self.look(where)

    def page_of(self, title: str) -> None:
        """Open a page, and all that can be opened on it; its words, which are drawn by the same code, on some."""
        step(self.page, title).click()
        self.look(title)
        if SWEEPS or title in WITH_WORDS:
            self.words(title)
        self.panels(title)

    def words(self, where: str) -> None:
        """Open the glossary of the page."""
        self.page.get_by_role("button", name="Glossary").press("Enter")  # a tooltip may stand over it
        expect(self.page.get_by_test_id("stPopoverBody").locator("strong").first).to_be_visible()
        self.look(f"{where}: words")
        self.page.keyboard.press("Escape")

    def panels(self, where: str) -> None:
        """Open what is folded, every tab and every list of choices; point at what explains itself."""
        page = self.page
        self.each(f"{where}: folded", page.locator("details:not([open]) > summary"))
        self.each(f"{where}: tab", page.get_by_role("tab"))
        self.each(f"{where}: popover", page.get_by_test_id("stPopover").locator("button"), then="Escape")
        self.each(f"{where}: list", page.get_by_test_id("stSelectbox").locator("input"), then="Escape")
        target = page.get_by_test_id("stTooltipHoverTarget").first
        with contextlib.suppress(TimeoutError):  # something else stands over it
            target.hover(timeout=500)
            see_frames(page, 8)
        self.look(f"{where}: help")
        page.mouse.move(2, 400)  # what explains itself stands over other things as long as it is pointed at

    def fetch(self, *labels: str) -> None:
        self.files += [download(self.page, label, self.folder) for label in labels]


def pdf_objects(content: bytes) -> bytes:
    """A PDF without the contents of its streams, whose letters mean nothing: it can only do what its objects say."""
    objects = re.sub(rb"\bstream\r?\n.*?endstream", b"", content, flags=re.DOTALL)
    assert b"/ObjStm" not in objects  # objects inside a stream
    return objects


def explore(page: Page, address: str, stranger: str, folder: Path) -> None:
    """Go through the whole dashboard with a hostile table, and forget it; look at all that was downloaded.

    ``stranger``: the address of a server that nothing may ask. ``folder``: where files go.
    """
    walk = Explorer(page, stranger, folder)
    open_page(page, address)
    drop(page, people(stranger), "[a](javascript:1) <img src=x> **boldmark**.csv")
    page.get_by_role("button", name="Next: give roles").or_(
        page.get_by_role("button", name="Read it so")
    ).first.wait_for()
    walk.look("Data")
    walk.panels("Data")
    page.get_by_role("button", name="Next: give roles").click()
    walk.look("Roles")
    page.get_by_role("button", name="Make the rest quasi-identifiers").click()
    walk.panels("Roles")
    walk.page_of("Tree")
    nodes = page.locator(".stage svg g.node[id]:not(.hidden)")
    for view in VIEWS.values():
        page.get_by_role("radio", name=view).click()
        settle(page)
        nodes.first.wait_for()
        for number in range(min(3 if SWEEPS else 1, nodes.count())):
            nodes.nth(number).dispatch_event("click")
            walk.look(f"Tree: {view}, node {number}")
    walk.panels("Tree: node")
    walk.fetch("SVG", "DOT")
    walk.page_of("Ready")
    reasons = page.get_by_role("button", name="Release it, with a reason")
    while page.get_by_role("button", name=re.compile(r"^Next: Release \(\d+ open\)")).count():
        reasons.first.click()
        field = page.get_by_label("Why release it?")
        settle(page)  # a field that is drawn again forgets what was typed
        field.fill("made up for this test")
        page.keyboard.press("Tab")
        settle(page)
    walk.look("Ready")
    walk.page_of("Release")
    if not page.get_by_label("Recipient").is_visible():
        page.get_by_text("Purpose, recipient, signatures").click()
    page.get_by_label("Recipient").fill(f"<img src={stranger}/recipient> ![x]({stranger}/recipient)")
    page.keyboard.press("Tab")
    page.get_by_role("tab", name="Attack it").click()
    page.get_by_role("button", name="Run the attacks").click()
    expect(page.get_by_test_id("stMetric").filter(has_text="Linkability")).to_be_visible()
    walk.panels("Release")
    make_packet(page)
    walk.fetch("CSV", "Parquet", "Report (JSON)", "External report (HTML)", "External report (PDF)")
    if SWEEPS:
        make_packet(page, "For your own files")
        walk.fetch("Internal report (HTML)", "Internal report (PDF)")
    walk.page_of("What if")
    views = page.get_by_test_id("stButtonGroup").first.get_by_role("radio")
    for number in range(views.count()):
        views.nth(number).click()
        walk.look(f"What if {number}")
        walk.each(f"What if {number}: folded", page.locator("details:not([open]) > summary"))
    walk.page_of("Forest")
    walk.page_of("Disclosure")
    walk.page_of("Evaluate")
    walk.page_of("Verify")
    page.get_by_role("button", name="Remove table").click()
    expect(page.get_by_role("heading", name="Release a table about people, safely")).to_be_visible()
    for file in walk.files:
        if file.suffix in (".html", ".svg"):
            page.goto(file.as_uri())
            see_frames(page, 30)
            assert page.evaluate(walk.script) == [], file.name
        if file.suffix == ".pdf":
            acts = rb"/(URI|JavaScript|JS|Launch|AA|OpenAction|GoToR|EmbeddedFile)\b"
            assert not re.search(acts, pdf_objects(file.read_bytes())), file.name
    assert Listener.paths == []
