"""A report as PDF, by reportlab: text that can be searched, no link, no script."""

import io
from contextlib import suppress
from functools import cache
from typing import Any
from xml.sax.saxutils import escape

from anonymizer.reporting.document import Block, Code, Document, Figure, Grid, Lines, Picture, Points, Section, Table
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
HEAD_SIZE, PADDING, TALLEST, GAP, TO_SIGN = 7.5, 3, 420, 24, 48
"""Points: letters above a column, the space beside a cell's text, the tallest picture, the space between panels, and
above a line to be signed."""
LONGEST_WORD = 20
"""Letters of a word that is not broken in a table."""


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
    width = A4[0] - 2 * margin - 12  # a frame has 6 points on each side
    story = [_paragraph(document.title, styles["title"]), _paragraph(document.subtitle, styles["subtitle"])]
    if any(UNKNOWN in printable(text) for text in document.texts):
        story.append(_paragraph(LACKING, styles["subtitle"]))
    if document.lead:
        story.append(_paragraph(document.lead, styles["lead"]))
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
            pdfmetrics.registerFontFamily(files[0], files[0], files[1], files[0], files[1])
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
        "lead": ParagraphStyle("lead", body, fontSize=11, leading=15, spaceAfter=8),
        "finding": ParagraphStyle("finding", body, fontName=bold, spaceBefore=4, spaceAfter=3),
        "heading": ParagraphStyle(
            "heading", body, fontName=bold, fontSize=11, leading=14, spaceBefore=10, textColor=LEAF, keepWithNext=1
        ),
        "caption": ParagraphStyle("caption", body, fontSize=7.5, leading=10, spaceBefore=3, spaceAfter=8),
        "head": ParagraphStyle("head", body, fontName=bold, fontSize=HEAD_SIZE, leading=10, spaceAfter=0),
        "cell": ParagraphStyle("cell", body, fontSize=7.5, leading=10, spaceAfter=0),
        "code": ParagraphStyle("code", body, fontSize=7, leading=9.5, backColor=SOFT, borderPadding=4, leftIndent=4),
    }


def _section(section: Section, styles: dict[str, Any], width: float) -> list[Any]:
    from reportlab.platypus import KeepTogether, PageBreak

    story = [PageBreak()] if section.on_new_page else []
    story += [_paragraph(section.title, styles["heading"])] if section.title else []
    for block in section.blocks:
        parts = _block(block, styles, width)
        story += [KeepTogether(parts)] if isinstance(block, Picture) else parts
    return story


def _block(block: Block, styles: dict[str, Any], width: float) -> list[Any]:
    if isinstance(block, Table):
        return [_table(block, styles, width)]
    if isinstance(block, Picture):
        picture = drawing_of(block.svg, width, TALLEST, _fonts()[0], printable)
        return [picture, _paragraph(block.alt, styles["caption"])]
    if isinstance(block, Code):
        return [_paragraph(line, styles["code"]) for line in block.text.split("\n")]
    if isinstance(block, Grid):
        return [_grid(block, styles, width)]
    if isinstance(block, Points):
        return [_paragraph(f"{first} {rest}", styles["body"], len(first)) for first, rest in block.items]
    if isinstance(block, Lines):
        return [_lines(block, styles, width)]
    return [_paragraph(block, styles["body"])]


def _grid(block: Grid, styles: dict[str, Any], width: float) -> Any:
    """Return panels, two in a row, none taller than a part of the page."""
    from reportlab.platypus import KeepInFrame, TableStyle
    from reportlab.platypus import Table as Rows

    half = (width - GAP) / 2
    panels = ([_paragraph(one.title, styles["finding"]), *_block(one.body, styles, half - 2)] for one in block.panels)
    cells: list[Any] = [KeepInFrame(half, TALLEST, panel, mode="shrink") for panel in panels]
    cells += [""] * (len(cells) % 2)
    rows = Rows([cells[at : at + 2] for at in range(0, len(cells), 2)], colWidths=[half + GAP / 2] * 2)
    rows.setStyle(TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (-1, -1), 0)]))
    return rows


def _lines(block: Lines, styles: dict[str, Any], width: float) -> Any:
    """Return lines to be signed, beside each other, with room above them."""
    from reportlab.platypus import KeepInFrame, TableStyle
    from reportlab.platypus import Table as Rows

    gaps = len(block.labels) - 1
    each = (width - GAP * gaps) / len(block.labels)
    labels = [KeepInFrame(each, TALLEST, [_paragraph(label, styles["cell"])], mode="shrink") for label in block.labels]
    texts = [cell for label in labels for cell in (label, "")][:-1]
    rows = Rows([texts], colWidths=[GAP if at % 2 else each for at in range(len(texts))], spaceBefore=TO_SIGN)
    ruled = [("LINEABOVE", (at, 0), (at, 0), 0.6, INK) for at in range(0, len(texts), 2)]
    rows.setStyle(TableStyle([*ruled, ("LEFTPADDING", (0, 0), (-1, -1), 0)]))
    return rows


def _paragraph(text: str, style: Any, bold: int = 0) -> Any:
    """Return a paragraph, its first letters ``bold``."""
    from reportlab.platypus import Paragraph

    first, rest = (escape(printable(part)) for part in (text[:bold], text[bold:]))
    return Paragraph((f"<b>{first}</b>{rest}" if bold else rest) or "&nbsp;", style)


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
    """Return the width of each column: by its longest text, within bounds, and room for each word in it that is not
    too long."""
    from reportlab.pdfbase.pdfmetrics import stringWidth

    texts = [[cell.text if isinstance(cell, Figure) else cell for cell in row] for row in (block.header, *block.rows)]
    columns = list(zip(*texts, strict=True))
    longest = [min(60, max(12, *map(len, column))) for column in columns]
    bold = _fonts()[1]
    words = [[word for text in column for word in text.split() if len(word) <= LONGEST_WORD] for column in columns]
    heads = [[*head.split(), *one] for head, one in zip(block.header, words, strict=True)]
    room = [
        max((stringWidth(printable(word), bold, HEAD_SIZE) for word in column), default=0) + 2 * PADDING + 1
        for column in heads
    ]
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
