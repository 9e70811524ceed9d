"""Walks over the Tree page in a real browser: the map of people and the tree, pick, look closer, play, download."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from tests.browser.steps import number, open_page, settle, step
from tests.waiting import wait_until
from ui.navigation import SIDE_PAGES
from ui.tree.choices import VIEWS

pytestmark = pytest.mark.browser
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def map_page(page: Any, app_server: str) -> Any:
    """The Tree page with the built-in hospital sample, as it opens: a map of people."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_viewport_size({"width": 1440, "height": 900})
    open_page(page, app_server)
    page.locator(".st-key-sample-hospital button").first.click()
    page.get_by_role("button", name="Next: give roles").click()
    page.get_by_role("button", name="Next: grow the tree").click()
    page.wait_for_selector(".stage svg g.node")
    settle(page)
    yield page
    assert not errors


@pytest.fixture
def tree_page(map_page: Any) -> Any:
    """The same as a tree of nodes and edges."""
    page = map_page
    page.set_viewport_size({"width": 1280, "height": 720})
    page.get_by_role("radio", name=VIEWS["tree"]).click()
    page.locator(".stage[data-scale]").wait_for()
    settle(page)
    return page


def in_sight(page: Any, selector: str) -> float:
    """The part of the window that an element covers, as far as nothing stands before it."""
    bottom = page.get_by_test_id("stBottom").bounding_box()["y"]
    box, window = page.locator(selector).bounding_box(), page.viewport_size
    height = min(box["y"] + box["height"], bottom) - max(box["y"], 0)
    return box["width"] * height / (window["width"] * window["height"])


def boxes(page: Any) -> dict[str, tuple[str, str]]:
    """Where every box of the map stands, from left to right, and how wide it is."""
    rows = page.locator(".stage svg g.node[id]").evaluate_all(
        "nodes => nodes.map(n => [n.id, n.querySelector('rect').getAttribute('x'), "
        "n.querySelector('rect').getAttribute('width')])"
    )
    return {name: (x, width) for name, x, width in rows}


def look(page: Any) -> list[Any]:
    """What every shape of the map looks like: classes, title, text that is seen, and the attributes of its box."""
    return page.locator(".stage svg g.node, .stage svg .foot").evaluate_all("""shapes => shapes.map(shape => [
        shape.id, shape.dataset.node, [...shape.classList].sort(), shape.style.display,
        shape.querySelector('title')?.textContent,
        [...shape.querySelectorAll(':scope > text')].map(text => [text.textContent, text.style.display]),
        [...(shape.querySelector(':scope > rect')?.attributes ?? [])].map(a => [a.name, a.value]).sort(),
    ])""")


def see_most_of_the_picture(page: Any) -> None:
    for (width, height), share in (((1440, 900), 0.6), ((1024, 768), 0.5), ((768, 1024), 0.4)):
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        assert in_sight(page, ".canvas") >= share, width
        assert page.evaluate("() => document.scrollingElement.scrollWidth <= window.innerWidth")
        page.get_by_role("radio", name=VIEWS["tree"]).click()
        page.locator(".stage[data-scale]").wait_for()
        settle(page)
        assert in_sight(page, ".st-key-canvas-picture") >= share, width
        page.get_by_role("radio", name=VIEWS["map"]).click()
        page.locator(".canvas").wait_for()
        settle(page)


def make_the_window_narrow(page: Any) -> None:
    step(page, "Release").click()
    expect(number(page, "Cross tables off")).to_be_visible()
    page.get_by_test_id("stTopNavLink").filter(has_text="Tree").click()
    page.locator(".stage svg g.node").first.wait_for()
    for width in (1440, 1280, 1024):
        page.set_viewport_size({"width": width, "height": 768})
        settle(page)
        lines = (
            page.locator(".st-key-strip").get_by_test_id("stMetric").evaluate_all("all => all.map(m => m.offsetTop)")
        )
        assert len(lines) == 8
        assert len(set(lines)) == 1, width
        for section in SIDE_PAGES:
            expect(page.get_by_test_id("stTopNavSection").filter(has_text=section)).to_be_visible()
        expect(page.get_by_test_id("stTopNavLink").filter(has_text="Release")).to_be_visible()
        expect(page.get_by_text(re.compile(r"^\d+ more$"))).to_have_count(0)


