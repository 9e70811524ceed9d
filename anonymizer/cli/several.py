"""``copse verify r1.csv r2.csv …``: released files checked together, alone or beside the table they were made from."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.released_file import ReleasedFile, read_released
from anonymizer.checking.several import schema_there, verify_together
from anonymizer.cli.inputs import limits_of, read_apart, reading_of
from anonymizer.cli.output import print_json
from anonymizer.databases.address import Address
from anonymizer.errors import ParameterError, SchemaError
from anonymizer.growing.encode import persons_of
from anonymizer.provenance.claim import roles_text
from anonymizer.schema import Schema
from anonymizer.settings import Limits

SchemaIn = Callable[[pd.DataFrame, pd.DataFrame | None, argparse.Namespace, None], Schema]
"""What gives the schema of a released file: the file, the table it was made from, the options, and no report."""
ROLES = ("quasi_identifying", "sensitive", "identifying", "keep")


def run_together(options: argparse.Namespace, schema_in: SchemaIn) -> int:
    """Print what several released files prove together; return 1 unless they prove that it holds. ``schema_in``: what
    gives the schema of a file.

    Raises :class:`ParameterError` for options that speak of one file, :class:`SchemaError` for a column that is in none
    of the files, and what reading them raises.
    """
    limits = {name: value for name, value in limits_of(options, None)[0].items() if name in Limits()}
    k = int(limits.pop("k"))
    files = read_together(options, schema_in)
    tables, schemas, original = files.tables, files.schemas, files.original
    proof = verify_together(tables, files.released, k=k, original=original, person=files.person, **limits)
    if options.json:
        print_json("verify", proof.to_dict())
        return 0 if proof.holds else 1
    names = [Path(path).name for path in paths_of(options)]
    print("\n".join(proof.sentences(names)))
    for name, schema in zip(names, schemas, strict=True):
        print(f"{name}: {roles_text(schema)}")
    return 0 if proof.holds else 1


class Together(NamedTuple):
    """Released files that are looked at together: the rows and the schema of each, the ``original`` that they were made
    from, and whose each of its rows is, where that is known."""

    tables: list[pd.DataFrame]
    schemas: list[Schema]
    original: pd.DataFrame | None
    person: NDArray[np.integer[Any]] | None

    @property
    def released(self) -> list[Schema]:
        """The schemas, with the columns that each file has."""
        return [schema_there(own, table) for table, own in zip(self.tables, self.schemas, strict=True)]


def read_together(options: argparse.Namespace, schema_in: SchemaIn) -> Together:
    """Return the files that the options name. Raises what :func:`run_together` raises."""
    require_together(options)
    original = reading_of(options.original, options).frame if options.original else None
    files = [ReleasedFile.of_reading(read_apart(path, reader=read_released)) for path in paths_of(options)]
    schemas = schemas_of([file.rows for file in files], original, options, schema_in)
    tables = [file.under(schema).rows for file, schema in zip(files, schemas, strict=True)]
    return Together(tables, schemas, original, None if original is None else persons_of(original, schemas[0])[0])


def paths_of(options: argparse.Namespace) -> list[str]:
    """Return the paths of all files."""
    return [options.input, *options.others]


def require_together(options: argparse.Namespace) -> None:
    """Raise :class:`ParameterError` unless all inputs are files, and no option speaks of one of them alone."""
    for path in paths_of(options):
        if isinstance(path, Address) or not Path(path).is_file():
            raise ParameterError(
                f"{path.name if isinstance(path, Address) else path} is no file.",
                remedy="Name released files: several releases are checked together as files.",
            )
    for name in ("report", "clean_copy", "key"):
        if getattr(options, name, None):
            raise ParameterError(
                f"--{name.replace('_', '-')} speaks of one file, and several are named.", remedy="Leave it out."
            )


def schemas_of(
    tables: list[pd.DataFrame], original: pd.DataFrame | None, options: argparse.Namespace, schema_in: SchemaIn
) -> list[Schema]:
    """Return the schema of each file: every name that an option gives is of the files that have the column."""
    there = {str(name) for table in [*tables, *([] if original is None else [original])] for name in table.columns}
    for name in (name for role in ROLES for name in getattr(options, role)):
        if name not in there:
            raise SchemaError(f"There is no column {name!r} in any file.", column=name, remedy="Check its name.")
    schemas = []
    for table in tables:
        named: dict[str, Any] = {
            role: [name for name in getattr(options, role) if name in table.columns] for role in ROLES
        }
        named["kinds"] = {name: kind for name, kind in options.kinds.items() if name in table.columns}
        schemas.append(schema_in(table, original, argparse.Namespace(**{**vars(options), **named}), None))
    return schemas
