"""The order of a column's levels, its public domain, and the treatment of a column without boxes."""

from typing import Any

import pandas as pd
import streamlit as st

from anonymizer.cuts import DATE_STEPS, Cuts
from anonymizer.errors import AnonymizerError, SchemaError
from anonymizer.growing.encode import Encoding
from anonymizer.schema import UNCHANGED, Column, Kind, Role
from anonymizer.treatments import TREATMENTS, note_of, parts_of
from anonymizer.values import value_text
from ui.controls import count, plain, problem
from ui.roles.hierarchy import MOST_LEVELS, hierarchy_editor
from ui.workspace import Workspace

MOST_WHOLE = 2**53
"""Whole numbers below this are exact in a browser."""

NOTHING = "Released unchanged"
"""What no treatment is called."""


def domain_editor(ws: Workspace) -> None:
    """Draw an expander in which one quasi-identifying or sensitive column's domain is declared."""
    if ws.schema is None or ws.reading is None:
        return
    names = [*ws.schema.quasi_identifying, *ws.schema.sensitive]
    with st.expander("Order of levels and public domains", icon=":material/swap_vert:"):
        st.markdown(
            "A *public* domain is known without looking at the table (ages 0 to 120, the list of all regions). Loss is "
            "measured against it, and a released `*` means the whole of it. What is not declared is read from the "
            "data. Intervals end on multiples of a public step, or with days to years. The step can be declared, too. "
            "So can public cuts: bands, a top and a bottom code (`≥ 80`), rounding, or a hierarchy."
        )
        if not names:
            st.caption("No column is quasi-identifying or sensitive.")
            return
        name = st.selectbox("Column", names, key=f"domain of {ws.edition}")
        column = ws.schema[name]
        if column.cuts.hierarchy is not None:  # its values are the domain
            hierarchy_editor(ws, column)
            return
        encoding = ws.encoding(Column(name, column.role, column.kind))
        with st.form(f"domain {ws.edition} {ws.version} {name}", border=False):
            domain, ordered = levels(column, encoding) if column.kind is Kind.CATEGORICAL else ends(column, encoding)
            step = None if column.kind is Kind.CATEGORICAL else step_of_ends(column)
            texts = {} if ws.in_pieces else cut_fields(column)
            with st.container(horizontal=True):
                declare = st.form_submit_button("Declare this domain", type="primary")
                reset = st.form_submit_button("Read it from the data")
        hierarchy_editor(ws, column)
        if not (declare or reset):
            return
        try:
            cuts = cuts_of(texts, column)
            if (step or cuts) and column.domain is None and is_of_data(domain, encoding):
                domain = None  # a step or cuts alone were declared: what the fields began with is nothing public
            about = {"domain": domain, "ordered": ordered, "grid": grid_of(step, column), "cuts": cuts}
            declared = {} if reset else about
            nothing = {"domain": None, "ordered": False, "grid": None, "cuts": Cuts()}
            changed = ws.schema.with_column(name, **nothing | declared)
            ws.encoding(changed[name])
        except AnonymizerError as error:
            problem(error)
            return
        ws.set_schema(changed.with_target(ws.schema.target))
        ws.version += reset  # the fields forget what was typed, also where nothing was declared
        st.rerun()


def levels(column: Column, encoding: Encoding) -> tuple[tuple[str, ...] | None, bool]:
    """Return the levels, one a line, in their order; and True when the order has a meaning."""
    ordered = st.checkbox("The levels have a natural order, lowest first", value=column.ordered)
    texts = [str(level) for level in (column.domain or encoding.labels)]
    if len(texts) > MOST_LEVELS or any("\n" in level for level in texts):
        st.caption(f"{count(len(texts))} levels: too many to be put in order by hand.")
        return (column.domain, ordered)  # type: ignore[return-value]
    text = st.text_area("Levels, one a line", "\n".join(texts), height=min(40 + 24 * len(texts), 320))
    return tuple(line for line in text.split("\n") if line.strip()), ordered


def ends(column: Column, encoding: Encoding) -> tuple[Any, bool]:
    """Return the lowest and the highest value that the column can have."""
    lowest, highest = column.domain or (encoding.text(0), encoding.text(len(encoding.labels) - 1))
    with st.container(horizontal=True):
        if column.kind is Kind.DATE:
            first, last = (value_text(pd.Timestamp(end)) if end else "" for end in (lowest, highest))
            low, high = st.text_input("Earliest date", first), st.text_input("Latest date", last)
        else:
            low = number_end("Lowest possible value", lowest)
            high = number_end("Highest possible value", highest)
    return (low, high), False


def step_of_ends(column: Column) -> str:
    """Return the step of the public grid in which ends of intervals are written, as it is typed or chosen."""
    step = value_text(column.grid[0]) if column.grid else ""
    if column.kind is Kind.DATE:
        names = ["", *DATE_STEPS]
        return st.selectbox("Round ends: whole", names, names.index(step), format_func=lambda name: name or "proposed")
    return st.text_input("Round ends: step", step, placeholder="proposed")


