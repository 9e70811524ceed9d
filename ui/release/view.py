"""The release on the page: how it is made, whether its checks hold, the rows side by side, and what changed."""

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from anonymizer.checking.verify import Check, Verification
from anonymizer.drawing.charts import (
    distribution_figure,
    loss_figure,
    loss_sentence,
    moved_sentence,
)
from anonymizer.releasing.generalize import NUMBERS, WRITINGS, Guarantee, guarantee_of
from anonymizer.releasing.pack import made_of
from anonymizer.releasing.release import ORDERS, Release
from anonymizer.reporting.report import Report
from anonymizer.schema import Kind, Role, Schema
from anonymizer.settings import SETTINGS, name_of
from ui.controls import count, plain, plural, share, without_midnight
from ui.limits import limits_panel
from ui.method import generalizer_choice, grouping_choice, growth_choice, growth_title, k_slider
from ui.release.analyses import analyses, regression_choice, survey
from ui.release.state import ReleaseState
from ui.session import set_at_once
from ui.workspace import WITH_SHARED_RECORDS, Workspace

ROWS_SHOWN = 12
MOST_NAMED = 8
COLUMN_WIDTH = 140
"""Of every column in both tables, in pixels, so that they stand side by side."""

LETTERS = {Role.QUASI_IDENTIFYING: "Q", Role.SENSITIVE: "S", Role.INSENSITIVE: "N"}
CONFIG = {"displayModeBar": False}


def choices(ws: Workspace) -> DeltaGenerator:
    """Draw how groups are made, how boxes are made and written, and what is required of sensitive columns; return the
    place for what the ends of intervals cost."""
    with st.container(border=True):
        first, second = st.columns([2, 3], gap="large")
        with first:
            k_slider(ws, "release")
            grouping_choice(ws, "release")
            with st.expander(growth_title(ws), icon=":material/tune:", key="release growth"):
                growth_choice(ws, "release")
        with second:
            generalizer_choice(ws, "release")
            made = ws.flow.parts.made if ws.ready("parts") else made_of(ws.settings.generalizer, ws.settings.limits)
            if made.why:
                st.info(plain(made.why), icon=":material/info:")
            show_promise(guarantee_of(made.method))
        place = cells(ws)
        limits_panel(ws, "release")
        regression_choice(ws)
    return place


def cells(ws: Workspace) -> DeltaGenerator:
    """Draw how the levels and the numbers of a box are written; return the place for what the ends cost."""
    with st.expander(plain(cells_title(ws)), icon=":material/edit_note:", key="release cells"):
        if ws.settings.generalizer == "tiered":
            st.caption("Tiered boxes share records, so counts, means and medians would count people twice.")
        left, right = st.columns(2, gap="large")
        with left:
            writing_choice(ws, "writing", WRITINGS)
            order_choice(ws)
        with right:
            writing_choice(ws, "numbers", NUMBERS)
            return st.empty()


def cells_title(ws: Workspace) -> str:
    """Return how cells are written, in few words."""
    p = ws.settings
    return f"How cells are written: {WRITINGS[p.writing].title} · {NUMBERS[p.numbers].title}"


def writing_choice(ws: Workspace, setting: str, ways: dict[str, Guarantee]) -> None:
    """Draw the ways to write a cell that suit the generalizer, with what the one that is set promises."""
    names = [name for name in ways if ws.settings.generalizer != "tiered" or name in WITH_SHARED_RECORDS]
    now, key = ws.settings[setting], f"release {setting} {len(names)}"
    way = st.selectbox(
        SETTINGS[setting].title,
        names,
        names.index(now) if now in names else 0,
        format_func=lambda name: ways[name].title,
        key=key,
        on_change=set_at_once,
        args=(ws, setting, key),
    )
    ws.set(**{setting: way})
    show_promise(ways[way])


def order_choice(ws: Workspace) -> None:
    """Draw the orders in which the rows of the file may stand, with what the one that is set is."""
    names, key = list(ORDERS), "release order"
    order = st.selectbox(
        SETTINGS["order"].title,
        names,
        names.index(ws.settings.order),
        format_func=lambda name: name_of("order", name),
        key=key,
        on_change=set_at_once,
        args=(ws, "order", key),
    )
    ws.set(order=order)
    st.caption(ORDERS[order])


def show_promise(guarantee: Guarantee) -> None:
    """Draw what a choice promises, and what it does not."""
    st.caption(f":material/check: **Promises.** {plain(guarantee.gives)}")
    if guarantee.does_not:
        st.caption(f":material/warning: **Does not promise.** {plain(guarantee.does_not)}")


