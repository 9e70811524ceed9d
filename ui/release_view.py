"""The release on the page: how it is made, whether its checks hold, the rows side by side, and what changed."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from anonymizer.charts import distribution_figure, loss_figure, loss_sentence, moved_sentence
from anonymizer.generalize import GENERALIZERS, GUARANTEES, NUMBERS, WRITINGS, Guarantee
from anonymizer.release import Release
from anonymizer.report import Report
from anonymizer.schema import Role
from anonymizer.verify import Check, Verification
from ui.controls import count, plain, plural, share, slider_ends, without_midnight
from ui.limits_panel import limits_panel
from ui.parameters import WITH_SHARED_RECORDS
from ui.session import told_at_once
from ui.tree_choices import grouping_choice, growing, growth_title
from ui.workspace import Workspace

ROWS_SHOWN = 12
COLUMN_WIDTH = 140
"""Of every column in both tables, in pixels, so that they stand side by side."""

LETTERS = {Role.QUASI_IDENTIFYING: "Q", Role.SENSITIVE: "S", Role.INSENSITIVE: "N"}
CONFIG = {"displayModeBar": False}


def choices(ws: Workspace) -> None:
    """How groups are made, how boxes are made and written, and what is required of sensitive columns."""
    with st.container(border=True):
        first, second = st.columns([2, 3], gap="large")
        with first:
            k = st.slider("k: fewest records that look alike", 1, largest_k(ws), ws.k, key="release k")
            slider_ends("more detail", "less risk")
            grouping_choice(ws, "release")
            with st.expander(growth_title(ws), icon=":material/tune:", key="release growth"):
                growing(ws, "release")
        with second:
            names = list(GENERALIZERS)
            generalizer = st.selectbox(
                "How the records of a group are made to look alike",
                names,
                names.index(ws.parameters.generalizer),
                format_func=lambda name: GUARANTEES[name].title,
                key="release generalizer",
            )
            promised(GUARANTEES[generalizer])
        ws.set(k=int(k), generalizer=generalizer)
        cells(ws)
        limits_panel(ws, "release")


def cells(ws: Workspace) -> None:
    """How the levels and the numbers of a box are written."""
    with st.expander(plain(cells_title(ws)), icon=":material/edit_note:", key="release cells"):
        if ws.parameters.generalizer == "tiered":
            st.caption("Tiered boxes share records, so counts, means and medians would count people twice.")
        left, right = st.columns(2, gap="large")
        with left:
            writing = written(ws, "writing", "Categories", WRITINGS)
        with right:
            numbers = written(ws, "numbers", "Numbers and dates", NUMBERS)
        ws.set(writing=writing, numbers=numbers)


def cells_title(ws: Workspace) -> str:
    """How cells are written, in few words."""
    p = ws.parameters
    return f"How cells are written: {WRITINGS[p.writing].title} · {NUMBERS[p.numbers].title}"


def written(ws: Workspace, what: str, label: str, known: dict[str, Guarantee]) -> str:
    """One of the ways to write a cell that suit the generalizer, with what it promises."""
    tiered, held = ws.parameters.generalizer == "tiered", getattr(ws.parameters, what)
    names = [name for name in known if not tiered or name in WITH_SHARED_RECORDS]
    key = f"release {what} {len(names)}"
    chosen = st.selectbox(
        label,
        names,
        names.index(held) if held in names else 0,
        format_func=lambda name: known[name].title,
        key=key,
        on_change=told_at_once,
        args=(ws, what, key),
    )
    promised(known[chosen])
    return chosen


def promised(guarantee: Guarantee) -> None:
    """What a choice promises, and what it does not."""
    st.caption(f":material/check: **Promises.** {plain(guarantee.gives)}")
    if guarantee.does_not:
        st.caption(f":material/warning: **Does not promise.** {plain(guarantee.does_not)}")


def largest_k(ws: Workspace) -> int:
    """Where the slider of k ends: never beyond the number of records, never below the k that is chosen."""
    records = 0 if ws.table is None else len(ws.table)
    return max(10, ws.k, min(100, records))


def examined(ws: Workspace) -> Report:
    """The report of the release as it is chosen now; says in words what takes long. Raises what its steps raise."""
    if ws.peek("report") is not None:
        return ws.report()
    steps: tuple[tuple[str, Callable[[], object]], ...] = (
        ("Growing the tree …", ws.tree),
        ("Pruning it until every group is large enough …", ws.pruning),
        ("Generalizing the records …", ws.release),
        ("Checking the release from its own cells, beside the original …", ws.verification),
        ("Measuring what was lost …", ws.utility),
        ("Measuring the risk before and after …", ws.report),
    )
    place = st.empty()
    try:
        with place.status(steps[0][0]) as status:
            for words, step in steps:
                status.update(label=words)
                step()
    finally:
        place.empty()
    return ws.report()


def headline(verification: Verification) -> None:
    """What the release is, from the checker's own words; never called k-anonymous when it is not."""
    first, _, rest = verification.describe().partition(". ")
    said = f"**{plain(first.rstrip('.') + '.')}** {plain(rest)}"
    if verification.passed:
        st.success(said, icon=":material/verified:")
    else:
        failed = len(verification.failed)
        st.error(f"{said}  \n{plural(failed, 'required check')} failed.", icon=":material/gpp_bad:")


