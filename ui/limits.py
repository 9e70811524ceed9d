"""Other limits: what every group must keep, of sensitive columns and of the population, each with what it promises
and what it does not.

They steer the grouping (:mod:`anonymizer.groups.limits`), and the checker requires them of the release again.
"""

from functools import partial

import streamlit as st

from anonymizer.schema import Kind, Role, Schema
from anonymizer.settings import FORMS, HOW_TESTED, NAMES, OF_POPULATION, SETTINGS, setting_names
from ui.controls import count, plain, slider_ends
from ui.glossary import meaning
from ui.method import number_setting
from ui.session import widget_state
from ui.slider import alpha_number, limit_number, set_one
from ui.workspace import Workspace

TITLE = "Other limits"
OF_CATEGORIES = ("l", "entropy_l", "t")
OF_NUMBERS = ("rsd_min", "spread_min")
SHARE = "share_max"
TEST = ("significance", *HOW_TESTED)
"""The settings of the covariance test."""

PROMISES = {
    SHARE: (
        "nobody owns a larger share of the rows of a group",
        "anything about what all rows of a person tell together: Packed persons keeps them in one group",
    ),
    "l": (
        "every group holds at least this many values, so none gives a value away by having only one",
        "that they are equally frequent, or differ in meaning",
    ),
    "entropy_l": (
        "the values of a group are at least as mixed as this many equally frequent ones",
        "that a group looks like the whole table: rare values may still gather in one",
    ),
    "t": (
        "the shares of a group lie at most this far from the whole table's (0: the same)",
        "anything about what the whole table tells",
    ),
    "risk_max": (
        "a link to any row is right with at most this chance, by the people behind its group",
        "more than is known of the population: by weights and shares it is an estimate, and no bound",
    ),
    "risk_mean": (
        "links are right with at most this chance on average; every group keeps it, so that all do",
        "that no row is riskier: ask for the risk of a row as well",
    ),
    "k_map": (
        "at least so many people of the table of the population fit the cells of every row",
        "anything to somebody who knows that the person is in your table: for them there is k",
    ),
    "rsd_min": (
        "a group's mean leaves at least this share of the squared error that the table's leaves",
        "that values differ much where the mean is near the table's: ask for spread as well",
    ),
    "spread_min": (
        "in a group every column varies at least this share as much as in the table",
        "that the mean of a group is ordinary: a group of high earners may vary much",
    ),
}
"""What a limit promises, and what it does not."""

NUMBERS_TOO = ". Numbers do not steer it, but the checker requires it of them, too"
PLACES = {
    "": "Off",
    **NAMES["tested"],
}
"""Where the covariance test is made."""

USUAL_SIGNIFICANCE = 0.05


def limits_panel(ws: Workspace, page: str) -> None:
    """Draw the limits that fit the sensitive columns, in a panel that folds. ``page`` begins the keys of the
    widgets."""
    with st.expander(TITLE, icon=":material/shield:", expanded=True):
        limits(ws, page)


def limits(ws: Workspace, page: str) -> None:
    """Draw the limits that fit the sensitive columns; the others are off. ``page`` begins the keys of the widgets."""
    texts, numbers = sensitive_names(ws.schema)
    by_person = ws.schema is not None and ws.schema.person is not None
    others = [
        name for name in setting_names("limit") if name not in ("k", *OF_CATEGORIES, *OF_NUMBERS, *OF_POPULATION, *TEST)
    ]
    others = [name for name in others if name != SHARE or by_person]
    unfit = (() if texts else OF_CATEGORIES) + (() if numbers else (*OF_NUMBERS, *TEST))
    unfit += () if by_person else (SHARE,)
    ws.set(**{name: SETTINGS[name].default for name in unfit})
    if not texts and not numbers:
        st.caption("No column is sensitive, so in values there is nothing to limit.")
    if texts:
        st.markdown(f"**Categories:** {', '.join(map(plain, texts))}")
        for place, name in zip(st.columns(3, gap="medium"), OF_CATEGORIES, strict=True):
            with place:
                limit(ws, page, name, NUMBERS_TOO if name == "l" and numbers else "")
        for name in texts:
            harmless(ws, page, name)
    if numbers:
        st.markdown(f"**Numbers:** {', '.join(map(plain, numbers))}")
        *places, last = st.columns(3, gap="medium")
        for place, name in zip(places, OF_NUMBERS, strict=True):
            with place:
                limit(ws, page, name)
        with last:
            covariance_test(ws, page)
    population_limits(ws, page)
    for name in others:
        limit(ws, page, name)
    st.caption(
        "Limits other than k and l can fail in two small groups and hold in one. A split stays only where both "
        "sides keep every limit. The checker measures them again in the released rows, all but the covariance test."
    )


