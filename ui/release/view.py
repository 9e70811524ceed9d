"""The release on the page: what it is, four figures, one row before and after, its checks, and what changed."""

import numpy as np
import pandas as pd
import streamlit as st

from anonymizer.checking.verify import Check, Verification
from anonymizer.drawing.charts import (
    BY_TABLES,
    distribution_figure,
    loss_figure,
    loss_sentence,
    moved_sentence,
)
from anonymizer.provenance.report import Report
from anonymizer.releasing.release import Release
from anonymizer.reporting.findings import OneRow, one_row_of
from anonymizer.schema import Kind, Schema
from ui.controls import count, plain, plural, share
from ui.release.analyses import analyses, survey
from ui.release.state import ReleaseState
from ui.workspace import Workspace

MOST_NAMED = 8
CONFIG = {"displayModeBar": False}


def headline(verification: Verification) -> None:
    """Draw what the release is, from the checker's own words; never called k-anonymous when it is not."""
    first, _, rest = verification.describe().partition(". ")
    text = f"**{plain(first.rstrip('.') + '.')}** {plain(rest)}"
    if verification.passed:
        st.success(text, icon=":material/verified:")
    else:
        failed = len(verification.failed)
        st.error(f"{text}  \n{plural(failed, 'required check')} failed.", icon=":material/gpp_bad:")


def figures(ws: Workspace, report: Report) -> None:
    """Draw four figures of the release, each with what it is compared with."""
    before, after, utility = report.before, report.after, report.utility
    worst, loss = max(utility.ncp_by_column.items(), key=lambda pair: pair[1], default=("", 0.0))
    unit = "person" if ws.flow.schema.person is not None else "row"
    with st.container(border=True, key="figures"):
        risk, groups, detail, last = st.columns(4, gap="medium")
        risk.metric("Highest risk", share(after.highest))
        risk.caption(f"before: {share(before.highest)}, {count(before.unique)} rows unique")
        groups.metric("Groups", count(after.groups))
        groups.caption(f"smallest: {plural(after.smallest, unit)}")
        detail.metric("Detail lost", share(utility.gcp))
        detail.caption(f"most in {plain(worst)}, {share(loss)}")
        if report.held_out is not None and report.majority is not None and not ws.flow.encoded.by_numbers:
            last.metric(f"{plain(ws.flow.encoded.target.title)} guessed right", share(report.held_out))
            last.caption(f"of people held out; always guessing the most frequent value: {share(report.majority)}")
        elif report.two_way.mean is not None:
            last.metric("Rows in a wrong cell", share(report.two_way.mean))
            last.caption(f"of cross tables; one-way tables alone: {share(report.two_way.mean_alone or 0.0)}")


@st.fragment
def one_row(ws: Workspace, release: Release) -> None:
    """Draw one row before and after, what changed first."""
    if ws.table is None:
        return
    state = ws.state(ReleaseState)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.header("One row, before and after", anchor=False, width="content")
        if release.n_records > 1 and st.button("Another row", icon=":material/shuffle:"):
            state.people += 1
    row = int(ws.flow.staying[np.random.default_rng(state.people).integers(release.n_records)])
    one = one_row_of(ws.flow, row)
    cells = row_table(one)
    st.dataframe(cells, hide_index=True, key="one row", height=38 + 35 * len(cells))
    look = "1 other row looks" if one.alike == 1 else f"{count(one.alike)} other rows look"
    left_out = ws.schema.identifying if ws.schema else ()
    st.caption(
        f"{count(one.changed)} of {plural(len(cells), 'quasi-identifier')} changed. {look} the same."
        + (" Left out of the file: " + ", ".join(map(plain, left_out)) + "." if left_out else "")
        + left_out_text(ws.flow.left_out, len(ws.table))
    )


def row_table(row: OneRow) -> pd.DataFrame:
    """Return a row before and after, a line a quasi-identifier."""
    return pd.DataFrame(row.cells, columns=["column", "original", "released"])


