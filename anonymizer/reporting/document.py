"""The shape of a report for people: sections of paragraphs, tables and code, in plain text throughout.

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
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[str | Table | Code | Picture, ...]


@dataclass(frozen=True)
class Document:
    """A report to be written. ``audience``: "internal" or "external"."""

    title: str
    subtitle: str
    audience: str
    sections: tuple[Section, ...]

    @property
    def texts(self) -> list[str]:
        """Every text, in the order in which it is read."""
        texts = [self.title, self.subtitle]
        for section in self.sections:
            texts.append(section.title)
            for block in section.blocks:
                if isinstance(block, Table):
                    cells = [cell for row in block.rows for cell in row]
                    texts += [*block.header, *(cell.text if isinstance(cell, Figure) else cell for cell in cells)]
                elif isinstance(block, Picture):
                    texts.append(block.alt)
                else:
                    texts.append(block.text if isinstance(block, Code) else block)
        return texts

    @property
    def figures(self) -> dict[str, str]:
        """The text of every figure by its key."""
        tables = [block for section in self.sections for block in section.blocks if isinstance(block, Table)]
        return {
            cell.key: cell.text for table in tables for row in table.rows for cell in row if isinstance(cell, Figure)
        }
