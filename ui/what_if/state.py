"""What is chosen on the What-if page beside the settings."""

from dataclasses import dataclass


@dataclass
class WhatIfState:
    """``view``: the one that is open. ``policy``: whose highest risk is accepted, or ``own_risk``. ``column``: whose
    loss is drawn. ``loss``, ``risk``: the axes of the frontier; ``kinds_risk``: that of kinds of release;
    ``curves``: how often its curves were other ones.
    ``row``: the person to begin with; ``columns``: those known about the person, the first two when ``None``.
    """

    view: str = ""
    policy: str = ""
    own_risk: float = 0.1
    column: str = ""
    loss: str = ""
    risk: str = ""
    kinds_risk: str = ""
    curves: int = 0
    row: int = 1
    columns: tuple[str, ...] | None = None
