"""What the Roles page remembers beside the schema."""

from dataclasses import dataclass, field

from anonymizer.schema import Schema


@dataclass
class RolesState:
    """How the page looks.

    ``editor``, ``basis``: the schema that the roles table with this widget key started from: its edits are counted from
    there. ``is_table``: the table is drawn in place of the cards. ``acts``: how often columns were given a role, after
    which none is selected; ``opened``: the keys of cards that show all columns. ``reverted``: changes taken back.
    ``is_household``: the person column is said to number households. ``hierarchies``: how many were brought.
    """

    editor: str = ""
    basis: Schema | None = None
    is_table: bool = False
    acts: int = 0
    opened: set[str] = field(default_factory=set)
    reverted: int = 0
    is_household: bool = False
    hierarchies: int = 0