def checks(report: Report) -> None:
    """Draw every check as a sentence: the required ones first, the failed ones at the top."""
    verification = report.verification
    before, after = report.before, report.after
    st.caption(
        "Recomputed from the released cells by code that did not make them. The highest risk of linking a person to a "
        f"row was {share(before.highest)} and is {share(after.highest)}; unique rows: {count(before.unique)} of "
        f"{count(before.records)} before, {count(after.unique)} after."
    )
    judged = [check for check in verification.checks if check.passed is not None]
    reported = [check for check in verification.checks if check.passed is None]
    for check in sorted(judged, key=lambda check: bool(check.passed)):
        check_line(check)
    homogeneity(verification, report.provenance.schema)
    with st.expander(f"{plural(len(reported), 'more figure')}, reported without a requirement", key="more figures"):
        for check in reported:
            check_line(check)


def homogeneity(verification: Verification, schema: Schema) -> None:
    """Draw one warning for all sensitive columns that whole classes share: k-anonymity does not hide it."""
    checks = {name: verification.get(f"homogeneity of {name}") for name in schema.sensitive}
    checks = {name: check for name, check in checks.items() if check is not None and check.achieved}
    if not checks:
        return
    first = next(iter(checks.values()))
    kinds = {schema[name].kind is Kind.CATEGORICAL for name in checks}
    limit = {(True,): "l = 2", (False,): "a spread of 0.1"}.get(tuple(kinds), "l = 2, and of numbers a spread of 0.1,")
    what = (
        first.sentence
        if len(checks) == 1
        else f"In {len(checks):,} columns whole classes share one value: {', '.join(list(checks)[:MOST_NAMED])}"
        + (f" and {len(checks) - MOST_NAMED:,} more." if len(checks) > MOST_NAMED else ".")
    )
    st.warning(
        f"{plain(what)} It is disclosed without linking anybody: ask for {limit} under *Other limits*.",
        icon=":material/visibility:",
    )


def check_line(check: Check) -> None:
    """Draw one check on a line of its own."""
    st.markdown(check_text(check))


def check_text(check: Check) -> str:
    """Return one check as Markdown: its mark, its sentence, and where it is worst when it failed."""
    mark = {
        True: ":green-badge[:material/check: holds]",
        False: ":red-badge[:material/close: fails]",
        None: ":gray-badge[reported]",
    }[check.passed]
    worst = f"  \nWorst at: {plain(check.worst)}" if check.passed is False and check.worst else ""
    return f"{mark} {plain(check.sentence)}{worst}"


def left_out_text(left_out: int, records: int) -> str:
    """Return how many records are in no row, in a sentence after others; "" where none is left out."""
    if not left_out:
        return ""
    return f" {count(left_out)} of {count(records)} rows ({share(left_out / records)}) were left out of the release."


@st.fragment
def what_changed(ws: Workspace, report: Report) -> None:
    """Draw one column before and after, and the loss of every column."""
    columns = {column.name: column for column in ws.flow.distributions}
    utility = report.utility
    left, right = st.columns(2, gap="large")
    with left:
        name = st.selectbox(
            "Column", list(columns), key=f"distribution {ws.edition}", help="The column that changed most comes first."
        )
        st.markdown(f"**{plain(moved_sentence(columns[name]))}**")
        st.plotly_chart(distribution_figure(columns[name]), key="distribution", config=CONFIG)
        st.caption(f"{BY_TABLES} Sensitive and insensitive columns are released unchanged.")
    with right:
        st.markdown(f"**{plain(loss_sentence(utility.ncp_by_column, utility.gcp))}**")
        st.plotly_chart(loss_figure(utility.ncp_by_column), key="loss", config=CONFIG)
        squares = "the sum of squared group sizes"
        squares += ", and all rows once for each that was left out" if utility.left_out else ""
        sentences = [f"Discernibility: {count(utility.discernibility)} ({squares})."]
        if utility.error is not None and not ws.flow.encoded.by_numbers:
            target = plain(ws.flow.encoded.target.title)
            sentences.insert(0, f"{share(utility.error)} of the rows lack the most frequent {target} of their group.")
        if report.guess_sentence:
            sentences.insert(1, plain(report.guess_sentence))
        if utility.left_out:
            there = share(utility.gcp_released)
            sentences.append(
                f"Rows that are there lose {there} of the detail (GCP); who was left out counts as lost whole."
            )
        st.caption(" ".join(sentences))
    analyses(report)
    survey(report.weighted)
