"""Signatures of packets: a DSSE envelope around an in-toto statement, signed with Ed25519.

A signature says that the holder of a key said so, and nothing more: what can be computed is computed again by whoever
checks. The envelope names its key and does not hold it, so the recipient gets the key by another way than the packet.
"""

import json
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from anonymizer.digests import digest
from anonymizer.errors import ParameterError
from anonymizer.json_value import JsonValue, parse

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE, PREDICATE_TYPE = "https://in-toto.io/Statement/v1", "urn:copse:release:1"
LENGTH = 32
"""Bytes of a public key."""
LONGEST = 1 << 24
"""Letters of the longest statement that is read, in base64."""
LARGEST = 10_000
"""Most bytes of the file of a key."""
NO_KEY = "Give the line of 44 letters, or the file, that `copse key new` made."


@dataclass(frozen=True)
class PublicKey:
    """The 32 bytes by which a signature is checked."""

    data: bytes

    @property
    def text(self) -> str:
        """The key in base64."""
        return b64encode(self.data).decode()

    @cached_property
    def _digest(self) -> str:
        return digest(self.data)

    @property
    def id(self) -> str:
        """The 16 hex digits by which envelopes name the key."""
        return self._digest[:16]

    @property
    def groups(self) -> str:
        """Eight groups of four hex digits, to be compared by phone; the first four are :attr:`id`."""
        return " ".join(self._digest[at : at + 4] for at in range(0, 32, 4))

    def signed(self, envelope: "Envelope") -> bool:
        """Return whether an envelope is signed with this key."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.data).verify(envelope.signature, to_sign(envelope.statement))
        except (InvalidSignature, ValueError):
            return False
        return True

    @classmethod
    def of(cls, text: str) -> "PublicKey":
        """Return the key that base64 or a public PEM file says. Raises :class:`ParameterError` for anything else."""
        lines = [line.strip() for line in text.strip().splitlines() if not line.startswith("-----")]
        try:
            data = b64decode("".join(lines), validate=True)
        except (NoBase64, ValueError):
            data = b""
        data = data[len(PEM_HEAD) :] if data.startswith(PEM_HEAD) else data
        if len(data) != LENGTH:
            raise ParameterError("This is no public key of a signature.", remedy=NO_KEY)
        return cls(data)


PEM_HEAD = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes in a public PEM file of Ed25519 (RFC 8410)."""


class SigningKey:
    """A private key. It is shown nowhere, and written only under a password."""

    def __init__(self, key: "Ed25519PrivateKey") -> None:
        self._key = key

    @classmethod
    def new(cls) -> "SigningKey":
        """Return a new key."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def of(cls, pem: bytes, password: str) -> "SigningKey":
        """Return the key in a PEM file. Raises :class:`ParameterError` for a wrong password, or another file."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key = load_pem_private_key(pem, password.encode() if b"ENCRYPTED" in pem else None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            remedy = "Type its password again, or use the file that `copse key new` wrote."
            raise ParameterError("The key of signatures cannot be opened.", remedy=remedy) from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ParameterError("This key makes other signatures than Ed25519.", remedy="Make one: copse key new.")
        return cls(key)

    def to_pem(self, password: str) -> bytes:
        """Return the file of the key, under a password. Raises :class:`ParameterError` without one."""
        from cryptography.hazmat.primitives import serialization

        if not password:
            raise ParameterError("The key needs a password.", remedy="Type one.")
        locked = serialization.BestAvailableEncryption(password.encode())
        form = serialization.PrivateFormat.PKCS8
        return self._key.private_bytes(serialization.Encoding.PEM, form, locked)

    @property
    def public(self) -> PublicKey:
        """The key by which its signatures are checked."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, statement: bytes) -> bytes:
        """Return the envelope of a statement, as a file."""
        return Envelope(statement, self.public.id, self._key.sign(to_sign(statement))).to_json()


@dataclass(frozen=True)
class Envelope:
    """A statement, the id of the key that signed it, and the signature."""

    statement: bytes
    key_id: str
    signature: bytes

    def to_json(self) -> bytes:
        """Return the envelope as a file of JSON."""
        signature = {"keyid": self.key_id, "sig": b64encode(self.signature).decode()}
        payload = b64encode(self.statement).decode()
        described = {"payloadType": PAYLOAD_TYPE, "payload": payload, "signatures": [signature]}
        return f"{json.dumps(described, indent=2)}\n".encode()

    @classmethod
    def of(cls, content: bytes) -> "Envelope":
        """Return the envelope that a file holds. Raises :class:`anonymizer.errors.ReadError` for any other file, and
        for one that is not written as :meth:`to_json` does."""
        document = parse(content, "signature", "Use the packet as it was made.")
        document.field("payloadType").one_of((PAYLOAD_TYPE,))
        one = document.field("signatures").items(1, 1)[0]
        parts = [bytes_in(value) for value in (document.field("payload"), one.field("sig"))]
        envelope = cls(parts[0], one.field("keyid").text(16, plain=True), parts[1])
        if envelope.to_json() != content:
            document.refuse("it is not written as Copse writes it")
        return envelope


def bytes_in(value: JsonValue) -> bytes:
    """Return what a value says in base64."""
    try:
        return b64decode(value.text(LONGEST), validate=True)
    except (NoBase64, ValueError):
        value.refuse("base64 was expected")


def to_sign(statement: bytes) -> bytes:
    """Return the bytes that are signed for a statement (DSSE, pre-authentication encoding)."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(statement), statement)


def statement_text(digests: Mapping[str, str], predicate: Mapping[str, Any]) -> bytes:
    """Return an in-toto statement on some files. ``digests``: the SHA-256 of each, by path; ``predicate``: what is said
    of them."""
    described = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": path, "digest": {"sha256": sha256}} for path, sha256 in sorted(digests.items())],
        "predicateType": PREDICATE_TYPE,
        "predicate": dict(predicate),
    }
    return f"{json.dumps(described, ensure_ascii=False, indent=2, allow_nan=False)}\n".encode()
