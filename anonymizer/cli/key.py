"""``copse key new|show``, ``anonymize --sign`` and ``verify --key``: the key by which packets are signed."""

import argparse
import getpass
import os
import sys
from pathlib import Path

from anonymizer.cli.inputs import first_bytes
from anonymizer.errors import ParameterError
from anonymizer.provenance.signature import LARGEST, NO_KEY, PublicKey, SigningKey
from anonymizer.releasing.files import write_once

PASSWORD = "COPSE_KEY_PASSWORD"
"""The environment variable that has the password of the key, where nobody can be asked."""


def run_key(options: argparse.Namespace) -> int:
    """Make a key, or print what the recipients of packets need of one; return 0."""
    path = Path(options.file)
    if options.action not in ("new", "show"):
        raise ParameterError(f"There is no key {options.action!r}.", value=options.action, remedy="Use new or show.")
    if options.action == "new":
        error = ParameterError(f"{path} is there already.", remedy="Give another name; a key is never written over.")
        if path.exists():
            raise error
        key = SigningKey.new()
        pem = key.to_pem(password("New password for the key: ", again="The same again: "))
        write_once(path, pem)
        if path.read_bytes() != pem:  # of another program, meanwhile
            raise error
        print(f"Written: {path}. Keep it, and its password, for yourself.")
    else:
        key = signing_key(options.file)
    print(f"Public key, for those who get packets:  {key.public.text}")
    print(f"To compare by phone:                    {key.public.groups}")
    print("Give it to them by another way than the packet. They check: copse verify PACKET.zip --key KEY")
    return 0


def signing_key(path: str) -> SigningKey:
    """Return the private key in a file, whose password is asked for. Raises :class:`ParameterError` where it cannot be
    opened."""
    pem = first_bytes(path, LARGEST)
    return SigningKey.of(pem, password(f"Password for {path}: ") if b"ENCRYPTED" in pem else "")


def public_key(text: str) -> PublicKey:
    """Return the public key that was typed, or that is in a file of that name."""
    if not Path(text).is_file():
        return PublicKey.of(text)
    content = first_bytes(text, LARGEST)
    if b"PRIVATE" in content or not content.isascii():
        raise ParameterError(f"{text} is no public key.", remedy=NO_KEY)
    return PublicKey.of(content.decode())


def password(question: str, again: str = "") -> str:
    """Return the password of a key: from the environment, or as it is typed, twice where ``again`` asks for that."""
    if (value := os.environ.get(PASSWORD)) is not None:
        return value
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ParameterError("The key has a password, and nobody can be asked here.", remedy=f"Set {PASSWORD}.")
    value = getpass.getpass(question)
    if again and getpass.getpass(again) != value:
        raise ParameterError("The two passwords differ.", remedy="Type them again.")
    return value
