"""Who is let in where people sign in, asked without a browser."""

import http.client
import json
import os
import re
import string
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from anonymizer.errors import ParameterError
from tests.door.provider import CLIENT, FAULTS, SECRET, run_provider
from tests.door.signing_in import LOGIN, Guarded, login_file, serve_guarded, sign_in
from tests.waiting import PATIENCE, wait_until
from ui.door.doors import with_its_life
from ui.door.login import LASTS, Login, Person, read_login

FILE = Login("https://copse.example.org", "https://id.example.org", "copse", "s", ("ana@example.org",))
CLAIMS: dict[str, Any] = {
    "is_logged_in": True,
    "origin": "https://copse.example.org",
    "aud": "copse",
    "iss": "https://id.example.org/",
    "iat": 1000,
    "sub": "1",
    "email": "ana@example.org",
    "email_verified": True,
}
PATHS = ("/", "/roles", "/media/0.csv", "/static/js/index.js", "/_stcore/host-config", "/_stcore/metrics",
         "/_stcore/agent/openapi.json", "/component/x", "/operator", "/favicon.png")  # fmt: skip
LETTERS = f"{string.ascii_uppercase}{string.ascii_lowercase}{string.digits}-_"
"""The sixty-four characters of Base64 in a cookie, each worth six bits."""


def shake_hands(address: str, cookies: str) -> int:
    """The status with which a WebSocket is answered."""
    try:
        with connect(
            address.replace("http", "ws") + "/_stcore/stream",
            origin=address,  # type: ignore[arg-type]
            additional_headers={"Cookie": cookies},
        ):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def cookies_of(client: httpx.Client) -> str:
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in client.cookies.jar if cookie.domain == "127.0.0.1")


def upload(address: str, cookies: str) -> int:
    """The status with which an upload to a session that nobody has is answered."""
    there = urlsplit(address)
    line = http.client.HTTPConnection(there.hostname or "", there.port, timeout=PATIENCE)
    line.request("PUT", "/_stcore/upload_file/session/1", b"x" * 100, {"Cookie": cookies})
    status = line.getresponse().status
    line.close()
    return status


# Who is who.


def test_person__is_who_the_provider_says() -> None:
    assert FILE.person(CLAIMS, 1000.0) == Person("1", "ana@example.org", 1000 + LASTS)
    assert FILE.person({**CLAIMS, "aud": ["other", "copse"]}, 1000.0) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"is_logged_in": "yes"}, {"origin": "https://elsewhere.example"}, {"aud": "other"}, {"aud": None},
        {"iss": "https://id.example.org.elsewhere.example"}, {"sub": ""}, {"sub": 1}, {"iat": "1000"},
        {"iat": 1000 - LASTS - 1}, {"iat": 2000},
    ],
)  # fmt: skip
def test_person__is_nobody_when_the_claims_are_not_about_this_server(change: dict[str, Any]) -> None:
    assert FILE.person({**CLAIMS, **change}, 1000.0) is None


@pytest.mark.parametrize(
    ("entry", "email", "enters"),
    [
        ("ana@example.org", "Ana@Example.org", True),
        ("ana@example.org", "ana@example.org.elsewhere.example", False),
        ("ana@example.org", "xana@example.org", False),
        ("@example.org", "ben@example.org", True),
        ("@example.org", "ben@sub.example.org", False),
        ("@example.org", "ben@badexample.org", False),
        ("@example.org", "ben@elsewhere.example@example.org", True),
        ("ana@kelvin.example", "ana@\N{KELVIN SIGN}elvin.example", False),
        ("subject:7", "", True),
        ("subject:77", "", False),
        ("@", "", False),
    ],
)
def test_among__by_address_domain_or_subject(entry: str, email: str, enters: bool) -> None:
    assert Person("7", email, 0.0).among((entry,)) is enters


@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_person__has_no_address_that_was_not_verified(verified: object) -> None:
    person = FILE.person({**CLAIMS, "email_verified": verified}, 1000.0)
    assert person is not None
    assert person.email == ""
    assert not person.among(("ana@example.org", "@example.org"))


# The operator's file.


