"""What is chosen on the Disclosure page."""

from dataclasses import dataclass


@dataclass
class DisclosureState:
    """``source``: which tree is assessed (a key of :data:`ui.disclosure.choices.SOURCES`); ``measure``, ``depth`` and
    ``fewest``: how a multiway tree grows; ``file``: the tree that was brought, with its name. ``rates``, ``totals``,
    ``rule``: what the adversary knows. ``confidence``: from which posterior on somebody counts as exposed; ``bound``:
    the highest posterior allowed; ``node``: the picked one."""

    source: str = "groups"
    measure: str = "gini"
    depth: int = 3
    fewest: int = 10
    rates: bool = True
    totals: bool = False
    rule: bool = False
    confidence: float = 0.9
    bound: float = 0.8
    node: int | None = None
    file: tuple[str, bytes] | None = None
