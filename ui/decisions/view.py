"""What is said of decisions that are kept: why a table is gone, what came back with its file, and what waits for it."""

import pandas as pd
import streamlit as st

from anonymizer.gate.earlier import LastRelease, LastTable
from anonymizer.plan.carry_over import Change
from anonymizer.releasing.release import LAST_ENDINGS
from anonymizer.whatif.next_year import compare_figures, profile_of
from ui.controls import plain, plural, problem
from ui.decisions.project_file import bring_last_time, moment
from ui.decisions.state import Backup, LastTime
from ui.job import answer_of_job
from ui.server.framework import drop_uploads
from ui.workspace import Workspace

MOST_OFFERED = 3
MOST_SAID = 50
REASONS = {
    "": "",
    "loaded": "The page was loaded again, so the table left this server's memory. ",
    "restarted": "Copse was started again, or had lost this page for long, so the table left its memory. ",
}


def explanation(ws: Workspace) -> None:
    """Draw, while there is no table, why it is gone and whose decisions are here: a project that was opened, or those
    that the browser keeps."""
    decisions = ws.decisions
    reason = REASONS[decisions.reason]
    if decisions.backups and decisions.awaited is None:
        newest, others = decisions.backups[0], len(decisions.backups) - 1
        more = f" Those for {plural(others, 'other visit')} of a table are kept too." if others else ""
        st.info(
            f"{reason}Your decisions of {moment(newest.saved)} for {table_text(newest)} are "
            f"{'still' if reason else 'kept'} in this browser: **drop the same file again**.{more}",
            icon=":material/restore:",
        )
    elif reason:
        st.info(f"{reason}No decisions about it are kept in this browser; drop the file again.", icon=":material/info:")
    outcome(ws)


def offer(ws: Workspace) -> None:
    """Draw, beside a table, what came of a project, and the decisions that the browser keeps for this very file, each
    with the button that takes them up; those for another file are said to be."""
    decisions, reading = ws.decisions, ws.reading if ws.doubt is None else ws.doubt[0]
    if reading is None:
        return
    outcome(ws)
    backups = decisions.of_table(reading.sha256)
    for backup in backups[:MOST_OFFERED]:
        with st.container(
            border=True, horizontal=True, wrap=False, vertical_alignment="center", key=f"offer {backup.visit}"
        ):
            st.markdown(
                f":material/restore: **Your decisions of {moment(backup.saved)} for this very file are kept in this "
                f"browser**: {contents_text(backup)}.",
                width="stretch",
            )
            st.button(
                "Take them up", key=f"take up {backup.visit}", type="primary", icon=":material/restore:",
                on_click=decisions.tell, args=("send", backup.visit),
                help="Reading, roles, domains, settings and scenarios hold as then, instead of what was decided since.",
            )  # fmt: skip
    if backups or decisions.last is not None or decisions.note:
        return
    names = list(map(str, reading.names))
    if (last := decisions.of_last_time(names)) is not None:
        last_time(ws, last, names)
    elif decisions.reason and decisions.backups:
        newest = decisions.backups[0]
        st.info(
            f"This is another file than the one before. Your decisions of {moment(newest.saved)} are for "
            f"{table_text(newest)}; they do not apply here and stay kept.",
            icon=":material/info:",
        )


def last_time(ws: Workspace, backup: Backup, names: list[str]) -> None:
    """Draw the way to take over the decisions on a table of the same kind, in one click."""
    same = len(set(backup.names) & set(names))
    matching = plural(same, "column matches", "columns match")
    counts = f"{matching}, {len(names) - same:,} new, {backup.columns - same:,} gone"
    with st.container(border=True, horizontal=True, wrap=False, vertical_alignment="center", key="last time offer"):
        st.markdown(
            f":material/event_repeat: **Take last time's decisions** on {table_text(backup)}, {moment(backup.saved)}: "
            f"{counts}.",
            width="stretch",
        )
        st.button(
            "Take them", key="take last time", type="primary", on_click=ws.decisions.tell, args=("send", backup.visit),
            help="Roles, domains, limits and method hold again, and what changed is listed.",
        )  # fmt: skip


def outcome(ws: Workspace) -> None:
    """Draw what came of the project that was opened last, and which table it waits for."""
    decisions = ws.decisions
    if decisions.problem is not None:
        problem(decisions.problem)
    elif decisions.note and decisions.fits:
        st.success(plain(decisions.note), icon=":material/task_alt:")
    elif decisions.note:
        st.warning(plain(decisions.note), icon=":material/info:")
    if decisions.described is not None:
        table_outcome("codebook", "its roles, kinds, labels and public domains", *decisions.described)
    if decisions.planned is not None:
        table_outcome("plan", "its roles, limits, method and answers", *decisions.planned)
    if decisions.last is not None:
        next_year(ws, decisions.last)
    awaited(ws)


