"""The frame around every page: the steps and how far they are, where the data is, and the strip of figures."""

from functools import partial
from pathlib import Path

import streamlit as st

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
from ui.server.framework import DeltaGenerator, drop_uploads, session_name
from ui.server.places import PLACES
from ui.server.sessions import draw, go
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
STYLE = (Path(__file__).parent / "style.css").read_text("utf-8")
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
    st.html(f"<style>{style}</style>")
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
