"""A report as one HTML file that needs nothing else: no script, no font, no picture from anywhere."""

from html import escape

from anonymizer.reporting.document import Code, Document, Figure, Picture, Section, Table

STYLE = """
:root { color-scheme: light dark; --ink: #1d2b24; --paper: #ffffff; --line: #c9d4cd; --soft: #f1f5f2; --leaf: #2b7a50 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4ece7; --paper: #16201b; --line: #3d4d44; --soft: #1f2c25; --leaf: #7cc79d }
}
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1.2rem }
h1 { font-size: 1.7rem; margin: 0 }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; color: var(--leaf) }
.subtitle { opacity: .75; margin: .2rem 0 1rem }
table { border-collapse: collapse; width: 100%; margin: .6rem 0 }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  overflow-wrap: break-word }
.wide { overflow-x: auto }
th { background: var(--soft); font-weight: 600 }
td.figure { font-variant-numeric: tabular-nums; white-space: nowrap }
pre { background: var(--soft); padding: .7rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem }
figure { margin: 1rem 0; overflow-x: auto }
figure svg { background: #fff; padding: .4rem }
figcaption { font-size: .9rem; opacity: .85 }
@media print {
  figure svg { max-width: 100%; height: auto }
  body { margin: 0; max-width: none; color: #000; background: #fff }
  h2 { break-after: avoid }
  tr { break-inside: avoid }
}
"""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What the page may load: nothing."""


def to_html(document: Document) -> str:
    """Return the document as HTML text. Figures carry their key in ``data-figure``; everything from outside is
    escaped."""
    title = escape(document.title)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        f'<h1>{title}</h1><p class="subtitle">{escape(document.subtitle)}</p>',
        *(_section(section) for section in document.sections),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _section(section: Section) -> str:
    return "\n".join([f"<section><h2>{escape(section.title)}</h2>", *map(_block, section.blocks), "</section>"])


def _block(block: str | Table | Code | Picture) -> str:
    if isinstance(block, Picture):
        named = block.svg.replace("<svg ", f'<svg role="img" aria-label="{escape(block.alt)}" ', 1)
        return f"<figure>{named}<figcaption>{escape(block.alt)}</figcaption></figure>"
    if isinstance(block, str):
        return f"<p>{escape(block)}</p>"
    if isinstance(block, Code):
        return f"<pre>{escape(block.text)}</pre>"
    head = ""
    if any(block.header):
        head = "<thead><tr>" + "".join(f"<th>{escape(text)}</th>" for text in block.header) + "</tr></thead>"
    rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>\n" for row in block.rows)
    return f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'


def _cell(cell: str | Figure) -> str:
    if isinstance(cell, Figure):
        return f'<td class="figure" data-figure="{escape(cell.key)}">{escape(cell.text)}</td>'
    return f"<td>{escape(cell)}</td>"
