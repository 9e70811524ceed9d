"""The shape of a report for people: sections of paragraphs, tables, pictures and code, in plain text throughout.

Whoever writes it (:mod:`anonymizer.reporting.html`, :mod:`anonymizer.reporting.pdf`) escapes every text. Every number
in a table is a :class:`Figure` with a key, so that it can be found and computed again.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A number in a document: its ``key``, which no other figure there has, and its text."""

    key: str
    text: str


@dataclass(frozen=True)
class Table:
    """A table: a header of h texts, and rows of h cells."""

    header: tuple[str, ...]
    rows: tuple[tuple[str | Figure, ...], ...]


@dataclass(frozen=True)
class Code:
    """Text that is copied letter by letter."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A picture: ``svg`` of plain shapes and escaped text, and ``alt``, what it says in a sentence."""

    svg: str
    alt: str


@dataclass(frozen=True)
class Panel:
    """A finding as ``title``, and the picture or the table that shows it."""

    title: str
    body: Picture | Table


@dataclass(frozen=True)
class Grid:
    """Panels, two beside each other."""

    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Points:
    """A list: each item a few words that are read first, and a sentence."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Lines:
    """Lines to be signed, each with what stands below it."""

    labels: tuple[str, ...]


Block = str | Table | Code | Picture | Grid | Points | Lines


@dataclass(frozen=True)
class Section:
    """A heading, "" for none, and what stands below it. ``on_new_page``: it begins a page where there are pages."""

    title: str
    blocks: tuple[Block, ...]
    on_new_page: bool = False


@dataclass(frozen=True)
class Document:
    """A report to be written. ``audience``: "internal" or "external"; ``lead``: what it says, in a sentence or two."""

    title: str
    subtitle: str
    audience: str
    sections: tuple[Section, ...]
    lead: str = ""

    @property
    def texts(self) -> list[str]:
        """Every text, in the order in which it is read."""
        sections = [
            text for one in self.sections for text in (one.title, *(t for b in one.blocks for t in texts_of(b)))
        ]
        return [self.title, self.subtitle, *filter(None, [self.lead, *sections])]

    @property
    def figures(self) -> dict[str, str]:
        """The text of every figure by its key."""
        blocks = [block for section in self.sections for block in section.blocks]
        blocks += [panel.body for block in blocks if isinstance(block, Grid) for panel in block.panels]
        rows = [row for block in blocks if isinstance(block, Table) for row in block.rows]
        return {cell.key: cell.text for row in rows for cell in row if isinstance(cell, Figure)}


def texts_of(block: Block) -> list[str]:
    """Return every text of a block, in the order in which it is read."""
    if isinstance(block, Table):
        cells = [cell.text if isinstance(cell, Figure) else cell for row in block.rows for cell in row]
        return [*(block.header if any(block.header) else ()), *cells]
    if isinstance(block, Grid):
        return [text for panel in block.panels for text in (panel.title, *texts_of(panel.body))]
    if isinstance(block, Points):
        return [f"{first} {sentence}" for first, sentence in block.items]
    if isinstance(block, Lines):
        return list(block.labels)
    if isinstance(block, Code):
        return block.text.split("\n")
    return [block.alt if isinstance(block, Picture) else block]
