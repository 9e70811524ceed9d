"""Settings that were kept and compared, every decision so far, and the project file that holds both."""

import contextlib
from dataclasses import replace
from typing import Any

import streamlit as st

from anonymizer.errors import AnonymizerError
from anonymizer.releasing.pack import made_of
from anonymizer.settings import NAMES, SETTINGS, method_text, name_of
from anonymizer.whatif.scenarios import FIGURES, MOST_COMPARED, Scenario, basis_of, side_by_side
from ui.controls import PAGES, count, plain, share
from ui.decisions.project_file import project_panel
from ui.decisions.view import outcome
from ui.history import travel
from ui.what_if.pieces import figures_of_groups
from ui.workspace import Workspace

OTHER_BASIS = ":gray[Kept for other roles or another table. Open it to see its figures here, and keep it again.]"
NO_FIGURES = ":gray[No figures: this scenario was saved before its release was computed.]"
SHARES = ("risk", "gcp", "error", "rsd", "posterior", "unexplained")


def current_scenario(ws: Workspace, name: str, comment: str) -> Scenario:
    """Return the setting that is chosen now, with the figures of its release."""
    if ws.in_pieces:
        return Scenario(name, dict(ws.settings), figures_of_groups(ws), comment, basis(ws))
    risk, utility = ws.flow.after, ws.flow.utility
    figures = {"groups": risk.groups, "smallest": risk.smallest, "risk": risk.highest, "gcp": utility.gcp}
    if utility.error is not None and not ws.flow.encoded.by_numbers:
        figures["error"] = utility.error
    return Scenario(name, dict(ws.settings), figures, comment, basis(ws))


def basis(ws: Workspace) -> str:
    """Return what figures are of now: this table as it was read, in these roles."""
    assert ws.reading is not None
    assert ws.schema is not None
    return basis_of(ws.schema, f"{ws.reading.sha256} {ws.reading.options!r}")


def usual_name(ws: Workspace) -> str:
    """Return what a setting is called when nobody gives it a name."""
    p = ws.settings
    made = made_of(p.generalizer, p.limits).method
    return f"{method_text(ws.flow.grouping, made, ws.flow.recipe.weight)}, k = {p.k}"


def fresh_name(others: tuple[Scenario, ...], name: str) -> str:
    """Return the name, with a number where another scenario has it already."""
    names = {scenario.name for scenario in others}
    numbered = (f"{name} ({number})" for number in range(2, len(names) + 3))
    return name if name not in names else next(other for other in numbered if other not in names)


def scenarios(ws: Workspace) -> None:
    """Draw the form that keeps the setting that is chosen now; open, compare and drop those that were kept."""
    with st.form("keep", clear_on_submit=True, border=True):
        first, second, third = st.columns([3, 4, 3], gap="medium", vertical_alignment="bottom")
        name = first.text_input("Name", placeholder=f"k = {ws.k}", max_chars=200)
        comment = second.text_input("Comment", placeholder="Who it is for, what speaks for it", max_chars=2000)
        if third.form_submit_button("Keep this setting", icon=":material/bookmark_add:", width="stretch"):
            label = " ".join(name.split()) or usual_name(ws)
            with contextlib.suppress(AnonymizerError):  # it is said above the views why nothing can be released
                scenario = current_scenario(ws, fresh_name(ws.scenarios, label), " ".join(comment.split()))
                ws.scenarios = (*ws.scenarios, scenario)
    if not ws.scenarios:
        st.caption("No setting has been kept yet. Keep two to compare them, or keep marks of the frontier.")
        return
    for place, scenario in enumerate(ws.scenarios):
        show_scenario(ws, place, scenario)
    compare(ws)


