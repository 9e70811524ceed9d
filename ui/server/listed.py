"""The databases that the operator lists: people may read their tables, write a release into a new one where the list
says so, and nobody can name another database.

Accounts and passwords are those of the people who type them; what this server's own account knows (its environment, its
files of passwords) does not count.
"""

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from anonymizer.databases.address import KINDS, Address, address_from
from anonymizer.errors import ParameterError, ReadError

READ = "COPSE_DATABASES"
"""The environment variable of the operator: addresses with semicolons or line ends between them."""

WRITE, NEW = "write", "new"
"""What an address says that lets releases be written into new tables: ``?write=new``."""

REMEDY = "Write postgresql://HOST/DATABASE, sqlite:////FILE or duckdb:////FILE, with semicolons between them."


def databases(variable: str, environment: Mapping[str, str] = os.environ) -> Mapping[str, Address]:
    """Return the databases that a variable lists, by the names that people see; none by default.

    Raises :class:`ParameterError` for what is no address of a database, or holds more than that.
    """
    return {title: address for title, (address, _) in _listed(environment.get(variable, ""), variable).items()}


def databases_to_write(variable: str, environment: Mapping[str, str] = os.environ) -> Mapping[str, Address]:
    """Return those of :func:`databases` in which a release may become a new table. Raises what that raises."""
    listed = _listed(environment.get(variable, ""), variable)
    return {title: address for title, (address, writes) in listed.items() if writes}


def require_listed() -> None:
    """Raise :class:`ParameterError` when the operator's list of databases is not in order."""
    databases(READ)


@lru_cache(maxsize=8)
def _listed(text: str, variable: str) -> Mapping[str, tuple[Address, bool]]:
    addresses = [_address(part.strip(), variable) for part in re.split(r"[;\n]", text) if part.strip()]
    short = [_title(address) for address, _ in addresses]
    return {
        title if short.count(title) == 1 else _long_title(address): (address, writes)
        for title, (address, writes) in zip(short, addresses, strict=True)
    }


def _address(text: str, variable: str) -> tuple[Address, bool]:
    """Return an address of the list, and whether releases may be written there."""
    try:
        address = address_from(text, needs_table=False)
    except ReadError as error:
        raise ParameterError(f"{variable}: {error.problem}", remedy=REMEDY) from None
    if address.password or {"password", "passfile"} & set(address.options):
        raise ParameterError(f"{variable} holds a password.", remedy="Leave it out: people type their own.")
    if address.table[1] or address.query:
        raise ParameterError(f"{variable} names a table or a query.", remedy="List databases; people name the table.")
    if address.kind == "postgresql" and not address.database:
        raise ParameterError(f"{variable} does not say which database.", remedy=REMEDY)
    if address.kind != "postgresql" and not Path(address.database).is_absolute():
        raise ParameterError(f"{variable} names a file without its full path.", remedy=REMEDY)
    options = dict(address.options)
    how = options.pop(WRITE, None)
    if how not in (None, NEW):
        raise ParameterError(f"{variable} says {WRITE}=, and not {NEW}.", remedy="Write ?write=new, or leave it out.")
    return address.but(by_environment=False, options=options), how == NEW


def _title(address: Address) -> str:
    """Return what people see of a database."""
    if address.kind != "postgresql":
        return f"{Path(address.database).name} ({KINDS[address.kind]})"
    return f"{address.database} at {address.place} ({KINDS[address.kind]})"


def _long_title(address: Address) -> str:
    """Return what people see where another database has the same name."""
    if address.kind != "postgresql":
        return f"{address.database} ({KINDS[address.kind]})"
    words = ", ".join(filter(None, (address.user, *address.options.values())))
    return f"{_title(address)}: {words}"
