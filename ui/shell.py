"""The frame around every page: the steps and how far they are, where the data is, and the strip of figures."""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from anonymizer.errors import MemoryOnlyError
from ui.controls import PAGES, count, plain, plural, problem
from ui.decisions.browser import browser
from ui.decisions.project_file import take_over
from ui.decisions.view import explanation
from ui.door.login import login
from ui.glossary import words
from ui.navigation import STEPS, pages
from ui.release.folder import folder_gate, folder_result
from ui.server.files import drop_files
from ui.server.places import PLACES
from ui.server.sessions import draw, drop_uploads, go, session_name
from ui.session import emptying, forget_widgets, wait_for_place, workspace
from ui.strip import strip
from ui.tour import tour
from ui.turn import TURNS
from ui.visit import FrameState
from ui.warm import WARM_UP, sweep, tidy
from ui.window import start_at_top
from ui.workspace import Workspace

LOGO = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 118 32" role="img" aria-label="Copse">
<g fill="COLOUR"><path d="M12 3 4 17h5l-4 7h14l-4-7h5z"/><path d="M25 9l-6 10h3.6l-3 5h10.8l-3-5H31z" opacity=".72"/>
<path d="M10.8 24h2.4v5h-2.4zM24 24h2v5h-2z"/></g>
<text x="39" y="24" font-family="system-ui,sans-serif" font-size="23" font-weight="650" fill="COLOUR">Copse</text>
</svg>"""
LOGO_COLOURS = {"light": "#1f6f43", "dark": "#5cc48d"}
STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding-top: 4.2rem; padding-bottom: 3rem; max-width: 1500px; }
[data-testid="stFileUploaderDropzone"] {
  min-height: 10rem; flex-direction: column; justify-content: center; align-items: center; border-style: dashed;
}
[data-testid="stFileUploaderDropzoneInstructions"] { margin: 0.5rem 0 0; flex: none; max-width: 100%; }
[data-testid="stSliderTickBar"] { display: none; }
[data-testid="stSliderThumbValue"] p { color: LINK; }
:is([data-testid="stBaseButton-secondary"], [data-testid="stBaseButton-tertiary"], [data-testid="stPopover"] button):is(
  :hover, :focus, :active, [aria-expanded="true"]
) {
  color: LINK;
}
[data-testid="stCaptionContainer"] { color: GRAY; opacity: 1; }
[data-testid="stCaptionContainer"] :is(p, strong, li) { color: inherit; }
[data-testid="stMainBlockContainer"] h1 { padding: .4rem 0 .8rem; }
a[data-testid="stTopNavLink"] { padding: 0 .2rem; gap: .25rem; }
@media (max-height: 850px) {
  [data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: .55rem; }
  [data-testid="stBottom"] [data-testid="stCaptionContainer"] p { font-size: .74rem; line-height: 1.25; }
}
[class*="st-key-roles-card-"] [data-testid="stHorizontalBlock"] { overflow: visible; }
:is(a, button, canvas, summary, [tabindex="0"], [data-answer]):focus-visible {
  outline: 2px solid LINK; outline-offset: 1px;
}
[data-testid="stSelectbox"]:has(input:focus-visible) { outline: 2px solid LINK; outline-offset: 2px; }
[data-testid="stMain"]:focus { outline: none; }
.st-key-words { flex: none; }
.st-key-words p { white-space: nowrap; }
.st-key-window, [class*="st-key-browser-"], [data-testid="stLayoutWrapper"]:has(> [class*="st-key-answer-"]) {
  position: absolute;
}
[data-copse-lost] [data-testid="stDialog"] { display: none; }
[data-testid="stDownloadButton"] { transition: opacity .2s; }
[data-stale="true"] [data-testid="stDownloadButton"] { pointer-events: none; opacity: .5; transition-delay: .2s; }
[data-testid="stButtonGroup"] button[data-selected="true"] p { color: LINK; font-weight: 600; }
[class*="st-key-roles-"] :is(h2, h3) { font-size: 1.08rem; line-height: 1.3; padding: 0 0 .35rem; }
:is(.st-key-roles-groups, .st-key-roles-changes) h2 { font-size: 1.35rem; }
:is(.st-key-ready, .st-key-hand-over) h2 { font-size: 1.15rem; padding: 0 0 .4rem; }
[class*="st-key-roles-"] [data-testid="stButtonGroup"] button { min-height: 1.9rem; }
[class*="st-key-roles-card-"] [data-testid="stButtonGroup"] button :is(p, span) { font-weight: 500 !important; }
.st-key-roles-bar { height: 2.9rem !important; min-height: 2.9rem; max-height: 2.9rem; overflow: auto hidden; }
.st-key-roles-bar p { white-space: nowrap; }
.st-key-roles-bar [data-testid="stCaptionContainer"] p { white-space: normal !important; line-height: 1.15; }
.st-key-roles-bar [data-testid="stElementContainer"]:has([data-testid="stCaptionContainer"]) {
  min-width: 7.5rem; max-height: 2.6rem; overflow: hidden;
}
[data-testid="stLayoutWrapper"]:has(> .st-key-roles-on) {
  position: sticky; bottom: 0; background: BACKGROUND; padding: .2rem 0;
}
[data-testid="stColumn"]:has(> * .st-key-roles-side) {
  position: sticky; top: 4.2rem; align-self: flex-start; min-width: 17rem; max-height: calc(100dvh - 10.5rem);
  overflow-y: auto; padding-left: 1rem; border-left: 1px solid var(--st-border-color, #8884);
}
[data-testid="stHorizontalBlock"]:has(> * .st-key-roles-side) { flex-wrap: nowrap; }
[data-testid="stColumn"]:has(> * .st-key-roles-groups) { min-width: 0; }
.st-key-roles-side { gap: .6rem; }
.st-key-roles-side [data-testid="stMetricLabel"] p { white-space: normal; }
.st-key-roles-side [data-testid="stMetricValue"] { font-size: 1.7rem; line-height: 1.2; }
[class*="st-key-roles-card-"] { border-top: 1px solid var(--st-border-color, #8884); padding-top: .6rem; gap: .3rem; }
[class*="st-key-roles-card-"] [data-testid="stVerticalBlock"] { gap: .25rem; }
[class*="st-key-roles-card-"] [data-testid="stMarkdownContainer"] { margin-bottom: 0; }
[class*="st-key-roles-card-"] h3 { padding: 0; }
[class*="st-key-roles-card-"] [data-testid="stButtonGroup"] :is(div, [role="radiogroup"]) {
  flex-wrap: wrap; overflow: visible; mask-image: none; row-gap: .3rem;
}
@media (max-height: 850px) {
  [data-testid="stColumn"]:has(> * .st-key-roles-side) { max-height: calc(100dvh - 11.3rem); }
  .st-key-roles-side { gap: .2rem; }
  .st-key-roles-side [data-testid="stMetric"] > div {
    display: grid; grid-template-columns: auto 1fr; align-items: center; column-gap: .5rem;
  }
  .st-key-roles-side [data-testid="stMetricLabel"] { grid-column: 1 / -1; }
  .st-key-roles-side [data-testid="stMetricValue"] { font-size: 1.3rem; width: auto; }
}
@media (max-width: 900px) {
  [data-testid="stHorizontalBlock"]:has(> * .st-key-roles-side) { flex-direction: column; }
  [data-testid="stColumn"]:has(> * .st-key-roles-side) { position: static; width: 100%; max-height: none; border: 0; }
  [data-testid="stColumn"]:has(> * .st-key-roles-groups) { width: 100%; }
}
.st-key-roles-bar [data-testid="stButtonGroup"] :is(div, [role="radiogroup"]) { flex-wrap: nowrap; }
[data-testid="stBottomBlockContainer"] { padding: .25rem 1.2rem .3rem; max-width: none; }
[data-testid="stBottom"] > div { border-top: 1px solid var(--st-border-color, #8884); }
.st-key-strip [data-testid="stMetricLabel"] p { font-size: 0.78rem; }
[data-testid="stMainBlockContainer"] [data-testid="stLayoutWrapper"]:has(> .st-key-strip) {
  position: sticky; top: 3.6rem; z-index: 9; background: BACKGROUND; padding: 0.4rem 0;
}
.st-key-strip [data-testid="stMetricValue"] { font-size: 1.15rem; line-height: 1.3; padding: 0; }
.st-key-strip [data-testid="stMetric"] > div, .st-key-strip [data-testid="stMetric"] {
  display: flex; flex-direction: row; align-items: baseline; gap: .4rem; width: auto;
}
[data-testid="stMainBlockContainer"]:has(.st-key-canvas) { padding: 3.8rem 1rem 1rem; max-width: none; }
[data-testid="stMainBlockContainer"]:has(.st-key-canvas) > [data-testid="stVerticalBlock"] { gap: .2rem; }
.st-key-canvas-main { --copse-around: 13.1rem; min-width: 0; gap: .4rem; }
[data-testid="stLayoutWrapper"]:has(> .st-key-canvas-sentence) { margin: -.65rem 0; }
.st-key-canvas-sentence p { font-size: .85rem; line-height: 1.25; white-space: nowrap; overflow: hidden; }
.st-key-canvas-picture { min-width: 0; flex: 1 1 0; gap: .4rem; }
.st-key-canvas-controls { gap: .7rem; }
.st-key-canvas-controls button p { white-space: normal; overflow: visible; }
.st-key-canvas-bar { gap: .3rem 1rem; min-height: 2.6rem; }
.st-key-canvas-bar h1 { font-size: 1.35rem; padding: 0; }
.st-key-canvas-bar [data-testid="stSlider"] { min-width: 6rem; }
.st-key-canvas-bar [data-testid="stSliderThumbValue"] { display: none; }
.st-key-canvas-panel { overflow-y: auto; max-height: calc(100dvh - 12.2rem); padding-left: .6rem; gap: .5rem; }
.st-key-canvas-panel > * { flex-shrink: 0; }
.st-key-canvas-panel [data-testid="stHeading"] :is(h2, h3) { padding: .2rem 0 .1rem; line-height: 1.25; }
.st-key-canvas-panel [data-testid="stHeadingWithActionElements"] { margin: 0; }
.st-key-canvas-panel [data-testid="stMarkdownContainer"] { margin: 0; }
.st-key-canvas-panel [data-testid="stMarkdownContainer"] p { font-size: .9rem; line-height: 1.4; }
.st-key-canvas-panel table { table-layout: fixed; width: 100%; }
.st-key-canvas-panel th { width: 34%; }
.st-key-canvas-panel th:nth-child(2) { width: 27%; }
.st-key-canvas-panel :is(th, td) { padding: .2rem .3rem; }
.st-key-canvas-panel :is(th, td) * { max-width: 100%; font-size: .8rem !important; overflow-wrap: anywhere !important; }
@media (max-width: 1400px) {
  .st-key-strip [data-testid="stMetricLabel"] p { font-size: .7rem; }
  .st-key-strip [data-testid="stMetricValue"] { font-size: 1rem; }
}
@media (max-width: 1100px) {
  [data-testid="stColumn"]:has(> * .st-key-roles-side) { min-width: 13.5rem; }
  [data-testid="stBottomBlockContainer"] { padding: .3rem 1rem .4rem; }
  .st-key-strip { gap: .3rem .1rem; }
  .st-key-strip [data-testid="stMetric"] > div, .st-key-strip [data-testid="stMetric"] { gap: .15rem; }
  .st-key-strip [data-testid="stMetricLabel"] p { font-size: .62rem; }
  .st-key-strip [data-testid="stMetricValue"] { font-size: .88rem; }
  .st-key-strip [data-testid="stTooltipIcon"] svg { width: .8rem; height: .8rem; }
  :is(a[data-testid="stTopNavLink"], [data-testid="stTopNavSection"]) :is(span, div, p) { font-size: .8rem; }
  [data-testid="stTopNav"] [data-testid="stIconMaterial"] { font-size: .95rem; }
  [data-testid="stTopNav"] { padding-inline: .4rem; }
  [data-testid="stTopNav"] + div { min-width: 9rem; }
  [data-testid="stTopNavSection"] { padding: 0 .1rem; gap: 0; }
  [data-testid="stTopNavSection"] svg { width: .9rem; height: .9rem; }
  [data-testid="stHeaderLogo"] { height: 1.5rem; }
  [data-testid="stBottom"] [data-testid="stCaptionContainer"] p {
    white-space: nowrap; overflow: hidden; text-overflow: ellipsis;
  }
}
@media (max-width: 1100px) {
  .st-key-canvas { flex-direction: column; gap: .4rem; }
  [data-testid="stLayoutWrapper"]:has(> :is(.st-key-canvas-controls, .st-key-canvas-main)) { width: 100%; flex: none; }
  .st-key-canvas-controls { flex-direction: row; flex-wrap: wrap; align-items: end; gap: .3rem .8rem; }
  .st-key-canvas-controls > * { flex: 1 1 9rem; width: auto; min-width: 0; }
  .st-key-canvas-controls > :has([data-testid="stCaptionContainer"]) { display: none; }
  .st-key-canvas-controls button p { font-size: .85rem; line-height: 1.25; }
  .st-key-canvas-main { --copse-around: 19.7rem; }
}
.st-key-start [data-testid="stColumn"]:first-child [data-testid="stFileUploaderDropzone"] {
  min-height: 26rem; justify-content: center; border: 2px dashed var(--st-primary-color, #1f6f43);
}
.st-key-start [data-testid="stColumn"]:last-child [data-testid="stFileUploaderDropzone"] { padding: .3rem; }
@media (max-width: 900px) {
  :is(.st-key-ready, .st-key-hand-over, .st-key-figures, .st-key-start) > * > [data-testid="stHorizontalBlock"] {
    flex-wrap: wrap;
  }
  :is(.st-key-ready, .st-key-hand-over, .st-key-start) [data-testid="stColumn"] { min-width: 100%; }
  .st-key-figures [data-testid="stColumn"] { min-width: 40%; }
  .st-key-frame [data-testid="stCaptionContainer"] p { font-size: .78rem; line-height: 1.3; }
  .st-key-canvas-sentence p { white-space: normal; height: 2.5em; }
  .st-key-canvas-stage { flex-direction: column; }
  [data-testid="stLayoutWrapper"]:has(> .st-key-canvas-panel) { width: 100%; }
  .st-key-canvas-panel { max-height: none; }
  a[data-testid="stTopNavLink"] > :has([data-testid="stIconMaterial"]) { display: none; }
  a[data-testid="stTopNavLink"] p { font-size: .82rem; }
}
</style>"""
IN_MEMORY = "It is never written to disk, and not sent anywhere."
OF_FOLDERS = "It is not sent anywhere. Only its release is written to disk."
"""What is said of every table, and of one in the operator's folder."""
LINE_PERIOD = 2.0  # seconds between two looks whether there is a place for a session that waits
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "0.0.0.0")


