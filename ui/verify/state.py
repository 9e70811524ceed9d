"""What came of the last file that was checked on the Verify page."""

from collections.abc import Mapping
from dataclasses import dataclass

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
    """``edition``: how many files were brought, part of the widgets' keys; then ``verdict`` or ``problem``. No row is
    kept but those of a clean copy."""

    edition: int = 0
    verdict: Verdict | None = None
    problem: AnonymizerError | None = None