def read_the_sentence(page: Any) -> None:
    sentence = page.locator(".st-key-canvas-sentence")
    expect(sentence).to_contain_text("released groups, somebody's diagnosis can be guessed with better than even odds")
    box, picture = sentence.bounding_box(), page.locator(".canvas").bounding_box()
    assert box["y"] + box["height"] <= picture["y"]
    page.get_by_role("slider", name="Pruning steps").press("Home")
    expect(sentence).to_contain_text("outlined")
    assert page.locator(".canvas").bounding_box() == picture, "another sentence moves nothing"


def move_k(page: Any) -> None:
    before, groups = boxes(page), page.locator(".stage g.group[id]").count()
    hatched = page.locator(".stage g.gone[id]").count()
    assert hatched > groups
    page.get_by_role("slider", name="Group size, k").press("PageUp")
    expect(number(page, "Smallest group")).not_to_have_text("10")
    settle(page)
    assert boxes(page) == before
    assert page.locator(".stage g.gone[id]").count() > hatched
    changed = look(page)
    for view in ("beside", "map"):
        show(page, view)
    wait_until(lambda: look(page) == changed)  # what is changed in its place looks as if it were drawn anew


def pick_and_look_into(page: Any) -> None:
    group = page.locator(".stage g.group[id]").first
    name = group.get_attribute("id")
    label = group.locator("title").text_content()
    group.click()
    page.get_by_role("heading", name=f"Group {int(name[1:]):,}: {label.partition(' ')[0]} of 2,000 rows").wait_for()
    page.get_by_role("heading", name="What somebody who knows this learns").wait_for()
    assert page.locator(".stage g.stripe").count() > 20
    assert page.locator(".stage g.picked[id]").get_attribute("id") == name
    assert page.locator(".stage g.on-path[id]").count() >= 2
    stage = page.locator(".stage")
    stage.press("ArrowUp")
    cursor = page.locator(".stage g.cursor[id]").get_attribute("id")
    assert cursor != name
    stage.press("Enter")
    page.get_by_role("heading", name=re.compile(rf"Node {int(cursor[1:]):,}:")).wait_for()
    settle(page)
    stage.press("o")
    page.get_by_role("button", name="Whole tree again").wait_for()
    expect(page.locator(".stage g.node[aria-level='1']")).to_have_attribute("id", cursor)
    settle(page)
    page.get_by_role("button", name="Whole tree again").click()
    expect(page.locator(".stage g.node[aria-level='1']")).to_have_attribute("id", "n0")
    page.get_by_role("radio", name=VIEWS["tree"]).click()
    page.locator(".stage[data-scale]").wait_for()
    page.get_by_role("heading", name=re.compile(rf"Node {int(cursor[1:]):,}:")).wait_for()


def play(page: Any) -> None:
    step = page.locator(".bar .step")
    last = int(re.search(r"of ([\d,]+)", step.inner_text())[1].replace(",", ""))
    assert step.inner_text() == f"step {last:,} of {last:,}"
    end = page.locator(".stage g.gone[id]").count()
    page.evaluate("""() => {
        window.seen = [];
        const ask = window.requestAnimationFrame.bind(window);
        let now = performance.now() - 200;  // as if frames began before the click; and as often on a busy machine
        window.requestAnimationFrame = draw => ask(() => draw(now += 50));
        const host = [...document.querySelectorAll('*')].find(e => e.shadowRoot?.querySelector('.stage'));
        const root = host ? host.shadowRoot : document;
        const look = () => { window.seen.push([root.querySelector('.step').textContent,
            root.querySelectorAll('.stage g.gone[id]').length]); };
        new MutationObserver(look).observe(root.querySelector('.step'), {childList: true});
    }""")
    page.get_by_role("button", name="Play").click()
    wait_until(lambda: page.evaluate("() => window.seen.at(-1)?.[0]") == f"step {last:,} of {last:,}")
    looks = page.evaluate("() => window.seen")
    steps = [int(text.split()[1].replace(",", "")) for text, _ in looks]
    hatched = [number for _, number in looks]
    assert steps[0] == 0
    assert steps[-1] == last
    assert steps == sorted(steps)
    assert hatched == sorted(hatched)
    assert len(set(hatched)) > 5
    assert (hatched[0], hatched[-1]) == (0, end)
    slider = page.get_by_role("slider", name="Pruning steps")
    slider.press("Home")
    expect(step).to_have_text(f"step 0 of {last:,}")
    expect(page.locator(".stage g.gone[id]")).to_have_count(0)
    expect(page.locator(".stage g.stripe").first).to_be_hidden()


