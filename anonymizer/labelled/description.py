"""What a codebook says of a column, as it stands there."""

from dataclasses import dataclass

REMEDY = (
    "Use a DDI-Codebook (XML), a Frictionless Table Schema or Data Package (JSON), or a CSV with the columns name, "
    "label, role, kind and domain."
)
MOST_COLUMNS = 100_000


@dataclass(frozen=True)
class Description:
    """What a codebook says of one column, nothing of it believed yet: "" and empty where it says nothing.

    ``role``, ``kind``: words; ``levels``: each value and what it means, in their order; ``ends``: lowest and highest;
    ``missing``: values that mean missing. ``from_data``: its levels or ends were read from a table, so that they
    are not public.
    """

    name: str
    label: str = ""
    role: str = ""
    kind: str = ""
    levels: tuple[tuple[str, str], ...] = ()
    ends: tuple[str, ...] = ()
    ordered: bool = False
    missing: tuple[str, ...] = ()
    from_data: bool = False
