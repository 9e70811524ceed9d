"""The pages that are made from the code: ``docs/API.md`` and what the cells of ``docs/walk.ipynb`` print.

``python run.py docs`` writes them; a test says when they are no longer what it would write.
"""

import ast
import inspect
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anonymizer
from anonymizer import api as names

DOCS = Path(__file__).resolve().parent
SIGN = "\f\n"
"""Printed between two cells, to tell what belongs to which."""

SECTIONS = (
    ("The flow, step by step", inspect.isfunction),
    ("What the steps take and give", lambda thing: inspect.isclass(thing) and not issubclass(thing, Exception)),
    ("Errors", lambda thing: inspect.isclass(thing) and issubclass(thing, Exception)),
    ("What there is to choose from", lambda thing: isinstance(thing, Mapping | tuple)),
)
TOP = """# What `import anonymizer` offers

Made from the code by `python run.py docs`: change the docstrings, not this page. Words are explained in the
[glossary](GLOSSARY.md).
"""


def main() -> None:
    """Write every page."""
    (DOCS / "API.md").write_text(api(), "utf-8")
    path = DOCS / "walk.ipynb"
    path.write_text(walked(json.loads(path.read_text("utf-8"))), "utf-8")


def api() -> str:
    """Return the page of all public names, in sections."""
    things = {name: getattr(names, name) for name in anonymizer.__all__ if not name.startswith("_")}
    parts = [TOP]
    for title, belongs in SECTIONS:
        parts.append(f"## {title}\n")
        parts += [entry(name, thing) for name, thing in things.items() if belongs(thing)]
    parts.append(described((names.__doc__ or "").partition("\n\n")[2]))
    return "\n".join(parts)


def entry(name: str, thing: Any) -> str:
    """Return what the page says of one name."""
    if isinstance(thing, Mapping):
        return f"### {name}\n\n" + "".join(f"- `{key}`: {first_sentence(value)}\n" for key, value in thing.items())
    if isinstance(thing, tuple):
        return f"### {name}\n\n" + ", ".join(f"`{key}`" for key in thing) + "\n"
    text = f"### {name}\n\n```python\n{declaration(thing)}\n```\n\n{described(inspect.getdoc(thing) or '')}\n"
    return text + (members(thing) if inspect.isclass(thing) else "")


def described(text: str) -> str:
    """Return a docstring as Markdown, its example as code."""
    words, sign, example = text.partition(">>> ")
    return linked(words) + (f"```pycon\n{sign}{example.strip()}\n```\n" if sign else "")


def members(kind: type) -> str:
    """Return a line for each public property and method that a class defines."""
    lines = []
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            lines.append(f"- `{name}`: {first_sentence(member)}")
        elif inspect.isfunction(function := getattr(member, "__func__", member)):
            lines.append(f"- `{on_one_line(declaration(function))}`: {first_sentence(function)}")
    return "\n".join(["", *lines, ""]) if lines else ""


def first_sentence(thing: Any) -> str:
    """Return the first paragraph of a docstring, or the title of a value that has one."""
    text = getattr(thing, "title", "") or inspect.getdoc(thing) or ""
    return linked(" ".join(text.partition("\n\n")[0].split()))


def declaration(thing: Any) -> str:
    """Return how the source declares a thing: the head of a function, or a class with its fields."""
    text = re.sub(r"  # noqa.*", "", textwrap.dedent(inspect.getsource(thing)))
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.FunctionDef | ast.ClassDef)
    head = "\n".join(text.splitlines()[tree.lineno - 1 : tree.body[0].lineno - 1])
    fields = [line for line in tree.body if isinstance(line, ast.AnnAssign | ast.Assign)]
    if isinstance(tree, ast.ClassDef) and fields:
        return "\n    ".join([head, *(ast.get_source_segment(text, field) or "" for field in fields)])
    return head.removesuffix(":")


def on_one_line(head: str) -> str:
    """Return the head of a method without ``def`` and the first argument."""
    text = " ".join(head.split()).removeprefix("def ").replace("( ", "(").replace(", )", ")")
    return re.sub(r"\((?:self|cls)(?:, )?", "(", text, count=1)


def linked(text: str) -> str:
    """Return a docstring as Markdown: names of the page lead to their entry."""

    def link(match: re.Match[str]) -> str:
        name = match[1].lstrip("~").rpartition(".")[2]
        return f"[`{name}`](#{name.lower()})" if name in anonymizer.__all__ else f"`{name}`"

    return re.sub(r":\w+:`([^`]+)`", link, text).replace("``", "`")


def walked(notebook: dict[str, Any]) -> str:
    """Return the notebook as text, with what its cells print now; they run in order, in one process of their own."""
    again = [dict(cell) for cell in notebook["cells"]]
    cells = [cell for cell in again if cell["cell_type"] == "code"]
    program = f"print({SIGN!r}, end='')\n".join("".join(cell["source"]) + "\n" for cell in cells)
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=DOCS.parent, capture_output=True, text=True, encoding="utf-8", check=True
    )
    for place, (cell, printed) in enumerate(zip(cells, answer.stdout.split(SIGN), strict=True), start=1):
        cell |= {"execution_count": place, "outputs": outputs(printed)}
    return json.dumps({**notebook, "cells": again}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def outputs(text: str) -> list[dict[str, Any]]:
    """Return what a cell printed in the notebook's form."""
    lines = text.splitlines(keepends=True)
    return [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []


if __name__ == "__main__":
    main()
