"""What is chosen on the What-if page beside the settings."""

from dataclasses import dataclass, field

import pandas as pd

from anonymizer.population.sample import WHOLE, Population


@dataclass
class WhatIfState:
    """``view``: the one that is open. ``policy``: whose highest risk is accepted, or ``own_risk``. ``column``: whose
    loss is drawn. ``loss``, ``risk``: the axes of the frontier; ``kinds_risk``: that of kinds of release;
    ``curves``: how often its curves were other ones.
    ``row``: the person to begin with; ``columns``: those known about the person, the first two when ``None``.
    ``extent``: how the size of the population is told; ``one_in``: one person in so many is in the table; ``people``,
    ``people_name``: a table of the population; ``population``: all this, as figures read it. ``riskiest_by``: why a
    record is risky.
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
    extent: str = "everybody"
    one_in: int = 20
    people: pd.DataFrame | None = field(default=None, repr=False)
    people_name: str = ""
    population: Population = WHOLE
    riskiest_by: str = "score"
