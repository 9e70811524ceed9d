"""Layout: hostile text stays text, nothing foreign passes."""

import gc
import os
import weakref
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

from anonymizer.drawing import svg as svg_module
from anonymizer.drawing.draw import dot
from anonymizer.drawing.svg import DrawError, svg
from anonymizer.drawing.words import visible_text
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.schema import Schema
from tests.drawn_trees import HOSTILE, SVG, nodes_in


@pytest.mark.parametrize("text", HOSTILE)
def test_svg__hostile_text_is_shown_and_does_nothing_else(text: str) -> None:
    name = text.replace("\ud800", "")
    frame = pd.DataFrame({name: [name, "other"] * 6, "class": [name, "no"] * 6})
    schema = Schema.of(frame, quasi_identifying=[name], sensitive=["class"])
    encoded = encode(frame, schema)
    tree = grow(encoded)
    assert tree.n_nodes == 3
    drawing = svg(dot(tree, annotate(tree, encoded), encoded.encodings, encoded.target.labels))
    root = ElementTree.fromstring(drawing)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", *svg_module._ELEMENTS, "title"}
    assert {name for element in root.iter() for name in element.attrib} <= {*svg_module._ATTRIBUTES, "font-family"}
    assert len(nodes_in(drawing)) == 3
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert len(titles) == 3
    assert all(visible_text(name) in title for title in titles)


def test_svg__keeps_no_drawing_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory in which graphviz works would keep labels of records that were forgotten."""
    monkeypatch.setenv("PATH", "")
    graphviz, memories = svg_module._graphviz(), []
    real = type(graphviz)._create_session

    def session(*of: Any) -> Any:
        made = real(*of)
        memories.append(weakref.ref(made))
        return made

    monkeypatch.setattr(type(graphviz), "_create_session", session)
    assert svg("digraph { a }") != svg("digraph { b }")
    gc.collect()
    assert [memory() for memory in memories] == [None, None]


def test_svg__foreign_elements_and_links_are_dropped() -> None:
    source = 'digraph { a [URL="javascript:alert(1)", tooltip="t", label="go", image="/etc/passwd"] }'
    drawing = svg(source)
    assert "javascript" not in drawing
    assert "href" not in drawing
    assert "image" not in drawing
    assert "go" in drawing


PROGRAM = """#!/bin/sh
cat > "$0.source"
echo "$*" > "$0.options"
echo '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>x</script><g id="n1" class="node"/></svg>'
exit STATUS
"""


def install_dot(monkeypatch: pytest.MonkeyPatch, folder: Path, status: int) -> None:
    """Have the one program ``dot`` on the path: it keeps what it is told, and ends with a status."""
    program = folder / "dot"
    program.write_text(PROGRAM.replace("STATUS", str(status)), "utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.skipif(os.name != "posix", reason="the program is a script of the shell")
def test_svg__an_installed_dot_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_dot(monkeypatch, tmp_path, 0)
    monkeypatch.setattr(svg_module, "_graphviz", lambda: pytest.fail("it was not needed"))
    assert svg("digraph { é }") == f'<svg xmlns="{svg_module.SVG}" viewBox="0 0 1 1"><g id="n1" class="node" /></svg>'
    assert (tmp_path / "dot.source").read_text("utf-8") == "digraph { é }"
    assert (tmp_path / "dot.options").read_text("utf-8") == "-Kdot -Tsvg\n"


@pytest.mark.skipif(os.name != "posix", reason="the program is a script of the shell")
def test_svg__a_dot_that_fails_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_dot(monkeypatch, tmp_path, 1)
    assert "n1" not in svg("digraph { a }")
    assert (tmp_path / "dot.source").exists()


def test_svg__says_when_there_is_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ImportError("no")

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(svg_module, "_graphviz", broken)
    with pytest.raises(DrawError, match="could not be laid out"):
        svg("digraph { a }")
