"""What stands in the way of a release, on the page: a card for each finding, its repairs, its reason."""

from dataclasses import replace

import streamlit as st

from anonymizer.gate.finding import FEWEST_WORDS, Gate, Repair, Several, Severity, is_reason, together
from anonymizer.schema import Role
from anonymizer.treatments import words_of
from ui.controls import PAGES, next_step, plain, plural
from ui.gate.state import GateState
from ui.session import show_in_widgets, widget_state
from ui.workspace import Workspace

COLOURS = {Severity.STOPS: "#b3363e", Severity.LOOK: "#c2731b", Severity.FINE: "#1f7a4a"}
STYLE = """<style>
[class*="st-key-finding-"] { border-left: .4rem solid #8884; padding: .75rem 1rem; gap: .35rem; }
[class*="st-key-finding-stops-"] { border-left-color: STOPS; }
[class*="st-key-finding-look-"] { border-left-color: LOOK; }
[class*="st-key-finding-fine-"] { border-left-color: FINE; }
[class*="st-key-words-"] p, [class*="st-key-figure-"] p { margin: 0; }
[class*="st-key-words-"] [data-testid="stCaptionContainer"] p { line-height: 1.35; }
[class*="st-key-words-"] { gap: .15rem; }
[data-testid="stLayoutWrapper"]:has(> [class*="st-key-words-"]) { min-width: min(21rem, 100%); }
[class*="st-key-words-"] :is([data-testid="stMarkdownContainer"], [data-testid="stCaptionContainer"]),
[class*="st-key-figure-"] [data-testid="stMarkdownContainer"] { margin-bottom: 0; }
[class*="st-key-figure-"] p { font-size: 1.35rem; font-weight: 650; line-height: 1.2; }
[class*="st-key-row-"] { row-gap: .5rem; }
[data-testid="stLayoutWrapper"]:has(> [class*="st-key-ways-"]) { margin-left: auto; }
[class*="st-key-findings"] { gap: .75rem; }
</style>"""
NAMES = {Severity.STOPS: "stops", Severity.LOOK: "look", Severity.FINE: "fine"}
WIDTH = 190
"""Of a figure, in pixels."""
LONGEST = 2000


WHERE = "Checked in the released cells, not in the settings."


def headline(gate: Gate, where: str = WHERE, *, so_far: bool = False) -> None:
    """Draw whether the release may leave, or could so far, and where that was looked for: the first thing on the
    page."""
    st.title(plain(gate.verdict) + (", so far" if so_far else ""), anchor=False)
    st.markdown(plain(where))


def cards(ws: Workspace, gate: Gate, page: str = "") -> None:
    """Draw every finding, what stands in the way first; those that say the same of other columns as one. ``page``: the
    page whose widgets hold the settings that a repair changes."""
    style = STYLE
    for severity, name in NAMES.items():
        style = style.replace(name.upper(), COLOURS[severity])
    st.html(style)
    with st.container(key="findings"):
        for number, several in enumerate(together(gate.findings)):
            card(ws, several, number, page)