def show_scenario(ws: Workspace, place: int, scenario: Scenario) -> None:
    """Draw one scenario: its figures, and what can be done with it."""

    def drop() -> None:
        ws.scenarios = tuple(other for other in ws.scenarios if other is not scenario)

    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small"):
        figures = scenario.counted_on(basis(ws)).figures
        words = " · ".join(f"{NAMES['measure'][name]} {figure_text(name, value)}" for name, value in figures.items())
        text = f"**{plain(scenario.name)}**  \n{words or (NO_FIGURES if scenario.basis == basis(ws) else OTHER_BASIS)}"
        st.markdown(text + (f"  \n*{plain(scenario.comment)}*" if scenario.comment else ""), width="stretch")
        st.button("Open", key=f"open {place}", on_click=ws.open, args=(dict(scenario.parameters),))
        if st.button("Release", key=f"release {place}", icon=":material/arrow_forward:"):
            ws.open(dict(scenario.parameters))
            st.switch_page(PAGES / "release.py")
        with st.popover("Edit", icon=":material/edit:", type="tertiary"):
            edit_scenario(ws, scenario)
        st.button("Drop", key=f"drop {place}", icon=":material/delete:", type="tertiary", on_click=drop)


def entry_text(name: str, value: Any) -> str:
    """Return one entry of the comparison in words: a figure, or a choice by its name."""
    if name in FIGURES:
        return "" if value is None else figure_text(name, value)
    return "off" if value is None else name_of(name, str(value))


def title_of(name: str) -> str:
    """Return what a row of the comparison is called: of a figure or of a setting."""
    return SETTINGS[name].title if name in SETTINGS else name_of("measure", name)


def edit_scenario(ws: Workspace, scenario: Scenario) -> None:
    """Draw the form for another name or comment for a scenario."""
    with st.form(f"edit {scenario.name}", border=False):
        name = st.text_input("Name", scenario.name, max_chars=200, key=f"name of {scenario.name}")
        comment = st.text_input("Comment", scenario.comment, max_chars=2000, key=f"comment of {scenario.name}")
        if st.form_submit_button("Save", type="primary"):
            others = tuple(other for other in ws.scenarios if other is not scenario)
            label = fresh_name(others, " ".join(name.split()) or scenario.name)
            changed = replace(scenario, name=label, comment=" ".join(comment.split()))
            ws.scenarios = tuple(changed if other is scenario else other for other in ws.scenarios)
            st.rerun()


def compare(ws: Workspace) -> None:
    """Draw two to four scenarios beside each other."""
    names = [scenario.name for scenario in ws.scenarios]
    if len(names) < 2:
        return
    names_compared = st.multiselect(
        f"Compare 2 to {MOST_COMPARED}", names, names[:MOST_COMPARED], max_selections=MOST_COMPARED,
        key=f"compared {names}",
    )  # fmt: skip
    if len(names_compared) >= 2:
        now = basis(ws)
        table = side_by_side([scenario.counted_on(now) for scenario in ws.scenarios if scenario.name in names_compared])
        words = table.apply(lambda row: row.map(lambda value: entry_text(str(row.name), value)), axis=1)
        st.dataframe(words.rename(index=title_of), key="side by side")


def figure_text(name: str, value: float) -> str:
    """Return a figure as people read it."""
    if name in SHARES:
        return share(value)
    return count(value) if name in ("groups", "smallest") else f"{value:.2f}"


def history(ws: Workspace) -> None:
    """Draw every decision, the newest first; and the project file."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.header("What was decided", anchor=False)
        entries = ws.history.entries
        if not entries:
            st.caption("Nothing has been changed yet. Every change of a role, a limit or a method will stand here.")
        rows = [
            {
                "": "▸" if number == ws.history.position else "",
                "time": entry.time.replace("T", " ")[:19],
                "what": what,
                "from": before,
                "to": after,
                "moment": number,
            }
            for number, entry in reversed(list(enumerate(entries, start=1)))
            for what, before, after in entry.changes
        ]
        if rows:
            st.dataframe(rows, hide_index=True, key="decisions", height=min(400, 38 + 35 * len(rows)))
            moment = st.number_input("Go back to moment (0: the start)", 0, len(entries), ws.history.position)
            st.button("Go there", key="go there", on_click=travel, args=(ws, ws.history.at(int(moment))))
    with right:
        st.header("Project file", anchor=False)
        project_panel(ws)
        outcome(ws)
