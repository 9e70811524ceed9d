"""Records to grow private forests on, and forests with repeatable noise."""

from typing import Any

import numpy as np

from anonymizer.forest.domains import Attribute, CodedTable, Domains
from anonymizer.forest.forest import Forest, grow_forest
from anonymizer.forest.mechanisms import RehearsalNoise


def sample(n: int = 3000, seed: int = 0, widths: tuple[int, ...] = (3, 2, 4, 2)) -> CodedTable:
    """Return records whose class follows their first two attributes, mostly."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, width, n) for width in widths]).astype(np.uint16)
    signal = (codes[:, 0] + codes[:, 1]) % 3
    classes = np.where(rng.random(n) < 0.9, signal, rng.integers(0, 3, n)).astype(np.uint16)
    attributes = tuple(
        Attribute(f"q{place}", tuple(f"v{value}" for value in range(width))) for place, width in enumerate(widths)
    )
    return CodedTable(Domains(attributes, Attribute("class", ("a", "b", "c"))), codes, classes)


def rehearse(mode: str = "strict", epsilon: float = 1.0, seed: int = 0, **parameters: Any) -> Forest:
    """Return a forest of the sample with repeatable noise."""
    return grow_forest(sample(), epsilon, mode=mode, noise=RehearsalNoise(np.random.default_rng(seed)), **parameters)
