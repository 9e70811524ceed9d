"""What is chosen on the Forest page, and the forest that was grown."""

from dataclasses import dataclass, field
from typing import Any

from anonymizer.errors import AnonymizerError
from anonymizer.forest.forest import Forest, Measurement


@dataclass(frozen=True)
class Growth:
    """A forest, its accuracy when that was measured, and the SHA-256 of the table that paid for it."""

    sha256: str
    forest: Forest
    measurement: Measurement | None = None


@dataclass
class Codebook:
    """A file of public values: its text and its name."""

    text: str
    name: str


@dataclass
class RuleChoices:
    """Which rules are shown."""

    confidence: float = 0.0
    support: float = 0.0
    label: str = ""
    column: str = ""
    leaves: bool = False


@dataclass
class ForestState:
    """What a private forest is asked for, and what came of it.

    ``target``, ``columns``: ``None`` for what is usual. ``accepted``: the columns whose values, read from the records,
    the steward accepts as public. ``codebook``: the file in use; ``codebooks``: how many were brought. ``limit``: most
    that may be spent. ``measure``: hold a part out; ``cuts``: buy cut points. ``grown`` and ``problem``: the outcome of
    the last order. ``panel``: what is seen of it; ``rules``: which of its rules.
    ``tree``, ``levels``: the tree drawn; ``node``: the picked one, with its tree. ``points_for``, ``charts``: the class
    whose points are drawn, of so many columns. ``audit_classes``:
    classes of the tables of an audit.
    """

    target: str | None = None
    columns: tuple[str, ...] | None = None
    mode: str = "strict"
    epsilon: float = 1.0
    trees: int = 1
    depth: int = 5
    accepted: Any = None
    codebook: Codebook | None = None
    codebooks: int = 0
    limit: float = 3.0
    audit_classes: int = 8
    measure: bool = False
    cuts: bool = False
    grown: Growth | None = None
    problem: AnonymizerError | None = None
    panel: str = "Picture"
    rules: RuleChoices = field(default_factory=RuleChoices)
    tree: int = 1
    levels: int = 3
    node: tuple[int, int] | None = None
    points_for: str = ""
    charts: int = 6
    pasted: str = ""
