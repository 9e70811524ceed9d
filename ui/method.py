"""How groups and boxes are made: the grouping box, the generalizer box, and how the tree grows.

``page`` begins the keys of the widgets, which tells those of different pages apart.
"""

import streamlit as st

from anonymizer.groups.detail import DETAIL
from anonymizer.groups.mondrian import MONDRIAN
from anonymizer.groups.recipe import fitting_groupings, grouping_words
from anonymizer.releasing.generalize import INTERVALS, LEAVES_OUT, NUMBERS, guarantee_of
from anonymizer.schema import Kind
from anonymizer.settings import SETTINGS, in_text, name_of, names_of
from anonymizer.suppression.choice import allowed
from anonymizer.whatif.ends import loss_by_ends
from ui.controls import count, plain, share, slider_ends
from ui.gains import as_in_the_papers
from ui.glossary import meaning
from ui.proposal import trial
from ui.server.framework import DeltaGenerator
from ui.session import optional_number, set_at_once, widget_state
from ui.workspace import Workspace

SHARE_STEP = 0.05
SHARES_LEFT_OUT = {0.0: "None", 0.005: "At most 0.5%", 0.01: "At most 1%", 0.02: "At most 2%", 0.05: "At most 5%"}
WEIGHTS_LEFT_OUT = {
    0.0: "Its part of an average loss: as many as may be, as long as the others lose less",
    0.5: "Half of its detail",
    1.0: "All of its detail: only where less is lost all in all",
}


def grouping_choice(ws: Workspace, page: str, *, explain: bool = True) -> None:
    """Draw the box of groupings that fit the sensitive columns; ``explain``: with one sentence on what it does."""
    fit_grouping(ws)
    names = groupings_for(ws)
    grouping = st.selectbox(
        SETTINGS["grouping"].title,
        names,
        names.index(ws.flow.grouping),
        format_func=lambda name: grouping_words(name)[0],
        key=f"{page} grouping",
        help=meaning(grouping_words(widget_state(f"{page} grouping") or ws.flow.grouping)[0]),
    )
    if explain:
        st.caption(plain(grouping_words(grouping)[1]))
    if grouping != ws.flow.grouping:  # of the same tree, where it has one
        ws.set(grouping=grouping, criterion=None if grouping in MONDRIAN else ws.flow.criterion)


def generalizer_choice(ws: Workspace, page: str) -> None:
    """Draw the box of generalizers."""
    names = [name for name in names_of("generalizer") if not ws.unfit({"generalizer": name})]
    generalizer = st.selectbox(
        SETTINGS["generalizer"].title,
        names,
        names.index(ws.settings.generalizer),
        format_func=lambda name: guarantee_of(name).title,
        key=f"{page} generalizer",
        help=meaning(guarantee_of(widget_state(f"{page} generalizer") or ws.settings.generalizer).title),
    )
    ws.set(generalizer=generalizer)


def numbers_choice(ws: Workspace, page: str) -> DeltaGenerator:
    """Draw the box of ways to write numbers and dates, and return the place for what the ends cost."""
    names = [name for name in NUMBERS if ws.settings.generalizer != "tiered" or name in INTERVALS]
    now = ws.settings.numbers
    way = st.selectbox(
        SETTINGS["numbers"].title,
        names,
        names.index(now) if now in names else 0,
        format_func=lambda name: NUMBERS[name].title,
        key=f"{page} numbers {len(names)}",
        help=meaning(NUMBERS[widget_state(f"{page} numbers {len(names)}") or now].title),
    )
    ws.set(numbers=way)
    return st.empty()


def price_of_ends(ws: Workspace, place: DeltaGenerator) -> None:
    """Draw what is lost with round ends of intervals, and with exact ends, once the release is there."""
    losses = ws.answers.get("loss by ends", ws.flow.release, lambda: loss_by_ends(ws.flow))
    if losses:
        place.caption(
            f"Detail lost by these groups (GCP): {share(losses['public'])} with round ends, {share(losses['range'])} "
            "with exact ends."
        )


def number_setting(ws: Workspace, name: str, key: str, *, empty: str = "off") -> None:
    """Draw the field of a setting that is a number. One that is optional can be left empty, which then reads ``empty``;
    none can where that is ``""``."""
    setting, value = SETTINGS[name], ws.settings[name]
    whole = setting.kind == "count"
    as_number = int if whole else float
    least, most = as_number(setting.least), as_number(setting.most)
    start = None if value is None else as_number(value)
    step = 1 if whole else SHARE_STEP if setting.most <= 1 else 1.0
    look = {"step": step, "format": "%d" if whole else "%g", "key": key, "help": meaning(name)}
    if setting.optional and empty:
        number = optional_number(setting.title, least, most, start, placeholder=empty, **look)
    else:
        number = st.number_input(setting.title, least, most, start, **look)
    ws.set(**{name: int(number) if number is not None and number == int(number) else number})


def suppression_title(ws: Workspace) -> str:
    """Return how many records may be left out, in few words."""
    most = ws.settings.suppression
    return f"Rows left out: {f'at most {share(most)}' if most else 'none'}"


