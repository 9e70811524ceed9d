"""Reading a database in this process, as the child does, for tests that need no process of its own."""

from typing import Any

from anonymizer.databases.address import Address, address_from
from anonymizer.databases.read import read_content, request_of
from anonymizer.reading.files import Reading, read_table


def read_here(where: str | Address, **more: Any) -> Reading:
    """The table at an address."""
    address = address_from(where) if isinstance(where, str) else where
    return read_table(request_of(address, 1 << 30), name=address.name, reader=read_content, **more)
