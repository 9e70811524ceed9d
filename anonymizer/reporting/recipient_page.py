"""The page by which a recipient verifies a release: one HTML file, in a browser, without a network.

It is put together from the texts of a folder. Its policy names the digests of its script and its style, so a browser
runs these and nothing else, and loads nothing from anywhere.
"""

import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from anonymizer.releasing.release import ORDERS
from anonymizer.reporting.packet_files import INTERNAL, LAYOUT, MEMBERS, REQUIRED, TABLES
from anonymizer.version import VERSION

SCRIPTS = ("cells", "words", "files", "report", "judge", "figures", "packet", "together", "page")
"""Its parts, in the order in which they stand."""


def recipient_page() -> bytes:
    """Return the page, as a file: the same for every packet of this version."""
    folder = files("anonymizer.reporting") / "recipient"
    texts = {name: (folder / name).read_text("utf-8") for name in ("page.html", "page.css")}
    parts = [(folder / f"{name}.js").read_text("utf-8") for name in SCRIPTS]
    constants = {
        "version": VERSION, "layout": LAYOUT, "members": MEMBERS, "internal": INTERNAL, "required": sorted(REQUIRED),
        "tables": TABLES, "content": ORDERS["content"],
    }  # fmt: skip
    packet = json.dumps(constants, ensure_ascii=False, allow_nan=False)
    script = "\n".join(['"use strict";', f"const PACKET = {packet};", *parts])
    style = texts["page.css"]
    policy = f"default-src 'none'; script-src {source_of(script)}; style-src {source_of(style)}; base-uri 'none'"
    page = texts["page.html"]
    for name, text in {"policy": policy, "version": VERSION, "style": style, "script": script}.items():
        page = page.replace(f"{{{name}}}", text, 1)
    return page.encode()


def source_of(text: str) -> str:
    """Return the source of a content security policy that allows a text and no other."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