def suppression_choice(ws: Workspace, page: str) -> None:
    """Draw what share of the records may be left out, what leaving one out counts, and what came of it."""
    if ws.in_pieces:
        st.caption("Every row of a table in pieces is in its release: leaving some out takes a smaller table.")
        return
    if ws.settings.generalizer not in LEAVES_OUT or ws.flow.schema.person is not None:
        st.caption("Rows can be left out of whole, refined and packed groups, where every row is a person.")
        return
    for name, words in (("suppression", SHARES_LEFT_OUT), ("suppression_weight", WEIGHTS_LEFT_OUT)):
        now = ws.settings[name]
        values = sorted({*words, now})
        value = st.selectbox(
            SETTINGS[name].title, values, values.index(now), key=f"{page} {name}", help=meaning(name),
            format_func=lambda value, words=words: words.get(value, f"{value:g}"),
        )  # fmt: skip
        ws.set(**{name: value})
    st.caption(
        "Somebody unlike everybody else makes a box wide for all who share it. The quasi-identifiers alone decide who "
        "is left out. Every promise holds for the rows that are there."
    )
    if ws.settings.suppression and ws.ready("staying"):
        most = allowed(ws.n_records, ws.settings.suppression)
        st.caption(f"**{count(ws.flow.left_out)} of at most {count(most)} rows are left out.**")


def groupings_for(ws: Workspace) -> list[str]:
    """Return the groupings that fit: those that err in classes need classes, those that look at numbers need them."""
    names = () if ws.schema is None else fitting_groupings(ws.schema)
    return [name for name in names if not ws.unfit({"grouping": name})]


def fit_grouping(ws: Workspace) -> None:
    """After a change of roles, leave a grouping that no longer fits for what suits the target."""
    if ws.settings.grouping not in (None, *groupings_for(ws)):
        ws.set(grouping=None)


def growth_title(ws: Workspace) -> str:
    """Return how the tree grows, in few words."""
    p = ws.settings
    if p.grouping in MONDRIAN:
        return "Grown by Mondrian"
    if p.criterion == "blend":
        return f"Grown as a blend, weight {p.weight:.2f}"
    name = ws.flow.recipe.criterion or criteria(ws)[1]
    return f"Grown by {plain(in_text(name_of('criterion', name)))}"


def criteria(ws: Workspace) -> list[str]:
    """Return what can guide the splits for this target: detail first, then what the papers say."""
    by_numbers = ws.schema is not None and ws.schema.by_numbers
    usual, unfit = ("sse", ("entropy", "gini")) if by_numbers else ("entropy", ("sse",))
    first = [DETAIL, usual]
    others = [name for name in names_of("criterion") if name not in (*first, *unfit)]
    return first + [name for name in others if not ws.unfit({"criterion": name})]


def cost_choice(ws: Workspace, page: str) -> None:
    """Draw how detail of numbers and dates counts, where the table has any that is generalized."""
    schema, key, names = ws.schema, f"{page} cost", names_of("cost")
    if schema is None or not any(schema[name].kind is not Kind.CATEGORICAL for name in schema.quasi_identifying):
        return
    st.selectbox(
        SETTINGS["cost"].title,
        names,
        names.index(ws.settings.cost),
        format_func=lambda name: name_of("cost", name),
        key=key,
        on_change=set_at_once,
        args=(ws, "cost", key),
        help="By rank, a box is as wide as the share of rows between its ends. That keeps apart values that many rows "
        "are close to, such as small incomes. Boxes get wider where rows are few.",
    )


def growth_choice(ws: Workspace, page: str) -> None:
    """Draw the splitting criterion, the weight of a blend, and how far the tree grows."""
    p = ws.settings
    if p.grouping in MONDRIAN:
        st.markdown(f":small[{SETTINGS['criterion'].title}]")
        st.caption("Mondrian grows a tree of its own and takes nothing back for k: there is nothing to choose here.")
        return
    if not ws.in_pieces:
        as_in_the_papers(ws, page)
    names = criteria(ws)
    now = ws.flow.recipe.criterion or names[1]
    key = f"{page} criterion {names[1]}"
    criterion = st.selectbox(
        SETTINGS["criterion"].title,
        names,
        names.index(now),
        format_func=lambda name: name_of("criterion", name),
        key=key,
        on_change=set_at_once,
        args=(ws, "criterion", key),
        help="Detail cuts where least is lost and never looks at sensitive values. Entropy, Gini and squared error "
        "serve the sensitive target alone. A blend serves both; it never grows groups below k.",
    )
    if criterion != now:
        ws.set(criterion=criterion)
    if criterion == "blend":
        key, least, most = f"{page} weight", float(SETTINGS["weight"].least), float(SETTINGS["weight"].most)
        weight = st.slider(
            SETTINGS["weight"].title, least, most, float(p.weight), 0.05, key=key, on_change=set_at_once,
            args=(ws, "weight", key),
        )  # fmt: skip
        slider_ends("keep the columns", "keep the analysis")
        ws.set(weight=float(weight))
    cost_choice(ws, page)
    trial(ws)
    with st.popover("How far it grows", icon=":material/tune:"):
        number_setting(ws, "min_leaf", f"{page} leaf")
        number_setting(ws, "max_depth", f"{page} deepest", empty="no limit")
