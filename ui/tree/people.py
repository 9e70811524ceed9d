"""The map of people on the page: boxes as wide as the people in them, picked by click or keyboard.

An inline component lays :class:`anonymizer.drawing.people_map.PeopleMap` out in the browser, where text becomes text
nodes, never HTML.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from anonymizer.drawing.dot import THEMES
from anonymizer.drawing.leaving import RANGES, Leaving
from anonymizer.drawing.people_map import MapStates, PeopleMap
from anonymizer.drawing.shades import LEVELS, Shade
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
    <button type="button" data-do="open" title="Draw only what is below the box (O)">Zoom into this branch</button>
    <button type="button" data-do="play" title="See the groups merge, step by step">▶ Play</button>
  </div>
  <div class="legend"></div>
  <div class="live" aria-live="polite"></div>
</div>
"""
LOOKS = {
    "map": [{"caption": "", "after": None, "hides": False}],
    "beside": [
        {"caption": "As grown", "after": 0, "hides": False},
        {"caption": "As released", "after": None, "hides": True},
    ],
}
"""The drawings of each view, from top to bottom: caption, pruning steps where they are fixed, and whether what was
merged is left out, in which case the caption goes on with how many groups there are."""

_mount = st.components.v2.component(
    "copse_people",
    html=HTML,
    css=(HERE / "people.css").read_text("utf-8"),
    js=(HERE / "people.js").read_text("utf-8"),
)


def people(
    boxes: PeopleMap,
    states: MapStates,
    stripes: Leaving | None,
    tree: Tree,
    node: int | None,
    pin: int,
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
    """Draw a map with its boxes in their states after so many pruning steps, and below it the released groups, where
    these are known.

    ``pin``: the stripe of the row that is shown, -1 for none; ``title``: what colours say, with their ``shades``;
    ``groups``: how many there are, in words; ``view``: a key of :data:`LOOKS`. ``on_pick`` and ``on_open`` get the node
    that was clicked, or double-clicked to look closer.
    """
    n_nodes = tree.n_nodes  # Streamlit keeps callbacks for long, so they hold no tree

    def report(what: str, tell: Callable[[int], None]) -> Callable[[], None]:
        def change() -> None:
            clicked = node_of(widget_state(key), what, n_nodes)
            if clicked is not None:
                tell(clicked)

        return change

    moves = {
        **states.payload(),
        "stripes": [] if stripes is None else stripes.payload(),
        "leaving": "" if stripes is None else plural(stripes.groups, "released group"),
        "groups": groups,
    }
    data: dict[str, Any] = {
        "boxes": boxes.text,
        "look": json.dumps({"views": LOOKS[view], "palette": palette(theme, shades)}),
        "moves": json.dumps(moves, separators=(",", ":")),
        "after": after,
        "picked": node,
        "pin": pin,
        "path": [] if node is None else tree.path(node),
        "legend": legend_of(shades, stripes, theme),
        "title": title_of(title, shades, stripes),
    }
    _mount(
        key=key, data=data, on_picked_change=report("picked", on_pick), on_opened_change=report("opened", on_open),
    )  # fmt: skip


def title_of(title: str, shades: Sequence[Shade], stripes: Leaving | None) -> str:
    """Return what the colours say, and what is counted beside them."""
    if stripes is not None and stripes.ranges:
        return f"Narrowest range of {stripes.number} for 8 in 10 of a group; rows"
    counted = stripes is not None and any(shade.level in stripes.records for shade in shades if shade.level)
    return f"{title}; rows" if counted else title


def legend_of(shades: Sequence[Shade], stripes: Leaving | None, theme: str) -> list[dict[str, str]]:
    """Return each colour with what it says, and how many released records have it, where that is known."""
    if stripes is None:
        return [{"colour": shade.colour, "text": shade.text} for shade in shades]
    steps = [(shade.level, shade.colour, shade.text) for shade in shades]
    if stripes.ranges:
        steps = [(RANGES + at, THEMES[theme][f"range{at}"], text) for at, text in enumerate(stripes.ranges, 1)]
    levels = {level for level, _, _ in steps if level} & set(stripes.records)
    return [
        {"colour": colour, "text": f"{text}: {stripes.records.get(level, 0):,}" if levels else text}
        for level, colour, text in steps
    ]


def palette(theme: str, shades: Sequence[Shade]) -> dict[str, Any]:
    """Return the colours of a map: of the page, of lines, and of each shade by its number."""
    colours = THEMES[theme]
    of_classes = any(shade.level == 0 for shade in shades)
    names = [f"class{rank}" for rank in range(4)] if of_classes else ["1", *map(str, range(1, LEVELS + 2))]
    same: dict[str, Any] = {name: colours[name] for name in ("page", "line", "deep")}
    same["ranges"] = {RANGES + at: colours[f"range{at}"] for at in range(1, LEVELS + 2)}
    return same | {"shades": [colours[name] for name in names]}
