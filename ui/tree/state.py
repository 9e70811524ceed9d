"""What is chosen on the Tree page beside the settings."""

from dataclasses import dataclass


@dataclass
class TreeState:
    """How the tree is looked at.

    ``view``: how (a key of :data:`ui.tree.choices.VIEWS`); ``what``: the part that nodes and edges show (a key of
    :data:`ui.tree.choices.PARTS`); ``colour``: by which figure; ``about``: of which sensitive column, "" for the
    target; ``depth``: levels unfolded; ``after``: pruning steps done; ``node``: the picked one; ``turn``: how many of
    its rows were shown before this one; ``focus``: the one looked closer at.
    """

    view: str = "map"
    what: str = "both"
    colour: str = ""
    depth: int = 3
    after: int = 0
    node: int | None = None
    focus: int | None = None
    about: str = ""
    turn: int = 0
