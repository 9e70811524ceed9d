"""What the steward chose beside the schema: one frozen value, so that answers can be kept under it."""

from dataclasses import dataclass, replace
from typing import Any

from anonymizer.grouping import Recipe, recipe_of

WITH_SHARED_RECORDS = ("sets", "concatenate", "range")
"""Ways to write cells that do not count, so they suit boxes that share records."""

LIMITS_OFF = dict.fromkeys(("l", "entropy_l", "t", "rsd_min", "spread_min", "significance"))
"""Every limit beside k switched off."""


@dataclass(frozen=True)
class Parameters:
    """What the steward chose, beside the schema. ``criterion``: how the tree grows, ``None`` for what suits the
    target. ``k`` and the limits on sensitive columns, ``None`` when off: see :class:`anonymizer.limits.Limits`.

    The limits say which linking risk is accepted of each kind of attacker: at most one chance in so many.
    """

    k: int = 10
    grouping: str = "least"
    generalizer: str = "uniform"
    writing: str = "sets"
    numbers: str = "range"
    criterion: str | None = None
    min_leaf: int = 2
    max_depth: int | None = None
    weight: float = 0.5
    l: float | None = None  # noqa: E741
    entropy_l: float | None = None
    t: float | None = None
    rsd_min: float | None = None
    spread_min: float | None = None
    significance: float | None = None
    tested: str = "inner"
    prosecutor_limit: int = 10
    journalist_limit: int = 10
    marketer_limit: int = 20

    def changed(self, **changes: Any) -> "Parameters":
        """Other parameters; cells that would count people twice, as boxes share records, are written as usual."""
        new = replace(self, **changes)
        if new.generalizer != "tiered":
            return new
        usual = {"writing": "sets", "numbers": "range"}
        return replace(new, **{k: v for k, v in usual.items() if getattr(new, k) not in WITH_SHARED_RECORDS})

    @property
    def limited(self) -> bool:
        """Whether any limit beside k is on."""
        return any(getattr(self, name) is not None for name in LIMITS_OFF)

    @property
    def recipe(self) -> Recipe:
        """All that the tree depends on."""
        growth = {name: getattr(self, name) for name in ("criterion", "min_leaf", "max_depth", "weight")}
        return recipe_of(self.grouping, self.k, **growth)
