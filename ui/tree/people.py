"""The map of people on the page: boxes as wide as the people in them, picked by click or keyboard.

An inline component lays :class:`anonymizer.drawing.people_map.PeopleMap` out in the browser, where text becomes text
nodes, never HTML.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from anonymizer.drawing.dot import THEMES
from anonymizer.drawing.leaving import Leaving
from anonymizer.drawing.people_map import PeopleMap
from anonymizer.drawing.shades import Shade
from anonymizer.growing.tree import Tree
from ui.controls import plural
from ui.session import widget_state
from ui.tree_view import node_of

HERE = Path(__file__).parent
HTML = """
<div class="canvas">
  <div class="stage" tabindex="0" role="tree" aria-label="Map of people"></div>
  <div class="bar" role="toolbar" aria-label="View of the map">
    <span class="step"></span>
    <button type="button" data-do="open" title="Draw only what is below the picked box (O)">Look closer</button>
    <button type="button" data-do="play" title="See the groups merge, step by step">▶ Play</button>
  </div>
  <div class="legend"></div>
  <div class="live" aria-live="polite"></div>
</div>
"""
LOOKS = {
    "map": lambda groups: [{"caption": "", "after": None, "hides": False}],
    "beside": lambda groups: [
        {"caption": "As grown", "after": 0, "hides": False},
        {"caption": f"As released: {groups}", "after": None, "hides": True},
    ],
}
"""The drawings of each view, from top to bottom: caption, pruning steps where they are fixed, and whether what was
merged is left out."""

_mount = st.components.v2.component(
    "copse_people",
    html=HTML,
    css=(HERE / "people.css").read_text("utf-8"),
    js=(HERE / "people.js").read_text("utf-8"),
)


def people(
    people_map: PeopleMap,
    stripes: Leaving | None,
    tree: Tree,
    node: int | None,
    after: int,
    shades: Sequence[Shade],
    *,
    title: str,
    groups: str,
    view: str,
    theme: str,
    key: str,
    on_pick: Callable[[int], None],
    on_open: Callable[[int], None],
) -> None:
    """Draw a map after so many pruning steps, and below it the groups that leave, where these are known.

    ``title``: what colours say, with their ``shades``; ``groups``: how many there are, in words; ``view``: a key of
    :data:`LOOKS`. ``on_pick`` and ``on_open`` get the node that was clicked, or double-clicked to look closer.
    """
    n_nodes = tree.n_nodes  # Streamlit keeps callbacks for long, so they hold no tree

    def report(what: str, tell: Callable[[int], None]) -> Callable[[], None]:
        def change() -> None:
            clicked = node_of(widget_state(key), what, n_nodes)
            if clicked is not None:
                tell(clicked)

        return change

    data: dict[str, Any] = {
        "map": people_map.payload(),
        "stripes": [] if stripes is None else stripes.payload(),
        "leaving": "" if stripes is None else f"What leaves: {plural(stripes.groups, 'group')} of look-alikes",
        "views": LOOKS[view](groups),
        "after": after,
        "picked": node,
        "path": [] if node is None else tree.path(node),
        "palette": palette(theme, shades),
        "legend": [{"colour": shade.colour, "text": shade.text} for shade in shades],
        "title": title,
    }
    _mount(
        key=key, data=data, on_picked_change=report("picked", on_pick), on_opened_change=report("opened", on_open),
    )  # fmt: skip


def palette(theme: str, shades: Sequence[Shade]) -> dict[str, Any]:
    """Return the colours of a map: of the page, of lines, and of each shade by its number."""
    colours = THEMES[theme]
    of_classes = any(shade.level == 0 for shade in shades)
    names = [f"class{rank}" for rank in range(4)] if of_classes else ["1", *map(str, range(1, 6))]
    return {"page": colours["page"], "line": colours["line"], "shades": [colours[name] for name in names]}
