"""Pictures of every page: `python run.py screenshots` opens the sample in a real Chromium and walks over all of them.

Each page is taken at three widths in both themes, into ``test-output/screenshots``, to be looked at. Those of the
widest window in the light theme stay in ``docs/screenshots``, where they must not take more than 2 MB together.
"""

import shutil
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from run import BROWSERS
from tests.browser.steps import open_page, settle, step
from tests.conftest import COMMAND, LAUNCH, ROOT, serve
from ui.navigation import SIDE_PAGES, STEPS

PICTURES = ROOT / "docs" / "screenshots"
LOOK = ROOT / "test-output" / "screenshots"
SIZES = ((1440, 900), (1024, 768), (768, 1024))
THEMES = ("light", "dark")
MOST_BYTES = 2_000_000
QUALITY = 82
PAGES = [page[:2] for page in (*STEPS, *(page for members in SIDE_PAGES.values() for page in members))]


def main() -> int:
    """Take all pictures; 1 where those to keep take too much."""
    for folder in (PICTURES, LOOK):
        folder.mkdir(parents=True, exist_ok=True)
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    with serve(COMMAND, ROOT, LOOK / "server.log") as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(LAUNCH))
        for theme in THEMES:
            walk(browser, served.address, theme)
        browser.close()
    size = sum(path.stat().st_size for path in PICTURES.glob("*.webp"))
    print(f"{len(PAGES)} pages in {PICTURES}: {size:,} bytes; all of them at every width in {LOOK}")
    return int(size > MOST_BYTES)


def walk(browser: Browser, address: str, theme: str) -> None:
    """Take every page of the sample in one theme."""
    context = browser.new_context(color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_viewport_size(dict(zip(("width", "height"), SIZES[0], strict=True)))  # type: ignore[arg-type]
    open_page(page, address)
    page.get_by_role("button", name="Use").first.click()
    expect(page.get_by_role("heading", name="Hospital admissions")).to_be_visible(timeout=60_000)
    for name, title in PAGES:
        settle(page)
        step(page, title).click()
        settle(page)
        page.mouse.move(0, 0)
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            settle(page)
            take(page, LOOK / f"{name}-{width}-{theme}.webp")
        page.set_viewport_size(dict(zip(("width", "height"), SIZES[0], strict=True)))  # type: ignore[arg-type]
        if theme == THEMES[0]:
            shutil.copyfile(LOOK / f"{name}-{SIZES[0][0]}-{theme}.webp", PICTURES / f"{name}.webp")
    context.close()


def take(page: Page, path: Path) -> None:
    """Write what the window shows as a small picture."""
    Image.open(BytesIO(page.screenshot())).save(path, "WEBP", quality=QUALITY, method=6)


if __name__ == "__main__":
    sys.exit(main())