def steps_done(ws: Workspace) -> frozenset[str]:
    """Return the steps that have what the next one needs, for this table in these roles, now or before."""
    result, gate = folder_result(ws), folder_gate(ws)
    if ws.ready("judgement"):
        gate = ws.flow.gate
    ready = {
        "data": ws.reading is not None,
        "roles": ws.schema is not None,
        "tree": ws.ready("pruning"),
        "gate": gate is not None and not gate.open,
        "release": ws.ready("verification") or (result is not None and result.folder is not None),
    }
    visit = ws.state(FrameState)
    before = visit.steps if visit.schema == ws.schema else frozenset()
    visit.schema, visit.steps = ws.schema, before | {step for step, is_ready in ready.items() if is_ready}
    return visit.steps


def stage(ws: Workspace) -> str:
    """Return how far a session is, as the title of its last step that is done."""
    done = ws.state(FrameState).steps if ws.reading is not None else ()
    return next((title for step, title, _ in reversed(STEPS) if step in done), "No table")


def host_text() -> str:
    """Return where the session's memory is, in words."""
    host = (st.context.url or "").split("//")[-1].split("/")[0]
    name = host if host.startswith("[") else host.split(":")[0]
    return "this computer" if not name or name.rpartition("]")[0] + "]" in LOCAL_HOSTS or name in LOCAL_HOSTS else name


