"""The tree on the page: zoom, drag, pick a node by click or keyboard, follow its path.

An inline component shows the SVG that was laid out on the server. The SVG comes from
:func:`anonymizer.drawing.svg.svg`, which lets only shapes and escaped text through; the browser parses it as XML,
never as HTML.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from anonymizer.drawing.svg import DrawError, svg
from anonymizer.growing.tree import Tree
from ui.controls import plain
from ui.session import widget_state

HERE = Path(__file__).parent
HTML = """
<div class="bar" role="toolbar" aria-label="View of the tree">
  <button type="button" data-do="in" title="Zoom in (+)">+</button>
  <button type="button" data-do="out" title="Zoom out (−)">−</button>
  <button type="button" data-do="fit" title="Show the whole drawing (0)">Whole tree</button>
  <button type="button" data-do="root" title="Go to the root (Home)">Root</button>
  <button type="button" data-do="picked" title="Go to the picked node (P)">Picked node</button>
  <span class="hint">Drag to move · click, then wheel to zoom · arrows and Enter to pick<span class="opens"
    hidden> · double click opens ▸</span></span>
</div>
<div class="stage" tabindex="0" role="tree" aria-label="Decision tree"></div>
<div class="live" aria-live="polite"></div>
"""

_mount = st.components.v2.component(
    "copse_tree",
    html=HTML,
    css=(HERE / "tree_view.css").read_text("utf-8"),
    js=(HERE / "tree_view.js").read_text("utf-8"),
)


def tree_view(
    source: str,
    tree: Tree,
    node: int | None,
    *,
    key: str,
    on_pick: Callable[[int], None],
    on_open: Callable[[int], None] | None = None,
) -> str | None:
    """Return the SVG of DOT text, drawn as a tree in which nodes can be picked; ``None`` when it could not be laid out.

    ``on_pick`` and ``on_open`` get the node that was clicked, or double-clicked to look closer at its branch; without
    ``on_open`` a folded branch stays folded.
    """
    try:
        drawing = svg(source)
    except DrawError as error:
        st.warning(
            f"{plain(error)} It is drawn by the browser instead: without zoom, and more slowly.", icon=":material/info:"
        )
        st.graphviz_chart(source, use_container_width=True)
        return None

    n_nodes = tree.n_nodes  # Streamlit keeps callbacks for long, so they hold no tree

    def report(what: str, tell: Callable[[int], None]) -> Callable[[], None]:
        def change() -> None:
            clicked = node_of(widget_state(key), what, n_nodes)
            if clicked is not None:
                tell(clicked)

        return change

    path = [] if node is None else tree.path(node)
    _mount(
        key=key,
        data={"svg": drawing, "picked": node, "path": path, "opens": on_open is not None},
        on_picked_change=report("picked", on_pick),
        on_opened_change=report("opened", on_open or on_pick),
    )
    return drawing


def node_of(state: Any, what: str, n_nodes: int) -> int | None:
    """Return the node that the browser named, or ``None`` when that is not a node of this tree."""
    value = None if state is None else dict(state).get(what)
    is_node = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < n_nodes
    return value if is_node else None


def downloads(drawing: str | None, source: str, whole: Callable[[], str]) -> None:
    """Draw buttons that save the drawing as SVG and DOT, and the whole tree, nothing folded, as DOT."""
    look = {"icon": ":material/download:", "on_click": "ignore"}
    with st.container(horizontal=True, vertical_alignment="center"):
        if drawing is not None:
            st.download_button("SVG", drawing, "tree.svg", "image/svg+xml", **look)
        st.download_button("DOT", source, "tree.dot", "text/vnd.graphviz", **look)
        st.download_button("DOT, nothing folded", whole, "whole_tree.dot", "text/vnd.graphviz", **look)
        st.caption("These show counts of your own table, also of groups below k: keep them internal.")
