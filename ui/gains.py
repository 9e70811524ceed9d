"""What the settings that are chosen gain against those of the papers, each of which is one choice away."""

import streamlit as st

from anonymizer.settings import NAMES, SETTINGS
from anonymizer.whatif.papers import AS_PUBLISHED, PaperSetting, gain_sentence, with_figures
from ui.controls import plain, plural, share
from ui.job import answer_of_job
from ui.session import show_in_widgets
from ui.workspace import Workspace

AT_ONCE = 20_000
"""Records up to which the settings of the papers are tried without being asked for: about a second."""


def gains(ws: Workspace, page: str) -> None:
    """Draw what is gained, and the settings of the papers with their promise and their loss; ``page`` begins the keys
    of the buttons. The release that is chosen must be there."""
    settings = settings_of_papers(ws)
    if settings is None:
        return

    st.markdown(f"**{plain(gain_sentence(ws.flow, settings))}**")
    for number, one in enumerate(settings):
        with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"{page} paper {number}"):
            st.markdown(
                f"**{plain(one.title)}** ({plain(one.source)}): {figures_text(one)}  \n:small[{plain(one.promise)}]",
                width="stretch",
            )
            st.button(
                "Use it", key=f"{page} use paper {number}", help=f"Use {plain(one.title)}", disabled=is_chosen(ws, one),
                on_click=use, args=(ws, page, one),
            )  # fmt: skip


def use(ws: Workspace, page: str, one: PaperSetting) -> None:
    """Choose a setting of the papers; ``page`` begins the keys of the widgets that show it."""
    ws.open(one.settings)
    tested = {"tested": "" if one.settings["significance"] is None else one.settings["tested"]}
    show_in_widgets(page, {**one.settings, **tested})


def as_in_the_papers(ws: Workspace, page: str) -> None:
    """Draw the button that chooses the first setting of the papers, and what its release would be beside this one."""
    settings = settings_of_papers(ws)
    if settings is None:
        return
    one = settings[0]
    st.button(
        "As in the papers", key=f"{page} as in the papers", icon=":material/menu_book:", help=plain(one.title),
        disabled=is_chosen(ws, one), on_click=use, args=(ws, page, one), width="stretch",
    )  # fmt: skip
    now = f" Now {share(ws.flow.utility.gcp)} is lost." if ws.ready("utility") else ""
    st.caption(f"{plain(one.source)}: {figures_text(one)}.{now}")


def settings_of_papers(ws: Workspace) -> tuple[PaperSetting, ...] | None:
    """Return the settings of the papers with their figures on this table; ``None`` as long as they are not there."""
    flow, settings = ws.flow, ws.settings
    of_papers = {name: SETTINGS[name].default for name in ("grouping", "criterion", "generalizer", *AS_PUBLISHED)}
    key = flow.schema, settings.but(**of_papers)
    if flow.encoded.n_records <= AT_ONCE:
        return ws.answers.get("settings of papers", key, lambda: with_figures(flow))
    label = "Compare with the settings of the papers"
    return answer_of_job(  # type: ignore[no-any-return]
        ws, "settings of papers", key, label, lambda job: with_figures(flow, job.go_on)
    )


def is_chosen(ws: Workspace, one: PaperSetting) -> bool:
    """Return True when a setting of the papers is the one that is chosen now."""
    now = {**ws.settings, "grouping": ws.flow.grouping, "criterion": ws.flow.criterion}
    return all(now[name] == value for name, value in one.settings.items())


def figures_text(one: PaperSetting) -> str:
    """Return what the release of a setting would be, in figures."""
    if one.gcp is None or one.highest is None or one.groups is None:
        return "cannot keep these limits"
    return (
        f"{NAMES['measure']['gcp'].lower().replace('(gcp)', '(GCP)')} **{share(one.gcp)}**, highest risk "
        f"{share(one.highest)}, {plural(one.groups, 'group')}"
    )
