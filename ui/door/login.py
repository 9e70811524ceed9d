"""Who may enter, as the operator's file says, and who asks, as the provider's signed answer says.

People sign in with an OpenID Connect provider, through the framework's own login. What the provider said of a person
comes back in a cookie that this server signed, with a secret that is made anew at each start: sessions end then too.
"""

import hashlib
import json
import os
import secrets
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from anonymizer.cli.app import LOGIN, is_loopback
from anonymizer.errors import ParameterError
from ui.server.framework import USER_COOKIE_NAME, decode_signed_value, get_cookie_secret, get_cookie_with_chunks

SECRET = "COPSE_CLIENT_SECRET"
"""The environment variable of the client's secret, where it does not stand in the operator's file."""
KEYS = frozenset({"address", "issuer", "client_id", "client_secret", "people", "operators"})
LASTS = 12 * 3600.0
"""Seconds after which somebody signs in again."""
LEEWAY = 120.0
"""Seconds by which the provider's clock may be ahead."""


@dataclass(frozen=True)
class Person:
    """Somebody who signed in: the provider's ``subject``, the ``email`` it has verified or nothing, and until when, in
    seconds since 1970, that holds."""

    subject: str
    email: str
    until: float

    @property
    def name(self) -> str:
        """Return what the person is called on the page."""
        return self.email or self.subject

    def among(self, entries: tuple[str, ...]) -> bool:
        """Return whether a list has the person: by address, by ``@domain``, or by ``subject:`` and the subject."""
        email = small(self.email)
        names = {f"subject:{self.subject}"} | ({email, f"@{email.rpartition('@')[2]}"} if "@" in email else set())
        return not names.isdisjoint(entries)


@dataclass(frozen=True)
class Login:
    """What the operator's file says.

    ``address``: how browsers reach this server, as ``https://name``. ``issuer``: the provider. ``people``: who may
    enter; ``operators``: who sees the operator's page as well.
    """

    address: str
    issuer: str
    client_id: str
    client_secret: str
    people: tuple[str, ...]
    operators: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """Return the name under which browsers reach this server."""
        return urlsplit(self.address).hostname or ""

    @property
    def secure(self) -> bool:
        """Return whether browsers reach this server by TLS, so that no cookie may go without it."""
        return self.address.startswith("https://")

    def secrets(self) -> dict[str, Any]:
        """Return what the framework's login has to know."""
        return {
            "auth": {
                "redirect_uri": f"{self.address}/oauth2callback",
                "cookie_secret": secrets.token_hex(32),
                "client_id": self.client_id,
                "client_secret": self.client_secret,
                "server_metadata_url": f"{self.issuer}/.well-known/openid-configuration",
            }
        }

    def person(self, claims: Mapping[str, Any], now: float) -> Person | None:
        """Return who is signed in at the moment ``now``; nobody where the provider's claims are not about this server.

        The framework has checked the signature, the nonce and the end of what the provider signed, but takes a token
        that was made for another program when it names this one as the party that asked for it.
        """
        audience, subject, issued = claims.get("aud"), claims.get("sub"), claims.get("iat")
        audiences = audience if isinstance(audience, list) else [audience]
        if claims.get("is_logged_in") is not True or claims.get("origin") != self.origin:
            return None
        if self.client_id not in audiences or str(claims.get("iss")).rstrip("/") != self.issuer:
            return None
        if not isinstance(subject, str) or not subject or not isinstance(issued, (int, float)):
            return None
        if not issued - LEEWAY <= now < issued + LASTS:
            return None
        email = claims.get("email") if claims.get("email_verified") is True else ""
        return Person(subject, email if isinstance(email, str) else "", issued + LASTS)

    @property
    def origin(self) -> str:
        """Return the address without a path, as browsers name the pages of this server."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"


def small(text: str) -> str:
    """Return an address in small letters; unchanged where it has letters that only look like those of another."""
    return text.lower() if text.isascii() else text


def read_login(path: Path, client_secret: str = "") -> Login:
    """Return what the operator's file says.

    ``client_secret``: used where the file has none. Raises :class:`ParameterError` for what is absent, unknown or
    unsafe, and for a file that others can write, or read the secret in; no message repeats a value of the file.
    """
    remedy = "docs/OPERATING.md shows what it holds."
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no TOML"
        raise ParameterError(f"The login file {path} cannot be read: {reason}.", remedy=remedy) from None
    if os.name == "posix" and (rights := path.stat().st_mode & (0o077 if "client_secret" in content else 0o022)):
        what = "read the client's secret in" if rights & 0o044 else "change"
        raise ParameterError(
            f"Others on this computer can {what} the login file {path}.",
            remedy=f"Keep it to yourself: chmod 600 {path}",
        )
    content = {"client_secret": client_secret, "operators": [], **content}
    if unknown := sorted(set(content) - KEYS):
        raise ParameterError(f"The login file has keys that mean nothing: {', '.join(unknown)}.", remedy=remedy)
    for key in sorted(KEYS):
        kind = list if key in ("people", "operators") else str
        value = content.get(key)
        if not isinstance(value, kind) or not (value or key == "operators"):
            raise ParameterError(
                f"The login file needs {key}, as {'a list' if kind is list else 'text'}.", remedy=remedy
            )
    for key in ("address", "issuer"):
        parts = urlsplit(content[key])
        if not parts.hostname or (parts.scheme != "https" and not is_loopback(parts.hostname)):
            raise ParameterError(f"The {key} in the login file must begin with https://.", remedy=remedy)
        content[key] = content[key].rstrip("/")
    for key in ("people", "operators"):
        if not all(isinstance(entry, str) and ("@" in entry or entry.startswith("subject:")) for entry in content[key]):
            raise ParameterError(
                f"Each of {key} in the login file is ana@example.org, @example.org or subject:1234.", remedy=remedy
            )
        content[key] = tuple(entry if entry.startswith("subject:") else small(entry) for entry in content[key])
    return Login(**content)


@cache
def login() -> Login | None:
    """Return how people sign in here; ``None`` where the operator configured no login. Read once."""
    path = os.environ.get(LOGIN)
    return read_login(Path(path), os.environ.get(SECRET, "")) if path else None


class Identities:
    """The identity cookies that this server signed: whose they are, and which were signed out."""

    def __init__(self, login: Login) -> None:
        self.login = login
        self.ended: set[str] = set()
        """Digests of cookies that were signed out: a copy of one is worth nothing."""

    def person(self, connection: HTTPConnection) -> Person | None:
        """Return who asks; ``None`` for somebody who is not signed in."""
        text = cookie_of(connection)
        if text is None or hashlib.sha256(text).hexdigest() in self.ended:
            return None
        try:
            claims = json.loads(text)
        except ValueError:
            return None
        return self.login.person(claims, time.time()) if isinstance(claims, dict) else None

    def end(self, connection: HTTPConnection) -> None:
        """Let the cookie of a connection be worth nothing from now on."""
        text = cookie_of(connection)
        if text is not None:
            self.ended.add(hashlib.sha256(text).hexdigest())


def cookie_of(connection: HTTPConnection) -> bytes | None:
    """Return what the identity cookie of a connection says; ``None`` where it has none that this server signed."""
    secret = get_cookie_secret()

    def read(name: str) -> bytes | None:
        value = connection.cookies.get(name)
        return None if value is None else decode_signed_value(secret, name, value.encode("latin-1", "replace"))

    return get_cookie_with_chunks(read, USER_COOKIE_NAME)