def harmless(ws: Workspace, page: str, name: str) -> None:
    """Draw which levels of a sensitive column nobody learns anything from, so that l does not count them."""
    assert ws.schema is not None
    own, key = ws.schema[name].harmless, f"{page} harmless {name}"
    levels = next((fact.looked_at for fact in ws.facts() if fact.name == name), ())

    def take() -> None:
        assert ws.schema is not None
        ws.set_schema(ws.schema.with_column(name, harmless=tuple(widget_state(key) or ())))

    st.multiselect(
        f"Harmless levels of {plain(name)}",
        list(dict.fromkeys((*own, *levels))),
        list(own),
        format_func=plain,
        key=key,
        placeholder="none",
        help="Levels that nobody learns anything from, such as “no event”. Like missing values, l does not count them.",
        on_change=take,
    )


def population_limits(ws: Workspace, page: str) -> None:
    """Draw the limits on what is behind a group in the population, and what is known of it; k-map only where people
    are counted, or the table counts as all of them. Of a table in pieces, that these take a smaller one."""
    if ws.in_pieces:
        st.caption("**Population:** limits on the risk in it take a smaller table; this one counts as all of it.")
        return
    population, weight = ws.flow.population, ws.schema.only(Role.WEIGHT) if ws.schema else None
    table = population.table
    counted = table is not None and set(ws.flow.schema.quasi_identifying) <= set(table.columns)
    if counted:
        what = "your table of it"
    elif table is not None:
        what = "counts of people by some columns"
    elif weight is not None:
        what = f"the sampling weights in {plain(weight)}"
    elif population.fraction is not None:
        what = f"one person in {count(1 / population.fraction)} is in the table"
    else:
        what = "nothing, so the table counts as all of it"
    st.markdown(f"**Population:** {what}. *What if*, *As a sample*, asks for more.")
    estimated = not counted and (population.tells or weight is not None)
    if estimated:
        ws.set(k_map=None)
    for place, name in zip(st.columns(3, gap="medium"), OF_POPULATION, strict=True):
        with place:
            if name != "k_map" or not estimated:
                limit(ws, page, name)


def sensitive_names(schema: Schema | None) -> tuple[list[str], list[str]]:
    """Return the sensitive columns: categorical ones, and numbers and dates."""
    columns = [schema[name] for name in schema.sensitive] if schema else []
    texts = [column.name for column in columns if column.kind is Kind.CATEGORICAL]
    return texts, [column.name for column in columns if column.kind is not Kind.CATEGORICAL]


def limit(ws: Workspace, page: str, name: str, also: str = "") -> None:
    """Draw one limit, and what it promises; of a limit that promises nothing here, its own words."""
    if not limit_number(ws, name, page):
        number_setting(ws, name, f"{page} {name}")
    if name in PROMISES:
        gives, does_not = PROMISES[name]
        promise(gives, does_not + also)
    else:
        st.caption(plain(SETTINGS[name].text))


def covariance_test(ws: Workspace, page: str) -> None:
    """Draw where the covariance test is made, its α, and what that means."""
    p = ws.settings
    at = list(PLACES).index("" if p.significance is None else p.tested)
    title, help = SETTINGS["tested"].title, meaning("tested")
    tested = st.selectbox(title, list(PLACES), at, format_func=PLACES.get, key=f"{page} tested", help=help)
    if not tested:
        ws.set(significance=None, **{name: SETTINGS[name].default for name in HOW_TESTED})
        st.caption("Compares how the numbers vary together in a group and in the whole table.")
        return
    ws.set(significance=USUAL_SIGNIFICANCE if p.significance is None else p.significance, tested=tested)
    alpha_number(
        SETTINGS["significance"].title, float(ws.settings.significance or 0), partial(set_one, ws, "significance"),
        f"{page} significance",
    )  # fmt: skip
    slider_ends("fewer branches merged", "more of them")
    names = list(FORMS)
    form = st.selectbox(
        SETTINGS["test_form"].title, names, names.index(ws.settings.test_form), key=f"{page} test_form",
        format_func=NAMES["test_form"].get, help=meaning("tested"),
    )  # fmt: skip
    ws.set(test_form=form)
    if tested == "leaves":
        promise(
            "in no group do the numbers vary together so unlike the table that the test sees it at α",
            "much where groups are small, for it then sees little; large tables end as very few groups. It steers the "
            "grouping; the checker does not test it again",
        )
    else:
        only = "" if ws.flow.grouping == "error-digression" else " It steers error-digression pruning only."
        st.caption(
            ":material/check: **Promises:** nothing about what is released. Branches that vary unlike the table are "
            f"merged; the groups themselves are not tested, and the checker does not require it.{only}"
        )


def promise(gives: str, does_not: str) -> None:
    """Draw what a limit promises, and what it does not."""
    st.caption(f":material/check: **Promises:** {gives}.  \n:material/close: **Not:** {does_not.rstrip('.')}.")
