"""What came of the last file that was checked on the Verify page."""

from dataclasses import dataclass

from anonymizer.checking.verify import Verification
from anonymizer.errors import AnonymizerError


@dataclass(frozen=True)
class Verdict:
    """``name`` of the file; what the checker found; ``differences`` from what the report speaks of, a sentence each;
    ``roles`` that it was checked under, in words."""

    name: str
    verification: Verification
    differences: tuple[str, ...]
    roles: str


@dataclass
class VerifyState:
    """``edition``: how many pairs of a file and a report were brought, part of the widgets' keys; then ``verdict`` or
    ``problem``. No row is kept."""

    edition: int = 0
    verdict: Verdict | None = None
    problem: AnonymizerError | None = None
