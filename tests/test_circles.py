"""No circle of imports between modules, nor between rooms; imports for types, and those inside functions, count too."""

import ast
from collections.abc import Mapping

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tests.sources import nodes_of
from tests.test_house_rules import ROOT, list_files

Arrows = Mapping[str, set[str]]
"""What each module, or each room, imports."""


def imports_in(source: str, names: set[str]) -> set[str]:
    """The modules among ``names`` that a source imports, wherever in it."""
    modules = set()
    for node in nodes_of(source, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{alias.name}" for alias in node.names} & names
            modules.update(parts or {node.module})
    return modules & names


def arrows_of(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """What each of some modules imports of the others."""
    return {name: imports_in(source, set(sources)) - {name} for name, source in sources.items()}


def of_rooms(arrows: Arrows) -> dict[str, set[str]]:
    """What each room imports; a module in no room is one of its own."""
    rooms: dict[str, set[str]] = {}
    for name, others in arrows.items():
        room = room_of(name)
        rooms.setdefault(room, set()).update({room_of(other) for other in others} - {room})
    return rooms


def room_of(name: str) -> str:
    """The room of a module: the first folder below the package."""
    return ".".join(name.split(".")[:2])


def circles(arrows: Arrows) -> list[list[str]]:
    """The names that can be reached from each other, circle by circle."""
    names = sorted(arrows)
    pairs = [(names.index(name), names.index(other)) for name in names for other in arrows[name]]
    start, end = np.array(pairs, int).reshape(-1, 2).T
    graph = coo_array((np.ones(len(pairs)), (start, end)), shape=(len(names), len(names)))
    _, number = connected_components(graph, connection="strong")
    groups = [[names[at] for at in np.flatnonzero(number == one)] for one in np.unique(number)]
    return [group for group in groups if len(group) > 1]


@pytest.fixture(scope="module")
def arrows() -> dict[str, set[str]]:
    """What each module of the package and the dashboard imports of the others."""
    files = [name for name in list_files(".py") if name.startswith(("anonymizer/", "ui/", "pages/", "app.py"))]
    names = {name: name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files}
    return arrows_of({names[name]: (ROOT / name).read_text("utf-8") for name in files})


@pytest.mark.parametrize(
    "source",
    [
        "import p.a.one",
        "from p.a import one",
        "from p.a.one import f",
        "def f():\n    from p.a import one",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a.one import F",
    ],
)
def test_a_circle_is_seen__wherever_the_import_stands(source: str) -> None:
    arrows = arrows_of({"p.a.one": "from p.b.two import g", "p.b.two": source, "p.c": "import p.a.one"})
    assert circles(arrows) == [["p.a.one", "p.b.two"]]
    assert circles(of_rooms(arrows)) == [["p.a", "p.b"]]


def test_modules__import_each_other_in_no_circle(arrows: Arrows) -> None:
    assert circles(arrows) == []


def test_rooms__import_each_other_in_no_circle(arrows: Arrows) -> None:
    rooms = of_rooms({name: others for name, others in arrows.items() if name.startswith("anonymizer")})
    assert circles(rooms) == []