def checks(report: Report) -> None:
    """Every check as a sentence: the required ones first, the failed ones at the top."""
    verification = report.verification
    st.subheader("What the checker found", anchor=False)
    before, after = report.before, report.after
    st.caption(
        "Recomputed from the released cells by code that did not make them. The highest risk of linking a person to a "
        f"row was {share(before.highest)} and is {share(after.highest)}; unique records: {count(before.unique)} of "
        f"{count(before.records)} before, {count(after.unique)} after."
    )
    judged = [check for check in verification.checks if check.passed is not None]
    told = [check for check in verification.checks if check.passed is None]
    for check in sorted(judged, key=lambda check: bool(check.passed)):
        check_line(check)
    disclosed(verification)
    with st.expander(f"{plural(len(told), 'more figure')}, reported without a requirement", key="more figures"):
        for check in told:
            check_line(check)


def disclosed(verification: Verification) -> None:
    """A warning for each sensitive column that whole classes share: k-anonymity does not hide it."""
    for check in verification.checks:
        if check.name.startswith("homogeneity of ") and check.achieved:
            advice = "It is disclosed without linking anybody: ask for l = 2 under *Limits on sensitive columns*."
            st.warning(f"{plain(check.sentence)} {advice}", icon=":material/visibility:")


def check_line(check: Check) -> None:
    """One check on a line of its own."""
    st.markdown(check_text(check))


def check_text(check: Check) -> str:
    """One check as Markdown: its mark, its sentence, and where it is worst when it failed."""
    mark = {
        True: ":green-badge[:material/check: holds]",
        False: ":red-badge[:material/close: fails]",
        None: ":gray-badge[reported]",
    }[check.passed]
    worst = f"  \nWorst at: {plain(check.worst)}" if check.passed is False and check.worst else ""
    return f"{mark} {plain(check.sentence)}{worst}"


@st.fragment
def rows_side_by_side(ws: Workspace, release: Release) -> None:
    """A few people, original left and released right, in the same order."""
    if ws.table is None:
        return
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.subheader("The same people, original and released", anchor=False, width="content")
        if release.n_records > ROWS_SHOWN and st.button("Show other people", icon=":material/shuffle:"):
            ws.view["people"] = ws.view.get("people", 0) + 1
    drawn = np.random.default_rng(ws.view.get("people", 0))
    people = np.sort(drawn.permutation(release.n_records)[:ROWS_SHOWN])
    place = np.empty_like(release.order)
    place[release.order] = np.arange(release.n_records)
    names = [column.name for column in release.columns]
    shown = {
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
        column_config=shown,
        key="original rows",
    )
    right.markdown("**Released**")
    right.dataframe(
        ws.released().iloc[place[people]], hide_index=True, height=height, column_config=shown, key="released rows"
    )
    left_out = ws.schema.identifying if ws.schema else ()
    st.caption(
        "Only here the rows stand side by side. The released file is shuffled by a secret that is not kept, so a row's "
        "place says nothing about whose it is."
        + (" Left out of the file: " + ", ".join(map(plain, left_out)) + "." if left_out else "")
    )


@st.fragment
def what_changed(ws: Workspace, report: Report) -> None:
    """One column before and after, and the loss of every column."""
    columns = {column.name: column for column in ws.distributions()}
    utility = report.utility
    st.subheader("What changed", anchor=False)
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
        said = [f"Discernibility: {count(utility.discernibility)} (the sum of squared group sizes)."]
        if utility.error is not None and not ws.encoded().by_numbers:
            target = plain(ws.encoded().target.name)
            said.insert(0, f"{share(utility.error)} of the rows lack the most frequent {target} of their look-alikes.")
        st.caption(" ".join(said))