def card(ws: Workspace, finding: Several, number: int, page: str) -> None:
    """Draw one finding: its figure, its sentence, and what can be done; ``number``: its place on the page."""
    state = ws.state(GateState)
    with st.container(border=True, key=f"finding-{NAMES[finding.severity]}-{number}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="medium", key=f"row-{number}"):
            with st.container(width=WIDTH, key=f"figure-{number}"):
                st.markdown(plain(finding.figure))
            with st.container(key=f"words-{number}", width="stretch"):
                st.markdown(f"**{plain(finding.sentence)}**")
                st.caption(plain(finding.detail))
                if finding.reason:
                    st.caption(f":material/edit_note: Your reason: {plain(finding.reason)}")
            if finding.severity is not Severity.FINE:
                ways(ws, finding, number, page)
        if state.writing == finding.key and finding.severity is not Severity.FINE:
            reason_field(ws, finding, number)
        if len(finding.findings) > 1:
            with st.expander(f"Each of the {plural(len(finding.findings), 'column')}", key=f"each {finding.key}"):
                for one in finding.findings:
                    st.markdown(f"- **{plain(one.figure)}**: {plain(one.sentence)} {plain(one.detail)}")


def ways(ws: Workspace, finding: Several, number: int, page: str) -> None:
    """Draw the repairs of a finding, and the button that opens the field for a reason, or takes the reason back."""

    def write() -> None:
        state = ws.state(GateState)
        state.writing = "" if state.writing == finding.key else finding.key

    def take_back() -> None:
        ws.reasons = {key: text for key, text in ws.reasons.items() if key not in finding.keys}

    with st.container(horizontal=True, width="content", gap="small", vertical_alignment="center", key=f"ways-{number}"):
        if finding.reason:
            st.button("Take it back", key=f"take back {number}", on_click=take_back)
            return
        for place, repair in enumerate(finding.repairs):
            if repair.missing and (ws.source is None or ws.asks_password):
                continue  # nothing that could be read again
            st.button(
                plain(repair.words), key=f"repair {number} {place}", on_click=apply_repair, args=(ws, repair, page),
                help=plain(effect(repair)),
            )  # fmt: skip
        label = "Give a reason…" if finding.severity is Severity.STOPS else "Keep, with a reason…"
        st.button(label, key=f"write {number}", on_click=write)


def effect(repair: Repair) -> str:
    """Return which decisions a repair changes, in words."""
    roles: dict[Role, list[str]] = {}
    for name, role in repair.roles:
        roles.setdefault(role, []).append(name)
    parts = [f"{', '.join(names)} becomes {role}" for role, names in roles.items()]
    parts += [f"{name} becomes {value}" for name, value in repair.settings]
    for field, value in repair.ids:
        alike = "ids that differ in writing only are one person's"
        parts.append(alike if field == "alike" else f"{', '.join(value)} becomes nobody")
    parts += [f"{name}: {words_of(how)}" for name, how in repair.treats]
    parts += [f"the file is read again, with {', '.join(repair.missing)} as missing"] * bool(repair.missing)
    return "; ".join(parts)


def apply_repair(ws: Workspace, repair: Repair, page: str) -> None:
    """Make a repair: the roles, the settings, which the widgets of ``page`` show, or how the file is read."""
    if repair.missing and ws.reading is not None:
        options = ws.reading.options
        ws.read_again(replace(options, missing=tuple(dict.fromkeys((*options.missing, *repair.missing)))))
        return
    assert ws.schema is not None
    schema, settings = repair.apply(ws.schema, ws.settings)
    ws.set_schema(schema)
    ws.open(dict(settings))
    show_in_widgets(page, dict(repair.settings))


def reason_field(ws: Workspace, finding: Several, number: int) -> None:
    """Draw the field for a reason, which is kept once it says something."""
    key = f"reason text {number} {finding.key}"

    def keep_it() -> None:
        text = " ".join(str(widget_state(key) or "").split())
        if is_reason(text):
            ws.reasons = {**ws.reasons, **dict.fromkeys(finding.keys, text)}
            ws.state(GateState).writing = ""

    st.text_input(
        "Why release it? Your reason goes into the internal report.",
        finding.reason,
        key=key,
        max_chars=LONGEST,
        on_change=keep_it,
        placeholder="For example: the names are those of wards, not of people",
    )
    typed = str(widget_state(key) or "")
    if typed and not is_reason(typed):
        st.caption(f":material/info: At least {FEWEST_WORDS} words.")


def way_to_release(ws: Workspace, label: str = "Next: Ready") -> None:
    """Draw the way on from where groups are chosen to the release, which shows whatever stands in its way. It is shut
    as long as nothing can be released."""
    next_step("release", label, disabled=not ws.ready("parts" if ws.flow.has("parts") else "pruning"))


def in_the_way(ws: Workspace, gate: Gate) -> None:
    """Draw what stands in the way of a release where it would be taken away, or that nothing does, and the way to all
    that was looked for."""
    looks = len(together(gate.of(Severity.LOOK)))
    worth = f"; {plural(looks, 'thing')} {'is' if looks == 1 else 'are'} worth a look" if looks else ""
    text = f"**{plain(gate.verdict)}**{worth}."
    if gate.open:
        st.error(f"{text} Nothing can be downloaded yet.", icon=":material/front_hand:")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if not gate.open:
            st.markdown(f":material/{'rule' if gate.failed else 'check_circle'}: {text}", width="content")
        st.page_link(PAGES / "gate.py", label="See all that was looked for", width="content")
    if gate.open:
        cards(ws, Gate(gate.open), "release")


def way_on(gate: Gate) -> None:
    """Draw the way back to the tree and on to the release, which is shut as long as something stands in the way."""
    stopping = len(gate.open)
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Back to the tree", key="back tree", icon=":material/arrow_back:"):
            st.switch_page(PAGES / "tree.py")
        label = f"Release ({stopping:,} open)" if stopping else "Release"
        if st.button(
            label,
            type="primary",
            key="next release",
            icon=":material/arrow_forward:",
            icon_position="right",
            disabled=bool(stopping),
        ):
            st.switch_page(PAGES / "release.py")