def test_read_login__in_small_letters_and_without_a_slash(tmp_path: Path) -> None:
    file = login_file(tmp_path, "https://copse.example.org/", "https://id.example.org/", LOGIN.replace("ana", "Ana"))
    login = read_login(file, "s")
    assert (login.address, login.issuer, login.host) == (FILE.address, FILE.issuer, "copse.example.org")
    assert login.people[0] == "ana@example.org"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LOGIN.replace("ADDRESS", "http://copse.example.org"), "address.*https"),
        (LOGIN.replace("ISSUER", "http://id.example.org"), "issuer.*https"),
        (LOGIN + 'client_secrets = "very secret"\n', "client_secrets"),
        (re.sub("people = .*", "people = []", LOGIN), "people"),
        (re.sub("people = .*", 'people = ["very secret"]', LOGIN), "@example.org"),
        (LOGIN + 'client_secret = ["very secret"]\n', "client_secret"),
        ('client_secret = very secret"', "TOML"),
    ],
)
def test_read_login__says_what_is_wrong_and_no_value(text: str, reason: str, tmp_path: Path) -> None:
    file = login_file(tmp_path, "https://copse.example.org", "https://id.example.org", text)
    with pytest.raises(ParameterError, match=reason) as refused:
        read_login(file, "s")
    assert "very secret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.skipif(os.name != "posix", reason="rights of files are of POSIX systems")
@pytest.mark.parametrize(
    ("secret", "rights", "fine"),
    [(True, 0o600, True), (True, 0o640, False), (True, 0o604, False), (False, 0o644, True), (False, 0o664, False),
     (False, 0o646, False)],
)  # fmt: skip
def test_read_login__of_a_file_that_others_can_read_or_change(
    secret: bool, rights: int, fine: bool, tmp_path: Path
) -> None:
    text = LOGIN + 'client_secret = "very secret"\n' * secret
    file = login_file(tmp_path, "https://copse.example.org", "https://id.example.org", text)
    file.chmod(rights)
    if fine:
        assert read_login(file, "s").client_id == CLIENT
        return
    with pytest.raises(ParameterError, match="Others on this computer can .*chmod 600"):
        read_login(file, "s")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (b"_streamlit_user=x; Max-Age=2592000; Path=/", b"_streamlit_user=x; Max-Age=43200; Path=/"),
        (b"_streamlit_user_tokens=x; max-age=2592000", b"_streamlit_user_tokens=x; Max-Age=43200"),
        (b"_streamlit_user=; Max-Age=0", b"_streamlit_user=; Max-Age=0"),
        (b"other=x; Max-Age=2592000", b"other=x; Max-Age=2592000"),
    ],
)
def test_identity_cookies__live_as_long_as_a_sign_in_holds(header: bytes, value: bytes) -> None:
    assert with_its_life((b"set-cookie", header)) == (b"set-cookie", value)


# A real server and a real provider.


def test_escape_sequences_of_a_stranger__do_not_reach_the_log(guarded: Guarded) -> None:
    before = guarded.log.read_bytes()
    query = "error=%1b%5b31mred%1b%5b0m%0aforged&error_description=%c2%9b31m%e2%80%aemalicious"
    httpx.get(f"{guarded.address}/oauth2callback?{query}", timeout=PATIENCE)
    more = wait_until(lambda: guarded.log.read_bytes()[len(before) :])
    assert b"\\x1b[31mred" in more
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae", more)
    assert not re.search(rb"^forged", more, re.MULTILINE)


def test_identity_cookie__lives_twelve_hours_in_the_browser(guarded: Guarded) -> None:
    client, _ = sign_in(guarded, "ana")
    lives = [cookie.expires - time.time() for cookie in client.cookies.jar if cookie.name.startswith("_streamlit_user")]
    assert lives
    assert all(LASTS - 600 < life <= LASTS for life in lives)


def test_stranger__gets_one_sentence_and_reaches_nothing(guarded: Guarded) -> None:
    answers = {path: httpx.get(guarded.address + path, timeout=PATIENCE) for path in PATHS}
    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(PATHS, 401)
    assert {answer.text for answer in answers.values()} == {
        "Sign in first: this dashboard is open to people on its list."
    }
    page = httpx.get(guarded.address, headers={"Accept": "text/html"}, timeout=PATIENCE)
    assert page.status_code == 401
    assert "Sign in first: " in page.text
    assert "<script" not in page.text
    assert upload(guarded.address, "") == 401
    assert shake_hands(guarded.address, "") == 403
    assert httpx.get(f"{guarded.address}/_stcore/health", timeout=PATIENCE).status_code == 200


def test_person_on_the_list__comes_in(guarded: Guarded) -> None:
    client, answer = sign_in(guarded, "ana")
    assert (answer.status_code, str(answer.url)) == (200, f"{guarded.address}/")
    assert "<script" in answer.text
    assert shake_hands(guarded.address, cookies_of(client)) == 101
    assert upload(guarded.address, cookies_of(client)) == 403, "not a session of this browser"
    assert sign_in(guarded, "no-email")[1].status_code == 200


