"""Small pages of this server's own, which need nothing else: no script, no picture, no session."""

import base64
import hashlib
from functools import cache
from html import escape

import streamlit as st
from starlette.responses import HTMLResponse

COLOURS = ("background", "secondaryBackground", "text", "primary", "border", "link", "red")
STYLE = """
:root { color-scheme: light dark; LIGHT }
@media (prefers-color-scheme: dark) { :root { DARK } }
body { margin: 0; background: var(--background); color: var(--text); line-height: 1.5;
  font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 12vh 1.5rem 3rem; }
main.wide { padding-top: 2rem; }
main.narrow { max-width: 30rem; }
.name { color: var(--link); font-weight: 650; font-size: 1.3rem; margin: 0; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .6rem 0 .8rem; }
h2 { font-size: 1.15rem; margin: 1.6rem 0 .5rem; }
p { margin: 0 0 1rem; }
a { color: var(--link); }
.button, button { display: inline-block; font: inherit; padding: .45rem 1rem; border-radius: .5rem; cursor: pointer;
  border: 1px solid var(--border); background: var(--secondaryBackground); color: var(--text); text-decoration: none; }
.first { background: var(--primary); border-color: var(--primary); color: #fff; }
.last { color: var(--red); border-color: var(--red); background: none; }
input { font: inherit; padding: .45rem .6rem; border-radius: .5rem; border: 1px solid var(--border); width: 22rem;
  max-width: 100%; box-sizing: border-box; background: var(--background); color: var(--text); margin-right: .5rem; }
a:focus-visible, button:focus-visible, input:focus-visible, summary:focus-visible {
  outline: 3px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--border); vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
details { margin: 0 0 1rem; }
label { display: block; margin: 0 0 .8rem; }
label input { display: block; margin: .3rem 0 0; }
summary { cursor: pointer; }
details[open] > summary { margin-bottom: .5rem; }
form { margin: 0; }
"""


@cache
def style() -> str:
    """Return the style of all notices, in the colours of the pages."""

    def colours(theme: str) -> str:
        return " ".join(f"--{name}: {st.get_option(f'theme.{theme}.{name}Color')};" for name in COLOURS)

    return STYLE.replace("LIGHT", colours("light")).replace("DARK", colours("dark"))


@cache
def policy() -> str:
    """Return the Content-Security-Policy of notices: their one style, and forms to this server."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )


def link(address: str, words: str, kind: str = "button") -> str:
    """Return a link that looks like a button."""
    return f'<a class="{kind}" href="{escape(address)}">{escape(words)}</a>'


def notice(title: str, sentence: str, *links: str, status: int = 200) -> HTMLResponse:
    """Return a page of a title and one sentence, which are escaped, and links below them."""
    body = f"<h1>{escape(title)}</h1><p>{escape(sentence)}</p><p>{' '.join(links)}</p>"
    return document(title, body, "narrow", status)


def document(title: str, body: str, width: str, status: int = 200) -> HTMLResponse:
    """Return a page with this body, which is HTML; ``width``: ``narrow`` or ``wide``. Nobody keeps a copy of it."""
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · Copse</title><style>{style()}</style></head>"
        f'<body><main class="{width}"><p class="name">Copse</p>{body}</main></body></html>'
    )
    return HTMLResponse(text, status, {"Content-Security-Policy": policy(), "Cache-Control": "no-store"})
