"""Digests by which files are told apart."""

from hashlib import sha256

__all__ = ["digest"]


def digest(content: bytes) -> str:
    """Return the SHA-256, hexadecimal."""
    return sha256(content).hexdigest()
