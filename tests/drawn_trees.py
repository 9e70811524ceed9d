"""Trees to draw and to explain, of classes and of numbers; and what stands on a drawing."""

from functools import cache
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from anonymizer.drawing.draw import dot
from anonymizer.groups.risk import NodeRisk, annotate
from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.grow import grow
from anonymizer.growing.tree import Tree
from anonymizer.schema import Schema

SVG = "{http://www.w3.org/2000/svg}"

HOSTILE = [
    'a"];evil [shape=circle',
    "back\\slash\\",
    "\\\\ two\\\\\\ \\",
    "\\N \\G \\E \\n \\l",
    "<script>alert(1)</script>",
    "<b>bold</b>&lt;i&gt;&#x202e;&amp;",
    "{x|y}",
    "\x00\x01\t\nline",
    "\u202eright to left",
    "שלום עולם",
    "👩‍👩‍👧 emoji",
    "]]><svg onload=alert(1)>",
    "\ud800 lone",
    "javascript:alert(1)",
    "\u2028\ufffe",
    "=1+1",
    "x" * 300,
]
"""Text that a drawing must show and do nothing else with."""


def table(n: int = 400, seed: int = 5) -> tuple[pd.DataFrame, Schema]:
    """Numbers with gaps, categories, dates and three classes that follow them, somewhat."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n).astype(float)
    age[rng.random(n) < 0.1] = np.nan
    job = rng.choice(list("abcdefg"), n)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    score = np.nan_to_num(age, nan=90) / 80 + (job < "d") + rng.normal(0, 0.4, n)
    frame = pd.DataFrame({"age": age, "job": job, "day": day, "illness": np.digitize(score, [0.8, 1.4]).astype(str)})
    return frame, Schema.of(frame, quasi_identifying=["age", "job", "day"], sensitive=["illness"])


@cache
def grown_tree() -> tuple[EncodedTable, Tree, NodeRisk]:
    """A tree on three classes."""
    frame, schema = table()
    encoded = encode(frame, schema)
    tree = grow(encoded, min_leaf=2)
    return encoded, tree, annotate(tree, encoded)


@cache
def numbers_tree() -> tuple[EncodedTable, Tree, NodeRisk]:
    """A tree on two numeric sensitive columns, their values scaled to 0 to 1, and a date that is sensitive too."""
    frame, _ = table()
    frame["income"] = 1000 + 40 * frame["age"].fillna(50) + np.random.default_rng(2).normal(0, 400, len(frame))
    schema = Schema.of(frame, quasi_identifying=["age", "job"], sensitive=["income", "day"])
    encoded = encode(frame, schema)
    tree = grow(encoded, "sse", 2)
    return encoded, tree, annotate(tree, encoded)


def draw_tree(grown, **choices) -> str:
    encoded, tree, risk = grown
    return dot(tree, risk, encoded.encodings, encoded.target.labels, **choices)


def nodes_in(drawing: str) -> dict[int, str]:
    """Node number -> all text on it, of an SVG."""
    texts = {}
    for group in ElementTree.fromstring(drawing).iter(f"{SVG}g"):
        if "node" in group.get("class", "").split():
            texts[int(group.get("id")[1:])] = "\n".join(text.text or "" for text in group.iter(f"{SVG}text"))
    return texts
