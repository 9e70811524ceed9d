"""``copse schema NAME``: the JSON Schema of what Copse writes as JSON, each with the layout that it describes."""

import argparse
from pathlib import Path

from anonymizer.errors import ParameterError, did_you_mean

FOLDER = Path(__file__).parent / "schemas"


def names_there() -> list[str]:
    """Return the names of all schemas."""
    return sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.schema.json"))


def run_schema(options: argparse.Namespace) -> int:
    """Print a schema, or the names of all; return 0. Raises :class:`ParameterError` for a name that none has."""
    names = names_there()
    if options.name is None:
        print(*names, sep="\n")
        return 0
    if options.name not in names:
        near = did_you_mean(options.name, names)
        problem = f"There is no schema {options.name!r}.{near}"
        raise ParameterError(problem, value=options.name, remedy=f"Choose among {', '.join(names)}.")
    print((FOLDER / f"{options.name}.schema.json").read_text("utf-8"), end="")
    return 0
