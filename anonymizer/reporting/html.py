"""A report as one HTML file that needs nothing else: no script, no font, no picture from anywhere."""

from html import escape

from anonymizer.reporting.document import (
    Block,
    Code,
    Document,
    Figure,
    Grid,
    Lines,
    Panel,
    Picture,
    Points,
    Section,
    Table,
)

STYLE = """
:root { color-scheme: light dark; --ink: #1d2b24; --paper: #ffffff; --line: #c9d4cd; --soft: #f1f5f2; --leaf: #2b7a50;
  --beware: #a32c33 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4ece7; --paper: #16201b; --line: #3d4d44; --soft: #1f2c25; --leaf: #7cc79d;
    --beware: #e27a66 }
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
.lead { font-size: 1.15rem; line-height: 1.45 }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: .5rem 2.5rem }
.grid figure { margin: .3rem 0 }
.grid figure svg { width: 100%; height: auto; padding: 0 }
.finding { font-weight: 600; margin: 1rem 0 .2rem }
.points { list-style: "▲ "; padding-left: 1.4rem }
.points li { margin: .45rem 0 }
.points li::marker { color: var(--beware); font-size: .7rem }
.lines { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 2.5rem 1.5rem;
  margin-top: 3.5rem }
.lines span { border-top: 1px solid var(--ink); padding-top: .3rem; font-size: .85rem }
section.page { border-top: 2px solid var(--leaf); margin-top: 3rem }
@media print {
  section.page { break-before: page; border-top: 0; margin-top: 0 }
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
        *([f'<p class="lead">{escape(document.lead)}</p>'] if document.lead else []),
        *map(_section, document.sections),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _section(section: Section) -> str:
    head = f"<h2>{escape(section.title)}</h2>" if section.title else ""
    page = ' class="page"' if section.on_new_page else ""
    return "\n".join([f"<section{page}>{head}", *map(_block, section.blocks), "</section>"])


def _block(block: Block) -> str:
    if isinstance(block, Picture):
        named = block.svg.replace("<svg ", f'<svg role="img" aria-label="{escape(block.alt)}" ', 1)
        return f"<figure>{named}<figcaption>{escape(block.alt)}</figcaption></figure>"
    if isinstance(block, str):
        return f"<p>{escape(block)}</p>"
    if isinstance(block, Code):
        return f"<pre>{escape(block.text)}</pre>"
    if isinstance(block, Grid):
        return f'<div class="grid">{"".join(map(_panel, block.panels))}</div>'
    if isinstance(block, Points):
        items = (f"<li><strong>{escape(first)}</strong> {escape(sentence)}</li>" for first, sentence in block.items)
        return f'<ul class="points">{"".join(items)}</ul>'
    if isinstance(block, Lines):
        return '<div class="lines">' + "".join(f"<span>{escape(label)}</span>" for label in block.labels) + "</div>"
    return _table(block)


def _panel(panel: Panel) -> str:
    return f'<div><p class="finding">{escape(panel.title)}</p>{_block(panel.body)}</div>'


def _table(table: Table) -> str:
    head = ""
    if any(table.header):
        head = "<thead><tr>" + "".join(f"<th>{escape(text)}</th>" for text in table.header) + "</tr></thead>"
    rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>\n" for row in table.rows)
    return f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'


def _cell(cell: str | Figure) -> str:
    if isinstance(cell, Figure):
        return f'<td class="figure" data-figure="{escape(cell.key)}">{escape(cell.text)}</td>'
    return f"<td>{escape(cell)}</td>"
