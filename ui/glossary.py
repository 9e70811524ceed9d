"""The words of a page with their meanings, taken from the glossary: one button on every page."""

import re
from functools import cache

import streamlit as st

from ui.controls import PAGES

GLOSSARY = PAGES.parent / "docs" / "GLOSSARY.md"

TABLES = "Cross tables: rows in a wrong cell"
METHODS = ("Least pruning", "Error-risk pruning", "Error-digression pruning", "Median Mondrian")
BOXES = ("Uniform boxes", "Tiered boxes", "Strictly tiered boxes", "Refined groups", "Packed groups", "Round ends")
RISK = ("k-anonymity", "Prosecutor", "Detail lost (GCP)", "Error", "Group of look-alike rows")
LIMITS = ("Share of one person", "l-diversity", "t-closeness", "RSD", "Spread", "Individual risk", "Covariance test")
WORDS: dict[str, tuple[str, ...]] = {
    "data": (
        "Quasi-identifying", "Sensitive", "Kind", "Missing", "Project file", "Linking posterior", "Maximum entropy",
        "Public cuts", "Hierarchy", "Ledger",
    ),
    "roles": (
        "Identifying", "Quasi-identifying", "Sensitive", "Insensitive", "Person", "Sampling weight", "Target", "Kind",
        "Domain", "Round ends", "Public cuts", "Hierarchy", "Group of look-alike rows", "Prosecutor", "Homogeneity",
    ),
    "tree": (
        "Node", "Split", "Pruning", "Cut", *METHODS, *BOXES, *RISK, *LIMITS, "Information gained by the region",
        "Hiding among the others", "Resistance to being singled out", "Scatter", "Digression", "Homogeneity",
        "Blind guess", "Ledger",
    ),
    "gate": (
        "Quasi-identifying", "Sensitive", "Insensitive", "Box", "Round ends", "Homogeneity", *RISK, "Spread", TABLES,
    ),
    "release": (
        *METHODS, *BOXES, *RISK, *LIMITS, "Quasi-identifying", "Box", "Withheld", "Discernibility", TABLES,
        "Coefficients inside the 95% interval", "Homogeneity", "Containment", "Linking posterior", "Isolation",
        "Rerun", "Candidates", "Releases together", "Look-up", "Blind guess", "Singling out", "Internal report",
        "Threshold", "Frontier", "Interval overlap", "Hellinger distance", "Suppression", "Ledger",
    ),
    "what_if": (
        "Scenario", "Frontier", "Threshold", *METHODS, *BOXES, *RISK, *LIMITS, "Resistance to being singled out",
        "Project file", "Linking posterior", "Homogeneity", "Scorecard", "Budget", "Quasi-identifying",
        "Special unique", "Household",
    ),
    "evaluate": (
        *METHODS, *BOXES, *RISK, "Raw", "Hellinger distance", "MAPE", "R²", "Calibration slope", "RSD", TABLES,
        "Covariance test", "Coefficients inside the 95% interval", "Target", "Blend of target and columns",
    ),
    "forest": (
        "Differential privacy", "Budget", "ε", "Ledger", "Neighbouring tables", "Public domain", "Noise",
        "Private choice", "Rehearsal", "Rule", "Scorecard", "Audit",
    ),
    "disclosure": (
        "Quasi-identifying", "Key", "Posterior", "Maximum entropy", "Divergence", "Pruning", "Homogeneity", "Target",
        "Ledger",
    ),
    "verify": ("Check", "Containment", "k-anonymity", "Linking posterior", "Homogeneity", "l-diversity", "t-closeness"),
}  # fmt: skip
"""The technical words of each page, in the order in which they are met."""

TERMS = {
    "k": "k-anonymity", "share_max": "Share of one person", "l": "l-diversity", "entropy_l": "l-diversity",
    "t": "t-closeness", "rsd_min": "RSD",
    "spread_min": "Spread", "risk_max": "Individual risk", "risk_mean": "Individual risk", "k_map": "k-map",
    "suppression": "Suppression", "suppression_weight": "Weight of a row left out",
    "tested": "Covariance test", "test_form": "Covariance test", "significance": "Covariance test",
}  # fmt: skip
"""The word of the glossary that tells what a setting is."""


@cache
def meanings() -> dict[str, str]:
    """Return the paragraph of each word of the glossary, by the word in lower case."""
    by_word: dict[str, str] = {}
    for paragraph in GLOSSARY.read_text("utf-8").split("\n\n"):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
        for bold in re.findall(r"\*\*(.+?)\*\*", text):
            for word in re.split(r",\s+", bold):
                bare = re.sub(r"\s+\([^)]*\)$", "", word)
                for name in (word, bare):
                    by_word.setdefault(name.strip("*_ ").lower(), text)
    return by_word


def meaning(name: str) -> str | None:
    """Return what the glossary says of a setting, or of what a title begins with ("Packed groups: …"), for the question
    mark beside it; ``None`` where it says nothing."""
    word = TERMS.get(name, re.split("[:(,]", name)[0]).strip().lower()
    return meanings()[word] if word in meanings() else None  # noqa: SIM401 - see tests/pages/labels.py


@st.fragment
def words(page: str) -> None:
    """Draw the button that opens the words of a page; each paragraph of the glossary stands there once."""
    terms = WORDS.get(page, ())
    paragraphs = dict.fromkeys(text for term in terms if (text := meanings().get(term.lower())))
    if not paragraphs:
        return
    place = st.popover("Glossary", icon=":material/menu_book:", type="tertiary", key=f"words {page}", on_change="rerun")
    if place.open:
        with place:
            for paragraph in paragraphs:
                st.markdown(paragraph)