def see_grown_and_released(page: Any) -> None:
    page.get_by_role("radio", name=VIEWS["beside"]).click()
    expect(page.locator(".stage text.caption")).to_have_count(3)
    leaving = number(page, "Groups").inner_text()
    assert page.locator(".stage text.caption").nth(2).text_content() == f"{leaving} released groups"
    groups = page.locator(".stage svg > g").nth(1).locator("g.group")
    grown = page.locator(".stage svg > g").nth(0).locator("g.group")
    assert grown.count() > groups.count() > 10
    assert page.locator(".stage text.caption").nth(1).text_content() == f"As released: {groups.count()} groups"


def scale(page: Any) -> float:
    """Pixels a unit of the drawing."""
    return float(page.locator(".stage").get_attribute("data-scale"))


def view_box(page: Any) -> list[float]:
    return [float(part) for part in page.locator(".stage svg").get_attribute("viewBox").split()]


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def go_on_and_stay_where_it_is(page: Any) -> None:
    """The button that leads here stands at the end of a page longer than the window."""
    scrolled = "() => document.querySelector('[data-testid=stMain]').scrollTop"
    page.set_viewport_size({"width": 900, "height": 700})
    assert page.evaluate(scrolled) == 0
    page.get_by_role("button", name="Next: Ready").click()
    expect(page.get_by_role("heading", name="Ready to release")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Next: Release").click()
    expect(page.get_by_role("heading", name="Ready to hand over")).to_be_visible()
    settle(page)
    assert page.evaluate(scrolled) == 0
    page.set_viewport_size({"width": 900, "height": 420})
    page.get_by_text("Purpose, recipient, signatures").click()
    purpose = page.get_by_role("textbox", name="Purpose")
    purpose.scroll_into_view_if_needed()
    purpose.fill("research")
    purpose.press("Enter")
    settle(page)
    assert page.evaluate(scrolled) > 0, "the same page, drawn again"


def empty_a_limit(page: Any) -> None:
    groups = number(page, "Groups")
    free = groups.inner_text()
    page.get_by_role("button", name="Other limits").click()
    field = page.get_by_role("spinbutton", name="l: different values")
    field.fill("6")
    field.press("Enter")
    expect(groups).not_to_have_text(free)
    other = page.get_by_role("spinbutton", name="t: distance from the table")
    other.fill("0.99")
    other.press("Enter")
    settle(page)
    field.click()
    field.press("Control+a")
    field.press("Delete")
    field.press("Enter")
    expect(groups).to_have_text(free)
    settle(page)
    expect(field).to_have_value("")
    expect(other).to_have_value("0.99")


def zoom_and_drag(page: Any) -> None:
    press(page, "Whole tree")
    whole = scale(page)
    press(page, "+")
    assert scale(page) == pytest.approx(1.3 * whole, rel=0.01)
    press(page, "−")
    assert scale(page) == pytest.approx(whole, rel=0.01)
    stage = page.locator(".stage")
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + 60)
    page.mouse.move(*middle)
    page.mouse.wheel(0, 40)
    assert scale(page) == pytest.approx(whole, rel=0.01), "without focus, the wheel scrolls the page"
    stage.focus()
    box = stage.bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 60)
    page.mouse.wheel(0, -300)
    wait_until(lambda: scale(page) > 1.2 * whole)
    before = view_box(page)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 100, steps=4)
    page.mouse.up()
    after = view_box(page)
    assert after[0] == pytest.approx(before[0] - 100 / scale(page), abs=1)
    assert after[1] == pytest.approx(before[1] - 40 / scale(page), abs=1)
    assert page.locator(".stage g.picked").count() == 0, "a drag picks nothing"