def frame(ws: Workspace, name: str) -> DeltaGenerator:
    """Return the place of what the browser says of the decisions it keeps, in the line above every page, drawn here:
    which table there is, where, and how to be rid of it; ``name`` of the page."""
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", key="frame"):
        start_at_top(f"{name} {ws.edition}")
        never = OF_FOLDERS if ws.in_pieces and ws.source is None else IN_MEMORY
        title = "Your table stays" if ws.reading is None else f"**{plain(ws.title)}** ·"
        host = plain(host_text())
        where = f"in a folder of {host}" if never is OF_FOLDERS else f"in the memory of {host} only"
        st.caption(f":material/lock: {title} {where}", width="stretch", help=never)
        with st.container(width="content", key="words"):
            words(name)
        place = st.container(width="content", key="kept")
        help = "Deletes the table, all results and the decisions saved in this browser."
        if ws.reading is not None and st.button("Remove table", icon=":material/delete:", type="tertiary", help=help):
            ws.forget()
            drop_uploads()
            st.switch_page(PAGES / "data.py")
        if login() is not None:
            sign_out(ws)
        return place


def sign_out(ws: Workspace) -> None:
    """Draw who is signed in, and how to leave: everything of this browser's sessions is dropped.

    The browser itself goes on to where the server signs it out, once it has dropped what it keeps.
    """

    def leave() -> None:
        ws.forget()
        drop_uploads()
        go()
        ws.decisions.tell("sign out")

    who = st.user.get("email") if st.user.get("email_verified") is True else st.user.get("sub")
    st.caption(f":material/person: {plain(who)}", width="content")
    help = "Drop the table, all results, and all that this browser keeps of your decisions, and leave"
    st.button("Sign out", icon=":material/logout:", type="tertiary", help=help, on_click=leave)