@pytest.mark.parametrize("person", ["eve", "ben"])
def test_person_not_on_the_list__gets_one_sentence_and_reaches_nothing(guarded: Guarded, person: str) -> None:
    """Ben is on the list, but nobody verified his address."""
    client, answer = sign_in(guarded, person)
    assert answer.status_code == 403
    assert "is not among the people who may open this dashboard." in answer.text
    assert {path: client.get(guarded.address + path).status_code for path in PATHS} == dict.fromkeys(PATHS, 403)
    assert shake_hands(guarded.address, cookies_of(client)) == 403
    assert upload(guarded.address, cookies_of(client)) == 403


@pytest.mark.sweep(5)
@pytest.mark.parametrize("fault", FAULTS)
def test_token_that_is_wrong__lets_nobody_in(guarded: Guarded, fault: str) -> None:
    guarded.provider.fault, before = fault, guarded.provider.tokens
    try:
        client, answer = sign_in(guarded, "ana")
    finally:
        guarded.provider.fault = ""
    assert guarded.provider.tokens == before + 1, "the provider answered with a token, and that was refused"
    assert answer.status_code in (401, 403)
    assert client.get(guarded.address).status_code == 401
    assert shake_hands(guarded.address, cookies_of(client)) == 403


def test_cookie_that_this_server_did_not_sign__lets_nobody_in(guarded: Guarded) -> None:
    client, _ = sign_in(guarded, "ana")
    cookies = cookies_of(client)
    match = re.search(r"_streamlit_user=([^;]+)", cookies)
    assert match
    assert shake_hands(guarded.address, cookies) == 101
    rest, signature = match[1].rsplit(".", 1)
    broken = f"{rest}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"
    for value in (broken, json.dumps(CLAIMS), "", match[1][:40]):
        assert shake_hands(guarded.address, cookies.replace(match[1], value)) == 403


def test_sign_out__leaves_a_copy_of_the_cookie_worth_nothing(guarded: Guarded) -> None:
    client, _ = sign_in(guarded, "ana")
    copy = cookies_of(client)
    answer = client.get(f"{guarded.address}/auth/logout")
    assert "_streamlit_user" not in cookies_of(client)
    assert answer.status_code == 401
    assert guarded.provider.signed_out[-1]["client_id"] == CLIENT
    assert shake_hands(guarded.address, copy) == 403
    assert httpx.get(guarded.address, headers={"Cookie": copy}, timeout=PATIENCE).status_code == 401
    match = re.search(r"_streamlit_user=([^;]+)", copy)
    assert match
    again = match[1][:-1] + LETTERS[LETTERS.index(match[1][-1]) | 1]  # twenty bytes leave two bits without a meaning
    assert shake_hands(guarded.address, copy.replace(match[1], again)) == 403


def test_sign_out__is_nothing_that_another_site_can_ask_for(guarded: Guarded) -> None:
    client, _ = sign_in(guarded, "ana")
    for site in ("cross-site", "same-site"):
        assert client.get(f"{guarded.address}/auth/logout", headers={"Sec-Fetch-Site": site}).status_code == 403
    assert client.get(guarded.address).status_code == 200


def test_answer_that_nobody_asked_for__gets_one_sentence(guarded: Guarded) -> None:
    for query in ("code=x&state=y", "error=access_denied&error_description=no"):
        answer = httpx.get(f"{guarded.address}/oauth2callback?{query}", timeout=PATIENCE)
        assert answer.status_code == 403
        assert "no answer that this dashboard can trust" in answer.text


def test_log__holds_no_secret_and_no_person(guarded: Guarded) -> None:
    """After all that was tried above, and whatever order it was tried in."""
    client, _ = sign_in(guarded, "ana")
    sign_in(guarded, "eve")
    client.get(f"{guarded.address}/auth/logout")
    log = guarded.log.read_text("utf-8")
    assert "Uvicorn" in log or "URL" in log, "something was logged"
    for word in (SECRET, "ana@", "Ana@", "eve@", "1001", "id_token="):
        assert word not in log


def test_provider_that_does_not_answer__gets_one_sentence(tmp_path: Path) -> None:
    with run_provider() as provider:
        pass
    with serve_guarded(tmp_path, provider) as running:
        answer = httpx.get(f"{running.address}/sign-in", follow_redirects=True, timeout=PATIENCE)
    assert answer.status_code == 502
    assert "The sign-in service does not answer" in answer.text
    assert SECRET not in running.log.read_text("utf-8")
