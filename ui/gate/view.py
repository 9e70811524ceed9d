"""What stands in the way of a release, on the page: a card for each finding, its repairs with prices, its reason."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from anonymizer.gate.finding import FEWEST_WORDS, Gate, Repair, Several, Severity, is_reason, together
from anonymizer.gate.shared import ONE_VALUE, Shared
from anonymizer.schema import Role
from anonymizer.treatments import words_of
from anonymizer.whatif.price import Price, figure_left
from ui.controls import PAGES, next_step, plain, plural
from ui.gate.state import Change, GateState
from ui.session import show_in_widgets, widget_state
from ui.workspace import Workspace

NAMES = {Severity.STOPS: "stops", Severity.LOOK: "look", Severity.FINE: "fine"}
WIDTH, WAYS = 150, 270
"""Of a figure and of its repairs, in pixels."""
LONGEST = 2000
MOST_VALUES = 1000
"""Shared values in a table."""
SHARED = {
    "column": "Column",
    "value": "Value",
    "rows": st.column_config.NumberColumn("Rows", format="localized", help="In groups where every row has the value"),
    "groups": st.column_config.NumberColumn("Groups", format="localized"),
    "usual": st.column_config.NumberColumn("In the whole table", format="percent"),
}
"""How the table of shared values is shown."""

WHERE = "Checked in the released cells, not in the settings."
MOST_POINTS = 5.0
"""Points of detail lost from which on a price is shown in red."""
Prices = Mapping[tuple[tuple[str, ...], str], Price]
"""The price of each repair that is known, by the keys of its findings and its words."""


def headline(gate: Gate, where: str = WHERE, *, so_far: bool = False) -> None:
    """Draw whether the table is ready to be released, or is so far: the first thing on the page. ``where`` that was
    looked for."""
    st.title(plain(gate.verdict) + (", so far" if so_far else ""), anchor=False, help=plain(where))
    looks = sum(not several.reason for several in together(gate.of(Severity.LOOK)))
    text = [
        "Repair it, or release it with a reason." if gate.risks == 1 else "Repair them, or release them with a reason."
    ] * bool(gate.open)
    if looks:
        what = "more" if gate.open else "thing" if looks == 1 else "things"
        text.append(f"{looks:,} {what} {'is' if looks == 1 else 'are'} worth a look.")
    st.markdown(plain(" ".join(text)))


def cards(ws: Workspace, gate: Gate, page: str = "", prices: Prices | None = None) -> None:
    """Draw what is to be seen to, the most dangerous first; then what is in order, a line each. Findings that say the
    same of other columns are one. ``page``: the page whose widgets hold the settings that a repair changes."""
    several = together(gate.findings)
    rows: list[Several | Change] = [one for one in several if one.severity is not Severity.FINE]
    for change in sorted(in_effect(ws), key=lambda change: change.place):
        rows.insert(change.place, change)
    with st.container(gap=12, key="findings"):
        for number, row in enumerate(rows):
            if isinstance(row, Change):
                repaired_card(ws, row, number, page)
            else:
                card(ws, row, number, page, prices or {})
    in_order([one for one in several if one.severity is Severity.FINE])


def in_order(fine: list[Several]) -> None:
    """Draw what is in order, a line each in two columns."""
    for place, column in enumerate(st.columns(2, gap="large")):
        for one in fine[place::2]:
            short = f"{one.sentence.partition(': ')[0].rstrip('.')}."
            more = " ".join(filter(None, (one.sentence * (short != one.sentence), one.detail)))
            column.markdown(f":green[:material/check:] {plain(short)}", help=plain(more) or None)


def card(ws: Workspace, finding: Several, number: int, page: str, prices: Prices) -> None:
    """Draw one finding: its figure, its sentence, and what can be done; ``number``: its place on the page."""
    state = ws.state(GateState)
    with st.container(border=True, gap=6, key=f"finding-{NAMES[finding.severity]}-{number}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="medium", key=f"row-{number}"):
            with st.container(width=WIDTH, key=f"figure-{number}"):
                st.markdown(plain(finding.figure))
            with st.container(gap=2, width="stretch", key=f"words-{number}"):
                names = finding.detail if len(finding.findings) > 1 else ""
                st.markdown(f"**{plain(finding.sentence)}**", help=plain(finding.detail * (not names)) or None)
                if names:
                    st.caption(plain(names))
                if finding.reason:
                    st.caption(f":material/edit_note: Your reason: {plain(finding.reason)}")
            ways(ws, finding, number, page, prices)
        if state.writing == finding.key:
            reason_field(ws, finding, number)
        shared = shared_table(ws, finding)
        rest = [one for one in finding.findings if not set(one.columns) & set(shared["column"])]
        if len(shared) or len(finding.findings) > 1:
            title = "Shared values" if len(shared) else f"Each of the {plural(len(rest), 'column')}"
            with st.expander(title, key=f"each {finding.key}"):
                if len(shared):
                    st.dataframe(shared, hide_index=True, column_config=SHARED, height=min(40 + 35 * len(shared), 320))
                for one in rest:
                    st.markdown(f"- **{plain(one.figure)}**: {plain(one.sentence)} {plain(one.detail)}")


def shared_table(ws: Workspace, finding: Several) -> pd.DataFrame:
    """Return the unusual values that whole groups share, a line each, the most surprising first: the rarest in the
    whole table. Empty for findings of another kind, and where no value is known."""
    names = [one.columns[0] for one in finding.findings if one.key.startswith(ONE_VALUE)]
    values = ws.flow.shared if names and ws.flow.has("shared") and ws.flow.ready("shared") else {}
    lines = [(name, *one) for name in names for one in values.get(name, ()) if not one.is_usual]
    table = pd.DataFrame(lines, columns=["column", *Shared._fields]).drop(columns="is_usual")
    return table.sort_values(["usual", "rows"], ascending=[True, False], ignore_index=True).head(MOST_VALUES)


def repaired_card(ws: Workspace, change: Change, number: int, page: str) -> None:
    """Draw what was repaired, where it stood: its figure before and after, and the way back."""
    now = figure_left(ws.flow.judgement, change.several)
    ws.state(GateState).offers[f"undo {number}"] = change
    with (
        st.container(border=True, gap=6, key=f"finding-fine-{number}"),
        st.container(horizontal=True, vertical_alignment="center", gap="medium", key=f"row-{number}"),
    ):
        with st.container(width=WIDTH, key=f"figure-{number}"):
            st.markdown(f"{plain(change.several.figure)} → {plain(now or Severity.FINE)}")
        with st.container(gap=2, width="stretch", key=f"words-{number}"):
            st.markdown(f"**Repaired: {plain(change.repair.words)}.**")
            st.caption(f"Before: {plain(change.several.sentence)}")
        with st.container(width=WAYS, gap=5, key=f"ways-{number}"):
            if change.price is not None:
                st.markdown(cost_text(change.price))
            st.button("Undo", key=f"undo {number}", type="tertiary", on_click=take_back, args=(ws, number, page))


def ways(ws: Workspace, finding: Several, number: int, page: str, prices: Prices) -> None:
    """Draw the repairs of a finding, each with its price, and the button that opens the field for a reason, or takes
    the reason back."""

    def write() -> None:
        ws.state(GateState).writing = finding.key

    def withdraw() -> None:
        ws.reasons = {key: text for key, text in ws.reasons.items() if key not in (*finding.keys, *finding.names)}

    with st.container(width=WAYS, gap=5, key=f"ways-{number}"):
        if finding.reason:
            st.button("Take it back", key=f"take back {number}", type="tertiary", on_click=withdraw)
            return
        for place, repair in enumerate(finding.repairs):
            if repair.missing and not ws.can_read_again:
                continue  # nothing that could be read again
            key, price = f"repair {number} {place}", prices.get((finding.keys, repair.words))
            ws.state(GateState).offers[key] = Change.of(finding, repair, number, price, ws)
            st.button(plain(repair.words), key=key, on_click=make, args=(ws, key, page), help=plain(effect(repair)))
            if price is not None:
                st.markdown(f"{effect_text(price)} {cost_text(price)}", help=plain(price.problem) or None)
        st.button("Release it, with a reason", key=f"write {number}", type="tertiary", on_click=write)


def effect_text(price: Price) -> str:
    """Return what a repair does to the figure of its finding, as a badge."""
    if price.problem:
        return ":red-badge[no release can be made]"
    text = f"{plain(price.figure)} → {plain(price.left or Severity.FINE)}"
    return f":{'gray' if price.left == price.figure else 'green'}-badge[{text}]"


def cost_text(price: Price) -> str:
    """Return what a repair costs, as badges; "" where there is no release with it."""
    if price.problem:
        return ""
    badges = [f":orange-badge[{plural(price.columns, 'column')} less]"] * (price.columns > 0)
    points = round(price.points, 1)
    if points > 0:
        badges.append(f":{'red' if points >= MOST_POINTS else 'orange'}-badge[+{points:,.1f} points of detail lost]")
    elif points < 0:
        badges.append(f":green-badge[−{-points:,.1f} points of detail lost]")
    elif not price.columns:
        badges.append(":green-badge[no detail lost]")
    if price.opens:
        badges.append(f":red-badge[opens {plural(price.opens, 'other risk')}]")
    return " ".join(badges)


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
    parts += ["groups are made of whole groups of the earlier releases"] * bool(repair.keep)
    return "; ".join(parts)


def make(ws: Workspace, key: str, page: str) -> None:
    """Make the repair of the button with this key."""
    state = ws.state(GateState)
    change = state.offers[key]
    apply_repair(ws, change.repair, page)
    if not change.repair.missing:
        state.changes = (*state.changes, change)


def apply_repair(ws: Workspace, repair: Repair, page: str) -> None:
    """Apply a repair: to the roles, the settings, which the widgets of ``page`` show, or how the file is read."""
    if repair.missing and ws.reading is not None:
        ws.read_again(ws.reading.options.with_missing(repair.missing))
        return
    assert ws.schema is not None
    schema, settings = repair.apply(ws.schema, ws.settings)
    ws.set_schema(schema)
    ws.keep = ws.keep if repair.keep is None else repair.keep
    ws.open({name: settings[name] for name, _ in repair.settings})
    show_in_widgets(page, dict(repair.settings))


def in_effect(ws: Workspace) -> tuple[Change, ...]:
    """Return the repairs that were made and still hold."""
    state = ws.state(GateState)
    if ws.schema is None:
        return ()
    state.changes = tuple(one for one in state.changes if one.holds(ws.schema, ws.settings, ws.keep))
    return state.changes


def take_back(ws: Workspace, number: int, page: str) -> None:
    """Take back the repair at this place of the page: what it changed is as it was before it."""
    state = ws.state(GateState)
    change = state.offers[f"undo {number}"]
    state.changes = tuple(one for one in state.changes if one is not change)
    apply_repair(ws, change.repair.back(change.schema, change.settings), page)


def reason_field(ws: Workspace, finding: Several, number: int) -> None:
    """Draw the field for a reason, which is kept once it says something."""
    key, state = f"reason text {number} {finding.key}", ws.state(GateState)

    def keep_it() -> None:
        text = " ".join(str(widget_state(key) or "").split())
        if is_reason(text):
            ws.reasons = {**ws.reasons, **dict.fromkeys(finding.keys, text)}
            if state.writing == finding.key:  # and not that of the next one, if its button was what ended the typing
                state.writing = ""

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


def way_to_ready(ws: Workspace) -> None:
    """Draw the way on from where groups are chosen. It is shut as long as nothing can be released."""
    next_step("gate", "Next: Ready", disabled=not ws.ready("parts" if ws.flow.has("parts") else "pruning"))


def in_the_way(ws: Workspace, gate: Gate) -> None:
    """Draw that something keeps the table from being released, where it would be downloaded, and the way to it."""
    if gate.open:
        st.error(f"**{plain(gate.verdict)}.** Nothing can be downloaded yet.", icon=":material/front_hand:")
    elif gate.failed:
        st.markdown(f":material/rule: **{plain(gate.verdict)}**.")
    if gate.open or gate.failed:
        st.page_link(PAGES / "gate.py", label="Go to Ready", width="content")


def way_on(gate: Gate) -> None:
    """Draw the way back to the tree and on to the release, which is shut as long as something stands in the way."""
    stopping = gate.risks
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Back to the tree", key="back tree", icon=":material/arrow_back:"):
            st.switch_page(PAGES / "tree.py")
        label = f"Next: Release ({stopping:,} open)" if stopping else "Next: Release"
        if st.button(
            label,
            type="primary",
            key="next release",
            icon=":material/arrow_forward:",
            icon_position="right",
            disabled=bool(stopping),
        ):
            st.switch_page(PAGES / "release.py")
