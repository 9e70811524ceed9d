"""The pages of the dashboard: the steps to a release in their order, and the pages beside them by what they are for."""

from collections.abc import Collection

import streamlit as st

from ui.controls import PAGES

DOWNLOAD, WRITE_FOLDER = "Release", "Check and write the folder"
"""What is done on the Release page: with a table in memory, and with one in pieces."""

STEPS = (
    ("data", "Data", "Choose a table"),
    ("roles", "Roles", "Say what each column is"),
    ("tree", "Tree", "See which rows are merged, and why"),
    ("gate", "Ready", "See which risks are open"),
    ("release", "Release", DOWNLOAD),
)
"""The way to a release: each page's name, its title, and what is done there."""
SIDE_PAGES = {
    "Explore": (
        ("what_if", "What if", "Compare scenarios"),
        ("evaluate", "Evaluate", "Compare methods under cross-validation"),
    ),
    "Publish a model": (
        ("forest", "Forest", "A private forest instead of a table"),
        ("disclosure", "Disclosure", "What a published tree gives away"),
    ),
    "Check a file": (("verify", "Verify", "Check a released file"),),
}
"""Pages beside the way, by what they are for."""


def pages(done: Collection[str], *, as_folder: bool = False) -> dict[str, list[st.Page]]:
    """Return the pages by section, the steps first. ``done``: the steps that are marked as such; ``as_folder``: a
    release is written as one."""
    icons = {name: f":material/{'check_circle' if name in done else 'radio_button_unchecked'}:" for name, *_ in STEPS}
    other = {"release": WRITE_FOLDER} if as_folder else {}
    return {
        section: [
            st.Page(
                PAGES / f"{name}.py",
                title=title,
                icon=icons.get(name),
                help=other.get(name, explanation),
                default=name == "data",
            )  # fmt: skip
            for name, title, explanation in members
        ]
        for section, members in {"": STEPS, **SIDE_PAGES}.items()
    }