def table_outcome(what: str, words: str, columns: int, changes: tuple[Change, ...]) -> None:
    """Draw what came of a codebook or a plan of so many columns: everything in which it contradicts the table.
    ``words``: what holds."""
    verdict = f"The {what} of {plural(columns, 'column')} holds for this table"
    if not changes:
        st.success(f"{verdict}: {words}.", icon=":material/menu_book:")
        return
    with st.container(border=True, key=what):
        number = plural(len(changes), "thing")
        st.markdown(f":material/menu_book: **{verdict}, but for {number}.** Look at them, and correct them on *Roles*.")
        for change in changes[:MOST_SAID]:
            st.markdown(f":gray-badge[{plain(change.what)}] {plain(change.in_full)}")
        if len(changes) > MOST_SAID:
            st.caption(f"… and {len(changes) - MOST_SAID:,} more.")


def next_year(ws: Workspace, last: LastTime) -> None:
    """Draw how the table is not that of the project that it took over: columns first, then groups and risk."""
    table = last.project.table_name
    name = f"*{plain(table)}*" if table else "another table"
    with st.container(border=True, key="next year"):
        st.header("What changed since last time", anchor=False)
        number = len(last.changes)
        verdict = f"{plural(number, 'thing')} changed" if number else "Columns, kinds and declared domains are as then"
        st.markdown(
            f"**Decided as for {name}: {verdict}.** Roles, kinds, domains, limits and method hold again; reasons spoke "
            "of other people, and are asked for anew."
        )
        for change in last.changes:
            st.markdown(f":gray-badge[{plain(change.what)}] {plain(change.in_full)}")
        if last.profile is None:
            st.caption("The project keeps no figures of last time: it was saved before there was a release.")
            return
        both_releases(ws, last)
        flow = ws.flow
        now = answer_of_job(
            ws, "next year", (flow.schema, flow.settings), "Compare groups and risk",
            lambda job: profile_of(flow.watch(job.go_on)),
        )  # fmt: skip
        if now is not None:
            rows = compare_figures(last.profile, now)
            st.dataframe(
                pd.DataFrame(rows, columns=["", "Then", "Now"]), hide_index=True, key="then and now", width="content"
            )


def both_releases(ws: Workspace, last: LastTime) -> None:
    """Draw where last time's table or release is dropped, so that both releases are counted together."""
    edition = ws.decisions.files
    file = st.file_uploader(
        "Last time's table or its release, to count both releases together",
        LAST_ENDINGS, key=f"last time {edition}",
    )  # fmt: skip
    if file is not None:
        name, content = file.name, file.getvalue()
        drop_uploads()
        ws.decisions.files += 1
        with st.spinner("Reading it, and making last time's release again …"):
            bring_last_time(ws, last, name, content)
        st.rerun()
    if last.problem is not None:
        problem(last.problem)
    elif isinstance(last.release, LastTable):
        st.caption(":material/task_alt: Last time's release is counted with this one, by its table.")
    elif isinstance(last.release, LastRelease):
        st.caption(":material/task_alt: Last time's release is counted with this one, by the released file alone.")


def awaited(ws: Workspace) -> None:
    """Draw which table a project waits for, and the button that puts it away."""

    def put_away() -> None:
        ws.decisions.awaited, ws.decisions.note = None, ""

    def put_codebook_away() -> None:
        ws.decisions.codebook = ()

    waiting = ws.decisions.awaited
    if ws.decisions.codebook:
        with st.container(
            border=True, horizontal=True, wrap=False, vertical_alignment="center", key="waiting codebook"
        ):
            number = plural(len(ws.decisions.codebook), "column")
            st.markdown(
                f":material/menu_book: A codebook of {number} is loaded. Now choose its table.", width="stretch"
            )
            st.button(
                "Put it away", key="put codebook away", type="tertiary", icon=":material/close:",
                on_click=put_codebook_away,
            )  # fmt: skip
    if waiting is None:
        return
    project = waiting.project
    with st.container(border=True, horizontal=True, wrap=False, vertical_alignment="center", key="awaited"):
        name = f"**{plain(project.table_name)}**" if project.table_name else "a table"
        columns = plural(len(project.schema.columns), "column")
        shape = columns if waiting.plan is not None else f"{plural(project.records, 'row')} × {columns}"
        saved = f", saved {moment(project.saved)}" if project.saved else ""
        what = "project" if waiting.plan is None else "plan"
        st.markdown(
            f":material/hourglass_top: The {what} of {name} ({shape}{saved}) is loaded. Now choose its table: the "
            "same file, or one with the same columns.",
            width="stretch",
        )
        st.button("Put it away", key="put away", type="tertiary", icon=":material/close:", on_click=put_away)


def table_text(backup: Backup) -> str:
    """Return which table decisions are for: its file and its shape."""
    shape = f"{plural(backup.records, 'row')} × {plural(backup.columns, 'column')}"
    return f"*{plain(backup.name)}* ({shape})" if backup.name else f"a table of {shape}"


def contents_text(backup: Backup) -> str:
    """Return how much was decided."""
    scenarios = f", {plural(backup.scenarios, 'scenario')}" if backup.scenarios else ""
    changes = (
        f"{plural(backup.decisions, 'change')} of roles and settings" if backup.decisions else "roles as suggested"
    )
    return changes + scenarios
