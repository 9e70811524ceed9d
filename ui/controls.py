"""Words and small controls that pages share: escaped text, numbers as people read them, messages, empty states."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from anonymizer.errors import AnonymizerError, MemoryOnlyError
from anonymizer.schema import Kind, Role
from anonymizer.values import plural as plural
from anonymizer.values import share as share

PAGES = Path(__file__).resolve().parent.parent / "pages"
JOINER = "\N{WORD JOINER}"

ROLE_NAMES = {
    Role.IDENTIFYING: "Identifying",
    Role.PERSON: "Person",
    Role.QUASI_IDENTIFYING: "Quasi-identifier",
    Role.SENSITIVE: "Sensitive",
    Role.INSENSITIVE: "Leave as is",
    Role.WEIGHT: "Sampling weight",
    Role.HOUSEHOLD: "Household",
    Role.STRATUM: "Stratum",
}
ROLE_LETTERS = dict(zip(ROLE_NAMES, "IPQSLWHT", strict=True))
ROLE_COLOURS = dict(
    zip(ROLE_NAMES, ("red", "blue", "yellow", "violet", "green", "gray", "gray", "orange"), strict=True)
)
ROLE_LABELS = {role: f"{ROLE_LETTERS[role]} · {name}" for role, name in ROLE_NAMES.items()}
"""Labels of a grid's cells: none has the name of another role within it, so who types a name gets that role."""
ROLE_BADGES = {role: f":{ROLE_COLOURS[role]}-badge[{label}]" for role, label in ROLE_LABELS.items()}
ROLE_MEANINGS = {
    Role.PERSON: "tells whose a row is; persons are counted by it, and it is never released",
    Role.IDENTIFYING: "names a person by itself; it is never released",
    Role.QUASI_IDENTIFYING: "an attacker could know it; it is made coarser",
    Role.SENSITIVE: "what must stay secret about a person; it is released unchanged",
    Role.INSENSITIVE: "harmless, and attackers do not know it; it is released unchanged",
    Role.WEIGHT: "of how many people of the population a row stands for; it is never released",
    Role.HOUSEHOLD: "equal values live together and share their risk; it is never released",
    Role.STRATUM: "equal values were drawn at one rate; it is never released",
}
KIND_LABELS = {Kind.NUMERIC: "number", Kind.CATEGORICAL: "category", Kind.DATE: "date"}


def plain(text: Any) -> str:
    """Return text from outside as Markdown that shows exactly this text: no link, image, colour, icon or formula."""
    escaped = re.sub(r"([\\`*_{}\[\]()#+\-.!|<>~$^=&\"':@])", r"\\\1", " ".join(str(text).split()))
    escaped = re.sub(r"([:@])(?=\S)", r"\1" + JOINER, escaped)
    return re.sub(r"(?i)\bwww(?=\\\.)", lambda match: match.group() + JOINER, escaped)


def count(number: float) -> str:
    """Return a whole number with thousands separated."""
    return f"{number:,.0f}"


def size(n_bytes: float) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:,.1f}".removesuffix(".0") + f" {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.1f} GB"


def duration(seconds: float) -> str:
    """Return a time as people say it: ``20 seconds``, ``3 minutes``."""
    for unit, length in (("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 1.5 * length:
            return plural(round(seconds / length), unit)
    return plural(max(1, round(seconds)), "second")


def without_midnight(frame: pd.DataFrame) -> pd.DataFrame:
    """Return records as they are shown: dates without a time of day lose their zeros."""
    copy = frame.copy()
    for name in copy.select_dtypes("datetime").columns:
        if (copy[name].dropna().dt.normalize() == copy[name].dropna()).all():
            copy[name] = copy[name].dt.date
    return copy


def place_of(option: Any, options: Sequence[Any]) -> int:
    """Return where an option that was chosen before stands now; the first place when it is not there."""
    return options.index(option) if option in options else 0


def slider_ends(left: str, right: str) -> None:
    """Draw what the two ends of the slider above mean, in words."""
    with st.container(horizontal=True, gap="medium", wrap=False):
        st.caption(left)
        st.caption(right, text_alignment="right")


def problem(error: AnonymizerError, advice: str = "") -> None:
    """Draw an error of the steward's table or choices as one message: what, where, what to do. What takes a smaller
    table is no error, and said as information."""
    if isinstance(error, MemoryOnlyError):
        st.info(f"{plain(error.problem)} {plain(error.remedy)}", icon=":material/grid_view:")
        return
    parts = [f"**{plain(error.in_full)}**", plain(error.remedy), advice]
    st.error("  \n".join(part for part in parts if part), icon=":material/error:")


def empty_state(title: str, text: str, step: str, label: str) -> None:
    """Draw what a page shows when something has to be done on another page first; ``step`` is that page's name."""
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        st.header(title, anchor=False, text_alignment="center")
        st.markdown(text, text_alignment="center")
        st.page_link(PAGES / f"{step}.py", label=label, icon=":material/arrow_back:")


def next_step(step: str, label: str, *, disabled: bool = False) -> None:
    """Draw the way on, at the end of a page; ``step`` is the next page's name."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(
            label,
            type="primary",
            icon=":material/arrow_forward:",
            icon_position="right",
            key=f"next {step}",
            disabled=disabled or not (PAGES / f"{step}.py").exists(),
        ):
            st.switch_page(PAGES / f"{step}.py")
