"""What the Roles page remembers beside the schema."""

from dataclasses import dataclass

from anonymizer.schema import Schema


@dataclass
class RolesState:
    """The schema that the roles table with this widget key started from: its edits are counted from there."""

    editor: str = ""
    basis: Schema | None = None
