"""What is chosen and written on the Release page beside the settings."""

from dataclasses import dataclass, field


@dataclass
class ReleaseState:
    """``people``: which people stand side by side, a seed. ``reason``: why a release that fails a check may leave.
    ``statement``: what the steward wrote for the reports, by field; ``approvers``: names, separated by commas."""

    people: int = 0
    reason: str = ""
    statement: dict[str, str] = field(default_factory=dict)
    approvers: str = ""
