"""A ledger of releases that is open in a session: what of it outlives a page, and where ledgers are."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from anonymizer.errors import ReadError
from anonymizer.gate.earlier import OtherPeople
from anonymizer.ledger.ledger import ENDING, Ledger
from anonymizer.releasing.key import user_folder
from ui.door.doors import knows
from ui.door.login import login

FOLDER_VARIABLE = "COPSE_LEDGER_FOLDER"
NAME = re.compile(r"\w(?:[\w .()-]{0,78}[\w)])?")
"""What a ledger is called: its file lies in the folder and nowhere else."""


@dataclass(frozen=True)
class OpenLedger:
    """A ledger as it stood when it was read last: ``head``, its last entry; ``releases``, as the gate counts them;
    ``entries``: by the digest of each released file the number and the hash of its entry; and ``trees``: the number of
    its entry by the digest of each form of a published tree."""

    ledger: Ledger
    head: str
    releases: tuple[OtherPeople, ...]
    entries: dict[str, tuple[int, str]]
    trees: dict[str, int]

    @classmethod
    def at(cls, path: Path) -> "OpenLedger":
        """Return the ledger at a path, as it stands now. Raises what :meth:`Ledger.open` raises, and
        :class:`ParameterError` without its key."""
        ledger = Ledger.open(path)
        ledger.require_key()
        entries = ledger.entries
        files = {
            str(entry["release"]["sha256"]): (number, str(entry["hash"]))
            for number, entry in enumerate(entries, 1)
            if entry["kind"] == "release"
        }
        trees = {
            str(sha256): number
            for number, entry in enumerate(entries, 1)
            if entry["kind"] == "tree"
            for sha256 in entry["tree"]["files"].values()
        }
        return cls(ledger, ledger.head, ledger.earlier, files, trees)

    @property
    def name(self) -> str:
        """What it is called."""
        return self.ledger.path.name.removesuffix(ENDING)

    def again(self) -> "OpenLedger":
        """Return the ledger as it stands now."""
        return OpenLedger.at(self.ledger.path)


def ledger_folder() -> Path | None:
    """Return the folder of the ledgers that may be opened: the operator's environment variable, or this user's own
    where nobody else can open the dashboard; ``None``, and there are none, elsewhere."""
    named = os.environ.get(FOLDER_VARIABLE, "").strip()
    if named:
        folder = Path(named).expanduser()
        return folder.resolve() if folder.is_absolute() and folder.is_dir() else None
    return None if knows() or login() is not None else user_folder() / "ledgers"


def ledgers_in(folder: Path) -> list[str]:
    """Return the names of the ledgers in a folder."""
    names = (path.name.removesuffix(ENDING) for path in folder.glob("*" + ENDING) if path.is_file())
    return sorted(filter(NAME.fullmatch, names))


def path_in(folder: Path, name: str) -> Path:
    """Return where a ledger of this name is in a folder. Raises :class:`ReadError` for a name that could lead
    elsewhere."""
    if not NAME.fullmatch(name):
        raise ReadError("This cannot be the name of a ledger.", remedy="Use letters, digits, spaces and hyphens.")
    return folder / (name + ENDING)
