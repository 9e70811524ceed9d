"""A report as PDF, by reportlab: text that can be searched, no link, no script."""

import io
from contextlib import suppress
from functools import cache
from typing import Any
from xml.sax.saxutils import escape

from anonymizer.reporting.document import Code, Document, Figure, Picture, Section, Table
from anonymizer.reporting.pdf_pictures import drawing_of

INK, LINE, SOFT, LEAF = "#1d2b24", "#c9d4cd", "#f1f5f2", "#2b7a50"
UNKNOWN = "\u25a1"
LACKING = f"{UNKNOWN} stands for a letter that the font of this file lacks. The same report as HTML shows it."
FONTS = (
    ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"),
    ("arial.ttf", "arialbd.ttf"),
    ("Arial.ttf", "Arial Bold.ttf"),
    ("Vera.ttf", "VeraBd.ttf"),
)
"""Files of a plain and a bold font, embedded into the PDF; those of the system know more letters than the last, which
reportlab brings."""
HEAD_SIZE, PADDING, TALLEST = 7.5, 3, 420
"""Points: letters above a column, the space beside a cell's text, and the tallest picture."""


def to_pdf(document: Document) -> bytes:
    """Return the document as the bytes of a PDF file (A4). Letters that the embedded font lacks are shown as a box, and
    it says so."""
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.units import mm
    from reportlab.platypus import SimpleDocTemplate

    sink = io.BytesIO()
    margin = 18 * mm
    template = SimpleDocTemplate(
        sink,
        pagesize=A4,
        leftMargin=margin,
        rightMargin=margin,
        topMargin=margin,
        bottomMargin=margin,
        title=document.title,
        author="Copse",
        subject=document.subtitle,
        lang="en",
        invariant=1,  # no time and no random number: equal documents are equal files
    )
    styles = _styles()
    width = A4[0] - 2 * margin
    story = [_paragraph(document.title, styles["title"]), _paragraph(document.subtitle, styles["subtitle"])]
    if any(UNKNOWN in printable(text) for text in document.texts):
        story.append(_paragraph(LACKING, styles["subtitle"]))
    for section in document.sections:
        story += _section(section, styles, width)
    template.build(story, onFirstPage=_footer, onLaterPages=_footer)
    return sink.getvalue()


@cache
def _fonts() -> tuple[str, str]:
    """Return the names of the plain and the bold font, registered: the first of :data:`FONTS` that this machine has."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFError, TTFont

    for files in FONTS:
        with suppress(TTFError):
            for font in [TTFont(file, file) for file in files]:
                pdfmetrics.registerFont(font)
            return files
    raise AssertionError("the last is part of reportlab")


def _styles() -> dict[str, Any]:
    from reportlab.lib.styles import ParagraphStyle

    plain, bold = _fonts()
    body = ParagraphStyle(
        "body", fontName=plain, fontSize=8.5, leading=12, textColor=INK, spaceAfter=4, splitLongWords=1
    )
    return {
        "body": body,
        "title": ParagraphStyle("title", body, fontName=bold, fontSize=17, leading=22),
        "subtitle": ParagraphStyle("subtitle", body, fontSize=8, spaceAfter=8),
        "heading": ParagraphStyle(
            "heading", body, fontName=bold, fontSize=11, leading=14, spaceBefore=10, textColor=LEAF, keepWithNext=1
        ),
        "caption": ParagraphStyle("caption", body, fontSize=7.5, leading=10, spaceBefore=3, spaceAfter=8),
        "head": ParagraphStyle("head", body, fontName=bold, fontSize=HEAD_SIZE, leading=10, spaceAfter=0),
        "cell": ParagraphStyle("cell", body, fontSize=7.5, leading=10, spaceAfter=0),
        "code": ParagraphStyle("code", body, fontSize=7, leading=9.5, backColor=SOFT, borderPadding=4, leftIndent=4),
    }


def _section(section: Section, styles: dict[str, Any], width: float) -> list[Any]:
    from reportlab.platypus import KeepTogether

    story = [_paragraph(section.title, styles["heading"])]
    for block in section.blocks:
        if isinstance(block, Table):
            story.append(_table(block, styles, width))
        elif isinstance(block, Picture):
            picture = drawing_of(block.svg, width, TALLEST, _fonts()[0])
            story.append(KeepTogether([picture, _paragraph(block.alt, styles["caption"])]))
        elif isinstance(block, Code):
            story += [_paragraph(line, styles["code"]) for line in block.text.split("\n")]
        else:
            story.append(_paragraph(block, styles["body"]))
    return story


def _paragraph(text: str, style: Any) -> Any:
    from reportlab.platypus import Paragraph

    return Paragraph(escape(printable(text)) or "&nbsp;", style)


def printable(text: str) -> str:
    """Return the text with a box for every letter that the font lacks, and no line ends or control characters."""
    from reportlab.pdfbase import pdfmetrics

    glyphs = pdfmetrics.getFont(_fonts()[0]).face.charToGlyph
    return "".join(
        letter if ord(letter) in glyphs and letter.isprintable() else " " if letter.isspace() else UNKNOWN
        for letter in text
    )


def _table(block: Table, styles: dict[str, Any], width: float) -> Any:
    from reportlab.platypus import Table as Grid
    from reportlab.platypus import TableStyle

    headed = any(block.header)
    rows = [[_paragraph(text, styles["head"]) for text in block.header]] if headed else []
    for row in block.rows:
        rows.append([_paragraph(cell.text if isinstance(cell, Figure) else cell, styles["cell"]) for cell in row])
    if not rows:
        return _paragraph("None.", styles["body"])
    look = [
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, LINE),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LEFTPADDING", (0, 0), (-1, -1), PADDING),
        ("RIGHTPADDING", (0, 0), (-1, -1), PADDING),
    ]
    look += [("BACKGROUND", (0, 0), (-1, 0), SOFT)] if headed else []
    grid = Grid(rows, colWidths=column_widths(block, width), repeatRows=int(headed), splitInRow=1, spaceAfter=6)
    grid.setStyle(TableStyle(look))
    return grid


def column_widths(block: Table, width: float) -> list[float]:
    """Return the width of each column: by its longest text, within bounds, and room for each word above it."""
    from reportlab.pdfbase.pdfmetrics import stringWidth

    columns = zip(*(row for row in (block.header, *block.rows)), strict=True)
    longest = [
        min(60, max(12, *(len(cell.text if isinstance(cell, Figure) else cell) for cell in column)))
        for column in columns
    ]
    bold = _fonts()[1]
    words = [head.split() or [""] for head in block.header]
    room = [max(stringWidth(printable(word), bold, HEAD_SIZE) for word in column) + 2 * PADDING + 1 for column in words]
    if sum(room) >= width:
        return [width * length / sum(longest) for length in longest]
    widths = [max(width * length / sum(longest), least) for length, least in zip(longest, room, strict=True)]
    spare = [gets - least for gets, least in zip(widths, room, strict=True)]
    over = sum(widths) - width
    return [gets - over * free / max(sum(spare), 1e-9) for gets, free in zip(widths, spare, strict=True)]


def _footer(canvas: Any, template: Any) -> None:
    canvas.saveState()
    canvas.setFont(_fonts()[0], 7)
    canvas.drawRightString(template.pagesize[0] - template.rightMargin, 24, f"{canvas.getPageNumber()}")
    canvas.restoreState()
