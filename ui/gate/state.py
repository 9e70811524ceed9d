"""What is open on the page between tree and release."""

from collections.abc import Mapping
from dataclasses import dataclass

from anonymizer.gate.finding import Repair, Several, kind_of
from anonymizer.gate.price import Price
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from ui.workspace import Workspace


@dataclass(frozen=True)
class Change:
    """A repair that was made: the ``figure`` and ``sentence`` of what it closed, and of which ``kinds``; ``place`` on
    the page; ``back``: what takes it back; ``price``: as it was known; ``lost``: the loss of each column before."""

    figure: str
    sentence: str
    kinds: frozenset[str]
    place: int
    repair: Repair
    back: Repair
    price: Price | None
    lost: Mapping[str, float]

    @classmethod
    def of(cls, finding: Several, repair: Repair, place: int, price: Price | None, ws: Workspace) -> "Change | None":
        """Return how a repair will be shown when it is made; ``None`` for one that reads the file again."""
        if repair.missing or ws.schema is None:
            return None
        kinds = frozenset(map(kind_of, finding.findings))
        back = repair.back(ws.schema, ws.settings)
        lost = ws.flow.utility.ncp_by_column if ws.ready("utility") else {}
        return cls(finding.figure, finding.sentence, kinds, place, repair, back, price, lost)

    def holds(self, schema: Schema, settings: Settings) -> bool:
        """Return whether roles and settings are still as the repair left them."""
        if not {name for name, _ in (*self.repair.roles, *self.repair.treats)} <= {one.name for one in schema.columns}:
            return False
        return self.repair.apply(schema, settings) == (schema, settings)


@dataclass
class GateState:
    """``writing``: the key of the finding for which a reason is written; "" for none. ``changes``: repairs made."""

    writing: str = ""
    changes: tuple[Change, ...] = ()
