"""A session, its uploads and its files answer to one browser only."""

import http.client
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
import streamlit as st
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from tests.waiting import PATIENCE
from ui.server.browsers import BROWSER, COOKIE, require_binding

SOCKET = "/_stcore/stream"


def ask(address: str, method: str, path: str, **headers: str) -> tuple[int, dict[str, str]]:
    """Status and headers of an answer."""
    there = urlsplit(address)
    assert there.hostname is not None
    line = http.client.HTTPConnection(there.hostname, there.port, timeout=PATIENCE)
    line.request(method, path, headers=headers)
    answer = line.getresponse()
    answer.read()
    line.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}


def new_browser(address: str) -> str:
    """The cookie that a browser gets with its first page."""
    cookie = ask(address, "GET", "/")[1]["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    return cookie.partition(";")[0]


@contextmanager
def page_of(address: str, cookie: str, resume: str = "") -> Iterator[tuple[ClientConnection, str]]:
    """A page of a browser, connected and drawn, and the session it got; ``resume``: the one it asks for."""
    protocols: Any = ["streamlit", "none", *([resume] if resume else [])]
    uri = address.replace("http", "ws") + SOCKET
    more = {"Cookie": cookie, BROWSER: "made-up"} if cookie else {}
    with connect(uri, origin=address, subprotocols=protocols, additional_headers=more, max_size=None) as line:  # type: ignore[arg-type]
        request = BackMsg()
        request.rerun_script.query_string = ""
        line.send(request.SerializeToString())
        message = ForwardMsg()
        while not message.HasField("new_session"):
            message.ParseFromString(line.recv(timeout=PATIENCE))  # type: ignore[arg-type]
        yield line, message.new_session.initialize.session_id


def test_known_session__is_resumed_by_its_own_browser_only(app_server: str) -> None:
    owner, other = new_browser(app_server), new_browser(app_server)
    assert owner != other
    with page_of(app_server, owner) as (_, session):
        for stranger in (other, ""):
            with page_of(app_server, stranger, resume=session) as (_, got):
                assert got != session
    with page_of(app_server, other, resume=session) as (_, got):
        assert got != session
    with page_of(app_server, owner, resume=session) as (_, got):
        assert got == session


def test_page_without_a_cookie__can_never_be_resumed(app_server: str) -> None:
    with page_of(app_server, "") as (_, session):
        pass
    with page_of(app_server, "", resume=session) as (_, got):
        assert got != session


def test_upload__is_for_the_session_of_the_browser_only(app_server: str) -> None:
    """Everybody has the token that the framework asks for; with it, only the browser itself gets further."""
    owner, other = new_browser(app_server), new_browser(app_server)
    token = ask(app_server, "GET", "/_stcore/health", Cookie=owner)[1]["set-cookie"].partition(";")[0]
    with page_of(app_server, owner) as (_, session):
        path = f"/_stcore/upload_file/{session}/1"
        status = {
            browser: ask(
                app_server, "PUT", path, **{"Cookie": f"{browser}; {token}", "X-Xsrftoken": token.partition("=")[2]}
            )[0]
            for browser in (owner, other, "")
        }
    assert status == {owner: 400, other: 403, "": 403}, "there is no file in it, so that it cannot succeed"


def test_files__are_for_browsers_with_a_page_open(app_server: str) -> None:
    owner = new_browser(app_server)
    assert ask(app_server, "GET", "/media/0.csv", Cookie=owner)[0] == 403
    with page_of(app_server, owner):
        assert ask(app_server, "GET", "/media/0.csv", Cookie=owner)[0] == 404
        assert ask(app_server, "GET", "/media/0.csv")[0] == 403
    assert ask(app_server, "GET", "/static/media/any.woff2")[0] != 403, "fonts are no files of a session"


def test_cookie__is_given_once_and_only_ours_counts(app_server: str) -> None:
    cookie = new_browser(app_server)
    assert re.fullmatch(rf"{COOKIE}=[\w-]{{43}}", cookie, re.ASCII)
    assert COOKIE not in ask(app_server, "GET", "/", Cookie=cookie)[1].get("set-cookie", "")
    assert COOKIE in ask(app_server, "GET", "/", Cookie=f"{COOKIE}=short")[1]["set-cookie"]


def test_require_binding__fails_where_the_framework_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    require_binding()
    monkeypatch.setattr(st, "get_option", lambda _: {"x-login": "email"})
    with pytest.raises(RuntimeError, match=BROWSER):
        require_binding()