@st.fragment(run_every=LINE_PERIOD)
def no_place(ws: Workspace) -> None:
    """Draw that this server is full, until there is a place."""
    waiting = wait_for_place(ws)
    if not waiting:
        st.rerun()
    st.title("No place is free", anchor=False)
    st.markdown(
        f"This server works for {plural(PLACES.capacity.sessions, 'session')} at once, and every place is taken. "
        f"You are number **{count(waiting)}** in the line. Leave this page open: it goes on by itself as soon as "
        "others have closed theirs. Who runs this server can allow more sessions."
    )


@st.fragment(run_every=1.0)
def compiling(name: str) -> None:
    """Draw how far the compiler is, until the loops of a page are there."""
    if WARM_UP.is_ready(name):
        st.rerun()
    st.progress(WARM_UP.share, f"Copse compiles itself, once after every update. {plain(WARM_UP.words)} …")
    st.caption("This page opens by itself as soon as it can.")


def main() -> None:
    """Draw a page in its frame, once. Names are local: what a script leaves behind lives until the next one."""
    st.set_page_config(page_title="Copse", page_icon="🌳", layout="wide")
    theme = st.context.theme.type or "light"
    style = STYLE
    for name in ("background", "link", "gray"):
        style = style.replace(name.upper(), str(st.get_option(f"theme.{theme}.{name}Color")))
    st.html(style)
    st.logo(LOGO.replace("COLOUR", LOGO_COLOURS.get(theme, "#1f6f43")), size="large")
    ws = workspace()
    draw(emptying(), partial(stage, ws), ws.memory)
    done = steps_done(ws)
    waiting = wait_for_place(ws)
    as_folder = ws.in_pieces and ws.source is None
    page = st.navigation(pages(done, as_folder=as_folder), position="hidden" if waiting else "top")
    if waiting:
        no_place(ws)
        return
    visit = ws.state(FrameState)
    if visit.page != page.url_path:
        visit.page, visit.panels = page.url_path, {}
    take_over(ws)
    place = frame(ws, page.url_path or "data")
    tour(ws, page.url_path or "data")
    if ws.reading is None and ws.doubt is None:
        explanation(ws)
    if WARM_UP.failure:
        st.error(plain(WARM_UP.failure), icon=":material/error:")
    elif not WARM_UP.is_ready(page.url_path):
        compiling(page.url_path)
        return
    with TURNS.keeping(ws.owner):
        try:
            page.run()
        except MemoryOnlyError as error:
            problem(error)
        ws.remember()
        if page.url_path:
            ws.failure = None  # it was said on the Data page
        steps_done(ws)  # remembered for the next time: drawn again now, the files of the page would get new addresses
        with place:
            browser(ws)
        if page.url_path != "what_if":  # it draws the figures itself, beside its sliders
            strip(ws)
    visit = ws.state(FrameState)  # another one when the page brought a table
    if visit.edition != ws.edition:
        visit.edition = ws.edition
        if ws.edition:  # a table came or went in this session
            drop_files(session_name())
            forget_widgets()
        sweep()
    tidy()


main()
