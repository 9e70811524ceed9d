"""What came of the last files that were checked on the Verify page."""

from collections.abc import Mapping
from dataclasses import dataclass

from anonymizer.checking.several import Proof
from anonymizer.checking.verify import Verification
from anonymizer.errors import AnonymizerError


@dataclass(frozen=True)
class Verdict:
    """``name`` of the file; whether it ``is_whole``, the one that its report speaks of, and the ``sentences`` on that;
    ``tables``: what the checker found in each table, by its name; ``roles`` that they were checked under, in words.
    ``is_folder``: whether it is a folder as one file, whose rows were held against their records when it was made.
    ``copy``: the rows alone, as a Parquet file, of a release that passes and whose bytes cannot be judged."""

    name: str
    is_whole: bool
    sentences: tuple[str, ...]
    tables: Mapping[str, Verification]
    roles: str
    is_folder: bool = False
    copy: bytes = b""


@dataclass
class VerifyState:
    """``edition``: how often files were brought, part of the widgets' keys; then the ``verdicts`` on them, with the
    ``proof`` of what two or more tell together, or a ``problem``. No row is kept but those of a clean copy."""

    edition: int = 0
    verdicts: tuple[Verdict, ...] = ()
    proof: Proof | None = None
    problem: AnonymizerError | None = None

    def clear(self) -> None:
        """Forget what came of the last files."""
        self.verdicts, self.proof, self.problem = (), None, None
