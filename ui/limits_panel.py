"""Limits on sensitive columns: what every group must keep besides k, each with what it promises and what it does not.

They steer the grouping (:mod:`anonymizer.limits`), and the checker requires them of the release again.
"""

import streamlit as st

from anonymizer.schema import Kind, Schema
from ui.controls import plain
from ui.session import optional_number
from ui.workspace import Workspace

TITLE = "Limits on sensitive columns"
OFF = "off"
TESTED = {
    "": "Off",
    "inner": "Inner nodes (as in the paper)",
    "leaves": "Groups themselves",
}
USUAL_SIGNIFICANCE = 0.05


def limits_panel(ws: Workspace, page: str, *, opened: bool = False) -> None:
    """The limits that fit the sensitive columns, kept in the parameters. ``page`` tells the widgets of pages apart;
    ``opened``: unfold it also where no limit is on."""
    texts, numbers = sensitive_names(ws.schema)
    if not texts:
        ws.set(l=None, entropy_l=None, t=None)
    if not numbers:
        ws.set(rsd_min=None, spread_min=None, significance=None, tested="inner")
    p = ws.parameters
    now = opened or p.limited
    with st.expander(TITLE, icon=":material/shield:", expanded=ws.at_first(f"{page} limits", now)):
        if not texts and not numbers:
            st.caption("No column is sensitive, so there is nothing to limit.")
            return
        if texts:
            limits_of_categories(ws, page, texts, numbers)
        if numbers:
            limits_of_numbers(ws, page, numbers)
        st.caption(
            "Limits other than k and l can fail in two small groups and hold in one, or the other way round. The "
            "grouping keeps a split only where both sides keep every limit, from the top; the checker then measures "
            "them again in the released rows, all but the covariance test."
        )


def sensitive_names(schema: Schema | None) -> tuple[list[str], list[str]]:
    """The sensitive columns: categorical ones, and numbers and dates."""
    columns = [schema[name] for name in schema.sensitive] if schema else []
    texts = [column.name for column in columns if column.kind is Kind.CATEGORICAL]
    return texts, [column.name for column in columns if column.kind is not Kind.CATEGORICAL]


def limits_of_categories(ws: Workspace, page: str, names: list[str], numbers: list[str]) -> None:
    """l, entropy l and t."""
    p = ws.parameters
    st.markdown(f"**Categories:** {', '.join(map(plain, names))}")
    first, second, third = st.columns(3, gap="medium")
    with first:
        least = optional_number(
            "l: different values", 1, None, None if p.l is None else int(p.l), placeholder=OFF, key=f"{page} l"
        )
        explained(
            "every group holds at least this many values, so none gives a value away by having only one",
            "that they are about equally frequent, or differ in meaning"
            + ("; numbers do not steer it, but the checker requires it of them too" if numbers else ""),
        )
    with second:
        mixed = optional_number(
            "Entropy l: effective values", 1.0, None, p.entropy_l, step=0.25, placeholder=OFF, key=f"{page} entropy_l"
        )
        explained(
            "the values of a group are at least as mixed as this many equally frequent ones",
            "that a group looks like the whole table: rare values may still gather in one",
        )
    with third:
        furthest = optional_number(
            "t: distance from the table", 0.0, 1.0, p.t, step=0.05, placeholder=OFF, key=f"{page} t"
        )
        explained(
            "the shares of a group lie at most this far from the whole table's (0: the same), so a group tells little "
            "that the table does not",
            "anything about what the whole table tells",
        )
    ws.set(l=None if least is None else int(least), entropy_l=mixed, t=furthest)


def limits_of_numbers(ws: Workspace, page: str, names: list[str]) -> None:
    """RSD, spread and the covariance test."""
    p = ws.parameters
    st.markdown(f"**Numbers:** {', '.join(map(plain, names))}")
    first, second, third = st.columns(3, gap="medium")
    with first:
        error = optional_number(
            "RSD: error left by a guess", 0.0, 1.0, p.rsd_min, step=0.05, placeholder=OFF, key=f"{page} rsd_min"
        )
        explained(
            "guessing with a group's mean leaves at least this share of the squared error of guessing with the "
            "table's (0: values are given away)",
            "that values differ much where the mean is near the table's: ask for spread as well",
        )
    with second:
        spread = optional_number(
            "Spread: standard deviation", 0.0, 1.0, p.spread_min, step=0.05, placeholder=OFF, key=f"{page} spread_min"
        )
        explained(
            "in a group every column varies at least this share as much as in the table",
            "that the mean of a group is ordinary: a group of high earners may vary much",
        )
    with third:
        now = "" if p.significance is None else p.tested
        tested = st.selectbox(
            "Covariance test", list(TESTED), list(TESTED).index(now), format_func=TESTED.get, key=f"{page} tested"
        )
        significance = None
        if tested:
            usual = p.significance or USUAL_SIGNIFICANCE
            significance = st.number_input(
                "α: significance", 0.001, 0.5, usual, step=0.01, format="%.3f", key=f"{page} significance"
            )
        explain_test(ws, tested)
    ws.set(rsd_min=error, spread_min=spread, significance=significance, tested=tested or "inner")


def explain_test(ws: Workspace, tested: str) -> None:
    """What the place of the covariance test means."""
    if tested == "leaves":
        explained(
            "in no group do the numbers vary together so unlike the table that the test sees it at α",
            "much where groups are small, for it then sees little; large tables end as very few groups. It steers the "
            "grouping; the checker does not test it again",
        )
    elif tested == "inner":
        only = "" if ws.parameters.grouping == "error-digression" else " It steers error-digression only."
        st.caption(
            ":material/check: **Promises:** nothing about what is released. Branches that vary unlike the table are "
            f"merged; the groups themselves are not tested, and the checker does not require it.{only}"
        )
    else:
        st.caption("Compares how the numbers vary together in a group and in the whole table.")


def explained(gives: str, does_not: str) -> None:
    """What a limit promises, and what it does not."""
    st.caption(f":material/check: **Promises:** {gives}.  \n:material/close: **Not:** {does_not.rstrip('.')}.")