def pick_in_the_tree(page: Any) -> None:
    press(page, "Whole tree")
    band = page.locator(".stage g.node[id^=b]").first  # what the first group with one is divided into
    group = page.locator(f".stage #n{band.get_attribute('id')[1:]}")
    node = int(group.get_attribute("id")[1:])
    label = group.locator("title").first.text_content()
    records = re.search(r"; ([\d,]+) rows?", label)[1]
    group.click()
    page.get_by_role("heading", name=f"Group {node:,}: {records} of 2,000 rows").wait_for()
    assert page.locator(".stage g.picked").get_attribute("id") == f"n{node}"
    page.get_by_text(re.compile(r"Its rows are divided into \d+ smaller groups")).wait_for()
    assert page.locator(".stage g.node.on-path").count() >= 2
    page.get_by_text(re.compile(r"These \d+ rows were merged because|were not merged")).wait_for()
    page.locator(".stage").press("ArrowUp")
    cursor = page.locator(".stage g.cursor").get_attribute("id")
    assert cursor != f"n{node}"
    page.locator(".stage").press("Enter")
    page.get_by_role("heading", name=re.compile(rf"Node {int(cursor[1:]):,}:")).wait_for()
    assert page.locator(".stage [aria-selected=true]").get_attribute("id") == cursor


def look_closer(page: Any) -> None:
    press(page, "Whole tree")
    fold = page.locator(".stage g.fold:not(.leaf)").first
    name = fold.get_attribute("id")
    fold.dblclick()
    page.get_by_role("button", name="Whole tree again").wait_for()
    page.locator(f".stage #{name}:not(.fold)").wait_for()
    assert page.locator(f".stage #{name}.picked").count() == 1


def download_pictures(page: Any) -> None:
    n_nodes = page.locator(".stage g.node").count()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").click()
    assert saved.value.suggested_filename == "tree.svg"
    root = ElementTree.parse(saved.value.path()).getroot()
    assert sum("node" in group.get("class", "").split() for group in root.iter(f"{SVG}g")) == n_nodes
    with page.expect_download() as saved:
        page.get_by_role("button", name="DOT, nothing folded").click()
    text = saved.value.path().read_text("utf-8")
    assert text.startswith("digraph tree {")
    assert len(re.findall(r'id="n\d+"', text)) > n_nodes
    assert "folder" not in text


def show(page: Any, view: str) -> None:
    """The picture in another view."""
    page.get_by_role("radio", name=VIEWS[view]).click()
    settle(page)


@pytest.mark.sweep(0)
def test_first_sight__is_the_picture_its_sentence_and_one_line_of_figures(map_page: Any) -> None:
    see_most_of_the_picture(map_page)
    make_the_window_narrow(map_page)
    read_the_sentence(map_page)


@pytest.mark.sweep(0)
def test_map__moves_nothing_with_k_and_is_picked(map_page: Any) -> None:
    move_k(map_page)
    pick_and_look_into(map_page)


@pytest.mark.sweep(0)
def test_steps__play_and_the_grown_stands_over_the_released(map_page: Any) -> None:
    see_grown_and_released(map_page)
    show(map_page, "map")
    play(map_page)


@pytest.mark.sweep(0)
def test_fields__emptied_are_off_and_the_page_stays_where_it_is(map_page: Any) -> None:
    empty_a_limit(map_page)
    go_on_and_stay_where_it_is(map_page)


@pytest.mark.sweep(0)
def test_tree__is_zoomed_dragged_downloaded_and_picked(tree_page: Any) -> None:
    zoom_and_drag(tree_page)
    download_pictures(tree_page)
    pick_in_the_tree(tree_page)
    look_closer(tree_page)