def cut_fields(column: Column) -> dict[str, str]:
    """Draw the fields of public cuts of a quasi-identifying column of numbers, and return what is typed there."""
    if column.kind is not Kind.NUMERIC or column.role is not Role.QUASI_IDENTIFYING:
        return {}
    cuts = column.cuts
    with st.container(horizontal=True):
        return {
            "bands": st.text_input(
                "Public bands: the first value of each",
                ",".join(map(value_text, cuts.bands)),
                placeholder="none; for example 0,18,65",
                help="The tree splits at these values only, and cells are whole bands; the last one is open.",
            ),
            "bottom": st.text_input(
                "Bottom code", "" if cuts.bottom is None else value_text(cuts.bottom), placeholder="none",
                help="This value and all below it are said as so much or less.",
            ),
            "top": st.text_input(
                "Top code", "" if cuts.top is None else value_text(cuts.top), placeholder="none",
                help="This value and all above it are said as so much or more.",
            ),
            "rounding": st.text_input(
                "Rounded to multiples of", "" if cuts.rounding is None else value_text(cuts.rounding),
                placeholder="none; for example 5",
                help="Every number is said as the nearest multiple, halves as the one above.",
            ),
        }  # fmt: skip


def cuts_of(texts: dict[str, str], column: Column) -> Cuts:
    """Return the public cuts that were typed. Raises :class:`SchemaError` when they are none."""
    numbers: dict[str, tuple[float, ...]] = {}
    for name, text in texts.items():
        try:
            numbers[name] = tuple(float(part) for part in text.split(",") if part.strip())
        except ValueError:
            raise SchemaError(
                f"{text[:40]!r} is no list of numbers.", column=column.name, remedy="Write public cuts as 0,18,65."
            ) from None
        if name != "bands" and len(numbers[name]) > 1:
            raise SchemaError(f"There is one {name} number.", column=column.name, remedy="Write one number.")
    codes = {name: next(iter(numbers.get(name, ())), None) for name in ("bottom", "top", "rounding")}
    return Cuts(numbers.get("bands", ()), **codes)


def is_of_data(domain: Any, encoding: Encoding) -> bool:
    """Return True when the ends of a domain are the lowest and the highest value of the data."""
    return tuple(map(value_text, domain)) == (encoding.text(0), encoding.text(len(encoding.labels) - 1))


def grid_of(step: str | None, column: Column) -> tuple[float | str, float] | None:
    """Return the grid of a step as it was typed; ``None``: proposed. Raises :class:`SchemaError` when it is none."""
    if not step:
        return None
    try:
        return (step if column.kind is Kind.DATE else float(step)), column.grid[1] if column.grid else 0.0
    except ValueError:
        raise SchemaError(
            f"{step[:40]!r} is no step.", column=column.name, remedy="Write a number above 0, such as 5 or 0.25."
        ) from None


def number_end(label: str, value: Any) -> float | None:
    """Return one end of a numeric domain; whole numbers are shown as such."""
    number = float(value or 0)
    if number.is_integer() and abs(number) < MOST_WHOLE:
        return st.number_input(label, value=int(number))
    return st.number_input(label, value=number, format="%.10g")


def treatment_editor(ws: Workspace) -> None:
    """Draw an expander in which a sensitive or insensitive column is treated."""
    if ws.schema is None or ws.in_pieces:
        return
    names = [column.name for column in ws.schema.columns if column.role in UNCHANGED]
    with st.expander("Columns released without a box: round, shorten, merge", icon=":material/tune:"):
        if not names:
            st.caption("No column is sensitive or insensitive.")
            return
        name = st.selectbox("Column to treat", names, key=f"treatment of {ws.edition}")
        column = ws.schema[name]
        ways = [way for way, treatment in TREATMENTS.items() if treatment.kind == column.kind]
        ways = [way for way in ways if way != "level" or column.cuts.hierarchy]
        current, number = parts_of(column.treat)
        way = st.selectbox(
            "Treatment", ["", *ways], ["", *ways].index(current), key=f"way of {ws.edition} {ws.version} {name}",
            format_func=lambda way: TREATMENTS[way].words.format(n="n") if way else NOTHING,
        )  # fmt: skip
        text = ""
        if way and TREATMENTS[way].least is not None:
            value = f"{number:.12g}" if way == current else "10"
            text = ":" + st.text_input("n", value, key=f"n of {ws.edition} {ws.version} {name} {way}")
        if way + text == column.treat:
            st.caption(plain(note_of(column.treat) or "Its values are released as they are."))
            return
        if not st.button("Apply", key=f"treat {name}"):
            return
        try:
            ws.set_schema(ws.schema.with_column(name, treat=way + text))
        except AnonymizerError as error:
            problem(error)
            return
        st.rerun()
