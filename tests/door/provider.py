"""A small OpenID Connect provider, real enough to sign in with: discovery, keys, a page of people, signed tokens.

It knows its one client, and asks for the client's secret, a code once, the address it came back to and the proof of
the key (PKCE). ``fault`` has it answer wrongly, in one of :data:`FAULTS`.
"""

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "copse", "the-secret-of-the-client-of-the-tests"
PEOPLE: dict[str, dict[str, Any]] = {
    "ana": {"sub": "1001", "email": "Ana@Example.org", "email_verified": True},
    "ben": {"sub": "1002", "email": "ben@example.org", "email_verified": False},
    "eve": {"sub": "1003", "email": "eve@elsewhere.example", "email_verified": True},
    "no-email": {"sub": "1004"},
    "operator": {"sub": "1005", "email": "olga@example.org", "email_verified": True},
}
FAULTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "signature": lambda claims: claims,
    "no signature": lambda claims: claims,
    "public key as secret": lambda claims: claims,
    "nonce": lambda claims: {**claims, "nonce": "another"},
    "no nonce": lambda claims: {name: value for name, value in claims.items() if name != "nonce"},
    "audience": lambda claims: {**claims, "aud": "another-program"},
    "audience of a friend": lambda claims: {**claims, "aud": "another-program", "azp": CLIENT},
    "issuer": lambda claims: {**claims, "iss": "http://127.0.0.1:1"},
    "expired": lambda claims: {**claims, "iat": claims["iat"] - 7200, "exp": claims["iat"] - 3600},
    "old": lambda claims: {**claims, "iat": claims["iat"] - 13 * 3600},
}
"""What is wrong with a token, and how its claims become so. The first three are wrong in how they are signed."""


class Provider:
    """A provider that runs: its ``issuer``, what is wrong with its tokens, and whether it ends its own session."""

    def __init__(self) -> None:
        self.fault = ""
        self.issuer = ""
        self.tokens = 0
        """How many signed tokens it answered with."""
        self.signed_out: list[dict[str, str]] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.key = RSAKey.generate_key(2048, parameters={"kid": "one", "use": "sig", "alg": "RS256"})
        self.foreign_key = RSAKey.generate_key(2048, parameters={"kid": "one"})

    def metadata(self) -> dict[str, Any]:
        """The discovery document (OpenID Connect Discovery 1.0, section 3)."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "end_session_endpoint": f"{self.issuer}/end",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def id_token(self, claims: dict[str, Any]) -> str:
        """The signed token, or one that is wrong in the way of ``fault``."""
        if self.fault:
            claims = FAULTS[self.fault](claims)
        if self.fault == "no signature":
            parts = ({"alg": "none"}, claims)
            return (
                ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
                + "."
            )
        if self.fault == "public key as secret":
            parts = ({"alg": "HS256", "kid": "one"}, claims)
            text = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
            proof = hmac.digest(self.key.as_pem(private=False), text.encode(), "sha256")
            return f"{text}.{base64.urlsafe_b64encode(proof).decode().rstrip('=')}"
        key = self.foreign_key if self.fault == "signature" else self.key
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, key)

    def token(self, request: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """The answer of the token endpoint (OpenID Connect Core 1.0, section 3.1.3.3); None for a bad request."""
        order = self.codes.pop(request.get("code", ""), None)
        name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if order is None or (unquote(name), unquote(secret)) != (CLIENT, SECRET):
            return None
        proof = hashlib.sha256(request.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(proof).decode().rstrip("=") != order["code_challenge"]:
            return None
        if request["redirect_uri"] != order["redirect_uri"]:
            return None
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 600, "nonce": order["nonce"]}
        answer = {"access_token": secrets.token_urlsafe(), "token_type": "Bearer", "expires_in": 600}
        return {**answer, "id_token": self.id_token({**claims, **PEOPLE[order["person"]]})}


class Handler(BaseHTTPRequestHandler):
    """Answers for a provider."""

    provider: Provider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        match parts.path:
            case "/.well-known/openid-configuration":
                self.answer(200, json.dumps(self.provider.metadata()), "application/json")
            case "/keys":
                keys = {"keys": [self.provider.key.as_dict(private=False)]}
                self.answer(200, json.dumps(keys), "application/json")
            case "/authorize" if query.get("client_id") == CLIENT and "nonce" in query and "state" in query:
                links = "".join(
                    f'<p><a href="/consent?{urlencode({**query, "person": person})}">{person}</a></p>'
                    for person in PEOPLE
                )
                self.answer(200, f"<!doctype html><title>Who are you?</title>{links}", "text/html")
            case "/consent":
                code = secrets.token_urlsafe()
                self.provider.codes[code] = query
                self.redirect(f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}")
            case "/end":
                self.provider.signed_out.append(query)
                self.redirect(query["post_logout_redirect_uri"])
            case _:
                self.answer(404, "", "text/plain")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        token = self.provider.token(dict(parse_qsl(body)), self.headers.get("Authorization", ""))
        self.answer(*(200, json.dumps(token)) if token else (400, '{"error": "invalid_grant"}'), "application/json")
        self.provider.tokens += token is not None

    def redirect(self, address: str) -> None:
        self.send_response(302)
        self.send_header("Location", address)
        self.end_headers()

    def answer(self, status: int, text: str, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def run_provider() -> Iterator[Provider]:
    """A provider on a free port of this machine. It goes by another name than the dashboard, so that to a browser it
    is another site."""
    provider = Provider()
    handler = type("HandlerOfOne", (Handler,), {"provider": provider})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listener:
        provider.issuer = f"http://localhost:{listener.server_port}"
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield provider
        listener.shutdown()
