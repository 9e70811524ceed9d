"""Every text with a digit of a page, and of a report in HTML, as it is read: one text for each thing that is drawn."""

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

DIGIT = re.compile(r"\d")
NOT_READ = {
    "id", "url", "icon", "key", "element_id", "js_content", "css_content", "html_content", "page_script_hash",
    "fragment_id", "form_id", "tag", "json", "color", "format", "code_text", "session_id",
}  # fmt: skip
"""Fields of what is drawn that nobody reads, or that are code to copy."""
APART = {"BidiComponent", "PlotlyChart", "Dataframe", "Arrow"}
"""What is no text: a test looks at charts and tables by their own values."""


def as_read(text: str) -> str:
    """A text of Markdown as it is read."""
    text = re.sub(r":[a-z]+-badge\[((?:[^\[\]]|\\[\[\]])*)\]", r"[\1]", text)
    text = re.sub(r":(?:small|green|red|gray|orange)\[((?:[^\[\]]|\\[\[\]])*)\]|:material/\w+:", r"\1", text)
    text = re.sub(r"[\u2060]|\*\*", "", text)
    return " ".join(re.sub(r"\\(?=[^a-zA-Z0-9\s])", "", text).split())


def texts_in(message: Message) -> Iterator[str]:
    """The texts of all fields of what is drawn that somebody reads."""
    for field, value in message.ListFields():
        if field.name in NOT_READ:
            continue
        many = value if not isinstance(value, str | Message) and hasattr(value, "__iter__") else [value]
        for one in many:
            if isinstance(one, Message):
                yield from texts_in(one)
            elif isinstance(one, str):
                yield one


def parts_of(node: Any) -> Iterator[Any]:
    """All that stands on a page, in order."""
    yield node
    for part in (getattr(node, "children", None) or {}).values():
        yield from parts_of(part)


def page_texts(app: AppTest) -> list[str]:
    """The texts with a digit of a page: figures with their label, and what help says, each by itself."""
    texts: list[str] = []
    for node in parts_of(app._tree):
        part = getattr(node, "proto", None)
        if part is None or type(part).__name__ in APART:
            continue
        if type(part).__name__ == "Metric":
            texts += [f"{part.label}: {part.body}", part.help]
        elif type(part).__name__ == "Html":
            texts += rows_of_html(part.body)
        else:
            texts += texts_in(part)
    return [text for text in map(as_read, texts) if DIGIT.search(text)]


class Rows(HTMLParser):
    """The texts of a page of HTML: a row of a table is one, as is everything else that is a block."""

    BLOCKS = ("p", "li", "h1", "h2", "span", "pre", "tr", "figcaption", "svg")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.depth += tag in ("style", "title", "pre")
        if tag in self.BLOCKS:
            self.rows.append([])

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in ("style", "title", "pre")

    def handle_data(self, data: str) -> None:
        if self.rows and not self.depth and data.strip():
            self.rows[-1].append(data.strip())


def rows_of_html(text: str) -> list[str]:
    """The texts with a digit of a page of HTML; what is between ``pre`` is code to copy."""
    rows = (" | ".join(parts) for parts in Rows(text).rows)
    return [row for row in map(html.unescape, rows) if DIGIT.search(row)]
