"""What is open on the page between tree and release."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from anonymizer.gate.finding import Repair, Several
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.whatif.price import Price
from ui.workspace import Workspace


@dataclass(frozen=True)
class Change:
    """A repair that was made of some findings, ``several``; ``place`` on the page; ``schema``, ``settings``: as they
    were before it; ``price``: as it was known; ``lost``: the loss of each column before."""

    several: Several
    place: int
    repair: Repair
    schema: Schema
    settings: Settings
    price: Price | None
    lost: Mapping[str, float]

    @classmethod
    def of(cls, several: Several, repair: Repair, place: int, price: Price | None, ws: Workspace) -> "Change":
        """Return how a repair will be shown when it is made."""
        assert ws.schema is not None
        lost = ws.flow.utility.ncp_by_column if ws.ready("utility") else {}
        return cls(several, place, repair, ws.schema, ws.settings, price, lost)

    @property
    def after(self) -> tuple[Schema, Settings]:
        """Roles and settings as the repair left them."""
        schema, settings = self.repair.apply(self.schema, self.settings)
        return schema.bare, settings

    def holds(self, schema: Schema, settings: Settings, keep: bool) -> bool:
        """Return whether what the repair changed is still as it left it. ``keep``: groups keep earlier ones."""
        if self.repair.keep not in (None, keep):
            return False
        if not {name for name, _ in (*self.repair.roles, *self.repair.treats)} <= {one.name for one in schema.columns}:
            return False
        return self.repair.apply(schema, settings) == (schema, settings)


@dataclass
class GateState:
    """``writing``: the key of the finding for which a reason is written; "" for none. ``changes``: repairs made;
    ``offers``: repairs on the page, by the key of their button: a button alone would outlive the table."""

    writing: str = ""
    changes: tuple[Change, ...] = ()
    offers: dict[str, Change] = field(default_factory=dict)

    def first(self, schema: Schema, settings: Settings) -> Change | None:
        """Return the first repair, where nothing else was changed since; ``None`` where something was."""
        after = [change.after for change in self.changes]
        before = [(change.schema.bare, change.settings) for change in self.changes[1:]]
        return self.changes[0] if after and after == [*before, (schema.bare, settings)] else None
