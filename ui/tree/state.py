"""What is chosen on the Tree page beside the settings."""

from dataclasses import dataclass


@dataclass
class TreeState:
    """How the tree is looked at.

    ``what``: the part that is drawn (a key of :data:`ui.tree.choices.VIEWS`); ``colour``: by which figure; ``depth``:
    levels unfolded; ``after``: pruning steps done; ``node``: the picked one; ``focus``: the one looked closer at.
    """

    what: str = "both"
    colour: str = ""
    depth: int = 4
    after: int = 0
    node: int | None = None
    focus: int | None = None