def make_report(ws: Workspace) -> Report:
    """Return the report of the release that is chosen; says in words what takes long. Raises what its steps raise."""
    if ws.ready("report"):
        return ws.flow.report
    steps = (
        ("Growing the tree …", "tree"),
        ("Pruning it until every group is large enough …", "pruning"),
        ("Generalizing the records …", "release"),
        ("Checking the release from its own cells, beside the original …", "verification"),
        ("Measuring what was lost …", "utility"),
        ("Comparing two-way tables …", "two_way"),
        ("Comparing regressions of the original and of the release …", "coefficients"),
        ("Comparing what a survey would say …", "weighted"),
        ("Measuring the risk before and after …", "report"),
    )
    place = st.empty()
    try:
        with place.status(steps[0][0]) as status:
            for words, stage in steps:
                status.update(label=words)
                ws.flow.compute(stage)
    finally:
        place.empty()
    return ws.flow.report


def headline(verification: Verification) -> None:
    """Draw what the release is, from the checker's own words; never called k-anonymous when it is not."""
    first, _, rest = verification.describe().partition(". ")
    text = f"**{plain(first.rstrip('.') + '.')}** {plain(rest)}"
    if verification.passed:
        st.success(text, icon=":material/verified:")
    else:
        failed = len(verification.failed)
        st.error(f"{text}  \n{plural(failed, 'required check')} failed.", icon=":material/gpp_bad:")


def checks(report: Report) -> None:
    """Draw every check as a sentence: the required ones first, the failed ones at the top."""
    verification = report.verification
    st.header("What the checker found", anchor=False)
    before, after = report.before, report.after
    st.caption(
        "Recomputed from the released cells by code that did not make them. The highest risk of linking a person to a "
        f"row was {share(before.highest)} and is {share(after.highest)}; unique records: {count(before.unique)} of "
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


@st.fragment
def rows_side_by_side(ws: Workspace, release: Release) -> None:
    """Draw a few people, original left and released right, in the same order."""
    if ws.table is None:
        return
    state = ws.state(ReleaseState)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.header("The same rows, original and released", anchor=False, width="content")
        if release.n_records > ROWS_SHOWN and st.button("Show other rows", icon=":material/shuffle:"):
            state.people += 1
    rng = np.random.default_rng(state.people)
    people = ws.flow.staying[np.sort(rng.permutation(release.n_records)[:ROWS_SHOWN])]
    place = np.full(len(ws.table), -1)
    place[release.order] = np.arange(release.n_records)
    names = [column.name for column in release.columns]
    config = {
        column.name: st.column_config.Column(f"{LETTERS[column.role]} · {column.name}", width=COLUMN_WIDTH)
        for column in release.columns
    }
    left, right = st.columns(2, gap="medium")
    height = 38 + 35 * len(people)
    left.markdown("**Original**")
    left.dataframe(
        without_midnight(ws.table[names].iloc[people]),
        hide_index=True,
        height=height,
        column_config=config,
        key="original rows",
    )
    right.markdown("**Released**")
    right.dataframe(
        ws.flow.released.iloc[place[people]], hide_index=True, height=height, column_config=config, key="released rows"
    )
    left_out = ws.schema.identifying if ws.schema else ()
    st.caption(
        f"Only here the rows stand side by side. In the released file: {ORDERS[ws.settings.order]}"
        + (" Left out of the file: " + ", ".join(map(plain, left_out)) + "." if left_out else "")
        + left_out_text(ws.flow.left_out, len(ws.table))
    )


def left_out_text(left_out: int, records: int) -> str:
    """Return how many records are in no row, in a sentence after others; "" where none is left out."""
    if not left_out:
        return ""
    return f" {count(left_out)} of {count(records)} records ({share(left_out / records)}) were left out of the release."


@st.fragment
def what_changed(ws: Workspace, report: Report) -> None:
    """Draw one column before and after, and the loss of every column."""
    columns = {column.name: column for column in ws.flow.distributions}
    utility = report.utility
    st.header("What changed", anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        name = st.selectbox(
            "Column", list(columns), key=f"distribution {ws.edition}", help="The column that changed most comes first."
        )
        st.markdown(f"**{plain(moved_sentence(columns[name]))}**")
        st.plotly_chart(distribution_figure(columns[name]), key="distribution", config=CONFIG)
        st.caption(
            "Released cells are read evenly: an interval along its length, a set over its levels. "
            "Sensitive and insensitive columns are released unchanged."
        )
    with right:
        st.markdown(f"**{plain(loss_sentence(utility.ncp_by_column, utility.gcp))}**")
        st.plotly_chart(loss_figure(utility.ncp_by_column), key="loss", config=CONFIG)
        sentences = [f"Discernibility: {count(utility.discernibility)} (the sum of squared group sizes)."]
        if utility.error is not None and not ws.flow.encoded.by_numbers:
            target = plain(ws.flow.encoded.target.title)
            sentences.insert(
                0, f"{share(utility.error)} of the rows lack the most frequent {target} of their look-alikes."
            )
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
