"""Small tables with a class to disclose, and trees grown on them."""

import numpy as np
import pandas as pd

from anonymizer.disclosure.constraints import GrowingRule
from anonymizer.disclosure.multiway import grow_multiway
from anonymizer.disclosure.outline import KeyedTree, keys_of, lay_keys, outline_of
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.schema import Schema


def table_of(seed: int, n: int = 60, classes: int = 3, missing: bool = False) -> pd.DataFrame:
    """Return two letters and a number, and a class that follows them half of the time."""
    rng = np.random.default_rng(seed)
    a, b, x = rng.integers(0, 3, n), rng.integers(0, 4, n), rng.integers(0, 8, n)
    y = (a + (x > 4) + rng.integers(0, classes, n) * (rng.random(n) < 0.5)) % classes
    numbers = x.astype(float)
    if missing:
        numbers[rng.random(n) < 0.15] = np.nan
    letters = np.array(list("pqrs"), dtype=object)
    return pd.DataFrame({"a": letters[a], "b": letters[b], "x": numbers, "y": np.array(list("uvwz"))[y]})


def grow_tree(
    seed: int, splits: str = "multiway", measure: str = "entropy", *, missing: bool = False, **shape: int
) -> tuple[KeyedTree, GrowingRule]:
    """Return a tree with its keys, and the rule by which it was grown."""
    table = table_of(seed, shape.pop("n", 60), shape.pop("classes", 3), missing)
    schema = Schema.of(table, quasi_identifying=["a", "b", "x"], sensitive=["y"])
    encoded = encode(table, schema)
    keys = keys_of(encoded)
    least, depth = shape.get("least", 2), shape.get("depth", 3)
    if splits == "binary":
        outline = outline_of(grow(encoded, measure, least, depth), keys.encodings)
    else:
        outline = grow_multiway(keys, measure, least, depth)
    return lay_keys(outline, keys), GrowingRule(measure, splits, least if splits == "binary" else 1)


TREES = [
    (seed, splits, measure)
    for seed in range(3)
    for splits, measure in [
        ("multiway", "gini"),
        ("multiway", "entropy"),
        ("multiway", "gain-ratio"),
        ("binary", "gini"),
        ("binary", "entropy"),
    ]
]
