"""What is chosen and written on the Release page beside the settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class ReleaseState:
    """``people``: which people stand side by side, a seed. ``reason``: why a release that fails a check may leave.
    ``statement``: what the steward wrote for the reports, by field; ``approvers``: names, separated by commas."""

    people: int = 0
    reason: str = ""
    statement: dict[str, str] = field(default_factory=dict)
    approvers: str = ""

    @property
    def words(self) -> dict[str, str]:
        """What the steward wrote for the reports, by field, as a project keeps it; empty fields are left out."""
        return {name: text for name, text in {**self.statement, "approvers": self.approvers}.items() if text}

    def fill(self, words: Mapping[str, str]) -> None:
        """Take over what a project keeps."""
        self.statement = {name: text for name, text in words.items() if name != "approvers"}
        self.approvers = words.get("approvers", "")
