"""A picture of plain SVG shapes as a drawing of a PDF: groups, paths, polygons, lines, ellipses and text, no more."""

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:e-?[0-9]+)?")
STEP = re.compile(r"([MLCZ])([^MLCZ]*)", re.IGNORECASE)
TRANSFORM = re.compile(r"(scale|rotate|translate)\(([^)]*)\)")
WITHOUT = ("none", "transparent")


def drawing_of(svg: str, width: float, height: float, font: str, printable: Callable[[str], str]) -> Any:
    """Return the picture as a reportlab drawing at most ``width`` by ``height`` points. ``font``: a registered one;
    ``printable``: gives what of a text it has letters for."""
    from reportlab.graphics.shapes import Drawing, Group

    root = ElementTree.fromstring(svg)
    left, top, wide, high = map(float, NUMBER.findall(root.get("viewBox", "0 0 100 100")))
    scale = min(width / wide, height / high, 1.0)
    drawing = Drawing(wide * scale, high * scale)
    page = Group(transform=(scale, 0, 0, -scale, -left * scale, (high + top) * scale))
    _add(page, root, font, printable)
    drawing.add(page)
    return drawing


def _add(group: Any, element: ElementTree.Element, font: str, printable: Callable[[str], str]) -> None:
    """Add the children of an element to a group of shapes."""
    from reportlab.graphics.shapes import Ellipse, Group, Polygon, PolyLine

    for child in element:
        name = child.tag.rpartition("}")[2]
        if name == "g":
            inner = Group(transform=_matrix(child.get("transform", "")))
            _add(inner, child, font, printable)
            group.add(inner)
        elif name == "polygon":
            group.add(Polygon(_numbers(child.get("points")), **_look(child)))
        elif name == "polyline":
            group.add(PolyLine(_numbers(child.get("points")), **{**_look(child), "fillColor": None}))
        elif name == "ellipse":
            x, y, wide, high = (float(child.get(key, "0")) for key in ("cx", "cy", "rx", "ry"))
            group.add(Ellipse(x, y, wide, high, **_look(child)))
        elif name == "path":
            group.add(_path(child))
        elif name == "text":
            group.add(_text(child, font, printable))


def _matrix(text: str) -> tuple[float, ...]:
    """Return the matrix of the transforms that graphviz writes."""
    from reportlab.graphics.transform import mmult, nullTransform, rotate, scale, translate

    matrix: Any = nullTransform()
    for name, arguments in TRANSFORM.findall(text):
        values = _numbers(arguments)
        x, y = values[0], values[-1] if len(values) > 1 else (values[0] if name == "scale" else 0.0)
        step = {"scale": scale(x, y), "translate": translate(x, y), "rotate": rotate(x)}[name]
        matrix = mmult(matrix, step)
    return tuple(matrix)


def _numbers(text: str | None) -> list[float]:
    return [float(number) for number in NUMBER.findall(text or "")]


def _look(element: ElementTree.Element) -> dict[str, Any]:
    """Return fill and line of a shape, as reportlab names them."""
    from reportlab.lib.colors import toColor

    fill, line = element.get("fill", "black"), element.get("stroke", "none")
    look: dict[str, Any] = {
        "fillColor": None if fill in WITHOUT else toColor(fill),
        "strokeColor": None if line in WITHOUT else toColor(line),
        "strokeWidth": float(element.get("stroke-width", "1")),
    }
    if dashes := _numbers(element.get("stroke-dasharray")):
        look["strokeDashArray"] = dashes
    return look


def _path(element: ElementTree.Element) -> Any:
    from reportlab.graphics.shapes import Path

    path = Path(autoclose="svg", **_look(element))
    for step, arguments in STEP.findall(element.get("d", "")):
        values = _numbers(arguments)
        if step == "M":
            path.moveTo(*values[:2])
            values = values[2:]
        if step in "ML":
            for at in range(0, len(values) - 1, 2):
                path.lineTo(*values[at : at + 2])
        elif step == "C":
            for at in range(0, len(values) - 5, 6):
                path.curveTo(*values[at : at + 6])
        else:
            path.closePath()
    return path


def _text(element: ElementTree.Element, font: str, printable: Callable[[str], str]) -> Any:
    """Return a text, turned over: a picture counts downwards, a page upwards."""
    from reportlab.graphics.shapes import Group, String
    from reportlab.lib.colors import toColor

    fill = element.get("fill", "black")
    string = String(
        0, 0, printable(element.text or ""), fontName=font, fontSize=float(element.get("font-size", "11")),
        fillColor=toColor(fill), textAnchor=element.get("text-anchor", "start"),
    )  # fmt: skip
    group = Group(transform=(1, 0, 0, -1, float(element.get("x", "0")), float(element.get("y", "0"))))
    group.add(string)
    return group
