"""What is chosen and written on the Release page beside the settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from anonymizer.errors import AnonymizerError, ParameterError
from anonymizer.provenance.signature import LARGEST, SigningKey


@dataclass
class ReleaseState:
    """``people``: which people stand side by side, a seed. ``reason``: why a release that fails a check may leave.
    ``statement``: what the steward wrote for the reports, by field; ``approvers``: names, separated by commas. ``key``
    that signs packets, or why there is ``no_key``; ``tries``: how often one was opened, part of the widgets' keys."""

    people: int = 0
    reason: str = ""
    statement: dict[str, str] = field(default_factory=dict)
    approvers: str = ""
    key: SigningKey | None = None
    no_key: AnonymizerError | None = None
    tries: int = 0

    @property
    def words(self) -> dict[str, str]:
        """What the steward wrote for the reports, by field, as a project keeps it; empty fields are left out."""
        return {name: text for name, text in {**self.statement, "approvers": self.approvers}.items() if text}

    def fill(self, words: Mapping[str, str]) -> None:
        """Take over what a project keeps."""
        self.statement = {name: text for name, text in words.items() if name != "approvers"}
        self.approvers = words.get("approvers", "")

    def open_key(self, pem: bytes, password: str) -> None:
        """Open the key in a file, or keep why it cannot be opened."""
        self.key = self.no_key = None
        try:
            if not 0 < len(pem) <= LARGEST:
                raise ParameterError("There is no file of a key.", remedy="Drop it, then type its password.")
            self.key = SigningKey.of(pem, password)
        except AnonymizerError as error:
            self.no_key = error

    def put_key_away(self) -> None:
        """Forget the key: what is made from now on is not signed."""
        self.key = None
